"""Exact numbers as clingo terms that compare natively in the order of their values.

clingo's integers have 32 bits and wrap in silence, so an exact number is a term of limbs base
10**9, each far from that edge:

    decimal  q(t, h, m, n)      t*10**18 + h*10**9 + m + n/10**9; t carries the sign, 0 <= h, m, n
    fraction q(t, h, m, n, r)   the same, plus r of a nano, where 0 <= r < 1

The term has a name because clingo reads a parenthesis in a fact as a pool: a fact with a nameless
tuple takes five times as long to ground and three times the memory.

``r`` is 0 or the continued fraction of the rest, written so that clingo's order of terms is the
order of values: a partial quotient at an odd depth grows as the value falls, so it stands negated,
and the end stands for infinity (``#sup``, or ``#inf`` where negated). Terms of one
name and arity compare left to right, and a number sorts before any such term, which is all that is
needed.
"""

from __future__ import annotations

from fractions import Fraction

from clingo.symbol import Function, Infimum, Number, Supremum, Symbol, SymbolType

from ullage.sorts import COUNT_RANGE, RANGE

BASE = 10**9
TOP = 32768
"""Values lie strictly between -TOP and TOP times BASE**2."""

NAME = "q"
"""The name of an exact number's term."""

LEVELS = 9
"""Decimal places that four limbs hold."""

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


def limbs(value: Fraction | int) -> tuple[int, int, int, int, Fraction]:
    """The limbs of a value and what is left below a nano, as a fraction of it."""
    nanos = value * BASE
    whole = nanos.numerator // nanos.denominator
    rest = Fraction(nanos) - whole
    m, n = divmod(whole, BASE)
    h, m = divmod(m, BASE)
    t, h = divmod(h, BASE)
    return t, h, m, n, rest


def decimal_text(value: Fraction | int) -> str:
    """The four limbs of a decimal as text."""
    if isinstance(value, int):
        h, m = divmod(value, BASE)
        t, h = divmod(h, BASE)
        return f"{NAME}({t},{h},{m},0)"
    t, h, m, n, rest = limbs(value)
    if rest:
        raise ValueError(f"{value} has more than {LEVELS} decimals")
    return f"{NAME}({t},{h},{m},{n})"


def fraction_text(value: Fraction | int) -> str:
    """The five parts of any exact number as text."""
    return str(fraction_symbol(Fraction(value)))


def decimal_symbol(value: Fraction) -> Symbol:
    """The four limbs of a decimal as a symbol."""
    t, h, m, n, _ = limbs(value)
    return Function(NAME, [Number(t), Number(h), Number(m), Number(n)])


def fraction_symbol(value: Fraction) -> Symbol:
    """The five parts of any exact number as a symbol."""
    t, h, m, n, rest = limbs(value)
    parts = [Number(t), Number(h), Number(m), Number(n)]
    if rest == 0:
        return Function(NAME, [*parts, Number(0)])
    quotients = []
    p, q = rest.denominator, rest.numerator
    while q:
        a, remainder = divmod(p, q)
        quotients.append(a)
        p, q = q, remainder
    tail = Supremum if len(quotients) % 2 else Infimum
    for depth in range(len(quotients), 0, -1):
        signed = -quotients[depth - 1] if depth % 2 else quotients[depth - 1]
        tail = Function("", [_quotient(signed), tail])
    return Function(NAME, [*parts, tail])


def _quotient(value: int) -> Symbol:
    """A signed whole number of any size: how many limbs, then the limbs, all with its sign."""
    sign = -1 if value < 0 else 1
    rest, found = abs(value), []
    while rest:
        rest, limb = divmod(rest, BASE)
        found.append(Number(sign * limb))
    return Function("", [Number(sign * len(found)), Function("", found[::-1])])


def decode(symbol: Symbol) -> Fraction:
    """The value of an exact number's term."""
    arguments = symbol.arguments
    t, h, m, n = [a.number for a in arguments[:4]]
    units = (t * BASE + h) * BASE + m
    if len(arguments) == 4 or arguments[4].type == SymbolType.Number:
        return Fraction(units * BASE + n, BASE) if n else Fraction(units)
    whole = units * BASE + n
    quotients = []
    tail = arguments[4]
    while tail.type == SymbolType.Function:
        quotient, tail = tail.arguments
        size = 0
        for limb in quotient.arguments[1].arguments:
            size = size * BASE + abs(limb.number)
        quotients.append(size)
    rest = Fraction(0)
    for a in reversed(quotients):
        rest = 1 / (a + rest)
    return (whole + rest) / BASE
