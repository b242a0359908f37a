"""Whether a record still holds: its rows and rules are as they were, and conclude the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ullage.columns import Row
from ullage.explain.rests import Asked as Question
from ullage.explain.rests import Lookup, Rests, rests_on
from ullage.findings import Finding, Position, Severity, UsageError, counted, errors_of
from ullage.records.make import conclusions, show_row, show_rule, show_table, versions
from ullage.records.masks import KEY, Key, Masks, is_mask
from ullage.records.record import Record, RecordedRow, RecordedRule, RecordedStanding
from ullage.reference.bodies import complete
from ullage.reference.values import Figure, Form, Pattern, Word
from ullage.render.json_ import Json, standing_json
from ullage.results import Standing
from ullage.rules.declared import OF_LAWS, LawDecl, snake
from ullage.sorts import (
    BoolSort,
    ClosedSort,
    CountSort,
    EntitySort,
    ExactSort,
    FormsSort,
    Sort,
    TextSort,
    TupleSort,
)

if TYPE_CHECKING:
    from ullage.policy import Policy

_MOST_CAUSES = 8
_MOST_CHANGES = 6
_LONGEST_FIGURE = 200
"""No figure of the language has so many digits."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a replay. Errors among the findings are what differs; warnings are notes."""

    record: Record
    findings: tuple[Finding, ...]

    @property
    def equal(self) -> bool:
        """Whether the record was reproduced: equal standings, from equal rows and rules."""
        return not errors_of(self.findings)


def replay(record: Record, policy: Policy) -> Replay:
    """Conclude again what a record holds, and say what differs.

    Codes: ``standing-differs``, ``row-differs`` and ``rule-differs``; as warnings ``record-moved``
    and ``record-version``. Raises PolicyError where the policy is invalid, UsageError where the
    key of the masked values is not at hand.
    """
    key = Key()
    if record.key is not None:
        key = Key.of_environment()
        if key.name != record.key:
            raise UsageError(
                f"the values that `{record.origin}` masks need the key that they were masked with",
                f"set `{KEY}` to it",
            )
    findings = _Replayer(record, policy, key).findings()
    return Replay(record, tuple(sorted(set(findings), key=lambda f: f.sort_key)))


@dataclass(frozen=True, slots=True)
class _State:
    """What became of a recorded row or rule: where it is now (None: gone), and its changes.

    ``key`` names it among all there are now.
    """

    place: Position | None = None
    key: object = None
    changes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        return self.place is not None and not self.changes


