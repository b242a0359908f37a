"""GGUF files, read from their headers alone.

A file begins with ``GGUF``, a version and two counts; key-value pairs and the tensors' names, types
and places follow; then the tensors, each on a multiple of the alignment (ggml-org/ggml,
docs/gguf.md). Sizes of types are those of the ``gguf`` package. Its reader is not used: it makes an
object of every token of a vocabulary and takes what a file says of sizes for true.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import BinaryIO

from ullage.findings import Finding, Position, UsageError, listed
from ullage.importers.checkpoint import (
    MAX_TENSORS,
    Checkpoint,
    CheckpointFile,
    Report,
    Tensor,
    is_sound_name,
    shortened,
)
from ullage.importers.stores import Store
from ullage.textfiles import unreadable

ENDING = ".gguf"
MAX_HEADER = 1 << 27
"""Longest header in bytes; those of known files have up to some 20 MB, of tokens."""

HEAD = "output.weight"
"""The output head; a file without one has it tied to the embedding."""

EMBEDDING = "token_embd.weight"

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_PAIRS = 100_000
_MAX_KEY = 65535
_MAX_TEXT = 4096
_MAX_LIST = 4096
_MAX_RANK = 4
_MAX_NUMBER = 1 << 63
_MAX_NESTING = 4
_DEFAULT_ALIGNMENT = 32
_CHUNK = 1 << 20
_SHARD = re.compile(r"(.*-)([0-9]{5})-of-([0-9]{5})\.gguf")
_AGAIN = "download or write the file again, and compare its digest"

_STRING, _ARRAY = 8, 9
_FORMATS: Mapping[int, str] = MappingProxyType(
    {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
)
"""Types of single values, as ``struct`` reads them."""

Value = str | int | float | bool | tuple[object, ...]
"""A value of a key: text and lists of more than some thousands are left out."""


@dataclass(frozen=True, slots=True)
class GgufCheckpoint:
    """The files and tensors of a model, and the values of the first file's keys."""

    checkpoint: Checkpoint
    values: Mapping[str, Value]

    @property
    def architecture(self) -> str:
        """The name of its architecture as llama.cpp has it; "" where it has none."""
        value = self.values.get("general.architecture")
        return value if isinstance(value, str) else ""

    def count(self, key: str) -> int | None:
        """A number of the architecture's, as in ``block_count``; None where it is not told."""
        value = self.values.get(f"{self.architecture}.{key}")
        return value if type(value) is int and value >= 0 else None


