"""What-ifs: facts with some rows and cells supposed otherwise, and what was supposed.

Nothing is written. What is supposed is held against its declarations, and against the other rows,
by the loader that reads fact files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from yaml.nodes import ScalarNode

from ullage.changes import BY_FILE, Add, Change, Set, Unset, key_text, rows_by_text, shown
from ullage.columns import Cell, ColumnReader, Row, TableReader
from ullage.declarations import Column, Flag
from ullage.facts import SUPPOSED, FactBase, Hints, Loader, given_cell
from ullage.findings import (
    Finding,
    PolicyError,
    Position,
    UsageError,
    errors_of,
    listed,
    similar,
)
from ullage.moves import SupposedCell, SupposedRow
from ullage.results import Assumption, Value
from ullage.sorts import Scalar, ScalarError
from ullage.textfiles import shown_path
from ullage.yamlnodes import ABSENT, Nodes, compose_document, is_absent

_MOST_NAMED = 12
_STRUCTURED = ("[", "{", '"', "'")
"""What a value begins with that is read as YAML, where its column takes one value."""


@dataclass(frozen=True, slots=True)
class Supposition:
    """The facts of flags, what they supposed, and the parts and values that they ask for.

    ``selected`` maps the name of a subject's part, or of a value, to its exact text.
    """

    base: FactBase
    assumptions: tuple[Assumption, ...] = ()
    selected: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def suppose(base: FactBase, given: Mapping[str, str]) -> Supposition:
    """The facts as flags suppose them; ``given`` maps a declared flag to its value's text.

    Raises UsageError for a flag that is not declared, PolicyError with the findings that the same
    value would have in a file of facts; its place is the flag.
    """
    declared = base.declarations.flags
    maker = _Flags(base)
    for name, text in given.items():
        if name not in declared:
            raise UsageError(
                f"no flag `--{name}` is declared by the policy",
                similar(f"--{name}", [f"--{f}" for f in declared], "flag")
                or f"flags are {listed([f'--{f}' for f in declared])}",
            )
        maker.take(declared[name], text)
    found = maker.loader.base() if maker.assumptions else base
    if maker.loader.findings:
        raise PolicyError(maker.loader.findings)
    return Supposition(found, tuple(maker.assumptions), maker.selected)


@dataclass(frozen=True, slots=True)
class Supposed:
    """The facts of a what-if, and what it supposed."""

    base: FactBase
    changes: tuple[SupposedCell | SupposedRow, ...]


def suppose_changes(
    base: FactBase, changes: Iterable[Change], derived: Mapping[str, Position]
) -> Supposed:
    """The facts under changes: added rows first, then the cells that are set and unset.

    ``derived`` maps predicates that rules derive to their declarations. Raises UsageError for a
    file that is not there, and for a cell that is named twice or not alone; PolicyError with the
    findings that the same rows would have in files of facts. The place of a value is ``<--set>``,
    its line the number of the change among those of its kind.
    """
    given = list(changes)
    changer = Changer(base, derived)
    for added in (c for c in given if isinstance(c, Add)):
        changer.add(added)
    for kind, option in ((Set, "--set"), (Unset, "--unset")):
        for number, change in enumerate((c for c in given if isinstance(c, kind)), start=1):
            changer.change(option, number, change)
    supposed = changer.loader.base()
    findings = changer.loader.findings
    if errors_of(findings):
        raise PolicyError(findings)
    return Supposed(supposed, tuple(changer.changes))


def cell_of(
    base: FactBase, reader: ColumnReader, text: str, place: Position
) -> tuple[Cell | None, Sequence[Finding]]:
    """The cell that a value's text is, as ``--set`` reads it, and what is amiss with it."""
    changer = Changer(base, {})
    cell = changer.read(reader, text, place)
    return cell, errors_of(changer.loader.findings)


