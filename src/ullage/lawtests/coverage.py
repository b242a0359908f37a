"""Which rules and conditions some law test has shown, and why the others are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from ullage.lawtests.probes import Condition, Probed
from ullage.testreport import Coverage, FileCoverage, Uncovered


def coverage(probed: Sequence[Probed], seen: Collection[str]) -> Coverage:
    """What was covered, by the names of the probes that were seen."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    uncovered: list[Uncovered] = []
    for rule in probed:
        count = counts[rule.position.file]
        true = rule.true in seen
        count[0] += 1
        count[1] += true
        if not true:
            why = "body never true" if rule.ground in seen else "never ground"
            uncovered.append(Uncovered("rule", rule.position, why))
        for condition in rule.conditions:
            why = _missing(condition, true, seen)
            count[2] += 1
            count[3] += not why
            if why:
                uncovered.append(Uncovered("condition", condition.position, why))
    files = tuple(FileCoverage(file, *count) for file, count in sorted(counts.items()))
    return Coverage(files, tuple(sorted(uncovered, key=lambda u: (u.position, u.what != "rule"))))


def _missing(condition: Condition, true: bool, seen: Collection[str]) -> str:
    """Why a condition is not covered; empty where it is."""
    if not true:
        return "in a body that is never true"
    if condition.alone is None or condition.alone in seen:
        return ""
    return "negation never tested" if condition.negated else "never alone in the way"
