"""Ground and solve a book of rules over facts, exactly, and say what went wrong in its words.

A program is lowered for the common case: decimals of at most nine places, and every expression with
a value. Where a try shows otherwise the program is lowered again for what it showed. Sites only
ever gain flags, so that a run ends after at most two tries a site.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import clingo
from clingo.core import MessageCode
from clingo.symbol import Number, Symbol

from ullage import progress
from ullage.facts import FactBase
from ullage.findings import Finding, PolicyError
from ullage.results import Quantity, value_text
from ullage.rules import numbers
from ullage.rules.docstrings import BUILTIN
from ullage.rules.encode import fact_levels, fact_lines, reads
from ullage.rules.inference import TypedRule, shown
from ullage.rules.lowering import Flags, Lowered, Site, lower
from ullage.rules.terms import Rule
from ullage.sorts import CountSort, ExactSort, Sort


class _Context:
    """The functions that a lowered program calls, one for each site, and what they saw."""

    def __init__(self, lowered: Lowered, flags: Flags) -> None:
        self.flags = flags
        self.fractions: set[int] = set()
        self.undefined: dict[int, dict[str, str]] = defaultdict(dict)
        self.rows: dict[int, list[str]] = defaultdict(list)
        for site in lowered.sites.values():
            if site.kind == "call":
                setattr(self, f"call{site.number}", self._call(site))
            else:
                collect, total = self._sum(site)
                setattr(self, f"collect{site.number}", collect)
                setattr(self, f"sum{site.number}", total)

    def _call(self, site: Site) -> Callable[..., list[Symbol]]:
        decoders = [_decoder(s) for _, s in site.arguments]
        function = site.function
        assert function is not None

        def call(*symbols: Symbol) -> list[Symbol]:
            value = function([d(s) for d, s in zip(decoders, symbols, strict=True)])
            result = self._encoded(site, value, symbols)
            if result:
                self.rows[site.number].append(
                    f"_call'{site.number}({','.join(map(str, [*symbols, *result]))})."
                )
            return result

        return call

    def _sum(self, site: Site) -> tuple[Callable[..., Symbol], Callable[..., list[Symbol]]]:
        totals: dict[Symbol, Fraction] = {}
        seen: set[tuple[Symbol, Symbol]] = set()
        decode = _decoder(site.sort)

        def collect(group: Symbol, element: Symbol, figure: Symbol) -> Symbol:
            if (group, element) not in seen:
                seen.add((group, element))
                totals[group] = totals.get(group, Fraction(0)) + decode(figure)
            return Number(1)

        def total(group: Symbol) -> list[Symbol]:
            result = self._encoded(site, totals.get(group, Fraction(0)), (group,))
            if result:
                self.rows[site.number].append(f"_sum'{site.number}({group},{result[0]}).")
            return result

        return collect, total

    def _encoded(
        self, site: Site, value: Fraction | None, symbols: Sequence[Symbol]
    ) -> list[Symbol]:
        """The value as a symbol; none where it is none, too large, or has too many decimals."""
        if value is None:
            return self._without(site, symbols, "divides by zero")
        if isinstance(site.sort, CountSort):
            if not numbers.count_in_range(value):
                return self._without(site, symbols, f"is {value}, outside the range of counts")
            return [Number(int(value))]
        if not numbers.in_range(value):
            return self._without(site, symbols, f"leaves the exact range of `{site.sort.name}`")
        if site.number in self.flags.fractions:
            try:
                return [numbers.fraction_symbol(value)]
            except OverflowError:
                return self._without(site, symbols, "is a fraction too fine to hold")
        if numbers.level(value) == numbers.FRACTION:
            self.fractions.add(site.number)
            return []
        return [numbers.decimal_symbol(value)]

    def _without(self, site: Site, symbols: Sequence[Symbol], why: str) -> list[Symbol]:
        key = f"({','.join(map(str, symbols))}{',' if len(symbols) == 1 else ''})"
        if site.kind == "sum":
            key = str(symbols[0])
        self.undefined[site.number][key] = why
        return []


def _decoder(sort: Sort) -> Callable[[Symbol], Fraction]:
    if isinstance(sort, CountSort):
        return lambda symbol: Fraction(symbol.number)
    return numbers.decode


@dataclass(frozen=True, slots=True)
class Model:
    """The one answer set of a solved book.

    ``control`` holds every atom; ``text`` is the program that gave it, in plain clingo.
    """

    control: clingo.Control
    lowered: Lowered
    text: Callable[[], str]

    def atoms(self, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate that hold, in clingo's order of terms."""
        found = self.control.symbolic_atoms.by_signature(name, arity)
        return sorted(a.symbol for a in found)

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
        lowered = lower(rules, levels, flags)
        facts = fact_lines(base, read, lowered.levels)
        context = _Context(lowered, flags)
        progress.phase("grounding")
        control = _ground(lowered, facts, context, base)
        wanted = Flags(
            flags.fractions | context.fractions, flags.undefined | set(context.undefined)
        )
        if wanted == flags:
            break
        flags = wanted
    findings = _errors(control, lowered, context)
    if findings:
        raise PolicyError(findings)
    progress.phase("solving")
    if not control.solve().satisfiable:
        raise AssertionError("a stratified program without constraints has an answer set")
    return Model(control, lowered, lambda: program_text(lowered, facts, context))


