"""Table declarations, ``rules/tables/*.yaml``, as values.

Every mistake is a finding at the place where it is to be mended. What is sound of a faulty
declaration is kept, so that one mistake does not show as many in the facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from yaml.nodes import Node, ScalarNode

from ullage.declarations import Column, Computed, Declarations, Table, read_value
from ullage.declnodes import bad, known_only, value_of
from ullage.findings import Finding, Position, UsageError, listed, similar
from ullage.flags import read_flag
from ullage.sorts import (
    BUILTIN,
    TEXT,
    ClosedSort,
    CountSort,
    EntitySort,
    ExactSort,
    FormsSort,
    ScalarError,
    Sort,
    parse_exact,
    parse_number,
    parse_scalar,
)
from ullage.stored import AnyPath
from ullage.textfiles import files_below, shown_path
from ullage.waivertable import WAIVER, declaration_faults
from ullage.yamlnodes import YAML_ENDINGS, Nodes, is_absent, read_document

BUILTIN_PREDICATES = frozenset({"standing", "reason", "obligation", "value", "plan"})
"""Predicates of the engine itself; no table may take their names."""

RESERVED_COLUMNS = frozenset({"source", "row", "rows"})
"""Column names that mean something for every table."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_CONSTANT = re.compile(r"[a-z][A-Za-z0-9_]*")
_VARIABLE = re.compile(r"[A-Z][A-Za-z0-9_]*")
_KEYWORDS = frozenset({"not"})
_NAMES = "names begin with a lower-case letter and hold lower-case letters, digits and `_`"

_TOP = ("sorts", "tables", "flags")
_SORT_PROPERTIES = ("doc", "values", "units", "forms", "dotted")
_TABLE_PROPERTIES = ("doc", "source", "key", "columns")
_KEY_PROPERTIES = (
    "sort",
    "doc",
    "references",
    "minimum",
    "maximum",
    "ranges",
    "alike",
    "sensitive",
)
_COLUMN_PROPERTIES = (
    "sort",
    "doc",
    "required",
    "list",
    "default",
    "minimum",
    "maximum",
    "references",
    "sensitive",
    "date",
)


