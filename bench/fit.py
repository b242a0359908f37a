"""Time one fit law by ullage, by hand-written clingo and by plain Python."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from cases import MODELS, write_yaml

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
CONTENDERS = (
    "python",
    "hand-terms",
    "hand-flat",
    "ullage-rows",
    "ullage-yaml",
    "yaml-compose",
)
PHASES = ("import", "rules", "facts", "encode", "add", "ground", "solve", "read", "other", "total")


@dataclass(frozen=True, slots=True)
class Result:
    """The medians of one contender's runs over one fleet; times in CPU seconds."""

    n: int
    contender: str
    fits: int
    seconds: dict[str, float]
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two measurements of one run, and what it is to stay below, if anything."""

    what: str
    n: int
    ratio: float
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """The median wall time of one command line on the shipped catalog, in seconds."""

    command: str
    seconds: float
    target: float


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where the contenders disagree."""
    parser = argparse.ArgumentParser(prog="fit.py", description=__doc__)
    parser.add_argument("--n", default="1000,10000,100000", help="numbers of systems (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--no-gc", action="store_true", help="no garbage collection, in all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    args = parser.parse_args(argv)
    sizes = [int(n) for n in args.n.split(",")]
    results: list[Result] = []
    for n in sizes:
        found, agreed = _fleet(n, args.repeat, "off" if args.no_gc else "on")
        results += found
        _print_results(found, first=n == sizes[0])
        if not agreed:
            counts = ", ".join(f"{r.contender} {r.fits}" for r in found)
            print(f"the contenders disagree on N = {n}: {counts}", file=sys.stderr)
            return 1
    ratios = _ratios(results, sizes)
    starts = [_start(verb, args.repeat, t) for verb, t in (("--version", 0.2), ("check", 1.0))]
    _print_ratios(ratios)
    _print_starts(starts)
    if args.json is not None:
        figures = {
            "results": [asdict(r) for r in results],
            "ratios": [asdict(r) for r in ratios],
            "starts": [asdict(s) for s in starts],
        }
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def _fleet(n: int, repeat: int, collector: str) -> tuple[list[Result], bool]:
    """All contenders over one fleet, in turns, and whether every count of every run agreed."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    fits: dict[str, int] = {}
    agreed = True
    with tempfile.TemporaryDirectory() as folder:
        write_yaml(n, Path(folder))
        for _ in range(repeat):
            for name in CONTENDERS:
                command = ["contenders.py", name, str(n), folder, collector]
                done = subprocess.run(
                    [sys.executable, *command],
                    cwd=HERE,
                    env=_environment(),
                    stdout=subprocess.PIPE,
                    check=True,
                )
                record = json.loads(done.stdout)
                agreed &= record["fits"] == fits.setdefault(name, record["fits"])
                runs[name].append({**record["seconds"], "peak_mib": record["peak_mib"]})
    results = []
    for name, found in runs.items():
        middle = {k: median(r[k] for r in found) for k in found[0]}
        peak = middle.pop("peak_mib")
        results.append(Result(n, name, fits[name], middle, peak))
    return results, agreed and len(set(fits.values())) == 1


def _environment() -> dict[str, str]:
    """This checkout's ullage, whatever is installed."""
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *([known] if known else [])])}


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
    for small, large in pairwise(sizes):
        for name in CONTENDERS:
            growth = found[large, name].seconds["total"] / found[small, name].seconds["total"]
            ratios.append(Ratio(f"growth of {name} from {small}", large, growth / (large / small)))
    return ratios


def _start(verb: str, repeat: int, target: float) -> Start:
    taken = []
    for _ in range(max(repeat, 5)):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "ullage", verb],
            cwd=HERE.parent,
            env=_environment(),
            stdout=subprocess.DEVNULL,
            check=True,
        )
        taken.append(time.perf_counter() - start)
    return Start(f"ullage {verb}", median(taken), target)


def _print_results(results: Sequence[Result], *, first: bool) -> None:
    if first:
        print(f"N systems x {len(MODELS)} models; medians in CPU seconds and MiB; the total")
        print("leaves out imports and the making of rows\n")
        columns = "".join(f"{p:>8}" for p in PHASES)
        print(f"{'N':>7}  {'contender':<12} {'fits':>7}{columns}{'peak':>7}")
    for r in results:
        times = "".join(
            f"{r.seconds[p]:8.3f}" if r.seconds.get(p, 0) else f"{'':8}" for p in PHASES
        )
        print(f"{r.n:>7}  {r.contender:<12} {r.fits:>7}{times}{r.peak_mib:7.0f}")
    print(flush=True)


def _print_ratios(ratios: Sequence[Ratio]) -> None:
    sizes = list(dict.fromkeys(r.n for r in ratios))
    print("".join(f"{n:>9}" for n in sizes) + "   ratio")
    for what in dict.fromkeys(r.what for r in ratios):
        here = {r.n: r for r in ratios if r.what == what}
        cells = "".join(f"{here[n].ratio:9.2f}" if n in here else " " * 9 for n in sizes)
        target = next(iter(here.values())).target
        print(f"{cells}   {what}" + (f" (to stay within {target:g})" if target else ""))
    print("\ngrowth is by the rows: 1 is linear; below 1, what is fixed still counts\n")


def _print_starts(starts: Sequence[Start]) -> None:
    for start in starts:
        print(f"{start.seconds:9.3f}   {start.command} (to stay within {start.target:g} s)")


if __name__ == "__main__":
    sys.exit(main())
