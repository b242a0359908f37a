"""Rules in many versions at once, each over one of many sets of facts.

A *version* judges one case by rules of which one may be another. ``fits(Job) :- need(Job, N), N >
"1 GiB".`` becomes ``fits''in(Version', Case', Job) :- need''in(Version', Case', Job, N), …`` where
what it reads moves from version to version, and reads ``need(Case', Job, N)`` where it does not:
what no fault reaches is concluded once for each case. A version's atoms name its case, too, so that
they join with those of the case.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from ullage.findings import Position
from ullage.rules.cases import CASE, rewritten
from ullage.rules.graph import node
from ullage.rules.inference import TypedRule
from ullage.rules.terms import Atom, Expr, Var
from ullage.rules.vocabulary import Place
from ullage.sorts import COUNT

VERSION = "Version'"
"""The variable that stands for a version in a lowered rule."""

VERSIONS = "_version'"
"""The predicate of all versions and the cases that they judge."""

_NOWHERE = Position("", 1, 1)


def in_version(name: str) -> str:
    """The predicate of what is concluded in a version."""
    return f"{name}''in"


def by_version(
    typed: TypedRule, moving: Collection[str], only: str = "", never: str = ""
) -> TypedRule:
    """A rule whose head is of a version, as are the atoms of ``moving`` nodes that it reads.

    It holds in those versions ``only`` of which a predicate of that name tells, with their case,
    or in all but those that another ``never`` tells of.
    """
    rule = typed.rule
    places = dict(typed.places)
    version, case = Var(VERSION, _NOWHERE), Var(CASE, _NOWHERE)
    kept: list[object] = [rule]

    def atom(name: str, args: Sequence[Expr], at: Sequence[Place], sign: int = 0) -> Atom:
        made = Atom(name, tuple(args), rule.position, sign)
        kept.append(made)
        places[id(made)] = tuple(at)
        return made

    def put(item: Any) -> Any:
        if not isinstance(item, Atom):
            return item
        at = typed.places[id(item)]
        if node(item) in moving:
            return atom(in_version(item.name), (version, case, *item.args), (*both, *at), item.sign)
        return atom(item.name, (case, *item.args), (both[1], *at), item.sign)

    both = (Place(COUNT, (VERSION,)), Place(COUNT, (CASE,)))
    body = [rewritten(literal, put) for literal in rule.body]
    if only:
        body.insert(0, atom(only, (version, case), both))
    elif not any(isinstance(b, Atom) and not b.sign and b.args[0] is version for b in body):
        body.insert(0, atom(VERSIONS, (version, case), both))
    if never:
        body.append(atom(never, (version,), both[:1], 1))
    head = atom(
        in_version(rule.head.name),
        (version, case, *rule.head.args),
        (*both, *typed.places[id(rule.head)]),
    )
    return dataclasses.replace(
        typed,
        rule=dataclasses.replace(rule, head=head, body=tuple(body)),
        variables={**typed.variables, VERSION: COUNT, CASE: COUNT},
        terms=dict(typed.terms),
        places=places,
        kept=(*typed.kept, *kept),
        guarded=bool(only),
    )
