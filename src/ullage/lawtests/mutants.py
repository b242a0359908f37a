"""Mutants: rules with one small fault each, which a law test should notice.

A mutant is a rule of a policy with one thing changed, or without it the policy. Each is one that
the loader would take: what is unsafe, of wrong sorts or unstratified is no mutant.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ullage.findings import Position, errors_of
from ullage.rules import graph
from ullage.rules.book import RuleBook, check_safety
from ullage.rules.inference import TypedRule, infer
from ullage.rules.recursion import check_recursion
from ullage.rules.syntax import parse_text
from ullage.rules.terms import (
    FLIPPED,
    Aggregate,
    Atom,
    Comparison,
    Conditional,
    Element,
    Fun,
    Int,
    Literal,
    Op,
    Rule,
    Str,
    Truth,
    uses,
)
from ullage.rules.writing import element_text, literal_text, rule_text, term_text
from ullage.sorts import BoolSort, ClosedSort, EntitySort, ExactSort, FormsSort, Sort, TextSort


class Operator(StrEnum):
    """What a mutation does to a rule."""

    REMOVE = "remove"
    DROP = "drop"
    BOUNDARY = "boundary"
    REVERSE = "reverse"
    NEGATE = "negate"
    CONSTANT = "constant"
    ARITHMETIC = "arithmetic"


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """A rule with one fault: what stood ``before`` at the position, and what stands ``after``.

    ``typed`` is the rule with it; None where the rule is removed. ``original`` is the rule without,
    and ``number`` its place among the rules of the book.
    """

    number: int
    original: TypedRule
    operator: Operator
    position: Position
    before: str
    after: str
    typed: TypedRule | None

    @property
    def text(self) -> str:
        """The rule with the fault, on one line; empty where it is removed."""
        return "" if self.typed is None else rule_text(self.typed.rule)


@dataclass(frozen=True, slots=True)
class _Edit:
    """One change of a node, told as what stood there and what does."""

    operator: Operator
    position: Position
    before: str
    after: str
    figure: bool = False


_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_REVERSED = {op: other for op, other in FLIPPED.items() if op != other}
_NEGATED = {"=": "!=", "!=": "="}
_OTHER = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "floor": "ceil",
    "ceil": "floor",
    "floor_div": "ceil_div",
    "ceil_div": "floor_div",
}
_EXTREMUM = {"min": "max", "max": "min"}
_FIGURE = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(.*)", re.DOTALL)


def mutants(book: RuleBook, files: Collection[str] | None = None) -> list[Mutant]:
    """The mutants of the rules that stand in files, or in some of them, in the order of rules."""
    texts = _texts(book.authored)
    circles = _circles(book)
    found: list[Mutant] = []
    authored = {id(t) for t in book.authored}
    for number, typed in enumerate(book.rules):
        at = typed.rule.position
        if id(typed) in authored and (files is None or at.file in files):
            found += _of_rule(number, typed, book, texts)
    sound = _safe(found)
    return [m for m in sound if graph.node(m.original.rule.head) not in circles or _ends(m, book)]


def _of_rule(
    number: int, typed: TypedRule, book: RuleBook, texts: Mapping[Sort, Sequence[str]]
) -> Iterator[Mutant]:
    rule = typed.rule
    head = literal_text(rule.head)
    yield Mutant(number, typed, Operator.REMOVE, rule.position, head, "", None)
    told = {rule_text(rule)}
    for edit, changed in _Editor(typed, book, texts).edits():
        text = rule_text(changed)
        if text in told:
            continue
        told.add(text)
        made, findings = infer(changed, book.vocabulary)
        if made is not None and not errors_of(findings):
            yield Mutant(number, typed, edit.operator, edit.position, edit.before, edit.after, made)


class _Editor:
    """Every edit of one rule."""

    def __init__(
        self, typed: TypedRule, book: RuleBook, texts: Mapping[Sort, Sequence[str]]
    ) -> None:
        self.typed = typed
        self.tables = book.vocabulary.declarations.tables
        self.texts = texts

    def edits(self) -> Iterator[tuple[_Edit, Rule]]:
        """The edits and what the rule is with each."""
        rule = self.typed.rule
        for i, literal in enumerate(rule.body):
            if not isinstance(literal, Truth):
                rest = (*rule.body[:i], *rule.body[i + 1 :])
                yield _dropped(literal), dataclasses.replace(rule, body=rest)
            for edit, changed in self._node(literal):
                body = (*rule.body[:i], changed, *rule.body[i + 1 :])
                yield edit, dataclasses.replace(rule, body=body)
        # A word of a head in another's place is noticed wherever the rule's absence is.
        for edit, args in self._inside(rule.head.args):
            if edit.operator is Operator.ARITHMETIC or edit.figure:
                head = dataclasses.replace(rule.head, args=args)
                yield edit, dataclasses.replace(rule, head=head)

    def _inside(self, value: Any) -> Iterator[tuple[_Edit, Any]]:
        """The edits below a node or a tuple of them, and what it is with each."""
        if isinstance(value, tuple):
            for i, inner in enumerate(value):
                for edit, changed in self._inside(inner):
                    yield edit, (*value[:i], changed, *value[i + 1 :])
        elif dataclasses.is_dataclass(value) and not isinstance(value, Position | type):
            yield from self._node(value)

    def _node(self, node: Any) -> Iterator[tuple[_Edit, Any]]:
        """The edits of a node itself, then those below it."""
        yield from self._own(node)
        for field in dataclasses.fields(node):
            for edit, changed in self._inside(getattr(node, field.name)):
                yield edit, dataclasses.replace(node, **{field.name: changed})

    def _own(self, node: Any) -> Iterator[tuple[_Edit, Any]]:
        match node:
            case Atom():
                yield _negated(node, dataclasses.replace(node, sign=0 if node.sign else 1))
                yield from self._column(node)
            case Comparison(rest=rest):
                for i, (op, term) in enumerate(rest):
                    for operator, other in _compared(op):
                        links = (*rest[:i], (other, term), *rest[i + 1 :])
                        yield _replaced(operator, node, dataclasses.replace(node, rest=links))
            case Aggregate():
                yield from _of_aggregate(node)
            case Element(conditions=conditions):
                yield from _conditions(node, conditions)
            case Conditional(conditions=conditions) if len(conditions) > 1:
                yield from _conditions(node, conditions)
            case Op(name=name, args=args) if name in _OTHER and (len(args) == 2 or name != "-"):
                turned = dataclasses.replace(node, name=_OTHER[name])
                yield _term(Operator.ARITHMETIC, node, turned), turned
            case Int(value=value):
                more = dataclasses.replace(node, value=value + 1)
                yield _term(Operator.CONSTANT, node, more, figure=True), more
            case Str():
                yield from self._string(node)
            case Fun():
                yield from self._word(node)

    def _string(self, node: Str) -> Iterator[tuple[_Edit, Str]]:
        sort = self.typed.terms.get(id(node))
        if isinstance(sort, ExactSort):
            match = _FIGURE.fullmatch(node.value.strip())
            assert match is not None, node.value
            sign, whole, below, unit = match.groups()
            digits = str(int(whole + (below or "")) + (-1 if sign else 1))
            places = len(below or "")
            digits = digits.zfill(places + 1)
            text = digits[: len(digits) - places] + (f".{digits[-places:]}" if places else "")
            more = dataclasses.replace(node, value=f"{sign}{text}{unit}")
            yield _term(Operator.CONSTANT, node, more, figure=True), more
        elif sort is not None:
            other = next((t for t in self.texts.get(sort, ()) if t != node.value), None)
            if other is not None:
                put = dataclasses.replace(node, value=other)
                yield _term(Operator.CONSTANT, node, put), put

    def _word(self, node: Fun) -> Iterator[tuple[_Edit, Fun]]:
        sort = self.typed.terms.get(id(node))
        words: Sequence[str] = ()
        if isinstance(sort, BoolSort):
            words = ("true", "false")
        elif isinstance(sort, ClosedSort):
            words = sort.values
        elif isinstance(sort, FormsSort) and node.name in sort.forms:
            sorts = [s for _, s in sort.forms[node.name]]
            words = [n for n, args in sort.forms.items() if [s for _, s in args] == sorts]
        if (word := _next(words, node.name)) is not None:
            other = dataclasses.replace(node, name=word)
            yield _term(Operator.CONSTANT, node, other), other

    def _column(self, atom: Atom) -> Iterator[tuple[_Edit, Atom]]:
        """Another column of a table that holds the same sort."""
        table = self.tables.get(atom.name)
        if table is None or len(atom.args) != 3:
            return
        key, word, value = atom.args
        assert isinstance(word, Fun)
        here = table.columns[word.name]
        alike = [
            c.name for c in table.columns.values() if (c.sort, c.many) == (here.sort, here.many)
        ]
        if (name := _next(alike, word.name)) is not None:
            other = dataclasses.replace(word, name=name)
            edit = _term(Operator.CONSTANT, word, other)
            yield edit, dataclasses.replace(atom, args=(key, other, value))


def _conditions(node: Any, conditions: Sequence[Any]) -> Iterator[tuple[_Edit, Any]]:
    for i, condition in enumerate(conditions):
        rest = (*conditions[:i], *conditions[i + 1 :])
        yield _dropped(condition), dataclasses.replace(node, conditions=rest)


def _of_aggregate(node: Aggregate) -> Iterator[tuple[_Edit, Aggregate]]:
    if node.function in _EXTREMUM:
        other = _EXTREMUM[node.function]
        edit = _Edit(Operator.ARITHMETIC, node.position, f"#{node.function}", f"#{other}")
        yield edit, dataclasses.replace(node, function=other)
    for i, (op, term) in enumerate(node.guards):
        for operator, other in _compared(op):
            guards = (*node.guards[:i], (other, term), *node.guards[i + 1 :])
            yield _replaced(operator, node, dataclasses.replace(node, guards=guards))
    if len(node.elements) > 1:
        for i, element in enumerate(node.elements):
            rest = (*node.elements[:i], *node.elements[i + 1 :])
            text = element_text(element)
            edit = _Edit(Operator.DROP, element.position, text, "")
            yield edit, dataclasses.replace(node, elements=rest)


def _compared(op: str) -> Iterator[tuple[Operator, str]]:
    if op in _NEGATED:
        yield Operator.NEGATE, _NEGATED[op]
    else:
        yield Operator.BOUNDARY, _BOUNDARY[op]
        yield Operator.REVERSE, _REVERSED[op]


def _dropped(literal: Literal) -> _Edit:
    return _Edit(Operator.DROP, literal.position, literal_text(literal), "")


def _negated(old: Atom, new: Atom) -> tuple[_Edit, Atom]:
    return _Edit(Operator.NEGATE, old.position, literal_text(old), literal_text(new)), new


def _replaced(operator: Operator, old: Any, new: Any) -> tuple[_Edit, Any]:
    return _Edit(operator, old.position, literal_text(old), literal_text(new)), new


def _term(operator: Operator, old: Any, new: Any, *, figure: bool = False) -> _Edit:
    return _Edit(operator, old.position, term_text(old), term_text(new), figure)


def _next(words: Sequence[str], word: str) -> str | None:
    """The word after another, in a circle; None where there is no other."""
    if len(words) < 2 or word not in words:
        return None
    return words[(list(words).index(word) + 1) % len(words)]


def _texts(rules: Iterable[TypedRule]) -> dict[Sort, list[str]]:
    """The names and texts that stand in rules by sort, the commonest first."""
    found: dict[Sort, Counter[str]] = {}
    for typed in rules:
        for node in _strings((typed.rule.head, typed.rule.body)):
            sort = typed.terms.get(id(node))
            if isinstance(sort, EntitySort | TextSort):
                found.setdefault(sort, Counter())[node.value] += 1
    return {s: [t for t, _ in c.most_common()] for s, c in found.items()}


def _strings(value: Any) -> Iterator[Str]:
    if isinstance(value, Str):
        yield value
    elif isinstance(value, tuple):
        for inner in value:
            yield from _strings(inner)
    elif dataclasses.is_dataclass(value) and not isinstance(value, Position | type):
        for field in dataclasses.fields(value):
            yield from _strings(getattr(value, field.name))


_AT_ONCE = 200
"""How many rules clingo is asked of at once: it tells no more than some messages."""


def _safe(found: Sequence[Mutant]) -> list[Mutant]:
    """Those whose variables are all bound, as clingo says of their text."""
    safe = []
    for first in range(0, len(found), _AT_ONCE):
        some = found[first : first + _AT_ONCE]
        file, findings = parse_text("<mutants>", "\n".join(m.text for m in some) + "\n")
        findings = [*findings, *check_safety(file)]
        refused = {p.line for f in findings for p in f.positions}
        safe += [m for line, m in enumerate(some, start=1) if line not in refused]
    return safe


def _circles(book: RuleBook) -> set[str]:
    """The nodes that build on themselves."""
    edges: dict[str, set[str]] = {}
    for typed in book.rules:
        below = edges.setdefault(graph.node(typed.rule.head), set())
        for use in uses(typed.rule.body):
            below.add(graph.node(use.atom))
            edges.setdefault(graph.node(use.atom), set())
    members = graph.components(edges)
    return {n for m in members for n in m if len(m) > 1 or n in edges[n]}


def _ends(mutant: Mutant, book: RuleBook) -> bool:
    """Whether the rules with a mutant in the place of its rule still have one finite answer."""
    rules = [t.rule for t in book.rules]
    if mutant.typed is None:
        return True
    rules[mutant.number] = mutant.typed.rule
    return not check_recursion(rules, book.vocabulary.declarations)
