"""Where an arm's weights are and whether they fit, against a plain reading of the laws.

Checkpoints, settings and machines are generated. Ties and their neighbours a byte away are
constructed: chance would never hit them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import fit_reference as ref
import planner_reference as planner
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
from fit_reference import Arm, Checkpoint, Host, Parameter, Release, Setting
from planner_reference import Component, Conclusion, Dtype, Number, ReservePolicy, Value

from ullage import Policy

RULES = Path(__file__).parent.parent / "rules"
GIB = 2**30
BATCHES = 4
CHECKPOINTS = 34
ROOM = 2**60

DTYPES = {
    "F16": Dtype(2),
    "Q8_0": Dtype(Fraction(34, 32)),
    "thirds": Dtype(Fraction(1, 3)),
    "latent_cells": Dtype(None, {("latent", 576): 656}),
}
RESERVES: tuple[dict[str, ReservePolicy], ...] = (
    {"standard": ReservePolicy(Fraction("0.2"), 8 * GIB)},
    {"standard": ReservePolicy(Fraction("0.1"), 999), "flat": ReservePolicy(0, 12_345)},
    {"nothing": ReservePolicy(0, 0)},
    {"thirds": ReservePolicy(Fraction(1, 3), 7), "steep": ReservePolicy(Fraction("0.2"), GIB)},
)
RELEASES = {
    "vllm@old": Release(
        prefetch_overwrites=True,
        workspace_allowance=None,
        relayouts={
            ("fp8", "TRITON"): "in_place",
            ("fp8", "MARLIN"): "allocates",
            ("fp8", "HUMMING"): "unknown",
            ("fp8", "FACTLESS"): None,
            ("mxfp4", "ELSEWHERE"): "in_place",
        },
        runners={"v1": True, "v2": False},
    ),
    "vllm@new": Release(
        prefetch_overwrites=False,
        workspace_allowance=12_345,
        relayouts={("fp8", "TRITON"): "in_place"},
        runners={"v1": True, "v2": True},
    ),
    "vllm@unread": Release(
        workspace_allowance=0,
        relayouts={("fp8", "TRITON"): "in_place"},
        runners={"v1": True},
    ),
}

LINKS = ("host_link", "coherent_link")
C2C = 450 * 10**9
PCIE = 64 * 10**9
SYSTEMS: dict[str, tuple[str, int, int, Number | None]] = {
    "pool": ("integrated", 1, 1, None),
    "pool-4": ("integrated", 4, 1, None),
    "super-1": ("superchip", 1, 1, C2C),
    "super-2": ("superchip", 2, 2, C2C),
    "super-2-of-1": ("superchip", 2, 1, C2C),
    "super-4-of-2": ("superchip", 4, 2, C2C),
    **{f"card-{gpus}": ("discrete", gpus, 1, PCIE) for gpus in (1, 3, 8)},
    **{f"bare-{gpus}": ("discrete", gpus, 1, None) for gpus in (1, 4)},
}
"""Systems of the catalog: shape, GPUs, CPUs, link. A `bare` one leaves the host side untold."""

NAMES = (
    "self_attn.q_proj.weight",
    "self_attn.kv_proj.weight",
    "self_attn.kv_proj.weight_scale",
    "self_attn.o_proj.weight",
    "mlp.gate.weight",
    "mlp.experts.w13_weight",
    "mlp.experts.w2_weight",
    "mlp.experts.w2_weight_scale",
    "mlp.experts_bias",
    "mlp.shared_experts.gate.weight",
    "mlp.down_proj.weight",
    "input_layernorm.weight",
    "post_attention_layernorm.weight",
    "experts",
    "indexer.mlp.gate",
)
FILTERS: tuple[tuple[str, ...] | None, ...] = (
    None,
    None,
    (),
    ("mlp",),
    ("experts",),
    ("weight",),
    ("mlp.experts",),
    ("self_attn.kv_proj", "mlp.gate"),
    ("proj.weight", "experts.w2_weight"),
    ("mlp.experts", "experts", "mlp.experts.w13_weight"),
    ("layernorm", "self_attn.q_proj.weight"),
    ("expert", "gate"),
    ("mlp.exp", "attn", "w13", "weight_scale"),
    ("mlp.weight", "down_proj"),
    ("input_layernorm.weight", "mlp.experts.w2_weight_scale.more"),
)
NOTHING = (("nonsuch",), ("xperts",), ("mlp.weight", "Experts"), ("lm_head",), ("weight.mlp",))
"""Filters that no name has, though some are parts of one, or name what is outside the layers."""

Kind = tuple[tuple[str, int, str | None, str | None], ...]
"""A layer as it is drawn: name, bytes, shape and format of each parameter, in order."""


@dataclass(frozen=True)
class Placed:
    checkpoint: str
    host: str
    release: str
    arm: Arm


@dataclass
class World:
    setting: Setting
    reserves: dict[str, ReservePolicy]
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    arms: dict[str, Placed] = field(default_factory=dict)

    def usable(self, budget: Number) -> Number:
        """The usable memory of which the reserves leave exactly this budget."""
        least: Number = budget
        for p in self.reserves.values():
            least = max(least, budget / (1 - Fraction(p.fraction)), budget + p.floor)
        return least

    def add_host(self, host: Host) -> str:
        name = f"h{len(self.hosts):04}"
        self.hosts[name] = host
        return name

    def add_arm(self, placed: Placed) -> None:
        self.arms[f"a{len(self.arms):04}"] = placed

    def fit(self, placed: Placed) -> ref.Fit:
        return ref.arm_memory_fit(
            self.checkpoints[placed.checkpoint],
            placed.arm,
            RELEASES[placed.release],
            (placed.host, self.hosts[placed.host]),
            self.setting,
        )

    def split(self, placed: Placed) -> Conclusion:
        checkpoint = self.checkpoints[placed.checkpoint]
        return ref.checkpoint_tier_split(checkpoint, placed.arm, RELEASES[placed.release])


# Checkpoints.


@cache
def world(number: int) -> World:
    rng = random.Random(number)
    reserves = RESERVES[number]
    made = World(Setting(list(reserves.values()), DTYPES), reserves)
    unit = (2**30, 2**12, 7, 2**20)[number]
    for _ in range(CHECKPOINTS):
        name = add_checkpoint(made, rng, unit)
        add_arms(made, rng, name)
    add_odd_checkpoints(made, rng, unit)
    return made


def draw_bytes(rng: random.Random, unit: int) -> int:
    power = 1 << rng.randint(0, unit.bit_length())
    near = max(0, power + rng.choice([-1, 0, 1]))
    return rng.choice([near, rng.randint(0, unit), rng.randint(1, unit) * 2, unit, unit, 0])


def draw_kind(rng: random.Random, unit: int) -> Kind:
    names = rng.sample(NAMES, rng.randint(1, 12))
    return tuple(draw_parameter(rng, name, draw_bytes(rng, unit)) for name in names)


def draw_parameter(
    rng: random.Random, name: str, size: int
) -> tuple[str, int, str | None, str | None]:
    """Shapes and formats that have the size, so that nothing contradicts itself."""
    if size % 2 == 0 and rng.random() < 0.5:
        return name, size, f"{size // 2}", rng.choice(["BF16", "F16"])
    return name, size, rng.choice([f"{size}", f"1x{size}"]), rng.choice(["F8_E4M3", "U8"])


def resized(rng: random.Random, kind: Kind, unit: int) -> Kind:
    """The same layer with some sizes, shapes or formats otherwise, and maybe in another order."""
    drawn = []
    for name, size, shape, dtype in kind:
        roll = rng.random()
        if roll < 0.3:
            drawn.append(draw_parameter(rng, name, draw_bytes(rng, unit)))
        elif roll < 0.6:
            # The same size in another shape or format: a slot of its own in the pool.
            drawn.append(draw_parameter(rng, name, size))
        else:
            drawn.append((name, size, shape, dtype))
    if rng.random() < 0.5:
        rng.shuffle(drawn)
    return tuple(drawn)


def draw_kinds(rng: random.Random, unit: int) -> list[Kind]:
    kinds = [draw_kind(rng, unit)]
    for _ in range(rng.randint(1, 3)):
        fresh = rng.random() < 0.5
        kinds.append(draw_kind(rng, unit) if fresh else resized(rng, kinds[0], unit))
    return kinds


def laid_out(rng: random.Random, kinds: Sequence[Kind], layers: int) -> list[Kind]:
    """Which kind each layer is of: by chance, in turn, or the first few and then the others."""
    how = rng.choice(["chance", "turn", "first"])
    if how == "turn":
        return [kinds[i % len(kinds)] for i in range(layers)]
    if how == "first":
        dense = rng.randint(0, 3)
        rest = kinds[1:]
        return [kinds[0] if i < dense else rest[(i - dense) % len(rest)] for i in range(layers)]
    return [rng.choice(kinds) for _ in range(layers)]


def parameters_of(layers: Sequence[Kind]) -> list[Parameter]:
    return [
        Parameter(layer, name, size, position, shape, dtype)
        for layer, kind in enumerate(layers)
        for position, (name, size, shape, dtype) in enumerate(kind)
    ]


def draw_components(rng: random.Random, layers: int) -> dict[str, Component]:
    parted = rng.randint(0, layers)
    return rng.choice(
        [
            {"attention": Component("attention", layers, rng.choice([1024, 1023]))},
            {"latent": Component("latent", layers, 576)},
            {
                "latent": Component("latent", layers, 575),
                "index": Component("indexer", parted, 128, layers),
            },
            {
                "full": Component("attention", parted, 512),
                "window": Component("window", layers - parted, 512, window_tokens=100),
            },
        ]
    )


def draw_layers(rng: random.Random) -> int:
    some = [rng.randint(1, most) for most in (12, 12, 40, 40)]
    return rng.choice([1, 2, 3, *some, 40])


def draw_checkpoint(rng: random.Random, unit: int, name: str) -> Checkpoint:
    layers = draw_layers(rng)
    kinds = draw_kinds(rng, unit)
    blocks = rng.choice([0, 0, 0, 1, 2])
    laid = laid_out(rng, kinds, layers)
    # A block for speculation is a layer of some kind, or of one of its own.
    laid += [rng.choice([*kinds, draw_kind(rng, unit)]) for _ in range(blocks)]
    parameters = parameters_of(laid)
    outer = {
        name: draw_bytes(rng, unit)
        for name in rng.sample(
            ["embed_tokens.weight", "lm_head.weight", "norm.weight"], rng.randint(1, 3)
        )
    }
    total = sum(p.bytes for p in parameters) + sum(outer.values())
    components = draw_components(rng, layers)
    return Checkpoint(f"shape-{name}", layers, parameters, outer, total, components)


def add_checkpoint(made: World, rng: random.Random, unit: int) -> str:
    name = f"c{len(made.checkpoints):03}"
    made.checkpoints[name] = draw_checkpoint(rng, unit, name)
    return name


Change = Callable[[random.Random, Checkpoint], Checkpoint]


def moved_positions(how: Callable[[int], int], layers: Callable[[int], bool]) -> Change:
    def change(_: random.Random, found: Checkpoint) -> Checkpoint:
        rows = [
            replace(p, position=how(p.position)) if layers(p.layer) else p for p in found.parameters
        ]
        return replace(found, parameters=rows)

    return change


def both(first: Change, then: Change) -> Change:
    return lambda rng, found: then(rng, first(rng, found))


def without(lost: Callable[[random.Random, Checkpoint], Callable[[Parameter], bool]]) -> Change:
    def change(rng: random.Random, found: Checkpoint) -> Checkpoint:
        gone = lost(rng, found)
        rows = [p for p in found.parameters if not gone(p)]
        missing = sum(p.bytes for p in found.parameters) - sum(p.bytes for p in rows)
        return replace(found, parameters=rows, total_bytes=found.total_bytes - missing)

    return change


def one_layer(rng: random.Random, found: Checkpoint) -> Callable[[Parameter], bool]:
    lost = rng.randrange(found.num_hidden_layers)
    return lambda p: p.layer == lost


def all_layers(rng: random.Random, found: Checkpoint) -> Callable[[Parameter], bool]:
    return lambda p: True


def last_layer(rng: random.Random, found: Checkpoint) -> Callable[[Parameter], bool]:
    return lambda p: p.layer == found.num_hidden_layers - 1


def shapeless(part: str, often: float) -> Change:
    def change(rng: random.Random, found: Checkpoint) -> Checkpoint:
        names = sorted({p.name for p in found.parameters})
        lost = {name for name in names if rng.random() < often} or {names[0]}
        rows = []
        for p in found.parameters:
            drop = p.name in lost
            shape = None if drop and part != "dtype" else p.shape
            dtype = None if drop and part != "shape" else p.dtype
            rows.append(replace(p, shape=shape, dtype=dtype))
        return replace(found, parameters=rows)

    return change


def total_off(by: int) -> Change:
    return lambda rng, found: replace(found, total_bytes=found.total_bytes + by)


def no_outer(rng: random.Random, found: Checkpoint) -> Checkpoint:
    outer = sum(found.outer.values())
    return replace(found, outer={}, total_bytes=found.total_bytes - outer)


def no_caches(rng: random.Random, found: Checkpoint) -> Checkpoint:
    return replace(found, components={})


ODD: tuple[Change, ...] = (
    total_off(1),
    total_off(-1),
    total_off(10**12),
    without(one_layer),
    without(last_layer),
    without(all_layers),
    no_outer,
    no_caches,
    moved_positions(lambda at: at + 1, lambda layer: True),
    both(without(last_layer), moved_positions(lambda at: at + 1, lambda layer: layer > 0)),
    both(no_outer, total_off(-1)),
    moved_positions(lambda at: at + (at > 0), lambda layer: layer % 2 == 1),
    moved_positions(lambda at: at // 2, lambda layer: layer % 3 == 1),
    shapeless("shape", 0.4),
    shapeless("dtype", 0.4),
    shapeless("both", 1),
)


def add_odd_checkpoints(made: World, rng: random.Random, unit: int) -> None:
    for change in ODD:
        drawn = draw_checkpoint(rng, unit, "")
        while len(drawn.parameters) < 12 or drawn.total_bytes == 0:
            drawn = draw_checkpoint(rng, unit, "")
        name = f"c{len(made.checkpoints):03}"
        made.checkpoints[name] = replace(change(rng, drawn), architecture=f"shape-{name}")
        for offload in ("none", "uva", "uva", "prefetch", "prefetch", "prefetch"):
            arm = basic(rng, made.checkpoints[name])
            if offload == "uva":
                arm = with_walk(rng, made.checkpoints[name], arm, rng.choice(BUDGETS))
            elif offload == "prefetch":
                arm = with_prefetch(rng, made.checkpoints[name], arm)
            settle(made, rng, name, draw_release(rng), arm)


# Settings.

BUDGETS = ("nothing", "a byte", "at", "below", "above", "all", "more")


def basic(rng: random.Random, found: Checkpoint) -> Arm:
    """An arm that offloads nothing and tells all that a fit asks for."""
    part: Number = Fraction(rng.choice(["1", "1", "0.9", "0.92", "1/3"]))
    return Arm(
        "none",
        utilization=part,
        context_tokens=rng.choice([1, 99, 101, rng.randint(1, 10**5)]),
        concurrency=rng.choice([1, 1, rng.randint(1, 64)]),
        kv_dtype=rng.choice(["F16", "Q8_0", "Q8_0", "thirds"]),
        workspace=rng.choice([0, rng.randint(0, 10**10), None]),
        tensor_parallel=rng.choice([None, None, None, 1]),
        speculative=rng.choice([True, False]),
        offload_params=rng.choice(FILTERS),
        draft_cache=rng.choice([0, rng.randint(0, 10**9)]),
        moe_oracle=rng.choice([None, "fp8"]),
        model_runner="v1",
    )


def draw_release(rng: random.Random) -> str:
    return rng.choice(["vllm@new", "vllm@new", "vllm@old", "vllm@unread"])


def read(rng: random.Random, arm: Arm, fallback: bool) -> Arm:
    """All that a launch tells of a UVA offload."""
    available, disabled = True, False
    if fallback:
        available, disabled = rng.choice([(False, False), (True, True), (False, True)])
    backend = "TRITON" if arm.moe_oracle else None
    return replace(arm, uva_available=available, uva_disabled=disabled, moe_backend=backend)


def with_walk(rng: random.Random, found: Checkpoint, arm: Arm, budget: str) -> Arm:
    arm = read(rng, replace(arm, offload="uva"), rng.random() < 0.4)
    admitted = [p for p in ref.decoder(found) if ref.keeps(p.name, arm.offload_params)]
    sums = [0, *accumulate(p.bytes for p in admitted)]
    at, total = rng.choice(sums), sums[-1]
    chosen = {
        "nothing": 0,
        "a byte": 1,
        "at": at,
        "below": max(0, at - 1),
        "above": at + 1,
        "all": total,
        "more": total + rng.choice([1, rng.randint(2, 10**9)]),
    }
    return replace(arm, cpu_offload=chosen[budget])


def with_prefetch(rng: random.Random, found: Checkpoint, arm: Arm) -> Arm:
    layers = found.num_hidden_layers
    group_size = rng.randint(1, rng.choice([4, layers + 3]))
    number = rng.randint(1, group_size)
    drawn = replace(arm, offload="prefetch", group_size=group_size, num_in_group=number)
    modules = len(ref.by_layer(ref.selected(found, drawn, group_size, number)))
    step = rng.choice([1, rng.randint(1, layers + 5), modules, modules + 1, modules // 2, 2])
    return replace(drawn, step=max(1, step))


def add_arms(made: World, rng: random.Random, name: str) -> None:
    found = made.checkpoints[name]
    for budget in BUDGETS:
        arm = with_walk(rng, found, basic(rng, found), budget)
        settle(made, rng, name, draw_release(rng), arm)
    for _ in range(5):
        settle(made, rng, name, draw_release(rng), with_prefetch(rng, found, basic(rng, found)))
    settle(made, rng, name, draw_release(rng), basic(rng, found))
    if ref.speculates(found):
        arm = with_walk(rng, found, basic(rng, found), rng.choice(BUDGETS))
        settle(
            made,
            rng,
            name,
            "vllm@new",
            replace(rng.choice([arm, basic(rng, found)]), speculative=None),
        )
    odd = odd_arms(rng, found)
    for turn in range(3):
        settle(made, rng, name, *odd[(3 * len(made.checkpoints) + turn) % len(odd)])


def odd_arms(rng: random.Random, found: Checkpoint) -> list[tuple[str, Arm]]:
    """Arms of which something is unread or out of bounds, and some with figures beside the point.

    Each comes with its release.
    """
    plain = basic(rng, found)
    walk = with_walk(rng, found, plain, rng.choice(BUDGETS))
    fetch = with_prefetch(rng, found, plain)
    oracle = replace(walk, moe_oracle="fp8", moe_backend="TRITON")
    old: list[Arm] = [
        replace(rng.choice([walk, fetch]), model_runner=None),
        replace(rng.choice([plain, walk, fetch]), model_runner="v2"),
        replace(oracle, moe_backend="MARLIN"),
        replace(oracle, moe_backend="HUMMING"),
        replace(oracle, moe_backend="FACTLESS", uva_available=None),
        replace(oracle, moe_backend="ELSEWHERE"),
        replace(oracle, moe_backend="NONSUCH", uva_disabled=None),
        replace(oracle, moe_backend="MARLIN", uva_disabled=None),
        replace(oracle, moe_backend=None),
        replace(walk, uva_available=None, uva_disabled=None),
    ]
    any_release: list[Arm] = [
        replace(fetch, step=None),
        replace(fetch, step=0),
        replace(fetch, group_size=None),
        replace(fetch, num_in_group=None),
        replace(fetch, num_in_group=None, step=None),
        replace(fetch, num_in_group=0),
        replace(fetch, num_in_group=0, group_size=None),
        replace(fetch, num_in_group=(fetch.group_size or 0) + 1),
        replace(fetch, group_size=0, num_in_group=rng.choice([0, 1])),
        replace(fetch, num_in_group=0, step=rng.choice([0, None])),
        replace(walk, cpu_offload=None),
        replace(walk, offload_params=rng.choice(NOTHING)),
        replace(fetch, offload_params=rng.choice(NOTHING)),
        replace(walk, offload_params=rng.choice(NOTHING), cpu_offload=None),
        replace(plain, offload_params=rng.choice(NOTHING)),
        replace(plain, group_size=0, num_in_group=7, step=0, cpu_offload=10**12),
        replace(fetch, cpu_offload=rng.randint(0, 10**6)),
        replace(walk, group_size=2, num_in_group=3, step=0),
        replace(rng.choice([plain, walk, fetch]), tensor_parallel=rng.choice([2, 8])),
        replace(rng.choice([plain, walk, fetch]), speculative=None),
        replace(rng.choice([plain, walk, fetch]), speculative=True, draft_cache=None),
        replace(rng.choice([walk, fetch]), model_runner=None),
        replace(plain, utilization=None),
        replace(walk, context_tokens=None),
        replace(fetch, concurrency=None, workspace=None),
        replace(walk, kv_dtype=None, utilization=None),
        replace(walk, kv_dtype="latent_cells"),
        replace(plain, utilization=0),
    ]
    # Of one release a runner is not known.
    unknown = replace(rng.choice([walk, fetch]), model_runner="v2")
    return [
        ("vllm@unread", unknown),
        *(("vllm@old", arm) for arm in old),
        *((draw_release(rng), arm) for arm in any_release),
    ]


# Machines.


def settle(made: World, rng: random.Random, checkpoint: str, release: str, arm: Arm) -> None:
    """Add the arm on a machine that it just fits, by a byte or so, or on any."""
    placed = Placed(checkpoint, "", release, arm)
    found = made.checkpoints[checkpoint]
    split = made.split(placed)
    kv, _, _ = ref.workload_of(found, arm, made.setting)
    workspace = RELEASES[release].workspace_allowance if arm.workspace is None else arm.workspace
    host: Host | None = None
    if split.verdict == "established" and kv is not None and workspace is not None:
        figures = {name: int(planner.number(v)) for name, v in split.values.items()}
        used = figures["device_bytes"] + figures["device_copy_bytes"] + kv + workspace
        if arm.utilization:
            host = beside_limit(made, rng, arm.utilization, used, figures["host_bytes"])
    made.add_arm(replace(placed, host=made.add_host(host or any_host(rng))))


def beside_limit(
    made: World, rng: random.Random, utilization: Number, used: int, moved: int
) -> Host | None:
    """A machine with one memory, or both, filled to the last byte, or to one more or less."""
    off = rng.choice([-1, 0, 1])
    how = rng.choice(["pool", "direct", "beside", "both", "even", "chance"])
    if how == "pool":
        limit = used + moved + off
        if limit <= 0:
            return None
        # The larger of the two that either bound asks for: then that one is met exactly.
        usable = max(Fraction(limit) / utilization, made.usable(limit))
        return pool_host(rng, usable)
    own: Number = ROOM
    outside: Number = ROOM
    if how == "chance":
        own = rng.randint(1, 3 * used + 9) if used else ROOM
        outside = made.usable(rng.randint(1, 3 * moved + 9))
    if how in ("direct", "both"):
        own = Fraction(max(0, used + off)) / utilization
    if how in ("beside", "both"):
        outside = made.usable(max(0, moved + rng.choice([off, -1])))
    if how == "even":
        left = rng.randint(-min(used, moved, 3), 10**6)
        own = Fraction(used + left) / utilization
        outside = made.usable(moved + left)
    return parted_host(rng, own, outside)


def host_of(system: str | None, **read: Any) -> Host:
    if system is None:
        return Host(planner.Host(**read))
    shape, gpus, cpus, link = SYSTEMS[system]
    pool = (system, ROOM * gpus) if shape == "integrated" else None
    return Host(planner.Host(**read, pool=pool), system, shape, gpus, cpus, link)


def pool_host(rng: random.Random, usable: Number) -> Host:
    system = rng.choice(["pool", "pool-4"])
    whole = usable * SYSTEMS[system][1]
    return rng.choice(
        [
            host_of(system, physical_usable=whole),
            host_of(system, system_ram=whole),
            host_of(system, readings={"one_pool": whole}, unified=True),
            host_of(None, physical_usable=usable, unified=True),
            host_of(None, system_ram=usable, gpu_memory=0, unified=True),
            host_of(None, readings={"one_pool": usable}),
        ]
    )


def parted_host(rng: random.Random, own: Number, outside: Number) -> Host:
    """A machine whose GPUs have so much each, beside so much of each CPU's."""
    systems = [name for name, of in SYSTEMS.items() if of[0] != "integrated"]
    system = rng.choice([None, None, None, None, *systems])
    host = host_of(system)
    link = host.beside if system else rng.choice(LINKS)
    gpus = host.gpus
    whole, outside = own * gpus, outside * host.cpus
    readings = {"direct": whole, link: outside}
    if system is None and rng.random() < 0.5:
        # Each reading says of its memory how the GPU reaches it.
        return host_of(None, readings=readings)
    read: dict[str, Any] = rng.choice(
        [
            {"readings": readings},
            {"system_ram": outside, "gpu_memory": whole},
            {"system_ram": outside, "readings": {"direct": whole}},
            {"gpu_memory": whole, "readings": {link: outside}},
            # A probe of one memory goes before what is said of the machine.
            {"system_ram": outside + 1, "gpu_memory": whole + gpus, "readings": readings},
        ]
    )
    return host_of(system, **read, unified=rng.choice([None, False]) if system else False)


