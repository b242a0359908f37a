"""Which parameters an engine makes of which tensors of a checkpoint, and what caches it keeps.

Everything follows from sizes in a configuration, in whole numbers. Bytes are those of the tensors
in a checkpoint. Names and order are an engine's, vLLM 0.29.0 on CUDA: what its loader walks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ullage.importers.layouts.kv import KvComponent, full_indexers, kv_components
from ullage.importers.layouts.layers import every_part, layer_of, outer
from ullage.importers.layouts.model import LatentAttention, Model
from ullage.importers.layouts.parameter import Layer, MixedFormats, Parameter

__all__ = [
    "KvComponent",
    "LayerParameter",
    "MixedFormats",
    "Model",
    "Parameter",
    "full_indexers",
    "fused",
    "kv_components",
    "layer_parameters",
    "outer_parameters",
    "parameters",
    "position_order",
]

_LAYER_PREFIX = re.compile(r"(?:.*\.)?layers\.[0-9]+\.")
_EXPERT = re.compile(r"(\.experts)\.[0-9]+\.")
_JOINT = "self_attn.indexer.wk_weights_proj"
_INDEXER_KEYS = re.compile(r"self_attn\.indexer\.wk\.weight_.+")


@dataclass(frozen=True, slots=True)
class LayerParameter:
    """A parameter that some layers have alike, in the same place."""

    layers: tuple[int, ...]
    position: int
    parameter: Parameter

    @property
    def total_bytes(self) -> int:
        """What it takes in all its layers."""
        return self.parameter.bytes * len(self.layers)


def layer_parameters(model: Model, number: int) -> tuple[Parameter, ...]:
    """The parameters of one layer in the order of registration. Raises MixedFormats."""
    return tuple(layer_of(model, number).parameters)


def parameters(model: Model) -> tuple[LayerParameter, ...]:
    """The parameters of all layers, those of equal layers together, by first layer and place.

    Blocks for speculation are layers from ``model.layers`` on. Raises MixedFormats.
    """
    kinds: dict[object, tuple[Parameter, ...]] = {}
    found: dict[tuple[int, Parameter], list[int]] = {}
    for number, sparse in enumerate(model.sparse):
        speculative = number >= model.layers
        full = not speculative and _has_indexer(model, number)
        kind = (speculative, sparse, full, model.quantization.kept.of_layer(number))
        if kind not in kinds:
            kinds[kind] = layer_parameters(model, number)
        for place in enumerate(kinds[kind]):
            found.setdefault(place, []).append(number)
    order = sorted(found.items(), key=lambda item: (item[1][0], item[0][0]))
    return tuple(LayerParameter(tuple(n), place, p) for (place, p), n in order)


def outer_parameters(model: Model) -> tuple[Parameter, ...]:
    """The parameters outside all layers: embedding, last norm, and the head unless it is tied."""
    return outer(model)


def position_order(model: Model, names: Iterable[str], *, speculative: bool = False) -> list[str]:
    """The names of one layer's parameters in the order of registration.

    Names are the engine's, or those of a checkpoint's tensors relative to their layer, which stand
    where the parameter that they are part of does. A leaf that the quantization of ``model`` does
    not have goes behind its module's weight; a module that no layer has goes last. Both are in
    alphabetical order. Raises MixedFormats.
    """
    layer = every_part(model, model.layers if speculative else 0)
    modules: dict[str, dict[str, int]] = {}
    for parameter in layer.parameters:
        module, _, leaf = parameter.name.rpartition(".")
        leaves = modules.setdefault(module, {})
        leaves[leaf] = len(leaves)
    order = {module: number for number, module in enumerate(modules)}
    keys = f"{layer.prefix}self_attn.indexer.wk"
    if keys in order:
        # An unquantized checkpoint of a quantized model: the two matrices are stacked.
        joint = f"{layer.prefix}{_JOINT}"
        order[joint], modules[joint] = order[keys], {"weight": 0}
    parts = {module: number for number, module in enumerate(layer.targets)}

    def key(name: str) -> tuple[int, Fraction, int, str]:
        local = _local(layer, name)
        module, _, leaf = name.rpartition(".")
        if leaf not in modules.get(module, ()):
            module, _, leaf = _parameter_of(layer, local).rpartition(".")
        leaves = modules.get(module)
        if leaves is None:
            return len(order), Fraction(0), 0, name
        unknown = leaves.get("bias", len(leaves)) - Fraction(1, 2)
        part = parts.get(local.rpartition(".")[0], 0)
        return order[module], Fraction(leaves.get(leaf, unknown)), part, name

    return sorted(set(names), key=key)


def fused(model: Model, number: int, tensors: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The engine's parameters of one layer, in order, each with the checkpoint tensors it is of.

    ``tensors`` are names as a checkpoint has them, or relative to the layer; all of them come back.
    A tensor that the layout does not know is a parameter of its own, by its name relative to the
    layer. Raises MixedFormats.
    """
    layer = every_part(model, number)
    given = {name: _local(layer, name) for name in tensors}
    if isinstance(model.attention, LatentAttention) and model.attention.indexer is not None:
        _indexer_targets(layer, any(_INDEXER_KEYS.fullmatch(n) for n in given.values()))
    found: dict[str, list[str]] = {}
    for name, local in given.items():
        found.setdefault(_parameter_of(layer, local), []).append(name)
    ordered = position_order(model, found, speculative=number >= model.layers)
    return {name: tuple(found[name]) for name in ordered}


def _local(layer: Layer, tensor: str) -> str:
    """A tensor's name relative to its layer, ``*`` in place of an expert's number.

    The number is missing where a checkpoint, or who read it, stacked the experts.
    """
    local = _EXPERT.sub(r"\1.*.", _LAYER_PREFIX.sub("", tensor, count=1))
    stacked = local.replace(".experts.", ".experts.*.", 1)
    return stacked if stacked.rpartition(".")[0] in layer.targets else local


def _parameter_of(layer: Layer, tensor: str) -> str:
    """The name of the engine's parameter that a tensor is part of."""
    if tensor in layer.whole:
        return layer.whole[tensor]
    module, _, leaf = tensor.rpartition(".")
    target = layer.targets.get(module)
    return tensor if target is None else target + leaf


def _indexer_targets(layer: Layer, apart: bool) -> None:
    """Whether the two matrices that an indexer stacks stay apart is for the tensors to say."""
    for module in ("self_attn.indexer.wk", "self_attn.indexer.weights_proj"):
        layer.targets[module] = f"{layer.prefix}{module if apart else _JOINT}."


def _has_indexer(model: Model, number: int) -> bool:
    attention = model.attention
    if not isinstance(attention, LatentAttention) or attention.indexer is None:
        return False
    return attention.indexer.full[number]
