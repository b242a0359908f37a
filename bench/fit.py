"""Time one fit law by ullage, by hand-written clingo and by plain Python."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cases import MODELS, write_yaml
from harness import (
    Ratio,
    Result,
    arguments,
    contest,
    growths,
    in_turns,
    publish,
    start,
)

CONTENDERS = (
    "python",
    "hand-terms",
    "hand-flat",
    "ullage-rows",
    "ullage-yaml",
    "yaml-compose",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where the contenders disagree."""
    parser = arguments("fit.py", __doc__, "1000,10000,100000", "systems")
    args = parser.parse_args(argv)
    sizes = [int(n) for n in args.n.split(",")]

    def compete(n: int) -> tuple[list[Result], bool]:
        with tempfile.TemporaryDirectory() as folder:
            write_yaml(n, Path(folder))
            words = [str(n), folder, "off" if args.no_gc else "on"]
            return in_turns("contenders.py", CONTENDERS, n, words, args.repeat)

    heading = (
        f"N systems x {len(MODELS)} models; medians in CPU seconds and MiB; the total",
        "leaves out imports and the making of rows",
    )
    results = contest(sizes, compete, heading)
    if results is None:
        return 1
    ratios = _ratios(results, sizes)
    starts = [
        start(f"ullage {verb}", ["-m", "ullage", verb], max(args.repeat, 5), target)
        for verb, target in (("--version", 0.2), ("check", 1.0))
    ]
    publish(args.json, results, ratios, starts)
    return 0


def _ratios(results: Sequence[Result], sizes: Sequence[int]) -> list[Ratio]:
    found = {(r.n, r.contender): r for r in results}
    ratios = []
    for n in sizes:
        rows, yaml = found[n, "ullage-rows"].seconds, found[n, "ullage-yaml"].seconds
        for hand in ("hand-terms", "hand-flat"):
            other = found[n, hand].seconds
            ratios += [
                Ratio(f"grounding, rows / {hand}", n, rows["ground"] / other["ground"], 1.3),
                Ratio(
                    f"parsing and grounding, rows / {hand}",
                    n,
                    (rows["add"] + rows["ground"]) / (other["add"] + other["ground"]),
                ),
                Ratio(f"whole run, rows / {hand}", n, rows["total"] / other["total"], 2.0),
                Ratio(
                    f"peak memory, rows / {hand}",
                    n,
                    found[n, "ullage-rows"].peak_mib / found[n, hand].peak_mib,
                ),
            ]
        plain = found[n, "python"].seconds
        composed = found[n, "yaml-compose"].seconds
        ratios += [
            Ratio("whole run, rows / python", n, rows["total"] / plain["total"]),
            Ratio("load of YAML / compose", n, yaml["facts"] / composed["facts"], 3.0),
        ]
    return ratios + growths(results, sizes)


if __name__ == "__main__":
    sys.exit(main())
