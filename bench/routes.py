"""Time the laws of routes by ullage, by hand-written clingo and by plain Python."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import (
    HERE,
    Ratio,
    Result,
    Start,
    arguments,
    contest,
    growths,
    in_turns,
    publish,
    start,
)
from route_cases import MOST_NODES, rows, write_yaml

CONTENDERS = ("python", "hand-terms", "ullage-rows", "ullage-yaml")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where the contenders disagree."""
    parser = arguments("routes.py", __doc__, "100,1000,10000", "routes")
    parser.add_argument("--nodes", type=int, default=10, help="nodes of each route (%(default)s)")
    args = parser.parse_args(argv)
    if not 1 <= args.nodes <= MOST_NODES:
        parser.error(f"--nodes takes 1 to {MOST_NODES}")
    sizes = [int(n) for n in args.n.split(",")]

    def compete(n: int) -> tuple[list[Result], bool]:
        with tempfile.TemporaryDirectory() as folder:
            write_yaml(rows(n, args.nodes), Path(folder))
            words = [str(n), str(args.nodes), folder, "off" if args.no_gc else "on"]
            return in_turns("route_contenders.py", CONTENDERS, n, words, args.repeat)

    heading = (
        f"N routes of {args.nodes} nodes, each a host of its own; medians in CPU seconds and MiB;",
        "the total leaves out imports and the making of rows",
    )
    results = contest(sizes, compete, heading)
    if results is None:
        return 1
    ratios = _ratios(results, sizes)
    starts = _starts(args.repeat)
    publish(args.json, results, ratios, starts)
    return 0


def _ratios(results: Sequence[Result], sizes: Sequence[int]) -> list[Ratio]:
    found = {(r.n, r.contender): r for r in results}
    ratios = []
    for n in sizes:
        rows, hand = found[n, "ullage-rows"].seconds, found[n, "hand-terms"].seconds
        ratios += [
            Ratio("grounding, rows / hand-terms", n, rows["ground"] / hand["ground"]),
            Ratio(
                "parsing and grounding, rows / hand-terms",
                n,
                (rows["add"] + rows["ground"]) / (hand["add"] + hand["ground"]),
            ),
        ]
        for name in ("hand-terms", "python"):
            other = found[n, name]
            ratios += [
                Ratio(
                    f"whole run, {of} / {name}", n, each.seconds["total"] / other.seconds["total"]
                )
                for of, each in (
                    ("rows", found[n, "ullage-rows"]),
                    ("YAML", found[n, "ullage-yaml"]),
                )
            ]
            peak = found[n, "ullage-rows"].peak_mib / other.peak_mib
            ratios.append(Ratio(f"peak memory, rows / {name}", n, peak))
    return ratios + growths(results, sizes)


def _starts(repeat: int) -> list[Start]:
    """Whole commands: on the shipped catalog, and over a thousand routes."""
    n, nodes = "1000", "10"
    with tempfile.TemporaryDirectory() as folder:
        write_yaml(rows(int(n), int(nodes)), Path(folder))
        command = ["-m", "ullage", "plan"]
        script = [str(HERE / "route_contenders.py"), "ullage-rows", n, nodes, folder, "on"]
        over = f"over {n} routes of {nodes} nodes"
        return [
            start("ullage plan, over the shipped catalog", command, max(repeat, 5), 1.0),
            start(f"Policy.plan() {over}, from rows", script, repeat, 5.0),
            start(f"ullage plan {over}, from YAML", [*command, "--facts", folder], repeat, 5.0),
        ]


if __name__ == "__main__":
    sys.exit(main())
