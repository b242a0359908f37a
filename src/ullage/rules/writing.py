"""Rules as text, each in one form: what a rule says, without its author's breaks and comments."""

from __future__ import annotations

from collections.abc import Iterable

from ullage.rules.inference import shown
from ullage.rules.terms import (
    FLIPPED,
    Aggregate,
    Atom,
    Comparison,
    Conditional,
    Element,
    Expr,
    Fun,
    Int,
    Literal,
    Op,
    Pool,
    Rule,
    Span,
    Str,
    Truth,
    Tup,
    Var,
)

_TIGHT = {"*": 2, "/": 2, "\\": 2, "+": 1, "-": 1}


def rule_text(rule: Rule) -> str:
    """A rule on one line, that reads back as it."""
    head = literal_text(rule.head)
    return f"{head} :- {body_text(rule.body)}." if rule.body else f"{head}."


def body_text(body: Iterable[Literal]) -> str:
    """A body on one line; what follows a conditional literal stands behind a semicolon."""
    text = ""
    before: Literal | None = None
    for literal in body:
        if before is not None:
            text += "; " if isinstance(before, Conditional) else ", "
        text += literal_text(literal)
        before = literal
    return text


def literal_text(literal: Literal) -> str:
    """A literal of a body, or a head."""
    match literal:
        case Atom(name=name, args=args, sign=sign):
            return "not " * sign + (f"{name}({_listed(args)})" if args else name)
        case Comparison(first=first, rest=rest, sign=sign):
            links = "".join(f" {op} {term_text(term)}" for op, term in rest)
            return "not " * sign + term_text(first) + links
        case Truth(value=value):
            return "#true" if value else "#false"
        case Conditional(literal=inner, conditions=conditions):
            return f"{literal_text(inner)} : {', '.join(map(literal_text, conditions))}"
        case Aggregate():
            return _aggregate(literal)


def element_text(element: Element) -> str:
    """An element of an aggregate."""
    terms = _listed(element.terms)
    if not element.conditions:
        return terms
    return f"{terms} : {', '.join(map(literal_text, element.conditions))}"


def _aggregate(literal: Aggregate) -> str:
    elements = "; ".join(map(element_text, literal.elements))
    text = f"#{literal.function} {{ {elements} }}"
    guards = list(literal.guards)
    # What takes the value stands first, as authors write it.
    if guards:
        op, term = guards.pop(0)
        text = f"{term_text(term)} {FLIPPED[op]} {text}"
    for op, term in guards:
        text += f" {op} {term_text(term)}"
    return "not " * literal.sign + text


def term_text(term: Expr) -> str:
    """A term."""
    match term:
        case Var(name=name):
            return "_" if term.anonymous else shown(name)
        case Int(value=value):
            return str(value)
        case Str(value=value):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case Fun(name=name, args=args):
            return f"{name}({_listed(args)})" if args else name
        case Tup(args=args):
            return f"({_listed(args)}{',' * (len(args) == 1)})"
        case Pool(args=args):
            return f"({'; '.join(map(term_text, args))})"
        case Span(low=low, high=high):
            return f"{term_text(low)}..{term_text(high)}"
        case Op(name="abs", args=(arg,)):
            return f"|{term_text(arg)}|"
        case Op(name="-", args=(arg,)):
            return f"-{_operand(arg, 3)}"
        case Op(name=name, args=(left, right)) if name in _TIGHT:
            tight = _TIGHT[name]
            return f"{_operand(left, tight)} {name} {_operand(right, tight + 1)}"
        case Op(name=name, args=args):
            return f"@{name}({_listed(args)})"


def _listed(terms: Iterable[Expr]) -> str:
    return ", ".join(map(term_text, terms))


def _operand(term: Expr, tight: int) -> str:
    text = term_text(term)
    loose = isinstance(term, Span) or (
        isinstance(term, Op) and len(term.args) == 2 and _TIGHT.get(term.name, 9) < tight
    )
    negative = isinstance(term, Int) and term.value < 0
    return f"({text})" if loose or negative else text
