"""What a what-if moves, as typed values: what it supposed, and the standings and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from ullage.findings import Position
from ullage.results import Plan, Standing, Value, subject_text

Subject = tuple[tuple[str, Value], ...]
"""A subject's parts by name, in snake case and in order."""


@dataclass(frozen=True, slots=True)
class SupposedCell:
    """A cell that a what-if supposes to hold ``new``; None stands for nothing.

    ``key`` is the row's, its parts joined by ``/``; ``place`` is where ``old`` stands, or the row
    where it has none. A list is a tuple.
    """

    option: str
    table: str
    key: str
    column: str
    old: Value | None
    new: Value | None
    place: Position

    @property
    def same(self) -> bool:
        """Whether the cell holds already what is supposed."""
        return self.old == self.new


@dataclass(frozen=True, slots=True)
class SupposedRow:
    """A row that a what-if supposes, and where it stands; ``replaces`` is the place of another.

    The cells in which it differs from that one are supposed cells of their own.
    """

    table: str
    key: str
    place: Position
    replaces: Position | None = None


_Told = TypeVar("_Told", Standing, Plan)


@dataclass(frozen=True, slots=True)
class _Move(Generic[_Told]):
    """What is concluded of one subject, under the facts and under what is supposed.

    One of the two is None where the subject appears or goes.
    """

    old: _Told | None
    new: _Told | None

    @property
    def subject(self) -> Subject:
        """The subject's parts by name, in order."""
        return self.told.subject

    @property
    def subject_text(self) -> str:
        """The subject's parts joined by ``/``; figures are exact."""
        return subject_text(self.subject)

    @property
    def values(self) -> Mapping[str, tuple[Value | None, Value | None]]:
        """The values that move, by name, old and new; None is one that could not be concluded."""
        before: dict[str, Value] = dict(self.old.values if self.old else ())
        after: dict[str, Value] = dict(self.new.values if self.new else ())
        return {
            name: (before.get(name), after.get(name))
            for name in {**before, **after}
            if before.get(name) != after.get(name)
        }

    @property
    def told(self) -> _Told:
        """The new conclusion, or the old one where there is none."""
        told = self.new or self.old
        assert told is not None
        return told


class Moved(_Move[Standing]):
    """What a law says of one subject, under the facts and under what is supposed.

    One of the two is None where the subject appears or goes.
    """

    __slots__ = ()

    @property
    def law(self) -> str:
        """The law's name."""
        return self.told.law


class MovedPlan(_Move[Plan]):
    """A plan of one subject, under the facts and under what is supposed.

    One of the two is None where the subject appears or goes.
    """

    __slots__ = ()

    @property
    def plan(self) -> str:
        """The plan's name."""
        return self.told.plan


@dataclass(frozen=True, slots=True)
class Moves:
    """All that a what-if moves: standings and plans, each by law or plan and by subject.

    ``left`` is how many standings are as they were.
    """

    supposed: tuple[SupposedCell | SupposedRow, ...]
    moved: tuple[Moved, ...]
    plans: tuple[MovedPlan, ...]
    left: int

    def __len__(self) -> int:
        return len(self.moved) + len(self.plans)
