"""JSON read a member at a time, with bounds, so that a hostile text never becomes a large tree.

Headers and indexes have a hundred thousand members and more; each is checked and let go before the
next is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import NoReturn

from ullage.importers.checkpoint import shortened

MAX_DEPTH = 50
"""Deepest nesting of arrays and objects in one value."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+)"')
_PLAIN_KEY = re.compile(r'[ \t\n\r]*+"([^"\\\x00-\x1f]*+)"[ \t\n\r]*+:[ \t\n\r]*+')
_FLAT_OBJECT = re.compile(r"\{(?:[^{}\[\]]++|\[[^{}\[\]]*+\])*+\}")
_TOKEN = re.compile(r'[ \t\n\r]*+("(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]++)', re.DOTALL)
_OPEN, _CLOSE = "{[", "}]"


class JsonFault(Exception):
    """What is amiss with a JSON text, with a code, and the index of the character where it is."""

    def __init__(self, code: str, message: str, index: int) -> None:
        self.code = code
        self.message = message
        self.index = index
        super().__init__(message)


class Cursor:
    """A place in a JSON text that moves on as values are read. Its methods raise JsonFault.

    ``syntax`` is the code of whatever is not JSON.
    """

    __slots__ = ("at", "syntax", "text")

    def __init__(self, text: str, syntax: str) -> None:
        self.text = text
        self.at = 0
        self.syntax = syntax

    def keys(self, what: str) -> Iterator[str]:
        """The keys of an object that begins here; the caller reads each value before the next.

        ``what`` is the object, as words for a message.
        """
        if self._next() != "{":
            self._fault(f"{what} is no JSON object")
        self.at += 1
        seen: set[str] = set()
        if self._next() == "}":
            self.at += 1
            return
        while True:
            # Nearly all keys are plain; a match for all of one is several times as fast.
            plain = _PLAIN_KEY.match(self.text, self.at)
            if plain is not None:
                start, key = plain.start(1) - 1, plain.group(1)
                self.at = plain.end()
            else:
                self._next()
                start = self.at
                key = self.string(f"a key of {what}")
                self._expect(":")
                self._next()
            if key in seen:
                said = f"{what} has the key {shortened(key)} twice"
                raise JsonFault("duplicate-mapping-key", said, start)
            seen.add(key)
            yield key
            if self._next() == "}":
                self.at += 1
                return
            self._expect(",")

    def string(self, what: str) -> str:
        """A string that begins here."""
        match = _STRING.match(self.text, self.at)
        if match is None:
            self._fault(f"{what} is no JSON string")
        self.at = match.end()
        text: str = json.loads(match.group()) if "\\" in match.group(1) else match.group(1)
        return text

    def value(self, what: str, limit: int) -> object:
        """Any value that begins here, of at most ``limit`` characters."""
        start = self.at
        flat = _FLAT_OBJECT.match(self.text, start, start + limit)
        end = flat.end() if flat else self._end(what, limit)
        try:
            value, length = _DECODER.raw_decode(self.text[start:end])
        except JSONDecodeError as error:
            self.at = start + error.pos
            self._fault(f"{what} is not JSON")
        except _DuplicateKey as error:
            said = f"{what} has the key {shortened(error.key)} twice"
            raise JsonFault("duplicate-mapping-key", said, start) from error
        except ValueError:
            # A constant that is no JSON, or a number of thousands of digits.
            self._fault(f"{what} holds a number that is not JSON")
        self.at = start + length
        return value

    def end(self, what: str) -> None:
        """Nothing but blanks follows."""
        if self._next():
            self._fault(f"something follows {what}")

    def _end(self, what: str, limit: int) -> int:
        """Where the value that begins here ends, without making anything of it."""
        depth, at, last = 0, self.at, min(len(self.text), self.at + limit)
        while True:
            match = _TOKEN.match(self.text, at, last)
            if match is None:
                if last - self.at == limit:
                    self._fault(f"{what} is longer than {limit} characters")
                self._fault(f"{what} is not JSON, or ends too early")
            token, at = match.group(1), match.end()
            if token in _OPEN:
                depth += 1
                if depth > MAX_DEPTH:
                    self._fault(f"{what} is nested more than {MAX_DEPTH} deep")
            elif token in _CLOSE:
                depth -= 1
            if depth <= 0:
                return at

    def _next(self) -> str:
        """The character that follows the blanks, or "" at the end."""
        found = self.text[self.at : self.at + 1]
        if found and found not in " \t\n\r":
            return found
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def _expect(self, character: str) -> None:
        if self._next() != character:
            self._fault(f"`{character}` is missing")
        self.at += 1

    def _fault(self, message: str) -> NoReturn:
        raise JsonFault(self.syntax, message, self.at)


class _DuplicateKey(Exception):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKey(key)
            seen.add(key)
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
