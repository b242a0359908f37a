"""Rules as plain values: the part of clingo's language that a law may use, with positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ullage.findings import Position

FLIPPED = {">": "<", "<": ">", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}
"""Each comparison with its sides exchanged."""

NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""Each comparison's opposite."""


@dataclass(frozen=True, slots=True)
class Var:
    """A variable; every anonymous ``_`` gets a name of its own, with an apostrophe."""

    name: str
    position: Position = field(compare=False)

    @property
    def anonymous(self) -> bool:
        """Whether the author wrote ``_``."""
        return self.name.startswith("_'")


@dataclass(frozen=True, slots=True)
class Int:
    """An integer literal below 2**31."""

    value: int
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Str:
    """A string literal: text, the name of a thing, or a quantity, by the sort expected of it."""

    value: str
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Fun:
    """A constant (no arguments) or a compound term."""

    name: str
    args: tuple[Expr, ...]
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Tup:
    """A tuple."""

    args: tuple[Expr, ...]
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Op:
    """Arithmetic: ``+ - * / \\`` over two arguments, ``-`` or ``abs`` over one, or a called
    function (``floor``, ``ceil``, ``floor_div``, ``ceil_div``).
    """

    name: str
    args: tuple[Expr, ...]
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of counts, ``low..high``."""

    low: Expr
    high: Expr
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """Alternatives, ``(a;b)``."""

    args: tuple[Expr, ...]
    position: Position = field(compare=False)


Expr = Var | Int | Str | Fun | Tup | Op | Span | Pool


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate over terms. ``sign`` counts the ``not`` before it (0, 1 or 2)."""

    name: str
    args: tuple[Expr, ...]
    position: Position = field(compare=False)
    sign: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of comparisons: ``first op1 rest1 op2 rest2 …``."""

    first: Expr
    rest: tuple[tuple[str, Expr], ...]
    position: Position = field(compare=False)
    sign: int = 0


@dataclass(frozen=True, slots=True)
class Truth:
    """``#true`` or ``#false``."""

    value: bool
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """``literal : conditions``, which holds where the literal holds for every such instance."""

    literal: Atom | Comparison | Truth
    conditions: tuple[Atom | Comparison | Truth, ...]
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an aggregate: its terms and its conditions."""

    terms: tuple[Expr, ...]
    conditions: tuple[Atom | Comparison | Truth, ...]
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``left op #function { … } op right``; guards are pairs of an operator and a term, both
    written with the aggregate on the left.
    """

    function: str
    elements: tuple[Element, ...]
    guards: tuple[tuple[str, Expr], ...]
    position: Position = field(compare=False)
    sign: int = 0


Literal = Atom | Comparison | Truth | Conditional | Aggregate


@dataclass(frozen=True, slots=True)
class Label:
    """What a rule concludes in words: ``%`` stands for each argument in turn."""

    text: str
    args: tuple[str, ...]
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: head, body, its label, the author's own text, and how many lines it goes on."""

    head: Atom
    body: tuple[Literal, ...]
    label: Label | None
    text: str
    position: Position = field(compare=False)
    lines: int = 0


def variables(item: Expr | Literal | Element) -> Iterator[Var]:
    """Every occurrence of a variable below a term or literal, in the order of the text."""
    match item:
        case Var():
            yield item
        case Fun(args=args) | Tup(args=args) | Op(args=args) | Pool(args=args) | Atom(args=args):
            for arg in args:
                yield from variables(arg)
        case Span(low=low, high=high):
            yield from variables(low)
            yield from variables(high)
        case Comparison(first=first, rest=rest):
            yield from variables(first)
            for _, term in rest:
                yield from variables(term)
        case Conditional(literal=literal, conditions=conditions):
            yield from variables(literal)
            for condition in conditions:
                yield from variables(condition)
        case Element(terms=terms, conditions=conditions):
            for term in terms:
                yield from variables(term)
            for condition in conditions:
                yield from variables(condition)
        case Aggregate(elements=elements, guards=guards):
            for element in elements:
                yield from variables(element)
            for _, term in guards:
                yield from variables(term)
        case _:
            pass


def names(item: Expr | Literal | Element) -> set[str]:
    """The names of the variables below a term or literal."""
    return {v.name for v in variables(item)}


def aligned(left: Expr, right: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Two compared terms as pairs of their parts, as far as both are tuples or forms of a kind."""
    if alike(left, right):
        assert isinstance(left, Tup | Fun)
        assert isinstance(right, Tup | Fun)
        for a, b in zip(left.args, right.args, strict=True):
            yield from aligned(a, b)
    else:
        yield left, right


def alike(left: Expr, right: Expr) -> bool:
    """Whether two terms are tuples of one length, or forms of one name."""
    match left, right:
        case Tup(args=a), Tup(args=b):
            return len(a) == len(b)
        case Fun(name=f, args=a), Fun(name=g, args=b):
            return bool(a) and f == g and len(a) == len(b)
    return False
