"""Exact arithmetic over sorts: which sort an operation yields, and its value as a fraction.

Sorts carry a dimension (data, time) and a scale, so that a quotient of bytes and a rate is a time
in milliseconds, exactly, and a sum of bytes and a time has no sort at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ullage.sorts import (
    BYTES,
    BYTES_PER_SECOND,
    COUNT,
    MILLISECONDS,
    RATIO,
    CountSort,
    ExactSort,
    ScalarError,
    Sort,
    parse_exact,
)

_DERIVED = (BYTES, MILLISECONDS, BYTES_PER_SECOND)


def numeric(sort: Sort | None) -> bool:
    """Whether values of the sort can be added and compared by size."""
    return isinstance(sort, ExactSort | CountSort)


def pure(sort: Sort) -> bool:
    """Whether values of the sort are numbers without a unit."""
    return isinstance(sort, CountSort) or sort == RATIO


def common(a: Sort, b: Sort) -> Sort | None:
    """The sort in which two figures can be added or compared; None where their units differ."""
    if a == b:
        return a
    return RATIO if pure(a) and pure(b) else None


def _dimension(sort: Sort) -> tuple[tuple[int, int], Fraction] | None:
    if isinstance(sort, CountSort):
        return (0, 0), Fraction(1)
    if isinstance(sort, ExactSort) and sort.dimension is not None:
        return sort.dimension, sort.scale
    return None


def result(name: str, sorts: Sequence[Sort]) -> Sort | None:
    """The sort of an operation over sorts; None where it has none."""
    if not all(numeric(s) for s in sorts):
        return None
    first = sorts[0]
    match name:
        case "abs":
            return first
        case "-" if len(sorts) == 1:
            return first
        case "floor" | "ceil":
            return COUNT if pure(first) else first
        case "floor_div" | "ceil_div":
            return COUNT if common(first, sorts[1]) is not None else None
        case "+" | "-" | "\\":
            return common(first, sorts[1])
        case "*":
            return _product(first, sorts[1])
        case "/":
            return _quotient(first, sorts[1])
    raise AssertionError(name)


def _product(a: Sort, b: Sort) -> Sort | None:
    if isinstance(a, CountSort) and isinstance(b, CountSort):
        return COUNT
    if pure(a):
        return b if not isinstance(b, CountSort) else a
    if pure(b):
        return a
    return _of_dimension(a, b, 1)


def _quotient(a: Sort, b: Sort) -> Sort | None:
    if common(a, b) is not None:
        return RATIO
    if pure(b):
        return a
    return _of_dimension(a, b, -1)


def _of_dimension(a: Sort, b: Sort, sign: int) -> Sort | None:
    left, right = _dimension(a), _dimension(b)
    if left is None or right is None:
        return None
    wanted = (left[0][0] + sign * right[0][0], left[0][1] + sign * right[0][1])
    if wanted == (0, 0):
        return RATIO
    return next((s for s in _DERIVED if s.dimension == wanted), None)


def evaluate(name: str, values: Sequence[Fraction], factor: Fraction | None) -> Fraction | None:
    """The value of an operation in base units of its sort; None where it is undefined.

    ``factor`` is that of ``factor``.
    """
    a = values[0]
    match name:
        case "abs":
            return abs(a)
        case "-" if len(values) == 1:
            return -a
        case "floor":
            return Fraction(math.floor(a))
        case "ceil":
            return Fraction(math.ceil(a))
        case "+":
            return a + values[1]
        case "-":
            return a - values[1]
        case "*":
            return a * values[1] if factor is None else a * values[1] * factor
    b = values[1]
    if b == 0:
        return None
    match name:
        case "floor_div":
            return Fraction(a // b)
        case "ceil_div":
            return Fraction(-(-a // b))
        case "\\":
            return a - b * (a // b)
        case "/":
            return a / b if factor is None else a / b * factor
    raise AssertionError(name)


def factor(name: str, sorts: Sequence[Sort], sort: Sort) -> Fraction | None:
    """What turns a product or quotient of base units into base units of the result; None for 1."""
    if name not in ("*", "/"):
        return None
    left, right, out = _dimension(sorts[0]), _dimension(sorts[1]), _dimension(sort)
    if left is None or right is None or out is None:
        return None
    scale = left[1] * (right[1] if name == "*" else 1 / right[1]) / out[1]
    return None if scale == 1 else scale


def literal_sort(text: str, sorts: Mapping[str, Sort]) -> ExactSort | None:
    """The one exact sort that a quantity's unit names; None where none or several do."""
    found = [s for s in sorts.values() if isinstance(s, ExactSort) and _reads(text, s)]
    return found[0] if len(found) == 1 else None


def _reads(text: str, sort: ExactSort) -> bool:
    try:
        parse_exact(text, sort)
    except ScalarError:
        return False
    return True
