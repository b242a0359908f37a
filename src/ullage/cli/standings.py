"""``ullage standings``: what is established, refused or unestablished, and why."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write, write_file, write_program
from ullage.cli.parser import Once, VerbParser
from ullage.cli.reporting import write_report
from ullage.cli.run import weighed, with_policy
from ullage.findings import UsageError
from ullage.render import FORMATS, REPORT_FORMATS
from ullage.results import Standing
from ullage.textfiles import shown_path

if TYPE_CHECKING:
    from ullage.items import Report
    from ullage.policy import Policy
    from ullage.records.record import Record

SUMMARY = "prints every standing, with reasons, obligations and values"

PRINTS = (*FORMATS, *REPORT_FORMATS)

_STDOUT = "-"


def arguments(parser: VerbParser) -> None:
    """Add which standings to print, and how."""
    parser.add_argument(
        "laws", nargs="*", metavar="LAW", help="a law to print the standings of (default: all)"
    )
    parser.add_argument(
        "--subject",
        action=Once,
        metavar="S",
        help="print this subject's standings alone; its parts joined by /",
    )
    parser.add_argument(
        "--values",
        action="store_true",
        help="give each value a line with its exact figure (human format; json always has them)",
    )
    parser.add_argument(
        "--dump",
        metavar="FILE",
        help="write the lowered program with its facts to FILE, which stock clingo runs; "
        "- writes it to stdout in place of the standings",
    )
    parser.add_argument(
        "--record",
        action=Once,
        metavar="DIR",
        help="write a record of the standings into DIR, with digests of what each rests on",
    )


def run(args: Namespace) -> ExitCode:
    """Print the chosen standings; ``--fail-on`` weighs those alone.

    Raises UsageError and PolicyError.
    """

    def work(policy: Policy) -> tuple[Sequence[Standing], str, Record | None, Report | None]:
        standings = policy.standings(args.laws, args.subject)
        record = policy.record(args.laws, args.subject) if args.record else None
        report = _report(policy, standings, args) if args.format in REPORT_FORMATS else None
        return standings, policy.dump() if args.dump else "", record, report

    if args.dump == "":
        raise UsageError("`--dump` names no file", "write `-` for stdout")
    if args.record == "":
        raise UsageError("`--record` names no folder", "write `.` for the working folder")
    standings, program, record, report = with_policy(args, work)
    code, lines = weighed(standings, args.fail_on)
    if record is not None:
        _write(record, Path(args.record))
    if args.dump == _STDOUT:
        write_program(program)
    else:
        if args.dump:
            write_file(Path(args.dump), program)
        if report is not None:
            write_report(args, report, code)
        else:
            write(renderer(args.format, sys.stdout, values=args.values).standings(standings))
    for line in lines:
        say(line)
    return code


def _report(policy: Policy, standings: Sequence[Standing], args: Namespace) -> Report:
    from ullage.itemized import of_standings
    from ullage.places import Places

    places = Places(policy.book.laws, policy.facts)
    return of_standings(standings, places, policy.laws, args.fail_on)


def _write(record: Record, folder: Path) -> None:
    """Write a record, and say where. Raises UsageError."""
    path = record.write(folder)
    say(f"recorded in {shown_path(path)}")
    if record.masked and record.key is None:
        say(
            "the digests of masked values were made without a key, so that values can be guessed",
            "set `ULLAGE_RECORD_KEY` to a secret of 16 characters or more",
        )
