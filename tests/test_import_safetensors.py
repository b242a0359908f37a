"""Importing safetensors: exact bytes, every refusal, and no file that ends in a traceback."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from headers import (
    Tensors,
    header_of,
    size_of,
    total_of,
    write_bytes,
    write_sharded,
    write_tensors,
)
from hypothesis import given
from hypothesis import strategies as st
from lawtext import assert_house_style

from ullage.facts import load_facts
from ullage.findings import Finding, PolicyError, UsageError
from ullage.importers.artifacts import rows_of_safetensors
from ullage.importers.checkpoint import Report
from ullage.importers.grains import Grain
from ullage.importers.rows import Imported
from ullage.importers.safetensors import BITS, MAX_HEADER, read_header
from ullage.importers.sources import locate
from ullage.tables import load_declarations

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = Path(__file__).parent / "configs"

ROWS = "parameter", "outer_parameter"


def imported(
    path: Path, grain: Grain = Grain.CHECKPOINT, *, digest: bool = False
) -> tuple[Imported, dict[str, list[dict[str, Any]]]]:
    """What an import makes, and its rows as plain YAML has them."""
    found = rows_of_safetensors(locate(str(path)), "it", "shape", grain, digest=digest)
    assert_house_style(found.findings)
    rows: dict[str, list[dict[str, Any]]] = yaml.safe_load(found.text)
    return found, rows


def refused(path: Path) -> list[str]:
    """The codes of what is amiss."""
    with pytest.raises(PolicyError) as caught:
        imported(path)
    assert_house_style(caught.value.findings)
    return [f.code for f in caught.value.findings]


def findings(path: Path) -> Sequence[Finding]:
    with pytest.raises(PolicyError) as caught:
        imported(path)
    assert_house_style(caught.value.findings)
    return caught.value.findings


def numbers(layer: object) -> list[int]:
    """The layers that a cell names, by the rule of docs/facts.md and not by our code."""
    found: list[int] = []
    for part in layer if isinstance(layer, list) else [layer]:
        bounds, _, step = str(part).partition("/")
        first, _, last = bounds.partition("..")
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found


def summed(rows: Mapping[str, list[dict[str, Any]]]) -> int:
    """The bytes of all parameters."""
    inner = sum(int(r["bytes"][:-2]) * len(numbers(r["layer"])) for r in rows.get("parameter", ()))
    return inner + sum(int(r["bytes"][:-2]) for r in rows.get("outer_parameter", ()))


# A small mixture of experts in FP8 with scales, one dense layer before two with experts.


def tiny(layers: int = 3, experts: int = 4) -> dict[str, tuple[str, Sequence[int]]]:
    found: dict[str, tuple[str, Sequence[int]]] = {"model.embed_tokens.weight": ("BF16", (100, 8))}

    def quantized(name: str, rows: int, columns: int) -> None:
        found[f"{name}.weight"] = ("F8_E4M3", (rows, columns))
        found[f"{name}.weight_scale_inv"] = ("F32", (1, 1))

    for layer in range(layers):
        start = f"model.layers.{layer}"
        quantized(f"{start}.self_attn.q_proj", 8, 8)
        found[f"{start}.input_layernorm.weight"] = ("BF16", (8,))
        if layer == 0:
            quantized(f"{start}.mlp.up_proj", 16, 8)
            continue
        for expert in range(experts):
            quantized(f"{start}.mlp.experts.{expert}.up_proj", 4, 8)
    found["model.norm.weight"] = ("BF16", (8,))
    found["lm_head.weight"] = ("BF16", (100, 8))
    return found


def halves(tensors: Tensors) -> list[Tensors]:
    names = list(tensors)
    middle = len(names) // 2
    return [{n: tensors[n] for n in part} for part in (names[:middle], names[middle:])]


def test_a_single_file(tmp_path: Path) -> None:
    path = write_tensors(tmp_path / "model.safetensors", tiny(), format="pt")
    found, rows = imported(path)
    assert found.findings == ()
    assert rows["artifact"][0]["total_bytes"] == f"{total_of(tiny())} B"
    assert summed(rows) == total_of(tiny())
    (file,) = rows["artifact_file"]
    assert file["path"] == "model.safetensors"
    assert int(file["bytes"][:-2]) == path.stat().st_size
    assert int(file["bytes"][:-2]) - int(file["header_bytes"][:-2]) == total_of(tiny())
    header = path.read_bytes()[: int(file["header_bytes"][:-2])]
    assert file["header_sha256"] == hashlib.sha256(header).hexdigest()
    assert "sha256" not in file


def test_a_folder_of_shards_and_their_index_say_the_same(tmp_path: Path) -> None:
    index = write_sharded(tmp_path / "tiny", halves(tiny()))
    found, rows = imported(index.parent)
    assert found.findings == ()
    assert summed(rows) == total_of(tiny())
    assert imported(index)[0] == found
    in_files = sum(
        int(r["bytes"][:-2]) - int(r["header_bytes"][:-2]) for r in rows["artifact_file"]
    )
    assert in_files == total_of(tiny())
    index.unlink()
    assert imported(tmp_path / "tiny")[0].rows == found.rows


def test_layers_alike_and_experts_are_one_row(tmp_path: Path) -> None:
    _, rows = imported(write_tensors(tmp_path / "a.safetensors", tiny()))
    cells = [(r["layer"], r["name"], r["shape"], r["dtype"]) for r in rows["parameter"]]
    assert cells == [
        (0, "mlp.up_proj.weight", "16x8", "F8_E4M3"),
        (0, "mlp.up_proj.weight_scale_inv", "1x1", "F32"),
        ("0..2", "input_layernorm.weight", 8, "BF16"),
        ("0..2", "self_attn.q_proj.weight", "8x8", "F8_E4M3"),
        ("0..2", "self_attn.q_proj.weight_scale_inv", "1x1", "F32"),
        ("1..2", "mlp.experts.up_proj.weight", "4x4x8", "F8_E4M3"),
        ("1..2", "mlp.experts.up_proj.weight_scale_inv", "4x1x1", "F32"),
    ]
    assert [r["name"] for r in rows["outer_parameter"]] == [
        "lm_head.weight",
        "model.embed_tokens.weight",
        "model.norm.weight",
    ]


def places(rows: Mapping[str, list[dict[str, Any]]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in rows["parameter"]:
        for layer in numbers(row["layer"]):
            found.setdefault(layer, []).append(row["position"])
    return {layer: sorted(positions) for layer, positions in found.items()}


def test_positions_of_a_layer_count_from_0_without_a_gap(tmp_path: Path) -> None:
    _, rows = imported(write_tensors(tmp_path / "a.safetensors", tiny()))
    assert places(rows) == {0: [*range(5)], 1: [*range(5)], 2: [*range(5)]}


@pytest.mark.parametrize(
    ("changed", "apart"),
    [
        ({"model.layers.1.mlp.experts.2.up_proj.weight": ("F8_E4M3", (4, 9))}, "shape"),
        ({"model.layers.1.mlp.experts.2.up_proj.weight": ("I8", (4, 8))}, "dtype"),
        ({"model.layers.1.mlp.experts.9.up_proj.weight": ("F8_E4M3", (4, 8))}, "a gap"),
        ({"model.layers.1.mlp.experts.up_proj.weight": ("F8_E4M3", (4, 8))}, "a name taken"),
    ],
)
def test_experts_that_are_not_alike_stay_apart(
    tmp_path: Path, changed: Tensors, apart: str
) -> None:
    tensors = {**tiny(), **changed}
    _, rows = imported(write_tensors(tmp_path / "a.safetensors", tensors))
    names = {r["name"] for r in rows["parameter"] if 1 in numbers(r["layer"])}
    assert {f"mlp.experts.{n}.up_proj.weight" for n in range(4)} <= names, apart
    assert summed(rows) == total_of(tensors)


def test_packed_integers_and_scalars(tmp_path: Path) -> None:
    tensors: Tensors = {
        "layers.0.q.qweight": ("I32", (16, 8)),
        "layers.0.q.scales": ("F16", (2, 8)),
        "layers.0.q.g_idx": ("I64", (16,)),
        "layers.0.k_scale": ("F32", ()),
        "layers.0.none": ("U8", (0, 4)),
    }
    _, rows = imported(write_tensors(tmp_path / "a.safetensors", tensors))
    assert summed(rows) == total_of(tensors) == 16 * 8 * 4 + 2 * 8 * 2 + 16 * 8 + 4
    shapes = {r["name"]: r["shape"] for r in rows["parameter"]}
    assert shapes["k_scale"] == "scalar"
    assert shapes["none"] == "0x4"


@pytest.mark.parametrize(
    "stack",
    ["model.layers", "layers", "transformer.h", "blk", "model.language_model.layers"],
)
def test_stacks_of_decoder_layers(tmp_path: Path, stack: str) -> None:
    names = [f"{stack}.{n}.a.weight" for n in range(12)]
    names += [f"vision_tower.layers.{n}.a" for n in range(2)]
    tensors: Tensors = dict.fromkeys(names, ("U8", (2,)))
    _, rows = imported(write_tensors(tmp_path / "a.safetensors", tensors))
    assert [(r["layer"], r["name"]) for r in rows["parameter"]] == [("0..11", "a.weight")]
    assert len(rows["outer_parameter"]) == 2


def test_of_two_stacks_the_larger_counts(tmp_path: Path) -> None:
    tensors: Tensors = {"layers.0.w": ("U8", (1,)), "model.layers.0.w": ("U8", (2,))}
    _, rows = imported(write_tensors(tmp_path / "a.safetensors", tensors))
    assert [(r["name"], r["bytes"]) for r in rows["parameter"]] == [("w", "2 B")]
    assert [r["name"] for r in rows["outer_parameter"]] == ["layers.0.w"]


def test_digests_of_whole_files(tmp_path: Path) -> None:
    path = write_tensors(tmp_path / "a.safetensors", tiny())
    _, rows = imported(path, digest=True)
    assert rows["artifact_file"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_rows_load_with_the_same_values(tmp_path: Path) -> None:
    tensors = tiny() | {'model.layers.1.odd: name, "q" #[x]': ("U8", (3,))}
    found, rows = imported(write_tensors(tmp_path / "a.safetensors", tensors))
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "it.yaml").write_text(found.text, "utf-8")
    shape = "{architecture: shape, num_hidden_layers: 3, hidden_size: 8, source: test}"
    (folder / "shape.yaml").write_text(f"architecture: [{shape}]\n", "utf-8")
    declarations, _ = load_declarations([ROOT / "rules"])
    base, amiss = load_facts(declarations, [folder])
    assert amiss == []
    loaded = {
        (row.key[1], row.key[2]): {n: c.value for n, c in row.cells.items()}
        for row in base.rows["parameter"]
    }
    for row in rows["parameter"]:
        for layer in numbers(row["layer"]):
            cells = loaded.pop((layer, row["name"]))
            assert cells == {
                "bytes": int(row["bytes"][:-2]),
                "position": row["position"],
                "shape": str(row["shape"]),
                "dtype": row["dtype"],
            }
    assert loaded == {}
    outer = {str(r.key[1]): r.cells["bytes"].value for r in base.rows["outer_parameter"]}
    assert outer == {r["name"]: int(r["bytes"][:-2]) for r in rows["outer_parameter"]}
    assert base.rows["artifact"][0].cells["total_bytes"].value == total_of(tensors)


# Configurations beside the files.


def config(folder: Path, **fields: object) -> None:
    (folder / "config.json").write_text(json.dumps(fields), "utf-8")


def llama(layers: int = 2, *, head: bool = True) -> dict[str, tuple[str, Sequence[int]]]:
    found: dict[str, tuple[str, Sequence[int]]] = {
        "model.embed_tokens.weight": ("BF16", (50, 16)),
        "model.norm.weight": ("BF16", (16,)),
    }
    if head:
        found["lm_head.weight"] = ("BF16", (50, 16))
    for layer in range(layers):
        start = f"model.layers.{layer}"
        for name, shape in (
            ("mlp.down_proj", (16, 24)),
            ("mlp.gate_proj", (24, 16)),
            ("mlp.up_proj", (24, 16)),
            ("self_attn.k_proj", (8, 16)),
            ("self_attn.o_proj", (16, 16)),
            ("self_attn.q_proj", (16, 16)),
            ("self_attn.v_proj", (8, 16)),
            ("input_layernorm", (16,)),
            ("post_attention_layernorm", (16,)),
        ):
            found[f"{start}.{name}.weight"] = ("BF16", shape)
    return found


LLAMA: Mapping[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 2,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 50,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}


def checkpoint(folder: Path, tensors: Tensors, **fields: object) -> Path:
    write_tensors(folder / "model.safetensors", tensors)
    config(folder, **{**LLAMA, **fields})
    return folder


def test_positions_are_those_of_the_layout_of_a_known_class(tmp_path: Path) -> None:
    found, rows = imported(checkpoint(tmp_path, llama()))
    assert found.findings == ()
    assert [r["name"].removesuffix(".weight") for r in rows["parameter"]] == [
        "self_attn.k_proj",
        "self_attn.q_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
        "input_layernorm",
        "post_attention_layernorm",
    ]
    assert "in the order of vLLM's parameters of LlamaForCausalLM" in found.text


def test_the_parameters_of_an_engine(tmp_path: Path) -> None:
    found, rows = imported(checkpoint(tmp_path, llama()), Grain.VLLM)
    assert found.findings == ()
    assert [(r["name"], r["shape"], r["layer"]) for r in rows["parameter"]] == [
        ("self_attn.qkv_proj.weight", "32x16", "0..1"),
        ("self_attn.o_proj.weight", "16x16", "0..1"),
        ("mlp.gate_up_proj.weight", "48x16", "0..1"),
        ("mlp.down_proj.weight", "16x24", "0..1"),
        ("input_layernorm.weight", 16, "0..1"),
        ("post_attention_layernorm.weight", 16, "0..1"),
    ]
    assert summed(rows) == total_of(llama())


def test_an_engine_keeps_apart_what_cannot_be_put_together(tmp_path: Path) -> None:
    tensors = llama() | {"model.layers.1.mlp.up_proj.weight": ("F32", (24, 16))}
    found, rows = imported(checkpoint(tmp_path, tensors), Grain.VLLM)
    names = {r["name"] for r in rows["parameter"] if 1 in numbers(r["layer"])}
    assert {"mlp.gate_proj.weight", "mlp.up_proj.weight"} <= names
    assert "mlp.gate_up_proj.weight" not in names
    assert summed(rows) == total_of(tensors)
    assert {f.code for f in found.findings} == {"config-differs"}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (None, "no `config.json` stands beside"),
        ({"architectures": ["NewForCausalLM"]}, "`NewForCausalLM`, whose layout is not known"),
        ({"attention_bias": "maybe"}, "`config.json` is at fault"),
    ],
)
def test_an_engine_without_a_layout_is_refused_and_positions_are_by_name(
    tmp_path: Path, fields: dict[str, object] | None, why: str
) -> None:
    checkpoint(tmp_path, llama(), **(fields or {}))
    if fields is None:
        (tmp_path / "config.json").unlink()
    with pytest.raises(UsageError, match="what an engine makes of these tensors is not known") as e:
        imported(tmp_path, Grain.VLLM)
    assert why in e.value.message
    found, rows = imported(tmp_path)
    assert found.head[-1].startswith("Positions are by name: ")
    assert why in found.head[-1]
    names = [r["name"] for r in rows["parameter"]]
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("tensors", "fields", "said"),
    [
        (llama(), {"tie_word_embeddings": True}, "the head is tied, and the files have `lm_head"),
        (llama(head=False), {}, "the head is not tied, and the files have none"),
        (
            llama(3),
            {},
            "tells of 2 layers, and the files have layers 0..2",
        ),
        (llama(1), {}, "tells of 2 layers, and the files have layer 0"),
        (llama(), {"num_nextn_predict_layers": 1}, "1 block for speculation behind 2 layers"),
        (llama(), {"vocab_size": 60}, "makes `model.embed_tokens.weight` 60x16 of BF16"),
        (llama(), {"torch_dtype": "float32"}, "of F32, and the files have 32x16 of BF16"),
        (
            llama() | {"model.layers.1.extra.weight": ("BF16", (2,))},
            {},
            "has no `extra.weight`, and the files have it as 2 of BF16, in layer 1",
        ),
        (
            {n: t for n, t in llama().items() if n != "model.layers.1.input_layernorm.weight"},
            {},
            "makes `input_layernorm.weight` 16 of BF16, and the files have none, in layer 1",
        ),
    ],
)
def test_a_configuration_that_differs_is_told_and_the_files_count(
    tmp_path: Path, tensors: Tensors, fields: dict[str, object], said: str
) -> None:
    found, rows = imported(checkpoint(tmp_path, tensors, **fields))
    assert {f.code for f in found.findings} == {"config-differs"}
    assert any(said in f.message for f in found.findings), [f.message for f in found.findings]
    assert summed(rows) == total_of(tensors)
    assert "# warning[config-differs]: " in found.text


def test_a_tied_head_that_is_told_is_no_difference(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, llama(head=False), tie_word_embeddings=True)
    assert imported(folder)[0].findings == ()


# Whole models: headers alone, with the totals of other sources.


def test_gpt_oss_comes_to_the_bytes_that_were_observed(tmp_path: Path) -> None:
    hidden, width, experts = 2880, 2880, 128
    tensors: dict[str, tuple[str, Sequence[int]]] = {
        "model.embed_tokens.weight": ("BF16", (201088, hidden)),
        "model.norm.weight": ("BF16", (hidden,)),
        "lm_head.weight": ("BF16", (201088, hidden)),
    }
    for layer in range(36):
        start = f"model.layers.{layer}"
        for name, high in (("q_proj", 4096), ("k_proj", 512), ("v_proj", 512)):
            tensors[f"{start}.self_attn.{name}.weight"] = ("BF16", (high, hidden))
            tensors[f"{start}.self_attn.{name}.bias"] = ("BF16", (high,))
        tensors[f"{start}.self_attn.o_proj.weight"] = ("BF16", (hidden, 4096))
        tensors[f"{start}.self_attn.o_proj.bias"] = ("BF16", (hidden,))
        tensors[f"{start}.self_attn.sinks"] = ("BF16", (64,))
        tensors[f"{start}.mlp.router.weight"] = ("BF16", (experts, hidden))
        tensors[f"{start}.mlp.router.bias"] = ("BF16", (experts,))
        for name, high, wide in (
            ("gate_up_proj", 2 * width, hidden),
            ("down_proj", hidden, width),
        ):
            at = f"{start}.mlp.experts.{name}"
            tensors[f"{at}_blocks"] = ("U8", (experts, high, wide // 32, 16))
            tensors[f"{at}_scales"] = ("U8", (experts, high, wide // 32))
            tensors[f"{at}_bias"] = ("BF16", (experts, high))
        tensors[f"{start}.input_layernorm.weight"] = ("BF16", (hidden,))
        tensors[f"{start}.post_attention_layernorm.weight"] = ("BF16", (hidden,))
    write_sharded(tmp_path, halves(tensors))
    shutil.copy(CONFIGS / "gpt-oss-120b.json", tmp_path / "config.json")
    for grain in Grain:
        _, rows = imported(tmp_path, grain)
        assert summed(rows) == 65_248_815_744
        assert rows["artifact"][0]["total_bytes"] == "65248815744 B"
        assert len(places(rows)) == 36


def glm() -> dict[str, tuple[str, Sequence[int]]]:
    """GLM-5.2-FP8, without its routers' bias for balance: it is a buffer of the class."""
    hidden = 6144
    tensors: dict[str, tuple[str, Sequence[int]]] = {}

    def quantized(name: str, rows: int, columns: int) -> None:
        tensors[f"{name}.weight"] = ("F8_E4M3", (rows, columns))
        tensors[f"{name}.weight_scale_inv"] = ("F32", (-(-rows // 128), -(-columns // 128)))

    def plain(name: str, *shape: int) -> None:
        tensors[name] = ("BF16", shape)

    full = {0, 1, 2, *range(6, 75, 4), 78}
    plain("model.embed_tokens.weight", 154880, hidden)
    for layer in range(79):
        at = f"model.layers.{layer}.self_attn"
        quantized(f"{at}.q_a_proj", 2048, hidden)
        plain(f"{at}.q_a_layernorm.weight", 2048)
        quantized(f"{at}.q_b_proj", 64 * 256, 2048)
        quantized(f"{at}.kv_a_proj_with_mqa", 576, hidden)
        plain(f"{at}.kv_a_layernorm.weight", 512)
        quantized(f"{at}.kv_b_proj", 64 * 448, 512)
        quantized(f"{at}.o_proj", hidden, 64 * 256)
        if layer in full:
            quantized(f"{at}.indexer.wq_b", 32 * 128, 2048)
            quantized(f"{at}.indexer.wk", 128, hidden)
            plain(f"{at}.indexer.k_norm.weight", 128)
            plain(f"{at}.indexer.k_norm.bias", 128)
            plain(f"{at}.indexer.weights_proj.weight", 32, hidden)
        at = f"model.layers.{layer}"
        plain(f"{at}.input_layernorm.weight", hidden)
        plain(f"{at}.post_attention_layernorm.weight", hidden)
        if layer < 3:
            parts, width = ["mlp"], 12288
        else:
            plain(f"{at}.mlp.gate.weight", 256, hidden)
            parts = ["mlp.shared_experts", *(f"mlp.experts.{n}" for n in range(256))]
            width = 2048
        for part in parts:
            quantized(f"{at}.{part}.gate_proj", width, hidden)
            quantized(f"{at}.{part}.up_proj", width, hidden)
            quantized(f"{at}.{part}.down_proj", hidden, width)
    for name in ("enorm", "hnorm", "shared_head.norm"):
        plain(f"model.layers.78.{name}.weight", hidden)
    plain("model.layers.78.eh_proj.weight", hidden, 2 * hidden)
    plain("model.norm.weight", hidden)
    plain("lm_head.weight", 154880, hidden)
    return tensors


def test_glm_comes_to_the_bytes_of_the_catalog(tmp_path: Path) -> None:
    write_sharded(tmp_path, halves(glm()))
    shutil.copy(CONFIGS / "glm-5.2-fp8.json", tmp_path / "config.json")
    found, rows = imported(tmp_path, Grain.VLLM)
    assert found.findings == ()
    block = [r for r in rows["parameter"] if 78 in numbers(r["layer"])]
    speculative = sum(int(r["bytes"][:-2]) for r in block)
    assert speculative == 10_032_631_936
    assert summed(rows) - speculative == 745_584_430_656
    assert len(places(rows)) == 79
    indexed = [r["layer"] for r in rows["parameter"] if "indexer.wk.weight" in r["name"]]
    assert ["0..2", "6..74/4"] in indexed


# Refusals of one file.


def one(path: Path, entry: object, data_bytes: int = 0) -> Path:
    return write_bytes(path / "a.safetensors", json.dumps({"w": entry}).encode(), data_bytes)


def entry(
    dtype: object = "U8", shape: object = (2,), offsets: object = (0, 2)
) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize("content", [b"", b"\x02\0\0", b"\xff" * 8, bytes(60)])
def test_what_is_no_header_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    assert refused(path) == ["unreadable-header"]


def test_a_header_of_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", 5 << 30))
        stream.truncate(6 << 30)
    with pytest.raises(PolicyError) as caught:
        imported(path)
    (finding,) = caught.value.findings
    assert finding.code == "unreadable-header"
    assert str(MAX_HEADER) in finding.message


@pytest.mark.parametrize("length", [11, 1 << 20, MAX_HEADER])
def test_a_header_longer_than_its_file_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + b'{"a": {}}')
    assert refused(path) == ["truncated-file"]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (b"", "unreadable-header"),
        (b"[]", "unreadable-header"),
        (b' {"w": 1}', "unreadable-header"),
        (b"{", "unreadable-header"),
        (b'{"w"', "unreadable-header"),
        (b'{"w": ', "unreadable-header"),
        (b'{"w": }', "unreadable-header"),
        (b"{w: 1}", "unreadable-header"),
        (b'{"w": 1,}', "unreadable-header"),
        (b'{} {"w": 1}', "unreadable-header"),
        (b'{"w\n": 1}', "unreadable-header"),
        (b'{"w": "' + b"x" * 5000 + b'"}', "unreadable-header"),
        (b'{"w": {"dtype": NaN}}', "unreadable-header"),
        (b'{"w": {"shape": [Infinity]}}', "unreadable-header"),
        (b'{"w": {"shape": [' + b"9" * 5000 + b"]}}", "unreadable-header"),
        (b'{"w": ' + b"[" * 10_000_000, "unreadable-header"),
        (b'{"w": {"shape": ' + b"[" * 3000 + b"}}", "unreadable-header"),
        (b'{"w": {"shape": ' + b"[" * 3000 + b"]" * 3000 + b"}}", "unreadable-header"),
        (b'{"__metadata__": {"a": 1}}', "unreadable-header"),
        (b'{"__metadata__": []}', "unreadable-header"),
        (b'{"w\xff": 1}', "not-utf8"),
        (b'{"w": {"dtype": "U8\xed\xa0\x80"}}', "not-utf8"),
        (b'{"w": 1, "w": 1}', "duplicate-mapping-key"),
        (b'{"w": {"dtype": "U8", "dtype": "U8"}}', "duplicate-mapping-key"),
        (b'{"__metadata__": {"a": "", "a": ""}}', "duplicate-mapping-key"),
        (b'{"w": 1}', "bad-tensor"),
        (b'{"w": []}', "bad-tensor"),
        (b'{"w": {}}', "bad-tensor"),
        (b'{"": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}}', "bad-tensor"),
        (b'{"\\u001b[0m": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}}', "bad-tensor"),
        (b'{"\\ud800": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}}', "bad-tensor"),
    ],
)
def test_headers_that_are_refused(tmp_path: Path, header: bytes, code: str) -> None:
    assert code in refused(write_bytes(tmp_path / "a.safetensors", header))


