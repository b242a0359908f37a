"""Checkpoints of safetensors files, read from their headers alone.

A file begins with the length of its header in eight bytes, little-endian; the header is JSON and
gives each tensor's dtype, shape and place; the tensors follow without a gap
(huggingface/safetensors, README.md and safetensors/src/tensor.rs).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from ullage.findings import Finding, Position, UsageError, counted, listed, similar
from ullage.importers.checkpoint import (
    MAX_TENSORS,
    Checkpoint,
    CheckpointFile,
    Report,
    Tensor,
    is_sound_name,
    shortened,
)
from ullage.importers.cursor import Cursor, JsonFault
from ullage.importers.stores import Store
from ullage.textfiles import decode, place_at, unreadable

MAX_HEADER = 100_000_000
"""Longest header in bytes, as the format has it."""

MAX_INDEX = 100_000_000
"""Longest index in bytes."""

ENDING = ".safetensors"
INDEX_ENDING = ".safetensors.index.json"
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
"""Endings of formats that are programs: to read one is to run it."""

BITS: Mapping[str, int] = MappingProxyType(
    {
        "BOOL": 8,
        "F4": 4,
        "F6_E2M3": 6,
        "F6_E3M2": 6,
        "U8": 8,
        "I8": 8,
        "F8_E5M2": 8,
        "F8_E4M3": 8,
        "F8_E8M0": 8,
        "F8_E4M3FNUZ": 8,
        "F8_E5M2FNUZ": 8,
        "I16": 16,
        "U16": 16,
        "F16": 16,
        "BF16": 16,
        "I32": 32,
        "U32": 32,
        "F32": 32,
        "C64": 64,
        "F64": 64,
        "I64": 64,
        "U64": 64,
    }
)
"""Bits of one element, by dtype (safetensors 0.8)."""

_LENGTH = 8
_MAX_RANK = 32
_MAX_NUMBER = 1 << 63
_MAX_ENTRY = 4096
_MAX_METADATA = 1 << 20
_MAX_KEYS = 10_000
_METADATA = "__metadata__"
_FIELDS = {"dtype", "shape", "data_offsets"}
_SHARD = re.compile(r"(.*-)([0-9]{5})-of-([0-9]{5})\.safetensors")
_INDEX = f"model{INDEX_ENDING}"
_AGAIN = "download or write the file again, and compare its digest"


def read_safetensors(store: Store, entry: str, report: Report, *, digest: bool) -> Checkpoint:
    """The checkpoint that a store holds, or that its file ``entry`` (or "") begins.

    ``entry`` is a file of tensors or an index. What is amiss is noted in the report, the rest of
    the checkpoint read. With ``digest`` each file is read as a whole for its digest. Raises
    UsageError where the store holds no such checkpoint.
    """
    index, names = _chosen(store, entry, report)
    placed = _read_index(store, index, report) if index else None
    if placed is not None:
        names = _shards(placed, store, report)
    files: list[CheckpointFile] = []
    tensors: list[Tensor] = []
    metadata: dict[str, str] = {}
    for name in names:
        shard = _read_file(store, name, report, MAX_TENSORS - len(tensors), digest)
        if shard is not None:
            files.append(shard.file)
            tensors += shard.tensors
            metadata |= shard.metadata
    found = Checkpoint(tuple(files), tuple(tensors), MappingProxyType(metadata))
    owners = _owners(tensors, store, report)
    if placed is not None:
        _compare(placed, found, owners, store, report)
    return found


# Which files.


def _chosen(store: Store, entry: str, report: Report) -> tuple[str, Sequence[str]]:
    """The name of the index, or "" and the names of the files of tensors."""
    if entry.endswith(INDEX_ENDING):
        return entry, ()
    if entry:
        _refuse_pickled([entry], store, report)
        match = _SHARD.fullmatch(entry)
        if match is not None and int(match.group(3)) > 1:
            raise UsageError(
                f"`{entry}` is one of {int(match.group(3))} files of a checkpoint",
                "name their folder, or their index",
            )
        return "", () if report.findings else (entry,)
    try:
        names = store.names()
    except OSError as error:
        report.note(unreadable(store.shown(""), error))
        return "", ()
    indexes = [n for n in names if n.endswith(INDEX_ENDING)]
    if _INDEX in indexes or len(indexes) == 1:
        return (_INDEX if _INDEX in indexes else indexes[0]), ()
    if indexes:
        raise UsageError(f"there are {len(indexes)} indexes: {listed(indexes)}", "name one of them")
    found = [n for n in names if n.endswith(ENDING)]
    if not found:
        pickled = [n for n in names if n.endswith(PICKLED)]
        _refuse_pickled(pickled, store, report)
        if not pickled:
            raise UsageError(
                f"no `*{ENDING}` file is in `{store.shown('')}`",
                "name a file, a folder of such files, or an index",
            )
    _check_whole(found, store, report)
    return "", found


def _refuse_pickled(names: Iterable[str], store: Store, report: Report) -> None:
    for name in names:
        if name.endswith(PICKLED):
            report.add(
                "pickled-weights",
                f"`{name}` is not read: to read a pickle is to run the code in it",
                store.shown(name),
                "convert it to safetensors where you trust it, and import that",
            )


def _check_whole(names: Sequence[str], store: Store, report: Report) -> None:
    """Note the shards that the names of others say there are."""
    there = set(names)
    series = {(m.group(1), int(m.group(3))) for m in map(_SHARD.fullmatch, names) if m}
    for stem, count in sorted(series):
        every = (f"{stem}{n:05d}-of-{count:05d}{ENDING}" for n in range(1, count + 1))
        missing = [name for name in every if name not in there]
        if missing:
            _missing(missing[0], len(missing), f"is one of {count}", store, report)


def _missing(name: str, count: int, why: str, store: Store, report: Report) -> None:
    others = f", nor are {count - 1} others" if count > 1 else ""
    report.add(
        "missing-shard",
        f"`{name}` {why} and is not there{others}",
        store.shown(name),
        "download it, too: what is left out is not counted",
    )


# The index.


@dataclass(frozen=True, slots=True)
class _Index:
    """An index: the file of each tensor, and what it says of all of them together."""

    name: str
    files: Mapping[str, str]
    total: object


def _read_index(store: Store, name: str, report: Report) -> _Index | None:
    shown = store.shown(name)
    try:
        size = store.size(name)
        if size > MAX_INDEX:
            report.add(
                "bad-index",
                f"`{name}` has {size} bytes, and an index has at most {MAX_INDEX}",
                shown,
                _AGAIN,
            )
            return None
        with store.open(name) as stream:
            data = stream.read(MAX_INDEX)
    except OSError as error:
        report.note(unreadable(shown, error))
        return None
    text = decode(data, shown)
    if isinstance(text, Finding):
        report.note(text)
        return None
    cursor = Cursor(text, "bad-index")
    total: object = None
    files: dict[str, str] | None = None
    try:
        for key in cursor.keys("the index"):
            if key == "weight_map":
                files = _weight_map(cursor)
            elif key == "metadata":
                metadata = cursor.value("`metadata`", _MAX_METADATA)
                total = metadata.get("total_size") if isinstance(metadata, dict) else None
            else:
                cursor.value(shortened(key), _MAX_METADATA)
        cursor.end("the index")
        if files is None:
            raise JsonFault("bad-index", "the index has no `weight_map`", 0)
    except JsonFault as fault:
        report.add(fault.code, fault.message, place_at(text, fault.index, shown), _AGAIN)
        return None
    return _Index(name, files, total)


def _weight_map(cursor: Cursor) -> dict[str, str]:
    files: dict[str, str] = {}
    shards: dict[str, str] = {}
    for tensor in cursor.keys("`weight_map`"):
        shard = cursor.string("the file of a tensor")
        files[tensor] = shards.setdefault(shard, shard)
        if len(files) > MAX_TENSORS:
            raise JsonFault(
                "bad-index", f"the index names more than {MAX_TENSORS} tensors", cursor.at
            )
    return files


def _shards(index: _Index, store: Store, report: Report) -> list[str]:
    """The files of an index that are there, in order of name."""
    named = sorted(set(index.files.values()))
    inside = [name for name in named if _is_inside(name)]
    for name in named:
        if not _is_inside(name):
            report.add(
                "path-escape",
                f"the index names {shortened(name)}, which is no path below its folder",
                store.shown(index.name),
                "an index names files beside it; do not trust this one",
            )
    _refuse_pickled(inside, store, report)
    found: list[str] = []
    missing: list[str] = []
    for name in inside:
        if name.endswith(PICKLED):
            continue
        try:
            store.size(name)
        except FileNotFoundError:
            missing.append(name)
        except OSError as error:
            report.note(unreadable(store.shown(name), error))
        else:
            found.append(name)
    if missing:
        _missing(missing[0], len(missing), f"stands in `{index.name}`", store, report)
    try:
        others = store.names()
    except OSError:
        # The folder may be read by those who know its names.
        others = ()
    for name in others:
        if name.endswith(ENDING) and name not in named:
            report.warn(
                "unread-file",
                f"`{name}` is passed over: `{index.name}` does not name it",
                store.shown(name),
                "name the file itself to import it",
            )
    return found


def _is_inside(name: str) -> bool:
    """Whether a name is a plain relative path that stays below its folder."""
    path = PurePosixPath(name)
    return (
        bool(path.parts)
        and is_sound_name(name)
        and not path.is_absolute()
        and not {"\\", ":"} & set(name)
        and ".." not in path.parts
    )


def _compare(
    index: _Index, found: Checkpoint, owners: Mapping[str, str], store: Store, report: Report
) -> None:
    """Hold an index against the files: the files win, and what differs is noted."""
    read = {f.path for f in found.files}
    lacking: defaultdict[str, list[str]] = defaultdict(list)
    for tensor, file in index.files.items():
        if file in read and owners.get(tensor) != file:
            lacking[file].append(tensor)
    surplus: defaultdict[str, list[str]] = defaultdict(list)
    for tensor, file in owners.items():
        if tensor not in index.files:
            surplus[file].append(tensor)
    for file, tensors in sorted(lacking.items()):
        said = f"`{file}` lacks {_some(tensors)} that the index puts there"
        _mismatch(said, file, store, report)
    for file, tensors in sorted(surplus.items()):
        said = f"`{file}` has {_some(tensors)} that the index does not name"
        _mismatch(said, file, store, report)
    total = found.tensor_bytes
    if index.total not in (None, total) and read.issuperset(index.files.values()):
        told = index.total if isinstance(index.total, int | float) else "no number"
        report.warn(
            "total-size-differs",
            f"`total_size` of `{index.name}` is {told}, and the tensors have {total} bytes",
            store.shown(index.name),
            "the files count; the index was not written with them",
        )


def _mismatch(message: str, file: str, store: Store, report: Report) -> None:
    report.add(
        "index-mismatch", message, store.shown(file), "download index and files of one revision"
    )


def _some(names: Sequence[str]) -> str:
    first = shortened(min(names))
    return first if len(names) == 1 else f"{counted(len(names), 'tensor')}, {first} first,"


def _owners(tensors: Iterable[Tensor], store: Store, report: Report) -> dict[str, str]:
    """The file of each tensor; one that two files have is noted."""
    owners: dict[str, str] = {}
    for tensor in tensors:
        first = owners.setdefault(tensor.name, tensor.file)
        if first != tensor.file:
            report.note(
                Finding(
                    "duplicate-tensor",
                    f"{shortened(tensor.name)} is in `{first}` and in `{tensor.file}`",
                    (
                        Position(store.shown(tensor.file), 1, 1),
                        Position(store.shown(first), 1, 1, "has it, too"),
                    ),
                    "these files are not of one checkpoint: name the one you mean, or an index",
                )
            )
    return owners


# One file.


@dataclass(frozen=True, slots=True)
class _Shard:
    file: CheckpointFile
    tensors: Sequence[Tensor]
    metadata: Mapping[str, str]


def _read_file(store: Store, name: str, report: Report, most: int, digest: bool) -> _Shard | None:
    shown = store.shown(name)
    try:
        size = store.size(name)
        with store.open(name) as stream:
            prefix = stream.read(_LENGTH)
            length = int.from_bytes(prefix, "little")
            fault = _bad_length(name, size, len(prefix), length)
            header = b"" if fault else stream.read(length)
        if fault is None and len(header) < length:
            fault = ("truncated-file", f"`{name}` ends within its header")
        if fault is not None:
            report.add(*fault, shown, _AGAIN)
            return None
        whole = store.digest(name) if digest else None
    except OSError as error:
        report.note(unreadable(shown, error))
        return None
    found = read_header(header, size - _LENGTH - length, name, shown, report, most)
    if found is None:
        return None
    file = CheckpointFile(
        name, size, _LENGTH + length, hashlib.sha256(prefix + header).hexdigest(), whole
    )
    return _Shard(file, *found)


def _bad_length(name: str, size: int, prefix: int, length: int) -> tuple[str, str] | None:
    if prefix == 0:
        return "unreadable-header", f"`{name}` is empty"
    if prefix < _LENGTH:
        return "unreadable-header", f"`{name}` has {size} bytes, fewer than the length of a header"
    if length > MAX_HEADER:
        return (
            "unreadable-header",
            f"`{name}` says that its header has {length} bytes, and one has at most {MAX_HEADER}",
        )
    if length > size - _LENGTH:
        return (
            "truncated-file",
            f"`{name}` has {size} bytes, and says that its header has {length}",
        )
    return None


def read_header(
    header: bytes, data_bytes: int, name: str, shown: str, report: Report, most: int = MAX_TENSORS
) -> tuple[list[Tensor], dict[str, str]] | None:
    """The tensors of one header in order of place, and what it says beside; None where unreadable.

    ``data_bytes`` is what follows the header in the file ``name``, which findings show as
    ``shown``; ``most`` is how many tensors may be read.
    """
    try:
        text = header.decode("utf-8")
    except UnicodeDecodeError as error:
        report.add(
            "not-utf8",
            f"byte {_LENGTH + error.start} of `{name}` is not UTF-8 text, as a header is",
            shown,
            _AGAIN,
        )
        return None
    spans: list[tuple[int, int, Tensor]] = []
    metadata: dict[str, str] = {}
    sound = True
    cursor = Cursor(text, "unreadable-header")
    try:
        if not text.startswith("{"):
            raise JsonFault("unreadable-header", "the header does not begin with `{`", 0)
        for number, key in enumerate(cursor.keys("the header")):
            if key == _METADATA:
                metadata = _metadata(cursor)
                continue
            entry = cursor.value(f"the entry of {shortened(key)}", _MAX_ENTRY)
            span = _span(key, entry, name, shown, report)
            if span is None:
                sound = False
            else:
                spans.append(span)
            if number > most:
                raise JsonFault(
                    "unreadable-header",
                    f"the checkpoint has more than {MAX_TENSORS} tensors",
                    cursor.at,
                )
        cursor.end("the header")
    except JsonFault as fault:
        report.add(
            fault.code,
            f"{fault.message}, at byte {_LENGTH + len(text[: fault.index].encode())} of `{name}`",
            shown,
            _AGAIN,
        )
        return None
    spans.sort(key=lambda s: (s[0], s[1], s[2].name))
    if sound:
        _check_places(spans, data_bytes, name, shown, report)
    return [tensor for _, _, tensor in spans], metadata


def _metadata(cursor: Cursor) -> dict[str, str]:
    found = {}
    for key in cursor.keys(f"`{_METADATA}`"):
        found[key] = cursor.string(f"the value of {shortened(key)}")
        if len(found) > _MAX_KEYS:
            raise JsonFault(
                "unreadable-header", f"`{_METADATA}` has more than {_MAX_KEYS} keys", cursor.at
            )
    return found


def _span(
    name: str, entry: object, file: str, shown: str, report: Report
) -> tuple[int, int, Tensor] | None:
    """Where a tensor begins and ends, and the tensor; None, with a finding, where it cannot be."""
    what = shortened(name)
    if not is_sound_name(name):
        report.add(
            "bad-tensor", f"`{file}` has a tensor named {what}, which is no name", shown, _AGAIN
        )
        return None
    if not isinstance(entry, dict) or entry.keys() != _FIELDS:
        fields = listed(sorted(_FIELDS))
        report.add("bad-tensor", f"{what} of `{file}` has not just {fields}", shown, _AGAIN)
        return None
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BITS:
        said = shortened(dtype) if isinstance(dtype, str) else "no text"
        report.add(
            "unknown-dtype",
            f"the dtype of {what} of `{file}` is {said}, which is not known",
            shown,
            similar(str(dtype)[:40], BITS, "dtype") or f"known are {listed(list(BITS))}",
        )
        return None
    if not _are_sizes(shape) or len(shape) > _MAX_RANK:
        report.add(
            "bad-tensor",
            f"the shape of {what} of `{file}` is no list of at most {_MAX_RANK} sizes",
            shown,
            _AGAIN,
        )
        return None
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        report.add(
            "bad-tensor",
            f"the data_offsets of {what} of `{file}` are no two places in order",
            shown,
            _AGAIN,
        )
        return None
    bits = math.prod(shape) * BITS[dtype]
    begin, end = offsets
    if bits % 8 or bits // 8 != end - begin:
        needs = f"{bits // 8} bytes" if bits % 8 == 0 else f"{bits} bits"
        report.add(
            "misplaced-tensor",
            f"{what} of `{file}` has {end - begin} bytes, and its shape and dtype need {needs}",
            shown,
            _AGAIN,
        )
        return None
    return begin, end, Tensor(name, dtype, tuple(shape), end - begin, file)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(v) is int and 0 <= v < _MAX_NUMBER for v in value)


def _check_places(
    spans: Sequence[tuple[int, int, Tensor]], size: int, file: str, shown: str, report: Report
) -> None:
    """Note where tensors overlap, leave a gap, or do not end with the file."""
    reached, before = 0, ""
    for begin, end, tensor in spans:
        if begin != reached:
            place = (
                f"begins {begin - reached} bytes behind {_or_header(before)}"
                if begin > reached
                else f"begins {reached - begin} bytes before the end of {_or_header(before)}"
            )
            report.add(
                "misplaced-tensor", f"{shortened(tensor.name)} of `{file}` {place}", shown, _AGAIN
            )
        reached, before = max(reached, end), tensor.name
    if reached > size:
        report.add(
            "truncated-file",
            f"`{file}` ends {reached - size} bytes before its tensors do",
            shown,
            _AGAIN,
        )
    elif reached < size:
        report.add(
            "misplaced-tensor",
            f"{size - reached} bytes of `{file}` follow {_or_header(before)} and are no tensor",
            shown,
            _AGAIN,
        )


def _or_header(tensor: str) -> str:
    return shortened(tensor) if tensor else "the header"
