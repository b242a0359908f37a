"""Time what-ifs against one run of ``ullage standings`` over the same facts, in the same run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from arms import FACTS
from arms import arms as many_arms
from cases import draws
from harness import HERE, Ratio, Start, arguments, environment, publish, start
from route_cases import rows, write_yaml

NODES = 10
QUESTIONS = 5
SMALL = HERE.parent / "docs" / "small" / "rules"


@dataclass(frozen=True, slots=True)
class Catalog:
    """A kind of catalog: how many subjects a unit of it has, its flags, and what is supposed.

    ``one`` is a cell that few subjects rest on, with values to ask for, ``all`` one that most do.
    """

    name: str
    subjects: int
    write: Callable[[int, Path], None]
    flags: Sequence[str]
    one: tuple[str, Sequence[str]]
    all: str


def _room(n: int, folder: Path) -> None:
    """Jobs of the small policy of the documentation, on a tenth as many machines."""
    drawn = draws()
    machines, jobs = [], []
    for i in range(n // 10 or 1):
        memory = f"{64 + next(drawn) % 960} GiB"
        spare = "" if i % 3 else f", spare: {next(drawn) % 40}%"
        machines.append(
            f"  - {{machine: m{i}, memory: {memory}, state: up, source: a bench{spare}}}\n"
        )
    for i in range(n):
        need = f"{1 + next(drawn) % 900} GiB"
        jobs.append(f"  - {{job: j{i}, machine: m{i % len(machines)}, need: {need}}}\n")
    text = f"machine:\n{''.join(machines)}job:\n{''.join(jobs)}"
    (folder / "jobs.yaml").write_text(text, encoding="utf-8")


def _arms(n: int, folder: Path) -> None:
    (folder / "arms.yaml").write_text("".join(many_arms(n)), encoding="utf-8")


CATALOGS = (
    Catalog(
        "jobs",
        1,
        _room,
        ["--rules", str(SMALL)],
        ("machine/m7/spare", ("5%", "15%", "25%", "35%", "45%")),
        "machine/m0/spare=50%",
    ),
    Catalog(
        "routes",
        NODES + 1,
        lambda n, folder: write_yaml(rows(n, NODES), folder),
        [],
        ("host/host-000009-3/system_ram", ("8 GiB", "16 GiB", "32 GiB", "48 GiB", "64 GiB")),
        "reserve_policy/standard/fraction=25%",
    ),
    Catalog(
        "arms",
        5,
        _arms,
        ["--facts", str(FACTS)],
        ("arm/arm-77/cpu_offload", ("1 GiB", "50 GiB", "90 GiB", "180 GiB", "380 GiB")),
        "reserve_policy/standard/fraction=25%",
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["ask"]:
        _ask(words[1], words[2:])
        return 0
    parser = arguments("whatif.py", __doc__, "10000", "subjects", contenders=False)
    args = parser.parse_args(words)
    ratios: list[Ratio] = []
    starts: list[Start] = []
    for n in map(int, args.n.split(",")):
        for catalog in CATALOGS:
            with tempfile.TemporaryDirectory() as folder:
                catalog.write(max(n // catalog.subjects, 100), Path(folder))
                found = _measured(catalog, n, [*catalog.flags, "--facts", folder], args.repeat)
            ratios += found[0]
            starts += found[1]
    publish(args.json, (), ratios, starts)
    return 0


def _measured(
    catalog: Catalog, n: int, flags: Sequence[str], repeat: int
) -> tuple[list[Ratio], list[Start]]:
    """A catalog's commands in turns, and many what-ifs of one loaded policy."""
    cell, values = catalog.one
    commands = {
        "standings": ["standings"],
        "what-if, one cell": ["what-if", "--set", f"{cell}={values[0]}"],
        "what-if, a cell of many": ["what-if", "--set", catalog.all],
    }
    of = f"{catalog.name}, about {n} subjects"
    runs: dict[str, list[Start]] = {name: [] for name in commands}
    asked: list[Mapping[str, float]] = []
    for _ in range(repeat):
        for name, verb in commands.items():
            words = ["-m", "ullage", *verb, *flags, "--format", "json"]
            runs[name].append(start(f"{name}; {of}", words, 1))
        asked.append(_asked(flags, [f"{cell}={v}" for v in values]))
    starts = [
        Start(
            found[0].command,
            median(s.seconds for s in found),
            median(s.cpu_seconds for s in found),
        )
        for found in runs.values()
    ]
    whole = starts[0].cpu_seconds
    middle = {name: median(times[name] for times in asked) for name in asked[0]}
    ratios = [
        Ratio(
            f"{catalog.name}: what-if of one cell / standings", n, starts[1].cpu_seconds / whole, 1
        ),
        Ratio(
            f"{catalog.name}: what-if of a cell of many / standings",
            n,
            starts[2].cpu_seconds / whole,
        ),
        Ratio(
            f"{catalog.name}: the next what-if of one policy / Policy.standings",
            n,
            middle["next"] / middle["standings"],
            0.5,
        ),
    ]
    return ratios, starts


def _asked(flags: Sequence[str], texts: Sequence[str]) -> Mapping[str, float]:
    """CPU seconds of questions to one policy, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "ask", json.dumps(list(flags)), *texts],
        cwd=HERE.parent,
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: Mapping[str, float] = json.loads(done.stdout)
    return found


def _ask(flags: str, texts: Sequence[str]) -> None:
    """Ask one policy for its standings, and then for each what-if; print what it took."""
    from ullage import Policy

    words: list[str] = json.loads(flags)
    pairs = list(zip(words[::2], words[1::2], strict=True))
    rules, facts = ([d for flag, d in pairs if flag == kind] for kind in ("--rules", "--facts"))
    policy = Policy.load(rules or None, facts)
    times = []
    for work in (policy.standings, *(_question(policy, text) for text in texts)):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    print(json.dumps({"standings": times[0], "first": times[1], "next": median(times[2:])}))


def _question(policy: object, text: str) -> Callable[[], object]:
    from ullage import Policy

    assert isinstance(policy, Policy)
    return lambda: policy.what_if([policy.read_set(text)])


if __name__ == "__main__":
    sys.exit(main())
