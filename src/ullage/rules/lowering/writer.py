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

from collections.abc import Iterable, Mapping, Sequence

from ullage.rules.graph import walks_with_sets
from ullage.rules.inference import TypedRule
from ullage.rules.lowering.aggregates import Aggregates
from ullage.rules.lowering.levels import RuleLevels, leaves, matched, solved_in_place
from ullage.rules.lowering.program import (
    Flags,
    Levels,
    Line,
    Lowered,
    RangeCheck,
    quoted,
    rule_text,
    tuple_text,
)
from ullage.rules.lowering.scribe import Scribe, WriteAgain, is_temp
from ullage.rules.lowering.sites import Calls
from ullage.rules.lowering.unfold import unfold
from ullage.rules.numbers import DECIMAL, FRACTION, FRACTIONAL
from ullage.rules.terms import (
    NEGATED,
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
    aligned,
    alike,
    children,
    names,
)
from ullage.rules.vocabulary import Place, Slot
from ullage.sorts import COUNT_RANGE, CountSort, ExactSort, FormsSort, Sort, TupleSort


def lower(rules: Sequence[TypedRule], facts: Mapping[Slot, int], flags: Flags) -> Lowered:
    """Lower rules over facts whose slots have these levels.

    Raises TooWide where a literal is too large for the shape of the flags.
    """
    program = Lowered(flags.shape, levels=dict(facts))
    program.walks = walks_with_sets([t.rule for t in rules])
    checks = _Ranges()
    for each in _settled(rules, program.levels, flags):
        RuleWriter(each, program, checks).write()
    checks.write(program)
    return program


def wary(rules: Sequence[TypedRule]) -> Flags:
    """The flags to which no try of the rules can add, whatever facts it is over."""
    numbers = frozenset(_numbering([unfold(t) for t in rules]).values())
    return Flags(numbers, numbers, wide=True)


def settled(rules: Sequence[TypedRule], facts: Mapping[Slot, int], flags: Flags) -> Levels:
    """The levels that the rules settle at over facts whose slots have these, as ``lower`` does."""
    levels = dict(facts)
    _settled(rules, levels, flags)
    return levels


def _settled(rules: Sequence[TypedRule], slots: Levels, flags: Flags) -> list[RuleLevels]:
    """The rules, unfolded and with their levels; those of all slots are raised in place."""
    rules = [unfold(t) for t in rules]
    numbering = _numbering(rules)
    levels = [RuleLevels(t, slots, flags, numbering) for t in rules]
    before = None
    while before != slots:
        before = dict(slots)
        for each in levels:
            each.raise_slots()
    return levels


def _numbering(rules: Sequence[TypedRule]) -> dict[int, int]:
    """The numbers of unfolded rules' expressions and aggregates, by identity."""
    numbering: dict[int, int] = {}
    for typed in rules:
        # What a head computes is last: the whole body guards it.
        for literal in (*typed.rule.body, typed.rule.head):
            _number(literal, numbering)
    return numbering


def _number(item: Literal | Expr | Element, numbering: dict[int, int]) -> None:
    """Number aggregates, and expressions that are no part of another, alike in every try."""
    if isinstance(item, Op | Aggregate):
        numbering.setdefault(id(item), len(numbering) + 1)
    if not isinstance(item, Op):
        for child in children(item):
            _number(child, numbering)


