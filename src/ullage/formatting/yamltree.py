"""YAML text as a tree that keeps all of it: how scalars are written, comments, and blank lines.

PyYAML's nodes know no comments and no aliases, and a library for round trips, ruamel.yaml, hangs a
comment on what stands before it: where the columns of a row change places, the comment above one
goes with another. So the tree is made of PyYAML's tokens, and of the text between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from ullage.findings import Finding, Position, Severity
from ullage.formatting.lines import BLANK
from ullage.textfiles import place_at

BLOCK_STYLES = ("|", ">")
"""The signs of texts that have lines of their own."""

_SCANNER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FLOW_STARTS = (yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken)
_INLINE = (yaml.ScalarToken, yaml.AliasToken, *_FLOW_STARTS)
_ENDS = (yaml.StreamEndToken, yaml.DocumentEndToken)

# Line breaks of YAML 1.1 that editors do not take for any.
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar or an alias: ``text`` is how it is written, without its anchor.

    ``style`` is "" of plain text, the quote, ``|`` or ``>``, and ``*`` of an alias. The lines of a
    block scalar are without their indentation, and those of other scalars with it.
    """

    text: str = ""
    value: str = ""
    style: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a mapping, or an element of a list, which has no key.

    ``above`` are the comments and blank lines above it, ``beside`` is the comment at the end of its
    line, and ``below`` are those indented under a key without a value.
    """

    key: Leaf | None
    value: Leaf | Group
    above: tuple[str, ...] = ()
    beside: str = ""
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """A mapping or a list, in brackets with ``flow``. ``below`` is what stands behind its last
    entry.
    """

    mapping: bool
    flow: bool
    entries: tuple[Entry, ...]
    below: tuple[str, ...] = ()
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A file: what stands above its root, which is None where it holds none, and what below.

    ``start`` is the ``---`` line, behind the first ``head`` lines, or "".
    """

    head: tuple[str, ...]
    start: str
    root: Group | None
    tail: tuple[str, ...]


class Unformattable(Exception):
    """What the canonical form has no place for; carries the finding, a warning."""

    def __init__(self, what: str, position: Position, help: str) -> None:
        self.finding = Finding(
            "rare-yaml",
            f"{what}, so the file is left as it is",
            (position,),
            help,
            Severity.WARNING,
        )
        super().__init__(what)


def read_tree(text: str, file: str) -> Tree:
    """The tree of a text in which ``compose_document`` finds nothing amiss. Raises Unformattable.

    Lines end with line feeds; other breaks are refused.
    """
    if odd := _ODD_BREAK.search(text):
        raise Unformattable(
            f"the line break `U+{ord(odd.group()):04X}` stands in the text",
            place_at(text, odd.start(), file),
            "end lines with a line feed",
        )
    if (mark := text.find("\ufeff")) >= 0:
        raise Unformattable(
            "a byte order mark stands inside the text",
            place_at(text, mark, file),
            "delete it: it has a meaning at the start of a file alone",
        )
    return _Parser(text, file).tree()


def comments_of(text: str) -> list[str]:
    """Every comment of a text, sorted; found apart from the tree, between the tokens."""
    found: list[str] = []
    at = 0
    for token in yaml.scan(text, Loader=_SCANNER):
        start, end = token.start_mark.index, token.end_mark.index
        if end <= start:
            continue
        found += re.findall(r"#.*", text[at:start])
        if isinstance(token, yaml.ScalarToken) and token.style in BLOCK_STYLES:
            found += re.findall(r"#.*", text[start:end].partition("\n")[0])
        at = end
    found += re.findall(r"#.*", text[at:])
    return sorted(comment.rstrip() for comment in found)


@dataclass(frozen=True, slots=True)
class _Note:
    """A comment on a line of its own, or a blank line."""

    text: str
    column: int


