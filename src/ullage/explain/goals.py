"""Which changes of named cells would make something hold: the fewest, and of those the smallest.

Values that can be listed are tried one by one. A figure is varied as a line (``ullage.explain.
lines``): what holds for one value is known to hold between bounds, so that all values are settled
by trying one between each two bounds, the nearest to the present value first. So an answer that
none of them will do is proved and not guessed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from ullage import progress
from ullage.changes import Set, key_text, read_set, read_unset, rows_by_text, shown
from ullage.columns import ColumnReader, Row
from ullage.declarations import Column
from ullage.explain.derive import Explainer
from ullage.explain.lines import Line, Varied
from ullage.explain.questions import split
from ullage.explain.supposed import Cell, Supposed
from ullage.facts import FactBase
from ullage.findings import PolicyError, Position, UsageError, listed, similar
from ullage.reference.facts import cell_values, key_of
from ullage.reference.values import Figure, Pattern, Undefined, Value, Word
from ullage.results import Quantity, StandingClass
from ullage.results import Value as ResultValue
from ullage.rules.declared import LawDecl
from ullage.sorts import (
    COUNT_RANGE,
    RATIO,
    BoolSort,
    ClosedSort,
    CountSort,
    EntitySort,
    ExactSort,
    ScalarError,
    Sort,
)
from ullage.whatif import cell_of

MOST_CASES = 20_000
"""How many cases are tried of one figure, or of values together, before it is given up."""

_HIGHEST = 2**60
_HUNDREDTH = Fraction(1, 100)

Goal = tuple[str, tuple[Pattern, ...]]


@dataclass(frozen=True, slots=True)
class Vary:
    """A cell that may be changed, and the texts of the values that it may take.

    Without ``texts`` it takes all that its column admits: each word or name that is known, or, of a
    figure, each that is whole in base units (of a ratio, each hundredth).
    """

    table: str
    key: str
    column: str
    texts: tuple[str, ...] | None = None

    @property
    def cell(self) -> str:
        """The cell as ``table/key/column``."""
        return f"{self.table}/{self.key}/{self.column}"


@dataclass(frozen=True, slots=True)
class Changed:
    """A cell's present value (None where it is unread), and one that would do."""

    cell: str
    old: ResultValue | None
    new: ResultValue


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried of a cell, in words, and in how many cases."""

    cell: str
    values: str
    cases: int


@dataclass(frozen=True, slots=True)
class StillOpen:
    """Changes under which the goal is not reached, and not refused: what is to be read first."""

    changes: tuple[Changed, ...]
    obligations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """The answer: each way is a set of changes, none of which can be left out.

    Of a figure a way has the value nearest to the present one. ``settled`` says that all values
    were tried, so that no ways means that there is none. ``open`` are changes (none for the facts
    as they are) that leave open whether it is reached, and ``readings`` those cells among the
    changes that nobody has read: to be read, and not to be set at will. ``apart`` are cells of
    which each was tried, and not all of them changed together.
    """

    goal: str
    ways: tuple[tuple[Changed, ...], ...]
    tried: tuple[Tried, ...]
    settled: bool
    open: tuple[StillOpen, ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()

    @property
    def readings(self) -> tuple[str, ...]:
        """The changed cells that are unread today."""
        cells = [c.cell for way in self.ways for c in way if c.old is None]
        return tuple(dict.fromkeys(cells))


def read_vary(text: str, facts: FactBase) -> Vary:
    """The cell that ``table/key/column`` or ``table/key/column=v1,v2`` names.

    Raises UsageError where the text names no cell.
    """
    named = read_unset(text) if "=" not in text else None
    if named is not None and named.column in _columns(facts, named.table):
        return Vary(named.table, str(named.key), named.column)
    if "=" in text:
        given = read_set(text, facts)
        if given.column in _columns(facts, given.table):
            texts = tuple(t.strip() for t in split(str(given.value)))
            if not texts:
                raise UsageError(f"`{text}` names no value", "write `table/key/column=v1,v2`")
            return Vary(given.table, str(given.key), given.column, texts)
    whole = read_unset(text.partition("=")[0])
    if whole.table not in facts.declarations.tables:
        tables = facts.declarations.tables
        raise UsageError(
            f"no table `{whole.table}` is declared", similar(whole.table, tables, "table")
        )
    columns = _columns(facts, whole.table)
    raise UsageError(
        f"table `{whole.table}` has no column `{whole.column}`",
        similar(whole.column, columns, "column") or f"columns are {listed(list(columns))}",
    )


def _columns(facts: FactBase, table: str) -> Mapping[str, Column]:
    declared = facts.declarations.tables.get(table)
    return declared.columns if declared else {}


class Search:
    """Searches changes that reach a goal. ``holds`` asks the solver of facts with some changes."""

    def __init__(
        self,
        explainer: Explainer,
        goals: Sequence[Goal],
        holds: Callable[[Sequence[Set]], bool],
        law: LawDecl | None = None,
    ) -> None:
        """``law`` is the one whose standing the goals are, if they are one's."""
        self.explainer = explainer
        self.base = explainer.base
        self.goals = goals
        self.holds = holds
        self.cases: dict[str, int] = {}
        self.settled = True
        self.law = law
        self.open: list[StillOpen] = []
        self.apart: list[tuple[str, ...]] = []

    def ways(self, varies: Sequence[Vary]) -> list[tuple[Changed, ...]]:
        """The ways of the fewest changes. Raises UsageError and PolicyError for what is no cell."""
        domains = [_Domain.of(self.base, v) for v in varies]
        if self.law is not None:
            self._note_open(Supposed(self.explainer, {}), ())
        for number in range(1, len(domains) + 1):
            found: list[tuple[Changed, ...]] = []
            for chosen in itertools.combinations(domains, number):
                found += self._together(chosen)
            if found:
                return found
        return []

    def tried(self, varies: Sequence[Vary]) -> tuple[Tried, ...]:
        """What was tried of each cell."""
        domains = [_Domain.of(self.base, v) for v in varies]
        return tuple(Tried(d.vary.cell, d.words, self.cases.get(d.vary.cell, 0)) for d in domains)

    def _together(self, domains: Sequence[_Domain]) -> Iterator[tuple[Changed, ...]]:
        """The ways in which all of some cells change."""
        figures = [d for d in domains if d.grid is not None]
        listed_ones = [d for d in domains if d.grid is None]
        if len(figures) > 1:
            # Two lines at once would make areas of what are bounds of one.
            self.settled = False
            self.apart.append(tuple(d.vary.cell for d in domains))
            return
        if math.prod(len(d.values) for d in listed_ones) > MOST_CASES:
            self.settled = False
        together = itertools.product(*(d.values for d in listed_ones))
        for values in itertools.islice(together, MOST_CASES):
            fixed = dict(zip(listed_ones, values, strict=True))
            if figures:
                value = self._figure(figures[0], fixed)
                if value is None:
                    continue
                fixed[figures[0]] = value
            elif not self._listed(fixed):
                continue
            changes = [d.change(v) for d, v in fixed.items()]
            if not self.holds(changes):
                raise AssertionError(f"the solver does not confirm {changes}")
            yield tuple(d.changed(v) for d, v in fixed.items())

    def _count(self, domain: _Domain) -> bool:
        """Count a case; false where there are too many."""
        cell = domain.vary.cell
        self.cases[cell] = self.cases.get(cell, 0) + 1
        progress.phase(f"trying {cell}")
        if self.cases[cell] > MOST_CASES:
            self.settled = False
            return False
        return True

    def _listed(self, fixed: Mapping[_Domain, _Choice]) -> bool:
        """Whether the goal holds under some listed values."""
        for domain in fixed:
            if not self._count(domain):
                return False
        if any(d.feeds for d in fixed):
            # Rows that are computed from it would change, too.
            return self.holds([d.change(v) for d, v in fixed.items()])
        cells = {d.cell: v.values for d, v in fixed.items()}
        supposed = Supposed(self.explainer, cells)
        try:
            reached = self._goal(supposed)
            if not reached and self.law is not None:
                self._note_open(supposed, tuple(d.changed(v) for d, v in fixed.items()))
            return reached
        except Undefined:
            return False

    def _note_open(self, supposed: Supposed, changes: tuple[Changed, ...]) -> None:
        """Note what is to be read where the law leaves its subject open."""
        assert self.law is not None
        subject = self.goals[0][1][1]
        open_ones = [
            v.name for v in self.law.verdicts.values() if v.standing is StandingClass.UNESTABLISHED
        ]
        about = (Word(self.law.name), subject)
        if not any(supposed.holds("standing", (*about, Word(v))) for v in open_ones):
            return
        terms = supposed.fitting("obligation", (*about, None))
        told = self.explainer.told(self.law.obligations, [values[2] for values in terms])
        self.open.append(StillOpen(changes, tuple(t.words or str(t) for t in told)))

    def _note_open_figure(
        self,
        supposed: Supposed,
        varied: Varied,
        domain: _Domain,
        fixed: Mapping[_Domain, _Choice],
    ) -> None:
        """Note what is to be read under a figure; of many that leave the same open, the first."""
        choice = domain.figure(varied.x)
        changes = [domain.changed(choice), *(d.changed(v) for d, v in fixed.items())]
        known = {still.obligations for still in self.open}
        before = len(self.open)
        with varied.frame(), suppress(Undefined):
            self._note_open(supposed, tuple(changes))
        if len(self.open) > before and self.open[-1].obligations in known:
            self.open.pop()

    def _goal(self, supposed: Supposed) -> bool:
        return any(supposed.holds(name, patterns) for name, patterns in self.goals)

    def _figure(self, domain: _Domain, fixed: Mapping[_Domain, _Choice]) -> _Choice | None:
        """The nearest figure under which the goal holds, beside some listed values."""
        assert domain.grid is not None
        low, high, step = domain.grid
        up: Fraction | None
        start = domain.present if domain.present is not None else low
        varied = Varied(start, low, step)
        line = Figure(Line(varied, Fraction(0), Fraction(1)), domain.sort.name)  # type: ignore[arg-type]
        cells: dict[Cell, tuple[Value, ...]] = {d.cell: v.values for d, v in fixed.items()}
        cells[domain.cell] = (line,)
        supposed = Supposed(self.explainer, cells, varied)
        # From the present figure outwards; one beyond the range is gone to from its nearer end.
        last = low + (high - low) // step * step
        up = varied.after(start) if start >= low and (start - low) % step else max(start, low)
        down: Fraction | None = None
        if up > last:
            up, down = None, last
        first = True
        while up is not None or down is not None:
            nearer_up = up is not None and (down is None or up - start <= start - down)
            x = up if nearer_up else down
            assert x is not None
            if not self._count(domain):
                return None
            varied.x = x
            try:
                with varied.frame() as bounds:
                    reached = self._goal(supposed)
            except Undefined:
                # No figure of the language comes of it; so it is for this value alone.
                bounds.low = bounds.high = x
                reached = False
            if reached:
                return domain.figure(x)
            if self.law is not None:
                self._note_open_figure(supposed, varied, domain, fixed)
            if nearer_up:
                up = None if bounds.high is None else varied.after(bounds.high)
                up = up if up is not None and up <= high else None
            if not nearer_up or first:
                down = None if bounds.low is None else varied.before(bounds.low)
                down = down if down is not None and down >= low else None
            first = False
        return None


