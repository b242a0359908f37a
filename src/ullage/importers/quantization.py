"""How a configuration says that weights are quantized."""

from __future__ import annotations

from ullage.importers.checkpoint import shortened
from ullage.importers.fields import Fields
from ullage.importers.jsontext import kind_of
from ullage.importers.layouts.formats import TORCH_NAMES, Kept, Method, Quantization, Unknown

FIELD = "quantization_config"


def read_quantization(fields: Fields, *, packed: bool = False) -> Quantization:
    """The formats of a checkpoint; what of them is not known is told, and no fault.

    ``packed`` says that the class stores its experts unquantized or in MXFP4 alone.
    """
    base, unknown = _base(fields)
    inner = fields.within(FIELD)
    if inner is None or not inner.root:
        return Quantization(base, unknown=unknown)
    method = inner.word("quant_method")
    if method is None:
        inner.missing("quant_method")
        return Quantization(base)
    entries = inner.words("modules_to_not_convert") or ()
    entries += inner.words("ignored_layers") or ()
    block, odd = (1, 1), ""
    known = Method.MXFP4 if packed and method == Method.MXFP4.value else Method.FP8
    if known is Method.FP8:
        block, odd = _fp8(inner, method)
        if packed and not odd:
            odd = f"experts in {shortened(method)} are not known of this class"
    pattern = next((e for e in entries if e.startswith("re:")), "")
    if pattern and not odd:
        odd = f"{shortened(pattern)} among the modules left alone is a pattern, which is not read"
    return Quantization(
        base, known, block, Kept.of(entries), Unknown(FIELD, odd) if odd else unknown
    )


def _base(fields: Fields) -> tuple[str | None, Unknown | None]:
    """The format of what is not quantized; None where it is not told, or not known."""
    name = "dtype" if fields.find("dtype") is not None else "torch_dtype"
    node = fields.find(name)
    base = TORCH_NAMES.get((fields.word(name) or "").removeprefix("torch."))
    if node is None or base is not None:
        return base, None
    return None, Unknown(name, f"field `{name}` is {kind_of(node)}, whose size is not known")


def _fp8(inner: Fields, method: str) -> tuple[tuple[int, int], str]:
    """The blocks of FP8, and what of the method is not known."""
    if method != Method.FP8.value:
        return (1, 1), f"quantization {shortened(method)} is none that is known"
    for name, known in (("fmt", {"e4m3", "float8_e4m3fn"}), ("activation_scheme", {"dynamic"})):
        word = inner.word(name)
        if word is not None and word not in known:
            return (1, 1), f"field `{name}` of quantization `fp8` is {shortened(word)}"
    sizes = inner.counts("weight_block_size", least=1)
    if sizes is None:
        return (1, 1), "scales of `fp8` without `weight_block_size` are not known"
    node = inner.find("weight_block_size")
    if len(sizes) == 2:
        return (sizes[0], sizes[1]), ""
    if node is not None:
        inner.contradict(
            f"field `weight_block_size` has {len(sizes)} sizes, not 2",
            node,
            help="write `[128, 128]`",
        )
    return (1, 1), ""
