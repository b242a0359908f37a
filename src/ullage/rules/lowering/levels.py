"""How many decimals each figure of a rule may have, and which arithmetic limbs do natively."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from ullage.rules import arithmetic, numbers
from ullage.rules.inference import TypedRule
from ullage.rules.lowering.program import Flags, Levels
from ullage.rules.numbers import BASE, FRACTION, LEVELS
from ullage.rules.terms import (
    Aggregate,
    Atom,
    Comparison,
    Conditional,
    Expr,
    Fun,
    Int,
    Literal,
    Op,
    Pool,
    Span,
    Str,
    Tup,
    Var,
    aligned,
    global_names,
    names,
    uses,
)
from ullage.rules.vocabulary import Slot
from ullage.sorts import (
    COUNT_RANGE,
    CountSort,
    ExactSort,
    FormsSort,
    Sort,
    TupleSort,
    parse_exact,
)

_LARGEST_FACTOR = 46340
"""Products of two remainders below this stay within 32 bits."""

_LARGEST_LIMB = 2**30
"""Sums of first limbs up to this stay within 32 bits, carries and all."""


def exact_leaves(sort: Sort) -> list[Slot]:
    """The paths to exact figures inside a sort; the empty path where it is one itself."""
    match sort:
        case ExactSort():
            return [()]
        case TupleSort(items=items):
            return [(str(i), *p) for i, s in enumerate(items) for p in exact_leaves(s)]
        case FormsSort(forms=forms):
            return [
                (name, str(i), *p)
                for name, args in forms.items()
                for i, (_, s) in enumerate(args)
                for p in exact_leaves(s)
            ]
    return []


def leaves(term: Expr, sort: Sort, slot: Slot) -> Iterable[tuple[Expr, Sort, Slot]]:
    """The parts of a term below its tuples and forms, each with its sort and slot."""
    match term:
        case Tup(args=args) if isinstance(sort, TupleSort):
            for i, (arg, item) in enumerate(zip(args, sort.items, strict=True)):
                yield from leaves(arg, item, (*slot, str(i)))
        case Fun(name=name, args=args) if args and isinstance(sort, FormsSort):
            for i, (arg, (_, item)) in enumerate(zip(args, sort.forms[name], strict=True)):
                yield from leaves(arg, item, (*slot, name, str(i)))
        case _:
            yield term, sort, slot


def matched(term: Expr) -> set[str]:
    """The variables of a term that matching binds: those outside arithmetic."""
    match term:
        case Var(name=name):
            return {name}
        case Fun(args=args) | Tup(args=args):
            return set().union(*(matched(a) for a in args))
        case Op() if solved_in_place(term):
            first = term.args[0]
            assert isinstance(first, Var)
            return {first.name}
    return set()


def solved_in_place(term: Op) -> bool:
    """Whether clingo solves the term for its variable, as ``X`` in ``p(X+1)``."""
    return (
        term.name in ("+", "-")
        and len(term.args) == 2
        and isinstance(term.args[0], Var)
        and isinstance(term.args[1], Int)
    )


def _and_inside(body: Iterable[Literal]) -> Iterable[Literal]:
    """The literals of a body, and those inside its sets."""
    for literal in body:
        yield literal
        if isinstance(literal, Conditional):
            yield from (literal.literal, *literal.conditions)
        elif isinstance(literal, Aggregate):
            for element in literal.elements:
                yield from element.conditions


class RuleLevels:
    """The levels of one rule's variables and terms, under the levels of all slots."""

    def __init__(
        self, typed: TypedRule, slots: Levels, flags: Flags, numbering: Mapping[int, int]
    ) -> None:
        self.typed = typed
        self.slots = slots
        self.flags = flags
        self.numbering = numbering
        self.shape = flags.shape
        self.variables: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self.outer = global_names(typed.rule)
        self.bound = set().union(*(binds for _, binds in self.atoms()))
        self.given = self._given()
        # What an atom gives in arithmetic alone, as `p(X - 1)` gives X, is within no range yet.
        self.held: set[str] = set()
        self.solved: set[int] = set()
        for atom, binds in self.atoms():
            for term, sort, _ in self.leaves(atom):
                if isinstance(term, Var) and term.name in binds:
                    self.held.add(term.name)
                elif binds and isinstance(sort, CountSort) and isinstance(term, Op):
                    self.solved |= {id(term)} if solved_in_place(term) else set()

    def atoms(self) -> Iterator[tuple[Atom, set[str]]]:
        """Every body atom, and the variables that it binds: inside a set, the set's own alone."""
        for use in uses(self.typed.rule.body):
            binds = set().union(*map(matched, use.atom.args)) if use.binds else set()
            yield use.atom, binds if use.monotone else binds - self.outer

    def _given(self) -> set[str]:
        """The variables that atoms give, and equations from what atoms give."""
        given, before = set(self.bound), -1
        while len(given) > before:
            before = len(given)
            for literal in self.typed.rule.body:
                if isinstance(literal, Comparison) and not literal.sign:
                    equal = [(a, b) for a, op, b in literal.links() if op == "="]
                    for one, other in (pair for link in equal for pair in aligned(*link)):
                        given |= matched(one) if names(other) <= given else set()
                        given |= matched(other) if names(one) <= given else set()
        return given

    def leaves(self, atom: Atom) -> Iterable[tuple[Expr, Sort, Slot]]:
        """Every variable, literal and expression of an atom, with its sort and slot."""
        for arg, place in zip(atom.args, self.typed.places[id(atom)], strict=True):
            if place.sort is not None:
                yield from leaves(arg, place.sort, place.slot)

    def raise_slots(self) -> None:
        """Raise the slots that the rule writes to the levels of what it reads.

        A slot read under ``not`` is raised, too, where a fraction is looked for in it: both must be
        written alike to be compared. For the same reason all slots between which a composite
        value moves have one level.
        """
        self._variable_levels()
        head = self.typed.rule.head
        composite: dict[str, list[Slot]] = {}
        for atom, binds in [*self.atoms(), (head, set[str]())]:
            for term, sort, slot in self.leaves(atom):
                if isinstance(sort, ExactSort):
                    found = self.level(term)
                    bound = isinstance(term, Var) and term.name in binds
                    looked_for = found == FRACTION and not bound
                    if atom is head or looked_for:
                        self._raise(slot, found)
                elif isinstance(term, Var) and exact_leaves(sort):
                    composite.setdefault(self._linked(term.name), []).append(slot)
        self._raise_compared(composite)
        for name, places in composite.items():
            for path in exact_leaves(self.typed.variables[name]):
                most = max(self.slots.get((*s, *path), 0) for s in places)
                for slot in places:
                    self._raise((*slot, *path), most)

    def _raise_compared(self, composite: Mapping[str, Sequence[Slot]]) -> None:
        """Raise the slots of a variable that is compared with a term in which a fraction stands."""
        for left, right in self._compared():
            for var, term in ((left, right), (right, left)):
                if isinstance(var, Var) and isinstance(term, Tup | Fun) and term.args:
                    for slot in composite.get(self._linked(var.name), ()):
                        for part, sort, place in leaves(term, self.typed.variables[var.name], slot):
                            if isinstance(sort, ExactSort) and self.level(part) == FRACTION:
                                self._raise(place, FRACTION)

    def _compared(self) -> Iterable[tuple[Expr, Expr]]:
        """The pairs of terms that the body compares, down to the parts of tuples and forms."""
        for literal in _and_inside(self.typed.rule.body):
            if isinstance(literal, Comparison):
                for left, _, right in literal.links():
                    yield from aligned(left, right)

    def _raise(self, slot: Slot, level: int) -> None:
        self.slots[slot] = max(self.slots.get(slot, 0), level)

    def _linked(self, name: str) -> str:
        """The one name that stands for all variables compared with this one, in any steps."""
        group = {name}
        pairs = [
            {a.name, b.name}
            for a, b in self._compared()
            if isinstance(a, Var) and isinstance(b, Var)
        ]
        while more := [p for p in pairs if p & group and not p <= group]:
            group.update(*more)
        return min(group)

    def _variable_levels(self) -> None:
        found: dict[str, int] = {}
        for atom, binds in self.atoms():
            for term, sort, slot in self.leaves(atom):
                if isinstance(term, Var) and isinstance(sort, ExactSort) and term.name in binds:
                    here = self.slots.get(slot, 0)
                    found[term.name] = min(found.get(term.name, here), here)
        self.variables = found
        self.sizes = {}
        # An equation may use what a later one defines: as many rounds as literals settle all.
        for _ in self.typed.rule.body:
            for literal in self.typed.rule.body:
                self._defined(literal)

    def _defined(self, literal: Literal) -> None:
        match literal:
            case Comparison(sign=0):
                for left, op, right in literal.links():
                    if op == "=":
                        for one, other in aligned(left, right):
                            self._define(one, other)
                            self._define(other, one)
            case Conditional(conditions=conditions):
                for condition in conditions:
                    self._defined(condition)
            case Aggregate():
                for element in literal.elements:
                    for condition in element.conditions:
                        self._defined(condition)
                for op, guard in literal.guards:
                    if op == "=" and isinstance(guard, Var) and guard.name not in self.given:
                        self.variables[guard.name] = self.aggregate_level(literal)
                        if literal.function in ("min", "max"):
                            most = max(self.size(e.terms[0]) for e in literal.elements)
                            self.sizes[guard.name] = most
            case _:
                pass

    def _define(self, var: Expr, term: Expr) -> None:
        if isinstance(var, Var) and isinstance(term, Tup | Fun) and term.args:
            # Taken apart, a composite value gives figures as they are written where it stands.
            sort = self.typed.variables[var.name]
            for atom, _ in self.atoms():
                for whole, _, slot in self.leaves(atom):
                    if isinstance(whole, Var) and whole.name == var.name:
                        for part, _, place in leaves(term, sort, slot):
                            if isinstance(part, Var) and part.name not in self.bound:
                                here = self.slots.get(place, 0)
                                self.variables[part.name] = max(
                                    self.variables.get(part.name, 0), here
                                )
        elif isinstance(var, Var) and var.name not in self.bound and not isinstance(term, Tup):
            level = self.level(term)
            self.variables[var.name] = max(self.variables.get(var.name, 0), level)
            self.sizes[var.name] = max(self.sizes.get(var.name, 0), self.size(term))

    def aggregate_level(self, literal: Aggregate) -> int:
        """The level of an aggregate's value."""
        if literal.function == "count":
            return 0
        most = max(self.level(e.terms[0]) for e in literal.elements)
        if literal.function == "sum":
            fraction = self.numbering[id(literal)] in self.flags.fractions
            return FRACTION if fraction else min(most, LEVELS)
        return most

    def level(self, term: Expr) -> int:
        """How many decimals a term's value may have."""
        match term:
            case Var(name=name):
                return self.variables.get(name, 0)
            case Str() | Int():
                sort = self.typed.terms.get(id(term))
                return numbers.level(self.literal(term)) if isinstance(sort, ExactSort) else 0
            case Pool(args=args):
                return max(self.level(a) for a in args)
            case Op():
                if isinstance(self.typed.sort(term), CountSort):
                    return 0
                if not self.native(term):
                    fraction = self.numbering[id(term)] in self.flags.fractions
                    return FRACTION if fraction else LEVELS
                if (factor := self.factor(term)) is not None:
                    ratio, other = factor
                    return self.level(other) + numbers.level(Fraction(1, ratio.denominator))
                return max(self.level(a) for a in term.args)
        return 0

    def size(self, term: Expr) -> int:
        """A bound on a count, or on the first limb of an exact figure, as it is written.

        What an atom holds or a function gives is within the range of its sort; a native sum may
        leave it, and no wrap hides that, as long as no further sum is taken natively past 2**30.
        """
        match term:
            case Var(name=name):
                own = self.typed.variables.get(name)
                least = COUNT_RANGE if isinstance(own, CountSort) else self.shape.top
                if name in self.held:
                    return least
                given = 2 * least if name in self.bound else self.sizes.get(name, 0)
                return max(given, least)
            case Pool(args=args):
                return max(self.size(a) for a in args)
            case Op() if self.native(term) and self.factor(term) is None:
                return sum(self._limb(a, self.typed.sort(term)) for a in term.args) + 1
        counted = isinstance(self.typed.terms.get(id(term)), CountSort)
        return COUNT_RANGE if counted else self.shape.top

    def _limb(self, term: Expr, sort: Sort) -> int:
        """The size of a term as a part of a sum; a count in a sum of figures has a small limb."""
        own = self.typed.variables.get(term.name) if isinstance(term, Var) else None
        counted = isinstance(own or self.typed.terms.get(id(term)), CountSort)
        return 3 if counted and isinstance(sort, ExactSort) else self.size(term)

    def unchecked(self, term: Expr, sort: Sort) -> bool:
        """Whether a figure may be outside the range of its sort as it is written."""
        if not isinstance(sort, ExactSort | CountSort) or isinstance(term, Int | Str):
            return False
        most = COUNT_RANGE if isinstance(sort, CountSort) else self.shape.top
        return self._limb(term, sort) > most

    def native(self, term: Op) -> bool:
        """Whether an expression is written out in limbs: exact, and every part within 32 bits.

        A count's sum is taken of two counts that atoms hold, for these are bounded; a product is
        taken of a figure that an atom holds, for the same reason of its first limb.
        """
        if id(term) in self.solved:
            return True
        if isinstance(self.typed.sort(term), CountSort):
            return term.name in ("+", "-") and all(self._bounded_count(a) for a in term.args)
        if (factor := self.factor(term)) is not None:
            ratio, other = factor
            places = numbers.level(Fraction(1, ratio.denominator))
            return (
                0 < ratio <= 1
                and ratio.denominator <= _LARGEST_FACTOR
                and (ratio.denominator + 1) * self.shape.top < 2**31
                and places <= LEVELS
                and BASE % ratio.denominator == 0
                and isinstance(other, Var)
                and isinstance(self.typed.variables[other.name], ExactSort)
                and other.name in self.bound
                and self.level(other) + places <= LEVELS
            )
        return (
            term.name in ("+", "-")
            and all(self._limbed(a) for a in term.args)
            and sum(self._limb(a, self.typed.sort(term)) for a in term.args) < _LARGEST_LIMB
        )

    def _bounded_count(self, term: Expr) -> bool:
        return isinstance(term, Int) or (isinstance(term, Var) and term.name in self.held)

    def _limbed(self, term: Expr) -> bool:
        match term:
            case Var():
                if isinstance(self.typed.variables[term.name], CountSort):
                    return term.name in self.held
                return self.level(term) < FRACTION
            case Str() | Int():
                return numbers.level(self.literal(term)) < FRACTION
            case Op():
                return isinstance(self.typed.sort(term), ExactSort) and self.native(term)
        return False

    def factor(self, term: Op) -> tuple[Fraction, Expr] | None:
        """A literal ratio and the figure that it multiplies, where the term is such a product."""
        if len(term.args) != 2:
            return None
        left, right = term.args
        if term.name == "*":
            if self._pure_literal(left):
                return self.literal(left), right
            if self._pure_literal(right):
                return self.literal(right), left
        if term.name == "/" and self._pure_literal(right) and self.literal(right):
            return 1 / self.literal(right), left
        return None

    def _pure_literal(self, term: Expr) -> bool:
        return isinstance(term, Str | Int) and arithmetic.pure(self.typed.sort(term))

    def literal(self, term: Expr) -> Fraction:
        """The value of a numeric literal."""
        if isinstance(term, Int):
            return Fraction(term.value)
        assert isinstance(term, Str)
        sort = self.typed.sort(term)
        assert isinstance(sort, ExactSort)
        return parse_exact(term.value, sort)

    def sites(self, term: Expr) -> set[int]:
        """The sites inside a term."""
        match term:
            case Op(args=args):
                if not self.native(term):
                    return {self.numbering[id(term)]}
                return set().union(*(self.sites(a) for a in args))
            case Tup(args=args) | Fun(args=args) | Pool(args=args):
                return set().union(*(self.sites(a) for a in args))
            case Span(low=low, high=high):
                return self.sites(low) | self.sites(high)
        return set()
