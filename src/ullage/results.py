"""What a run concludes, as typed values: quantities, terms, standings and plans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from fractions import Fraction

from ullage.findings import Position
from ullage.sorts import ExactSort, ScalarError, Sort, display, exact_text, parse_exact


class StandingClass(StrEnum):
    """The class of a verdict, in the order in which people want to read them."""

    REFUSED = "refused"
    UNESTABLISHED = "unestablished"
    ESTABLISHED = "established"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact value in base units of its sort (an exact sort or ``count``)."""

    value: Fraction
    sort: Sort

    @property
    def text(self) -> str:
        """The exact decimal, or ``p/q``, in base units and without the unit."""
        return exact_text(self.value)

    @property
    def unit(self) -> str:
        """The name of the sort, which is the name of the base unit."""
        return self.sort.name

    @property
    def display(self) -> str:
        """A short form for people, such as ``196.58 GiB``."""
        return display(self.value, self.sort)

    @property
    def displayed_whole(self) -> bool:
        """Whether the display is the exact figure, and not a rounded one."""
        if not isinstance(self.sort, ExactSort):
            return True
        try:
            return parse_exact(self.display, self.sort) == self.value
        except ScalarError:
            return True

    @property
    def exact(self) -> bool:
        """Whether the sort is an exact one (and not ``count``)."""
        return isinstance(self.sort, ExactSort)

    def __str__(self) -> str:
        return self.display

    def __repr__(self) -> str:
        return f"Quantity({self.text} {self.unit})"


@dataclass(frozen=True, slots=True)
class Term:
    """A reason, an obligation or a declared form: a name with named arguments.

    ``words`` is what a person reads, its placeholders filled in.
    """

    name: str
    args: tuple[tuple[str, Value], ...] = ()
    words: str = ""

    def __str__(self) -> str:
        if not self.args:
            return self.name
        return f"{self.name}({', '.join(value_text(v) for _, v in self.args)})"


Value = str | bool | Quantity | Term | tuple["Value", ...]
"""What an argument holds: text, entity or constant as ``str``; figures as ``Quantity``."""


def value_order(value: Value) -> tuple[object, ...]:
    """A key that sorts values of one sort: figures by size, all else by text."""
    match value:
        case Quantity(value=number):
            return (number,)
        case Term(name=name, args=args):
            return (name, *(value_order(v) for _, v in args))
        case tuple():
            return tuple(value_order(v) for v in value)
    return (value_text(value),)


def value_text(value: Value) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "(" + ", ".join(value_text(v) for v in value) + ")"
    return str(value)


def exact_text_of(value: Value) -> str:
    """A value with every quantity in it exact, and no two values alike."""
    match value:
        case Quantity():
            return f"{value.text} {value.unit}" if value.exact else value.text
        case tuple():
            return f"({', '.join(_inside(v) for v in value)})"
        case Term(name=name, args=args):
            return f"{name}({', '.join(_inside(v) for _, v in args)})" if args else name
    return value_text(value)


def plainly(value: Value) -> str:
    """A value as people read it where that is all of it, else exactly."""
    rounded = isinstance(value, Quantity) and not value.displayed_whole
    return exact_text_of(value) if rounded else value_text(value)


def _inside(value: Value) -> str:
    """A value inside a term: text in quotes where its own signs would read as the term's."""
    if isinstance(value, str) and not re.fullmatch(r"[\w.@+:/ -]+", value):
        return json.dumps(value, ensure_ascii=False)
    return exact_text_of(value)


@dataclass(frozen=True, slots=True)
class Waiver:
    """A row that suspends a refusal: which, why, on whose word, and through which day.

    ``refusal`` is the bare name of a reason, for every reason of that name, or the whole text of
    one, for that one alone. Where the row stands is no part of what it says.
    """

    refusal: str
    reason: str
    owner: str
    expires: date
    position: Position = field(compare=False)

    def matches(self, reason: Term) -> bool:
        """Whether it suspends a refusal for this reason."""
        return self.refusal in (reason.name, exact_text_of(reason))


