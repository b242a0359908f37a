"""What a comparison of two policies tells, as typed values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ullage.findings import Position
from ullage.moves import Moved, MovedPlan
from ullage.results import Standing, StandingClass, Value


@dataclass(frozen=True, slots=True)
class Cause:
    """A piece that changed, as people are told: where it stands, and what of it is otherwise.

    ``kind`` is ``fact`` or ``rule``; declarations count as rules. What was removed stands in the
    old files.
    """

    kind: str
    change: str
    place: Position
    what: str


Parts = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class NotTheSame:
    """A thing that two policies describe otherwise: by which predicate, its name, and what of it.

    ``old`` and ``new`` have the parts that differ.
    """

    predicate: str
    name: Parts
    old: Parts
    new: Parts


class Verdict(StrEnum):
    """Which way a change goes as a whole.

    A standing gets *looser* where it goes up from refused to a waived refusal to unestablished to
    established, or is waived for longer, and *stricter* where it goes down, or is waived for a
    shorter time; of one that appears or goes, nothing counts as unestablished.
    Equal is what moves nothing. Where some standings go each way, or what moves goes neither way,
    it is neither.
    """

    EQUAL = "equal"
    STRICTER = "stricter"
    LOOSER = "looser"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A standing or plan that moved, and the changes that moved it.

    With ``alone`` each of them by itself: to undo any one gives back what was. Else all of them
    together, and no fewer.
    """

    move: Moved | MovedPlan
    causes: tuple[Cause, ...]
    alone: bool


@dataclass(frozen=True, slots=True)
class Diff:
    """What moves between two policies.

    ``moved`` begins with what got looser, from refused to established first; then what got
    stricter; then what goes neither way. ``without_effect`` are the changes that moved nothing.
    ``not_the_same`` are things that kept their name and changed what they are. ``left`` is how many
    standings are as they were.
    """

    verdict: Verdict
    moved: tuple[Reasoned, ...]
    plans: tuple[Reasoned, ...]
    without_effect: tuple[Cause, ...]
    not_the_same: tuple[NotTheSame, ...]
    left: int

    def __bool__(self) -> bool:
        return bool(self.moved or self.plans)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a history; ``date`` is the author's day, as 2026-11-30."""

    name: str
    date: str
    author: str
    title: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A standing that a commit moved.

    ``among`` are later commits that may have moved it as well, for what came before them cannot be
    read.
    """

    commit: Commit
    reasoned: Reasoned
    among: tuple[Commit, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """The standings of a subject, and the commits that moved them, the newest first.

    ``invalid`` are the commits whose policy cannot be read; ``length`` is how many commits touch
    the policy at all.
    """

    standings: tuple[Standing, ...]
    turns: tuple[Turn, ...]
    invalid: tuple[Commit, ...]
    length: int


def step(move: Moved | MovedPlan) -> int:
    """How far a standing moves, up where it gets looser; plans go neither way."""
    if isinstance(move, MovedPlan):
        return 0
    old, new = (s.waived_until if s is not None else None for s in (move.old, move.new))
    if old is not None and new is not None and old != new:
        return 1 if new > old else -1
    return _height(move.new) - _height(move.old)


_HEIGHTS = {
    StandingClass.REFUSED: 0,
    StandingClass.UNESTABLISHED: 2,
    StandingClass.ESTABLISHED: 4,
}
_WAIVED = 1
"""Half a step: nothing is concluded otherwise, and somebody answers for it."""


def _height(standing: Standing | None) -> int:
    if standing is None:
        return _HEIGHTS[StandingClass.UNESTABLISHED]
    return _WAIVED if standing.waived else _HEIGHTS[standing.standing]
