"""What a rule's body means: the ways in which it holds over a set of atoms.

This is the definition, not a method: literals are tried one after the other, in the order in which
they are written as far as their variables are bound, and every way is followed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from ullage.reference.values import (
    Arithmetic,
    Atom,
    Figure,
    Form,
    Pattern,
    Undefined,
    Value,
    Word,
    Written,
    common_unit,
    count,
)
from ullage.rules import terms
from ullage.rules.terms import (
    Aggregate,
    Comparison,
    Conditional,
    Element,
    Expr,
    Fun,
    Int,
    Literal,
    Op,
    Pool,
    Rule,
    Span,
    Str,
    Truth,
    Tup,
    Var,
    names,
)

Bindings = Mapping[str, Value]
"""What variables stand for."""


class Atoms(Protocol):
    """A set of atoms that can be asked."""

    def matching(self, name: str, patterns: Sequence[Pattern]) -> Iterable[tuple[Value, ...]]:
        """The arguments of atoms of a predicate; at least all those that fit the patterns."""
        ...


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which literals hold: bindings, and the atom that each positive atom matched.

    ``matched`` pairs the atom as written (by its place among the literals) with what it matched.
    ``undefined`` says of an expression without a value what is wrong, while the other literals may
    yet keep it out.
    """

    bindings: Bindings
    matched: tuple[tuple[int, Atom], ...] = ()
    undefined: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A tuple of an aggregate's set, and one way in which its conditions hold."""

    terms: tuple[Value, ...]
    element: Element
    way: Way


@dataclass(frozen=True, slots=True)
class Step:
    """A literal, or one link of a chain of comparisons, and its place in the body."""

    place: int
    literal: Literal


