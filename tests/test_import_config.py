"""Configurations of models as rows: exact sizes, the order of parameters, and every refusal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from parameter_facts import CONFIGS, SHIPPED, Shipped

from ullage.findings import Finding, PolicyError, Severity
from ullage.importers.classes import READERS
from ullage.importers.config import (
    parameter_rows,
    read_config,
    rows_of_config,
    weights_of,
)
from ullage.importers.jsontext import MOST_BYTES, MOST_FINDINGS, parse_json
from ullage.importers.layouts import (
    Model,
    Parameter,
    fused,
    kv_components,
    layer_parameters,
    outer_parameters,
    parameters,
    position_order,
)
from ullage.importers.layouts.formats import ELEMENT_BYTES, Kept, Method, Quantization
from ullage.importers.layouts.parameter import Layer, Part
from ullage.importers.rows import ImportedRow

ROOT = Path(__file__).resolve().parents[1]
ALL = sorted(p.stem for p in CONFIGS.glob("*.json"))

Json = dict[str, Any]
Change = Callable[[Json], object]


def config(name: str) -> Json:
    """A configuration of the catalog's models."""
    found: Json = json.loads((CONFIGS / f"{name}.json").read_text("utf-8"))
    return found


def model(name: str, folder: Path | None = None, **changes: Any) -> Model:
    """The model of a configuration; a field of ``changes`` that is None is taken away."""
    if not changes:
        found = read_config(CONFIGS / f"{name}.json").model
    else:
        assert folder is not None
        fields = {k: v for k, v in (config(name) | changes).items() if v is not None}
        found = read_config(written(folder, fields)).model
    assert found is not None
    return found


def written(folder: Path, content: Any) -> Path:
    """A configuration file of this content, or of this text."""
    path = folder / "config.json"
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path, artifact: str | None = "a") -> Sequence[Finding]:
    """Why no rows come of a file."""
    with pytest.raises(PolicyError) as caught:
        rows_of_config(path, "shape", artifact, "a test")
    return caught.value.findings


def size(found: Iterable[Parameter]) -> int:
    """Bytes of parameters."""
    return sum(p.bytes for p in found)


def layer_bytes(found: Model, number: int) -> int:
    """Bytes of one layer."""
    return size(layer_parameters(found, number))


def main_bytes(found: Model) -> int:
    """Bytes of a model without its blocks for speculation."""
    return size(outer_parameters(found)) + sum(layer_bytes(found, n) for n in range(found.layers))


def speculative_bytes(found: Model) -> int:
    """Bytes of the blocks for speculation."""
    return sum(layer_bytes(found, found.layers + n) for n in range(found.speculative))


def part(found: Model, *segments: str, without: str = "") -> int:
    """Bytes of the parameters of decoder layers with one of these segments in their names."""
    return sum(
        p.bytes
        for n in range(found.layers)
        for p in layer_parameters(found, n)
        if set(segments) & set(p.name.split(".")) and without not in (p.name.split("."))
    )


def kv_bytes(found: Model, tokens: int, value_bytes: Fraction = Fraction(2)) -> Fraction:
    """Bytes of the caches of one sequence, indexes on the layers that must have them."""
    return sum(
        (
            c.layers * c.values_per_token * min(tokens, c.window or tokens) * value_bytes
            for c in kv_components(found)
        ),
        Fraction(0),
    )


# Figures of material/models.yaml, which counts what transformers' own classes make.


@pytest.fixture
def bf16(tmp_path: Path) -> Callable[[str], Model]:
    """A model of the catalog as if nothing of it were quantized: two bytes a parameter."""
    return lambda name: model(name, tmp_path, quantization_config=None, torch_dtype="bfloat16")


COUNTS = {
    "glm-5": (743_911_199_232, 9_952_920_320),
    "glm-5.2-fp8": (743_377_000_704, 9_952_920_320),
    "deepseek-v3-fp8": (671_026_404_352, None),
    "deepseek-v3.2-fp8": (671_877_929_216, None),
    "qwen3-235b-a22b-fp8": (235_093_634_560, 0),
    "gpt-oss-120b": (116_829_156_672, 0),
    "llama-3.3-70b-bf16": (70_553_706_496, 0),
}
"""Parameters without and in the blocks for speculation; None where no source tells."""


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_are_counted_to_the_last(name: str, bf16: Callable[[str], Model]) -> None:
    main, block = COUNTS[name]
    found = bf16(name)
    assert main_bytes(found) == 2 * main
    if block is not None:
        assert speculative_bytes(found) == 2 * block


def test_the_router_of_glm_4_5_has_a_bias_that_the_count_leaves_out() -> None:
    found = model("glm-4.5-air-bf16")
    # A buffer in transformers, a parameter in vLLM: 128 values in f32 a layer with experts.
    bias = 128 * 4
    assert main_bytes(found) == 2 * 106_852_245_504 + 45 * bias
    assert speculative_bytes(found) == 2 * 3_616_573_440 + bias
    own = 2 * 151_552 * 4096 * 2
    assert speculative_bytes(found) - own - bias == 2 * 2_375_059_456
    assert layer_bytes(found, 0) == 2 * 243_554_304
    assert layer_bytes(found, 1) == layer_bytes(found, 45) == 2 * 2_341_492_736 + bias
    assert weights_of(read_config(CONFIGS / "glm-4.5-air-bf16.json")).bytes == (
        220_937_637_888 + 46 * bias
    )


LAYERS = {
    "glm-5": {0: 400_898_816, 2: 400_898_816, 3: 9_877_404_416, 77: 9_877_404_416},
    "glm-5.2-fp8": {0: 400_898_816, 3: 9_868_032_512, 6: 9_877_404_416, 77: 9_868_032_512},
    "deepseek-v3-fp8": {0: 583_483_392, 3: 11_507_286_016},
    "deepseek-v3.2-fp8": {0: 597_442_816, 3: 11_521_245_440},
    "qwen3-235b-a22b-fp8": {0: 2_487_755_008, 93: 2_487_755_008},
    "gpt-oss-120b": {0: 3_213_080_192, 35: 3_213_080_192},
    "llama-3.3-70b-bf16": {0: 855_654_400, 79: 855_654_400},
}
"""Parameters of single layers."""


@pytest.mark.parametrize("name", LAYERS)
def test_parameters_of_a_layer(name: str, bf16: Callable[[str], Model]) -> None:
    found = bf16(name)
    assert {n: layer_bytes(found, n) for n in LAYERS[name]} == {
        n: 2 * count for n, count in LAYERS[name].items()
    }


def test_parts_of_glm_5(bf16: Callable[[str], Model]) -> None:
    for name, indexers in (("glm-5", 731_008_512), ("glm-5.2-fp8", 196_809_984)):
        found = bf16(name)
        assert part(found, "experts") == 2 * 724_775_731_200
        assert part(found, "shared_experts") == 2 * 2_831_155_200
        assert part(found, "indexer") == 2 * indexers
        assert part(found, "self_attn", without="indexer") == 2 * 12_871_732_224
        rest = ("gate_up_proj", "down_proj", "gate", "input_layernorm", "post_attention_layernorm")
        assert part(found, *rest, without="shared_experts") == 2 * 798_400_512
        table, norm, head = outer_parameters(found)
        assert (table.bytes, head.bytes, norm.bytes) == (1_903_165_440, 1_903_165_440, 2 * 6144)
    assert part(bf16("deepseek-v3.2-fp8"), "indexer") == 2 * 851_524_864
    # One indexer, as GLM-5.2 has it.
    assert part(bf16("glm-5"), "indexer") == 78 * 2 * 9_371_904


