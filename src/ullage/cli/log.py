"""``ullage log``: since when a standing holds, and what moved it, over the history."""

from __future__ import annotations

import sys
from argparse import Namespace

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write
from ullage.cli.parser import Once, VerbParser
from ullage.cli.run import weigh, working

SUMMARY = "prints since when the standings of a subject hold: each commit that moved them, and why"


def arguments(parser: VerbParser) -> None:
    """Add whose standings, and how far back."""
    parser.add_argument("subject", metavar="SUBJECT", help="a subject; its parts joined by /")
    parser.add_argument(
        "laws", nargs="*", metavar="LAW", help="a law to print the standings of (default: all)"
    )
    parser.add_argument(
        "--revision",
        action=Once,
        metavar="REV",
        help="the newest revision to look at (default: HEAD)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="go on to the first commit (default: end where each standing that holds began)",
    )


def run(args: Namespace) -> ExitCode:
    """Print the moves, the newest first. Raises UsageError and PolicyError."""
    with working(args):
        # Imported here: the solver takes longer to load than `--help` takes to answer.
        from ullage.days import today
        from ullage.diff.history import history
        from ullage.diff.sides import Sides

        sides = Sides(args.rules, args.facts, args.override, args.on or today())
        found = history(sides, args.subject, args.laws, args.revision or "HEAD", args.all)
    write(renderer(args.format, sys.stdout).history(found))
    return weigh(found.standings, args.fail_on)
