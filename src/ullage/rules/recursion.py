"""Recursion that a law may use: stratified, and ending.

A recursive rule may make new figures at each step, as a running total does. It ends where every
step also moves along a *rank*, an argument that only ever goes one way by a fixed count, and where
the places of the rank are those of a finite relation. The whole circle of predicates is judged at
once: a rule beside a walk that takes it back, even one that makes no figure, lets it walk for ever.

Only arithmetic makes terms without end: tuples and forms have the depth that their sorts declare.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ullage.declarations import Declarations
from ullage.findings import Finding
from ullage.rules.graph import components, node
from ullage.rules.terms import (
    Aggregate,
    Atom,
    Comparison,
    Expr,
    Fun,
    Int,
    Literal,
    Op,
    Pool,
    Rule,
    Span,
    Tup,
    Use,
    Var,
    aligned,
    names,
    uses,
)

_MOST_CHOICES = 10_000

Path = tuple[int, ...]
"""Where a figure stands in an atom: the argument, then the part of a tuple."""

Linear = tuple[str, int]
"""A count as a variable and what is added to it; a constant has the variable ``""``."""


def check_recursion(rules: Sequence[Rule], declarations: Declarations) -> list[Finding]:
    """No recursion through negation or aggregates, and none that grows without bound."""
    edges: dict[str, set[str]] = {}
    for rule in rules:
        below = edges.setdefault(node(rule.head), set())
        for use in uses(rule.body):
            if use.atom.name not in declarations.tables:
                below.add(node(use.atom))
                edges.setdefault(node(use.atom), set())
    circle = {name: i for i, members in enumerate(components(edges)) for name in members}
    findings: list[Finding] = []
    steps: dict[int, list[_Step]] = {}
    for rule in rules:
        here = circle[node(rule.head)]
        inside = [
            u
            for u in uses(rule.body)
            if u.atom.name not in declarations.tables and circle.get(node(u.atom)) == here
        ]
        findings += _unstratified(rule, inside)
        recursive = [u.atom for u in inside if u.monotone]
        if recursive:
            steps.setdefault(here, []).append(_Step.of(rule, recursive))
    for found in steps.values():
        growing = [s for s in found if s.growing is not None]
        if growing and not _walks(found):
            findings += [_unbounded(s) for s in growing]
    return findings


def _unstratified(rule: Rule, inside: Iterable[Use]) -> list[Finding]:
    return [
        Finding(
            "unstratified",
            f"`{use.atom.name}` is negated or aggregated by a rule it depends on",
            (use.atom.position, replace(rule.head.position, note="the rule's head")),
            "a law has one answer set; break the circle",
        )
        for use in inside
        if not use.monotone
    ]


def _unbounded(step: _Step) -> Finding:
    assert step.growing is not None
    return Finding(
        "unbounded-recursion",
        f"`{step.rule.head.name}` makes a new figure from its own at each step",
        (step.growing.position,),
        "let a table's positions bound the walk: every rule of the circle keeps an argument `P`, "
        "or steps it one way, as in `P + 1`, and an atom of a table holds it",
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """One recursive rule: its recursive atoms, what it knows of its variables, what it makes."""

    rule: Rule
    recursive: tuple[Atom, ...]
    known: _Known
    growing: Expr | None

    @staticmethod
    def of(rule: Rule, recursive: Sequence[Atom]) -> _Step:
        known = _Known.of(rule, recursive)
        made = (t for arg in rule.head.args for t in _parts(arg) if known.makes(t))
        return _Step(rule, tuple(recursive), known, next(made, None))


@dataclass(frozen=True, slots=True)
class _Known:
    """What the body of a recursive rule says of its variables.

    ``finite`` holds the terms in atoms outside the circle; ``safe`` the variables among them;
    ``carried`` those that a recursive atom holds as they are; ``offsets`` what equations make of
    counts: each variable as another and a constant.
    """

    finite: tuple[Expr, ...]
    safe: frozenset[str]
    carried: frozenset[str]
    offsets: Mapping[str, Linear]

    @staticmethod
    def of(rule: Rule, recursive: Sequence[Atom]) -> _Known:
        finite = tuple(
            part
            for literal in rule.body
            if isinstance(literal, Atom) and literal.sign == 0
            if not any(literal is r for r in recursive)
            for arg in literal.args
            for part in _parts(arg)
        )
        safe = {t.name for t in finite if isinstance(t, Var)}
        carried = {
            t.name for a in recursive for g in a.args for t in _parts(g) if isinstance(t, Var)
        }
        equal = _equations(rule.body)
        changed = True
        while changed:
            changed = False
            for name, terms in equal.items():
                if name not in safe and any(names(t) <= safe for t in terms):
                    safe.add(name)
                    changed = True
        return _Known(finite, frozenset(safe), frozenset(carried), _offsets(rule.body))

    def makes(self, term: Expr) -> bool:
        """Whether a part of the head may be a figure that no finite relation holds."""
        if self.bounded(term):
            return False
        match term:
            case Var(name=name):
                return name not in self.safe | self.carried
            case Op() | Span():
                return not names(term) <= self.safe
            case Pool(args=args):
                return any(self.makes(a) for a in args)
            case Fun(args=args):
                return any(self.makes(a) for a in args)
        return False

    def bounded(self, term: Expr) -> bool:
        """Whether a finite relation holds the term, or a term equal to it."""
        if term in self.finite:
            return True
        form = self.linear(term)
        return form is not None and any(form == self.linear(f) for f in self.finite)

    def linear(self, term: Expr) -> Linear | None:
        """A count as one variable for all that equations tie to it; None where it is none."""
        form = _linear(term)
        if form is None:
            return None
        base, offset = self.offsets.get(form[0], (form[0], 0))
        return base, offset + form[1]


def _linear(term: Expr) -> Linear | None:
    """A count as a variable and an offset, as it is written."""
    match term:
        case Int(value=value):
            return "", value
        case Var(name=name):
            return name, 0
        case (
            Op(name="+", args=(Int(value=value), other))
            | Op(name="+", args=(other, Int(value=value)))
        ):
            base = _linear(other)
            return None if base is None else (base[0], base[1] + value)
        case Op(name="-", args=(other, Int(value=value))):
            base = _linear(other)
            return None if base is None else (base[0], base[1] - value)
    return None


def _offsets(body: Iterable[Literal]) -> dict[str, Linear]:
    """What the equations of a body tie together: each variable as one of its group, and more."""
    found: dict[str, Linear] = {}
    for one, other in _equated(body):
        left, right = _linear(one), _linear(other)
        if left is None or right is None:
            continue
        (a, m), (b, n) = (found.get(v, (v, 0)) for v in (left[0], right[0]))
        if a == b:
            continue
        # left = right, so a + m + left[1] = b + n + right[1]; the constant stays its own group.
        if not a:
            a, b, m, n, left, right = b, a, n, m, right, left
        more = n + right[1] - m - left[1]
        for name, (base, offset) in [*found.items(), (a, (a, 0))]:
            if base == a:
                found[name] = (b, offset + more)
    return found


def _parts(term: Expr) -> Iterable[Expr]:
    """A term, or the parts of a tuple."""
    if isinstance(term, Tup):
        for arg in term.args:
            yield from _parts(arg)
    else:
        yield term


def _equated(body: Iterable[Literal]) -> Iterable[tuple[Expr, Expr]]:
    """The pairs of terms that equations hold equal."""
    for literal in body:
        if isinstance(literal, Comparison) and literal.sign == 0:
            for left, op, right in literal.links():
                if op == "=":
                    yield from aligned(left, right)


def _equations(body: Iterable[Literal]) -> dict[str, tuple[Expr, ...]]:
    """The terms that equations and aggregates give to variables."""
    found: dict[str, list[Expr]] = {}
    for a, b in _equated(body):
        for var, term in ((a, b), (b, a)):
            if isinstance(var, Var) and term != var:
                found.setdefault(var.name, []).append(term)
    for literal in body:
        if isinstance(literal, Aggregate) and literal.sign == 0:
            inside = tuple(Var(n, literal.position) for e in literal.elements for n in names(e))
            for op, guard in literal.guards:
                if op == "=" and isinstance(guard, Var):
                    # A figure over all that the set depends on.
                    found.setdefault(guard.name, []).append(Op("sum", inside, literal.position))
    return {name: tuple(terms) for name, terms in found.items()}


def _walks(steps: Sequence[_Step]) -> bool:
    """Whether some choice of ranks lets every rule of a circle step one way only."""
    places: dict[str, set[Path]] = {}
    for step in steps:
        for atom in (step.rule.head, *step.recursive):
            places.setdefault(node(atom), set()).update(_paths(atom))
    ordered = sorted(places)
    choices = itertools.product(*(sorted(places[n]) for n in ordered))
    for choice in itertools.islice(choices, _MOST_CHOICES):
        ranks = dict(zip(ordered, choice, strict=True))
        if any(all(_keeps(s, ranks, way) for s in steps) for way in (1, -1)):
            return True
    return False


def _paths(atom: Atom) -> Iterable[Path]:
    for i, arg in enumerate(atom.args):
        if isinstance(arg, Tup):
            yield from ((i, j) for j in range(len(arg.args)))
        yield (i,)


def _at(atom: Atom, path: Path) -> Expr | None:
    term: Expr = atom.args[path[0]]
    for index in path[1:]:
        if not isinstance(term, Tup) or index >= len(term.args):
            return None
        term = term.args[index]
    return term


def _keeps(step: _Step, ranks: Mapping[str, Path], way: int) -> bool:
    """Whether a rule keeps its rank or steps it one way, and steps it where it makes a figure."""
    head = _at(step.rule.head, ranks[node(step.rule.head)])
    after = step.known.linear(head) if head is not None else None
    if head is None or after is None:
        return False
    for atom in step.recursive:
        place = _at(atom, ranks[node(atom)])
        before = step.known.linear(place) if place is not None else None
        if place is None or before is None or before[0] != after[0] or not after[0]:
            return False
        moved = (after[1] - before[1]) * way
        if moved < 0 or (moved == 0 and step.growing is not None):
            return False
        if moved > 0 and not (step.known.bounded(head) or step.known.bounded(place)):
            return False
    return True
