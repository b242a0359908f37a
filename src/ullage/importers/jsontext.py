"""JSON text as values with places. A number keeps its text, and nothing is constructed from any.

The tree is bounded in depth and by the size of its file, so that a walk over it always ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ullage.findings import Finding, Position
from ullage.importers.checkpoint import shortened
from ullage.textfiles import decode, place_at, read_bytes, shown_path
from ullage.yamlnodes import MAX_DEPTH

MOST_BYTES = 4 * 2**20
"""Largest file that is read: configurations take a few kilobytes."""

MOST_FINDINGS = 50
"""Most findings of one file: to place one takes a walk through the text."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number by its text, which nobody rounded."""

    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the index of its first character; equal where the values are."""

    value: Value
    index: int = field(compare=False)


Value: TypeAlias = "str | bool | Number | tuple[Node, ...] | Mapping[str, Node] | None"


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """One JSON file as read; ``root`` is None where it could not be."""

    file: str
    text: str
    root: Node | None
    findings: tuple[Finding, ...]

    def place(self, node: Node, note: str = "") -> Position:
        """Where a value begins."""
        found = place_at(self.text, node.index, self.file)
        return Position(found.file, found.line, found.column, note)


def read_json(path: Path) -> JsonDocument:
    """The file at ``path``; one that cannot be read is a finding, never an exception.

    Codes: ``unreadable-file``, ``oversized-file`` and those of ``parse_json``.
    """
    file = shown_path(path)
    try:
        size = path.stat().st_size
    except (OSError, ValueError):
        size = 0
    data: bytes | Finding = b""
    if size <= MOST_BYTES:
        try:
            data = read_bytes(path)
        except ValueError:
            # A name with a null character is no file's.
            data = Finding("unreadable-file", f"`{file}` is no name of a file")
    if isinstance(data, bytes) and max(size, len(data)) > MOST_BYTES:
        data = Finding(
            "oversized-file",
            f"`{file}` takes {max(size, len(data))} bytes, and at most {MOST_BYTES} are read",
            (Position(file, 1, 1),),
            "name the configuration of a model, not its weights",
        )
    if isinstance(data, Finding):
        return JsonDocument(file, "", None, (data,))
    text = decode(data, file)
    if isinstance(text, Finding):
        return JsonDocument(file, "", None, (text,))
    return parse_json(text, file)


def parse_json(text: str, file: str) -> JsonDocument:
    """The value of a JSON text.

    Codes: ``json-syntax``; ``duplicate-mapping-key``, where the first entry stands.
    """
    parser = _Parser(text, file)
    try:
        root = parser.document()
    except _Amiss as error:
        place = place_at(text, error.index, file)
        finding = Finding("json-syntax", error.message, (place,), error.help)
        return JsonDocument(file, text, None, (*parser.findings, finding))
    return JsonDocument(file, text, root, tuple(parser.findings))


def kind_of(node: Node) -> str:
    """What a value is, in words for a message."""
    value = node.value
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if value is None:
        return "`null`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return shortened(value.text if isinstance(value, Number) else value)


class _Amiss(Exception):
    def __init__(self, message: str, index: int, help: str) -> None:
        self.message = message
        self.index = index
        self.help = help
        super().__init__(message)


_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_WORD = re.compile(r"[A-Za-z]+")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}


class _Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.index = 0
        self.findings: list[Finding] = []

    def document(self) -> Node:
        """The one value that the text holds."""
        root = self._value(0)
        self._space()
        if self.index < len(self.text):
            raise self._amiss("text stands after the end of the value", "keep one value a file")
        return root

    def _value(self, depth: int) -> Node:
        self._space()
        start = self.index
        first = self.text[start : start + 1]
        if depth > MAX_DEPTH:
            raise self._amiss(
                f"lists and mappings are nested more than {MAX_DEPTH} deep",
                "name the configuration of a model",
            )
        if first == "{":
            return Node(self._mapping(depth), start)
        if first == "[":
            return Node(self._list(depth), start)
        if first == '"':
            return Node(self._string(), start)
        number = _NUMBER.match(self.text, start)
        if number is not None:
            self.index = number.end()
            return Node(Number(number.group()), start)
        word = _WORD.match(self.text, start)
        if word is not None and word.group() in _WORDS:
            self.index = word.end()
            return Node(_WORDS[word.group()], start)
        if not first:
            raise self._amiss("the text ends where a value should stand", "compare it with a copy")
        said = shortened(word.group() if word else first)
        raise self._amiss(
            f"{said} begins no value",
            'write a number, `"text"`, `true`, `false`, `null`, `[…]` or `{…}`',
        )

    def _mapping(self, depth: int) -> Mapping[str, Node]:
        found: dict[str, Node] = {}
        places: dict[str, int] = {}
        self.index += 1
        if self._closes("}"):
            return found
        while True:
            self._space()
            start = self.index
            if self.text[start : start + 1] != '"':
                raise self._amiss("a name in quotes is missing", 'write `"name": value`')
            name = self._string()
            self._space()
            if self.text[self.index : self.index + 1] != ":":
                raise self._amiss("a colon is missing after a name", 'write `"name": value`')
            self.index += 1
            value = self._value(depth + 1)
            if name in found:
                self._twice(name, start, places[name])
            else:
                found[name] = value
                places[name] = start
            if self._ends("}"):
                return found

    def _list(self, depth: int) -> tuple[Node, ...]:
        found: list[Node] = []
        self.index += 1
        if self._closes("]"):
            return ()
        while True:
            found.append(self._value(depth + 1))
            if self._ends("]"):
                return tuple(found)

    def _closes(self, bracket: str) -> bool:
        self._space()
        closes = self.text[self.index : self.index + 1] == bracket
        self.index += closes
        return closes

    def _ends(self, bracket: str) -> bool:
        """Whether a bracket closes here; else a comma is passed over."""
        if self._closes(bracket):
            return True
        if self.text[self.index : self.index + 1] != ",":
            raise self._amiss(
                f"a comma or `{bracket}` is missing", "put a comma between two entries"
            )
        self.index += 1
        return False

    def _string(self) -> str:
        match = _STRING.match(self.text, self.index)
        if match is None:
            raise self._amiss(
                "a string is not closed, or holds what no string holds",
                'close the quote, and write `\\"`, `\\\\` and `\\n` for signs that need it',
            )
        text: str = json.loads(match.group())
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise self._amiss("a string holds half of a character", "write the character itself")
        self.index = match.end()
        return text

    def _twice(self, name: str, index: int, first: int) -> None:
        if len(self.findings) >= MOST_FINDINGS:
            return
        there = place_at(self.text, first, self.file)
        self.findings.append(
            Finding(
                "duplicate-mapping-key",
                f"the field {shortened(name)} stands twice",
                (
                    place_at(self.text, index, self.file),
                    Position(there.file, there.line, there.column, "has it first"),
                ),
                "keep one of the two",
            )
        )

    def _space(self) -> None:
        match = _SPACE.match(self.text, self.index)
        self.index = match.end() if match else self.index

    def _amiss(self, message: str, help: str) -> _Amiss:
        return _Amiss(message, self.index, help)