@dataclass(frozen=True, slots=True)
class _Choice:
    """A value that a cell may take: its text as in a fact file, and the values of its atoms."""

    text: str
    shown: ResultValue
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Domain:
    """The values that a varied cell may take: listed ones, or a grid of figures."""

    vary: Vary
    cell: Cell
    sort: Sort
    old: ResultValue | None
    present: Fraction | None
    values: tuple[_Choice, ...]
    grid: tuple[Fraction, Fraction, Fraction] | None
    words: str
    feeds: bool

    @staticmethod
    def of(base: FactBase, vary: Vary) -> _Domain:
        """The values of a cell. Raises UsageError and PolicyError."""
        row = _row(base, vary)
        column = base.declarations.tables[vary.table].columns[vary.column]
        cell = row.cells.get(vary.column)
        old = None
        present = None
        if cell is not None:
            inner = cell.value if isinstance(cell.value, tuple) else (cell,)
            told = [shown(c.value, column.sort) for c in inner]
            old = tuple(told) if isinstance(cell.value, tuple) else told[0]
            if isinstance(old, Quantity):
                present = old.value
        grid = None
        values: tuple[_Choice, ...] = ()
        if vary.texts is not None and len(vary.texts) == 1 and ".." in vary.texts[0]:
            grid = _stepped(base, column, vary)
            words = "from {} to {}, by {}".format(*(Quantity(f, column.sort).display for f in grid))
        elif vary.texts is not None:
            values = tuple(_choice(base, column, t, vary) for t in vary.texts)
            words = f"{len(values)} given value{'s' * (len(values) != 1)}"
        elif isinstance(column.sort, ExactSort | CountSort) and not column.many:
            grid = _all(column)
            ends = (Quantity(end, column.sort).display for end in grid[:2])
            step = Quantity(grid[2], column.sort).display
            words = "every value from {} to {}".format(*ends) + f", by {step}"
        else:
            names = _names(base, column, vary)
            values = tuple(_choice(base, column, n, vary) for n in names if n != _text(old))
            words = f"{len(values)} other values"
        feeds = _feeds(base, vary.table, column)
        if grid is not None and feeds:
            raise UsageError(
                f"`{vary.cell}` is read by numbers that are alike, and cannot be varied freely",
                f"give values, as `{vary.cell}=v1,v2`",
            )
        key = key_of(base, row)
        return _Domain(
            vary,
            (vary.table, key, vary.column),
            column.sort,
            old,
            present,
            values,
            grid,
            words,
            feeds,
        )

    def change(self, choice: _Choice) -> Set:
        """The change that a value is."""
        return Set(self.vary.table, self.vary.key, self.vary.column, choice.text)

    def changed(self, choice: _Choice) -> Changed:
        """The change as an answer tells it."""
        return Changed(self.vary.cell, self.old, choice.shown)

    def figure(self, x: Fraction) -> _Choice:
        """A figure as a choice."""
        quantity = Quantity(x, self.sort)
        unit = ""
        if isinstance(self.sort, ExactSort):
            unit = next((u for u, size in self.sort.units.items() if size == 1), "")
        value: Value = Figure(x, self.sort.name)
        return _Choice(f"{quantity.text} {unit}".strip(), quantity, (value,))


