"""A sort for every variable and term of a rule, or a finding for each that has none."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ullage.findings import Finding, Position, counted, similar
from ullage.rules import arithmetic
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
    alike,
    global_names,
    names,
    substituted,
    variables,
)
from ullage.rules.vocabulary import FOLLOWS, Place, Vocabulary, members
from ullage.sorts import (
    BOOL,
    COUNT,
    COUNT_RANGE,
    RATIO,
    BoolSort,
    ClosedSort,
    CountSort,
    EntitySort,
    ExactSort,
    FormsSort,
    ScalarError,
    Sort,
    TextSort,
    TupleSort,
    parse_exact,
)


@dataclass(slots=True)
class TypedRule:
    """A rule with the sort of every variable by name, and of every term by identity."""

    rule: Rule
    variables: dict[str, Sort]
    terms: dict[int, Sort]
    places: dict[int, tuple[Place, ...]] = field(default_factory=dict)
    kept: tuple[object, ...] = ()
    """Nodes of earlier forms of the rule, whose identities must not pass to others."""
    guarded: bool = False
    """Whether its first atom keeps it to few instances; only for these it is to compute."""

    def sort(self, term: Expr) -> Sort:
        """The sort of a term of this rule."""
        return self.terms[id(term)]


def infer(rule: Rule, vocabulary: Vocabulary) -> tuple[TypedRule | None, list[Finding]]:
    """Give every variable and term its sort. None beside findings, where there are any."""
    renamed = rename_apart(rule)
    run = _Inference(renamed, vocabulary)
    # What atoms and units say goes before what pure numbers let one guess.
    for run.guess in (False, True):
        before = -1
        while before != len(run.sorts):
            before = len(run.sorts)
            run.visit_all()
    run.report = True
    run.visit_all()
    for variable in _unsorted(renamed, run.sorts):
        run.find(
            "unsorted-variable",
            f"nothing says which sort `{shown(variable.name)}` is of",
            variable.position,
            "use it in an atom or an equation",
        )
    if run.findings:
        return None, _causes(run.findings)
    return TypedRule(renamed, run.sorts, run.terms, run.places), []


def _causes(findings: list[Finding]) -> list[Finding]:
    """The findings without those that follow from another: a term next to it has no sort, too."""
    causes = [f for f in findings if f.code not in ("unsorted-variable", "unsorted-term")]
    return [f for f in causes or findings if f is not FOLLOWS]


def shown(name: str) -> str:
    """A variable's name as its author wrote it."""
    return name.split("'", 1)[0]


def _unsorted(rule: Rule, sorts: dict[str, Sort]) -> list[Var]:
    found: dict[str, Var] = {}
    for item in (rule.head, *rule.body):
        for variable in variables(item):
            if variable.name not in sorts and not variable.anonymous:
                found.setdefault(variable.name, variable)
    return list(found.values())


def rename_apart(rule: Rule) -> Rule:
    """Give a name of its own to each local variable whose name stands in several scopes."""
    outer = global_names(rule)
    uses: Counter[str] = Counter()
    for literal in rule.body:
        for scope in _scopes(literal):
            uses.update(names(scope) - outer)
    again = {n for n, k in uses.items() if k > 1}
    if not again:
        return rule
    number = 0
    body: list[Literal] = []
    for literal in rule.body:
        if isinstance(literal, Conditional):
            number += 1
            body.append(_rename(literal, again, number))
        elif isinstance(literal, Aggregate):
            elements = []
            for element in literal.elements:
                number += 1
                elements.append(_rename(element, again, number))
            body.append(dataclasses.replace(literal, elements=tuple(elements)))
        else:
            body.append(literal)
    return dataclasses.replace(rule, body=tuple(body))


_Set = TypeVar("_Set", Conditional, Element)


def _scopes(literal: Literal) -> tuple[Conditional | Element, ...]:
    if isinstance(literal, Conditional):
        return (literal,)
    return literal.elements if isinstance(literal, Aggregate) else ()


def _rename(item: _Set, which: set[str], number: int) -> _Set:
    def renamed(variable: Var) -> Var:
        if variable.name not in which:
            return variable
        return dataclasses.replace(variable, name=f"{variable.name}'{number}")

    return substituted(item, renamed)