@pytest.mark.parametrize(
    ("what", "code"),
    [
        (entry(dtype="I4"), "unknown-dtype"),
        (entry(dtype=8), "unknown-dtype"),
        (entry(dtype=None), "unknown-dtype"),
        (entry(shape=[-2]), "bad-tensor"),
        (entry(shape=[True, 2]), "bad-tensor"),
        (entry(shape=[2.0]), "bad-tensor"),
        (entry(shape=["2"]), "bad-tensor"),
        (entry(shape=[1 << 63]), "bad-tensor"),
        (entry(shape=[1] * 33), "bad-tensor"),
        (entry(shape=2), "bad-tensor"),
        (entry(shape=None), "bad-tensor"),
        (entry(offsets=[2, 0]), "bad-tensor"),
        (entry(offsets=[-2, 0]), "bad-tensor"),
        (entry(offsets=[False, True]), "bad-tensor"),
        (entry(offsets=[0, 2, 4]), "bad-tensor"),
        (entry(offsets=[0]), "bad-tensor"),
        (entry(offsets=[0, 1 << 64]), "bad-tensor"),
        ({**entry(), "compressed": True}, "bad-tensor"),
        (entry(shape=[3]), "misplaced-tensor"),
        (entry(dtype="F4", shape=[3], offsets=[0, 2]), "misplaced-tensor"),
        (entry(shape=[1 << 62, 1 << 62], offsets=[0, 2]), "misplaced-tensor"),
        (entry(offsets=[1, 3]), "misplaced-tensor"),
    ],
)
def test_tensors_that_are_refused(tmp_path: Path, what: object, code: str) -> None:
    assert code in refused(one(tmp_path, what, 2))


