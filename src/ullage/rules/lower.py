"""Typed rules as plain clingo: exact numbers become limbs, and arithmetic over them native terms.

What limbs can do natively (sums, differences, products with a literal fraction, comparisons,
extrema) is written out; every other expression becomes one *site*, evaluated by a function once for
each distinct tuple of its arguments, through a relation of its own:

    _call'7(Fraction, Usable, @call7(Fraction, Usable)) :- …the literals that bind them….

so that no call depends on the order in which clingo joins, and a printed program can hold the
relation's rows instead of the call. Nothing here decides a value; a try of the program may report
that a site had a value of more than nine decimals, or none, and the next try is lowered for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ullage.findings import Position
from ullage.rules import arithmetic, numbers
from ullage.rules.inference import TypedRule
from ullage.rules.numbers import BASE, FRACTION, LEVELS, TOP
from ullage.rules.terms import (
    Aggregate,
    Atom,
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
from ullage.rules.vocabulary import Place, Slot
from ullage.sorts import (
    COUNT,
    COUNT_RANGE,
    RATIO,
    CountSort,
    ExactSort,
    FormsSort,
    Sort,
    TupleSort,
    parse_exact,
)

Levels = dict[Slot, int]
"""How many decimals the values at a slot may have; FRACTION where no number of them is enough."""

_NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_LARGEST_FACTOR = 46340
"""Products of two remainders below this stay within 32 bits."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What earlier tries found out about sites, by number.

    ``fractions`` had a value of more than nine decimals, ``undefined`` had none for some arguments.
    """

    fractions: frozenset[int] = frozenset()
    undefined: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Site:
    """An expression or sum that a function evaluates.

    ``arguments`` are the variables it takes, with their sorts; ``function`` maps their values (base
    units, exact) to the value in base units of ``sort``, or None where there is none.
    """

    number: int
    kind: str
    rule: Rule
    arguments: tuple[tuple[str, Sort], ...]
    sort: Sort
    position: Position
    function: Callable[[Sequence[Fraction]], Fraction | None] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the lowered program: its text, the rule it comes from, and the site it feeds.

    A line whose ``site`` is set calls into Python; a printed program holds rows of ``relation``
    instead.
    """

    text: str
    rule: Rule | None
    site: int | None = None
    relation: str = ""


@dataclass(frozen=True, slots=True)
class RangeCheck:
    """A relation of values that left the range, and the rules that derive them."""

    relation: str
    sort: Sort
    rules: tuple[Rule, ...]


