"""Files and folders of law tests, read, chosen from and judged."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ullage.findings import Finding, PolicyError, Position, UsageError, errors_of
from ullage.formatting.files import column_order
from ullage.lawtests.batch import Batch
from ullage.lawtests.cases import LawCase
from ullage.lawtests.choosing import chooser
from ullage.lawtests.coverage import coverage
from ullage.lawtests.probes import probes
from ullage.lawtests.reading import load_cases
from ullage.lawtests.recording import (
    RECORDED,
    Record,
    Unrecordable,
    expects_nothing,
    recorded,
    write,
)
from ullage.processes import shared_out
from ullage.testreport import CaseResult, Outcome, TestReport
from ullage.textfiles import files_at, same_file, shown_path
from ullage.yamlnodes import YAML_ENDINGS

if TYPE_CHECKING:
    from ullage.policy import Policy

_AT_ONCE = 100
"""How many cases are judged before a run that ends at a failure looks for one."""

WORTH = 100
"""So many cases are worth a process of their own."""


def default_tests(rules: Path) -> Path:
    """The folder of law tests beside a folder of rules. Raises UsageError where there is none."""
    beside = Path(os.path.normpath(rules / ".."))
    places = (beside / "tests" / "laws", beside / "tests")
    for place in places:
        if place.is_dir():
            return place
    raise UsageError(
        f"no law tests stand beside `{shown_path(rules)}`: there is no folder `tests`",
        "name files or folders of law tests, as in `ullage test tests/laws`",
    )


def equivalent_mutants(rules: Path) -> Path:
    """Where the mutants that no law test can notice are listed, beside a folder of rules."""
    return Path(os.path.normpath(rules / "..")) / "tests" / "mutants.yaml"


def read_cases(
    paths: Sequence[Path], *, may_be_empty: bool = False, besides: Path | None = None
) -> list[LawCase]:
    """All cases of files, and of those below folders, each file once.

    The file ``besides`` is none of those below a folder.

    Raises UsageError where a path is missing or holds none, PolicyError with what is wrong in them.
    """
    files, findings = test_files(paths, besides)
    cases: list[LawCase] = []
    for file in files:
        loaded = load_cases(file, may_be_empty=may_be_empty)
        cases += loaded.cases
        findings += loaded.findings
    if errors_of(findings):
        raise PolicyError(findings)
    return cases


def test_files(paths: Sequence[Path], besides: Path | None) -> tuple[list[Path], list[Finding]]:
    """Files of law tests, and those below folders, each once, and what cannot be looked into.

    The file ``besides`` is none of those below a folder.
    Raises UsageError where a path is missing or holds none.
    """
    files: dict[Path, Path] = {}
    findings: list[Finding] = []
    for path in paths:
        below, found = files_at(path, YAML_ENDINGS, "name files or folders of law tests")
        findings += found
        for file in below:
            if file == path or besides is None or same_file(file) != same_file(besides):
                files.setdefault(same_file(file), file)
    if not files and not findings:
        named = ", ".join(f"`{shown_path(path)}`" for path in paths)
        raise UsageError(f"no law test stands below {named}", "law tests are `.yaml` files")
    return list(files.values()), findings


def record_cases(
    rules: Policy,
    cases: Sequence[LawCase],
    report: TestReport,
    paths: Sequence[Path],
    besides: Path | None = None,
) -> TestReport:
    """Write what is concluded into the files of cases that fail, or expect nothing.

    In the report that comes of it a recorded case is skipped, and has what was different; one that
    cannot be recorded errs, and says why. Raises UsageError where a file cannot be written.
    """
    files = {shown_path(file): file for file in test_files(paths, besides)[0]}
    by_place = {case.position: case for case in cases}
    records: list[Record] = []
    became: dict[Position, tuple[Outcome, str]] = {}
    for result in report.results:
        case = by_place[result.position]
        empty = expects_nothing(case) and result.outcome is Outcome.PASS
        if empty or result.outcome is Outcome.FAIL:
            try:
                records.append(recorded(case, rules))
            except Unrecordable as error:
                became[case.position] = Outcome.ERROR, f"not recorded: {error}"
    for case, why in write(records, files, column_order(rules.declarations)):
        became[case.position] = (
            (Outcome.ERROR, f"not recorded: {why}") if why else (Outcome.SKIPPED, RECORDED)
        )
    results = (
        dataclasses.replace(r, outcome=became[r.position][0], reason=became[r.position][1])
        if r.position in became
        else r
        for r in report.results
    )
    return dataclasses.replace(report, results=tuple(results))


def run_tests(
    rules: Policy,
    cases: Sequence[LawCase],
    *,
    choice: str | None = None,
    fail_fast: bool = False,
    every_case: bool = False,
    covered: bool = False,
    processes: int = 1,
) -> TestReport:
    """What became of the cases that ``choice`` chooses, or of all.

    With ``fail_fast`` nothing after the first that fails or errs is told; with ``covered`` it is
    told what of the rules the cases have shown. Many cases are shared out among so many
    ``processes``. Raises UsageError where nothing is left to run, PolicyError where the rules are
    invalid.
    """
    start = perf_counter()
    if errors := errors_of(rules.findings):
        raise PolicyError(errors)
    chosen = list(cases)
    if choice is not None:
        chooses = chooser(choice)
        chosen = [c for c in cases if chooses(f"{c.position.file}\n{c.law}\n{c.name}")]
        if not chosen:
            raise UsageError(
                f"`-k {choice}` chooses none of the {len(cases)} cases",
                "words are looked for in the file, law and name of each case",
            )
    if not chosen:
        raise UsageError("no law test is left to run", "name files or folders of law tests")
    probed = probes(rules.book.authored) if covered else None
    batch = Batch(rules, probed)
    results: list[CaseResult] = []
    step = _AT_ONCE if fail_fast else len(chosen)
    for first in range(0, len(chosen), step):
        results += _judged(batch, chosen[first : first + step], processes)
        failed = [i for i, r in enumerate(results) if r.outcome in (Outcome.FAIL, Outcome.ERROR)]
        if fail_fast and failed:
            del results[failed[0] + 1 :]
            break
    left_out = len(cases) - len(results)
    told = coverage(probed.of, batch.seen) if probed is not None else None
    return TestReport(tuple(results), left_out, perf_counter() - start, every_case, told)


def _judged(batch: Batch, cases: Sequence[LawCase], processes: int) -> list[CaseResult]:
    def judge(share: Sequence[LawCase]) -> tuple[list[CaseResult], set[str]]:
        return batch.judge(share), batch.seen

    results = {id(case): _skipped(case) for case in cases if case.skip}
    to_judge = [c for c in cases if not c.skip]
    most = min(processes, len(to_judge) // WORTH)
    for share, (judged, seen) in shared_out(judge, to_judge, most):
        results |= {id(case): result for case, result in zip(share, judged, strict=True)}
        batch.seen |= seen
    return [results[id(case)] for case in cases]


def _skipped(case: LawCase) -> CaseResult:
    at = case.position
    return CaseResult(at.file, at, case.name, case.law, Outcome.SKIPPED, reason=case.skip)