def any_host(rng: random.Random) -> Host:
    some = rng.choice([GIB, 10**6, 100 * GIB]) + rng.randint(0, GIB)
    more = rng.choice([GIB, 10**6, 100 * GIB]) + rng.randint(0, GIB)
    return rng.choice(
        [
            pool_host(rng, some),
            parted_host(rng, some, more),
            parted_host(rng, some, more),
            # Of these something is unread, or how a GPU reaches it.
            host_of("pool"),
            host_of(None, unified=True),
            host_of(None),
            host_of(None, system_ram=some, gpu_memory=more),
            host_of(None, physical_usable=some),
            host_of("super-2", gpu_memory=some),
            host_of("super-4-of-2", readings={"direct": some}),
            host_of("card-8", readings={"direct": some}),
            host_of("card-1", system_ram=some),
            host_of("bare-4", physical_usable=some),
            host_of("super-1", readings={"coherent_link": some}),
            # And these are none.
            host_of(None, physical_usable=0, unified=True),
            host_of("card-1", system_ram=0, gpu_memory=some),
            host_of("pool", system_ram=some, gpu_memory=1),
        ]
    )


# What the reference concludes.


@dataclass
class Concluded:
    """Conclusions by law, and the memories of each arm."""

    standings: dict[str, dict[Subject, Conclusion]]
    fits: dict[str, ref.Fit]


