"""Standings out of an answer set, and the check that every law says exactly one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from clingo.symbol import Symbol, Tuple_

from ullage.findings import Finding, Position
from ullage.results import (
    Quantity,
    Standing,
    StandingClass,
    Term,
    Value,
    value_order,
    value_text,
)
from ullage.rules import numbers
from ullage.rules.book import SUBJECT
from ullage.rules.docstrings import BUILTIN, LawDecl, TermDecl, snake
from ullage.rules.terms import Fun, Rule
from ullage.solve import Model
from ullage.sorts import (
    BoolSort,
    ClosedSort,
    CountSort,
    ExactSort,
    FormsSort,
    Sort,
    TupleSort,
)

_Key = tuple[str, Symbol]
"""A law's name and a subject, as rules write it."""

_Speakers = Mapping[tuple[str, str, str], Sequence[Position]]

_PLACE = re.compile(r"\{(\w+)\}")


def decode(symbol: Symbol, sort: Sort) -> Value:
    """A term of a sort as a value."""
    match sort:
        case ExactSort():
            return Quantity(numbers.decode(symbol), sort)
        case CountSort():
            return Quantity(Fraction(symbol.number), sort)
        case BoolSort():
            return symbol.name == "true"
        case ClosedSort():
            return symbol.name
        case TupleSort(items=items):
            return tuple(decode(s, i) for s, i in zip(symbol.arguments, items, strict=True))
        case FormsSort(forms=forms):
            return _term(symbol, forms[symbol.name], "")
    return symbol.string


def _term(symbol: Symbol, arguments: Sequence[tuple[str, Sort]], words: str) -> Term:
    values = {
        name: decode(s, sort) for s, (name, sort) in zip(symbol.arguments, arguments, strict=True)
    }
    filled = _PLACE.sub(lambda m: value_text(values[m.group(1)]), words)
    return Term(symbol.name, tuple((snake(n), v) for n, v in values.items()), filled)


def standings(
    model: Model, laws: Mapping[str, LawDecl], rules: Iterable[Rule]
) -> tuple[list[Standing], list[Finding]]:
    """Every standing, by law and subject, and what the rules left unsaid or said twice."""
    says = _speakers(rules)
    verdicts: dict[_Key, list[str]] = defaultdict(list)
    for atom in model.atoms("standing", 3):
        law, subject, verdict = atom.arguments
        verdicts[law.name, subject].append(verdict.name)
    reasons = _grouped(model, "reason", laws)
    obligations = _grouped(model, "obligation", laws)
    values: dict[_Key, list[tuple[str, Quantity]]] = defaultdict(list)
    for atom in model.atoms("value", 4):
        law, subject, name, quantity = atom.arguments
        value = decode(quantity, laws[law.name].values[name.name])
        assert isinstance(value, Quantity)
        values[law.name, subject].append((name.name, value))
    result: list[Standing] = []
    findings: list[Finding] = []
    known: set[_Key] = set()
    for decl in laws.values():
        subjects = [
            (_subject(s, decl), s)
            for s in map(_subject_symbol, model.atoms(SUBJECT + decl.name, len(decl.arguments)))
        ]
        subjects.sort(key=lambda s: value_order(tuple(v for _, v in s[0])))
        for parts, subject in subjects:
            key = (decl.name, subject)
            known.add(key)
            if len(verdicts[key]) != 1:
                findings.append(_not_one(decl, parts, verdicts[key], says))
                continue
            standing = replace(
                _standing(decl, parts, verdicts[key][0], values[key]),
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
                findings.append(_no_subject(kind, decl, _subject(key[1], decl)))
    return result, findings


def _speakers(rules: Iterable[Rule]) -> _Speakers:
    """Where rules derive each conclusion, by predicate, law and word."""
    found: dict[tuple[str, str, str], list[Position]] = defaultdict(list)
    for rule in rules:
        if rule.head.name not in BUILTIN:
            continue
        law, _, said, *_ = rule.head.args
        if isinstance(law, Fun) and isinstance(said, Fun):
            place = replace(rule.position, note=f"says `{said.name}`")
            found[rule.head.name, law.name, said.name].append(place)
    return found


def _grouped(model: Model, kind: str, laws: Mapping[str, LawDecl]) -> dict[_Key, list[Term]]:
    found: dict[_Key, list[Term]] = defaultdict(list)
    for atom in model.atoms(kind, 3):
        law, subject, symbol = atom.arguments
        decl = laws[law.name]
        declared: TermDecl = (decl.reasons if kind == "reason" else decl.obligations)[symbol.name]
        found[law.name, subject].append(_term(symbol, declared.arguments, declared.words))
    for terms in found.values():
        terms.sort(key=value_order)
    return found


def _subject_symbol(atom: Symbol) -> Symbol:
    """The subject as rules write it: the one argument, or the tuple of them."""
    if len(atom.arguments) == 1:
        return atom.arguments[0]
    return Tuple_(atom.arguments)


def _subject(symbol: Symbol, decl: LawDecl) -> tuple[tuple[str, Value], ...]:
    parts = [symbol] if len(decl.arguments) == 1 else symbol.arguments
    return tuple(
        (snake(name), decode(part, sort))
        for part, (name, sort) in zip(parts, decl.arguments, strict=True)
    )


def _standing(
    decl: LawDecl,
    subject: tuple[tuple[str, Value], ...],
    verdict: str,
    values: list[tuple[str, Quantity]],
) -> Standing:
    declared = decl.verdicts[verdict]
    known = dict(values)
    words = _PLACE.sub(lambda m: value_text(known.get(m.group(1), "")), declared.words)
    return Standing(
        decl.name,
        subject,
        declared.standing,
        verdict,
        words,
        values=tuple(sorted(values, key=lambda v: list(decl.values).index(v[0]))),
    )


def _shown(parts: tuple[tuple[str, Value], ...]) -> str:
    return "/".join(value_text(v) for _, v in parts)


def _not_one(
    decl: LawDecl,
    parts: tuple[tuple[str, Value], ...],
    verdicts: Sequence[str],
    says: _Speakers,
) -> Finding:
    if not verdicts:
        return Finding(
            "standing-missing",
            f"`{decl.name}` says nothing of `{_shown(parts)}`",
            (decl.position,),
            "every subject needs one verdict; look for a case that no rule takes",
        )
    said = " and ".join(f"`{v}`" for v in sorted(verdicts))
    return Finding(
        "standing-conflict",
        f"`{decl.name}` says {said} of `{_shown(parts)}`",
        (decl.position, *(p for v in sorted(verdicts) for p in says["standing", decl.name, v])),
        "let the conditions of its rules exclude each other",
    )


def _no_subject(kind: str, decl: LawDecl, parts: tuple[tuple[str, Value], ...]) -> Finding:
    return Finding(
        "no-subject",
        f"`{kind}` of `{decl.name}` speaks of `{_shown(parts)}`, which is no subject of it",
        (decl.position,),
        "bind it by the atoms of the section `Subjects:`",
    )


def _incomplete(decl: LawDecl, standing: Standing, says: _Speakers) -> list[Finding]:
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
    for name in _PLACE.findall(decl.verdicts[standing.verdict].words):
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
    for name in sorted({n for n in names if names.count(n) > 1}):
        findings.append(
            Finding(
                "two-values",
                f"`{decl.name}` gives `{standing.subject_text}` two values of `{name}`",
                (decl.position, *says["value", decl.name, name]),
                "a value has one figure; look for two rules, or two rows behind one",
            )
        )
    return findings
