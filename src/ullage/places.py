"""Where the subjects of laws stand: the rows of facts whose keys they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ullage.columns import Row
from ullage.declarations import Table
from ullage.facts import FactBase
from ullage.findings import Position
from ullage.results import Quantity, Standing, Value
from ullage.rules.declared import LawDecl, snake
from ullage.sorts import EntitySort, FormsSort, Scalar, Sort, whole_or_fraction

_Key = tuple[Scalar, ...]


class Places:
    """Finds the places of standings, over the facts that they were concluded from."""

    def __init__(self, laws: Mapping[str, LawDecl], facts: FactBase) -> None:
        self._laws = laws
        self._facts = facts
        self._rows: dict[str, dict[_Key, Row]] = {}

    def of(self, standing: Standing) -> tuple[Position, ...]:
        """The row of the whole subject, or else those of its parts; then the law's declaration.

        Of several tables that have the key, a table that the law's subjects are drawn from goes
        before others, and one that keys things before one that refers to them.
        """
        law = self._laws[standing.law]
        sorts = _sorts(law, standing)
        values = [_scalar(value) for _, value in standing.subject]
        rows = [self._row(law, sorts, values)]
        if rows == [None]:
            parts = zip(sorts, values, strict=True)
            rows = [self._row(law, [s], [v]) for s, v in parts if isinstance(s, EntitySort)]
        places = [self._facts.position(row) for row in rows if row is not None]
        declared = replace(law.position, note=f"declares the law `{law.name}`")
        return (*dict.fromkeys(places), declared)

    def _row(
        self, law: LawDecl, sorts: Sequence[Sort], values: Sequence[Scalar | None]
    ) -> Row | None:
        """The row whose key the values are, in the likeliest table that has one."""
        key = tuple(v for v in values if v is not None)
        if len(key) < len(values):
            return None
        tables = [t for t in self._facts.declarations.tables.values() if _keyed(t, sorts)]
        drawn = set(re.findall(r"\w+", law.subjects))
        tables.sort(key=lambda t: (t.name not in drawn, any(c.references for c in t.key)))
        found = (self._by_key(t.name).get(key) for t in tables)
        return next((row for row in found if row is not None), None)

    def _by_key(self, table: str) -> Mapping[_Key, Row]:
        if table not in self._rows:
            self._rows[table] = {row.key: row for row in self._facts.rows.get(table, ())}
        return self._rows[table]


def _keyed(table: Table, sorts: Sequence[Sort]) -> bool:
    return table.computed is None and [c.sort for c in table.key] == [*sorts]


def _sorts(law: LawDecl, standing: Standing) -> list[Sort]:
    """The sorts of a subject's parts."""
    sort = law.arguments[0][1]
    if len(law.arguments) > 1 or not isinstance(sort, FormsSort):
        return [s for _, s in law.arguments]
    names = [name for name, _ in standing.subject]
    forms = (form for form in sort.forms.values() if [snake(n) for n, _ in form] == names)
    return [s for _, s in next(forms)]


def _scalar(value: Value) -> Scalar | None:
    """A part as keys hold it; None for one that no key can hold."""
    if isinstance(value, Quantity):
        return whole_or_fraction(value.value)
    return value if isinstance(value, str | bool) else None
