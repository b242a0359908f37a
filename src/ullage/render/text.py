"""Pieces of text that more than one format writes."""

from __future__ import annotations

import json
import re

from ullage.findings import Finding

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """The text with control characters escaped.

    Names and messages carry what users wrote: a line break must not forge a line of output, nor an
    escape sequence steer the terminal of whoever reads it.
    """
    return _CONTROL.sub(lambda m: ascii(m.group())[1:-1], text)


def field(text: str) -> str:
    """The text as one field of a line: quoted as in JSON where spaces or quotes would split it."""
    if text and not re.search(r"""[\s"']""", text):
        return one_line(text)
    return one_line(json.dumps(text, ensure_ascii=False))


def cut(text: str, most: int) -> str:
    """The text, or so many characters of it and how many are left out."""
    left = len(text) - most
    return f"{text[:most]}… ({left} characters more)" if left > 0 else text


def label(finding: Finding) -> str:
    """How bad it is, and its code: ``error[unknown-column]``."""
    return f"{finding.severity.value}[{finding.code}]"
