"""Printing what a run tells in a format that programs read, and what makes a policy invalid."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ullage import __version__
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write, write_program
from ullage.findings import Finding, UsageError
from ullage.render import FORMATS, REPORT_FORMATS

if TYPE_CHECKING:
    from ullage.items import Report


def write_report(args: Namespace, report: Report, code: ExitCode) -> None:
    """Print a report of the run that ends with this code, in the chosen format and in UTF-8.

    Raises UsageError where the working folder is gone, and where the system refuses to write.
    """
    # Imported here: XML takes longer to load than `--help` takes to answer.
    from ullage.items import Run
    from ullage.render.reports import REPORTS
    from ullage.toplevel import Top

    try:
        here = Path.cwd()
    except OSError as error:
        raise UsageError("the working folder is gone", "run this in one that is there") from error
    run = Run(args.verb, __version__, code.value, code.sentence, Top.of(here))
    write_program(REPORTS[args.format](report, run))


def write_invalid(args: Namespace, findings: Iterable[Finding]) -> None:
    """Print what makes a policy invalid, for a verb whose output it is not.

    A person reads it on stderr; a program that asked for another format gets it on stdout.
    """
    found = tuple(findings)
    if args.format in REPORT_FORMATS:
        from ullage.itemized import of_findings

        write_report(args, of_findings(found), ExitCode.INVALID)
        return
    known = args.format if args.format in FORMATS else "human"
    stream = sys.stderr if known == "human" else sys.stdout
    write(renderer(known, stream).findings(found), stream)
