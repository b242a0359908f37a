"""The routes that every contender decides: machines and models, drawn the same way each time."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from cases import GIB, RESERVE_FLOOR, draws

Row = dict[str, Any]
Rows = dict[str, list[Row]]

MOST_NODES = 200
"""As many as the contender in clingo adds up within 32 bits."""

KINDS = 16
"""How many kinds of routes there are, in turn."""

SOURCE = "the benchmark"

POLICY: Row = {
    "context_tokens": 16384,
    "concurrency": 1,
    "kv_dtype": "Q8_0",
    "indexer_layout": "conservative",
    "window_layout": "windowed",
    "imbalance_factor": Fraction(11, 10),
    "hard_fit_floor": 224 * GIB,
    "min_nodes": 2,
    "min_link_rate": 2_500_000_000,
    "recommended_link_rate": 10_000_000_000,
    "link_rate": 2_500_000_000,
    "per_hop_latency": Fraction(1, 2),
}
"""What is asked of a route that does not say otherwise, in base units."""

OWN: tuple[Row, ...] = (
    {},
    {"context_tokens": 131072, "kv_dtype": "F16"},
    {"concurrency": 4, "link_rate": 10_000_000_000},
    {"indexer_layout": "optimized", "per_hop_latency": Fraction(1, 10)},
    {"hard_fit_floor": 64 * GIB, "imbalance_factor": Fraction(5, 4)},
    {"context_tokens": 100_000, "kv_dtype": "Q4_0", "link_rate": 1_000_000_000},
)
"""What routes say otherwise, in turn."""

DTYPES = {"Q8_0": Fraction(34, 32), "F16": Fraction(2), "Q4_0": Fraction(18, 32)}

WEIGHTS = {
    "dense-70b": 141_107_412_992,
    "sparse-120b": 65_248_815_184,
    "sparse-350b": 377_957_122_052,
    "sparse-670b": 688_586_727_752,
}
"""Bytes; four divides them and each cache, so that budgets can add up to a need."""

SHAPES: dict[str, Row] = {
    "dense-70b": {"num_hidden_layers": 80, "hidden_size": 8192},
    "sparse-120b": {"num_hidden_layers": 36, "hidden_size": 2880},
    "sparse-350b": {
        "num_hidden_layers": 78,
        "hidden_size": 6144,
        "index_head_dim": 128,
        "indexer_full_layers": 21,
        "index_topk": 2048,
    },
    "sparse-670b": {"num_hidden_layers": 61, "hidden_size": 7168},
}

CACHES: dict[str, tuple[Row, ...]] = {
    "dense-70b": ({"kind": "attention", "layers": 80, "values_per_token": 2048},),
    "sparse-120b": (
        {"kind": "attention", "layers": 18, "values_per_token": 1024},
        {"kind": "window", "layers": 18, "values_per_token": 1024, "window_tokens": 128},
    ),
    "sparse-350b": (
        {"kind": "latent", "layers": 78, "values_per_token": 576},
        {"kind": "indexer", "layers": 21, "conservative_layers": 78, "values_per_token": 128},
    ),
    "sparse-670b": ({"kind": "latent", "layers": 61, "values_per_token": 576},),
}


def kv(model: str, asked: Row) -> int:
    """Bytes that all caches of a model take."""
    context = asked["context_tokens"]
    values = 0
    for part in CACHES[model]:
        layers = part["layers"]
        if part["kind"] == "indexer" and asked["indexer_layout"] == "conservative":
            layers = part["conservative_layers"]
        values += (
            layers * part["values_per_token"] * min(context, part.get("window_tokens", context))
        )
    return int(values * asked["concurrency"] * DTYPES[asked["kv_dtype"]])


def rows(n: int, nodes: int) -> Rows:
    """Routes of so many nodes, each node a host of its own, and all that they refer to."""
    given: Rows = {
        "reserve_policy": [
            {"policy": "standard", "fraction": Fraction(1, 5), "floor": RESERVE_FLOOR}
        ],
        "route_policy": [{"policy": "standard", **POLICY}],
        "kv_dtype": [{"dtype": name, "bytes_per_value": b} for name, b in DTYPES.items()],
        "architecture": [{"architecture": name, **shape} for name, shape in SHAPES.items()],
        "kv_component": [
            {"architecture": name, "component": part["kind"], **part}
            for name, parts in CACHES.items()
            for part in parts
        ],
        "artifact": [
            {"artifact": name, "architecture": name, "total_bytes": b}
            for name, b in WEIGHTS.items()
        ],
    }
    for table in given.values():
        for row in table:
            row["source"] = SOURCE
    hosts: list[Row] = []
    routes: list[Row] = []
    members: list[Row] = []
    for i, (artifact, own, machines) in enumerate(_routes(n, nodes)):
        route = f"route-{i:06}"
        routes.append({"route": route, "artifact": artifact, **own})
        for j, machine in enumerate(machines):
            host = f"host-{i:06}-{j}"
            hosts.append({"host": host, **machine})
            # Of one kind of route, the last two nodes stand at one place.
            position = j - 1 if i % KINDS == 15 and j == nodes - 1 > 0 else j
            members.append({"route": route, "host": host, "position": position})
    return {**given, "host": hosts, "route": routes, "route_node": members}


def _routes(n: int, nodes: int) -> Iterator[tuple[str, Row, list[Row]]]:
    """Artifacts, what routes say of their own, and their machines.

    Of every sixteen routes one has just the budgets that it needs, one lacks a byte of memory for
    that; one has a node that would just do alone, one a node that lacks a byte for that; one is
    just at the floor, one a byte below it; one has a host that counts its memory twice, one a host
    that nobody looked at, and one two nodes at one place.
    """
    drawn = draws()
    large = ("sparse-350b", "sparse-670b")
    for i in range(n):
        turn, kind = divmod(i, KINDS)
        artifact = large[turn % 2]
        own: Row = {}
        need = WEIGHTS[artifact] + kv(artifact, POLICY)
        match kind:
            case 0 | 1:
                usable = [_holding(b) for b in _shares(need, nodes, drawn)]
                usable[-1] -= kind
            case 2 | 3:
                usable = _around(need, nodes, drawn)
                usable[turn % nodes] = _holding(need) - (kind - 2)
            case 4 | 5:
                artifact = "dense-70b"
                usable = _shares(POLICY["hard_fit_floor"], nodes, drawn)
                usable[-1] -= kind - 4
            case _:
                artifact = tuple(WEIGHTS)[turn % len(WEIGHTS)]
                own = OWN[(turn + kind) % len(OWN)]
                need = WEIGHTS[artifact] + kv(artifact, {**POLICY, **own})
                usable = _around(need, nodes, drawn)
        machines = [_machine(j, bytes) for j, bytes in enumerate(usable)]
        if kind == 6:
            machines[turn % nodes] = {"unified": True, "system_ram": usable[0], "gpu_memory": GIB}
        elif kind == 7:
            machines[turn % nodes] = {}
        yield artifact, own, machines


def _holding(budget: int) -> int:
    """The least memory of which the reserve leaves so much."""
    return max(budget + RESERVE_FLOOR, -(-budget * 5 // 4))


def _shares(total: int, nodes: int, drawn: Iterator[int]) -> list[int]:
    """Unlike parts of a total; four divides each where it divides the total."""
    part = total // nodes // 4 * 4
    parts = [part] * nodes
    for j in range(0, nodes - 1, 2):
        more = next(drawn) % (part // 2) // 4 * 4
        parts[j] += more
        parts[j + 1] -= more
    parts[-1] += total - part * nodes
    return parts


def _around(need: int, nodes: int, drawn: Iterator[int]) -> list[int]:
    """Memory of nodes that hold a need together, or nearly do."""
    part = _holding(need // nodes)
    return [part // 2 + next(drawn) % (part * 11 // 10) for _ in range(nodes)]


def _machine(place: int, usable: int) -> Row:
    """One of three ways to tell a host's memory, in turn."""
    match place % 4:
        case 2:
            return {"system_ram": usable // 3, "gpu_memory": usable - usable // 3}
        case 3:
            return {"unified": True, "system_ram": usable}
    return {"physical_usable": usable}


_UNITS = {
    "floor": "B",
    "hard_fit_floor": "B",
    "total_bytes": "B",
    "physical_usable": "B",
    "system_ram": "B",
    "gpu_memory": "B",
    "min_link_rate": "bit/s",
    "recommended_link_rate": "bit/s",
    "link_rate": "bit/s",
    "per_hop_latency": "ms",
}


def write_yaml(given: Rows, folder: Path) -> None:
    """Write the rows as YAML files, one a table, as a person would."""
    for table, found in given.items():
        lines = [
            f"  - {{{', '.join(f'{name}: {_text(name, v)}' for name, v in row.items())}}}\n"
            for row in found
        ]
        (folder / f"{table}.yaml").write_text(f"{table}:\n{''.join(lines)}", encoding="utf-8")


def _text(column: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    unit = _UNITS.get(column, "")
    if unit == "B" and isinstance(value, int) and value % GIB == 0:
        return f"{value // GIB} GiB"
    return f"{value} {unit}".strip()
