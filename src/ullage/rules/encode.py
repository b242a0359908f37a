"""Facts as sorted text for clingo: one atom a row, one a column that some rule reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from ullage.columns import Cell, Row
from ullage.declarations import Table
from ullage.facts import FactBase
from ullage.rules import numbers
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Levels, quoted
from ullage.rules.numbers import Shape
from ullage.rules.terms import Fun, uses
from ullage.rules.vocabulary import Slot
from ullage.sorts import BoolSort, ClosedSort, CountSort, ExactSort, Scalar, Sort

Reads = dict[str, set[str]]
"""The columns that rules read of each table; ``""`` stands for the row itself."""


def reads(rules: Iterable[TypedRule], tables: Mapping[str, Table]) -> Reads:
    """What the rules read of the tables."""
    found: Reads = {}
    for typed in rules:
        for use in uses(typed.rule.body):
            atom = use.atom
            if atom.name in tables:
                column = ""
                if len(atom.args) == 3:
                    word = atom.args[1]
                    assert isinstance(word, Fun)
                    column = word.name
                found.setdefault(atom.name, set()).add(column)
    return found


def fact_levels(base: FactBase, read: Reads) -> dict[Slot, int]:
    """How many decimals the facts at each exact slot have."""
    levels: dict[Slot, int] = {}
    for name, columns in read.items():
        table = base.declarations.tables[name]
        rows = base.rows.get(name, ())
        for index, part in enumerate(table.key):
            if isinstance(part.sort, ExactSort):
                slot = (name, "") if len(table.key) == 1 else (name, "", str(index))
                levels[slot] = max((numbers.level(_figure(r.key[index])) for r in rows), default=0)
        for column in columns - {""}:
            declared = table.columns[column]
            if isinstance(declared.sort, ExactSort):
                slot = (name, column, "1") if declared.many else (name, column)
                values = (
                    value
                    for row in rows
                    if column in row.cells
                    for value in _figures(row.cells[column])
                )
                levels[slot] = max(
                    (0 if isinstance(v, int) else numbers.level(v) for v in values), default=0
                )
    return levels


def _figure(value: Scalar) -> int | Fraction:
    assert isinstance(value, int | Fraction)
    return value


def _figures(cell: Cell) -> Iterable[int | Fraction]:
    if isinstance(cell.value, tuple):
        for inner in cell.value:
            yield from _figures(inner)
    else:
        yield _figure(cell.value)


class _Texts:
    """Values of one sort at one slot as terms."""

    def __init__(self, sort: Sort, fraction: bool, shape: Shape) -> None:
        self.sort = sort
        self.shape = shape
        self.exact = isinstance(sort, ExactSort)
        self.fraction = fraction
        self.plain = isinstance(sort, CountSort | ClosedSort)
        self.bool = isinstance(sort, BoolSort)

    def text(self, value: Scalar) -> str:
        if self.exact:
            figure = _figure(value)
            if self.fraction:
                return self.shape.fraction_text(figure)
            return self.shape.decimal_text(figure)
        if self.plain:
            return str(value)
        if self.bool:
            return "true" if value else "false"
        return quoted(str(value))


def fact_lines(base: FactBase, read: Reads, levels: Levels, shape: Shape) -> list[str]:
    """The facts that rules read, as lines of text in sorted order.

    Raises TooWide where a figure is too large for the shape.
    """
    lines: list[str] = []
    for name, columns in read.items():
        table = base.declarations.tables[name]
        rows = base.rows.get(name, ())
        keys = _keys(table, [r.key for r in rows], levels, shape)
        if "" in columns:
            lines += [f"{name}({key})." for key in keys]
        for column in sorted(columns - {""}):
            declared = table.columns[column]
            slot: Slot = (name, column, "1") if declared.many else (name, column)
            texts = _Texts(declared.sort, levels.get(slot, 0) == numbers.FRACTION, shape)
            head = f",{column},"
            if declared.many:
                for row, key in zip(rows, keys, strict=True):
                    cell = row.cells.get(column)
                    if cell is not None:
                        lines += _list_lines(name, key, column, cell, texts)
                continue
            render = texts.text
            if texts.exact and not texts.fraction:
                lines += _decimal_lines(name, column, rows, keys, shape)
                continue
            for row, key in zip(rows, keys, strict=True):
                cell = row.cells.get(column)
                if cell is not None:
                    value = cell.value
                    assert not isinstance(value, tuple)
                    lines.append(f"{name}({key}{head}{render(value)}).")
    lines.sort()
    return lines


def _decimal_lines(
    name: str, column: str, rows: Sequence[Row], keys: Sequence[str], shape: Shape
) -> list[str]:
    """The commonest kind, exact figures of few decimals, without a call for each whole one."""
    lines = []
    base, bound = numbers.BASE, shape.bound
    zeros = "0," * (shape.width - 3)
    for row, key in zip(rows, keys, strict=True):
        cell = row.cells.get(column)
        if cell is None:
            continue
        value = cell.value
        if type(value) is int and 0 <= value < bound and value < base * base:
            h, m = divmod(value, base)
            lines.append(f"{name}({key},{column},{numbers.DECIMAL}({zeros}{h},{m},0)).")
        else:
            assert not isinstance(value, tuple)
            lines.append(f"{name}({key},{column},{shape.decimal_text(_figure(value))}).")
    return lines


def _list_lines(name: str, key: str, column: str, cell: Cell, texts: _Texts) -> list[str]:
    assert isinstance(cell.value, tuple)
    lines = []
    for position, inner in enumerate(cell.value):
        assert not isinstance(inner.value, tuple)
        lines.append(f"{name}({key},{column},({position},{texts.text(inner.value)})).")
    return lines


def _keys(
    table: Table, keys: Sequence[tuple[Scalar, ...]], levels: Levels, shape: Shape
) -> list[str]:
    """The key terms of rows."""
    if len(table.key) == 1:
        fraction = levels.get((table.name, ""), 0) == numbers.FRACTION
        texts = _Texts(table.key[0].sort, fraction, shape)
        return [texts.text(k[0]) for k in keys]
    parts = [
        _Texts(c.sort, levels.get((table.name, "", str(i)), 0) == numbers.FRACTION, shape)
        for i, c in enumerate(table.key)
    ]
    return [f"({','.join(p.text(v) for p, v in zip(parts, key, strict=True))})" for key in keys]