class _Ranges:
    """One check for each slot that native arithmetic feeds: its values are within the range."""

    def __init__(self) -> None:
        self.fed: dict[tuple[Slot, str], tuple[Sort, list[Rule]]] = {}

    def note(self, slot: Slot, pattern: str, sort: Sort, rule: Rule) -> None:
        """A rule's head holds a native figure at a slot; ``%`` stands for it in the pattern."""
        rules = self.fed.setdefault((slot, pattern), (sort, []))[1]
        if rule not in rules:
            rules.append(rule)

    def write(self, program: Lowered) -> None:
        """Add the checks to the program."""
        for number, ((slot, pattern), (sort, rules)) in enumerate(self.fed.items(), start=1):
            relation = f"_range'{number}"
            beyond = f"_beyond'{number}"
            if isinstance(sort, CountSort):
                value, far, tests = "V", f"|V| >= {COUNT_RANGE}", ["#true"]
            else:
                name, parts = DECIMAL, list(program.shape.letters)
                if program.levels.get(slot, 0) == FRACTION:
                    name, parts = FRACTIONAL, [*parts, "R"]
                top, zeros = program.shape.top, ",0" * (len(parts) - 1)
                value, far = f"{name}({','.join(parts)})", f"|{parts[0]}| >= {top}"
                tests = [f"V >= {name}({top}{zeros})", f"V <= {name}(-{top}{zeros})"]
            # One pass over all values, by a number; only what that leaves is compared as a term.
            bodies = [(f"{beyond}({value})", [pattern.replace("%", value), far])]
            bodies += [(f"{relation}(V)", [f"{beyond}(V)", test]) for test in tests]
            for head, body in bodies:
                program.lines.append(Line(rule_text(head, body), rules[0]))
            program.ranges.append(RangeCheck(relation, sort, tuple(rules)))


def atoms_first(body: Iterable[Literal]) -> list[Literal]:
    """Atoms before what needs their variables; the order has no meaning in a rule."""
    return sorted(body, key=lambda b: not (isinstance(b, Atom) and b.sign == 0))


