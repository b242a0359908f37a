"""How the cells of a table are read: one reader to a column, which remembers the texts it has read.

Reading cells is the part of a run that grows with the catalog. Cells and rows are named tuples: a
catalog makes them by the hundred thousand, and a frozen dataclass takes twice to three times as
long to make.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from ullage.declarations import Column, Declarations, Table, check_bounds, elsewhere, read_value
from ullage.findings import listed, similar
from ullage.sorts import (
    COUNT_RANGE,
    RANGE,
    BoolSort,
    ClosedSort,
    CountSort,
    EntitySort,
    ExactSort,
    Scalar,
    ScalarError,
    TextSort,
    shorten,
    whole_or_fraction,
)
from ullage.waivertable import WAIVER
from ullage.yamlnodes import ABSENT

_LONGEST_RANGE = 100_000
_RANGE = re.compile(r"([0-9]{1,9})(?:\.\.([0-9]{1,9})(?:/([0-9]{1,9}))?)?")

MOST_REMEMBERED = 10_000
"""How many texts of one column, and how many sources, are remembered once read."""

_LONGEST_NAME = 80
_LONGEST_NUMBER_BITS = 300


class Cell(NamedTuple):
    """A value and where it stands; line 0 means the column's default, at its
    declaration, and a line below 0 a cell that a what-if supposes.

    Exact sorts hold an int when whole, else a Fraction, in base units. A list column holds a tuple
    of cells.
    """

    value: Scalar | tuple[Cell, ...]
    line: int
    column: int


def plain(cell: Cell) -> object:
    """What a cell holds, without its place; a tuple of the parts of a list."""
    value = cell.value
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


class Row(NamedTuple):
    """A row of a table. ``cells`` holds the columns beside the key that have a value."""

    table: str
    key: tuple[Scalar, ...]
    cells: Mapping[str, Cell]
    file: str
    line: int
    column: int
    source: str


class ColumnReader:
    """Reads the values of one column; texts once read, sound or not, are remembered."""

    __slots__ = ("column", "errors", "free", "high", "known", "low", "many", "numeric", "units")

    def __init__(self, column: Column) -> None:
        self.column = column
        self.many = column.many or column.ranges
        self.known: dict[str, Scalar] = {}
        self.errors: dict[str, ScalarError] = {}
        sort = column.sort
        self.free = isinstance(sort, TextSort | EntitySort)
        self.numeric = isinstance(sort, ExactSort | CountSort)
        self.units: dict[str, int] = {}
        if isinstance(sort, ExactSort):
            self.units = {u: int(s) for u, s in sort.units.items() if s.denominator == 1}
        outermost = COUNT_RANGE - 1 if isinstance(sort, CountSort) else RANGE - 1
        lowest = Fraction(0) if column.minimum is None else column.minimum
        highest = Fraction(outermost) if column.maximum is None else column.maximum
        self.low = whole_or_fraction(max(lowest, Fraction(-outermost)))
        self.high = whole_or_fraction(min(highest, Fraction(outermost)))

    def text(self, text: str) -> Scalar:
        """The value of a text. Raises ScalarError."""
        value = self.known.get(text)
        if value is not None:
            return value
        error = self.errors.get(text)
        if error is not None:
            raise error
        try:
            value = self._parse(text)
        except ScalarError as fresh:
            if len(self.errors) < MOST_REMEMBERED:
                self.errors[text] = fresh
            raise
        # The words for no value stay unknown, so that a reader of YAML looks at their quotes.
        if len(self.known) < MOST_REMEMBERED and text not in ABSENT:
            self.known[text] = value
        return value

    def numbers(self, text: str, before: int = 0) -> range:
        """The numbers of ``7``, ``3..77`` or ``6..74/4``, of a column that has ranges.

        ``before`` is how many numbers the row named already.

        Raises ScalarError: ``not-a-range``, ``range-too-long``, and the codes of ``read_value``.
        """
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            raise ScalarError(
                "not-a-range",
                f"`{shorten(text)}` is no number and no range",
                "write `7`, `3..77`, or `6..74/4` for every fourth",
            )
        first, last, step = match.groups()
        found = range(int(first), int(last or first) + 1, int(step or 1) or 1)
        if not found or step == "0":
            raise ScalarError(
                "not-a-range",
                f"the range `{shorten(text)}` holds nothing",
                "the lower number stands first, and a step is at least 1",
            )
        if before + len(found) > _LONGEST_RANGE:
            raise ScalarError(
                "range-too-long",
                f"with the range `{shorten(text)}` the row names {before + len(found)} numbers",
                f"a row names at most {_LONGEST_RANGE}",
            )
        for number in (found[0], found[-1]):
            self.text(str(number))
        return found

    def _parse(self, text: str) -> Scalar:
        if self.free and text.isprintable():
            return text
        if self.units:
            digits, _, unit = text.partition(" ")
            size = self.units.get(unit)
            if size is not None and len(digits) < 25 and digits.isascii() and digits.isdigit():
                value = int(digits) * size
                if self.low <= value <= self.high:
                    return value
        return read_value(text, self.column)

    def given(self, value: object) -> Scalar:
        """The value of an object given in Python, numbers being in base units.

        Raises ScalarError: the codes of ``read_value``.
        """
        if type(value) is str:
            return self.text(value)
        if type(value) is int and self.numeric and self.low <= value <= self.high:
            return value
        if isinstance(value, str):
            return self.text(str.__str__(value))
        sort = self.column.sort
        if isinstance(value, bool):
            if isinstance(sort, BoolSort):
                return value
        elif isinstance(value, int | Fraction | Decimal):
            if isinstance(sort, ExactSort | CountSort):
                return self._number(value)
        elif isinstance(value, float):
            raise ScalarError(
                self._code(),
                f"`{value}` is a float, which is not exact",
                'give a `Fraction`, a `Decimal` or text such as `"0.2"`',
            )
        raise ScalarError(
            self._code(),
            f"{shown(value)} of type `{type(value).__name__}` is no value of `{sort.name}`",
            "give text, or a value of the column's sort",
        )

    def _number(self, value: int | Fraction | Decimal) -> int | Fraction:
        sort = self.column.sort
        if isinstance(value, Decimal):
            if not value.is_finite():
                raise ScalarError(self._code(), f"`{value}` is no number", "give a finite number")
            digits = len(value.as_tuple().digits) + abs(value.adjusted())
            if digits > _LONGEST_NUMBER_BITS // 4:
                raise self._outside(value)
        exact = Fraction(value)
        if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _LONGEST_NUMBER_BITS:
            raise self._outside(value)
        number = whole_or_fraction(exact)
        if isinstance(sort, CountSort) and not isinstance(number, int):
            raise ScalarError("not-a-count", f"{shown(value)} is not a whole number", "give an int")
        outermost = COUNT_RANGE if isinstance(sort, CountSort) else RANGE
        if not -outermost < number < outermost:
            raise self._outside(value)
        check_bounds(number, self.column, shown(value).strip("`"))
        return number

    def _outside(self, value: object) -> ScalarError:
        count = isinstance(self.column.sort, CountSort)
        return ScalarError(
            "count-out-of-range" if count else "quantity-out-of-range",
            f"{shown(value)} is outside the exact range of `{self.column.sort.name}`",
            f"values lie within {COUNT_RANGE if count else RANGE} base units either way",
        )

    def _code(self) -> str:
        codes = (
            (ExactSort, "not-a-quantity"),
            (CountSort, "not-a-count"),
            (BoolSort, "not-a-bool"),
            (ClosedSort, "not-in-closed-set"),
        )
        return next((c for s, c in codes if isinstance(self.column.sort, s)), "not-text")


class TableReader:
    """What loading knows of one table: its readers, and its rows so far by key."""

    __slots__ = (
        "declarations",
        "defaults",
        "fresh",
        "hints",
        "keep_key_cells",
        "key_cells",
        "key_names",
        "ranged",
        "readers",
        "required",
        "rows",
        "source_required",
        "table",
    )

    def __init__(self, table: Table, declarations: Declarations) -> None:
        self.table = table
        self.declarations = declarations
        columns = {c.name: c for c in table.key} | dict(table.columns)
        self.readers = {name: ColumnReader(c) for name, c in columns.items()}
        self.key_names = tuple(c.name for c in table.key)
        self.required = tuple(c.name for c in table.columns.values() if c.required)
        self.defaults = {
            c.name: Cell(read_value(c.default, c), 0, 0)
            for c in table.columns.values()
            if c.default is not None
        }
        self.source_required = table.source_required
        self.rows: dict[tuple[Scalar, ...], Row] = {}
        self.fresh: set[tuple[Scalar, ...]] = set()
        # What is amiss with a waiver is told at its cells, once the laws are known.
        self.keep_key_cells = table.name == WAIVER or any(c.references for c in table.key)
        self.ranged = next((i for i, c in enumerate(table.key) if c.ranges), -1)
        self.key_cells: dict[tuple[Scalar, ...], list[Cell]] = {}
        self.hints: dict[str, str] = {}

    def emptied(self) -> TableReader:
        """A reader without rows that has learnt what this one has of the declarations."""
        other = copy.copy(self)
        other.rows, other.fresh, other.key_cells = {}, set(), {}
        return other

    def column_hint(self, name: str) -> str:
        """A hint for a column name that is not declared."""
        if name not in self.hints:
            self.hints[name] = (
                "write the row out: merge keys are not read"
                if name == "<<"
                else elsewhere(name, self.table, self.declarations)
                or near(name, (*self.readers, "source"), "column")
                or f"columns are {listed([*self.readers])}"
            )
        return self.hints[name]


def near(name: str, known: Iterable[str], what: str) -> str:
    """``similar``, or nothing for a name too long to be a slip of the pen."""
    return similar(name, known, what) if len(name) <= _LONGEST_NAME else ""


def shown(value: object) -> str:
    """An object as a message shows it, in backticks; long numbers are never written out."""
    if isinstance(value, int | Fraction) and (
        max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_NUMBER_BITS
    ):
        return "a number of many digits"
    return f"`{shorten(str(value))}`"
