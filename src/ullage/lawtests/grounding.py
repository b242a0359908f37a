"""Rules ground over the facts of many cases, tried until they are lowered for what these show."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clingo.symbol import Symbol

from ullage import progress
from ullage.calls import Calls
from ullage.lawtests.batch import Base, Tries
from ullage.rules.cases import CASES, of_case
from ullage.rules.encode import Reads, fact_lines
from ullage.rules.lowering import Lowered
from ullage.rules.numbers import TooWide
from ullage.solve import Ground, seen


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


def case_facts(bases: Sequence[Base], read: Reads, lowered: Lowered) -> list[str]:
    """The facts of cases as text, numbered as they stand. Raises TooWide."""
    lines = [f"{CASES}(0..{len(bases) - 1})."]
    for number, base in enumerate(bases):
        facts = fact_lines(base.facts, read, lowered.levels, lowered.shape)
        lines += [of_case(fact, number) for fact in facts]
    return lines


def grounded(
    tries: Tries, lines: Callable[[Lowered], tuple[list[str], list[str]]], *, widen: bool = True
) -> Program:
    """The rules of ``tries`` with facts and further lines, ground; its flags are those it took.

    Without ``widen`` a figure that leaves the narrow shape is no reason for a wide one. Raises
    PolicyError where clingo refuses a rule, TooWide where a figure fits no shape.
    """
    while True:
        flags = tries.flags
        try:
            lowered = tries.lowered()
            facts, more = lines(lowered)
        except TooWide:
            if flags.wide:
                raise
            tries.flags = dataclasses.replace(flags, wide=True)
            continue
        progress.phase("grounding")
        context = Calls(lowered, flags)
        program = Ground()
        program.add("facts", facts)
        program.add("base", [*(line.text for line in lowered.lines), *more])
        program.parts([("facts", []), ("base", [])], lowered, context)
        checked = lowered if widen else dataclasses.replace(lowered, ranges=[])
        wanted = seen(program.control, checked, flags, context)
        if wanted == flags:
            return Program(program, lowered, context)
        tries.flags = tries.foreseen(wanted)
