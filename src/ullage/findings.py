"""What is wrong with declarations, facts or rules, as values that can be collected and sorted.

A finding has a code (one page each in ``docs/errors``), one line of message, the positions it
speaks of (the first is where to change something) and, where one is known, a hint.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Severity(Enum):
    """How bad a finding is: an error makes the policy invalid, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file: line and column count from 1; column counts characters.

    ``note`` says what stands there, where that is not plain from the message.
    """

    file: str
    line: int
    column: int
    note: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: lower case, no full stop, user input in backticks, one line."""

    code: str
    message: str
    positions: tuple[Position, ...] = ()
    help: str = ""
    severity: Severity = Severity.ERROR

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order by place, then by code and message, so that output never depends on luck."""
        if not self.positions:
            return ("", 0, 0, self.code, self.message)
        first = self.positions[0]
        return (first.file, first.line, first.column, self.code, self.message)


class PolicyError(Exception):
    """Declarations, facts or rules are invalid; carries every finding of the run, in order."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(sorted(set(findings), key=lambda f: f.sort_key))
        super().__init__("; ".join(f"{f.code}: {f.message}" for f in self.findings))


class UsageError(Exception):
    """The run could not start: a missing folder, an unknown name on the command line."""

    def __init__(self, message: str, help: str = "") -> None:
        self.message = message
        self.help = help
        super().__init__(message)


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that make a policy invalid."""
    return [f for f in findings if f.severity is Severity.ERROR]


def similar(name: str, known: Iterable[str], what: str) -> str:
    """A hint that names the nearest known word, or "" where none is near.

    ``what`` is the kind of thing, as in "a similar column is `capacity`".
    """
    near = _nearest(name, frozenset(known))
    return f"a similar {what} is `{near}`" if near else ""


@functools.lru_cache(maxsize=1024)
def _nearest(name: str, known: frozenset[str]) -> str:
    # A catalog of mistakes repeats few names, and a comparison with all that is known is dear.
    candidates = sorted(known)
    near = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return next(iter(near or [c for c in candidates if c.lower() == name.lower()]), "")


def counted(number: int, what: str) -> str:
    """A number of things: "1 argument", "2 arguments"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(names: Sequence[str]) -> str:
    """Names as a list in backticks, in the given order: "`a`, `b`, `c`"."""
    return ", ".join(f"`{n}`" for n in names)
