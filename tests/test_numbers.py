"""Exact numbers as terms: equal where the values are, and in their order."""

from __future__ import annotations

from fractions import Fraction

import clingo
import pytest
from clingo.symbol import Function, Number, Symbol
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ullage.rules import numbers
from ullage.sorts import COUNT_RANGE, RANGE

NANO = Fraction(1, 10**9)
LIMIT = 32768 * 10**27

decimals = st.one_of(
    st.integers(1 - LIMIT, LIMIT - 1).map(lambda n: n * NANO),
    st.integers(-(10**12), 10**12).map(lambda n: n * NANO),
    st.integers(-5, 5).map(Fraction),
    st.sampled_from([10**9, 10**18, -(10**9), -(10**18)]).flatmap(
        lambda edge: st.integers(-2, 2).map(lambda n: edge + n * NANO)
    ),
)
fractions = st.one_of(
    decimals,
    st.fractions(-3, 3, max_denominator=50),
    st.fractions(-(10**18), 10**18, max_denominator=10**12),
    # Neighbours that agree in many partial quotients.
    st.builds(
        lambda a, p, q: a + Fraction(p, q) * NANO,
        st.integers(-2, 2),
        st.integers(0, 10**6),
        st.integers(10**6, 10**6 + 20),
    ),
)


@given(decimals)
@example(Fraction(1 - LIMIT, 10**9))
@example(Fraction(LIMIT - 1, 10**9))
@example(-NANO)
def test_a_decimal_is_its_limbs(value: Fraction) -> None:
    symbol = numbers.WIDE.decimal_symbol(value)
    t, h, m, n = (a.number for a in symbol.arguments)
    assert t * 10**18 + h * 10**9 + m + n * NANO == value
    assert all(0 <= limb < 10**9 for limb in (h, m, n))
    assert -32768 <= t < 32768
    assert numbers.decode(symbol) == value
    assert numbers.WIDE.decimal_text(value) == str(symbol)
    if value.denominator == 1:
        assert numbers.WIDE.decimal_text(int(value)) == str(symbol)


@given(decimals)
@example(Fraction(2**20 * 10**18 - 1, 10**9))
@example(Fraction(1 - 2**20 * 10**18, 10**9))
@example(Fraction(2**20 * 10**9))
@example(Fraction(-(2**20) * 10**9))
def test_a_narrow_figure_has_a_limb_less_or_is_refused(value: Fraction) -> None:
    if abs(value) >= 2**20 * 10**9:
        with pytest.raises(numbers.TooWide):
            numbers.NARROW.decimal_symbol(value)
        with pytest.raises(numbers.TooWide):
            numbers.NARROW.fraction_symbol(value)
        return
    symbol = numbers.NARROW.decimal_symbol(value)
    h, m, n = (a.number for a in symbol.arguments)
    assert h * 10**9 + m + n * NANO == value
    assert all(0 <= limb < 10**9 for limb in (m, n))
    assert numbers.decode(symbol) == numbers.decode(numbers.NARROW.fraction_symbol(value)) == value


@given(fractions)
def test_a_fraction_is_its_term(value: Fraction) -> None:
    symbol = numbers.WIDE.fraction_symbol(value)
    assert len(symbol.arguments) == 5
    assert numbers.decode(symbol) == value
    assert clingo.parse_term(numbers.WIDE.fraction_text(value)) == symbol
    assert (symbol.arguments[4] == Number(0)) == ((value / NANO).denominator == 1)


@settings(max_examples=400)
@given(st.lists(fractions, min_size=2, max_size=8))
@example([Fraction(1, 3), Fraction(333333333, 10**9), Fraction(333333334, 10**9)])
@example([Fraction(k, 3 * 10**9) for k in (-2, -1, 0, 1, 2, 3)])
@example([NANO * Fraction(1, q) for q in (1, 2, 3, 2**31, 2**40, 10**20)])
def test_terms_stand_in_the_order_of_values(values: list[Fraction]) -> None:
    by_term = sorted(set(values), key=lambda v: numbers.WIDE.fraction_symbol(v))
    assert by_term == sorted(set(values))
    exact = [v for v in values if (v / NANO).denominator == 1]
    assert sorted(set(exact), key=lambda v: numbers.WIDE.decimal_symbol(v)) == sorted(set(exact))


@given(fractions, fractions)
def test_equal_values_are_one_term(a: Fraction, b: Fraction) -> None:
    same: list[Symbol] = [numbers.WIDE.fraction_symbol(a), numbers.WIDE.fraction_symbol(b)]
    assert (same[0] == same[1]) == (a == b)
    assert numbers.WIDE.fraction_symbol(a + b - b) == same[0]


@given(fractions)
def test_the_level_is_the_number_of_decimals(value: Fraction) -> None:
    places = next((k for k in range(10) if (value * 10**k).denominator == 1), numbers.FRACTION)
    assert numbers.level(value) == places


def test_a_decimal_of_ten_places_is_none() -> None:
    with pytest.raises(ValueError, match="more than 9 decimals"):
        numbers.WIDE.decimal_text(Fraction(1, 10**10))


@pytest.mark.parametrize("power", [27, 60, 200])
def test_a_fraction_is_as_fine_as_it_likes(power: int) -> None:
    finest = [Fraction(1, 10**power), Fraction(1, 10**power + 1), Fraction(-1, 10**power)]
    symbols = [numbers.WIDE.fraction_symbol(v) for v in finest]
    assert [numbers.decode(s) for s in symbols] == finest
    assert [numbers.decode(s) for s in sorted(symbols)] == sorted(finest)


def test_the_ranges_end_where_they_say() -> None:
    assert numbers.in_range(RANGE - NANO)
    assert not numbers.in_range(RANGE)
    assert numbers.in_range(-RANGE + NANO)
    assert not numbers.in_range(-RANGE)
    assert numbers.count_in_range(COUNT_RANGE - 1)
    assert not numbers.count_in_range(COUNT_RANGE)
    assert not numbers.count_in_range(-COUNT_RANGE)


@pytest.mark.parametrize("limbs", [(0, 0, 1, 0), (-1, 999999999, 999999999, 999999999)])
def test_a_decimal_and_its_fraction_decode_alike(limbs: tuple[int, ...]) -> None:
    parts = [Number(n) for n in limbs]
    short, long = Function("q", parts), Function("r", [*parts, Number(0)])
    assert numbers.decode(short) == numbers.decode(long)
