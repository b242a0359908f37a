"""clingo's syntax tree as terms; what a law may not hold is refused here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clingo import ast
from clingo.symbol import SymbolType

from ullage.findings import Finding, Position, counted
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
    Label,
    Literal,
    Op,
    Pool,
    Rule,
    Span,
    Str,
    Truth,
    Tup,
    Var,
    variables,
)
from ullage.sorts import shorten
from ullage.textfiles import place_at

_COMPARE = {0: ">", 1: "<", 2: "<=", 3: ">=", 4: "!=", 5: "="}
_BINARY = {3: "+", 4: "-", 5: "*", 6: "/", 7: "\\"}
_UNARY = {0: "-", 2: "abs"}
_CALLS = {"floor": 1, "ceil": 1, "floor_div": 2, "ceil_div": 2}
_AGGREGATES = {0: "count", 1: "sum", 3: "min", 4: "max"}

_SHOWN = ("what is shown follows from the declarations", "take the line away")
_ENUMERATION = ("`#project` belongs to enumeration, and a law has one answer", "take the line away")

FORBIDDEN = {
    "Script": ("`#script` runs code; a law is only rules", "compute with `+ - * /` and `@floor`"),
    "External": ("`#external` atoms have no reading behind them", "declare a table for them"),
    "Minimize": (
        "an optimisation chooses among answers, and a law has one",
        "take the least of a set with `#min`",
    ),
    "Heuristic": ("`#heuristic` steers a search, and a law has none", "take the line away"),
    "Edge": ("`#edge` states a constraint", "derive a refusal with its reason instead"),
    "TheoryDefinition": (
        "theory atoms are evaluated outside the rules",
        "compute with `+ - * /` over sorts",
    ),
    "ProjectAtom": _ENUMERATION,
    "ProjectSignature": _ENUMERATION,
    "Definition": ("`#const` is not read", "write the value, or a row of a table"),
    "ShowSignature": _SHOWN,
    "ShowTerm": _SHOWN,
    "Defined": ("what is defined follows from the declarations", "take the line away"),
    "Program": ("a law has one program part", "take the `#program` line away"),
}
"""What a law may not state, by clingo's name of it: why, and what to do instead."""


MAX_DEPTH = 100
"""Deepest nesting of terms."""

MAX_SPAN = 1_000_000
"""Longest interval that is written out."""


# Strings as clingo reads them: of escapes it knows three, and one that it does not know ends one.
_SKIP = re.compile(r'"(?:[^"\\\n]|\\["\\n])*"|%\*.*?\*%|%[^\n]*', re.S)


def blanked(text: str) -> str:
    """The text with strings and comments blanked out, every other character in its place."""
    return _SKIP.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


_LONGEST_INTEGER = 100


def _integer(text: str) -> int:
    """The value of an integer's text; of a very long one only that it is too large."""
    if len(text) > _LONGEST_INTEGER:
        return 2**31
    return int(text, 0) if text[:1] == "0" and len(text) > 1 else int(text)


class Refused(Exception):
    """A construct that a law may not use; carries the finding."""

    def __init__(self, code: str, message: str, position: Position, help: str = "") -> None:
        self.finding = Finding(code, message, (position,), help)
        super().__init__(message)


