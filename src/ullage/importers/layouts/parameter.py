"""Parameters as an engine registers them, and a layer's list of them in the making."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ullage.importers.layouts.formats import (
    MXFP4_BLOCK,
    Method,
    Quantization,
    blocks,
    tensor_bytes,
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter by the engine's name, relative to its layer where it is in one.

    ``shape`` and ``dtype`` are those of the checkpoint's tensors put together, before an engine
    lays any out anew. ``tensors`` names those tensors relative to their layer, ``*`` standing for
    every expert's number.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    tensors: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """What its tensors take."""
        return tensor_bytes(self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class Part:
    """A matrix of a checkpoint that an engine stacks with others: its module and its rows."""

    module: str
    rows: int


class MixedFormats(Exception):
    """The parts of one parameter are of different formats, which no engine can stack."""

    def __init__(self, name: str) -> None:
        """``name`` is the parameter's module."""
        self.name = name
        super().__init__(name)


class Layer:
    """Gathers the parameters of one layer in the order of registration.

    ``targets`` maps a checkpoint's module to the beginning of the names of the engine's parameters,
    to which the tensor's last segment is added; ``whole`` maps single tensors. ``prefix`` stands
    before every name of the engine's. Raises MixedFormats where it adds a parameter.
    """

    def __init__(self, quantization: Quantization, number: int, prefix: str = "") -> None:
        self.quantization = quantization
        self.number = number
        self.prefix = prefix
        self.parameters: list[Parameter] = []
        self.targets: dict[str, str] = {}
        self.whole: dict[str, str] = {}

    @property
    def base(self) -> str:
        """The format of what is not quantized; bf16 where nobody asks for bytes."""
        return self.quantization.base or "BF16"

    def vector(self, name: str, size: int, stored: str = "", dtype: str = "") -> None:
        """One tensor of one dimension, never quantized; ``stored`` is its name if not ``name``."""
        stored = stored or name
        self.whole[stored] = self.prefix + name
        self._add(name, (size,), dtype or self.base, (stored,))

    def norm(self, name: str, size: int, *, biased: bool = False) -> None:
        """The weight of a norm, and its bias where it has one."""
        self.vector(f"{name}.weight", size)
        if biased:
            self.vector(f"{name}.bias", size)

    def linear(
        self,
        name: str,
        parts: Sequence[Part],
        columns: int,
        *,
        quantized: bool = True,
        biased: bool = False,
    ) -> None:
        """Matrices stacked by rows: their weight, its scales where it is quantized, their bias."""
        for part in parts:
            self.targets[part.module] = f"{self.prefix}{name}."
        rows = sum(p.rows for p in parts)
        of_fp8 = quantized and self._quantized(name, [p.module for p in parts], Method.FP8)
        dtype = "F8_E4M3" if of_fp8 else self.base
        self._add(f"{name}.weight", (rows, columns), dtype, _of(parts, "weight"))
        if of_fp8:
            self._add(
                f"{name}.weight_scale_inv",
                self._scales([p.rows for p in parts], columns),
                "F32",
                _of(parts, "weight_scale_inv"),
            )
        if biased:
            self._add(f"{name}.bias", (rows,), self.base, _of(parts, "bias"))

    def experts(self, name: str, count: int, width: int, hidden: int) -> None:
        """The two matrices of gated experts, each stacked over all of them."""
        gate, up, down = (f"{name}.*.{n}" for n in ("gate_proj", "up_proj", "down_proj"))
        self.targets |= dict.fromkeys((gate, up), f"{self.prefix}{name}.w13_")
        self.targets[down] = f"{self.prefix}{name}.w2_"
        of_fp8 = self._quantized(name, (gate, up, down), Method.FP8)
        dtype = "F8_E4M3" if of_fp8 else self.base
        w13, w2 = (Part(gate, width), Part(up, width)), (Part(down, hidden),)
        # Weights before scales: vLLM 0.29.0, quantization/fp8.py, Fp8MoEMethod.create_weights.
        self._add(f"{name}.w13_weight", (count, 2 * width, hidden), dtype, _of(w13, "weight"))
        self._add(f"{name}.w2_weight", (count, hidden, width), dtype, _of(w2, "weight"))
        if of_fp8:
            of_w13, of_w2 = self._scales([width, width], hidden), self._scales([hidden], width)
            leaf = "weight_scale_inv"
            self._add(f"{name}.w13_{leaf}", (count, *of_w13), "F32", _of(w13, leaf))
            self._add(f"{name}.w2_{leaf}", (count, *of_w2), "F32", _of(w2, leaf))

    def packed_experts(self, name: str, count: int, width: int, hidden: int) -> None:
        """Gated experts with biases that a checkpoint keeps in one tensor each."""
        gate_up, down = f"{name}.gate_up_proj", f"{name}.down_proj"
        for stored, leaf in ((gate_up, "w13_"), (down, "w2_")):
            start = f"{self.prefix}{name}.{leaf}"
            self.whole |= {stored: f"{start}weight", f"{stored}_bias": f"{start}bias"}
            self.whole |= {
                f"{stored}_blocks": f"{start}weight",
                f"{stored}_scales": f"{start}weight_scale",
            }
        w13_bias = (f"{name}.w13_bias", (count, 2 * width), self.base, (f"{gate_up}_bias",))
        w2_bias = (f"{name}.w2_bias", (count, hidden), self.base, (f"{down}_bias",))
        if self._quantized(name, (name,), Method.MXFP4):
            # Two values a byte. Order: vLLM 0.29.0, quantization/mxfp4.py, create_weights.
            for leaf, stored, rows, columns in (
                ("w13_weight", gate_up, 2 * width, hidden),
                ("w2_weight", down, hidden, width),
            ):
                packed = (count, rows, columns // 2)
                scales = (count, rows, columns // MXFP4_BLOCK)
                self._add(f"{name}.{leaf}", packed, "U8", (f"{stored}_blocks",))
                self._add(f"{name}.{leaf}_scale", scales, "U8", (f"{stored}_scales",))
            self._add(*w13_bias)
            self._add(*w2_bias)
            return
        # Order: vLLM 0.29.0, fused_moe/unquantized_fused_moe_method.py, create_weights.
        self._add(f"{name}.w13_weight", (count, 2 * width, hidden), self.base, (gate_up,))
        self._add(*w13_bias)
        self._add(f"{name}.w2_weight", (count, hidden, width), self.base, (down,))
        self._add(*w2_bias)

    def fp8_module(self, module: str) -> bool:
        """Whether a module is quantized to FP8."""
        return self._quantized(module, (module,), Method.FP8)

    def _quantized(self, name: str, modules: Sequence[str], method: Method) -> bool:
        if self.quantization.method is not method:
            return False
        holds = self.quantization.kept.holds
        if holds(self.number, name):
            return False
        kept = {holds(self.number, m.replace(".*", "")) for m in modules}
        if len(kept) > 1:
            raise MixedFormats(name)
        return not kept.pop()

    def _scales(self, rows: Sequence[int], columns: int) -> tuple[int, int]:
        height, width = self.quantization.block
        return sum(blocks(r, height) for r in rows), blocks(columns, width)

    def _add(self, name: str, shape: tuple[int, ...], dtype: str, tensors: tuple[str, ...]) -> None:
        self.parameters.append(Parameter(self.prefix + name, shape, dtype, tensors))


def _of(parts: Sequence[Part], leaf: str) -> tuple[str, ...]:
    return tuple(f"{p.module}.{leaf}" for p in parts)
