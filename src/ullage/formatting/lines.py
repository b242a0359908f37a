"""What the canonical forms of all files share: their width, and blank lines."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 100
"""Widest line, but for texts and comments that are longer in themselves."""

BLANK = ""
"""A blank line among comments."""


def collapsed(lines: Sequence[str]) -> list[str]:
    """Lines with at most one blank line in a row."""
    found: list[str] = []
    for line in lines:
        if line != BLANK or not found or found[-1] != BLANK:
            found.append(line)
    return found


def trimmed(lines: Sequence[str]) -> list[str]:
    """The same without blank lines above the first."""
    found = collapsed(lines)
    return found[1:] if found and found[0] == BLANK else found


def ended(lines: Sequence[str]) -> list[str]:
    """Lines without blank lines below the last."""
    found = list(lines)
    while found and found[-1] == BLANK:
        found.pop()
    return found
