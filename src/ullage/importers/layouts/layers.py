"""Layers put together: decoder layers, blocks for speculation, and what stands outside them.

Order and names are those of vLLM 0.29.0, read in the constructors of model_executor/models. From
0.29.0 at the latest the experts' names hold ``experts.routed_experts``; the shorter ``experts`` of
releases before is kept here, and what selects parameters by the segment ``experts`` finds both.
"""

from __future__ import annotations

from ullage.importers.layouts.attention import grouped_attention, latent_attention
from ullage.importers.layouts.model import Experts, LatentAttention, Model
from ullage.importers.layouts.parameter import Layer, Parameter, Part

EXPERTS = "mlp.experts"
"""The module of the routed experts."""


def layer_of(model: Model, number: int) -> Layer:
    """The layer of this number; from ``model.layers`` on it is a block for speculation."""
    if number >= model.layers:
        return _speculative(model, number)
    layer = Layer(model.quantization, number)
    attention = model.attention
    indexer = attention.indexer if isinstance(attention, LatentAttention) else None
    full = indexer is not None and indexer.full[number]
    _decoder(layer, model, sparse=model.sparse[number], full_indexer=full)
    return layer


def every_part(model: Model, number: int) -> Layer:
    """All parameters that layers of a model can have, each kind in its place.

    ``number`` decides only whether it is a block for speculation, and what is not quantized.
    """
    speculative = number >= model.layers
    layer = Layer(model.quantization, number, "mtp_block." if speculative else "")
    if speculative:
        _speculative_head(layer, model)
    _attention(layer, model, full_indexer=True)
    _dense(layer, model)
    if model.experts is not None:
        _sparse(layer, model, model.experts)
    _norms(layer, model)
    if speculative:
        _speculative_tail(layer, model)
    return layer


def outer(model: Model) -> tuple[Parameter, ...]:
    """The parameters outside all layers, by their names in a checkpoint; never quantized.

    A head that is tied to the embedding is none of its own.
    """
    base = model.quantization.base or "BF16"
    table = (model.vocabulary, model.hidden)
    found = [
        Parameter(name, shape, base, (name,))
        for name, shape in (
            ("model.embed_tokens.weight", table),
            ("model.norm.weight", (model.hidden,)),
            ("lm_head.weight", table),
        )
        if not (model.tied and name.startswith("lm_head"))
    ]
    return tuple(found)


def _decoder(layer: Layer, model: Model, *, sparse: bool, full_indexer: bool) -> None:
    _attention(layer, model, full_indexer=full_indexer)
    if sparse and model.experts is not None:
        _sparse(layer, model, model.experts)
    else:
        _dense(layer, model)
    _norms(layer, model)


def _attention(layer: Layer, model: Model, *, full_indexer: bool) -> None:
    attention = model.attention
    if isinstance(attention, LatentAttention):
        latent_attention(layer, attention, model.hidden, full_indexer=full_indexer)
    else:
        grouped_attention(layer, attention, model)


def _dense(layer: Layer, model: Model) -> None:
    _mlp(layer, "mlp", model.dense_width, model.hidden, biased=model.dense_biased)


def _mlp(layer: Layer, name: str, width: int, hidden: int, *, biased: bool = False) -> None:
    gate_up = [Part(f"{name}.gate_proj", width), Part(f"{name}.up_proj", width)]
    layer.linear(f"{name}.gate_up_proj", gate_up, hidden, biased=biased)
    layer.linear(f"{name}.down_proj", [Part(f"{name}.down_proj", hidden)], width, biased=biased)


def _sparse(layer: Layer, model: Model, experts: Experts) -> None:
    """The router, then shared experts, then routed ones.

    The router stays as it is in every release seen; its bias for balance is in f32. Engines that
    keep the router in f32 (glm4_moe.py) take twice what it takes on disk, which is told here.
    """
    router = "mlp.router" if experts.packed else "mlp.gate"
    parts = [Part(router, experts.count)]
    layer.linear(router, parts, model.hidden, quantized=False, biased=experts.packed)
    if experts.corrected:
        layer.vector(f"{router}.e_score_correction_bias", experts.count, dtype="F32")
    if experts.shared_width:
        _mlp(layer, "mlp.shared_experts", experts.shared_width, model.hidden)
    if experts.packed:
        layer.packed_experts(EXPERTS, experts.count, experts.width, model.hidden)
    else:
        layer.experts(EXPERTS, experts.count, experts.width, model.hidden)


def _norms(layer: Layer, model: Model) -> None:
    layer.norm("input_layernorm", model.hidden)
    layer.norm("post_attention_layernorm", model.hidden)


def _speculative(model: Model, number: int) -> Layer:
    """A block for speculation (MTP): deepseek_mtp.py and glm4_moe_mtp.py.

    Its norms and its joint projection come first, then its part of the head, then a decoder layer.
    It always has an indexer of its own (deepseek_v2.py, DeepseekV2MLAAttention).
    """
    layer = Layer(model.quantization, number)
    _speculative_head(layer, model)
    layer.prefix = "mtp_block."
    sparse = number < len(model.sparse) and model.sparse[number]
    _decoder(layer, model, sparse=sparse, full_indexer=True)
    layer.prefix = ""
    _speculative_tail(layer, model)
    return layer


def _speculative_head(layer: Layer, model: Model) -> None:
    prefix, layer.prefix = layer.prefix, ""
    layer.norm("enorm", model.hidden)
    layer.norm("hnorm", model.hidden)
    layer.linear("eh_proj", [Part("eh_proj", model.hidden)], 2 * model.hidden, quantized=False)
    layer.norm("shared_head.norm", model.hidden)
    if model.own_embedding:
        _table(layer, "shared_head.head", model)
    layer.prefix = prefix


def _speculative_tail(layer: Layer, model: Model) -> None:
    """Its own embedding, which an engine registers once, after the blocks."""
    prefix, layer.prefix = layer.prefix, ""
    if model.own_embedding:
        _table(layer, "embed_tokens", model)
    layer.prefix = prefix


def _table(layer: Layer, name: str, model: Model) -> None:
    layer.linear(name, [Part(name, model.vocabulary)], model.hidden, quantized=False)
