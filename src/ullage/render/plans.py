"""Plans for people: a block for each subject, or a table of subjects that differ in one part."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from ullage.render.base import View
from ullage.render.text import one_line
from ullage.results import (
    Assumption,
    Bar,
    Plan,
    PlanLayout,
    Plans,
    Quantity,
    Standing,
    Value,
    exact_text_of,
    value_order,
    value_text,
)
from ullage.sorts import BYTES, ExactSort

_BAR_WIDTH = 30

Said = Callable[[Standing], tuple[str, str, tuple[str, ...]]]
"""A standing's class, painted, its words, and the lines of its waivers."""

Paint = Callable[[str], str]

_Group = tuple[str, tuple[Value, ...]]
"""A plan, and the parts that the subjects of one block share."""

_PLACE = re.compile(r"\{(\w+)\}")


class PlanBlocks:
    """Writes plans with a view's characters; ``said`` words a standing, ``head`` paints a title."""

    def __init__(self, view: View, said: Said, head: Paint) -> None:
        self._view = view
        self._said = said
        self._head = head

    @property
    def _fills(self) -> str:
        """What fills the parts of a bar, one after the other."""
        return "█▓▒■◆▪" if self._view.unicode else "#=%*+~"

    def text(self, plans: Plans) -> str:
        """What was supposed, then the blocks in the order of the plans."""
        if not plans.plans:
            return "no plans\n"
        groups: dict[_Group, list[Plan]] = {}
        for plan in plans.plans:
            layout = plans.layouts[plan.plan]
            groups.setdefault((plan.plan, _shared_parts(plan, layout)), []).append(plan)
        below: dict[str, list[str]] = {}
        for name, layout in plans.layouts.items():
            below.setdefault(layout.under, []).append(name)
        blocks = [_assumed(plans.assumptions, self._view)] if plans.assumptions else []
        for (name, parts), alike in groups.items():
            layout = plans.layouts[name]
            if (layout.under, parts) in groups:
                continue
            lines = self._block(alike, layout)
            for under in below.get(name, ()):
                if rows := groups.get((under, parts)):
                    lines += ["", *self._table(rows, plans.layouts[under], ())]
            if layout.note:
                lines += ["", f"  {one_line(layout.note)}"]
            blocks.append(lines)
        return "\n".join("".join(f"{line.rstrip()}\n" for line in block) for block in blocks)

    def _block(self, alike: Sequence[Plan], layout: PlanLayout) -> list[str]:
        """A title, what all subjects of the block share, and a table of what they do not."""
        first = alike[0]
        told = [{**p.value_map, **dict(p.subject)} for p in alike]
        same = {n: v for n, v in told[0].items() if all(t.get(n) == v for t in told)}
        title = _PLACE.sub(lambda m: value_text(same.get(m[1], "?")), layout.title)
        name = "" if layout.rows else f"{first.subject_text}  "
        lines = [self._head(one_line(f"{first.plan}  {name}{title}"))]
        hidden = {*layout.columns, *(n for n in _PLACE.findall(layout.title) if n in same)}
        names = [n for n in layout.words if n not in hidden]
        if not layout.rows:
            lines += self._standings(alike, layout)
        lines += self._lines([(n, same[n]) for n in names if n in same], layout)
        if layout.rows:
            apart = [n for n in names if n not in same and any(n in t for t in told)]
            lines += ["", *self._table(alike, layout, apart), *self._standings(alike, layout)]
        elif layout.bar is not None:
            lines += self._bar_line(first, layout, layout.bar)
        return lines

    def _standings(self, alike: Sequence[Plan], layout: PlanLayout) -> list[str]:
        """What the law says, once for all subjects of which it says the same."""
        said: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        for plan in alike:
            if plan.standing is not None:
                row = dict(plan.subject).get(layout.rows, "")
                said.setdefault(self._said(plan.standing), []).append(value_text(row))
        lines = []
        for (kind, words, waivers), rows in said.items():
            of = f"  ({', '.join(rows)})" if len(said) > 1 else ""
            lines.append(f"  {kind}  {one_line(words + of)}")
            lines += [f"      {one_line(w)}" for w in waivers]
        return lines

    def _lines(self, values: Iterable[tuple[str, Value]], layout: PlanLayout) -> list[str]:
        cells = [(layout.words[n] or n, *map(one_line, _cells(v))) for n, v in values]
        names, shown = (max((len(c[i]) for c in cells), default=0) for i in (0, 1))
        return [f"  {n:<{names}}  {d:<{shown}}  {e}" for n, d, e in cells]

    def _table(self, rows: Sequence[Plan], layout: PlanLayout, more: Sequence[str]) -> list[str]:
        """A heading and a line a row, in the order of the first column; bars have one scale."""
        columns = [*layout.columns, *more]
        rows = sorted(rows, key=lambda p: _place(p, columns))
        name = layout.rows
        grid = [[name, *(layout.words[c] or c for c in columns)]]
        told = [plan.value_map for plan in rows]
        aligned = [_aligned([values.get(c) for values in told]) for c in columns]
        for number, plan in enumerate(rows):
            cells = [column[number] for column in aligned]
            grid.append([value_text(dict(plan.subject)[name]), *cells])
        if layout.bar is not None:
            grid[0].append(_words_of(layout.bar, layout, self._fills))
            bar = layout.bar
            most = max(max(_figure(p, bar.whole), _drawn(p, bar)) for p in rows)
            for line, plan in zip(grid[1:], rows, strict=True):
                line.append(self._bar(plan, layout.bar, most))
        widths = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
        return [
            "  " + "  ".join(f"{one_line(c):<{w}}" for c, w in zip(line, widths, strict=True))
            for line in grid
        ]

    def _bar_line(self, plan: Plan, layout: PlanLayout, bar: Bar) -> list[str]:
        if not {*bar.parts, bar.whole} <= plan.value_map.keys():
            return []
        most = max(_drawn(plan, bar), _figure(plan, bar.whole))
        return [f"  {_words_of(bar, layout, self._fills)}  {self._bar(plan, bar, most)}"]

    def _bar(self, plan: Plan, bar: Bar, most: Fraction) -> str:
        """Each part filled in its own way, the rest of the whole light, and what is over marked."""
        whole = _figure(plan, bar.whole)
        if most <= 0 or bar.whole not in plan.value_map:
            return ""
        fills, light, over = self._fills, "░" if self._view.unicode else ".", "!"
        drawn, cells, full = Fraction(0), "", int(_BAR_WIDTH * whole / most)
        if _drawn(plan, bar) > whole:
            # However little is over, it shows.
            full = min(full, _BAR_WIDTH - 1)
        for number, part in enumerate(bar.parts):
            drawn += _figure(plan, part)
            # Cells are cut down, so that a bar is full only where the parts are the whole.
            end = min(int(_BAR_WIDTH * drawn / most), full)
            cells += fills[number % len(fills)] * (end - len(cells))
        beyond = max(int(_BAR_WIDTH * drawn / most) - full, 1) if drawn > whole else 0
        return cells + light * (full - len(cells)) + over * beyond


