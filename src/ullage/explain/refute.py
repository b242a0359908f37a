"""Why something does not hold: every rule that could conclude it, and the first thing each lacks.

Of each rule those instances are kept that come nearest: with the fewest conditions that fail or
cannot be tried. What fails is followed down: a missing conclusion to its own rules, a negated
condition to why its opposite holds, a comparison to its figures, a fact to the row at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ullage.explain.derive import Condition, Derivation, Explainer, condition
from ullage.findings import Position
from ullage.reference.bodies import (
    Bindings,
    Step,
    Way,
    complete,
    joins,
    outer_names,
    ready,
    steps_of,
)
from ullage.reference.text import aggregate_text, atom_text, literal_text, value_text
from ullage.reference.values import Atom, Figure, Pattern, Undefined, Value, Word, common_unit
from ullage.rules import terms
from ullage.rules.terms import Aggregate, Comparison, Conditional, Literal, Pool, Rule, Span

_MOST_BRANCHES = 64
_MOST_TRIED = 4_000
"""How many conditions of a rule are tried before the nearest way so far is told."""
_MOST_ATTEMPTS = 4
_DEEPEST = 12

QUESTION = "<question>"
"""The file of what was asked, and stands in none."""

Unread = tuple[str, str, str]
"""A cell that nobody has read: its table, key and column."""


@dataclass(frozen=True, slots=True)
class Failing:
    """One condition of a rule that does not hold.

    ``text`` is the instance, exact; ``short`` by how much a comparison of figures misses (0 where
    equal figures are not enough). ``at_hand`` holds what was read instead, ``unread`` what nobody
    has read: table, key and column. ``obstacle`` is why the opposite holds, ``because`` why a
    conclusion is missing; ``why`` is said where an expression has no value.
    """

    literal: Literal
    text: str
    bindings: Bindings
    short: Figure | None = None
    at_hand: tuple[Atom, ...] = ()
    unread: Unread | None = None
    obstacle: Derivation | None = None
    because: Refutation | None = None
    why: str = ""

    def to_read(self, behind: bool) -> list[Unread] | None:
        """The unread facts that may make it hold; None where readings cannot.

        With ``behind`` those are among them that what stands in its way rests on.
        """
        if self.unread is not None:
            return [self.unread]
        if self.because is not None:
            return self.because._to_read(behind)
        if self.obstacle is not None and behind:
            return list(dict.fromkeys(_unread_below(self.obstacle))) or None
        return None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way in which a rule comes near: what holds, what fails, and what was not tried."""

    rule: Rule
    bindings: Bindings
    held: tuple[Condition, ...]
    failing: tuple[Failing, ...]
    untried: tuple[Literal, ...]

    @property
    def distance(self) -> int:
        """How many conditions fail or could not be tried."""
        return len(self.failing) + len(self.untried)


@dataclass(frozen=True, slots=True)
class Refutation:
    """Why no atom of a predicate fits a pattern. ``repeats`` says that it stands elsewhere above.

    ``attempts`` are the nearest of each rule, the nearest first, and ``more`` counts those left
    out of many instances of one rule; for a table ``fact`` says what is at hand.
    """

    name: str
    patterns: tuple[Pattern, ...]
    attempts: tuple[Attempt, ...] = ()
    fact: Failing | None = None
    repeats: bool = False
    more: int = 0

    def readings_to_take(self, *, behind: bool) -> list[Unread]:
        """The unread facts on the nearest of the ways that readings alone may open, each once.

        With ``behind`` also those that an obstacle rests on.
        """
        return list(dict.fromkeys(self._to_read(behind) or ()))

    def _to_read(self, behind: bool) -> list[Unread] | None:
        """What readings may do; None where something read stands in each way."""
        if self.fact is not None:
            return self.fact.to_read(behind)
        if self.repeats:
            return []
        found: list[tuple[int, list[Unread]]] = []
        for attempt in self.attempts:
            each = [f.to_read(behind) for f in attempt.failing]
            wanted = [u for told in each if told is not None for u in told]
            if None not in each:
                found.append((attempt.distance, wanted))
        nearest = min((d for d, _ in found), default=0)
        return [u for d, told in found for u in told if d == nearest] if found else None