class _Fault(Exception):
    """Why a file cannot be read on."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Info:
    name: str
    shape: tuple[int, ...]
    type: int
    offset: int


@dataclass(slots=True)
class _Header:
    """The beginning of a file, read as far as it is asked for."""

    stream: BinaryIO
    size: int
    name: str
    data: bytearray = field(default_factory=bytearray)
    at: int = 0
    order: str = "<"

    def skip(self, count: int) -> int:
        """Move on by bytes that are there; the place before. Raises _Fault."""
        start, end = self.at, self.at + count
        if end > self.size:
            raise _Fault("truncated-file", f"`{self.name}` ends within its header")
        if end > MAX_HEADER:
            raise _Fault(
                "unreadable-header", f"the header of `{self.name}` has more than {MAX_HEADER} bytes"
            )
        while len(self.data) < end:
            piece = self.stream.read(max(_CHUNK, end - len(self.data)))
            if not piece:
                raise _Fault("truncated-file", f"`{self.name}` ends within its header")
            self.data += piece
        self.at = end
        return start

    def numbers(self, format: str) -> tuple[int, ...]:
        """Numbers of a format of ``struct``. Raises _Fault."""
        format = self.order + format
        return struct.unpack_from(format, self.data, self.skip(struct.calcsize(format)))

    def number(self, format: str) -> int:
        """One number."""
        return self.numbers(format)[0]

    def text(self, what: str, most: int) -> str:
        """A text of at most so many bytes. Raises _Fault."""
        length = self.number("Q")
        if length > most:
            self.fault(f"{what} has {length} bytes, and one has at most {most}")
        start = self.skip(length)
        try:
            return self.data[start : self.at].decode("utf-8")
        except UnicodeDecodeError as error:
            raise _Fault(
                "not-utf8", f"byte {start + error.start} of `{self.name}` is not UTF-8 text"
            ) from error

    def fault(self, message: str) -> None:
        """Raises _Fault: the header cannot be read."""
        raise _Fault("unreadable-header", f"{message}, at byte {self.at} of `{self.name}`")


def read_gguf(store: Store, entry: str, report: Report, *, digest: bool) -> GgufCheckpoint:
    """The model of a GGUF file, of all files that it was split into, or of the only one there.

    ``entry`` is a file, or "" for what the store holds. What is amiss is noted in the report. With
    ``digest`` each file is read as a whole for its digest. Raises UsageError where there is no such
    model, or where the ``gguf`` package is missing.
    """
    types = _types()
    names = _chosen(store, entry, report)
    files: list[CheckpointFile] = []
    tensors: list[Tensor] = []
    values: list[dict[str, Value]] = []
    for name in names:
        try:
            whole = store.digest(name) if digest else None
            with store.open(name) as stream:
                header = _Header(stream, store.size(name), name)
                found, infos = _read_header(header, MAX_TENSORS - len(tensors))
                start = _data_start(header, found)
        except OSError as error:
            report.note(unreadable(store.shown(name), error))
            continue
        except _Fault as fault:
            report.add(fault.code, fault.message, store.shown(name), _AGAIN)
            continue
        size, alignment = header.size - start, _alignment(found)
        tensors += _tensors(infos, types, size, alignment, name, store, report)
        values.append(found)
        sha256 = hashlib.sha256(memoryview(header.data)[:start]).hexdigest()
        files.append(CheckpointFile(name, header.size, start, sha256, whole))
    _check_names(tensors, store, report)
    if len(files) == len(names) and not report.counts["missing-shard"]:
        _check_split(names, values, len(tensors), store, report)
    checkpoint = Checkpoint(tuple(files), tuple(tensors), MappingProxyType({}))
    return GgufCheckpoint(checkpoint, MappingProxyType(values[0] if values else {}))


def _types() -> Mapping[int, tuple[str, int, int]]:
    """Name, elements of a block and bytes of a block, by the number of a type."""
    try:
        from gguf.constants import GGML_QUANT_SIZES
    except ImportError as error:
        raise UsageError(
            "the sizes of GGUF types are in the `gguf` package, which is not installed",
            "install it with `pip install ullage[gguf]`",
        ) from error
    return {int(t): (t.name, block, size) for t, (block, size) in GGML_QUANT_SIZES.items()}


def _chosen(store: Store, entry: str, report: Report) -> Sequence[str]:
    """The names of the files of one model."""
    try:
        there = store.names()
    except OSError as error:
        report.note(unreadable(store.shown(""), error))
        return ()
    if not entry:
        models = [n for n in there if n.endswith(ENDING)]
        # A split model is named by its first file.
        firsts = [n for n in models if not ((m := _SHARD.fullmatch(n)) and int(m.group(2)) > 1)]
        if len(firsts) != 1:
            raise UsageError(
                f"there are {len(firsts)} models in `{store.shown('')}`"
                if firsts
                else f"no `*{ENDING}` file is in `{store.shown('')}`",
                f"name one of {listed(firsts)}" if firsts else "name a file",
            )
        entry = firsts[0]
    match = _SHARD.fullmatch(entry)
    if match is None or not 1 <= int(match.group(2)) <= int(match.group(3)):
        return (entry,)
    stem, count = match.group(1), int(match.group(3))
    names = [f"{stem}{n:05d}-of-{count:05d}{ENDING}" for n in range(1, count + 1)]
    known = set(there)
    found = [n for n in names if n in known]
    missing = [n for n in names if n not in known]
    if missing:
        others = f", nor are {len(missing) - 1} others" if len(missing) > 1 else ""
        report.add(
            "missing-shard",
            f"`{missing[0]}` is one of {count} and is not there{others}",
            store.shown(missing[0]),
            "download it, too: what is left out is not counted",
        )
    return found


def _read_header(header: _Header, most: int) -> tuple[dict[str, Value], list[_Info]]:
    """The values and the tensors of a header. Raises _Fault."""
    if header.size == 0:
        raise _Fault("unreadable-header", f"`{header.name}` is empty")
    start = header.skip(min(len(_MAGIC), header.size))
    if header.data[start : header.at] != _MAGIC:
        raise _Fault("unreadable-header", f"`{header.name}` does not begin with `GGUF`")
    version = header.number("I")
    if version & 0xFFFF == 0:
        header.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in _VERSIONS:
        header.fault(f"the version is {version}, and those known are 2 and 3")
    tensors, pairs = header.numbers("QQ")
    # A tensor takes 24 bytes at least, a pair 13: what a file cannot hold is never looped over.
    if tensors > most or tensors * 24 > header.size:
        header.fault(f"it says that it has {tensors} tensors")
    if pairs > _MAX_PAIRS or pairs * 13 > header.size:
        header.fault(f"it says that it has {pairs} keys")
    values: dict[str, Value] = {}
    seen: set[str] = set()
    for _ in range(pairs):
        key = header.text("a key", _MAX_KEY)
        if key in seen:
            raise _Fault("duplicate-mapping-key", f"`{header.name}` has {shortened(key)} twice")
        seen.add(key)
        value = _value(header, header.number("I"), 0)
        if value is not None:
            values[key] = value
    return values, [_info(header) for _ in range(tensors)]


def _value(header: _Header, kind: int, depth: int) -> Value | None:
    """A value; None where it is too long to be of use here. Raises _Fault."""
    if kind in _FORMATS:
        return header.number(_FORMATS[kind])
    if kind == _STRING:
        length = header.number("Q")
        if length > _MAX_TEXT:
            header.skip(length)
            return None
        header.at -= 8
        return header.text("a text", _MAX_TEXT)
    if kind != _ARRAY:
        header.fault(f"a value is of type {kind}, which is not known")
    if depth == _MAX_NESTING:
        header.fault(f"lists are nested more than {_MAX_NESTING} deep")
    of, count = header.numbers("IQ")
    return _list(header, of, count, depth + 1)


def _list(header: _Header, of: int, count: int, depth: int) -> Value | None:
    if of in _FORMATS:
        if count > _MAX_LIST:
            header.skip(count * struct.calcsize(header.order + _FORMATS[of]))
            return None
        return header.numbers(f"{count}{_FORMATS[of]}")
    if of not in (_STRING, _ARRAY):
        header.fault(f"a list is of type {of}, which is not known")
    # An element of these has a length of 8 bytes at least.
    if count * 8 > header.size:
        header.fault(f"a list says that it has {count} elements")
    for _ in range(count):
        if of == _STRING:
            header.skip(header.number("Q"))
        else:
            _value(header, _ARRAY, depth)
    return None


def _info(header: _Header) -> _Info:
    name = header.text("the name of a tensor", _MAX_KEY)
    rank = header.number("I")
    if rank > _MAX_RANK:
        header.fault(f"{shortened(name)} has {rank} dimensions, and a tensor has at most 4")
    # The innermost dimension stands first.
    shape = tuple(reversed(header.numbers(f"{rank}Q")))
    kind, offset = header.numbers("IQ")
    return _Info(name, shape, kind, offset)


def _alignment(values: Mapping[str, Value]) -> int:
    value = values.get("general.alignment", _DEFAULT_ALIGNMENT)
    return value if type(value) is int else 0


def _data_start(header: _Header, values: Mapping[str, Value]) -> int:
    """Where the tensors begin: the header padded, as far as the file goes. Raises _Fault."""
    alignment = _alignment(values)
    if alignment <= 0 or alignment & (alignment - 1) or alignment > _CHUNK:
        raise _Fault(
            "unreadable-header",
            f"the `general.alignment` of `{header.name}` is no power of two within {_CHUNK}",
        )
    header.skip(min(-header.at % alignment, header.size - header.at))
    return header.at


def _tensors(
    infos: Sequence[_Info],
    types: Mapping[int, tuple[str, int, int]],
    size: int,
    alignment: int,
    file: str,
    store: Store,
    report: Report,
) -> list[Tensor]:
    """The tensors of a file whose tensors take ``size`` bytes; what cannot be is noted."""
    shown = store.shown(file)
    found: list[tuple[_Info, Tensor]] = []
    for info in infos:
        what = shortened(info.name)
        if not is_sound_name(info.name):
            message = f"`{file}` has a tensor named {what}, which is no name"
            report.add("bad-tensor", message, shown, _AGAIN)
            continue
        if info.type not in types:
            report.add(
                "unknown-dtype",
                f"the type of {what} of `{file}` is {info.type}, which is not known",
                shown,
                "a newer `gguf` package may know it",
            )
            continue
        name, block, block_bytes = types[info.type]
        elements = math.prod(info.shape)
        if elements >= _MAX_NUMBER or info.offset >= _MAX_NUMBER:
            report.add("bad-tensor", f"{what} of `{file}` is larger than any file", shown, _AGAIN)
            continue
        if (info.shape[-1] if info.shape else 1) % block:
            report.add(
                "bad-tensor",
                f"{what} of `{file}` has rows of {info.shape[-1] if info.shape else 1} values, and "
                f"a block of `{name}` has {block}",
                shown,
                _AGAIN,
            )
            continue
        tensor = Tensor(info.name, name, info.shape, elements // block * block_bytes, file)
        found.append((info, tensor))
    if len(found) == len(infos):
        _check_places(found, size, alignment, file, shown, report)
    return [tensor for _, tensor in found]


def _check_places(
    found: Sequence[tuple[_Info, Tensor]],
    size: int,
    alignment: int,
    file: str,
    shown: str,
    report: Report,
) -> None:
    """Note where tensors do not follow each other, or do not end with the file."""
    expected = end = 0
    for info, tensor in sorted(found, key=lambda f: (f[0].offset, f[1].bytes, f[1].name)):
        if info.offset != expected:
            report.add(
                "misplaced-tensor",
                f"{shortened(info.name)} of `{file}` begins at byte {info.offset} of the tensors, "
                f"and the one before makes it {expected}",
                shown,
                _AGAIN,
            )
        end = info.offset + tensor.bytes
        expected = end + -end % alignment
    if end > size:
        report.add(
            "truncated-file",
            f"`{file}` ends {end - size} bytes before its tensors do",
            shown,
            _AGAIN,
        )
    elif size > expected:
        report.add(
            "misplaced-tensor",
            f"{size - expected} bytes of `{file}` follow its tensors and are none",
            shown,
            _AGAIN,
        )


def _check_names(tensors: Sequence[Tensor], store: Store, report: Report) -> None:
    owners: dict[str, Tensor] = {}
    for tensor in tensors:
        first = owners.setdefault(tensor.name, tensor)
        if first is not tensor:
            where = "twice" if first.file == tensor.file else f"and in `{first.file}`"
            report.note(
                Finding(
                    "duplicate-tensor",
                    f"{shortened(tensor.name)} is in `{tensor.file}` {where}",
                    (Position(store.shown(tensor.file), 1, 1),),
                    "these files are not of one model: name the one you mean",
                )
            )


def _check_split(
    names: Sequence[str],
    values: Sequence[Mapping[str, Value]],
    tensors: int,
    store: Store,
    report: Report,
) -> None:
    """Hold what the parts of a split model say of it against what is there."""
    for number, (name, found) in enumerate(zip(names, values, strict=True)):
        count = found.get("split.count", 0)
        if count in (0, len(names)) and found.get("split.no", number) == number:
            continue
        if len(names) == 1 and count != 1:
            report.add(
                "missing-shard",
                f"`{name}` is one of {count} files, and its name does not tell the others",
                store.shown(name),
                f"name the files as in `model-00001-of-00002{ENDING}`",
            )
            continue
        report.add(
            "index-mismatch",
            f"`{name}` says that it is part {found.get('split.no')} of {count}, from 0",
            store.shown(name),
            "download all files of one revision",
        )
    total = values[0].get("split.tensors.count", tensors) if values else tensors
    if total != tensors and not report.findings:
        report.add(
            "index-mismatch",
            f"`{names[0]}` says that the model has {total} tensors, and the files have {tensors}",
            store.shown(names[0]),
            "download all files of one revision",
        )
