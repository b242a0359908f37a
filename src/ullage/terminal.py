"""What a stream can show: colour, and characters beyond ASCII."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO


def encodes(text: str, stream: TextIO | None) -> bool:
    """Whether the stream's encoding has every character of the text."""
    try:
        text.encode((stream and stream.encoding) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def wants_colour(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether to colour what goes to the stream: on a terminal, unless the environment says.

    ``NO_COLOR`` wins over ``FORCE_COLOR``; either counts where it is not empty.
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream is not None and stream.isatty() and environ.get("TERM") != "dumb"
