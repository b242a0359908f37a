"""Rows from the configuration of a model, ``config.json``: its shape, its caches, its parameters.

The file is read as text. No code of a checkpoint is run, and what a configuration does not say is
not supposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ullage.findings import Finding, PolicyError, Severity, errors_of
from ullage.importers.checkpoint import shortened
from ullage.importers.classes import class_of, hidden_of, layers_of, read_model
from ullage.importers.fields import Fields
from ullage.importers.jsontext import read_json
from ullage.importers.layouts import (
    LayerParameter,
    MixedFormats,
    Model,
    Parameter,
    full_indexers,
    kv_components,
    outer_parameters,
    parameters,
)
from ullage.importers.layouts.model import LatentAttention
from ullage.importers.parameters import shape_text
from ullage.importers.rows import ImportedRow, ranges
from ullage.sorts import COUNT_RANGE, RANGE

Source = str | tuple[str, ...]
"""What a row cites: one text, or several."""


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration as read.

    ``model`` is None where the class is not known. ``described`` holds the columns of
    ``architecture``, with their text; ``findings`` are warnings.
    """

    class_name: str
    model: Model | None
    described: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    fields: Fields = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Weights:
    """The parameters of all layers, and those outside."""

    layers: tuple[LayerParameter, ...]
    outer: tuple[Parameter, ...]

    @property
    def bytes(self) -> int:
        """What all of them take, which is the size of the checkpoint's tensors."""
        return sum(p.total_bytes for p in self.layers) + sum(p.bytes for p in self.outer)


def read_config(path: Path) -> Config:
    """The configuration in a file. Raises PolicyError with everything that is at fault in it.

    Codes: those of ``read_json``; ``missing-field``, ``contradictory-config``, ``not-a-count``,
    ``count-out-of-range``, ``not-a-list``, ``not-a-mapping``, ``not-a-bool``, ``not-text``,
    ``not-in-closed-set``; as warnings ``no-kv-rule`` and ``unknown-quantization``.
    """
    document = read_json(path)
    if document.root is None or errors_of(document.findings):
        raise PolicyError(document.findings)
    fields = Fields(document)
    if fields.errors:
        raise PolicyError(fields.findings)
    class_name = class_of(fields)
    model = read_model(class_name, fields)
    described = _of_model(model) if model is not None else _of_fields(fields)
    if model is not None and not fields.errors:
        _check_counts(model, fields)
    if fields.errors:
        raise PolicyError(fields.findings)
    warnings = (*fields.findings, *_warnings(class_name, model, fields))
    return Config(class_name, model, described, warnings, fields)


def rows_of_config(
    path: Path, architecture: str, artifact: str | None, source: Source
) -> tuple[tuple[ImportedRow, ...], tuple[Finding, ...]]:
    """Rows of ``architecture`` and ``kv_component``, and warnings.

    With a name for an artifact also its row, whose size is the sum of its parameters, and rows of
    ``parameter`` and ``outer_parameter``. Raises PolicyError, with the codes of ``read_config`` and
    ``weights_of``.
    """
    config = read_config(path)
    rows = [
        _row("architecture", source, ("architecture", architecture), *config.described),
        *_kv_rows(config, architecture, source),
    ]
    if artifact is None:
        return tuple(rows), config.findings
    weights = weights_of(config)
    made = _row(
        "artifact",
        source,
        ("artifact", artifact),
        ("architecture", architecture),
        ("total_bytes", f"{weights.bytes} B"),
    )
    return (*rows, made, *parameter_rows(weights, artifact, source)), config.findings


def parameter_rows(weights: Weights, artifact: str, source: Source) -> tuple[ImportedRow, ...]:
    """Rows of ``parameter``, with the layers that are alike in one, and of ``outer_parameter``."""
    rows = [
        _row(
            "parameter",
            source,
            ("artifact", artifact),
            ("layer", ranges(found.layers)),
            ("name", found.parameter.name),
            ("position", str(found.position)),
            *_figures(found.parameter),
        )
        for found in weights.layers
    ]
    rows += [
        _row(
            "outer_parameter",
            source,
            ("artifact", artifact),
            ("name", parameter.name),
            *_figures(parameter),
        )
        for parameter in weights.outer
    ]
    return tuple(rows)


def weights_of(config: Config) -> Weights:
    """The parameters of a model, once all that their bytes depend on is known.

    Raises PolicyError: ``no-layout``, ``unknown-quantization``, ``missing-field``,
    ``contradictory-config``, ``quantity-out-of-range``.
    """
    model = _told(config)
    try:
        weights = Weights(parameters(model), outer_parameters(model))
    except MixedFormats as error:
        raise _refused(
            config,
            "contradictory-config",
            f"the parts of `{error.name}` are quantized in part",
            "quantization_config",
            "engines stack them, and need all parts or none among the modules left alone",
        ) from None
    if weights.bytes >= RANGE:
        raise _refused(
            config,
            "quantity-out-of-range",
            "the parameters take more bytes than any figure holds",
            "hidden_size",
            "compare the sizes with a copy of the configuration",
        )
    return weights


