"""The canonical form of rules: other white space between their tokens, and nothing else.

A rule that fits has one line. Of a longer one the body begins on a line of its own, and keeps the
line breaks between literals that its author gave it, for they often group what belongs together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ullage.formatting.lines import BLANK, WIDTH, collapsed, ended, trimmed

_STEP = 4

_TOKEN = re.compile(
    r"""
    (?P<space>   \s+ )
  | (?P<block>   %\* )
  | (?P<comment> (?: % | \#! ) [^\n]* )
  | (?P<string>  " (?: [^"\\\n] | \\. )* " )
  | (?P<word>    \#? [A-Za-z0-9_'] [A-Za-z0-9_']* )
  | (?P<sign>    :- | :~ | \.\. | <= | >= | == | != | <> | \*\* | \S )
    """,
    re.X,
)
_IN_BLOCK = re.compile(r"%\*|\*%|%[^\n]*")

_PAIRS = {"(": ")", "{": "}", "[": "]"}
_STOPS = (",", ";", ".")
_SIGNATURES = frozenset({"#show", "#defined", "#project"})


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign of a rule: what stands above it, and the comment beside it.

    ``breaks`` says whether it is the first of its line, ``spaced`` whether a blank stands before it
    where it is not.
    """

    text: str
    word: bool
    above: tuple[str, ...]
    breaks: bool
    start: int
    end: int
    beside: str = ""
    spaced: bool = False


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a file, and what stands below the last."""

    tokens: tuple[Token, ...]
    below: tuple[str, ...]


def read_tokens(text: str) -> Tokens:
    """The tokens of a text that clingo parses, whose lines end with line feeds."""
    found: list[Token] = []
    above: list[str] = []
    at = 0
    breaks = True
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # every character is a sign at least
        start, at, kind = at, match.end(), match.lastgroup
        if kind == "space":
            lines = match.group().count("\n")
            if lines > 1:
                above.append(BLANK)
            breaks = breaks or lines > 0
        elif kind in ("block", "comment"):
            if kind == "block":
                at = _block_end(text, start)
            comment = text[start:at].rstrip() if kind == "comment" else text[start:at]
            ends = not text[at : _line_end(text, at)].strip()
            if found and not breaks and ends and "\n" not in comment and not found[-1].beside:
                found[-1] = replace(found[-1], beside=comment)
            else:
                above.append(comment)
        else:
            word = kind in ("word", "string")
            found.append(Token(match.group(), word, tuple(above), breaks, start, at))
            above = []
            breaks = False
    return Tokens(tuple(found), tuple(above))


def rules_text(text: str) -> str:
    """The canonical form of a text that clingo parses, whose lines end with line feeds."""
    read = read_tokens(text)
    lines: list[str] = []
    for statement in _statements(read.tokens):
        above = statement[0].above
        lines += collapsed(above) if lines else trimmed(above)
        tokens = [replace(statement[0], above=()), *statement[1:]]
        source = text[tokens[0].start : tokens[-1].end]
        if tokens[-1].beside:
            source += f"  {tokens[-1].beside}"
        lines += _statement(_with_spaces(_with_comments_last(tokens)), source)
    lines += collapsed(read.below) if lines else trimmed(read.below)
    return "".join(f"{line}\n" for line in ended(lines))


def comments_of(read: Tokens) -> list[str]:
    """The comments of a file, in order."""
    found = [c for t in read.tokens for c in (*t.above, t.beside)]
    return [comment for comment in (*found, *read.below) if comment]


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _block_end(text: str, start: int) -> int:
    """Where a block comment ends: they nest, and a ``%`` inside hides the rest of its line."""
    depth = 0
    for match in _IN_BLOCK.finditer(text, start):
        depth += {"%*": 1, "*%": -1}.get(match.group(), 0)
        if depth == 0:
            return match.end()
    return len(text)


def _statements(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens of each statement; weights in brackets belong to that before them."""
    found: list[list[Token]] = []
    current: list[Token] = []
    for number, token in enumerate(tokens):
        current.append(token)
        follows = tokens[number + 1].text if number + 1 < len(tokens) else ""
        weighs = current[0].text == ":~"
        if (token.text == "." and not (weighs and follows == "[")) or (
            weighs and token.text == "]" and _ended(current)
        ):
            found.append(current)
            current = []
    return [*found, current] if current else found


def _ended(tokens: Sequence[Token]) -> bool:
    return any(t.text == "." for t in tokens)


def _statement(tokens: Sequence[Token], source: str) -> list[str]:
    """The lines of a statement, without what stands above it.

    ``source`` is how its author wrote it, which stays where comments stand inside of literals.
    """
    beside = f"  {tokens[-1].beside}" if tokens[-1].beside else ""
    if not _commented(tokens):
        line = _joined(tokens)
        if len(line) <= WIDTH:
            return [line + beside]
    depth = 0
    necks = []
    for number, token in enumerate(tokens):
        depth += (token.text in _PAIRS) - (token.text in _PAIRS.values())
        if token.text in (":-", ":~") and depth == 0:
            necks.append(number)
    neck = necks[0] if necks else -1
    parts = _parts(tokens[neck + 1 :], ",;")
    if any(map(_commented, parts)) or _commented(tokens[: neck + 1]):
        # What ends a line inside of a docstring is its author's, too.
        return [line if "%*" in source else line.rstrip() for line in source.split("\n")]
    head = tokens[: neck + 1]
    if not head:
        lines = _filled(parts, 0) if len(parts) == 1 else _hung(parts)
    else:
        lines = _literal(head, 0)
        if head[-1].beside:
            lines[-1] += f"  {head[-1].beside}"
        lines += _filled(parts, _STEP)
    return lines


def _hung(parts: Sequence[Sequence[Token]]) -> list[str]:
    """A statement without ``:-`` that is not one term: its first line stands out."""
    return [line[_STEP:] if not n else line for n, line in enumerate(_filled(parts, _STEP))]


def _with_comments_last(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with a comment between a literal and the sign that ends it behind both."""
    found: list[Token] = []
    for token in tokens:
        # A label inside of a rule is the rule's own.
        moves = found and token.text in _STOPS and not found[-1].beside.startswith("%!")
        if moves and not token.beside and not any(token.above):
            token = replace(token, beside=found[-1].beside)
            found[-1] = replace(found[-1], beside="")
        found.append(token)
    return found


def _commented(tokens: Sequence[Token]) -> bool:
    """Whether comments stand between tokens."""
    return any(any(t.above) for t in tokens[1:]) or any(t.beside for t in tokens[:-1])


def _parts(tokens: Sequence[Token], separators: str) -> list[list[Token]]:
    """Tokens split behind each separator that stands in no brackets."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in _PAIRS) - (token.text in _PAIRS.values())
        found[-1].append(token)
        if depth == 0 and token.text in separators:
            found.append([])
    return [part for part in found if part]


def _filled(parts: Sequence[Sequence[Token]], indent: int) -> list[str]:
    """Parts in lines as full as the author's breaks and the width let them be."""
    lead = " " * indent
    lines: list[str] = []
    line = ""
    for part in parts:
        above = [lead + c for c in part[0].above if c != BLANK]
        text = _joined(part)
        fits = len(line) + 1 + len(text) <= WIDTH
        if line and (part[0].breaks or above or not fits):
            lines.append(line)
            line = ""
        lines += above
        if line:
            line += f" {text}"
        elif indent + len(text) <= WIDTH:
            line = lead + text
        else:
            *before, line = _literal(part, indent)
            lines += before
        if part[-1].beside:
            lines.append(f"{line}  {part[-1].beside}")
            line = ""
    return [*lines, line] if line else lines


def _literal(tokens: Sequence[Token], indent: int) -> list[str]:
    """A literal in one line, or with the inside of its last wide brackets on lines below."""
    lead = " " * indent
    text = _joined(tokens)
    opening, closing = _widest(tokens)
    if indent + len(text) <= WIDTH or closing <= opening + 1:
        return [lead + text]
    inside = tokens[opening + 1 : closing]
    lines = [lead + _joined(tokens[: opening + 1])]
    if tokens[opening].text == "{":
        for element in _parts(inside, ";"):
            lines += _element(element, indent + _STEP)
    else:
        lines += _filled([_unbroken(p) for p in _parts(inside, ",;")], indent + _STEP)
    rest = _joined(tokens[closing:])
    return [*lines, lead + rest]


def _element(tokens: Sequence[Token], indent: int) -> list[str]:
    """An element of a set: its terms, and its conditions where they do not fit beside."""
    depth = 0
    for number, token in enumerate(tokens):
        depth += (token.text in _PAIRS) - (token.text in _PAIRS.values())
        if token.text == ":" and depth == 0 and indent + len(_joined(tokens)) > WIDTH:
            terms = [_unbroken(p) for p in _parts(tokens[: number + 1], ",")]
            return [
                *_filled(terms, indent),
                *_filled(_parts(tokens[number + 1 :], ",;"), indent + _STEP),
            ]
    return _filled([_unbroken(tokens)], indent)


def _unbroken(tokens: Sequence[Token]) -> list[Token]:
    """The same tokens, as if their author had put them on one line."""
    return [replace(tokens[0], breaks=False), *tokens[1:]]


def _widest(tokens: Sequence[Token]) -> tuple[int, int]:
    """The places of the outermost pair of brackets that holds the most text; (0, 0) of none."""
    found, most = (0, 0), 0
    opened: list[int] = []
    for number, token in enumerate(tokens):
        if token.text in _PAIRS:
            opened.append(number)
        elif token.text in _PAIRS.values() and opened:
            start = opened.pop()
            width = tokens[number].end - tokens[start].start
            if not opened and width > most:
                found, most = (start, number), width
    return found


def _joined(tokens: Sequence[Token]) -> str:
    """Tokens of one statement on one line."""
    rest = (f" {t.text}" if t.spaced else t.text for t in tokens[1:])
    return tokens[0].text + "".join(rest)


def _with_spaces(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a statement, which now know whether a blank stands before them."""
    found: list[Token] = []
    last, role = "", ""
    operand = False
    # Of each bracket around the place, whether a `|` is open in it.
    bars = [False]
    for token in tokens:
        text, before = token.text, role
        role = _role(token, operand, bars[-1], tokens[0].text in _SIGNATURES)
        if role in ("bar", "end bar"):
            bars[-1] = role == "bar"
        elif role == "open":
            bars.append(False)
        elif role == "close" and len(bars) > 1:
            bars.pop()
        tight = (
            before in ("prefix", "tight", "bar", "")
            or last in ("(", "[")
            or role in ("stop", "tight", "end bar")
            or text in (")", "]")
            or (text == "(" and before == "word")
            or (text == "}" and last == "{")
        )
        found.append(replace(token, spaced=not tight))
        last, operand = text, role in ("word", "close", "end bar")
    return found


def _role(token: Token, operand: bool, in_bars: bool, signature: bool) -> str:
    """What a token is to the blanks around it; ``operand`` says whether one ends before it."""
    text = token.text
    if token.word:
        return "not" if text == "not" else "word"
    if text in _PAIRS:
        return "open"
    if text in _PAIRS.values():
        return "close"
    if text == "|":
        return "bar" if not operand else "end bar" if in_bars else "sign"
    if text in ("-", "~", "@") and not operand:
        return "prefix"
    if text in ("..", "@") or (text == "/" and signature):
        return "tight"
    return "stop" if text in _STOPS else "sign"
