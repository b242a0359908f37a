"""Figures in lowered text: limbs, and the arithmetic that is written out over them."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from fractions import Fraction

from ullage.rules import numbers
from ullage.rules.lowering.levels import RuleLevels
from ullage.rules.lowering.scribe import Scribe
from ullage.rules.numbers import BASE, FRACTION, NAME, TOP
from ullage.rules.terms import Expr, Int, Op, Pool, Str, Var, names
from ullage.sorts import RATIO, CountSort, ExactSort, Sort

Limbs = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in lowered text: its limbs where they are known, and whether it has a fifth part."""

    text: str
    limbs: Limbs | None = None
    fraction: bool = False


def limb_names(name: str) -> Limbs:
    """The variables that hold the limbs of a variable."""
    return f"{name}'T", f"{name}'H", f"{name}'M", f"{name}'N"


def of_limbs(limbs: Limbs) -> Figure:
    """A decimal of these limbs."""
    return Figure(f"{NAME}({','.join(limbs)})", limbs)


def constant(value: Fraction) -> Figure:
    """A literal figure."""
    if numbers.level(value) == FRACTION:
        return Figure(numbers.fraction_text(value), None, True)
    t, h, m, n, _ = numbers.limbs(value)
    return of_limbs((str(t), str(h), str(m), str(n)))


class Figures:
    """Writes the figures of one rule; ``call`` writes what limbs cannot do."""

    def __init__(self, levels: RuleLevels, scribe: Scribe, call: Callable[[Op], Figure]) -> None:
        self.levels = levels
        self.typed = levels.typed
        self.scribe = scribe
        self.call = call

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
            case Var(name=name):
                return self.variable(name, own)
            case Int(value=value) if isinstance(own, CountSort):
                return Figure(str(value))
            case Int() | Str():
                return constant(self.levels.literal(term))
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
        limbs = limb_names(name)
        tail = f",{name}'R" if fraction else ""
        return Figure(f"{NAME}({','.join(limbs)}{tail})", limbs, fraction)

    def lifted(self, figure: Figure) -> str:
        """A figure with its fifth part."""
        if figure.fraction:
            return figure.text
        limbs = figure.limbs or self._opened(figure)
        return f"{NAME}({','.join(limbs)},0)"

    def written(self, figure: Figure, fraction: bool) -> str:
        """A figure's text, with its fifth part where there is to be one."""
        return self.lifted(figure) if fraction else figure.text

    def in_shape(self, term: Expr, sort: Sort, fraction: bool) -> str:
        """A term's figure, or its pool of them, with a fifth part where there is to be one."""
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
        limbs = limb_names(figure.text)
        self.scribe.add(f"{figure.text} = {NAME}({','.join(limbs)})", limbs, (figure.text,))
        return limbs

    def _limbs(self, term: Expr, sort: Sort) -> Limbs:
        figure = self.figure(term, sort)
        return figure.limbs or self._opened(figure)

    def _promoted(self, term: Expr) -> Figure:
        """A native integer as a pure number.

        clingo's quotients round to zero: a remainder below it takes one from the quotient, which
        lies between -3 and 2, and whose own sign is the first limb.
        """
        if isinstance(term, Int):
            return constant(Fraction(term.value))
        text = self.figure(term).text
        needs, sites = names(term), self.levels.sites(term)
        low = self._bind(f"({text})\\{BASE}", needs, sites)
        borrow = self._bind(f"({low}-{BASE - 1})/{BASE}", needs, sites)
        high = self._bind(f"({text})/{BASE}+{borrow}", needs, sites)
        first = f"(({high}-2)/3)"
        return of_limbs((first, f"{high}-{BASE}*{first}", f"{low}-{BASE}*{borrow}", "0"))

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
        at, ah, am, an = self._limbs(left, sort)
        bt, bh, bm, bn = self._limbs(right, sort)
        needs = names(left) | names(right)
        sites = self.levels.sites(left) | self.levels.sites(right)
        carry, low = "", "0"
        if self.levels.level(left) or self.levels.level(right):
            n = self._bind(f"{an}+{bn}", needs, sites)
            carry, low = f"+{n}/{BASE}", f"{n}\\{BASE}"
        m = self._bind(f"{am}+{bm}{carry}", needs, sites)
        h = self._bind(f"{ah}+{bh}+{m}/{BASE}", needs, sites)
        return of_limbs((f"{at}+{bt}+{h}/{BASE}", f"{h}\\{BASE}", f"{m}\\{BASE}", low))

    def _difference(self, left: Expr | None, right: Expr, sort: Sort) -> Figure:
        """As a sum, with a base lent to each limb and taken back from the next."""
        zero: Limbs = ("0", "0", "0", "0")
        at, ah, am, an = zero if left is None else self._limbs(left, sort)
        bt, bh, bm, bn = (f"({limb})" for limb in self._limbs(right, sort))
        needs = names(right) | (names(left) if left is not None else set())
        sites = self.levels.sites(right)
        level = self.levels.level(right)
        if left is not None:
            sites |= self.levels.sites(left)
            level = max(level, self.levels.level(left))
        borrow, low = f"+{BASE}", "0"
        if level:
            n = self._bind(f"{an}-{bn}+{BASE}", needs, sites)
            borrow, low = f"+{BASE - 1}+{n}/{BASE}", f"{n}\\{BASE}"
        m = self._bind(f"{am}-{bm}{borrow}", needs, sites)
        h = self._bind(f"{ah}-{bh}+{BASE - 1}+{m}/{BASE}", needs, sites)
        return of_limbs((f"{at}-{bt}-1+{h}/{BASE}", f"{h}\\{BASE}", f"{m}\\{BASE}", low))

    def _product(self, ratio: Fraction, term: Expr) -> Figure:
        """A figure times p/q, p <= q, q a divisor of the base: limb by limb.

        Each limb d gives (d/q)*p + (d\\q)*p/q to its own place, and the remainder of that, in
        q-ths, to the next; all of it stays below 2**31. The least limb leaves no remainder, which
        the levels have settled.
        """
        p, q = ratio.numerator, ratio.denominator
        if q == 1:
            return self.figure(term)
        t, h, m, n = self._limbs(term, RATIO)
        unit = BASE // q
        # clingo's quotients round to zero: lifted above it, the first limb rounds down.
        top = f"({t}+{TOP * q})"
        if p == 1:
            return of_limbs(
                (
                    f"{top}/{q}-{TOP}",
                    f"({top}\\{q})*{unit}+{h}/{q}",
                    f"({h}\\{q})*{unit}+{m}/{q}",
                    f"({m}\\{q})*{unit}+{n}/{q}",
                )
            )
        found = []
        carry = ""
        for limb, above in ((n, m), (m, h), (h, top)):
            own = f"({limb}/{q})*{p}+(({limb}\\{q})*{p})/{q}"
            lent = f"((({above}\\{q})*{p})\\{q})*{unit}"
            found.append(self._bind(f"{own}+{lent}{carry}", names(term), set()))
            carry = f"+{found[-1]}/{BASE}"
        first = f"({top}/{q}-{TOP})*{p}+(({top}\\{q})*{p})/{q}{carry}"
        low, middle, high = (f"{name}\\{BASE}" for name in found)
        return of_limbs((first, high, middle, low))