@pytest.mark.parametrize(
    ("offsets", "data_bytes", "code", "said"),
    [
        ([(0, 4), (2, 6)], 6, "misplaced-tensor", "begins 2 bytes before the end of `a`"),
        ([(0, 4), (0, 4)], 4, "misplaced-tensor", "begins 4 bytes before the end of `a`"),
        ([(0, 4), (6, 10)], 10, "misplaced-tensor", "begins 2 bytes behind `a`"),
        ([(4, 8), (0, 4)], 9, "misplaced-tensor", "1 bytes of `a.safetensors` follow `a`"),
        ([(0, 4), (4, 8)], 7, "truncated-file", "ends 1 bytes before its tensors do"),
        ([(0, 4), (4, 8)], 0, "truncated-file", "ends 8 bytes before its tensors do"),
    ],
)
def test_places_that_are_refused(
    tmp_path: Path, offsets: list[tuple[int, int]], data_bytes: int, code: str, said: str
) -> None:
    header = {n: entry(shape=[4], offsets=o) for n, o in zip("ab", offsets, strict=True)}
    path = write_bytes(tmp_path / "a.safetensors", json.dumps(header).encode(), data_bytes)
    (finding,) = findings(path)
    assert finding.code == code
    assert said in finding.message


def test_tensors_may_stand_in_any_order_of_their_entries(tmp_path: Path) -> None:
    header = {"a": entry(shape=[4], offsets=[4, 8]), "b": entry(shape=[4], offsets=[0, 4])}
    path = write_bytes(tmp_path / "a.safetensors", json.dumps(header).encode(), 8)
    assert summed(imported(path)[1]) == 8


