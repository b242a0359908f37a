"""Plans out of an answer set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ullage.findings import Finding, UsageError, listed, similar
from ullage.results import Plan, Standing, Value, exact_text_of
from ullage.rules.declared import PlanDecl
from ullage.rules.terms import Rule
from ullage.solve import Atoms
from ullage.standings import no_subject, speakers, two_values
from ullage.symbols import Subject, decode_text, said, subject_of, subjects

_MOST_NAMED = 12


def plans(
    model: Atoms,
    declared: Mapping[str, PlanDecl],
    standings: Iterable[Standing],
    rules: Iterable[Rule],
) -> tuple[list[Plan], list[Finding]]:
    """Every plan declared here, by plan and subject, and what was said twice or of no subject.

    A plan has the values that could be concluded: what one stands on may well be unread. The
    standings are those of the model.
    """
    says = speakers(rules)
    judged = {(s.law, _parts(s.subject)): s for s in standings}
    values: dict[tuple[str, str], list[tuple[str, Value]]] = defaultdict(list)
    for owner, about, name, value in said(model.texts("plan", 4)):
        if owner in declared:
            sort = declared[owner].values[name]
            values[owner, about].append((name, decode_text(value, sort)))
    found: list[Plan] = []
    findings: list[Finding] = []
    for decl in declared.values():
        order = {name: place for place, name in enumerate(decl.values)}
        for parts, text in subjects(model, decl):
            own = values.pop((decl.name, text), [])
            findings += two_values("plan", decl, parts, [n for n, _ in own], says)
            standing = judged.get((decl.law, _parts(parts)))
            own.sort(key=lambda v: order[v[0]])
            found.append(Plan(decl.name, parts, tuple(own), standing))
    findings += [
        no_subject("plan", declared[name], subject_of(text, declared[name]))
        for name, text in values
    ]
    return found, findings


def chosen(
    found: Sequence[Plan],
    declared: Mapping[str, PlanDecl],
    names: Sequence[str],
    selected: Mapping[str, str],
) -> list[Plan]:
    """The plans of the names (all, where none is named) that have the selected parts or values.

    A plan that is shown under another is chosen with it. Raises UsageError where nothing is chosen
    that could have been.
    """
    wanted = [
        n
        for n, d in declared.items()
        if n in (names or declared) and (n in names or not d.layout.under)
    ]
    able = [n for n in wanted if set(selected) <= set(declared[n].told)]
    for name in names:
        for part in selected:
            if name not in able and part not in declared[name].told:
                raise UsageError(
                    f"no `{name}` plan has a part or value `{part}`",
                    f"it has {listed(declared[name].told)}",
                )
    kept = [p for p in found if p.plan in able and _has(p, selected)]
    if selected and not kept:
        raise _nothing(found, wanted, selected)
    subjects = {(p.plan, _parts(p.subject)) for p in kept}
    for plan in found:
        layout = declared[plan.plan].layout
        above = tuple(v for n, v in plan.subject if n != layout.rows)
        if layout.under and plan.plan not in able and (layout.under, above) in subjects:
            kept.append(plan)
    order = {name: place for place, name in enumerate(declared)}
    return sorted(kept, key=lambda p: order[p.plan])


def _has(plan: Plan, selected: Mapping[str, str]) -> bool:
    told = {**plan.value_map, **dict(plan.subject)}
    return all(n in told and exact_text_of(told[n]) == text for n, text in selected.items())


def _nothing(
    found: Sequence[Plan], wanted: Sequence[str], selected: Mapping[str, str]
) -> UsageError:
    """Why no plan is chosen: one selection that none has, or several that none has together."""
    for name, text in selected.items():
        told = [{**p.value_map, **dict(p.subject)} for p in found if p.plan in wanted]
        known = sorted({exact_text_of(t[name]) for t in told if name in t})
        if text not in known:
            more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
            few = f"there are {listed(known[:_MOST_NAMED])}{more}" if known else ""
            help = similar(text, known, name) or few
            return UsageError(f"no plan is of the {name} `{text}`", help)
    words = " and ".join(f"the {n} `{t}`" for n, t in selected.items())
    return UsageError(f"no plan is of {words} together", "drop one of the two")


def _parts(about: Subject) -> tuple[Value, ...]:
    """The parts without their names, which a law and a plan may choose apart."""
    return tuple(value for _, value in about)