class Bodies:
    """The meaning of bodies over some atoms. ``arithmetic`` knows the sorts of the policy."""

    def __init__(self, arithmetic: Arithmetic, atoms: Atoms) -> None:
        self.arithmetic = arithmetic
        self.atoms = atoms

    # Rules.

    def ways(self, rule: Rule, bindings: Bindings | None = None) -> Iterator[Way]:
        """Every way in which the body holds.

        Raises Undefined where an expression has no value and nothing else keeps it out.
        """
        steps = steps_of(rule.body)
        yield from self._solve(steps, Way(dict(bindings or {})), outer_names(rule))

    def heads(self, rule: Rule, way: Way) -> Iterator[tuple[Value, ...]]:
        """The arguments of what a rule concludes in one way; pools and intervals make several."""
        yield from self.all_values(rule.head.args, way.bindings)

    def head_bindings(self, rule: Rule, arguments: Sequence[Pattern]) -> Iterator[Bindings]:
        """What is known of a rule's variables where its head is to have these arguments."""
        yield from self.unify_all(rule.head.args, arguments, {})

    # Literals.

    def _solve(self, steps: Sequence[Step], way: Way, outer: set[str]) -> Iterator[Way]:
        chosen = self.next_of(steps, way.bindings, outer)
        if chosen is None:
            assert way.undefined or not steps, f"nothing binds the variables of {steps[0].literal}"
            if way.undefined:
                raise Undefined(way.undefined)
            yield way
            return
        rest = [s for s in steps if s is not chosen]
        for each in self.extended(chosen.place, chosen.literal, way, outer):
            yield from self._solve(rest, each, outer)

    def next_of(self, steps: Sequence[Step], bindings: Bindings, outer: set[str]) -> Step | None:
        """The first literal whose variables are bound; an atom that joins nothing waits."""
        waiting = None
        for step in steps:
            if not ready(step.literal, bindings, outer):
                continue
            if joins(step.literal, bindings):
                return step
            waiting = waiting or step
        return waiting

    def extended(self, place: int, literal: Literal, way: Way, outer: set[str]) -> list[Way]:
        """The ways in which a literal, for which all is known, holds after those before it.

        One without a value neither holds nor fails.
        """
        try:
            return list(self._extended(Step(place, literal), way, outer))
        except Undefined as error:
            return [replace(way, undefined=way.undefined or str(error))]

    def _extended(self, step: Step, way: Way, outer: set[str]) -> Iterator[Way]:
        literal = step.literal
        match literal:
            case terms.Atom(sign=0):
                args = self._left_open(literal.args, way.bindings)
                for bindings, atom in self.matches(literal, way.bindings, args):
                    found = replace(
                        way, bindings=bindings, matched=(*way.matched, (step.place, atom))
                    )
                    # Now that all is known, what was left open.
                    whole = args is literal.args
                    yield from [found] if whole else self._agreeing(literal, atom, found)
            case Comparison(sign=0) if len(literal.rest) == 1:
                for bindings in self._compared(literal, way.bindings):
                    yield replace(way, bindings=bindings)
            case Aggregate(sign=0):
                for bindings in self._aggregated(literal, way.bindings, outer):
                    yield replace(way, bindings=bindings)
            case _:
                if self.test(literal, way.bindings, outer):
                    yield way

    def _agreeing(self, literal: terms.Atom, atom: Atom, way: Way) -> Iterator[Way]:
        try:
            if any(True for _ in self.unify_all(literal.args, atom[1], way.bindings)):
                yield way
        except Undefined as error:
            yield replace(way, undefined=way.undefined or str(error))

    def test(self, literal: Literal, bindings: Bindings, outer: set[str]) -> bool:
        """Whether a literal holds that binds nothing more."""
        match literal:
            case terms.Atom(sign=1, args=args):
                # Of alternatives each is a literal of its own, and one that holds is enough.
                return any(
                    not any(True for _ in self.matches(replace(literal, args=chosen), bindings))
                    for chosen in self._chosen_all(args, bindings)
                )
            case terms.Atom():
                return any(True for _ in self.matches(literal, bindings))
            case Comparison(sign=sign):
                operands = [literal.first, *(t for _, t in literal.rest)]
                return any(
                    all(
                        self.arithmetic.holds(a, op, b)
                        for (_, op, _), (a, b) in zip(
                            literal.links(), itertools.pairwise(values), strict=True
                        )
                    )
                    == (sign != 1)
                    for values in list(self.all_values(operands, bindings))
                )
            case Truth(value=value):
                return value
            case Conditional():
                return all(
                    self.test(literal.literal, way.bindings, outer)
                    for way in self.instances(literal.conditions, bindings)
                )
            case Aggregate(sign=1, guards=((op, guard),)):
                figure = self.aggregate_value(literal, self.members(literal, bindings))
                return any(
                    not self.arithmetic.holds(figure, op, other)
                    for other in list(self.evaluate(guard, bindings))
                )
            case Aggregate():
                return any(True for _ in self._aggregated(literal, bindings, outer))
        raise AssertionError(literal)

    def _chosen_all(self, args: Sequence[Expr], bindings: Bindings) -> Iterator[tuple[Expr, ...]]:
        """Terms with each choice among the alternatives of their pools and intervals."""
        yield from itertools.product(*(list(self._chosen(a, bindings)) for a in args))

    def _chosen(self, term: Expr, bindings: Bindings) -> Iterator[Expr]:
        match term:
            case Pool(args=args):
                for arg in args:
                    yield from self._chosen(arg, bindings)
            case Span():
                for value in self.evaluate(term, bindings):
                    assert isinstance(value, Figure)
                    yield Int(int(value.value), term.position)
            case Tup(args=args) | Fun(args=args) | Op(args=args):
                for chosen in self._chosen_all(args, bindings):
                    yield replace(term, args=chosen)
            case _:
                yield term

    def matches(
        self, atom: terms.Atom, bindings: Bindings, args: Sequence[Expr] | None = None
    ) -> Iterator[tuple[Bindings, Atom]]:
        """The atoms that an atom as written matches, with what its variables then stand for.

        ``args`` are its arguments with some parts left open, where they are.
        """
        for chosen in pools_apart(args or atom.args):
            patterns = [self.pattern(a, bindings) for a in chosen]
            for values in self.atoms.matching(atom.name, patterns):
                for found in self.unify_all(chosen, values, bindings):
                    yield found, (atom.name, values)

    def _left_open(self, args: tuple[Expr, ...], bindings: Bindings) -> tuple[Expr, ...]:
        """Arguments with anonymous variables for what is computed, as far as it has no value yet.

        So that what matches nothing anyhow needs none.
        """

        def opened(term: Expr) -> Expr:
            if isinstance(term, Tup | Fun | Pool) and term.args:
                return replace(term, args=tuple(map(opened, term.args)))
            open_ones = [t for t in _computed(term) if not self._has_value(t, bindings)]
            return Var("_'", term.position) if open_ones else term

        if all(self._has_value(t, bindings) for t in _computations(args)):
            return args
        return tuple(map(opened, args))

    def _has_value(self, term: Expr, bindings: Bindings) -> bool:
        if not _bound(term, bindings):
            return False
        try:
            list(self.evaluate(term, bindings))
        except Undefined:
            return False
        return True

    def instances(self, conditions: Sequence[Literal], bindings: Bindings) -> Iterator[Way]:
        """The ways in which the conditions of a set hold."""
        known = dict(bindings)
        outer = set().union(*map(_names, conditions))
        yield from self._solve(steps_of(conditions), Way(known), outer)

    def members(self, aggregate: Aggregate, bindings: Bindings) -> list[Member]:
        """The members of an aggregate's set, one for each way in which one is a member."""
        found = [
            Member(values, element, way)
            for element in aggregate.elements
            for way in self.instances(element.conditions, bindings)
            for values in self.all_values(element.terms, way.bindings)
        ]
        # A figure that one element computes is the same where another has it written.
        rows = [list(m.terms) for m in found]
        for place in range(max(map(len, rows), default=0)):
            having = [row for row in rows if place < len(row)]
            read = self.arithmetic.alike([row[place] for row in having])
            for row, value in zip(having, read, strict=True):
                row[place] = value
        return [replace(m, terms=tuple(row)) for m, row in zip(found, rows, strict=True)]

    def aggregate_value(self, aggregate: Aggregate, members: Iterable[Member]) -> Figure:
        """The value over the distinct tuples. Raises Undefined for the least of nothing."""
        tuples = list(dict.fromkeys(m.terms for m in members))
        if aggregate.function == "count":
            return count(len(tuples))
        figures = [self.arithmetic.alone(t[0]) for t in tuples]
        if aggregate.function == "sum":
            return self.arithmetic.total(figures)
        if not figures:
            raise Undefined("takes the least or greatest of nothing")
        choose = min if aggregate.function == "min" else max
        return Figure(choose(f.value for f in figures), common_unit(figures))

    def _aggregated(
        self, literal: Aggregate, bindings: Bindings, outer: set[str]
    ) -> Iterator[Bindings]:
        # A name inside the set that also stands outside is bound there.
        value: Value = self.aggregate_value(literal, self.members(literal, bindings))
        found: list[Bindings] = [bindings]
        for op, guard in literal.guards:
            found = [more for b in found for more in self._guarded(value, op, guard, b)]
        yield from found

    def _guarded(self, value: Value, op: str, guard: Expr, b: Bindings) -> Iterator[Bindings]:
        if op == "=":
            yield from self._unify(guard, value, b)
        elif any(self.arithmetic.holds(value, op, other) for other in self.evaluate(guard, b)):
            yield b

    def _compared(self, literal: Comparison, bindings: Bindings) -> Iterator[Bindings]:
        ((left, op, right),) = literal.links()
        if op != "=":
            if self.test(literal, bindings, set()):
                yield bindings
            return
        if not _bound(right, bindings):
            left, right = right, left
        if not _bound(right, bindings):
            yield from self._split(left, right, bindings)
            return
        for value in self.evaluate(right, bindings):
            yield from self._unify(left, value, bindings)

    def _split(self, left: Expr, right: Expr, bindings: Bindings) -> Iterator[Bindings]:
        """Two composite terms that are equal part by part, each part bound on one side."""
        assert isinstance(left, Tup | Fun)
        assert isinstance(right, Tup | Fun)
        found: list[Bindings] = [bindings]
        for a, b in zip(left.args, right.args, strict=True):
            pair = Comparison(a, (("=", b),), left.position)
            found = [more for known in found for more in self._compared(pair, known)]
        yield from found

    # Terms.

    def evaluate(self, term: Expr, bindings: Bindings) -> Iterator[Value]:
        """The values of a term whose variables are bound: one, or one for each alternative."""
        match term:
            case Var(name=name):
                yield bindings[name]
            case Int(value=value):
                yield count(value)
            case Str(value=text):
                yield Written(text)
            case Fun(name=name, args=()):
                yield Word(name)
            case Fun(name=name, args=args):
                for values in self.all_values(args, bindings):
                    yield Form(name, values)
            case Tup(args=args):
                yield from self.all_values(args, bindings)
            case Op(name=name, args=args):
                for values in self.all_values(args, bindings):
                    yield self.arithmetic.operate(name, values)
            case Span(low=low, high=high):
                for first, last in self.all_values([low, high], bindings):
                    ends = self.arithmetic.alone(first).value, self.arithmetic.alone(last).value
                    yield from map(count, range(int(ends[0]), int(ends[1]) + 1))
            case Pool(args=args):
                for arg in args:
                    yield from self.evaluate(arg, bindings)

    def all_values(self, args: Sequence[Expr], bindings: Bindings) -> Iterator[tuple[Value, ...]]:
        """The values of terms, in every choice among their alternatives."""
        yield from itertools.product(*(list(self.evaluate(a, bindings)) for a in args))

    def pattern(self, term: Expr, bindings: Bindings) -> Pattern:
        """What is known of a term's value."""
        match term:
            case Var(name=name):
                return bindings.get(name)
            case Fun(name=name, args=args) if args:
                inner = tuple(self.pattern(a, bindings) for a in args)
                return None if None in inner else Form(name, inner)  # type: ignore[arg-type]
            case Tup(args=args):
                return tuple(self.pattern(a, bindings) for a in args)
            case Span() | Pool():
                return None
            case Op() if not _bound(term, bindings):
                return None
        return next(self.evaluate(term, bindings))

    def unify_all(
        self, args: Sequence[Expr], values: Sequence[Pattern], bindings: Bindings
    ) -> Iterator[Bindings]:
        """The bindings under which terms are values; an open value says nothing."""
        found: list[Bindings] = [bindings]
        for arg, value in zip(args, values, strict=True):
            found = [more for b in found for more in self._unify(arg, value, b)]
            if not found:
                return
        yield from found

    def _unify(self, term: Expr, value: Pattern, bindings: Bindings) -> Iterator[Bindings]:
        """The bindings under which a term is a value; an open value says nothing."""
        if value is None:
            yield bindings
            return
        match term:
            case Var(name=name) if name in bindings:
                if self.fits(bindings[name], value):
                    yield bindings
            case Var(name=name):
                # An anonymous one stands for anything, and for something else each time.
                known = not name.startswith("_'") and complete(value)
                yield {**bindings, name: value} if known else bindings
            case Fun(name=name, args=()):
                if isinstance(value, Word) and value.name == name:
                    yield bindings
            case Tup(args=args):
                if isinstance(value, tuple) and len(value) == len(args):
                    yield from self.unify_all(args, value, bindings)
            case Fun(name=name, args=args):
                if isinstance(value, Form) and (value.name, len(value.args)) == (name, len(args)):
                    yield from self.unify_all(args, value.args, bindings)
            case Pool(args=args):
                for arg in args:
                    yield from self._unify(arg, value, bindings)
            case Op(name=name, args=(Var() as variable, Int(value=by))) if (
                name in ("+", "-") and variable.name not in bindings
            ):
                if isinstance(value, Figure):
                    back = value.value - by if name == "+" else value.value + by
                    yield {**bindings, variable.name: Figure(back, value.unit)}
            case _ if not _bound(term, bindings):
                # Arithmetic in a head, before its body is known.
                yield bindings
            case Span(low=low, high=high):
                ends = self.all_values([low, high], bindings)
                if isinstance(value, Figure) and any(
                    self._between(first, value.value, last) for first, last in ends
                ):
                    yield bindings
            case _:
                if any(self.fits(v, value) for v in self.evaluate(term, bindings)):
                    yield bindings

    def _between(self, first: Value, value: Fraction, last: Value) -> bool:
        low, high = self.arithmetic.alone(first).value, self.arithmetic.alone(last).value
        return low <= value <= high and value.denominator == 1

    def fits(self, value: Value, pattern: Pattern) -> bool:
        """Whether a value is what is known of it."""
        if pattern is None:
            return True
        if isinstance(pattern, tuple) and isinstance(value, tuple):
            return len(value) == len(pattern) and all(map(self.fits, value, pattern))
        if isinstance(pattern, Form) and isinstance(value, Form):
            return value.name == pattern.name and self.fits(value.args, pattern.args)
        return self.arithmetic.same(value, pattern)


