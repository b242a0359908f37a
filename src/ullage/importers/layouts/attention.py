"""Attention of a decoder layer: its parameters in the order in which an engine registers them.

The order is that of vLLM 0.29.0 on CUDA, read in the constructors of its modules; within a linear
layer the weight comes first, then its scales, then its bias (layers/linear.py).
"""

from __future__ import annotations

from ullage.importers.layouts.model import GroupedAttention, Indexer, LatentAttention, Model
from ullage.importers.layouts.parameter import Layer, Part

_STORED = "self_attn"


def latent_attention(
    layer: Layer, attention: LatentAttention, hidden: int, *, full_indexer: bool
) -> None:
    """Attention over latents, with an indexer of the layer's own where ``full_indexer`` says so.

    Order: model_executor/models/deepseek_v2.py, DeepseekV2MLAAttention. With sparse attention,
    models/deepseek_v32/attention.py: its base class registers kv_b_proj and the indexer before
    everything else. ROCm, and CUDA up to 0.20.2 at least, keep the first order and register the
    indexer last.
    """
    name = _STORED
    heads = attention.heads
    kv_a = attention.rank + attention.rope_width
    query = heads * (attention.nope_width + attention.rope_width)

    def kv_b() -> None:
        rows = heads * (attention.nope_width + attention.value_width)
        layer.linear(f"{name}.kv_b_proj", [Part(f"{name}.kv_b_proj", rows)], attention.rank)

    if attention.indexer is not None:
        kv_b()
        if full_indexer:
            indexer(layer, attention.indexer, hidden, attention.query_rank or hidden)
    if attention.query_rank is None:
        stored = f"{name}.kv_a_proj_with_mqa"
        layer.linear(stored, [Part(stored, kv_a)], hidden)
        layer.linear(f"{name}.q_proj", [Part(f"{name}.q_proj", query)], hidden)
    else:
        layer.linear(
            f"{name}.fused_qkv_a_proj",
            [
                Part(f"{name}.q_a_proj", attention.query_rank),
                Part(f"{name}.kv_a_proj_with_mqa", kv_a),
            ],
            hidden,
        )
        layer.norm(f"{name}.q_a_layernorm", attention.query_rank)
        layer.linear(f"{name}.q_b_proj", [Part(f"{name}.q_b_proj", query)], attention.query_rank)
    layer.norm(f"{name}.kv_a_layernorm", attention.rank)
    if attention.indexer is None:
        kv_b()
    output = heads * attention.value_width
    layer.linear(f"{name}.o_proj", [Part(f"{name}.o_proj", hidden)], output)


def indexer(layer: Layer, attention: Indexer, hidden: int, query_rank: int) -> None:
    """An indexer of a layer's own.

    An engine stacks wk and weights_proj as wk_weights_proj, in bf16 (deepseek_v2.py, Indexer). A
    checkpoint in FP8 keeps wk in FP8 and weights_proj in bf16, and a parameter of two formats has
    no size of its own; there they stay apart here, and each takes what it takes on disk.
    """
    name = f"{_STORED}.indexer"
    queries = Part(f"{name}.wq_b", attention.heads * attention.width)
    keys, weights = (
        Part(f"{name}.wk", attention.width),
        Part(f"{name}.weights_proj", attention.heads),
    )
    layer.linear(queries.module, [queries], query_rank)
    if layer.fp8_module(keys.module):
        layer.linear(keys.module, [keys], hidden)
        layer.linear(weights.module, [weights], hidden, quantized=False)
    else:
        layer.linear(f"{name}.wk_weights_proj", [keys, weights], hidden, quantized=False)
    layer.norm(f"{name}.k_norm", attention.width, biased=True)


def grouped_attention(layer: Layer, attention: GroupedAttention, model: Model) -> None:
    """Attention of heads in groups.

    Order: llama.py, qwen3_moe.py and glm4_moe.py of model_executor/models, whose norms of queries
    and keys come last; gpt_oss.py, whose sinks are a parameter of the attention itself and so come
    before those of its parts, and which calls it ``attn``.
    """
    name = "attn" if attention.sinks else _STORED
    if attention.sinks:
        layer.vector(f"{name}.sinks", attention.heads, f"{_STORED}.sinks")
    keys = attention.kv_heads * attention.width
    queries = attention.heads * attention.width
    layer.linear(
        f"{name}.qkv_proj",
        [
            Part(f"{_STORED}.q_proj", queries),
            Part(f"{_STORED}.k_proj", keys),
            Part(f"{_STORED}.v_proj", keys),
        ],
        model.hidden,
        biased=attention.biased,
    )
    output = [Part(f"{_STORED}.o_proj", model.hidden)]
    layer.linear(f"{name}.o_proj", output, queries, biased=attention.output_biased)
    if attention.normed:
        layer.norm(f"{name}.q_norm", attention.width)
        layer.norm(f"{name}.k_norm", attention.width)
