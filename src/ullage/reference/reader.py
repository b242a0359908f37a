"""Rule files read a second time, without clingo and without any code of the first reader.

An auditor need not trust clingo's parser, nor what ``rules/reader.py`` makes of its tree: both
readers give the same rules, at the same places. This one knows what a law may hold and nothing
else, so whatever is left of clingo's language is unreadable. The grammar is clingo's
(``libgringo/src/input/nongroundgrammar.yy``), and so are some places that look odd.
"""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ullage.findings import Position
from ullage.rules.declared import Docstring
from ullage.rules.terms import (
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
)

_T = TypeVar("_T")

_TOKEN = re.compile(
    r"""
    (?P<space>    [ \t\r\n]+ )
  | (?P<block>    %\* )
  | (?P<comment>  (?: % | \#! ) [^\n]* )
  | (?P<string>   " [^"\\\n]* (?: \\["\\n] [^"\\\n]* )* " )
  | (?P<number>   0x[0-9A-Fa-f]+ | 0o[0-7]+ | 0b[01]+ | 0 | [1-9][0-9]* )
  | (?P<name>     [_']* [a-z] [A-Za-z0-9_']* )
  | (?P<variable> [_']* [A-Z] [A-Za-z0-9_']* | _ (?! [_'] ) )
  | (?P<sign>     \# [A-Za-z0-9_]+ | :- | \.\. | <= | >= | == | != | <> | [-+*/\\|@(){},;:.<>=] )
    """,
    re.X,
)
_IN_BLOCK = re.compile(r"%\*|\*%|%[^\n]*")
_LABEL = re.compile(r'%!trace_rule\s*\{\s*"((?:[^"\\]|\\.)*)"((?:\s*,\s*\w+)*)\s*\}\s*\.')
_NO_TEXT = re.compile("[\0\ud800-\udfff]")

_FUNCTIONS = ("#count", "#sum", "#min", "#max")
_CALLS = {"floor": 1, "ceil": 1, "floor_div": 2, "ceil_div": 2}

_PRECEDENCE = {"..": 1, "+": 2, "-": 2, "*": 3, "/": 3, "\\": 3}
"""How tightly an operator binds; all of them group to the left."""

_TIGHTEST = 4
"""The sign of a term binds more tightly than every operator."""

