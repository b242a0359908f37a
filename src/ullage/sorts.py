"""Sorts: what an argument or a column may hold, and how its text is read and shown.

Exact sorts hold rational numbers in a base unit. Everything here is exact: no float is ever made
but for the two decimals of a display.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from ullage.findings import listed, similar

Scalar = str | bool | int | Fraction
"""What a scalar's text may stand for."""

RANGE = 32768 * 10**18
"""Exact values lie strictly between -RANGE and RANGE, in whole units; a run errs beyond it."""

COUNT_RANGE = 10**9
"""Counts lie strictly between -COUNT_RANGE and COUNT_RANGE: a native sum of two is safe."""

MAX_NUMBER_TEXT = 80
"""Longest text of one number, in characters; longer ones are refused unread."""

_LISTED_VALUES = 12

_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:/([0-9]+)(?:\.([0-9]+))?)?")
_QUANTITY = re.compile(r"(-?[0-9][0-9./]*)\s*([^\s0-9.].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort by name. The subclasses say of which kind."""

    name: str
    doc: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Its name."""
        return self.name


@dataclass(frozen=True, slots=True)
class TextSort(Sort):
    """Free text; a string term."""


@dataclass(frozen=True, slots=True)
class EntitySort(Sort):
    """Names of things that tables key; a string term."""


@dataclass(frozen=True, slots=True)
class BoolSort(Sort):
    """``true`` or ``false``; a constant."""


@dataclass(frozen=True, slots=True)
class CountSort(Sort):
    """A small whole number; a native integer of clingo, always within COUNT_RANGE."""


@dataclass(frozen=True, slots=True)
class ClosedSort(Sort):
    """One of a closed set of constants."""

    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormsSort(Sort):
    """One of a closed set of terms, each with sorted arguments: ``across_link(Rate)``.

    ``forms`` maps a functor to its arguments, each a pair of a name and a sort.
    """

    forms: Mapping[str, tuple[tuple[str, Sort], ...]] = field(
        default_factory=lambda: MappingProxyType({}), hash=False
    )


@dataclass(frozen=True, slots=True)
class TupleSort(Sort):
    """A tuple of sorts, as a composite key or a list element is."""

    items: tuple[Sort, ...] = ()

    @staticmethod
    def of(*items: Sort) -> TupleSort:
        """The tuple sort of these items, named after them."""
        return TupleSort("(" + ", ".join(i.name for i in items) + ")", "", items)


@dataclass(frozen=True, slots=True)
class ExactSort(Sort):
    """Rational numbers with a unit.

    ``units`` maps a unit's symbol to its size in base units. ``dimension`` is (data, time) with
    ``scale`` base units of dimension (bytes, seconds) in one of ours; sorts that a policy declares
    have the dimension ``None`` and mix with nothing but counts and ratios.
    """

    units: Mapping[str, Fraction] = field(
        default_factory=lambda: MappingProxyType({}), compare=False, hash=False
    )
    dimension: tuple[int, int] | None = None
    scale: Fraction = Fraction(1)


def _decimal(letters: str, unit: str) -> dict[str, Fraction]:
    sizes = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5}
    return {f"{p}{unit}": Fraction(1000 ** sizes[p]) for p in letters.split(",")}


def _binary(unit: str) -> dict[str, Fraction]:
    return {f"{p}i{unit}": Fraction(1024**i) for i, p in enumerate("KMGTP", start=1)}


_TIMES = {
    "ns": Fraction(1, 10**6),
    "us": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "min": Fraction(60_000),
    "h": Fraction(3_600_000),
}

TEXT = TextSort("text", "free text")
BOOL = BoolSort("bool", "true or false")
COUNT = CountSort("count", "a small whole number")
BYTES = ExactSort(
    "bytes",
    "an amount of data",
    MappingProxyType(_decimal(",k,M,G,T,P", "B") | _binary("B")),
    (1, 0),
)
BYTES_PER_SECOND = ExactSort(
    "bytes_per_second",
    "a data rate in bytes",
    MappingProxyType(_decimal(",k,M,G,T,P", "B/s") | _binary("B/s")),
    (1, -1),
)
BITS_PER_SECOND = ExactSort(
    "bits_per_second",
    "a data rate in bits",
    MappingProxyType(_decimal(",k,M,G,T,P", "bit/s")),
    (1, -1),
    Fraction(1, 8),
)
MILLISECONDS = ExactSort(
    "milliseconds", "a time", MappingProxyType(_TIMES), (0, 1), Fraction(1, 1000)
)
RATIO = ExactSort(
    "ratio",
    "a pure number",
    MappingProxyType({"": Fraction(1), "%": Fraction(1, 100)}),
    (0, 0),
)

BUILTIN: Mapping[str, Sort] = MappingProxyType(
    {
        s.name: s
        for s in (TEXT, BOOL, COUNT, BYTES, BYTES_PER_SECOND, BITS_PER_SECOND, MILLISECONDS, RATIO)
    }
)


class ScalarError(ValueError):
    """Text that a sort does not take: a code, a message without a place, and a hint."""

    def __init__(self, code: str, message: str, help: str = "") -> None:
        """An error of this code."""
        self.code = code
        self.message = message
        self.help = help
        super().__init__(message)


def parse_number(text: str) -> Fraction | None:
    """The exact value of ``12``, ``0.25`` or ``34/32``; None where the text is no number."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > MAX_NUMBER_TEXT:
        return None
    sign, whole, part, below, below_part = match.groups()
    value = Fraction(int(whole + (part or "")), 10 ** len(part or ""))
    if below is not None:
        divisor = Fraction(int(below + (below_part or "")), 10 ** len(below_part or ""))
        if divisor == 0:
            return None
        value /= divisor
    return -value if sign else value


def parse_exact(text: str, sort: ExactSort) -> Fraction:
    """The value of a quantity's text in base units of its sort.

    Raises ScalarError: ``not-a-quantity``, ``missing-unit``, ``unknown-unit``,
    ``quantity-out-of-range``.
    """
    stripped = text.strip()
    match = _QUANTITY.fullmatch(stripped)
    example = _example(sort)
    if match is None or len(stripped) > MAX_NUMBER_TEXT:
        raise ScalarError(
            "not-a-quantity",
            f"`{shorten(stripped)}` is not a number of sort `{sort.name}`",
            f"write digits and a unit, as in `{example}`",
        )
    number, unit = match.group(1), (match.group(2) or "").strip()
    if unit and not re.fullmatch(r"%|[^\W\d_]+(?:/[^\W\d_]+)?", unit) and unit[0] not in ",_'eE":
        raise ScalarError(
            "not-a-quantity",
            f"`{shorten(stripped)}` is not a number of sort `{sort.name}`",
            f"write digits and a unit, as in `{example}`",
        )
    if re.match(r"[eE][+-]?[0-9]", unit):
        raise ScalarError(
            "not-a-quantity",
            f"`{shorten(stripped)}` has an exponent, which is not read",
            f"write the digits out, as in `{example}`",
        )
    if re.match(r"[,_'][0-9]", unit):
        raise ScalarError(
            "not-a-quantity",
            f"`{shorten(stripped)}` has a separator, which is not read",
            f"write the digits alone and `.` before decimals, as in `{example}`",
        )
    value = parse_number(number)
    if value is None:
        raise ScalarError(
            "not-a-quantity",
            f"`{shorten(stripped)}` is not a number of sort `{sort.name}`",
            f"write digits and a unit, as in `{example}`",
        )
    if unit not in sort.units:
        known = [u for u in sort.units if u]
        if not unit:
            raise ScalarError(
                "missing-unit",
                f"`{shorten(stripped)}` has no unit, and `{sort.name}` needs one",
                f"write a unit, as in `{example}`; units are {', '.join(known)}",
            )
        folded = [u for u in known if u.lower() == unit.lower()]
        hint = f"units are {', '.join(known)}"
        if folded and "B" in folded[0] and "B" not in unit:
            hint = (
                f"a similar unit is `{folded[0]}`, in bytes; `b` stands for bits, an eighth of it"
            )
        elif folded:
            hint = f"a similar unit is `{folded[0]}`"
        raise ScalarError("unknown-unit", f"`{shorten(unit)}` is not a unit of `{sort.name}`", hint)
    value *= sort.units[unit]
    if abs(value) >= RANGE:
        raise ScalarError(
            "quantity-out-of-range",
            f"`{shorten(stripped)}` is outside the exact range of `{sort.name}`",
            f"values lie within {RANGE} base units either way",
        )
    return value


def parse_count(text: str) -> int:
    """The value of a count's text. Raises ScalarError ``not-a-count``, ``count-out-of-range``."""
    stripped = text.strip()
    if not re.fullmatch(r"-?[0-9]{1,40}", stripped):
        raise ScalarError(
            "not-a-count",
            f"`{shorten(stripped)}` is not a whole number",
            "write digits only, as in `16`",
        )
    value = int(stripped)
    if abs(value) >= COUNT_RANGE:
        raise ScalarError(
            "count-out-of-range",
            f"`{stripped}` is too large for a count",
            f"counts lie within {COUNT_RANGE} either way; use an exact sort for larger figures",
        )
    return value


def parse_scalar(text: str, sort: Sort) -> Scalar:
    """The value of a scalar's text as its sort reads it; exact values are int when whole.

    Raises ScalarError: ``not-text``, ``not-a-bool``, ``not-in-closed-set`` and the codes of
    ``parse_count`` and ``parse_exact``. Sorts of terms and tuples have no scalar text.
    """
    if isinstance(sort, ExactSort):
        return whole_or_fraction(parse_exact(text, sort))
    if isinstance(sort, CountSort):
        return parse_count(text)
    if isinstance(sort, BoolSort):
        return _parse_bool(text)
    if isinstance(sort, ClosedSort):
        return _parse_word(text, sort)
    if isinstance(sort, FormsSort | TupleSort):
        raise ScalarError("not-a-scalar", f"sort `{sort.name}` has no text of one value")
    return _parse_text(text)


def whole_or_fraction(value: Fraction) -> int | Fraction:
    """The same number, as an int where it is whole."""
    return value.numerator if value.denominator == 1 else value


def _parse_bool(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    meant = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
    folded = text.strip().lower()
    word = meant.get(folded) or (folded if folded in ("true", "false") else "")
    raise ScalarError(
        "not-a-bool",
        f"`{shorten(text)}` is neither `true` nor `false`",
        f"write `{word}`" if word else "write `true` or `false`",
    )


def _parse_word(text: str, sort: ClosedSort) -> str:
    if text in sort.values:
        return text
    raise ScalarError(
        "not-in-closed-set",
        f"`{shorten(text)}` is no value of `{sort.name}`",
        similar(text[:MAX_NUMBER_TEXT], sort.values, "value")
        or f"values are {listed(sort.values[:_LISTED_VALUES])}",
    )


def _parse_text(text: str) -> str:
    if not text.isprintable():
        for character in text:
            if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t":
                raise ScalarError(
                    "not-text",
                    f"the text holds the control character `U+{ord(character):04X}`",
                    "delete the character",
                )
    return text


def exact_text(value: Fraction) -> str:
    """The exact decimal of a value, or ``p/q`` where its decimals do not end."""
    below = value.denominator
    twos = fives = 0
    while below % 2 == 0:
        below //= 2
        twos += 1
    while below % 5 == 0:
        below //= 5
        fives += 1
    if below != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    if places == 0:
        return str(value.numerator)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def display(value: Fraction, sort: Sort) -> str:
    """A short form for people: two decimals, binary units for bytes, decimal units for rates."""
    if isinstance(sort, CountSort) or not isinstance(sort, ExactSort):
        return exact_text(value)
    if sort.name == RATIO.name:
        return exact_text(value)
    ladder = _LADDERS.get(sort.name)
    if ladder is None:
        base = next((u for u, size in sort.units.items() if size == 1), sort.name)
        return f"{exact_text(value)} {base}"
    over, below = abs(value.numerator), value.denominator
    for unit, size in ladder:
        if over >= size * below:
            return f"{_two_decimals(value, size)} {unit}"
    return f"{_two_decimals(value, ladder[-1][1])} {ladder[-1][0]}"


_LADDERS: Mapping[str, tuple[tuple[str, int], ...]] = MappingProxyType(
    {
        sort.name: tuple((unit, int(sort.units[unit])) for unit in units)
        for sort, units in (
            (BYTES, ("GiB", "MiB", "KiB", "B")),
            (BYTES_PER_SECOND, ("GB/s", "MB/s", "kB/s", "B/s")),
            (BITS_PER_SECOND, ("Gbit/s", "Mbit/s", "kbit/s", "bit/s")),
            (MILLISECONDS, ("ms",)),
        )
    }
)
"""The units of a display, from the largest down, with their sizes, which are whole."""


def _two_decimals(value: Fraction, size: int) -> str:
    """A value in units of a size, to two decimals, halves to the even one."""
    over, below = value.numerator * 100, value.denominator * size
    hundredths, rest = divmod(over, below)
    if 2 * rest > below or (2 * rest == below and hundredths % 2):
        hundredths += 1
    if hundredths == 0 and over:
        # A figure that is not nothing must not read as nothing.
        return exact_text(value / size)
    if rest == 0 and hundredths % 100 == 0:
        return str(hundredths // 100)
    whole, part = divmod(abs(hundredths), 100)
    return f"{'-' if hundredths < 0 else ''}{whole}.{part:02d}"


def _example(sort: ExactSort) -> str:
    return {
        "bytes": "96 GiB",
        "bytes_per_second": "450 GB/s",
        "bits_per_second": "2.5 Gbit/s",
        "milliseconds": "0.5 ms",
        "ratio": "0.2",
    }.get(sort.name) or f"1 {next(iter(sort.units), sort.name)}"


def shorten(text: str) -> str:
    """Text on one line, cut to 40 characters, for a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 40 else flat[:37] + "..."
