"""Rules beside those of a policy that tell which parts of these some case has shown.

For each rule there are probes: that what its positive atoms need is there, that its whole body
holds, and for each condition that only tests, that it alone is in the way. A probe concludes
nothing that rules read.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ullage.findings import Position
from ullage.rules.inference import TypedRule
from ullage.rules.lowering.levels import matched
from ullage.rules.terms import (
    NEGATED,
    Aggregate,
    Atom,
    Comparison,
    Conditional,
    Literal,
    Truth,
    Var,
    global_names,
    names,
    substituted,
)

PROBE = "_probe'"
"""What the names of all predicates of probes begin with."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A literal of a body. ``alone`` is the probe that it was the only one in the way.

    One without such a probe binds variables that the rest of its rule needs.
    """

    position: Position
    negated: bool
    alone: str | None


@dataclass(frozen=True, slots=True)
class Probed:
    """A rule, its conditions, and the probes of what its atoms need and of its body."""

    position: Position
    ground: str
    true: str
    conditions: tuple[Condition, ...]


@dataclass(slots=True)
class Probes:
    """The probes of many rules."""

    rules: list[TypedRule] = field(default_factory=list)
    of: list[Probed] = field(default_factory=list)


def probes(rules: Iterable[TypedRule]) -> Probes:
    """The probes of rules; a rule without a body has none but that it is there."""
    found = Probes()
    for number, typed in enumerate(rules):
        body = typed.rule.body
        ground, true = f"{PROBE}ground{number}", f"{PROBE}true{number}"
        found.rules += [_probe(typed, ground, _bound(body)), _probe(typed, true, body)]
        conditions = []
        for place, literal in enumerate(body):
            if isinstance(literal, Truth):
                continue
            alone = None
            rest = (*body[:place], *body[place + 1 :])
            if _tests(literal, rest, typed):
                alone = f"{PROBE}alone{number}_{place}"
                lone = names(literal) - names(typed.rule.head).union(*map(names, rest))
                found.rules += [
                    _probe(typed, alone, (*rest, *_nameless(failing, lone)))
                    for failing in _failing(literal)
                ]
            negated = isinstance(literal, Atom) and literal.sign == 1
            conditions.append(Condition(literal.position, negated, alone))
        found.of.append(Probed(typed.rule.position, ground, true, tuple(conditions)))
    return found


def _probe(typed: TypedRule, name: str, body: Sequence[Literal]) -> TypedRule:
    """A rule of a probe, whose nodes are its own: figures are lowered for each rule."""
    memo: dict[int, object] = {}
    made = copy.deepcopy(tuple(body), memo)

    head = Atom(name, (), typed.rule.position)
    places = {id(memo[n]): p for n, p in typed.places.items() if n in memo}
    # A negation is a node of its own, in the place of the atom that it negates.
    for atom in _atoms(made):
        if id(atom) not in places:
            original = next(a for a in _atoms(typed.rule.body) if a.position == atom.position)
            places[id(atom)] = typed.places[id(original)]
    return dataclasses.replace(
        typed,
        rule=dataclasses.replace(typed.rule, head=head, body=made, label=None),
        variables={**typed.variables, **{f"_'{n}": s for n, s in typed.variables.items()}},
        terms={id(memo[n]): s for n, s in typed.terms.items() if n in memo},
        places={**places, id(head): ()},
    )


def _nameless(body: tuple[Literal, ...], lone: set[str]) -> tuple[Literal, ...]:
    """Literals in which variables that nothing else needs are anonymous: negated they bind none."""

    def put(var: Var) -> Var:
        return dataclasses.replace(var, name=f"_'{var.name}") if var.name in lone else var

    return tuple(substituted(literal, put) if _absent(literal) else literal for literal in body)


def _absent(literal: Literal) -> bool:
    return isinstance(literal, Atom) and literal.sign == 1


def _atoms(body: Iterable[Literal]) -> Iterator[Atom]:
    for literal in body:
        match literal:
            case Atom():
                yield literal
            case Conditional(literal=inner, conditions=conditions):
                yield from (a for a in (inner, *conditions) if isinstance(a, Atom))
            case Aggregate(elements=elements):
                yield from (a for e in elements for a in e.conditions if isinstance(a, Atom))
            case _:
                pass


def _binds(body: Iterable[Literal]) -> set[str]:
    """The variables that the positive atoms of a body bind."""
    return set().union(
        *(matched(arg) for b in body if isinstance(b, Atom) and not b.sign for arg in b.args)
    )


def _bound(body: Sequence[Literal]) -> tuple[Literal, ...]:
    """The positive atoms of a body, without those that compute with what others bind."""
    known = _binds(body)
    return tuple(b for b in body if isinstance(b, Atom) and not b.sign and names(b) <= known)


def _tests(literal: Literal, rest: Sequence[Literal], typed: TypedRule) -> bool:
    """Whether a literal only tests: without it the rest still binds all that it needs."""
    if isinstance(literal, Atom) and literal.sign:
        return True
    if isinstance(literal, Conditional):
        return True
    outer = global_names(typed.rule)
    needed = names(typed.rule.head).union(*map(names, rest)) & outer
    return names(literal) & needed <= _settled(rest, outer)


def _settled(body: Sequence[Literal], outer: set[str]) -> set[str]:
    """The variables that atoms bind, and equations from what atoms bind."""
    known, before = _binds(body), -1
    while len(known) > before:
        before = len(known)
        for literal in body:
            for given, others in _gives(literal, outer):
                if others <= known:
                    known |= given
    return known


def _gives(literal: Literal, outer: set[str]) -> Iterator[tuple[set[str], set[str]]]:
    """The variables that an equation gives, and from which others; ``outer`` are those of rules."""
    if isinstance(literal, Comparison) and not literal.sign:
        for left, op, right in literal.links():
            for one, other in ((left, right), (right, left)):
                if op == "=":
                    yield matched(one), names(other) | (names(one) - matched(one))
    if isinstance(literal, Aggregate) and not literal.sign:
        for op, guard in literal.guards:
            if op == "=" and isinstance(guard, Var):
                yield {guard.name}, set().union(*map(names, literal.elements)) & outer


def _failing(literal: Literal) -> list[tuple[Literal, ...]]:
    """The ways in which a condition does not hold, each as literals that do."""
    match literal:
        case Atom(sign=sign):
            return [(dataclasses.replace(literal, sign=0 if sign == 1 else 1),)]
        case Comparison(sign=1):
            return [(dataclasses.replace(literal, sign=0),)]
        case Comparison():
            return [
                (dataclasses.replace(literal, first=left, rest=((NEGATED[op], right),), sign=0),)
                for left, op, right in literal.links()
            ]
        case Aggregate(sign=sign):
            return [(dataclasses.replace(literal, sign=0 if sign == 1 else 1),)]
        case Conditional(literal=inner, conditions=conditions):
            if isinstance(inner, Truth):
                return [conditions] if not inner.value else []
            return [(*conditions, *failing) for failing in _failing(inner)]
    return []
