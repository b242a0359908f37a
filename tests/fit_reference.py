"""What must be concluded of arms, read from the laws alone: integers and fractions, no solver.

Nothing here comes from ullage or its rules. The sections named are those of the laws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import planner_reference as planner
from planner_reference import (
    Component,
    Conclusion,
    Dtype,
    Number,
    ReservePolicy,
    Term,
    Value,
    concluded,
)


@dataclass(frozen=True)
class Parameter:
    layer: int
    name: str
    bytes: int
    position: int
    shape: str | None = None
    dtype: str | None = None

    @property
    def distinct(self) -> tuple[str, str | None, str | None]:
        return self.name, self.shape, self.dtype


@dataclass(frozen=True)
class Checkpoint:
    """An artifact with its parameters, and of its architecture the layers and the caches."""

    architecture: str
    num_hidden_layers: int
    parameters: Sequence[Parameter]
    outer: Mapping[str, int]
    total_bytes: int
    components: Mapping[str, Component] = field(default_factory=dict)


@dataclass(frozen=True)
class Release:
    """``relayouts`` holds the backends that the release enumerates, by oracle and name.

    ``runners`` says of each runner that is known whether it offloads.
    """

    prefetch_overwrites: bool | None = None
    workspace_allowance: int | None = None
    relayouts: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    runners: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Arm:
    offload: str
    cpu_offload: int | None = None
    offload_params: Sequence[str] | None = None
    group_size: int | None = None
    num_in_group: int | None = None
    step: int | None = None
    utilization: Number | None = None
    context_tokens: int | None = None
    concurrency: int | None = None
    kv_dtype: str | None = None
    workspace: int | None = None
    tensor_parallel: int | None = None
    speculative: bool | None = None
    draft_cache: int | None = None
    moe_oracle: str | None = None
    uva_available: bool | None = None
    uva_disabled: bool | None = None
    moe_backend: str | None = None
    model_runner: str | None = None


@dataclass(frozen=True)
class Host:
    """What was read of a machine, with the shape of its catalog system, if it has one.

    ``gpus`` and ``cpus`` count those that have a memory of their own. ``link`` is the rate at which
    the catalog says that the GPU reaches the memory beside its own.
    """

    node: planner.Host
    system: str | None = None
    shape: str | None = None
    gpus: int = 1
    cpus: int = 1
    link: Number | None = None

    @property
    def one_pool(self) -> bool:
        node = self.node
        return self.shape == "integrated" or node.unified is True or "one_pool" in node.readings

    @property
    def parted(self) -> bool:
        """Whether the GPU has memory of its own: by the catalog, by word, or by a reading of it."""
        told = self.shape is not None or self.node.unified is False
        read = bool(self.node.readings) or (self.node.gpu_memory or 0) > 0
        return not self.one_pool and (told or read)

    @property
    def beside(self) -> str:
        """How the GPU reaches the memory beside its own."""
        coherent = self.shape == "superchip" or "coherent_link" in self.node.readings
        return "coherent_link" if coherent else "host_link"


# Section 4.


def weight_offload_split(arm: Arm, release: Release) -> Conclusion:
    verdict, copies, reasons, obligations = _split(arm, release)
    values: dict[str, Value] = {} if copies is None else {"device_copies": copies}
    return concluded(verdict, values, reasons, obligations)


def _split(arm: Arm, release: Release) -> tuple[str, int | None, set[Term], set[Term]]:
    if arm.offload == "none":
        return "no_offload", None, set(), set()
    if arm.offload == "prefetch":
        if arm.step is None:
            return "prefetch", None, set(), {("prefetch_step",)}
        if arm.step == 0:
            return "prefetch", None, {("prefetch_step_zero",)}, set()
        return "prefetch", arm.step, set(), set()
    relayout: str | None = "in_place"
    if arm.moe_oracle is not None and arm.moe_backend is not None:
        key = (arm.moe_oracle, arm.moe_backend)
        if key not in release.relayouts:
            return "", None, {("unknown_backend", arm.moe_backend)}, set()
        relayout = release.relayouts[key]
    unread: set[Term] = {
        ("read", name)
        for name in ("uva_available", "uva_disabled", "moe_backend")
        if getattr(arm, name) is None and (name != "moe_backend" or arm.moe_oracle is not None)
    }
    if relayout in (None, "unknown"):
        unread.add(("relayout_fact", str(arm.moe_backend)))
    if unread:
        return "", None, set(), unread
    if relayout == "allocates":
        return "", None, {("relayout_backend", str(arm.moe_backend))}, set()
    if arm.uva_available is False or arm.uva_disabled is True:
        return "functional_call_fallback", 1, set(), set()
    return "uva_zero_copy_view", 0, set(), set()


# Section 5.


def keeps(name: str, filters: Sequence[str] | None) -> bool:
    """Whether some entry is a run of whole dotted segments of the name; of no entry, all are."""
    if not filters:
        return True
    parts = name.split(".")
    for entry in filters:
        run = entry.split(".")
        if any(parts[i : i + len(run)] == run for i in range(len(parts) - len(run) + 1)):
            return True
    return False


def decoder(checkpoint: Checkpoint) -> list[Parameter]:
    """The parameters that an offloader can walk over, in its order."""
    layers = checkpoint.num_hidden_layers
    within = [p for p in checkpoint.parameters if p.layer < layers]
    return sorted(within, key=lambda p: (p.layer, p.position))


def walked(checkpoint: Checkpoint, arm: Arm, budget: int) -> list[Parameter]:
    moved: list[Parameter] = []
    total = 0
    for parameter in decoder(checkpoint):
        if keeps(parameter.name, arm.offload_params) and total < budget:
            moved.append(parameter)
            total += parameter.bytes
    return moved


def selected(checkpoint: Checkpoint, arm: Arm, group_size: int, number: int) -> list[Parameter]:
    return [
        p
        for p in decoder(checkpoint)
        if p.layer % group_size >= group_size - number and keeps(p.name, arm.offload_params)
    ]


def moved_parameters(checkpoint: Checkpoint, arm: Arm) -> list[Parameter] | None:
    """What leaves the device, where the figures of the arm say it."""
    if arm.offload == "none":
        return []
    if arm.offload == "uva":
        return None if arm.cpu_offload is None else walked(checkpoint, arm, arm.cpu_offload)
    group_size, number = arm.group_size, arm.num_in_group
    if group_size is None or number is None or out_of_range(arm):
        return None
    return selected(checkpoint, arm, group_size, number)


def by_layer(parameters: Iterable[Parameter]) -> dict[int, list[Parameter]]:
    found: dict[int, list[Parameter]] = {}
    for parameter in parameters:
        found.setdefault(parameter.layer, []).append(parameter)
    return found


def largest_layer(parameters: Iterable[Parameter]) -> int:
    layers = by_layer(parameters).values()
    return max((sum(p.bytes for p in of) for of in layers), default=0)


def distinct_bytes(parameters: Iterable[Parameter]) -> int:
    return sum({p.distinct: p.bytes for p in parameters}.values())


def page_locked(size: int) -> int:
    """The allocator's block: nothing of nothing, else the next power of two (facts, 4.3)."""
    return 0 if size == 0 else 1 << (size - 1).bit_length()


