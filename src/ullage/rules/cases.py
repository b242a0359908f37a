"""Rules over many sets of facts at once: each predicate gets a case as its first argument.

``fits(Job) :- need(Job, N), N > "1 GiB".`` becomes ``fits(Case', Job) :- need(Case', Job, N), …``,
so that one grounding concludes for all cases, and nothing of one reaches another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, cast

from ullage.findings import Position
from ullage.rules.inference import TypedRule
from ullage.rules.terms import Aggregate, Atom, Conditional, Literal, Var
from ullage.rules.vocabulary import Place
from ullage.sorts import COUNT

CASE = "Case'"
"""The variable that stands for a case in a lowered rule."""

CASES = "_case'"
"""The predicate of all cases, for rules that read nothing else of one."""

_NOWHERE = Position("", 1, 1)
_PLACE = Place(COUNT, (CASE,))


def by_case(rules: Iterable[TypedRule]) -> list[TypedRule]:
    """The rules, each over one case at a time."""
    return [_by_case(typed) for typed in rules]


def of_case(fact: str, case: int) -> str:
    """A fact, or another atom with arguments, as lowered text of one case."""
    name, _, rest = fact.partition("(")
    return f"{name}({case},{rest}"


def _by_case(typed: TypedRule) -> TypedRule:
    rule = typed.rule
    places = dict(typed.places)
    variable = Var(CASE, _NOWHERE)
    kept: list[object] = [rule]

    def put(item: Any) -> Any:
        if not isinstance(item, Atom):
            return item
        atom = dataclasses.replace(item, args=(variable, *item.args))
        kept.append(atom)
        places[id(atom)] = (_PLACE, *typed.places[id(item)])
        return atom

    body = [rewritten(literal, put) for literal in rule.body]
    if not any(isinstance(b, Atom) and not b.sign for b in body):
        all_cases = Atom(CASES, (variable,), rule.position)
        places[id(all_cases)] = (_PLACE,)
        body.insert(0, all_cases)
    return dataclasses.replace(
        typed,
        rule=dataclasses.replace(rule, head=put(rule.head), body=tuple(body)),
        variables={**typed.variables, CASE: COUNT},
        terms=dict(typed.terms),
        places=places,
        kept=(*typed.kept, *kept),
    )


def rewritten(literal: Literal, put: Callable[[Any], Any]) -> Literal:
    """A literal with ``put`` of each literal that stands in it, or of itself where none does."""
    match literal:
        case Conditional(literal=inner, conditions=conditions):
            return dataclasses.replace(
                literal, literal=put(inner), conditions=tuple(map(put, conditions))
            )
        case Aggregate(elements=elements):
            made = tuple(
                dataclasses.replace(e, conditions=tuple(map(put, e.conditions))) for e in elements
            )
            return dataclasses.replace(literal, elements=made)
    return cast(Literal, put(literal))