class RuleWriter:
    """Writes one rule."""

    def __init__(self, levels: RuleLevels, program: Lowered, ranges: _Ranges) -> None:
        self.levels = levels
        self.typed = levels.typed
        self.rule = levels.typed.rule
        self.program = program
        self.ranges = ranges
        self.scribe = Scribe(levels.typed.guarded)
        self.calls = Calls(levels, self.scribe, program)
        self.figures = self.calls.figures
        self.aggregates = Aggregates(self.calls, self)

    def write(self) -> None:
        """Add the rule's lines to the program."""
        while True:
            self.scribe.begin()
            self.calls.begin()
            try:
                for literal in atoms_first(self.rule.body):
                    self.literal(literal)
                head = self.atom(self.rule.head, binds=False)
                break
            except WriteAgain:
                continue
        self.program.lines.append(Line(rule_text(head, self.scribe.texts()), self.rule))
        self.program.lines.extend(self.calls.finish())

    def literal(self, literal: Literal) -> None:
        """Write one literal of a body or of a set's conditions."""
        match literal:
            case Atom():
                self._body_atom(literal)
            case Comparison():
                for left, op, right in literal.links():
                    self._pair(NEGATED[op] if literal.sign == 1 else op, left, right, literal.sign)
            case Truth(value=value):
                self.scribe.add("#true" if value else "#false")
            case Conditional():
                self._conditional(literal)
            case Aggregate():
                self.aggregates.write(literal)

    def _conditional(self, literal: Conditional) -> None:
        with self.scribe.inside() as pieces:
            for condition in atoms_first(literal.conditions):
                self.literal(condition)
            first = len(pieces)
            self.literal(literal.literal)
        # What the literal computes on its way is a condition, too. Of a chain each link is a
        # literal of its own, for all of them are to hold.
        steps = [p for p in pieces[first:] if p.binds and all(map(is_temp, p.binds))]
        held = [p for p in pieces[first:] if p not in steps]
        everything = list(pieces)
        # What is to hold is no condition, on which a call in the set might wait.
        pieces[:] = [p for p in pieces if p not in held]
        conditions = ", ".join(p.text for p in pieces)
        needs = frozenset().union(*(p.needs | p.binds for p in everything))
        sites = frozenset().union(*(p.sites for p in everything))
        for piece in held:
            self.scribe.add(f"{piece.text} : {conditions}", (), needs, sites=sites)

    def _body_atom(self, atom: Atom) -> None:
        binds = {n for arg in atom.args for n in matched(arg)}
        text = self.atom(atom, binds=atom.sign == 0)
        if atom.sign == 0:
            needs = set().union(*map(self._needed, atom.args)) - binds
            self.scribe.add(text, binds, needs, atom=True)
        else:
            computed = {n for arg in atom.args for n in names(arg)} - binds
            sites = set().union(*(self.levels.sites(a) for a in atom.args))
            self.scribe.add("not " * atom.sign + text, (), binds | computed, sites=sites)

    def _needed(self, term: Expr) -> set[str]:
        """The variables that an atom's argument needs, as it is written where it is to match."""
        match term:
            case Var(name=name):
                return {name}
            case Span() if not self.levels.sites(term):
                return names(term)
            case Tup(args=args) | Fun(args=args) | Pool(args=args):
                return set().union(*map(self._needed, args))
        # What is computed stands beside the atom, as a variable that it binds.
        return set()

    # Atoms and their arguments.

    def atom(self, atom: Atom, *, binds: bool) -> str:
        """An atom as its predicate's values are written."""
        args = []
        for arg, place in zip(atom.args, self.typed.places[id(atom)], strict=True):
            if place.sort is None:
                assert isinstance(arg, Fun)
                args.append(arg.name)
            else:
                if atom is self.rule.head:
                    self._note_ranges(arg, place)
                args.append(self.at_slot(arg, place.sort, place.slot, binds=binds))
        return f"{atom.name}({','.join(args)})" if args else atom.name

    def at_slot(self, term: Expr, sort: Sort, slot: Slot, *, binds: bool = False) -> str:
        """A term as the values at its slot are written."""
        match term:
            case Var(anonymous=True):
                return "_"
            case Tup(args=args) if isinstance(sort, TupleSort):
                return tuple_text(
                    [
                        self.at_slot(a, s, (*slot, str(i)), binds=binds)
                        for i, (a, s) in enumerate(zip(args, sort.items, strict=True))
                    ]
                )
            case Fun(name=name, args=args) if args and isinstance(sort, FormsSort):
                inner = [
                    self.at_slot(a, s, (*slot, name, str(i)), binds=binds)
                    for i, (a, (_, s)) in enumerate(zip(args, sort.forms[name], strict=True))
                ]
                return f"{name}({','.join(inner)})"
            case Pool(args=args):
                return f"({';'.join(self.at_slot(a, sort, slot, binds=binds) for a in args)})"
            case Op() if binds and not (isinstance(sort, CountSort) and solved_in_place(term)):
                return self._computed(term, sort, slot)
            case Span() if binds and self.levels.sites(term):
                return self._computed(term, sort, slot)
        return self._exact(term, sort, slot)

    def _computed(self, term: Op | Span, sort: Sort, slot: Slot) -> str:
        """A variable of its own for what an atom's argument computes."""
        name = self.scribe.temp()
        text = self._exact(term, sort, slot)
        sites = self.levels.sites(term)
        self.scribe.add(f"{name} = {text}", (name,), names(term), sites=sites)
        return name

    def _exact(self, term: Expr, sort: Sort, slot: Slot) -> str:
        if isinstance(sort, ExactSort):
            figure = self.figures.figure(term, sort)
            return self.figures.written(figure, self.program.levels.get(slot, 0) == FRACTION)
        return self.plain(term)

    def plain(self, term: Expr) -> str:
        """A term of a sort without exact figures at its top."""
        match term:
            case Var(anonymous=True):
                return "_"
            case Var(name=name):
                return name
            case Str(value=text):
                return quoted(text)
            case Fun(name=name):
                return name
            case Span(low=low, high=high):
                return f"({self.plain(low)}..{self.plain(high)})"
            case Int() | Op():
                return self.figures.figure(term).text
        raise AssertionError(term)

    def free(self, term: Expr) -> str:
        """A term outside any atom."""
        sort = self.figures.sort(term)
        match term:
            case Var(anonymous=True):
                return "_"
            case Pool(args=args):
                return f"({';'.join(self.free(a) for a in args)})"
            case Fun() if term.args and sort is not None:
                return self.at_slot(term, sort, ())
            case Tup(args=args):
                return tuple_text([self.free(a) for a in args])
        return self.figures.figure(term).text if isinstance(sort, ExactSort) else self.plain(term)

    def _slot_of(self, var: Expr) -> Slot:
        """A slot of a composite variable; all that it stands at are written alike."""
        if isinstance(var, Var):
            for atom, _ in self.levels.atoms():
                for term, _, slot in self.levels.leaves(atom):
                    if isinstance(term, Var) and term.name == var.name:
                        return slot
        return ()

    # Comparisons.

    def _pair(self, op: str, left: Expr, right: Expr, sign: int) -> None:
        if op == "=" and not sign and alike(left, right):
            for a, b in aligned(left, right):
                self._pair(op, a, b, sign)
            return
        texts = self._sides(left, right)
        binds: set[str] = set()
        needs = names(left) | names(right)
        unbound = []
        for side, rest in ((left, right), (right, left)):
            free = self._freed(side, rest) if op == "=" and not sign else set()
            if free:
                unbound.append((free, names(rest) | names(side) - free))
        if unbound:
            binds, needs = unbound[0]
        sites = self.levels.sites(left) | self.levels.sites(right)
        either = len(unbound) > 1 and unbound[1] == (needs, binds)
        self.scribe.add(f"{texts[0]} {op} {texts[1]}", binds, needs, sites=sites, either=either)

    def _freed(self, side: Expr, rest: Expr) -> set[str]:
        """The variables that a side of an equation gets from the rest, and no atom binds."""
        if not isinstance(side, Var | Tup | Fun) or Var not in (type(side), type(rest)):
            return set()
        if isinstance(self.figures.sort(side), CountSort) and isinstance(
            self.figures.sort(rest), ExactSort
        ):
            # It is written as a pure number, of which nothing gives the count.
            return set()
        return matched(side) - self.levels.bound

    def _sides(self, left: Expr, right: Expr) -> tuple[str, str]:
        """Two compared terms, with their figures in one shape."""
        if alike(left, right):
            assert isinstance(left, Tup | Fun)
            assert isinstance(right, Tup | Fun)
            pairs = [self._sides(a, b) for a, b in zip(left.args, right.args, strict=True)]
            name = left.name if isinstance(left, Fun) else ""
            one, other = ([p[i] for p in pairs] for i in (0, 1))
            if name:
                return f"{name}({','.join(one)})", f"{name}({','.join(other)})"
            return tuple_text(one), tuple_text(other)
        sorts = [self.figures.sort(left), self.figures.sort(right)]
        exact = next((s for s in sorts if isinstance(s, ExactSort)), None)
        if exact is not None:
            return self.figures.alike(left, right, exact)
        slot = self._slot_of(left) or self._slot_of(right)
        sort = next((s for s in sorts if s is not None), None)
        found = [
            self.at_slot(t, sort, slot)
            if isinstance(t, Tup | Fun) and t.args and sort is not None
            else self.free(t)
            for t in (left, right)
        ]
        return found[0], found[1]

    # Ranges.

    def _note_ranges(self, arg: Expr, place: Place) -> None:
        """Have the figures that this head computes natively checked."""
        assert place.sort is not None
        for term, sort, slot in leaves(arg, place.sort, place.slot):
            if self.levels.unchecked(term, sort):
                places = self.typed.places[id(self.rule.head)]
                self.ranges.note(slot, _pattern(self.rule.head, places, slot), sort, self.rule)


def _pattern(head: Atom, places: Sequence[Place], wanted: Slot) -> str:
    """A head's atom with ``%`` at one slot and ``_`` at all others."""

    def at(here: Expr, sort: Sort, slot: Slot) -> str:
        if slot == wanted:
            return "%"
        if slot != wanted[: len(slot)]:
            return "_"
        match here:
            case Tup(args=args) if isinstance(sort, TupleSort):
                return tuple_text(
                    [
                        at(a, s, (*slot, str(i)))
                        for i, (a, s) in enumerate(zip(args, sort.items, strict=True))
                    ]
                )
            case Fun(name=name, args=args) if args and isinstance(sort, FormsSort):
                inner = [
                    at(a, s, (*slot, name, str(i)))
                    for i, (a, (_, s)) in enumerate(zip(args, sort.forms[name], strict=True))
                ]
                return f"{name}({','.join(inner)})"
        return "_"

    args = []
    for arg, place in zip(head.args, places, strict=True):
        if place.sort is None:
            assert isinstance(arg, Fun)
            args.append(arg.name)
        else:
            args.append(at(arg, place.sort, place.slot))
    return f"{head.name}({','.join(args)})"
