"""Things that kept their name from one policy to the other, and are not the same things."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.diff.mixture import Side
from ullage.diff.result import NotTheSame
from ullage.results import Value, value_order
from ullage.rules.declared import Predicate, snake
from ullage.symbols import decode


def not_the_same(old: Side, new: Side) -> Iterator[NotTheSame]:
    """What predicates with an ``Identity:`` tell otherwise of a name that both have, in order."""
    known = old.book.vocabulary.predicates
    for predicate in new.book.vocabulary.predicates.values():
        before = known.get(predicate.name)
        if not predicate.identity or before is None or before.arguments != predicate.arguments:
            continue
        sides = [_described(side, predicate) for side in (old, new)]
        for name in sorted(sides[0].keys() & sides[1].keys(), key=value_order):
            if sides[0][name] == sides[1][name]:
                continue
            yield _told(predicate, name, *(side[name] for side in sides))


def _described(side: Side, predicate: Predicate) -> dict[tuple[Value, ...], set[tuple[Value, ...]]]:
    found: dict[tuple[Value, ...], set[tuple[Value, ...]]] = {}
    for atom in side.model().atoms(predicate.name, predicate.arity):
        values = [
            decode(s, sort)
            for s, (_, sort) in zip(atom.arguments, predicate.arguments, strict=True)
        ]
        named = [n in predicate.identity for n, _ in predicate.arguments]
        name = tuple(v for v, of in zip(values, named, strict=True) if of)
        rest = tuple(v for v, of in zip(values, named, strict=True) if not of)
        found.setdefault(name, set()).add(rest)
    return found


def _told(
    predicate: Predicate,
    name: tuple[Value, ...],
    old: set[tuple[Value, ...]],
    new: set[tuple[Value, ...]],
) -> NotTheSame:
    names = [snake(n) for n, _ in predicate.arguments if n in predicate.identity]
    rest = [snake(n) for n, _ in predicate.arguments if n not in predicate.identity]
    before, after = (min(side, key=value_order) for side in (old, new))
    apart = [i for i in range(len(rest)) if before[i] != after[i]] or [*range(len(rest))]
    return NotTheSame(
        predicate.name,
        tuple(zip(names, name, strict=True)),
        tuple((rest[i], before[i]) for i in apart),
        tuple((rest[i], after[i]) for i in apart),
    )
