"""The formats that are made of items, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ullage.items import Report, Run
from ullage.render.github import github
from ullage.render.junit import junit
from ullage.render.sarif import sarif
from ullage.render.tap import tap

REPORTS: Mapping[str, Callable[[Report, Run], str]] = {
    "sarif": sarif,
    "junit": junit,
    "github": github,
    "tap": tap,
}
"""The formats by the name that ``--format`` takes; ``REPORT_FORMATS`` has the names alone."""
