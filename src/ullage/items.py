"""What a run tells, flat: items that pass or fail, each with remarks at places.

Formats that programs read are made of these and know nothing of verbs; ``itemized`` makes them of
findings, standings, law tests and comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ullage.findings import Position
from ullage.testreport import Outcome
from ullage.toplevel import Top


class Level(StrEnum):
    """How much a remark matters, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that is told of an item: a line of message, and the places that it speaks of.

    ``code`` names its kind, ``title`` the message in a few words. ``identity`` is what stays the
    same where the same thing is told by another run, though it may stand on another line.
    ``suspended`` says on whose word and until when it is to count for nothing, where it is.
    """

    level: Level
    code: str
    title: str
    message: str
    positions: tuple[Position, ...] = ()
    help: str = ""
    identity: tuple[str, ...] = ()
    suspended: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was looked at, and how that ended.

    ``positions`` is where it stands; ``seconds`` how long it took, where that was measured.
    """

    suite: str
    name: str
    outcome: Outcome
    positions: tuple[Position, ...] = ()
    remarks: tuple[Remark, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Kind:
    """What a code means: in a sentence, as plain text, and as a page of Markdown."""

    short: str
    text: str
    page: str


@dataclass(frozen=True, slots=True)
class Report:
    """The items of a run, what is said of the run as a whole, and what each code means."""

    items: tuple[Item, ...]
    said: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @property
    def remarks(self) -> list[Remark]:
        """All remarks, in the order of their items."""
        return [remark for item in self.items for remark in item.remarks]


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a run beside its items: the verb, how it ends, and where paths start."""

    verb: str
    version: str
    status: int
    meaning: str
    top: Top