_Result = TypeVar("_Result")
_MOST_REMEMBERED = 50_000


def _remembered(make: Callable[[Any], _Result]) -> Callable[[Any], _Result]:
    """The function, with what it made of each very object remembered."""
    known: dict[int, tuple[object, _Result]] = {}

    def of(item: Any) -> _Result:
        found = known.get(id(item))
        # An object that is let go leaves its identity to another.
        if found is None or found[0] is not item:
            if len(known) >= _MOST_REMEMBERED:
                known.clear()
            found = known[id(item)] = item, make(item)
        return found[1]

    return of


@_remembered
def _names(item: Expr | Literal | Element) -> frozenset[str]:
    """The names of the variables below a term or literal."""
    return frozenset(names(item))


@_remembered
def outer_names(rule: Rule) -> set[str]:
    """The names of the variables of a rule that live outside every set."""
    return terms.global_names(rule)


@_remembered
def steps_of(body: Sequence[Literal]) -> list[Step]:
    """Literals in their order; what compares twice is one for each comparison."""
    found = []
    for place, literal in enumerate(body):
        if isinstance(literal, Comparison) and not literal.sign:
            for left, op, right in literal.links():
                found.append(Step(place, Comparison(left, ((op, right),), literal.position)))
        elif isinstance(literal, Aggregate) and len(literal.guards) > 1:
            for guard in literal.guards:
                found.append(Step(place, replace(literal, guards=(guard,))))
        else:
            found.append(Step(place, literal))
    return found