def layers_told(checkpoint: Checkpoint) -> bool:
    layers = {p.layer for p in checkpoint.parameters}
    return layers >= set(range(checkpoint.num_hidden_layers))


def told_whole(checkpoint: Checkpoint) -> bool:
    return bool(checkpoint.outer) and layers_told(checkpoint)


def matches_nothing(checkpoint: Checkpoint, arm: Arm) -> bool:
    """Whether no parameter is admitted. One of a layer that nobody told may well be."""
    admitted = (keeps(p.name, arm.offload_params) for p in decoder(checkpoint))
    return layers_told(checkpoint) and not any(admitted)


def out_of_range(arm: Arm) -> bool:
    """Whether a group moves none of its layers, or more than it has, as far as that is told."""
    number, size = arm.num_in_group, arm.group_size
    return number is not None and (number == 0 or (size is not None and number > size))


def speculates(checkpoint: Checkpoint) -> bool:
    return any(p.layer >= checkpoint.num_hidden_layers for p in checkpoint.parameters)


def loaded(checkpoint: Checkpoint, speculative: bool) -> int:
    layers = checkpoint.num_hidden_layers
    return sum(checkpoint.outer.values()) + sum(
        p.bytes for p in checkpoint.parameters if speculative or p.layer < layers
    )


def broken_layers(checkpoint: Checkpoint) -> set[int]:
    """The first of equal layers whose positions are not 0, 1, 2 and on."""
    first: dict[frozenset[Parameter], int] = {}
    for layer, of in sorted(by_layer(decoder(checkpoint)).items()):
        if sorted(p.position for p in of) != list(range(len(of))):
            first.setdefault(frozenset(replace(p, layer=0) for p in of), layer)
    return set(first.values())