def concluded(made: World) -> Concluded:
    standings: dict[str, dict[Subject, Conclusion]] = {
        "weight_offload_split": {},
        "checkpoint_tier_split": {},
        "offload_effective": {},
        "prefetch_sound": {},
        "arm_memory_fit": {},
    }
    fits: dict[str, ref.Fit] = {}
    for name, placed in made.arms.items():
        found, release = made.checkpoints[placed.checkpoint], RELEASES[placed.release]
        fits[name] = made.fit(placed)
        standings["weight_offload_split"][name,] = ref.weight_offload_split(placed.arm, release)
        standings["checkpoint_tier_split"][name,] = made.split(placed)
        standings["offload_effective"][name,] = ref.offload_effective(placed.arm, release)
        standings["prefetch_sound"][name,] = ref.prefetch_sound(found, placed.arm, release)
        standings["arm_memory_fit"][name,] = fits[name].conclusion
    return Concluded(standings, fits)


@cache
def expected(number: int) -> Concluded:
    return concluded(world(number))


# What the program concludes.


def runs(layers: Sequence[int]) -> list[object]:
    """The same layers as ranges, ranges with a step, and numbers."""
    found: list[object] = []
    rest = list(layers)
    while rest:
        step = rest[1] - rest[0] if len(rest) > 1 else 1
        length = 1
        while length < len(rest) and rest[length] - rest[length - 1] == step:
            length += 1
        first, last = rest[0], rest[length - 1]
        if length > 2 or (length == 2 and step == 1):
            found.append(f"{first}..{last}" if step == 1 else f"{first}..{last}/{step}")
            rest = rest[length:]
        else:
            found.append(first)
            rest = rest[1:]
    return found


