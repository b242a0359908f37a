"""What became of mutants of a policy's rules, as values that every format can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ullage.findings import Finding, Position, counted, errors_of


class Fate(StrEnum):
    """What becomes of a mutant; one is equivalent where somebody says so, and why."""

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"


@dataclass(frozen=True, slots=True)
class MutantResult:
    """What became of one mutant: ``rule`` (its head) with ``before`` changed into ``after``.

    ``mutation`` is the word of what was done; ``after`` is empty where something was taken away.
    ``apart`` counts the cases that might tell it from its rule. ``killed_by`` is the name of a case
    that did, and ``case`` its place. ``reason`` says why it is equivalent; ``entry`` is what would
    list a survivor as such, line by line.
    """

    position: Position
    rule: str
    mutation: str
    before: str
    after: str
    fate: Fate
    apart: int
    killed_by: str = ""
    case: Position | None = None
    reason: str = ""
    entry: Sequence[str] = ()

    @property
    def change(self) -> str:
        """What was done, in a line."""
        becomes = f" -> `{self.after}`" if self.after else ""
        return f"{self.mutation} `{self.before}`{becomes}"

    @property
    def seen(self) -> str:
        """How many cases might tell it from its rule, and did not, in words."""
        if not self.apart:
            return "no case tells it from its rule"
        verb = "passes" if self.apart == 1 else "pass"
        return f"{counted(self.apart, 'case')} might tell it from its rule, and {verb}"


@dataclass(frozen=True, slots=True)
class MutationReport:
    """What became of each mutant, in the order of places, and how many ``cases`` were tried.

    ``findings`` are those of the list of equivalent mutants. ``entries`` says whether people are
    shown the entry of each survivor; ``left_out`` counts the cases that a choice passed over or
    that are skipped.
    """

    results: tuple[MutantResult, ...]
    cases: int
    findings: tuple[Finding, ...] = ()
    left_out: int = 0
    entries: bool = False

    def of(self, fate: Fate) -> list[MutantResult]:
        """The mutants of which that became."""
        return [r for r in self.results if r.fate is fate]

    @property
    def sound(self) -> bool:
        """Whether none survived, and the list of equivalent ones holds."""
        return not self.of(Fate.SURVIVED) and not errors_of(self.findings)