def checkpoint_tier_split(checkpoint: Checkpoint, arm: Arm, release: Release) -> Conclusion:
    split = weight_offload_split(arm, release)
    reasons: set[Term] = set()
    obligations: set[Term] = set()
    told = told_whole(checkpoint)
    if not told:
        obligations.add(("parameters",))
    elif loaded(checkpoint, True) != checkpoint.total_bytes:
        reasons.add(("parameters_disagree", loaded(checkpoint, True), checkpoint.total_bytes))
    if (arm.tensor_parallel or 1) > 1:
        obligations.add(("sharded_parameters",))
    if speculates(checkpoint) and arm.speculative is None:
        obligations.add(("speculative",))
    if split.reasons or split.obligations:
        # Without a split nothing is known to be moved, whatever the figures of the arm say.
        obligations.add(("weight_offload_split",))
        return concluded("established", {}, reasons, obligations)
    against, unread = amiss(checkpoint, arm)
    reasons |= against
    obligations |= unread
    moved = moved_parameters(checkpoint, arm)
    if reasons or obligations or moved is None:
        return concluded("established", {}, reasons, obligations)
    return Conclusion("established", tier_values(checkpoint, arm, split.verdict, moved))


def amiss(checkpoint: Checkpoint, arm: Arm) -> tuple[set[Term], set[Term]]:
    """What refuses an established offload, and what is unread of it."""
    reasons: set[Term] = set()
    obligations: set[Term] = set()
    if arm.offload == "none":
        return reasons, obligations
    if arm.offload == "uva" and arm.cpu_offload is None:
        obligations.add(("cpu_offload",))
    if arm.offload == "prefetch":
        for name in ("group_size", "num_in_group"):
            if getattr(arm, name) is None:
                obligations.add((f"prefetch_{name}",))
        if out_of_range(arm):
            reasons.add(("num_in_group_out_of_range",))
        # The pool has a slot for each shape and format that moves, and for no other.
        obligations |= {
            ("parameter_shape", p.name)
            for p in moved_parameters(checkpoint, arm) or ()
            if p.shape is None or p.dtype is None
        }
    reasons |= {("positions_broken", layer) for layer in broken_layers(checkpoint)}
    if matches_nothing(checkpoint, arm):
        reasons.add(("no_parameter_matches",))
    return reasons, obligations


def tier_values(
    checkpoint: Checkpoint, arm: Arm, split: str, moved: Sequence[Parameter]
) -> dict[str, Value]:
    host = sum(p.bytes for p in moved)
    device = loaded(checkpoint, arm.speculative is True) - host
    copies = 0
    if split == "functional_call_fallback":
        copies = largest_layer(moved)
    elif split == "prefetch":
        assert arm.step is not None
        copies = arm.step * distinct_bytes(moved)
    values: dict[str, Value] = {
        "host_bytes": host,
        "device_bytes": device,
        "device_copy_bytes": copies,
        "offloaded_parameters": len(moved),
        "pinned_host_bytes": sum(page_locked(p.bytes) for p in moved),
        "load_peak_bytes": device + largest_layer(moved),
    }
    if arm.offload == "uva":
        assert arm.cpu_offload is not None
        values["overshoot"] = max(host - arm.cpu_offload, 0)
    return values


# Facts of the engine, sections 3.3 and 5: who offloads, and slots that are refilled in turn.


def offload_effective(arm: Arm, release: Release) -> Conclusion:
    if arm.offload == "none":
        return Conclusion("no_offload", {})
    runner = arm.model_runner
    if runner is None:
        if release.runners and all(release.runners.values()):
            return Conclusion("effective", {})
        return concluded("effective", {}, (), [("read", "model_runner")])
    if runner not in release.runners:
        return concluded("effective", {}, (), [("offload_runner", runner)])
    if release.runners[runner]:
        return Conclusion("effective", {})
    return Conclusion("ignored", {}, frozenset({("runner_ignores_offload", runner)}))


