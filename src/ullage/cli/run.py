"""What every verb does with a policy: load it, show progress, and weigh its standings."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, TypeVar

from ullage import progress
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import say
from ullage.results import Standing, StandingClass

if TYPE_CHECKING:
    from ullage.policy import Policy

Result = TypeVar("Result")

_CODES = {
    StandingClass.REFUSED: ExitCode.REFUSED,
    StandingClass.UNESTABLISHED: ExitCode.UNESTABLISHED,
}


def with_policy(args: Namespace, work: Callable[[Policy], Result]) -> Result:
    """What the work makes of the policy that the flags name. Progress shows on stderr.

    Raises UsageError and PolicyError.
    """
    with progress.shown(sys.stderr):
        # Imported here: the solver takes longer to load than `--help` takes to answer.
        from ullage.policy import Policy

        return work(Policy.load(args.rules, args.facts, override=args.override))


def weigh(standings: Iterable[Standing], fail_on: Collection[str]) -> ExitCode:
    """The status that ``--fail-on`` asks for; what stands in the way is said on stderr."""
    classes = [s.standing for s in standings]
    code = ExitCode.FINE
    for kind, status in _CODES.items():
        count = classes.count(kind)
        if count and kind.value in fail_on:
            say(f"{count} standing{'s are' if count > 1 else ' is'} {kind.value}")
            code = code or status
    return code
