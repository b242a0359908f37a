"""The flags that a policy declares for ``ullage plan``: what each selects, sets or adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from yaml.nodes import Node, ScalarNode

from ullage.declarations import Flag, Table
from ullage.findings import similar
from ullage.yamlnodes import Nodes

OF_VERBS = frozenset({"rules", "facts", "override", "format", "fail-on", "help", "version"})
"""Names that mean the same for every verb; no policy may take them."""

PROPERTIES = ("doc", "selects", "sets", "adds", "fills")
"""What a flag's declaration may say."""

_NAME = re.compile(r"[a-z][a-z0-9-]*")


def read_flag(
    nodes: Nodes, key: ScalarNode, node: Node, tables: Mapping[str, Table]
) -> Flag | None:
    """The flag that an entry of ``flags:`` declares, or None with findings ``bad-declaration``."""
    name, what = key.value, f"flag `{key.value}`"
    if not _NAME.fullmatch(name) or name in OF_VERBS:
        _bad(
            nodes,
            key,
            f"`{name}` cannot name a flag",
            "flags begin with a lower-case letter and hold lower-case letters, digits and `-`"
            if name not in OF_VERBS
            else "it is a flag of every verb",
        )
        return None
    properties = nodes.entries(node, what)
    for word, (place, _) in properties.items():
        if word not in PROPERTIES:
            _bad(
                nodes,
                place,
                f"{what} has no property `{word}`",
                similar(word, PROPERTIES, "property"),
            )
    before = len(nodes.findings)
    texts = {
        word: nodes.text(properties[word][1], f"`{word}` of {what}") or ""
        for word in ("doc", "selects", "sets", "adds")
        if word in properties
    }
    fills: list[str] = []
    if "fills" in properties:
        for element in nodes.elements(properties["fills"][1], f"`fills` of {what}"):
            fills.append(nodes.text(element, f"a column of {what}") or "")
    sets = _cell(nodes, properties["sets"][1], texts["sets"], tables) if "sets" in texts else None
    adds = texts.get("adds", "")
    if adds and adds not in tables:
        _bad(
            nodes,
            properties["adds"][1],
            f"no table `{adds}` is declared",
            similar(adds, tables, "table"),
        )
    elif adds:
        table = tables[adds]
        columns = [c.name for c in (*table.key, *table.columns.values())]
        for column in fills:
            if column not in columns:
                _bad(
                    nodes,
                    properties["fills"][1],
                    f"table `{adds}` has no column `{column}`",
                    similar(column, columns, "column"),
                )
        wanted = [c.name for c in (*table.key, *table.columns.values()) if c.required]
        if len(table.key) != 1 or not set(wanted) <= set(fills):
            _bad(
                nodes,
                properties["adds"][1],
                f"{what} cannot fill a row of `{adds}`",
                f"name in `fills` each column that a row needs: {', '.join(wanted)}",
            )
    if bool(adds) != bool(fills):
        _bad(
            nodes,
            key,
            f"{what} has one of `adds` and `fills` alone",
            "`adds` names the table, and `fills` the columns that take the flag's value",
        )
    if not texts.get("selects") and not texts.get("sets"):
        _bad(
            nodes,
            key,
            f"{what} selects nothing and sets nothing",
            "write `selects: part`, or `sets: table/key/column`",
        )
    if len(nodes.findings) > before:
        return None
    return Flag(
        name,
        texts.get("doc", ""),
        nodes.position(key),
        texts.get("selects", ""),
        sets,
        adds,
        tuple(fills),
    )


def _cell(
    nodes: Nodes, node: Node, text: str, tables: Mapping[str, Table]
) -> tuple[str, str, str] | None:
    """The table, key and column of ``table/key/column``."""
    table, _, rest = text.partition("/")
    key, _, column = rest.rpartition("/")
    if not key or not column:
        _bad(nodes, node, f"`{text}` names no cell", "write `table/key/column`")
    elif table not in tables:
        _bad(nodes, node, f"no table `{table}` is declared", similar(table, tables, "table"))
    elif column not in tables[table].columns or tables[table].columns[column].many:
        single = [c.name for c in tables[table].columns.values() if not c.many]
        _bad(
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


def _bad(nodes: Nodes, node: Node, message: str, help: str) -> None:
    nodes.report("bad-declaration", message, node, help=help)
