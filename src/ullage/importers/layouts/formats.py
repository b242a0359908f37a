"""Number formats of checkpoints: what a tensor of one takes, and which tensors come with it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

ELEMENT_BYTES: Mapping[str, int] = MappingProxyType(
    {"F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "U8": 1}
)
"""Bytes of one element by the name that safetensors gives a format."""

TORCH_NAMES: Mapping[str, str] = MappingProxyType(
    {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
)
"""Formats by the name that a configuration gives them."""

MXFP4_BLOCK = 32
"""Values that share a scale in MXFP4; two values take one byte, the scale another."""

_EXPERT = re.compile(r"(\.experts)\.[0-9]+\..*")
_LAYER = re.compile(r"(?:.*\.)?layers\.([0-9]{1,9}|\*)\.(.+)")


class Method(Enum):
    """How weights are quantized, by the name that a configuration gives the method."""

    NONE = ""
    FP8 = "fp8"
    MXFP4 = "mxfp4"


@dataclass(frozen=True, slots=True)
class Kept:
    """Modules that a quantization leaves alone: those of every layer, and those of single layers.

    A module is one of them where an entry's segments stand in its name in a row.
    """

    everywhere: frozenset[str] = frozenset()
    by_layer: Mapping[int, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))

    @staticmethod
    def of(entries: Iterable[str]) -> Kept:
        """The modules of a configuration's list, as in ``model.layers.3.mlp.gate``.

        One expert that is left alone stands for all: vLLM 0.29.0, quant_utils.py, is_layer_skipped.
        """
        everywhere: set[str] = set()
        by_layer: dict[int, set[str]] = {}
        for entry in entries:
            match = _LAYER.fullmatch(_EXPERT.sub(r"\1", entry))
            if match is None or match.group(1) == "*":
                everywhere.add(match.group(2) if match else entry)
            else:
                by_layer.setdefault(int(match.group(1)), set()).add(match.group(2))
        frozen = {layer: frozenset(names) for layer, names in by_layer.items()}
        return Kept(frozenset(everywhere), MappingProxyType(frozen))

    def of_layer(self, layer: int) -> frozenset[str]:
        """The entries of one layer alone."""
        return self.by_layer.get(layer, frozenset())

    def holds(self, layer: int, module: str) -> bool:
        """Whether a module of a layer, by its name within the layer, is left alone."""
        own = self.of_layer(layer)
        segments = module.split(".")
        return any(
            run in self.everywhere or run in own
            for start in range(len(segments))
            for end in range(start + 1, len(segments) + 1)
            for run in (".".join(segments[start:end]),)
        )


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why something is not known: a sentence, and the field of a configuration that it is about."""

    field: str
    why: str

    def __str__(self) -> str:
        """The sentence."""
        return self.why


@dataclass(frozen=True, slots=True)
class Quantization:
    """The format of what is not quantized, the method of what is, and what stays as it is.

    ``base`` is None where the configuration does not tell it. ``block`` is the height and width of
    the blocks that share a scale in FP8. ``unknown`` says what of it is not known, and is None
    where all is.
    """

    base: str | None
    method: Method = Method.NONE
    block: tuple[int, int] = (1, 1)
    kept: Kept = Kept()
    unknown: Unknown | None = None


def tensor_bytes(shape: Iterable[int], dtype: str) -> int:
    """The exact size of a tensor."""
    return math.prod(shape) * ELEMENT_BYTES[dtype]


def blocks(size: int, block: int) -> int:
    """Blocks that cover a size; the last may be short, and has a scale all the same.

    Source: vllm-project/llm-compressor 1817 (576 rows in blocks of 128 have 5 scales).
    """
    return -(-size // block)