def test_parts_of_others(bf16: Callable[[str], Model]) -> None:
    assert part(bf16("qwen3-235b-a22b-fp8"), "experts") == 2 * 227_096_395_776
    found = bf16("gpt-oss-120b")
    weights = sum(p.bytes for p in layer_parameters(found, 0) if p.name.endswith("_weight"))
    biases = sum(
        p.bytes for p in layer_parameters(found, 0) if p.name.endswith(("13_bias", "2_bias"))
    )
    assert (36 * weights, 36 * biases) == (2 * 114_661_785_600, 2 * 39_813_120)
    table, _, head = outer_parameters(bf16("llama-3.3-70b-bf16"))
    assert table.bytes == head.bytes == 2 * 1_050_673_152


BYTES = {
    "glm-5.2-fp8": (745_584_430_656, 10_032_631_936),
    "deepseek-v3-fp8": (673_150_552_416, 15_424_226_528),
    "deepseek-v3.2-fp8": (674_030_277_824, 15_438_648_256),
    "qwen3-235b-a22b-fp8": (236_445_455_360, 0),
    "gpt-oss-120b": (65_248_815_744, 0),
    "llama-3.3-70b-bf16": (141_107_412_992, 0),
    "glm-5": (1_487_822_398_464, 2 * 9_952_920_320),
    "glm-5.2-bf16": (1_506_659_842_048 - 2 * 9_952_920_320, 2 * 9_952_920_320),
}
"""Bytes of the checkpoint without and in the blocks for speculation."""


@pytest.mark.parametrize("name", BYTES)
def test_bytes_are_exact(name: str) -> None:
    found = model(name)
    assert (main_bytes(found), speculative_bytes(found)) == BYTES[name]


def test_bytes_of_glm_5_in_fp8(tmp_path: Path) -> None:
    fp8 = config("glm-5.2-fp8")["quantization_config"]
    found = model("glm-5", tmp_path, quantization_config=fp8)
    assert main_bytes(found) == 746_129_978_112
    assert speculative_bytes(found) == 10_032_631_936


def test_bytes_of_a_layer() -> None:
    glm = model("glm-5.2-fp8")
    assert [layer_bytes(glm, n) for n in (0, 3, 6)] == [401_208_448, 9_872_029_120, 9_881_600_128]
    # The first of two stages: Mesh-LLM/mesh-llm 994.
    assert sum(layer_bytes(glm, n) for n in range(10)) == 70_317_400_192
    deepseek = model("deepseek-v3-fp8")
    assert layer_bytes(deepseek, 60) == 11_511_946_464
    # The last of 16 stages, with the head: vllm-project/vllm 14120.
    head = outer_parameters(deepseek)[2].bytes
    assert sum(layer_bytes(deepseek, n) for n in range(57, 61)) + head == 47_901_143_936
    assert layer_bytes(model("qwen3-235b-a22b-fp8"), 50) == 2_488_894_976


def test_experts_of_gpt_oss_take_seventeen_bytes_for_thirty_two_values() -> None:
    found = model("gpt-oss-120b")
    packed = [p for p in layer_parameters(found, 7) if p.dtype == "U8"]
    # One layer of experts: vllm-project/vllm 47851.
    assert size(packed) == 1_692_057_600
    assert 36 * size(packed) == 60_914_073_600
    assert main_bytes(found) - 36 * size(packed) == 4_334_742_144
    assert {p.name: p.shape for p in packed} == {
        "mlp.experts.w13_weight": (128, 5760, 1440),
        "mlp.experts.w13_weight_scale": (128, 5760, 90),
        "mlp.experts.w2_weight": (128, 2880, 1440),
        "mlp.experts.w2_weight_scale": (128, 2880, 90),
    }


def test_a_short_block_has_a_scale_all_the_same() -> None:
    layer = Layer(Quantization("BF16", Method.FP8, (128, 128)), 0)
    layer.linear("kv_a", [Part("kv_a", 576)], 2048)
    weight, scales = layer.parameters
    assert (weight.bytes, scales.shape, scales.bytes) == (1_179_648, (5, 16), 320)


def test_an_embedding_is_never_quantized(tmp_path: Path) -> None:
    changes = {"hidden_size": 4096, "num_attention_heads": 32, "quantization_config": FP8}
    found = model("llama-3.3-70b-bf16", tmp_path, **changes)
    assert outer_parameters(found)[0].bytes == 1_050_673_152
    tied = model("llama-3.3-70b-bf16", tmp_path, **changes, tie_word_embeddings=True)
    assert [p.name for p in outer_parameters(tied)] == [
        "model.embed_tokens.weight",
        "model.norm.weight",
    ]


# The same sizes, counted here by hand.


