"""What importers make: rows, and what to say of them.

Weight files are read by their headers. Bytes of a safetensors artifact are those of its tensors; of
a GGUF artifact those of its files, as the catalog has them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from ullage.findings import PolicyError, UsageError, counted
from ullage.importers import config
from ullage.importers.beside import CONFIG, Beside, compare, read_beside
from ullage.importers.checkpoint import Checkpoint, Report, Tensor
from ullage.importers.gguf import EMBEDDING, HEAD, GgufCheckpoint, read_gguf
from ullage.importers.grains import Grain, Made, checkpoint_layer, engine_layer
from ullage.importers.layouts import MixedFormats, full_indexers, fused
from ullage.importers.parameters import (
    Parts,
    by_name,
    parameter_rows,
    split_layers,
    stack_experts,
)
from ullage.importers.rows import Imported, ImportedRow, ranges_text
from ullage.importers.safetensors import read_safetensors
from ullage.importers.sources import Located
from ullage.textfiles import unreadable

_DIGITS = 16

Layers = Mapping[int, Sequence[Tensor]]


def rows_of_config(located: Located, architecture: str, artifact: str | None) -> Imported:
    """The rows of a configuration; of its parameters, too, where ``artifact`` names an artifact.

    Raises UsageError and PolicyError, with the codes of ``ullage.importers.config``.
    """
    name = located.entry or CONFIG
    try:
        path = located.store.local(name)
        digest = located.store.digest(name) if located.revision is None else ""
    except FileNotFoundError as error:
        where = located.store.shown("")
        raise UsageError(f"no `{name}` is in `{where}`", "name a configuration") from error
    except OSError as error:
        raise PolicyError([unreadable(located.store.shown(name), error)]) from error
    cited = f"{name} of {located.cited}" if name == CONFIG else located.cited
    source = cited if located.revision else f"{cited}, sha256 {digest[:_DIGITS]}"
    rows, findings = config.rows_of_config(path, architecture, artifact, source)
    return Imported(rows, (f"The configuration {cited}, and what follows from it.",), findings)


def rows_of_safetensors(
    located: Located, artifact: str, architecture: str, grain: Grain, *, digest: bool
) -> Imported:
    """The rows of a safetensors checkpoint. Raises UsageError and PolicyError.

    Codes: ``unreadable-header``, ``truncated-file``, ``bad-tensor``, ``unknown-dtype``,
    ``misplaced-tensor``, ``duplicate-tensor``, ``missing-shard``, ``bad-index``,
    ``index-mismatch``, ``path-escape``, ``pickled-weights``, ``duplicate-mapping-key``,
    ``not-utf8``, ``unreadable-file``; as warnings ``total-size-differs``, ``config-differs``,
    ``unread-file``, and those of a configuration beside the files.
    """
    report = Report()
    checkpoint = read_safetensors(located.store, located.entry, report, digest=digest)
    report.close()
    beside = read_beside(located.store, report)
    parts = split_layers(checkpoint.tensors)
    layers, made, note = _layers(beside, parts, grain)
    compare(beside, parts, made, located.store.shown(CONFIG), report)
    outer = stack_experts(parts.outer)
    source = f"safetensors headers of {located.cited}, sha256 {_digest(checkpoint)}"
    rows = [
        _artifact_row(artifact, architecture, checkpoint.tensor_bytes, located.revision, source),
        *_file_rows(artifact, checkpoint, source),
        *parameter_rows(artifact, layers, outer, source),
    ]
    files = counted(len(checkpoint.files), "file")
    head = (
        f"{counted(len(checkpoint.tensors), 'tensor')} in {files} of {located.cited}, from the "
        f"headers alone. Tensors have {checkpoint.tensor_bytes} bytes, files "
        f"{checkpoint.file_bytes}.",
        note,
    )
    return Imported(tuple(rows), head, report.close())


def rows_of_gguf(located: Located, artifact: str, architecture: str, *, digest: bool) -> Imported:
    """The rows of a GGUF model. Raises UsageError and PolicyError.

    Codes: those of ``rows_of_safetensors``, without those of indexes and pickles.
    """
    report = Report()
    model = read_gguf(located.store, located.entry, report, digest=digest)
    report.close()
    checkpoint = model.checkpoint
    beside = read_beside(located.store, report)
    parts = split_layers(checkpoint.tensors)
    layers = {n: [layer[t] for t in by_name(layer)] for n, layer in parts.layers.items()}
    shown = located.store.shown(checkpoint.files[0].path)
    for message in _gguf_differs(model, beside, parts):
        report.warn("config-differs", message, shown, "the file counts; look for another one")
    source = f"GGUF headers of {located.cited}, sha256 {_digest(checkpoint)}"
    rows = [
        _artifact_row(artifact, architecture, checkpoint.tensor_bytes, located.revision, source),
        *_file_rows(artifact, checkpoint, source),
        *parameter_rows(artifact, layers, parts.outer, source),
    ]
    files = counted(len(checkpoint.files), "file")
    head = [
        f"{counted(len(checkpoint.tensors), 'tensor')} in {files} of {located.cited}, of "
        f"architecture `{model.architecture}`, from the headers alone. Files have "
        f"{checkpoint.file_bytes} bytes, their tensors {checkpoint.tensor_bytes}.",
        "Positions are by name.",
        *_gguf_notes(model, parts),
    ]
    return Imported(tuple(rows), tuple(head), report.close())


def _layers(beside: Beside, parts: Parts, grain: Grain) -> tuple[Layers, Layers, str]:
    """The parameters of the layers at a grain, what an engine makes of them, and a note on order.

    Raises UsageError where an engine's parameters are asked for and not known.
    """
    model, why = beside.model, beside.why
    parameters: dict[int, Made] = {}
    if model is not None:
        try:
            parameters = {n: fused(model, n, layer) for n, layer in parts.layers.items()}
        except MixedFormats as error:
            model, why = None, f"`{CONFIG}` has the parts of `{error.name}` in different formats"
    if model is None:
        if grain is Grain.VLLM:
            raise UsageError(
                f"what an engine makes of these tensors is not known: {why}",
                "import them as they are, without `--grain vllm`",
            )
        named = {n: checkpoint_layer(None, layer) for n, layer in parts.layers.items()}
        return named, {}, f"Positions are by name: {why}."
    made = {n: engine_layer(parameters[n], layer) for n, layer in parts.layers.items()}
    if grain is Grain.VLLM:
        return made, made, f"Parameters are those that vLLM makes of {model.class_name}, in order."
    ordered = {n: checkpoint_layer(parameters[n], layer) for n, layer in parts.layers.items()}
    return ordered, made, f"Positions are in the order of vLLM's parameters of {model.class_name}."


def _artifact_row(
    artifact: str, architecture: str, total: int, revision: str | None, source: str
) -> ImportedRow:
    cells = [
        ("artifact", artifact),
        ("architecture", architecture),
        ("total_bytes", f"{total} B"),
        *([("revision", revision)] if revision else []),
        ("source", source),
    ]
    return ImportedRow("artifact", tuple(cells))


def _file_rows(artifact: str, checkpoint: Checkpoint, source: str) -> list[ImportedRow]:
    """A row a file; its header and what pads its tensors are none of the artifact's bytes."""
    held: Counter[str] = Counter()
    for tensor in checkpoint.tensors:
        held[tensor.file] += tensor.bytes
    rows = []
    for file in checkpoint.files:
        cells = [
            ("artifact", artifact),
            ("path", file.path),
            ("bytes", f"{file.bytes} B"),
            ("header_bytes", f"{file.bytes - held[file.path]} B"),
            *([("sha256", file.sha256)] if file.sha256 else []),
            ("header_sha256", file.header_sha256),
            ("source", source),
        ]
        rows.append(ImportedRow("artifact_file", tuple(cells)))
    return rows