class _Inference:
    def __init__(self, rule: Rule, vocabulary: Vocabulary) -> None:
        self.rule = rule
        self.vocabulary = vocabulary
        self.sorts: dict[str, Sort] = {}
        self.terms: dict[int, Sort] = {}
        self.places: dict[int, tuple[Place, ...]] = {}
        self.findings: list[Finding] = []
        self.report = False
        self.origins: dict[str, Position] = {}
        self.guess = False
        self.in_head = False
        self.faults = 0

    def find(
        self, code: str, message: str, at: Position, help: str = "", *others: Position
    ) -> None:
        """Record a finding, in the pass that reports; count it in every pass."""
        self.faults += 1
        if self.report:
            self.findings.append(Finding(code, message, (at, *others), help))

    def visit_all(self) -> None:
        for literal in self.rule.body:
            self.literal(literal)
        self.in_head = True
        self.atom(self.rule.head)
        self.in_head = False

    def literal(self, literal: Literal) -> None:
        match literal:
            case Atom():
                self.atom(literal)
            case Comparison():
                self.comparison(literal)
            case Conditional(literal=inner, conditions=conditions):
                for condition in conditions:
                    self.literal(condition)
                self.literal(inner)
            case Aggregate():
                self.aggregate(literal)
            case Truth():
                pass

    def atom(self, atom: Atom) -> None:
        places = self.vocabulary.places(atom)
        if isinstance(places, Finding):
            if self.report:
                self.findings.append(places)
            return
        self.places[id(atom)] = places
        for arg, place in zip(atom.args, places, strict=True):
            if place.sort is not None:
                self.expect(arg, place.sort)

    def comparison(self, literal: Comparison) -> None:
        for left, op, right in literal.links():
            self.pair(op, left, right)

    def pair(self, op: str, left: Expr, right: Expr) -> None:
        if alike(left, right) and op in ("=", "!="):
            assert isinstance(left, Tup | Fun)
            assert isinstance(right, Tup | Fun)
            for one, other in zip(left.args, right.args, strict=True):
                self.pair(op, one, other)
            return
        before = self.faults
        a, b = self._sides(left, right)
        if a is None or b is None:
            for side, sort in ((left, a), (right, b)):
                if sort is None and not isinstance(side, Var) and self.faults == before:
                    self.unsorted(side)
        elif a != b and not (
            arithmetic.numeric(a) and arithmetic.numeric(b) and arithmetic.common(a, b)
        ):
            self.mismatch(a, b, right.position)
        elif op not in ("=", "!=") and not arithmetic.numeric(a):
            self.find(
                "unordered-sort",
                f"`{op}` orders figures, and `{a.name}` holds none",
                right.position,
                "compare with `=` or `!=`",
            )

    def _sides(self, left: Expr, right: Expr) -> tuple[Sort | None, Sort | None]:
        """The sorts of two compared terms; a literal is of the sort of what it stands beside."""
        if _literal(left) and not _literal(right):
            b, a = self._sides(right, left)
            return a, b
        a = self.sort_of(left)
        if _literal(right) and not _literal(left) and a is not None:
            return a, self.beside(right, a)
        b = self.sort_of(right)
        if isinstance(left, Span) or isinstance(right, Span):
            return self.expect(left, COUNT), self.expect(right, COUNT)
        if a is None and b is not None and self.tells(b):
            a = self.expect(left, b)
        elif b is None and a is not None and self.tells(a):
            b = self.expect(right, a)
        return a, b

    def tells(self, sort: Sort) -> bool:
        """Whether a sort is also that of a term beside it: counts and ratios mix."""
        return self.guess or not arithmetic.pure(sort)

    def beside(self, term: Expr, sort: Sort) -> Sort | None:
        """A literal beside a term of the sort; beside a count it may be any pure number."""
        if isinstance(term, Str) and isinstance(sort, CountSort):
            sorts = self.vocabulary.declarations.sorts
            if arithmetic.literal_sort(term.value, sorts) == RATIO:
                return self.expect(term, RATIO)
        return self.expect(term, sort)

    def unsorted(self, term: Expr) -> None:
        """Say that a term has no sort."""
        self.find(
            "unsorted-term",
            "nothing says which sort this term is of",
            term.position,
            "compare it with an argument of an atom, or write a quantity with its unit",
        )

    def mismatch(self, a: Sort, b: Sort, at: Position) -> None:
        if arithmetic.numeric(a) and arithmetic.numeric(b):
            self.find(
                "unit-mismatch",
                f"`{a.name}` and `{b.name}` have different units and do not mix",
                at,
                "a product or quotient with a rate turns one into the other",
            )
        else:
            self.find("wrong-sort", f"a term of sort `{b.name}` where `{a.name}` stands", at)

    def aggregate(self, literal: Aggregate) -> None:
        for element in literal.elements:
            for condition in element.conditions:
                self.literal(condition)
        sort: Sort | None = COUNT
        if literal.function != "count":
            sort = None
            for element in literal.elements:
                found = self.sort_of(element.terms[0])
                sort = sort or found
            if sort is None:
                for _, guard in literal.guards:
                    sort = sort or self.sort_of(guard)
            for element in literal.elements:
                if sort is not None:
                    self.expect(element.terms[0], sort)
            if sort is not None and not arithmetic.numeric(sort):
                self.find(
                    "wrong-sort",
                    f"`#{literal.function}` over `{sort.name}`, which holds no figures",
                    literal.position,
                )
        for element in literal.elements:
            for term in element.terms[0 if literal.function == "count" else 1 :]:
                if self.sort_of(term) is None and not isinstance(term, Var):
                    self.unsorted(term)
        for _, guard in literal.guards:
            if sort is not None:
                self.expect(guard, sort)
        if self.report and not literal.guards:
            self.find(
                "unused-aggregate", "an aggregate that nothing is compared with", literal.position
            )

    def expect(self, term: Expr, sort: Sort) -> Sort | None:
        """Take the term as one of the sort; None where it is none."""
        before = self.faults
        match term:
            case Var(name=name):
                known = self.sorts.setdefault(name, sort)
                self.origins.setdefault(name, term.position)
                if self.in_head and known == COUNT and sort == RATIO:
                    return sort
                if known != sort:
                    first = replace(
                        self.origins[name], note=f"gives `{shown(name)}` the sort `{known.name}`"
                    )
                    self.wrong(
                        f"`{shown(name)}`, of sort `{known.name}`,",
                        known,
                        sort,
                        term.position,
                        first,
                    )
            case Int():
                if isinstance(sort, CountSort):
                    self.bounded(term)
                elif not isinstance(sort, ExactSort):
                    self.wrong(f"the number `{term.value}`", COUNT, sort, term.position)
                elif sort != RATIO:
                    self.find(
                        "missing-unit",
                        f"the bare number `{term.value}` where `{sort.name}` stands",
                        term.position,
                        f'write a quantity, as in `"{term.value} {_unit(sort)}"`',
                    )
            case Str():
                self.string(term, sort)
            case Fun():
                self.function(term, sort)
            case Tup(args=args):
                if not isinstance(sort, TupleSort) or len(sort.items) != len(args):
                    self.find(
                        "wrong-sort",
                        f"a tuple of {len(args)} where `{sort.name}` stands",
                        term.position,
                        members(sort),
                    )
                    return None
                for arg, item in zip(args, sort.items, strict=True):
                    self.expect(arg, item)
            case Pool(args=args):
                for arg in args:
                    self.expect(arg, sort)
            case Op() | Span():
                found = self.sort_of(term)
                pure = isinstance(term, Op) and found == COUNT and sort == RATIO
                if found is not None and found != sort and not pure:
                    self.mismatch(sort, found, term.position)
                return found
        if self.faults != before:
            return None
        self.terms[id(term)] = sort
        return sort

    def bounded(self, term: Int) -> None:
        """Take an integer as a count, which a sum of two must not carry past 32 bits."""
        if abs(term.value) >= COUNT_RANGE:
            self.find(
                "integer-too-large",
                f"the integer `{term.value}` is outside the range of a count",
                term.position,
                f"counts lie within {COUNT_RANGE} either way",
            )

    def wrong(self, what: str, have: Sort, want: Sort, at: Position, *others: Position) -> None:
        """Say that something of one sort stands where another is wanted."""
        code, help = "wrong-sort", members(want)
        if arithmetic.numeric(have) and arithmetic.numeric(want):
            code = "unit-mismatch"
        if others:
            help = "one variable has one sort; use another variable in one of the two places"
        self.find(code, f"{what} where `{want.name}` stands", at, help, *others)

    def string(self, term: Str, sort: Sort) -> None:
        if isinstance(sort, ExactSort):
            try:
                parse_exact(term.value, sort)
            except ScalarError as error:
                self.find(error.code, error.message, term.position, error.help)
        elif not isinstance(sort, TextSort | EntitySort):
            bare = isinstance(sort, ClosedSort | BoolSort | FormsSort)
            self.find(
                "wrong-sort",
                f'the text `"{term.value}"` where `{sort.name}` stands',
                term.position,
                f"{members(sort)}, without quotes" if bare else members(sort),
            )

    def function(self, term: Fun, sort: Sort) -> None:
        if isinstance(sort, FormsSort):
            declared = sort.forms.get(term.name)
            if declared is None:
                self.find(
                    "undeclared-term",
                    f"`{term.name}` is no `{sort.name}`",
                    term.position,
                    similar(term.name, sort.forms, "term") or members(sort),
                )
            elif len(declared) != len(term.args):
                self.find(
                    "wrong-arity",
                    f"`{term.name}` takes {counted(len(declared), 'argument')}, "
                    f"not {len(term.args)}",
                    term.position,
                    f"it is declared as `{_form(term.name, declared)}`",
                )
            else:
                for arg, (_, item) in zip(term.args, declared, strict=True):
                    self.expect(arg, item)
        elif isinstance(sort, ClosedSort | BoolSort) and not term.args:
            values = sort.values if isinstance(sort, ClosedSort) else ("true", "false")
            if term.name not in values:
                self.find(
                    "not-in-closed-set",
                    f"`{term.name}` is no value of `{sort.name}`",
                    term.position,
                    similar(term.name, values, "value") or members(sort),
                )
        else:
            help = (
                f'names and texts are written in quotes: `"{term.name}"`' if not term.args else ""
            )
            self.find(
                "wrong-sort",
                f"the term `{term.name}` where `{sort.name}` stands",
                term.position,
                help,
            )

    def sort_of(self, term: Expr) -> Sort | None:
        """The sort that a term has by itself."""
        sort: Sort | None = None
        match term:
            case Var(name=name):
                sort = self.sorts.get(name)
            case Int():
                sort = COUNT
                self.bounded(term)
            case Span(low=low, high=high):
                self.expect(low, COUNT)
                self.expect(high, COUNT)
                sort = COUNT
            case Str(value=value):
                sorts = self.vocabulary.declarations.sorts
                sort = self.terms.get(id(term)) or arithmetic.literal_sort(value, sorts)
            case Fun(name=name, args=args):
                sort = self.terms.get(id(term))
                if sort is None and not args and name in ("true", "false"):
                    sort = BOOL
                elif sort is None and args:
                    sort = self.form_of(term)
            case Tup(args=args):
                items = [self.sort_of(a) for a in args]
                if all(i is not None for i in items):
                    sort = TupleSort.of(*(i for i in items if i is not None))
            case Pool(args=args):
                for arg in args:
                    sort = sort or self.sort_of(arg)
                if sort is not None:
                    self.expect(term, sort)
            case Op():
                sort = self.operation(term)
        if sort is not None:
            self.terms[id(term)] = sort
        return sort

    def form_of(self, term: Fun) -> Sort | None:
        """The one declared sort that has a form of this name."""
        sorts = self.vocabulary.declarations.sorts.values()
        found = [s for s in sorts if isinstance(s, FormsSort) and term.name in s.forms]
        return self.expect(term, found[0]) if len(found) == 1 else None

    def operation(self, term: Op) -> Sort | None:
        sorts = [self.sort_of(a) for a in term.args]
        if len(sorts) == 2 and term.name in ("+", "-", "\\", "floor_div", "ceil_div"):
            for i, j in ((0, 1), (1, 0)):
                other = sorts[j]
                if sorts[i] is None and other is not None and self.tells(other):
                    sorts[i] = self.expect(term.args[i], other)
        for arg, sort in zip(term.args, sorts, strict=True):
            if sort is None:
                if not isinstance(arg, Var):
                    self.find(
                        "unsorted-term", "nothing says which sort this term is of", arg.position
                    )
                return None
            if not arithmetic.numeric(sort):
                self.find(
                    "wrong-sort",
                    f"arithmetic over `{sort.name}`, which holds no figures",
                    arg.position,
                )
                return None
        known = [s for s in sorts if s is not None]
        result = arithmetic.result(term.name, known)
        if result is None:
            self.find(
                "unit-mismatch",
                f"`{known[0].name} {term.name} {known[-1].name}` has no unit",
                term.position,
                "only equal units add; a product or quotient needs a ratio, a count or a rate",
            )
        return result


def _literal(term: Expr) -> bool:
    """Whether a term is written out, and so takes its sort from what it stands beside."""
    if isinstance(term, Pool):
        return all(_literal(a) for a in term.args)
    return isinstance(term, Int | Str | Fun)


def _form(name: str, declared: Sequence[tuple[str, Sort]]) -> str:
    return f"{name}({', '.join(a for a, _ in declared)})" if declared else name


def _unit(sort: ExactSort) -> str:
    return next((u for u, size in sort.units.items() if size == 1 and u), "%")
