"""Facts as atoms, and where each stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ullage.columns import Cell, Row
from ullage.declarations import Column
from ullage.facts import FactBase
from ullage.reference.values import Atom, Value, Word, count, of_scalar
from ullage.sorts import Scalar, Sort


@dataclass(frozen=True, slots=True)
class Reading:
    """What an atom of a table was read from: a row, or the cell of one of its columns."""

    row: Row
    column: str = ""
    cell: Cell | None = None


def key_of(base: FactBase, row: Row) -> Value:
    """The term of a row's key."""
    columns = base.declarations.tables[row.table].key
    parts = tuple(of_scalar(v, c.sort) for v, c in zip(row.key, columns, strict=True))
    return parts[0] if len(parts) == 1 else parts


def atoms_of(base: FactBase, row: Row) -> Iterator[tuple[Atom, Reading]]:
    """The atoms of one row: the row's own, and one for each column that has a value."""
    table = base.declarations.tables[row.table]
    key = key_of(base, row)
    yield (row.table, (key,)), Reading(row)
    for name, cell in row.cells.items():
        sort = table.columns[name].sort
        for value, own in _values(cell, sort):
            yield (row.table, (key, Word(name), value)), Reading(row, name, own)


def cell_values(scalars: Sequence[Scalar], column: Column) -> Iterator[Value]:
    """The values of the atoms of a cell, of its scalars: one each, with its place in a list."""
    for place, scalar in enumerate(scalars):
        value = of_scalar(scalar, column.sort)
        yield (count(place), value) if column.many else value


def _values(cell: Cell, sort: Sort) -> Iterator[tuple[Value, Cell]]:
    if isinstance(cell.value, tuple):
        for place, inner in enumerate(cell.value):
            assert not isinstance(inner.value, tuple)
            yield (count(place), of_scalar(inner.value, sort)), inner
    else:
        yield of_scalar(cell.value, sort), cell


def all_atoms(base: FactBase) -> Iterator[tuple[Atom, Reading]]:
    """The atoms of every row."""
    for rows in base.rows.values():
        for row in rows:
            yield from atoms_of(base, row)
