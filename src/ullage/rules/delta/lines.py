"""Lines of a world's part as text, in which no more than two atoms are joined at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import count

from ullage.rules.delta.nodes import THIS
from ullage.rules.lowering.program import rule_text


@dataclass(frozen=True, slots=True)
class Lead:
    """An atom of this world that leads on: its variables, and its text with some of them alone."""

    names: frozenset[str]
    text: Callable[[Collection[str]], str]


@dataclass(frozen=True, slots=True)
class Step:
    """An atom that is led to: the variables that it binds, and the ways in which it may hold."""

    binds: frozenset[str]
    ways: Sequence[str]


class Lines:
    """Collects lines, each once, and names relations."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._marks = count(1)

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines, in the order in which they were added."""
        return tuple(self._lines)

    def mark(self, what: str) -> str:
        """A name that no other relation has."""
        return f"_{what}''{next(self._marks)}"

    def add(self, head: str, *body: str) -> None:
        """Add a rule."""
        self._lines[rule_text(head, body)] = None

    def derive(
        self, head: str, wanted: Collection[str], start: Lead | None, steps: Sequence[Step]
    ) -> None:
        """Derive an atom with these variables from another, over some steps.

        clingo joins two atoms well. In what order it joins more it guesses by their sizes, and may
        take two first that share no variable; so each step has a relation of its own.
        """
        for number, step in enumerate(steps, start=1):
            later = set(wanted).union(*(s.binds for s in steps[number:]))
            known = start.names if start is not None else frozenset[str]()
            first = [start.text(known & (step.binds | later))] if start is not None else []
            made, names = head, sorted((known | step.binds) & later)
            if number < len(steps):
                start = _lead(self.mark("lead"), names)
                made = start.text(names)
            for way in step.ways:
                self.add(made, *first, way)
        if not steps:
            assert start is not None
            self.add(head, start.text(wanted))


def _lead(relation: str, names: Sequence[str]) -> Lead:
    def text(shown: Collection[str]) -> str:
        return of_world(relation, [n if n in shown else "_" for n in names])

    return Lead(frozenset(names), text)


def of_world(predicate: str, args: Sequence[str]) -> str:
    """An atom of this world."""
    return f"{predicate}({','.join([THIS, *args])})"
