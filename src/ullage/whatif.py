"""What-ifs: facts with some cells supposed otherwise, and what was supposed. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

from ullage.columns import Cell, Row
from ullage.declarations import Column, Flag, read_value
from ullage.facts import SUPPOSED, FactBase, dangling
from ullage.findings import Finding, PolicyError, Position, UsageError, listed, similar
from ullage.results import Assumption, Quantity, Value
from ullage.sorts import CountSort, ExactSort, Scalar, ScalarError, Sort


@dataclass(frozen=True, slots=True)
class Supposition:
    """The facts of a what-if, what it supposed, and the parts and values that it asks for.

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
    maker = _Maker({name: list(rows) for name, rows in base.rows.items()}, base)
    for name, text in given.items():
        if name not in declared:
            raise UsageError(
                f"no flag `--{name}` is declared by the policy",
                similar(f"--{name}", [f"--{f}" for f in declared], "flag")
                or f"flags are {listed([f'--{f}' for f in declared])}",
            )
        maker.take(declared[name], text)
    if maker.findings:
        raise PolicyError(sorted(set(maker.findings), key=lambda f: f.sort_key))
    rows = MappingProxyType({name: tuple(found) for name, found in maker.rows.items()})
    return Supposition(replace(base, rows=rows), tuple(maker.assumptions), maker.selected)


class _Maker:
    """Changes rows, flag by flag."""

    def __init__(self, rows: dict[str, list[Row]], base: FactBase) -> None:
        self.rows = rows
        self.base = base
        self.assumptions: list[Assumption] = []
        self.selected: dict[str, str] = {}
        self.findings: list[Finding] = []

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
        table, key, column = cell
        declared = self.base.declarations.tables[table].columns[column]
        rows = self.rows.get(table, [])
        place = next((i for i, r in enumerate(rows) if _key(r) == key), None)
        if place is None:
            self._report(
                "no-such-row",
                f"`--{flag.name}` sets `{'/'.join(cell)}`, and no row `{key}` is in `{table}`",
                flag,
                (replace(flag.position, note="declares the flag"),),
                similar(key, [_key(r) for r in rows], "row") or f"add the row to `{table}`",
            )
            return
        value = self._value(flag, declared, text)
        if value is None:
            return
        old = rows[place].cells.get(column)
        cells = {**rows[place].cells, column: _supposed(value)}
        rows[place] = rows[place]._replace(cells=cells)
        before = None if old is None else _shown(old.value, declared.sort)
        after = _shown(value, declared.sort)
        self.assumptions.append(Assumption(flag.name, table, key, column, before, after))

    def _add(self, flag: Flag, text: str) -> str:
        """Add a row where its key has none; the key's text."""
        table = self.base.declarations.tables[flag.adds]
        rows = self.rows.setdefault(flag.adds, [])
        if any(_key(r) == text for r in rows):
            return text
        values: dict[str, Scalar] = {}
        for name in flag.fills:
            column = table.key[0] if name == table.key[0].name else table.columns[name]
            value = self._value(flag, column, text, [_key(r) for r in rows])
            if value is None:
                return text
            values[name] = value
        key = values.pop(table.key[0].name)
        defaults = {
            c.name: Cell(read_value(c.default, c), 0, 0)
            for c in table.columns.values()
            if c.default is not None
        }
        cells = defaults | {name: _supposed(value) for name, value in values.items()}
        row = Row(flag.adds, (key,), cells, SUPPOSED, 1, 1, f"supposed by --{flag.name}")
        if any(r.key == row.key for r in rows):
            return _key(row)
        rows.append(row)
        shown = {table.key[0]: key} | {table.columns[n]: v for n, v in values.items()}
        self.assumptions += [
            Assumption(flag.name, flag.adds, _key(row), c.name, None, _shown(v, c.sort))
            for c, v in shown.items()
            if c is not table.key[0] or not values
        ]
        return _key(row)

    def _value(
        self, flag: Flag, column: Column, text: str, known: list[str] | None = None
    ) -> Scalar | None:
        """The value of a flag's text for a column, or None with a finding."""
        declares = replace(column.position, note=f"declares column `{column.name}`")
        try:
            value = read_value(text, column)
        except ScalarError as error:
            help = error.help
            if known:
                help += f"; rows are {listed(known)}"
            self._report(error.code, error.message, flag, (declares,), help)
            return None
        keys = [_key(r) for t in column.references for r in self.rows.get(t, ())]
        if column.references and str(value) not in keys:
            code, message, help = dangling(value, column.references, keys)
            self._report(code, message, flag, (declares,), help)
            return None
        return value

    def _report(
        self, code: str, message: str, flag: Flag, more: tuple[Position, ...], help: str
    ) -> None:
        at = Position(f"<--{flag.name}>", 1, 1)
        self.findings.append(Finding(code, message, (at, *more), help))


def _supposed(value: Scalar) -> Cell:
    return Cell(value, -1, 1)


def _key(row: Row) -> str:
    return "/".join(str(part) for part in row.key)


def _shown(value: object, sort: Sort) -> Value:
    """A cell's value as results show it."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value if isinstance(value, bool) else str(value)
    assert isinstance(sort, ExactSort | CountSort)
    return Quantity(Fraction(value), sort)
