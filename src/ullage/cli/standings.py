"""``ullage standings``: what is established, refused or unestablished, and why."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write, write_file, write_program
from ullage.cli.parser import Once, VerbParser
from ullage.cli.run import weigh, with_policy
from ullage.findings import UsageError
from ullage.results import Standing

if TYPE_CHECKING:
    from ullage.policy import Policy

SUMMARY = "prints every standing, with reasons, obligations and values"

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


def run(args: Namespace) -> ExitCode:
    """Print the chosen standings; ``--fail-on`` weighs those alone.

    Raises UsageError and PolicyError.
    """

    def work(policy: Policy) -> tuple[Sequence[Standing], str]:
        standings = policy.standings(args.laws, args.subject)
        return standings, policy.dump() if args.dump else ""

    if args.dump == "":
        raise UsageError("`--dump` names no file", "write `-` for stdout")
    standings, program = with_policy(args, work)
    if args.dump == _STDOUT:
        write_program(program)
    else:
        if args.dump:
            write_file(Path(args.dump), program)
        write(renderer(args.format, sys.stdout, values=args.values).standings(standings))
    return weigh(standings, args.fail_on)
