"""How the conclusions of the program are compared with those of a reference, value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from planner_reference import Conclusion, Dtype, Value

from ullage import Plan, Policy, Quantity

Subject = tuple[Value, ...]
Values = Mapping[str, Value]
Narrow = Callable[[str, Values, Values], tuple[Values, Values]]
"""Of a law, the values told and those due: what of each is compared."""


def plain(value: object) -> Value:
    """A value of the program, or of the reference, as both are compared."""
    if isinstance(value, Quantity):
        return value.value
    if isinstance(value, str | bool):
        return value
    assert isinstance(value, int | Fraction), value
    return Fraction(value)


def plains(values: Mapping[str, object]) -> dict[str, Value]:
    return {name: plain(value) for name, value in values.items()}


def terms(found: Iterable[Iterable[object]]) -> set[tuple[Value, ...]]:
    return {tuple(plain(part) for part in term) for term in found}


def subjects_apart(what: str, got: Iterable[Subject], due: Iterable[Subject]) -> list[str]:
    had, wanted = set(got), set(due)
    return [f"{what} {s}: no subject of the program" for s in wanted - had] + [
        f"{what} {s}: no subject of the reference" for s in had - wanted
    ]


def values_apart(where: str, got: Values, due: Values) -> list[str]:
    # True equals 1, so the kinds of values are compared beside them.
    return [
        f"{where}: {name} {got.get(name)}, not {due.get(name)}"
        for name in sorted({*got, *due})
        if got.get(name) != due.get(name) or type(got.get(name)) is not type(due.get(name))
    ]


def standings_apart(
    policy: Policy, due: Mapping[str, Mapping[Subject, Conclusion]], narrow: Narrow
) -> list[str]:
    """A line for each verdict, term and value of a law in which the two differ."""
    found: list[str] = []
    for law, conclusions in due.items():
        standings = {tuple(plain(v) for _, v in s.subject): s for s in policy.standings([law])}
        found += subjects_apart(law, standings, conclusions)
        for subject in standings.keys() & conclusions.keys():
            standing, conclusion = standings[subject], conclusions[subject]
            where = f"{law} {subject}"
            if standing.verdict != conclusion.verdict:
                found.append(f"{where}: {standing.verdict}, not {conclusion.verdict}")
            for kind, got, wanted in (
                ("reasons", standing.reasons, conclusion.reasons),
                ("obligations", standing.obligations, conclusion.obligations),
            ):
                had = terms((t.name, *(v for _, v in t.args)) for t in got)
                if had != terms(wanted):
                    found.append(f"{where}: {kind} {had}, not {terms(wanted)}")
            shown, values = plains(standing.value_map), plains(conclusion.values)
            found += values_apart(where, *narrow(law, shown, values))
    return found


def by_subject(plans: Iterable[Plan], names: Iterable[str]) -> dict[str, dict[Subject, Values]]:
    """The values of the plans of these names."""
    found: dict[str, dict[Subject, Values]] = {name: {} for name in names}
    for plan in plans:
        if plan.plan in found:
            subject = tuple(plain(v) for _, v in plan.subject)
            assert subject not in found[plan.plan], "a subject has two plans"
            found[plan.plan][subject] = plains(plan.value_map)
    return found


def rows_of_dtypes(dtypes: Mapping[str, Dtype]) -> dict[str, list[dict[str, object]]]:
    """The rows of number formats, and of the cells that some have."""
    return {
        "kv_dtype": [
            {"dtype": name, "bytes_per_value": d.bytes_per_value} for name, d in dtypes.items()
        ],
        "kv_cell": [
            {"dtype": name, "kind": kind, "values": values, "bytes": cell}
            for name, dtype in dtypes.items()
            for (kind, values), cell in dtype.cells.items()
        ],
    }
