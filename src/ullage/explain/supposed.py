"""What would hold if facts were otherwise, worked out for one question at a time.

Rules are followed backwards from what is asked, as far as a changed fact can matter; all else is
what the solver found. The figure that is varied may be a line, and then what is worked out is
known together with the bounds within which it is so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ullage.explain.derive import Explainer
from ullage.explain.lines import Bounds, Line, Varied
from ullage.reference.bodies import Bodies, Member
from ullage.reference.values import Arithmetic, Figure, Form, Pattern, Value, Word, as_sort
from ullage.rules import terms
from ullage.rules.terms import Aggregate

Cell = tuple[str, Value, str]
"""A table, the term of a row's key, and a column."""


_Arguments = tuple[Value, ...]
_Asked = tuple[str, tuple[Pattern, ...]]


@dataclass(slots=True)
class _Known:
    """What was worked out for a pattern, and within which bounds it is so."""

    found: list[_Arguments]
    bounds: Bounds


class Supposed:
    """The atoms that would hold if cells were otherwise, to be asked by pattern.

    ``cells`` gives the values of changed cells, none for a cell that would be unread.
    """

    def __init__(
        self,
        explainer: Explainer,
        cells: Mapping[Cell, tuple[Value, ...]],
        varied: Varied | None = None,
    ) -> None:
        self.explainer = explainer
        self.cells = cells
        self.varied = varied or Varied(Fraction(0), Fraction(0), Fraction(1))
        self.touched = {(table, column) for table, _, column in cells}
        self.affected = affected(explainer, self.touched)
        self.bodies = _Parametric(Arithmetic(explainer.base.declarations.sorts), self)
        self.memo: dict[_Asked, _Known] = {}
        self.open: dict[_Asked, list[_Arguments]] = {}
        self.within: list[set[_Asked]] = [set()]
        self.linear = explainer.linear
        self.worked = 0

    def holds(self, name: str, patterns: Sequence[Pattern]) -> bool:
        """Whether an atom would hold that fits the patterns."""
        return bool(self.fitting(name, patterns))

    def fitting(self, name: str, patterns: Sequence[Pattern]) -> list[_Arguments]:
        """The arguments of atoms that would hold and fit the patterns."""
        found = self.matching(name, patterns)
        return [v for v in found if all(map(self.bodies.fits, v, patterns))]

    def matching(self, name: str, patterns: Sequence[Pattern]) -> Iterable[tuple[Value, ...]]:
        """The arguments of atoms that would hold and may fit the patterns."""
        known = self.explainer.known
        if name in self.explainer.base.declarations.tables:
            return self._rows(name, patterns)
        first = patterns[0] if patterns else None
        node = name
        if name in _OF_LAWS and isinstance(first, Word):
            node = f"{name}({first.name})"
        if node not in self.affected:
            return known.matching(name, [_open_lines(p) for p in patterns])
        return self._concluded(name, node, tuple(patterns))

    def _rows(self, name: str, patterns: Sequence[Pattern]) -> Iterator[tuple[Value, ...]]:
        column = patterns[1] if len(patterns) == 3 else None
        if not isinstance(column, Word) or (name, column.name) not in self.touched:
            yield from self.explainer.known.matching(name, [_open_lines(p) for p in patterns])
            return
        for values in self.explainer.known.matching(name, [_open_lines(p) for p in patterns]):
            if (name, values[0], column.name) not in self.cells:
                yield values
        for (table, key, own), values in self.cells.items():
            if (table, own) == (name, column.name) and self.bodies.fits(key, patterns[0]):
                yield from ((key, column, value) for value in values)

    def _concluded(
        self, name: str, node: str, patterns: tuple[Pattern, ...]
    ) -> Sequence[tuple[Value, ...]]:
        key = (name, patterns)
        known = self.memo.get(key)
        if known is not None and known.bounds.holds(self.varied.x):
            self.varied.note(known.bounds.low, known.bounds.high)
            return known.found
        if key in self.open:
            # A circle: what came last, until nothing more comes.
            self.within[-1].add(key)
            return self.open[key]
        self.within.append(set())
        with self.varied.frame() as bounds:
            found = self._settled(key, node, patterns)
        rests_on = self.within.pop() - {key}
        if rests_on:
            # It holds what a circle has so far, and is asked again.
            self.within[-1] |= rests_on
        else:
            self.memo[key] = _Known(found, bounds)
        return found

    def _settled(self, key: _Asked, node: str, patterns: tuple[Pattern, ...]) -> list[_Arguments]:
        """All that fits the patterns: what comes of itself is followed until nothing more comes."""
        found: dict[_Arguments, None] = {}
        fresh: list[_Arguments] = []
        while True:
            # Where each rule takes one thing from the circle, what is new gives all that is.
            self.open[key] = fresh if node in self.linear else list(found)
            before = len(found)
            fresh = [f for f in self._once(node, patterns) if f not in found]
            found |= dict.fromkeys(fresh)
            if key not in self.within[-1] or len(found) == before:
                break
        del self.open[key]
        return list(found)

    def _once(self, node: str, patterns: tuple[Pattern, ...]) -> Iterator[tuple[Value, ...]]:
        self.worked += 1
        for rule in self.explainer.rules.get(node, ()):
            sorts = self.explainer.sorts(rule.head)
            for bindings in list(self.bodies.head_bindings(rule, patterns)):
                for way in list(self.bodies.ways(rule, bindings)):
                    for values in self.bodies.heads(rule, way):
                        typed = tuple(as_sort(v, s) for v, s in zip(values, sorts, strict=True))
                        if all(map(self.bodies.fits, typed, patterns)):
                            yield typed


