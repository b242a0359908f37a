"""Texts as YAML scalars: in quotes where some reader of YAML would take them for something else."""

from __future__ import annotations

import re

import yaml

from ullage.yamlnodes import ABSENT

_RESOLVERS = yaml.resolver.Resolver.yaml_implicit_resolvers
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+")
_AS_IT_IS = re.compile(r"true|false|-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")
_OPENING = re.compile(r"[,\[\]{}#&*!|>'\"%@`]|[-?:](?:\s|\Z)")
_INSIDE = re.compile(r":(?:\s|\Z)|\s#")
_IN_FLOW = re.compile(r"[,\[\]{}]|\A[?:]")


def scalar_text(text: str, *, flow: bool = False) -> str:
    """A text as a YAML scalar, in quotes where it would else be read as another, or as none.

    ``flow`` is of a scalar between brackets.
    """
    if _is_plain(text, flow) and (_AS_IT_IS.fullmatch(text) or not _is_typed(text)):
        return text
    return (
        '"' + "".join(c if c.isprintable() and c not in '"\\' else escaped(c) for c in text) + '"'
    )


def needs_quotes(text: str, *, flow: bool) -> bool:
    """Whether a text without quotes would be another to some reader of YAML, or no text to it."""
    return not _is_plain(text, flow) or bool(_AS_IT_IS.fullmatch(text)) or _is_typed(text)


def escaped(character: str) -> str:
    """A character as it stands in double quotes where it cannot stand for itself."""
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def _is_plain(text: str, flow: bool) -> bool:
    """Whether a text can stand without quotes, whatever it is then taken for."""
    return not (
        text in ABSENT
        or not text.isprintable()
        or text != text.strip(" ")
        or _OPENING.match(text)
        or _INSIDE.search(text)
        or (flow and _IN_FLOW.search(text))
    )


def _is_typed(text: str) -> bool:
    """Whether YAML, as PyYAML or its version 1.2 has it, reads plain text as no text."""
    resolvers = (*_RESOLVERS.get(text[0], ()), *_RESOLVERS.get(None, ()))
    return bool(_NUMBER.fullmatch(text)) or any(r.match(text) for _, r in resolvers)
