"""What readers of declarations share: mistakes, and the properties of an entry."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from yaml.nodes import Node, ScalarNode

from ullage.findings import listed, similar
from ullage.yamlnodes import Nodes


def known_only(
    nodes: Nodes,
    properties: Mapping[str, tuple[ScalarNode, Node]],
    known: Collection[str],
    what: str,
) -> None:
    """Note each property that a declaration does not have."""
    for name, (key, _) in properties.items():
        if name not in known:
            bad(
                nodes,
                key,
                f"{what} has no property `{name}`",
                similar(name, known, "property") or f"properties are {listed(list(known))}",
            )


def bad(nodes: Nodes, node: Node, message: str, help: str) -> None:
    """Note a mistake in a declaration, ``bad-declaration``."""
    nodes.report("bad-declaration", message, node, help=help)


def value_of(entries: Mapping[str, tuple[ScalarNode, Node]], name: str) -> Node | None:
    """The value of an entry, where it is there."""
    entry = entries.get(name)
    return None if entry is None else entry[1]