def _unread_below(derivation: Derivation) -> Iterator[Unread]:
    """The unread cells that each instance rests on which concludes what stands in the way."""
    tops = [s for goal in derivation.goals for s in derivation.supports.get(goal, ())]
    premises = tuple(p for support in tops for p in support.premises)
    below = Derivation(premises, derivation.readings, derivation.supports).steps()
    chosen = (s for s in map(derivation.chosen, below) if s is not None)
    for support in (*tops, *chosen):
        for told in support.conditions:
            if told.kind == "absence" and isinstance(told.literal, terms.Atom):
                unread = _unread_cell(told.literal, support.bindings)
                if unread is not None:
                    yield unread


def _unread_cell(literal: terms.Atom, bindings: Bindings) -> Unread | None:
    """The cell that a negated atom of a table says nobody has read."""
    if len(literal.args) != 3:
        return None
    key, column, value = literal.args
    open_value = isinstance(value, terms.Var) and value.name not in bindings
    parts = key.args if isinstance(key, terms.Tup) else (key,)
    open_key = any(isinstance(p, terms.Var) and p.name not in bindings for p in parts)
    if not open_value or open_key or not isinstance(column, terms.Fun):
        return None
    return literal.name, _key_text(key, bindings), column.name


def _key_text(key: terms.Expr, bindings: Bindings) -> str:
    parts = key.args if isinstance(key, terms.Tup) else (key,)
    shown = []
    for part in parts:
        value = bindings.get(part.name) if isinstance(part, terms.Var) else None
        if isinstance(part, terms.Str):
            value = part.value
        shown.append(
            value if isinstance(value, str)
            else value.name if isinstance(value, Word)
            else terms_text(part, bindings)
        )  # fmt: skip
    return "/".join(shown)


def terms_text(term: terms.Expr, bindings: Bindings) -> str:
    """A term as text."""
    return literal_text(Comparison(term, (), term.position), bindings)