def test_findings_of_a_bad_file_are_few(tmp_path: Path) -> None:
    header = {f"w{n}": entry(dtype="I4") for n in range(5000)}
    found = findings(write_bytes(tmp_path / "a.safetensors", json.dumps(header).encode(), 2))
    assert len(found) == 21
    assert any(f.message == "there are 4980 more findings of this code" for f in found)


def test_more_tensors_than_any_checkpoint_has_are_refused() -> None:
    header = {name: entry(shape=[0], offsets=[0, 0]) for name in "abc"}
    data = json.dumps(header).encode()
    for most, codes in ((3, []), (1, ["unreadable-header"])):
        report = Report()
        read_header(data, 0, "a.safetensors", "a.safetensors", report, most)
        assert [f.code for f in report.findings] == codes


def test_more_metadata_than_any_file_has_is_refused(tmp_path: Path) -> None:
    header = {"__metadata__": {str(n): "" for n in range(20_000)}}
    path = write_bytes(tmp_path / "a.safetensors", json.dumps(header).encode())
    assert refused(path) == ["unreadable-header"]


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "model.ckpt"])
def test_pickles_are_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04.")
    assert refused(tmp_path / name) == ["pickled-weights"]
    assert refused(tmp_path) == ["pickled-weights"]


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.safetensors")
    assert refused(tmp_path / "a.safetensors") == ["unreadable-file"]