def _row(base: FactBase, vary: Vary) -> Row:
    table = base.declarations.tables[vary.table]
    if table.computed is not None:
        raise UsageError(f"`{vary.table}` is computed from other rows, which can be varied")
    rows = rows_by_text(table, base.rows.get(vary.table, ()))
    found = rows.get(vary.key, [])
    if len(found) != 1:
        known = [key_text(table, r) for r in base.rows.get(vary.table, ())]
        raise UsageError(
            f"{len(found) or 'no'} row{'s are' if found else ' is'} `{vary.key}` in `{vary.table}`",
            similar(vary.key, known, "row"),
        )
    return found[0]


def _choice(base: FactBase, column: Column, text: str, vary: Vary) -> _Choice:
    """A value of a column from its text. Raises PolicyError."""
    place = Position("<--vary>", 1, 1, f"of {vary.cell}")
    cell, findings = cell_of(base, ColumnReader(column), text, place)
    if findings:
        raise PolicyError(findings)
    if cell is None:
        raise UsageError(f"`{text}` is no value of `{vary.cell}`", "leave it out, or give a value")
    inner = cell.value if isinstance(cell.value, tuple) else (cell,)
    read = [c.value for c in inner]
    told = tuple(shown(v, column.sort) for v in read)
    values = tuple(cell_values(read, column))
    return _Choice(text, told if column.many else told[0], values)