class _Flags:
    """Changes rows, flag by flag."""

    def __init__(self, base: FactBase) -> None:
        self.loader = Loader.over(base, {})
        self.assumptions: list[Assumption] = []
        self.selected: dict[str, str] = {}

    def take(self, flag: Flag, text: str) -> None:
        """Do what a flag asks."""
        selected = text
        if flag.adds:
            selected = self._add(flag, text)
        if flag.selects:
            self.selected[flag.selects] = selected
        if flag.sets is not None:
            self._set(flag, flag.sets, text)

    def _set(self, flag: Flag, cell: tuple[str, str, str], text: str) -> None:
        name, key, column = cell
        table = self.loader.tables[name]
        rows = rows_by_text(table.table, table.rows.values())
        if key not in rows:
            self.loader.findings.append(
                Finding(
                    "no-such-row",
                    f"`--{flag.name}` sets `{'/'.join(cell)}`, and no row `{key}` is in `{name}`",
                    (_place(flag), replace(flag.position, note="declares the flag")),
                    similar(key, rows, "row") or f"add the row to `{name}`",
                )
            )
            return
        made = self._cell(flag, table.readers[column], text)
        if made is None:
            return
        row = rows[key][0]
        sort = table.readers[column].column.sort
        old = row.cells.get(column)
        before = None if old is None else shown(old.value, sort)
        self.loader.put(row, column, made)
        self.assumptions.append(
            Assumption(flag.name, name, key, column, before, shown(made.value, sort))
        )

    def _add(self, flag: Flag, text: str) -> str:
        """Add a row where its key has none; the key's text."""
        table = self.loader.tables[flag.adds]
        rows = rows_by_text(table.table, table.rows.values())
        if text in rows:
            return text
        cells: dict[str, Cell] = {}
        for name in flag.fills:
            cell = self._cell(flag, table.readers[name], text, list(rows))
            if cell is None:
                return text
            cells[name] = cell
        (named,) = table.key_names
        key: tuple[Any, ...] = (cells[named].value,)
        if key not in table.rows:
            source = f"supposed by --{flag.name}"
            self.loader.enter(table, dict(cells), set(), source, SUPPOSED, 1, 1)
            told = [name for name in cells if name != named] or [named]
            for name in told:
                value = shown(cells[name].value, table.readers[name].column.sort)
                row = key_text(table.table, table.rows[key])
                self.assumptions.append(Assumption(flag.name, flag.adds, row, name, None, value))
        return key_text(table.table, table.rows[key])

    def _cell(
        self, flag: Flag, reader: ColumnReader, text: str, known: Sequence[str] = ()
    ) -> Cell | None:
        """The cell of a flag's text for a column, or None with a finding."""
        try:
            value = reader.text(text)
        except ScalarError as error:
            if known:
                help = f"{error.help}; rows are {listed(known)}"
                error = ScalarError(error.code, error.message, help)
            self.loader.faulty(reader, error, _place(flag))
            return None
        self.loader.supposed.append(_place(flag))
        return Cell(value, -len(self.loader.supposed), 1)


def _place(flag: Flag) -> Position:
    return Position(f"<--{flag.name}>", 1, 1)