def _told(config: Config) -> Model:
    """The model, where all is told that its bytes depend on. Raises PolicyError."""
    model = config.model
    if model is None:
        named = f"parameters of class {_named(config.class_name)} are not known"
        raise _refused(config, "no-layout", named, "architectures", _OF_FILES)
    if model.no_layout is not None:
        said = f"parameters of `{config.class_name}` are not known where {model.no_layout}"
        raise _refused(config, "no-layout", said, model.no_layout.field, _OF_FILES)
    unknown = model.quantization.unknown
    if unknown is not None:
        raise _refused(config, "unknown-quantization", unknown.why, unknown.field, _OF_FILES)
    for name, value in (
        ("torch_dtype", model.quantization.base),
        ("tie_word_embeddings", model.tied),
    ):
        if value is None:
            config.fields.missing(name, ", on which the bytes depend")
    if config.fields.errors:
        raise PolicyError(config.fields.findings)
    return model


_OF_FILES = "import the weight files, whose headers tell name and size of every tensor"


def _check_counts(model: Model, fields: Fields) -> None:
    """Report what a token takes in a cache where it is more than a count may be."""
    latent = isinstance(model.attention, LatentAttention)
    for component in kv_components(model):
        if component.values_per_token >= COUNT_RANGE:
            fields.findings.append(
                Finding(
                    "count-out-of-range",
                    f"{component.values_per_token} values of cache for each token of a layer are "
                    "too many for a count",
                    (fields.place_of("kv_lora_rank" if latent else "num_key_value_heads"),),
                    "compare the sizes with a copy of the configuration",
                )
            )


def _refused(config: Config, code: str, message: str, name: str, help: str) -> PolicyError:
    return PolicyError([Finding(code, message, (config.fields.place_of(name),), help)])


def _warnings(class_name: str, model: Model | None, fields: Fields) -> Iterable[Finding]:
    by_hand = "write rows of `kv_component` by hand, from a source that tells them"
    if model is None:
        yield Finding(
            "no-kv-rule",
            f"which caches class {_named(class_name)} keeps is not known",
            (fields.place_of("architectures"),),
            by_hand,
            Severity.WARNING,
        )
        return
    if not kv_components(model):
        yield Finding(
            "no-kv-rule",
            "which layers keep which caches is not told",
            (fields.place_of("layer_types" if fields.has("layer_types") else "sliding_window"),),
            by_hand,
            Severity.WARNING,
        )
    unknown = model.quantization.unknown
    if unknown is not None:
        yield Finding(
            "unknown-quantization",
            unknown.why,
            (fields.place_of(unknown.field),),
            _OF_FILES,
            Severity.WARNING,
        )


def _of_model(model: Model) -> tuple[tuple[str, str], ...]:
    """The columns of ``architecture`` that a class fills."""
    attention = model.attention
    found = [("num_hidden_layers", model.layers), ("hidden_size", model.hidden)]
    if isinstance(attention, LatentAttention):
        cached = attention.rank + attention.rope_width
        found.append(("mla_cached_values_per_token_per_layer", cached))
        full = full_indexers(model)
        if attention.indexer is not None and full is not None:
            found += [
                ("index_head_dim", attention.indexer.width),
                ("indexer_full_layers", full),
                ("index_topk", attention.indexer.topk),
            ]
    return tuple((name, str(value)) for name, value in found)


def _of_fields(fields: Fields) -> tuple[tuple[str, str], ...]:
    """The columns of ``architecture`` that are fields by the same name; nothing is worked out."""
    found = [("num_hidden_layers", layers_of(fields)), ("hidden_size", hidden_of(fields))]
    for name in ("index_head_dim", "index_topk"):
        value = fields.optional_count(name)
        if value is not None:
            found.append((name, value))
    return tuple((name, str(value)) for name, value in found)


def _kv_rows(config: Config, architecture: str, source: Source) -> Iterable[ImportedRow]:
    if config.model is None:
        return
    for component in kv_components(config.model):
        cells = [
            ("architecture", architecture),
            ("component", component.name),
            ("kind", component.kind),
            ("layers", str(component.layers)),
        ]
        if component.conservative_layers is not None:
            cells.append(("conservative_layers", str(component.conservative_layers)))
        cells.append(("values_per_token", str(component.values_per_token)))
        if component.window is not None:
            cells.append(("window_tokens", str(component.window)))
        yield _row("kv_component", source, *cells)


def _figures(parameter: Parameter) -> tuple[tuple[str, str], ...]:
    return (
        ("bytes", f"{parameter.bytes} B"),
        ("shape", shape_text(parameter.shape)),
        ("dtype", parameter.dtype),
    )


def _row(table: str, source: Source, *cells: tuple[str, str | tuple[str, ...]]) -> ImportedRow:
    return ImportedRow(table, (*cells, ("source", source)))


def _named(class_name: str) -> str:
    return shortened(class_name) if class_name else "that the configuration does not name"
