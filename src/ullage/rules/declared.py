"""What a docstring declares: a predicate, a law with its closed conclusions, or a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ullage.findings import Position
from ullage.results import PlanLayout, StandingClass
from ullage.sorts import FormsSort, Sort, TupleSort

OF_LAWS = {"standing": 3, "reason": 3, "obligation": 3, "value": 4}
"""The predicates that every law may derive, with their arity."""

BUILTIN = {**OF_LAWS, "plan": 4}
"""The predicates that laws and plans derive, with their arity; no docstring may declare them."""


@dataclass(frozen=True, slots=True)
class Docstring:
    """The text of one ``%*! … *%`` comment and where it begins."""

    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that rules derive: its arguments by name and sort, and who reads it.

    ``identity`` names the arguments that name a thing of which the others are the whole fact.
    """

    name: str
    arguments: tuple[tuple[str, Sort], ...]
    doc: str
    position: Position
    frontier: str = ""
    identity: tuple[str, ...] = ()

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.arguments)


@dataclass(frozen=True, slots=True)
class TermDecl:
    """A reason or an obligation: its arguments and its words with ``{Argument}`` places."""

    name: str
    arguments: tuple[tuple[str, Sort], ...]
    words: str


@dataclass(frozen=True, slots=True)
class VerdictDecl:
    """A verdict: its class and its words with ``{value}`` places."""

    name: str
    standing: StandingClass
    words: str


@dataclass(frozen=True, slots=True)
class _Concluding:
    """What concludes about subjects: their parts, the body that collects them, the values.

    ``subjects`` is that body's text. ``values`` gives the sort of each value by name.
    """

    name: str
    arguments: tuple[tuple[str, Sort], ...]
    doc: str
    position: Position
    subjects: str
    values: Mapping[str, Sort]

    @property
    def subject_sort(self) -> Sort:
        """The sort of a subject: that of the only argument, or the tuple of them all."""
        if len(self.arguments) == 1:
            return self.arguments[0][1]
        return TupleSort.of(*(s for _, s in self.arguments))


@dataclass(frozen=True, slots=True)
class LawDecl(_Concluding):
    """A law: its subjects and the closed sets of what it may conclude."""

    verdicts: Mapping[str, VerdictDecl] = field(default_factory=dict)
    reasons: Mapping[str, TermDecl] = field(default_factory=dict)
    obligations: Mapping[str, TermDecl] = field(default_factory=dict)

    @property
    def collects(self) -> str:
        """The predicate of the lowered program that holds the subjects."""
        return f"_subject'{self.name}"


@dataclass(frozen=True, slots=True)
class PlanDecl(_Concluding):
    """A plan: its subjects, its values, the law that judges the same subjects ("" for none), and
    how people see it.
    """

    layout: PlanLayout
    law: str = ""

    @property
    def collects(self) -> str:
        """The predicate of the lowered program that holds the subjects."""
        return f"_planned'{self.name}"

    @property
    def told(self) -> tuple[str, ...]:
        """The names of what a plan may be chosen by: its subject's parts and its values."""
        sort = self.arguments[0][1]
        parts = [n for n, _ in self.arguments]
        if len(parts) == 1 and isinstance(sort, FormsSort):
            parts = [n for form in sort.forms.values() for n, _ in form]
        return tuple(dict.fromkeys([*map(snake, parts), *self.values]))


def snake(name: str) -> str:
    """``PerDirection`` as ``per_direction``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
