"""Rules as plain values: the part of clingo's language that a law may use, with positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ullage.findings import Position

_T = TypeVar("_T")

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

    def links(self) -> Iterator[tuple[Expr, str, Expr]]:
        """The chain link by link: a term, the comparison, and the term after it."""
        left = self.first
        for op, right in self.rest:
            yield left, op, right
            left = right

    def chosen_twice(self) -> Expr | None:
        """The first pool or interval that two links would share, if there is one.

        Link by link each would choose for itself; in the chain they would have to choose alike.
        """
        inside = (found for _, term in self.rest[:-1] for found in within(term))
        return next((e for e in inside if isinstance(e, Pool | Span)), None)


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


def children(item: Expr | Literal | Element) -> Iterator[Expr | Literal | Element]:
    """What stands directly below a term or literal, in the order of the text."""
    match item:
        case Fun(args=args) | Tup(args=args) | Op(args=args) | Pool(args=args) | Atom(args=args):
            yield from args
        case Span(low=low, high=high):
            yield low
            yield high
        case Comparison(first=first, rest=rest):
            yield first
            yield from (term for _, term in rest)
        case Conditional(literal=literal, conditions=conditions):
            yield literal
            yield from conditions
        case Element(terms=terms, conditions=conditions):
            yield from terms
            yield from conditions
        case Aggregate(elements=elements, guards=guards):
            yield from elements
            yield from (term for _, term in guards)
        case _:
            pass


def within(item: Expr | Literal | Element) -> Iterator[Expr | Literal | Element]:
    """A term or literal and all that stands below it, in the order of the text."""
    yield item
    for child in children(item):
        yield from within(child)


def variables(item: Expr | Literal | Element) -> Iterator[Var]:
    """Every occurrence of a variable below a term or literal, in the order of the text."""
    return (found for found in within(item) if isinstance(found, Var))


def outer_variables(literal: Literal) -> Iterator[Var]:
    """The variables of a literal that live outside every set."""
    if isinstance(literal, Aggregate):
        for _, guard in literal.guards:
            yield from variables(guard)
    elif not isinstance(literal, Conditional):
        yield from variables(literal)


def global_names(rule: Rule) -> set[str]:
    """The names of the variables of a rule that live outside every set."""
    return names(rule.head).union(v.name for b in rule.body for v in outer_variables(b))


def names(item: Expr | Literal | Element) -> set[str]:
    """The names of the variables below a term or literal."""
    return {v.name for v in variables(item)}


@dataclass(frozen=True, slots=True)
class Use:
    """An atom read in a body: whether it binds its variables, and whether it is read monotonely.

    Recursion may pass through a monotone use alone; none inside a set is one.
    """

    atom: Atom
    binds: bool
    monotone: bool


def uses(body: Iterable[Literal]) -> Iterator[Use]:
    """Every atom that a body reads."""
    for literal in body:
        match literal:
            case Atom():
                yield Use(literal, literal.sign == 0, literal.sign == 0)
            case Conditional(literal=inner, conditions=conditions):
                if isinstance(inner, Atom):
                    yield Use(inner, False, False)
                yield from _uses_in_a_set(conditions)
            case Aggregate(elements=elements):
                for element in elements:
                    yield from _uses_in_a_set(element.conditions)
            case _:
                pass


def _uses_in_a_set(conditions: Iterable[Atom | Comparison | Truth]) -> Iterator[Use]:
    for condition in conditions:
        if isinstance(condition, Atom):
            yield Use(condition, condition.sign == 0, False)


def substituted(
    item: _T, put: Callable[[Var], Expr], made: Callable[[object, object], None] | None = None
) -> _T:
    """An item with what ``put`` gives in each variable's place; what does not change stays itself.

    ``made`` is told of every other node, and of the one in its place.
    """
    new: Any = item
    if isinstance(item, Var):
        new = put(item)
    elif isinstance(item, tuple):
        parts = tuple(substituted(i, put, made) for i in item)
        new = item if all(p is i for p, i in zip(parts, item, strict=True)) else parts
    elif dataclasses.is_dataclass(item) and not isinstance(item, type | Position):
        fields = {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
        changes = {name: substituted(value, put, made) for name, value in fields.items()}
        if any(changes[name] is not fields[name] for name in fields):
            new = dataclasses.replace(item, **changes)
            if made is not None:
                made(item, new)
    return cast(_T, new)


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
