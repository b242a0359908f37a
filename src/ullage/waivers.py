"""Waivers: rows that suspend a named refusal of one subject, for a reason and until a day.

A waiver conceals nothing and concludes nothing: the standing keeps its class and its reasons, and
has the waivers that match them beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

from ullage.columns import Row
from ullage.days import read_day
from ullage.facts import FactBase
from ullage.findings import Finding, Position, Severity, counted, listed, similar
from ullage.results import Standing, StandingClass, Waiver, exact_text_of
from ullage.sorts import shorten
from ullage.waivertable import WAIVER, declaration_faults

if TYPE_CHECKING:
    from ullage.rules.book import RuleBook
    from ullage.rules.declared import LawDecl

Of = tuple[str, str]
"""A law's name, and a subject's text."""

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Waivers:
    """The waivers in force on a day, by what they are of."""

    found: Mapping[Of, tuple[Waiver, ...]]

    @classmethod
    def on(cls, day: date, base: FactBase) -> Waivers:
        """Those of a sound base that are in force on a day."""
        found: dict[Of, list[Waiver]] = {}
        for given in _given(base):
            last = given.last
            if last is not None and day <= last:
                found.setdefault(given.of, []).append(given.until(last))
        in_order = {of: tuple(sorted(w, key=lambda w: w.refusal)) for of, w in found.items()}
        return cls(MappingProxyType(in_order))

    def beside(self, standing: Standing) -> Standing:
        """A standing with those of these waivers that match a reason of it, and no others."""
        own: tuple[Waiver, ...] = ()
        if self.found and standing.standing is StandingClass.REFUSED:
            known = self.found.get((standing.law, standing.subject_text), ())
            own = tuple(w for w in known if any(map(w.matches, standing.reasons)))
        return standing if own == standing.waivers else replace(standing, waivers=own)

    def apart(self, others: Waivers) -> set[Of]:
        """What has other waivers here than there."""
        every = {*self.found, *others.found}
        return {of for of in every if self.found.get(of) != others.found.get(of)}


@dataclass(frozen=True, slots=True)
class _Given:
    """A row of the table, with its cells by column; a faulty one lacks some."""

    row: Row
    base: FactBase
    cells: Mapping[str, str]

    @property
    def of(self) -> Of:
        return self.cells["law"], self.cells["subject"]

    @property
    def last(self) -> date | None:
        """The last day on which it is in force."""
        return read_day(self.cells.get("expires", ""))

    def until(self, last: date) -> Waiver:
        cells = self.cells
        place = self.base.position(self.row)
        return Waiver(cells["refusal"], cells["reason"], cells["owner"], last, place)

    def at(self, column: str) -> Position:
        return self.base.position(self.row, column)


def _given(base: FactBase) -> Iterator[_Given]:
    table = base.declarations.tables.get(WAIVER)
    if table is None or any(True for _ in declaration_faults(table)):
        return
    for row in base.rows.get(WAIVER, ()):
        cells = {c.name: str(part) for c, part in zip(table.key, row.key, strict=True)}
        yield _Given(row, base, cells | {n: str(c.value) for n, c in row.cells.items()})


def laws_of(base: FactBase, keys: Iterable[Sequence[object]]) -> set[str]:
    """The laws that rows of the table name, by their keys."""
    table = base.declarations.tables.get(WAIVER)
    at = next((i for i, c in enumerate(table.key) if c.name == "law"), None) if table else None
    return set() if at is None else {str(key[at]) for key in keys}


def faults(base: FactBase, book: RuleBook) -> list[Finding]:
    """What is amiss with waivers whatever is concluded, ``bad-waiver``."""
    return [finding for given in _given(base) for finding in _faults(given, book)]


def _faults(given: _Given, book: RuleBook) -> Iterator[Finding]:
    law, refusal, until = (given.cells.get(n) for n in ("law", "refusal", "expires"))
    if until is not None and given.last is None:
        yield _bad(
            given.at("expires"),
            f"a waiver expires on `{shorten(until)}`, which is no day",
            "write the last day on which it holds, as `2027-03-01`",
        )
    for column in ("reason", "owner"):
        if not given.cells.get(column, "?").strip():
            yield _bad(
                given.at(column),
                f"a waiver has no {column}",
                "say why it is, and who answers for it",
            )
    assert law is not None
    assert refusal is not None
    declared = book.laws.get(law)
    if declared is not None:
        yield from _refusal_faults(given, refusal, declared)
    else:
        yield _bad(
            given.at("law"),
            f"a waiver is of the law `{shorten(law)}`, which is not declared",
            similar(law, book.laws, "law") or f"laws are {listed(list(book.laws))}",
        )


def _refusal_faults(given: _Given, refusal: str, law: LawDecl) -> Iterator[Finding]:
    name, bracket, rest = refusal.partition("(")
    reason = law.reasons.get(name)
    whole = bool(bracket) and rest.endswith(")")
    if reason is not None and (not bracket or (whole and reason.arguments)):
        return
    known = list(law.reasons)
    help = similar(name, known, "reason") or f"its reasons are {listed(known)}"
    if reason is not None:
        arguments = ", ".join(n for n, _ in reason.arguments)
        help = f"write `{name}`" + (f" for all of them, or `{name}({arguments})`" * bool(arguments))
    place = given.at("refusal")
    yield _bad(place, f"`{law.name}` has no reason `{shorten(refusal)}` to be waived", help)


def ambiguous(base: FactBase, standings: Iterable[Standing]) -> list[Finding]:
    """Waivers of which nobody can tell whose they are, ``bad-waiver``.

    The standings are all those of some laws.
    """
    given = list(_given(base))
    found = _by_subject(standings) if given else {}
    return [
        _bad(
            g.at("subject"),
            f"`{shorten(g.of[1])}` names {len(alike)} subjects of `{g.of[0]}`, and a waiver is of "
            "one",
            "name the parts of the subjects so that their texts differ",
        )
        for g in given
        if len(alike := found.get(g.of, ())) > 1
    ]


def spent(base: FactBase, standings: Iterable[Standing], day: date) -> Iterator[Finding]:
    """Waivers that suspend nothing: ``expired-waiver`` and ``idle-waiver``, as warnings.

    The standings are those of all laws.
    """
    given = list(_given(base))
    found = _by_subject(standings) if given else {}
    for g in given:
        law, subject = g.of
        last = g.last
        refusal = shorten(g.cells["refusal"])
        if last is not None and last < day:
            yield _warning(
                "expired-waiver",
                g.at("expires"),
                f"the waiver of `{refusal}` for `{shorten(subject)}` of `{law}` expired on {last}, "
                "and suspends nothing since",
                "delete the row, or let its owner give it another day",
            )
            continue
        alike = found.get(g.of, [])
        if not alike:
            known = {text for name, text in found if name == law}
            yield _warning(
                "idle-waiver",
                g.at("subject"),
                f"`{law}` has no subject `{shorten(subject)}` whose refusal could be waived",
                similar(subject, known, "subject") or "name the subject as `--subject` takes it",
            )
        for standing in alike:
            yield from _idle(g, standing, refusal)


def _idle(given: _Given, standing: Standing, refusal: str) -> Iterator[Finding]:
    """That a standing has no reason that a waiver names."""
    if standing.standing is not StandingClass.REFUSED:
        yield _warning(
            "idle-waiver",
            given.at("subject"),
            f"`{shorten(standing.subject_text)}` of `{standing.law}` is "
            f"{standing.standing.value}, and a waiver of `{refusal}` suspends nothing",
            "delete the row",
        )
        return
    reasons = [exact_text_of(reason) for reason in standing.reasons]
    if given.cells["refusal"] not in (*reasons, *(r.name for r in standing.reasons)):
        more = len(reasons) - _MOST_NAMED
        rest = f" and {counted(more, 'other')}" if more > 0 else ""
        yield _warning(
            "idle-waiver",
            given.at("refusal"),
            f"`{shorten(standing.subject_text)}` of `{standing.law}` is refused, and not for "
            f"`{refusal}`",
            f"it is refused for {listed(reasons[:_MOST_NAMED])}{rest}",
        )


def _by_subject(standings: Iterable[Standing]) -> dict[Of, list[Standing]]:
    found: dict[Of, list[Standing]] = {}
    for standing in standings:
        found.setdefault((standing.law, standing.subject_text), []).append(standing)
    return found


def _bad(place: Position, message: str, help: str) -> Finding:
    return Finding("bad-waiver", message, (place,), help)


def _warning(code: str, place: Position, message: str, help: str) -> Finding:
    return Finding(code, message, (place,), help, Severity.WARNING)
