"""Holds a JSON document to a schema, by those words of JSON Schema that records' schema has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "null": lambda v: v is None,
}
_NOTES = {"$schema", "$id", "$defs", "title", "description"}


def first_fault(document: object, schema: Schema) -> str:
    """The first way in which a document is not as a schema says, in words; "" where it is.

    Raises ValueError for a word of JSON Schema that is none of those known here.
    """
    return next(_Holder(schema).faults(document, schema, ""), "")


class _Holder:
    """Holds values to parts of one schema."""

    def __init__(self, root: Schema) -> None:
        self.root = root

    def faults(self, value: Any, schema: Schema, path: str) -> Iterator[str]:
        """What is wrong with a value; ``path`` is the way to it."""
        for word, wanted in schema.items():
            if word in _NOTES:
                continue
            check: Callable[[Any, Any, str], Iterator[str]] | None
            check = getattr(self, f"_{word.replace('$', '')}", None)
            if check is None:
                raise ValueError(word)
            if word == "additionalProperties":
                known = schema.get("properties", {})
                yield from self._others(value, wanted, known, path)
            else:
                yield from check(value, wanted, path)

    def _ref(self, value: Any, name: str, path: str) -> Iterator[str]:
        yield from self.faults(value, self.root["$defs"][name.removeprefix("#/$defs/")], path)

    def _type(self, value: Any, names: str | list[str], path: str) -> Iterator[str]:
        wanted = [names] if isinstance(names, str) else names
        if not any(_TYPES[name](value) for name in wanted):
            yield f"{_at(path)} is not of the type {' or '.join(wanted)}"

    def _const(self, value: Any, wanted: Any, path: str) -> Iterator[str]:
        if value != wanted:
            yield f"{_at(path)} is not `{wanted}`"

    def _enum(self, value: Any, wanted: list[Any], path: str) -> Iterator[str]:
        if value not in wanted:
            yield f"{_at(path)} is none of {', '.join(f'`{w}`' for w in wanted)}"

    def _pattern(self, value: Any, pattern: str, path: str) -> Iterator[str]:
        # A `$` of Python lets a line break stand after it.
        if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
            yield f"{_at(path)} is not written as it should be"

    def _minimum(self, value: Any, least: int, path: str) -> Iterator[str]:
        if isinstance(value, int) and value < least:
            yield f"{_at(path)} is below {least}"

    def _minItems(self, value: Any, least: int, path: str) -> Iterator[str]:
        if isinstance(value, list) and len(value) < least:
            yield f"{_at(path)} is empty"

    def _minProperties(self, value: Any, least: int, path: str) -> Iterator[str]:
        if isinstance(value, dict) and len(value) < least:
            yield f"{_at(path)} is empty"

    def _required(self, value: Any, names: list[str], path: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name in names:
                if name not in value:
                    yield f"{_at(path)} has no `{name}`"

    def _properties(self, value: Any, known: Mapping[str, Schema], path: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name, schema in known.items():
                if name in value:
                    yield from self.faults(value[name], schema, f"{path}.{name}")

    def _additionalProperties(self, *_: Any) -> Iterator[str]:
        yield from ()

    def _others(
        self, value: Any, schema: Schema | bool, known: Mapping[str, Schema], path: str
    ) -> Iterator[str]:
        for name, inner in value.items() if isinstance(value, dict) else ():
            if name in known:
                continue
            if isinstance(schema, Mapping):
                yield from self.faults(inner, schema, f"{path}.{name}")
            elif not schema:
                yield f"{_at(path)} has a `{name}`, which is no part of it"

    def _propertyNames(self, value: Any, schema: Schema, path: str) -> Iterator[str]:
        for name in value if isinstance(value, dict) else ():
            yield from self.faults(name, schema, f"{path}.{name}")

    def _items(self, value: Any, schema: Schema, path: str) -> Iterator[str]:
        for place, inner in enumerate(value if isinstance(value, list) else ()):
            yield from self.faults(inner, schema, f"{path}[{place}]")

    def _anyOf(self, value: Any, schemas: list[Schema], path: str) -> Iterator[str]:
        if all(next(self.faults(value, s, path), "") for s in schemas):
            yield f"{_at(path)} is nothing that may stand there"


def _at(path: str) -> str:
    return f"`{path.removeprefix('.')}`" if path else "the record"
