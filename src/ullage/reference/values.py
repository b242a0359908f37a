"""Values of the reference: figures as fractions with a unit, and exact arithmetic over them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ullage.sorts import (
    COUNT_RANGE,
    RANGE,
    RATIO,
    BoolSort,
    ClosedSort,
    CountSort,
    ExactSort,
    FormsSort,
    Scalar,
    ScalarError,
    Sort,
    TupleSort,
    parse_exact,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in base units of the sort that ``unit`` names; equal figures may differ in it."""

    value: Fraction
    unit: str = field(compare=False)

    def __hash__(self) -> int:
        # A fraction's own hash is that of an equal float, too, and far slower.
        value = self.value
        if type(value) is not Fraction:
            return hash(value)
        return hash((value.numerator, value.denominator))


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a closed set, ``true`` and ``false`` among them."""

    name: str


@dataclass(frozen=True, slots=True)
class Form:
    """A term of declared form: a name over values. One without arguments is a Word."""

    name: str
    args: tuple[Value, ...]


class Written(str):
    """Text as a rule has it: that of a quantity, where it stands among figures."""

    __slots__ = ()


Value = str | Figure | Word | Form | tuple["Value", ...]
"""Text and the names of things are ``str``, as is a quantity that is not yet read by a sort."""

Pattern = str | Figure | Word | Form | tuple["Pattern", ...] | None
"""A value, of which some parts may be left open (None)."""

Atom = tuple[str, tuple[Value, ...]]
"""A ground atom: a predicate and its arguments."""


class Undefined(Exception):
    """An expression without a value: what is wrong, in words."""


_DIMENSIONS = {
    "count": (0, 0, Fraction(1)),
    "ratio": (0, 0, Fraction(1)),
    "bytes": (1, 0, Fraction(1)),
    "milliseconds": (0, 1, Fraction(1, 1000)),
    "bytes_per_second": (1, -1, Fraction(1)),
    "bits_per_second": (1, -1, Fraction(1, 8)),
}
"""Powers of bytes and of seconds in each unit, and how many of those one of it is."""

_ORDERS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_RESULTS = ("ratio", "bytes", "milliseconds", "bytes_per_second")


_ONE = Fraction(1)


def count(value: int) -> Figure:
    """A whole number without a unit."""
    return Figure(Fraction(value), "count")


def of_scalar(value: Scalar, sort: Sort) -> Value:
    """The value of a fact's cell."""
    if isinstance(sort, ExactSort | CountSort):
        assert not isinstance(value, str)
        return Figure(Fraction(value), sort.name)
    if isinstance(sort, BoolSort):
        return Word("true" if value else "false")
    if isinstance(sort, ClosedSort):
        return Word(str(value))
    return str(value)


def as_sort(value: Value, sort: Sort | None) -> Value:
    """A value where a sort stands: texts of quantities read, counts taken as ratios."""
    match sort:
        case ExactSort() if isinstance(value, str):
            return Figure(parse_exact(value, sort), sort.name)
        case CountSort() if isinstance(value, str):
            return within_range(Figure(parse_exact(value, RATIO), sort.name))
        case ExactSort() | CountSort() if isinstance(value, Figure):
            return within_range(Figure(value.value, sort.name))
        case TupleSort(items=items) if isinstance(value, tuple):
            return tuple(as_sort(v, s) for v, s in zip(value, items, strict=True))
        case FormsSort(forms=forms) if isinstance(value, Form):
            sorts = [s for _, s in forms[value.name]]
            args = tuple(as_sort(v, s) for v, s in zip(value.args, sorts, strict=True))
            return Form(value.name, args)
    return str(value) if isinstance(value, Written) else value


def is_of(value: Value, sort: Sort | None) -> bool:
    """Whether a value is one of a sort, a figure in its unit; None is the sort of fixed words."""
    match sort:
        case ExactSort() | CountSort():
            return isinstance(value, Figure) and value.unit == sort.name
        case TupleSort(items=items):
            return (
                isinstance(value, tuple)
                and len(value) == len(items)
                and all(map(is_of, value, items))
            )
        case FormsSort(forms=forms):
            if isinstance(value, Word):
                return not forms.get(value.name, (value.name,))
            if not isinstance(value, Form) or value.name not in forms:
                return False
            sorts = [s for _, s in forms[value.name]]
            return len(value.args) == len(sorts) > 0 and all(map(is_of, value.args, sorts))
        case BoolSort() | ClosedSort() | None:
            return isinstance(value, Word)
    return isinstance(value, str)


def within_range(figure: Figure) -> Figure:
    """The figure itself. Raises Undefined where the language has no such figure."""
    bound = COUNT_RANGE if figure.unit == "count" else RANGE
    if not -bound < figure.value < bound:
        raise Undefined(f"{figure.value} leaves the range of `{figure.unit}`")
    return figure


def pure(figure: Figure) -> bool:
    """Whether a figure has no unit."""
    return figure.unit in ("count", "ratio")


