"""What went wrong while a lowered program was grounded, as findings about the author's rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import clingo
from clingo.core import MessageCode
from clingo.symbol import Infimum, Supremum, Symbol

from ullage.findings import Finding, Position, listed
from ullage.results import Quantity, value_text
from ullage.rules import numbers
from ullage.rules.book import QUERY
from ullage.rules.delta.nodes import WORLD, named
from ullage.rules.inference import shown
from ullage.rules.lowering import Lowered, Site
from ullage.rules.lowering.scribe import is_temp
from ullage.rules.terms import Rule, Var, variables
from ullage.sorts import CountSort, ExactSort, Sort

DIVIDES_BY_ZERO = "divides by zero"

_TOO_LARGE = "figures of this size are no catalog's; look for a wrong unit"


def decoder(sort: Sort) -> Callable[[Symbol], Fraction]:
    """The function from a figure's term to its value in base units."""
    if isinstance(sort, CountSort):
        return lambda symbol: Fraction(symbol.number)
    return numbers.decode


def of_nothing(symbol: Symbol) -> bool:
    """Whether it is an extremum of nothing, which is an error of its own, or none yet."""
    return symbol in (Infimum, Supremum)


def from_clingo(
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
            lowered_names = re.findall(r"note: '(.+?)' is unsafe", message)
            found = {shown(v) for v in lowered_names if not is_temp(v)}
            named = _variables(rule, found) if rule is not None else []
            findings.append(
                Finding(
                    "unsafe-variable",
                    f"nothing but arithmetic binds {listed([v.name for v in named])}",
                    tuple(v.position for v in named) or places,
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


def _variables(rule: Rule, wanted: set[str]) -> list[Var]:
    """Where each of these variables stands first in a rule."""
    found: dict[str, Var] = {}
    for item in (rule.head, *rule.body):
        for variable in variables(item):
            if variable.name in wanted:
                found.setdefault(variable.name, variable)
    return list(found.values())


def failures(
    control: clingo.Control, lowered: Lowered, undefined: Mapping[int, Mapping[str, str]]
) -> list[Finding]:
    """Values out of range, expressions without a value, and extrema of nothing.

    ``undefined`` says why a site had no value, by its number and the text of its arguments. One
    finding a site shows the first case, and how many there are.
    """
    findings = []
    for check in lowered.ranges:
        for symbol, more in _first(control, check.relation):
            figure = Quantity(decoder(check.sort)(symbol), check.sort)
            findings.append(
                Finding(
                    "overflow",
                    f"the value {figure.text} of {_named(check.rules[0])} leaves the range of "
                    f"`{check.sort.name}`{more}",
                    tuple(dict.fromkeys(r.position for r in check.rules)),
                    _TOO_LARGE,
                )
            )
    for relation, site in lowered.undefined.items():
        for symbol, more in _first(control, relation):
            why = undefined[site.number].get(str(symbol), "has no value")
            by_zero = why == DIVIDES_BY_ZERO
            findings.append(
                Finding(
                    "division-by-zero" if by_zero else "overflow",
                    f"an expression of {_named(site.rule)} {why}{_with(site, symbol)}{more}",
                    _places(site),
                    "a condition such as `Count > 0` in the rule keeps it out"
                    if by_zero
                    else _TOO_LARGE,
                )
            )
    for relation, site in lowered.empty.items():
        for symbol, more in _first(control, relation):
            findings.append(
                Finding(
                    "empty-extremum",
                    f"a rule of {_named(site.rule)} takes the least or greatest of nothing"
                    f"{_with(site, symbol)}{more}",
                    _places(site),
                    "an atom in the rule's body that the set's members imply keeps it out",
                )
            )
    return findings


def _first(control: clingo.Control, relation: str) -> list[tuple[Symbol, str]]:
    """The least case of a relation of failures, and a word on the others; none of an empty one."""
    found = sorted(a.symbol.arguments[0] for a in control.symbolic_atoms.by_signature(relation, 1))
    if not found:
        return []
    return [(found[0], f", and {len(found) - 1} more such" if len(found) > 1 else "")]


def _named(rule: Rule) -> str:
    return "the query" if rule.head.name == QUERY else f"`{named(rule.head.name)}`"


def _places(site: Site) -> tuple[Position, ...]:
    if site.rule.head.name == QUERY:
        return (site.position,)
    return (site.position, replace(site.rule.position, note="in this rule"))


def _with(site: Site, key: Symbol) -> str:
    """The arguments of a site, as people read them."""
    found = []
    for (name, sort), symbol in zip(site.arguments, key.arguments, strict=True):
        if name == WORLD or of_nothing(symbol):
            continue
        if isinstance(sort, ExactSort | CountSort):
            found.append(f"{shown(name)} = {value_text(Quantity(decoder(sort)(symbol), sort))}")
        else:
            found.append(f"{shown(name)} = {symbol}")
    return f" (with {', '.join(found)})" if found else ""
