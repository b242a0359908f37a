"""Importing GGUF: exact bytes by the package's own writer and reader, and every refusal."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lawtext import assert_house_style

from ullage.findings import Finding, PolicyError, UsageError
from ullage.importers.artifacts import rows_of_gguf
from ullage.importers.gguf import MAX_HEADER
from ullage.importers.rows import Imported
from ullage.importers.sources import locate

gguf = pytest.importorskip("gguf")
np = pytest.importorskip("numpy")

CONFIGS = Path(__file__).parent / "configs"

Rows = Mapping[str, list[dict[str, Any]]]


def imported(path: Path, *, digest: bool = False) -> tuple[Imported, Rows]:
    found = rows_of_gguf(locate(str(path), on_hub=False), "it", "shape", digest=digest)
    assert_house_style(found.findings)
    rows: Rows = yaml.safe_load(found.text)
    return found, rows


def findings(path: Path) -> Sequence[Finding]:
    with pytest.raises(PolicyError) as caught:
        imported(path)
    assert_house_style(caught.value.findings)
    return caught.value.findings


def refused(path: Path) -> list[str]:
    return [f.code for f in findings(path)]


def numbers(layer: object) -> list[int]:
    found: list[int] = []
    for part in layer if isinstance(layer, list) else [layer]:
        first, _, last = str(part).partition("..")
        found += range(int(first), int(last or first) + 1)
    return found


def summed(rows: Rows) -> int:
    inner = sum(int(r["bytes"][:-2]) * len(numbers(r["layer"])) for r in rows.get("parameter", ()))
    return inner + sum(int(r["bytes"][:-2]) for r in rows.get("outer_parameter", ()))


# Files of the package's writer.


def write(
    path: Path,
    blocks: int = 2,
    *,
    head: bool = True,
    speculative: int = 0,
    indexers: Sequence[int] = (),
    told: int | None = None,
    parts: int = 0,
    tokens: int = 5,
) -> Path:
    """A model of so many blocks; ``told`` is what it says their number is."""
    quant = gguf.GGMLQuantizationType
    writer = gguf.GGUFWriter(path, "glm-dsa", split_max_tensors=parts)
    writer.add_block_count(blocks if told is None else told)
    if speculative:
        writer.add_uint32("glm-dsa.nextn_predict_layers", speculative)
    writer.add_array("tokenizer.ggml.tokens", [f"token {n}" for n in range(tokens)])
    writer.add_array("tokenizer.ggml.scores", [0.5] * tokens)
    writer.add_string("tokenizer.chat_template", "x" * 6000)
    writer.add_bool("glm-dsa.flag", True)
    writer.add_float64("glm-dsa.rate", 0.25)

    def add(name: str, rows: int, row_bytes: int, dtype: Any) -> None:
        writer.add_tensor(name, np.zeros((rows, row_bytes), np.uint8), raw_dtype=dtype)

    add("token_embd.weight", 100, 2 * 34, quant.Q8_0)
    for block in range(blocks):
        add(f"blk.{block}.attn_q.weight", 7, 144, quant.Q4_K)
        writer.add_tensor(f"blk.{block}.ffn_exps.weight", np.zeros((4, 3, 5), np.float16))
        writer.add_tensor(f"blk.{block}.attn_norm.weight", np.zeros((3,), np.float32))
        if block in indexers:
            add(f"blk.{block}.indexer.attn_k.weight", 2, 66, quant.IQ2_XXS)
    if head:
        add("output.weight", 3, 84, quant.Q2_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_bytes_are_those_of_the_packages_reader(tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf", indexers=[1])
    found, rows = imported(path)
    assert found.findings == ()
    reader = gguf.GGUFReader(path)
    assert summed(rows) == sum(t.n_bytes for t in reader.tensors)
    # Counted by hand: an embedding and a head, two blocks, an indexer.
    assert summed(rows) == 6800 + 252 + 2 * (1008 + 120 + 12) + 132
    assert rows["artifact"][0]["total_bytes"] == f"{summed(rows)} B"
    (file,) = rows["artifact_file"]
    assert file["bytes"] == f"{path.stat().st_size} B"
    # What is no tensor: the header, and what pads tensors to the alignment.
    assert file["header_bytes"] == f"{path.stat().st_size - summed(rows)} B"
    header = path.read_bytes()[: reader.data_offset]
    assert file["header_sha256"] == hashlib.sha256(header).hexdigest()
    theirs = {t.name: (t.tensor_type.name, [*reversed(t.shape.tolist())]) for t in reader.tensors}
    ours = {}
    for row in rows["parameter"]:
        for layer in numbers(row["layer"]):
            ours[f"blk.{layer}.{row['name']}"] = row["dtype"], row["shape"]
    ours |= {r["name"]: (r["dtype"], r["shape"]) for r in rows["outer_parameter"]}
    assert ours == {
        name: (dtype, shape[0] if len(shape) == 1 else "x".join(map(str, shape)))
        for name, (dtype, shape) in theirs.items()
    }


def test_rows_of_a_model(tmp_path: Path) -> None:
    _, rows = imported(write(tmp_path / "tiny.gguf"))
    assert [(r["layer"], r["name"], r["shape"], r["dtype"]) for r in rows["parameter"]] == [
        ("0..1", "attn_norm.weight", 3, "F32"),
        ("0..1", "attn_q.weight", "7x256", "Q4_K"),
        ("0..1", "ffn_exps.weight", "4x3x5", "F16"),
    ]
    assert [r["position"] for r in rows["parameter"]] == [0, 1, 2]


def test_digests_of_whole_files(tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf")
    _, rows = imported(path, digest=True)
    assert rows["artifact_file"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_blocks_for_speculation_are_layers_behind_the_others(tmp_path: Path) -> None:
    found, rows = imported(write(tmp_path / "tiny.gguf", 3, speculative=1))
    assert found.findings == ()
    assert "`block_count` is 3 with 1 block for speculation: layers from 2 on are these." in (
        found.head
    )
    assert {n for r in rows["parameter"] for n in numbers(r["layer"])} == {0, 1, 2}


def test_a_tied_head_is_noted(tmp_path: Path) -> None:
    found, rows = imported(write(tmp_path / "tiny.gguf", head=False))
    assert any(line.startswith("The head is tied") for line in found.head)
    assert [r["name"] for r in rows["outer_parameter"]] == ["token_embd.weight"]
    assert not any("tied" in line for line in imported(write(tmp_path / "b.gguf"))[0].head)


def test_a_split_model_is_its_files_together(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.gguf", 3)
    folder = tmp_path / "parts"
    folder.mkdir()
    write(folder / "tiny.gguf", 3, parts=4)
    names = sorted(p.name for p in folder.iterdir())
    assert names == [f"tiny-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    found, rows = imported(folder / names[0])
    assert found.findings == ()
    assert summed(rows) == summed(imported(whole)[1])
    assert [r["path"] for r in rows["artifact_file"]] == names
    assert rows["artifact"][0]["total_bytes"] == f"{summed(rows)} B"
    files = sum(p.stat().st_size for p in folder.iterdir())
    headers = [int(r["header_bytes"].removesuffix(" B")) for r in rows["artifact_file"]]
    assert files - sum(headers) == summed(rows)
    assert [r["path"] for r in imported(folder / names[2])[1]["artifact_file"]] == names
    assert [r["path"] for r in imported(folder)[1]["artifact_file"]] == names


def test_a_split_model_without_a_part_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "tiny.gguf", 3, parts=4)
    (tmp_path / "tiny-00002-of-00003.gguf").unlink()
    assert refused(tmp_path / "tiny-00001-of-00003.gguf") == ["missing-shard"]


def test_parts_of_two_models_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "tiny.gguf", 3, parts=4)
    shutil.copy(tmp_path / "tiny-00001-of-00003.gguf", tmp_path / "tiny-00002-of-00003.gguf")
    codes = set(refused(tmp_path / "tiny-00001-of-00003.gguf"))
    assert codes == {"duplicate-tensor", "index-mismatch"}


def test_a_part_that_has_another_name_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "tiny.gguf", 3, parts=4)
    (tmp_path / "tiny-00001-of-00003.gguf").rename(tmp_path / "tiny.gguf")
    (finding,) = findings(tmp_path / "tiny.gguf")
    assert finding.code == "missing-shard"
    assert "is one of 3 files" in finding.message


@pytest.mark.parametrize("name", ["a-00001-of-00000.gguf", "a-00003-of-00002.gguf"])
def test_a_name_that_counts_nothing_is_a_name(tmp_path: Path, name: str) -> None:
    _, rows = imported(write(tmp_path / name))
    assert [r["path"] for r in rows["artifact_file"]] == [name]


def test_of_several_models_one_is_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no `\*.gguf` file"):
        imported(tmp_path)
    write(tmp_path / "a.gguf")
    assert summed(imported(tmp_path)[1])
    write(tmp_path / "b.gguf")
    with pytest.raises(UsageError, match="there are 2 models"):
        imported(tmp_path)


def test_a_vocabulary_of_any_size_is_passed_over(tmp_path: Path) -> None:
    assert summed(imported(write(tmp_path / "a.gguf", tokens=100_000))[1])


# What a file says of itself, and what a configuration beside says.


def test_blocks_that_are_not_told_are_a_difference(tmp_path: Path) -> None:
    found, _ = imported(write(tmp_path / "a.gguf", 2, told=3))
    (finding,) = found.findings
    assert finding.code == "config-differs"
    assert "`block_count` is 3, and tensors are of blocks 0..1" in finding.message


def glm(folder: Path, **fields: object) -> None:
    """A configuration of two layers, the first with an indexer, and a block for speculation."""
    given = json.loads((CONFIGS / "glm-5.2-fp8.json").read_text("utf-8"))
    for name in ("index_topk_freq", "index_skip_topk_offset", "index_topk_pattern"):
        given.pop(name, None)
    given |= {
        "num_hidden_layers": 2,
        "first_k_dense_replace": 1,
        "indexer_types": ["full", "shared"],
        **fields,
    }
    (folder / "config.json").write_text(json.dumps(given), "utf-8")


def test_indexers_on_more_layers_than_the_configuration_has(tmp_path: Path) -> None:
    glm(tmp_path)
    found, _ = imported(write(tmp_path / "a.gguf", 3, speculative=1, indexers=[0, 2]))
    assert found.findings == ()
    found, _ = imported(write(tmp_path / "a.gguf", 3, speculative=1, indexers=[0, 1, 2]))
    (finding,) = found.findings
    assert finding.code == "config-differs"
    assert "has an indexer on 1 layer, and the file has tensors of one on 2" in finding.message


@pytest.mark.parametrize(
    ("fields", "head", "said"),
    [
        ({"tie_word_embeddings": True}, True, "the head is tied, and the file has one"),
        ({"tie_word_embeddings": False}, False, "the head is not tied, and the file has none"),
        (
            {"num_hidden_layers": 4, "indexer_types": ["full"] + ["shared"] * 3},
            True,
            "tells of 4 layers, and the file has 2",
        ),
    ],
)
def test_a_configuration_that_differs_is_told(
    tmp_path: Path, fields: dict[str, object], head: bool, said: str
) -> None:
    glm(tmp_path, **fields)
    path = write(tmp_path / "a.gguf", 3, speculative=1, indexers=[0, 2], head=head)
    (finding,) = imported(path)[0].findings
    assert finding.code == "config-differs"
    assert said in finding.message


# Hostile files, written byte by byte.


def text(value: str | bytes) -> bytes:
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key: str | bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def info(name: str | bytes, shape: Sequence[int] = (4,), kind: int = 0, offset: int = 0) -> bytes:
    dims = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + dims + struct.pack("<IQ", kind, offset)


def raw(
    path: Path,
    *parts: bytes,
    pairs: int = 0,
    tensors: int = 0,
    data: int = 0,
    version: int = 3,
    magic: bytes = b"GGUF",
) -> Path:
    header = magic + struct.pack("<IQQ", version, tensors, pairs) + b"".join(parts)
    with path.open("wb") as stream:
        stream.write(header + bytes(-len(header) % 32))
        stream.truncate(len(header) + -len(header) % 32 + data)
    return path


def array(kind: int, count: int, content: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + content


NESTED = array(9, 1) * 6


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"magic": b"GGML"}, "unreadable-header"),
        ({"version": 1}, "unreadable-header"),
        ({"version": 4}, "unreadable-header"),
        ({"version": 0}, "unreadable-header"),
        ({"tensors": 1 << 63}, "unreadable-header"),
        ({"tensors": 3}, "unreadable-header"),
        ({"pairs": 1 << 62}, "unreadable-header"),
        ({"pairs": 90_000}, "unreadable-header"),
        ({"tensors": 1}, "truncated-file"),
        ({"pairs": 1}, "truncated-file"),
    ],
)
def test_beginnings_that_are_refused(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    assert refused(raw(tmp_path / "a.gguf", **options)) == [code]


@pytest.mark.parametrize("content", [b"", b"G", b"GGUF", b"GGUF\x03\0\0\0", b"GGUF" + bytes(10)])
def test_files_that_end_too_early(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    assert set(refused(path)) <= {"unreadable-header", "truncated-file"}


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (pair("k", 99, b""), "unreadable-header"),
        (pair("k", 9, array(99, 1)), "unreadable-header"),
        (pair("k", 9, array(8, 1 << 60)), "unreadable-header"),
        (pair("k", 9, array(9, 1 << 60)), "unreadable-header"),
        (pair("k", 9, NESTED), "unreadable-header"),
        (pair("k", 9, array(10, 1 << 60)), "truncated-file"),
        (pair("k", 9, array(0, 1 << 40)), "truncated-file"),
        (pair("k", 8, struct.pack("<Q", 1 << 60)), "truncated-file"),
        (struct.pack("<Q", 1 << 60), "unreadable-header"),
        (pair(b"\xff", 0, b"\0"), "not-utf8"),
        (pair("k", 8, text(b"\xff")), "not-utf8"),
        (pair("general.alignment", 4, struct.pack("<I", 0)), "unreadable-header"),
        (pair("general.alignment", 4, struct.pack("<I", 24)), "unreadable-header"),
        (pair("general.alignment", 4, struct.pack("<I", 1 << 31)), "unreadable-header"),
        (pair("general.alignment", 8, text("32")), "unreadable-header"),
        (pair("general.alignment", 5, struct.pack("<i", -32)), "unreadable-header"),
    ],
)
def test_keys_that_are_refused(tmp_path: Path, part: bytes, code: str) -> None:
    assert refused(raw(tmp_path / "a.gguf", part, pairs=1)) == [code]


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    parts = [pair("k", 0, b"\0")] * 2
    assert refused(raw(tmp_path / "a.gguf", *parts, pairs=2)) == ["duplicate-mapping-key"]


@pytest.mark.parametrize(
    ("infos", "data", "code"),
    [
        ([info("w", kind=4)], 16, "unknown-dtype"),
        ([info("w", kind=1 << 31)], 16, "unknown-dtype"),
        ([info("w", shape=(1,) * 5)], 16, "unreadable-header"),
        ([struct.pack("<Q", 1 << 60)], 0, "unreadable-header"),
        ([info("w", shape=(1 << 40, 1 << 40))], 16, "bad-tensor"),
        ([info("w", offset=1 << 63)], 16, "bad-tensor"),
        ([info("w", shape=(31,), kind=8)], 34, "bad-tensor"),
        ([info("w", shape=(), kind=8)], 34, "bad-tensor"),
        ([info("")], 16, "bad-tensor"),
        ([info("a\nb")], 16, "bad-tensor"),
        ([info(b"\xff")], 16, "not-utf8"),
        ([info("w", offset=32)], 48, "misplaced-tensor"),
        ([info("v"), info("w", offset=16)], 64, "misplaced-tensor"),
        ([info("v"), info("w", offset=0)], 64, "misplaced-tensor"),
        ([info("v"), info("w", offset=64)], 96, "misplaced-tensor"),
        ([info("w")], 33, "misplaced-tensor"),
        ([info("w")], 15, "truncated-file"),
        ([info("w", shape=(1 << 40,))], 16, "truncated-file"),
        ([info("w"), info("w", offset=32)], 64, "duplicate-tensor"),
    ],
)
def test_tensors_that_are_refused(
    tmp_path: Path, infos: Sequence[bytes], data: int, code: str
) -> None:
    path = raw(tmp_path / "a.gguf", *infos, tensors=len(infos), data=data)
    assert code in refused(path)


@pytest.mark.parametrize("data", [16, 32])
def test_the_last_tensor_may_be_padded(tmp_path: Path, data: int) -> None:
    path = raw(tmp_path / "a.gguf", info("w"), tensors=1, data=data)
    assert summed(imported(path)[1]) == 16


def test_a_header_beyond_all_bounds_is_refused(tmp_path: Path) -> None:
    path = raw(tmp_path / "a.gguf", pair("k", 8, struct.pack("<Q", 2 << 30)), pairs=1, data=4 << 30)
    with pytest.raises(PolicyError) as caught:
        imported(path)
    (finding,) = caught.value.findings
    assert finding.code == "unreadable-header"
    assert str(MAX_HEADER) in finding.message


def test_big_endian_files_are_read(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama", endianess=gguf.GGUFEndian.BIG)
    writer.add_tensor("blk.0.w", np.zeros((3, 5), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    _, rows = imported(tmp_path / "a.gguf")
    assert (rows["parameter"][0]["shape"], summed(rows)) == ("3x5", 60)


def test_without_the_package_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.gguf")
    monkeypatch.setitem(sys.modules, "gguf.constants", None)
    with pytest.raises(UsageError) as caught:
        imported(path)
    assert "pip install ullage[gguf]" in caught.value.help


# Properties.


@given(st.binary(max_size=120))
def test_any_bytes_end_in_findings(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(b"GGUF" + data)
    try:
        imported(path)
    except PolicyError as error:
        assert_house_style(error.findings)


@given(st.data())
def test_a_sound_file_with_changed_bytes_ends_in_findings(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    sound = folder / "sound.gguf"
    if not sound.exists():
        write(sound, 1)
    content = bytearray(sound.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, 7000))] = data.draw(st.integers(0, 255))
    path = folder / "changed.gguf"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        imported(path)
    except PolicyError as error:
        assert_house_style(error.findings)