class _Replayer:
    """Compares one record with one policy."""

    def __init__(self, record: Record, policy: Policy, key: Key) -> None:
        self.record = record
        self.key = key
        self.standings = policy.standings()
        self.explainer = policy.explainer
        self.base = policy.facts
        self.laws = self.explainer.book.laws
        self.masks = Masks.of(self.explainer.book, self.base, lambda: key)
        self.plain = Masks(key)
        self.rows = [*self._row_states()]
        self.rules = [*self._rule_states()]

    def findings(self) -> Iterator[Finding]:
        """Everything that differs, and what is to be noted."""
        for i, row in enumerate(self.record.rows):
            if not self.rows[i].same:
                yield self._row_differs(row, self.rows[i], self.record.line("rows", i))
        for i, rule in enumerate(self.record.rules):
            if not self.rules[i].same:
                yield self._rule_differs(rule, self.rules[i], self.record.line("rules", i))
        for law in self.record.asked.laws:
            if law not in self.laws:
                place = Position(self.record.origin, 1, 1)
                message = f"the record asks for the law `{law}`, which is not declared"
                yield Finding("standing-differs", message, (place,), _HELP)
        yield from self._standings_differ()
        yield from self._moved()
        yield from self._versions()

    # Rows and rules.

    def _row_states(self) -> Iterator[_State]:
        known: dict[tuple[str, tuple[bool, ...]], dict[str, Row]] = {}
        for recorded in self.record.rows:
            masked = tuple(map(is_mask, recorded.key))
            if (recorded.table, masked) not in known:
                known[recorded.table, masked] = {
                    _sign([
                        self.key.mask(_unquoted(part)) if hidden else part
                        for part, hidden in zip(self._shown(row).key, masked, strict=True)
                    ]): row
                    for row in self._rows(recorded.table, len(masked))
                }  # fmt: skip
            row = known[recorded.table, masked].get(_sign(recorded.key))
            if row is None:
                yield _State()
            else:
                changes = tuple(self._row_changes(recorded, row))
                yield _State(self.base.position(row), (row.table, row.key), changes)

    def _rows(self, table: str, parts: int) -> Sequence[Row]:
        declared = self.base.declarations.tables.get(table)
        return self.base.rows[table] if declared and len(declared.key) == parts else ()

    def _shown(self, row: Row) -> RecordedRow:
        return show_row(self.base, row, self.plain)

    def _row_changes(self, recorded: RecordedRow, row: Row) -> Iterator[str]:
        now, told = self._shown(row), show_row(self.base, row, self.masks)
        pairs = {n: (recorded.cells.get(n), now.cells.get(n), told.cells.get(n)) for n in
                 sorted({*recorded.cells, *now.cells})}  # fmt: skip
        pairs["source"] = (recorded.source or None, now.source or None, told.source or None)
        for name, (then, plain, shown) in pairs.items():
            if self._masked_as(plain, then, _unquoted) != then:
                yield _change(name, then, self._masked_as(shown, then, _unquoted), _cell)

    def _rule_states(self) -> Iterator[_State]:
        rules = [rule for found in self.explainer.rules.values() for rule in found]
        shown = [(show_rule(rule, self.plain), rule) for rule in rules]
        known: dict[str, list[Position]] = {}
        for plain, rule in shown:
            known.setdefault(_sign([plain.text, plain.label]), []).append(rule.position)
        at = {(r.position.file, r.position.line): r.position for r in rules}
        for recorded in self.record.rules:
            found = known.get(_sign([recorded.text, recorded.label]), [])
            if is_mask(recorded.text) or "masked" in _sign(recorded.label):
                found = [r.position for plain, r in shown if self._is_rule(plain, recorded)]
            there = Position(recorded.file, recorded.line, recorded.column)
            if found:
                place = there if there in found else found[0]
                yield _State(place, place)
            elif (there.file, there.line) in at:
                place = at[there.file, there.line]
                yield _State(place, place, ("is otherwise than it was",))
            else:
                yield _State()

    def _is_rule(self, plain: RecordedRule, recorded: RecordedRule) -> bool:
        return all(
            self._masked_as(now, then, str) == then
            for now, then in ((plain.text, recorded.text), (plain.label, recorded.label))
        )

    def _row_differs(self, row: RecordedRow, state: _State, line: int) -> Finding:
        name = f"`{row.table}` `{'/'.join(_cell(part) for part in row.key)}`"
        return self._differs("row-differs", name, state, row, line)

    def _rule_differs(self, rule: RecordedRule, state: _State, line: int) -> Finding:
        head = rule.text.partition("(")[0].partition(" ")[0] if isinstance(rule.text, str) else ""
        name = f"a rule of `{head}`" if head else "a rule"
        return self._differs("rule-differs", name, state, rule, line)

    def _differs(
        self, code: str, name: str, state: _State, then: RecordedRow | RecordedRule, line: int
    ) -> Finding:
        recorded = Position(self.record.origin, line, 1, "has it as it was")
        if state.place is None:
            # Where it was is told, though somebody else may stand there now.
            was = f"{then.file}:{then.line}:{then.column}"
            return Finding(code, f"{name} is gone; it stood at {was}", (recorded,), _HELP)
        places = (replace(state.place, note=""), recorded)
        return Finding(code, f"{name} {_listed(state.changes)}", places, _HELP)

    # Standings.

    def _standings_differ(self) -> Iterator[Finding]:
        unpaired = self._asked_for()
        differing: list[tuple[RecordedStanding | None, Standing | None, int]] = []
        for number, then in enumerate(self.record.standings):
            standing = self._taken(unpaired, then)
            if standing is None or not self._same(then, standing):
                differing.append((then, standing, self.record.line("standings", number)))
        left = [s for found in unpaired.values() for s in found]
        differing += [(None, standing, 1) for standing in left]
        asked = [self._question(recorded, now) for recorded, now, _ in differing]
        rests = rests_on(self.explainer, asked)
        for (recorded, now, line), now_on in zip(differing, rests, strict=True):
            yield self._standing_differs(recorded, now, line, now_on)

    def _asked_for(self) -> dict[tuple[str, str], list[Standing]]:
        """The standings that the record's question has now, by law and subject."""
        laws, subject = self.record.asked.laws, self.record.asked.subject
        found: dict[tuple[str, str], list[Standing]] = {}
        for standing in self.standings:
            text = standing.subject_text
            named = subject is None or self._masked_as(text, subject, str) == subject
            if named and (not laws or standing.law in laws):
                sign = _sign(standing_json(standing)["subject"])
                found.setdefault((standing.law, sign), []).append(standing)
        return found

    def _taken(
        self, unpaired: dict[tuple[str, str], list[Standing]], recorded: RecordedStanding
    ) -> Standing | None:
        """The standing now of a recorded subject, taken out of those that have no pair yet."""
        law, subject = str(recorded.told["law"]), recorded.told["subject"]
        signs = [(law, _sign(subject))]
        if "masked" in signs[0][1]:
            signs = [
                (owner, sign)
                for owner, sign in unpaired
                if owner == law and self._masked_as(json.loads(sign), subject, _text) == subject
            ]
        for sign in signs:
            if unpaired.get(sign):
                return unpaired[sign].pop(0)
        return None

    def _same(self, recorded: RecordedStanding, now: Standing) -> bool:
        told = _concluded(recorded.told)
        return self._masked_as(_concluded(standing_json(now)), told, _text) == told

    def _question(self, recorded: RecordedStanding | None, now: Standing | None) -> Question:
        """All that could be concluded of a subject, whether or not it is."""
        question = Question()
        if now is not None:
            [question] = conclusions(self.explainer, [now])
        if recorded is None:
            return question
        law = self.laws.get(str(recorded.told["law"]))
        return replace(question, lookups=[*_lookups(law, recorded.told["subject"])] if law else [])

    def _standing_differs(
        self, recorded: RecordedStanding | None, now: Standing | None, line: int, rests: Rests
    ) -> Finding:
        then = None if recorded is None else recorded.told
        shown = None if now is None else self._shown_as(now, then)
        known: Mapping[str, Any] = then or shown or {}
        name = "/".join(map(_text, known["subject"].values()))
        causes = [*(self._recorded_causes(recorded) if recorded else ())]
        causes = causes or [*self._new_causes(rests)]
        if not causes and recorded is not None:
            causes = [*self._table_causes(recorded)]
        if len(causes) > _MOST_CAUSES:
            more = f"is one of {len(causes) - _MOST_CAUSES + 1} more"
            causes = [*causes[: _MOST_CAUSES - 1], replace(causes[_MOST_CAUSES - 1], note=more)]
        return Finding(
            "standing-differs",
            f"`{known['law']}` of `{name}` {_listed([*_changes(then, shown)])}",
            (Position(self.record.origin, line, 1), *causes),
            _HELP,
        )

    def _shown_as(self, now: Standing, then: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """A standing as findings tell it: masked as by the policy, and as by the record."""
        shown = self._masked_as(self.masks.standing(now, self.laws[now.law]), then, _text)
        assert isinstance(shown, Mapping)
        return shown

    def _recorded_causes(self, recorded: RecordedStanding) -> Iterator[Position]:
        """The places of what the standing rested on and is now otherwise."""
        used: list[tuple[RecordedRow | RecordedRule, _State]] = []
        used += [(self.record.rows[n], self.rows[n]) for n in recorded.rows]
        used += [(self.record.rules[n], self.rules[n]) for n in recorded.rules]
        for item, state in used:
            if state.place is None:
                what = "row" if isinstance(item, RecordedRow) else "rule"
                note = f"is where a {what} stood that is gone"
                yield Position(item.file, item.line, item.column, note)
            elif state.changes:
                yield replace(state.place, note="is otherwise than it was")

    def _new_causes(self, rests: Rests) -> Iterator[Position]:
        """The places of what it rests on now, and what the record has nowhere."""
        rows = {s.key for s in self.rows if s.same}
        for row in rests.rows:
            if (row.table, row.key) not in rows:
                note = "is a row that it rests on now, and did not"
                yield replace(self.base.position(row), note=note)
        rules = {s.key for s in self.rules if s.same}
        for rule in rests.rules:
            if rule.position not in rules:
                yield replace(rule.position, note="is a rule that it rests on now, and did not")

    def _table_causes(self, recorded: RecordedStanding) -> Iterator[Position]:
        """The places of tables that were looked through and have other rows than they had."""
        then = {table.table: table for table in self.record.tables}
        for name in recorded.tables:
            declared = self.base.declarations.tables.get(name)
            if declared is not None and show_table(self.base, name, self.masks) != then[name]:
                count = counted(len(self.base.rows[name]), "row")
                note = f"is a table that has other rows: {then[name].rows} then, {count} now"
                yield replace(declared.position, note=note)

    # Notes.

    def _moved(self) -> Iterator[Finding]:
        groups: dict[tuple[str, str], list[Position]] = {}
        items: list[RecordedRow | RecordedRule] = [*self.record.rows, *self.record.rules]
        for item, state in zip(items, [*self.rows, *self.rules], strict=True):
            there = Position(item.file, item.line, item.column)
            if state.same and state.place is not None and state.place != there:
                groups.setdefault((item.file, state.place.file), []).append(state.place)
        for (old, new), places in groups.items():
            many = len(places) > 1
            where = f"in `{new}`" if old != new else "on other lines" if many else "on another line"
            what = f"{len(places)} rows and rules" if many else "a row or rule"
            yield Finding(
                "record-moved",
                f"{what} of `{old}` {'stand' if many else 'stands'} {where} now",
                (replace(min(places), note=""),),
                "what moved is as it was, so the record holds",
                Severity.WARNING,
            )

    def _versions(self) -> Iterator[Finding]:
        here = versions()
        for name, then in self.record.versions.items():
            if here.get(name) != then:
                now = f"`{here[name]}`" if name in here else "none"
                yield Finding(
                    "record-version",
                    f"the record is of {name} `{then}`, and this is {now}",
                    (Position(self.record.origin, 2, 1),),
                    "standings that are equal hold all the same",
                    Severity.WARNING,
                )

    def _masked_as(self, plain: Json, recorded: Json, text: Callable[[Json], str]) -> Json:
        """A value, masked wherever the record masks it; ``text`` is what a mask is of."""
        if is_mask(recorded):
            return plain if plain is None or is_mask(plain) else self.key.mask(text(plain))
        if isinstance(plain, Mapping) and isinstance(recorded, Mapping):
            return {k: self._masked_as(v, recorded.get(k), text) for k, v in plain.items()}
        if isinstance(plain, list) and isinstance(recorded, list):
            others = [*recorded, *[None] * len(plain)]
            return [self._masked_as(v, r, text) for v, r in zip(plain, others, strict=False)]
        return plain


_HELP = "take the change back, or record how it stands now with `ullage standings --record`"


def _sign(value: Json) -> str:
    """One text for each value."""
    return json.dumps(value, sort_keys=True)


def _unquoted(text: Json) -> str:
    """The text of a cell that a mask is of."""
    if not isinstance(text, str):
        # Only a forged record masks what is no text.
        return _sign(text)
    try:
        return str(json.loads(text)) if text.startswith('"') else text
    except ValueError:
        # Only a forged record has such a text.
        return text


def _cell(value: Json) -> str:
    """A value of a row as findings tell it."""
    if is_mask(value):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_cell, value))}]"
    return _unquoted(value)


