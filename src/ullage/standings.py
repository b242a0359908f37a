"""Standings out of an answer set, and the check that every law says exactly one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from clingo.symbol import Symbol, Tuple_

from ullage.findings import Finding
from ullage.results import Quantity, Standing, StandingClass, Term, Value, value_text
from ullage.rules import numbers
from ullage.rules.book import SUBJECT
from ullage.rules.docstrings import LawDecl, TermDecl
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


def snake(name: str) -> str:
    """``PerDirection`` as ``per_direction``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def standings(model: Model, laws: Mapping[str, LawDecl]) -> tuple[list[Standing], list[Finding]]:
    """Every standing, by law and subject, and what the rules left unsaid or said twice."""
    found: dict[tuple[str, Symbol], list[str]] = defaultdict(list)
    for atom in model.atoms("standing", 3):
        law, subject, verdict = atom.arguments
        found[law.name, subject].append(verdict.name)
    terms = {kind: _grouped(model, kind, laws) for kind in ("reason", "obligation")}
    values: dict[tuple[str, Symbol], list[tuple[str, Quantity]]] = defaultdict(list)
    for atom in model.atoms("value", 4):
        law, subject, name, quantity = atom.arguments
        decl = laws[law.name]
        value = decode(quantity, decl.values[name.name])
        assert isinstance(value, Quantity)
        values[law.name, subject].append((name.name, value))
    result: list[Standing] = []
    findings: list[Finding] = []
    for decl in laws.values():
        relation = SUBJECT + decl.name
        subjects = [_subject_symbol(a) for a in model.atoms(relation, len(decl.arguments))]
        known = set(subjects)
        for subject in subjects:
            key = (decl.name, subject)
            verdicts = found.pop(key, [])
            parts = _subject(subject, decl)
            if len(verdicts) != 1:
                findings.append(_not_one(decl, parts, verdicts))
                continue
            standing = _standing(decl, parts, verdicts[0], values[key])
            reasons = tuple(terms["reason"].get(key, ()))
            obligations = tuple(terms["obligation"].get(key, ()))
            findings += _incomplete(decl, standing, reasons, obligations)
            result.append(replace(standing, reasons=reasons, obligations=obligations))
        spoken = [("standing", k) for k in found] + [
            (kind, k) for kind, grouped in terms.items() for k in grouped
        ]
        for kind, (law_name, about) in spoken:
            if law_name == decl.name and about not in known:
                findings.append(_no_subject(kind, decl, _subject(about, decl)))
    for standing in result:
        names = [n for n, _ in standing.values]
        for name in sorted({n for n in names if names.count(n) > 1}):
            findings.append(
                Finding(
                    "two-values",
                    f"`{standing.law}` gives `{standing.subject_text}` two values of `{name}`",
                    (laws[standing.law].position,),
                    "a value has one figure; look for two rules, or two rows behind one",
                )
            )
    return result, findings


def _grouped(
    model: Model, kind: str, laws: Mapping[str, LawDecl]
) -> dict[tuple[str, Symbol], list[Term]]:
    found: dict[tuple[str, Symbol], list[Term]] = defaultdict(list)
    for atom in model.atoms(kind, 3):
        law, subject, symbol = atom.arguments
        decl = laws[law.name]
        declared: TermDecl = (decl.reasons if kind == "reason" else decl.obligations)[symbol.name]
        found[law.name, subject].append(_term(symbol, declared.arguments, declared.words))
    for terms in found.values():
        terms.sort(key=lambda t: (t.name, str(t)))
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
    words = _PLACE.sub(
        lambda m: value_text(known[m.group(1)]) if m.group(1) in known else "?", declared.words
    )
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
    decl: LawDecl, parts: tuple[tuple[str, Value], ...], verdicts: Sequence[str]
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
        (decl.position,),
        "let the conditions of its rules exclude each other",
    )


def _no_subject(kind: str, decl: LawDecl, parts: tuple[tuple[str, Value], ...]) -> Finding:
    return Finding(
        "no-subject",
        f"a `{kind}` of `{decl.name}` speaks of `{_shown(parts)}`, which is no subject of it",
        (decl.position,),
        "bind it by the atoms of the section `Subjects:`",
    )


def _incomplete(
    decl: LawDecl,
    standing: Standing,
    reasons: Sequence[Term],
    obligations: Sequence[Term],
) -> list[Finding]:
    if standing.standing is StandingClass.REFUSED and not reasons:
        return [
            Finding(
                "reason-missing",
                f"`{decl.name}` refuses `{standing.subject_text}` without a reason",
                (decl.position,),
                "derive `reason` wherever the verdict is derived",
            )
        ]
    if standing.standing is StandingClass.UNESTABLISHED and not obligations:
        return [
            Finding(
                "obligation-missing",
                f"`{decl.name}` leaves `{standing.subject_text}` open without an obligation",
                (decl.position,),
                "derive `obligation` wherever the verdict is derived",
            )
        ]
    return []