def ready(literal: Literal, bindings: Bindings, outer: set[str]) -> bool:
    """Whether all is known that a literal needs; what it binds itself need not be."""
    match literal:
        case terms.Atom(sign=0, args=args):
            own = set().union(*map(_matched, args))
            return all(_names(t) <= bindings.keys() | own for t in _computations(args))
        case terms.Atom():
            return all(n in bindings or n.startswith("_'") for n in _names(literal))
        case Comparison(sign=0, first=left, rest=((op, right),)):
            if _bound(left, bindings) and _bound(right, bindings):
                return True
            return op == "=" and _equates(left, right, bindings)
        case Aggregate(guards=guards):
            inner = set().union(*map(_names, literal.elements)) & outer
            if not inner <= bindings.keys():
                return False
            for op, guard in guards:
                if not _bound(guard, bindings) and (
                    op != "=" or literal.sign or not isinstance(guard, Var)
                ):
                    return False
            return True
        case Conditional():
            return _names(literal) & outer <= bindings.keys()
        case Truth():
            return True
    return _bound_names(_names(literal), bindings)


def _equates(left: Expr, right: Expr, bindings: Bindings) -> bool:
    """Whether an equation can be solved for what is not bound in it."""
    for side, other in ((left, right), (right, left)):
        if _bound(side, bindings):
            return all(_bound(t, bindings) for t in _computed(other))
    if terms.alike(left, right):
        assert isinstance(left, Tup | Fun)
        assert isinstance(right, Tup | Fun)
        return all(_equates(a, b, bindings) for a, b in zip(left.args, right.args, strict=True))
    return False


