"""Models from the fields of their configurations: one reader for each class that is known.

A class is known by its name in ``architectures`` alone, and one that is not is never guessed from
a name like it: a class with one digit more may keep other caches (DeepseekV32ForCausalLM has an
index that DeepseekV3ForCausalLM has not).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ullage.importers.checkpoint import shortened
from ullage.importers.fields import Fields
from ullage.importers.jsontext import kind_of
from ullage.importers.layouts.formats import MXFP4_BLOCK, Method, Unknown
from ullage.importers.layouts.model import (
    Experts,
    GroupedAttention,
    Indexer,
    LatentAttention,
    Model,
)
from ullage.importers.quantization import read_quantization

MOST_LAYERS = 1000
"""Most layers that a model is read with: each is looked at by itself. Known ones have 126."""

_ATTENTION: Mapping[str, bool] = MappingProxyType(
    {"full_attention": False, "sliding_attention": True}
)
_INDEXERS: Mapping[str, bool] = MappingProxyType({"full": True, "shared": False})


def layers_of(fields: Fields) -> int:
    """The number of decoder layers."""
    return fields.count("num_hidden_layers", most=MOST_LAYERS)


def hidden_of(fields: Fields) -> int:
    """The width of the residual stream."""
    return fields.count("hidden_size")


def read_model(class_name: str, fields: Fields) -> Model | None:
    """The model of a class; None where the class is not known. What is at fault is a finding.

    A sliding window on layers that are not told leaves ``windowed`` None.
    """
    reader = READERS.get(class_name)
    return None if reader is None else reader(class_name, fields)


def _deepseek(class_name: str, fields: Fields) -> Model:
    """DeepseekV3ForCausalLM, DeepseekV32ForCausalLM and GlmMoeDsaForCausalLM."""
    layers, hidden = layers_of(fields), hidden_of(fields)
    speculative = fields.count("num_nextn_predict_layers", absent=0, least=0, most=MOST_LAYERS)
    indexed = class_name != "DeepseekV3ForCausalLM"
    index = fields.find("index_topk")
    if index is not None and not indexed:
        fields.contradict(
            f"field `index_topk` is {kind_of(index)}, and `{class_name}` has no index",
            index,
            fields.find("architectures"),
            "names the class",
        )
    if not fields.has("q_lora_rank"):
        fields.missing("q_lora_rank")
    query_rank = fields.count("q_lora_rank") if indexed else fields.optional_count("q_lora_rank")
    nope, rope = fields.count("qk_nope_head_dim"), fields.count("qk_rope_head_dim")
    attention = LatentAttention(
        heads=_heads(fields, follows=True)[0],
        query_rank=query_rank,
        rank=fields.count("kv_lora_rank"),
        nope_width=nope,
        rope_width=rope,
        value_width=fields.count("v_head_dim"),
        indexer=_indexer(fields, layers) if indexed else None,
    )
    both = fields.find("qk_head_dim")
    if both is not None and not fields.errors and fields.count("qk_head_dim") != nope + rope:
        fields.contradict(
            f"field `qk_head_dim` is {kind_of(both)}, where its two parts add up to {nope + rope}",
            both,
            fields.find("qk_nope_head_dim"),
            "is the first part",
        )
    return Model(
        class_name,
        layers,
        hidden,
        fields.count("vocab_size"),
        attention,
        fields.count("intermediate_size"),
        read_quantization(fields),
        _shared_experts(
            fields,
            layers,
            speculative,
            # The condition of deepseek_v2.py, DeepseekV2MoE, in vLLM 0.29.0.
            corrected=fields.word("topk_method") == "noaux_tc",
            step=fields.count("moe_layer_freq", absent=1),
        ),
        speculative=speculative,
        # GLM's releases share embedding and head: 791 tensors of the block (antirez/ds4 458).
        # DeepSeek's have their own, which their published size counts.
        own_embedding=class_name != "GlmMoeDsaForCausalLM",
        tied=_tied(fields),
        no_layout=_unusual(fields, "attention_bias", {False}),
    )


def _glm4(class_name: str, fields: Fields) -> Model:
    """Glm4MoeForCausalLM. Its router always has a bias for balance (vLLM 0.29.0, glm4_moe.py)."""
    layers, hidden = layers_of(fields), hidden_of(fields)
    speculative = fields.count("num_nextn_predict_layers", absent=0, least=0, most=MOST_LAYERS)
    attention = _grouped(
        fields,
        layers,
        hidden,
        biased=fields.flag("attention_bias", absent=False),
        normed=fields.flag("use_qk_norm", absent=False),
    )
    return Model(
        class_name,
        layers,
        hidden,
        fields.count("vocab_size"),
        attention,
        fields.count("intermediate_size"),
        read_quantization(fields),
        _shared_experts(fields, layers, speculative, corrected=True),
        speculative=speculative,
        # 110e9 parameters on the Hub are those of the model and of a block with tables of its own.
        own_embedding=True,
        tied=_tied(fields),
    )


def _qwen3(class_name: str, fields: Fields) -> Model:
    """Qwen3MoeForCausalLM."""
    layers, hidden = layers_of(fields), hidden_of(fields)
    biased = fields.flag("attention_bias", absent=False)
    attention = _grouped(fields, layers, hidden, biased=biased, normed=True, width_follows=True)
    step = fields.count("decoder_sparse_step", absent=1)
    dense = set(fields.counts("mlp_only_layers") or ())
    node = fields.find("mlp_only_layers")
    if node is not None and dense and max(dense) >= layers and not fields.errors:
        fields.contradict(
            f"field `mlp_only_layers` names layer {max(dense)} of {layers}",
            node,
            fields.find("num_hidden_layers"),
            "is the number of layers",
        )
    experts = Experts(
        fields.count("num_experts"),
        fields.count("moe_intermediate_size"),
        0,
        tuple(n not in dense and (n + 1) % step == 0 for n in range(layers)),
    )
    return Model(
        class_name,
        layers,
        hidden,
        fields.count("vocab_size"),
        attention,
        fields.count("intermediate_size"),
        read_quantization(fields),
        experts,
        tied=_tied(fields),
        no_layout=_unusual(fields, "shared_expert_intermediate_size", {0})
        # vLLM gives the output projection no bias, whatever this says.
        or _unusual(fields, "attention_bias", {False}),
    )


def _gpt_oss(class_name: str, fields: Fields) -> Model:
    """GptOssForCausalLM."""
    layers, hidden = layers_of(fields), hidden_of(fields)
    if fields.find("layer_types") is None:
        fields.missing("layer_types")
    attention = _grouped(fields, layers, hidden, biased=True, output_biased=True, sinks=True)
    width = fields.count("intermediate_size")
    experts = Experts(fields.count("num_local_experts"), width, 0, (True,) * layers, packed=True)
    quantization = read_quantization(fields, packed=True)
    for name, size in (("hidden_size", hidden), ("intermediate_size", width)):
        node = fields.find(name)
        blocks = quantization.method is Method.MXFP4 and not fields.errors
        if blocks and node is not None and size % MXFP4_BLOCK:
            fields.contradict(
                f"field `{name}` is {kind_of(node)}, no multiple of the {MXFP4_BLOCK} values of a "
                "block of `mxfp4`",
                node,
                fields.find("quantization_config"),
                "asks for blocks",
            )
    return Model(
        class_name,
        layers,
        hidden,
        fields.count("vocab_size"),
        attention,
        width,
        quantization,
        experts,
        tied=_tied(fields),
        no_layout=_unusual(fields, "attention_bias", {True}),
    )


def _llama(class_name: str, fields: Fields) -> Model:
    """LlamaForCausalLM."""
    layers, hidden = layers_of(fields), hidden_of(fields)
    biased = fields.flag("attention_bias", absent=False)
    return Model(
        class_name,
        layers,
        hidden,
        fields.count("vocab_size"),
        _grouped(
            fields,
            layers,
            hidden,
            biased=biased,
            output_biased=biased,
            heads_follow=True,
            width_follows=True,
        ),
        fields.count("intermediate_size"),
        read_quantization(fields),
        dense_biased=fields.flag("mlp_bias", absent=False),
        tied=_tied(fields),
    )


READERS: Mapping[str, Callable[[str, Fields], Model]] = MappingProxyType(
    {
        "DeepseekV3ForCausalLM": _deepseek,
        "DeepseekV32ForCausalLM": _deepseek,
        "GlmMoeDsaForCausalLM": _deepseek,
        "Glm4MoeForCausalLM": _glm4,
        "GptOssForCausalLM": _gpt_oss,
        "LlamaForCausalLM": _llama,
        "Qwen3MoeForCausalLM": _qwen3,
    }
)
"""The reader of each class that is known, by its name."""


def _heads(fields: Fields, *, follows: bool) -> tuple[int, int]:
    """Heads of queries, and of keys and values.

    Where ``follows`` there are as many of both if it is not told; else it must be told.
    """
    heads = fields.count("num_attention_heads")
    kv_heads = fields.count("num_key_value_heads", absent=heads if follows else None)
    node = fields.find("num_key_value_heads")
    if node is not None and heads % kv_heads and not fields.errors:
        fields.contradict(
            f"{kv_heads} heads of keys do not divide {heads} heads of queries",
            node,
            fields.find("num_attention_heads"),
            "is the number of heads",
        )
    return heads, kv_heads


def _grouped(
    fields: Fields,
    layers: int,
    hidden: int,
    *,
    biased: bool = False,
    output_biased: bool = False,
    normed: bool = False,
    sinks: bool = False,
    heads_follow: bool = False,
    width_follows: bool = False,
) -> GroupedAttention:
    """Attention of heads in groups.

    Where ``heads_follow`` and ``width_follows`` the number of heads of keys and the width of a head
    follow from other fields if they are absent, as in the class of transformers and in vLLM. Other
    classes have defaults of their own, which are not supposed.
    """
    heads, kv_heads = _heads(fields, follows=heads_follow)
    width = fields.optional_count("head_dim")
    if width is None and not width_follows:
        fields.missing("head_dim")
    node = fields.find("hidden_size")
    if width is None and node is not None and hidden % heads and not fields.errors:
        fields.contradict(
            f"field `head_dim` is missing, and {heads} heads do not divide {hidden}",
            node,
            fields.find("num_attention_heads"),
            "is the number of heads",
            "copy `head_dim` from the model's own configuration",
        )
    windowed, window = _windows(fields, layers)
    return GroupedAttention(
        heads,
        kv_heads,
        width or hidden // heads,
        biased,
        output_biased,
        normed,
        sinks,
        windowed,
        window,
    )


def _windows(fields: Fields, layers: int) -> tuple[tuple[bool, ...] | None, int | None]:
    """Which layers have a window, and its tokens."""
    types = fields.words("layer_types")
    if types is None:
        off = not fields.flag("use_sliding_window", absent=True)
        return (() if off or fields.find("sliding_window") is None else None), None
    _same_length(fields, "layer_types", len(types), layers)
    if not set(types) <= _ATTENTION.keys():
        return None, None
    windowed = tuple(_ATTENTION[t] for t in types)
    return windowed, fields.count("sliding_window") if any(windowed) else None


def _indexer(fields: Fields, layers: int) -> Indexer:
    return Indexer(
        fields.count("index_n_heads"),
        fields.count("index_head_dim"),
        fields.count("index_topk"),
        _full_indexers(fields, layers),
    )


def _full_indexers(fields: Fields, layers: int) -> tuple[bool, ...]:
    """Which decoder layers have an index of their own.

    ``indexer_types`` is what a checkpoint is made by; where it is there, a schedule beside it must
    say the same. Without it the schedule decides (vLLM 0.29.0, deepseek_v2.py), whose offset is
    never supposed: engines and checkpoints have different ones.
    """
    told = fields.one_of("indexer_types", _INDEXERS)
    if told is not None:
        _same_length(fields, "indexer_types", len(told), layers)
    scheduled = _schedule(fields, layers, told is not None)
    node = fields.find("indexer_types")
    if told is None or node is None:
        return scheduled or (True,) * layers
    if scheduled is not None and scheduled != told and not fields.errors:
        first = next(
            n for n, pair in enumerate(zip(told, scheduled, strict=True)) if len({*pair}) > 1
        )
        fields.contradict(
            f"`indexer_types` and the schedule beside it differ on layer {first}",
            node,
            fields.find("index_topk_pattern") or fields.find("index_topk_freq"),
            "is the schedule",
        )
    return told


def _schedule(fields: Fields, layers: int, told: bool) -> tuple[bool, ...] | None:
    """What the fields of a schedule say; None where there are none, or too few beside a list."""
    pattern = fields.word("index_topk_pattern")
    if pattern is not None:
        _same_length(fields, "index_topk_pattern", len(pattern), layers)
        return tuple(letter != "S" for letter in pattern)
    every = fields.count("index_topk_freq", absent=1)
    if every == 1:
        return None
    if fields.find("index_skip_topk_offset") is None:
        if not told:
            fields.missing("index_skip_topk_offset", ", without which nobody knows the schedule")
        return None
    offset = fields.count("index_skip_topk_offset", least=0)
    return tuple(max(n - offset + 1, 0) % every == 0 for n in range(layers))


def _shared_experts(
    fields: Fields, layers: int, speculative: int, *, corrected: bool, step: int = 1
) -> Experts:
    """Routed experts from some layer on, and shared experts of as many times their width."""
    width = fields.count("moe_intermediate_size")
    if not fields.has("n_shared_experts"):
        fields.missing("n_shared_experts")
    dense = fields.count("first_k_dense_replace", least=0)
    node = fields.find("first_k_dense_replace")
    if node is not None and dense > layers and not fields.errors:
        fields.contradict(
            f"{dense} dense layers are more than all {layers}",
            node,
            fields.find("num_hidden_layers"),
            "is the number of layers",
        )
    return Experts(
        fields.count("n_routed_experts"),
        width,
        width * fields.count("n_shared_experts", absent=0, least=0),
        tuple(n >= dense and n % step == 0 for n in range(layers + speculative)),
        corrected,
    )


def _same_length(fields: Fields, name: str, length: int, layers: int) -> None:
    node = fields.find(name)
    if node is not None and length != layers and not fields.errors:
        fields.contradict(
            f"field `{name}` tells of {length} layers, and there are {layers}",
            node,
            fields.find("num_hidden_layers"),
            "is the number of layers",
        )


def _tied(fields: Fields) -> bool | None:
    if fields.find("tie_word_embeddings") is None:
        return None
    return fields.flag("tie_word_embeddings", absent=False)


def _unusual(fields: Fields, name: str, usual: set[bool | int]) -> Unknown | None:
    """A field with a value that the layout of its class is not made for; else None."""
    node = fields.find(name)
    if node is None:
        return None
    boolean = isinstance(next(iter(usual)), bool)
    value = fields.flag(name, absent=False) if boolean else fields.count(name, least=0)
    return None if value in usual else Unknown(name, f"field `{name}` is {kind_of(node)}")


def class_of(fields: Fields) -> str:
    """The class that ``architectures`` names; "" where it names none.

    That of the whole configuration counts, and only where it has none that of its text part.
    """
    node = fields.root.get("architectures") or fields.inner.get("architectures")
    if node is None or node.value is None:
        return ""
    if not isinstance(node.value, tuple):
        fields.report(
            "not-a-list",
            f"field `architectures` is {kind_of(node)}, not a list",
            node,
            'write `["Class"]`',
        )
        return ""
    names = {fields.text(n, "an element of `architectures`") or "" for n in node.value}
    if len(names) > 1:
        shown = ", ".join(shortened(n) for n in sorted(names)[:3])
        fields.contradict(
            f"field `architectures` names {len(names)} classes, such as {shown}",
            node,
            help="keep the one that the model is",
        )
    return min(names, default="")