def _text(value: Json) -> str:
    """The exact text of a value in a standing; of a masked one enough to tell it from another."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case {"masked": str(digest)}:
            return f"masked {digest[:8]}"
        case {"value": str(number), "unit": str(unit)}:
            return number if unit == "count" else f"{number} {unit}"
        case {"args": Mapping() as args, **named}:
            name = next((n for n in named.values() if isinstance(n, str)), "")
            return f"{name}({', '.join(map(_text, args.values()))})" if args else name
        case list():
            return f"({', '.join(map(_text, value))})"
    return json.dumps(value)


def _change(name: str, then: Json, now: Json, told: Callable[[Json], str]) -> str:
    """How something differs: what it was, what it is; None where it was or is not."""
    if now is None:
        return f"no longer has `{name}`, which was `{told(then)}`"
    if then is None:
        return f"has `{name}` now, `{told(now)}`"
    return f"had `{name}` `{told(then)}`, and has `{told(now)}`"


def _changes(then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> Iterator[str]:
    """How a standing differs."""
    if now is None:
        assert then is not None
        yield f"was `{then['verdict']}`, and is no standing any more"
        return
    if then is None:
        yield f"is `{now['verdict']}`, and was no standing"
        return
    if then["verdict"] != now["verdict"]:
        yield f"was `{then['verdict']}`, and is `{now['verdict']}`"
    elif then["standing"] != now["standing"]:
        yield f"was {then['standing']} as `{then['verdict']}`, and is {now['standing']}"
    for kind in ("reason", "obligation"):
        old, new = ([_text(t) for t in side[f"{kind}s"]] for side in (then, now))
        yield from (f"no longer has the {kind} `{t}`" for t in old if t not in new)
        yield from (f"has the {kind} `{t}` now" for t in new if t not in old)
    old_values, new_values = then["values"], now["values"]
    for name in dict.fromkeys([*old_values, *new_values]):
        old_value, new_value = old_values.get(name), new_values.get(name)
        if old_value != new_value:
            yield _change(name, old_value, new_value, _text)


def _listed(changes: Sequence[str]) -> str:
    more = len(changes) - _MOST_CHANGES
    told = "; ".join(changes[:_MOST_CHANGES])
    return f"{told}; and {more} changes more" if more > 0 else told


def _concluded(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a standing says that was concluded: waivers come and go, and change nothing of it."""
    return {name: value for name, value in told.items() if name not in ("waived", "waivers")}


