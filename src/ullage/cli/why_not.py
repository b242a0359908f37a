"""``ullage why-not``: every rule that could conclude something, and what each lacks."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import write
from ullage.cli.parser import VerbParser, depth
from ullage.cli.run import weigh, with_policy
from ullage.cli.why import PRINTS as PRINTS
from ullage.cli.why import QUESTION

if TYPE_CHECKING:
    from ullage.policy import Policy

SUMMARY = "prints what each rule lacks that could conclude something that does not hold"


def arguments(parser: VerbParser) -> None:
    """Add the question, and how much of the answer is shown."""
    parser.add_argument(
        "question",
        nargs="+",
        metavar="ATOM",
        help=f"{QUESTION}; a law and a subject alone ask for the established verdicts",
    )
    parser.add_argument("--depth", type=depth, metavar="N", help="show N levels")
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="TABLE/KEY/COLUMN[=V1,V2]",
        help="tell, too, which values of a cell would do; repeatable (see `what-if --goal`)",
    )


def run(args: Namespace) -> ExitCode:
    """Print the rules, the nearest first, each with what holds and what fails.

    ``--fail-on`` weighs the standing that is asked about. Raises UsageError and PolicyError.
    """

    def work(policy: Policy) -> tuple[str, ExitCode]:
        # Imported here: no other verb needs it.
        from ullage.render.explanations import denial

        found = policy.why_not(*args.question)
        would_do = policy.reach(*args.question, vary=args.vary) if args.vary else None
        text = denial(found, args.format, sys.stdout, depth=args.depth, would_do=would_do)
        return text, weigh([found.standing] if found.standing else [], args.fail_on)

    text, code = with_policy(args, work)
    write(text)
    return code
