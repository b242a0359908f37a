"""Changes of facts that a what-if supposes, as typed values and as the command line writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ullage.columns import Row
from ullage.declarations import Table
from ullage.facts import FactBase
from ullage.findings import UsageError
from ullage.results import Quantity, Value, exact_text_of
from ullage.sorts import CountSort, ExactSort, Sort

Key = str | tuple[object, ...]
"""A row's key: its parts as rows from Python have them, or their texts joined by ``/``."""

_COLUMN = re.compile(r"/([^/=]*)=")

BY_FILE = "write the row into a file, and suppose it with `--add FILE --override`"
"""What to do where no text can name one cell alone."""


@dataclass(frozen=True, slots=True)
class Set:
    """A cell holds another value: text as in a fact file, or an object as rows from Python have it.

    A list is a list, or its text, as ``[a, b]``. ``None``, and YAML's words for it, take the value
    away.
    """

    table: str
    key: Key
    column: str
    value: object


@dataclass(frozen=True, slots=True)
class Unset:
    """A cell holds nothing, or its column's default."""

    table: str
    key: Key
    column: str


@dataclass(frozen=True, slots=True)
class Add:
    """The rows of one more file of facts; with ``override`` they replace rows of equal key."""

    file: Path | str
    override: bool = False


Change = Set | Unset | Add
"""What a what-if may suppose."""


def read_set(text: str, facts: FactBase) -> Set:
    """The change that ``table/key/column=value`` asks for.

    A key and a value may hold ``/`` and ``=``: of all ways to read the text, the one is taken whose
    row and column are there. Raises UsageError where the text names no cell, or two.
    """
    name, _, rest = text.partition("/")
    ways = [(rest[: m.start()], m[1], rest[m.end() :]) for m in _COLUMN.finditer(rest)]
    ways = [way for way in ways if way[0]]
    if not ways:
        raise UsageError(f"`{text}` sets no cell", "write `table/key/column=value`")
    table = facts.declarations.tables.get(name)
    columns = {c.name for c in (*table.key, *table.columns.values())} if table else set()
    keys = rows_by_text(table, facts.rows.get(name, ())) if table else {}
    there = [way for way in ways if way[0] in keys]
    right = [way for way in there if way[1] in columns]
    if len(right) > 1:
        cells = " or ".join(f"`{column}` of `{key}`" for key, column, _ in right)
        raise UsageError(f"`{text}` may set {cells}", BY_FILE)
    # Where no way is right, whoever reads on tells what is amiss in the likeliest.
    key, column, value = (right or there or [w for w in ways if w[1] in columns] or ways)[0]
    return Set(name, key, column, value)


def read_unset(text: str) -> Unset:
    """The change that ``table/key/column`` asks for; the key may hold ``/``.

    Raises UsageError where the text names no cell.
    """
    table, _, rest = text.partition("/")
    key, _, column = rest.rpartition("/")
    if not key or not column:
        raise UsageError(f"`{text}` names no cell", "write `table/key/column`")
    return Unset(table, key, column)


def rows_by_text(table: Table, rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of a table by the text of their keys, which two rows may share."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key_text(table, row), []).append(row)
    return found


def key_text(table: Table, row: Row) -> str:
    """A row's key as a what-if writes it: its parts joined by ``/``, and figures exact."""
    return "/".join(
        part if type(part) is str else exact_text_of(shown(part, column.sort))
        for part, column in zip(row.key, table.key, strict=True)
    )


def shown(value: object, sort: Sort) -> Value:
    """The value of a cell as results show it."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value if isinstance(value, bool) else str(value)
    assert isinstance(sort, ExactSort | CountSort)
    return Quantity(Fraction(value), sort)
