"""The ``markdown`` format of comparisons: what a reviewer reads below a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ullage.diff.result import Cause, Diff, Reasoned, Verdict, step
from ullage.findings import counted
from ullage.moves import Moved, MovedPlan
from ullage.render.diffs import VERDICTS, identity, tally
from ullage.render.human import said
from ullage.render.moves import stays
from ullage.render.outlines import escaped
from ullage.render.text import one_line
from ullage.render.waivers import waiver_lines
from ullage.results import Standing, plainly

_MOST_ROWS = 100
"""Moves beyond so many are counted, for a comment has a greatest length."""

_WAYS = {1: "looser", 0: "otherwise", -1: "stricter"}


def diff_markdown(diff: Diff) -> str:
    """The verdict as a heading, tables of what moves, and lists of the rest, folded."""
    lines = [f"### ullage: {VERDICTS[diff.verdict]}", ""]
    if moves := tally(diff):
        lines += [f"Moved: {moves}; {stays(diff.left)}.", ""]
    if diff.moved:
        lines += ["| | law | subject | was | now | moved by |", f"|{' --- |' * 6}"]
        lines += [*map(_row, diff.moved[:_MOST_ROWS]), *_rest(diff.moved), ""]
    if diff.not_the_same:
        lines += ["Not the same, under the same name:", ""]
        lines += [*(f"- {_cell(identity(t))}" for t in diff.not_the_same), ""]
    if diff.plans:
        table = ["| plan | subject | values | moved by |", f"|{' --- |' * 4}"]
        table += [*map(_plan_row, diff.plans[:_MOST_ROWS]), *_rest(diff.plans)]
        lines += _folded(f"{counted(len(diff.plans), 'plan')}", table)
    if diff.without_effect:
        idle = [f"- {_cause(c)}" for c in diff.without_effect]
        lines += _folded(f"{counted(len(idle), 'change')} that moved nothing", idle)
    if diff.verdict is Verdict.EQUAL and not diff.without_effect:
        lines += ["Neither facts nor rules say anything else than before.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(reasoned: Reasoned) -> str:
    move = reasoned.move
    assert isinstance(move, Moved)
    way = step(move)
    cells = [_WAYS[(way > 0) - (way < 0)], move.law, move.subject_text]
    sides = [_standing(s, move) for s in (move.old, move.new)]
    return _line([*map(_cell, cells), *sides, _causes(reasoned)])


def _standing(standing: Standing | None, move: Moved) -> str:
    if standing is None:
        return "(not there)"
    texts = map(_cell, (said(standing), *waiver_lines(standing)))
    values = dict(standing.values)
    moved = [f"{n} {plainly(values[n])}" for n in move.values if n in values]
    kind = f"**{standing.standing.value}**" + ", waived" * standing.waived
    parts = [kind, *texts, _cell(", ".join(moved))]
    return "<br>".join(part for part in parts if part)


def _plan_row(reasoned: Reasoned) -> str:
    move = reasoned.move
    assert isinstance(move, MovedPlan)
    shown = [
        f"{name} {' -> '.join('?' if v is None else plainly(v) for v in pair)}"
        for name, pair in move.values.items()
    ]
    values = "<br>".join(map(_cell, shown))
    return _line([_cell(move.plan), _cell(move.subject_text), values, _causes(reasoned)])


def _causes(reasoned: Reasoned) -> str:
    joint = "<br>and " if not reasoned.alone else "<br>or "
    return joint.join(map(_cause, reasoned.causes))


def _cause(cause: Cause) -> str:
    place = f"{cause.place.file}:{cause.place.line}"
    return f"{cause.change} {cause.kind} {_cell(cause.what)} ({_cell(place)})"


def _cell(text: str) -> str:
    """A text that no table, link or tag can be made of."""
    return escaped(one_line(text))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rest(found: Sequence[Reasoned]) -> list[str]:
    left = len(found) - _MOST_ROWS
    return [f"\nand {left} more"] if left > 0 else []


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]