def prefetch_sound(checkpoint: Checkpoint, arm: Arm, release: Release) -> Conclusion:
    """Whether no slot is refilled too early; what does not bear on that is not asked for."""
    step, overwrites = arm.step, release.prefetch_overwrites
    if arm.offload != "prefetch" or step == 0:
        return Conclusion("no_prefetch", {})
    if step is not None and (out_of_range(arm) or matches_nothing(checkpoint, arm)):
        # An established offload that its engine, or its checkpoint, leaves nothing to do.
        return Conclusion("no_prefetch", {})
    if overwrites is False or step == 1:
        return Conclusion("sound", {})
    if step is None:
        return concluded("sound", {}, (), [("prefetch_step",)])
    moved = moved_parameters(checkpoint, arm)
    if moved is None or not layers_told(checkpoint):
        return concluded("sound", {}, (), [("layers_fetched",)])
    layers = len(by_layer(moved))
    if step >= layers or layers % step == 0:
        return Conclusion("sound", {})
    if overwrites is None:
        return concluded("sound", {}, (), [("prefetch_overwrites",)])
    return concluded("sound", {}, [("wrong_weights", step, layers)], ())


# Section 7.


@dataclass(frozen=True)
class Tier:
    """One memory that an arm puts bytes into; ``parts`` are the bytes, by what they are of.

    ``limit`` and a part are None where a figure that they follow from is unread.
    """

    usable: Number
    limit: Number | None
    parts: Mapping[str, int | None]

    @property
    def used(self) -> int | None:
        sizes = [size for size in self.parts.values() if size is not None]
        return sum(sizes) if len(sizes) == len(self.parts) else None

    @property
    def headroom(self) -> Number | None:
        return None if self.used is None or self.limit is None else self.limit - self.used

    @property
    def values(self) -> dict[str, Value]:
        """The tier as a plan shows it, of one of which nothing is unread."""
        assert self.limit is not None
        assert self.used is not None
        return {
            "usable": self.usable,
            "kept": self.usable - self.limit,
            "limit": self.limit,
            **{name: size for name, size in self.parts.items() if size is not None},
            "used": self.used,
            "headroom": self.limit - self.used,
        }


@dataclass(frozen=True)
class Fit:
    conclusion: Conclusion
    tiers: Mapping[str, Tier]

    @property
    def decided(self) -> bool:
        """Whether the tiers alone decide, and all of them are known."""
        named = {t[0] for t in self.conclusion.reasons}
        return not self.conclusion.obligations and named <= {"short_on"}

    @property
    def tightest(self) -> list[str]:
        """The reaches of the memories with the least left, the GPU's own first."""
        left = {reach: t.headroom for reach, t in self.tiers.items() if t.headroom is not None}
        return [reach for reach, headroom in left.items() if headroom == min(left.values())]


@dataclass(frozen=True)
class Setting:
    """What holds for all arms: reserves, formats of caches, and the layouts of the policy."""

    policies: Sequence[ReservePolicy]
    dtypes: Mapping[str, Dtype]
    indexer_layout: str = "conservative"
    window_layout: str = "windowed"


def workload_of(
    checkpoint: Checkpoint, arm: Arm, setting: Setting
) -> tuple[int | None, set[Term], set[Term]]:
    """Bytes of the caches, with what refuses them and what is unread."""
    unread: set[Term] = {
        (name,)
        for name in ("context_tokens", "concurrency", "kv_dtype")
        if getattr(arm, name) is None
    }
    if not checkpoint.components:
        unread.add(("kv_cache", checkpoint.architecture))
    if unread:
        if arm.speculative is True and arm.draft_cache is None:
            unread.add(("draft_cache",))
        return None, set(), unread
    assert arm.context_tokens is not None
    assert arm.concurrency is not None
    dtype = setting.dtypes[str(arm.kv_dtype)]
    unfit = planner.unfit(checkpoint.components, dtype, setting.indexer_layout)
    kv = planner.kv_bytes(
        checkpoint.components,
        arm.context_tokens,
        arm.concurrency,
        dtype,
        setting.indexer_layout,
        setting.window_layout,
    )
    if arm.speculative is True:
        # Blocks for speculation are no layers of the architecture's caches.
        if arm.draft_cache is None:
            return None, {("kv_dtype_unfit", name) for name in unfit}, {("draft_cache",)}
        kv = None if kv is None else kv + arm.draft_cache
    return kv, {("kv_dtype_unfit", name) for name in unfit}, set()


