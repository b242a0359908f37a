"""What the planner must conclude, read from the laws alone: integers and fractions, no solver.

Nothing here comes from ullage or its rules. The sections named are those of the laws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

Number = int | Fraction
Value = str | bool | Number
Term = tuple[Value, ...]
"""A reason or an obligation: its name, then its arguments."""


@dataclass(frozen=True)
class ReservePolicy:
    fraction: Number
    floor: Number


@dataclass(frozen=True)
class Host:
    """What was read of a host; ``pool`` is an integrated catalog system and its whole capacity."""

    physical_usable: Number | None = None
    system_ram: Number | None = None
    gpu_memory: Number | None = None
    unified: bool | None = None
    readings: Mapping[str, Number] = field(default_factory=dict)
    pool: tuple[str, Number] | None = None


@dataclass(frozen=True)
class Component:
    kind: str
    layers: int
    values_per_token: int
    conservative_layers: int = 0
    window_tokens: int = 0
    state_bytes: Number = 0


@dataclass(frozen=True)
class Dtype:
    """Bytes of one value, and of whole cells by kind and values."""

    bytes_per_value: Number | None
    cells: Mapping[tuple[str, int], Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Architecture:
    hidden_size: int
    components: Mapping[str, Component]
    index_topk: int | None = None


@dataclass(frozen=True)
class Artifact:
    architecture: Architecture
    total_bytes: Number
    files: Sequence[Number] = ()


@dataclass(frozen=True)
class Settings:
    """A row of route_policy, or what holds of a route."""

    context_tokens: int
    concurrency: int
    kv_dtype: str
    indexer_layout: str
    window_layout: str
    imbalance_factor: Number
    hard_fit_floor: Number
    min_nodes: int
    min_link_rate: Number
    recommended_link_rate: Number
    link_rate: Number
    per_hop_latency: Number


@dataclass(frozen=True)
class Conclusion:
    verdict: str
    values: Mapping[str, Value]
    reasons: frozenset[Term] = frozenset()
    obligations: frozenset[Term] = frozenset()


def concluded(
    fine: str, values: Mapping[str, Value], reasons: Iterable[Term], obligations: Iterable[Term]
) -> Conclusion:
    against, unread = frozenset(reasons), frozenset(obligations)
    verdict = "refused" if against else "unestablished" if unread else fine
    return Conclusion(verdict, values, against, unread)


# Section 3.


def reserve(usable: Number, policies: Iterable[ReservePolicy]) -> Number:
    return max(max(p.fraction * usable, p.floor) for p in policies)


def node_memory(host: Host, policies: Sequence[ReservePolicy]) -> Conclusion:
    ram, gpu = host.system_ram, host.gpu_memory
    unified = host.unified is True or host.pool is not None
    usable: Number | None = None
    if host.physical_usable is not None:
        usable = host.physical_usable
    elif ram is not None and unified:
        usable = ram
    elif ram is not None and gpu is not None:
        usable = ram + gpu
    elif host.readings:
        usable = sum(host.readings.values())

    reasons: set[Term] = set()
    if unified and gpu is not None and gpu > 0:
        reasons.add(("double_counted_pool",))
    if host.pool is not None:
        system, capacity = host.pool
        if host.unified is False:
            reasons.add(("contradicts_catalog", system))
        read = [host.physical_usable, ram, host.readings.get("one_pool")]
        if any(figure is not None and figure > capacity for figure in read):
            reasons.add(("exceeds_catalog", "one_pool"))
    if ram == 0 or usable == 0:
        reasons.add(("no_usable_memory",))
    if reasons:
        return concluded("established", {}, reasons, ())

    if usable is None:
        lacks = "gpu_memory" if ram is not None else "system_ram" if gpu is not None else None
        return concluded("established", {}, (), [(lacks or "physical_usable",)])
    kept = reserve(usable, policies)
    if usable - kept <= 0:
        values: dict[str, Value] = {"physical_usable": usable, "reserve": kept}
        return concluded("established", values, [("no_placement_budget",)], ())
    values = {"physical_usable": usable, "reserve": kept, "placement_budget": usable - kept}
    return concluded("established", values, (), ())


# Section 6.


def charged_layers(component: Component, indexer_layout: str) -> int:
    if component.kind == "indexer":
        by_layout = {
            "conservative": component.conservative_layers,
            "optimized": component.layers,
            "none": 0,
        }
        return by_layout[indexer_layout]
    return component.layers


def serves(component: Component, dtype: Dtype, indexer_layout: str) -> bool:
    if component.kind == "state" or (component.kind == "indexer" and indexer_layout == "none"):
        # The one has bytes of its own, the other is left out: neither asks anything of the dtype.
        return True
    if any(kind == component.kind for kind, _ in dtype.cells):
        return (component.kind, component.values_per_token) in dtype.cells
    return dtype.bytes_per_value is not None


def unfit(components: Mapping[str, Component], dtype: Dtype, indexer_layout: str) -> set[str]:
    return {name for name, c in components.items() if not serves(c, dtype, indexer_layout)}


def kv_parts(
    components: Mapping[str, Component],
    context: int,
    dtype: Dtype,
    indexer_layout: str,
    window_layout: str,
) -> tuple[Fraction, Fraction]:
    """What one sequence takes for each of its tokens, and what however many more follow."""
    per_token, per_sequence = Fraction(0), Fraction(0)
    for c in components.values():
        layers = charged_layers(c, indexer_layout)
        if c.kind == "state":
            per_sequence += layers * c.state_bytes
        elif layers:
            cell = dtype.cells.get((c.kind, c.values_per_token))
            if cell is None:
                assert dtype.bytes_per_value is not None
                cell = c.values_per_token * dtype.bytes_per_value
            if c.kind == "window" and window_layout == "windowed":
                per_sequence += layers * cell * min(context, c.window_tokens)
            else:
                per_token += layers * cell
    return per_token, per_sequence


def kv_bytes(
    components: Mapping[str, Component],
    context: int,
    concurrency: int,
    dtype: Dtype,
    indexer_layout: str,
    window_layout: str = "windowed",
) -> int | None:
    if unfit(components, dtype, indexer_layout):
        return None
    per_token, per_sequence = kv_parts(components, context, dtype, indexer_layout, window_layout)
    return floor((per_token * context + per_sequence) * concurrency)


def kv_plan(
    components: Mapping[str, Component], settings: Settings, dtype: Dtype
) -> dict[str, Value]:
    """The plan `kv`: beside the bytes, what they are made of, which the laws do not ask for."""
    layout, windows, context = (
        settings.indexer_layout,
        settings.window_layout,
        settings.context_tokens,
    )
    kv = kv_bytes(components, context, settings.concurrency, dtype, layout, windows)
    if kv is None:
        return {"format_serves": False}
    per_token, per_sequence = kv_parts(components, context, dtype, layout, windows)
    return {
        "format_serves": True,
        "kv": kv,
        "kv_bytes_per_token": per_token,
        "kv_bytes_per_sequence": per_sequence,
        "cache_tensors": sum(charged_layers(c, layout) for c in components.values()),
    }


def artifact_bytes(artifact: Artifact) -> Conclusion:
    """Where any file is listed, all are, and make up the total."""
    total = artifact.total_bytes
    if not artifact.files:
        return concluded("established", {"total_bytes": total}, (), ())
    listed = sum(artifact.files)
    values: dict[str, Value] = {"total_bytes": total, "listed_bytes": listed}
    reasons = [("files_disagree", listed, total)] if listed != total else []
    return concluded("established", values, reasons, ())


def demand(
    artifact: Artifact, settings: Settings, dtype: Dtype
) -> tuple[Number | None, int | None, set[Term]]:
    """Weights, KV bytes, and what speaks against either, which then is None."""
    components, layout = artifact.architecture.components, settings.indexer_layout
    reasons: set[Term] = {("kv_dtype_unfit", name) for name in unfit(components, dtype, layout)}
    kv = kv_bytes(
        components,
        settings.context_tokens,
        settings.concurrency,
        dtype,
        layout,
        settings.window_layout,
    )
    files = artifact_bytes(artifact)
    weights = artifact.total_bytes if files.verdict == "established" else None
    return weights, kv, reasons | files.reasons


def told(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


# Section 8.


def topology(
    usable: Number,
    policies: Sequence[ReservePolicy],
    artifact: Artifact,
    settings: Settings,
    dtype: Dtype,
) -> Conclusion:
    """The values of the plan, with the standing of `arithmetic_minimum` where nothing is placed."""
    kept = reserve(usable, policies)
    budget = usable - kept
    weights, kv, reasons = demand(artifact, settings, dtype)
    reasons.add(("no_measured_placement",))
    values = told(
        {
            "physical_usable": usable,
            "reserve": kept,
            "weights": weights,
            "kv": kv,
            "imbalance_factor": settings.imbalance_factor,
        }
    )
    if budget > 0:
        values["placement_budget"] = budget
    else:
        reasons.add(("no_placement_budget",))
    if weights is not None and kv is not None:
        need = weights + kv
        values["total_placement"] = need
        if budget > 0 and need > 10**6 * budget:
            reasons.add(("too_many_nodes",))
        elif budget > 0:
            least = ceil(Fraction(need) / budget)
            recommended = ceil(need * settings.imbalance_factor / Fraction(budget))
            values["arithmetic_minimum_nodes"] = least
            values["recommended_nodes"] = recommended
            values["is_arithmetic_minimum_topology"] = least == recommended
    return concluded("admissible", values, reasons, ())


# Section 9.


def route_fit(
    hosts: Mapping[str, Conclusion], artifact: Artifact, settings: Settings, dtype: Dtype
) -> Conclusion:
    """The values of the plan `route` and its standing; ``hosts`` by name, as concluded of each."""
    weights, kv, reasons = demand(artifact, settings, dtype)
    need = None if weights is None or kv is None else weights + kv
    values = told(
        {"node_count": len(hosts), "weights": weights, "kv": kv, "required_placement": need}
    )
    if len(hosts) < settings.min_nodes:
        reasons.add(("too_few_nodes",))
    reasons |= {("host_refused", name) for name, host in hosts.items() if host.verdict == "refused"}
    obligations: set[Term] = {
        ("node_memory", name) for name, host in hosts.items() if host.verdict == "unestablished"
    }
    if hosts and all(host.verdict == "established" for host in hosts.values()):
        usables = [number(host.values["physical_usable"]) for host in hosts.values()]
        budgets = [number(host.values["placement_budget"]) for host in hosts.values()]
        values["aggregate_usable"] = sum(usables)
        values["aggregate_placement_budget"] = sum(budgets)
        values["below_hard_fit_floor"] = sum(usables) < settings.hard_fit_floor
        if need is not None:
            values["headroom"] = sum(budgets) - need
            # Beyond the laws: what is left where the fullest node decides.
            values["headroom_at_imbalance"] = sum(budgets) - need * settings.imbalance_factor
            values["aggregate_budget_short"] = sum(budgets) < need
            values["single_node_admits_target"] = any(budget >= need for budget in budgets)
        for boolean in (
            "below_hard_fit_floor",
            "aggregate_budget_short",
            "single_node_admits_target",
        ):
            if values.get(boolean) is True:
                reasons.add((boolean,))
    return concluded("admissible", values, reasons, obligations)


def number(value: Value) -> Number:
    assert isinstance(value, int | Fraction)
    return value


# Section 10.


def seam(architecture: Architecture, nodes: int, settings: Settings) -> dict[str, Value]:
    seams = nodes - 1
    token = architecture.hidden_size * 2
    prefill = token * settings.context_tokens
    milliseconds_per_byte = Fraction(8 * 1000) / settings.link_rate
    values: dict[str, Value] = {
        "nodes": nodes,
        "seams": seams,
        "bytes_per_token_per_seam": token,
        "decode_serialization": token * milliseconds_per_byte * seams,
        "decode_bandwidth_share": token * milliseconds_per_byte * seams,
        "decode_latency": settings.per_hop_latency * seams,
        "prefill_bytes": prefill,
        "prefill_serialization": prefill * milliseconds_per_byte * seams,
        "link_rate": settings.link_rate,
        "per_hop_latency": settings.per_hop_latency,
        "meets_minimum_link": settings.link_rate >= settings.min_link_rate,
        "is_recommended_link": settings.link_rate >= settings.recommended_link_rate,
    }
    if architecture.index_topk is not None:
        values["dsa_sideband_bytes_per_query"] = architecture.index_topk * 4
    return values
