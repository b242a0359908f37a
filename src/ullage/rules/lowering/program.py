"""The lowered program as values: its lines, its sites, and the checks that a run must read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ullage.findings import Position
from ullage.rules.numbers import NARROW, WIDE, Shape
from ullage.rules.terms import Rule
from ullage.rules.vocabulary import Slot
from ullage.sorts import Sort

Levels = dict[Slot, int]
"""How many decimals the values at a slot may have; FRACTION where no number of them is enough."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What earlier tries found out about sites, by number.

    ``fractions`` had a value of more than nine decimals, ``undefined`` had none for some arguments;
    ``wide`` says that some figure was too large for a narrow shape.
    """

    fractions: frozenset[int] = frozenset()
    undefined: frozenset[int] = frozenset()
    wide: bool = False

    @property
    def shape(self) -> Shape:
        """The shape of the program's figures."""
        return WIDE if self.wide else NARROW


@dataclass(frozen=True, slots=True)
class Site:
    """An expression (``call``) or total (``sum``) that a function evaluates, or an ``extremum``.

    ``arguments`` are the variables it depends on, with their sorts; ``function`` maps their values
    (base units, exact) to the value in base units of ``sort``, or None where there is none.
    """

    number: int
    kind: str
    rule: Rule
    arguments: tuple[tuple[str, Sort], ...]
    sort: Sort
    position: Position
    function: Callable[[Sequence[Fraction]], Fraction | None] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the lowered program and the rule it comes from.

    A line whose ``site`` is set calls into Python; a printed program holds rows of ``relation``,
    of ``arity`` arguments, instead.
    """

    text: str
    rule: Rule
    site: int | None = None
    relation: str = ""
    arity: int = 0


@dataclass(frozen=True, slots=True)
class RangeCheck:
    """A relation of values that left the range, and the rules that derive them."""

    relation: str
    sort: Sort
    rules: tuple[Rule, ...]


@dataclass(slots=True)
class Lowered:
    """A lowered program without facts.

    ``levels`` and ``shape`` say how facts are to be written; ``undefined`` and ``empty`` name
    relations whose atoms are errors of a site or of an extremum. ``walks`` are the rules with a set
    whose heads rest on themselves.
    """

    shape: Shape
    lines: list[Line] = field(default_factory=list)
    sites: dict[int, Site] = field(default_factory=dict)
    levels: Levels = field(default_factory=dict)
    ranges: list[RangeCheck] = field(default_factory=list)
    undefined: dict[str, Site] = field(default_factory=dict)
    empty: dict[str, Site] = field(default_factory=dict)
    walks: list[Rule] = field(default_factory=list)


def rule_text(head: str, body: Sequence[str]) -> str:
    """A rule of lowered text; ``;`` separates its literals, as a conditional one runs up to it."""
    return f"{head} :- {'; '.join(body)}." if body else f"{head}."


def tuple_text(items: Sequence[str]) -> str:
    """A tuple of lowered text, of any length."""
    return f"({items[0]},)" if len(items) == 1 else f"({','.join(items)})"


def quoted(text: str) -> str:
    """Text as a string term of clingo."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return f'"{escaped}"'
