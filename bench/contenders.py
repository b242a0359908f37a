"""The contenders, each in a process of its own, which prints JSON.

``contenders.py NAME N FOLDER on|off`` decides N systems; ``FOLDER`` holds the facts as YAML, and
the last word says whether the garbage collector runs.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import GIB, RESERVE_FLOOR, rows
from clock import Clock, report

RULES = Path(__file__).parent / "rules"
BASE = 10**9


def python(n: int, folder: Path, clock: Clock) -> int:
    """Plain Python integers, in the same bytes."""
    given: Any = rows(n)
    with clock.run(), clock.phase("solve"):
        needs = [(row["model"], row["weights"] + row["cache"]) for row in given["model"]]
        found = []
        for row in given["system"]:
            name, capacity = row["system"], row["capacity"]
            # Five times the room, so that a fifth of the capacity is whole.
            room = 5 * capacity - max(capacity, 5 * RESERVE_FLOOR)
            found += [(name, model) for model, need in needs if room >= 5 * need]
        return len(found)


TERMS = """
room(S,q(H-X-1+E/1000000000,E\\1000000000,L\\1000000000)) :-
    capacity(S,q(H,M)), q(X,Y,Z) = q(H/5,(H\\5)*200000000+M/5,(M\\5)*200000000),
    q(X,Y,Z) >= q(8,589934592,0), L = 1000000000-Z, E = M-Y+999999999+L/1000000000.
room(S,q(H-9+E/1000000000,E\\1000000000,0)) :-
    capacity(S,q(H,M)), q(H/5,(H\\5)*200000000+M/5,(M\\5)*200000000) < q(8,589934592,0),
    E = M-589934592+1000000000.
need(X,q(A+C+(B+D)/1000000000,(B+D)\\1000000000,0)) :- weights(X,q(A,B)), cache(X,q(C,D)).
fits(S,X) :- room(S,R), need(X,N), R >= N.
"""
"""The law with an exact figure as one term of limbs, so that any rule compares and passes it on.

Capacities are two limbs base 10**9, a fifth of one is three; `max` is two rules. The term has a
name: facts with a nameless tuple take clingo several times as long to ground.
"""

FLAT = """
room(S,H-X-1+E/1000000000,E\\1000000000,L\\1000000000) :-
    capacity(S,H,M), (H,M) >= (42,949672960), X = H/5, L = 1000000000-(M\\5)*200000000,
    E = M-(H\\5)*200000000-M/5+999999999+L/1000000000.
room(S,H-9+E/1000000000,E\\1000000000,0) :-
    capacity(S,H,M), (H,M) < (42,949672960), E = M-589934592+1000000000.
need(X,A+C+(B+D)/1000000000,(B+D)\\1000000000,0) :- weights(X,A,B), cache(X,C,D).
fits(S,X) :- room(S,H,M,L), need(X,A,B,C), H > A.
fits(S,X) :- room(S,H,M,L), need(X,H,B,C), M > B.
fits(S,X) :- room(S,H,M,L), need(X,H,M,C), L >= C.
"""
"""The law at its fastest: limbs are arguments, `max` is a case of 40 GiB, `>=` three rules."""

_LIMBS = {TERMS: "q({},{})", FLAT: "{},{}"}


def _hand(program: str) -> Callable[[int, Path, Clock], int]:
    def run(n: int, folder: Path, clock: Clock) -> int:
        with clock.phase("import"):
            import clingo
        given: Any = rows(n)
        with clock.run():
            with clock.phase("encode"):
                limbs = _LIMBS[program]
                facts = [
                    f'{column}("{row[table]}",{limbs.format(*divmod(row[column], BASE))}).'
                    for table, column in (
                        ("system", "capacity"),
                        ("model", "weights"),
                        ("model", "cache"),
                    )
                    for row in given[table]
                ]
                text = "\n".join([program, "#show.", *facts])
            control = clingo.Control()
            with clock.phase("add"):
                control.add("base", [], text)
            with clock.phase("ground"):
                control.ground([("base", [])])
            with clock.phase("solve"):
                control.solve()
            with clock.phase("read"):
                return sum(1 for _ in control.symbolic_atoms.by_signature("fits", 2))

    return run


def _ullage(source: str) -> Callable[[int, Path, Clock], int]:
    def run(n: int, folder: Path, clock: Clock) -> int:
        with clock.phase("import"):
            import ullage.policy
        clock.wrap_ullage()
        given = rows(n) if source == "rows" else None
        with clock.run():
            if given is None:
                policy = ullage.policy.Policy.load(RULES, folder)
            else:
                policy = ullage.policy.Policy.load(RULES, rows=given)
            model = policy.model()
            with clock.phase("read"):
                return model.count("fits", 2)

    return run


def compose(n: int, folder: Path, clock: Clock) -> int:
    """PyYAML's C loader composing the same file, with the collector paused, as ullage has it."""
    with clock.phase("import"):
        import yaml
    gc.disable()
    with clock.run(), clock.phase("facts"):
        root = yaml.compose((folder / "fleet.yaml").read_bytes(), yaml.CSafeLoader)
    return _nodes_fit(root)


def _nodes_fit(root: Any) -> int:
    """How many pairs of a composed file fit: the file is the one that the others read."""
    tables: dict[str, list[dict[str, str]]] = {
        key.value: [{k.value: v.value for k, v in row.value} for row in table.value]
        for key, table in root.value
    }
    units = {"B": 1, "GiB": GIB}

    def figure(text: str) -> int:
        digits, unit = text.split()
        return int(digits) * units[unit]

    needs = [figure(row["weights"]) + figure(row["cache"]) for row in tables["model"]]
    capacities = [figure(row["capacity"]) for row in tables["system"]]
    return sum(
        5 * capacity - max(capacity, 5 * RESERVE_FLOOR) >= 5 * need
        for capacity in capacities
        for need in needs
    )


CONTENDERS: dict[str, Callable[[int, Path, Clock], int]] = {
    "python": python,
    "hand-terms": _hand(TERMS),
    "hand-flat": _hand(FLAT),
    "ullage-rows": _ullage("rows"),
    "ullage-yaml": _ullage("yaml"),
    "yaml-compose": compose,
}


def main() -> None:
    """Run one contender and print what it took."""
    name, n, folder, collector = sys.argv[1:]
    contender = CONTENDERS[name]
    report(lambda clock: {"fits": contender(int(n), Path(folder), clock)}, collector)


if __name__ == "__main__":
    main()
