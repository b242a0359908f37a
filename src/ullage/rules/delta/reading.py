"""A rule as the atoms that it reads, how these are written as text, and how they lead on."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from ullage.rules.delta.nodes import node
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Levels, quoted
from ullage.rules.lowering.levels import exact_leaves, leaves
from ullage.rules.lowering.program import tuple_text
from ullage.rules.numbers import FRACTION
from ullage.rules.terms import (
    Aggregate,
    Atom,
    Conditional,
    Element,
    Expr,
    Fun,
    Int,
    Literal,
    Str,
    Tup,
    Var,
)
from ullage.rules.vocabulary import Place
from ullage.sorts import CountSort, ExactSort, FormsSort, Sort, TupleSort

At = tuple[int, ...]
"""Where something stands in an atom: an argument, and then which part of each tuple in it."""

BLANKS: Iterator[str] = repeat("_")
"""Blanks without end."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """An atom of a body; in a set, which. It is ``positive`` where it binds its variables.

    ``binds`` are those of them that are written alike in every atom of the rule. With ``link`` it
    stands for the relation of a lazy node's key to what is at one more place.
    """

    atom: Atom
    node: str
    scope: Conditional | Element | None
    positive: bool
    binds: frozenset[str]
    link: At | None = None


class Reading:
    """A rule with the atoms that it reads."""

    def __init__(self, typed: TypedRule, tables: Collection[str], levels: Levels) -> None:
        self.typed = typed
        self.rule = typed.rule
        self.node = node(typed.rule.head, tables)
        self._known: dict[tuple[int, At], tuple[str | None, frozenset[str]]] = {}
        found = list(_atoms(self.rule.body))
        self.joins = self._joins([atom for atom, _, _ in found], levels)
        self.uses = [
            Use(atom, node(atom, tables), scope, positive, frozenset(self.names(atom)))
            for atom, scope, positive in found
        ]

    def _joins(self, atoms: Iterable[Atom], levels: Levels) -> set[str]:
        """The variables that are written alike wherever they stand."""
        kinds: dict[str, set[bool]] = {}
        apart: set[str] = set()
        for atom in (*atoms, self.rule.head):
            for arg, place in zip(atom.args, self.typed.places[id(atom)], strict=True):
                for term, sort, slot in leaves(arg, place.sort, place.slot) if place.sort else ():
                    if not isinstance(term, Var) or term.anonymous:
                        continue
                    kind = kinds.setdefault(term.name, set())
                    if isinstance(sort, ExactSort):
                        kind.add(levels.get(slot, 0) == FRACTION)
                    elif exact_leaves(sort):
                        apart.add(term.name)
        return {name for name, kind in kinds.items() if len(kind) <= 1} - apart

    def named(self, names: Collection[str]) -> set[str]:
        """Those of some variables that hold no figures: many rows may have the same figure."""
        sorts = self.typed.variables
        return {n for n in names if not isinstance(sorts[n], ExactSort)}

    def places(self) -> list[At]:
        """The places of the head: its arguments, and the parts of those that are tuples."""
        found = enumerate(self.typed.places[id(self.rule.head)])
        return [(i, *path) for i, place in found for path in _paths(place.sort)]

    def part(self, atom: Atom, at: At) -> tuple[Expr, Place] | None:
        """What stands at a place of an atom; None where a variable holds the tuple."""
        term, place = atom.args[at[0]], self.typed.places[id(atom)][at[0]]
        for step in at[1:]:
            if not isinstance(term, Tup) or not isinstance(place.sort, TupleSort):
                return None
            term, place = term.args[step], Place(place.sort.items[step], (*place.slot, str(step)))
        return term, place

    def names(self, atom: Atom, places: Iterable[At] | None = None) -> set[str]:
        """The variables that join and stand plainly in an atom, or at some places of it."""
        if places is None:
            places = [(i,) for i in range(len(atom.args))]
        return set().union(*(self._at(atom, at)[1] for at in places))

    def _at(self, atom: Atom, at: At) -> tuple[str | None, frozenset[str]]:
        """What ``fixed`` and ``names`` say of one place."""
        known = self._known.get((id(atom), at))
        if known is None:
            part = self.part(atom, at)
            known = (None, frozenset()) if part is None else self._told(*part)
            self._known[id(atom), at] = known
        return known

    def _told(self, term: Expr, place: Place) -> tuple[str | None, frozenset[str]]:
        blanks = iter(["_"])
        text = self._text(term, place.sort, blanks, self.joins)
        found = leaves(term, place.sort, place.slot) if place.sort is not None else ()
        names = (t.name for t, _, _ in found if isinstance(t, Var) and t.name in self.joins)
        return text if next(blanks, None) else None, frozenset(names)

    def args(
        self, atom: Atom, blank: Iterator[str] = BLANKS, shown: Collection[str] | None = None
    ) -> list[str]:
        """The arguments of an atom as text; what does not join is blank, and what is not shown."""
        pairs = zip(atom.args, self.typed.places[id(atom)], strict=True)
        joins = self.joins if shown is None else self.joins & set(shown)
        return [self._text(arg, place.sort, blank, joins) for arg, place in pairs]

    def some(
        self, atom: Atom, places: Iterable[At], shown: Collection[str] | None = None
    ) -> list[str]:
        """What stands at some places of an atom, likewise."""
        parts = (self.part(atom, at) for at in places)
        joins = self.joins if shown is None else self.joins & set(shown)
        return ["_" if p is None else self._text(p[0], p[1].sort, BLANKS, joins) for p in parts]

    def variables(self, atom: Atom, places: Iterable[At]) -> dict[str, tuple[Var, Place]]:
        """The variables that join and stand plainly at some places of an atom, by name."""
        found: dict[str, tuple[Var, Place]] = {}
        for at in places:
            part = self.part(atom, at)
            if part is not None and part[1].sort is not None:
                for term, sort, slot in leaves(part[0], part[1].sort, part[1].slot):
                    if isinstance(term, Var) and term.name in self.joins:
                        found[term.name] = term, Place(sort, slot)
        return found

    def fixed(self, atom: Atom, at: At) -> str | None:
        """What stands at a place of an atom as text, or None where some of it does not join."""
        return self._at(atom, at)[0]

    def _text(
        self, term: Expr, sort: Sort | None, blank: Iterator[str], joins: Collection[str]
    ) -> str:
        match term:
            case Var(name=name) if name in joins:
                return name
            case Str(value=text) if not isinstance(sort, ExactSort):
                return quoted(text)
            case Int(value=number) if isinstance(sort, CountSort):
                return str(number)
            case Fun(name=name, args=()):
                return name
            case Tup(args=args) if isinstance(sort, TupleSort):
                pairs = zip(args, sort.items, strict=True)
                return tuple_text([self._text(a, s, blank, joins) for a, s in pairs])
            case Fun(name=name, args=args) if isinstance(sort, FormsSort):
                parts = zip(args, sort.forms[name], strict=True)
                texts = [self._text(a, s, blank, joins) for a, (_, s) in parts]
                return f"{name}({','.join(texts)})"
        return next(blank, "_")

    def settled(self, at: At, ring: Collection[str]) -> bool:
        """Whether positive atoms fix a place of the head, and those of its ring keep it."""
        head = self.rule.head
        text = self.fixed(head, at)
        outside = [u.binds for u in self.uses if u.positive and u.scope is None]
        if text is None or not self.names(head, [at]) <= set().union(*outside):
            return False
        within = [u.atom for u in self.uses if u.node in ring]
        return all(self.fixed(atom, at) == text for atom in within)

    def beside(self, use: Use | None = None) -> list[Use]:
        """The positive atoms that hold together with another, or outside all sets."""
        scope = None if use is None else use.scope
        return [
            u
            for u in self.uses
            if u is not use and u.positive and (u.scope is None or u.scope is scope)
        ]


def keyable(found: Sequence[Reading], ring: Collection[str]) -> list[At]:
    """The places of a node that a key may have: all its rules settle them."""
    return [at for at in found[0].places() if all(r.settled(at, ring) for r in found)]


def _paths(sort: Sort | None) -> Iterator[At]:
    """The ways to the parts of a sort that are no tuples."""
    if not isinstance(sort, TupleSort):
        yield ()
        return
    for number, item in enumerate(sort.items):
        for path in _paths(item):
            yield (number, *path)


def pattern(sorts: Sequence[Sort | None]) -> tuple[list[str], dict[At, str]]:
    """Arguments of these sorts as variables, and the variable at each place."""
    places: dict[At, str] = {}

    def text(sort: Sort | None, at: At) -> str:
        if isinstance(sort, TupleSort):
            return tuple_text([text(s, (*at, i)) for i, s in enumerate(sort.items)])
        places[at] = f"V{'_'.join(map(str, at))}"
        return places[at]

    return [text(sort, (i,)) for i, sort in enumerate(sorts)], places


def _atoms(body: Iterable[Literal]) -> Iterator[tuple[Atom, Conditional | Element | None, bool]]:
    """Each atom of a body, the set that it stands in, and whether it binds."""
    for literal in body:
        match literal:
            case Atom():
                yield literal, None, literal.sign == 0
            case Conditional(literal=inner, conditions=conditions):
                if isinstance(inner, Atom):
                    yield inner, literal, False
                for condition in conditions:
                    if isinstance(condition, Atom):
                        yield condition, literal, condition.sign == 0
            case Aggregate(elements=elements):
                for element in elements:
                    for condition in element.conditions:
                        if isinstance(condition, Atom):
                            yield condition, element, condition.sign == 0
            case _:
                pass


def rings(edges: Mapping[str, set[str]], found: Iterable[set[str]]) -> dict[str, set[str]]:
    """The nodes that build on themselves, each with all that this goes through."""
    return {
        name: ring if len(ring) > 1 or name in edges[name] else set()
        for ring in found
        for name in ring
    }


def connected(start: Collection[str], others: Sequence[Use]) -> set[str]:
    """The variables that some lead to through atoms that share one."""
    found, left = set(start), list(others)
    while near := [u for u in left if u.binds & found]:
        found.update(*(u.binds for u in near))
        left = [u for u in left if u not in near]
    return found


def joined(start: Collection[str], wanted: Collection[str], others: Sequence[Use]) -> list[Use]:
    """The few atoms that bind what is wanted; those that share no variable with any last."""
    have, chosen = set(start), list[Use]()
    while missing := set(wanted) - have:
        left = [u for u in others if u not in chosen]
        way = path(have, missing, left) or [next(u for u in left if u.binds & missing)]
        chosen += way
        have.update(*(u.binds for u in way))
    return chosen


def path(start: Collection[str], goal: Collection[str], others: Sequence[Use]) -> list[Use] | None:
    """The fewest atoms, each sharing a variable with the one before, up to one that has a goal."""
    ways = deque([u] for u in others if u.binds & set(start))
    seen = [way[0] for way in ways]
    while ways:
        way = ways.popleft()
        if way[-1].binds & set(goal):
            return way
        for use in others:
            if use not in seen and use.binds & way[-1].binds:
                seen.append(use)
                ways.append([*way, use])
    return None