@_remembered
def _matched(term: Expr) -> set[str]:
    """The variables of an atom's argument that matching binds."""
    match term:
        case Var(name=name):
            return {name}
        case Tup(args=args) | Fun(args=args):
            return set().union(*map(_matched, args))
        case Op(name="+" | "-", args=(Var(name=name), Int())):
            return {name}
    return set()


@_remembered
def _computations(args: Sequence[Expr]) -> list[Expr]:
    """What an atom's arguments compute."""
    return [term for arg in args for term in _computed(arg)]


def _computed(term: Expr) -> Iterator[Expr]:
    """The parts of a term that matching cannot solve: arithmetic and intervals."""
    match term:
        case Tup(args=args) | Fun(args=args) | Pool(args=args):
            for arg in args:
                yield from _computed(arg)
        case Op(name="+" | "-", args=(Var(), Int())):
            pass
        case Op() | Span():
            yield term


def _bound(term: Expr, bindings: Bindings) -> bool:
    return _bound_names(_names(term), bindings)


def _bound_names(wanted: frozenset[str], bindings: Bindings) -> bool:
    return wanted <= bindings.keys()


def complete(value: Pattern) -> bool:
    """Whether no part of a value is open."""
    if isinstance(value, tuple | Form):
        return all(map(complete, value if isinstance(value, tuple) else value.args))
    return value is not None


def joins(literal: Literal, bindings: Bindings) -> bool:
    """Whether what is known narrows what a literal may match; only atoms may match at large."""
    if not isinstance(literal, terms.Atom) or literal.sign:
        return True
    open_to = [a for a in literal.args if not isinstance(a, Fun) or a.args]
    return not open_to or any(_narrows(a, bindings) for a in open_to)


def _narrows(term: Expr, bindings: Bindings) -> bool:
    """Whether some part of a term is known, so that it narrows what is looked for."""
    if isinstance(term, Tup | Fun) and term.args:
        return any(_narrows(a, bindings) for a in term.args)
    return _bound(term, bindings)


def pools_apart(args: Sequence[Expr]) -> Iterator[tuple[Expr, ...]]:
    """The arguments with each choice among the alternatives of pools at their top."""
    choices = [a.args if isinstance(a, Pool) else (a,) for a in args]
    yield from itertools.product(*choices)
