"""Composite values written out: a variable that an equation makes a tuple is that tuple.

A tuple or form may hold exact figures, which different places write in four or five parts. So that
each place writes them as its own values are written, ``S = part(A, R), whole(S)`` is taken as
``whole(part(A, R))``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence
from typing import TypeVar

from ullage.rules.inference import TypedRule
from ullage.rules.lowering.levels import exact_leaves
from ullage.rules.terms import (
    Aggregate,
    Comparison,
    Conditional,
    Element,
    Expr,
    Fun,
    Literal,
    Rule,
    Tup,
    Var,
    global_names,
    names,
    substituted,
)

_T = TypeVar("_T")
_Set = TypeVar("_Set", Element, Conditional)


def unfold(typed: TypedRule) -> TypedRule:
    """The rule without equations that make a composite value with figures inside."""
    unfolder = _Unfolder(typed)
    while (found := unfolder.equation(typed.rule.body)) is not None:
        equation, name, term = found
        rule = typed.rule
        body = tuple(b for b in rule.body if b is not equation)
        typed = unfolder.replaced(dataclasses.replace(rule, body=body), name, term)
    return unfolder.sets_unfolded(typed)


class _Unfolder:
    """Rewrites one rule; every node it makes has the sort of the node it stands for."""

    def __init__(self, typed: TypedRule) -> None:
        self.typed = typed
        # A node that is let go could leave its identity, and so its sort, to another.
        self.kept: list[object] = [typed.rule]
        self.outer: set[str] = set()

    def equation(
        self, body: Sequence[Literal], outer: Container[str] = ()
    ) -> tuple[Comparison, str, Expr] | None:
        """The next equation to unfold: a variable, and the term that it is.

        A set says of an ``outer`` variable what it is compared with, and not what it is.
        """
        for literal in body:
            if not isinstance(literal, Comparison) or literal.sign or len(literal.rest) != 1:
                continue
            op, right = literal.rest[0]
            if op != "=":
                continue
            for var, term in ((literal.first, right), (right, literal.first)):
                if (
                    isinstance(var, Var)
                    and isinstance(term, Tup | Fun | Var)
                    and self._composite(var)
                    and var.name not in names(term)
                    and var.name not in outer
                ):
                    return literal, var.name, term
        return None

    def _composite(self, var: Var) -> bool:
        """Whether the variable holds figures, and is none itself."""
        leaves = exact_leaves(self.typed.variables[var.name])
        return bool(leaves) and () not in leaves

    def replaced(self, rule: Rule, name: str, term: Expr) -> TypedRule:
        """The rule with a term in every place of a variable."""
        self.kept.append(rule)
        return dataclasses.replace(self.typed, rule=self.put(rule, name, term))

    def sets_unfolded(self, typed: TypedRule) -> TypedRule:
        """The rule with the equations unfolded that stand inside its sets."""
        self.outer = global_names(typed.rule)
        body: list[Literal] = []
        for literal in typed.rule.body:
            if isinstance(literal, Aggregate):
                elements = tuple(self._inside(e) for e in literal.elements)
                body.append(dataclasses.replace(literal, elements=elements))
            elif isinstance(literal, Conditional):
                body.append(self._inside(literal))
            else:
                body.append(literal)
        self.kept.append(typed.rule)
        rule = dataclasses.replace(typed.rule, body=tuple(body))
        return dataclasses.replace(typed, rule=rule, kept=tuple(self.kept))

    def _inside(self, item: _Set) -> _Set:
        """An element or conditional literal without such equations among its conditions."""
        while (found := self.equation(item.conditions, self.outer)) is not None:
            equation, name, term = found
            self.kept.append(item)
            rest = tuple(c for c in item.conditions if c is not equation)
            item = self.put(dataclasses.replace(item, conditions=rest), name, term)
        return item

    def put(self, item: _T, name: str, term: Expr) -> _T:
        """An item with a term in every place of a variable."""
        return substituted(item, lambda v: term if v.name == name else v, self._made)

    def _made(self, old: object, new: object) -> None:
        """Give a node the sort, or the places, of the node it stands for."""
        self.kept.append(old)
        if id(old) in self.typed.terms:
            self.typed.terms[id(new)] = self.typed.terms[id(old)]
        if id(old) in self.typed.places:
            self.typed.places[id(new)] = self.typed.places[id(old)]
