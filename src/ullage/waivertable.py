"""The table ``waiver``: what its declaration has to be, for its rows to suspend refusals."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.declarations import Column, Table
from ullage.findings import Finding, Position, listed
from ullage.sorts import EntitySort, TextSort

WAIVER = "waiver"
"""The table's name. A policy that declares it has waivers."""

KEY = ("law", "subject", "refusal")
"""Its key columns, in whatever order."""

COLUMNS = ("reason", "owner", "expires")
"""The columns that it has beside them; others are the policy's own."""

_WHOLE_KEY = "write `key: {law: text, subject: text, refusal: text}`"


def declaration_faults(table: Table) -> Iterator[Finding]:
    """What is amiss with the declaration of the table, ``bad-declaration``."""
    key = {column.name: column for column in table.key}
    for name in KEY:
        if name not in key:
            yield _bad(table.position, f"table `{WAIVER}` has no key column `{name}`", _WHOLE_KEY)
    for name in key.keys() - set(KEY):
        what = f"table `{WAIVER}` has a key column `{name}` beside {listed(KEY)}"
        yield _bad(key[name].position, what, "a waiver is named by these three alone")
    for name in COLUMNS:
        if name not in table.columns:
            what = f"table `{WAIVER}` has no column `{name}`"
            yield _bad(table.position, what, f"write `{name}: {{sort: text, required: true}}`")
    for column in (*table.key, *(table.columns[n] for n in COLUMNS if n in table.columns)):
        if column.name in (*KEY, *COLUMNS):
            yield from _column_faults(column)


def _column_faults(column: Column) -> Iterator[Finding]:
    what = f"column `{column.name}` of table `{WAIVER}`"
    if not isinstance(column.sort, TextSort | EntitySort):
        is_of = f"{what} is of sort `{column.sort}`"
        yield _bad(column.position, is_of, "a waiver's columns hold text, or names")
    if column.many:
        yield _bad(column.position, f"{what} is a list", "a waiver has one of it")
    if not column.required:
        yield _bad(column.position, f"{what} is not required", "add `required: true`")


def _bad(place: Position, message: str, help: str) -> Finding:
    return Finding("bad-declaration", message, (place,), help)
