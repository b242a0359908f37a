"""What changes of facts move: the standings and plans that are otherwise under what is supposed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import TypeVar

from ullage.changes import Change
from ullage.facts import FactBase
from ullage.findings import Finding, PolicyError, Position
from ullage.moves import Moved, MovedPlan, Moves, Subject
from ullage.plans import plans
from ullage.results import Plan, Standing, subject_text, value_order
from ullage.rules.book import RuleBook
from ullage.rules.declared import LawDecl, PlanDecl
from ullage.standings import standings
from ullage.symbols import subjects
from ullage.waivers import Waivers, faults
from ullage.whatif import Supposed, suppose_changes
from ullage.worlds import Changed, Difference, Worlds, changed
from ullage.yamlnodes import collector_paused

_Told = TypeVar("_Told", Standing, Plan)


class Mover:
    """Answers what-ifs over the facts of one policy, which are ground once for many."""

    def __init__(
        self,
        book: RuleBook,
        facts: FactBase,
        derived: Mapping[str, Position],
        standings: Callable[[], Iterable[Standing]],
        on: date,
    ) -> None:
        """``standings`` are all those of the facts; ``on`` is the day of their waivers."""
        self._book = book
        self._facts = facts
        self._derived = derived
        self._standings = standings
        self._on = on
        self._worlds: Worlds | None = None

    def suppose(self, changes: Iterable[Change]) -> Supposed:
        """The facts under changes. Raises UsageError and PolicyError."""
        with collector_paused():
            supposed = suppose_changes(self._facts, changes, self._derived)
        if found := faults(supposed.base, self._book):
            raise PolicyError(found)
        return supposed

    def moves(self, changes: Iterable[Change], laws: Collection[str], subject: str | None) -> Moves:
        """What changes move of these laws, or of all and of the plans; of this subject alone.

        Raises UsageError and PolicyError.
        """
        supposed = self.suppose(changes)
        other = changed(self._facts, supposed.base)
        with collector_paused():
            worlds = self._over(other)
            moved, moved_plans = self._told(worlds.differing(other), supposed.base)
            asked = [law for name, law in self._book.laws.items() if not laws or name in laws]
            had = sum(_how_many(worlds, law, subject) for law in asked)
        names = {law.name for law in asked}
        moved = [m for m in moved if m.law in names and subject in (None, m.subject_text)]
        moved_plans = [m for m in moved_plans if not laws and subject in (None, m.subject_text)]
        left = had - sum(m.old is not None for m in moved)
        return Moves(supposed.changes, tuple(moved), tuple(moved_plans), left)

    def _over(self, other: Changed) -> Worlds:
        """Worlds that may differ in what these do; those of an earlier what-if where they can."""
        nodes = other.nodes()
        if self._worlds is None or not nodes <= self._worlds.nodes:
            self._worlds = Worlds(self._book.rules, self._book.owners, self._facts, nodes)
        return self._worlds

    def _told(
        self, difference: Difference, supposed: FactBase
    ) -> tuple[list[Moved], list[MovedPlan]]:
        """The standings and plans that differ, by law or plan and subject. Raises PolicyError."""
        laws = {o.name: o for o in difference.owners if isinstance(o, LawDecl)}
        declared = {o.name: o for o in difference.owners if isinstance(o, PlanDecl)}
        rules = [t.rule for t in self._book.rules]
        findings: list[Finding] = []
        told: list[tuple[list[Standing], list[Plan]]] = []
        for answer in (difference.old, difference.new):
            found, amiss = standings(answer, laws, rules)
            planned, more = plans(answer, declared, (), rules)
            told.append((found, planned))
            findings += [*amiss, *more]
        if findings:
            raise PolicyError(findings)
        (old, old_plans), (new, new_plans) = told
        sides = [Waivers.on(self._on, base) for base in (self._facts, supposed)]
        # A waiver moves what it is of, and no conclusion.
        apart = sides[0].apart(sides[1]) - {(s.law, s.subject_text) for s in (*old, *new)}
        left = [s for s in self._standings() if (s.law, s.subject_text) in apart] if apart else []
        old, new = (
            [waivers.beside(s) for s in (*found, *left)]
            for waivers, found in zip(sides, (old, new), strict=True)
        )
        order = list(self._book.laws)
        return (
            [Moved(*pair) for pair in _apart(old, new, lambda s: s.law, order)],
            [MovedPlan(*p) for p in _apart(old_plans, new_plans, lambda p: p.plan, list(declared))],
        )


def _how_many(worlds: Worlds, law: LawDecl, subject: str | None) -> int:
    """How many subjects a law has under the facts, or how many of one name."""
    model = worlds.model()
    if subject is None:
        return model.count(law.collects, len(law.arguments))
    return sum(subject_text(parts) == subject for parts, _ in subjects(model, law))


def _apart(
    old: Iterable[_Told], new: Iterable[_Told], owner: Callable[[_Told], str], order: Sequence[str]
) -> list[tuple[_Told | None, _Told | None]]:
    """What differs, old and new, in the order of owners and subjects."""
    before, after = ({(owner(t), t.subject): t for t in side} for side in (old, new))
    found = [k for k in {**before, **after} if before.get(k) != after.get(k)]

    def place(key: tuple[str, Subject]) -> tuple[object, ...]:
        # Parts of unlike forms may not compare, so their names go first.
        name, parts = key
        return order.index(name), [n for n, _ in parts], value_order(tuple(v for _, v in parts))

    found.sort(key=place)
    return [(before.get(key), after.get(key)) for key in found]