def _shows(lowered: Lowered) -> list[str]:
    derived = {line.rule.head.name for line in lowered.lines}
    return [f"#show {n}/{a}." for n, a in BUILTIN.items() if n in derived]


def program_text(lowered: Lowered, facts: Iterable[str], context: _Context) -> str:
    """The lowered program with its facts, for a stock clingo: rows stand for every call."""
    parts = ["% A lowered program: exact figures are limbs base 10**9 (10**18, 10**9, 1, 10**-9)."]
    parts += ["#show.", *_shows(lowered), "% facts", *facts, "% rules"]
    rule: Rule | None = None
    for line in lowered.lines:
        if line.rule is not rule:
            rule = line.rule
            parts.append(f"% {rule.position}")
        if line.site is None:
            parts.append(line.text)
        elif line.relation:
            parts += sorted(context.rows[line.site]) or [f"#defined {line.relation}/{line.arity}."]
    return "\n".join(parts) + "\n"


def _ground(
    lowered: Lowered, facts: Sequence[str], context: _Context, base: FactBase
) -> clingo.Control:
    messages: list[tuple[MessageCode, str]] = []

    def log(code: MessageCode, message: str) -> None:
        if code not in (MessageCode.AtomUndefined, MessageCode.GlobalVariable):
            messages.append((code, message))

    control = clingo.Control(logger=log, message_limit=100)
    text = "\n".join(line.text for line in lowered.lines)
    try:
        control.add("facts", [], "\n".join(facts))
        control.add("base", [], "\n".join([text, "#show.", *_shows(lowered)]))
        control.ground([("facts", []), ("base", [])], context=context)
    except RuntimeError as error:
        raise PolicyError(_from_clingo(messages, lowered, str(error))) from error
    if messages:
        raise PolicyError(_from_clingo(messages, lowered, "operation undefined"))
    return control


def _from_clingo(
    messages: Sequence[tuple[MessageCode, str]], lowered: Lowered, said: str
) -> list[Finding]:
    """clingo's messages about lowered text as findings about the author's rules."""
    findings = []
    for code, message in messages:
        match = re.match(r"<block>:(\d+):", message)
        number = int(match.group(1)) - 1 if match else -1
        rule = lowered.lines[number].rule if 0 <= number < len(lowered.lines) else None
        places = (rule.position,) if rule is not None else ()
        if "unsafe variables" in message:
            found = {shown(v) for v in re.findall(r"note: '([A-Za-z_]\w*)", message)}
            variables = sorted(v for v in found if not v.startswith("E"))
            what = " and ".join(f"`{v}`" for v in variables) or "a variable"
            findings.append(
                Finding(
                    "unsafe-variable",
                    f"nothing but arithmetic binds {what}",
                    places,
                    "let an atom of the body hold it",
                )
            )
        elif code is MessageCode.OperationUndefined:
            findings.append(
                Finding("undefined-operation", "an operation on terms that are no figures", places)
            )
    if not findings:
        findings.append(Finding("not-grounded", f"the rules cannot be grounded: {said}"))
    return findings


def _errors(control: clingo.Control, lowered: Lowered, context: _Context) -> list[Finding]:
    """Values out of range, undefined expressions and empty extrema, as findings of their rules."""
    findings = []
    atoms = control.symbolic_atoms
    for check in lowered.ranges:
        for atom in list(atoms.by_signature(check.relation, 1))[:10]:
            value = _decoder(check.sort)(atom.symbol.arguments[0])
            places = tuple(dict.fromkeys(r.position for r in check.rules))
            findings.append(
                Finding(
                    "overflow",
                    f"the value {Quantity(value, check.sort).text} of `{check.rules[0].head.name}` "
                    f"leaves the range of `{check.sort.name}`",
                    places,
                    "figures of this size are no catalog's; look for a wrong unit",
                )
            )
    for relation, site in lowered.undefined.items():
        for atom in list(atoms.by_signature(relation, 1))[:10]:
            key = atom.symbol.arguments[0]
            why = context.undefined[site.number].get(str(key), "has no value")
            code = "division-by-zero" if why == "divides by zero" else "overflow"
            findings.append(
                Finding(
                    code,
                    f"an expression of `{site.rule.head.name}` {why}{_with(site, key)}",
                    (site.position, replace(site.rule.position, note="in this rule")),
                    "a condition such as `X > 0` in the rule keeps it out"
                    if code == "division-by-zero"
                    else "",
                )
            )
    for relation, rule in lowered.empty.items():
        for _ in list(atoms.by_signature(relation, 1))[:1]:
            findings.append(
                Finding(
                    "empty-extremum",
                    f"a rule of `{rule.head.name}` takes the least or greatest of nothing",
                    (rule.position,),
                    "an atom in the rule's body that the set's members imply keeps it out",
                )
            )
    return findings


def _with(site: Site, key: Symbol) -> str:
    """The arguments of a call, as people read them."""
    if site.kind == "sum" or not site.arguments:
        return ""
    found = []
    for (name, sort), symbol in zip(site.arguments, key.arguments, strict=True):
        if isinstance(sort, ExactSort | CountSort):
            value: object = value_text(Quantity(_decoder(sort)(symbol), sort))
        else:
            value = symbol
        found.append(f"{shown(name)} = {value}")
    return f" (with {', '.join(found)})"
