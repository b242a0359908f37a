"""``ullage what-if``: what changes of facts move, of which nothing is written."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write
from ullage.cli.parser import Once, VerbParser
from ullage.cli.run import weigh, with_policy
from ullage.findings import UsageError
from ullage.moves import Moves
from ullage.results import Standing

if TYPE_CHECKING:
    from ullage.changes import Change
    from ullage.explain.goals import Reach
    from ullage.policy import Policy

SUMMARY = "prints the standings and plans that move where some facts are supposed otherwise"


def arguments(parser: VerbParser) -> None:
    """Add what is supposed, and which standings to print."""
    parser.add_argument(
        "laws",
        nargs="*",
        metavar="LAW",
        help="a law to print the standings of (default: all, and the plans)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE/KEY/COLUMN=VALUE",
        help="suppose that a cell holds a value, written as in a file; parts of a key are joined "
        "by /; repeatable",
    )
    parser.add_argument(
        "--unset",
        action="append",
        default=[],
        metavar="TABLE/KEY/COLUMN",
        help="suppose that a cell holds nothing, or its column's default; repeatable",
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="FILE",
        help="suppose the rows of a file of facts; with --override they replace rows of equal "
        "keys; repeatable",
    )
    parser.add_argument(
        "--goal",
        action=Once,
        nargs="+",
        metavar="ATOM",
        help="tell instead which changes of the cells of --vary would make this hold: an atom, "
        "or a law, a subject and a verdict",
    )
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="TABLE/KEY/COLUMN[=V1,V2]",
        help="a cell that may change for the goal, and the values that it may take, as v1,v2 or "
        "low..high/step (default: all that its column admits); repeatable",
    )
    parser.add_argument(
        "--subject",
        action=Once,
        metavar="S",
        help="print what moves of this subject alone; its parts joined by /",
    )


def run(args: Namespace) -> ExitCode:
    """Print what moves; ``--fail-on`` weighs all standings as supposed, of the laws and subject.

    Raises UsageError and PolicyError.
    """
    if args.goal or args.vary:
        return _goal(args)
    if not (args.set or args.unset or args.add):
        raise UsageError(
            "nothing is supposed", "write `--set table/key/column=value`, `--unset` or `--add`"
        )

    def work(policy: Policy) -> tuple[Moves, Sequence[Standing]]:
        changes = _changes(args, policy)
        moves = policy.what_if(changes, args.laws, args.subject)
        supposed = policy.supposing(changes).standings(args.laws) if args.fail_on else ()
        return moves, [s for s in supposed if args.subject in (None, s.subject_text)]

    moves, supposed = with_policy(args, work)
    write(renderer(args.format, sys.stdout).moves(moves))
    return weigh(supposed, args.fail_on)


def _goal(args: Namespace) -> ExitCode:
    """Print the fewest, then smallest changes that reach a goal, beside what is supposed."""
    if not args.goal or not args.vary:
        missing = "--vary" if args.goal else "--goal"
        raise UsageError(
            f"`{missing}` is missing",
            "write `--goal LAW SUBJECT VERDICT --vary table/key/column`",
        )
    if args.laws or args.subject:
        raise UsageError("a goal names its law and subject itself", "put them behind `--goal`")

    def work(policy: Policy) -> tuple[Reach, Sequence[Standing]]:
        changes = _changes(args, policy)
        supposed = policy.supposing(changes) if changes else policy
        found = supposed.reach(*args.goal, vary=args.vary)
        return found, supposed.standings() if args.fail_on else ()

    found, standings = with_policy(args, work)
    # Imported here: no other verb needs it.
    from ullage.render.reaching import reaching

    write(reaching(found, args.format))
    return weigh(standings, args.fail_on)


def _changes(args: Namespace, policy: Policy) -> list[Change]:
    # Imported here: the parser needs no facts.
    from ullage.changes import Add, read_unset

    return [
        *(Add(Path(file), args.override) for file in args.add),
        *(policy.read_set(text) for text in args.set),
        *(read_unset(text) for text in args.unset),
    ]