def workspace_of(arm: Arm, release: Release) -> int | None:
    return release.workspace_allowance if arm.workspace is None else arm.workspace


def read_whole(host: Host) -> planner.Host:
    """The host as section 3 counts it: readings that leave a memory out are no sum of its parts."""
    if host.one_pool or {"direct", host.beside} <= host.node.readings.keys():
        return host.node
    return replace(host.node, readings={})


def memories(host: Host, node: Conclusion, moves: bool) -> dict[str, Number | None] | None:
    """What one GPU has of each memory; None where nobody told how it reaches any."""
    if host.one_pool:
        usable = node.values.get("physical_usable")
        return {
            "one_pool": None if usable is None else Fraction(planner.number(usable)) / host.gpus
        }
    if not host.parted:
        return None
    own = host.node.readings.get("direct", host.node.gpu_memory)
    found: dict[str, Number | None] = {"direct": None if own is None else Fraction(own) / host.gpus}
    if moves:
        outside = host.node.readings.get(host.beside, host.node.system_ram)
        parts = host.cpus if host.beside == "coherent_link" else 1
        found[host.beside] = None if outside is None else Fraction(outside) / parts
    return found


def arm_memory_fit(
    checkpoint: Checkpoint, arm: Arm, release: Release, named: tuple[str, Host], setting: Setting
) -> Fit:
    name, host = named
    split = weight_offload_split(arm, release)
    placed = checkpoint_tier_split(checkpoint, arm, release)
    runner = offload_effective(arm, release)
    node = planner.node_memory(read_whole(host), setting.policies)
    figures = {n: int(planner.number(v)) for n, v in placed.values.items()}
    kv, reasons, obligations = workload_of(checkpoint, arm, setting)
    workspace = workspace_of(arm, release)

    obligations |= split.obligations | placed.obligations | runner.obligations
    if split.obligations:
        # They stand for the law whose they are; where it is refused, it stands for itself.
        obligations.discard(("weight_offload_split",))
    if workspace is None:
        obligations.add(("workspace",))
    if arm.utilization is None:
        obligations.add(("gpu_memory_utilization",))
    if placed.reasons:
        reasons.add(("checkpoint_tier_split",))
    if runner.reasons:
        reasons.add(("offload_ignored",))
    if node.verdict == "refused":
        reasons.add(("host_refused", name))

    # Until it is known that nothing moves, something may.
    moves = arm.offload != "none" and figures.get("host_bytes") != 0
    usable = memories(host, node, moves)
    # Of a host that is none no figure counts, and of an offload that is ignored none holds.
    counts = node.verdict != "refused" and not runner.reasons
    if usable is None:
        obligations.add(("memory_of_gpu",))
    elif counts:
        obligations |= {("tier_memory", reach) for reach, size in usable.items() if size is None}
    tiers: dict[str, Tier] = {}
    for reach, size in (usable or {}).items():
        if size is None or not figures or not counts:
            continue
        envelope = None if arm.utilization is None else arm.utilization * size
        left = size - planner.reserve(size, setting.policies)
        held: dict[str, int | None] = {
            "weights": figures["device_bytes"],
            "copies": figures["device_copy_bytes"],
            "kv": kv,
            "workspace": workspace,
        }
        if reach == "one_pool":
            # Host and device bytes land in the one memory, under envelope and reserve at once.
            held["weights"] = figures["device_bytes"] + figures["host_bytes"]
            tiers[reach] = Tier(size, None if envelope is None else min(envelope, left), held)
        elif reach == "direct":
            tiers[reach] = Tier(size, envelope, held)
        else:
            moved = {"weights": figures["host_bytes"], "copies": 0, "kv": 0, "workspace": 0}
            tiers[reach] = Tier(size, left, moved)
    headrooms = {reach: t.headroom for reach, t in tiers.items() if t.headroom is not None}
    reasons |= {("short_on", reach) for reach, left in headrooms.items() if left < 0}
    values: dict[str, Value] = {}
    if headrooms:
        least = min(headrooms.values())
        if len(headrooms) == len(usable or ()):
            # As long as a memory is unread, it may have less left than the others.
            values["headroom"] = least
        if least < 0:
            values["shortfall"] = -least
        if host.link is not None and host.beside in tiers:
            values["link_per_direction"] = host.link
    return Fit(replace(concluded("fits", {}, reasons, obligations), values=values), tiers)
