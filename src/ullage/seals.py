"""The first line of a file that an importer wrote: a digest by which an edit is noticed."""

from __future__ import annotations

import hashlib
import re

_SEAL = re.compile(rb"# Written by `ullage import`; sha256 of the lines below: ([0-9a-f]{64})\n")


def sealed(text: str) -> str:
    """The text below its seal."""
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    return f"# Written by `ullage import`; sha256 of the lines below: {digest}\n{text}"


def unedited(data: bytes) -> bool:
    """Whether a file is as an importer wrote it."""
    seal = _SEAL.match(data)
    return seal is not None and (
        hashlib.sha256(data[seal.end() :]).hexdigest().encode() == seal.group(1)
    )
