"""The results of law tests as text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from ullage.findings import counted
from ullage.render.text import one_line
from ullage.testreport import CaseResult, Coverage, Outcome, TestReport

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
    if report.coverage is not None:
        yield from coverage_lines(report.coverage)
    left = f"; {counted(report.left_out, 'case')} not run" if report.left_out else ""
    yield f"{counted(len(report.results), 'case')}: {said}{left}"


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """A line for each file of rules, and for each part that no case has shown."""
    width = max((len(one_line(f.file)) for f in coverage.files), default=0)
    for file in coverage.files:
        rules = f"{file.rules_covered}/{file.rules}"
        conditions = f"{file.conditions_covered}/{file.conditions}"
        yield f"{one_line(file.file):<{width}}  rules {rules:>9}  conditions {conditions:>9}"
    for part in coverage.uncovered:
        yield one_line(f"{part.position}: {part.what}: {part.reason}")
    rules, conditions = (percent_text(coverage.percent(w)) for w in ("rules", "conditions"))
    yield f"coverage: {rules} of rules, {conditions} of conditions"


def percent_text(percent: Fraction) -> str:
    """A percentage, rounded down: 100 % are all."""
    tenths = percent * 10 // 1
    return f"{tenths // 10} %" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10} %"


_PAST = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.ERROR: "in error",
    Outcome.SKIPPED: "skipped",
}


def _case(result: CaseResult, paint: Paint) -> Iterator[str]:
    word = paint(result.outcome.value, _COLOURS[result.outcome])
    yield f"{word} {one_line(f'{result.position}: {result.name}')}"
    if result.reason:
        yield f"  {one_line(result.reason)}"
    for mismatch in result.mismatches:
        yield f"  {one_line(f'{mismatch.position}: {mismatch.message}')}"