class Reader:
    """Turns clingo's syntax tree of one file into terms."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = [line.encode() for line in text.split("\n")]
        self.ascii = text.isascii()
        self.fresh = 0
        self.depth = 0

    def bad_escape(self) -> Position | None:
        """Where a string has an escape that clingo does not know."""
        text = self.text
        plain = blanked(text)
        quote = plain.find('"')
        match = re.compile(r'"(?:[^"\\\n]|\\.)*"').match(text, quote) if quote >= 0 else None
        wrong = re.search(r'\\[^"\\n]', match.group()) if match else None
        if match is None or wrong is None:
            return None
        return place_at(text, match.start() + wrong.start(), self.path)

    def nearest(self, file: str, line: int, column: int) -> Position:
        """A place that clingo names, in characters; the end of the text for one behind it."""
        while line > 1 and (line > len(self.lines) or not self.lines[line - 1].strip()):
            line -= 1
            column = len(self.lines[line - 1]) if line <= len(self.lines) else 1
        before = self.lines[line - 1][: max(column, 1) - 1]
        return Position(file, line, len(before.decode(errors="replace")) + 1)

    def unclosed(self) -> Position | None:
        """Where a block comment or a string begins that nothing closes."""
        text = self.text
        for match in _SKIP.finditer(text):
            if match.group().startswith("%*") and not match.group().endswith("*%"):
                return place_at(text, match.start(), self.path)
        quote = blanked(text).find('"')
        return place_at(text, quote, self.path) if quote >= 0 else None

    def line(self, number: int) -> str:
        """The text of a line."""
        inside = 1 <= number <= len(self.lines)
        return self.lines[number - 1].decode(errors="replace") if inside else ""

    def position(self, node: ast.AST) -> Position:
        """Where a node begins."""
        return self._place(node.location.begin)

    def _place(self, at: ast.Position) -> Position:
        if self.ascii:
            return Position(self.path, at.line, at.column)
        line = self.lines[at.line - 1] if at.line <= len(self.lines) else b""
        column = len(line[: at.column - 1].decode(errors="replace")) + 1
        return Position(self.path, at.line, column)

    def source(self, node: ast.AST) -> str:
        """The author's text of a node, on one line."""
        return self._text(node.location)

    def _text(self, place: ast.Location) -> str:
        begin, end = place.begin, place.end
        if begin.line == end.line:
            chosen = [self.lines[begin.line - 1][begin.column - 1 : end.column - 1]]
        else:
            chosen = self.lines[begin.line - 1 : end.line]
            chosen[-1] = chosen[-1][: end.column - 1]
            chosen[0] = chosen[0][begin.column - 1 :]
        return " ".join(b"\n".join(chosen).decode(errors="replace").split())

    def _expr(self, node: ast.AST) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused(
                "forbidden-term",
                f"terms are nested more than {MAX_DEPTH} deep",
                self.position(node),
                "compute in steps, each with a variable of its own",
            )
        try:
            return self._inner(node)
        finally:
            self.depth -= 1

    def _inner(self, node: ast.AST) -> Expr:
        at = self.position(node)
        kind = node.ast_type.name
        if kind == "Variable":
            variable = node.name
            if variable == "_":
                self.fresh += 1
                return Var(f"_'{self.fresh}", at)
            if "'" in variable:
                raise Refused(
                    "forbidden-term",
                    f"the variable `{variable}` has an apostrophe",
                    at,
                    "apostrophes are kept for lowered programs",
                )
            return Var(variable, at)
        if kind == "SymbolicTerm":
            return self._symbol(node, at)
        if kind == "Function":
            if node.external:
                return self._call(node.name, self._operands(node.arguments), at)
            args, function = tuple(self._expr(a) for a in node.arguments), node.name
            return Fun(function, args, at) if function else Tup(args, at)
        if kind == "BinaryOperation":
            name = _BINARY.get(int(node.operator_type))
            if name is None:
                raise Refused(
                    "forbidden-operator",
                    f"the operator in `{self.source(node)}` is not exact arithmetic",
                    at,
                    "operators are `+`, `-`, `*`, `/` and `\\`",
                )
            return Op(name, self._operands([node.left, node.right]), at)
        if kind == "UnaryOperation":
            name = _UNARY.get(int(node.operator_type))
            if name is None:
                raise Refused(
                    "forbidden-operator",
                    f"the operator in `{self.source(node)}` is not exact arithmetic",
                    at,
                )
            (arg,) = self._operands([node.argument])
            if name == "-" and isinstance(arg, Int):
                return Int(-arg.value, at)
            return Op(name, (arg,), at)
        if kind == "Interval":
            return self._span(node, at)
        if kind == "Pool":
            return Pool(tuple(self._expr(a) for a in node.arguments), at)
        raise Refused("forbidden-term", f"`{self.source(node)}` is no term of a law", at)

    def _operands(self, nodes: Sequence[ast.AST]) -> tuple[Expr, ...]:
        found = tuple(self._expr(n) for n in nodes)
        for term in found:
            if isinstance(term, Var) and term.anonymous:
                raise Refused(
                    "unsafe-variable",
                    "`_` in arithmetic is bound by nothing",
                    term.position,
                    "give it a name, and let an atom hold it",
                )
        return found

    def _span(self, node: ast.AST, at: Position) -> Span:
        low, high = self._operands([node.left, node.right])
        if isinstance(low, Int) and isinstance(high, Int) and high.value - low.value > MAX_SPAN:
            raise Refused(
                "interval-too-long",
                f"the interval `{self.source(node)}` holds more than {MAX_SPAN} counts",
                at,
                "compare with its ends instead, as in `N >= 1, N <= Last`",
            )
        return Span(low, high, at)

    def _symbol(self, node: ast.AST, at: Position) -> Expr:
        symbol = node.symbol
        if symbol.type == SymbolType.Number:
            text = self.source(node)
            literal = re.match(r"0[xob][0-9a-fA-F]+|[0-9]+", text)
            value = _integer(literal.group()) if literal else symbol.number
            if value >= 2**31:
                raise Refused(
                    "integer-too-large",
                    f"the integer `{shorten(text)}` does not fit 32 bits, and would wrap "
                    "in silence",
                    at,
                    'write a quantity with its unit, as in `"96 GiB"`',
                )
            return Int(value, at)
        if symbol.type == SymbolType.String:
            return Str(symbol.string, at)
        if symbol.type == SymbolType.Function:
            return Fun(symbol.name, (), at)
        raise Refused(
            "forbidden-term",
            f"`{self.source(node)}` stands for no value",
            at,
            "`#inf` and `#sup` are not read; compare with a value",
        )

    def _call(self, name: str, args: tuple[Expr, ...], at: Position) -> Expr:
        if name not in _CALLS:
            raise Refused(
                "unknown-function",
                f"`@{name}` is no function of the language",
                at,
                f"functions are {', '.join('@' + c for c in _CALLS)}",
            )
        if len(args) != _CALLS[name]:
            raise Refused(
                "unknown-function",
                f"`@{name}` takes {counted(_CALLS[name], 'argument')}, not {len(args)}",
                at,
                f"write `@{name}({', '.join('AB'[: _CALLS[name]])})`",
            )
        return Op(name, args, at)

    def _atom(self, node: ast.AST, sign: int) -> Atom:
        symbol = node.symbol
        kind = symbol.ast_type.name
        if kind == "UnaryOperation":
            raise Refused(
                "forbidden-term",
                "classical negation is not used; derive the opposite as an atom of its own",
                self.position(symbol),
            )
        if kind == "Pool":
            raise Refused(
                "forbidden-term",
                f"the pool `{self.source(symbol)}` changes the arity of a predicate",
                self.position(symbol),
                "write one atom for each alternative",
            )
        name = symbol.name
        if "'" in name:
            raise Refused(
                "forbidden-term",
                f"the predicate `{name}` has an apostrophe",
                self.position(symbol),
                "apostrophes are kept for lowered programs, and a dump of one is no law",
            )
        args = tuple(self._expr(a) for a in symbol.arguments)
        return Atom(name, args, self.position(symbol), sign)

    def _comparison(self, node: ast.AST, sign: int, at: Position) -> Comparison:
        if sign and len(node.guards) > 1:
            raise Refused(
                "forbidden-term",
                "`not` before a chain of comparisons",
                at,
                "write the opposite of one comparison at a time",
            )
        rest = tuple((_COMPARE[int(g.comparison)], self._expr(g.term)) for g in node.guards)
        compared = Comparison(self._expr(node.term), rest, at, sign)
        if chosen := compared.chosen_twice():
            raise Refused(
                "forbidden-term",
                "alternatives inside a chain of comparisons",
                chosen.position,
                "compare a variable twice, and let an equation give it the alternatives",
            )
        return compared

    def _plain(self, node: ast.AST) -> Atom | Comparison | Truth:
        """A literal that is no aggregate."""
        if node.ast_type.name != "Literal":
            raise self._no_literal(node)
        return self._signed(node, node.atom)

    def _no_literal(self, node: ast.AST) -> Refused:
        text = self.source(node)
        return Refused("forbidden-term", f"`{text}` is no literal of a law", self.position(node))

    def _signed(self, node: ast.AST, inner: ast.AST) -> Atom | Comparison | Truth:
        """A literal, of which the atom was read."""
        sign = int(node.sign)
        kind = inner.ast_type.name
        if kind == "SymbolicAtom":
            return self._atom(inner, sign)
        if kind == "Comparison":
            return self._comparison(inner, sign, self.position(node))
        if kind == "BooleanConstant":
            return Truth(bool(inner.value) == (sign != 1), self.position(node))
        raise self._no_literal(node)

    def _literal(self, node: ast.AST) -> Literal:
        if node.ast_type.name == "ConditionalLiteral":
            return Conditional(
                self._plain(node.literal),
                tuple(self._plain(c) for c in node.condition),
                self.position(node),
            )
        inner = node.atom
        kind = inner.ast_type.name
        if kind == "BodyAggregate":
            return self._aggregate(inner, int(node.sign), self.position(node))
        if kind == "Aggregate":
            raise Refused(
                "forbidden-term",
                f"`{self.source(node)}` counts a set without saying of what",
                self.position(node),
                "write `#count { Terms : conditions }`",
            )
        if kind == "TheoryAtom":
            why, instead = FORBIDDEN["TheoryDefinition"]
            raise Refused("forbidden-statement", why, self.position(node), instead)
        return self._signed(node, inner)

    def _aggregate(self, node: ast.AST, sign: int, at: Position) -> Aggregate:
        function = _AGGREGATES.get(int(node.function))
        if function is None:
            raise Refused(
                "forbidden-operator",
                "`#sum+` drops negative terms in silence",
                at,
                "use `#sum` with a condition",
            )
        if sign and node.left_guard is not None and node.right_guard is not None:
            raise Refused(
                "forbidden-term",
                "`not` before an aggregate that is compared twice",
                at,
                "write the opposite of one comparison at a time",
            )
        guards = []
        if node.left_guard is not None:
            guards.append(
                (
                    FLIPPED[_COMPARE[int(node.left_guard.comparison)]],
                    self._expr(node.left_guard.term),
                )
            )
        if node.right_guard is not None:
            guards.append(
                (_COMPARE[int(node.right_guard.comparison)], self._expr(node.right_guard.term))
            )
        elements = []
        if not node.elements:
            raise Refused(
                "forbidden-term", "an aggregate of nothing", at, "write `{ Terms : conditions }`"
            )
        for element in node.elements:
            if not element.terms:
                raise Refused("forbidden-term", "an element of an aggregate has no term", at)
            elements.append(
                Element(
                    tuple(self._expr(t) for t in element.terms),
                    tuple(self._plain(c) for c in element.condition),
                    self.position(element.terms[0]),
                )
            )
        return Aggregate(function, tuple(elements), tuple(guards), at, sign)

    def rule(self, node: ast.AST, label: Label | None) -> Rule:
        """One rule. Raises Refused."""
        place = node.location
        at = self._place(place.begin)
        head = node.head
        if head.ast_type.name == "Literal" and head.atom.ast_type.name == "BooleanConstant":
            raise Refused(
                "integrity-constraint",
                "an integrity constraint ends in `unsatisfiable`, which explains nothing",
                at,
                "derive a refusal with its reason instead",
            )
        if head.ast_type.name != "Literal" or head.atom.ast_type.name != "SymbolicAtom":
            raise Refused(
                "forbidden-head",
                f"the head `{self.source(head)}` chooses, and a law has one answer set",
                at,
                "derive each alternative by a rule of its own",
            )
        if int(head.sign):
            raise Refused("forbidden-head", "a head may not be negated", at)
        atom = self._atom(head.atom, 0)
        for variable in variables(atom):
            if variable.anonymous:
                raise Refused(
                    "unsafe-variable", "`_` in a head is bound by nothing", variable.position
                )
        body = tuple(self._literal(b) for b in node.body)
        lines = place.end.line - place.begin.line
        return Rule(atom, body, label, self._text(place), at, lines)
