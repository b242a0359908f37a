"""Text for people: aligned columns, colours where a terminal shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ullage.diff.result import Diff, History
from ullage.findings import Finding, Severity
from ullage.moves import Moves
from ullage.mutationreport import MutationReport
from ullage.render.base import View
from ullage.render.diffs import DiffBlocks, HistoryBlocks
from ullage.render.moves import MoveBlocks
from ullage.render.mutation import mutation_lines
from ullage.render.plans import PlanBlocks
from ullage.render.tests import test_lines
from ullage.render.text import label, one_line
from ullage.render.waivers import waiver_lines
from ullage.results import (
    Bindings,
    Plans,
    Quantity,
    Standing,
    StandingClass,
    Term,
    exact_text_of,
    value_text,
)
from ullage.testreport import TestReport

_CLASS_WIDTH = max(len(c.value) for c in StandingClass)
_WIDEST_SUBJECT = 40
_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = "1", "2", "31", "32", "33", "36"
_CLASS_COLOURS = {
    StandingClass.REFUSED: _RED,
    StandingClass.UNESTABLISHED: _YELLOW,
    StandingClass.ESTABLISHED: _GREEN,
}


class HumanRenderer:
    """The ``human`` format."""

    def __init__(self, view: View) -> None:
        """Keep the view: colours, characters, and whether values get lines of their own."""
        self._view = view

    def standings(self, standings: Sequence[Standing]) -> str:
        """Grouped by law; in each the refusals first, one line a subject."""
        if not standings:
            return "no standings\n"
        laws: dict[str, list[Standing]] = {}
        for standing in standings:
            laws.setdefault(standing.law, []).append(standing)
        # One width for all laws, so that the whole screen lines up; a rare long name sticks out.
        widest = max(len(one_line(s.subject_text)) for s in standings)
        width = min(widest, _WIDEST_SUBJECT)
        return "\n".join(self._law(name, group, width) for name, group in laws.items())

    def tests(self, report: TestReport) -> str:
        """A line for each case that did not pass, with what is amiss below it; then the counts."""
        return "".join(f"{line}\n" for line in test_lines(report, self._paint))

    def mutation(self, report: MutationReport) -> str:
        """A line for each survivor, with how many cases tell it below; findings; the counts."""
        *survivors, counts = mutation_lines(report, self._paint)
        text = "".join(f"{line}\n" for line in survivors)
        if report.findings:
            text += f"{self.findings(report.findings)}"
        return f"{text}{counts}\n"

    def plans(self, plans: Plans) -> str:
        """A block a subject, or a table of subjects; what was supposed stands before them."""

        def told(standing: Standing) -> tuple[str, str, tuple[str, ...]]:
            kind = self._paint(standing.standing.value, _CLASS_COLOURS[standing.standing])
            return kind, said(standing), tuple(waiver_lines(standing))

        return PlanBlocks(self._view, told, lambda title: self._paint(title, _BOLD)).text(plans)

    def moves(self, moves: Moves) -> str:
        """What was supposed, what moves of each law and plan, and how much stays."""
        return self._moves().text(moves)

    def diff(self, diff: Diff) -> str:
        """Which way it goes, what moves and by what, and the changes that moved nothing."""
        return DiffBlocks(self._moves()).text(diff)

    def history(self, history: History) -> str:
        """A block a law: what it says now, and since when; then each move, the newest first."""
        return HistoryBlocks(self._moves(), said_whole).text(history)

    def _moves(self) -> MoveBlocks:
        def painted(kind: StandingClass) -> str:
            return self._paint(kind.value, _CLASS_COLOURS[kind])

        return MoveBlocks(self._view, painted, said_whole, lambda title: self._paint(title, _BOLD))

    def findings(self, findings: Sequence[Finding]) -> str:
        """Message, positions and help of each; then how many there are. Empty where none is."""
        if not findings:
            return ""
        blocks = [self._finding(f) for f in findings]
        errors = sum(f.severity is Severity.ERROR for f in findings)
        counts = [(errors, "error"), (len(findings) - errors, "warning")]
        total = ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)
        return "\n".join([*blocks, f"{total}\n"])

    def bindings(self, bindings: Bindings) -> str:
        """A table of the rows, then how many there are."""
        if not bindings.variables:
            return "holds\n" if bindings.rows else "does not hold\n"
        rows = [[one_line(value_text(v)) for v in row] for row in bindings.rows]
        widths = [max(map(len, cells)) for cells in zip(bindings.variables, *rows, strict=True)]
        heads = [f"{v:<{w}}" for v, w in zip(bindings.variables, widths, strict=True)]
        lines = ["  ".join(self._paint(h, _BOLD) for h in heads)] if rows else []
        lines += ["  ".join(f"{c:<{w}}" for c, w in zip(r, widths, strict=True)) for r in rows]
        count = f"{len(rows) or 'no'} row{'s' * (len(rows) != 1)}"
        return "".join(f"{line.rstrip()}\n" for line in [*lines, count])

    def _law(self, name: str, standings: Sequence[Standing], width: int) -> str:
        tally = Counter(s.standing for s in standings)
        waived = sum(s.waived for s in standings)
        more = {StandingClass.REFUSED: f" ({waived} waived)"} if waived else {}
        dot = " · " if self._view.unicode else ", "
        counts = dot.join(
            self._paint(f"{tally[c]} {c.value}", _CLASS_COLOURS[c]) + more.get(c, "")
            for c in StandingClass
            if tally[c]
        )
        column = 2 + _CLASS_WIDTH + 2 + width + 4
        head = f"{name:<{column - 2}}  "
        order = list(StandingClass)
        lines = [self._paint(head, _BOLD) + counts]
        for standing in sorted(standings, key=lambda s: order.index(s.standing)):
            lines += self._standing(standing, width)
        return "".join(f"{line}\n" for line in lines)

    def _standing(self, standing: Standing, width: int) -> list[str]:
        kind = self._paint(
            f"{standing.standing.value:<{_CLASS_WIDTH}}", _CLASS_COLOURS[standing.standing]
        )
        text = said(standing)
        if not self._view.values:
            text = "; ".join(t for t in (text, _unsaid(text, standing.values)) if t)
        line = f"  {kind}  {one_line(standing.subject_text):<{width}}    {one_line(text)}"
        waivers = [f"      {one_line(w)}" for w in waiver_lines(standing)]
        details = _details(standing.values) if self._view.values else []
        return [line.rstrip(), *waivers, *(self._paint(d, _DIM) for d in details)]

    def _finding(self, finding: Finding) -> str:
        colour = _RED if finding.severity is Severity.ERROR else _YELLOW
        lines = [f"{self._paint(label(finding), colour)}: {one_line(finding.message)}"]
        for position in finding.positions:
            note = f"  {position.note}" if position.note else ""
            lines.append(f"  {one_line(str(position) + note)}")
        if finding.help:
            lines.append(f"  {self._paint('help:', _CYAN)} {one_line(finding.help)}")
        return "".join(f"{line}\n" for line in lines)

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._view.colour else text


def said(standing: Standing) -> str:
    """The standing in words: the verdict's, its reasons', and what is still to be read."""
    words = standing.words
    if not words and standing.verdict != standing.standing.value:
        words = standing.verdict
    parts = [words, *(_words(r) for r in standing.reasons)]
    if standing.obligations:
        parts.append("to read: " + ", ".join(_words(o) for o in standing.obligations))
    return "; ".join(p for p in parts if p)


def said_whole(standing: Standing) -> str:
    """The standing in words, with its waivers."""
    return "; ".join(t for t in (said(standing), *waiver_lines(standing)) if t)


def _words(term: Term) -> str:
    return term.words or str(term)


def _unsaid(text: str, values: Iterable[tuple[str, Quantity]]) -> str:
    """The values that the words do not show already, as ``name display``."""
    left = []
    for name, quantity in values:
        shown = rf"(?<![\w.]){re.escape(quantity.display)}(?![\w.]*\w)"
        # One mention speaks for one value: two values may well show the same figure.
        text, mentions = re.subn(shown, "", text, count=1)
        if not mentions:
            left.append(f"{name} {quantity.display}")
    return ", ".join(left)


def _details(values: Sequence[tuple[str, Quantity]]) -> list[str]:
    """A line a value: its name, its display and, where that says more, the exact figure."""
    names = max((len(name) for name, _ in values), default=0)
    shown = max((len(q.display) for _, q in values), default=0)
    lines = []
    for name, quantity in values:
        figure = exact_text_of(quantity) if exact_text_of(quantity) != quantity.display else ""
        lines.append(f"      {name:<{names}}  {quantity.display:<{shown}}  {figure}".rstrip())
    return lines