class Refuter:
    """Finds why something does not hold."""

    def __init__(self, explainer: Explainer, *, deep: bool = True) -> None:
        """With ``deep`` what fails is followed down; without, it is only named."""
        self.explainer = explainer
        self.deep = deep
        self.bodies = explainer.bodies
        self.seen: set[tuple[str, tuple[Pattern, ...]]] = set()

    def refutation(self, name: str, patterns: Sequence[Pattern], depth: int = 0) -> Refutation:
        """Why no atom fits the patterns."""
        key = (name, tuple(patterns))
        if key in self.seen or depth > _DEEPEST:
            return Refutation(name, key[1], repeats=True)
        self.seen.add(key)
        tables = self.explainer.base.declarations.tables
        if name in tables:
            return Refutation(name, key[1], fact=self._missing_fact(*_written(name, patterns)))
        attempts: list[Attempt] = []
        more = 0
        for rule in self.explainer.rules.get(_predicate(name, patterns), ()):
            found = self._attempts(rule, patterns)
            followed = len(found) if not self.deep else _MOST_ATTEMPTS
            attempts += found[:followed]
            more += len(found[followed:])
        attempts.sort(key=lambda a: (a.distance, a.rule.text))
        if self.deep:
            attempts = [self._followed(a, depth) for a in attempts]
        return Refutation(name, key[1], tuple(attempts), more=more)

    # One rule.

    def _attempts(self, rule: Rule, patterns: Sequence[Pattern]) -> list[Attempt]:
        """The instances of a rule that come nearest; none of a rule whose head is another."""
        found: list[Attempt] = []
        for known in self.bodies.head_bindings(rule, patterns):
            found += self._nearest(rule, known, patterns)
        least = min((a.distance for a in found), default=0)
        nearest = [a for a in found if a.distance == least]
        return sorted(nearest, key=_text_of_attempt)

    def _nearest(
        self, rule: Rule, known: Bindings, patterns: Sequence[Pattern]
    ) -> Iterator[Attempt]:
        outer = outer_names(rule)
        steps = steps_of(rule.body)
        best = [len(steps) + 1]
        tried = 0

        def search(
            left: Sequence[Step],
            way: Way,
            held: tuple[Step, ...],
            failing: tuple[Failing, ...],
        ) -> Iterator[Attempt]:
            nonlocal tried
            tried += 1
            if len(failing) > best[0] or tried > _MOST_TRIED:
                return
            chosen = self.bodies.next_of(left, way.bindings, outer)
            if chosen is None or (failing and not joins(chosen.literal, way.bindings)):
                # What is matched at large, while its own condition fails, says nothing.
                distance = len(failing) + len(left)
                if distance <= best[0]:
                    best[0] = distance
                    yield self._attempt(
                        rule, way, held, failing, [step.literal for step in left], patterns
                    )
                return
            rest = [s for s in left if s is not chosen]
            literal = chosen.literal
            ways = self.bodies.extended(chosen.place, literal, way, outer)
            if len(ways) > _MOST_BRANCHES:
                ways.sort(key=_text_of_way)
            for each in ways[:_MOST_BRANCHES]:
                if not each.undefined:
                    yield from search(rest, each, (*held, chosen), failing)
                    continue
                told = literal_text_of(literal, each.bindings)
                said = Failing(literal, told, each.bindings, why=each.undefined)
                yield from search(rest, replace(each, undefined=""), held, (*failing, said))
            if not ways:
                yield from search(
                    rest, way, held, (*failing, self._failing(literal, way.bindings, outer))
                )

        yield from search(steps, Way(dict(known)), (), ())

    def _attempt(
        self,
        rule: Rule,
        way: Way,
        held: Sequence[Step],
        failing: Sequence[Failing],
        untried: Sequence[Literal],
        patterns: Sequence[Pattern],
    ) -> Attempt:
        matched = dict(way.matched)
        outer = outer_names(rule)
        told = []
        places = dict.fromkeys(step.place for step in held)
        missing = {id(f.literal) for f in failing} | {id(u) for u in untried}
        # Of a chain of comparisons each link is tried for itself.
        bad = {s.place for s in steps_of(rule.body) if id(s.literal) in missing}
        for place in places:
            literal = rule.body[place]
            if place not in bad and ready_whole(literal, way.bindings, outer):
                told.append(
                    condition(self.bodies, literal, way.bindings, matched.get(place), outer)
                )
        if not failing and not untried:
            # Every condition holds, so what it concludes is another figure than was asked for.
            failing = [self._other_head(rule, way, patterns)]
        return Attempt(rule, way.bindings, tuple(told), tuple(failing), tuple(untried))

    def _other_head(self, rule: Rule, way: Way, patterns: Sequence[Pattern]) -> Failing:
        values = next(self.bodies.heads(rule, way))
        short = None
        for value, wanted in zip(values, patterns, strict=True):
            if isinstance(value, Figure) and isinstance(wanted, Figure) and value != wanted:
                short = Figure(abs(value.value - wanted.value), value.unit)
        text = literal_text(rule.head, way.bindings)
        return Failing(rule.head, text, way.bindings, short=short, why="the rule concludes another")

    # What fails.

    def _failing(self, literal: Literal, bindings: Bindings, outer: set[str]) -> Failing:
        text = literal_text_of(literal, bindings)
        match literal:
            case terms.Atom(sign=0) if literal.name in self.explainer.base.declarations.tables:
                return self._missing_fact(literal, bindings)
            case Comparison(sign=0):
                return Failing(literal, text, bindings, short=self.difference(literal, bindings))
            case Aggregate():
                return self._aggregate(literal, bindings)
            case Conditional():
                # The first instance by its text that lacks something stands for all.
                ways = [
                    w for w in self.bodies.instances(literal.conditions, bindings)
                    if not self.bodies.test(literal.literal, w.bindings, outer)
                ]  # fmt: skip
                return self._failing(literal.literal, min(ways, key=_text_of_way).bindings, outer)
        return Failing(literal, text, bindings)

    def difference(self, literal: Comparison, bindings: Bindings) -> Figure | None:
        """By how much the two sides of a comparison differ."""
        for left, _, right in literal.links():
            if isinstance(left, Pool | Span) or isinstance(right, Pool | Span):
                return None
            try:
                one = next(self.bodies.evaluate(left, bindings))
                other = next(self.bodies.evaluate(right, bindings))
            except (Undefined, KeyError):
                return None
            one, other = (
                self.bodies.arithmetic.beside(one, other),
                self.bodies.arithmetic.beside(other, one),
            )
            if isinstance(one, Figure) and isinstance(other, Figure):
                return Figure(abs(one.value - other.value), common_unit((one, other)))
        return None

    def _aggregate(self, literal: Aggregate, bindings: Bindings) -> Failing:
        members = self.bodies.members(literal, bindings)
        value = self.bodies.aggregate_value(literal, members)
        text = aggregate_text(literal, dict.fromkeys(m.terms for m in members), bindings)
        short = None
        for _, guard in literal.guards:
            for other in self.bodies.evaluate(guard, bindings):
                held = self.bodies.arithmetic.beside(other, value)
                if isinstance(held, Figure):
                    short = Figure(abs(value.value - held.value), common_unit((value, held)))
        at_hand = dict.fromkeys(a for m in members for _, a in m.way.matched)
        return Failing(
            literal, text, bindings, short=short, at_hand=tuple(at_hand)[:_MOST_ATTEMPTS]
        )

    def _missing_fact(self, literal: terms.Atom, bindings: Bindings) -> Failing:
        """What of a row is at hand where an atom of a table is missing."""
        text = literal_text(literal, bindings)
        rows = self.explainer.known.rows(literal.name)
        patterns = [self.bodies.pattern(a, bindings) for a in literal.args]
        fitting = [
            (args, reading)
            for args, reading in rows.matching([patterns[0]])
            if self.bodies.fits(args[0], patterns[0])
        ]
        if len(patterns) == 1 or not fitting:
            return Failing(literal, text, bindings)
        column = patterns[1]
        assert isinstance(column, Word)
        cells = [
            (literal.name, args)
            for args, _ in rows.matching([patterns[0], column, None])
            if self.bodies.fits(args[0], patterns[0])
        ]
        if cells:
            return Failing(literal, text, bindings, at_hand=tuple(cells[:_MOST_ATTEMPTS]))
        (key,), _ = fitting[0]
        unread = (literal.name, self._key(key), column.name) if len(fitting) == 1 else None
        return Failing(literal, text, bindings, unread=unread)

    def _key(self, key: Value) -> str:
        parts = key if isinstance(key, tuple) else (key,)
        return "/".join(self.explainer.words.value(p) for p in parts)

    def _followed(self, attempt: Attempt, depth: int) -> Attempt:
        """An attempt with what stands behind each failing condition."""
        failing = tuple(self._behind(f, depth) for f in attempt.failing)
        return Attempt(attempt.rule, attempt.bindings, attempt.held, failing, attempt.untried)

    def _behind(self, failing: Failing, depth: int) -> Failing:
        literal = failing.literal
        if not isinstance(literal, terms.Atom) or failing.why:
            return failing
        tables = self.explainer.base.declarations.tables
        if literal.sign == 1:
            held = [a for _, a in self.bodies.matches(literal, failing.bindings)]
            obstacle = self.explainer.derivation(held[0]) if held else None
            return _with(failing, obstacle=obstacle)
        if literal.name in tables:
            return failing
        patterns = [self.bodies.pattern(a, failing.bindings) for a in literal.args]
        return _with(failing, because=self.refutation(literal.name, patterns, depth + 1))