@dataclass(slots=True)
class Lowered:
    """A lowered program without facts.

    ``levels`` says how facts are to be written; ``undefined`` and ``empty`` name relations whose
    atoms are errors of a site or of an aggregate.
    """

    lines: list[Line] = field(default_factory=list)
    sites: dict[int, Site] = field(default_factory=dict)
    levels: Levels = field(default_factory=dict)
    ranges: list[RangeCheck] = field(default_factory=list)
    undefined: dict[str, Site] = field(default_factory=dict)
    empty: dict[str, Rule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Value:
    """A figure in lowered text: its limbs where they are known, and whether it has a fifth part."""

    text: str
    limbs: tuple[str, str, str, str] | None = None
    fraction: bool = False


@dataclass(slots=True)
class _Piece:
    """One lowered literal: what it binds and needs, by variable, and the sites it rests on."""

    text: str
    binds: frozenset[str]
    needs: frozenset[str]
    atom: bool = False
    sites: frozenset[int] = frozenset()


class _Again(Exception):
    """A variable turned out to need its limbs; the rule is written again with them."""


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


def lower(rules: Sequence[TypedRule], facts: Mapping[Slot, int], flags: Flags) -> Lowered:
    """Lower rules over facts whose slots have these levels."""
    numbering: dict[int, int] = {}
    for typed in rules:
        for literal in (typed.rule.head, *typed.rule.body):
            _number(literal, numbering)
    result = Lowered(levels=dict(facts))
    writers = [_Writer(i, t, result, flags, numbering) for i, t in enumerate(rules)]
    before = None
    while before != result.levels:
        before = dict(result.levels)
        for writer in writers:
            writer.raise_levels()
    for writer in writers:
        writer.write()
    _write_ranges(result, writers)
    return result


def _number(item: Literal | Expr | Element, numbering: dict[int, int]) -> None:
    """Number every expression and aggregate, alike in every try."""
    match item:
        case Op():
            numbering[id(item)] = len(numbering) + 1
        case Fun(args=args) | Tup(args=args) | Pool(args=args) | Atom(args=args):
            for arg in args:
                _number(arg, numbering)
        case Span(low=low, high=high):
            _number(low, numbering)
            _number(high, numbering)
        case Comparison(first=first, rest=rest):
            _number(first, numbering)
            for _, term in rest:
                _number(term, numbering)
        case Conditional(literal=literal, conditions=conditions):
            for part in (literal, *conditions):
                _number(part, numbering)
        case Aggregate(elements=elements, guards=guards):
            numbering[id(item)] = len(numbering) + 1
            for element in elements:
                _number(element, numbering)
            for _, guard in guards:
                _number(guard, numbering)
        case Element(terms=terms, conditions=conditions):
            for term in terms:
                _number(term, numbering)
            for condition in conditions:
                _number(condition, numbering)
        case _:
            pass


class _Writer:
    """Lowers one rule."""

    def __init__(
        self,
        index: int,
        typed: TypedRule,
        program: Lowered,
        flags: Flags,
        numbering: Mapping[int, int],
    ) -> None:
        self.index = index
        self.typed = typed
        self.rule = typed.rule
        self.program = program
        self.flags = flags
        self.numbering = numbering
        self.expanded: set[str] = set()
        self.levels: dict[str, int] = {}
        self.bound = self._bound_by_atoms()
        self.outer: list[_Piece] = []
        self.scope: list[_Piece] = self.outer
        self.temps = 0
        self.native_heads: list[tuple[Slot, str, Sort]] = []
        self.native_vars: set[str] = set()

    # Levels: how many decimals each figure may have.

    def _atoms(self) -> Iterable[tuple[Atom, bool]]:
        """Every body atom, and whether it binds its variables."""
        for literal in self.rule.body:
            match literal:
                case Atom():
                    yield literal, literal.sign == 0
                case Conditional(literal=inner, conditions=conditions):
                    if isinstance(inner, Atom):
                        yield inner, False
                    for condition in conditions:
                        if isinstance(condition, Atom):
                            yield condition, condition.sign == 0
                case Aggregate(elements=elements):
                    for element in elements:
                        for condition in element.conditions:
                            if isinstance(condition, Atom):
                                yield condition, condition.sign == 0

    def _bound_by_atoms(self) -> set[str]:
        return {n for a, binds in self._atoms() if binds for arg in a.args for n in _plain(arg)}

    def leaves(self, atom: Atom) -> Iterable[tuple[Expr, Sort, Slot]]:
        """Every variable, literal and expression of an atom, with its sort and slot."""
        for arg, place in zip(atom.args, self.typed.places[id(atom)], strict=True):
            if place.sort is not None:
                yield from _leaves(arg, place.sort, place.slot)

    def raise_levels(self) -> None:
        """Raise what the rule derives to the levels of what it reads."""
        self._variable_levels()
        levels = self.program.levels
        composite: dict[str, list[Slot]] = {}
        for atom, binds in [*self._atoms(), (self.rule.head, False)]:
            for term, sort, slot in self.leaves(atom):
                if isinstance(sort, ExactSort):
                    if not binds:
                        found = self.level(term)
                        if atom is self.rule.head or found == FRACTION:
                            levels[slot] = max(levels.get(slot, 0), found)
                elif isinstance(term, Var) and exact_leaves(sort):
                    composite.setdefault(self._linked(term.name), []).append(slot)
        for name, slots in composite.items():
            for path in exact_leaves(self.typed.variables[name]):
                most = max(levels.get((*s, *path), 0) for s in slots)
                for slot in slots:
                    levels[(*slot, *path)] = max(levels.get((*slot, *path), 0), most)

    def _linked(self, name: str) -> str:
        """The one name that stands for all composite variables compared with this one."""
        group = {name}
        for _ in self.rule.body:
            for literal in self.rule.body:
                if isinstance(literal, Comparison):
                    sides = [literal.first, *(t for _, t in literal.rest)]
                    found = {s.name for s in sides if isinstance(s, Var)}
                    if found & group:
                        group |= found
        return min(group)

    def _variable_levels(self) -> None:
        found: dict[str, int] = {}
        for atom, binds in self._atoms():
            if not binds:
                continue
            for term, sort, slot in self.leaves(atom):
                if isinstance(term, Var) and isinstance(sort, ExactSort):
                    here = self.program.levels.get(slot, 0)
                    found[term.name] = min(found.get(term.name, here), here)
        self.levels = found
        for _ in self.rule.body:
            for literal in self.rule.body:
                self._defined_levels(literal)

    def _defined_levels(self, literal: Literal) -> None:
        match literal:
            case Comparison(sign=0):
                chain = [literal.first, *(t for _, t in literal.rest)]
                for (op, right), left in zip(literal.rest, chain, strict=False):
                    if op == "=":
                        self._define(left, right)
                        self._define(right, left)
            case Conditional(conditions=conditions):
                for condition in conditions:
                    self._defined_levels(condition)
            case Aggregate():
                for element in literal.elements:
                    for condition in element.conditions:
                        self._defined_levels(condition)
                for op, guard in literal.guards:
                    if op == "=" and isinstance(guard, Var) and guard.name not in self.bound:
                        self.levels[guard.name] = self.aggregate_level(literal)
            case _:
                pass

    def _define(self, var: Expr, term: Expr) -> None:
        if isinstance(var, Var) and var.name not in self.bound and not isinstance(term, Var | Tup):
            self.levels[var.name] = max(self.levels.get(var.name, 0), self.level(term))
        elif isinstance(var, Var) and isinstance(term, Var) and var.name not in self.bound:
            self.levels[var.name] = max(self.levels.get(var.name, 0), self.levels.get(term.name, 0))

    def aggregate_level(self, literal: Aggregate) -> int:
        """The level of an aggregate's value."""
        if literal.function == "count":
            return 0
        terms = max(self.level(e.terms[0]) for e in literal.elements)
        if literal.function == "sum":
            if self.numbering[id(literal)] in self.flags.fractions:
                return FRACTION
            return min(terms, LEVELS)
        return terms

    def level(self, term: Expr) -> int:
        """How many decimals a term's value may have."""
        match term:
            case Var(name=name):
                return self.levels.get(name, 0)
            case Str() | Int():
                sort = self.typed.terms.get(id(term))
                return numbers.level(self.literal(term)) if isinstance(sort, ExactSort) else 0
            case Op():
                if isinstance(self.typed.sort(term), CountSort):
                    return 0
                if not self.native(term):
                    fractions = self.numbering[id(term)] in self.flags.fractions
                    return FRACTION if fractions else LEVELS
                if (factor := self.factor(term)) is not None:
                    ratio, other = factor
                    return self.level(other) + numbers.level(Fraction(1, ratio.denominator))
                return max(self.level(a) for a in term.args)
            case Pool(args=args):
                return max(self.level(a) for a in args)
        return 0

    # Which expressions limbs can do natively.

    def native(self, term: Op) -> bool:
        """Whether an expression is written out in limbs."""
        sort = self.typed.sort(term)
        if isinstance(sort, CountSort):
            return term.name in ("+", "-") and all(self._small(a) for a in term.args)
        if (factor := self.factor(term)) is not None:
            ratio, other = factor
            places = numbers.level(Fraction(1, ratio.denominator))
            return (
                0 < ratio <= 1
                and ratio.denominator <= _LARGEST_FACTOR
                and places <= LEVELS
                and BASE % ratio.denominator == 0
                and isinstance(other, Var)
                and isinstance(self.typed.sort(other), ExactSort)
                and other.name not in self.native_sources()
                and self.level(other) + places <= LEVELS
            )
        return term.name in ("+", "-") and all(self._limbed(a) for a in term.args)

    def native_sources(self) -> set[str]:
        """Variables that an equation computes, whose first limb no check has bounded yet."""
        return set(self.typed.variables) - self.bound

    def _small(self, term: Expr) -> bool:
        if isinstance(term, Int):
            return True
        return isinstance(term, Var) and term.name in self.bound

    def _limbed(self, term: Expr) -> bool:
        match term:
            case Var():
                if isinstance(self.typed.sort(term), CountSort):
                    return term.name in self.bound
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
            if self._ratio(left):
                return self.literal(left), right
            if self._ratio(right):
                return self.literal(right), left
        if term.name == "/" and self._ratio(right) and self.literal(right):
            return 1 / self.literal(right), left
        return None

    def _ratio(self, term: Expr) -> bool:
        return isinstance(term, Str | Int) and arithmetic.pure(self.typed.sort(term))

    def literal(self, term: Expr) -> Fraction:
        """The value of a numeric literal."""
        if isinstance(term, Int):
            return Fraction(term.value)
        assert isinstance(term, Str)
        sort = self.typed.sort(term)
        assert isinstance(sort, ExactSort)
        return parse_exact(term.value, sort)

    # Writing the rule.

    def write(self) -> None:
        """Add the rule's lines to the program."""
        while True:
            self.outer = []
            self.scope = self.outer
            self.temps = 0
            self.native_heads = []
            self.native_vars = set()
            self.pending: list[Callable[[], list[Line]]] = []
            self.found: dict[int, Site] = {}
            try:
                for literal in _atoms_first(self.rule.body):
                    self.body_literal(literal)
                head = self.atom(self.rule.head, "head")
                break
            except _Again:
                continue
        self._mark_sites()
        self.program.lines.append(Line(_rule(head, [p.text for p in self.outer]), self.rule))
        self.program.sites.update(self.found)
        for make in self.pending:
            self.program.lines.extend(make())

    def _mark_sites(self) -> None:
        """Let every piece know all sites that its variables rest on."""
        changed = True
        while changed:
            changed = False
            free = {v for p in self.outer if not p.sites for v in p.binds}
            rests: dict[str, frozenset[int]] = {}
            for piece in self.outer:
                for variable in piece.binds - free:
                    rests[variable] = rests.get(variable, frozenset()) | piece.sites
            for piece in self.outer:
                sites = piece.sites.union(*(rests.get(v, frozenset()) for v in piece.needs))
                if sites != piece.sites:
                    piece.sites = sites
                    changed = True

    def temp(self) -> str:
        self.temps += 1
        return f"E'{self.temps}"

    def add(
        self,
        text: str,
        binds: Iterable[str] = (),
        needs: Iterable[str] = (),
        *,
        atom: bool = False,
        sites: Iterable[int] = (),
    ) -> None:
        self.scope.append(_Piece(text, frozenset(binds), frozenset(needs), atom, frozenset(sites)))

    def body_literal(self, literal: Literal) -> None:
        match literal:
            case Atom():
                self.body_atom(literal)
            case Comparison():
                self.comparison(literal)
            case Truth(value=value):
                self.add("#true" if value else "#false")
            case Conditional(literal=inner, conditions=conditions):
                outer, self.scope = self.scope, []
                for condition in _atoms_first(conditions):
                    self.body_literal(condition)
                first = len(self.scope)
                self.body_literal(inner)
                held = self.scope[first:]
                conditions_text = [p.text for p in self.scope[:first] + held[:-1]]
                needs = frozenset().union(*(p.needs | p.binds for p in self.scope))
                sites = frozenset().union(*(p.sites for p in self.scope))
                self.scope = outer
                text = f"{held[-1].text} : {', '.join(conditions_text)}"
                self.add(text, (), needs, sites=sites)
            case Aggregate():
                self.aggregate(literal)

    def body_atom(self, atom: Atom) -> None:
        text = self.atom(atom, "positive" if atom.sign == 0 else "negative")
        plain = {n for arg in atom.args for n in _plain(arg)}
        computed = {n for arg in atom.args for n in names(arg)} - plain
        if atom.sign == 0:
            self.add(text, plain, computed, atom=True)
        else:
            self.add("not " * atom.sign + text, (), plain | computed)

    def atom(self, atom: Atom, role: str) -> str:
        places = self.typed.places[id(atom)]
        args = [
            self.argument(arg, place, role) for arg, place in zip(atom.args, places, strict=True)
        ]
        return f"{atom.name}({','.join(args)})" if args else atom.name

    def argument(self, arg: Expr, place: Place, role: str) -> str:
        if place.sort is None:
            assert isinstance(arg, Fun)
            return arg.name
        return self.at_slot(arg, place.sort, place.slot, role)

    def at_slot(self, term: Expr, sort: Sort, slot: Slot, role: str) -> str:
        """A term as the values at its slot are written."""
        match term:
            case Var(anonymous=True):
                return "_"
            case Tup(args=args) if isinstance(sort, TupleSort):
                inner = [
                    self.at_slot(a, s, (*slot, str(i)), role)
                    for i, (a, s) in enumerate(zip(args, sort.items, strict=True))
                ]
                return f"({inner[0]},)" if len(inner) == 1 else f"({','.join(inner)})"
            case Fun(name=name, args=args) if args and isinstance(sort, FormsSort):
                inner = [
                    self.at_slot(a, s, (*slot, name, str(i)), role)
                    for i, (a, (_, s)) in enumerate(zip(args, sort.forms[name], strict=True))
                ]
                return f"{name}({','.join(inner)})"
            case Pool(args=args):
                return f"({';'.join(self.at_slot(a, sort, slot, role) for a in args)})"
            case Op() if role == "positive" and not self._in_place(term):
                name = self.temp()
                value = self.value(term)
                fraction = self.program.levels.get(slot, 0) == FRACTION
                text = self.lifted(value) if fraction else value.text
                self.add(f"{name} = {text}", (name,), names(term), sites=self._sites(term))
                return name
        if not isinstance(sort, ExactSort):
            return self.plain(term, slot, role)
        if role == "head":
            self._note_native(term, slot, sort)
        value = self.value(term, sort)
        if self.program.levels.get(slot, 0) == FRACTION:
            return self.lifted(value)
        return value.text

    def plain(self, term: Expr, slot: Slot, role: str) -> str:
        """A term of a sort without exact figures at its top."""
        match term:
            case Int(value=value):
                return str(value)
            case Str(value=text):
                return quoted(text)
            case Fun(name=name):
                return name
            case Span(low=low, high=high):
                return f"({self.plain(low, (), role)}..{self.plain(high, (), role)})"
            case Var(name=name):
                if role == "head" and name in self.native_vars:
                    self._note_native(term, slot, COUNT)
                return name
            case Tup(args=args):
                inner = [self.free(a) for a in args]
                return f"({inner[0]},)" if len(inner) == 1 else f"({','.join(inner)})"
            case Op():
                if role == "head":
                    self._note_native(term, slot, COUNT)
                return self.value(term).text
        raise AssertionError(term)

    def free(self, term: Expr) -> str:
        """A term outside any slot, as its own values are written."""
        sort = self.typed.terms.get(id(term)) or (
            self.typed.variables.get(term.name) if isinstance(term, Var) else None
        )
        if isinstance(term, Var) and term.anonymous:
            return "_"
        if isinstance(sort, ExactSort):
            return self.value(term).text
        if isinstance(term, Tup | Fun) and term.args and sort is not None:
            return self.at_slot(term, sort, self._slot_of(sort), "negative")
        return self.plain(term, (), "negative")

    def _slot_of(self, sort: Sort) -> Slot:
        """The slot of some variable of a composite sort; all such slots are written alike."""
        for atom, _ in self._atoms():
            for term, found, slot in self.leaves(atom):
                if isinstance(term, Var) and found == sort:
                    return slot
        return ()

    def _in_place(self, term: Op) -> bool:
        """Whether clingo itself solves the argument for its variable, as in ``p(X+1)``."""
        return (
            isinstance(self.typed.sort(term), CountSort)
            and term.name in ("+", "-")
            and len(term.args) == 2
            and isinstance(term.args[0], Var)
            and isinstance(term.args[1], Int)
        )

    def _note_native(self, term: Expr, slot: Slot, sort: Sort) -> None:
        computed = (isinstance(term, Op) and self.native(term)) or (
            isinstance(term, Var) and term.name in self.native_vars
        )
        if computed:
            pattern = _pattern(self.rule.head, self.typed.places[id(self.rule.head)], term, slot)
            self.native_heads.append((slot, pattern, sort))

    # Figures.

    def value(self, term: Expr, sort: Sort | None = None) -> _Value:
        """A figure as lowered text; ``sort`` where it is to be one of another, pure sort."""
        own = self.typed.terms.get(id(term))
        if own is None and isinstance(term, Var):
            own = self.typed.variables[term.name]
        if isinstance(sort, ExactSort) and isinstance(own, CountSort):
            return self.promoted(term)
        match term:
            case Var(name=name):
                if not isinstance(own, ExactSort):
                    return _Value(name)
                fraction = self.levels.get(name, 0) == FRACTION
                if name in self.expanded:
                    limbs = self.limb_names(name)
                    tail = f",{name}'R" if fraction else ""
                    return _Value(f"({','.join(limbs)}{tail})", limbs, fraction)
                return _Value(name, None, fraction)
            case Int() | Str():
                if isinstance(own, CountSort):
                    assert isinstance(term, Int)
                    return _Value(str(term.value))
                return _constant(self.literal(term))
            case Op():
                return self.operation(term)
        raise AssertionError(term)

    @staticmethod
    def limb_names(name: str) -> tuple[str, str, str, str]:
        return f"{name}'T", f"{name}'H", f"{name}'M", f"{name}'N"

    def limbs(self, term: Expr, value: _Value) -> tuple[str, str, str, str]:
        """The limbs of a figure, asking for the rule to be written again where they are hidden."""
        if value.limbs is not None:
            return value.limbs
        if isinstance(term, Var):
            self.expanded.add(term.name)
            raise _Again
        return self.opened(value)

    def opened(self, value: _Value) -> tuple[str, str, str, str]:
        """The limbs of a decimal that stands as one variable."""
        limbs = self.limb_names(value.text)
        self.add(f"{value.text} = ({','.join(limbs)})", limbs, (value.text,))
        return limbs

    def lifted(self, value: _Value) -> str:
        """A figure with its fifth part."""
        if value.fraction:
            return value.text
        if value.limbs is None:
            if value.text in self.typed.variables:
                self.expanded.add(value.text)
                raise _Again
            return f"({','.join(self.opened(value))},0)"
        return f"({','.join(value.limbs)},0)"

    def promoted(self, term: Expr) -> _Value:
        """A count as a pure number."""
        if isinstance(term, Int):
            return _constant(Fraction(term.value))
        value = self.value(term)
        sign = self.temp()
        self.add(f"{sign} = ({value.text}-{BASE - 1})/{BASE}", (sign,), names(term))
        limbs = (sign, f"(-{BASE - 1}*{sign})", f"({value.text}-{BASE}*{sign})", "0")
        return _Value(f"({','.join(limbs)})", limbs)

    def operation(self, term: Op) -> _Value:
        if not self.native(term):
            return self.call(term)
        if isinstance(self.typed.sort(term), CountSort):
            inner = [self.value(a).text for a in term.args]
            text = (
                f"-{inner[0]}"
                if len(inner) == 1
                else term.name.join(f"({i})" if i.startswith("-") else i for i in inner)
            )
            return _Value(f"({text})")
        if (factor := self.factor(term)) is not None:
            return self.product(*factor)
        if len(term.args) == 1:
            return self.difference(_constant(Fraction(0)), None, 0, term.args[0])
        left, right = term.args
        sort = self.typed.sort(term)
        if term.name == "+":
            return self.sum(left, right, sort)
        value = self.value(left, sort)
        return self.difference(value, left, self.level(left), right)

    def sum(self, left: Expr, right: Expr, sort: Sort) -> _Value:
        at, ah, am, an = self.limbs(left, self.value(left, sort))
        bt, bh, bm, bn = self.limbs(right, self.value(right, sort))
        needs = names(left) | names(right)
        sites = self._sites(left) | self._sites(right)
        carry, low = "", "0"
        if self.level(left) or self.level(right):
            n = self.temp()
            self.add(f"{n} = {an}+{bn}", (n,), needs, sites=sites)
            carry, low = f"+{n}/{BASE}", f"{n}\\{BASE}"
        m, h = self.temp(), self.temp()
        self.add(f"{m} = {am}+{bm}{carry}", (m,), needs, sites=sites)
        self.add(f"{h} = {ah}+{bh}+{m}/{BASE}", (h,), needs, sites=sites)
        limbs = (f"{at}+{bt}+{h}/{BASE}", f"{h}\\{BASE}", f"{m}\\{BASE}", low)
        return _Value(f"({','.join(limbs)})", limbs)

    def difference(self, value: _Value, left: Expr | None, level: int, right: Expr) -> _Value:
        sort = self.typed.terms.get(id(right)) or COUNT
        at, ah, am, an = value.limbs or self.limbs(left or right, value)
        wanted = sort if isinstance(sort, ExactSort) else RATIO
        bt, bh, bm, bn = self.limbs(right, self.value(right, wanted))
        needs = names(right) | (names(left) if left is not None else set())
        sites = self._sites(right) | (self._sites(left) if left is not None else set())
        borrow, low = f"+{BASE}", "0"
        if level or self.level(right):
            n = self.temp()
            self.add(f"{n} = {an}-{bn}+{BASE}", (n,), needs, sites=sites)
            borrow, low = f"+{BASE - 1}+{n}/{BASE}", f"{n}\\{BASE}"
        m, h = self.temp(), self.temp()
        self.add(f"{m} = {am}-({bm}){borrow}", (m,), needs, sites=sites)
        self.add(f"{h} = {ah}-({bh})+{BASE - 1}+{m}/{BASE}", (h,), needs, sites=sites)
        limbs = (f"{at}-({bt})-1+{h}/{BASE}", f"{h}\\{BASE}", f"{m}\\{BASE}", low)
        return _Value(f"({','.join(limbs)})", limbs)

    def product(self, ratio: Fraction, term: Expr) -> _Value:
        """A figure times p/q, p <= q, q a divisor of the base: limb by limb from the top.

        Each limb d gives (d/q)*p + (d\\q)*p/q to its own place, and the remainder of that, in
        q-ths, to the next; all of it stays below 2**31.
        """
        p, q = ratio.numerator, ratio.denominator
        t, h, m, n = self.limbs(term, self.value(term))
        needs = names(term)
        if q == 1:
            return self.value(term)
        unit = BASE // q
        top = f"({t}+{TOP * q})"
        if p == 1:
            limbs = (
                f"{top}/{q}-{TOP}",
                f"({top}\\{q})*{unit}+{h}/{q}",
                f"({h}\\{q})*{unit}+{m}/{q}",
                f"({m}\\{q})*{unit}+{n}/{q}",
            )
            return _Value(f"({','.join(limbs)})", limbs)
        names_ = [self.temp() for _ in range(3)]
        carry = ""
        for name, limb, above in zip(names_, (n, m, h), (m, h, top), strict=True):
            self.add(
                f"{name} = ({limb}/{q})*{p}+(({limb}\\{q})*{p})/{q}"
                f"+((({above}\\{q})*{p})\\{q})*{unit}{carry}",
                (name,),
                needs,
            )
            carry = f"+{name}/{BASE}"
        first = f"({top}/{q}-{TOP})*{p}+(({top}\\{q})*{p})/{q}{carry}"
        limbs = (first, *(f"{x}\\{BASE}" for x in reversed(names_)))
        return _Value(f"({','.join(limbs)})", (limbs[0], limbs[1], limbs[2], limbs[3]))

    def _sites(self, term: Expr) -> set[int]:
        """The sites inside a term."""
        match term:
            case Op(args=args):
                if not self.native(term):
                    return {self.numbering[id(term)]}
                return set().union(*(self._sites(a) for a in args))
            case Tup(args=args) | Fun(args=args) | Pool(args=args):
                return set().union(*(self._sites(a) for a in args))
        return set()

    # Sites.

    def call(self, term: Op) -> _Value:
        """An expression that a function evaluates, as one relation over its variables."""
        number = self.numbering[id(term)]
        sort = self.typed.sort(term)
        arguments = tuple((n, self.typed.variables[n]) for n in sorted(names(term)))
        site = Site(
            number,
            "call",
            self.rule,
            arguments,
            sort,
            term.position,
            self._function(term, [n for n, _ in arguments]),
        )
        self.found[number] = site
        relation, result = f"_call'{number}", f"E'x{number}"
        variables = [self.value(Var(n, term.position)).text for n, _ in arguments]
        fraction = number in self.flags.fractions
        scope, outer = self.scope, self.outer
        if not any(p.text.startswith(f"{relation}(") for p in scope):
            self.add(
                f"{relation}({','.join([*variables, result])})",
                (result,),
                [n for n, _ in arguments],
                atom=True,
                sites=(number,),
            )

            def lines() -> list[Line]:
                support = self.support(number, {n for n, _ in arguments}, scope, outer)
                called = f"@call{number}({','.join(variables)})"
                head = f"{relation}({','.join([*variables, called])})"
                found = [Line(_rule(head, support), self.rule, number, relation)]
                if number in self.flags.undefined:
                    found += self._undefined(site, relation, variables, scope, outer)
                return found

            self.pending.append(lines)
        return _Value(result, None, fraction and isinstance(sort, ExactSort))

    def _undefined(
        self,
        site: Site,
        relation: str,
        variables: Sequence[str],
        scope: Sequence[_Piece],
        outer: Sequence[_Piece],
    ) -> list[Line]:
        """Tell apart arguments without a value that the rest of the body admits."""
        defined, missing = f"_defined'{site.number}", f"_undefined'{site.number}"
        self.program.undefined[missing] = site
        key = f"({','.join(variables)},)" if len(variables) == 1 else f"({','.join(variables)})"
        body = [p.text for p in self._free_of(site.number, scope, outer)]
        return [
            Line(f"{defined}({key}) :- {relation}({','.join([*variables, '_'])}).", self.rule),
            Line(_rule(f"{missing}({key})", [*body, f"not {defined}({key})"]), self.rule),
        ]

    def support(
        self, number: int, wanted: set[str], scope: Sequence[_Piece], outer: Sequence[_Piece]
    ) -> list[str]:
        """Literals that bind variables: one atom where one does, else all that do not rest on it."""
        free = self._free_of(number, scope, outer)
        for piece in free:
            if piece.atom and wanted <= piece.binds:
                filters = [
                    p.text
                    for p in free
                    if not p.atom and not p.binds and p.needs and p.needs <= piece.binds
                ]
                return [piece.text, *filters]
        return [p.text for p in free]

    def _free_of(
        self, number: int, scope: Sequence[_Piece], outer: Sequence[_Piece]
    ) -> list[_Piece]:
        pieces = [*outer, *(p for p in scope if not any(p is o for o in outer))]
        free = {v for p in pieces if number not in p.sites for v in p.binds}
        resting = {v for p in pieces if number in p.sites for v in p.binds} - free
        changed = True
        while changed:
            changed = False
            for piece in pieces:
                if piece.needs & resting and not piece.binds <= resting:
                    resting |= piece.binds
                    changed = True
        return [p for p in pieces if number not in p.sites and not p.needs & resting]

    def _function(
        self, term: Expr, arguments: Sequence[str]
    ) -> Callable[[Sequence[Fraction]], Fraction | None]:
        """The function that evaluates a term over the values of its variables, in order."""
        match term:
            case Var(name=name):
                index = list(arguments).index(name)
                return lambda values: values[index]
            case Int() | Str():
                if isinstance(term, Int):
                    constant = Fraction(term.value)
                else:
                    constant = self.literal(term)
                return lambda values: constant
            case Op(name=name, args=args):
                inner = [self._function(a, arguments) for a in args]
                sorts = [self.typed.sort(a) for a in args]
                sort = self.typed.sort(term)

                def evaluate(values: Sequence[Fraction]) -> Fraction | None:
                    found = []
                    for function in inner:
                        value = function(values)
                        if value is None:
                            return None
                        found.append(value)
                    return arithmetic.evaluate(name, found, sorts, sort)

                return evaluate
        raise AssertionError(term)

    # Comparisons.

    def comparison(self, literal: Comparison) -> None:
        chain = [literal.first, *(t for _, t in literal.rest)]
        for (op, right), left in zip(literal.rest, chain, strict=False):
            self.pair(op, left, right, literal.sign)

    def pair(self, op: str, left: Expr, right: Expr, sign: int) -> None:
        if isinstance(left, Tup) and isinstance(right, Tup) and op == "=" and not sign:
            for a, b in zip(left.args, right.args, strict=True):
                self.pair(op, a, b, sign)
            return
        a, b = self._side_sort(left), self._side_sort(right)
        sites = self._sites(left) | self._sites(right)
        if isinstance(a, ExactSort) or isinstance(b, ExactSort):
            sort = a if isinstance(a, ExactSort) else b
            one, other = self.value(left, sort), self.value(right, sort)
            if one.fraction or other.fraction:
                texts = (self.lifted(one), self.lifted(other))
            else:
                texts = (one.text, other.text)
        elif (
            isinstance(a, CountSort)
            and not isinstance(left, Span | Pool)
            and not isinstance(right, Span | Pool)
        ):
            texts = (self.value(left).text, self.value(right).text)
        else:
            texts = (self._composite(left, right), self._composite(right, left))
        binds: set[str] = set()
        needs = names(left) | names(right)
        if op == "=" and not sign:
            for side, rest in ((left, right), (right, left)):
                if isinstance(side, Var) and side.name not in self.bound and not binds:
                    binds = {side.name}
                    needs = names(rest)
                    if isinstance(rest, Op) and self.native(rest):
                        self.native_vars.add(side.name)
        if sign == 1:
            op = _NEGATED[op]
        self.add(f"{texts[0]} {op} {texts[1]}", binds, needs, sites=sites)

    def _side_sort(self, term: Expr) -> Sort | None:
        if isinstance(term, Var):
            return self.typed.variables.get(term.name)
        return self.typed.terms.get(id(term))

    def _composite(self, term: Expr, other: Expr) -> str:
        """A side of a comparison that holds no figure at its top."""
        sort = self._side_sort(term) or self._side_sort(other)
        if isinstance(term, Tup | Fun) and term.args and sort is not None:
            return self.at_slot(term, sort, self._slot_of(sort), "negative")
        if isinstance(term, Pool):
            return f"({';'.join(self.free(a) for a in term.args)})"
        return self.free(term)

    # Aggregates.

    def aggregate(self, literal: Aggregate) -> None:
        number = self.numbering[id(literal)]
        name = self._result_name(literal) or f"E'a{number}"
        outside = set().union(*(names(e) for e in literal.elements)) & self._globals()
        if literal.function == "sum":
            value = self._total(literal, number, name, outside)
        elif literal.function in ("min", "max") and not any(e.conditions for e in literal.elements):
            value = self._extremum(literal, name)
        else:
            value = self._native_aggregate(literal, number, name, outside)
        for op, guard in literal.guards:
            if op == "=" and isinstance(guard, Var) and guard.name == name:
                continue
            self._guard(literal, op, value, guard)

    def _globals(self) -> set[str]:
        found = names(self.rule.head)
        for literal in self.rule.body:
            if isinstance(literal, Aggregate):
                for _, guard in literal.guards:
                    found |= names(guard)
            elif not isinstance(literal, Conditional):
                found |= names(literal)
        return found

    def _result_name(self, literal: Aggregate) -> str | None:
        """The variable that takes the aggregate's value, where nothing else binds it."""
        if literal.sign:
            return None
        for op, guard in literal.guards:
            if op == "=" and isinstance(guard, Var) and guard.name not in self.bound:
                return guard.name
        return None

    def _guard(self, literal: Aggregate, op: str, value: _Value, guard: Expr) -> None:
        other = self.value(guard, self._aggregate_sort(literal))
        texts = (value.text, other.text)
        if value.fraction or other.fraction:
            texts = (self.lifted(value), self.lifted(other))
        if literal.sign == 1:
            op = _NEGATED[op]
        self.add(f"{texts[0]} {op} {texts[1]}", (), names(guard) | {value.text})

    def _aggregate_sort(self, literal: Aggregate) -> Sort:
        if literal.function == "count":
            return COUNT
        return (
            self.typed.sort(literal.elements[0].terms[0])
            if not isinstance(literal.elements[0].terms[0], Var)
            else self.typed.variables[literal.elements[0].terms[0].name]
        )

    def _result(self, literal: Aggregate, name: str) -> _Value:
        """The variable of an aggregate's value, in limbs where the rule needs them."""
        fraction = self.aggregate_level(literal) == FRACTION
        if name in self.expanded:
            limbs = self.limb_names(name)
            tail = f",{name}'R" if fraction else ""
            return _Value(f"({','.join(limbs)}{tail})", limbs, fraction)
        return _Value(name, None, fraction)

    def _extremum(self, literal: Aggregate, name: str) -> _Value:
        """The larger or smaller of given figures: one of them that no other passes."""
        terms = [e.terms[0] for e in literal.elements]
        needs = set().union(*(names(t) for t in terms))
        sites = set().union(*(self._sites(t) for t in terms))
        sort = self._aggregate_sort(literal)
        fraction = self.aggregate_level(literal) == FRACTION
        texts = []
        for term in terms:
            value = self.value(term, sort)
            text = self.lifted(value) if fraction else value.text
            if isinstance(term, Op):
                own = self.temp()
                self.add(f"{own} = {text}", (own,), names(term), sites=self._sites(term))
                text = own
            texts.append(text)
        result = self._result(literal, name)
        op = ">=" if literal.function == "max" else "<="
        bounds = ", ".join(f"{result.text} {op} {t}" for t in texts)
        self.add(f"{result.text} = ({';'.join(texts)}), {bounds}", (name,), needs, sites=sites)
        return result

    def _native_aggregate(
        self, literal: Aggregate, number: int, name: str, outside: set[str]
    ) -> _Value:
        fraction = self.aggregate_level(literal) == FRACTION
        elements, sites = [], set()
        for element in literal.elements:
            pieces, terms = self._element(element, literal.function != "count", fraction)
            sites |= {s for p in pieces for s in p.sites}
            elements.append(f"{','.join(terms)} : {', '.join(p.text for p in pieces)}")
        text = f"#{literal.function} {{ {'; '.join(elements)} }}"
        result = self._result(literal, name)
        self.add(f"{result.text} = {text}", (name,), outside, sites=sites)
        if literal.function in ("min", "max"):
            empty = "#sup" if literal.function == "min" else "#inf"
            relation = f"_empty'{number}"
            self.program.empty[relation] = self.rule
            scope, outer = self.scope, self.outer

            def lines() -> list[Line]:
                body = [p.text for p in self._without(name, scope, outer) if not p.sites & sites]
                key = self._key(outside)
                return [Line(_rule(f"{relation}({key})", [*body, f"{empty} = {text}"]), self.rule)]

            self.pending.append(lines)
        return result

    def _without(self, name: str, scope: Sequence[_Piece], outer: Sequence[_Piece]) -> list[_Piece]:
        """The pieces that do not rest on a variable."""
        pieces = [*outer, *(p for p in scope if not any(p is o for o in outer))]
        resting = {name}
        changed = True
        while changed:
            changed = False
            for piece in pieces:
                if piece.needs & resting and not piece.binds <= resting:
                    resting |= piece.binds
                    changed = True
        return [p for p in pieces if not p.needs & resting and name not in p.binds]

    def _element(
        self, element: Element, figure: bool, fraction: bool
    ) -> tuple[list[_Piece], list[str]]:
        """An element's lowered conditions and terms; the first term is the figure, where one is."""
        outer, self.scope = self.scope, []
        for condition in _atoms_first(element.conditions):
            self.body_literal(condition)
        terms = []
        for index, term in enumerate(element.terms):
            if index == 0 and figure:
                value = self.value(term)
                terms.append(self.lifted(value) if fraction else value.text)
            else:
                terms.append(self.free(term))
        pieces, self.scope = self.scope, outer
        return pieces, terms

    def _key(self, variables: Iterable[str]) -> str:
        texts = [self.value(Var(n, self.rule.position)).text for n in sorted(variables)]
        return f"({texts[0]},)" if len(texts) == 1 else f"({','.join(texts)})"

    def _total(self, literal: Aggregate, number: int, name: str, outside: set[str]) -> _Value:
        """A sum, collected element by element and added up exactly by a function.

        The total is taken in a rule that reads the collecting relation under a count, so that
        clingo has finished collecting before it asks.
        """
        sort = self._aggregate_sort(literal)
        site = Site(number, "sum", self.rule, (), sort, literal.position)
        self.found[number] = site
        key = self._key(outside)
        element, collected, total = f"_element'{number}", f"_collected'{number}", f"_sum'{number}"
        parts = []
        fraction = any(self.level(e.terms[0]) == FRACTION for e in literal.elements)
        for entry in literal.elements:
            pieces, terms = self._element(entry, True, fraction)
            parts.append((pieces, terms))
        result = self._result(literal, name)
        self.add(f"{total}({key},{result.text})", (name,), outside, atom=True, sites=(number,))
        scope, outer = self.scope, self.outer

        def lines() -> list[Line]:
            found = []
            for pieces, terms in parts:
                bound = set().union(*(p.binds for p in pieces if p.atom), set())
                body = [p.text for p in pieces]
                if not outside <= bound:
                    body = [*self.support(number, outside, scope, outer), *body]
                whole = f"({terms[0]},)" if len(terms) == 1 else f"({','.join(terms)})"
                found.append(Line(_rule(f"{element}({key},{whole},{terms[0]})", body), self.rule))
            found.append(
                Line(
                    f"{collected}(K) :- {element}(K,E,V), @collect{number}(K,E,V) = 1.",
                    self.rule,
                    number,
                )
            )
            done = f"0 <= #count {{ K : {collected}(K) }}"
            body = [*self.support(number, outside, scope, outer), done] if outside else [done]
            found.append(
                Line(_rule(f"{total}({key},@sum{number}({key}))", body), self.rule, number, total)
            )
            if number in self.flags.undefined:
                missing = f"_undefined'{number}"
                self.program.undefined[missing] = site
                found.append(Line(f"_defined'{number}(K) :- {total}(K,_).", self.rule))
                body = [p.text for p in self._free_of(number, scope, outer)]
                found.append(
                    Line(
                        _rule(f"{missing}({key})", [*body, f"not _defined'{number}({key})"]),
                        self.rule,
                    )
                )
            return found

        self.pending.append(lines)
        return result


def _leaves(term: Expr, sort: Sort, slot: Slot) -> Iterable[tuple[Expr, Sort, Slot]]:
    match term:
        case Tup(args=args) if isinstance(sort, TupleSort):
            for i, (arg, item) in enumerate(zip(args, sort.items, strict=True)):
                yield from _leaves(arg, item, (*slot, str(i)))
        case Fun(name=name, args=args) if args and isinstance(sort, FormsSort):
            for i, (arg, (_, item)) in enumerate(zip(args, sort.forms[name], strict=True)):
                yield from _leaves(arg, item, (*slot, name, str(i)))
        case _:
            yield term, sort, slot


def _plain(term: Expr) -> set[str]:
    """The variables of a term that matching binds: those outside arithmetic."""
    match term:
        case Var(name=name):
            return {name}
        case Fun(args=args) | Tup(args=args):
            return set().union(*(_plain(a) for a in args))
        case Op(name=name, args=args) if name in ("+", "-") and len(args) == 2:
            # clingo solves `p(X+1)` for X.
            first, second = args
            return {first.name} if isinstance(first, Var) and isinstance(second, Int) else set()
    return set()


def _atoms_first(body: Iterable[Literal]) -> list[Literal]:
    """Atoms before what needs their variables; the order has no meaning in a rule."""
    literals = list(body)
    return sorted(literals, key=lambda b: not (isinstance(b, Atom) and b.sign == 0))


def _constant(value: Fraction) -> _Value:
    if numbers.level(value) == FRACTION:
        return _Value(numbers.fraction_text(value), None, True)
    t, h, m, n, _ = numbers.limbs(value)
    limbs = (str(t), str(h), str(m), str(n))
    return _Value(f"({','.join(limbs)})", limbs)


def _rule(head: str, body: Sequence[str]) -> str:
    # A conditional literal runs up to the next `;`, so `;` separates all literals.
    return f"{head} :- {'; '.join(body)}." if body else f"{head}."


def quoted(text: str) -> str:
    """Text as a string term of clingo."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return f'"{escaped}"'


def _pattern(head: Atom, places: Sequence[Place], term: Expr, slot: Slot) -> str:
    """A head's atom with ``%`` at one slot and ``_`` at all others."""

    def at(here: Expr, sort: Sort, path: Slot) -> str:
        if here is term and path == slot:
            return "%"
        match here:
            case Tup(args=args) if isinstance(sort, TupleSort):
                inner = [
                    at(a, s, (*path, str(i)))
                    for i, (a, s) in enumerate(zip(args, sort.items, strict=True))
                ]
                return f"({inner[0]},)" if len(inner) == 1 else f"({','.join(inner)})"
            case Fun(name=name, args=args) if args and isinstance(sort, FormsSort):
                inner = [
                    at(a, s, (*path, name, str(i)))
                    for i, (a, (_, s)) in enumerate(zip(args, sort.forms[name], strict=True))
                ]
                return f"{name}({','.join(inner)})"
        return "_"

    args = [
        arg.name if place.sort is None and isinstance(arg, Fun) else at(arg, place.sort, place.slot)
        for arg, place in zip(head.args, places, strict=True)
        if place.sort is not None or isinstance(arg, Fun)
    ]
    return f"{head.name}({','.join(args)})"


def _write_ranges(program: Lowered, writers: Sequence[_Writer]) -> None:
    """One check for each slot that native arithmetic feeds: its values are within the range."""
    fed: dict[tuple[Slot, str], tuple[Sort, list[Rule]]] = {}
    for writer in writers:
        for slot, pattern, sort in writer.native_heads:
            fed.setdefault((slot, pattern), (sort, []))[1].append(writer.rule)
    for number, ((slot, pattern), (sort, rules)) in enumerate(fed.items(), start=1):
        relation = f"_range'{number}"
        if isinstance(sort, CountSort):
            value, tests = "V", (f"V >= {COUNT_RANGE}", f"V <= -{COUNT_RANGE}")
        else:
            tail = ",R" if program.levels.get(slot, 0) == FRACTION else ""
            value, tests = f"(T,H,M,N{tail})", (f"T >= {TOP}", f"T < -{TOP}")
        atom = pattern.replace("%", value)
        for test in tests:
            program.lines.append(Line(f"{relation}({value}) :- {atom}, {test}.", rules[0]))
        program.ranges.append(RangeCheck(relation, sort, tuple(rules)))
