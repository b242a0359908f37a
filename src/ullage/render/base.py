"""What every format offers, and what a format may know of the place it prints to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ullage.diff.result import Diff, History
from ullage.findings import Finding
from ullage.moves import Moves
from ullage.mutationreport import MutationReport
from ullage.results import Bindings, Plans, Standing
from ullage.testreport import TestReport


@dataclass(frozen=True, slots=True)
class View:
    """How to show things to a person.

    ``colour`` allows terminal colours, ``unicode`` characters beyond ASCII of our own;
    ``values`` gives each value of a standing a line with its exact figure.
    """

    colour: bool = False
    unicode: bool = True
    values: bool = False


class Renderer(Protocol):
    """One format. Each method returns the whole text, ending in a newline unless it is empty."""

    def standings(self, standings: Sequence[Standing]) -> str:
        """The standings, in the order given."""
        ...

    def plans(self, plans: Plans) -> str:
        """The plans, in the order given, with what was supposed for them."""
        ...

    def moves(self, moves: Moves) -> str:
        """What a what-if moves, with what was supposed for it."""
        ...

    def diff(self, diff: Diff) -> str:
        """What moves between two policies, and which changes moved it."""
        ...

    def history(self, history: History) -> str:
        """What moved the standings of a subject, commit by commit."""
        ...

    def findings(self, findings: Sequence[Finding]) -> str:
        """The findings, in the order given."""
        ...

    def bindings(self, bindings: Bindings) -> str:
        """The rows of an ad-hoc query."""
        ...

    def tests(self, report: TestReport) -> str:
        """What became of law tests, in the order given."""
        ...

    def mutation(self, report: MutationReport) -> str:
        """What became of mutants of rules, in the order given."""
        ...
