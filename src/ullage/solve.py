"""Ground and solve a book of rules over facts, exactly, and say what went wrong in its words.

A program is lowered for the common case: decimals of at most nine places, and every expression with
a value. Where a try shows otherwise the program is lowered again for what it showed. Sites only
ever gain flags, so that a run ends after at most two tries a site.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import clingo
from clingo.core import MessageCode
from clingo.symbol import Number, Symbol

from ullage import progress
from ullage.facts import FactBase
from ullage.failures import DIVIDES_BY_ZERO, decoder, failures, from_clingo
from ullage.findings import PolicyError
from ullage.rules import numbers
from ullage.rules.docstrings import BUILTIN
from ullage.rules.encode import fact_levels, fact_lines, reads
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Flags, Lowered, Site, lower
from ullage.rules.numbers import TooWide
from ullage.rules.terms import Rule
from ullage.sorts import CountSort


class _Context:
    """The functions that a lowered program calls, one for each site, and what they saw."""

    def __init__(self, lowered: Lowered, flags: Flags) -> None:
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

        def call(*symbols: Symbol) -> list[Symbol]:
            value = function([d(s) for d, s in zip(decoders, symbols, strict=True)])
            result = self._encoded(site, value, symbols)
            if result:
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
            if (group, element) not in seen:
                seen.add((group, element))
                totals[group] = totals.get(group, Fraction(0)) + decode(figure)
            return Number(1)

        def total(group: Symbol) -> list[Symbol]:
            result = self._encoded(site, totals.get(group, Fraction(0)), (group,))
            if result:
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


@dataclass(frozen=True, slots=True)
class Model:
    """The one answer set of a solved book.

    ``control`` holds every atom; ``text`` is the program that gave it, in plain clingo.
    """

    control: clingo.Control
    lowered: Lowered
    text: Callable[[], str]

    def atoms(self, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate that hold, in no order."""
        return [a.symbol for a in self.control.symbolic_atoms.by_signature(name, arity)]

    def count(self, name: str, arity: int) -> int:
        """How many atoms of a predicate hold."""
        return sum(1 for _ in self.control.symbolic_atoms.by_signature(name, arity))


def solve(rules: Sequence[TypedRule], base: FactBase) -> Model:
    """The answer set of the rules over the facts.

    Raises PolicyError with every error of the run: an undefined or overflowing figure, an extremum
    of nothing, or whatever clingo reports.
    """
    progress.phase("lowering rules")
    read = reads(rules, base.declarations.tables)
    levels = fact_levels(base, read)
    flags = Flags()
    while True:
        try:
            lowered = lower(rules, levels, flags)
            facts = fact_lines(base, read, lowered.levels, lowered.shape)
        except TooWide:
            flags = replace(flags, wide=True)
            continue
        context = _Context(lowered, flags)
        progress.phase("grounding")
        control = _ground(lowered, facts, context, base)
        wanted = Flags(
            flags.fractions | context.fractions,
            flags.undefined | set(context.undefined),
            flags.wide or context.wide or _beyond(control, lowered),
        )
        if wanted == flags:
            break
        flags = wanted
    findings = failures(control, lowered, context.undefined)
    if findings:
        raise PolicyError(findings)
    progress.phase("solving")
    if not control.solve().satisfiable:
        raise AssertionError("a stratified program without constraints has an answer set")
    return Model(control, lowered, lambda: program_text(lowered, facts, context))


def _beyond(control: clingo.Control, lowered: Lowered) -> bool:
    """Whether some figure left the bound of its shape; in a wide one that is the exact range."""
    atoms = control.symbolic_atoms
    return any(True for check in lowered.ranges for _ in atoms.by_signature(check.relation, 1))


def _shows(lowered: Lowered) -> list[str]:
    derived = {line.rule.head.name for line in lowered.lines}
    return [f"#show {n}/{a}." for n, a in BUILTIN.items() if n in derived]


def program_text(lowered: Lowered, facts: Iterable[str], context: _Context) -> str:
    """The lowered program with its facts, for a stock clingo: rows stand for every call."""
    sizes = ["10**18", "10**9", "1", "10**-9"][-lowered.shape.width :]
    parts = [f"% A lowered program: q holds limbs of {', '.join(sizes)}."]
    parts += ["#show.", *_shows(lowered), "% facts", *facts, "% rules"]
    rule: Rule | None = None
    for line in lowered.lines:
        if line.rule is not rule:
            rule = line.rule
            parts.append(f"% {rule.position}")
        if line.site is None:
            parts.append(line.text)
        elif line.relation:
            parts += sorted(context.rows[line.site].values()) or [
                f"#defined {line.relation}/{line.arity}."
            ]
    return "\n".join(parts) + "\n"


def _ground(
    lowered: Lowered, facts: Sequence[str], context: _Context, base: FactBase
) -> clingo.Control:
    messages: list[tuple[MessageCode, str]] = []

    def log(code: MessageCode, message: str) -> None:
        messages.append((code, message))

    # Both say what the loader has checked in the author's rules, and would drown what matters.
    quiet = ["-Wno-global-variable", "-Wno-atom-undefined"]
    control = clingo.Control(quiet, logger=log, message_limit=100)
    text = "\n".join(line.text for line in lowered.lines)
    try:
        control.add("facts", [], "\n".join(facts))
        control.add("base", [], "\n".join([text, "#show.", *_shows(lowered)]))
        control.ground([("facts", []), ("base", [])], context=context)
    except RuntimeError as error:
        raise PolicyError(from_clingo(messages, lowered, str(error))) from error
    if messages:
        raise PolicyError(from_clingo(messages, lowered, "operation undefined"))
    return control