def _assumed(assumptions: Sequence[Assumption], view: View) -> list[str]:
    """A line for each cell that is supposed otherwise."""
    arrow = "→" if view.unicode else "->"
    cells = []
    for a in assumptions:
        old = "(not there)" if a.old is None else value_text(a.old)
        where = f"{a.table} {a.key} {a.column}"
        cells.append((f"--{a.flag}", where, f"{old} {arrow} {value_text(a.new)}"))
    widths = [max(len(c[i]) for c in cells) for i in (0, 1)]
    return [
        one_line(f"what if  {f:<{widths[0]}}  {w:<{widths[1]}}  {change}") for f, w, change in cells
    ]


def _shared_parts(plan: Plan, layout: PlanLayout) -> tuple[Value, ...]:
    """The parts that the subjects of one table share; all of them where there is no table."""
    return tuple(v for n, v in plan.subject if n != layout.rows)


def _cells(value: Value | None) -> tuple[str, str]:
    """A value as it is shown, and its exact figure where that says more."""
    if value is None:
        return "?", ""
    if isinstance(value, bool):
        return "yes" if value else "no", ""
    if not isinstance(value, Quantity):
        return value_text(value), ""
    shown = value.display
    return shown, "" if _says_all(value, shown) else exact_text_of(value)


def _says_all(value: Quantity, shown: str) -> bool:
    """Whether the display is the exact figure; of bytes in a larger unit the bytes say more."""
    if not isinstance(value.sort, ExactSort):
        return True
    if value.sort == BYTES and not shown.endswith(" B"):
        return False
    return value.displayed_whole


def _aligned(values: Sequence[Value | None]) -> list[str]:
    """The cells of one column: displays below each other, and exact figures beside them."""
    cells = [_cells(value) for value in values]
    shown, exact = (max((len(c[i]) for c in cells), default=0) for i in (0, 1))
    return [
        (f"{s:>{shown}}  {e:>{exact}}" if isinstance(value, Quantity) else f"{s}  {e}").rstrip()
        for value, (s, e) in zip(values, cells, strict=True)
    ]


def _place(plan: Plan, columns: Sequence[str]) -> tuple[object, ...]:
    first = plan.value_map.get(columns[0]) if columns else None
    return (first is None, value_order(first) if first is not None else (), plan.subject_text)


def _figure(plan: Plan, name: str) -> Fraction:
    value = plan.value_map.get(name)
    return value.value if isinstance(value, Quantity) else Fraction(0)


def _drawn(plan: Plan, bar: Bar) -> Fraction:
    return sum((_figure(plan, part) for part in bar.parts), Fraction(0))


def _words_of(bar: Bar, layout: PlanLayout, fills: str) -> str:
    """What a bar shows; of several parts each with the character that fills it."""
    *parts, whole = (layout.words[n] or n for n in (*bar.parts, bar.whole))
    if len(parts) > 1:
        parts = [f"{fills[i % len(fills)]} {part}" for i, part in enumerate(parts)]
    return f"{', '.join(parts)} of {whole}"
