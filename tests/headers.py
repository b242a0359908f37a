"""Safetensors files of tests: true headers, with tensors that are holes in the file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

Tensors = Mapping[str, tuple[str, Sequence[int]]]
"""Dtype and shape by name."""

SIZES = {"F8_E4M3": 1, "U8": 1, "I8": 1, "BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8}


def size_of(dtype: str, shape: Sequence[int]) -> int:
    return SIZES[dtype] * math.prod(shape)


def total_of(tensors: Tensors) -> int:
    return sum(size_of(*form) for form in tensors.values())


def header_of(tensors: Tensors, **metadata: str) -> dict[str, object]:
    header: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        begin, end = end, end + size_of(dtype, shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    return header


def write_bytes(path: Path, header: bytes, data_bytes: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header)
        stream.truncate(8 + len(header) + data_bytes)
    return path


def write_tensors(path: Path, tensors: Tensors, **metadata: str) -> Path:
    text = json.dumps(header_of(tensors, **metadata), separators=(",", ":")).encode()
    return write_bytes(path, text + b" " * (-len(text) % 8), total_of(tensors))


def write_sharded(folder: Path, shards: Sequence[Tensors], total: int | None = None) -> Path:
    """Shards with their index, which this returns; ``total`` is what the index says of bytes."""
    files: dict[str, str] = {}
    for number, tensors in enumerate(shards, start=1):
        name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        write_tensors(folder / name, tensors, format="pt")
        files |= dict.fromkeys(tensors, name)
    summed = sum(map(total_of, shards)) if total is None else total
    index = folder / "model.safetensors.index.json"
    index.write_text(
        json.dumps({"metadata": {"total_size": summed}, "weight_map": files}, indent=2), "utf-8"
    )
    return index