def load_declarations(paths: Sequence[AnyPath]) -> tuple[Declarations, list[Finding]]:
    """The declarations below ``tables/`` of each rules folder, merged, and what is amiss in them.

    Codes: those of ``read_document`` and ``Nodes``, ``unknown-sort``, ``bad-declaration``,
    ``duplicate-table``, ``duplicate-sort``, ``no-tables``. Raises UsageError where a folder is
    missing.
    """
    reader = _Reader()
    for path in paths:
        if not path.is_dir():
            raise UsageError(
                f"no folder `{shown_path(path)}`", "name a rules folder with `--rules`"
            )
        if not (path / "tables").is_dir():
            continue
        files, findings = files_below(path / "tables", YAML_ENDINGS)
        reader.findings += findings
        for file in files:
            reader.read(file)
    declarations = reader.declarations()
    if not reader.tables and not reader.findings:
        reader.findings.append(
            Finding(
                "no-tables",
                "no table is declared",
                tuple(Position(shown_path(p / "tables"), 1, 1) for p in paths),
                "declare the tables of your facts in `tables/*.yaml` of the rules folder",
            )
        )
    return declarations, sorted(set(reader.findings), key=lambda f: f.sort_key)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A named declaration as it stands in a file."""

    name: str
    nodes: Nodes
    key: ScalarNode
    node: Node

    @property
    def position(self) -> Position:
        return self.nodes.position(self.key)


class _Reader:
    """Collects the entries of all files first: sorts and references may look ahead."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.sorts: dict[str, _Entry] = {}
        self.tables: dict[str, _Entry] = {}
        self.flags: dict[str, _Entry] = {}
        self.resolved: dict[str, Sort] = dict(BUILTIN)
        self.resolving: set[str] = set()
        self.dotted: dict[str, tuple[_Entry, Sort]] = {}

    def read(self, file: AnyPath) -> None:
        """Take in one file's entries."""
        document = read_document(file)
        self.findings += document.findings
        if document.root is None:
            return
        nodes = Nodes(document.file, self.findings)
        top = nodes.entries(document.root, "the file")
        known_only(nodes, top, _TOP, "the file")
        for name, (key, node) in nodes.entries(value_of(top, "sorts"), "`sorts`").items():
            self._enter(self.sorts, "sort", _Entry(name, nodes, key, node))
        for name, (key, node) in nodes.entries(value_of(top, "tables"), "`tables`").items():
            self._enter(self.tables, "table", _Entry(name, nodes, key, node))
        for name, (key, node) in nodes.entries(value_of(top, "flags"), "`flags`").items():
            self._enter(self.flags, "flag", _Entry(name, nodes, key, node))

    def _enter(self, entries: dict[str, _Entry], kind: str, entry: _Entry) -> None:
        name, nodes = entry.name, entry.nodes
        if kind != "flag" and (not _NAME.fullmatch(name) or name in _KEYWORDS):
            bad(
                nodes,
                entry.key,
                f"`{name}` cannot name a {kind}",
                _NAMES,
            )
        elif kind == "sort" and name in BUILTIN:
            bad(nodes, entry.key, f"`{name}` is a built-in sort", "give the sort another name")
        elif kind == "table" and name in BUILTIN_PREDICATES:
            bad(
                nodes,
                entry.key,
                f"`{name}` is a predicate of the engine",
                "give the table another name",
            )
        elif name in entries:
            nodes.report(
                f"duplicate-{kind}",
                f"{kind} `{name}` is declared twice",
                entry.key,
                replace(entries[name].position, note="declares it first"),
                help="keep one of the two",
            )
        else:
            entries[name] = entry

    def declarations(self) -> Declarations:
        """Everything taken in, with what could not be made sense of left out."""
        shapes = {name: self._table_shape(entry) for name, entry in self.tables.items()}
        self._imply_entity_sorts(shapes.values())
        for name in self.sorts:
            self._sort(name)
        tables = {n: self._table(self.tables[n], shape) for n, shape in shapes.items()}
        for table in tables.values():
            self._check_references(table, tables, shapes[table.name])
        if WAIVER in tables:
            self.findings += declaration_faults(tables[WAIVER])
        tables |= self._tables_of_parts(tables)
        tables |= self._tables_of_alikes(tables)
        flags = {n: read_flag(e.nodes, e.key, e.node, tables) for n, e in self.flags.items()}
        return Declarations(
            MappingProxyType(tables),
            MappingProxyType(dict(self.resolved)),
            MappingProxyType({n: f for n, f in flags.items() if f is not None}),
        )

    def _tables_of_parts(self, tables: Mapping[str, Table]) -> dict[str, Table]:
        """A table of the parts of names, ``SORT_part``, for each sort of dotted names."""
        found: dict[str, Table] = {}
        for name, (entry, sort) in self.dotted.items():
            table, at = f"{name}_part", entry.position
            if table in tables:
                entry.nodes.report(
                    "duplicate-table",
                    f"table `{table}` is that of the parts of sort `{name}`",
                    entry.key,
                    replace(tables[table].position, note="declares it, too"),
                    help="give the table another name",
                )
                continue
            found[table] = Table(
                table,
                f"Each name of sort `{name}` with each run of its dotted segments; computed.",
                at,
                (Column("name", sort, at, "The name."), Column("part", TEXT, at, "The run.")),
                MappingProxyType({}),
                False,
                Computed("parts", sort),
            )
        return found

    def _tables_of_alikes(self, tables: Mapping[str, Table]) -> dict[str, Table]:
        """Two tables for each that has an ``alike`` column: which numbers are alike, and the rows
        of the first of each.
        """
        found: dict[str, Table] = {}
        for table in tables.values():
            place = next((i for i, c in enumerate(table.key) if c.alike), None)
            if place is None:
                continue
            column = table.key[place]
            names = (f"{table.name}_alike", f"{table.name}_first")
            taken = next((n for n in names if n in tables), "")
            if taken:
                entry = self.tables[table.name]
                entry.nodes.report(
                    "duplicate-table",
                    f"table `{taken}` is computed from `{table.name}`",
                    entry.key,
                    replace(tables[taken].position, note="declares it, too"),
                    help="give the table another name",
                )
                continue
            first = replace(column, name="first", ranges=False, alike=False, references=())
            found[names[0]] = Table(
                names[0],
                f"Each `{column.name}` of `{table.name}`, with the first that has the same rows.",
                column.position,
                (*table.key[:place], column),
                MappingProxyType({"first": first}),
                False,
                Computed("alike", None, table.name),
            )
            found[names[1]] = Table(
                names[1],
                f"The rows of `{table.name}` at the first `{column.name}` of each kind.",
                column.position,
                table.key,
                table.columns,
                False,
                Computed("first", None, table.name),
            )
        return found

    def _table_shape(self, entry: _Entry) -> _Shape:
        nodes, what = entry.nodes, f"table `{entry.name}`"
        properties = nodes.entries(entry.node, what)
        known_only(nodes, properties, _TABLE_PROPERTIES, what)
        key = {
            name: _ColumnShape.read(nodes, key, node, f"key column `{name}`", _KEY_PROPERTIES)
            for name, (key, node) in nodes.entries(
                value_of(properties, "key"), f"the key of {what}"
            ).items()
        }
        if not key:
            bad(
                nodes,
                properties["key"][0] if "key" in properties else entry.key,
                f"{what} has no key column",
                "write `key: {name: sort}`",
            )
        columns = {
            name: _ColumnShape.read(nodes, key, node, f"column `{name}`", _COLUMN_PROPERTIES)
            for name, (key, node) in nodes.entries(
                value_of(properties, "columns"), f"`columns` of {what}"
            ).items()
        }
        for name, column in (*key.items(), *columns.items()):
            if name in RESERVED_COLUMNS:
                bad(
                    nodes,
                    column.key,
                    f"column name `{name}` is reserved",
                    "give the column another name",
                )
            elif not _NAME.fullmatch(name) or name in _KEYWORDS:
                bad(
                    nodes,
                    column.key,
                    f"`{name}` cannot name a column",
                    _NAMES,
                )
        for name in key.keys() & columns.keys():
            nodes.report(
                "bad-declaration",
                f"{what} has `{name}` as key and as column",
                columns[name].key,
                nodes.position(key[name].key, "is the key column"),
                help="keep one of the two",
            )
            del columns[name]
        source = nodes.text(value_of(properties, "source"), f"`source` of {what}")
        if source not in (None, "required"):
            bad(
                nodes,
                properties["source"][1],
                f"`{source}` is no rule for sources",
                "write `source: required`, or leave it out",
            )
        doc = nodes.text(value_of(properties, "doc"), f"`doc` of {what}") or ""
        return _Shape(doc, key, columns, source == "required")

    def _imply_entity_sorts(self, shapes: Iterable[_Shape]) -> None:
        for shape in shapes:
            for column in shape.key.values():
                name = column.sort
                if (
                    name not in self.resolved
                    and name not in self.sorts
                    and not column.references
                    and _NAME.fullmatch(name)
                ):
                    self.resolved[name] = EntitySort(name)

    def _sort(self, name: str) -> Sort | None:
        """The sort of a name, or None where there is none (or it holds itself)."""
        if name in self.resolved:
            return self.resolved[name]
        entry = self.sorts.get(name)
        if entry is None or name in self.resolving:
            return None
        self.resolving.add(name)
        self.resolved[name] = sort = self._declared_sort(entry)
        self.resolving.discard(name)
        return sort

    def _declared_sort(self, entry: _Entry) -> Sort:
        nodes, name, what = entry.nodes, entry.name, f"sort `{entry.name}`"
        properties = nodes.entries(entry.node, what)
        known_only(nodes, properties, _SORT_PROPERTIES, what)
        doc = nodes.text(value_of(properties, "doc"), f"`doc` of {what}") or ""
        kinds = [p for p in ("values", "units", "forms") if p in properties]
        if len(kinds) > 1:
            bad(
                nodes,
                properties[kinds[1]][0],
                f"{what} has both {listed(kinds)}",
                "a sort is of one kind: keep one of them",
            )
        dotted = _flag(nodes, properties, "dotted", what)
        if dotted and kinds:
            bad(nodes, properties["dotted"][0], f"{what} is not of names", "only names are dotted")
        if not kinds:
            sort = EntitySort(name, doc)
            if dotted:
                self.dotted[name] = (entry, sort)
            return sort
        key, node = properties[kinds[0]]
        if kinds[0] == "values":
            return ClosedSort(name, doc, self._words(nodes, key, node, what))
        if kinds[0] == "units":
            return ExactSort(name, doc, self._units(nodes, key, node, name, what))
        return FormsSort(name, doc, self._forms(nodes, key, node, what))

    def _words(self, nodes: Nodes, key: Node, node: Node, what: str) -> tuple[str, ...]:
        words: list[str] = []
        for element in nodes.elements(node, f"`values` of {what}"):
            word = nodes.text(element, f"a value of {what}")
            if word is None and not is_absent(element):
                continue
            if word is None or not _CONSTANT.fullmatch(word) or word in _KEYWORDS:
                bad(
                    nodes,
                    element,
                    f"`{word or 'null'}` cannot be a value of {what}",
                    "values begin with a lower-case letter and hold letters, digits and `_`",
                )
            elif word in words:
                bad(nodes, element, f"{what} has the value `{word}` twice", "keep one of the two")
            else:
                words.append(word)
        if not words:
            bad(nodes, key, f"{what} has no value", "write `values: [a, b]`")
        return tuple(words)

    def _units(
        self, nodes: Nodes, key: Node, node: Node, name: str, what: str
    ) -> Mapping[str, Fraction]:
        units: dict[str, Fraction] = {}
        for symbol, (unit_key, size_node) in nodes.entries(node, f"`units` of {what}").items():
            text = nodes.text(size_node, f"the size of unit `{symbol}`")
            size = None if text is None else parse_number(text)
            if not _readable_unit(symbol, name):
                bad(
                    nodes,
                    unit_key,
                    f"`{symbol}` cannot be a unit",
                    "units begin with a letter or sign, and hold no blank",
                )
            elif size is None or size <= 0:
                bad(
                    nodes,
                    size_node,
                    f"the size of unit `{symbol}` is no exact number above 0",
                    "write digits, as in `1000` or `1/60`",
                )
            else:
                units[symbol] = size
        ones = [u for u, size in units.items() if size == 1]
        if len(ones) != 1:
            bad(
                nodes,
                key,
                f"{what} has {len(ones) or 'no'} units of size `1`",
                "give exactly one unit, the base unit, the size 1",
            )
        return MappingProxyType(units)

    def _forms(
        self, nodes: Nodes, key: Node, node: Node, what: str
    ) -> Mapping[str, tuple[tuple[str, Sort], ...]]:
        forms: dict[str, tuple[tuple[str, Sort], ...]] = {}
        for functor, (form_key, form_node) in nodes.entries(node, f"`forms` of {what}").items():
            if not _CONSTANT.fullmatch(functor) or functor in _KEYWORDS:
                bad(
                    nodes,
                    form_key,
                    f"`{functor}` cannot be a form of {what}",
                    "forms begin with a lower-case letter and hold letters, digits and `_`",
                )
                continue
            arguments: list[tuple[str, Sort]] = []
            for name, (name_key, sort_node) in nodes.entries(
                form_node, f"form `{functor}`"
            ).items():
                if not _VARIABLE.fullmatch(name):
                    bad(
                        nodes,
                        name_key,
                        f"`{name}` cannot name an argument of `{functor}`",
                        "arguments begin with an upper-case letter",
                    )
                    continue
                sort_name = nodes.text(sort_node, f"the sort of argument `{name}`")
                if sort_name is None and is_absent(sort_node):
                    bad(
                        nodes,
                        name_key,
                        f"argument `{name}` of `{functor}` has no sort",
                        f"write `{name}: sort`",
                    )
                if sort_name is not None and sort_name in self.resolving:
                    bad(
                        nodes,
                        sort_node,
                        f"{what} holds itself through `{sort_name}`",
                        "a form's arguments are of other sorts",
                    )
                elif sort_name is not None:
                    arguments.append((name, self._known_sort(nodes, sort_node, sort_name)))
            forms[functor] = tuple(arguments)
        if not forms:
            bad(nodes, key, f"{what} has no form", "write `forms: {name: {}}`")
        return MappingProxyType(forms)

    def _known_sort(self, nodes: Nodes, node: Node, name: str) -> Sort:
        """The sort of a name; text, which takes anything, where the name is unknown."""
        sort = self._sort(name)
        if sort is not None:
            return sort
        known = self.resolved.keys() | self.sorts.keys()
        nodes.report(
            "unknown-sort",
            f"no sort `{name}` is declared",
            node,
            help=similar(name, known, "sort")
            or "declare it under `sorts`, or as the key of a table",
        )
        return TEXT

    def _table(self, entry: _Entry, shape: _Shape) -> Table:
        key = tuple(self._column(entry.nodes, n, c) for n, c in shape.key.items())
        columns = {n: self._column(entry.nodes, n, c) for n, c in shape.columns.items()}
        ranged = [n for n, c in shape.key.items() if c.ranges]
        if len(ranged) > 1:
            bad(
                entry.nodes,
                shape.key[ranged[1]].key,
                f"table `{entry.name}` has ranges in two key columns",
                "a row ranges over one",
            )
            key = tuple(replace(c, ranges=c.ranges and c.name == ranged[0]) for c in key)
        dated = [n for n, c in columns.items() if c.date]
        if len(dated) > 1:
            bad(
                entry.nodes,
                shape.columns[dated[1]].key,
                f"table `{entry.name}` has two dates",
                "one column tells when a row was read",
            )
            columns = {n: replace(c, date=c.date and n == dated[0]) for n, c in columns.items()}
        return Table(
            entry.name,
            shape.doc,
            entry.position,
            tuple(replace(c, required=True) for c in key),
            MappingProxyType(columns),
            shape.source_required,
        )

    def _column(self, nodes: Nodes, name: str, shape: _ColumnShape) -> Column:
        sort: Sort = TEXT
        if shape.sort:
            sort = self._known_sort(nodes, shape.sort_node, shape.sort)
        if isinstance(sort, FormsSort):
            bad(
                nodes,
                shape.sort_node,
                f"column `{name}` cannot hold terms of sort `{sort}`",
                "sorts with forms are for the arguments of rules",
            )
            sort = TEXT
        column = Column(
            name,
            sort,
            nodes.position(shape.key),
            shape.doc,
            shape.required,
            shape.many,
            references=tuple(r for r, _ in shape.references),
            ranges=shape.ranges,
            alike=shape.alike,
            sensitive=shape.sensitive,
            date=shape.date,
        )
        if column.date and (column.many or sort != TEXT):
            kind = "a list" if column.many else f"of sort `{sort}`"
            bad(
                nodes,
                shape.key,
                f"column `{name}` is {kind} and a date",
                "a day is one text, as `2026-11-29`",
            )
            column = replace(column, date=False)
        if column.alike and not column.ranges:
            bad(
                nodes,
                shape.key,
                f"column `{name}` is alike and has no ranges",
                "add `ranges: true`",
            )
            column = replace(column, alike=False)
        if column.ranges and not isinstance(sort, CountSort):
            bad(
                nodes,
                shape.key,
                f"column `{name}` of sort `{sort}` has ranges",
                "only counts have ranges",
            )
            column = replace(column, ranges=False, alike=False)
        minimum = self._bound(nodes, column, shape, "minimum")
        maximum = self._bound(nodes, column, shape, "maximum")
        if minimum is not None and maximum is not None and minimum > maximum:
            bad(
                nodes,
                shape.texts["maximum"][1],
                f"the maximum of `{name}` is below its minimum",
                "raise the maximum",
            )
            maximum = None
        column = replace(column, minimum=minimum, maximum=maximum)
        if "default" not in shape.texts:
            return column
        text, node = shape.texts["default"]
        if column.many or column.required:
            kind = "a list" if column.many else "required"
            bad(nodes, node, f"column `{name}` is {kind} and has a default", "drop the default")
            return column
        try:
            read_value(text, column)
        except ScalarError as error:
            nodes.report(error.code, error.message, node, help=error.help)
            return column
        return replace(column, default=text)

    def _bound(
        self, nodes: Nodes, column: Column, shape: _ColumnShape, bound: str
    ) -> Fraction | None:
        if bound not in shape.texts:
            return None
        text, node = shape.texts[bound]
        if not isinstance(column.sort, ExactSort | CountSort):
            bad(
                nodes,
                node,
                f"column `{column.name}` of sort `{column.sort}` has a {bound}",
                "only counts and exact sorts have bounds",
            )
            return None
        try:
            value = parse_scalar(text, column.sort)
        except ScalarError as error:
            nodes.report(error.code, error.message, node, help=error.help)
            return None
        assert not isinstance(value, str), "figures are numbers"
        return Fraction(value)

    def _check_references(self, table: Table, tables: Mapping[str, Table], shape: _Shape) -> None:
        nodes = self.tables[table.name].nodes
        for column in (*table.key, *table.columns.values()):
            shapes = shape.key if column.name in shape.key else shape.columns
            for name, node in shapes[column.name].references:
                target = tables.get(name)
                if target is None:
                    bad(
                        nodes,
                        node,
                        f"column `{column.name}` references no table `{name}`",
                        similar(name, tables, "table") or "name a declared table",
                    )
                elif len(target.key) > 1:
                    nodes.report(
                        "bad-declaration",
                        f"column `{column.name}` references `{name}`, whose key has "
                        f"{len(target.key)} columns",
                        node,
                        replace(target.position, note="declares its key"),
                        help="reference tables of one key column",
                    )
                elif target.key and target.key[0].sort != column.sort and shapes[column.name].sort:
                    nodes.report(
                        "bad-declaration",
                        f"column `{column.name}` of sort `{column.sort}` references `{name}`, "
                        f"whose key is of sort `{target.key[0].sort}`",
                        node,
                        replace(target.key[0].position, note="declares its key"),
                        help=f"make the column of sort `{target.key[0].sort}`",
                    )


