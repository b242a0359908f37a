"""What every verb does with a policy: load it, show progress, and weigh its standings."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ullage import progress
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import say
from ullage.results import Standing, StandingClass

if TYPE_CHECKING:
    from ullage.policy import Policy

_MOST_NAMED = 10

Result = TypeVar("Result")

_CODES = {
    StandingClass.REFUSED: ExitCode.REFUSED,
    StandingClass.UNESTABLISHED: ExitCode.UNESTABLISHED,
}


def with_policy(args: Namespace, work: Callable[[Policy], Result]) -> Result:
    """What the work makes of the policy that the flags name. Progress shows on stderr.

    Raises UsageError and PolicyError.
    """
    with working(args):
        # Imported here: the solver takes longer to load than `--help` takes to answer.
        from ullage.policy import Policy

        return work(Policy.load(args.rules, args.facts, override=args.override, on=args.on))


@contextmanager
def working(args: Namespace) -> Iterator[None]:
    """Show progress on stderr while the block runs on the policy that the flags name."""
    with progress.shown(sys.stderr):
        from ullage.yamlnodes import collector_paused

        _say_what_is_left_out(args)
        with collector_paused():
            yield


def _say_what_is_left_out(args: Namespace) -> None:
    """Say so where a folder in the working folder looks meant, and is not read."""
    here = [name for name in ("rules", "facts") if Path(name).is_dir()]
    if not args.rules and not args.facts and len(here) == 1:
        missing = "facts" if here == ["rules"] else "rules"
        say(
            f"`{here[0]}` stands here without `{missing}`, so the shipped policy is used",
            f"name folders with `--{here[0]}` to use them",
        )


def weigh(standings: Iterable[Standing], fail_on: Collection[str]) -> ExitCode:
    """The status that ``--fail-on`` asks for; what stands in the way is said on stderr."""
    code, lines = weighed(standings, fail_on)
    for line in lines:
        say(line)
    return code


def weighed(
    standings: Iterable[Standing], fail_on: Collection[str]
) -> tuple[ExitCode, Sequence[str]]:
    """The status that ``--fail-on`` asks for, and a line for each class that asks for one."""
    given = list(standings)
    code = ExitCode.FINE
    lines = []
    for kind, status in _CODES.items():
        found = [_named(s) for s in given if s.standing is kind and not s.waived]
        if found and kind.value in fail_on:
            are = "standings are" if len(found) > 1 else "standing is"
            lines.append(f"{len(found)} {are} {kind.value}: {_some(found)}")
            code = code or status
    if StandingClass.REFUSED.value in fail_on:
        lines += _passed_over([s for s in given if s.waived])
    return code, lines


def _passed_over(waived: Sequence[Standing]) -> Iterator[str]:
    """That some refusals do not count, and until when: the first to count again first."""
    if waived:
        found = sorted((s.waived_until or date.max, _named(s)) for s in waived)
        are = "refused standings are" if len(found) > 1 else "refused standing is"
        named = [f"{name} until {day}" for day, name in found]
        yield f"{len(found)} {are} waived, and passed over: {_some(named)}"


def _named(standing: Standing) -> str:
    return f"{standing.law} {standing.subject_text}"


def _some(names: Sequence[str]) -> str:
    """The first of some names, and how many are left."""
    rest = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + rest
