"""A case judged by itself, as a policy of its rows alone: the meaning of every faster way."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from ullage.findings import Finding, errors_of
from ullage.lawtests.cases import LawCase
from ullage.lawtests.compare import compare_findings, found, mismatches, not_expected
from ullage.lawtests.rows import Giver
from ullage.testreport import CaseResult, Mismatch, messages, outcome_of

if TYPE_CHECKING:
    from ullage.policy import Policy


def run_case(case: LawCase, rules: Policy) -> list[str]:
    """What is amiss with a case, a line each; empty where it passes.

    The case's rows stand in for the facts of ``rules``, or on top of them.
    """
    return messages(judge_alone(case, rules))


def judge_alone(case: LawCase, rules: Policy) -> CaseResult:
    """How a case ends under ``rules``, whose facts are the catalog; it is not skipped."""
    start = perf_counter()
    given = Giver(rules).facts(case)
    if given.amiss:
        return ended(case, (), "; ".join(given.amiss), perf_counter() - start)
    policy = rules.of_facts(given.facts, given.errors)
    errors = errors_of(policy.check())
    if errors or case.findings:
        return with_findings(case, errors, perf_counter() - start)
    differ = mismatches(case, found(policy.standings(), policy.plan()))
    return ended(case, differ, "", perf_counter() - start)


def with_findings(case: LawCase, errors: Sequence[Finding], seconds: float) -> CaseResult:
    """How a case ends that has findings, or expects some."""
    differ = compare_findings(case, errors)
    unexpected = [f for f in errors if f.code not in case.findings]
    if unexpected:
        # The rows could not be judged as the case has it.
        missing = [m for m in differ if m.found == "none"]
        return ended(case, missing, "; ".join(map(not_expected, unexpected)), seconds)
    return ended(case, differ, "", seconds)


def ended(case: LawCase, differ: Sequence[Mismatch], reason: str, seconds: float) -> CaseResult:
    """The result of a case that was judged, or could not be."""
    return CaseResult(
        case.position.file,
        case.position,
        case.name,
        case.law,
        outcome_of(differ, reason),
        tuple(differ),
        reason,
        seconds,
    )
