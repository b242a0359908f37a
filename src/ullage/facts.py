"""Facts, from YAML folders and from rows given in Python, as one base of rows with places.

Loading is the part of a run that grows with the catalog, so places are plain numbers in the cells
until somebody asks for a ``Position``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ullage.columns import MOST_REMEMBERED, Cell, ColumnReader, Row, TableReader, near, plain, shown
from ullage.declarations import Column, Computed, Declarations, Table
from ullage.findings import Finding, Position, UsageError, listed
from ullage.sorts import TEXT, Scalar, ScalarError, parse_scalar, shorten
from ullage.stored import AnyPath
from ullage.textfiles import files_below, passed_over, shown_path
from ullage.waivertable import WAIVER
from ullage.yamlnodes import (
    ABSENT,
    YAML_ENDINGS,
    Document,
    Nodes,
    children_of,
    collector_paused,
    is_absent,
    kind_of,
    read_document,
)

ROWS_FILE = "<rows>"
"""The file of rows given in Python; their line is the row's number in its table."""

SUPPOSED = "<what-if>"
"""The file of rows that a what-if supposes."""

_HINTS = 50
_MOST_NAMED = 12
_WORD = re.compile(r"[^\s,:'\"\[\]{}]+")
_CANDIDATES = 1000


@dataclass(frozen=True, slots=True)
class FactBase:
    """All rows of every declared table, in order of appearance.

    ``supposed`` has the places of what a what-if supposes; a cell of line -1 stands at the first.
    ``waiver_keys`` are the cells of the keys of waivers, by those keys.
    """

    rows: Mapping[str, Sequence[Row]]
    declarations: Declarations
    supposed: Sequence[Position] = ()
    waiver_keys: Mapping[tuple[Scalar, ...], Sequence[Cell]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def position(self, row: Row, column: str | None = None) -> Position:
        """Where a row, or a column of it, stands: a default at its declaration.

        A column of the key stands where its row does, unless the row is a waiver.
        """
        cell = None if column is None else row.cells.get(column)
        if cell is None and row.table == WAIVER and row.key in self.waiver_keys:
            names = [c.name for c in self.declarations.tables[WAIVER].key]
            cells = dict(zip(names, self.waiver_keys[row.key], strict=True))
            cell = cells.get(column or "")
        if column is None or cell is None:
            return Position(row.file, row.line, row.column)
        if cell.line == 0:
            declared = self.declarations.tables[row.table].columns[column]
            return replace(declared.position, note="declares the default")
        return _place(row, cell, self.supposed)


def load_facts(
    declarations: Declarations,
    folders: Sequence[AnyPath],
    *,
    rows: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
    override: bool = False,
    derived: Mapping[str, Position] | None = None,
    readers: Mapping[str, TableReader] | None = None,
) -> tuple[FactBase, list[Finding]]:
    """The rows of the folders, then those given, and what is amiss in them, in order of place.

    Rows of equal key are duplicates; with ``override`` a row of a later folder (the given rows
    count as the last) replaces an earlier folder's. ``derived`` maps predicates that rules derive
    to their declarations: no fact may assert them. Given values may be str, bool, int, Fraction,
    Decimal (in base units), lists of these, or None for absent.

    A row with a faulty value is kept without it, for the checks that follow. ``readers``, those of
    ``table_readers``, serve many loads. Raises UsageError where a folder is missing.
    """
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(
                f"no folder `{shown_path(folder)}`", "name a facts folder with `--facts`"
            )
    with collector_paused():
        loader = Loader(declarations, override, derived or {}, rows is not None, readers)
        for folder in folders:
            loader.read_folder(folder)
        if rows is not None:
            loader.read_rows(rows)
        return loader.base(), loader.sorted_findings()


def table_readers(declarations: Declarations) -> dict[str, TableReader]:
    """What reads the rows of each declared table."""
    return {name: TableReader(t, declarations) for name, t in declarations.tables.items()}


class Loader:
    """Gathers rows and findings over all folders; or over a base, and what is supposed of it."""

    def __init__(
        self,
        declarations: Declarations,
        override: bool,
        derived: Mapping[str, Position],
        may_be_empty: bool,
        readers: Mapping[str, TableReader] | None = None,
    ) -> None:
        self.declarations = declarations
        known = table_readers(declarations) if readers is None else readers
        self.tables = {name: reader.emptied() for name, reader in known.items()}
        self.override = override
        self.derived = derived
        self.may_be_empty = may_be_empty
        self.findings: list[Finding] = []
        # Words of rows that could not be understood, and whether a file could not be read at all.
        self.lost: set[str] = set()
        self.unseen = False
        self.sources: dict[str, str] = {}
        self.rows_seen = 0
        self.supposed: list[Position] = []
        self._under: FactBase | None = None
        # Of a loader over a base: the keys of the rows that it took itself, by table.
        self._taken: dict[str, set[tuple[Scalar, ...]]] = {}
        # The tables of which it took rows away.
        self._gone: set[str] = set()

    @classmethod
    def over(cls, base: FactBase, derived: Mapping[str, Position]) -> Loader:
        """A loader that has the rows of a sound base, and takes others beside and for them."""
        loader = cls(base.declarations, False, derived, True)
        loader._under = base
        for name, rows in base.rows.items():
            loader.tables[name].rows = {row.key: row for row in rows}
        return loader

    def base(self) -> FactBase:
        """All rows, held against each other, with those that are computed from them."""
        self._check_references()
        self._compute()
        rows = {
            name: self._under.rows[name]
            if self._under is not None and name not in self._taken
            else tuple(table.rows.values())
            for name, table in self.tables.items()
        }
        keys = dict(self._under.waiver_keys) if self._under is not None else {}
        if WAIVER in self.tables:
            keys |= self.tables[WAIVER].key_cells
        return FactBase(
            MappingProxyType(rows),
            self.declarations,
            tuple(self.supposed),
            MappingProxyType(keys),
        )

    def sorted_findings(self) -> list[Finding]:
        """What is amiss so far, in order of place."""
        return sorted(set(self.findings), key=lambda f: f.sort_key)

    def read_file(self, path: AnyPath, override: bool) -> list[Row]:
        """Take in one file, as that of a folder of its own; the rows that it gives."""
        self._begin()
        self.override = override
        self.read_document(read_document(path))
        rows = [t.rows[key] for t in self.tables.values() for key in t.fresh]
        return sorted(rows, key=lambda r: (r.line, r.column, r.table, r.key))

    def put(self, row: Row, column: str, cell: Cell | None) -> Row:
        """A row with one cell otherwise, in the row's place.

        Without a cell it has the column's default, or nothing. The row now in force.
        """
        table = self.tables[row.table]
        cells = dict(row.cells)
        cell = cell or table.defaults.get(column)
        if cell is None:
            cells.pop(column, None)
        else:
            cells[column] = cell
        table.rows[row.key] = row._replace(cells=cells)
        self._taken.setdefault(row.table, set()).add(row.key)
        return table.rows[row.key]

    def take(self, name: str, key: tuple[Scalar, ...], row: Row | None) -> None:
        """A row as another base has it, or none, in the place of the one of that key."""
        table = self.tables[name]
        taken = self._taken.setdefault(name, set())
        if row is None:
            if table.rows.pop(key, None) is not None:
                self._gone.add(name)
            taken.discard(key)
        else:
            table.rows[key] = row
            taken.add(key)

    def read_folder(self, folder: AnyPath) -> None:
        """Take in every file below a folder."""
        self._begin()
        findings_before = len(self.findings)
        self.rows_seen = 0
        files, findings = files_below(folder, YAML_ENDINGS)
        self.findings += findings
        self.findings += passed_over(
            folder,
            files,
            (*YAML_ENDINGS, ".json"),
            "facts are read from `.yaml` and `.yml` files; move what is none elsewhere",
        )
        for file in files:
            self.read_document(read_document(file))
        if not self.rows_seen and not self.may_be_empty and len(self.findings) == findings_before:
            shown = shown_path(folder)
            self.findings.append(
                Finding(
                    "no-facts",
                    f"folder `{shown}` holds no row",
                    (Position(shown, 1, 1),),
                    "write facts in `*.yaml` files: a table's name, and under it a list of rows",
                )
            )

    def _begin(self) -> None:
        for table in self.tables.values():
            table.fresh.clear()

    def read_document(self, document: Document) -> None:
        """Take in one file."""
        self.findings += document.findings
        if not document.complete:
            self.lost.update(_WORD.findall(document.text))
            self.unseen = self.unseen or not document.text
        if document.root is None:
            return
        nodes = Nodes(document.file, self.findings)
        if not isinstance(document.root, MappingNode):
            self._lose(document.root)
        for name, (key, node) in nodes.entries(document.root, "the file").items():
            table = self.table(name, nodes.position(key))
            if table is None or not isinstance(node, SequenceNode):
                self._lose(node)
            if table is None:
                continue
            rows = nodes.elements(node, f"table `{name}`")
            for row in rows if document.shared else _drained(rows):
                self.rows_seen += 1
                if isinstance(row, MappingNode):
                    if not self._read_row(table, row, nodes):
                        self._lose(row)
                else:
                    self._lose(row)
                    nodes.report(
                        "not-a-mapping", f"a row of `{name}` is {kind_of(row)}, not a mapping",
                        row, help="write a row as `- {column: value}`",
                    )  # fmt: skip

    def _lose(self, node: Node) -> None:
        """Remember every word below a node whose rows are not understood."""
        seen: set[int] = set()
        stack = [node]
        while stack:
            node = stack.pop()
            if isinstance(node, ScalarNode):
                self.lost.update(_WORD.findall(node.value))
            elif id(node) not in seen:
                seen.add(id(node))
                stack += children_of(node)

    def read_rows(self, rows: Mapping[str, Sequence[Mapping[str, object]]]) -> None:
        """Take in rows given in Python."""
        self._begin()
        for name, given in rows.items():
            first = Position(ROWS_FILE, 1, 1)
            table = self.table(name, first)
            if table is None:
                continue
            if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
                self._report(
                    "not-a-list",
                    f"the rows of `{name}` are no list",
                    first,
                    (),
                    "give a list of dicts",
                )
                continue
            for number, row in enumerate(given, start=1):
                if isinstance(row, Mapping):
                    if not self._take_row(table, row, number):
                        self.lost.update(
                            word
                            for value in row.values()
                            if isinstance(value, str)
                            for word in _WORD.findall(value)
                        )
                else:
                    self._report(
                        "not-a-mapping",
                        f"a row of `{name}` is no mapping",
                        Position(ROWS_FILE, number, 1),
                        (),
                        "give a dict of column and value",
                    )

    def table(self, name: object, position: Position) -> TableReader | None:
        """The reader of a table; None, with a finding, where facts may not fill it."""
        if isinstance(name, str) and name in self.derived:
            place = self.derived[name]
            declared = replace(place, note=place.note or "declares it")
            self._report(
                "derived-predicate",
                f"`{name}` is derived by rules, not given by facts",
                position,
                (declared,),
                "change the facts that the rules read",
            )
            return self.tables.get(name)
        table = self.tables.get(name) if isinstance(name, str) else None
        if table is not None and table.table.computed is not None:
            self._report(
                "derived-predicate",
                f"`{name}` is computed from other rows, not given by facts",
                position,
                (replace(table.table.position, note="declares what it is computed from"),),
                "change the rows that it is computed from",
            )
            return None
        if table is None:
            shown = shorten(str(name))
            self._report(
                "unknown-table",
                f"no table `{shown}` is declared",
                position,
                (),
                near(str(name), self.tables, "table")
                or "declare it in `tables/*.yaml` of the rules folder",
            )
        return table

    def _read_row(self, table: TableReader, row: MappingNode, nodes: Nodes) -> bool:
        """Whether the row has a key, so that it can be referenced."""
        readers = table.readers
        cells: dict[str, Cell] = {}
        # Names of this row that have no cell for a reason already known.
        without: set[str] = set()
        source = ""
        for key, node in row.value:
            name = key.value
            if key.__class__ is not ScalarNode:
                nodes.report(
                    "not-a-scalar",
                    f"a column name is {kind_of(key)}",
                    key,
                    help="write a plain name before the colon",
                )
                continue
            reader = readers.get(name)
            if reader is None:
                without.add(name)
                if name == "source":
                    known = self.sources.get(node.value) if node.__class__ is ScalarNode else None
                    source = self._source(node, nodes) if known is None else known
                else:
                    self.unknown_column(table, name, nodes.position(key))
                continue
            if node.__class__ is ScalarNode and not reader.many:
                text = node.value
                value = reader.known.get(text)
                if value is None:
                    if text in ABSENT and is_absent(node):
                        continue
                    try:
                        value = reader.text(text)
                    except ScalarError as error:
                        without.add(name)
                        self.faulty(reader, error, nodes.position(node))
                        continue
                mark = node.start_mark
                cells[name] = Cell(value, mark.line + 1, mark.column + 1)
            elif not is_absent(node):
                cell = self.read_cells(reader, node, nodes)
                if cell is None:
                    without.add(name)
                else:
                    cells[name] = cell
        if len(cells) + len(without.difference(cells)) != len(row.value):
            self._duplicate_columns(row, nodes)
        mark = row.start_mark
        return self.enter(table, cells, without, source, nodes.file, mark.line + 1, mark.column + 1)

    def _duplicate_columns(self, row: MappingNode, nodes: Nodes) -> None:
        first: dict[str, ScalarNode] = {}
        for key, _ in row.value:
            if isinstance(key, ScalarNode) and first.setdefault(key.value, key) is not key:
                nodes.report(
                    "duplicate-mapping-key",
                    f"the row has the column `{shorten(key.value)}` twice",
                    key,
                    nodes.position(first[key.value], "has it first"),
                    help="keep one of the two",
                )

    def read_cells(self, reader: ColumnReader, node: Node, nodes: Nodes) -> Cell | None:
        """The cell of a list column, or of one that has ranges, or None with findings."""
        name = reader.column.name
        declared = _declares(reader.column)
        if reader.column.ranges and isinstance(node, ScalarNode):
            return self._read_range(reader, [node], nodes)
        if not reader.many:
            nodes.report(
                "not-a-scalar",
                f"column `{name}` is {kind_of(node)}, not one value",
                node,
                declared,
                help="write one value",
            )
            return None
        if not isinstance(node, SequenceNode):
            nodes.report(
                "not-a-list",
                f"column `{name}` is {kind_of(node)}, not a list",
                node,
                declared,
                help=f"write `{name}: [a, b]`",
            )
            return None
        if reader.column.ranges and node.value:
            return self._read_range(reader, node.value, nodes)
        elements: list[Cell] = []
        for element in node.value:
            if not isinstance(element, ScalarNode) or is_absent(element):
                kind = "absent" if isinstance(element, ScalarNode) else kind_of(element)
                nodes.report(
                    "not-a-scalar",
                    f"an element of `{name}` is {kind}, not one value",
                    element,
                    declared,
                    help="write a value, or drop the element",
                )
                continue
            try:
                value = reader.text(element.value)
            except ScalarError as error:
                self.faulty(reader, error, nodes.position(element))
                continue
            mark = element.start_mark
            elements.append(Cell(value, mark.line + 1, mark.column + 1))
        if len(elements) != len(node.value):
            return None
        if reader.column.ranges:
            nodes.report(
                "not-a-range",
                f"column `{name}` names nothing",
                node,
                declared,
                help="name a number or a range",
            )
            return None
        return Cell(tuple(elements), node.start_mark.line + 1, node.start_mark.column + 1)

    def _read_range(
        self, reader: ColumnReader, elements: Sequence[Node], nodes: Nodes
    ) -> Cell | None:
        """The cell of all numbers that a column with ranges names, or None with findings."""
        found: list[Cell] = []
        for element in elements:
            text = nodes.text(element, f"an element of `{reader.column.name}`")
            if text is None:
                return None
            mark = element.start_mark
            try:
                numbers = reader.numbers(text, len(found))
            except ScalarError as error:
                self.faulty(reader, error, nodes.position(element))
                return None
            found += [Cell(n, mark.line + 1, mark.column + 1) for n in numbers]
        return Cell(tuple(found), found[0].line, found[0].column)

    def _source(self, node: Node, nodes: Nodes) -> str:
        if isinstance(node, SequenceNode):
            parts = [nodes.text(e, "an element of `source`") for e in node.value]
            text = "; ".join(p.strip() for p in parts if p)
        else:
            text = (nodes.text(node, "`source`") or "").strip()
        return self._sound_source(text, nodes, node)

    def _sound_source(self, text: str, nodes: Nodes, node: Node) -> str:
        try:
            parse_scalar(text, TEXT)
        except ScalarError as error:
            nodes.report(error.code, error.message, node, help=error.help)
            return text
        if len(self.sources) < MOST_REMEMBERED and text not in ABSENT:
            return self.sources.setdefault(text, text)
        return text

    def _take_row(self, table: TableReader, row: Mapping[str, object], number: int) -> bool:
        """Whether the row has a key, so that it can be referenced."""
        readers = table.readers
        cells: dict[str, Cell] = {}
        without: set[str] = set()
        source = ""
        for name, value in row.items():
            reader = readers.get(name)
            if reader is None:
                if name == "source":
                    source = self._given_source(value, number)
                else:
                    self.unknown_column(table, str(name), Position(ROWS_FILE, number, 1))
                continue
            if value is None:
                continue
            try:
                if not reader.many:
                    # Text that needs no reading is common, and a call costs as much again.
                    if type(value) is str and reader.free and value.isprintable():
                        cells[name] = Cell(value, number, 1)
                    else:
                        cells[name] = Cell(reader.given(value), number, 1)
                    continue
                cells[name] = given_cell(reader, value, number)
            except ScalarError as error:
                without.add(name)
                self.faulty(reader, error, Position(ROWS_FILE, number, 1))
        return self.enter(table, cells, without, source, ROWS_FILE, number, 1)

    def _given_source(self, value: object, number: int) -> str:
        if value is None:
            return ""
        if isinstance(value, str) and value in self.sources:
            return self.sources[value]
        texts: list[str] = []
        for part in value if isinstance(value, list | tuple) else [value]:
            try:
                if not isinstance(part, str):
                    raise ScalarError(
                        "not-text",
                        f"a source is {shown(part)}, not text",
                        "give text, or a list of texts",
                    )
                parse_scalar(part, TEXT)
            except ScalarError as error:
                place = Position(ROWS_FILE, number, 1)
                self._report(error.code, error.message, place, (), error.help)
            else:
                texts.append(part.strip())
        text = "; ".join(t for t in texts if t)
        if isinstance(value, str) and text and len(self.sources) < MOST_REMEMBERED:
            self.sources[value] = text
        return text

    def enter(
        self,
        table: TableReader,
        cells: dict[str, Cell],
        without: set[str],
        source: str,
        file: str,
        line: int,
        column: int,
    ) -> bool:
        """Complete a row and keep it under its key; false where the key is not whole."""
        declared = table.table
        for name in table.required:
            if name not in cells and name not in without:
                self.missing("missing-column", declared, declared.columns[name], file, line, column)
        if table.source_required and not source:
            self._report(
                "missing-source",
                f"a row of `{declared.name}` cites no source",
                Position(file, line, column),
                (replace(declared.position, note="requires a source"),),
                "add `source: …`, where the row's figures are from",
            )
        for name, cell in table.defaults.items():
            if name not in cells and name not in without:
                cells[name] = cell
        try:
            key_cells = [cells[name] for name in table.key_names]
        except KeyError:
            for part in declared.key:
                if part.name not in cells and part.name not in without:
                    self.missing("missing-key", declared, part, file, line, column)
            return False
        for name in table.key_names:
            del cells[name]
        if table.ranged < 0:
            self._keep(table, key_cells, cells, source, file, line, column)
            return True
        numbers = key_cells[table.ranged].value
        assert isinstance(numbers, tuple)
        for number in numbers:
            one = [*key_cells]
            one[table.ranged] = number
            if not self._keep(table, one, cells, source, file, line, column):
                break
        return True

    def _keep(
        self,
        table: TableReader,
        key_cells: list[Cell],
        cells: dict[str, Cell],
        source: str,
        file: str,
        line: int,
        column: int,
    ) -> bool:
        """Keep a row under its key; false where another row has it."""
        declared = table.table
        key: tuple[Any, ...] = tuple([c.value for c in key_cells])
        earlier = table.rows.get(key)
        if earlier is not None and (not self.override or key in table.fresh):
            name = ", ".join(shorten(_key_text(k)) for k in key)
            self._report(
                "duplicate-row",
                f"`{name}` is already a row of `{declared.name}`",
                Position(file, line, column),
                (Position(earlier.file, earlier.line, earlier.column, "is the first row"),),
                "keep one of the two, or name the row otherwise",
            )
            return False
        if self.override or self._under is not None:
            table.fresh.add(key)
        if self._under is not None:
            self._taken.setdefault(declared.name, set()).add(key)
        if table.keep_key_cells:
            table.key_cells[key] = key_cells
        table.rows[key] = Row(declared.name, key, cells, file, line, column, source)
        return True

    def _check_references(self) -> None:
        """Report every value that names no row of the tables that its column references.

        Over a base the rows taken since are looked at alone, unless a row that others may name is
        gone.
        """
        hints = Hints()
        for name, table in self.tables.items():
            for column in (*table.table.key, *table.table.columns.values()):
                every = self._under is None or not self._gone.isdisjoint(column.references)
                taken = None if every else self._taken.get(name, ())
                targets = [self.tables[r] for r in column.references if r in self.tables]
                if not targets or len(targets) != len(column.references):
                    continue
                if any(len(t.key_names) != 1 for t in targets):
                    continue
                if taken is not None and not taken:
                    continue
                known = {key[0] for target in targets for key in target.rows}
                for row, cell in _column_cells(table, column, taken):
                    if cell.value not in known and not self._may_be_unread(cell.value):
                        self._dangling(row, cell, column, known, hints.near(str(cell.value), known))

    def _compute(self) -> None:
        """Fill each table whose rows are computed from others'; over a base, where those moved."""
        for table in self.tables.values():
            computed = table.table.computed
            if computed is None or computed.how == "first":
                # The rows of the first of each kind are found with the kinds.
                continue
            filled = [table]
            if computed.how == "alike":
                filled.append(self.tables[f"{computed.table}_first"])
            sources = [t for t in self.tables.values() if _feeds(t.table, computed)]
            if self._under is not None:
                if not any(t.table.name in self._taken for t in sources):
                    continue
                for each in filled:
                    each.rows = {}
                    self._taken[each.table.name] = set()
            if computed.how == "alike":
                _add_alikes(*sources, *filled)
                continue
            for other in sources:
                for column in (*other.table.key, *other.table.columns.values()):
                    if column.sort == computed.sort:
                        for row, value in _column_values(other, column):
                            _add_parts(table, row, str(value))

    def _may_be_unread(self, value: object) -> bool:
        """Whether the row may be among those not understood: one mistake is one finding."""
        return self.unseen or self.lost.issuperset(_WORD.findall(str(value)))

    def _dangling(
        self, row: Row, cell: Cell, column: Column, known: set[Scalar], hint: str
    ) -> None:
        place = _place(row, cell, self.supposed)
        if cell.line == 0:
            place = replace(column.position, note="declares the default")
        code, message, help = dangling(cell.value, column.references, known, hint)
        self._report(code, message, place, (_declares(column),) if cell.line else (), help)

    def missing(
        self, code: str, table: Table, missing: Column, file: str, line: int, column: int
    ) -> None:
        """Report a row without a column that it must have, at the place where the row stands."""
        part = "key column" if code == "missing-key" else "column"
        self._report(
            code,
            f"a row of `{table.name}` has no {part} `{missing.name}`",
            Position(file, line, column),
            (_declares(missing),),
            f"add `{missing.name}: …`",
        )

    def unknown_column(self, table: TableReader, name: str, position: Position) -> None:
        """Report a column that the table does not have."""
        declared = replace(table.table.position, note="declares its columns")
        self._report(
            "unknown-column",
            f"table `{table.table.name}` has no column `{shorten(name)}`",
            position,
            (declared,),
            table.column_hint(name),
        )

    def faulty(self, reader: ColumnReader, error: ScalarError, position: Position) -> None:
        """Report a value that its column does not take."""
        self._report(error.code, error.message, position, (_declares(reader.column),), error.help)

    def _report(
        self, code: str, message: str, position: Position, more: tuple[Position, ...], help: str
    ) -> None:
        self.findings.append(Finding(code, message, (position, *more), help))


def given_cell(reader: ColumnReader, value: object, line: int) -> Cell:
    """The cell of an object given in Python. Raises ScalarError."""
    if not reader.many:
        return Cell(reader.given(value), line, 1)
    if reader.column.ranges:
        return _given_range(reader, value, line)
    if not isinstance(value, list | tuple):
        raise ScalarError(
            "not-a-list",
            f"column `{reader.column.name}` is {shown(value)}, not a list",
            "give a list",
        )
    return Cell(tuple(Cell(reader.given(v), line, 1) for v in value), line, 1)


def _given_range(reader: ColumnReader, value: object, line: int) -> Cell:
    """The cell of a range given in Python: a number, its text, or a list of these."""
    found: list[Cell] = []
    for part in value if isinstance(value, list | tuple) else [value]:
        if isinstance(part, str):
            found += [Cell(n, line, 1) for n in reader.numbers(part, len(found))]
        else:
            found.append(Cell(reader.given(part), line, 1))
    if not found:
        raise ScalarError("not-a-range", "the list names nothing", "name a number or a range")
    return Cell(tuple(found), line, 1)


def _drained(rows: Sequence[Node]) -> Iterator[Node]:
    """The nodes of a list, each let go once it is read: a tree is larger than its rows."""
    if isinstance(rows, list):
        rows.reverse()
        while rows:
            yield rows.pop()


class Hints:
    """Near names among many keys: a few searches a run, each among few, so that time is bounded."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def near(self, name: str, keys: set[Scalar]) -> str:
        """The hint for a name that is no key."""
        if name not in self.found:
            if len(self.found) >= _HINTS:
                return ""
            texts: Iterable[str] = (str(k) for k in keys)
            if len(keys) > _CANDIDATES:
                texts = sorted(t for t in texts if t[:3] == name[:3] or t[-3:] == name[-3:])
                texts = texts[:_CANDIDATES]
            self.found[name] = near(name, texts, "row")
        return self.found[name]


def dangling(
    value: object, references: Sequence[str], known: Collection[Scalar], hint: str = ""
) -> tuple[str, str, str]:
    """Code, message and help of a value that names no row; few rows are all named."""
    if not hint:
        hint = near(str(value), [str(k) for k in known], "row") if len(known) < _CANDIDATES else ""
    if 0 < len(known) <= _MOST_NAMED:
        rows = f"rows are {listed(sorted(str(k) for k in known))}"
        hint = f"{hint}; {rows}" if hint else rows
    message = f"no row `{shorten(str(value))}` in {listed(references)}"
    return "dangling-reference", message, hint or "add the row, or name one that is there"


def _declares(column: Column) -> Position:
    return replace(column.position, note=f"declares column `{column.name}`")


def _place(row: Row, cell: Cell, supposed: Sequence[Position]) -> Position:
    """Where a cell stands that is no default."""
    if cell.line < 0:
        return replace(supposed[-1 - cell.line], column=cell.column)
    return Position(row.file, cell.line, cell.column)


def _feeds(table: Table, computed: Computed) -> bool:
    """Whether the rows of one table are computed from those of another."""
    if computed.how == "parts":
        columns = (*table.key, *table.columns.values())
        return table.computed is None and any(c.sort == computed.sort for c in columns)
    return table.name == computed.table


def _column_cells(
    table: TableReader, column: Column, keys: Iterable[tuple[Scalar, ...]] | None = None
) -> Iterator[tuple[Row, Cell]]:
    """The cells of a column, each with its row; those of a list one by one.

    ``keys`` are those of the rows to look at; all, where none are given. Of a key column only those
    rows have cells that this run has read.
    """
    if column.name in table.key_names:
        place = table.key_names.index(column.name)
        for key, cells in table.key_cells.items():
            yield table.rows[key], cells[place]
        return
    for row in table.rows.values() if keys is None else map(table.rows.__getitem__, keys):
        cell = row.cells.get(column.name)
        if cell is None:
            continue
        if isinstance(cell.value, tuple):
            for element in cell.value:
                yield row, element
        else:
            yield row, cell


def _column_values(table: TableReader, column: Column) -> Iterator[tuple[Row, object]]:
    """The values of a column, each with its row; key columns need not have kept their cells."""
    if column.name in table.key_names:
        place = table.key_names.index(column.name)
        for key, row in table.rows.items():
            yield row, key[place]
        return
    for row, cell in _column_cells(table, column):
        yield row, cell.value


def _add_parts(parts: TableReader, row: Row, name: str) -> None:
    """A row for each run of a name's dotted segments, at the first row that holds the name."""
    if (name, name) in parts.rows:
        return
    segments = name.split(".")
    for first in range(len(segments)):
        for last in range(first, len(segments)):
            key = (name, ".".join(segments[first : last + 1]))
            parts.rows[key] = Row(
                parts.table.name, key, {}, row.file, row.line, row.column, row.source
            )


def _add_alikes(table: TableReader, alikes: TableReader, firsts: TableReader) -> None:
    """Which numbers of an ``alike`` column have the same rows, and the rows of the first of each.

    Rows are the same where the rest of their keys and all their values are.
    """
    place = next(i for i, c in enumerate(table.table.key) if c.alike)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for key, row in table.rows.items():
        groups.setdefault(key[: place + 1], []).append(row)
    known: dict[object, Scalar] = {}
    # Rows of one range share their cells, so that their values are read once.
    values: dict[int, object] = {}
    for prefix in sorted(groups):
        rows = groups[prefix]
        for row in rows:
            if id(row.cells) not in values:
                cells = ((n, plain(c)) for n, c in row.cells.items())
                values[id(row.cells)] = frozenset(cells)
        content = frozenset((r.key[place + 1 :], values[id(r.cells)]) for r in rows)
        first = known.setdefault((prefix[:place], content), prefix[place])
        row = rows[0]
        cell = Cell(first, row.line, row.column)
        alikes.rows[prefix] = Row(
            alikes.table.name, prefix, {"first": cell}, row.file, row.line, row.column, row.source
        )
        if first == prefix[place]:
            for r in rows:
                firsts.rows[r.key] = r._replace(table=firsts.table.name)


def _key_text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
