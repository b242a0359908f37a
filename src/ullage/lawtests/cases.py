"""Law tests as values: cases, the rows they are of, and what they expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ullage.findings import Finding, Position

SOURCE = "law test"
"""The source of a row that names none: a test's rows are nobody's reading."""

Cell = str | tuple[str, ...]
Row = Mapping[str, Cell]
Rows = Mapping[str, tuple[Row, ...]]

Subject = tuple[tuple[str, str], ...]
"""A subject's parts by name, as an expectation writes them."""


def value_cell(name: str) -> str:
    """The cell of an expectation that a value is."""
    return f"values/{name}"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a case expects of one standing; None and missing values are not compared.

    With ``plan`` it is of that plan, which has values alone. ``at`` says where each cell stands.
    """

    law: str
    subject: Subject
    position: Position
    at: Mapping[str, Position] = field(default_factory=dict)
    verdict: str | None = None
    standing: str | None = None
    words: str | None = None
    reasons: frozenset[str] | None = None
    obligations: frozenset[str] | None = None
    values: tuple[tuple[str, str | None], ...] = ()
    plan: str = ""

    def place(self, cell: str) -> Position:
        """Where a cell stands, or the expectation itself."""
        return self.at.get(cell, self.position)

    @property
    def name(self) -> str:
        """The law or plan and the subject, as mismatches begin."""
        return f"{self.owner[1]} of {'/'.join(part for _, part in self.subject)}"

    @property
    def owner(self) -> tuple[str, str]:
        """``law`` or ``plan``, and its name."""
        return ("plan", self.plan) if self.plan else ("law", self.law)


@dataclass(frozen=True, slots=True)
class LawCase:
    """One case: the rows shared by its file, its edits of them, and what it expects.

    ``law`` is that of its file; ``skip`` says why it is not judged, where it is not. One that is
    ``on_catalog`` has the facts of the policy besides its rows.
    """

    name: str
    position: Position
    shared: Rows
    remove: tuple[str, ...] = ()
    set: tuple[tuple[str, Cell | None], ...] = ()
    given: Rows | None = None
    expect: tuple[Expectation, ...] = ()
    absent: tuple[Expectation, ...] = ()
    findings: frozenset[str] = frozenset()
    law: str = ""
    skip: str = ""
    on_catalog: bool = False


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The cases of one file, and what is wrong with it."""

    cases: tuple[LawCase, ...]
    findings: tuple[Finding, ...]