class Arithmetic:
    """Operations over figures; texts of quantities are read by the sorts of a policy."""

    def __init__(self, sorts: Mapping[str, Sort]) -> None:
        self.sorts = {n: s for n, s in sorts.items() if isinstance(s, ExactSort)}
        self.read: dict[tuple[str, str], Figure | None] = {}

    def beside(self, value: Value, other: Value) -> Value:
        """A value in the unit of what it is compared with or added to."""
        if isinstance(value, str) and isinstance(other, Figure):
            figure = self._read(value, "ratio" if pure(other) else other.unit)
            # Zero is of any unit, and says nothing of the text's.
            return figure or (value if other.value else self.alone(value))
        return value

    def alone(self, value: Value) -> Figure:
        """A figure; the text of a quantity is one of the sort that alone has its unit."""
        if isinstance(value, Figure):
            return value
        assert isinstance(value, str), value
        found = [f for f in (self._read(value, unit) for unit in self.sorts) if f is not None]
        if len(found) != 1:
            raise Undefined(f"`{value}` is a figure of no one sort")
        return found[0]

    def alike(self, values: Sequence[Value]) -> Sequence[Value]:
        """Values of one sort, with the quantities among them read: the rest tells if they are."""
        figure = next((v for v in values if isinstance(v, Figure)), None)
        try:
            if figure is None and values and all(isinstance(v, Written) for v in values):
                figure = self.alone(values[0])
            if figure is None:
                return values
            return [self.beside(v, figure) if isinstance(v, Written) else v for v in values]
        except Undefined:
            return values

    def _read(self, text: str, unit: str) -> Figure | None:
        key = (text, unit)
        if key not in self.read:
            try:
                self.read[key] = Figure(parse_exact(text, self.sorts[unit]), unit)
            except (ScalarError, KeyError):
                self.read[key] = None
        return self.read[key]

    def same(self, a: Value, b: Value) -> bool:
        """Whether two values are equal."""
        if isinstance(a, str) and isinstance(b, str):
            a, b = self.alike([a, b])
        elif isinstance(a, str) or isinstance(b, str):
            a, b = self.beside(a, b), self.beside(b, a)
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(self.same, a, b))
        if isinstance(a, Form) and isinstance(b, Form):
            return a.name == b.name and self.same(a.args, b.args)
        return a == b

    def holds(self, a: Value, op: str, b: Value) -> bool:
        """Whether a comparison holds."""
        if op in ("=", "!="):
            return self.same(a, b) == (op == "=")
        left, right = self.beside(a, b), self.beside(b, a)
        x, y = self.alone(left).value, self.alone(right).value
        return _ORDERS[op](x, y)

    def operate(self, name: str, operands: Sequence[Value]) -> Figure:
        """The value of an operation. Raises Undefined."""
        if name in ("*", "/"):
            a, b = (self.alone(v) for v in operands)
            return within_range(_product(a, b) if name == "*" else _quotient(a, b))
        if len(operands) == 1:
            return within_range(_unary(name, self.alone(operands[0])))
        left, right = (self.beside(v, o) for v, o in zip(operands, operands[::-1], strict=True))
        return within_range(_binary(name, self.alone(left), self.alone(right)))

    def total(self, figures: Sequence[Figure]) -> Figure:
        """The sum of figures of one unit."""
        value = sum((f.value for f in figures), Fraction(0))
        return within_range(Figure(value, common_unit(figures)))


def common_unit(figures: Sequence[Figure]) -> str:
    """The unit of figures of one sort: a ratio makes ratios of counts, and zero is of any unit.

    The sum of nothing says not of what it is none.
    """
    units = {f.unit for f in figures if f.value} or {f.unit for f in figures}
    return units.pop() if len(units) == 1 else "ratio" if units else "count"


def _unary(name: str, a: Figure) -> Figure:
    whole = "count" if pure(a) else a.unit
    match name:
        case "-":
            return Figure(-a.value, a.unit)
        case "abs":
            return Figure(abs(a.value), a.unit)
        case "floor":
            return Figure(math.floor(a.value) * _ONE, whole)
        case "ceil":
            return Figure(math.ceil(a.value) * _ONE, whole)
    raise AssertionError(name)


def _binary(name: str, a: Figure, b: Figure) -> Figure:
    unit = a.unit if a.unit == b.unit else common_unit((a, b))
    match name:
        case "+":
            return Figure(a.value + b.value, unit)
        case "-":
            return Figure(a.value - b.value, unit)
    if b.value == 0:
        raise Undefined("divides by zero")
    whole = math.floor(a.value / b.value)
    match name:
        case "floor_div":
            return Figure(whole * _ONE, "count")
        case "ceil_div":
            return Figure(math.ceil(a.value / b.value) * _ONE, "count")
        case "\\":
            return Figure(a.value - b.value * whole, unit)
    raise AssertionError(name)


def _product(a: Figure, b: Figure) -> Figure:
    if not a.value or not b.value:
        return Figure(Fraction(0), a.unit)
    if a.unit == "count" and b.unit == "count":
        return Figure(a.value * b.value, "count")
    if pure(a) or pure(b):
        unit = b.unit if pure(a) and b.unit != "count" else a.unit
        return Figure(a.value * b.value, unit)
    return _with_dimension(a, b, 1)


def _quotient(a: Figure, b: Figure) -> Figure:
    if b.value == 0:
        raise Undefined("divides by zero")
    if not a.value:
        return a
    if a.unit == b.unit or (pure(a) and pure(b)):
        return Figure(a.value / b.value, "ratio")
    if pure(b):
        return Figure(a.value / b.value, a.unit)
    return _with_dimension(a, b, -1)


def _with_dimension(a: Figure, b: Figure, sign: int) -> Figure:
    """A product (or, with sign -1, a quotient) of two figures with units, in a unit of its own."""
    data, time, scale = _DIMENSIONS[a.unit]
    more_data, more_time, by = _DIMENSIONS[b.unit]
    wanted = (data + sign * more_data, time + sign * more_time)
    one, other = a.value * scale, b.value * by
    base = one * other if sign > 0 else one / other
    for unit in _RESULTS:
        *dimension, size = _DIMENSIONS[unit]
        if tuple(dimension) == wanted:
            return Figure(base / size, unit)
    raise Undefined(f"`{a.unit}` and `{b.unit}` make no figure")