def test_an_empty_folder_and_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no `\*.safetensors` file"):
        imported(tmp_path)
    with pytest.raises(UsageError, match="no file or folder"):
        imported(tmp_path / "a" / "b" / "c")


# Refusals of shards and indexes.


def change(index: Path, **entries: object) -> Path:
    content = json.loads(index.read_text("utf-8"))
    index.write_text(json.dumps(content | entries), "utf-8")
    return index


def weight_map(index: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(index.read_text("utf-8"))["weight_map"]
    return found


def test_a_shard_that_is_not_there(tmp_path: Path) -> None:
    index = write_sharded(tmp_path, halves(tiny()))
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    (finding,) = findings(index)
    assert finding.code == "missing-shard"
    assert "model-00002-of-00002" in finding.message
    index.unlink()
    assert refused(tmp_path) == ["missing-shard"]


def test_a_shard_by_itself_is_no_checkpoint(tmp_path: Path) -> None:
    write_sharded(tmp_path, halves(tiny()))
    with pytest.raises(UsageError, match="is one of 2 files"):
        imported(tmp_path / "model-00001-of-00002.safetensors")


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    first, second = halves(tiny())
    index = write_sharded(tmp_path, [first, {**second, "model.embed_tokens.weight": ("U8", (1,))}])
    assert "duplicate-tensor" in refused(index)
    index.unlink()
    assert refused(tmp_path) == ["duplicate-tensor"]


def test_a_tensor_that_the_index_puts_elsewhere(tmp_path: Path) -> None:
    index = write_sharded(tmp_path, halves(tiny()))
    files = weight_map(index)
    files["lm_head.weight"] = "model-00001-of-00002.safetensors"
    (finding,) = findings(change(index, weight_map=files))
    assert finding.code == "index-mismatch"
    assert "lacks `lm_head.weight`" in finding.message


def test_tensors_that_the_index_does_not_name_or_makes_up(tmp_path: Path) -> None:
    index = write_sharded(tmp_path, halves(tiny()))
    files = weight_map(index)
    del files["lm_head.weight"]
    files |= {"made.up": "model-00001-of-00002.safetensors"}
    found = findings(change(index, weight_map=files))
    assert [f.code for f in found] == ["index-mismatch"] * 2
    assert "lacks `made.up`" in found[0].message
    assert "has `lm_head.weight`" in found[1].message


def test_an_index_of_another_total_is_told_and_the_files_count(tmp_path: Path) -> None:
    index = write_sharded(tmp_path, halves(tiny()), total=7)
    found, rows = imported(index)
    assert [f.code for f in found.findings] == ["total-size-differs"]
    assert rows["artifact"][0]["total_bytes"] == f"{total_of(tiny())} B"
    change(index, metadata={"total_size": float(total_of(tiny()))})
    assert imported(index)[0].findings == ()
    change(index, metadata={"total_size": "all"})
    assert "no number" in imported(index)[0].findings[0].message
    change(index, metadata={})
    assert imported(index)[0].findings == ()


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../a.safetensors",
        "a/../../b.safetensors",
        "/etc/a.safetensors",
        "C:\\a.safetensors",
        "a\\b.safetensors",
        "a\n.safetensors",
        "a\0.safetensors",
        "\ud800.safetensors",
    ],
)
def test_an_index_never_leaves_its_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inner"
    write_tensors(tmp_path / "a.safetensors", {"w": ("U8", (1,))})
    index = write_sharded(folder, [{"v": ("U8", (1,))}])
    change(index, weight_map={**weight_map(index), "w": name})
    assert "path-escape" in refused(index)


