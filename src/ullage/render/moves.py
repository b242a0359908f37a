"""What-ifs for people: what was supposed, and each standing and plan that moves, old and new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ullage.findings import Position
from ullage.moves import Moved, MovedPlan, Moves, SupposedCell, SupposedRow
from ullage.render.base import View
from ullage.render.text import one_line
from ullage.results import Quantity, Standing, StandingClass, Value, exact_text_of, value_text
from ullage.sorts import display

Class = Callable[[StandingClass], str]
"""A class of standings, painted."""

Words = Callable[[Standing], str]
Paint = Callable[[str], str]

_NOT_THERE = "(not there)"
_CLASSES = list(StandingClass)


class MoveBlocks:
    """Writes what moves; others paint a class, word a standing and paint a title."""

    def __init__(self, view: View, painted: Class, said: Words, head: Paint) -> None:
        self._arrow = "→" if view.unicode else "->"
        self._painted = painted
        self._said = said
        self._head = head

    def text(self, moves: Moves) -> str:
        """What was supposed, the standings by law, the plans, and how many standings are left."""
        blocks = [[*self._supposed(moves.supposed)]] if moves.supposed else []
        laws: dict[str, list[Moved]] = {}
        for moved in moves.moved:
            laws.setdefault(moved.law, []).append(moved)
        for law, group in laws.items():
            lines = [self._head(law)]
            for moved in sorted(group, key=_place):
                lines += self._standing(moved)
            blocks.append(lines)
        plans: dict[str, list[MovedPlan]] = {}
        for plan in moves.plans:
            plans.setdefault(plan.plan, []).append(plan)
        for name, found in plans.items():
            lines = [self._head(f"plan {name}")]
            for plan in found:
                lines += self._plan(plan)
            blocks.append(lines)
        blocks.append([*_left(moves)])
        return "\n".join("".join(f"{line.rstrip()}\n" for line in block) for block in blocks)

    def one(self, move: Moved | MovedPlan) -> list[str]:
        """The lines of one standing or plan that moves."""
        return self._standing(move) if isinstance(move, Moved) else self._plan(move)

    def _supposed(self, supposed: Iterable[SupposedCell | SupposedRow]) -> Iterable[str]:
        rows: dict[tuple[str, Position, Position | None], list[str]] = {}
        for change in supposed:
            if isinstance(change, SupposedRow):
                alike = (change.table, change.place, change.replaces)
                rows.setdefault(alike, []).append(change.key)
        for (table, place, replaces), keys in rows.items():
            more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            instead = f" instead of {_at(replaces)}" if replaces is not None else ""
            yield one_line(f"{table}/{keys[0]}{more}: a row  ({_at(place)}{instead})")
        for change in supposed:
            if isinstance(change, SupposedCell):
                yield one_line(f"{_named(change)}: {self._cell(change)}  ({_at(change.place)})")

    def _cell(self, cell: SupposedCell) -> str:
        old, new = (
            _NOT_THERE if value is None else value_text(value) for value in (cell.old, cell.new)
        )
        return f"{old}, as it is" if cell.same else f"{old} {self._arrow} {new}"

    def _standing(self, moved: Moved) -> list[str]:
        shown = [self._class(s) for s in (moved.old, moved.new)]
        change = shown[0] if shown[0] == shown[1] else f" {self._arrow} ".join(shown)
        lines = [f"  {change}  {one_line(moved.subject_text)}"]
        words = [self._said(s) if s is not None else "" for s in (moved.old, moved.new)]
        if words[0] != words[1]:
            pairs = zip(("was", "now"), words, strict=True)
            lines += [f"      {when}  {one_line(text)}" for when, text in pairs if text]
        return lines + self._values(moved.values)

    def _class(self, standing: Standing | None) -> str:
        if standing is None:
            return _NOT_THERE
        return self._painted(standing.standing) + " (waived)" * standing.waived

    def _plan(self, plan: MovedPlan) -> list[str]:
        change = "  (new)" if plan.old is None else "  (gone)" if plan.new is None else ""
        return [f"  {one_line(plan.subject_text)}{change}", *self._values(plan.values)]

    def _values(self, values: Mapping[str, tuple[Value | None, Value | None]]) -> list[str]:
        """A line for each value that moves; a figure with how much it moves by."""
        width = max(map(len, values), default=0)
        lines = []
        for name, (old, new) in values.items():
            shown = [_shown(v) for v in (old, new)]
            if shown[0] == shown[1]:
                # What is rounded alike is told apart by the exact figures.
                shown = [exact_text_of(v) for v in (old, new) if v is not None]
            text = one_line(f" {self._arrow} ".join(shown))
            lines.append(f"      {name:<{width}}  {text}{_difference(old, new)}")
        return lines


def _named(cell: SupposedCell) -> str:
    return f"{cell.table}/{cell.key}/{cell.column}"


def _at(place: Position) -> str:
    return f"{place}, the default" if place.note else str(place)


def _shown(value: Value | None) -> str:
    return "?" if value is None else value_text(value)


def _difference(old: Value | None, new: Value | None) -> str:
    if not isinstance(old, Quantity) or not isinstance(new, Quantity):
        return ""
    by = new.value - old.value
    sign = "+" if by > 0 else "-"
    return f"  ({sign}{display(abs(by), new.sort)})"


def _place(moved: Moved) -> tuple[bool, int, int]:
    """From refused to established first, the other way last; before those that appear or go."""
    if moved.old is None or moved.new is None:
        return True, 0, 0
    old, new = (_CLASSES.index(s.standing) for s in (moved.old, moved.new))
    return False, old - new, moved.old.waived - moved.new.waived


def _left(moves: Moves) -> Iterable[str]:
    """How many standings are as they were; where nothing moves, that is said."""
    if not moves:
        same = all(isinstance(c, SupposedCell) and c.same for c in moves.supposed)
        yield "nothing moves" + (": the facts are what is supposed" if same else "")
    yield stays(moves.left)


def stays(left: int) -> str:
    """How many standings are as they were."""
    return f"{left} {'standing stays as it is' if left == 1 else 'standings stay as they are'}"
