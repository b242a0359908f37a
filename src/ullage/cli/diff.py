"""``ullage diff``: what a change of facts and rules moves, and which part of it moved what."""

from __future__ import annotations

import sys
from argparse import Namespace

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write
from ullage.cli.parser import VerbParser
from ullage.cli.run import working
from ullage.diff.result import step
from ullage.findings import UsageError, counted

SUMMARY = "prints what moves between two revisions or folders, and which change moved it"

PRINTS = ("human", "json", "markdown", "concise")

FAILS_ON = {
    "looser": "exit with 2 where a standing gets looser",
    "any": "or where anything moves",
}


def arguments(parser: VerbParser) -> None:
    """Add what is compared."""
    parser.add_argument(
        "sides",
        nargs="*",
        metavar="OLD NEW",
        help="a folder or a git revision each (default: HEAD, and the working tree); also "
        "OLD..NEW, and OLD...NEW from where the two went apart",
    )


def run(args: Namespace) -> ExitCode:
    """Print what moves; ``--fail-on`` weighs it. Raises UsageError and PolicyError."""
    if len(args.sides) > 2:
        raise UsageError(
            f"`ullage diff` compares two, and {len(args.sides)} are named",
            "name OLD and NEW",
        )
    with working(args):
        # Imported here: the solver takes longer to load than `--help` takes to answer.
        from ullage.days import today
        from ullage.diff.sides import Sides

        old, new = Sides(args.rules, args.facts, args.override, args.on or today()).pair(args.sides)
        found = old.diff(new)
    if args.format == "markdown":
        from ullage.render.markdown import diff_markdown

        write(diff_markdown(found))
    else:
        write(renderer(args.format, sys.stdout).diff(found))
    looser = sum(step(r.move) > 0 for r in found.moved)
    if "looser" in args.fail_on and looser:
        say(f"{counted(looser, 'standing')} got looser")
        return ExitCode.REFUSED
    if "any" in args.fail_on and found:
        say(f"{counted(len(found.moved) + len(found.plans), 'standing or plan')} moved")
        return ExitCode.REFUSED
    return ExitCode.FINE