def test_an_index_may_name_a_folder_below(tmp_path: Path) -> None:
    write_tensors(tmp_path / "sub" / "a.safetensors", {"w": ("U8", (3,))})
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "sub/a.safetensors"}}))
    _, rows = imported(tmp_path)
    assert rows["artifact_file"][0]["path"] == "sub/a.safetensors"


def test_an_index_never_names_a_pickle(tmp_path: Path) -> None:
    index = write_sharded(tmp_path, [{"v": ("U8", (1,))}])
    (tmp_path / "a.bin").write_bytes(b"")
    change(index, weight_map={**weight_map(index), "w": "a.bin"})
    assert refused(index) == ["pickled-weights"]


def test_a_file_beside_an_index_is_told(tmp_path: Path) -> None:
    index = write_sharded(tmp_path, halves(tiny()))
    write_tensors(tmp_path / "consolidated.safetensors", tiny())
    found, rows = imported(index)
    assert [f.code for f in found.findings] == ["unread-file"]
    assert summed(rows) == total_of(tiny())


def test_of_several_indexes_one_is_to_be_named(tmp_path: Path) -> None:
    index = write_sharded(tmp_path, halves(tiny()))
    shutil.copy(index, tmp_path / "model.fp16.safetensors.index.json")
    assert summed(imported(tmp_path)[1]) == total_of(tiny())
    index.rename(tmp_path / "other.safetensors.index.json")
    with pytest.raises(UsageError, match="there are 2 indexes"):
        imported(tmp_path)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad-index"),
        ("[]", "bad-index"),
        ("{}", "bad-index"),
        ('{"weight_map": []}', "bad-index"),
        ('{"weight_map": {"w": 1}}', "bad-index"),
        ('{"weight_map": {"w": "a"', "bad-index"),
        ('{"weight_map": {}} x', "bad-index"),
        ('{"metadata": NaN, "weight_map": {}}', "bad-index"),
        ('{"metadata": ' + "[" * 100_000 + "}", "bad-index"),
        ('{"weight_map": {"w": "a.safetensors", "w": "a.safetensors"}}', "duplicate-mapping-key"),
        ('{"weight_map": {}, "weight_map": {}}', "duplicate-mapping-key"),
        ("\udcff", "not-utf8"),
    ],
)
def test_indexes_that_are_refused(tmp_path: Path, text: str, code: str) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(text, "utf-8", errors="surrogateescape")
    assert refused(tmp_path) == [code]


