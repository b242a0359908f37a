"""What the benchmarks share: contenders run in turns, their medians, ratios, and the tables."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
PHASES = ("import", "rules", "facts", "encode", "add", "ground", "solve", "read", "other", "total")

Answer = dict[str, int | str]


@dataclass(frozen=True, slots=True)
class Result:
    """What one contender found, and the medians of its runs; times in CPU seconds."""

    n: int
    contender: str
    answer: Answer
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
    """The medians of one whole command, in seconds; the target, if any, is one of wall time."""

    command: str
    seconds: float
    cpu_seconds: float
    target: float | None = None


def arguments(
    prog: str, doc: str | None, sizes: str, what: str, *, contenders: bool = True
) -> argparse.ArgumentParser:
    """The flags that the benchmarks share; those with contenders may run them uncollected."""
    parser = argparse.ArgumentParser(prog=prog, description=doc)
    parser.add_argument("--n", default=sizes, help=f"numbers of {what} (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each (%(default)s)")
    if contenders:
        parser.add_argument("--no-gc", action="store_true", help="no garbage collection, in all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


def contest(
    sizes: Sequence[int],
    compete: Callable[[int], tuple[list[Result], bool]],
    heading: Sequence[str],
) -> list[Result] | None:
    """Every contender over every size, printed as they come; None where two disagree."""
    results: list[Result] = []
    for n in sizes:
        found, agreed = compete(n)
        results += found
        _print_results(found, heading if n == sizes[0] else ())
        if not agreed:
            answers = ", ".join(
                f"{r.contender} {' '.join(map(str, r.answer.values()))}" for r in found
            )
            print(f"the contenders disagree on N = {n}: {answers}", file=sys.stderr)
            return None
    return results


def in_turns(
    script: str, contenders: Sequence[str], n: int, words: Sequence[str], repeat: int
) -> tuple[list[Result], bool]:
    """All contenders over one input, in turns, and whether every answer of every run agreed."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    answers: dict[str, Answer] = {}
    agreed = True
    for _ in range(repeat):
        for name in contenders:
            done = subprocess.run(
                [sys.executable, script, name, *words],
                cwd=HERE,
                env=environment(),
                stdout=subprocess.PIPE,
                check=True,
            )
            record = json.loads(done.stdout)
            agreed &= record["answer"] == answers.setdefault(name, record["answer"])
            runs[name].append({**record["seconds"], "peak_mib": record["peak_mib"]})
    results = []
    for name, found in runs.items():
        middle = {k: median(r[k] for r in found) for k in found[0]}
        peak = middle.pop("peak_mib")
        results.append(Result(n, name, answers[name], middle, peak))
    first = answers[contenders[0]]
    return results, agreed and all(a == first for a in answers.values())


def environment() -> dict[str, str]:
    """This checkout's ullage, whatever is installed."""
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *([known] if known else [])])}


def growths(results: Sequence[Result], sizes: Sequence[int]) -> list[Ratio]:
    """How each contender's total grows from one size to the next, by the rows."""
    found = {(r.n, r.contender): r for r in results}
    ratios = []
    for small, large in pairwise(sizes):
        for name in dict.fromkeys(r.contender for r in results):
            growth = found[large, name].seconds["total"] / found[small, name].seconds["total"]
            ratios.append(Ratio(f"growth of {name} from {small}", large, growth / (large / small)))
    return ratios


def start(command: str, words: Sequence[str], repeat: int, target: float | None = None) -> Start:
    """Time a whole command of Python, its start-up included."""
    walls, cpus = [], []
    for _ in range(repeat):
        begin, spent = time.perf_counter(), _children()
        done = subprocess.run(
            [sys.executable, *words], cwd=HERE.parent, env=environment(), capture_output=True
        )
        walls.append(time.perf_counter() - begin)
        cpus.append(_children() - spent)
        if done.returncode:
            sys.stderr.buffer.write(done.stderr)
            done.check_returncode()
    return Start(command, median(walls), median(cpus), target)


def _children() -> float:
    """CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print_results(results: Sequence[Result], heading: Sequence[str]) -> None:
    counts = [name for name, found in results[0].answer.items() if isinstance(found, int)]
    if heading:
        print("\n".join(heading) + "\n")
        names = "".join(f"{c:>{_width(c)}}" for c in counts)
        columns = "".join(f"{p:>8}" for p in PHASES)
        print(f"{'N':>7}  {'contender':<12}{names}{columns}{'peak':>7}")
    for r in results:
        found = "".join(f"{r.answer[c]:>{_width(c)}}" for c in counts)
        times = "".join(
            f"{r.seconds[p]:8.3f}" if r.seconds.get(p, 0) else f"{'':8}" for p in PHASES
        )
        print(f"{r.n:>7}  {r.contender:<12}{found}{times}{r.peak_mib:7.0f}")
    print(flush=True)


def _width(column: str) -> int:
    return max(8, len(column) + 2)


def publish(
    file: Path | None,
    results: Sequence[Result],
    ratios: Sequence[Ratio],
    starts: Sequence[Start],
) -> None:
    """Print ratios and times, and write all figures of the run where a file is named."""
    if ratios:
        _print_ratios(ratios)
    if starts:
        _print_starts(starts)
    if file is not None:
        _write_json(file, results, ratios, starts)


def _print_ratios(ratios: Sequence[Ratio]) -> None:
    """Print ratios as lines, a column each size."""
    sizes = list(dict.fromkeys(r.n for r in ratios))
    print("".join(f"{n:>9}" for n in sizes) + "   ratio")
    for what in dict.fromkeys(r.what for r in ratios):
        here = {r.n: r for r in ratios if r.what == what}
        cells = "".join(f"{here[n].ratio:9.2f}" if n in here else " " * 9 for n in sizes)
        target = next(iter(here.values())).target
        print(f"{cells}   {what}" + (f" (to stay within {target:g})" if target else ""))
    if any(r.what.startswith("growth") for r in ratios):
        print("\ngrowth is by the rows: 1 is linear; below 1, what is fixed still counts")
    print()


def _print_starts(starts: Sequence[Start]) -> None:
    """Print the times of whole commands."""
    print(f"{'wall':>9}{'CPU':>9}   whole command, in seconds")
    for each in starts:
        times = f"{each.seconds:9.3f}{each.cpu_seconds:9.3f}"
        within = f" (wall to stay within {each.target:g} s)" if each.target else ""
        print(f"{times}   {each.command}{within}")


def _write_json(
    file: Path, results: Sequence[Result], ratios: Sequence[Ratio], starts: Sequence[Start]
) -> None:
    """Write all figures of a run."""
    figures = {
        "results": [
            {
                "n": r.n,
                "contender": r.contender,
                **r.answer,
                "seconds": r.seconds,
                "peak_mib": r.peak_mib,
            }
            for r in results
        ],
        "ratios": [asdict(r) for r in ratios],
        "starts": [asdict(s) for s in starts],
    }
    file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
