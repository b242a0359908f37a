"""Rules ground over the facts of many cases, with the lines that ask something of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clingo.symbol import Symbol

from ullage import progress
from ullage.calls import Calls
from ullage.declarations import Table
from ullage.facts import FactBase
from ullage.lawtests.cases import LawCase
from ullage.rules.cases import CASES, of_case
from ullage.rules.encode import Reads, fact_levels, fact_lines, reads
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Flags, Levels, Lowered, lower, wary
from ullage.solve import Ground

MOST_ROWS = 50_000
"""How many rows are ground together at most, if they are of more cases than one."""


@dataclass(frozen=True, slots=True)
class Base:
    """The sound rows of one case."""

    case: LawCase
    facts: FactBase


def portions(bases: Sequence[Base]) -> list[list[Base]]:
    """The cases in runs of no more rows than are ground together."""
    portions: list[list[Base]] = []
    held = 0
    for base in bases:
        rows = sum(map(len, base.facts.rows.values()))
        if not portions or held + rows > MOST_ROWS:
            portions.append([])
            held = 0
        portions[-1].append(base)
        held += rows
    return portions


def lowered_for(
    rules: Sequence[TypedRule], bases: Sequence[Base], read: Reads
) -> tuple[Lowered, Flags]:
    """Rules lowered for the facts of cases, whatever these may show, and the flags of that.

    A try more would cost far more than figures that are written for whatever may come.
    """
    levels: Levels = {}
    for base in bases:
        for slot, level in fact_levels(base.facts, read).items():
            levels[slot] = max(level, levels.get(slot, 0))
    progress.phase("lowering rules")
    flags = wary(rules)
    return lower(rules, levels, flags), flags


def numbered_facts(bases: Sequence[Base], read: Reads, lowered: Lowered) -> list[str]:
    """The facts of cases, which are numbered as they stand, as text. Raises TooWide."""
    lines = [f"{CASES}(0..{len(bases) - 1})."]
    for number, base in enumerate(bases):
        facts = fact_lines(base.facts, read, lowered.levels, lowered.shape)
        lines += [of_case(fact, number) for fact in facts]
    return lines


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is ground, and what it was lowered to."""

    ground: Ground
    lowered: Lowered
    context: Calls

    def atoms(self, name: str, arity: int) -> Iterator[Symbol]:
        """The atoms of a predicate that hold."""
        for atom in self.ground.control.symbolic_atoms.by_signature(name, arity):
            assert atom.is_fact, f"{atom.symbol} was left open"
            yield atom.symbol


class Grounder:
    """Rules lowered once for the facts of some cases, whatever these may show.

    ``read`` are the rules as authors write them, ``rules`` what they are ground as.
    """

    def __init__(
        self,
        rules: Sequence[TypedRule],
        read: Sequence[TypedRule],
        bases: Sequence[Base],
        tables: Mapping[str, Table],
    ) -> None:
        self._read = reads(read, tables)
        self.lowered, self._flags = lowered_for(rules, bases, self._read)

    def program(self, bases: Sequence[Base], lines: Iterable[str]) -> Program:
        """The rules over the facts of cases, which are numbered as they stand, and further lines.

        Raises PolicyError where clingo refuses a rule, TooWide where a figure is too large.
        """
        facts = numbered_facts(bases, self._read, self.lowered)
        progress.phase("grounding")
        context = Calls(self.lowered, self._flags)
        program = Ground()
        program.add("facts", facts)
        program.add("base", [*(line.text for line in self.lowered.lines), *lines])
        program.parts([("facts", []), ("base", [])], self.lowered, context)
        return Program(program, self.lowered, context)
