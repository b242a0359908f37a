"""Values, atoms and instances of literals as text: exact, one text a value, and read back again.

Text is in double quotes, words are bare, a figure is its exact number and its base unit:
``("gh200", 3)``, ``uva``, ``103079215104 bytes``, ``1/3 ratio``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from ullage.reference.values import Atom, Figure, Form, Pattern, Value, Word
from ullage.rules import terms
from ullage.rules.terms import (
    Aggregate,
    Comparison,
    Conditional,
    Expr,
    Fun,
    Int,
    Literal,
    Op,
    Pool,
    Span,
    Str,
    Truth,
    Tup,
    Var,
)
from ullage.sorts import exact_text

Show = Callable[[Value], str]
"""How a value is written."""

_TIGHT = {"*": 2, "/": 2, "\\": 2, "+": 1, "-": 1}


def value_text(value: Value) -> str:
    """A value as text, no two alike."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Word(name=name):
            return name
        case Figure(value=number, unit="count"):
            return exact_text(number)
        case Figure(value=number, unit=unit):
            return f"{exact_text(number)} {unit}"
        case Form(name=name, args=args):
            return f"{name}({', '.join(map(value_text, args))})"
    return f"({', '.join(map(value_text, value))}{',' * (len(value) == 1)})"


def pattern_text(pattern: Pattern) -> str:
    """A value of which parts may be open, each as ``_``."""
    if pattern is None:
        return "_"
    if isinstance(pattern, tuple):
        return f"({', '.join(map(pattern_text, pattern))}{',' * (len(pattern) == 1)})"
    if isinstance(pattern, Form):
        return f"{pattern.name}({', '.join(map(pattern_text, pattern.args))})"
    return value_text(pattern)


def atom_text(atom: Atom, show: Show = value_text) -> str:
    """An atom as text."""
    name, args = atom
    return f"{name}({', '.join(map(show, args))})" if args else name


_TOKEN = re.compile(
    r'\s*(?:("(?:[^"\\]|\\.)*")|(-?[0-9]+(?:\.[0-9]+)?(?:/[0-9]+)?)(?: ([a-z_]\w*))?'
    r"|(_*[a-z]\w*)|([(),]))"
)


class Malformed(ValueError):
    """Text that is no value."""


def parse_value(text: str) -> Value:
    """The value of a text that ``value_text`` wrote. Raises Malformed."""
    reader = _Reader(text)
    value = reader.value(0)
    reader.end()
    return value


class _Reader:
    """Reads one value, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def _next(self) -> re.Match[str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise Malformed(self.text)
        self.at = match.end()
        return match

    def end(self) -> None:
        if self.at != len(self.text):
            raise Malformed(self.text)

    def value(self, depth: int) -> Value:
        if depth > _DEEPEST:
            raise Malformed(self.text)
        quoted, number, unit, word, sign = self._next().groups()
        if quoted is not None:
            try:
                return str(json.loads(quoted))
            except ValueError as error:
                raise Malformed(self.text) from error
        if number is not None:
            whole, _, below = number.partition("/")
            if len(number) > _LONGEST or (below and not int(below)):
                raise Malformed(self.text)
            return Figure(Fraction(whole) / int(below or 1), unit or "count")
        if word is not None:
            if self.text[self.at : self.at + 1] != "(":
                return Word(word)
            self.at += 1
            return Form(word, self._arguments(depth))
        if sign == "(":
            return self._arguments(depth)
        raise Malformed(self.text)

    def _arguments(self, depth: int) -> tuple[Value, ...]:
        found: list[Value] = []
        while True:
            if found and self.text[self.at : self.at + 1] == ")":
                self.at += 1
                return tuple(found)
            found.append(self.value(depth + 1))
            sign = self._next().group(5)
            if sign == ")":
                return tuple(found)
            if sign != ",":
                raise Malformed(self.text)


_DEEPEST = 100
"""Deepest nesting of a value that is read."""

_LONGEST = 1000
"""Longest text of a number that is read; of a fraction even the decimals are then written out."""


def term_text(term: Expr, bindings: Mapping[str, Value], show: Show = value_text) -> str:
    """A term with values in the places of its variables; an open one is ``_``."""
    match term:
        case Var(name=name):
            return show(bindings[name]) if name in bindings else "_"
        case Int(value=value):
            return str(value)
        case Str(value=value):
            return show(value)
        case Fun(name=name, args=()):
            return name
        case Fun(name=name, args=args):
            return f"{name}({_listed(args, bindings, show)})"
        case Tup(args=args):
            return f"({_listed(args, bindings, show)}{',' * (len(args) == 1)})"
        case Pool(args=args):
            return f"({'; '.join(term_text(a, bindings, show) for a in args)})"
        case Span(low=low, high=high):
            return f"{term_text(low, bindings, show)}..{term_text(high, bindings, show)}"
        case Op(name="abs", args=(arg,)):
            return f"|{term_text(arg, bindings, show)}|"
        case Op(name=name, args=(arg,)) if name == "-":
            return f"-{_operand(arg, 3, bindings, show)}"
        case Op(name=name, args=(left, right)) if name in _TIGHT:
            tight = _TIGHT[name]
            one = _operand(left, tight, bindings, show)
            return f"{one} {name} {_operand(right, tight + 1, bindings, show)}"
        case Op(name="floor_div" | "ceil_div" as name, args=(left, right)) if (
            show is not value_text
        ):
            one, other = (_operand(t, 3, bindings, show) for t in (left, right))
            return f"{name.removesuffix('_div')}({one} / {other})"
        case Op(name=name, args=args):
            mark = "@" if show is value_text else ""
            return f"{mark}{name}({_listed(args, bindings, show)})"
    raise AssertionError(term)


def _listed(args: Sequence[Expr], bindings: Mapping[str, Value], show: Show) -> str:
    return ", ".join(term_text(a, bindings, show) for a in args)


def _operand(term: Expr, tight: int, bindings: Mapping[str, Value], show: Show) -> str:
    text = term_text(term, bindings, show)
    loose = isinstance(term, Op) and _TIGHT.get(term.name, 9) < tight and len(term.args) == 2
    return f"({text})" if loose else text


def literal_text(literal: Literal, bindings: Mapping[str, Value], show: Show = value_text) -> str:
    """An instance of a literal that is no aggregate."""
    match literal:
        case terms.Atom(name=name, args=args, sign=sign):
            atom = f"{name}({_listed(args, bindings, show)})" if args else name
            return "not " * sign + atom
        case Comparison(sign=sign):
            text = term_text(literal.first, bindings, show)
            for op, right in literal.rest:
                text += f" {op} {term_text(right, bindings, show)}"
            return "not " * sign + text
        case Truth(value=value):
            return "#true" if value else "#false"
        case Conditional(literal=inner, conditions=conditions):
            given = ", ".join(literal_text(c, bindings, show) for c in conditions)
            return f"{literal_text(inner, bindings, show)} : {given}"
    raise AssertionError(literal)


def aggregate_text(
    literal: Aggregate,
    members: Iterable[tuple[Value, ...]],
    bindings: Mapping[str, Value],
    show: Show = value_text,
) -> str:
    """An instance of an aggregate: its distinct members in order, and its guards."""
    shown = sorted({", ".join(map(show, m)) for m in members})
    guards = " ".join(f"{op} {term_text(t, bindings, show)}" for op, t in literal.guards)
    inside = f"{{ {'; '.join(shown)} }}" if shown else "{}"
    return f"{'not ' * literal.sign}#{literal.function} {inside} {guards}"
