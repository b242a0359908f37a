"""The facts of a case: its rows as it edits them, by themselves or over the catalog's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ullage.changes import Set, Unset, rows_by_text
from ullage.declarations import Table
from ullage.facts import FactBase, load_facts, table_readers
from ullage.findings import Finding, UsageError, errors_of
from ullage.lawtests.cases import SOURCE, Cell, LawCase
from ullage.sorts import shorten
from ullage.waivers import faults
from ullage.whatif import Changer

if TYPE_CHECKING:
    from ullage.policy import Policy


@dataclass(frozen=True, slots=True)
class Given:
    """The facts of a case, what is wrong with its rows, and each edit that cannot be made."""

    facts: FactBase
    errors: Sequence[Finding] = ()
    amiss: Sequence[str] = ()


class Giver:
    """Makes the facts of cases under the declarations of a policy, whose facts are the catalog."""

    def __init__(self, policy: Policy) -> None:
        self._declarations = policy.declarations
        self._derived = policy.derived
        self._book = policy.book
        self._catalog = policy.facts
        self._readers = table_readers(policy.declarations)
        self._keys = key_columns(policy.declarations.tables)

    def facts(self, case: LawCase) -> Given:
        """The facts of one case."""
        if unknown := list(self._unknown(case)):
            return Given(self._catalog, amiss=unknown)
        rows, left = edited_rows(case, self._keys)
        if case.on_catalog:
            return self._over_catalog(rows, left)
        if left:
            return Given(self._catalog, amiss=[edit.without_row for edit in left])
        facts, findings = load_facts(
            self._declarations, [], rows=rows, derived=self._derived, readers=self._readers
        )
        return self._given(facts, findings)

    def _unknown(self, case: LawCase) -> Iterator[str]:
        """Each law, plan or value that a case names, and nothing declares."""
        for expectation in (*case.expect, *case.absent):
            kind, name = expectation.owner
            owner = (self._book.plans if expectation.plan else self._book.laws).get(name)
            if owner is None:
                yield f"no {kind} is named `{shorten(name)}`"
                continue
            for value, _ in expectation.values:
                if value not in owner.values:
                    yield f"`{name}` has no value `{shorten(value)}`"

    def _over_catalog(self, rows: Mapping[str, Sequence[Row]], left: Sequence[Edit]) -> Given:
        """The catalog with edits of its own rows, and with rows in place of those of equal key."""
        changer = Changer(self._catalog, self._derived)
        loader = changer.loader
        amiss = []
        for number, edit in enumerate(left, start=1):
            table, _, rest = edit.path.partition("/")
            if edit.option == "set":
                key, _, column = rest.rpartition("/")
                change = (
                    Unset(table, key, column)
                    if edit.value is None
                    else Set(table, key, column, edit.value)
                )
                try:
                    changer.change("set", number, change)
                except UsageError as error:
                    amiss.append(f"set: {error.message}")
                continue
            known = self._declarations.tables.get(table)
            of_table = loader.tables[table].rows.values() if known is not None else ()
            chosen = rows_by_text(known, of_table).get(rest, []) if known is not None else []
            if not chosen:
                amiss.append(f"remove: no row is `{edit.path}`")
            for row in chosen:
                loader.take(table, row.key, None)
        loader.override = True
        loader.read_rows(rows)
        facts = loader.base()
        return self._given(facts, loader.sorted_findings(), amiss)

    def _given(
        self, facts: FactBase, findings: Sequence[Finding], amiss: Sequence[str] = ()
    ) -> Given:
        return Given(facts, errors_of([*findings, *faults(facts, self._book)]), amiss)


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that names none of the given rows: ``set`` or ``remove``, and what it names."""

    option: str
    path: str
    value: Cell | None = None

    @property
    def without_row(self) -> str:
        """That no row is named so."""
        row = self.path.rpartition("/")[0] if self.option == "set" else self.path
        return f"{self.option}: no given row is `{row}`"


Row = dict[str, Cell]


def key_columns(tables: Mapping[str, Table]) -> dict[str, tuple[str, ...]]:
    """The key columns of each table, in order."""
    return {name: tuple(c.name for c in table.key) for name, table in tables.items()}


def edited_rows(
    case: LawCase, keys: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[Row]], list[Edit]]:
    """The rows that a case gives, and each edit that names none of them.

    ``keys`` are those of ``key_columns``.
    """
    rows = {table: [dict(row) for row in given] for table, given in case.shared.items()}
    left = []

    def matching(table: str, key: str) -> list[Row]:
        columns = keys.get(table, ())
        return [
            row
            for row in rows.get(table, [])
            if "/".join(str(row.get(column)) for column in columns) == key
        ]

    for path in case.remove:
        table, _, key = path.partition("/")
        chosen = matching(table, key)
        if not chosen:
            left.append(Edit("remove", path))
        for row in chosen:
            rows[table].remove(row)
    for path, value in case.set:
        table, _, rest = path.partition("/")
        key, _, column = rest.rpartition("/")
        chosen = matching(table, key)
        if not chosen:
            left.append(Edit("set", path, value))
        for row in chosen:
            row.pop(column, None)
            if value is not None:
                row[column] = value
    for table, added in (case.given or {}).items():
        rows.setdefault(table, []).extend(dict(row) for row in added)
    for of_table in rows.values():
        for row in of_table:
            row.setdefault("source", SOURCE)
    return rows, left