_OF_LAWS = ("standing", "reason", "obligation", "value", "plan")


def _open_lines(pattern: Pattern) -> Pattern:
    """A pattern for what the solver found: which of its figures a line equals is told later."""
    match pattern:
        case Figure(value=Line()):
            return None
        case Form(name=name, args=args):
            opened = tuple(_open_lines(a) for a in args)
            return Form(name, opened)  # type: ignore[arg-type]
        case tuple():
            return tuple(map(_open_lines, pattern))
    return pattern


class _Parametric(Bodies):
    """Bodies over figures that may be lines: equal members of sets are told apart with care."""

    def aggregate_value(self, aggregate: Aggregate, members: Iterable[Member]) -> Figure:
        """The value over the distinct tuples, those that are equal now taken as one."""
        distinct: list[Member] = []
        seen: dict[tuple[object, ...], list[Member]] = {}
        for member in members:
            # Only what agrees in all but figures can be equal for some value of a line.
            apart = tuple("#" if isinstance(t, Figure) else t for t in member.terms)
            alike = seen.setdefault(apart, [])
            lines = [*alike, member] if any(map(_varies, (*alike, member))) else []
            same = any(m.terms == member.terms for m in alike)
            if lines and not same:
                same = any(self.arithmetic.same(m.terms, member.terms) for m in alike)
            if not same:
                alike.append(member)
                distinct.append(member)
        return super().aggregate_value(aggregate, distinct)


def _varies(member: Member) -> bool:
    return any(isinstance(t, Figure) and isinstance(t.value, Line) for t in member.terms)


def affected(explainer: Explainer, touched: set[tuple[str, str]]) -> set[str]:
    """The predicates that a change of these columns can matter to."""
    direct = {
        node
        for node, found in explainer.rules.items()
        if any(_reads(u.atom, touched) for r in found for u in terms.uses(r.body))
    }
    return direct | {n for n, under in explainer.below.items() if under & direct}


def _reads(atom: terms.Atom, touched: set[tuple[str, str]]) -> bool:
    column = atom.args[1] if len(atom.args) == 3 else None
    return isinstance(column, terms.Fun) and (atom.name, column.name) in touched
