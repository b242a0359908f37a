"""Results as a policy would give them, for tests of formats, schemas and the command line."""

from __future__ import annotations

from fractions import Fraction

from ullage.diff.result import Cause, Diff, NotTheSame, Reasoned, Verdict
from ullage.findings import Finding, Position, Severity
from ullage.moves import Moved, MovedPlan, Moves, SupposedCell, SupposedRow
from ullage.results import (
    Assumption,
    Bar,
    Bindings,
    Plan,
    PlanLayout,
    Plans,
    Quantity,
    Standing,
    StandingClass,
    Term,
)
from ullage.sorts import BYTES, BYTES_PER_SECOND, COUNT, MILLISECONDS

ZERO = Quantity(Fraction(0), COUNT)
RESERVE = Quantity(Fraction("27487790694.4"), BYTES)
USABLE = Quantity(Fraction(128 * 2**30), BYTES)
RATE = Quantity(Fraction(450 * 10**9), BYTES_PER_SECOND)
THIRD = Quantity(Fraction(2**30, 3), BYTES)


def standing(
    law: str,
    subject: dict[str, str],
    kind: StandingClass,
    verdict: str,
    words: str = "",
    reasons: tuple[Term, ...] = (),
    obligations: tuple[Term, ...] = (),
    values: tuple[tuple[str, Quantity], ...] = (),
) -> Standing:
    """A standing whose subject has text parts alone."""
    return Standing(law, tuple(subject.items()), kind, verdict, words, reasons, obligations, values)


TRITON = standing(
    "weight_offload_split",
    {"arm": "gh200-glm52-triton"},
    StandingClass.ESTABLISHED,
    "uva_zero_copy_view",
    "zero-copy UVA view, 0 device copies",
    values=(("device_copies", ZERO),),
)
UNREAD = standing(
    "weight_offload_split",
    {"arm": "gh200-glm52"},
    StandingClass.UNESTABLISHED,
    "unestablished",
    obligations=(
        Term("read", (("reading", "uva_available"),), "uva_available"),
        Term("read", (("reading", "moe_backend"),), "moe_backend"),
    ),
)
MARLIN = standing(
    "weight_offload_split",
    {"arm": "gh200-glm52-marlin"},
    StandingClass.REFUSED,
    "refused",
    reasons=(
        Term(
            "relayout_backend",
            (("backend", "MARLIN"),),
            "backend MARLIN allocates new weights and scales",
        ),
    ),
)
HOST = standing(
    "node_memory",
    {"host": "spark"},
    StandingClass.ESTABLISHED,
    "established",
    values=(("physical_usable", USABLE), ("reserve", RESERVE)),
)
ALIASED = standing(
    "component_identity",
    {"system": "gh200", "reach": "coherent_link"},
    StandingClass.REFUSED,
    "aliased",
    "two rows claim it",
    reasons=(
        Term(
            "differs",
            (
                ("field", "addressability"),
                ("claims", (Term("across_link", (("per_direction", RATE),)), True, THIRD)),
            ),
            "addressability differs",
        ),
    ),
)

STANDINGS = (TRITON, UNREAD, MARLIN, HOST, ALIASED)

FINDINGS = (
    Finding(
        "unknown-column",
        "table `integrated_system` has no column `capasity`",
        (
            Position("facts/systems/nvidia.yaml", 14, 5),
            Position("rules/tables/systems.yaml", 9, 3, "declares its columns"),
        ),
        "a similar column is `capacity`",
    ),
    Finding("no-facts", "there is no fact in `facts`"),
    Finding(
        "unread-table",
        "no rule reads table `tier`",
        (Position("rules/tables/plan.yaml", 3, 3),),
        severity=Severity.WARNING,
    ),
)

BINDINGS = Bindings(
    ("System", "Capacity", "Gpus"),
    (("gb10", USABLE, Quantity(Fraction(1), COUNT)), ("thor 2", THIRD, ZERO)),
)

