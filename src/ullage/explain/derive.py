"""Why something holds: the rules that conclude it, and what each of their conditions rests on."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ullage.explain.store import Known
from ullage.facts import FactBase
from ullage.reference.bodies import Bindings, Bodies, Member, Way, outer_names
from ullage.reference.evaluate import below, node
from ullage.reference.facts import Reading
from ullage.reference.steps import each_of, first_match, made_of
from ullage.reference.text import aggregate_text, literal_text, value_text
from ullage.reference.values import (
    Arithmetic,
    Atom,
    Figure,
    Form,
    Pattern,
    Value,
    Word,
    as_sort,
)
from ullage.reference.words import Words
from ullage.results import Quantity, Standing, value_order
from ullage.results import Term as ResultTerm
from ullage.results import Value as ResultValue
from ullage.rules import terms
from ullage.rules.book import RuleBook
from ullage.rules.declared import LawDecl, TermDecl, snake
from ullage.rules.terms import Aggregate, Comparison, Conditional, Literal, Rule, Truth
from ullage.solve import Model
from ullage.sorts import COUNT, FormsSort, Sort
from ullage.standings import standing_of
from ullage.symbols import Subject, filled_term

MOST_WAYS = 16
"""How many ways of concluding one thing are followed, where it does not rest on itself."""

_HIGHEST = 2**62
"""Higher than any derivation."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a rule as an instance of it holds.

    ``kind`` is ``atom``, ``absence``, ``comparison``, ``aggregate``, ``each`` or ``truth``;
    ``bindings`` are those of the instance; ``premises`` the atoms that it rests on; ``members`` the
    distinct tuples of an aggregate, each with the atoms that make it one.
    """

    kind: str
    literal: Literal
    bindings: Bindings
    premises: tuple[Atom, ...] = ()
    members: tuple[tuple[tuple[Value, ...], tuple[Atom, ...]], ...] = ()
    value: Figure | None = None

    @property
    def text(self) -> str:
        """The instance, exact."""
        if isinstance(self.literal, Aggregate):
            members = [values for values, _ in self.members]
            return aggregate_text(self.literal, members, self.bindings)
        if isinstance(self.literal, terms.Atom) and not self.literal.sign:
            return _told(self.premises[0])
        return literal_text(self.literal, self.bindings)


@dataclass(frozen=True, slots=True)
class Support:
    """One instance of a rule that concludes an atom.

    ``premises`` are the atoms that it rests on, each once, in the order of the conditions.
    """

    rule: Rule
    bindings: Bindings
    conditions: tuple[Condition, ...]
    premises: tuple[Atom, ...]


@dataclass(slots=True)
class Derivation:
    """Why some atoms hold, and why each atom does that they rest on.

    ``readings`` tells what facts were read from, ``supports`` every instance that concludes an
    atom (the shortest derivation's first), ``heights`` how many steps lie on the longest way down
    to a fact in the shortest one. Of more than MOST_WAYS instances the first by their text are
    there, and ``more`` counts the others.
    """

    goals: tuple[Atom, ...]
    readings: dict[Atom, Reading] = field(default_factory=dict)
    supports: dict[Atom, list[Support]] = field(default_factory=dict)
    heights: dict[Atom, int] = field(default_factory=dict)
    more: dict[Atom, int] = field(default_factory=dict)

    def chosen(self, atom: Atom) -> Support | None:
        """The first step of the shortest derivation; None for a fact."""
        found = self.supports.get(atom)
        return found[0] if found else None

    def steps(self) -> list[Atom]:
        """The atoms of the shortest derivations, each after those that it rests on."""
        order: dict[Atom, None] = {}
        stack: list[tuple[Atom, bool]] = [(goal, False) for goal in reversed(self.goals)]
        while stack:
            atom, done = stack.pop()
            if atom in order:
                continue
            support = self.chosen(atom)
            if done or support is None:
                order[atom] = None
                continue
            stack.append((atom, True))
            stack += [(p, False) for p in reversed(support.premises) if p not in order]
        return list(order)


class Remembering(Bodies):
    """Bodies over atoms that stay: a set's members are looked for once, and its value worked out
    once, and not again for each instance of a rule that asks for the same.
    """

    def __init__(self, arithmetic: Arithmetic, atoms: Known) -> None:
        super().__init__(arithmetic, atoms)
        # By the very aggregate and members, which are kept so that no others take their identity.
        self._names: dict[int, tuple[Aggregate, tuple[str, ...]]] = {}
        self._members: dict[tuple[object, ...], list[Member]] = {}
        self._values: dict[int, tuple[Iterable[Member], Figure]] = {}

    def key(self, aggregate: Aggregate, bindings: Bindings) -> tuple[object, ...]:
        """What a set depends on: its aggregate, and what the variables inside stand for."""
        if id(aggregate) not in self._names:
            inside = set().union(*map(terms.names, aggregate.elements))
            self._names[id(aggregate)] = aggregate, tuple(inside)
        return (id(aggregate), *map(bindings.get, self._names[id(aggregate)][1]))

    def members(self, aggregate: Aggregate, bindings: Bindings) -> list[Member]:
        """The members of an aggregate's set."""
        key = self.key(aggregate, bindings)
        if key not in self._members:
            self._members[key] = super().members(aggregate, bindings)
        return self._members[key]

    def aggregate_value(self, aggregate: Aggregate, members: Iterable[Member]) -> Figure:
        """The value over the distinct tuples. Raises Undefined for the least of nothing."""
        if id(members) not in self._values:
            self._values[id(members)] = members, super().aggregate_value(aggregate, members)
        return self._values[id(members)][1]


class Explainer:
    """Finds derivations over a solved policy. Nothing of it is paid for before it is asked."""

    def __init__(self, book: RuleBook, base: FactBase, model: Model) -> None:
        self.book = book
        self.base = base
        self.known = Known(book, base, model)
        self.bodies = Remembering(Arithmetic(base.declarations.sorts), self.known)
        self.rules: dict[str, list[Rule]] = {}
        for typed in book.rules:
            self.rules.setdefault(node(typed.rule.head), []).append(typed.rule)
        self.found: dict[Atom, list[Support]] = {}
        self.words = Words(base.declarations, book.vocabulary.predicates)

    @cached_property
    def below(self) -> dict[str, set[str]]:
        """What each predicate rests on, itself only in a circle."""
        return below([r for found in self.rules.values() for r in found])

    @cached_property
    def linear(self) -> set[str]:
        """The predicates of whose circle each rule takes one atom at most."""
        reached = self.below

        def alike(name: str, other: str) -> bool:
            return other in reached[name] and name in reached.get(other, ())

        return {
            name
            for name in self.rules
            if all(
                sum(alike(name, node(u.atom)) for u in terms.uses(rule.body)) <= 1
                for other in {name, *(n for n in reached[name] if alike(name, n))}
                for rule in self.rules.get(other, ())
            )
        }

    def derivation(self, *goals: Atom) -> Derivation:
        """Why atoms hold; every atom that any of the followed ways reaches is in it."""
        result = Derivation(goals)
        own = {text for _, arguments in goals for text in _texts_in(arguments)}
        pending = list(goals)
        seen = set(goals)
        while pending:
            atom = pending.pop()
            reading = self.known.reading(atom)
            if reading is not None:
                result.readings[atom] = reading
                continue
            # What others would have concluded, too, is told by what is asked about.
            found = sorted(self.supports(atom), key=lambda s: (not _names(s, own), s.rule.text))
            name = predicate(atom)
            # What rests on itself needs all of them: some may go in a circle.
            if len(found) > MOST_WAYS and name not in self.below[name]:
                result.more[atom] = len(found) - MOST_WAYS
                del found[MOST_WAYS:]
            result.supports[atom] = found
            premises = dict.fromkeys(p for s in found for p in s.premises if p not in seen)
            self.known.expect(premises)
            seen.update(premises)
            pending += premises
        _measure(result)
        return result

    def holding(self, name: str, patterns: Sequence[Pattern]) -> list[Atom]:
        """The atoms that hold and fit patterns."""
        return [
            (name, values)
            for values in self.known.matching(name, patterns)
            if len(values) == len(patterns) and all(map(self.bodies.fits, values, patterns))
        ]

    def standing(self, law: LawDecl, subject: Value) -> Standing:
        """What a law says of a subject."""
        about: tuple[Pattern, ...] = (Word(law.name), subject, None)
        (verdict,) = (a[2] for _, a in self.holding("standing", about))
        assert isinstance(verdict, Word)
        values = []
        for name in law.values:
            for _, (*_, figure) in self.holding("value", (*about[:2], Word(name), None)):
                told = self.result(figure)
                assert isinstance(told, Quantity)
                values.append((name, told))
        parts = subject if len(law.arguments) > 1 else (subject,)
        assert isinstance(parts, tuple)
        names = [snake(n) for n, _ in law.arguments]
        told_parts = [self.result(p) for p in parts]
        shown: Subject = tuple(zip(names, told_parts, strict=True))
        if len(told_parts) == 1 and isinstance(told_parts[0], ResultTerm):
            shown = told_parts[0].args
        return dataclasses.replace(
            standing_of(law, shown, verdict.name, values),
            reasons=self._terms("reason", about, law.reasons),
            obligations=self._terms("obligation", about, law.obligations),
        )

    def _terms(
        self, kind: str, about: tuple[Pattern, ...], declared: Mapping[str, TermDecl]
    ) -> tuple[ResultTerm, ...]:
        return self.told(declared, [values[-1] for _, values in self.holding(kind, about)])

    def told(
        self, declared: Mapping[str, TermDecl], found_terms: Sequence[Value]
    ) -> tuple[ResultTerm, ...]:
        """Reasons or obligations as results tell them, in order."""
        found = []
        for term in found_terms:
            assert isinstance(term, Word | Form)
            args = term.args if isinstance(term, Form) else ()
            decl = declared[term.name]
            named = {n: self.result(v) for (n, _), v in zip(decl.arguments, args, strict=True)}
            found.append(filled_term(term.name, named, decl.words))
        return tuple(sorted(found, key=value_order))

    def result(self, value: Value) -> ResultValue:
        """A value as results hold it."""
        match value:
            case Figure(value=number, unit=unit):
                return Quantity(number, self.base.declarations.sorts.get(unit, COUNT))
            case Word(name="true" | "false" as name):
                return name == "true"
            case Word(name=name):
                return name
            case Form(name=name, args=args):
                forms = (
                    s.forms[name] for s in self.base.declarations.sorts.values()
                    if isinstance(s, FormsSort) and name in s.forms
                )  # fmt: skip
                names = [n for n, _ in next(forms, ())]
                named = zip(map(snake, names), map(self.result, args), strict=True)
                return ResultTerm(name, tuple(named))
            case tuple():
                return tuple(map(self.result, value))
        return value

    def supports(self, atom: Atom) -> list[Support]:
        """Every instance of a rule that concludes an atom, in the order of the rules.

        Instances of one rule are in the order of their text, whatever was asked before.
        """
        if atom not in self.found:
            self.found[atom] = list(self._supports(atom))
        return self.found[atom]

    def _supports(self, atom: Atom) -> Iterator[Support]:
        _, arguments = atom
        for rule in self.rules.get(predicate(atom), ()):
            sorts = self.sorts(rule.head)
            found = []
            for known in self.bodies.head_bindings(rule, arguments):
                for way in self.bodies.ways(rule, known):
                    concluded = self.bodies.heads(rule, way)
                    if any(_typed(values, sorts) == arguments for values in concluded):
                        conditions = self.conditions(rule, way)
                        premises = dict.fromkeys(a for c in conditions for a in c.premises)
                        found.append(Support(rule, way.bindings, conditions, tuple(premises)))
            yield from found if len(found) < 2 else sorted(found, key=_text)

    def sorts(self, atom: terms.Atom) -> Sequence[Sort | None]:
        """The sorts of an atom's arguments."""
        places = self.book.vocabulary.places(atom)
        assert isinstance(places, tuple)
        return [p.sort for p in places]

    def conditions(self, rule: Rule, way: Way) -> tuple[Condition, ...]:
        """The conditions of an instance."""
        matched = dict(way.matched)
        outer = outer_names(rule)
        return tuple(
            condition(self.bodies, literal, way.bindings, matched.get(place), outer)
            for place, literal in enumerate(rule.body)
        )


def condition(
    bodies: Bodies, literal: Literal, bindings: Bindings, matched: Atom | None, outer: set[str]
) -> Condition:
    """A condition as an instance of it holds; ``matched`` is what a positive atom matched."""
    match literal:
        case terms.Atom(sign=0):
            assert matched is not None
            return Condition("atom", literal, bindings, (matched,))
        case terms.Atom(sign=1):
            return Condition("absence", literal, bindings)
        case terms.Atom():
            premises = first_match(bodies, literal, bindings)
            return Condition("atom", literal, bindings, tuple(premises))
        case Comparison():
            return Condition("comparison", literal, bindings)
        case Truth():
            return Condition("truth", literal, bindings)
        case Conditional():
            return Condition("each", literal, bindings, each_of(bodies, literal, bindings))
        case Aggregate():
            found = bodies.members(literal, bindings)
            members = made_of(found)
            return Condition(
                "aggregate",
                literal,
                bindings,
                tuple(dict.fromkeys(a for atoms in members.values() for a in atoms)),
                tuple(members.items()),
                bodies.aggregate_value(literal, found),
            )
    raise AssertionError(literal)


def predicate(atom: Atom) -> str:
    """The predicate of a ground atom; what each law and plan concludes is one of its own."""
    name, arguments = atom
    if name in ("standing", "reason", "obligation", "value", "plan"):
        return f"{name}({value_text(arguments[0])})"
    return name


def _text(support: Support) -> tuple[list[tuple[str, str]], list[str]]:
    """What tells the instances of a rule apart, in an order that is always the same."""
    bindings = sorted((name, value_text(value)) for name, value in support.bindings.items())
    return bindings, [_told(atom) for atom in support.premises]


def _names(support: Support, things: Collection[str]) -> bool:
    """Whether an instance rests on something about one of these things."""
    return any(t in things for _, arguments in support.premises for t in _texts_in(arguments))


def _texts_in(value: Value) -> Iterator[str]:
    match value:
        case str():
            yield value
        case tuple() | Form():
            for part in value if isinstance(value, tuple) else value.args:
                yield from _texts_in(part)


def _typed(values: Sequence[Value], sorts: Sequence[Sort | None]) -> tuple[Value, ...]:
    return tuple(as_sort(v, s) for v, s in zip(values, sorts, strict=True))


def _told(atom: Atom) -> str:
    name, arguments = atom
    return f"{name}({', '.join(map(value_text, arguments))})" if arguments else name


def _measure(result: Derivation) -> None:
    """How high the least derivation of each atom is; the support that gives it goes first."""
    # Atoms are long, and hashed as a whole each time: here they are numbers.
    numbers = {a: i for i, a in enumerate([*result.readings, *result.supports])}
    heights = [1] * len(result.readings) + [_HIGHEST] * len(result.supports)
    below = {
        numbers[atom]: [[numbers[p] for p in support.premises] for support in supports]
        for atom, supports in result.supports.items()
    }
    users: dict[int, list[int]] = {}
    for atom, ways in below.items():
        for premises in ways:
            for premise in premises:
                users.setdefault(premise, []).append(atom)

    def height(premises: Iterable[int]) -> int:
        return min(_HIGHEST, 1 + max((heights[p] for p in premises), default=0))

    pending = dict.fromkeys(below)
    while pending:
        atom = next(iter(pending))
        del pending[atom]
        best = min(map(height, below[atom]), default=_HIGHEST)
        if best < heights[atom]:
            heights[atom] = best
            pending |= dict.fromkeys(users.get(atom, ()))
    result.heights |= {a: heights[i] for a, i in numbers.items() if heights[i] < _HIGHEST}
    for supports, ways in zip(result.supports.values(), below.values(), strict=True):
        if len(supports) > 1:
            # Of equally high ones the first stays first.
            order = sorted(range(len(supports)), key=lambda i: height(ways[i]))
            supports[:] = [supports[i] for i in order]