def parameter_rows(name: str, found: Checkpoint, rng: random.Random) -> list[dict[str, object]]:
    """A row for each layer, or one for all layers that have the same parameter."""
    alike: dict[Parameter, list[int]] = {}
    for p in sorted(found.parameters, key=lambda p: p.layer):
        alike.setdefault(replace(p, layer=0), []).append(p.layer)
    rows: list[dict[str, object]] = []
    for p, layers in alike.items():
        ranged = runs(layers)
        written: list[object] = rng.choice(
            [[*layers], ranged, [ranged if len(ranged) > 1 else ranged[0]], [[*layers]]]
        )
        rows += [
            {
                "artifact": name,
                "layer": layer,
                "name": p.name,
                "bytes": p.bytes,
                "position": p.position,
                "shape": p.shape,
                "dtype": p.dtype,
            }
            for layer in written
        ]
    rng.shuffle(rows)
    return rows


def catalog() -> dict[str, list[dict[str, object]]]:
    """What is the same in every batch."""
    policy = planner.Settings(1, 1, "F16", "conservative", "windowed", 1, 0, 1, 1, 1, 1, 0)
    rows: dict[str, list[dict[str, object]]] = {
        **rows_of_dtypes(DTYPES),
        "route_policy": [{"policy": "standard", **vars(policy)}],
        "engine_release": [
            {
                "release": name,
                "engine": "vllm",
                "version": name,
                "workspace_allowance": release.workspace_allowance,
                "prefetch_overwrites": release.prefetch_overwrites,
            }
            for name, release in RELEASES.items()
        ],
        "offload_runner": [
            {"release": name, "runner": runner, "offloads": offloads}
            for name, release in RELEASES.items()
            for runner, offloads in release.runners.items()
        ],
        "moe_backend_arm": [
            {"release": name, "oracle": oracle, "backend": backend}
            for name, release in RELEASES.items()
            for oracle, backend in release.relayouts
        ],
        "moe_backend": [
            {"release": name, "oracle": oracle, "backend": backend, "relayout": relayout}
            for name, release in RELEASES.items()
            for (oracle, backend), relayout in release.relayouts.items()
            if relayout
        ],
        "integrated_system": [
            {"system": system, "memory_kind": "lpddr5x", "capacity": ROOM, "gpus": gpus}
            for system, (shape, gpus, _, _) in SYSTEMS.items()
            if shape == "integrated"
        ],
        "coherent_superchip": [
            {
                "system": system,
                "gpu_memory_kind": "hbm3",
                "gpu_memory_capacity": 2 * ROOM,
                "cpu_memory_kind": "lpddr5x",
                "cpu_memory_capacity": 2 * ROOM,
                "link": "nvlink_c2c",
                "link_per_direction": C2C,
                "gpus": gpus,
                # Where a row does not tell its CPUs, there is one to a GPU.
                "cpus": None if cpus == gpus else cpus,
            }
            for system, (shape, gpus, cpus, _) in SYSTEMS.items()
            if shape == "superchip"
        ],
        "discrete_system": [
            {
                "system": system,
                "gpu_memory_kind": "gddr7",
                "gpu_memory_capacity": 2 * ROOM,
                "gpus": gpus,
                **({} if link is None else HOST_SIDE),
            }
            for system, (shape, gpus, _, link) in SYSTEMS.items()
            if shape == "discrete"
        ],
    }
    return {table: [{**row, "source": "a test"} for row in of] for table, of in rows.items()}


