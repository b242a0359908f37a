"""``ullage test``: run law tests."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ullage import progress
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write
from ullage.cli.parser import Once, VerbParser
from ullage.cli.reporting import write_invalid, write_report
from ullage.findings import PolicyError, UsageError, counted
from ullage.render import FORMATS, REPORT_FORMATS
from ullage.render.tests import percent_text
from ullage.testreport import TestReport
from ullage.textfiles import shown_path

if TYPE_CHECKING:
    from ullage.lawtests import LawCase
    from ullage.mutationreport import MutationReport
    from ullage.policy import Policy

PARTS = ("rules", "conditions")
"""What coverage counts."""

SUMMARY = "runs the law tests: rows that are given, and what is expected of them"

PRINTS = (*FORMATS, *REPORT_FORMATS)


def arguments(parser: VerbParser) -> None:
    """Add which law tests to run, and how."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a file or folder of law tests (default: tests/laws, else tests, beside the rules)",
    )
    parser.add_argument(
        "-k",
        dest="choice",
        action=Once,
        metavar="EXPR",
        help="run the cases alone whose file, law or name holds these words, joined by and, or, "
        "not",
    )
    parser.add_argument("-v", dest="every_case", action="store_true", help="give each case a line")
    parser.add_argument(
        "--fail-fast", action="store_true", help="end at the first case that fails or errs"
    )
    parser.add_argument(
        "-j",
        dest="jobs",
        type=_jobs,
        action=Once,
        metavar="N",
        help="judge in so many processes (default: one for each core)",
    )
    parser.add_argument(
        "--watch", action="store_true", help="run again whenever a file has changed"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="write what is concluded into cases that fail or expect nothing yet, for you to read",
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="tell which rules and conditions no case has shown",
    )
    parser.add_argument(
        "--threshold",
        action="append",
        type=_threshold,
        default=[],
        metavar="[rules=|conditions=]PERCENT",
        help="with --coverage, exit with 3 where less of them is covered; repeatable",
    )
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="tell which small faults in the rules no case notices",
    )
    parser.add_argument(
        "--in",
        dest="mutated",
        action="append",
        type=_path,
        default=[],
        metavar="PATH",
        help="with --mutate, in the rules of this file or folder alone; repeatable",
    )


def _path(word: str) -> Path:
    """A path. Raises UsageError for an empty one, which ``Path`` takes for ``.``."""
    if not word:
        raise UsageError("a path is empty", "write `.` for the working folder")
    return Path(word)


def _jobs(word: str) -> int:
    """How many processes to judge in. Raises UsageError."""
    if re.fullmatch(r"[1-9][0-9]{0,2}", word) is None:
        raise UsageError(f"`-j` does not take `{word}`", "it takes a number from 1 to 999")
    return int(word)


def _threshold(word: str) -> tuple[tuple[str, ...], Fraction]:
    """What is to be covered, and how much of it. Raises UsageError."""
    name, equals, figure = word.rpartition("=")
    match = re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{1,6})?", figure)
    if (equals and name not in PARTS) or match is None or Fraction(figure) > 100:
        raise UsageError(
            f"`--threshold` does not take `{word}`",
            "it takes a number up to 100 for both, or `rules=100`, or `conditions=95`",
        )
    return (name,) if equals else PARTS, Fraction(figure)


def run(args: Namespace) -> ExitCode:
    """Print what became of each case. Raises UsageError and PolicyError."""
    for option, given, why in (
        ("--fail-on", args.fail_on, "a law test says what it expects"),
        ("--on", args.on, "a law test is of what is concluded, which no waiver changes"),
    ):
        if given:
            raise UsageError(f"`ullage test` does not take `{option}`", why)
    if "" in args.paths:
        raise UsageError("a path is empty", "write `.` for the working folder")
    for other, given in (("--fail-fast", args.fail_fast), ("--watch", args.watch)):
        if args.record and given:
            raise UsageError(
                f"`--record` stands beside `{other}`", "record once, all cases or those of `-k`"
            )
    if args.threshold and not args.coverage:
        raise UsageError("`--threshold` stands without `--coverage`", "give both")
    for other, given in (
        ("--record", args.record),
        ("--watch", args.watch),
        ("--fail-fast", args.fail_fast),
        ("--coverage", args.coverage),
    ):
        if args.mutate and given:
            raise UsageError(f"`--mutate` stands beside `{other}`", "give one of the two")
    if args.mutated and not args.mutate:
        raise UsageError("`--in` stands without `--mutate`", "give both")
    return _watch(args) if args.watch else _once(args)