@dataclass(frozen=True, slots=True)
class Standing:
    """One law's conclusion about one subject.

    ``subject`` maps the law's argument names, in snake case, to the subject's parts, in order.
    ``words`` is the verdict as people read it; empty where the reasons or obligations say it.
    Reasons, obligations and values are in a fixed order (by name, then arguments). ``waivers`` are
    those in force that match one of its reasons, by what they waive.
    """

    law: str
    subject: tuple[tuple[str, Value], ...]
    standing: StandingClass
    verdict: str
    words: str = ""
    reasons: tuple[Term, ...] = ()
    obligations: tuple[Term, ...] = ()
    values: tuple[tuple[str, Quantity], ...] = ()
    waivers: tuple[Waiver, ...] = ()

    @property
    def waived(self) -> bool:
        """Whether it is refused, and a waiver in force matches each of its reasons."""
        return self.waived_until is not None

    @property
    def waived_until(self) -> date | None:
        """The last day on which it is waived by what is known today; None where it is not."""
        if self.standing is not StandingClass.REFUSED:
            return None
        lasts = [self._last_day(reason) for reason in self.reasons]
        days = [day for day in lasts if day is not None]
        return min(days) if days and len(days) == len(lasts) else None

    @property
    def unwaived(self) -> tuple[Term, ...]:
        """The reasons that no waiver in force matches."""
        return tuple(r for r in self.reasons if self._last_day(r) is None)

    def _last_day(self, reason: Term) -> date | None:
        return max((w.expires for w in self.waivers if w.matches(reason)), default=None)

    @property
    def subject_text(self) -> str:
        """The subject's parts joined by ``/``, as ``--subject`` takes them; figures are exact."""
        return subject_text(self.subject)

    @property
    def value_map(self) -> Mapping[str, Quantity]:
        """The values by name."""
        return dict(self.values)


def subject_text(subject: tuple[tuple[str, Value], ...]) -> str:
    """A subject's parts joined by ``/``; figures are exact."""
    return "/".join(exact_text_of(v) for _, v in subject)


@dataclass(frozen=True, slots=True)
class Bar:
    """Values of a plan that people see as a bar: some, one after the other, as parts of another."""

    parts: tuple[str, ...]
    whole: str


@dataclass(frozen=True, slots=True)
class PlanLayout:
    """How people see a plan.

    ``title`` has ``{places}`` for parts of the subject and values; ``words`` names each value
    ("" where its name will do). With ``rows`` the plan is a table: subjects that differ in that
    part alone are its rows, ``columns`` the values in them. ``under`` names the plan in whose block
    it is shown ("" for none). ``note`` stands below each block.
    """

    title: str
    words: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""
    columns: tuple[str, ...] = ()
    under: str = ""
    bar: Bar | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """One plan for one subject.

    ``subject`` maps the parts' names, in snake case, to the parts, in order; ``values`` are in the
    order of their declaration, and hold what could be concluded. ``standing`` is that of the law
    that judges the subject, where one does.
    """

    plan: str
    subject: tuple[tuple[str, Value], ...]
    values: tuple[tuple[str, Value], ...] = ()
    standing: Standing | None = None

    @property
    def subject_text(self) -> str:
        """The subject's parts joined by ``/``; figures are exact."""
        return subject_text(self.subject)

    @property
    def value_map(self) -> Mapping[str, Value]:
        """The values by name."""
        return dict(self.values)


@dataclass(frozen=True, slots=True)
class Assumption:
    """A cell that a what-if supposes: ``old`` is what the facts say (None where nothing).

    ``flag`` is the flag that asked, without its dashes; ``key`` the row's key, its parts joined by
    ``/``.
    """

    flag: str
    table: str
    key: str
    column: str
    old: Value | None
    new: Value


@dataclass(frozen=True, slots=True)
class Plans:
    """The plans of a run, by plan and subject, and what was supposed for them.

    ``layouts`` says how people see each plan, by name.
    """

    plans: tuple[Plan, ...]
    assumptions: tuple[Assumption, ...] = ()
    layouts: Mapping[str, PlanLayout] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.plans)

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The standings that judge the plans, each once."""
        return tuple(dict.fromkeys(p.standing for p in self.plans if p.standing is not None))


@dataclass(frozen=True, slots=True)
class Law:
    """A declared law, as far as a reader of results needs it."""

    name: str
    doc: str
    arguments: tuple[str, ...]
    verdicts: tuple[tuple[str, StandingClass], ...]


@dataclass(frozen=True, slots=True)
class Bindings:
    """The answer of an ad-hoc query: variables in order, and one row of values a binding."""

    variables: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """The bindings, each as a mapping from variable to value."""
        return (dict(zip(self.variables, row, strict=True)) for row in self.rows)