def _stepped(base: FactBase, column: Column, vary: Vary) -> tuple[Fraction, Fraction, Fraction]:
    """The grid of ``low..high/step``. Raises PolicyError and UsageError."""
    assert vary.texts is not None
    low, _, rest = vary.texts[0].partition("..")
    # A unit and a fraction have a `/` of their own: the step stands behind the first that ends it.
    cuts = [i for i, letter in enumerate(rest) if letter == "/"]
    ways = [(rest[:i], rest[i + 1 :]) for i in cuts] + [(rest, "")]
    high, step = next((w for w in ways if all(_reads(column, t) for t in w if t)), ways[0])
    figures = []
    for text in (low, high, *([step] if step else [])):
        value = _choice(base, column, text.strip(), vary).shown
        if not isinstance(value, Quantity):
            raise UsageError(
                f"`{vary.texts[0]}` is a range, and `{column.name}` holds no figures",
                "give values apart by commas",
            )
        figures.append(value.value)
    if not step:
        figures.append(_step(column.sort))
    if figures[0] > figures[1] or figures[2] <= 0:
        raise UsageError(f"the range `{vary.texts[0]}` holds nothing", "write `low..high/step`")
    return figures[0], figures[1], figures[2]


def _reads(column: Column, text: str) -> bool:
    """Whether a text is a value of a column."""
    try:
        ColumnReader(column).text(text.strip())
    except ScalarError:
        return False
    return True


