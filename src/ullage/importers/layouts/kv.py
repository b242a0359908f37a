"""What a model keeps in its caches, as rows of ``kv_component`` tell it."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.importers.layouts.model import GroupedAttention, LatentAttention, Model


@dataclass(frozen=True, slots=True)
class KvComponent:
    """One cache. ``conservative_layers`` is of an indexer alone, ``window`` of a window."""

    name: str
    kind: str
    layers: int
    values_per_token: int
    conservative_layers: int | None = None
    window: int | None = None


def kv_components(model: Model) -> tuple[KvComponent, ...]:
    """The caches of the decoder layers; none where it is not told which layers have a window.

    A block for speculation has none in the base model (unslothai/unsloth 4757).
    """
    if isinstance(model.attention, LatentAttention):
        return _latent(model, model.attention)
    return _grouped(model, model.attention)


def full_indexers(model: Model) -> int | None:
    """Decoder layers with an index of their own; None of a model without indexes."""
    attention = model.attention
    if not isinstance(attention, LatentAttention) or attention.indexer is None:
        return None
    return sum(attention.indexer.full)


def _latent(model: Model, attention: LatentAttention) -> tuple[KvComponent, ...]:
    """One latent and one rotated key for all heads, and a key of each index.

    Source: vLLM 0.33.0, mla_attention.py, and the index keys of deepseek_v2.py.
    """
    values = attention.rank + attention.rope_width
    latent = KvComponent("latent", "latent", model.layers, values)
    full = full_indexers(model)
    if attention.indexer is None or full is None:
        return (latent,)
    width = attention.indexer.width
    return latent, KvComponent("indexer", "indexer", full, width, conservative_layers=model.layers)


def _grouped(model: Model, attention: GroupedAttention) -> tuple[KvComponent, ...]:
    """A key and a value of every group of heads."""
    if attention.windowed is None:
        return ()
    values = 2 * attention.kv_heads * attention.width
    windows = sum(attention.windowed)
    found = []
    if windows < model.layers:
        found.append(KvComponent("attention", "attention", model.layers - windows, values))
    if windows:
        window = KvComponent("window", "window", windows, values, window=attention.window)
        found.append(window)
    return tuple(found)
