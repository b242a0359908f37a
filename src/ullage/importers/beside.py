"""The configuration that stands beside weight files, and where the files say otherwise.

The files win: what a configuration says decides nothing but names and order, and a difference is a
warning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ullage.findings import PolicyError, Severity, counted
from ullage.importers.checkpoint import Report, Tensor, shortened
from ullage.importers.config import read_config
from ullage.importers.fields import Fields
from ullage.importers.jsontext import read_json
from ullage.importers.layouts import MixedFormats, Model, outer_parameters, parameters
from ullage.importers.parameters import Parts, shape_text
from ullage.importers.rows import ranges_text
from ullage.importers.stores import Store
from ullage.sorts import shorten

CONFIG = "config.json"

_HEADS = ("lm_head", "output", "embed_out")
_SPECULATION = ("mtp", "nextn")


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside the files.

    ``model`` is None where no layout is known, and ``why`` says why. ``layers`` and ``speculative``
    are decoder layers and blocks for speculation; these and ``tied`` are None where they are not
    told.
    """

    model: Model | None
    why: str = ""
    layers: int | None = None
    speculative: int | None = None
    tied: bool | None = None


def read_beside(store: Store, report: Report) -> Beside:
    """The configuration in a store. What is at fault in it is a warning: the files have it all."""
    try:
        if CONFIG not in store.names():
            return Beside(None, f"no `{CONFIG}` stands beside")
        path = store.local(CONFIG)
        config = read_config(path)
    except OSError as error:
        return Beside(None, f"`{CONFIG}` cannot be read: {error.strerror or error}")
    except PolicyError as error:
        for finding in error.findings:
            report.note(replace(finding, severity=Severity.WARNING))
        return Beside(None, f"`{CONFIG}` is at fault")
    fields = Fields(read_json(path))
    told = Beside(
        config.model,
        layers=int(dict(config.described)["num_hidden_layers"]),
        speculative=fields.optional_count("num_nextn_predict_layers", least=0),
        tied=None
        if fields.find("tie_word_embeddings") is None
        else fields.flag("tie_word_embeddings", absent=False),
    )
    if config.model is None:
        named = f"class `{shorten(config.class_name)}`, whose layout is not known"
        return replace(told, why=f"`{CONFIG}` names {named if config.class_name else 'no class'}")
    if config.model.no_layout:
        said = f"`{CONFIG}` is of a layout that is not known: {config.model.no_layout}"
        return replace(told, model=None, why=said)
    return told


def compare(
    beside: Beside, parts: Parts, made: Mapping[int, Sequence[Tensor]], file: str, report: Report
) -> None:
    """Warn of each difference between a configuration and the files.

    ``made`` are the engine's parameters of each layer, as the files have them; of a model whose
    layout is not known there are none. ``file`` is the configuration as findings name it.
    """

    def warn(message: str) -> None:
        report.warn("config-differs", message, file, "the files count; look for another revision")

    if parts.layers and beside.layers is not None:
        for message in _layers_differ(beside, parts):
            warn(message)
        heads = sorted(n for n in parts.outer if n.split(".")[-2:-1] in [[h] for h in _HEADS])
        if beside.tied and heads:
            warn(f"`{CONFIG}` says that the head is tied, and the files have {shortened(heads[0])}")
        if beside.tied is False and not heads:
            warn(f"`{CONFIG}` says that the head is not tied, and the files have none")
    model = beside.model
    if model is None or model.quantization.unknown or model.quantization.base is None:
        return
    try:
        for message in _parameters_differ(model, parts, made):
            warn(message)
    except MixedFormats as error:
        warn(f"`{CONFIG}` has the parts of `{error.name}` in different formats")


def _layers_differ(beside: Beside, parts: Parts) -> Iterator[str]:
    layers, speculative = beside.layers or 0, beside.speculative or 0
    if any(s in n.lower() for n in parts.outer for s in _SPECULATION):
        # They are not among the decoder layers, so their number is not told by these.
        speculative = 0
    told = layers + speculative
    if list(parts.layers) == list(range(told)):
        return
    if list(parts.layers) == list(range(layers)):
        yield (
            f"`{CONFIG}` tells of {counted(speculative, 'block')} for speculation behind "
            f"{counted(layers, 'layer')}, and the files have none"
        )
    else:
        more = f" and {counted(speculative, 'block')} for speculation" if speculative else ""
        yield (
            f"`{CONFIG}` tells of {counted(layers, 'layer')}{more}, and the files have "
            f"{_layers(list(parts.layers))}"
        )


def _layers(numbers: Sequence[int]) -> str:
    return f"layer{'s' if len(numbers) > 1 else ''} {ranges_text(numbers)}"


_Form = tuple[tuple[int, ...], str]


def _parameters_differ(
    model: Model, parts: Parts, made: Mapping[int, Sequence[Tensor]]
) -> Iterator[str]:
    """Where parameters are not what the layout makes of the configuration; a sentence a name."""
    told: dict[tuple[int, str], _Form] = {}
    for found in parameters(model):
        expected = found.parameter.shape, found.parameter.dtype
        told |= {(layer, found.parameter.name): expected for layer in found.layers}
    there = {(n, t.name): (t.shape, t.dtype) for n, layer in made.items() for t in layer}
    layers: defaultdict[tuple[str, _Form | None, _Form | None], list[int]] = defaultdict(list)
    for key in sorted(told.keys() | there.keys()):
        number, name = key
        if told.get(key) != there.get(key) and number in made:
            layers[name, told.get(key), there.get(key)].append(number)
    for (name, of_config, of_files), numbers in layers.items():
        yield f"{_differ(name, of_config, of_files)}, in {_layers(numbers)}"
    for parameter in outer_parameters(model):
        tensor = parts.outer.get(parameter.name)
        if tensor is None and parameter.name.startswith("lm_head"):
            # Whether there is a head is told apart.
            continue
        stands = None if tensor is None else (tensor.shape, tensor.dtype)
        if stands != (parameter.shape, parameter.dtype):
            yield _differ(parameter.name, (parameter.shape, parameter.dtype), stands)


def _differ(name: str, told: _Form | None, there: _Form | None) -> str:
    if told is None and there is not None:
        return f"`{CONFIG}` has no {shortened(name)}, and the files have it as {_form(there)}"
    assert told is not None
    said = f"`{CONFIG}` makes {shortened(name)} {_form(told)}, and the files have"
    return f"{said} none" if there is None else f"{said} {_form(there)}"


def _form(form: _Form) -> str:
    shape, dtype = form
    return f"{shape_text(shape)} of {dtype}"