def _text_of_way(way: Way) -> list[str]:
    return [atom_text(atom) for _, atom in way.matched]


def _text_of_attempt(attempt: Attempt) -> tuple[list[str], list[tuple[str, str]]]:
    bindings = sorted((name, value_text(value)) for name, value in attempt.bindings.items())
    return [f.text for f in attempt.failing], bindings


def _with(
    failing: Failing, obstacle: Derivation | None = None, because: Refutation | None = None
) -> Failing:
    return Failing(
        failing.literal, failing.text, failing.bindings, failing.short, failing.at_hand,
        failing.unread, obstacle, because, failing.why,
    )  # fmt: skip


def literal_text_of(literal: Literal, bindings: Bindings) -> str:
    """An instance of any literal; an aggregate without its members."""
    if isinstance(literal, Aggregate):
        return aggregate_text(literal, (), bindings)
    return literal_text(literal, bindings)


def ready_whole(literal: Literal, bindings: Bindings, outer: set[str]) -> bool:
    """Whether all variables of a literal that live outside sets are bound."""
    wanted = {v.name for v in terms.outer_variables(literal) if not v.anonymous}
    return (
        wanted <= bindings.keys() and ready(literal, bindings, outer)
        if not isinstance(literal, Comparison)
        else wanted <= bindings.keys()
    )


def _predicate(name: str, patterns: Sequence[Pattern]) -> str:
    first = patterns[0] if patterns else None
    if name in ("standing", "reason", "obligation", "value", "plan") and isinstance(first, Word):
        return f"{name}({first.name})"
    return name


def _written(name: str, patterns: Sequence[Pattern]) -> tuple[terms.Atom, Bindings]:
    """Patterns as an atom over variables, and their bindings."""
    at = Position(QUESTION, 1, 1)
    bindings: dict[str, Value] = {}
    args: list[terms.Expr] = []
    for number, pattern in enumerate(patterns):
        if isinstance(pattern, Word):
            args.append(terms.Fun(pattern.name, (), at))
            continue
        variable = terms.Var(f"A{number}", at)
        args.append(variable)
        if pattern is not None and complete(pattern):
            bindings[variable.name] = pattern
    return terms.Atom(name, tuple(args), at), bindings