PLANS = Plans(
    (
        Plan(
            "room",
            (("host", "spark"),),
            (
                ("usable", USABLE),
                ("reserve", RESERVE),
                ("third", THIRD),
                ("latency", Quantity(Fraction("0.0786432"), MILLISECONDS)),
                ("fits", True),
                ("kind", "one_pool"),
            ),
            HOST,
        ),
        Plan("nodes", (("host", "spark"), ("node", "b")), (("usable", USABLE), ("spare", ZERO))),
        Plan("nodes", (("host", "spark"), ("node", "a")), (("usable", THIRD),)),
        Plan("sizes", (("size", Quantity(Fraction(12), COUNT)),)),
    ),
    (
        Assumption("floor", "policy", "standard", "floor", RESERVE, USABLE),
        Assumption("size", "size", "80 GiB", "size", None, USABLE),
    ),
    {
        "room": PlanLayout(
            "of {host}, {kind}, {none}",
            {
                "usable": "",
                "reserve": "kept free",
                "third": "",
                "latency": "",
                "fits": "it fits",
                "kind": "",
            },
            bar=Bar(("reserve",), "usable"),
        ),
        "nodes": PlanLayout(
            "nodes of {host}",
            {"usable": "", "spare": ""},
            rows="node",
            columns=("usable", "spare"),
            under="room",
            bar=Bar(("usable",), "usable"),
        ),
        "sizes": PlanLayout("a size"),
    },
)

ROW = Position("facts/more.yaml", 2, 5)
MOVES = Moves(
    (
        SupposedRow("host", "a/1", ROW),
        SupposedRow("host", "a/2", ROW),
        SupposedRow("tier", "x\ny", ROW, Position("facts/tiers.yaml", 7, 5)),
        SupposedCell("--set", "policy", "standard", "floor", RESERVE, USABLE, ROW),
        SupposedCell("--unset", "arm", "b", "tags", ("p", "q r"), None, ROW),
        SupposedCell(
            "--set", "arm", "c", "kept", True, True, Position("rules/t.yaml", 3, 1, "the default")
        ),
    ),
    (
        Moved(
            standing(
                "fit",
                {"arm": "x"},
                StandingClass.ESTABLISHED,
                "fits",
                "fits, with 25.60 GiB left",
                values=(("headroom", RESERVE), ("steady", ZERO), ("link", RATE)),
            ),
            standing(
                "fit",
                {"arm": "x"},
                StandingClass.REFUSED,
                "refused",
                reasons=(Term("short", (("on", "host link"),), "it is short on host link"),),
                values=(("headroom", Quantity(RESERVE.value - 1, BYTES)), ("steady", ZERO)),
            ),
        ),
        Moved(
            standing(
                "fit", {"arm": "y z"}, StandingClass.REFUSED, "refused", reasons=(Term("cut"),)
            ),
            None,
        ),
        Moved(MARLIN, TRITON),
    ),
    (
        MovedPlan(
            Plan("room", (("host", "a"),), (("usable", USABLE), ("fits", True))),
            Plan("room", (("host", "a"),), (("usable", THIRD), ("fits", False), ("kind", "one"))),
        ),
        MovedPlan(None, Plan("room", (("host", "b"),), ())),
        MovedPlan(Plan("room", (("host", "c"),), ()), None),
    ),
    1,
)

EDITED = Cause(
    "fact", "changed", Position("facts/hosts.yaml", 4, 9), "host a: usable 1 GiB -> 2 GiB"
)
ADDED = Cause("rule", "added", Position("rules/fit.lp", 30, 1), "reason(fit, Arm, short(Reach))")
GONE = Cause("fact", "removed", Position("facts/arms|old.yaml", 7, 5), "arm y z <b>`x`</b>")

DIFF = Diff(
    Verdict.NEITHER,
    (
        Reasoned(MOVES.moved[2], (EDITED,), True),
        Reasoned(MOVES.moved[1], (GONE,), True),
        Reasoned(MOVES.moved[0], (EDITED, ADDED), False),
    ),
    (
        Reasoned(MOVES.plans[0], (EDITED, ADDED), True),
        Reasoned(MOVES.plans[1], (ADDED,), True),
        Reasoned(MOVES.plans[2], (GONE,), True),
    ),
    (Cause("rule", "changed", Position("rules/t.yaml", 3, 3), "table arm: column tags added"),),
    (
        NotTheSame(
            "component_fact",
            (("system", "gb10"), ("reach", "one_pool")),
            (("capacity", USABLE),),
            (("capacity", THIRD),),
        ),
    ),
    1,
)
"""MOVES as a comparison: looser, looser since a refusal went, stricter; and what moved each."""
