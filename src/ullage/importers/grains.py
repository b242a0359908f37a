"""The parameters of a layer at a grain: the checkpoint's own tensors, or what an engine makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from ullage.importers.checkpoint import Tensor
from ullage.importers.parameters import EXPERT, Layer, by_name, stack_experts


class Grain(Enum):
    """What one parameter is."""

    CHECKPOINT = "checkpoint"
    VLLM = "vllm"


Made = Mapping[str, Sequence[str]]
"""The engine's parameters of a layer in order, each with the names of the tensors it is of."""


def checkpoint_layer(made: Made | None, layer: Layer) -> list[Tensor]:
    """The tensors of a layer, experts stacked: in the order in which an engine has what it makes of
    them, or by name where that is not known.
    """
    groups: Iterable[Iterable[str]] = [layer] if made is None else made.values()
    names = (name for group in groups for name in by_name(group))
    return list(stack_experts({name: layer[name] for name in names}).values())


def engine_layer(made: Made, layer: Layer) -> list[Tensor]:
    """The engine's parameters of a layer in order, as the tensors that are put together in each.

    Tensors that cannot be put together, by shape or dtype, stay apart.
    """
    found: list[Tensor] = []
    for name, names in made.items():
        tensors = [layer[n] for n in by_name(names)]
        joint = _joint(name, tensors)
        found += [joint] if joint is not None else tensors
    return found


def _joint(name: str, tensors: Sequence[Tensor]) -> Tensor | None:
    """One parameter of several tensors: stacked by rows, and experts then over all of them."""
    if len({t.dtype for t in tensors}) > 1:
        return None
    experts: defaultdict[int | None, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        match = EXPERT.fullmatch(tensor.name)
        experts[None if match is None else int(match.group(2))].append(tensor)
    shapes = {_by_rows([t.shape for t in parts]) for parts in experts.values()}
    shape = shapes.pop()
    if shapes or shape is None:
        return None
    if None not in experts:
        if {*experts} != set(range(len(experts))):
            return None
        shape = (len(experts), *shape)
    elif len(experts) > 1:
        return None
    size = sum(t.bytes for t in tensors)
    return replace(tensors[0], name=name, shape=shape, bytes=size)


def _by_rows(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape of tensors stacked along their first dimension; None where they do not fit."""
    if len(shapes) == 1:
        return shapes[0]
    if not all(shapes):
        return (len(shapes),) if not any(shapes) else None
    if len({s[1:] for s in shapes}) > 1:
        return None
    return (sum(s[0] for s in shapes), *shapes[0][1:])
