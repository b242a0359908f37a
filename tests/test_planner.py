"""The planner against a plain reading of its laws, over generated machines, models and routes.

Ties and their neighbours a byte away are constructed: chance would never hit them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import planner_reference as ref
import pytest
from agreement import (
    Subject,
    Values,
    by_subject,
    plains,
    rows_of_dtypes,
    standings_apart,
    subjects_apart,
    values_apart,
)
from planner_reference import (
    Architecture,
    Artifact,
    Component,
    Conclusion,
    Dtype,
    Host,
    Number,
    ReservePolicy,
    Settings,
    Value,
)

from ullage import Policy

RULES = Path(__file__).parent.parent / "rules"
GIB = 2**30
GBIT = 10**9
SETTINGS = tuple(f.name for f in fields(Settings))
BATCHES = 5
SMALL = 4

LAWFUL = Settings(
    context_tokens=16384,
    concurrency=1,
    kv_dtype="Q8_0",
    indexer_layout="conservative",
    window_layout="windowed",
    imbalance_factor=Fraction("1.10"),
    hard_fit_floor=224 * GIB,
    min_nodes=2,
    min_link_rate=Fraction("2.5") * GBIT,
    recommended_link_rate=10 * GBIT,
    link_rate=Fraction("2.5") * GBIT,
    per_hop_latency=Fraction("0.5"),
)
"""The figures of the laws, section 1."""

RESERVES: tuple[dict[str, ReservePolicy], ...] = (
    {"standard": ReservePolicy(Fraction("0.2"), 8 * GIB)},
    {
        "standard": ReservePolicy(Fraction("0.2"), 8 * GIB),
        "steep": ReservePolicy(Fraction("0.25"), 4 * GIB),
        "flat": ReservePolicy(0, 16 * GIB),
    },
    {
        "thirds": ReservePolicy(Fraction(1, 3), 5 * GIB + 1),
        "flat": ReservePolicy(Fraction("0.07"), 24 * GIB),
    },
    {"nothing": ReservePolicy(0, 0)},
    {"standard": ReservePolicy(Fraction("0.2"), 8 * GIB)},
)

STANDARDS = (
    LAWFUL,
    replace(
        LAWFUL,
        context_tokens=131072,
        concurrency=4,
        kv_dtype="F16",
        indexer_layout="optimized",
        window_layout="uniform",
        imbalance_factor=1,
    ),
    replace(LAWFUL, kv_dtype="latent_cells", imbalance_factor=Fraction(4, 3), min_nodes=1),
    replace(
        LAWFUL,
        context_tokens=9973,
        concurrency=7,
        kv_dtype="thirds",
        indexer_layout="none",
        hard_fit_floor=0,
        imbalance_factor=Fraction("1.25"),
        link_rate=Fraction(10**10, 3),
        per_hop_latency=Fraction(1, 3),
    ),
    replace(LAWFUL, context_tokens=64),
)

DTYPES = {
    "F16": Dtype(2),
    "Q8_0": Dtype(Fraction(34, 32)),
    "Q4_0": Dtype(Fraction(18, 32)),
    "thirds": Dtype(Fraction(1, 3)),
    "latent_cells": Dtype(None, {("latent", 576): 656, ("indexer", 128): 132}),
    "some_cells": Dtype(1, {("latent", 576): 656, ("attention", 2048): Fraction(4097, 2)}),
    "window_cells": Dtype(Fraction(22, 32), {("window", 1024): 1111, ("window", 512): 600}),
}

GLM = Architecture(
    6144,
    {"latent": Component("latent", 78, 576), "index": Component("indexer", 21, 128, 78)},
    2048,
)
ARCHITECTURES = {
    "glm": GLM,
    "latent": Architecture(7168, {"latent": Component("latent", 61, 576)}),
    "attention": Architecture(8192, {"attention": Component("attention", 80, 2048)}),
    "windows": Architecture(
        2880,
        {
            "full": Component("attention", 18, 1024),
            "window": Component("window", 18, 1024, window_tokens=128),
        },
    ),
    "wide_windows": Architecture(
        5376,
        {
            "full": Component("attention", 10, 2048),
            "near": Component("window", 37, 512, window_tokens=1024),
            "far": Component("window", 15, 2047, window_tokens=200_000),
        },
    ),
    "states": Architecture(
        2048,
        {
            "state": Component("state", 36, 0, state_bytes=2_146_304),
            "attention": Component("attention", 12, 1024),
        },
    ),
    "pure_state": Architecture(4096, {"state": Component("state", 64, 0, state_bytes=999_999)}),
    "every_kind": Architecture(
        5120,
        {
            "latent": Component("latent", 13, 575),
            "attention": Component("attention", 7, 2048),
            "window": Component("window", 11, 1024, window_tokens=4096),
            "state": Component("state", 5, 0, state_bytes=Fraction(333_333, 2)),
            "index": Component("indexer", 3, 128, 20),
            "second": Component("indexer", 5, 127, 5),
        },
        513,
    ),
}
"""Every kind of cache, alone and beside others; the parts but indexes cover each layer once."""


@dataclass
class Route:
    artifact: str
    hosts: list[str]
    policy: str | None = None
    told: dict[str, Any] = field(default_factory=dict)
    placed: bool = False


@dataclass
class World:
    reserves: dict[str, ReservePolicy]
    policies: dict[str, Settings]
    architectures: dict[str, Architecture] = field(default_factory=lambda: {**ARCHITECTURES})
    shapes: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    tiers: dict[str, Number] = field(default_factory=dict)
    node_counts: list[int] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)

    @property
    def reserve_policies(self) -> list[ReservePolicy]:
        return list(self.reserves.values())

    @property
    def standard(self) -> Settings:
        return self.policies["standard"]

    def settings(self, route: Route) -> Settings:
        return replace(self.policies[route.policy or "standard"], **route.told)

    def need(self, artifact: str, settings: Settings) -> Number | None:
        weights, kv, _ = ref.demand(self.artifacts[artifact], settings, DTYPES[settings.kv_dtype])
        return None if weights is None or kv is None else weights + kv

    def usable(self, budget: Number) -> Number:
        """The usable memory that leaves exactly this budget."""
        asked = self.reserve_policies
        return max(max(budget / (1 - Fraction(p.fraction)), budget + p.floor) for p in asked)

    def add_artifact(
        self, name: str, shape: str, total: Number, files: Iterable[Number] = ()
    ) -> None:
        self.shapes[name] = shape
        self.artifacts[name] = Artifact(self.architectures[shape], total, tuple(files))

    def add_tier(self, usable: Number) -> None:
        if usable >= 0:
            self.tiers[f"t{len(self.tiers):03}"] = usable

    def add_host(self, host: Host) -> str:
        name = f"h{len(self.hosts):04}"
        self.hosts[name] = host
        return name

    def host_of(self, budget: Number) -> str:
        return self.add_host(Host(physical_usable=self.usable(budget)))

    def add_route(self, route: Route) -> None:
        self.routes[f"r{len(self.routes):04}"] = route


# What is generated.


@cache
def world(number: int) -> World:
    rng = random.Random(number)
    made = World(RESERVES[number], {"standard": STANDARDS[number]})
    for name in ("other", "third"):
        made.policies[name] = replace(STANDARDS[number], **overrides(rng, 0.7))
    add_artifacts(made, rng, 10**6 if number == SMALL else GIB)
    add_tiers(made, rng)
    if number == SMALL:
        # Nodes are counts, so that of large models none is drawn for a budget of a byte.
        made.add_tier(made.usable(1))
    else:
        made.add_artifact("glm-5.2-ud-iq2-xxs", "glm", 211_075_856_448)
        add_matched(made, rng)
    made.node_counts = sorted({1, 2, 3, *rng.sample(range(4, 2000), 20)})
    add_hosts(made, rng)
    verdicts = {name: ref_host(made, name).verdict for name in made.hosts}
    sound = [name for name, verdict in verdicts.items() if verdict == "established"]
    unsound = [name for name in verdicts if name not in sound]
    for _ in range(200):
        add_chance_route(made, rng, sound, unsound)
    for artifact in made.artifacts:
        add_tied_routes(made, rng, artifact)
    return made


def overrides(rng: random.Random, often: float) -> dict[str, Any]:
    slowest = rng.randint(1, 5 * GBIT)
    drawn: dict[str, Any] = {
        "context_tokens": rng.choice([1, 127, 128, 129, 4096, 16384, 10**8, rng.randint(1, 10**6)]),
        "concurrency": rng.choice([1, 2, 3, 64, rng.randint(1, 1000)]),
        "kv_dtype": rng.choice(["F16", "Q8_0", "Q4_0", "thirds", *DTYPES]),
        "indexer_layout": rng.choice(["conservative", "optimized", "none"]),
        "window_layout": rng.choice(["windowed", "uniform"]),
        "imbalance_factor": rng.choice([1, Fraction("1.10"), 1 + Fraction(1, rng.randint(2, 99))]),
        "hard_fit_floor": rng.choice([0, 64 * GIB, 224 * GIB, rng.randint(0, 999 * GIB)]),
        "min_nodes": rng.randint(1, 5),
        "min_link_rate": slowest,
        "recommended_link_rate": rng.choice([slowest, 10 * GBIT, 40 * GBIT]),
        "link_rate": rng.choice(
            [slowest, max(1, slowest - 1), slowest + 1, 10 * GBIT, 40 * GBIT, Fraction(10**10, 7)]
        ),
        "per_hop_latency": rng.choice([0, Fraction("0.5"), Fraction(rng.randint(0, 99), 64)]),
    }
    return {name: value for name, value in drawn.items() if rng.random() < often}


def add_artifacts(made: World, rng: random.Random, unit: int) -> None:
    for shape in made.architectures:
        made.add_artifact(f"{shape}-a", shape, rng.randint(20 * unit, 600 * unit))
    parts = [rng.randint(1, 90 * unit) for _ in range(5)]
    made.add_artifact("in-parts", "every_kind", sum(parts), parts)
    made.add_artifact("a-part-lost", "glm", sum(parts), parts[1:])
    made.add_artifact("a-byte-lost", "latent", sum(parts), [*parts[:-1], parts[-1] - 1])
    made.add_artifact("a-byte-more", "windows", 10 * unit, [10 * unit, 1])
    made.add_artifact("no-weights", "states", 0)


def add_tiers(made: World, rng: random.Random) -> None:
    for gib in (32, 48, 64, 96, 128):
        made.add_tier(gib * GIB)
    for budget in (-1, 0, 2**12):
        made.add_tier(made.usable(budget))
    made.add_tier(0)
    for _ in range(24):
        made.add_tier(rng.randint(0, 600 * GIB))
    for artifact in made.artifacts:
        need = made.need(artifact, made.standard)
        if need is None or need < 100:
            continue
        nodes = rng.choice([1, 2, 3, 7, 12])
        for off in (-1, 0, 1):
            made.add_tier(made.usable(Fraction(need + off) / nodes))
            made.add_tier(
                made.usable(Fraction(need * made.standard.imbalance_factor + off) / nodes)
            )


def add_hosts(made: World, rng: random.Random) -> None:
    def some() -> int:
        return rng.choice([32, 48, 64, 96, 128, 192, 256, 512]) * GIB - rng.randint(0, 4 * GIB)

    for _ in range(320):
        made.add_host(Host(physical_usable=some()))
    for _ in range(20):
        whole = some()
        pool = ("pool", 128 * GIB)
        within = rng.randint(20 * GIB, 128 * GIB)
        for host in (
            Host(physical_usable=Fraction(some(), 7) + 30 * GIB),
            Host(system_ram=some(), gpu_memory=rng.choice([0, some()]), unified=False),
            Host(system_ram=some(), gpu_memory=some()),
            Host(system_ram=whole, unified=True),
            Host(system_ram=whole, gpu_memory=0, unified=True),
            Host(readings={"direct": some(), "host_link": some()}),
            Host(physical_usable=within, pool=pool),
            Host(system_ram=within, pool=pool),
            Host(readings={"one_pool": within}, pool=pool, unified=True),
        ):
            made.add_host(host)
    for host in (
        Host(),
        Host(unified=True),
        Host(system_ram=GIB),
        Host(gpu_memory=GIB),
        Host(pool=("pool", 128 * GIB)),
        Host(physical_usable=128 * GIB, gpu_memory=1, unified=True),
        Host(system_ram=128 * GIB, gpu_memory=GIB, pool=("pool", 128 * GIB)),
        Host(physical_usable=128 * GIB, unified=False, pool=("pool", 128 * GIB)),
        Host(physical_usable=128 * GIB, pool=("pool", 128 * GIB)),
        Host(physical_usable=128 * GIB + 1, pool=("pool", 128 * GIB)),
        Host(system_ram=128 * GIB + 1, unified=False, pool=("pool", 128 * GIB)),
        Host(readings={"one_pool": 200 * GIB}, pool=("pool", 128 * GIB)),
        Host(system_ram=0, gpu_memory=96 * GIB),
        Host(physical_usable=0),
    ):
        made.add_host(host)
    for budget in (-1, 0, 1):
        if made.usable(budget) >= 0:
            made.host_of(budget)


def add_chance_route(made: World, rng: random.Random, sound: list[str], unsound: list[str]) -> None:
    count = rng.choice([0, 1, 1, *range(2, 11), *range(2, 11), *range(2, 11)])
    bad = rng.sample(unsound, rng.choice([0, 0, 0, 0, 0, 1, 1, 2]))
    hosts = [*bad, *rng.sample(sound, count)][:count]
    made.add_route(
        Route(
            rng.choice(list(made.artifacts)),
            hosts,
            rng.choice([None, None, "standard", "other", "third"]),
            overrides(rng, rng.choice([0, 0, 0.2, 0.6])),
            rng.random() < 0.5,
        )
    )


def add_tied_routes(made: World, rng: random.Random, artifact: str) -> None:
    for off in (-1, 0, 1):
        told = overrides(rng, rng.choice([0, 0.2]))
        need = made.need(artifact, replace(made.standard, **told))
        if need is None or need < 10**6:
            continue

        def small(need: Number = need) -> int:
            return int(need * rng.randint(1, 24) // 100)

        # All budgets together are the need, or a byte beside it.
        parts = [small() for _ in range(rng.randint(1, 3))]
        hosts = [made.host_of(part) for part in parts]
        hosts.append(made.host_of(need + off - sum(parts)))
        made.add_route(Route(artifact, hosts, None, told))

        # One budget alone is.
        alone = made.host_of(need + off)
        made.add_route(Route(artifact, [alone, made.host_of(small())], "standard", told, True))

        # All usable memory together is the floor, by the floor's figure or by a host's.
        usable = sum(ref.number(ref_host(made, h).values["physical_usable"]) for h in hosts)
        made.add_route(Route(artifact, hosts, None, {**told, "hard_fit_floor": usable - off}))
        floor = replace(made.standard, **told).hard_fit_floor
        first = made.usable(small())
        if floor + off - first > made.usable(1):
            row = [Host(physical_usable=u) for u in (first, floor + off - first)]
            made.add_route(Route(artifact, [made.add_host(h) for h in row], None, told))


def add_matched(made: World, rng: random.Random) -> None:
    """Ties in whole bytes throughout: weights made to fill some machines to the last byte."""
    for nodes in (2, 3):
        usable = 300 * rng.randint(GIB // 5, GIB // 3)
        budget = usable - ref.reserve(usable, made.reserve_policies)
        assert Fraction(budget).denominator == 1
        made.add_tier(usable)
        for off in (-1, 0, 1):
            name = f"filling-{nodes}-{off + 1}"
            made.add_artifact(name, "pure_state", 0)
            kv = made.need(name, made.standard)
            assert kv is not None
            made.add_artifact(name, "pure_state", nodes * budget - kv - off)
            hosts = [made.add_host(Host(physical_usable=usable)) for _ in range(nodes)]
            made.add_route(Route(name, hosts, placed=True))


# What the reference concludes.


def ref_host(made: World, name: str) -> Conclusion:
    return ref.node_memory(made.hosts[name], made.reserve_policies)


@dataclass
class Concluded:
    """Conclusions by law, values by plan, and the settings that a plan may tell beside them."""

    standings: dict[str, dict[Subject, Conclusion]]
    plans: dict[str, dict[Subject, Mapping[str, Value]]]
    settings: dict[tuple[str, Subject], Settings]


@cache
def expected(number: int) -> Concluded:
    made = world(number)
    hosts = {name: ref_host(made, name) for name in made.hosts}
    standings: dict[str, dict[Subject, Conclusion]] = {
        "node_memory": {(name,): host for name, host in hosts.items()},
        "artifact_bytes": {},
        "arithmetic_minimum": {},
        "route_fit": {},
    }
    plans: dict[str, dict[Subject, Mapping[str, Value]]] = {
        name: {} for name in ("kv", "topology", "route", "route_node", "seam")
    }
    settings: dict[tuple[str, Subject], Settings] = {}
    standard = made.standard
    for name, shape in made.architectures.items():
        plans["kv"][name,] = ref.kv_plan(shape.components, standard, DTYPES[standard.kv_dtype])
        settings["kv", (name,)] = standard
    for name, artifact in made.artifacts.items():
        standings["artifact_bytes"][name,] = ref.artifact_bytes(artifact)
        for tier, usable in made.tiers.items():
            found = ref.topology(
                usable, made.reserve_policies, artifact, standard, DTYPES[standard.kv_dtype]
            )
            standings["arithmetic_minimum"][name, tier] = found
            plans["topology"][name, tier] = found.values
            settings["topology", (name, tier)] = standard
        for nodes in made.node_counts:
            values = ref.seam(artifact.architecture, nodes, standard)
            plans["seam"][name, nodes] = {"artifact": name, **values}
            settings["seam", (name, nodes)] = standard
    for name, route in made.routes.items():
        artifact, holds = made.artifacts[route.artifact], made.settings(route)
        of = {host: hosts[host] for host in route.hosts}
        found = ref.route_fit(of, artifact, holds, DTYPES[holds.kv_dtype])
        standings["route_fit"][name,] = found
        plans["route"][name,] = {"artifact": route.artifact, **found.values}
        settings["route", (name,)] = holds
        for position, host in enumerate(route.hosts):
            place: dict[str, Value] = {"position": position} if route.placed else {}
            plans["route_node"][name, host] = {**place, **hosts[host].values}
            settings["route_node", (name, host)] = holds
        if route.hosts:
            values = ref.seam(artifact.architecture, len(route.hosts), holds)
            plans["seam"][name,] = {"artifact": route.artifact, **values}
            settings["seam", (name,)] = holds
    return Concluded(standings, plans, settings)


# What the program concludes.


def rows(made: World) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {
        "reserve_policy": [
            {"policy": name, "fraction": p.fraction, "floor": p.floor}
            for name, p in made.reserves.items()
        ],
        **rows_of_dtypes(DTYPES),
        "route_policy": [{"policy": name, **vars(p)} for name, p in made.policies.items()],
        "tier": [{"tier": name, "physical_usable": usable} for name, usable in made.tiers.items()],
        "node_count": [{"nodes": nodes} for nodes in made.node_counts],
        "architecture": [
            {
                "architecture": name,
                "num_hidden_layers": sum(
                    c.layers for c in shape.components.values() if c.kind != "indexer"
                ),
                "hidden_size": shape.hidden_size,
                "index_topk": shape.index_topk,
            }
            for name, shape in made.architectures.items()
        ],
        "kv_component": [
            {
                "architecture": name,
                "component": part,
                "kind": c.kind,
                "layers": c.layers,
                "values_per_token": c.values_per_token,
                "conservative_layers": c.conservative_layers if c.kind == "indexer" else None,
                "window_tokens": c.window_tokens if c.kind == "window" else None,
                "state_bytes": c.state_bytes if c.kind == "state" else None,
            }
            for name, shape in made.architectures.items()
            for part, c in shape.components.items()
        ],
        "artifact": [
            {"artifact": name, "architecture": made.shapes[name], "total_bytes": a.total_bytes}
            for name, a in made.artifacts.items()
        ],
        "artifact_file": [
            {"artifact": name, "path": f"{number}.bin", "bytes": size}
            for name, a in made.artifacts.items()
            for number, size in enumerate(a.files)
        ],
        "integrated_system": [
            {"system": system, "memory_kind": "lpddr5x", "capacity": capacity}
            for system, capacity in {h.pool for h in made.hosts.values() if h.pool}
        ],
    }
    found = {table: [{**row, "source": "a test"} for row in of] for table, of in found.items()}
    for row in found["node_count"]:
        del row["source"]
    found["host"] = [
        {
            "host": name,
            "system": h.pool[0] if h.pool else None,
            "physical_usable": h.physical_usable,
            "system_ram": h.system_ram,
            "gpu_memory": h.gpu_memory,
            "unified": h.unified,
        }
        for name, h in made.hosts.items()
    ]
    found["host_memory"] = [
        {"host": name, "reach": reach, "usable": usable}
        for name, h in made.hosts.items()
        for reach, usable in h.readings.items()
    ]
    found["route"] = [
        {"route": name, "artifact": r.artifact, "policy": r.policy, **r.told}
        for name, r in made.routes.items()
    ]
    found["route_node"] = [
        {"route": name, "host": host, "position": position if r.placed else None}
        for name, r in made.routes.items()
        for position, host in enumerate(r.hosts)
    ]
    return found


def narrow(law: str, shown: Values, due: Values) -> tuple[Values, Values]:
    if law in ("arithmetic_minimum", "route_fit"):
        # Of what a plan tells whole, a standing may show a part.
        due = {name: value for name, value in due.items() if name in shown}
    return shown, due


@cache
def differences(number: int) -> tuple[str, ...]:
    policy = Policy.load(rules=[RULES], rows=rows(world(number)))
    assert not policy.check()
    due = expected(number)
    found = standings_apart(policy, due.standings, narrow)
    by_plan = by_subject(policy.plan(), due.plans)
    for name, of_subject in due.plans.items():
        plans = by_plan[name]
        found += subjects_apart(name, plans, of_subject)
        for subject in plans.keys() & of_subject.keys():
            settings = plains(vars(due.settings[name, subject]))
            allowed = {s: v for s, v in settings.items() if s in plans[subject]}
            wanted_values = {**allowed, **plains(of_subject[subject])}
            found += values_apart(f"{name} {subject}", plans[subject], wanted_values)
    return tuple(found)


# What is compared.


@pytest.mark.parametrize("number", range(BATCHES))
def test_the_program_concludes_what_the_laws_say(number: int) -> None:
    found = differences(number)
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:20])


def test_enough_is_compared() -> None:
    counts: Counter[str] = Counter()
    for number in range(BATCHES):
        due = expected(number)
        counts["nodes"] += len(due.standings["node_memory"])
        counts["tiers"] += len(due.standings["arithmetic_minimum"])
        counts["routes"] += len(due.standings["route_fit"])
        counts["seams"] += len(due.plans["seam"])
    assert min(counts.values()) >= 1000, counts
    assert counts.total() >= 10_000, counts


NEAR = {-1: "a byte short", 0: "a tie", 1: "a byte over"}


def beside(what: str, off: Number) -> list[str]:
    return [f"{what}: {NEAR[int(off)]}"] if off in NEAR else []


def rare(number: int) -> Iterable[str]:
    """What is rare among the subjects of a batch, by the figures themselves."""
    made, due = world(number), expected(number)
    for host in due.standings["node_memory"].values():
        if host.values:
            usable, kept = (ref.number(host.values[n]) for n in ("physical_usable", "reserve"))
            yield from beside("host's budget and nothing", usable - kept)
    for found in due.standings["arithmetic_minimum"].values():
        usable, kept = (ref.number(found.values[n]) for n in ("physical_usable", "reserve"))
        yield from beside("tier's budget and nothing", usable - kept)
        if "recommended_nodes" in found.values:
            need, factor = (
                ref.number(found.values[n]) for n in ("total_placement", "imbalance_factor")
            )
            budget = usable - kept
            for what, load in (("need", need), ("need with its factor", need * factor)):
                over = load % budget
                if load >= budget - 1:
                    yield from beside(f"{what} and nodes", -1 if over == budget - 1 else over)
    for (name,), found in due.standings["route_fit"].items():
        holds = made.settings(made.routes[str(name)])
        values = found.values
        if "aggregate_usable" in values:
            usable = ref.number(values["aggregate_usable"])
            yield from beside("usable and floor", usable - holds.hard_fit_floor)
        if "headroom" in values:
            yield from beside("budgets and need", ref.number(values["headroom"]))
            largest = max(
                ref.number(ref_host(made, host).values["placement_budget"])
                for host in made.routes[str(name)].hosts
            )
            need = ref.number(values["required_placement"])
            yield from beside("one budget and need", largest - need)
        yield from beside("nodes and fewest", ref.number(values["node_count"]) - holds.min_nodes)
        yield from beside("link and slowest", holds.link_rate - holds.min_link_rate)


def test_every_tie_and_its_neighbours_occur() -> None:
    counts = Counter(case for number in range(BATCHES) for case in rare(number))
    whats = {
        "host's budget and nothing",
        "tier's budget and nothing",
        "need and nodes",
        "need with its factor and nodes",
        "usable and floor",
        "budgets and need",
        "one budget and need",
        "nodes and fewest",
        "link and slowest",
    }
    assert counts.keys() == {f"{what}: {near}" for what in whats for near in NEAR.values()}
    assert min(counts.values()) >= 3, counts


def test_every_conclusion_occurs() -> None:
    counts: Counter[object] = Counter()
    for number in range(BATCHES):
        due = expected(number)
        for law, of in due.standings.items():
            for found in of.values():
                counts.update({(law, found.verdict), *((law, t[0]) for t in found.reasons)})
                counts.update({(law, t[0]) for t in found.obligations})
                counts.update({(n, v) for n, v in found.values.items() if isinstance(v, bool)})
        for values in due.plans["seam"].values():
            counts.update({(n, v) for n, v in values.items() if isinstance(v, bool)})
            counts["sideband" if "dsa_sideband_bytes_per_query" in values else "none"] += 1
    assert {key for key, count in counts.items() if count >= 3} == {
        ("node_memory", "established"),
        ("node_memory", "refused"),
        ("node_memory", "unestablished"),
        ("node_memory", "double_counted_pool"),
        ("node_memory", "contradicts_catalog"),
        ("node_memory", "exceeds_catalog"),
        ("node_memory", "no_usable_memory"),
        ("node_memory", "no_placement_budget"),
        ("node_memory", "physical_usable"),
        ("node_memory", "system_ram"),
        ("node_memory", "gpu_memory"),
        ("artifact_bytes", "established"),
        ("artifact_bytes", "refused"),
        ("artifact_bytes", "files_disagree"),
        ("arithmetic_minimum", "refused"),
        ("arithmetic_minimum", "no_measured_placement"),
        ("arithmetic_minimum", "no_placement_budget"),
        ("arithmetic_minimum", "too_many_nodes"),
        ("arithmetic_minimum", "kv_dtype_unfit"),
        ("arithmetic_minimum", "files_disagree"),
        ("route_fit", "admissible"),
        ("route_fit", "refused"),
        ("route_fit", "unestablished"),
        ("route_fit", "too_few_nodes"),
        ("route_fit", "host_refused"),
        ("route_fit", "aggregate_budget_short"),
        ("route_fit", "single_node_admits_target"),
        ("route_fit", "below_hard_fit_floor"),
        ("route_fit", "kv_dtype_unfit"),
        ("route_fit", "files_disagree"),
        ("route_fit", "node_memory"),
        *((name, flag) for name in BOOLEANS for flag in (True, False)),
        "sideband",
        "none",
    }


BOOLEANS = (
    "is_arithmetic_minimum_topology",
    "aggregate_budget_short",
    "single_node_admits_target",
    "below_hard_fit_floor",
    "meets_minimum_link",
    "is_recommended_link",
)


# The reference against the figures of the laws that are marked as worked.

STANDARD = [ReservePolicy(Fraction("0.20"), 8 * GIB)]
GLM_UD = Artifact(GLM, 211_075_856_448)
Q8_0 = DTYPES["Q8_0"]


def node(gib: int) -> Conclusion:
    return ref.node_memory(Host(physical_usable=gib * GIB), STANDARD)


def test_the_reference_keeps_the_reserve_of_the_laws() -> None:
    assert ref.reserve(128 * GIB, STANDARD) == Fraction("27487790694.4")
    assert node(128).values["placement_budget"] == Fraction("109951162777.6")
    assert ref.reserve(32 * GIB, STANDARD) == 8 * GIB


@pytest.mark.parametrize(
    ("layout", "figure"),
    [("conservative", 955_908_096), ("optimized", 828_899_328), ("none", 782_106_624)],
)
def test_the_reference_has_the_kv_bytes_of_the_laws(layout: str, figure: int) -> None:
    assert ref.kv_bytes(GLM.components, 16384, 1, Q8_0, layout) == figure


@pytest.mark.parametrize(
    ("gib", "budget", "least", "recommended"),
    [
        (32, "25769803776", 9, 10),
        (48, "41231686041.6", 6, 6),
        (64, "54975581388.8", 4, 5),
        (96, "82463372083.2", 3, 3),
        (128, "109951162777.6", 2, 3),
    ],
)
def test_the_reference_has_the_tiers_of_the_laws(
    gib: int, budget: str, least: int, recommended: int
) -> None:
    values = ref.topology(gib * GIB, STANDARD, GLM_UD, LAWFUL, Q8_0).values
    assert values["total_placement"] == 212_031_764_544
    assert values["placement_budget"] == Fraction(budget)
    assert values["arithmetic_minimum_nodes"] == least
    assert values["recommended_nodes"] == recommended
    assert values["is_arithmetic_minimum_topology"] is (least == recommended)


def test_the_reference_has_the_routes_of_the_laws() -> None:
    even = ref.route_fit({"a": node(128), "b": node(128)}, GLM_UD, LAWFUL, Q8_0)
    assert even.verdict == "admissible"
    assert even.values["headroom"] == Fraction("7870561011.2")
    uneven = ref.route_fit({"a": node(512), "b": node(64)}, GLM_UD, LAWFUL, Q8_0)
    assert uneven.verdict == "refused"
    assert uneven.reasons == {("single_node_admits_target",)}


def test_the_reference_has_the_seam_of_the_laws() -> None:
    values = ref.seam(GLM, 3, LAWFUL)
    assert values["bytes_per_token_per_seam"] == 12_288
    assert values["decode_serialization"] == Fraction("0.0786432")
    assert values["decode_latency"] == 1
    assert values["prefill_serialization"] == Fraction("1288.4901888")
    assert values["dsa_sideband_bytes_per_query"] == 8192
