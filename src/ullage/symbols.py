"""Symbols of an answer set as typed values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from clingo import parse_term
from clingo.symbol import Symbol, Tuple_

from ullage.results import Quantity, Term, Value, exact_text_of, value_order, value_text
from ullage.rules import numbers
from ullage.rules.declared import LawDecl, PlanDecl, snake
from ullage.solve import Atoms
from ullage.sorts import (
    BoolSort,
    ClosedSort,
    CountSort,
    ExactSort,
    FormsSort,
    Sort,
    TupleSort,
)

PLACE = re.compile(r"\{(\w+)\}")
"""A place for a value in declared words."""

Subject = tuple[tuple[str, Value], ...]
"""A subject's parts by name, in snake case and in order."""


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
            return term(symbol, forms[symbol.name], "")
    return symbol.string


def term(symbol: Symbol, arguments: Sequence[tuple[str, Sort]], words: str) -> Term:
    """A function as a term of named arguments, its words filled in."""
    return filled_term(
        symbol.name,
        {n: decode(s, sort) for s, (n, sort) in zip(symbol.arguments, arguments, strict=True)},
        words,
    )


def filled_term(name: str, values: Mapping[str, Value], words: str) -> Term:
    """A term of named arguments with its words filled in."""
    filled = PLACE.sub(lambda m: _told(values[m.group(1)]), words)
    return Term(name, tuple((snake(n), v) for n, v in values.items()), filled)


def _told(value: Value) -> str:
    """A value as words tell it: a display that rounds has the exact figure beside it."""
    if isinstance(value, Quantity) and not value.displayed_whole:
        return f"{value.display} ({exact_text_of(value)})"
    return value_text(value)


_SAYS = re.compile(
    r"\w+\((\w+),(.*),([a-z]\w*),"
    r'(q\([-\d,]+\)|-?\d+|[a-z]\w*|"(?:[^"\\]|\\.)*"|r\(.*\))\)',
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)")


def said(texts: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """What atoms of ``value`` or ``plan`` say: owner, subject, name and value, each written out."""
    for text in texts:
        match = _SAYS.fullmatch(text)
        assert match is not None, text
        owner, about, name, value = match.groups()
        yield owner, about, name, value


def decode_text(text: str, sort: Sort) -> str | bool | Quantity:
    """A value of a sort of single values, written out."""
    match sort:
        case ExactSort():
            return Quantity(numbers.decode_text(text), sort)
        case CountSort():
            return Quantity(Fraction(text), sort)
        case BoolSort():
            return text == "true"
        case ClosedSort():
            return text
    return _ESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], text[1:-1])


def subjects(model: Atoms, owner: LawDecl | PlanDecl) -> list[tuple[Subject, str]]:
    """The subjects of a law or plan, in order, each also as rules write it."""
    atoms = model.atoms(owner.collects, len(owner.arguments))
    # As rules write it: the one argument, or the tuple of them.
    symbols = [a.arguments[0] if len(a.arguments) == 1 else Tuple_(a.arguments) for a in atoms]
    found = [(subject(s, owner), s) for s in symbols]
    forms = len(owner.arguments) == 1 and isinstance(owner.arguments[0][1], FormsSort)
    # Parts of unlike forms may not compare, so the form's name goes first.
    found.sort(key=lambda s: (s[1].name if forms else "", value_order(tuple(v for _, v in s[0]))))
    return [(parts, str(symbol)) for parts, symbol in found]


def subject_of(text: str, owner: LawDecl | PlanDecl) -> Subject:
    """The parts of a subject that is written out."""
    return subject(parse_term(text), owner)


def subject(symbol: Symbol, owner: LawDecl | PlanDecl) -> Subject:
    """The parts of a subject; one that has forms shows its form's arguments."""
    if len(owner.arguments) > 1:
        parts = zip(owner.arguments, symbol.arguments, strict=True)
        return tuple((snake(name), decode(part, sort)) for (name, sort), part in parts)
    name, sort = owner.arguments[0]
    value = decode(symbol, sort)
    return value.args if isinstance(value, Term) else ((snake(name), value),)


def subject_shown(parts: Subject) -> str:
    """A subject as a message names it."""
    return "/".join(value_text(v) for _, v in parts)