@dataclass(slots=True)
class _Parser:
    """Reads tokens one by one.

    ``beside`` is the comment at the end of the line of the last token, until somebody has it;
    ``waiting`` holds the lines below, until what they belong to is known.
    """

    text: str
    file: str
    tokens: list[Any] = field(default_factory=list)
    at: int = 0
    beside: str = ""
    waiting: list[_Note] = field(default_factory=list)

    def tree(self) -> Tree:
        self.tokens = list(yaml.scan(self.text, Loader=_SCANNER))
        self.at = 1
        self.gap(0)
        head: tuple[str, ...] = ()
        start = ""
        if isinstance(self.next, yaml.DocumentStartToken):
            head = self.above()
            self.take()
            start = f"---  {self.taken_beside()}".rstrip()
        root: Group | None = None
        if isinstance(self.next, yaml.AnchorToken | yaml.TagToken):
            raise self.bad("the whole file has a mark", "take the mark away")
        if isinstance(self.next, _FLOW_STARTS):
            lead = self.above()
            root = replace(self.flow(""), flow=False)
            if root.entries:
                first = replace(root.entries[0], above=lead + root.entries[0].above)
                root = replace(root, entries=(first, *root.entries[1:]))
            else:
                head += lead + root.below
                root = replace(root, below=())
        elif isinstance(self.next, yaml.BlockMappingStartToken | yaml.BlockSequenceStartToken):
            root = self.block("")
        elif not isinstance(self.next, _ENDS):
            raise self.bad("the file is one value", "write a table's name and its rows")
        if not isinstance(self.next, yaml.StreamEndToken):
            raise self.bad("the text goes on here", "keep one document a file, without `...`")
        return Tree(head, start, root, self.above())

    @property
    def next(self) -> Any:
        return self.tokens[self.at]

    def bad(self, what: str, help: str) -> Unformattable:
        return Unformattable(what, place_at(self.text, self.next.start_mark.index, self.file), help)

    def need(self, kind: type) -> None:
        if not isinstance(self.next, kind):
            raise self.bad("this form of YAML is rare", "write `name: value`")
        self.take()

    def take(self) -> Any:
        """The next token, which is then read, with the comments behind it."""
        token = self.next
        self.at += 1
        if token.end_mark.index > token.start_mark.index:
            self.gap(token.end_mark.index)
        return token

    def leaf(self, anchor: str, column: int) -> Leaf:
        """The scalar or alias that stands next, in a block of this column."""
        token = self.next
        start, end = token.start_mark.index, token.end_mark.index
        text = self.text[start:end]
        self.at += 1
        if isinstance(token, yaml.AliasToken):
            self.gap(end)
            return Leaf(text, text, "*", anchor)
        if token.style in BLOCK_STYLES:
            last = text.rpartition("\n")[2]
            if last and not last.strip(" "):
                raise self.bad("blanks end the file behind a text", "end the file with a line feed")
            text, lines = _block_scalar(text, token.value, column)
            # Blank lines behind it that say nothing are blank lines above what comes next.
            for _ in range(lines):
                end = self.text.rindex("\n", start, end)
        self.gap(end)
        return Leaf(text, token.value, "" if token.plain else token.style, anchor)

    def real(self) -> Any:
        """The token that stands next in the text, and not only between two others."""
        at, last = self.at, len(self.tokens) - 1
        while at < last and self.tokens[at].end_mark.index <= self.tokens[at].start_mark.index:
            at += 1
        return self.tokens[at]

    def gap(self, end: int) -> None:
        """Take in what lies between ``end`` and the next token."""
        real = self.real()
        at_end = isinstance(real, yaml.StreamEndToken)
        lines = self.text[end : len(self.text) if at_end else real.start_mark.index].split("\n")
        if not end or self.text[end - 1] == "\n":
            lines.insert(0, "")
        beside, *others = lines
        if beside.strip():
            self.waiting += [_Note(self.beside, 0)] if self.beside else []
            self.beside = beside.strip()
        for number, line in enumerate(others, start=1):
            if comment := line.strip():
                self.waiting.append(_Note(comment, line.index("#")))
            elif number < len(others):
                self.waiting.append(_Note(BLANK, -1))

    def taken_beside(self) -> str:
        beside, self.beside = self.beside, ""
        return beside

    def above(self) -> tuple[str, ...]:
        """All that waits, as what stands above the next thing."""
        beside = self.taken_beside()
        found = ((beside,) if beside else ()) + tuple(n.text for n in self.waiting)
        self.waiting.clear()
        return found

    def below(self, column: int) -> tuple[str, ...]:
        """What waits and belongs to the end of a block of this column.

        It is indented as far as the block, and further than what comes next.
        """
        real = self.real()
        deeper = -1 if isinstance(real, _ENDS) else real.start_mark.column
        count = 0
        for number, note in enumerate(self.waiting, start=1):
            if note.text and not (note.column >= column and note.column > deeper):
                break
            if note.text:
                count = number
        found = tuple(n.text for n in self.waiting[:count])
        del self.waiting[:count]
        return found

    def block(self, anchor: str) -> Group:
        """The mapping or list in lines of its own that begins here."""
        mapping = isinstance(self.next, yaml.BlockMappingStartToken)
        column: int = self.next.start_mark.column
        # A list that is no further indented than its key has neither start nor end.
        bounded = not isinstance(self.next, yaml.BlockEntryToken)
        if bounded:
            self.take()
        entries = []
        while isinstance(self.next, yaml.KeyToken if mapping else yaml.BlockEntryToken):
            above = self.above()
            key = self.key() if mapping else None
            self.need(yaml.ValueToken if mapping else yaml.BlockEntryToken)
            entries.append(self.entry(key, above, column))
        below = self.below(column)
        if bounded:
            self.need(yaml.BlockEndToken)
        return Group(mapping, False, tuple(entries), below, anchor)

    def key(self) -> Leaf:
        """The key that stands next, of an entry that has a value."""
        if self.next.end_mark.index > self.next.start_mark.index:
            raise self.bad("a key begins with `?`", "write `name: value`")
        self.take()
        return self.name()

    def name(self) -> Leaf:
        token = self.next
        if not isinstance(token, yaml.ScalarToken) or (
            token.start_mark.line != token.end_mark.line
        ):
            raise self.bad("a key is no plain name", "write a plain name before the colon")
        return self.leaf("", 0)

    def entry(self, key: Leaf | None, above: tuple[str, ...], column: int) -> Entry:
        """An entry of a block, whose sign, ``:`` or ``-``, is read."""
        anchor = ""
        if isinstance(self.next, yaml.AnchorToken):
            above += _comments(self.above())
            anchor = f"&{self.take().value}"
        if isinstance(self.next, yaml.AnchorToken | yaml.TagToken):
            raise self.bad("a value has two marks", "keep one anchor")
        if isinstance(self.next, _INLINE):
            # Between a sign and its value no line is left, once both are on one.
            above += _comments(self.above())
            value = self.inline(anchor, column)
            return _entry(key, value, above, self.taken_beside())
        beside = self.taken_beside()
        starts = isinstance(self.next, yaml.BlockMappingStartToken | yaml.BlockSequenceStartToken)
        if starts or (key is not None and isinstance(self.next, yaml.BlockEntryToken)):
            if beside and key is None and not anchor:
                self.waiting.insert(0, _Note(beside, column + 2))
                beside = ""
            return Entry(key, self.block(anchor), above, beside)
        below = self.below(column + 1) if key is not None else ()
        return Entry(key, Leaf(anchor=anchor), above, beside, below)

    def inline(self, anchor: str, column: int) -> Leaf | Group:
        """The scalar, alias or group in brackets that stands next; empty where none does."""
        if isinstance(self.next, yaml.AnchorToken):
            anchor = f"&{self.take().value}"
        if isinstance(self.next, yaml.TagToken):
            raise self.bad("a tag stands here", "drop the tag")
        if isinstance(self.next, _FLOW_STARTS):
            return self.flow(anchor)
        if isinstance(self.next, yaml.ScalarToken | yaml.AliasToken):
            return self.leaf(anchor, column)
        return Leaf(anchor=anchor)

    def flow(self, anchor: str) -> Group:
        """The group in brackets that begins here."""
        mapping = isinstance(self.take(), yaml.FlowMappingStartToken)
        closing = yaml.FlowMappingEndToken if mapping else yaml.FlowSequenceEndToken
        entries = []
        while not isinstance(self.next, closing):
            above = _comments(self.above())
            key = None
            if isinstance(self.next, yaml.KeyToken):
                key = self.key()
                self.need(yaml.ValueToken)
            elif mapping:
                key = self.name()
            value: Leaf | Group = Leaf()
            if key is None or isinstance(self.tokens[self.at - 1], yaml.ValueToken):
                value = self.inline("", 0)
            besides = [self.taken_beside()]
            if not isinstance(self.next, closing):
                self.need(yaml.FlowEntryToken)
                besides.append(self.taken_beside())
            *early, beside = [b for b in besides if b] or [""]
            entry = _entry(key, value, above + tuple(early), beside)
            if key is not None and not mapping:
                pair = Group(True, True, (replace(entry, above=(), beside=""),))
                entry = Entry(None, pair, entry.above, beside)
            entries.append(entry)
        below = _comments(self.above())
        self.take()
        return Group(mapping, True, tuple(entries), below, anchor)


