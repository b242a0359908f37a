"""A model as its configuration tells it: sizes, and which layers are of which kind.

Every size is of the whole model; what a rank of a parallel launch holds is no matter of a model's.
"""

from __future__ import annotations

from dataclasses import dataclass

from ullage.importers.layouts.formats import Quantization, Unknown


@dataclass(frozen=True, slots=True)
class Indexer:
    """What picks the positions that sparse attention reads.

    ``full`` tells for each decoder layer whether it has an index of its own; others share one.
    """

    heads: int
    width: int
    topk: int
    full: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Attention over one latent a token (MLA); ``query_rank`` is None where queries have none."""

    heads: int
    query_rank: int | None
    rank: int
    nope_width: int
    rope_width: int
    value_width: int
    indexer: Indexer | None = None


@dataclass(frozen=True, slots=True)
class GroupedAttention:
    """Attention whose heads share keys and values in groups.

    ``windowed`` tells for each decoder layer whether it reads ``window`` tokens alone; None where
    the configuration has a window and does not tell on which layers.
    """

    heads: int
    kv_heads: int
    width: int
    biased: bool = False
    output_biased: bool = False
    normed: bool = False
    sinks: bool = False
    windowed: tuple[bool, ...] | None = ()
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Experts:
    """Routed experts, with those that every token takes beside them.

    ``sparse`` tells for each layer, blocks for speculation among them, whether it has experts.
    ``packed`` says that a checkpoint keeps all experts of a layer in one tensor; such experts and
    their router have biases. ``corrected`` says that the router has a bias for balance.
    """

    count: int
    width: int
    shared_width: int
    sparse: tuple[bool, ...]
    corrected: bool = False
    packed: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """A model of one class.

    ``speculative`` is the number of blocks for speculation, stored after the ``layers`` decoder
    layers; ``own_embedding`` says that each has an embedding and a head of its own. ``tied`` is
    None where the configuration does not tell. ``no_layout`` says why its parameters are not
    known, and is None where they are.
    """

    class_name: str
    layers: int
    hidden: int
    vocabulary: int
    attention: LatentAttention | GroupedAttention
    dense_width: int
    quantization: Quantization
    experts: Experts | None = None
    dense_biased: bool = False
    speculative: int = 0
    own_embedding: bool = False
    tied: bool | None = None
    no_layout: Unknown | None = None

    @property
    def sparse(self) -> tuple[bool, ...]:
        """For each layer, blocks for speculation among them, whether it has experts."""
        if self.experts is None:
            return (False,) * (self.layers + self.speculative)
        return self.experts.sparse
