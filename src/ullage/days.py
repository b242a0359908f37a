"""Days, as people write them: ``2027-03-01``."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_day(text: str) -> date | None:
    """The day of a text as ``2027-03-01``; None where it is none of the calendar."""
    # Python's own reader takes other forms of ISO 8601, too, as ``20270301`` and ``2027-W09-1``.
    if _DAY.fullmatch(text) is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def today() -> date:
    """The day that it is, in UTC: the same everywhere, so that no machine judges otherwise."""
    return datetime.now(UTC).date()
