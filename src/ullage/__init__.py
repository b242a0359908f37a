"""A rules engine over fact tables: what is established, what is refused, what is still unread.

The Python API mirrors the verbs of the command line::

    from ullage import Policy

    policy = Policy.load(rules=["rules"], facts=["facts"])
    for standing in policy.standings():
        print(standing.law, standing.subject_text, standing.verdict)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ullage.changes import Add, Set, Unset
    from ullage.explain.answers import Denial, Explanation
    from ullage.explain.goals import Changed, Reach, StillOpen, Tried
    from ullage.explain.proof import Proof
    from ullage.findings import Finding, PolicyError, Position, Severity, UsageError
    from ullage.moves import Moved, MovedPlan, Moves, SupposedCell, SupposedRow
    from ullage.policy import Policy
    from ullage.records.record import Record
    from ullage.records.replay import Replay, replay
    from ullage.reference.verify import verify
    from ullage.results import (
        Assumption,
        Bar,
        Bindings,
        Law,
        Plan,
        PlanLayout,
        Plans,
        Quantity,
        Standing,
        StandingClass,
        Term,
        Waiver,
    )

__version__ = "0.1.0"

__all__ = [
    "Add",
    "Assumption",
    "Bar",
    "Bindings",
    "Changed",
    "Denial",
    "Explanation",
    "Finding",
    "Law",
    "Moved",
    "MovedPlan",
    "Moves",
    "Plan",
    "PlanLayout",
    "Plans",
    "Policy",
    "PolicyError",
    "Position",
    "Proof",
    "Quantity",
    "Reach",
    "Record",
    "Replay",
    "Set",
    "Severity",
    "Standing",
    "StandingClass",
    "StillOpen",
    "SupposedCell",
    "SupposedRow",
    "Term",
    "Tried",
    "Unset",
    "UsageError",
    "Waiver",
    "__version__",
    "replay",
    "verify",
]

_HOMES = {
    **dict.fromkeys(
        ("Finding", "PolicyError", "Position", "Severity", "UsageError"), "ullage.findings"
    ),
    **dict.fromkeys(
        (
            "Assumption",
            "Bar",
            "Bindings",
            "Law",
            "Plan",
            "PlanLayout",
            "Plans",
            "Quantity",
            "Standing",
            "StandingClass",
            "Term",
            "Waiver",
        ),
        "ullage.results",
    ),
    **dict.fromkeys(("Add", "Set", "Unset"), "ullage.changes"),
    **dict.fromkeys(("Moved", "MovedPlan", "Moves", "SupposedCell", "SupposedRow"), "ullage.moves"),
    **dict.fromkeys(("Denial", "Explanation"), "ullage.explain.answers"),
    **dict.fromkeys(("Changed", "Reach", "StillOpen", "Tried"), "ullage.explain.goals"),
    "Policy": "ullage.policy",
    "Proof": "ullage.explain.proof",
    "Record": "ullage.records.record",
    **dict.fromkeys(("Replay", "replay"), "ullage.records.replay"),
    "verify": "ullage.reference.verify",
}


def __getattr__(name: str) -> object:
    # Imported on first use: the command line answers `--version` and `--help` without the solver.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
