"""What every contender's process has: a clock by phases, and the line of JSON that it prints.

Times are CPU seconds, which a busy machine disturbs less than wall time; ``total`` is all of a run
but its imports and the making of its rows. Phases inside ullage and clingo are timed by wrappers
around the functions that are a phase, alike for all.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


class Clock:
    """CPU seconds by phase, in total, and the peak memory by the end of the run."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self.total = 0.0
        self.peak_mib = 0.0
        self._within = False

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the block's time to a phase, unless it is part of another."""
        if self._within:
            yield
            return
        self._within = True
        start = time.process_time()
        yield
        self.phases[name] = self.phases.get(name, 0.0) + time.process_time() - start
        self._within = False

    @contextmanager
    def run(self) -> Iterator[None]:
        """Count the block's time to the total, and note the peak memory of the process by then."""
        start = time.process_time()
        yield
        self.total += time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.peak_mib = peak / (1024 * 1024 if sys.platform == "darwin" else 1024)

    def wrap(self, owner: object, name: str, phase: str) -> None:
        """Count every call of a module's or class's function to a phase."""
        function: Callable[..., object] = getattr(owner, name)

        def timed(*args: object, **named: object) -> object:
            with self.phase(phase):
                return function(*args, **named)

        setattr(owner, name, timed)

    def wrap_ullage(self) -> None:
        """Count what ullage and clingo do to the phases that they have, once they are imported."""
        import clingo

        import ullage.policy
        import ullage.solve

        for owner, name, phase in (
            (ullage.policy, "load_declarations", "rules"),
            (ullage.policy, "load_book", "rules"),
            (ullage.solve, "lower", "rules"),
            (ullage.policy, "load_facts", "facts"),
            (ullage.solve, "fact_levels", "encode"),
            (ullage.solve, "fact_lines", "encode"),
            (clingo.Control, "add", "add"),
            (clingo.Control, "ground", "ground"),
            (clingo.Control, "solve", "solve"),
            (ullage.policy, "standings", "read"),
            (ullage.policy, "plans", "read"),
            (ullage.policy, "chosen", "read"),
        ):
            self.wrap(owner, name, phase)


def report(run: Callable[[Clock], Mapping[str, int | str]], collector: str) -> None:
    """Run one contender and print what it found and what it took."""
    if collector == "off":
        gc.disable()
    clock = Clock()
    answer = run(clock)
    clock.phases["total"] = clock.total
    inside = sum(s for p, s in clock.phases.items() if p not in ("total", "import"))
    clock.phases["other"] = clock.total - inside
    print(json.dumps({"answer": answer, "peak_mib": clock.peak_mib, "seconds": clock.phases}))