def test_a_fault_of_an_index_has_a_place(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{\n  "weight_map": {\n    "w": 1\n  }\n}')
    (finding,) = findings(index)
    assert (finding.positions[0].line, finding.positions[0].column) == (3, 10)


# Properties.


def read(data: bytes, data_bytes: int) -> tuple[Report, object]:
    report = Report()
    found = read_header(data, data_bytes, "a.safetensors", "a.safetensors", report)
    return report, found


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
FIELD = st.sampled_from(["dtype", "shape", "data_offsets", "x"])
ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from([*BITS, "I4"]),
        "shape": st.lists(st.integers(-1, 4), max_size=3),
        "data_offsets": st.lists(st.integers(-1, 40), min_size=1, max_size=3),
    }
)
HEADER = st.dictionaries(st.text(max_size=3), ENTRY | st.dictionaries(FIELD, JUNK) | JUNK)


@given(st.binary(max_size=200), st.integers(0, 100))
def test_any_bytes_end_in_findings(data: bytes, data_bytes: int) -> None:
    report, found = read(data, data_bytes)
    assert report.findings or found is not None
    assert_house_style(report.findings)


@given(HEADER, st.integers(0, 40))
def test_any_header_ends_in_findings(header: dict[str, object], data_bytes: int) -> None:
    report, found = read(json.dumps(header).encode(), data_bytes)
    assert report.findings or found is not None
    assert_house_style(report.findings)


