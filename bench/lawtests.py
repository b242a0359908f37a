"""Time law tests judged together against one policy a case, in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from harness import HERE, Ratio, arguments, environment, publish, start

LAWS = HERE.parent / "tests" / "laws"
ALONE = 40
"""How many cases are judged alone: each takes so long that a few of them tell."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["judge"]:
        _judge(int(words[1]))
        return 0
    args = arguments("lawtests.py", __doc__, "250,1000", "cases", contenders=False).parse_args(
        words
    )
    command = start("ullage test", ["-m", "ullage", "test", str(LAWS)], args.repeat, 5)
    ratios = []
    for n in map(int, args.n.split(",")):
        together, alone = _judged(n)
        ratios.append(
            Ratio("a case judged with all others / one policy a case", n, together / alone)
        )
    publish(args.json, (), ratios, [command])
    return 0


def _judged(n: int) -> tuple[float, float]:
    """CPU seconds a case, together and alone, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "judge", str(n)],
        cwd=HERE.parent,
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    together, alone = json.loads(done.stdout)
    return together, alone


def _judge(n: int) -> None:
    """Judge so many of the shipped cases, round and round; print what a case took."""
    from dataclasses import replace

    from ullage import Policy
    from ullage.lawtests import load_cases
    from ullage.lawtests.alone import judge_alone
    from ullage.lawtests.batch import Batch

    policy = Policy.load(rules=[HERE.parent / "rules"], rows={})
    shipped = [case for path in sorted(LAWS.glob("*.yaml")) for case in load_cases(path).cases]
    cases = [replace(shipped[i % len(shipped)], name=f"case {i}") for i in range(n)]
    begin = time.process_time()
    together = Batch(policy).judge(cases)
    middle = time.process_time()
    few = cases[:: max(n // ALONE, 1)]
    alone = [judge_alone(case, policy) for case in few]
    end = time.process_time()
    found = dict(zip((r.name for r in together), together, strict=True))
    if any(found[r.name].outcome is not r.outcome for r in alone):
        raise AssertionError("a case ends otherwise alone than together")
    print(json.dumps([(middle - begin) / n, (end - middle) / len(few)]))


if __name__ == "__main__":
    sys.exit(main())