def test_glm_5_2_counted_by_hand() -> None:
    def fp8(rows: int, columns: int) -> int:
        return rows * columns + 4 * -(-rows // 128) * -(-columns // 128)

    attention = (
        fp8(2048, 6144)  # q_a_proj
        + 2 * 2048  # q_a_layernorm
        + fp8(64 * (192 + 64), 2048)  # q_b_proj
        + fp8(512 + 64, 6144)  # kv_a_proj_with_mqa
        + 2 * 512  # kv_a_layernorm
        + fp8(64 * (192 + 256), 512)  # kv_b_proj
        + fp8(6144, 64 * 256)  # o_proj
    )
    indexer = fp8(32 * 128, 2048) + fp8(128, 6144) + 2 * 32 * 6144 + 2 * 2 * 128
    norms = 2 * 2 * 6144
    dense = 2 * fp8(12288, 6144) + fp8(6144, 12288)
    expert = 2 * fp8(2048, 6144) + fp8(6144, 2048)
    sparse = 2 * 256 * 6144 + 257 * expert
    main = (
        78 * (attention + norms) + 21 * indexer + 3 * dense + 75 * sparse
        + 2 * 2 * 154_880 * 6144 + 2 * 6144
    )  # fmt: skip
    block = attention + norms + indexer + sparse + 2 * 6144 * 12_288 + 3 * 2 * 6144
    assert main == 745_584_430_656
    assert block == 10_032_631_936
    found = read_config(CONFIGS / "glm-5.2-fp8.json")
    assert weights_of(found).bytes == main + block


def test_qwen3_counted_by_hand() -> None:
    def fp8(rows: int, columns: int) -> int:
        return rows * columns + 4 * -(-rows // 128) * -(-columns // 128)

    attention = fp8(64 * 128, 4096) + 2 * fp8(4 * 128, 4096) + fp8(4096, 64 * 128) + 2 * 2 * 128
    experts = 128 * (2 * fp8(1536, 4096) + fp8(4096, 1536)) + 2 * 128 * 4096
    layer = attention + experts + 2 * 2 * 4096
    assert weights_of(read_config(CONFIGS / "qwen3-235b-a22b-fp8.json")).bytes == (
        94 * layer + 2 * 2 * 151_936 * 4096 + 2 * 4096
    )


def test_gpt_oss_counted_by_hand() -> None:
    attention = 2 * (
        (4096 + 2 * 512) * 2880 + 4096 + 2 * 512  # queries, keys and values, with biases
        + 2880 * 4096 + 2880  # the output
        + 64  # sinks
    )  # fmt: skip
    values = 128 * (5760 * 2880 + 2880 * 2880)
    experts = values // 2 + values // 32 + 2 * 128 * (5760 + 2880)
    router = 2 * (128 * 2880 + 128)
    layer = attention + experts + router + 2 * 2 * 2880
    assert weights_of(read_config(CONFIGS / "gpt-oss-120b.json")).bytes == (
        36 * layer + 2 * 2 * 201_088 * 2880 + 2 * 2880
    )


# Caches.


def test_caches_of_the_catalog() -> None:
    per_token = {n: kv_bytes(model(n), 1) for n in ALL}
    assert per_token["glm-5"] == 109_824
    assert per_token["glm-5.2-fp8"] == 95_232
    assert per_token["deepseek-v3-fp8"] == 70_272
    # One digit more in the name of the class, and an index more: llm-d-planner e50305af.
    assert per_token["deepseek-v3.2-fp8"] == 85_888
    assert per_token["glm-4.5-air-bf16"] == 188_416
    assert per_token["qwen3-235b-a22b-fp8"] == 192_512
    assert per_token["llama-3.3-70b-bf16"] == 327_680
    assert per_token["gpt-oss-120b"] == 73_728


def test_caches_of_whole_contexts() -> None:
    gpt_oss = model("gpt-oss-120b")
    assert kv_bytes(gpt_oss, 78_384) == 36_864 * 78_384 + 4_718_592 == 2_894_266_368
    deepseek = model("deepseek-v3-fp8")
    assert kv_bytes(deepseek, 65_536) == 4_605_345_792
    assert kv_bytes(deepseek, 163_840) == 11_513_364_480
    # GLM-5.2 at 16,384 tokens in Q8_0: docs of the law of caches.
    assert kv_bytes(model("glm-5.2-fp8"), 16_384, Fraction(34, 32)) == 828_899_328


def shipped_rows(table: str) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows of a table in facts/models by key, without sources, each value as text."""
    keys = {"architecture": 1, "artifact": 1, "kv_component": 2}[table]
    found = {}
    for path in sorted((ROOT / "facts" / "models").glob("*.yaml")):
        for row in yaml.load(path.read_text("utf-8"), yaml.BaseLoader).get(table, []):
            values = list(row.values())
            found[tuple(values[:keys])] = {k: v for k, v in row.items() if k != "source"}
    return found


def cells(row: ImportedRow) -> dict[str, Any]:
    """A row's columns without its source."""
    assert row.cells[-1][0] == "source"
    return dict(row.cells[:-1])


CATALOG = {
    "glm-5": "glm-5",
    "glm-5.2-fp8": "glm-5.2",
    "deepseek-v3-fp8": "deepseek-v3",
    "deepseek-v3.2-fp8": "deepseek-v3.2",
    "glm-4.5-air-bf16": "glm-4.5-air",
    "qwen3-235b-a22b-fp8": "qwen3-235b-a22b",
    "gpt-oss-120b": "gpt-oss-120b",
    "llama-3.3-70b-bf16": "llama-3.3-70b",
}
"""The name of each configuration's architecture in the catalog."""


@pytest.mark.parametrize("name", CATALOG)
def test_shape_and_caches_are_those_of_the_catalog(name: str) -> None:
    architecture = CATALOG[name]
    rows, findings = rows_of_config(CONFIGS / f"{name}.json", architecture, None, "a test")
    assert findings == ()
    assert {r.table for r in rows} == {"architecture", "kv_component"}
    described = [cells(r) for r in rows if r.table == "architecture"]
    assert described == [shipped_rows("architecture")[(architecture,)]]
    caches = [cells(r) for r in rows if r.table == "kv_component"]
    shipped = shipped_rows("kv_component")
    assert sorted(caches, key=str) == sorted(
        (r for key, r in shipped.items() if key[0] == architecture), key=str
    )


@pytest.mark.parametrize("name", sorted(set(ALL) - {"glm-4.5-air-bf16", "glm-5"}))
def test_size_of_an_artifact_is_that_of_the_catalog(name: str) -> None:
    rows, _ = rows_of_config(CONFIGS / f"{name}.json", "shape", name, "a test")
    (artifact,) = (cells(r) for r in rows if r.table == "artifact")
    assert artifact["total_bytes"] == shipped_rows("artifact")[(name,)]["total_bytes"]


# Rows.


def numbers(text: str) -> list[int]:
    """The numbers of a range, as the catalog reads it."""
    span, _, step = text.partition("/")
    first, _, last = span.partition("..")
    return list(range(int(first), int(last or first) + 1, int(step or 1)))


def expanded(rows: Iterable[Mapping[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Rows of parameters by layer."""
    layers: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        named = row["layer"]
        for text in [named] if isinstance(named, str) else named:
            for number in numbers(text):
                layers.setdefault(number, []).append(dict(row))
    return layers


@pytest.mark.parametrize("name", ALL)
def test_rows_tell_each_layer_in_order_without_a_gap(name: str) -> None:
    found = read_config(CONFIGS / f"{name}.json")
    assert found.model is not None
    rows = parameter_rows(weights_of(found), "a", "a test")
    layers = expanded(cells(r) for r in rows if r.table == "parameter")
    assert sorted(layers) == list(range(found.model.layers + found.model.speculative))
    for number, layer in layers.items():
        layer.sort(key=lambda r: int(r["position"]))
        assert [int(r["position"]) for r in layer] == list(range(len(layer)))
        made = layer_parameters(found.model, number)
        assert [r["name"] for r in layer] == [p.name for p in made]
        assert len({p.name for p in made}) == len(made)
        assert [r["bytes"] for r in layer] == [f"{p.bytes} B" for p in made]


@pytest.mark.parametrize("name", ALL)
def test_bytes_follow_from_shape_and_format(name: str) -> None:
    rows, _ = rows_of_config(CONFIGS / f"{name}.json", "shape", "a", ("one", "two"))
    total = 0
    for row in rows:
        assert row.cells[-1] == ("source", ("one", "two"))
        if row.table not in ("parameter", "outer_parameter"):
            continue
        columns = cells(row)
        elements = 1
        for length in columns["shape"].split("x"):
            elements *= int(length)
        bytes_ = int(columns["bytes"].removesuffix(" B"))
        assert bytes_ == elements * ELEMENT_BYTES[columns["dtype"]]
        total += (
            bytes_ * sum(len(layer) for layer in expanded([columns]).values())
            if (row.table == "parameter")
            else bytes_
        )
    (artifact,) = (cells(r) for r in rows if r.table == "artifact")
    assert artifact["total_bytes"] == f"{total} B"


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda s: s.artifact)
def test_shipped_parameters_are_as_the_importer_makes_them(shipped: Shipped) -> None:
    assert shipped.file.read_text("utf-8") == shipped.text, "run `python tests/parameter_facts.py`"


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda s: s.artifact)
def test_shipped_parameters_add_up_to_the_shipped_artifact(shipped: Shipped) -> None:
    tables = yaml.load(shipped.file.read_text("utf-8"), yaml.BaseLoader)
    rows = [r for layer in expanded(tables["parameter"]).values() for r in layer]
    total = sum(int(r["bytes"].removesuffix(" B")) for r in [*rows, *tables["outer_parameter"]])
    assert shipped_rows("artifact")[(shipped.artifact,)]["total_bytes"] == f"{total} B"


# Order, and the tensors that parameters are of.


def checkpoint_tensors(found: Model, number: int) -> list[str]:
    """The names of one layer's tensors, as a checkpoint has them."""
    names = []
    for parameter in layer_parameters(found, number):
        for tensor in parameter.tensors:
            experts = found.experts.count if found.experts and "*" in tensor else 1
            names += [
                f"model.layers.{number}.{tensor.replace('*', str(e))}" for e in range(experts)
            ]
    return names


@pytest.mark.parametrize("name", ALL)
def test_tensors_of_a_layer_are_fused_into_its_parameters(name: str) -> None:
    found = model(name)
    for number in {0, found.layers // 2, found.layers - 1, found.layers + found.speculative - 1}:
        tensors = checkpoint_tensors(found, number)
        shuffled = random.Random(number).sample(tensors, len(tensors))
        made = fused(found, number, shuffled)
        assert list(made) == [p.name for p in layer_parameters(found, number)]
        assert sorted(t for group in made.values() for t in group) == sorted(tensors)


def test_a_block_of_glm_5_2_has_the_tensors_that_were_counted() -> None:
    found = model("glm-5.2-fp8")
    tensors = [t for t in checkpoint_tensors(found, 78) if not t.endswith("weight_scale_inv")]
    # 791 with the router's bias for balance: antirez/ds4 458.
    assert len(tensors) == 791 - 1


def test_tensors_that_no_layout_has_are_kept() -> None:
    found = model("llama-3.3-70b-bf16")
    made = fused(
        found,
        3,
        [
            "model.layers.3.self_attn.v_proj.weight",
            "model.layers.3.self_attn.rotary_emb.inv_freq",
            "model.layers.3.self_attn.q_proj.weight",
            "model.layers.3.self_attn.q_proj.weight_scale",
        ],
    )
    assert made == {
        "self_attn.qkv_proj.weight": (
            "model.layers.3.self_attn.v_proj.weight",
            "model.layers.3.self_attn.q_proj.weight",
        ),
        "self_attn.qkv_proj.weight_scale": ("model.layers.3.self_attn.q_proj.weight_scale",),
        "self_attn.rotary_emb.inv_freq": ("model.layers.3.self_attn.rotary_emb.inv_freq",),
    }


def test_an_indexer_is_stacked_where_its_parts_are_of_one_format() -> None:
    found = model("glm-5.2-fp8")
    names = ["self_attn.indexer.weights_proj.weight", "self_attn.indexer.wk.weight"]
    assert list(fused(found, 0, names)) == ["self_attn.indexer.wk_weights_proj.weight"]
    scales = "self_attn.indexer.wk.weight_scale_inv"
    apart = fused(found, 0, [*names, scales])
    assert list(apart) == [names[1], scales, names[0]]


@pytest.mark.parametrize("name", ALL)
def test_order_holds_for_the_names_of_engine_and_checkpoint(name: str) -> None:
    found = model(name)
    for number in (0, found.layers - 1, found.layers + found.speculative - 1):
        speculative = number >= found.layers
        made = layer_parameters(found, number)
        names = [p.name for p in made]
        shuffled = random.Random(number).sample(names, len(names))
        assert position_order(found, shuffled, speculative=speculative) == names
        # As a reader of weight files has them: experts stacked, nothing else.
        stored = [t.replace(".*", "") for p in made for t in p.tensors]
        shuffled = random.Random(number).sample(stored, len(stored))
        assert position_order(found, shuffled, speculative=speculative) == stored


def test_order_of_what_is_not_known_is_that_of_the_alphabet() -> None:
    found = model("gpt-oss-120b")
    names = ["zeta", "attn.o_proj.bias", "alpha", "attn.o_proj.weight_scale", "attn.o_proj.weight"]
    assert position_order(found, names) == [
        "attn.o_proj.weight",
        "attn.o_proj.weight_scale",
        "attn.o_proj.bias",
        "alpha",
        "zeta",
    ]


def test_order_is_the_engines() -> None:
    def modules(found: Model, number: int) -> list[str]:
        return list(
            dict.fromkeys(p.name.rpartition(".")[0] for p in layer_parameters(found, number))
        )

    assert modules(model("deepseek-v3-fp8"), 3) == [
        "self_attn.fused_qkv_a_proj",
        "self_attn.q_a_layernorm",
        "self_attn.q_b_proj",
        "self_attn.kv_a_layernorm",
        "self_attn.kv_b_proj",
        "self_attn.o_proj",
        "mlp.gate",
        "mlp.shared_experts.gate_up_proj",
        "mlp.shared_experts.down_proj",
        "mlp.experts",
        "input_layernorm",
        "post_attention_layernorm",
    ]
    assert modules(model("glm-5"), 0) == [
        "self_attn.kv_b_proj",
        "self_attn.indexer.wq_b",
        "self_attn.indexer.wk_weights_proj",
        "self_attn.indexer.k_norm",
        "self_attn.fused_qkv_a_proj",
        "self_attn.q_a_layernorm",
        "self_attn.q_b_proj",
        "self_attn.kv_a_layernorm",
        "self_attn.o_proj",
        "mlp.gate_up_proj",
        "mlp.down_proj",
        "input_layernorm",
        "post_attention_layernorm",
    ]
    first = [p.name for p in layer_parameters(model("gpt-oss-120b"), 0)][:3]
    assert first == ["attn.sinks", "attn.qkv_proj.weight", "attn.qkv_proj.bias"]


# Variants of the classes.


FP8 = {
    "quant_method": "fp8",
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "weight_block_size": [128, 128],
}


def test_a_router_has_a_bias_for_balance_where_the_configuration_says_so(tmp_path: Path) -> None:
    plain = model("deepseek-v3-fp8")
    corrected = model("deepseek-v3-fp8", tmp_path, topk_method="noaux_tc")
    assert main_bytes(corrected) - main_bytes(plain) == 58 * 256 * 4
    assert speculative_bytes(corrected) - speculative_bytes(plain) == 256 * 4
    names = [p.name for p in layer_parameters(corrected, 3)]
    place = names.index("mlp.gate.e_score_correction_bias")
    assert names[place - 1] == "mlp.gate.weight"


def test_queries_without_a_rank_have_a_projection_of_their_own(tmp_path: Path) -> None:
    fields = config("deepseek-v3-fp8") | {"q_lora_rank": None}
    found = read_config(written(tmp_path, fields)).model
    assert found is not None
    names = {p.name: p.shape for p in layer_parameters(found, 0)}
    assert names["self_attn.q_proj.weight"] == (128 * 192, 7168)
    assert names["self_attn.kv_a_proj_with_mqa.weight"] == (576, 7168)
    assert "self_attn.fused_qkv_a_proj.weight" not in names


def test_layers_that_a_quantization_leaves_alone(tmp_path: Path) -> None:
    quantization = FP8 | {
        "modules_to_not_convert": ["model.layers.1.self_attn", "lm_head"],
        "ignored_layers": ["model.layers.2.mlp.experts.5.up_proj"],
    }
    fields = {"num_hidden_layers": 4, "quantization_config": quantization}
    found = model("qwen3-235b-a22b-fp8", tmp_path, **fields)

    def formats(number: int) -> dict[str, str]:
        return {p.name: p.dtype for p in layer_parameters(found, number)}

    assert formats(0)["self_attn.qkv_proj.weight"] == "F8_E4M3"
    assert formats(1)["self_attn.qkv_proj.weight"] == "BF16"
    assert "self_attn.qkv_proj.weight_scale_inv" not in formats(1)
    # One expert that is left alone stands for all, as the engine has it.
    assert formats(2)["mlp.experts.w13_weight"] == "BF16"


def test_what_engines_stack_is_quantized_as_a_whole(tmp_path: Path) -> None:
    for entry in ("model.layers.1.self_attn.k_proj", "down_proj"):
        quantization = FP8 | {"modules_to_not_convert": [entry]}
        path = written(
            tmp_path, config("qwen3-235b-a22b-fp8") | {"quantization_config": quantization}
        )
        (finding,) = refused(path)
        assert finding.code == "contradictory-config"
        assert ("qkv_proj" if "k_proj" in entry else "experts") in finding.message


def test_modules_left_alone_are_named_by_whole_segments() -> None:
    kept = Kept.of(["model.layers.3.mlp.gate", "model.layers.*.self_attn.o_proj", "lm_head"])
    assert kept.holds(3, "mlp.gate")
    assert not kept.holds(4, "mlp.gate")
    assert not kept.holds(3, "mlp.gate_proj")
    assert kept.holds(9, "self_attn.o_proj")
    assert kept.holds(0, "lm_head")


def test_dense_layers_of_a_model_with_experts(tmp_path: Path) -> None:
    fields = {"num_hidden_layers": 6, "decoder_sparse_step": 2, "mlp_only_layers": [3]}
    found = model("qwen3-235b-a22b-fp8", tmp_path, **fields)
    assert found.sparse == (False, True, False, False, False, True)


def test_windows_are_told_by_layer(tmp_path: Path) -> None:
    types = ["sliding_attention", "full_attention", "sliding_attention"]
    fields = {"num_hidden_layers": 3, "layer_types": types, "sliding_window": 64}
    found = model("llama-3.3-70b-bf16", tmp_path, **fields)
    assert [(c.kind, c.layers, c.window) for c in kv_components(found)] == [
        ("attention", 1, None),
        ("window", 2, 64),
    ]
    all_windows = model("llama-3.3-70b-bf16", tmp_path, **(fields | {"layer_types": types[:1] * 3}))
    assert [c.kind for c in kv_components(all_windows)] == ["window"]


@pytest.mark.parametrize(
    "changes",
    [
        {"sliding_window": 4096},
        {"sliding_window": 4096, "use_sliding_window": True},
        {"layer_types": ["linear_attention"] * 80},
    ],
)
def test_a_window_on_layers_that_are_not_told_has_no_rule(tmp_path: Path, changes: Json) -> None:
    path = written(tmp_path, config("llama-3.3-70b-bf16") | changes)
    rows, findings = rows_of_config(path, "shape", "a", "a test")
    assert [(f.code, f.severity) for f in findings] == [("no-kv-rule", Severity.WARNING)]
    assert "kv_component" not in {r.table for r in rows}
    assert "parameter" in {r.table for r in rows}


def test_a_window_that_is_turned_off_is_none(tmp_path: Path) -> None:
    changes = {"sliding_window": 4096, "use_sliding_window": False}
    found = model("llama-3.3-70b-bf16", tmp_path, **changes)
    assert [c.kind for c in kv_components(found)] == ["attention"]


# Schedules of indexers.


def full_layers(found: Model) -> list[int]:
    """The layers with an index of their own."""
    names = "self_attn.indexer.wq_b.weight"
    return [n for n in range(found.layers) if names in {p.name for p in layer_parameters(found, n)}]


def test_indexers_are_where_the_list_or_the_schedule_has_them(tmp_path: Path) -> None:
    expected = [0, 1, 2, *range(6, 75, 4)]
    assert len(expected) == 21
    assert full_layers(model("glm-5.2-fp8")) == expected
    assert full_layers(model("glm-5.2-fp8", tmp_path, indexer_types=None)) == expected
    assert full_layers(model("glm-5")) == list(range(78))
    pattern = "".join("F" if n in expected else "S" for n in range(78))
    assert full_layers(model("glm-5", tmp_path, index_topk_pattern=pattern)) == expected


def test_the_offset_of_a_schedule_is_never_supposed(tmp_path: Path) -> None:
    fields = config("glm-5.2-fp8")
    del fields["index_skip_topk_offset"]
    # The list alone is enough.
    rows_of_config(written(tmp_path, fields), "shape", None, "a test")
    del fields["indexer_types"]
    (finding,) = refused(written(tmp_path, fields), None)
    assert finding.code == "missing-field"
    assert "index_skip_topk_offset" in finding.message


def test_a_list_and_a_schedule_that_differ_are_a_contradiction(tmp_path: Path) -> None:
    fields = config("glm-5.2-fp8") | {"index_skip_topk_offset": 2}
    (finding,) = refused(written(tmp_path, fields), None)
    assert finding.code == "contradictory-config"
    assert "differ on layer 2" in finding.message


# Classes that are not known.


def test_a_class_is_never_guessed_from_a_name_like_it(tmp_path: Path) -> None:
    for name in ("DeepseekV33ForCausalLM", "LlamaForCausalLMv2", "deepseekv3forcausallm", ""):
        fields = config("deepseek-v3.2-fp8") | {"architectures": [name]}
        rows, findings = rows_of_config(written(tmp_path, fields), "shape", None, "a test")
        assert [(f.code, f.severity) for f in findings] == [("no-kv-rule", Severity.WARNING)]
        assert name in findings[0].message
        # Fields of the same name alone: what is worked out needs a rule.
        assert [cells(r) for r in rows] == [
            {
                "architecture": "shape",
                "num_hidden_layers": "61",
                "hidden_size": "7168",
                "index_head_dim": "128",
                "index_topk": "2048",
            }
        ]
        assert [f.code for f in refused(tmp_path / "config.json")] == ["no-layout"]


def test_a_configuration_may_keep_its_text_part_within(tmp_path: Path) -> None:
    inner = config("deepseek-v3-fp8")
    outer = {"architectures": ["SomethingForConditionalGeneration"], "text_config": inner}
    rows, findings = rows_of_config(written(tmp_path, outer), "shape", None, "a test")
    assert [f.code for f in findings] == ["no-kv-rule"]
    assert cells(rows[0])["hidden_size"] == "7168"
    known = {"text_config": inner}
    rows, findings = rows_of_config(written(tmp_path, known), "shape", "a", "a test")
    assert findings == ()
    twice = outer | {"hidden_size": 4096}
    (finding,) = refused(written(tmp_path, twice), None)
    assert finding.code == "contradictory-config"
    assert "hidden_size" in finding.message
    assert len(finding.positions) == 2


@pytest.mark.parametrize(
    ("name", "changes", "word"),
    [
        ("deepseek-v3-fp8", {"attention_bias": True}, "attention_bias"),
        ("gpt-oss-120b", {"attention_bias": False}, "attention_bias"),
        ("qwen3-235b-a22b-fp8", {"shared_expert_intermediate_size": 8}, "shared_expert"),
    ],
)
def test_a_variant_without_a_layout_has_caches_and_no_parameters(
    tmp_path: Path, name: str, changes: Json, word: str
) -> None:
    path = written(tmp_path, config(name) | changes)
    rows, findings = rows_of_config(path, "shape", None, "a test")
    assert findings == ()
    assert "kv_component" in {r.table for r in rows}
    (finding,) = refused(path)
    assert finding.code == "no-layout"
    assert word in finding.message


# Quantization.


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"quant_method": "gptq"}, "gptq"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": ""}, "quantization"),
        ({"weight_block_size": None}, "weight_block_size"),
        ({"activation_scheme": "static"}, "static"),
        ({"fmt": "e5m2"}, "e5m2"),
        ({"modules_to_not_convert": ["re:.*gate"]}, "re:.*gate"),
    ],
)
def test_a_quantization_that_is_not_known_is_named(
    tmp_path: Path, changes: Json, word: str
) -> None:
    fields = config("deepseek-v3-fp8")
    fields["quantization_config"] |= changes
    path = written(tmp_path, fields)
    (finding,) = refused(path)
    assert finding.code == "unknown-quantization"
    assert word in finding.message
    # Caches do not depend on it.
    rows, findings = rows_of_config(path, "shape", None, "a test")
    assert [(f.code, f.severity) for f in findings] == [("unknown-quantization", Severity.WARNING)]
    assert len(rows) == 2


def test_experts_of_gpt_oss_in_another_format_are_not_known(tmp_path: Path) -> None:
    path = written(tmp_path, config("gpt-oss-120b") | {"quantization_config": FP8})
    assert [f.code for f in refused(path)] == ["unknown-quantization"]


def test_what_only_bytes_depend_on_is_needed_for_bytes_alone(tmp_path: Path) -> None:
    for name in ("torch_dtype", "tie_word_embeddings"):
        fields = config("llama-3.3-70b-bf16")
        del fields[name]
        path = written(tmp_path, fields)
        rows_of_config(path, "shape", None, "a test")
        (finding,) = refused(path)
        assert (finding.code, name in finding.message) == ("missing-field", True)
    path = written(tmp_path, config("llama-3.3-70b-bf16") | {"torch_dtype": "float8"})
    assert [f.code for f in refused(path)] == ["unknown-quantization"]
    newer = config("llama-3.3-70b-bf16") | {"dtype": "float32"}
    del newer["torch_dtype"]
    assert weights_of(read_config(written(tmp_path, newer))).bytes == 2 * 141_107_412_992


# What is at fault in a configuration.


def drop(name: str) -> Change:
    """Take a field away."""
    return lambda fields: fields.pop(name)


def put(**changes: Any) -> Change:
    """Give fields other values."""
    return lambda fields: fields.update(changes)


FAULTS: list[tuple[str, Change, str, str]] = [
    ("glm-5.2-fp8", drop("num_hidden_layers"), "missing-field", "num_hidden_layers"),
    ("glm-5.2-fp8", drop("n_routed_experts"), "missing-field", "n_routed_experts"),
    ("glm-5.2-fp8", put(n_routed_experts=None), "missing-field", "n_routed_experts` is `null`"),
    ("glm-5.2-fp8", drop("n_shared_experts"), "missing-field", "n_shared_experts"),
    ("glm-4.5-air-bf16", drop("head_dim"), "missing-field", "head_dim"),
    ("gpt-oss-120b", drop("head_dim"), "missing-field", "head_dim"),
    ("gpt-oss-120b", drop("num_key_value_heads"), "missing-field", "num_key_value_heads"),
    ("qwen3-235b-a22b-fp8", drop("num_key_value_heads"), "missing-field", "num_key_value_heads"),
    ("glm-5.2-fp8", drop("moe_intermediate_size"), "missing-field", "moe_intermediate_size"),
    ("glm-5.2-fp8", drop("first_k_dense_replace"), "missing-field", "first_k_dense_replace"),
    ("glm-5.2-fp8", drop("index_head_dim"), "missing-field", "index_head_dim"),
    ("glm-5.2-fp8", drop("q_lora_rank"), "missing-field", "q_lora_rank"),
    ("deepseek-v3-fp8", drop("q_lora_rank"), "missing-field", "q_lora_rank"),
    ("qwen3-235b-a22b-fp8", drop("num_experts"), "missing-field", "num_experts"),
    ("gpt-oss-120b", drop("num_local_experts"), "missing-field", "num_local_experts"),
    ("gpt-oss-120b", drop("layer_types"), "missing-field", "layer_types"),
    ("gpt-oss-120b", drop("sliding_window"), "missing-field", "sliding_window"),
    ("llama-3.3-70b-bf16", put(hidden_size=8192.0), "not-a-count", "`8192.0`"),
    ("llama-3.3-70b-bf16", put(hidden_size=1e3), "not-a-count", "`1000.0`"),
    ("llama-3.3-70b-bf16", put(hidden_size="8192"), "not-a-count", "`8192`"),
    ("llama-3.3-70b-bf16", put(hidden_size=True), "not-a-count", "`true`"),
    ("llama-3.3-70b-bf16", put(hidden_size=[1]), "not-a-count", "a list"),
    ("llama-3.3-70b-bf16", put(hidden_size=-1), "count-out-of-range", "`-1`"),
    ("llama-3.3-70b-bf16", put(hidden_size=0), "count-out-of-range", "`0`"),
    ("llama-3.3-70b-bf16", put(hidden_size=10**9), "count-out-of-range", "hidden_size"),
    ("llama-3.3-70b-bf16", put(num_hidden_layers=1001), "count-out-of-range", "1001"),
    ("glm-5.2-fp8", put(num_nextn_predict_layers=10**8), "count-out-of-range", "nextn"),
    ("llama-3.3-70b-bf16", put(attention_bias="yes"), "not-a-bool", "attention_bias"),
    ("llama-3.3-70b-bf16", put(tie_word_embeddings=1), "not-a-bool", "tie_word_embeddings"),
    ("llama-3.3-70b-bf16", put(torch_dtype=16), "not-text", "torch_dtype"),
    ("llama-3.3-70b-bf16", put(layer_types="all"), "not-a-list", "layer_types"),
    ("llama-3.3-70b-bf16", put(layer_types=[1] * 80), "not-text", "layer_types"),
    ("llama-3.3-70b-bf16", put(architectures="Llama"), "not-a-list", "architectures"),
    ("llama-3.3-70b-bf16", put(architectures=[3]), "not-text", "architectures"),
    ("llama-3.3-70b-bf16", put(architectures=["A", "B"]), "contradictory-config", "`A`, `B`"),
    ("llama-3.3-70b-bf16", put(text_config=[]), "not-a-mapping", "text_config"),
    ("llama-3.3-70b-bf16", put(quantization_config=3), "not-a-mapping", "configuration"),
    ("llama-3.3-70b-bf16", put(quantization_config={"bits": 4}), "missing-field", "quant_method"),
    ("glm-5.2-fp8", put(indexer_types=["full"] * 77), "contradictory-config", "77 layers"),
    ("glm-5.2-fp8", put(indexer_types=["half"] * 78), "not-in-closed-set", "`half`"),
    ("deepseek-v3-fp8", put(index_topk=2048), "contradictory-config", "has no index"),
    ("gpt-oss-120b", put(hidden_size="wide"), "not-a-count", "hidden_size"),
    ("glm-5", put(index_topk_pattern="FS"), "contradictory-config", "2 layers"),
    ("gpt-oss-120b", put(num_hidden_layers=24), "contradictory-config", "layer_types"),
    ("llama-3.3-70b-bf16", put(num_key_value_heads=7), "contradictory-config", "7 heads"),
    ("qwen3-235b-a22b-fp8", put(num_key_value_heads=5), "contradictory-config", "5 heads"),
    ("glm-5.2-fp8", put(qk_head_dim=192), "contradictory-config", "qk_head_dim"),
    ("glm-5.2-fp8", put(first_k_dense_replace=79), "contradictory-config", "79 dense"),
    ("qwen3-235b-a22b-fp8", put(mlp_only_layers=[94]), "contradictory-config", "layer 94"),
    ("gpt-oss-120b", put(intermediate_size=2881), "contradictory-config", "2881"),
]
"""A configuration, what to do to it, the code of what is found, and a word of its message."""


@pytest.mark.parametrize(
    ("name", "change", "code", "word"), FAULTS, ids=[f"{f[2]}-{f[3]}" for f in FAULTS]
)
def test_a_fault_is_told_with_its_place(
    tmp_path: Path, name: str, change: Change, code: str, word: str
) -> None:
    fields = config(name)
    change(fields)
    path = written(tmp_path, fields)
    findings = refused(path)
    assert {f.code for f in findings} == {code}
    assert any(word in f.message for f in findings)
    lines = path.read_text("utf-8").split("\n")
    for finding in findings:
        assert finding.help
        assert not finding.message.endswith(".")
        for place in finding.positions:
            assert place.file == path.as_posix()
            assert lines[place.line - 1][place.column - 1 :].strip()
    if "null" in word or code not in ("missing-field", "contradictory-config", "not-a-mapping"):
        before = {k: json.dumps(v) for k, v in config(name).items()}
        field = next(k for k in fields if json.dumps(fields[k]) != before.get(k))
        first = next(n for n, line in enumerate(lines, 1) if line.startswith(f' "{field}"'))
        assert all(f.positions[0].line >= first for f in findings)


def test_a_head_whose_width_does_not_follow(tmp_path: Path) -> None:
    fields = config("llama-3.3-70b-bf16") | {"num_attention_heads": 72}
    del fields["head_dim"]
    (finding,) = refused(written(tmp_path, fields))
    assert finding.code == "contradictory-config"
    assert "head_dim" in finding.message
    fields["num_attention_heads"] = 64
    found = read_config(written(tmp_path, fields))
    assert weights_of(found).bytes == 141_107_412_992


def test_blocks_have_two_sizes(tmp_path: Path) -> None:
    for sizes, code in (([128], "contradictory-config"), ([0, 128], "count-out-of-range")):
        fields = config("deepseek-v3-fp8")
        fields["quantization_config"]["weight_block_size"] = sizes
        assert [f.code for f in refused(written(tmp_path, fields))] == [code]


def test_all_faults_come_in_one_run(tmp_path: Path) -> None:
    fields = config("glm-5.2-fp8") | {"hidden_size": 1.5, "vocab_size": "many"}
    del fields["kv_lora_rank"]
    found = refused(written(tmp_path, fields))
    assert sorted(f.code for f in found) == ["missing-field", "not-a-count", "not-a-count"]


def test_sizes_beyond_every_figure_are_refused(tmp_path: Path) -> None:
    most = 10**9 - 1
    fields = config("qwen3-235b-a22b-fp8") | {
        "hidden_size": most,
        "num_experts": most,
        "moe_intermediate_size": most,
    }
    assert [f.code for f in refused(written(tmp_path, fields))] == ["quantity-out-of-range"]


def test_a_cache_beyond_every_count_is_refused(tmp_path: Path) -> None:
    most = 10**9 - 1
    for name, changes in (
        ("llama-3.3-70b-bf16", {"head_dim": most}),
        ("glm-5", {"kv_lora_rank": most}),
    ):
        (finding,) = refused(written(tmp_path, config(name) | changes), None)
        assert finding.code == "count-out-of-range"


def test_a_file_of_faults_is_refused_at_once(tmp_path: Path) -> None:
    types = {"layer_types": [1] * 100_000}
    llama = config("llama-3.3-70b-bf16")
    assert len(refused(written(tmp_path, json.dumps(llama | types)))) == MOST_FINDINGS
    twice = "{" + ",".join(['"a": 1'] * 100_000) + "}"
    assert len(refused(written(tmp_path, twice))) == MOST_FINDINGS
    kept = [f"model.layers.{n}.mlp.{n}" for n in range(1000)] + [str(n) for n in range(50_000)]
    fields = config("deepseek-v3-fp8") | {"num_hidden_layers": 1000}
    fields["quantization_config"]["modules_to_not_convert"] = kept
    rows_of_config(written(tmp_path, json.dumps(fields)), "shape", "a", "a test")


# Files and text.


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("", "1:1", "ends where a value"),
        ("{", "1:2", "name in quotes"),
        ('{"a": 1,}', "1:9", "name in quotes"),
        ('{"a" 1}', "1:6", "colon"),
        ('{"a": 1 "b": 2}', "1:9", "comma"),
        ('{"a": NaN}', "1:7", "`NaN`"),
        ('{"a": Infinity}', "1:7", "`Infinity`"),
        ('{"a": -Infinity}', "1:7", "`-`"),
        ("{'a': 1}", "1:2", "name in quotes"),
        ('{"a": True}', "1:7", "`True`"),
        ('{"a": 01}', "1:8", "comma"),
        ('{"a": "b\nc"}', "1:7", "not closed"),
        ('{"a": "\\x"}', "1:7", "not closed"),
        ('{"a": "\\ud800"}', "1:7", "half of a character"),
        ('{"a": [1, 2}', "1:12", "comma"),
        ("{}\n{}", "2:1", "after the end"),
        ("// config\n{}", "1:1", "`/`"),
        ('{"a": \x07}', "1:7", "u0007"),
        ("[" * 60, "1:52", "deep"),
        ('{"a":' * 60, "1:256", "deep"),
    ],
)
def test_text_that_is_no_json(tmp_path: Path, text: str, place: str, word: str) -> None:
    (finding,) = refused(written(tmp_path, text))
    assert finding.code == "json-syntax"
    assert word in finding.message
    assert str(finding.positions[0]).endswith(f"config.json:{place}")


def test_a_field_that_stands_twice(tmp_path: Path) -> None:
    text = '{"hidden_size": 1,\n "hidden_size": 2, "quantization_config": {"a": 1, "a": 1}}'
    found = refused(written(tmp_path, text))
    assert [(f.code, [str(p).rpartition("json:")[2] for p in f.positions]) for f in found] == [
        ("duplicate-mapping-key", ["2:2", "1:2"]),
        ("duplicate-mapping-key", ["2:52", "2:44"]),
    ]


@pytest.mark.parametrize("text", ["[]", "3", '"text"', "true"])
def test_a_configuration_is_a_mapping(tmp_path: Path, text: str) -> None:
    assert [f.code for f in refused(written(tmp_path, text))] == ["not-a-mapping"]


def test_nothing_is_there(tmp_path: Path) -> None:
    codes = [f.code for f in refused(written(tmp_path, "null"))]
    assert set(codes) == {"missing-field"}
    assert [f.code for f in refused(tmp_path / "none.json")] == ["unreadable-file"]
    assert [f.code for f in refused(tmp_path)] == ["unreadable-file"]
    assert [f.code for f in refused(Path("\0"))] == ["unreadable-file"]


def test_a_file_is_text_and_of_bounded_size(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b'{"a": "\xff"}')
    assert [f.code for f in refused(path)] == ["not-utf8"]
    path.write_bytes(b"\xef\xbb\xbf" + (CONFIGS / "glm-5.json").read_bytes())
    assert weights_of(read_config(path)).bytes == 1_507_728_239_104
    with path.open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    assert [f.code for f in refused(path)] == ["oversized-file"]


def test_a_number_keeps_its_digits() -> None:
    document = parse_json('[1e400, 9007199254740993, -0, 1.50, "é😀"]', "x")
    assert document.root is not None
    values = document.root.value
    assert isinstance(values, tuple)
    texts = [getattr(v.value, "text", v.value) for v in values]
    assert texts == ["1e400", "9007199254740993", "-0", "1.50", "é😀"]


# Whatever the text: rows or PolicyError.


def only_findings(text: str) -> None:
    """Read a text as a configuration, with and without an artifact; it may only be refused."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), text)
        for artifact in (None, "a"):
            found: Sequence[Finding] = ()
            try:
                _, found = rows_of_config(path, "shape", artifact, "a test")
            except PolicyError as error:
                found = error.findings
            for finding in found:
                assert finding.message.isprintable()
                finding.message.encode("utf-8")


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 10**10)
    | st.integers(1, 300)
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
NAMES = sorted({key for name in ALL for key in config(name)} | {"text_config", "layer_types"})


@given(st.text(max_size=60))
def test_any_text_is_refused_or_read(text: str) -> None:
    only_findings(text)


@given(VALUES)
def test_any_json_is_refused_or_read(value: Any) -> None:
    only_findings(json.dumps(value))


@given(
    st.sampled_from(ALL),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
    st.lists(st.sampled_from(NAMES), max_size=3),
    st.sampled_from(["", *READERS]),
)
def test_a_configuration_with_any_faults_is_refused_or_read(
    name: str, changes: Json, dropped: list[str], class_name: str
) -> None:
    fields = config(name) | changes
    for key in dropped:
        fields.pop(key, None)
    if class_name:
        fields["architectures"] = [class_name]
    only_findings(json.dumps(fields))


SIZES = st.integers(1, 700)


@given(
    layers=st.integers(1, 12),
    speculative=st.integers(0, 2),
    dense=st.integers(0, 12),
    sizes=st.lists(SIZES, min_size=12, max_size=12),
    full=st.lists(st.booleans(), min_size=12, max_size=12),
    quantized=st.booleans(),
)
def test_any_latent_model_adds_up(
    layers: int, speculative: int, dense: int, sizes: list[int], full: list[bool], quantized: bool
) -> None:
    (hidden, wide, narrow, heads, q, kv, nope, rope, value, experts, index, shared) = sizes
    fields = {
        "architectures": ["GlmMoeDsaForCausalLM"],
        "num_hidden_layers": layers,
        "num_nextn_predict_layers": speculative,
        "hidden_size": hidden,
        "intermediate_size": wide,
        "moe_intermediate_size": narrow,
        "num_attention_heads": heads,
        "q_lora_rank": q,
        "kv_lora_rank": kv,
        "qk_nope_head_dim": nope,
        "qk_rope_head_dim": rope,
        "v_head_dim": value,
        "index_n_heads": heads,
        "index_head_dim": index,
        "index_topk": 4,
        "indexer_types": ["full" if f else "shared" for f in full[:layers]],
        "first_k_dense_replace": min(dense, layers),
        "n_routed_experts": experts,
        "n_shared_experts": shared % 3,
        "vocab_size": 11,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
    if quantized:
        fields["quantization_config"] = FP8

    def matrix(rows: int, columns: int) -> int:
        scales = 4 * -(-rows // 128) * -(-columns // 128)
        return rows * columns + scales if quantized else 2 * rows * columns

    attention = (
        matrix(q, hidden)
        + matrix(kv + rope, hidden)
        + 2 * (q + kv)
        + matrix(heads * (nope + rope), q)
        + matrix(heads * (nope + value), kv)
        + matrix(hidden, heads * value)
        + 2 * 2 * hidden
    )
    indexer = matrix(heads * index, q) + matrix(index, hidden) + 2 * heads * hidden + 4 * index

    def mlp(width: int) -> int:
        return 2 * matrix(width, hidden) + matrix(hidden, width)

    sparse = 2 * experts * hidden + experts * mlp(narrow)
    sparse += mlp(narrow * (shared % 3)) if shared % 3 else 0
    total = 2 * (2 * 11 * hidden + hidden)
    for number in range(layers + speculative):
        total += attention + (sparse if number >= min(dense, layers) else mlp(wide))
        if number >= layers:
            total += indexer + 2 * 2 * hidden * hidden + 3 * 2 * hidden
        elif full[number]:
            total += indexer
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = read_config(written(Path(folder), fields))
    assert weights_of(found).bytes == total
    assert found.model is not None
    assert (
        sum(p.total_bytes for p in parameters(found.model)) + size(outer_parameters(found.model))
        == total
    )
