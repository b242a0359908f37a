"""Reading and showing the values of sorts."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.sorts import (
    BITS_PER_SECOND,
    BOOL,
    BYTES,
    BYTES_PER_SECOND,
    COUNT,
    COUNT_RANGE,
    MILLISECONDS,
    RANGE,
    RATIO,
    TEXT,
    ClosedSort,
    ExactSort,
    ScalarError,
    Sort,
    display,
    exact_text,
    parse_count,
    parse_exact,
    parse_number,
    parse_scalar,
)

REACH = ClosedSort("reach", "", ("one_pool", "direct"))
EXACT = (BYTES, BYTES_PER_SECOND, BITS_PER_SECOND, MILLISECONDS, RATIO)


@pytest.mark.parametrize(
    ("text", "sort", "value"),
    [
        ("96 GB", BYTES, 96 * 10**9),
        ("96 GiB", BYTES, 96 * 2**30),
        ("1.5GiB", BYTES, 3 * 2**29),
        ("2.5 Gbit/s", BITS_PER_SECOND, 25 * 10**8),
        ("450 GB/s", BYTES_PER_SECOND, 450 * 10**9),
        ("0.5 ms", MILLISECONDS, Fraction(1, 2)),
        ("2 min", MILLISECONDS, 120_000),
        ("0.2", RATIO, Fraction(1, 5)),
        ("20%", RATIO, Fraction(1, 5)),
        ("34/32", RATIO, Fraction(17, 16)),
        ("-3 B", BYTES, -3),
        ("010", COUNT, 10),
        ("true", BOOL, True),
        ("direct", REACH, "direct"),
        ("NO", TEXT, "NO"),
    ],
)
def test_reads(text: str, sort: Sort, value: object) -> None:
    read = parse_scalar(text, sort)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "sort", "code", "word"),
    [
        ("96", BYTES, "missing-unit", "96 GiB"),
        ("96 gib", BYTES, "unknown-unit", "`GiB`"),
        ("96 ms", BYTES, "unknown-unit", "GiB"),
        ("1e3 B", BYTES, "not-a-quantity", "exponent"),
        ("1e3", RATIO, "not-a-quantity", "exponent"),
        ("much", BYTES, "not-a-quantity", "much"),
        ("1/0", RATIO, "not-a-quantity", "1/0"),
        ("1.2.3 B", BYTES, "not-a-quantity", "1.2.3 B"),
        ("", BYTES, "not-a-quantity", "96 GiB"),
        ("9" * 90 + " B", BYTES, "not-a-quantity", "999"),
        (f"{RANGE} B", BYTES, "quantity-out-of-range", str(RANGE)),
        ("1.0", COUNT, "not-a-count", "1.0"),
        ("\u0663", COUNT, "not-a-count", "\u0663"),
        (str(COUNT_RANGE), COUNT, "count-out-of-range", str(COUNT_RANGE)),
        ("yes", BOOL, "not-a-bool", "`true`"),
        ("False", BOOL, "not-a-bool", "`false`"),
        ("one_pol", REACH, "not-in-closed-set", "`one_pool`"),
        ("xyz", REACH, "not-in-closed-set", "`one_pool`, `direct`"),
        ("a\0b", TEXT, "not-text", "U+0000"),
        ("\ud800", TEXT, "not-text", "U+D800"),
    ],
)
def test_refuses(text: str, sort: Sort, code: str, word: str) -> None:
    with pytest.raises(ScalarError) as caught:
        parse_scalar(text, sort)
    assert caught.value.code == code
    assert word in caught.value.message + caught.value.help


def test_range_is_open_at_both_ends() -> None:
    assert parse_exact(f"{RANGE - 1} B", BYTES) == RANGE - 1
    assert parse_exact(f"-{RANGE - 1} B", BYTES) == 1 - RANGE
    assert parse_count(str(1 - COUNT_RANGE)) == 1 - COUNT_RANGE
    with pytest.raises(ScalarError):
        parse_exact(f"-{RANGE} B", BYTES)


@pytest.mark.parametrize(
    ("value", "sort", "shown"),
    [
        (Fraction(0), BYTES, "0 B"),
        (Fraction(3 * 2**29), BYTES, "1.50 GiB"),
        (Fraction(2**30), BYTES, "1 GiB"),
        (Fraction(450 * 10**9), BYTES_PER_SECOND, "450 GB/s"),
        (Fraction(1, 3000), MILLISECONDS, "1/3000 ms"),
        (Fraction(-3, 2), MILLISECONDS, "-1.50 ms"),
        (Fraction(17, 16), RATIO, "1.0625"),
        (Fraction(7), COUNT, "7"),
        (Fraction(1500), ExactSort("watts", "", {"W": Fraction(1)}), "1500 W"),
    ],
)
def test_display(value: Fraction, sort: Sort, shown: str) -> None:
    assert display(value, sort) == shown


in_range = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**6)


@given(in_range)
def test_format_then_parse_is_the_identity(value: Fraction) -> None:
    assert parse_number(exact_text(value)) == value


@given(in_range, st.sampled_from(EXACT), st.data())
def test_every_unit_reads_back(value: Fraction, sort: ExactSort, data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(sorted(sort.units)))
    size = sort.units[unit]
    text = f"{exact_text(value)} {unit}".strip()
    if abs(value * size) < RANGE:
        assert parse_exact(text, sort) == value * size


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=0, max_value=10**12))
def test_decimals_are_exact(value: object) -> None:
    text = format(value, "f")
    assert parse_number(text) == Fraction(text)


@given(st.text(max_size=100), st.sampled_from((*EXACT, COUNT, BOOL, TEXT, REACH)))
def test_any_text_reads_or_is_refused(text: str, sort: Sort) -> None:
    with contextlib.suppress(ScalarError):
        parse_scalar(text, sort)


@given(
    st.integers(-(10**22), 10**22),
    st.sampled_from([1, 2, 5, 200, 400, 1000, 1024, 3, 7, 10**9]),
    st.sampled_from([BYTES, BYTES_PER_SECOND, BITS_PER_SECOND, MILLISECONDS]),
)
def test_a_display_is_the_value_rounded_to_two_decimals_of_its_unit(
    number: int, below: int, sort: ExactSort
) -> None:
    """Held against ``Fraction.__round__``, which rounds halves to the even one, too."""
    value = Fraction(number, below)
    shown, _, unit = display(value, sort).rpartition(" ")
    size = sort.units[unit]
    assert abs(value) >= size or unit in ("B", "B/s", "bit/s", "ms")
    if round(value / size, 2) or not value:
        assert Fraction(shown) == round(value / size, 2)
    else:
        assert Fraction(shown) == value / size
