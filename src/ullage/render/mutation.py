"""What became of mutants of rules as text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ullage.findings import counted
from ullage.mutationreport import Fate, MutationReport
from ullage.render.text import one_line

_COLOURS = {Fate.KILLED: "32", Fate.SURVIVED: "31", Fate.EQUIVALENT: "33"}


def mutation_lines(report: MutationReport, paint: Callable[[str, str], str]) -> Iterator[str]:
    """A line for each survivor, how many cases might tell it, and its entry; then the counts."""
    for result in report.of(Fate.SURVIVED):
        word = paint(result.fate.value, _COLOURS[result.fate])
        yield f"{word} {one_line(f'{result.position}: {result.change}')}"
        yield f"  {result.seen}"
        if report.entries:
            yield from (f"    {line}" for line in result.entry)
    counts = [(fate, len(report.of(fate))) for fate in Fate]
    said = ", ".join(
        paint(f"{n} {fate.value}", _COLOURS[fate]) for fate, n in counts if n or fate is Fate.KILLED
    )
    left = f"; {counted(report.left_out, 'case')} not run" if report.left_out else ""
    mutants = counted(len(report.results), "mutant")
    yield f"{mutants}: {said}; judged by {counted(report.cases, 'case')}{left}"