def _lookups(law: LawDecl, subject: Json) -> Iterator[Lookup]:
    """What is to be looked for to know all that a law says of a recorded subject."""
    assert isinstance(subject, Mapping)
    parts = list(subject.values())
    sort = law.subject_sort
    found: list[Pattern] = []
    if len(law.arguments) > 1 or not isinstance(sort, FormsSort):
        sorts = [s for _, s in law.arguments]
        if len(sorts) != len(parts):
            return
        patterns = tuple(map(_pattern, parts, sorts))
        yield law.collects, patterns
        found.append(patterns if len(patterns) > 1 else patterns[0])
    else:
        for form, arguments in sort.forms.items():
            if [snake(n) for n, _ in arguments] == list(subject):
                found.append(_form(form, parts, [s for _, s in arguments]))
                yield law.collects, (found[-1],)
    for pattern in found:
        for kind, arity in OF_LAWS.items():
            yield kind, (Word(law.name), pattern, *[None] * (arity - 2))


def _form(name: str, args: Sequence[Json], sorts: Sequence[Sort]) -> Pattern:
    """What recorded arguments say of a term; one with an open part is wholly open."""
    if len(args) != len(sorts):
        return None
    patterns = [_pattern(a, s) for a, s in zip(args, sorts, strict=True)]
    if not all(map(complete, patterns)):
        return None
    return Form(name, tuple(patterns)) if patterns else Word(name)  # type: ignore[arg-type]


def _pattern(value: Json, sort: Sort) -> Pattern:
    """What a recorded value says of a term of a sort; nothing where it is masked, or of another."""
    match sort, value:
        case ExactSort() | CountSort(), {"value": str(number)} if len(number) < _LONGEST_FIGURE:
            return Figure(Fraction(number), sort.name)
        case BoolSort(), bool():
            return Word("true" if value else "false")
        case ClosedSort(), str():
            return Word(value)
        case TupleSort(items=items), [*parts] if len(parts) == len(items):
            return tuple(map(_pattern, parts, items))
        case FormsSort(forms=forms), {"name": str(name), "args": Mapping() as args}:
            return _form(name, list(args.values()), [s for _, s in forms.get(name, ())])
        case EntitySort() | TextSort(), str():
            return value
    return None