def _step(sort: Sort) -> Fraction:
    return _HUNDREDTH if sort.name == RATIO.name else Fraction(1)


def _all(column: Column) -> tuple[Fraction, Fraction, Fraction]:
    """The grid of all figures of a column."""
    highest = COUNT_RANGE - 1 if isinstance(column.sort, CountSort) else _HIGHEST
    low = Fraction(0) if column.minimum is None else column.minimum
    high = Fraction(highest) if column.maximum is None else column.maximum
    return low, high, _step(column.sort)


def _names(base: FactBase, column: Column, vary: Vary) -> list[str]:
    """The words or names that a column may hold. Raises UsageError where they cannot be listed."""
    sort = column.sort
    if isinstance(sort, ClosedSort) and not column.many:
        return list(sort.values)
    if isinstance(sort, BoolSort) and not column.many:
        return ["true", "false"]
    if isinstance(sort, EntitySort) and not column.many:
        tables = [base.declarations.tables[t] for t in column.references]
        found: dict[str, None] = {}
        for table in tables or base.declarations.tables.values():
            for place, part in enumerate(table.key):
                if part.sort == sort:
                    rows = base.rows.get(table.name, ())
                    found |= dict.fromkeys(str(r.key[place]) for r in rows)
        return sorted(found)
    raise UsageError(
        f"the values of `{vary.cell}` cannot be listed", f"give them, as `{vary.cell}=v1,v2`"
    )


def _text(value: ResultValue | None) -> str:
    return "true" if value is True else "false" if value is False else str(value)


def _feeds(base: FactBase, table: str, column: Column) -> bool:
    """Whether rows of other tables are computed from a column."""
    found = (t.computed for t in base.declarations.tables.values() if t.computed is not None)
    return any(c.table == table or c.sort == column.sort for c in found)