HOST_SIDE: dict[str, object] = {
    "host_memory_kind": "ddr5",
    "host_memory_capacity": 2 * ROOM,
    "host_link": "pcie_gen5_x16",
    "host_link_per_direction": PCIE,
}


def rows_of(made: World, rng: random.Random) -> dict[str, list[dict[str, object]]]:
    sourced = {"source": "a test"}
    found = catalog()
    found["reserve_policy"] = [
        {"policy": name, "fraction": p.fraction, "floor": p.floor, **sourced}
        for name, p in made.reserves.items()
    ]
    found["architecture"] = [
        {
            "architecture": c.architecture,
            "num_hidden_layers": c.num_hidden_layers,
            "hidden_size": 64,
            **sourced,
        }
        for c in made.checkpoints.values()
    ]
    found["kv_component"] = [
        {
            "architecture": c.architecture,
            "component": name,
            "kind": part.kind,
            "layers": part.layers,
            "values_per_token": part.values_per_token,
            "conservative_layers": part.conservative_layers if part.kind == "indexer" else None,
            "window_tokens": part.window_tokens if part.kind == "window" else None,
            **sourced,
        }
        for c in made.checkpoints.values()
        for name, part in c.components.items()
    ]
    found["artifact"] = [
        {
            "artifact": name,
            "architecture": c.architecture,
            "total_bytes": c.total_bytes,
            **sourced,
        }
        for name, c in made.checkpoints.items()
    ]
    found["parameter"] = [
        {**row, **sourced}
        for name, c in made.checkpoints.items()
        for row in parameter_rows(name, c, rng)
    ]
    found["outer_parameter"] = [
        {"artifact": name, "name": outer, "bytes": size, **sourced}
        for name, c in made.checkpoints.items()
        for outer, size in c.outer.items()
    ]
    found["host"] = [
        {
            "host": name,
            "system": host.system,
            "physical_usable": host.node.physical_usable,
            "system_ram": host.node.system_ram,
            "gpu_memory": host.node.gpu_memory,
            "unified": host.node.unified,
        }
        for name, host in made.hosts.items()
    ]
    found["host_memory"] = [
        {"host": name, "reach": reach, "usable": usable}
        for name, host in made.hosts.items()
        for reach, usable in host.node.readings.items()
    ]
    found["arm"] = [
        {
            "arm": name,
            "host": placed.host,
            "release": placed.release,
            "artifact": placed.checkpoint,
            **columns_of(placed.arm),
        }
        for name, placed in made.arms.items()
    ]
    found["offload_reading"] = [
        {"arm": name, **{reading: getattr(placed.arm, reading) for reading in READINGS}}
        for name, placed in made.arms.items()
    ]
    return found


READINGS = ("uva_available", "uva_disabled", "moe_backend", "model_runner")
COLUMNS = {
    "group_size": "prefetch_group_size",
    "num_in_group": "prefetch_num_in_group",
    "step": "prefetch_step",
    "utilization": "gpu_memory_utilization",
}


def columns_of(arm: Arm) -> dict[str, Any]:
    columns = {COLUMNS.get(n, n): v for n, v in vars(arm).items() if n not in READINGS}
    filters = arm.offload_params
    return {**columns, "offload_params": None if filters is None else list(filters)}


@cache
def rules() -> Policy:
    return Policy.load(rules=[RULES], rows={})


def narrow(law: str, shown: Values, due: Values) -> tuple[Values, Values]:
    if not due:
        # The link is a fact of the catalog, which needs no conclusion to be told.
        shown = {name: value for name, value in shown.items() if name != "link_per_direction"}
    return shown, due


def compared(made: World, due: Concluded, rows: Mapping[str, Any]) -> tuple[str, ...]:
    """How the program differs from the reference, a line for each verdict, term and value."""
    policy = rules().over(rows)
    found = standings_apart(policy, due.standings, narrow)
    found += plans_apart(made, due, policy)
    return tuple(found)


def plans_apart(made: World, due: Concluded, policy: Policy) -> list[str]:
    """Where the plans of the arms that are decided by their memories alone differ."""
    names = ("arm", "arm_tier")
    shown = by_subject(policy.plan(list(names)), names)
    found: list[str] = []
    for name, fit in due.fits.items():
        if not fit.decided:
            continue
        memories = {s[1:]: values for s, values in shown["arm_tier"].items() if s[0] == name}
        tiers: dict[Subject, dict[str, Value]] = {
            (reach,): plains(tier.values) for reach, tier in fit.tiers.items()
        }
        found += subjects_apart(f"arm_tier {name}", memories, tiers)
        for reach in memories.keys() & tiers.keys():
            found += values_apart(f"arm_tier {name} {reach}", memories[reach], tiers[reach])
        placed = made.arms[name]
        split = due.standings["checkpoint_tier_split"][name,].values
        sound = due.standings["prefetch_sound"][name,].verdict
        told: dict[str, Value] = {
            "tightest": fit.tightest[0],
            "artifact": placed.checkpoint,
            "host": placed.host,
            "release": placed.release,
            **{n: split[n] for n in ("host_bytes", "pinned_host_bytes", "load_peak_bytes")},
            **{n: v for n, v in fit.conclusion.values.items() if n != "shortfall"},
        }
        if placed.arm.offload != "none":
            told["offloads"] = True
        if sound in ("sound", "refused"):
            told["right_weights"] = sound == "sound"
        found += values_apart(f"arm {name}", shown["arm"][name,], plains(told))
    return found


