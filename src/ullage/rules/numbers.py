"""Exact numbers as clingo terms that compare natively in the order of their values.

clingo's integers have 32 bits and wrap in silence, so an exact number is a term of limbs base
10**9, each far from that edge:

    decimal  q(t, h, m, n)      t*10**18 + h*10**9 + m + n/10**9; t carries the sign, 0 <= h, m, n
    fraction r(t, h, m, n, r)   the same, plus r of a nano, where 0 <= r < 1

A program whose figures all stay small does without the first limb; its second carries the sign.
All figures of one program have one shape, and those at one place of it one name.

The terms have names because clingo reads a parenthesis in a fact as a pool: a fact with a nameless
tuple takes five times as long to ground and three times the memory.

The last part of a fraction is 0 or the continued fraction of the rest, written so that clingo's
order of terms is the order of values: a partial quotient at an odd depth grows as the value falls,
so it stands negated, and the end stands for infinity (``#sup``, or ``#inf`` where negated). Terms
of one name and arity compare left to right, and a number sorts before any such term, which is all
that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from clingo import parse_term
from clingo.symbol import Function, Infimum, Number, Supremum, Symbol, SymbolType

from ullage.sorts import COUNT_RANGE, RANGE

BASE = 10**9

DECIMAL = "q"
"""The name of a decimal's term."""

FRACTIONAL = "r"
"""The name of a fraction's term."""

LEVELS = 9
"""Decimal places that limbs hold."""

_NOTHING = Fraction(0)

FRACTION = LEVELS + 1
"""The level of a value whose decimals do not end within LEVELS places."""


def level(value: Fraction | int) -> int:
    """How many decimal places a value needs, or FRACTION where LEVELS are not enough."""
    below = value.denominator
    places = 0
    while below > 1 and places < LEVELS:
        places += 1
        below //= _gcd_ten(below)
    return places if below == 1 else FRACTION


def _gcd_ten(n: int) -> int:
    return (2 if n % 2 == 0 else 1) * (5 if n % 5 == 0 else 1)


def in_range(value: Fraction | int) -> bool:
    """Whether an exact value lies within the range of exact sorts."""
    return -RANGE < value < RANGE


def count_in_range(value: Fraction | int) -> bool:
    """Whether a whole value lies within the range of counts."""
    return -COUNT_RANGE < value < COUNT_RANGE


class TooWide(Exception):
    """A value that a narrow shape cannot hold; the program is lowered again in a wide one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How many limbs a figure has, the nano's among them, and what bounds the first.

    A first limb stays below ``top`` either way, so that sums of many do not leave 32 bits.
    """

    width: int
    top: int

    @property
    def bound(self) -> int:
        """Values lie strictly between this and its negative, in whole units."""
        return self.top * int(BASE ** (self.width - 2))

    @property
    def letters(self) -> str:
        """A letter for each limb."""
        return "THMN"[-self.width :]

    def holds(self, value: Fraction | int) -> bool:
        """Whether a value is within the bound."""
        return -self.bound < value < self.bound

    def limbs(self, value: Fraction | int) -> tuple[list[int], Fraction]:
        """The limbs of a value, and what is left below a nano, as a fraction of it.

        Raises TooWide.
        """
        if not self.holds(value):
            raise TooWide
        rest, remainder = divmod(value.numerator * BASE, value.denominator)
        below = Fraction(remainder, value.denominator) if remainder else _NOTHING
        found = []
        for _ in range(self.width - 1):
            rest, limb = divmod(rest, BASE)
            found.append(limb)
        return [rest, *reversed(found)], below

    def decimal_text(self, value: Fraction | int) -> str:
        """The limbs of a decimal as text."""
        found, below = self.limbs(value)
        if below:
            raise ValueError(f"{value} has more than {LEVELS} decimals")
        return f"{DECIMAL}({','.join(map(str, found))})"

    def fraction_text(self, value: Fraction | int) -> str:
        """The parts of any exact number as text."""
        return str(self.fraction_symbol(Fraction(value)))

    def decimal_symbol(self, value: Fraction) -> Symbol:
        """The limbs of a decimal as a symbol."""
        found, _ = self.limbs(value)
        return Function(DECIMAL, [Number(n) for n in found])

    def fraction_symbol(self, value: Fraction) -> Symbol:
        """The parts of any exact number as a symbol."""
        found, below = self.limbs(value)
        return Function(FRACTIONAL, [*(Number(n) for n in found), _continued(below)])


NARROW = Shape(3, 2**20)
"""What most catalogs need: up to 10**15 of anything, to a nano."""

WIDE = Shape(4, 32768)
"""The whole range of exact sorts."""


def _continued(value: Fraction) -> Symbol:
    """0 <= value < 1 as a term that sorts by value."""
    if value == 0:
        return Number(0)
    quotients = []
    p, q = value.denominator, value.numerator
    while q:
        a, remainder = divmod(p, q)
        quotients.append(a)
        p, q = q, remainder
    tail = Supremum if len(quotients) % 2 else Infimum
    for depth in range(len(quotients), 0, -1):
        signed = -quotients[depth - 1] if depth % 2 else quotients[depth - 1]
        tail = Function("", [_quotient(signed), tail])
    return tail


def _quotient(value: int) -> Symbol:
    """A signed whole number of any size: how many limbs, then the limbs, all with its sign."""
    sign = -1 if value < 0 else 1
    rest, found = abs(value), []
    while rest:
        rest, limb = divmod(rest, BASE)
        found.append(Number(sign * limb))
    return Function("", [Number(sign * len(found)), Function("", found[::-1])])


_DECIMAL_BEGINS = f"{DECIMAL}("
_MOST_REMEMBERED = 200_000
_known: dict[str, Fraction] = {}


def decode(symbol: Symbol) -> Fraction:
    """The value of an exact number's term, of any shape."""
    return decode_text(str(symbol))


def decode_text(text: str) -> Fraction:
    """The value of an exact number's term, written out.

    A term's text costs one call of the solver, where its parts cost one each; figures recur, so
    values once read are remembered.
    """
    value = _known.get(text)
    if value is None:
        value = _decimal(text) if text.startswith(_DECIMAL_BEGINS) else _decoded(parse_term(text))
        if len(_known) >= _MOST_REMEMBERED:
            _known.clear()
        _known[text] = value
    return value


def _decimal(text: str) -> Fraction:
    """The value of ``q(h,m,n)`` or ``q(t,h,m,n)``."""
    *high, nano = text[len(_DECIMAL_BEGINS) : -1].split(",")
    units = 0
    for limb in high:
        units = units * BASE + int(limb)
    below = int(nano)
    return Fraction(units * BASE + below, BASE) if below else Fraction(units)


def _decoded(symbol: Symbol) -> Fraction:
    """The value of a term, by its parts."""
    arguments = symbol.arguments
    fractional = symbol.name == FRACTIONAL
    *high, nano = [a.number for a in (arguments[:-1] if fractional else arguments)]
    units = 0
    for limb in high:
        units = units * BASE + limb
    if not fractional or arguments[-1].type == SymbolType.Number:
        return Fraction(units * BASE + nano, BASE) if nano else Fraction(units)
    quotients = []
    tail = arguments[-1]
    while tail.type == SymbolType.Function:
        quotient, tail = tail.arguments
        size = 0
        for part in quotient.arguments[1].arguments:
            size = size * BASE + abs(part.number)
        quotients.append(size)
    rest = Fraction(0)
    for a in reversed(quotients):
        rest = 1 / (a + rest)
    return (units * BASE + nano + rest) / BASE
