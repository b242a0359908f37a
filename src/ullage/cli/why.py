"""``ullage why``: what something follows from, down to the rows and whose word they are."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import write
from ullage.cli.parser import VerbParser, depth
from ullage.cli.run import weigh, with_policy

if TYPE_CHECKING:
    from ullage.policy import Policy

SUMMARY = "prints what a standing, a value or any atom follows from"

PRINTS = ("human", "tree", "json", "markdown", "dot")

QUESTION = (
    "an atom, as 'usable(dgx-1, _)', or a law or plan and a subject, and then, where only one is "
    "asked for, a verdict, reason, obligation or value"
)


def arguments(parser: VerbParser) -> None:
    """Add the question, and how much of the answer is shown."""
    parser.add_argument("question", nargs="+", metavar="ATOM", help=QUESTION)
    parser.add_argument(
        "--all",
        action="store_true",
        help="show every way of concluding each step, and every member of a sum",
    )
    parser.add_argument(
        "--depth", type=depth, metavar="N", help="show N levels (json always holds all)"
    )


def run(args: Namespace) -> ExitCode:
    """Print the derivation; as json it is a proof that ``ullage verify`` checks.

    ``--fail-on`` weighs the standing that is asked about. Raises UsageError and PolicyError.
    """

    def work(policy: Policy) -> tuple[str, ExitCode]:
        # Imported here: no other verb needs it.
        from ullage.render.explanations import explanation

        found = policy.why(*args.question)
        text = explanation(found, args.format, sys.stdout, depth=args.depth, every=args.all)
        return text, weigh([found.standing] if found.standing else [], args.fail_on)

    text, code = with_policy(args, work)
    write(text)
    return code
