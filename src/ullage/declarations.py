"""Declared tables: what a row means, which columns it has, and of which sort each is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from ullage.findings import Position
from ullage.sorts import (
    CountSort,
    EntitySort,
    ExactSort,
    Scalar,
    ScalarError,
    Sort,
    TupleSort,
    exact_text,
    parse_scalar,
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    ``references`` names tables whose key a value must be (any of them). ``default`` is the text
    that stands for an absent value, a declared fact of the table with the declaration's position.
    ``minimum`` and ``maximum`` bound exact and count values, in base units; without a declared
    minimum no figure may be negative. With ``ranges`` a row may name many numbers at
    once, as ``3..77``, and stands for a row of each; with ``alike`` rules can read them by numbers
    that have the same rows. What a ``sensitive`` column holds is masked in decision records; a
    ``date`` column tells on which day a row was read.
    """

    name: str
    sort: Sort
    position: Position
    doc: str = ""
    required: bool = False
    many: bool = False
    default: str | None = None
    references: tuple[str, ...] = ()
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    ranges: bool = False
    alike: bool = False
    sensitive: bool = False
    date: bool = False


@dataclass(frozen=True, slots=True)
class Computed:
    """Where the rows of a table come from that nobody gives.

    ``parts``: each name of ``sort`` that a row holds, with each run of its dotted segments.
    ``alike``: each number of the ``alike`` column of ``table``, with the first that has rows alike.
    ``first``: the rows of ``table`` at those first numbers.
    """

    how: str
    sort: Sort | None = None
    table: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A declared table. ``key`` and ``columns`` keep the order of their declaration.

    With ``computed`` no facts give its rows.
    """

    name: str
    doc: str
    position: Position
    key: tuple[Column, ...]
    columns: Mapping[str, Column]
    source_required: bool
    computed: Computed | None = None

    @property
    def key_sort(self) -> Sort:
        """The sort of the key term: the key column's own, or the tuple of them all."""
        if len(self.key) == 1:
            return self.key[0].sort
        return TupleSort.of(*(c.sort for c in self.key))


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of ``ullage plan``, declared by the policy and named without its dashes.

    ``selects`` names the part of a subject, or the value, that must be the flag's ("" for none).
    ``sets`` is a cell (table, key, column) that takes it; with ``adds`` a row of that table is
    supposed, its columns ``fills`` holding it, where no row has that key.
    """

    name: str
    doc: str
    position: Position
    selects: str = ""
    sets: tuple[str, str, str] | None = None
    adds: str = ""
    fills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declarations:
    """All tables, sorts and flags of a policy.

    ``sorts`` holds the built-in, the declared and the entity sorts by name.
    """

    tables: Mapping[str, Table]
    sorts: Mapping[str, Sort]
    flags: Mapping[str, Flag] = field(default_factory=lambda: MappingProxyType({}))

    def entity_sorts(self) -> list[EntitySort]:
        """The sorts whose names tables key, in order of name."""
        return sorted(
            (s for s in self.sorts.values() if isinstance(s, EntitySort)), key=lambda s: s.name
        )


def read_value(text: str, column: Column) -> Scalar:
    """One value of a column from its text.

    Raises ScalarError: the codes of ``parse_scalar`` and ``check_bounds``.
    """
    value = parse_scalar(text, column.sort)
    check_bounds(value, column, text)
    return value


def check_bounds(value: Scalar, column: Column, shown: str) -> None:
    """Hold a figure against its column's bounds; values of other sorts pass.

    ``shown`` is the figure as its author wrote it. Raises ScalarError: ``negative-quantity``,
    ``below-minimum``, ``above-maximum``.
    """
    if not isinstance(column.sort, ExactSort | CountSort) or isinstance(value, str):
        return
    written = " ".join(shown.split())
    if column.minimum is None and value < 0:
        raise ScalarError(
            "negative-quantity",
            f"`{written}` is negative",
            "a figure is negative only where its column declares a minimum below 0",
        )
    if column.minimum is not None and value < column.minimum:
        raise ScalarError(
            "below-minimum",
            f"`{written}` is below the minimum of `{column.name}`",
            f"the minimum is {_bound(column.minimum, column.sort)}",
        )
    if column.maximum is not None and value > column.maximum:
        raise ScalarError(
            "above-maximum",
            f"`{written}` is above the maximum of `{column.name}`",
            f"the maximum is {_bound(column.maximum, column.sort)}",
        )


def _bound(value: Fraction, sort: Sort) -> str:
    if not isinstance(sort, ExactSort):
        return exact_text(value)
    unit = next((u for u, size in sort.units.items() if size == 1), "")
    return f"{exact_text(value)} {unit}".rstrip()


def elsewhere(column: str, table: Table, declarations: Declarations) -> str:
    """A hint for a column that a table lacks, and another with a key of the same sort has."""
    for other in declarations.tables.values():
        if other is not table and column in other.columns and other.key_sort == table.key_sort:
            return f"`{other.name}` has a column `{column}`"
    return ""
