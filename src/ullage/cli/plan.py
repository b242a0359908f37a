"""``ullage plan``: the plans, under the policy as it stands or under a what-if."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write
from ullage.cli.parser import VerbParser
from ullage.cli.run import weigh, with_policy
from ullage.findings import UsageError
from ullage.results import Plans

if TYPE_CHECKING:
    from ullage.policy import Policy

SUMMARY = "prints the plans, as the facts stand or as flags of the policy suppose them"


def arguments(parser: VerbParser) -> None:
    """Add which plans to print; the policy's flags narrow them, and suppose facts otherwise."""
    parser.add_argument("plans", nargs="*", metavar="PLAN", help="a plan to print (default: all)")
    parser.takes_policy_flags = True


def run(args: Namespace) -> ExitCode:
    """Print the chosen plans; ``--fail-on`` weighs the standings that judge them.

    Raises UsageError and PolicyError.
    """

    def work(policy: Policy) -> Plans:
        given: dict[str, str] = {}
        for name, value in args.policy_flags.items():
            if value is None and name in policy.declarations.flags:
                raise UsageError(f"`--{name}` has no value", f"write `--{name} VALUE`")
            given[name] = value or ""
        return policy.plan(args.plans, given)

    plans = with_policy(args, work)
    write(renderer(args.format, sys.stdout).plans(plans))
    return weigh(plans.standings, args.fail_on)
