"""The rows of a case: those of its file, without what it removes, as it sets them, and its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage.declarations import Table
from ullage.lawtests.cases import SOURCE, Cell, LawCase


def key_columns(tables: Mapping[str, Table]) -> dict[str, tuple[str, ...]]:
    """The key columns of each table, in order."""
    return {name: tuple(c.name for c in table.key) for name, table in tables.items()}


def edited_rows(
    case: LawCase, keys: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[dict[str, Cell]]], list[str]]:
    """The rows of a case, and each edit that names no row.

    ``keys`` are those of ``key_columns``.
    """
    rows = {table: [dict(row) for row in given] for table, given in case.shared.items()}
    amiss = []

    def matching(table: str, key: str) -> list[dict[str, Cell]]:
        columns = keys.get(table, ())
        return [
            row
            for row in rows.get(table, [])
            if "/".join(str(row.get(column)) for column in columns) == key
        ]

    for path in case.remove:
        table, _, key = path.partition("/")
        chosen = matching(table, key)
        if not chosen:
            amiss.append(f"remove: no given row is `{path}`")
        for row in chosen:
            rows[table].remove(row)
    for path, value in case.set:
        table, _, rest = path.partition("/")
        key, _, column = rest.rpartition("/")
        chosen = matching(table, key)
        if not chosen:
            amiss.append(f"set: no given row is `{table}/{key}`")
        for row in chosen:
            row.pop(column, None)
            if value is not None:
                row[column] = value
    for table, added in (case.given or {}).items():
        rows.setdefault(table, []).extend(dict(row) for row in added)
    for of_table in rows.values():
        for row in of_table:
            row.setdefault("source", SOURCE)
    return rows, amiss
