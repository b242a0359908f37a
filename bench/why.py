"""Time why and why-not over many subjects, beyond loading and solving, against the solving itself.

Each run is a process of its own. It loads and solves the policy, asks the first question and some
more of the same kind, then solves once more, which is the baseline.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TypeVar

from arms import FACTS, arms
from harness import HERE, Ratio, arguments, environment, publish

Result = TypeVar("Result")

LAW = "arm_memory_fit"
MORE = 20
"""How many questions are asked after the first one of a kind."""

TARGETS = {"first why": 1.0, "first why-not": 1.0, "another why": 0.1, "another why-not": 0.1}
"""What a question may take, as a part of one solving."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print a table and the ratios."""
    parser = arguments("why.py", __doc__, "1000,10000", "arms", contenders=False)
    parser.add_argument("--measure", type=int, metavar="N", help="one run of N arms, as JSON")
    args = parser.parse_args(argv)
    if args.measure is not None:
        print(json.dumps(_measure(args.measure)))
        return 0
    ratios = []
    for n in map(int, args.n.split(",")):
        runs = [_run(n) for _ in range(args.repeat)]
        middle = {what: median(run[what] for run in runs) for what in runs[0]}
        print(f"{n} arms, CPU seconds")
        for what, seconds in middle.items():
            print(f"{seconds:10.4f}   {what}")
        print(flush=True)
        ratios += [
            Ratio(f"{what} / solve again", n, middle[what] / middle["solve again"], target)
            for what, target in TARGETS.items()
        ]
    publish(args.json, (), ratios, ())
    return 0


def _run(n: int) -> dict[str, float]:
    """One run in a process of its own."""
    words = [sys.executable, str(Path(__file__).resolve()), "--measure", str(n)]
    done = subprocess.run(words, cwd=HERE, env=environment(), stdout=subprocess.PIPE, check=True)
    return {str(k): float(v) for k, v in json.loads(done.stdout).items()}


def _measure(n: int) -> dict[str, float]:
    """CPU seconds of each part of a run. Answers are written out, too, as a tree."""
    from ullage import Policy, StandingClass
    from ullage.yamlnodes import collector_paused

    found: dict[str, float] = {}
    # As every verb of the command does.
    with tempfile.TemporaryDirectory() as folder, collector_paused():
        (Path(folder) / "arms.yaml").write_text("".join(arms(n)), encoding="utf-8")
        rules = HERE.parent / "rules"
        policy = _timed(found, "load", lambda: Policy.load(rules, [FACTS, Path(folder)]))
        _timed(found, "solve", policy.model)
        standings = policy.standings(LAW)
        names = [s.subject_text for s in standings]
        others = [s.subject_text for s in standings if s.standing is not StandingClass.ESTABLISHED]
        _ask(found, "why", policy.why, _spread(names))
        _ask(found, "why-not", policy.why_not, _spread(others))
        again = Policy.load(rules, [FACTS, Path(folder)])
        _timed(found, "solve again", again.model)
    return found


def _ask(
    found: dict[str, float], what: str, ask: Callable[..., object], subjects: Iterator[str]
) -> None:
    """Time the first question of a kind, and the median of those after it."""
    _timed(found, f"first {what}", lambda: str(ask(LAW, next(subjects))))
    times: dict[str, float] = {}
    for number in range(MORE):
        _timed(times, str(number), lambda: str(ask(LAW, next(subjects))))
    found[f"another {what}"] = median(times.values())


def _spread(names: Sequence[str]) -> Iterator[str]:
    """Names from all over a list, in a fixed order, each once."""
    number = len(names)
    yield from (names[i * 7919 % number] for i in range(number))


def _timed(found: dict[str, float], what: str, work: Callable[[], Result]) -> Result:
    start = time.process_time()
    result = work()
    found[what] = time.process_time() - start
    return result


if __name__ == "__main__":
    sys.exit(main())