@cache
def differences(number: int) -> tuple[str, ...]:
    made = world(number)
    return compared(made, expected(number), rows_of(made, random.Random(number)))


# What is compared.


@pytest.mark.parametrize("number", range(BATCHES))
def test_the_program_concludes_what_the_laws_say(number: int) -> None:
    found = differences(number)
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:20])


def test_enough_is_compared() -> None:
    arms = [placed for number in range(BATCHES) for placed in world(number).arms.values()]
    splits = [
        due
        for number in range(BATCHES)
        for due in expected(number).standings["checkpoint_tier_split"].values()
    ]
    fits = [fit for number in range(BATCHES) for fit in expected(number).fits.values()]
    assert len(arms) >= 2500
    assert len(set(map(repr, arms))) == len(arms)
    assert sum(s.verdict == "established" for s in splits) >= 1500
    assert sum(fit.decided for fit in fits) >= 1000


NEAR = {-1: "a byte short", 0: "a tie", 1: "a byte over"}


def rare_of_walk(found: Checkpoint, arm: Arm, values: Mapping[str, Value]) -> Iterable[str]:
    budget = arm.cpu_offload
    assert budget is not None
    admitted = [p for p in ref.decoder(found) if ref.keeps(p.name, arm.offload_params)]
    sums = [0, *accumulate(p.bytes for p in admitted)]
    total = sums[-1]
    within = {size for size in sums if 0 < size < total}
    cases = {
        "nothing": budget == 0,
        "a byte": budget == 1,
        "at a parameter's end": budget in within,
        "a byte below one": budget not in sums and budget + 1 in within,
        "a byte above one": budget not in sums and budget - 1 in within,
        "all there is": budget == total > 0,
        "a byte above all": budget == total + 1,
        "more": budget > total + 1,
    }
    yield from (f"budget: {what}" for what, holds in cases.items() if holds)
    moved = admitted[: int(planner.number(values["offloaded_parameters"]))]
    rest = admitted[len(moved) :]
    if planner.number(values["overshoot"]) > 0:
        yield "walk: more than its budget"
    if moved and rest:
        yield f"walk: ends {'in' if moved[-1].layer == rest[0].layer else 'after'} a layer"
        if rest[0].bytes == 0:
            yield "walk: what takes no bytes is left once the budget is reached"
    if any(p.bytes == 0 for p in moved):
        yield "walk: what takes no bytes is moved"
    if planner.number(values["device_copy_bytes"]) > 0:
        largest = ref.by_layer(moved)
        first = sum(p.bytes for p in next(iter(largest.values())))
        where = "the first" if first == values["device_copy_bytes"] else "another"
        yield f"functional_call: the largest layer is {where}"


def rare_of_filter(found: Checkpoint, arm: Arm) -> Iterable[str]:
    filters = arm.offload_params
    if not filters:
        yield "filter: none" if filters is None else "filter: an empty list"
        return
    names = {p.name for p in ref.decoder(found)}
    if len(filters) > 1:
        yield "filter: several"
    for entry in filters:
        if any(ref.keeps(name, [entry]) for name in names):
            yield f"filter: {'a run of segments' if '.' in entry else 'one segment'}"
        if any(entry in name and not ref.keeps(name, [entry]) for name in names):
            yield "filter: a part of a segment"
    layers = ref.by_layer(ref.decoder(found))
    if any(not any(ref.keeps(p.name, filters) for p in of) for of in layers.values()):
        yield "filter: none of a layer"


def rare_of_prefetch(found: Checkpoint, arm: Arm, values: Mapping[str, Value]) -> Iterable[str]:
    group_size, number, step = arm.group_size, arm.num_in_group, arm.step
    assert group_size is not None
    assert number is not None
    assert step is not None
    layers = found.num_hidden_layers
    moved = ref.selected(found, arm, group_size, number)
    modules = ref.by_layer(moved)
    whole = layers - layers % group_size
    chosen = [i for i in range(layers) if i % group_size >= group_size - number]
    copies = planner.number(values["device_copy_bytes"])
    distinct = {p.distinct for p in moved}
    cases = {
        "group: incomplete, and something of it moves": bool(modules) and max(modules) >= whole > 0,
        "group: incomplete, and nothing of it moves": 0 < whole < layers and max(chosen) < whole,
        "group: larger than the model": group_size > layers,
        "group: moves whole": number == group_size,
        "group: of one": group_size == 1,
        "prefetch: moves nothing": not modules,
        "prefetch: nothing matches in a chosen layer": 0 < len(modules) < len(chosen),
        "step: one": step == 1,
        "step: a divisor": 1 < step < len(modules) and len(modules) % step == 0,
        "step: no divisor": 1 < step < len(modules) and len(modules) % step != 0,
        "step: as many as layers that move": step == len(modules),
        "step: one more than them": step == len(modules) + 1,
        "step: more than them": step > len(modules) + 1,
        "pool: more than what moves": copies > planner.number(values["host_bytes"]) > 0,
        "pool: a name in several shapes": len({n for n, _, _ in distinct})
        < len({(n, shape) for n, shape, _ in distinct}),
        "pool: a shape in several formats": len({(n, shape) for n, shape, _ in distinct})
        < len(distinct),
    }
    yield from (what for what, holds in cases.items() if holds)


def rare_of_checkpoint(found: Checkpoint) -> Iterable[str]:
    layers = ref.by_layer(ref.decoder(found))
    kinds = [frozenset(replace(p, layer=0) for p in of) for of in layers.values()]
    if len(set(kinds)) <= 4:
        yield f"kinds: {len(set(kinds))}"
    if any(a != b and a in kinds[i + 2 :] for i, (a, b) in enumerate(pairwise(kinds))):
        yield "kinds: interleaved"
    sizes = [p.bytes for p in ref.decoder(found)]
    if any(a == b > 0 for a, b in pairwise(sizes)):
        yield "sizes: a tie"
    if any(ref.page_locked(size) == size > 1 for size in sizes):
        yield "sizes: a power of two"
    if len(layers) in (1, 40):
        yield f"layers: {len(layers)}"
    if max(len(of) for of in layers.values()) == 12:
        yield "layers: of twelve parameters"
    if min(len(of) for of in layers.values()) == 1:
        yield "layers: of one parameter"


def rare_of_rows(rows: Sequence[Mapping[str, object]]) -> Iterable[str]:
    for row in rows:
        layer = row["layer"]
        if isinstance(layer, list):
            ranged = any(isinstance(part, str) for part in layer)
            yield f"rows: a list{' with ranges' if ranged else ''}"
        elif isinstance(layer, str):
            yield f"rows: a range{' with a step' if '/' in layer else ''}"
        else:
            yield "rows: a number"


def kind_of(host: Host) -> str:
    if host.one_pool:
        return "integrated" if host.shape else "unified"
    return host.shape or "by itself"


