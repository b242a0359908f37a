"""Ground and solve a book of rules over facts, exactly, and say what went wrong in its words.

A program is lowered for the common case: decimals of at most nine places, and every expression with
a value. Where a try shows otherwise the program is lowered again for what it showed. Sites only
ever gain flags, so that a run ends after at most two tries a site.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import clingo
from clingo.core import MessageCode
from clingo.symbol import Symbol

from ullage import progress
from ullage.calls import Calls
from ullage.facts import FactBase
from ullage.failures import failures, from_clingo
from ullage.findings import Finding, PolicyError
from ullage.rules.declared import BUILTIN
from ullage.rules.delta.nodes import named
from ullage.rules.encode import fact_levels, fact_lines, reads
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Flags, Levels, Lowered, lower
from ullage.rules.numbers import TooWide
from ullage.rules.terms import Rule


class Atoms(Protocol):
    """What holds, as a reader of conclusions asks for it."""

    def atoms(self, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate that hold, in no order."""
        ...

    def texts(self, name: str, arity: int) -> list[str]:
        """The same, written out."""
        ...


@dataclass(frozen=True, slots=True)
class Model:
    """The one answer set of a solved book.

    ``control`` holds every atom; ``text`` is the program that gave it, in plain clingo.
    """

    control: clingo.Control
    lowered: Lowered
    text: Callable[[], str]

    def atoms(self, name: str, arity: int, after: int = 0) -> list[Symbol]:
        """The atoms of a predicate that hold, as they came, ``after`` so many."""
        found = self.control.symbolic_atoms.by_signature(name, arity)
        return [a.symbol for a in itertools.islice(found, after, None)]

    def texts(self, name: str, arity: int) -> list[str]:
        """The same, written out, which is far cheaper to take apart than their parts to ask for."""
        return [str(a.symbol) for a in self.control.symbolic_atoms.by_signature(name, arity)]

    def write(self, part: str, parameters: Sequence[str], lines: Sequence[str]) -> None:
        """Add rules to run over the finished model; their heads are predicates of their own."""
        self.control.add(part, parameters, "\n".join(lines))

    def run(self, part: str, each: Iterable[Sequence[Symbol]]) -> None:
        """Ground a part that was written, for each of these values of its parameters."""
        self.control.ground([(part, arguments) for arguments in each])

    def count(self, name: str, arity: int, most: int | None = None) -> int:
        """How many atoms of a predicate hold; with ``most``, no more than so many are counted."""
        found = self.control.symbolic_atoms.by_signature(name, arity)
        return sum(1 for _ in itertools.islice(found, most))


class Lowerings:
    """What the same rules were lowered to, for facts that need no other form of them."""

    def __init__(self) -> None:
        self._known: list[tuple[Levels, Flags, Lowered]] = []

    def lower(self, rules: Sequence[TypedRule], levels: Levels, flags: Flags) -> Lowered:
        """The rules lowered; those of all calls are the same. Raises TooWide."""
        for at, with_flags, lowered in self._known:
            if at == levels and with_flags == flags:
                return lowered
        lowered = lower(rules, levels, flags)
        self._known.append((levels, flags, lowered))
        return lowered


def solve(rules: Sequence[TypedRule], base: FactBase, lowerings: Lowerings | None = None) -> Model:
    """The answer set of the rules over the facts. ``lowerings`` are those of the same rules.

    Raises PolicyError with every error of the run: an undefined or overflowing figure, an extremum
    of nothing, or whatever clingo reports.
    """
    progress.phase("lowering rules")
    read = reads(rules, base.declarations.tables)
    levels = fact_levels(base, read)
    flags = Flags()
    lowerings = lowerings or Lowerings()
    while True:
        try:
            lowered = lowerings.lower(rules, levels, flags)
            facts = fact_lines(base, read, lowered.levels, lowered.shape)
        except TooWide:
            flags = replace(flags, wide=True)
            continue
        context = Calls(lowered, flags)
        progress.phase("grounding")
        program = _ground(lowered, facts, context)
        wanted = seen(program.control, lowered, flags, context)
        if wanted == flags:
            break
        flags = wanted
    if findings := program.amiss(lowered, context):
        raise PolicyError(findings)
    progress.phase("solving")
    if not program.control.solve().satisfiable:
        raise AssertionError("a stratified program without constraints has an answer set")
    return Model(program.control, lowered, lambda: _program_text(lowered, facts, flags))


def seen(control: clingo.Control, lowered: Lowered, flags: Flags, context: Calls) -> Flags:
    """The flags with what a try showed; where that is more, the program is to be lowered again."""
    return Flags(
        flags.fractions | context.fractions,
        flags.undefined | set(context.undefined),
        flags.wide or context.wide or _beyond(control, lowered),
    )


