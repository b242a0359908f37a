"""What a rule concludes and reads, as nodes of one graph; and how the engine names its worlds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from ullage.rules import graph
from ullage.rules.inference import TypedRule
from ullage.rules.terms import Atom, Fun, uses

WORLD = "World'"
"""The variable that stands for a world in a lowered rule."""

THIS = "world'"
"""The constant that stands for the world that is being ground."""


def node(atom: Atom, tables: Collection[str]) -> str:
    """What an atom is of: a column of a table, a conclusion of one law or plan, or a predicate."""
    if atom.name not in tables:
        return graph.node(atom)
    column = atom.args[1] if len(atom.args) > 1 else None
    return cell_node(atom.name, column.name if isinstance(column, Fun) else "")


def cell_node(table: str, column: str = "") -> str:
    """The node of a column of a table; without one that of its rows."""
    return f"{table}/{column}"


def reached(
    rules: Iterable[TypedRule], tables: Collection[str], changed: Collection[str]
) -> set[str]:
    """The nodes that build on changed ones, and those themselves."""
    above: dict[str, set[str]] = defaultdict(set)
    for typed in rules:
        for use in uses(typed.rule.body):
            above[node(use.atom, tables)].add(node(typed.rule.head, tables))
    return _closed(changed, above)


def needed(
    rules: Iterable[TypedRule], tables: Collection[str], wanted: Collection[str]
) -> list[TypedRule]:
    """The rules of wanted nodes, and of all that these build on."""
    given = list(rules)
    below: dict[str, set[str]] = defaultdict(set)
    for typed in given:
        for use in uses(typed.rule.body):
            below[node(typed.rule.head, tables)].add(node(use.atom, tables))
    kept = _closed(wanted, below)
    return [t for t in given if node(t.rule.head, tables) in kept]


def _closed(start: Collection[str], edges: Mapping[str, set[str]]) -> set[str]:
    found, left = set(start), list(start)
    while left:
        for there in edges.get(left.pop(), ()):
            if there not in found:
                found.add(there)
                left.append(there)
    return found


def gone(name: str) -> str:
    """The predicate of what held, and holds no more."""
    return f"{name}''gone"


def come(name: str) -> str:
    """The predicate of what did not hold, and holds now."""
    return f"{name}''come"


def moved(name: str) -> str:
    """The predicate of either."""
    return f"{name}''moved"


def now(name: str) -> str:
    """The predicate of what is concluded of a world."""
    return f"{name}''now"


def once(name: str) -> str:
    """The predicate of what is concluded of the facts, where only a world asks for it."""
    return f"{name}''once"


def of_a_world(name: str) -> bool:
    """Whether a predicate's rules are ground with a world."""
    return name.endswith(("''now", "''once"))


def named(name: str) -> str:
    """A predicate as its author named it."""
    return name.removesuffix("''now").removesuffix("''once")