def _digest(checkpoint: Checkpoint) -> str:
    """A digest over the headers of all files, short enough to stand in every row."""
    digest = hashlib.sha256()
    for file in sorted(checkpoint.files, key=lambda f: f.path):
        digest.update(f"{file.header_sha256}  {file.path}\n".encode())
    return digest.hexdigest()[:_DIGITS]


def _gguf_notes(model: GgufCheckpoint, parts: Parts) -> list[str]:
    """What is not plain from the rows of a GGUF model."""
    notes = []
    blocks, speculative = model.count("block_count"), model.count("nextn_predict_layers")
    if blocks and speculative and speculative < blocks:
        notes.append(
            f"`block_count` is {blocks} with {counted(speculative, 'block')} for speculation: "
            f"layers from {blocks - speculative} on are these."
        )
    if EMBEDDING in parts.outer and HEAD not in parts.outer:
        notes.append(f"The head is tied: `{EMBEDDING}` stands for `{HEAD}`, too.")
    return notes


def _gguf_differs(model: GgufCheckpoint, beside: Beside, parts: Parts) -> list[str]:
    """Where a GGUF model differs from what it says of itself, or from the configuration beside."""
    found = []
    blocks, speculative = model.count("block_count"), model.count("nextn_predict_layers") or 0
    there = list(parts.layers)
    if blocks is not None and there and there != list(range(blocks)):
        found.append(f"`block_count` is {blocks}, and tensors are of blocks {ranges_text(there)}")
    main = blocks - speculative if blocks is not None else len(there)
    if beside.layers is not None and there and beside.layers != main:
        found.append(
            f"`{CONFIG}` tells of {counted(beside.layers, 'layer')}, and the file has {main} "
            "without blocks for speculation"
        )
    tied = EMBEDDING in parts.outer and HEAD not in parts.outer
    if beside.tied is not None and beside.tied != tied and EMBEDDING in parts.outer:
        said, has = ("tied", "one") if beside.tied else ("not tied", "none")
        found.append(f"`{CONFIG}` says that the head is {said}, and the file has {has}")
    indexers = [n for n, layer in parts.layers.items() if n < main and _has_indexer(layer)]
    full = None if beside.model is None else full_indexers(beside.model)
    if full is not None and len(indexers) != full:
        found.append(
            f"`{CONFIG}` has an indexer on {counted(full, 'layer')}, and the file has tensors of "
            f"one on {len(indexers)}"
        )
    return found


def _has_indexer(layer: Mapping[str, Tensor]) -> bool:
    return any(name.startswith("indexer.") for name in layer)
