"""Formats: each turns results into text, alone in its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ullage.render.base import Renderer, View
from ullage.render.concise import ConciseRenderer
from ullage.render.human import HumanRenderer
from ullage.render.json_ import JsonRenderer

FORMATS: Mapping[str, Callable[[View], Renderer]] = {
    "human": HumanRenderer,
    "json": JsonRenderer,
    "concise": ConciseRenderer,
}
"""The formats of all verbs by the name that ``--format`` takes."""

REPORT_FORMATS = ("sarif", "junit", "github", "tap")
"""The names of the formats in which some verbs report to programs (see ``reports``)."""

__all__ = ["FORMATS", "REPORT_FORMATS", "Renderer", "View"]