@dataclass(frozen=True, slots=True)
class _Shape:
    """A table's declaration before sorts are known."""

    doc: str
    key: dict[str, _ColumnShape]
    columns: dict[str, _ColumnShape]
    source_required: bool


@dataclass(frozen=True, slots=True)
class _ColumnShape:
    """A column's declaration before sorts are known; ``texts`` holds default and bounds."""

    key: ScalarNode
    sort: str
    sort_node: Node
    doc: str
    required: bool
    many: bool
    texts: Mapping[str, tuple[str, Node]]
    references: tuple[tuple[str, Node], ...]
    ranges: bool = False
    alike: bool = False
    sensitive: bool = False
    date: bool = False

    @staticmethod
    def read(
        nodes: Nodes, key: ScalarNode, node: Node, what: str, known: Collection[str]
    ) -> _ColumnShape:
        if isinstance(node, ScalarNode) and not is_absent(node):
            return _ColumnShape(key, node.value, node, "", False, False, {}, ())
        properties = nodes.entries(node, what)
        known_only(nodes, properties, known, what)
        sort_node = value_of(properties, "sort")
        sort = nodes.text(sort_node, f"the sort of {what}")
        if sort is None and (sort_node is None or is_absent(sort_node)):
            bad(nodes, key, f"{what} has no sort", "write `name: sort` or `{sort: …}`")
        texts: dict[str, tuple[str, Node]] = {}
        for name in ("default", "minimum", "maximum"):
            value = value_of(properties, name) if name in known else None
            text = nodes.text(value, f"`{name}` of {what}")
            if value is not None and text is not None:
                texts[name] = (text, value)
        return _ColumnShape(
            key,
            sort or "",
            sort_node or key,
            nodes.text(value_of(properties, "doc"), f"`doc` of {what}") or "",
            "required" in known and _flag(nodes, properties, "required", what),
            "list" in known and _flag(nodes, properties, "list", what),
            texts,
            _references(nodes, value_of(properties, "references"), what),
            "ranges" in known and _flag(nodes, properties, "ranges", what),
            "alike" in known and _flag(nodes, properties, "alike", what),
            _flag(nodes, properties, "sensitive", what),
            "date" in known and _flag(nodes, properties, "date", what),
        )


def _references(nodes: Nodes, node: Node | None, what: str) -> tuple[tuple[str, Node], ...]:
    if isinstance(node, ScalarNode):
        return () if is_absent(node) else ((node.value, node),)
    named: dict[str, Node] = {}
    for element in nodes.elements(node, f"`references` of {what}"):
        name = nodes.text(element, f"a reference of {what}")
        if name is not None:
            named.setdefault(name, element)
    return tuple(named.items())


def _flag(
    nodes: Nodes, properties: Mapping[str, tuple[ScalarNode, Node]], name: str, what: str
) -> bool:
    node = value_of(properties, name)
    text = nodes.text(node, f"`{name}` of {what}")
    if node is None or text is None:
        return False
    if text not in ("true", "false"):
        bad(nodes, node, f"`{name}` of {what} is `{text}`", "write `true` or `false`")
    return text == "true"


def _readable_unit(symbol: str, sort: str) -> bool:
    if not symbol or not symbol.isprintable() or any(c.isspace() for c in symbol):
        return False
    try:
        return parse_exact(f"1 {symbol}", ExactSort(sort, "", {symbol: Fraction(1)})) == 1
    except ScalarError:
        return False