def rare_of_fit(host: Host, arm: Arm, fit: ref.Fit) -> Iterable[str]:
    for reach, tier in fit.tiers.items():
        if tier.headroom in NEAR:
            yield f"{kind_of(host)}, {reach}: {NEAR[int(tier.headroom)]}"
            if reach == "one_pool" and tier.headroom == 0:
                envelope = tier.limit == (arm.utilization or 0) * tier.usable
                yield f"pool: a tie with the {'envelope' if envelope else 'reserve'}"
    if len(fit.tiers) > 1:
        left = [t.headroom for t in fit.tiers.values() if t.headroom is not None]
        if sum(headroom < 0 for headroom in left) == 2:
            yield "memories: both short"
        if fit.decided and len(fit.tightest) == 2:
            yield "memories: equally tight"


@cache
def rare(number: int) -> Counter[str]:
    made, due = world(number), expected(number)
    counts: Counter[str] = Counter()
    for found in made.checkpoints.values():
        if ref.told_whole(found):
            counts.update(set(rare_of_checkpoint(found)))
    for name, placed in made.arms.items():
        found, arm = made.checkpoints[placed.checkpoint], placed.arm
        split = due.standings["checkpoint_tier_split"][name,]
        counts.update(set(rare_of_fit(made.hosts[placed.host], arm, due.fits[name])))
        if split.verdict != "established":
            continue
        if ref.speculates(found):
            counts[f"speculation: {'loaded' if arm.speculative else 'left'}"] += 1
        if arm.offload == "uva":
            counts.update(set(rare_of_walk(found, arm, split.values)))
        if arm.offload == "prefetch":
            counts.update(set(rare_of_prefetch(found, arm, split.values)))
        if arm.offload != "none":
            counts.update(set(rare_of_filter(found, arm)))
    counts.update(rare_of_rows(rows_of(made, random.Random(number))["parameter"]))
    return counts


BUDGET_CASES = (
    "nothing",
    "a byte",
    "at a parameter's end",
    "a byte below one",
    "a byte above one",
    "all there is",
    "a byte above all",
    "more",
)
RARE = {
    *(f"budget: {what}" for what in BUDGET_CASES),
    "walk: more than its budget",
    "walk: ends in a layer",
    "walk: ends after a layer",
    "walk: what takes no bytes is moved",
    "walk: what takes no bytes is left once the budget is reached",
    "functional_call: the largest layer is the first",
    "functional_call: the largest layer is another",
    "filter: none",
    "filter: an empty list",
    "filter: one segment",
    "filter: a run of segments",
    "filter: several",
    "filter: a part of a segment",
    "filter: none of a layer",
    "group: incomplete, and something of it moves",
    "group: incomplete, and nothing of it moves",
    "group: larger than the model",
    "group: moves whole",
    "group: of one",
    "prefetch: moves nothing",
    "prefetch: nothing matches in a chosen layer",
    "step: one",
    "step: a divisor",
    "step: no divisor",
    "step: as many as layers that move",
    "step: one more than them",
    "step: more than them",
    "pool: more than what moves",
    "pool: a name in several shapes",
    "pool: a shape in several formats",
    *(f"kinds: {number}" for number in (1, 2, 3, 4)),
    "kinds: interleaved",
    "sizes: a tie",
    "sizes: a power of two",
    "layers: 1",
    "layers: 40",
    "layers: of one parameter",
    "layers: of twelve parameters",
    "speculation: loaded",
    "speculation: left",
    "rows: a number",
    "rows: a range",
    "rows: a range with a step",
    "rows: a list",
    "rows: a list with ranges",
    *(
        f"{kind}, {reach}: {near}"
        for kind, reaches in (
            ("integrated", ["one_pool"]),
            ("unified", ["one_pool"]),
            ("superchip", ["direct", "coherent_link"]),
            ("discrete", ["direct", "host_link"]),
            ("by itself", ["direct", "coherent_link", "host_link"]),
        )
        for reach in reaches
        for near in NEAR.values()
    ),
    "pool: a tie with the envelope",
    "pool: a tie with the reserve",
    "memories: both short",
    "memories: equally tight",
}


def test_every_rare_case_occurs() -> None:
    counts = sum((rare(number) for number in range(BATCHES)), Counter[str]())
    assert counts.keys() == RARE, counts.keys() ^ RARE
    assert min(counts.values()) >= 3, [case for case, count in counts.items() if count < 3]


def test_every_conclusion_occurs() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(BATCHES):
        for law, of in expected(number).standings.items():
            for found in of.values():
                counts[law, found.verdict] += 1
                counts.update((law, str(t[0])) for t in found.reasons | found.obligations)
    assert {key for key, count in counts.items() if count >= 3} == {
        (law, name) for law, names in CONCLUSIONS.items() for name in names.split()
    }


CONCLUSIONS = {
    "offload_effective": """
        no_offload effective ignored unestablished runner_ignores_offload read offload_runner
    """,
    "weight_offload_split": """
        no_offload prefetch functional_call_fallback uva_zero_copy_view refused unestablished
        prefetch_step_zero unknown_backend relayout_backend prefetch_step read relayout_fact
    """,
    "checkpoint_tier_split": """
        established refused unestablished
        num_in_group_out_of_range no_parameter_matches parameters_disagree positions_broken
        weight_offload_split parameters sharded_parameters parameter_shape cpu_offload
        prefetch_group_size prefetch_num_in_group speculative
    """,
    "prefetch_sound": """
        no_prefetch sound refused unestablished
        wrong_weights layers_fetched prefetch_step prefetch_overwrites
    """,
    "arm_memory_fit": """
        fits refused unestablished
        short_on offload_ignored host_refused kv_dtype_unfit checkpoint_tier_split
        weight_offload_split prefetch_step read relayout_fact parameters sharded_parameters
        parameter_shape cpu_offload prefetch_group_size prefetch_num_in_group speculative
        tier_memory memory_of_gpu gpu_memory_utilization context_tokens concurrency kv_dtype
        offload_runner draft_cache kv_cache workspace
    """,
}


# Worked by hand.

FOUR = Checkpoint(
    "four",
    4,
    # Two kinds of layer in turn, of 30 and of 50 bytes, and a block for speculation of 7.
    [
        *(
            Parameter(layer, name, size, position, str(size), "U8")
            for layer in range(4)
            for position, (name, size) in enumerate(
                [("attn.q", 10), ("mlp.w", 20)]
                if layer % 2 == 0
                else [("attn.q", 10), ("mlp.experts.w13", 40), ("norm", 0)]
            )
        ),
        Parameter(4, "mlp.w", 7, 0, "7", "U8"),
    ],
    {"embed_tokens.weight": 100},
    2 * 30 + 2 * 50 + 7 + 100,
    # 4 layers of 5 values in two bytes are 40 bytes a token.
    {"attention": Component("attention", 4, 5)},
)
STAYS = Arm(
    "none",
    utilization=Fraction("0.9"),
    context_tokens=10,
    concurrency=1,
    kv_dtype="F16",
    workspace=40,
    speculative=False,
)
VIEW = replace(STAYS, offload="uva", uva_available=True, uva_disabled=False)
CALL = replace(VIEW, uva_available=False)
FETCH = replace(STAYS, offload="prefetch")
ROOMY = host_of("card-1", readings={"direct": 10**6, "host_link": 10**6})


def view(budget: int, *filters: str) -> Arm:
    return replace(VIEW, cpu_offload=budget, offload_params=filters or None)


