"""What the meaning of a set of rules is worked out with: circles of rules, and what each concludes.

Slow and short on purpose. What clingo finds over a lowered program has to agree with this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ullage.reference.bodies import Bodies
from ullage.reference.values import Atom, Figure, Pattern, Undefined, Value, Word, as_sort
from ullage.rules import terms
from ullage.rules.terms import Fun, Rule
from ullage.sorts import Sort


class Failed(Exception):
    """A rule has an instance without a value: the rule, and what is wrong in words."""

    def __init__(self, rule: Rule, why: str) -> None:
        self.rule = rule
        self.why = why
        super().__init__(f"{rule.position}: {why}")


class AtomSet:
    """A set of atoms in the order of their coming, found by any one argument."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], dict[tuple[Value, ...], None]] = {}
        self.places: dict[tuple[str, int, int, Value], list[tuple[Value, ...]]] = {}

    def add(self, name: str, arguments: tuple[Value, ...]) -> bool:
        """Add an atom; false where it is there."""
        arity = len(arguments)
        of_name = self.known.setdefault((name, arity), {})
        if arguments in of_name:
            return False
        of_name[arguments] = None
        for place, value in enumerate(arguments):
            self.places.setdefault((name, arity, place, value), []).append(arguments)
            if isinstance(value, tuple) and value:
                # Composite keys are looked for by their first part.
                self.places.setdefault((name, arity, -1 - place, value[0]), []).append(arguments)
        return True

    def __contains__(self, atom: Atom) -> bool:
        name, arguments = atom
        return arguments in self.known.get((name, len(arguments)), {})

    def __iter__(self) -> Iterator[Atom]:
        return ((name, args) for (name, _), found in self.known.items() for args in found)

    def matching(self, name: str, patterns: Sequence[Pattern]) -> Iterable[tuple[Value, ...]]:
        """The atoms of a predicate that share an argument with the patterns."""
        all_of_name = self.known.get((name, len(patterns)), {})
        best: Iterable[tuple[Value, ...]] = all_of_name
        size = len(all_of_name)
        for place, pattern in enumerate(patterns):
            key = _key(place, pattern)
            if key is not None:
                found = self.places.get((name, len(patterns), *key), [])
                if len(found) < size:
                    best, size = found, len(found)
        return list(best)


def _key(place: int, pattern: Pattern) -> tuple[int, Value] | None:
    """Where atoms with an argument stand; none for what equal values may be written as."""
    if isinstance(pattern, tuple):
        first = pattern[0] if pattern else None
        return (-1 - place, first) if isinstance(first, str) else None
    if isinstance(pattern, str):
        return None if _quantity(pattern) else (place, pattern)
    return (place, pattern) if isinstance(pattern, Figure | Word) else None


def _quantity(text: str) -> bool:
    """Whether a text may be that of a quantity, equal to a figure."""
    return text[:1].isdigit() or text[:1] == "-"


def node(atom: terms.Atom) -> str:
    """A predicate; what each law and plan concludes is one of its own."""
    first = atom.args[0] if atom.args else None
    if atom.name in ("standing", "reason", "obligation", "value", "plan") and isinstance(
        first, Fun
    ):
        return f"{atom.name}({first.name})"
    return atom.name


def below(rules: Iterable[Rule]) -> dict[str, set[str]]:
    """What each predicate rests on, through any number of rules; itself only in a circle."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        found.setdefault(node(rule.head), set()).update(node(u.atom) for u in terms.uses(rule.body))
    changed = True
    while changed:
        changed = False
        for reached in found.values():
            more = set().union(*(found.get(n, set()) for n in reached)) - reached
            if more:
                reached |= more
                changed = True
    return found


def circles(rules: Collection[Rule]) -> list[list[Rule]]:
    """The rules of predicates that rest on each other, after those that they rest on."""
    reached = below(rules)
    groups: dict[frozenset[str], list[Rule]] = {}
    for rule in rules:
        name = node(rule.head)
        circle = {other for other in reached[name] if name in reached.get(other, set())}
        groups.setdefault(frozenset({name, *circle}), []).append(rule)
    # What rests on another reaches all that the other does, and more.
    return sorted(groups.values(), key=lambda g: len(reached[node(g[0].head)] | {node(g[0].head)}))


def conclusions(
    rule: Rule, bodies: Bodies, sorts: Sequence[Sort | None]
) -> Iterator[tuple[Value, ...]]:
    """The arguments of every atom that a rule concludes. Raises Failed."""
    try:
        for way in bodies.ways(rule):
            for values in bodies.heads(rule, way):
                yield tuple(as_sort(v, s) for v, s in zip(values, sorts, strict=True))
    except Undefined as error:
        raise Failed(rule, str(error)) from error
