"""The results of law tests as text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ullage.findings import counted
from ullage.render.text import one_line
from ullage.testreport import CaseResult, Outcome, TestReport

_COLOURS = {
    Outcome.PASS: "32",
    Outcome.FAIL: "31",
    Outcome.ERROR: "31",
    Outcome.SKIPPED: "33",
}

Paint = Callable[[str, str], str]


def test_lines(report: TestReport, paint: Paint) -> Iterator[str]:
    """A line for each case that did not pass, or each; what is amiss below it; then the counts."""
    for result in report.results:
        if result.outcome is not Outcome.PASS or report.every_case:
            yield from _case(result, paint)
    counts = [(o, len(report.of(o))) for o in Outcome]
    said = ", ".join(
        paint(f"{n} {_PAST[o]}", _COLOURS[o]) for o, n in counts if n or o is Outcome.PASS
    )
    left = f"; {counted(report.left_out, 'case')} not run" if report.left_out else ""
    yield f"{counted(len(report.results), 'case')}: {said}{left}"


_PAST = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.ERROR: "in error",
    Outcome.SKIPPED: "skipped",
}


def _case(result: CaseResult, paint: Paint) -> Iterator[str]:
    word = paint(result.outcome.value, _COLOURS[result.outcome])
    yield f"{word} {result.position}: {one_line(result.name)}"
    if result.reason:
        yield f"  {one_line(result.reason)}"
    for mismatch in result.mismatches:
        yield f"  {mismatch.position}: {one_line(mismatch.message)}"
