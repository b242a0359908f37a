"""What a run of law tests found, as values that every format can tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from ullage.findings import Position


class Outcome(StrEnum):
    """How a case ends."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One cell that differs: what of which subject, as expected and as found.

    ``position`` is the expectation's; ``subject`` is empty where it is of the case as a whole.
    """

    position: Position
    subject: str
    what: str
    expected: str
    found: str
    message: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended. ``reason`` says why it was skipped, or could not be judged.

    ``duration`` is in seconds: the case's share of what all those took that were judged with it.
    """

    file: str
    position: Position
    name: str
    law: str
    outcome: Outcome
    mismatches: tuple[Mismatch, ...] = ()
    reason: str = ""
    duration: float = 0.0


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A rule or condition (``what``) that no case has shown, and why."""

    what: str
    position: Position
    reason: str


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """How many rules and conditions a file of rules has, and how many of them are covered."""

    file: str
    rules: int
    rules_covered: int
    conditions: int
    conditions_covered: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of the rules the cases have shown, by file, and what they have not."""

    files: tuple[FileCoverage, ...]
    uncovered: tuple[Uncovered, ...]

    def percent(self, what: str) -> Fraction:
        """How many of a hundred ``rules`` or ``conditions`` are covered."""
        whole = sum(getattr(f, what) for f in self.files)
        covered = sum(getattr(f, f"{what}_covered") for f in self.files)
        return Fraction(100 * covered, whole) if whole else Fraction(100)


@dataclass(frozen=True, slots=True)
class TestReport:
    """The results of a run, in the order of files and cases.

    ``left_out`` counts the cases that were not run: those that a choice passed over, and those
    after the first that failed, where the run was to end there. ``seconds`` is the whole run.
    ``coverage`` is there where it was asked for.
    """

    __test__ = False

    results: tuple[CaseResult, ...]
    left_out: int = 0
    seconds: float = 0.0
    every_case: bool = False
    coverage: Coverage | None = None

    def of(self, *outcomes: Outcome) -> list[CaseResult]:
        """The results that ended so."""
        return [r for r in self.results if r.outcome in outcomes]

    @property
    def sound(self) -> bool:
        """Whether no case failed or erred."""
        return not self.of(Outcome.FAIL, Outcome.ERROR)


def outcome_of(mismatches: Sequence[Mismatch], reason: str) -> Outcome:
    """How a case that was judged ended."""
    if reason:
        return Outcome.ERROR
    return Outcome.FAIL if mismatches else Outcome.PASS


def messages(result: CaseResult) -> list[str]:
    """What is amiss with a case, a line each."""
    return [*([result.reason] if result.reason else []), *_texts(result.mismatches)]


def _texts(mismatches: Iterable[Mismatch]) -> list[str]:
    return [m.message for m in mismatches]
