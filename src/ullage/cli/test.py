"""``ullage test``: run law tests."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ullage import progress
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write
from ullage.cli.parser import Once, VerbParser
from ullage.findings import UsageError

SUMMARY = "runs the law tests: rows that are given, and what is expected of them"


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


def run(args: Namespace) -> ExitCode:
    """Print what became of each case. Raises UsageError and PolicyError."""
    for option, given in (("--facts", args.facts), ("--fail-on", args.fail_on)):
        if given:
            raise UsageError(
                f"`ullage test` does not take `{option}`", "a law test gives its own rows"
            )
    if "" in args.paths:
        raise UsageError("a path is empty", "write `.` for the working folder")
    with progress.shown(sys.stderr):
        # Imported here: the solver takes longer to load than `--help` takes to answer.
        from ullage.folders import folders
        from ullage.lawtests.running import default_tests, read_cases, run_tests
        from ullage.policy import Policy
        from ullage.yamlnodes import collector_paused

        with collector_paused():
            rules, _ = folders(args.rules, None, rows=True)
            paths = [Path(word) for word in args.paths] or [default_tests(rules[0])]
            cases = read_cases(paths)
            report = run_tests(
                Policy.load(rules, rows={}),
                cases,
                choice=args.choice,
                fail_fast=args.fail_fast,
                every_case=args.every_case,
            )
    write(renderer(args.format, sys.stdout).tests(report))
    return ExitCode.FINE if report.sound else ExitCode.INVALID