class Changer:
    """Changes rows, change by change; ``loader`` has them, and what is amiss with the changes."""

    def __init__(self, base: FactBase, derived: Mapping[str, Position]) -> None:
        self.loader = Loader.over(base, derived)
        self.changes: list[SupposedCell | SupposedRow] = []
        self._done: set[tuple[object, ...]] = set()

    def add(self, change: Add) -> None:
        """Take in the rows of a file. Raises UsageError where it is not there."""
        file = Path(change.file)
        if not file.exists():
            raise UsageError(f"no file `{shown_path(file)}`", "name a file of facts with `--add`")
        before = {name: dict(t.rows) for name, t in self.loader.tables.items()}
        for row in self.loader.read_file(file, change.override):
            table = self.loader.tables[row.table]
            old = before[row.table].get(row.key)
            key = key_text(table.table, row)
            place = self._position(row)
            replaces = self._position(old) if old is not None else None
            self.changes.append(SupposedRow(row.table, key, place, replaces))
            if old is not None:
                for column in table.table.columns.values():
                    cell = self._cell("--add", table, column, old, row)
                    if not cell.same:
                        self.changes.append(cell)

    def change(self, option: str, number: int, change: Set | Unset) -> None:
        """Set or unset a cell. Raises UsageError where it is named twice, or not alone."""
        at = Position(f"<{option}>", number, 1)
        before = len(self.loader.findings)
        table = self.loader.table(change.table, at)
        if table is None or len(self.loader.findings) > before:
            return
        named = change.key if isinstance(change.key, str) else "/".join(map(str, change.key))
        of_key = replace(at, column=len(change.table) + 2)
        of_column = replace(at, column=of_key.column + len(named) + 1)
        row = self._row(option, table, change, named, of_key)
        reader = self._reader(table, change.column, of_column)
        if row is None or reader is None:
            return
        cell = (change.table, row.key, change.column)
        if cell in self._done:
            raise UsageError(
                f"`{change.table}/{named}/{change.column}` is supposed twice", "suppose it once"
            )
        self._done.add(cell)
        value = change.value if isinstance(change, Set) else None
        place = replace(of_column, column=of_column.column + len(change.column) + 1)
        self._put(
            option, table, reader, row, value, place if isinstance(change, Set) else of_column
        )

    def _put(
        self,
        option: str,
        table: TableReader,
        reader: ColumnReader,
        row: Row,
        value: object,
        place: Position,
    ) -> None:
        column = reader.column
        before = len(self.loader.findings)
        made = self.read(reader, value, place)
        if len(self.loader.findings) > before:
            return
        if made is None and column.required and column.name not in table.defaults:
            self.loader.missing(
                "missing-column", table.table, column, place.file, place.line, place.column
            )
            return
        if made is not None:
            self.loader.supposed.append(place)
            made = _moved_to(made, -len(self.loader.supposed))
        new = self.loader.put(row, column.name, made)
        self.changes.append(self._cell(option, table, column, row, new))

    def read(self, reader: ColumnReader, value: object, place: Position) -> Cell | None:
        """The cell of a value; None where it is absent, or faulty and so told."""
        if value is None:
            return None
        try:
            if not isinstance(value, str):
                return _moved_to(given_cell(reader, value, 1), 1, place.column)
            text = value.strip()
            if text in ABSENT:
                return None
            if not (reader.many or text.startswith(_STRUCTURED)):
                return Cell(reader.text(text), 1, place.column)
            # Written where it stands on the command line, so that all places are right.
            data = "\n" * (place.line - 1) + " " * (place.column - 1) + value
            document = compose_document(data.encode(errors="surrogateescape"), place.file)
            self.loader.findings += (_within(f, place, len(value)) for f in document.findings)
            if document.root is None or is_absent(document.root):
                return None
            if isinstance(document.root, ScalarNode) and not reader.many:
                return Cell(reader.text(document.root.value), 1, place.column)
        except ScalarError as error:
            self.loader.faulty(reader, error, place)
            return None
        return self.loader.read_cells(
            reader, document.root, Nodes(place.file, self.loader.findings)
        )

    def _row(
        self, option: str, table: TableReader, change: Set | Unset, named: str, place: Position
    ) -> Row | None:
        """The row that a change names, or None with a finding."""
        if isinstance(change.key, str):
            rows = rows_by_text(table.table, table.rows.values())
            found = rows.get(named, [])
            if len(found) > 1:
                raise UsageError(
                    f"`{named}` names {len(found)} rows of `{change.table}`, whose keys hold `/`",
                    BY_FILE,
                )
            row = found[0] if found else None
        else:
            try:
                parts = zip(table.key_names, change.key, strict=False)
                key = tuple(table.readers[name].given(part) for name, part in parts)
            except ScalarError:
                key = ()
            row = table.rows.get(key) if len(key) == len(change.key) else None
        if row is not None:
            return row
        texts: set[Scalar] = {key_text(table.table, row) for row in table.rows.values()}
        known = sorted(map(str, texts))
        few = f"rows are {listed(known)}" if 0 < len(texts) <= _MOST_NAMED else ""
        self.loader.findings.append(
            Finding(
                "no-such-row",
                f"`{option}` names a cell of `{named}`, and no such row is in `{change.table}`",
                (place, replace(table.table.position, note="declares the table")),
                Hints().near(named, texts) or few or "suppose the row with `--add FILE`",
            )
        )
        return None

    def _reader(self, table: TableReader, name: str, place: Position) -> ColumnReader | None:
        """The reader of a column that may be supposed otherwise, or None with a finding."""
        if name == "source":
            why = "no rule reads where a row is from"
        elif name in table.key_names:
            why = f"it is in the key of `{table.table.name}`, which names the row"
        elif name in table.readers:
            return table.readers[name]
        else:
            self.loader.unknown_column(table, name, place)
            return None
        self.loader.findings.append(
            Finding(
                "fixed-column",
                f"`{name}` cannot be supposed otherwise: {why}",
                (place, replace(table.table.position, note="declares the table")),
                "suppose another row with `--add FILE`",
            )
        )
        return None

    def _cell(
        self, option: str, table: TableReader, column: Column, old: Row, new: Row
    ) -> SupposedCell:
        """A cell of two rows of one key."""
        before, after = old.cells.get(column.name), new.cells.get(column.name)
        return SupposedCell(
            option,
            table.table.name,
            key_text(table.table, old),
            column.name,
            _value(before, column),
            _value(after, column),
            self._position(old, column.name),
        )

    def _position(self, row: Row, column: str | None = None) -> Position:
        declarations = self.loader.declarations
        return FactBase({}, declarations, self.loader.supposed).position(row, column)


def _within(finding: Finding, place: Position, length: int) -> Finding:
    """A finding about a value's text; one behind its end is at its end."""
    end = replace(place, column=place.column + length)
    positions = (
        p if p.line == place.line else replace(end, note=p.note) for p in finding.positions
    )
    return replace(finding, positions=tuple(positions))


def _value(cell: Cell | None, column: Column) -> Value | None:
    if cell is None:
        return None
    if isinstance(cell.value, tuple):
        return tuple(shown(part.value, column.sort) for part in cell.value)
    return shown(cell.value, column.sort)


def _moved_to(cell: Cell, line: int, column: int | None = None) -> Cell:
    """A cell, and all in it, on another line, and at one column where that is given."""
    value = cell.value
    if isinstance(value, tuple):
        value = tuple(_moved_to(part, line, column) for part in value)
    return Cell(value, line, cell.column if column is None else column)
