"""Rules ground over the facts of many cases, with the lines that ask something of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clingo.symbol import Symbol

from ullage import progress
from ullage.calls import Calls
from ullage.declarations import Table
from ullage.lawtests.batch import Base
from ullage.rules.cases import CASES, of_case
from ullage.rules.encode import fact_levels, fact_lines, reads
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Levels, Lowered, lower, wary
from ullage.solve import Ground


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
        levels: Levels = {}
        for base in bases:
            for slot, level in fact_levels(base.facts, self._read).items():
                levels[slot] = max(level, levels.get(slot, 0))
        progress.phase("lowering rules")
        self._flags = wary(rules)
        self.lowered = lower(rules, levels, self._flags)

    def program(self, bases: Sequence[Base], lines: Iterable[str]) -> Program:
        """The rules over the facts of cases, which are numbered as they stand, and further lines.

        Raises PolicyError where clingo refuses a rule, TooWide where a figure is too large.
        """
        facts = [f"{CASES}(0..{len(bases) - 1})."]
        for number, base in enumerate(bases):
            own = fact_lines(base.facts, self._read, self.lowered.levels, self.lowered.shape)
            facts += [of_case(fact, number) for fact in own]
        progress.phase("grounding")
        context = Calls(self.lowered, self._flags)
        program = Ground()
        program.add("facts", facts)
        program.add("base", [*(line.text for line in self.lowered.lines), *lines])
        program.parts([("facts", []), ("base", [])], self.lowered, context)
        return Program(program, self.lowered, context)
