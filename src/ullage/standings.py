"""Standings out of an answer set, and the check that every law says exactly one thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ullage.findings import Finding, Position
from ullage.results import Quantity, Standing, StandingClass, Term, value_order, value_text
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl, TermDecl
from ullage.rules.terms import Fun, Rule
from ullage.solve import Atoms
from ullage.symbols import (
    PLACE,
    Subject,
    decode_text,
    said,
    subject_of,
    subject_shown,
    subjects,
    term,
)

_Key = tuple[str, str]
"""A law's name and a subject, as rules write it."""

Speakers = Mapping[tuple[str, str, str], Sequence[Position]]
"""Where rules derive each conclusion, by predicate, law or plan, and word."""


def standings(
    model: Atoms, laws: Mapping[str, LawDecl], rules: Iterable[Rule]
) -> tuple[list[Standing], list[Finding]]:
    """Every standing of the laws, by law and subject, and what they left unsaid or said twice.

    What the model concludes of other laws is passed over.
    """
    says = speakers(rules)
    verdicts: dict[_Key, list[str]] = defaultdict(list)
    for atom in model.atoms("standing", 3):
        law, about, verdict = atom.arguments
        if (name := law.name) in laws:
            verdicts[name, str(about)].append(verdict.name)
    reasons = _grouped(model, "reason", laws)
    obligations = _grouped(model, "obligation", laws)
    values: dict[_Key, list[tuple[str, Quantity]]] = defaultdict(list)
    for owner, subject_text, word, figure in said(model.texts("value", 4)):
        if owner in laws:
            value = decode_text(figure, laws[owner].values[word])
            assert isinstance(value, Quantity)
            values[owner, subject_text].append((word, value))
    result: list[Standing] = []
    findings: list[Finding] = []
    known: set[_Key] = set()
    for decl in laws.values():
        for parts, text in subjects(model, decl):
            key = (decl.name, text)
            known.add(key)
            if len(verdicts[key]) != 1:
                findings.append(_not_one(decl, parts, verdicts[key], says))
                continue
            standing = replace(
                standing_of(decl, parts, verdicts[key][0], values[key]),
                reasons=tuple(reasons[key]),
                obligations=tuple(obligations[key]),
            )
            findings += _incomplete(decl, standing, says)
            result.append(standing)
    spoken: dict[str, Mapping[_Key, object]] = {
        "standing": verdicts,
        "reason": reasons,
        "obligation": obligations,
        "value": values,
    }
    for kind, atoms in spoken.items():
        for key in atoms:
            if key not in known:
                decl = laws[key[0]]
                findings.append(no_subject(kind, decl, subject_of(key[1], decl)))
    return result, findings


def speakers(rules: Iterable[Rule]) -> Speakers:
    """Where the rules derive each conclusion."""
    found: dict[tuple[str, str, str], list[Position]] = defaultdict(list)
    for rule in rules:
        if rule.head.name not in BUILTIN:
            continue
        law, _, said, *_ = rule.head.args
        if isinstance(law, Fun) and isinstance(said, Fun):
            place = replace(rule.position, note=f"says `{said.name}`")
            found[rule.head.name, law.name, said.name].append(place)
    return found


def _grouped(model: Atoms, kind: str, laws: Mapping[str, LawDecl]) -> dict[_Key, list[Term]]:
    found: dict[_Key, list[Term]] = defaultdict(list)
    for atom in model.atoms(kind, 3):
        law, about, symbol = atom.arguments
        decl = laws.get(law.name)
        if decl is None:
            continue
        declared: TermDecl = (decl.reasons if kind == "reason" else decl.obligations)[symbol.name]
        found[decl.name, str(about)].append(term(symbol, declared.arguments, declared.words))
    for terms in found.values():
        terms.sort(key=value_order)
    return found


def standing_of(
    decl: LawDecl,
    parts: Subject,
    verdict: str,
    values: list[tuple[str, Quantity]],
) -> Standing:
    """A standing with its verdict's words, and without reasons and obligations."""
    declared = decl.verdicts[verdict]
    known = dict(values)
    words = PLACE.sub(lambda m: value_text(known.get(m.group(1), "")), declared.words)
    return Standing(
        decl.name,
        parts,
        declared.standing,
        verdict,
        words,
        values=tuple(sorted(values, key=lambda v: list(decl.values).index(v[0]))),
    )


def _not_one(
    decl: LawDecl,
    parts: Subject,
    verdicts: Sequence[str],
    says: Speakers,
) -> Finding:
    if not verdicts:
        return Finding(
            "standing-missing",
            f"`{decl.name}` says nothing of `{subject_shown(parts)}`",
            (decl.position,),
            "every subject needs one verdict; look for a case that no rule takes",
        )
    said = " and ".join(f"`{v}`" for v in sorted(verdicts))
    return Finding(
        "standing-conflict",
        f"`{decl.name}` says {said} of `{subject_shown(parts)}`",
        (decl.position, *(p for v in sorted(verdicts) for p in says["standing", decl.name, v])),
        "let the conditions of its rules exclude each other",
    )


def no_subject(kind: str, decl: LawDecl | PlanDecl, parts: Subject) -> Finding:
    """A conclusion about what is no subject of its law or plan."""
    return Finding(
        "no-subject",
        f"`{kind}` of `{decl.name}` speaks of `{subject_shown(parts)}`, which is no subject of it",
        (decl.position,),
        "bind it by the atoms of the section `Subjects:`",
    )


def _incomplete(decl: LawDecl, standing: Standing, says: Speakers) -> list[Finding]:
    """What a standing lacks, or has twice."""
    findings = []
    if standing.standing is StandingClass.REFUSED and not standing.reasons:
        findings.append(
            Finding(
                "reason-missing",
                f"`{decl.name}` refuses `{standing.subject_text}` without a reason",
                (decl.position,),
                "derive `reason` wherever the verdict is derived",
            )
        )
    if standing.standing is StandingClass.UNESTABLISHED and not standing.obligations:
        findings.append(
            Finding(
                "obligation-missing",
                f"`{decl.name}` leaves `{standing.subject_text}` open without an obligation",
                (decl.position,),
                "derive `obligation` wherever the verdict is derived",
            )
        )
    names = [n for n, _ in standing.values]
    for name in PLACE.findall(decl.verdicts[standing.verdict].words):
        if name not in names:
            findings.append(
                Finding(
                    "value-missing",
                    f"`{decl.name}` gives `{standing.subject_text}` no value of `{name}`, which "
                    f"the words of `{standing.verdict}` tell",
                    (decl.position,),
                    "derive `value` wherever the verdict is derived, or change its words",
                )
            )
    return findings + two_values("value", decl, standing.subject, names, says)


def two_values(
    kind: str, decl: LawDecl | PlanDecl, parts: Subject, names: Sequence[str], says: Speakers
) -> list[Finding]:
    """Each value that a law or plan gives a subject twice."""
    if len(set(names)) == len(names):
        return []
    return [
        Finding(
            "two-values",
            f"`{decl.name}` gives `{subject_shown(parts)}` two values of `{name}`",
            (decl.position, *says[kind, decl.name, name]),
            "a value has one figure; look for two rules, or two rows behind one",
        )
        for name in sorted({n for n in names if names.count(n) > 1})
    ]
