"""Figures in lowered text: limbs, and the arithmetic that is written out over them."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from fractions import Fraction

from ullage.rules import numbers
from ullage.rules.lowering.levels import RuleLevels
from ullage.rules.lowering.scribe import Scribe
from ullage.rules.numbers import BASE, DECIMAL, FRACTION, FRACTIONAL
from ullage.rules.terms import Expr, Int, Op, Pool, Str, Var, names
from ullage.sorts import RATIO, CountSort, ExactSort, Sort

Limbs = tuple[str, ...]
"""The limbs of a figure as text, the greatest first."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in lowered text: its limbs where they are known, and whether it is a fraction."""

    text: str
    limbs: Limbs | None = None
    fraction: bool = False


def of_limbs(limbs: Limbs) -> Figure:
    """A decimal of these limbs."""
    return Figure(f"{DECIMAL}({','.join(limbs)})", limbs)


class Figures:
    """Writes the figures of one rule; ``call`` writes what limbs cannot do."""

    def __init__(self, levels: RuleLevels, scribe: Scribe, call: Callable[[Op], Figure]) -> None:
        self.levels = levels
        self.typed = levels.typed
        self.scribe = scribe
        self.call = call
        self.shape = levels.shape

    def limb_names(self, name: str) -> Limbs:
        """The variables that hold the limbs of a variable."""
        return tuple(f"{name}'{letter}" for letter in self.shape.letters)

    def constant(self, value: Fraction) -> Figure:
        """A literal figure. Raises TooWide."""
        if numbers.level(value) == FRACTION:
            return Figure(self.shape.fraction_text(value), None, True)
        limbs, _ = self.shape.limbs(value)
        return of_limbs(tuple(map(str, limbs)))

    def sort(self, term: Expr) -> Sort | None:
        """The sort of a term, or None where it has none by itself."""
        if isinstance(term, Var):
            return self.typed.variables.get(term.name)
        return self.typed.terms.get(id(term))

    def figure(self, term: Expr, wanted: Sort | None = None) -> Figure:
        """A figure as lowered text; a count as a pure number where an exact sort is wanted."""
        own = self.sort(term)
        if isinstance(wanted, ExactSort) and isinstance(own, CountSort):
            return self._promoted(term)
        match term:
            case Var(anonymous=True):
                # In whichever shape: it is compared with anything.
                return Figure("_", None, True)
            case Var(name=name):
                return self.variable(name, own)
            case Int(value=value) if isinstance(own, CountSort):
                return Figure(str(value))
            case Int() | Str():
                return self.constant(self.levels.literal(term))
            case Op():
                return self._operation(term)
        raise AssertionError(term)

    def variable(self, name: str, sort: Sort | None) -> Figure:
        """A variable, in limbs where the rule needs them."""
        if not isinstance(sort, ExactSort):
            return Figure(name)
        fraction = self.levels.variables.get(name, 0) == FRACTION
        if name not in self.scribe.expanded:
            return Figure(name, None, fraction)
        limbs = self.limb_names(name)
        if fraction:
            return Figure(f"{FRACTIONAL}({','.join(limbs)},{name}'R)", limbs, True)
        return of_limbs(limbs)

    def lifted(self, figure: Figure) -> str:
        """A figure as a fraction."""
        if figure.fraction:
            return figure.text
        limbs = figure.limbs or self._opened(figure)
        return f"{FRACTIONAL}({','.join(limbs)},0)"

    def written(self, figure: Figure, fraction: bool) -> str:
        """A figure's text, as a fraction where it is to be one."""
        return self.lifted(figure) if fraction else figure.text

    def in_shape(self, term: Expr, sort: Sort, fraction: bool) -> str:
        """A term's figure, or its pool of them, as fractions where they are to be."""
        if isinstance(term, Pool):
            return f"({';'.join(self.in_shape(a, sort, fraction) for a in term.args)})"
        return self.written(self.figure(term, sort), fraction)

    def alike(self, left: Expr, right: Expr, sort: Sort) -> tuple[str, str]:
        """Two terms in one shape, so that clingo compares their values."""
        fraction = FRACTION in (self.levels.level(left), self.levels.level(right))
        return self.in_shape(left, sort, fraction), self.in_shape(right, sort, fraction)

    def _opened(self, figure: Figure) -> Limbs:
        """The limbs of a decimal that stands as one variable."""
        if figure.text in self.typed.variables:
            self.scribe.expand(figure.text)
        limbs = self.limb_names(figure.text)
        self.scribe.add(f"{figure.text} = {DECIMAL}({','.join(limbs)})", limbs, (figure.text,))
        return limbs

    def _limbs(self, term: Expr, sort: Sort) -> Limbs:
        figure = self.figure(term, sort)
        return figure.limbs or self._opened(figure)

    def _promoted(self, term: Expr) -> Figure:
        """A native integer as a pure number.

        clingo's quotients round to zero: a remainder below it takes one from the quotient, which
        lies between -3 and 2 and is the limb above; in a wide shape its sign is one more.
        """
        if isinstance(term, Int):
            return self.constant(Fraction(term.value))
        text = self.figure(term).text
        needs, sites = names(term), self.levels.sites(term)
        low = self._bind(f"({text})\\{BASE}", needs, sites)
        borrow = self._bind(f"({low}-{BASE - 1})/{BASE}", needs, sites)
        high = self._bind(f"({text})/{BASE}+{borrow}", needs, sites)
        below = (f"{low}-{BASE}*{borrow}", "0")
        if self.shape.width == 3:
            return of_limbs((high, *below))
        first = f"(({high}-2)/3)"
        return of_limbs((first, f"{high}-{BASE}*{first}", *below))

    def _operation(self, term: Op) -> Figure:
        if not self.levels.native(term):
            return self.call(term)
        sort = self.typed.sort(term)
        if isinstance(sort, CountSort):
            return self._count(term)
        if (factor := self.levels.factor(term)) is not None:
            ratio, other = factor
            return self._product(ratio, other)
        if len(term.args) == 1:
            return self._difference(None, term.args[0], sort)
        left, right = term.args
        if term.name == "+":
            return self._sum(left, right, sort)
        return self._difference(left, right, sort)

    def _count(self, term: Op) -> Figure:
        inner = [self.figure(a).text for a in term.args]
        inner = [f"({i})" if i.startswith("-") else i for i in inner]
        return Figure(f"(-{inner[0]})" if len(inner) == 1 else f"({term.name.join(inner)})")

    def _bind(self, text: str, needs: Set[str], sites: Set[int]) -> str:
        name = self.scribe.temp()
        self.scribe.add(f"{name} = {text}", (name,), needs, sites=sites)
        return name

    def _sum(self, left: Expr, right: Expr, sort: Sort) -> Figure:
        """Limb by limb from the least; each pair stays below 2**31 with its carry."""
        one, other = self._limbs(left, sort), self._limbs(right, sort)
        needs = names(left) | names(right)
        sites = self.levels.sites(left) | self.levels.sites(right)
        whole = not (self.levels.level(left) or self.levels.level(right))
        found: list[str] = []
        carry = ""
        for place in range(self.shape.width - 1, 0, -1):
            if whole and not found:
                found.append("0")
                continue
            limb = self._bind(f"{one[place]}+{other[place]}{carry}", needs, sites)
            found.append(f"{limb}\\{BASE}")
            carry = f"+{limb}/{BASE}"
        return of_limbs((f"{one[0]}+{other[0]}{carry}", *reversed(found)))

    def _difference(self, left: Expr | None, right: Expr, sort: Sort) -> Figure:
        """As a sum, with a base lent to each limb and taken back from the next."""
        zero: Limbs = ("0",) * self.shape.width
        one = zero if left is None else self._limbs(left, sort)
        other = [f"({limb})" for limb in self._limbs(right, sort)]
        needs = names(right) | (names(left) if left is not None else set())
        sites = self.levels.sites(right)
        level = self.levels.level(right)
        if left is not None:
            sites |= self.levels.sites(left)
            level = max(level, self.levels.level(left))
        found: list[str] = []
        lent, taken = f"+{BASE}", ""
        for place in range(self.shape.width - 1, 0, -1):
            if not level and not found:
                found.append("0")
                continue
            limb = self._bind(f"{one[place]}-{other[place]}{lent}", needs, sites)
            found.append(f"{limb}\\{BASE}")
            lent, taken = f"+{BASE - 1}+{limb}/{BASE}", f"-1+{limb}/{BASE}"
        return of_limbs((f"{one[0]}-{other[0]}{taken}", *reversed(found)))

    def _product(self, ratio: Fraction, term: Expr) -> Figure:
        """A figure times p/q, p <= q, q a divisor of the base: limb by limb.

        Each limb d gives (d/q)*p + (d\\q)*p/q to its own place, and the remainder of that, in
        q-ths, to the next; all of it stays below 2**31. The least limb leaves no remainder, which
        the levels have settled.
        """
        p, q = ratio.numerator, ratio.denominator
        if q == 1:
            return self.figure(term)
        limbs = self._limbs(term, RATIO)
        unit = BASE // q
        # clingo's quotients round to zero: lifted above it, the first limb rounds down.
        lift = self.shape.top
        first = f"({limbs[0]}+{lift * q})"
        above = [first, *limbs[1:-1]]
        if p == 1:
            rest = [
                f"({high}\\{q})*{unit}+{limb}/{q}"
                for high, limb in zip(above, limbs[1:], strict=True)
            ]
            return of_limbs((f"{first}/{q}-{lift}", *rest))
        found, carry = [], ""
        for high, limb in zip(reversed(above), reversed(limbs[1:]), strict=True):
            own = f"({limb}/{q})*{p}+(({limb}\\{q})*{p})/{q}"
            lent = f"((({high}\\{q})*{p})\\{q})*{unit}"
            bound = self._bind(f"{own}+{lent}{carry}", names(term), set())
            found.append(f"{bound}\\{BASE}")
            carry = f"+{bound}/{BASE}"
        top = f"({first}/{q}-{lift})*{p}+(({first}\\{q})*{p})/{q}{carry}"
        return of_limbs((top, *reversed(found)))