_SAME = {"==": "=", "<>": "!="}
"""Comparisons that have a second spelling."""

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""Each comparison with its sides exchanged."""

_PARTS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((Fun, Tup, Op, Pool, Atom), ("args",)),
    Span: ("low", "high"),
    Comparison: ("rest", "first"),
    Conditional: ("literal", "conditions"),
    Element: ("terms", "conditions"),
    Aggregate: ("guards", "elements"),
}
"""The parts of a node, in the order in which the first reader numbers each ``_`` in them."""

_MAX_DEPTH = 100
_MAX_SPAN = 1_000_000


class Unreadable(Exception):
    """Text that is no rule of a law: what is wrong, in one line, and where."""

    def __init__(self, message: str, position: Position) -> None:
        self.message = message
        self.position = position
        super().__init__(f"{position}: {message}")


@dataclass(frozen=True, slots=True)
class RuleText:
    """One file of rules as read: its rules and its docstrings, in order."""

    rules: tuple[Rule, ...]
    docstrings: tuple[Docstring, ...]


def read_rules(name: str, text: str) -> RuleText:
    """The rules of a text, as if it stood in a file of that name. Raises Unreadable."""
    reader = _Reader(name, text)
    reader.split()
    rules = []
    while reader.next.kind != "end":
        rules.append(reader.rule())
    return RuleText(tuple(rules), tuple(reader.docstrings))


class _Token(NamedTuple):
    """A word of the text; of punctuation and keywords, ``kind`` is the text itself."""

    kind: str
    text: str
    start: int
    end: int


class _Reader:
    """Reads one text; ``next`` is the token that is read next."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.docstrings: list[Docstring] = []
        self.labels: deque[tuple[int, Label]] = deque()
        self.tokens: list[_Token] = []
        self.index = 0
        self.depth = 0
        self.anonymous = 0

    def place(self, offset: int) -> Position:
        """The position of a character, by its offset in the text."""
        line = bisect_right(self.lines, offset)
        return Position(self.name, line, offset - self.lines[line - 1] + 1)

    # Words and comments.

    def split(self) -> None:
        """Take the text apart. Comments are no tokens, for they may stand between any two."""
        if bad := _NO_TEXT.search(self.text):
            raise Unreadable("a character that is no text", self.place(bad.start()))
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise Unreadable("an unexpected character", self.place(at))
            start, at, kind, text = at, match.end(), match.lastgroup or "", match.group()
            if kind == "block":
                at = self.block_end(start)
                if self.text.startswith("!", match.end()):
                    inside = self.text[match.end() + 1 : at - 2]
                    self.docstrings.append(Docstring(inside, self.place(start)))
            elif kind == "comment":
                if text.startswith("%!"):
                    self.labels.append((start, self.label(text, self.place(start))))
            elif kind != "space":
                if kind == "sign" or text == "not":
                    kind = _SAME.get(text, text)
                self.tokens.append(_Token(kind, text, start, at))
        self.tokens.append(_Token("end", "the end of the text", at, at))

    def block_end(self, start: int) -> int:
        """Where a block comment ends: they nest, and a ``%`` inside hides the rest of its line."""
        depth = 0
        for match in _IN_BLOCK.finditer(self.text, start):
            if match.group() == "%*":
                depth += 1
            elif match.group() == "*%":
                depth -= 1
            if depth == 0:
                return match.end()
        raise Unreadable("a comment without end", self.place(start))

    def label(self, comment: str, at: Position) -> Label:
        """The label in a comment: one ``%`` of its words for each argument."""
        match = _LABEL.fullmatch(comment.strip())
        if match is None:
            raise Unreadable("the label cannot be read", at)
        words = re.sub(r'\\(["\\])', r"\1", match.group(1))
        args = tuple(re.findall(r"\w+", match.group(2)))
        if words.count("%") != len(args):
            raise Unreadable("the label has not one `%` for each argument", at)
        return Label(words, args, at)

    # The parser's steps.

    @property
    def next(self) -> _Token:
        return self.tokens[self.index]

    def take(self, *kinds: str) -> _Token | None:
        """The next token, which is then read, where it is one of these kinds."""
        token = self.next
        if token.kind not in kinds:
            return None
        self.index += 1
        return token

    def need(self, *kinds: str) -> _Token:
        """The next token, which is then read; it must be one of these kinds."""
        token = self.take(*kinds)
        if token is None:
            raise Unreadable(f"an unexpected `{self.next.text:.40}`", self.place(self.next.start))
        return token

    def listed(self, read: Callable[[], _T]) -> tuple[_T, ...]:
        """One or more, with commas between them."""
        found = [read()]
        while self.take(","):
            found.append(read())
        return tuple(found)

    def alternatives(self, read: Callable[[], _T], closing: str) -> tuple[_T, ...]:
        """One or more, with semicolons between them, and the bracket that closes them."""
        found = [read()]
        while self.need(";", closing).kind == ";":
            found.append(read())
        return tuple(found)

    # Rules and literals.

    def rule(self) -> Rule:
        """``head.`` or ``head :- body.`` with the label that stands last before its end."""
        first = self.next
        head = self.atom(self.term(), first, 0)
        body: list[Literal] = []
        end = self.need(".", ":-")
        if end.kind == ":-":
            end = self.take(".") or end
        while end.kind != ".":
            body.append(self.body_literal())
            end = self.need(",", ";", ".")
        label = None
        while self.labels and self.labels[0][0] < end.start:
            label = self.labels.popleft()[1]
        before = self.anonymous
        head = self.settled(head)
        if self.anonymous > before:
            raise Unreadable("`_` in a head is bound by nothing", head.position)
        source = self.text[first.start : end.end]
        text, lines = " ".join(source.split()), source.count("\n")
        return Rule(head, self.settled(tuple(body)), label, text, head.position, lines)

    def body_literal(self) -> Literal:
        """A literal, or ``literal : conditions``."""
        at = self.place(self.next.start)
        literal = self.literal()
        if isinstance(literal, Aggregate) or self.next.kind != ":":
            return literal
        return Conditional(literal, self.conditions(), at)

    def conditions(self) -> tuple[Atom | Comparison | Truth, ...]:
        """``: literal, literal``; none where there is no colon, or nothing behind it."""
        if not self.take(":") or self.next.kind in (";", ".", "}"):
            return ()
        return self.listed(self.condition)

    def condition(self) -> Atom | Comparison | Truth:
        at = self.place(self.next.start)
        literal = self.literal()
        if isinstance(literal, Aggregate):
            raise Unreadable("an aggregate inside a set", at)
        return literal

    def literal(self) -> Atom | Comparison | Truth | Aggregate:
        """An atom, a chain of comparisons, a truth value or an aggregate, with its ``not``."""
        at = self.place(self.next.start)
        sign = 0
        while sign < 2 and self.take("not"):
            sign += 1
        if truth := self.take("#true", "#false"):
            return Truth((truth.kind == "#true") == (sign != 1), at)
        first = self.next
        if first.kind in _FUNCTIONS:
            return self.aggregate(first, sign, ())
        term = self.term()
        if self.next.kind in _FUNCTIONS:
            return self.aggregate(first, sign, ((">=", term),))
        rest: list[tuple[str, Expr]] = []
        while compared := self.take(*_MIRRORED):
            if self.next.kind in _FUNCTIONS and not rest:
                return self.aggregate(first, sign, ((_MIRRORED[compared.kind], term),))
            rest.append((compared.kind, self.term()))
        if not rest:
            return self.atom(term, first, sign)
        if sign and len(rest) > 1:
            raise Unreadable("`not` before a chain of comparisons", at)
        comparison = Comparison(term, tuple(rest), at, sign)
        if chosen := comparison.chosen_twice():
            raise Unreadable("alternatives inside a chain of comparisons", chosen.position)
        return comparison

    def atom(self, term: Expr, first: _Token, sign: int) -> Atom:
        """The atom that a term is; ``first`` is the term's first token."""
        # A term that begins with a name, and is a form still, is that form and nothing more.
        if first.kind != "name" or not isinstance(term, Fun) or "'" in term.name:
            raise Unreadable("this is no atom", self.place(first.start))
        return Atom(term.name, term.args, term.position, sign)

    def aggregate(
        self, first: _Token, sign: int, guards: tuple[tuple[str, Expr], ...]
    ) -> Aggregate:
        """``#function { … }`` and what it is compared with on its right."""
        at = self.place(first.start)
        function = self.need(*_FUNCTIONS).kind.removeprefix("#")
        self.need("{")
        elements = self.alternatives(self.element, "}")
        if compared := self.take(*_MIRRORED):
            guards += ((compared.kind, self.term()),)
        elif self.next.kind not in (",", ";", "."):
            guards += (("<=", self.term()),)
        if sign and len(guards) > 1:
            raise Unreadable("`not` before an aggregate that is compared twice", at)
        return Aggregate(function, elements, guards, at, sign)

    def element(self) -> Element:
        """``Terms : conditions`` of an aggregate."""
        terms = self.listed(self.term)
        return Element(terms, self.conditions(), terms[0].position)

    # Terms.

    def term(self, floor: int = 0) -> Expr:
        """A term, as far as its operators bind more tightly than ``floor``."""
        at = self.place(self.next.start)
        self.bounded(self.depth, at)
        self.depth += 1
        left = self.operand()
        while (binds := _PRECEDENCE.get(self.next.kind, 0)) > floor:
            operator = self.need(*_PRECEDENCE).kind
            left = self.operation(operator, (left, self.term(binds)), at)
        self.depth -= 1
        return left

    def bounded(self, depth: int, at: Position) -> None:
        if depth > _MAX_DEPTH:
            raise Unreadable(f"terms are nested more than {_MAX_DEPTH} deep", at)

    def operation(self, name: str, args: tuple[Expr, ...], at: Position) -> Expr:
        """Arithmetic on terms that have values."""
        for arg in args:
            if isinstance(arg, Var) and arg.name == "_":
                raise Unreadable("`_` in arithmetic is bound by nothing", arg.position)
        if name != "..":
            return Op(name, args, at)
        low, high = args
        if isinstance(low, Int) and isinstance(high, Int) and high.value - low.value > _MAX_SPAN:
            raise Unreadable(f"the interval holds more than {_MAX_SPAN} counts", at)
        return Span(low, high, at)

    def operand(self) -> Expr:
        """A term without an operator between its parts, but for those in brackets."""
        token = self.need("name", "variable", "number", "string", "(", "|", "-", "@")
        text, at = token.text, self.place(token.start)
        match token.kind:
            case "name":
                return self.one_or_pool([Fun(text, args, at) for args in self.applied()], at)
            case "variable":
                if "'" in text:
                    raise Unreadable("a variable has an apostrophe", at)
                return Var(text, at)
            case "number":
                # Decimals have no leading zeros, and of many digits Python makes no integer.
                if (text.isdigit() and len(text) > 10) or int(text, 0) >= 2**31:
                    raise Unreadable("the integer does not fit 32 bits", at)
                return Int(int(text, 0), at)
            case "string":
                return Str(re.sub(r"\\(.)", _unescaped, text[1:-1]), at)
            case "(":
                return self.one_or_pool(self.alternatives(self.bracketed, ")"), at)
            case "|":
                arg = self.one_or_pool(self.alternatives(self.term, "|"), at)
                return self.operation("abs", (arg,), at)
            case "-":
                arg = self.term(_TIGHTEST)
                if isinstance(arg, Int):
                    return Int(-arg.value, at)
                return self.operation("-", (arg,), at)
        name = self.need("name").text
        return self.one_or_pool([self.call(name, args, at) for args in self.applied()], at)

    def call(self, name: str, args: tuple[Expr, ...], at: Position) -> Expr:
        """``@name(args)``."""
        if _CALLS.get(name) != len(args):
            raise Unreadable(f"`@{name}` of {len(args)} arguments is no function", at)
        return self.operation(name, args, at)

    def one_or_pool(self, terms: Sequence[Expr], at: Position) -> Expr:
        return terms[0] if len(terms) == 1 else Pool(tuple(terms), at)

    def applied(self) -> tuple[tuple[Expr, ...], ...]:
        """What a name is applied to: ``(a, b; c)`` are two lists, and no brackets an empty one."""
        return self.alternatives(self.arguments, ")") if self.take("(") else ((),)

    def arguments(self) -> tuple[Expr, ...]:
        return () if self.next.kind in (";", ")") else self.listed(self.term)

    def bracketed(self) -> Expr:
        """What stands in brackets: a term alone is a tuple only with a comma behind it."""
        if self.next.kind in (";", ")"):
            # clingo's empty tuple stands just behind what comes before it.
            return Tup((), self.place(self.tokens[self.index - 1].end))
        at = self.place(self.next.start)
        if self.take(","):
            return Tup((), at)
        args = [self.term()]
        while self.take(","):
            if self.next.kind in (";", ")"):
                return Tup(tuple(args), at)
            args.append(self.term())
        return args[0] if len(args) == 1 else Tup(tuple(args), at)

    # What is known only of a whole rule.

    def settled(self, item: Any, depth: int = 0) -> Any:
        """An item with its anonymous variables numbered, if it is nowhere nested too deeply."""
        if isinstance(item, tuple):
            return tuple(self.settled(part, depth) for part in item)
        if isinstance(item, Expr):
            depth += 1
            self.bounded(depth, item.position)
        if isinstance(item, Var) and item.name == "_":
            self.anonymous += 1
            return Var(f"_'{self.anonymous}", item.position)
        parts = _PARTS.get(type(item), ())
        new = {name: self.settled(getattr(item, name), depth) for name in parts}
        return dataclasses.replace(item, **new) if new else item


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match.group(1) == "n" else match.group(1)