def fetch(group_size: int, number: int, step: int) -> Arm:
    return replace(FETCH, group_size=group_size, num_in_group=number, step=step)


# host, device, copies, parameters, overshoot, page-locked, peak. In order the sizes are
# 10 20 | 10 40 0 | 10 20 | 10 40 0, which add up to 10 30 | 40 80 80 | 90 110 | 120 160 160.
SPLITS: dict[str, tuple[Arm, tuple[int, int, int, int, int | None, int, int]]] = {
    "nothing is asked for": (view(0), (0, 260, 0, 0, 0, 0, 260)),
    "it stops at 30, before the third": (view(30), (30, 230, 0, 2, 0, 16 + 32, 230 + 30)),
    "a byte more takes the third whole": (view(31), (40, 220, 0, 3, 9, 16 + 32 + 16, 220 + 30)),
    # Four make 80; the fifth takes nothing, and is not looked at.
    "it stops at 80": (view(80), (80, 180, 0, 4, 0, 16 + 32 + 16 + 64, 180 + 50)),
    # The fifth takes nothing of the byte that is left, so that the sixth goes, too.
    "a byte more takes two": (view(81), (90, 170, 0, 6, 9, 144, 170 + 50)),
    "all layers go": (view(1000), (160, 100, 0, 10, 0, 256, 100 + 50)),
    # 40, and at 41 another 40.
    "experts alone": (view(41, "experts"), (80, 180, 0, 2, 39, 128, 180 + 40)),
    "a run of two": (view(1, "mlp.experts"), (40, 220, 0, 1, 39, 64, 220 + 40)),
    # Of 10 20 | 10 | 10 20 | 10 four make 50, and the fifth goes whole.
    "two entries": (view(51, "w", "attn"), (70, 190, 0, 5, 19, 16 + 32 + 16 + 16 + 32, 190 + 30)),
    "a call copies the largest layer": (
        replace(CALL, cpu_offload=81),
        (90, 170, 50, 6, 9, 144, 170 + 50),
    ),
    # Layers 1 and 3, of one kind: 10 + 40 + 0 once.
    "every second layer": (fetch(2, 1, 1), (100, 160, 50, 6, None, 160, 160 + 50)),
    # Layers 1 and 2; 3 is the first of a group that is never whole. Both kinds, with `attn.q` once.
    "two of three": (fetch(3, 2, 5), (80, 180, 5 * 70, 5, None, 128, 180 + 50)),
    "none of a group of nine": (fetch(9, 2, 2), (0, 260, 0, 0, None, 0, 260)),
    "nothing is moved": (STAYS, (0, 260, 0, 0, None, 0, 260)),
    "the block is loaded": (replace(STAYS, speculative=True), (0, 267, 0, 0, None, 0, 267)),
}
SPLIT_VALUES = (
    "host_bytes",
    "device_bytes",
    "device_copy_bytes",
    "offloaded_parameters",
    "overshoot",
    "pinned_host_bytes",
    "load_peak_bytes",
)
# Of 50 bytes or less 10 are kept free, of more a fifth.
TENTH = {"standard": ReservePolicy(Fraction("0.2"), 10)}
# Caches are 400, workspace is 40; 230 bytes stay and 30 move, or all 260 are in one memory.
FITS: dict[str, tuple[Host, dict[str, Number]]] = {
    # Each of two: 0.9 of 750 is 675, less 670; 50 less 10 is 40, less 30.
    "two GPUs": (
        host_of("super-2", readings={"direct": 1500, "coherent_link": 100}),
        {"direct": 5, "coherent_link": 10},
    ),
    # 0.9 of 740 is 666; 39 less 10 is 29.
    "two short": (
        host_of("card-1", gpu_memory=740, system_ram=39),
        {"direct": -4, "host_link": -1},
    ),
    # The reserve leaves 640 of 800, the envelope 720; 700 are used.
    "a pool": (host_of("pool", physical_usable=800), {"one_pool": -60}),
    "a pool to the last byte": (host_of(None, system_ram=875, unified=True), {"one_pool": 0}),
}


@cache
def worked() -> World:
    made = World(Setting(list(TENTH.values()), DTYPES), TENTH, {"four": FOUR})
    for name, (arm, _) in SPLITS.items():
        made.arms[name] = Placed("four", made.add_host(ROOMY), "vllm@new", arm)
    for name, (host, _) in FITS.items():
        made.arms[name] = Placed("four", made.add_host(host), "vllm@new", view(30))
    made.arms["a part of a segment"] = replace(
        made.arms["all layers go"], arm=view(1000, "mlp.exp", "embed_tokens")
    )
    for step in (1, 2, 3, 4, 5):
        arm = fetch(1, 1, step)
        made.arms[f"step {step}"] = Placed("four", made.add_host(ROOMY), "vllm@old", arm)
    return made


@pytest.mark.parametrize("name", SPLITS)
def test_a_worked_split(name: str) -> None:
    found = concluded(worked()).standings["checkpoint_tier_split"][name,]
    wanted = dict(zip(SPLIT_VALUES, SPLITS[name][1], strict=True))
    assert found == Conclusion("established", {n: v for n, v in wanted.items() if v is not None})


@pytest.mark.parametrize("name", FITS)
def test_a_worked_fit(name: str) -> None:
    fit = concluded(worked()).fits[name]
    left = FITS[name][1]
    assert {reach: tier.headroom for reach, tier in fit.tiers.items()} == left
    assert fit.conclusion.reasons == {("short_on", reach) for reach in left if left[reach] < 0}
    assert fit.conclusion.values["headroom"] == min(left.values())
    assert fit.conclusion.values.get("shortfall", 0) == max(0, -min(left.values()))


def test_worked_refusals() -> None:
    found = concluded(worked())
    part = found.standings["checkpoint_tier_split"]["a part of a segment",]
    assert part.reasons == {("no_parameter_matches",)}
    # Four layers move: 3 does not divide them, 5 has a slot for each and one more.
    sound = {step: found.standings["prefetch_sound"][f"step {step}",] for step in range(1, 6)}
    assert [step for step, of in sound.items() if of.verdict != "sound"] == [3]
    assert sound[3].reasons == {("wrong_weights", 3, 4)}


def test_the_program_concludes_what_is_worked_by_hand() -> None:
    made = worked()
    found = compared(made, concluded(made), rows_of(made, random.Random(0)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("size", "block"),
    [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (2**40, 2**40), (2**40 + 1, 2**41)],
)
def test_the_reference_rounds_to_powers_of_two(size: int, block: int) -> None:
    assert ref.page_locked(size) == block


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("mlp", True),
        ("mlp.experts", True),
        ("experts.w13", True),
        ("mlp.experts.w13", True),
        ("w1", False),
        ("mlp.w13", False),
        ("lp.experts", False),
        ("mlp.experts.w13.more", False),
    ],
)
def test_the_reference_keeps_whole_segments(entry: str, kept: bool) -> None:
    assert ref.keeps("mlp.experts.w13", [entry]) is kept


def test_the_reference_has_the_reserve_and_the_caches_of_the_laws() -> None:
    standard = list(RESERVES[0].values())
    glm = {"latent": Component("latent", 78, 576), "index": Component("indexer", 21, 128, 78)}
    found = replace(FOUR, components=glm)
    arm = replace(STAYS, context_tokens=16384, kv_dtype="Q8_0")
    assert planner.reserve(128 * GIB, standard) == Fraction("27487790694.4")
    assert ref.workload_of(found, arm, Setting(standard, DTYPES))[0] == 955_908_096
