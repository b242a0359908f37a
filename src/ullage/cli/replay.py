"""``ullage replay``: whether a decision record still holds, or what differs."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write
from ullage.cli.parser import VerbParser
from ullage.cli.run import weigh, with_policy
from ullage.findings import Finding, errors_of

if TYPE_CHECKING:
    from ullage.policy import Policy

SUMMARY = "concludes again what decision records hold, and says what differs"


def arguments(parser: VerbParser) -> None:
    """Add the records."""
    parser.add_argument(
        "records",
        nargs="+",
        type=Path,
        metavar="RECORD",
        help="a file that `standings --record` wrote",
    )


def run(args: Namespace) -> ExitCode:
    """Print what differs, and what is to be noted; ``--fail-on`` weighs all standings.

    Raises UsageError for a file that cannot be read, PolicyError where the policy is invalid.
    """
    # Imported here: no other verb needs it.
    from ullage.records.record import Record
    from ullage.records.replay import replay

    records = [Record.read(path) for path in args.records]

    def work(policy: Policy) -> tuple[list[Finding], ExitCode]:
        findings: list[Finding] = []
        for record in records:
            found = replay(record, policy)
            findings += found.findings
            if found.equal:
                count = len(record.standings)
                are = "1 standing is" if count == 1 else f"{count} standings are"
                say(f"{record.origin}: {are} as recorded")
        return findings, weigh(policy.standings() if args.fail_on else (), args.fail_on)

    findings, code = with_policy(args, work)
    write(renderer(args.format, sys.stdout).findings(findings))
    return ExitCode.INVALID if errors_of(findings) else code
