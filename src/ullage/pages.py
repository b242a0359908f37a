"""The pages of ``docs/errors``, which come with the package, for formats that carry them along."""

from __future__ import annotations

import functools
import re
from pathlib import Path

_COMMENT = re.compile(r"^<!--.*-->\n\n?", re.M)
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)[^)]*\)")
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.M | re.S)


def error_pages() -> Path:
    """The folder of the pages, one a code."""
    shipped = Path(__file__).parent / "_errors"
    return shipped if shipped.is_dir() else Path(__file__).parents[2] / "docs" / "errors"


@functools.cache
def error_page(code: str) -> str:
    """The page of a code to be read by itself; "" where it has none.

    Comments are left out, and links to other pages are told as their text.
    """
    path = error_pages() / f"{code}.md"
    if not re.fullmatch(r"[a-z0-9-]+", code) or not path.is_file():
        return ""
    text = _COMMENT.sub("", path.read_text("utf-8"))
    parts, end = [], 0
    for block in _FENCE.finditer(text):
        parts += [_LINK.sub(r"\1", text[end : block.start()]), block.group()]
        end = block.end()
    return "".join([*parts, _LINK.sub(r"\1", text[end:])]).strip() + "\n"


def cause(page: str) -> str:
    """What a page says of the cause: its first paragraph, on one line; "" of an empty page."""
    paragraphs = (p for p in page.split("\n\n") if p.strip() and p[0] not in "#<")
    return " ".join(next(paragraphs, "").split())


def first_sentence(text: str) -> str:
    """A text up to its first full stop."""
    return re.split(r"(?<=[.])\s", text, maxsplit=1)[0]
