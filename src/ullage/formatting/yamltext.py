"""The canonical form of YAML: a tree as lines, and the order of the columns of its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ullage.formatting.lines import WIDTH, collapsed, ended, trimmed
from ullage.formatting.yamltree import BLOCK_STYLES, Entry, Group, Leaf, Tree
from ullage.yamlscalars import needs_quotes

Order = Mapping[str, Mapping[str, int]]
"""By table, the place of each column in a row."""

_STEP = 2
_EMPTY = {True: "{}", False: "[]"}
_FOLDED = re.compile(r"[ \t]*\n[ \t]*")


def tree_text(tree: Tree) -> str:
    """The text of a tree; "" of an empty one."""
    lines = trimmed(tree.head)
    if tree.start:
        lines.append(tree.start)
    if tree.root is not None:
        lines += _block(tree.root, 0) if tree.root.entries else [_EMPTY[tree.root.mapping]]
    tail = collapsed(tree.tail) if lines else trimmed(tree.tail)
    return "".join(f"{line}\n" for line in (*lines, *ended(tail)))


def ordered(tree: Tree, order: Order) -> Tree:
    """The tree with the columns of each row in their order, those of no place last.

    Rows stand in lists below the name of a table, which is a key of the file, of its ``given``, or
    of the ``given`` of one of its ``cases``.
    """
    if tree.root is None:
        return tree
    return replace(tree, root=_with_tables(tree.root, order, "cases" not in order))


def _with_tables(group: Group, order: Order, tests: bool) -> Group:
    def tables(entry: Entry) -> Group | Leaf:
        value = entry.value
        if entry.key is None or not isinstance(value, Group):
            return value
        name = entry.key.value
        if value.mapping:
            return _with_tables(value, order, False) if name == "given" else value
        if name in order:
            return _mapped(value, lambda e: _row(e.value, order[name]))
        if name == "cases" and tests:
            return _mapped(value, case)
        return value

    def case(entry: Entry) -> Group | Leaf:
        value = entry.value
        if not isinstance(value, Group):
            return value
        return _mapped(
            value,
            lambda e: (
                _with_tables(e.value, order, False)
                if e.key is not None and e.key.value == "given" and isinstance(e.value, Group)
                else e.value
            ),
        )

    return _mapped(group, tables) if group.mapping else group


def _mapped(group: Group, change: Callable[[Entry], Group | Leaf]) -> Group:
    entries = tuple(replace(entry, value=change(entry)) for entry in group.entries)
    return replace(group, entries=entries)


def _row(row: Group | Leaf, places: Mapping[str, int]) -> Group | Leaf:
    if not isinstance(row, Group) or not row.mapping or row.anchor or _is_bound(row):
        return row

    def place(entry: Entry) -> int:
        return len(places) if entry.key is None else places.get(entry.key.value, len(places))

    return replace(row, entries=tuple(sorted(row.entries, key=place)))


def _is_bound(node: Group | Leaf) -> bool:
    """Whether something below a node must stay where it is.

    An anchor must stand above its aliases, and blank lines behind some texts are part of them.
    """
    if isinstance(node, Leaf):
        keeps = node.style in BLOCK_STYLES and "+" in node.text.partition("\n")[0]
        return keeps or bool(node.anchor) or node.style == "*"
    return any(bool(e.value.anchor) or _is_bound(e.value) for e in node.entries)


def _block(group: Group, indent: int) -> list[str]:
    """The lines of a group whose entries have lines of their own."""
    lines: list[str] = []
    lead = " " * indent
    for number, entry in enumerate(group.entries):
        above = trimmed(entry.above) if number == 0 else collapsed(entry.above)
        lines += [lead + line if line else line for line in above]
        lines += _entry(entry, indent)
    lines += [lead + line if line else line for line in collapsed(group.below)]
    return lines


def _entry(entry: Entry, indent: int) -> list[str]:
    """The lines of one entry of a block, without those above it."""
    lead = " " * indent
    key = entry.key
    sign = "-" if key is None else f"{key.text}:"
    value = entry.value
    head = lead + sign + (f" {value.anchor}" if value.anchor else "")
    beside = f"  {entry.beside}" if entry.beside else ""
    if isinstance(value, Leaf):
        below = [" " * (indent + _STEP) + line if line else line for line in entry.below]
        first, *others = _leaf_lines(value, indent + _STEP)
        lines = [f"{head} {first}" if first else head, *others]
        # Text that goes on over lines has its comment behind the last.
        lines[-1] += beside
        return [*lines, *below]
    line = _brackets(value) if value.flow or not value.entries else None
    if line is not None and (len(head) + 1 + len(line) <= WIDTH or not value.entries):
        return [f"{head} {line}{beside}"]
    inner = _block(value, indent + _STEP)
    if key is not None or value.anchor:
        return [head + beside, *inner]
    if beside:
        # A dash has no line of its own, so what is beside the row stands above it.
        return [lead + entry.beside, *_dashed(inner, lead)]
    return _dashed(inner, lead)


def _dashed(inner: Sequence[str], lead: str) -> list[str]:
    """The lines of a block behind a dash, which stands on the first of them."""
    return [f"{lead}- {inner[0].lstrip(' ')}", *inner[1:]]


def _brackets(group: Group) -> str | None:
    """A group in brackets on one line, without its anchor; None where that cannot be."""
    if group.below:
        return None
    parts = []
    for entry in group.entries:
        if entry.above or entry.beside or entry.below:
            return None
        value = entry.value
        text = _brackets(value) if isinstance(value, Group) else _line(value)
        if text is None:
            return None
        text = " ".join(t for t in (value.anchor, text) if t)
        if entry.key is not None:
            key = entry.key.text
            text = f"{key}: {text}" if text else key
        parts.append(text)
    inside = ", ".join(parts)
    return f"{{{inside}}}" if group.mapping else f"[{inside}]"


def _line(leaf: Leaf) -> str | None:
    """A leaf as it stands between brackets; None where its text needs lines of its own."""
    if re.search(r"\n[ \t]*\n|\\[ \t]*\n", leaf.text):
        return None
    return _leaf_text(replace(leaf, text=_FOLDED.sub(" ", leaf.text)), flow=True)


def _leaf_lines(leaf: Leaf, indent: int) -> list[str]:
    """The lines of a leaf, the first behind its sign, the others indented."""
    first, *others = _leaf_text(leaf, flow=False).split("\n")
    lead = " " * indent
    if leaf.style in BLOCK_STYLES:
        # Blanks that are text stay, and so does the digit that tells them from indentation.
        head = re.sub("[1-9]", str(_STEP), first.partition("#")[0]) + "".join(
            first.partition("#")[1:]
        )
        return [head, *(lead + line if line else "" for line in others)]
    return [first, *(lead + line.strip(" \t") if line.strip() else "" for line in others)]


def _leaf_text(leaf: Leaf, *, flow: bool) -> str:
    """How a leaf is written, without quotes that change nothing for any reader of YAML."""
    if (
        leaf.style in ("'", '"')
        and "\n" not in leaf.text
        and not needs_quotes(leaf.value, flow=flow)
    ):
        return leaf.value
    return leaf.text
