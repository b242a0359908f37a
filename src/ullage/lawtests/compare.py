"""What differs between what a case expects and what was found, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from ullage.findings import Finding
from ullage.lawtests.cases import Expectation, LawCase, Subject, value_cell
from ullage.results import Plan, Quantity, Standing, Term, Value, exact_text_of, value_text
from ullage.sorts import ExactSort, ScalarError, parse_exact, parse_number
from ullage.testreport import Mismatch

Found = Mapping[tuple[str, str], Mapping[Subject, Standing | Plan]]
"""What was concluded, by "law" or "plan", its name and the subject."""


def found(standings: Iterable[Standing], plans: Iterable[Plan]) -> Found:
    """Standings and plans by what they are of."""
    told: dict[tuple[str, str], dict[Subject, Standing | Plan]] = {}
    for standing in standings:
        told.setdefault(("law", standing.law), {})[_subject(standing)] = standing
    for plan in plans:
        told.setdefault(("plan", plan.plan), {})[_subject(plan)] = plan
    return told


def mismatches(case: LawCase, told: Found) -> list[Mismatch]:
    """What differs between a case's expectations and what was concluded of its rows."""
    amiss = []
    for expectation in case.expect:
        kind, of_owner = _of(expectation, told)
        one = of_owner.get(expectation.subject)
        if one is None:
            have = ", ".join(sorted(s.subject_text for s in of_owner.values())) or "none"
            said = f"expected a {kind}, found none (subjects: {have})"
            amiss.append(_mismatch(expectation, "subject", kind, "none", said))
        else:
            amiss += compare(expectation, one)
    for expectation in case.absent:
        kind, of_owner = _of(expectation, told)
        one = of_owner.get(expectation.subject)
        if one is not None:
            shown = f"`{one.verdict}`" if isinstance(one, Standing) else "one"
            said = f"expected no {kind}, found {shown}"
            amiss.append(_mismatch(expectation, "subject", "none", shown, said))
    return amiss


def compare(expectation: Expectation, told: Standing | Plan) -> list[Mismatch]:
    """What differs between an expectation and the standing or plan of its subject."""
    amiss = [] if isinstance(told, Plan) else _compare_verdict(expectation, told)
    values = dict[str, Value](told.values)
    for value, text in expectation.values:
        have = values.get(value)
        if not agrees(text, have):
            shown = "none" if have is None else exact_text_of(have)
            said = f"value `{value}`: expected {text or 'none'}, found {shown}"
            amiss.append(_mismatch(expectation, value_cell(value), text or "none", shown, said))
    return amiss


def compare_findings(case: LawCase, errors: Sequence[Finding]) -> list[Mismatch]:
    """What differs between the findings that a case expects and those of its rows."""
    codes = {finding.code for finding in errors}
    amiss = [
        Mismatch(
            case.position,
            "",
            "findings",
            code,
            "none",
            f"expected the finding `{code}`, found none of that code",
        )
        for code in sorted(case.findings - codes)
    ]
    amiss += [
        Mismatch(
            case.position,
            "",
            "findings",
            "none",
            finding.code,
            not_expected(finding),
        )
        for finding in errors
        if finding.code not in case.findings
    ]
    return amiss


def not_expected(finding: Finding) -> str:
    """A finding that a case does not expect, in a line."""
    place = f" at {finding.positions[0]}" if finding.positions else ""
    return f"not expected: error[{finding.code}]: {finding.message}{place}"


def _mismatch(expectation: Expectation, cell: str, expected: str, have: str, said: str) -> Mismatch:
    subject = "/".join(part for _, part in expectation.subject)
    message = f"{expectation.name}: {said}"
    return Mismatch(expectation.place(cell), subject, cell, expected, have, message)


def _of(expectation: Expectation, told: Found) -> tuple[str, Mapping[Subject, Standing | Plan]]:
    """What an expectation is of, in a word, and all that there is of it."""
    return "plan" if expectation.plan else "standing", told.get(expectation.owner, {})


def _compare_verdict(expectation: Expectation, standing: Standing) -> list[Mismatch]:
    amiss = []
    for what, expected, have in (
        ("verdict", expectation.verdict, standing.verdict),
        ("standing", expectation.standing, standing.standing.value),
        ("words", expectation.words, standing.words),
    ):
        if expected is not None and expected != have:
            said = f"{what}: expected `{expected}`, found `{have}`"
            amiss.append(_mismatch(expectation, what, expected, have, said))
    amiss += _compare_terms(expectation, "reasons", expectation.reasons, standing.reasons)
    amiss += _compare_terms(
        expectation, "obligations", expectation.obligations, standing.obligations
    )
    return amiss


def _compare_terms(
    expectation: Expectation, what: str, expected: frozenset[str] | None, terms: Iterable[Term]
) -> list[Mismatch]:
    have = {str(term) for term in terms}
    if expected is None or expected == have:
        return []
    parts = []
    if missing := sorted(expected - have):
        parts.append(f"missing {', '.join(f'`{m}`' for m in missing)}")
    if extra := sorted(have - expected):
        parts.append(f"not expected {', '.join(f'`{e}`' for e in extra)}")
    told = [", ".join(sorted(terms)) or "none" for terms in (expected, have)]
    return [_mismatch(expectation, what, told[0], told[1], f"{what}: {'; '.join(parts)}")]


def agrees(text: str | None, value: Value | None) -> bool:
    """Whether a value is what an expectation writes; None is no value."""
    if text is None or value is None:
        return text is None and value is None
    if not isinstance(value, Quantity):
        return value_text(value) == text
    # With the unit behind it a figure in base units is as messages tell it.
    wanted: Fraction | None = parse_number(text.removesuffix(f" {value.unit}"))
    if wanted is None and isinstance(value.sort, ExactSort):
        try:
            wanted = parse_exact(text, value.sort)
        except ScalarError:
            return False
    return wanted == value.value


def _subject(told: Standing | Plan) -> Subject:
    return tuple((name, value_text(part)) for name, part in told.subject)
