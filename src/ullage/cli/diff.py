"""``ullage diff``: what a change of facts and rules moves, and which part of it moved what."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write
from ullage.cli.parser import VerbParser
from ullage.cli.reporting import write_report
from ullage.cli.run import working
from ullage.diff.result import Diff, step
from ullage.findings import UsageError, counted
from ullage.render import REPORT_FORMATS

if TYPE_CHECKING:
    from ullage.items import Report
    from ullage.policy import Policy

SUMMARY = "prints what moves between two revisions or folders, and which change moved it"

PRINTS = ("human", "json", "markdown", "concise", *REPORT_FORMATS)

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
    code, line = _weighed(found, args.fail_on)
    if args.format in REPORT_FORMATS:
        write_report(args, _report(found, (old, new), args.fail_on), code)
    elif args.format == "markdown":
        from ullage.render.markdown import diff_markdown

        write(diff_markdown(found))
    else:
        write(renderer(args.format, sys.stdout).diff(found))
    if line:
        say(line)
    return code


def _report(found: Diff, sides: Sequence[Policy], fail_on: Collection[str]) -> Report:
    from ullage.itemized import of_diff

    laws = [law for side in sides for law in side.laws]
    predicates = [p for side in sides for p in side.book.vocabulary.predicates.values()]
    return of_diff(found, laws, {p.name: p.position for p in predicates}, fail_on)


def _weighed(found: Diff, fail_on: Collection[str]) -> tuple[ExitCode, str]:
    """The status that ``--fail-on`` asks for, and what asks for it."""
    looser = sum(step(r.move) > 0 for r in found.moved)
    if "looser" in fail_on and looser:
        return ExitCode.REFUSED, f"{counted(looser, 'standing')} got looser"
    if "any" in fail_on and found:
        moved = len(found.moved) + len(found.plans)
        return ExitCode.REFUSED, f"{counted(moved, 'standing or plan')} moved"
    return ExitCode.FINE, ""
