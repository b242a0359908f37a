"""GitHub's workflow commands, which a job's log turns into annotations on a change."""

from __future__ import annotations

from ullage.items import Level, Remark, Report, Run
from ullage.render.text import cut, one_line

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}

_LONGEST_TITLE = 200
_LONGEST_MESSAGE = 10_000
"""An annotation holds 64 KiB, and a character is up to four bytes."""


def github(report: Report, run: Run) -> str:
    """A command for each remark, the worst first, for GitHub shows ten of each level and step.

    What is said of the whole run is a notice before all others.
    """
    remarks = report.remarks
    if report.said:
        whole = Remark(Level.NOTE, "", f"ullage {run.verb}", "; ".join(report.said))
        remarks = [whole, *remarks]
    levels = list(Level)
    remarks.sort(key=lambda r: levels.index(r.level))
    return "".join(f"{_command(r, run)}\n" for r in remarks)


def _command(remark: Remark, run: Run) -> str:
    properties: dict[str, str] = {}
    message = remark.message
    paths = [(run.top.path(p.file), p) for p in remark.positions]
    path, place = next(((f, p) for f, p in paths if f is not None), (None, None))
    if path is not None and place is not None:
        properties = {"file": path, "line": str(place.line), "col": str(place.column)}
    for elsewhere, other in paths:
        if other is not place:
            note = f", {other.note}" if other.note else ""
            named = elsewhere or other.file
            message += f" ({named}:{other.line}:{other.column}{note})"
    if remark.help:
        message += f"; {remark.help}"
    properties["title"] = cut(one_line(remark.title), _LONGEST_TITLE)
    written = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    return f"::{_COMMANDS[remark.level]} {written}::{_data(cut(message, _LONGEST_MESSAGE))}"


def _data(text: str) -> str:
    escaped = one_line(text).replace("%", "%25")
    return escaped.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
