"""The shipped rows of parameters, as the importer makes them of the configurations in configs/.

``python tests/parameter_facts.py`` writes them; a test holds the files against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ullage.importers.config import parameter_rows, read_config, weights_of
from ullage.importers.rows import Imported

CONFIGS = Path(__file__).resolve().parent / "configs"
FACTS = Path(__file__).resolve().parents[1] / "facts" / "models" / "parameters"

_COPIES = "ai-dynamo/aiconfigurator model_configs, commit 095f58a"
_ENGINE = "vLLM 0.29.0 (names, order)"
_HEAD = (
    "Bytes are those of the tensors in the checkpoint. Names and order are those of vLLM 0.29.0 on "
    "CUDA, but that its experts are in `mlp.experts.routed_experts`."
)
_BIAS = (
    "The total of the artifact counts no buffers, so that the router's bias for balance (256 "
    "values in f32 for each layer with experts) is not here, either."
)
_KEYS = (
    "An engine keeps the indexer's wk and weights_proj as one parameter in bf16, and the norm of "
    "its keys in f32: 786,752 bytes more for each layer that has an index of its own."
)


@dataclass(frozen=True, slots=True)
class Shipped:
    """The parameters of one artifact; ``notes`` stand at the top of their file."""

    artifact: str
    notes: tuple[str, ...]
    sizes: str = _COPIES

    @property
    def config(self) -> Path:
        """The configuration that they follow from."""
        return CONFIGS / f"{self.artifact}.json"

    @property
    def file(self) -> Path:
        """The facts."""
        return FACTS / f"{self.artifact}.yaml"

    @property
    def text(self) -> str:
        """What the file holds."""
        source = f"{self.sizes}; {_ENGINE}"
        rows = parameter_rows(weights_of(read_config(self.config)), self.artifact, source)
        return Imported(rows, (f"Parameters of {self.artifact}. {_HEAD}", *self.notes)).text


SHIPPED = (
    Shipped(
        "glm-5.2-fp8",
        (
            "745,584,430,656 bytes of the model, and 10,032,631,936 of the block for speculation, "
            "which is layer 78 and uses embedding and head of the model.",
            _BIAS,
            _KEYS,
        ),
    ),
    Shipped(
        "deepseek-v3-fp8",
        (
            "673,150,552,416 bytes of the model, and 15,424,226,528 of the block for speculation, "
            "which is layer 61 and has an embedding and a head of its own.",
            _BIAS,
        ),
    ),
    Shipped("qwen3-235b-a22b-fp8", ("Scales are in f32.",)),
    Shipped(
        "gpt-oss-120b",
        (
            "Experts are in MXFP4: two values a byte, and a scale of one byte for 32. An engine "
            "may pad them as it makes them, as its backend needs it.",
        ),
    ),
    Shipped("llama-3.3-70b-bf16", (), f"Llama-3.1-70B copy in {_COPIES}"),
)


def main() -> None:
    """Write every file."""
    FACTS.mkdir(exist_ok=True)
    for shipped in SHIPPED:
        shipped.file.write_text(shipped.text, encoding="utf-8")


if __name__ == "__main__":
    main()
