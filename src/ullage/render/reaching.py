"""What would reach a goal, in each format."""

from __future__ import annotations

from collections.abc import Sequence

from ullage.explain.goals import Changed, Reach, Tried
from ullage.render.json_ import Json, document, value_json
from ullage.render.text import one_line
from ullage.results import Quantity, Value, exact_text_of, value_text


def reaching(found: Reach, format: str) -> str:
    """The ways to a goal."""
    if format == "json":
        return document(reach_json(found), "ways")
    if format == "concise":
        return "".join(f"{'; '.join(map(_change, way))}\n" for way in found.ways)
    lines = [f"goal: {one_line(found.goal)}", ""]
    if found.ways:
        number = len(found.ways[0])
        lines.append(f"reached by {number} change{'s' * (number > 1)}:")
        for way in found.ways:
            first, *more = map(_change, way)
            lines += [f"  {first}", *(f"    with {m}" for m in more)]
    elif found.settled:
        lines.append("not reached by any change of these cells:")
    else:
        lines.append("not reached by what was tried, which is not all:")
    if not found.ways:
        lines += [f"  {_tried(t)}" for t in found.tried]
        lines += [f"  not tried together: {one_line(', '.join(cells))}" for cells in found.apart]
    if found.readings:
        lines += ["", "unread today, so to be read and not to be set at will:"]
        lines += [f"  {one_line(cell)}" for cell in found.readings]
    if found.open:
        lines += ["", "left open, and to be read first:"]
        for still in found.open:
            given = "; ".join(map(_change, still.changes)) or "as things are"
            lines.append(f"  {given}: {one_line(', '.join(still.obligations))}")
    return "".join(f"{line}\n" for line in lines)


def _change(changed: Changed) -> str:
    old = "unread" if changed.old is None else _value(changed.old)
    return one_line(f"{changed.cell}: {old} -> {_value(changed.new)}")


def _value(value: Value) -> str:
    """A value as people read it; a rounded figure has the exact one beside it."""
    if isinstance(value, Quantity) and not value.displayed_whole:
        return f"{value.display} ({exact_text_of(value)})"
    return value_text(value)


def _tried(tried: Tried) -> str:
    cases = f"{tried.cases} case{'s' * (tried.cases != 1)}"
    return one_line(f"{tried.cell}: {tried.values} ({cases})")


def reach_json(found: Reach) -> dict[str, Json]:
    """The schema ``ullage/goal/1``."""
    return {
        "schema": "ullage/goal/1",
        "goal": found.goal,
        "settled": found.settled,
        "tried": [{"cell": t.cell, "values": t.values, "cases": t.cases} for t in found.tried],
        "readings": list(found.readings),
        "apart": [list(cells) for cells in found.apart],
        "open": [
            {"changes": _changes(o.changes), "obligations": list(o.obligations)} for o in found.open
        ],
        "ways": [_changes(way) for way in found.ways],
    }


def _changes(changes: Sequence[Changed]) -> list[Json]:
    return [
        {
            "cell": c.cell,
            "old": None if c.old is None else value_json(c.old),
            "new": value_json(c.new),
        }
        for c in changes
    ]
