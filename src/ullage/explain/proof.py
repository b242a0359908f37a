"""A derivation as a proof that a second program can check, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.explain.derive import Condition, Derivation
from ullage.reference.bodies import Bindings
from ullage.reference.steps import SCHEMA, Digests, Step, Steps, in_order
from ullage.reference.text import atom_text
from ullage.reference.values import Atom
from ullage.rules import terms


@dataclass(frozen=True, slots=True)
class Proof:
    """The steps of a derivation, each after those that it rests on.

    ``goals`` are the atoms that it proves, as exact text; ``digests`` the SHA-256 of each row and
    rule that it rests on, by place.
    """

    goals: tuple[str, ...]
    steps: tuple[Step, ...]
    digests: dict[str, str]

    def document(self) -> dict[str, object]:
        """The proof as a JSON document of the schema ``ullage/proof/1``."""
        return {
            "schema": SCHEMA,
            "goal": self.goals[0],
            "goals": list(self.goals),
            "digests": self.digests,
            "steps": list(self.steps),
        }


def prove(derivation: Derivation, make: Steps) -> Proof:
    """The proof of the shortest derivation of every goal."""
    ids: dict[Atom, str] = {}
    steps: dict[str, Step] = {}
    digests = Digests(make.base)

    def keep(step: Step) -> str:
        steps.setdefault(step["id"], step)
        return step["id"]

    for atom in derivation.steps():
        reading = derivation.readings.get(atom)
        if reading is not None:
            step = make.fact(atom, reading)
            digests.row(reading)
        else:
            support = derivation.supports[atom][0]
            premises = [
                keep(_condition(make, c, support.bindings, ids)) if c.kind != "atom"
                else ids[c.premises[0]]
                for c in support.conditions
            ]  # fmt: skip
            step = make.rule(atom, support.rule, support.bindings, premises)
            digests.rule(support.rule)
        ids[atom] = keep(step)
    rests = {i: s["premises"] for i, s in steps.items()}
    order = in_order((ids[g] for g in derivation.goals), rests)
    goals = tuple(map(atom_text, derivation.goals))
    return Proof(goals, tuple(steps[i] for i in order), digests.told())


def _condition(make: Steps, told: Condition, bindings: Bindings, ids: dict[Atom, str]) -> Step:
    if told.kind == "absence":
        assert isinstance(told.literal, terms.Atom)
        return make.absence(told.literal, bindings)
    premises = [ids[a] for a in told.premises]
    return make.computed(told.literal, bindings, [m for m, _ in told.members], premises)
