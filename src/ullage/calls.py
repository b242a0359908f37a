"""The functions that a lowered program calls while it is grounded: exact, over fractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

from clingo.symbol import Number, Symbol

from ullage.failures import DIVIDES_BY_ZERO, decoder, of_nothing
from ullage.rules import numbers
from ullage.rules.lowering import Flags, Lowered, Site
from ullage.sorts import CountSort


class Calls:
    """The functions that a lowered program calls, one for each site, and what they saw.

    ``fractions`` and ``wide`` say what the next try must be lowered for, ``undefined`` which
    arguments of a site had no value, and why. With ``record``, ``rows`` holds the rows of every
    relation that was called for, by site and arguments.
    """

    def __init__(self, lowered: Lowered, flags: Flags, *, record: bool = False) -> None:
        self.record = record
        self.flags = flags
        self.shape = flags.shape
        self.wide = False
        self.fractions: set[int] = set()
        self.undefined: dict[int, dict[str, str]] = defaultdict(dict)
        self.rows: dict[int, dict[str, str]] = defaultdict(dict)
        for site in lowered.sites.values():
            if site.kind == "call":
                setattr(self, f"call{site.number}", self._call(site))
            else:
                collect, total = self._sum(site)
                setattr(self, f"collect{site.number}", collect)
                setattr(self, f"sum{site.number}", total)

    def _call(self, site: Site) -> Callable[..., list[Symbol]]:
        decoders = [decoder(s) for _, s in site.arguments]
        function = site.function
        assert function is not None
        known: dict[tuple[Symbol, ...], list[Symbol]] = {}

        def call(*symbols: Symbol) -> list[Symbol]:
            # Rules that stand on several relations come to the same arguments again and again.
            if (found := known.get(symbols)) is None:
                found = known[symbols] = evaluated(symbols)
            return found

        def evaluated(symbols: tuple[Symbol, ...]) -> list[Symbol]:
            if any(map(of_nothing, symbols)):
                return []
            value = function([d(s) for d, s in zip(decoders, symbols, strict=True)])
            result = self._encoded(site, value, symbols)
            if self.record and result:
                arguments = ",".join(map(str, symbols))
                row = f"_call'{site.number}({','.join(map(str, [*symbols, *result]))})."
                self.rows[site.number][arguments] = row
            return result

        return call

    def _sum(self, site: Site) -> tuple[Callable[..., Symbol], Callable[..., list[Symbol]]]:
        totals: dict[Symbol, Fraction] = {}
        seen: set[tuple[Symbol, Symbol]] = set()
        decode = decoder(site.sort)

        def collect(group: Symbol, element: Symbol, figure: Symbol) -> Symbol:
            if (group, element) not in seen and not of_nothing(figure):
                seen.add((group, element))
                totals[group] = totals.get(group, Fraction(0)) + decode(figure)
            return Number(1)

        def total(group: Symbol) -> list[Symbol]:
            result = self._encoded(site, totals.get(group, Fraction(0)), (group,))
            if self.record and result:
                self.rows[site.number][str(group)] = f"_sum'{site.number}({group},{result[0]})."
            return result

        return collect, total

    def _encoded(
        self, site: Site, value: Fraction | None, symbols: Sequence[Symbol]
    ) -> list[Symbol]:
        """The value as a symbol; none where it is none, too large, or has too many decimals."""
        if value is None:
            return self._without(site, symbols, DIVIDES_BY_ZERO)
        if isinstance(site.sort, CountSort):
            if not numbers.count_in_range(value):
                return self._without(site, symbols, f"is {value}, outside the range of counts")
            return [Number(int(value))]
        if not numbers.in_range(value):
            return self._without(site, symbols, f"leaves the exact range of `{site.sort.name}`")
        if not self.shape.holds(value):
            self.wide = True
            return []
        if site.number in self.flags.fractions:
            return [self.shape.fraction_symbol(value)]
        if numbers.level(value) == numbers.FRACTION:
            self.fractions.add(site.number)
            return []
        return [self.shape.decimal_symbol(value)]

    def _without(self, site: Site, symbols: Sequence[Symbol], why: str) -> list[Symbol]:
        key = f"({','.join(map(str, symbols))}{',' if len(symbols) == 1 else ''})"
        if site.kind == "sum":
            key = str(symbols[0])
        self.undefined[site.number][key] = why
        return []
