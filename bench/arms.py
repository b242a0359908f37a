"""Time the fit of many arms: every tier of each, over the models of the shipped catalog."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import HERE, arguments, publish, start

FACTS = HERE.parent / "facts"
ARTIFACTS = (
    "glm-5.2-fp8",
    "deepseek-v3-fp8",
    "qwen3-235b-a22b-fp8",
    "gpt-oss-120b",
    "llama-3.3-70b-bf16",
)
OFFLOADS = ("none", "uva", "uva", "prefetch")
FILTERS = ("", "[experts]", "[experts, self_attn]", "[mlp]")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure whole commands, and print their times."""
    parser = arguments("arms.py", __doc__, "200", "arms", contenders=False)
    args = parser.parse_args(argv)
    starts = []
    for n in map(int, args.n.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "arms.yaml").write_text("".join(arms(n)), encoding="utf-8")
            words = ["-m", "ullage", "standings", "arm_memory_fit", "--format", "json"]
            words += ["--facts", str(FACTS), "--facts", folder]
            starts.append(start(f"the fit of {n} arms", words, args.repeat, 2.0))
    publish(args.json, (), (), starts)
    return 0


def arms(n: int) -> Iterator[str]:
    """Rows of arms, alike on every machine, each with a budget or a group of its own."""
    yield "arm:\n"
    for i in range(n):
        yield f"  - arm: arm-{i}\n    host: nominal-gh200\n    release: vllm@0.33.0\n"
        yield f"    artifact: {ARTIFACTS[i % 5]}\n    offload: {OFFLOADS[i % 4]}\n"
        yield f"    cpu_offload: {i * 7919 % 400} GiB\n"
        yield f"    prefetch_group_size: {1 + i % 9}\n    prefetch_num_in_group: 1\n"
        yield f"    prefetch_step: {1 + i % 3}\n    gpu_memory_utilization: 0.9\n"
        yield f"    context_tokens: {4096 + i}\n    concurrency: 1\n    kv_dtype: F16\n"
        yield "    workspace: 2 GiB\n    speculative: false\n"
        if FILTERS[i % 7 % 4]:
            yield f"    offload_params: {FILTERS[i % 7 % 4]}\n"
    yield "offload_reading:\n"
    for i in range(n):
        yield f"  - {{arm: arm-{i}, uva_available: true, uva_disabled: false}}\n"


if __name__ == "__main__":
    sys.exit(main())
