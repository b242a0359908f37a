"""Answers to why and why-not, as a person or a program takes them."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.explain.derive import Derivation, Explainer
from ullage.explain.outline import DEEPEST, Node, Outliner
from ullage.explain.proof import Proof, prove
from ullage.explain.questions import Question
from ullage.explain.refute import Refutation
from ullage.reference.steps import Steps
from ullage.results import Standing, StandingClass


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something holds. ``standing`` is the one asked about, where one was."""

    question: Question
    derivation: Derivation
    explainer: Explainer
    standing: Standing | None = None

    def outline(self, *, depth: int = DEEPEST, every: bool = False) -> list[Node]:
        """One line for each step, below what rests on it: the shortest derivation, or all."""
        return Outliner(self.explainer, depth, every).derivation(self.derivation)

    def proof(self) -> Proof:
        """The shortest derivation as a proof that ``verify`` checks."""
        return prove(self.derivation, Steps(self.explainer.base, self.explainer.words))

    def __str__(self) -> str:
        from ullage.render.outlines import tree

        return tree(self.outline())

    def _repr_markdown_(self) -> str:
        from ullage.render.explanations import explanation

        return explanation(self, "markdown", None, depth=None, every=False)


@dataclass(frozen=True, slots=True)
class Denial:
    """Why something does not hold. ``standing`` is what stands instead, where a law was asked."""

    question: Question
    refutations: tuple[Refutation, ...]
    explainer: Explainer
    standing: Standing | None = None

    def outline(self, *, depth: int = DEEPEST, every: bool = False) -> list[Node]:
        """Every rule that could conclude it, the nearest first, and what each lacks."""
        outliner = Outliner(self.explainer, depth, every)
        return [n for r in self.refutations for n in outliner.refutation(r)]

    @property
    def unread(self) -> tuple[tuple[str, str, str], ...]:
        """Unread facts on the nearest ways: table, key and column.

        What a law has refused or established, it has so whatever else were read; so those that only
        an obstacle rests on count where it is open.
        """
        behind = self.standing is None or self.standing.standing is StandingClass.UNESTABLISHED
        found = [u for r in self.refutations for u in r.readings_to_take(behind=behind)]
        return tuple(dict.fromkeys(found))

    def __str__(self) -> str:
        from ullage.render.outlines import tree

        return tree(self.outline())

    def _repr_markdown_(self) -> str:
        from ullage.render.explanations import denial

        return denial(self, "markdown", None, depth=None)
