"""Mutants of a policy's rules, judged by its law tests and held against a list of equivalent ones.

Only cases that pass as the rules are can tell a mutant. Those that expect findings which solving
makes are tried last, each alone: no two can be ground together.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ullage import progress
from ullage.findings import UsageError, similar
from ullage.lawtests.alone import judge_alone
from ullage.lawtests.cases import LawCase
from ullage.lawtests.equivalents import Equivalent, Listing, killed, load_equivalents
from ullage.lawtests.grounding import Base
from ullage.lawtests.mutants import Mutant, mutants
from ullage.lawtests.mutation import Mutation, Verdict
from ullage.lawtests.rows import Giver
from ullage.mutationreport import Fate, MutantResult, MutationReport
from ullage.processes import one_by_one
from ullage.rules.writing import literal_text
from ullage.testreport import Outcome, TestReport
from ullage.textfiles import shown_path

if TYPE_CHECKING:
    from ullage.policy import Policy


def chosen_files(rules: Policy, paths: Sequence[Path]) -> list[str]:
    """The files of rules that paths name, or that stand below them, as findings show them.

    Without paths all. Raises UsageError for a path that leads to none.
    """
    files = {Path(f.path).resolve(): f.path for f in rules.book.files}
    if not paths:
        return list(files.values())
    found: dict[str, None] = {}
    for path in paths:
        place = path.resolve()
        here = [name for file, name in files.items() if file.is_relative_to(place)]
        if not here:
            shown = shown_path(path)
            raise UsageError(
                f"`{shown}` is no file of the policy's rules, nor a folder of some",
                similar(shown, files.values(), "file"),
            )
        found |= dict.fromkeys(here)
    return list(found)


def run_mutation(
    rules: Policy,
    cases: Sequence[LawCase],
    report: TestReport,
    *,
    files: Collection[str],
    equivalents: Path,
    processes: int = 1,
    entries: bool = False,
) -> MutationReport:
    """What the cases that pass in a ``report`` make of the mutants of rules in files.

    ``equivalents`` is the list of equivalent ones; the files in it are named from the folder above
    the one that it stands in. Judges in so many ``processes``; with ``entries`` the report shows
    what would list each survivor. Raises UsageError where nothing is left to judge or to judge by,
    PolicyError where the list is no list.
    """
    passed = {(r.position, r.name) for r in report.of(Outcome.PASS)}
    able = [c for c in cases if (c.position, c.name) in passed]
    if not able:
        raise UsageError("no law test is left to judge mutants by", "skipped ones do not count")
    progress.phase("making mutants")
    found = mutants(rules.book, files)
    if not found:
        raise UsageError("the files of rules have no rules to mutate", "name others")
    root = equivalents.parent.parent
    listing = Listing(found, [f.path for f in rules.book.files], root)
    listed, findings = listing.matched(load_equivalents(equivalents), files)
    sets = _sets(rules, able)
    verdicts = _judged(rules, found, sets, processes)
    known = {v.mutant for v, _ in verdicts}
    findings += [listing.idle(entry) for place, entry in listed.items() if place not in known]
    findings += [
        killed(listed[v.mutant], case.name, case.position)
        for v, case in verdicts
        if case is not None and v.mutant in listed
    ]
    results = [_result(found[v.mutant], v, case, listed, listing) for v, case in verdicts]
    return MutationReport(
        tuple(results),
        len(able),
        tuple(sorted(findings, key=lambda f: f.sort_key)),
        report.left_out + len(report.results) - len(able),
        entries,
    )


@dataclass(frozen=True, slots=True)
class _Sets:
    """Cases by what they are judged by: many at once, or each alone.

    Those whose rows are unsound end the same whatever the rules are, and stand in neither.
    """

    bases: list[Base]
    alone: list[LawCase]


def _sets(rules: Policy, cases: Sequence[LawCase]) -> _Sets:
    giver = Giver(rules)
    sets = _Sets([], [])
    for case in cases:
        given = giver.facts(case)
        if given.amiss or given.errors:
            continue
        if case.findings:
            sets.alone.append(case)
        else:
            sets.bases.append(Base(case, given.facts))
    return sets


def _judged(
    rules: Policy, found: Sequence[Mutant], sets: _Sets, processes: int
) -> list[tuple[Verdict, LawCase | None]]:
    """A verdict on each mutant, and the case that killed it."""
    mutation = Mutation(rules, found, sets.bases)
    progress.phase("judging mutants")
    with _settled():
        portions = one_by_one(mutation.judged, mutation.portions(), processes)
    verdicts = sorted(
        (v for judged in portions for v in judged),
        key=lambda v: (found[v.mutant].position, v.mutant),
    )
    return [
        (v, _alone(rules, found[v.mutant], sets.alone) if v.killed is None else case)
        for v in verdicts
        for case in (None if v.killed is None else sets.bases[v.killed].case,)
    ]


def _alone(rules: Policy, mutant: Mutant, cases: Sequence[LawCase]) -> LawCase | None:
    """The first of some cases that does not pass under rules with a mutant among them."""
    if not cases:
        return None
    book = copy.copy(rules.book)
    book.rules = list(book.rules)
    book.rules[mutant.number : mutant.number + 1] = [mutant.typed] if mutant.typed else []
    mutated = rules.of_book(book)
    return next((c for c in cases if judge_alone(c, mutated).outcome is not Outcome.PASS), None)


@contextmanager
def _settled() -> Iterator[None]:
    """What is there now is passed over by the collection of garbage within."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _result(
    mutant: Mutant,
    verdict: Verdict,
    case: LawCase | None,
    listed: Mapping[int, Equivalent],
    listing: Listing,
) -> MutantResult:
    fate = Fate.EQUIVALENT if verdict.mutant in listed else Fate.SURVIVED
    if case is not None:
        fate = Fate.KILLED
    return MutantResult(
        mutant.position,
        literal_text(mutant.original.rule.head),
        mutant.operator.value,
        mutant.before,
        mutant.after,
        fate,
        verdict.apart,
        case.name if case is not None else "",
        case.position if case is not None else None,
        listed[verdict.mutant].reason if fate is Fate.EQUIVALENT else "",
        tuple(listing.entry(verdict.mutant)) if fate is Fate.SURVIVED else (),
    )
