"""Tensors as rows of parameters: by decoder layer, experts stacked, layers alike in one row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ullage.importers.checkpoint import Tensor
from ullage.importers.rows import ImportedRow, ranges

DECODER_STACKS = (
    "model.layers",
    "layers",
    "transformer.h",
    "h",
    "blk",
    "gpt_neox.layers",
    "transformer.blocks",
    "transformer.layers",
    "transformer.encoder.layers",
    "model.decoder.layers",
    "decoder.layers",
    "backbone.layers",
    "language_model.layers",
    "language_model.model.layers",
    "model.language_model.layers",
)
"""Names before the number of a decoder layer. Towers of other modalities have others."""

SCALAR = "scalar"
"""The shape of a tensor without dimensions."""

_STACKS = "|".join(re.escape(s) for s in sorted(DECODER_STACKS, key=len, reverse=True))
_IN_LAYER = re.compile(rf"({_STACKS})\.(0|[1-9][0-9]{{0,3}})\.(.+)", re.DOTALL)
EXPERT = re.compile(r"((?:.*\.)?experts)\.(0|[1-9][0-9]{0,4})\.(.+)", re.DOTALL)
"""A tensor of one expert: what stands before its number, the number, and what follows."""

_DIGITS = re.compile(r"([0-9]+)")

Layer = dict[str, Tensor]
"""The tensors of a layer by name; the names of tensors in it are relative to the layer."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parameters of a checkpoint: of its decoder layers by number, and those outside."""

    layers: Mapping[int, Layer]
    outer: Layer


def split_layers(tensors: Iterable[Tensor]) -> Parts:
    """The tensors by decoder layer, named relative to it, and the others under their own names.

    Where a checkpoint has several stacks of decoder layers, the one of most bytes counts.
    """
    stacks: defaultdict[str, list[tuple[int, Tensor]]] = defaultdict(list)
    outer: Layer = {}
    for tensor in tensors:
        match = _IN_LAYER.fullmatch(tensor.name)
        if match is None:
            outer[tensor.name] = tensor
        else:
            stack, number, name = match.groups()
            local = Tensor(name, tensor.dtype, tensor.shape, tensor.bytes, tensor.file)
            stacks[stack].append((int(number), local))
    layers: defaultdict[int, Layer] = defaultdict(dict)
    chosen = max(sorted(stacks), key=lambda s: sum(t.bytes for _, t in stacks[s]), default="")
    for stack, found in stacks.items():
        for number, tensor in found:
            if stack == chosen:
                layers[number][tensor.name] = tensor
            else:
                name = f"{stack}.{number}.{tensor.name}"
                outer[name] = replace(tensor, name=name)
    return Parts({n: layers[n] for n in sorted(layers)}, outer)


def stack_experts(layer: Layer) -> Layer:
    """A layer with the tensors of its experts as one each: ``experts.7.w`` is in ``experts.w``,
    which stands where the first of them stood.

    Experts whose tensors are not alike, or not numbered from 0 without a gap, stay as they are.
    """
    experts: defaultdict[str, dict[int, Tensor]] = defaultdict(dict)
    for name, tensor in layer.items():
        match = EXPERT.fullmatch(name)
        if match is not None:
            experts[f"{match.group(1)}.{match.group(3)}"][int(match.group(2))] = tensor
    stacks: Layer = {}
    for name, found in experts.items():
        alike = {(t.dtype, t.shape) for t in found.values()}
        if len(alike) > 1 or max(found) != len(found) - 1 or name in layer:
            continue
        stack = replace(
            found[0],
            name=name,
            shape=(len(found), *found[0].shape),
            bytes=sum(t.bytes for t in found.values()),
        )
        stacks |= dict.fromkeys((t.name for t in found.values()), stack)
    stacked = (stacks.get(name, tensor) for name, tensor in layer.items())
    return {tensor.name: tensor for tensor in stacked}


def by_name(names: Iterable[str]) -> list[str]:
    """Names in alphabetical order, numbers in them in the order of their size."""
    return sorted(names, key=_natural)


def parameter_rows(
    artifact: str, layers: Mapping[int, Sequence[Tensor]], outer: Layer, source: str
) -> list[ImportedRow]:
    """The rows ``parameter`` and ``outer_parameter`` of an artifact.

    ``layers`` has the parameters of each layer in order. A row names all layers that have the same
    parameter at the same place.
    """
    layers_of: defaultdict[tuple[str, int, int, str, str], list[int]] = defaultdict(list)
    for number, layer in layers.items():
        for position, tensor in enumerate(layer):
            form = tensor.bytes, shape_text(tensor.shape), tensor.dtype
            layers_of[tensor.name, position, *form].append(number)
    rows = []
    for key, numbers in sorted(layers_of.items(), key=lambda item: (item[1], item[0][1])):
        name, position, size, shape, dtype = key
        cells = (
            ("artifact", artifact),
            ("layer", ranges(numbers)),
            ("name", name),
            ("bytes", f"{size} B"),
            ("position", str(position)),
            ("shape", shape),
            ("dtype", dtype),
            ("source", source),
        )
        rows.append(ImportedRow("parameter", cells))
    for name in by_name(list(outer)):
        tensor = outer[name]
        outer_cells = (
            ("artifact", artifact),
            ("name", name),
            ("bytes", f"{tensor.bytes} B"),
            ("shape", shape_text(tensor.shape)),
            ("dtype", tensor.dtype),
            ("source", source),
        )
        rows.append(ImportedRow("outer_parameter", outer_cells))
    return rows


def shape_text(shape: Sequence[int]) -> str:
    """A shape as the catalog writes it: ``256x2048x6144``."""
    return "x".join(map(str, shape)) or SCALAR


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in _DIGITS.split(name) if p]
