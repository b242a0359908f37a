"""``ullage query``: the bindings of an ad-hoc rule body."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write
from ullage.cli.parser import VerbParser
from ullage.cli.run import weigh, with_policy
from ullage.results import Bindings, Standing

if TYPE_CHECKING:
    from ullage.policy import Policy

SUMMARY = "prints the bindings of an ad-hoc rule body"


def arguments(parser: VerbParser) -> None:
    """Add the body."""
    parser.add_argument(
        "body",
        metavar="BODY",
        help="what to find, written as in a rule: 'usable(Host, Bytes), Bytes > \"96 GiB\"'",
    )


def run(args: Namespace) -> ExitCode:
    """Print a row for each way in which the body holds.

    ``--fail-on`` weighs every standing of the policy. Raises UsageError and PolicyError.
    """

    def work(policy: Policy) -> tuple[Bindings, Sequence[Standing]]:
        return policy.query(args.body), policy.standings() if args.fail_on else ()

    bindings, standings = with_policy(args, work)
    write(renderer(args.format, sys.stdout).bindings(bindings))
    return weigh(standings, args.fail_on)