@given(st.binary(max_size=80))
def test_any_file_ends_in_findings(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(data)
    try:
        imported(path)
    except PolicyError as error:
        assert_house_style(error.findings)


@given(HEADER | st.dictionaries(st.text(min_size=1, max_size=3), ENTRY), st.integers(0, 40))
def test_what_is_accepted_the_reference_accepts(header: dict[str, object], size: int) -> None:
    reference = pytest.importorskip("safetensors")
    data = json.dumps(header).encode()
    report, found = read(data, size)
    if not report.findings:
        whole = len(data).to_bytes(8, "little") + data + bytes(size)
        theirs = {n: (t["dtype"], t["shape"]) for n, t in reference.deserialize(whole)}
        assert isinstance(found, tuple)
        assert {t.name: (t.dtype, list(t.shape)) for t in found[0]} == theirs


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,4}(\.[0-9]{1,2})?(\.[a-z]{1,3})?", fullmatch=True),
        st.tuples(
            st.sampled_from(["U8", "BF16", "F32", "I64"]),
            st.lists(st.integers(0, 5), max_size=3),
        ),
    )
)
def test_sound_headers_give_their_tensors(tensors: dict[str, tuple[str, list[int]]]) -> None:
    data = json.dumps(header_of(tensors)).encode()
    report, found = read(data, total_of(tensors))
    assert report.findings == []
    assert isinstance(found, tuple)
    assert {t.name: (t.dtype, list(t.shape), t.bytes) for t in found[0]} == {
        name: (dtype, shape, size_of(dtype, shape)) for name, (dtype, shape) in tensors.items()
    }


def test_bits_are_those_of_the_reference() -> None:
    reference = pytest.importorskip("safetensors")
    for dtype, bits in BITS.items():
        header = {"w": {"dtype": dtype, "shape": [8], "data_offsets": [0, bits]}}
        data = json.dumps(header).encode()
        ((_, found),) = reference.deserialize(len(data).to_bytes(8, "little") + data + bytes(bits))
        assert len(found["data"]) == bits
