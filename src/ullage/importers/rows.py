"""Imported rows as YAML text that loads to the same values, and how it gets into a file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ullage.findings import Finding, UsageError
from ullage.seals import sealed, unedited
from ullage.textfiles import shown_path, write_whole
from ullage.yamlscalars import escaped, scalar_text

WIDTH = 100
"""Widest line that a row may take as a whole; longer rows have a line for each column."""

_MOST_SEARCHED = 1000


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """A row of a table: columns with their text in order, the key first and ``source`` last.

    A tuple of texts is a list.
    """

    table: str
    cells: tuple[tuple[str, str | tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an importer made: rows, what to say above them, and warnings that came with them."""

    rows: tuple[ImportedRow, ...]
    head: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def text(self) -> str:
        """The YAML text; each warning stands in its head."""
        warnings = [f"{f.severity.value}[{f.code}]: {f.message}" for f in self.findings]
        return rows_text(self.rows, [*self.head, *warnings])


def rows_text(rows: Iterable[ImportedRow], head: Sequence[str]) -> str:
    """Rows as YAML, grouped by table in order of appearance, below comments that say ``head``.

    The first line holds a digest of the others, by which an edit is noticed.
    """
    tables: dict[str, list[str]] = {}
    for row in rows:
        tables.setdefault(row.table, []).append(_row_text(row))
    comments = [line for text in head for line in _comment(text)]
    parts = ["".join(f"{line}\n" for line in comments)] if comments else []
    parts += [f"{table}:\n{''.join(texts)}" for table, texts in tables.items()]
    return sealed("\n".join(parts))


def write_rows(path: Path, text: str, force: bool) -> None:
    """Write rows to a file, whole or not at all.

    A file that is there already is replaced where nobody has edited what an importer wrote, or
    with ``force``. Raises UsageError where it was edited, or cannot be written.
    """
    try:
        kept = path.is_file() and not force and not _unedited(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read `{shown_path(path)}`: {error.strerror or error}") from error
    if kept:
        raise UsageError(
            f"`{shown_path(path)}` is not as an importer wrote it: somebody edited it",
            "write to another file and compare, or give `--force` to lose what it holds",
        )
    write_whole(path, text)


def ranges(numbers: Sequence[int]) -> str | tuple[str, ...]:
    """Ascending numbers as the catalog writes them: ``7``, ``3..77``, or ``0..2`` and ``6..74/4``.

    The longest range from the lowest number comes first, then that of what is left.
    """
    left = list(numbers)
    found = []
    while left:
        run = _longest_run(left)
        found.append(_range_text(run))
        taken = set(run)
        left = [n for n in left if n not in taken]
    return found[0] if len(found) == 1 else tuple(found)


def ranges_text(numbers: Sequence[int]) -> str:
    """The same in words for a message."""
    found = ranges(numbers)
    return found if isinstance(found, str) else ", ".join(found)


def default_name(text: str) -> str:
    """A name for the catalog out of the name of a file, a folder or a repository."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")
    if not name:
        raise UsageError("nothing to name the rows after", "give a name, as in `--artifact NAME`")
    return name


def _unedited(data: bytes) -> bool:
    """Whether a file may be replaced; an empty one holds nothing to lose."""
    return unedited(data) or not data.strip()


def _comment(text: str) -> list[str]:
    """Text as comment lines; what cannot be printed is escaped."""
    shown = "".join(c if c.isprintable() else escaped(c) for c in " ".join(text.split()))
    return textwrap.wrap(
        shown,
        WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _row_text(row: ImportedRow) -> str:
    cells = ", ".join(f"{name}: {_value(value, flow=True)}" for name, value in row.cells)
    line = f"  - {{{cells}}}\n"
    if len(line) <= WIDTH + 1:
        return line
    first, *others = (f"{name}: {_value(value, flow=False)}\n" for name, value in row.cells)
    return f"  - {first}" + "".join(f"    {other}" for other in others)


def _value(value: str | tuple[str, ...], *, flow: bool) -> str:
    if isinstance(value, str):
        return scalar_text(value, flow=flow)
    return f"[{', '.join(scalar_text(v, flow=True) for v in value)}]"


def _longest_run(numbers: Sequence[int]) -> range:
    """The longest range of these numbers that begins at the first; of equal ones the closest."""
    first = numbers[0]
    there = set(numbers)
    best = range(first, first + 1)
    steps = [n - first for n in numbers[1:]] if len(numbers) <= _MOST_SEARCHED else [1]
    for step in steps:
        if first + step * len(best) > numbers[-1]:
            break
        last = first
        while last + step in there:
            last += step
        run = range(first, last + 1, step)
        if len(run) > max(len(best), 2 if step > 1 else 1):
            best = run
    return best


def _range_text(run: range) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]}..{run[-1]}" + (f"/{run.step}" if run.step > 1 else "")
