"""Outlines of explanations as text: a tree, Markdown, or a graph in the DOT language."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ullage.explain.outline import Node, nodes
from ullage.render.text import one_line


def tree(outline: Sequence[Node], *, unicode: bool = True) -> str:
    """A tree of lines, with the sources of its facts numbered below it."""
    sources = _Sources(outline)
    corner, branch, line, blank = (
        ("└─ ", "├─ ", "│  ", "   ") if unicode else ("`- ", "|- ", "|  ", "   ")
    )
    lines: list[str] = []
    stack = [(node, "", "") for node in reversed(outline)]
    while stack:
        node, lead, under = stack.pop()
        lines.append(f"{lead}{_told(node)}{_place(node, sources)}")
        last = len(node.below) - 1
        for i in range(last, -1, -1):
            child = node.below[i]
            own, rest = (corner, blank) if i == last else (branch, line)
            stack.append((child, under + own, under + rest))
    lines += sources.lines()
    return "".join(f"{text}\n" for text in lines)


def markdown(outline: Sequence[Node], title: str, notes: Sequence[str] = ()) -> str:
    """A nested list below its notes, with the sources as a list below it."""
    sources = _Sources(outline)
    lines = [f"### {escaped(one_line(title))}", ""]
    for note in notes:
        lines += [escaped(one_line(note)), ""]
    for level, node in nodes(outline):
        place = f" (`{one_line(str(node.place))}`)" if node.place is not None else ""
        number = sources.mark(node)
        lines.append(f"{'  ' * level}- {escaped(_told(node))}{place}{number}")
    if sources.numbers:
        lines += ["", "Sources:", ""]
        lines += [f"{n}. {escaped(one_line(text))}" for text, n in sources.numbers.items()]
    return "".join(f"{text}\n" for text in lines)


def dot(outline: Sequence[Node]) -> str:
    """A graph for Graphviz: each line a node, an edge to each that it rests on."""
    shapes = {"fact": "box", "absence": "box", "computed": "plain", "failing": "octagon"}
    lines = ["digraph derivation {", "  rankdir=LR;"]
    stack: list[tuple[Node, int | None]] = [(n, None) for n in reversed(outline)]
    number = 0
    while stack:
        node, parent = stack.pop()
        number += 1
        where = f"\n{node.place}" if node.place is not None else ""
        label = json.dumps(f"{_told(node)}{where}", ensure_ascii=False)
        lines.append(f"  n{number} [shape={shapes.get(node.kind, 'ellipse')}, label={label}];")
        if parent is not None:
            lines.append(f"  n{parent} -> n{number};")
        stack += [(child, number) for child in reversed(node.below)]
    return "\n".join([*lines, "}", ""])


def _told(node: Node) -> str:
    text = one_line(node.text)
    if node.repeats:
        return f"{text} (shown above)"
    if node.hidden:
        return f"{text} … {node.hidden} step{'s' * (node.hidden != 1)} below"
    return text


def _place(node: Node, sources: _Sources) -> str:
    if node.place is None:
        return ""
    return f"  ({one_line(str(node.place))}){sources.mark(node)}"


class _Sources:
    """The sources of an outline's facts, numbered in the order of their first mention."""

    def __init__(self, outline: Sequence[Node]) -> None:
        found = dict.fromkeys(n.source for _, n in nodes(outline) if n.source)
        self.numbers = {text: i for i, text in enumerate(found, start=1)}

    def mark(self, node: Node) -> str:
        """The number of a node's source, if it has one."""
        return f" [{self.numbers[node.source]}]" if node.source else ""

    def lines(self) -> list[str]:
        """A line a source, behind an empty one."""
        if not self.numbers:
            return []
        return ["", "sources:", *(f"  [{n}] {one_line(t)}" for t, n in self.numbers.items())]


def escaped(text: str) -> str:
    """Text that Markdown takes as it stands."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text)