def _watch(args: Namespace) -> ExitCode:
    """Run whenever a file has changed, until the user ends it; the status of the last run."""
    from ullage.folders import folders
    from ullage.watching import rounds

    rules, facts = folders(args.rules, args.facts, rows=False)
    code: ExitCode | None = None
    try:
        for _ in rounds([*rules, *facts, *_paths(args, rules)]):
            try:
                code = _once(args)
            except PolicyError as error:
                write_invalid(args, error.findings)
                code = ExitCode.INVALID
            except UsageError as error:
                if code is None:
                    raise
                # What was there a moment ago may be on its way.
                say(f"error: {error.message}", error.help)
                code = ExitCode.COULD_NOT_RUN
            say("waits for a file to change; `Ctrl-C` ends it")
    except KeyboardInterrupt:
        code = code or ExitCode.FINE
        say(f"ended; the last run exits with {code.value}")
    return code or ExitCode.FINE


def _paths(args: Namespace, rules: Sequence[Path]) -> list[Path]:
    """The law tests to run. Raises UsageError."""
    from ullage.lawtests.running import default_tests

    return [Path(word) for word in args.paths] or [default_tests(rules[0])]


def _once(args: Namespace) -> ExitCode:
    with progress.shown(sys.stderr):
        # Imported here: the solver takes longer to load than `--help` takes to answer.
        from ullage.folders import folders
        from ullage.lawtests.running import (
            equivalent_mutants,
            read_cases,
            record_cases,
            run_tests,
        )
        from ullage.policy import Policy
        from ullage.processes import available
        from ullage.yamlnodes import collector_paused

        with collector_paused():
            rules, facts = folders(args.rules, args.facts, rows=False)
            paths = _paths(args, rules)
            equivalents = equivalent_mutants(rules[0])
            cases = read_cases(paths, may_be_empty=args.record, besides=equivalents)
            on_catalog = any(case.on_catalog for case in cases)
            if args.facts and not on_catalog:
                raise UsageError(
                    "no law test stands on facts, which `--facts` names",
                    "one that does says `facts: catalog`",
                )
            policy = (
                Policy.read(rules, facts, override=args.override)
                if on_catalog
                else Policy.read(rules, [], rows={})
            )
            report = run_tests(
                policy,
                cases,
                choice=args.choice,
                fail_fast=args.fail_fast,
                every_case=args.every_case,
                covered=args.coverage,
                processes=args.jobs or available(),
            )
            if args.record:
                report = record_cases(policy, cases, report, paths, equivalents)
            mutants = None
            if args.mutate and report.sound:
                mutants = _mutated(args, policy, cases, report, equivalents)
    if mutants is not None:
        return _tell_mutants(args, mutants, equivalents)
    missed = _missed(report, args.threshold)
    code = ExitCode.FINE if report.sound and not missed else ExitCode.INVALID
    if args.format in REPORT_FORMATS:
        from ullage.itemized import of_tests

        write_report(args, of_tests(report, policy.laws), code)
    else:
        write(renderer(args.format, sys.stdout).tests(report))
    for line in missed:
        say(line)
    if args.mutate:
        say(
            "no mutant was judged, since not all cases pass as the rules are",
            "mend these first, or pass over them with `-k`",
        )
    return code


def _mutated(
    args: Namespace,
    policy: Policy,
    cases: Sequence[LawCase],
    report: TestReport,
    equivalents: Path,
) -> MutationReport:
    """What became of the mutants of the rules. Raises UsageError and PolicyError."""
    from ullage.lawtests.mutating import chosen_files, run_mutation
    from ullage.processes import available

    return run_mutation(
        policy,
        cases,
        report,
        files=chosen_files(policy, args.mutated),
        equivalents=equivalents,
        processes=args.jobs or available(),
        entries=args.every_case,
    )


def _tell_mutants(args: Namespace, report: MutationReport, equivalents: Path) -> ExitCode:
    """Print what became of mutants, and on stderr what to do about survivors."""
    from ullage.mutationreport import Fate

    code = ExitCode.FINE if report.sound else ExitCode.INVALID
    if args.format in REPORT_FORMATS:
        from ullage.itemized import of_mutation

        write_report(args, of_mutation(report), code)
    else:
        write(renderer(args.format, sys.stdout).mutation(report))
    survivors = len(report.of(Fate.SURVIVED))
    if survivors:
        say(
            f"{counted(survivors, 'mutant')} survived",
            "write a case that tells each from its rule, or list it as equivalent: `-v` prints an "
            f"entry of `{shown_path(equivalents)}`",
        )
    return code


def _missed(
    report: TestReport, thresholds: Iterable[tuple[tuple[str, ...], Fraction]]
) -> list[str]:
    """Which thresholds the coverage misses, a line each."""
    if report.coverage is None:
        return []
    return [
        f"{percent_text(found)} of {part} are covered, "
        f"and `--threshold` asks for {percent_text(least)}"
        for parts, least in thresholds
        for part in parts
        if (found := report.coverage.percent(part)) < least
    ]