def _beyond(control: clingo.Control, lowered: Lowered) -> bool:
    """Whether some figure left the bound of its shape; in a wide one that is the exact range."""
    atoms = control.symbolic_atoms
    return any(True for check in lowered.ranges for _ in atoms.by_signature(check.relation, 1))


def _shows(lowered: Lowered) -> list[str]:
    derived = {line.rule.head.name for line in lowered.lines}
    return [f"#show {n}/{a}." for n, a in BUILTIN.items() if n in derived]


def _program_text(lowered: Lowered, facts: Sequence[str], flags: Flags) -> str:
    """The lowered program with its facts, for a stock clingo: rows stand for every call.

    The rows come from a second grounding, so that no run pays for a text that nobody asks for.
    """
    calls = Calls(lowered, flags, record=True)
    _ground(lowered, facts, calls)
    sizes = ["10**18", "10**9", "1", "10**-9"][-lowered.shape.width :]
    parts = [f"% A lowered program: q holds limbs of {', '.join(sizes)}."]
    parts += ["#show.", *_shows(lowered), "% facts", *facts, "% rules"]
    rule: Rule | None = None
    for line in lowered.lines:
        if line.rule is not rule:
            rule = line.rule
            # A file's name may hold a line break, which would end the comment.
            parts.append(f"% {ascii(str(rule.position))[1:-1]}")
        if line.site is None:
            parts.append(line.text)
        elif line.relation:
            parts += sorted(calls.rows[line.site].values()) or [
                f"#defined {line.relation}/{line.arity}."
            ]
    return "\n".join(parts) + "\n"


def _ground(lowered: Lowered, facts: Sequence[str], context: Calls) -> Ground:
    ground = Ground()
    ground.add("facts", facts)
    ground.add("base", [*(line.text for line in lowered.lines), "#show.", *_shows(lowered)])
    ground.parts([("facts", []), ("base", [])], lowered, context)
    return ground


class Ground:
    """A program that is ground part by part; what clingo says of it is told of the rules."""

    def __init__(self) -> None:
        messages: list[tuple[MessageCode, str]] = []

        # No method of this object: in a circle with it, a control would stay long after its use.
        def log(code: MessageCode, message: str) -> None:
            messages.append((code, message))

        self._messages = messages
        self._lowered: Lowered
        self._added: list[tuple[str, list[str], str]] = []
        # Both say what the loader has checked in the author's rules, and would drown what matters.
        quiet = ["-Wno-global-variable", "-Wno-atom-undefined"]
        self.control = clingo.Control(quiet, logger=log, message_limit=100)

    def add(self, part: str, lines: Iterable[str], parameters: Sequence[str] = ()) -> None:
        """Add lines of text to a part that is to be ground."""
        self._added.append((part, list(parameters), "\n".join(lines)))

    def parts(
        self, parts: Sequence[tuple[str, Sequence[Symbol]]], lowered: Lowered, context: Calls
    ) -> None:
        """Ground parts, the last of which begins with the lowered lines. Raises PolicyError."""
        self._messages.clear()
        self._lowered = lowered
        try:
            for part, parameters, text in self._added:
                self.control.add(part, parameters, text)
            self._added.clear()
            self.control.ground(parts, context=context)
        except RuntimeError as error:
            raise PolicyError(from_clingo(self._messages, lowered, str(error))) from error

    @property
    def silent(self) -> bool:
        """Whether clingo had nothing to say of the last parts."""
        return not self._messages

    def amiss(self, lowered: Lowered, context: Calls) -> list[Finding]:
        """What is wrong with the last parts, once all that is ground needs no other shape."""
        # An operation that an extremum of nothing came to is the fault of the extremum's rule.
        found = failures(self.control, lowered, context.undefined)
        found = found or [f for rule in lowered.walks for f in self._left_open(rule)]
        if not found and self._messages:
            return from_clingo(self._messages, self._lowered, "operation undefined")
        return found

    def _left_open(self, rule: Rule) -> Iterator[Finding]:
        """That the solver would have to guess what a walk concludes: a set in it asks the walk."""
        atoms = self.control.symbolic_atoms.by_signature(rule.head.name, len(rule.head.args))
        if any(not atom.is_fact for atom in atoms):
            yield Finding(
                "unstratified",
                f"a set in a rule of `{named(rule.head.name)}` computes with what that rule walks",
                (rule.position,),
                "compute it in a rule of its own, before the walk",
            )