def _entry(key: Leaf | None, value: Leaf | Group, above: tuple[str, ...], beside: str) -> Entry:
    """An entry, with comments inside of empty brackets above it."""
    if isinstance(value, Group) and value.below and not value.entries:
        return Entry(key, replace(value, below=()), above + value.below, beside)
    return Entry(key, value, above, beside)


def _block_scalar(text: str, value: str, column: int) -> tuple[str, int]:
    """A block scalar without the indentation of its lines, and how many of them are no part of it.

    ``column`` is that of the block that it stands in.
    """
    header, *lines = text.split("\n")
    sign, _, comment = header.partition("#")
    sign = sign.strip()
    digit = re.search("[1-9]", sign)
    filled = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")]
    if digit is not None:
        depth = max(column, 0) + int(digit.group())
    else:
        depth = filled[0] if filled else max(map(len, lines), default=0)
    # A last line that no line feed ends has none in the text, as a line that is ended would.
    ended = lines and not lines[-1]
    if filled and not ended and not value.endswith("\n") and "-" not in sign:
        sign = sign.replace("+", "") + "-"
    if ended and "+" in sign:
        lines.pop()
        dropped = 0
    else:
        kept = len(lines)
        while kept and len(lines[kept - 1]) <= depth and not lines[kept - 1].strip(" "):
            kept -= 1
        dropped = len(lines) - kept
        del lines[kept:]
    head = f"{sign}  #{comment}".rstrip() if comment or "#" in header else sign
    return "\n".join((head, *(line[depth:] for line in lines))), dropped


def _comments(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line != BLANK)
