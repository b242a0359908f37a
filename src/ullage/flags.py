"""The flags that a policy declares for ``ullage plan``: what each selects, sets or adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from yaml.nodes import Node, ScalarNode

from ullage.declarations import Flag, Table
from ullage.declnodes import bad, known_only, value_of
from ullage.findings import listed, similar
from ullage.yamlnodes import Nodes

OF_VERBS = frozenset({"rules", "facts", "override", "on", "format", "fail-on", "help", "version"})
"""Names that mean the same for every verb; no policy may take them."""

PROPERTIES = ("doc", "selects", "sets", "adds", "fills")
"""What a flag's declaration may say."""

_NAME = re.compile(r"[a-z][a-z0-9-]*")


def read_flag(
    nodes: Nodes, key: ScalarNode, node: Node, tables: Mapping[str, Table]
) -> Flag | None:
    """The flag that an entry of ``flags:`` declares, or None with findings ``bad-declaration``."""
    name, what = key.value, f"flag `{key.value}`"
    if name in OF_VERBS:
        bad(nodes, key, f"`{name}` cannot name a flag", "it is a flag of every verb")
        return None
    if not _NAME.fullmatch(name):
        bad(
            nodes,
            key,
            f"`{name}` cannot name a flag",
            "flags begin with a lower-case letter and hold lower-case letters, digits and `-`",
        )
        return None
    before = len(nodes.findings)
    properties = nodes.entries(node, what)
    known_only(nodes, properties, PROPERTIES, what)
    doc, selects, sets, adds = (
        nodes.text(value_of(properties, word), f"`{word}` of {what}") or ""
        for word in ("doc", "selects", "sets", "adds")
    )
    fills = tuple(
        nodes.text(element, f"a column of {what}") or ""
        for element in nodes.elements(value_of(properties, "fills"), f"`fills` of {what}")
    )
    cell = _cell(nodes, properties["sets"][1], sets, tables) if sets else None
    if adds:
        _check_row(nodes, properties["adds"][1], adds, fills, tables)
    if bool(adds) != bool(fills):
        bad(
            nodes,
            key,
            f"{what} has one of `adds` and `fills` alone",
            "`adds` names the table, and `fills` the columns that take the flag's value",
        )
    if not (selects or sets):
        bad(
            nodes,
            key,
            f"{what} selects nothing and sets nothing",
            "write `selects: part`, or `sets: table/key/column`",
        )
    if len(nodes.findings) > before:
        return None
    return Flag(name, doc, nodes.position(key), selects, cell, adds, fills)


def _check_row(
    nodes: Nodes, node: Node, name: str, fills: Sequence[str], tables: Mapping[str, Table]
) -> None:
    """A flag can fill a row: of one key column, and with each column that the row needs."""
    table = tables.get(name)
    if table is None:
        bad(nodes, node, f"no table `{name}` is declared", similar(name, tables, "table"))
        return
    columns = {c.name: c for c in (*table.key, *table.columns.values())}
    for column in fills:
        if column not in columns:
            bad(
                nodes,
                node,
                f"table `{name}` has no column `{column}`",
                similar(column, columns, "column"),
            )
    wanted = [c.name for c in columns.values() if c.required]
    if len(table.key) != 1 or not set(wanted) <= set(fills):
        bad(
            nodes,
            node,
            f"one value cannot fill a row of `{name}`",
            f"the table has one key column, and `fills` names what a row needs: {listed(wanted)}",
        )


def _cell(
    nodes: Nodes, node: Node, text: str, tables: Mapping[str, Table]
) -> tuple[str, str, str] | None:
    """The table, key and column of ``table/key/column``."""
    table, _, rest = text.partition("/")
    key, _, column = rest.rpartition("/")
    if not key or not column:
        bad(nodes, node, f"`{text}` names no cell", "write `table/key/column`")
    elif table not in tables:
        bad(nodes, node, f"no table `{table}` is declared", similar(table, tables, "table"))
    elif column not in tables[table].columns or tables[table].columns[column].many:
        single = [c.name for c in tables[table].columns.values() if not c.many]
        bad(
            nodes,
            node,
            f"table `{table}` has no column `{column}` of one value",
            similar(column, single, "column"),
        )
    else:
        return (table, key, column)
    return None


def usage(flags: Iterable[Flag]) -> str:
    """The flags for a help text, a line each."""
    shown = [(f"--{f.name} {'VALUE' if f.sets else f.selects.upper()}", f.doc) for f in flags]
    width = max((len(words) for words, _ in shown), default=0)
    return "".join(f"  {words:<{width}}  {doc}\n" for words, doc in shown)
