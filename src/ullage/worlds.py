"""Worlds: what other facts would move, ground beside the model of the facts as they are.

The rules are ground once over the facts, and each supposition as one more part that costs what it
moves; see ``ullage.rules.delta``. Figures are written alike in all worlds, so that atoms compare:
where a supposition has figures of more decimals, or larger ones, all is lowered and ground anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clingo.symbol import Function, Number, Symbol

from ullage import progress
from ullage.calls import Calls
from ullage.columns import Row, plain
from ullage.facts import FactBase
from ullage.findings import PolicyError
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl
from ullage.rules.delta import (
    THIS,
    WORLD,
    after,
    before,
    cell_node,
    come,
    delta,
    gone,
    needed,
    nodes_of,
    of_a_world,
    reached,
)
from ullage.rules.encode import fact_levels, fact_lines, reads
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Flags, Levels, Line, Lowered, lower, settled
from ullage.rules.numbers import TooWide
from ullage.solve import Ground, Model, seen

MOST_WORLDS = 8
"""So many worlds stand in one program: each costs more than the last, and soon a program anew."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The atoms of an answer set that are about some subjects; it is read as a model is."""

    symbols: Mapping[tuple[str, int], Sequence[Symbol]]

    def atoms(self, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate, in no order."""
        return list(self.symbols.get((name, arity), ()))

    def texts(self, name: str, arity: int) -> list[str]:
        """The same, written out."""
        return [str(symbol) for symbol in self.symbols.get((name, arity), ())]


@dataclass(frozen=True, slots=True)
class Difference:
    """What is concluded of the subjects that other facts move, under the facts and under those.

    ``owners`` are the laws and plans that may move at all.
    """

    old: Answer
    new: Answer
    owners: Sequence[LawDecl | PlanDecl]


@dataclass(frozen=True, slots=True)
class Changed:
    """The rows of tables that are not alike in two bases, by table."""

    gone: Mapping[str, Sequence[Row]]
    come: Mapping[str, Sequence[Row]]

    def nodes(self) -> set[str]:
        """What of the tables is not alike: rows, and columns."""
        found: set[str] = set()
        for name in {*self.gone, *self.come}:
            sides = [{r.key: r for r in side.get(name, ())} for side in (self.gone, self.come)]
            for key in {*sides[0], *sides[1]}:
                cells = [_plain(side[key]) if key in side else None for side in sides]
                found.update(_apart(name, *cells))
        return found


def changed(old: FactBase, new: FactBase) -> Changed:
    """The rows that differ; their sources and places are no part of what rules read."""
    gone_rows: dict[str, list[Row]] = {}
    come_rows: dict[str, list[Row]] = {}
    for name, rows in new.rows.items():
        before = old.rows.get(name, ())
        if rows is before:
            continue
        known = {row.key: row for row in before}
        for row in rows:
            earlier = known.pop(row.key, None)
            if earlier is row or (earlier is not None and _plain(earlier) == _plain(row)):
                continue
            come_rows.setdefault(name, []).append(row)
            if earlier is not None:
                gone_rows.setdefault(name, []).append(earlier)
        if known:
            gone_rows.setdefault(name, []).extend(known.values())
    return Changed(gone_rows, come_rows)


def _plain(row: Row) -> dict[str, object]:
    return {name: plain(cell) for name, cell in row.cells.items()}


def _apart(
    table: str, old: Mapping[str, object] | None, new: Mapping[str, object] | None
) -> Iterator[str]:
    if old is None or new is None:
        yield cell_node(table)
    before, after = old or {}, new or {}
    for column in {*before, *after}:
        if old is None or new is None or before.get(column) != after.get(column):
            yield cell_node(table, column)


class Worlds:
    """The model of some facts, and worlds beside it in which some nodes of tables may differ.

    ``owners`` are the laws and plans whose conclusions are told.
    """

    def __init__(
        self,
        rules: Sequence[TypedRule],
        owners: Iterable[LawDecl | PlanDecl],
        base: FactBase,
        nodes: Collection[str],
    ) -> None:
        tables = base.declarations.tables
        self.nodes = frozenset(nodes)
        self._base = base
        self._owners = list(owners)
        cone = reached(rules, tables, nodes)
        wanted = {o.collects for o in self._owners if isinstance(o, LawDecl)}
        for owner in self._owners:
            if not cone.isdisjoint(nodes_of(owner)):
                wanted |= nodes_of(owner)
        self._rules = needed(rules, tables, wanted)
        self._read = reads(self._rules, tables)
        self._levels: Levels = fact_levels(base, self._read)
        self._flags = Flags()
        self._ground: _Grounded | None = None

    def model(self) -> Model:
        """The model of the facts; of plans it has those alone that may move. Raises PolicyError."""
        if self._ground is None:
            self._ground = self._grounded()
        control, lowered = self._ground.program.control, self._ground.lowered
        return Model(control, lowered, lambda: "")

    def differing(self, other: Changed) -> Difference:
        """What other facts move. Raises PolicyError with every error of the run."""
        come_rows = replace(self._base, rows=other.come)
        for slot, level in fact_levels(come_rows, self._read).items():
            if level > self._levels.get(slot, 0):
                self._levels[slot] = level
                self._ground = None
        while True:
            ground = self._ground
            if ground is None or ground.worlds >= MOST_WORLDS:
                ground = self._grounded()
            # Whatever ends this run early has left the program half told.
            self._ground = None
            try:
                self._ground_world(ground, other)
            except TooWide:
                self._flags = replace(self._flags, wide=True)
                continue
            wanted = seen(ground.program.control, ground.lowered, self._flags, ground.context)
            if wanted == self._flags:
                break
            self._flags = wanted
        _raise_failures(ground)
        self._ground = ground
        return ground.difference()

    def _grounded(self) -> _Grounded:
        """The program of the facts, ground, with the part for a world beside it."""
        tables = self._base.declarations.tables
        progress.phase("lowering rules")
        while True:
            try:
                levels = settled(self._rules, self._levels, self._flags)
                part = delta(self._rules, self._owners, tables, self.nodes, levels)
                lowered = lower([*part.facts, *part.rules], levels, self._flags)
                facts = fact_lines(self._base, self._read, lowered.levels, lowered.shape)
            except TooWide:
                self._flags = replace(self._flags, wide=True)
                continue
            first = replace(lowered, lines=[x for x in lowered.lines if not _anew(x)])
            again = replace(lowered, lines=[x for x in lowered.lines if _anew(x)])
            context = Calls(lowered, self._flags)
            program = Ground()
            program.add("facts", facts)
            program.add("base", (line.text for line in first.lines))
            progress.phase("grounding")
            program.parts([("facts", []), ("base", [])], first, context)
            wanted = seen(program.control, lowered, self._flags, context)
            if wanted == self._flags:
                break
            self._flags = wanted
        ground = _Grounded(program, lowered, again, context, part.moving)
        _raise_failures(ground)
        texts = (_in_this_world(line.text) for line in again.lines)
        program.add("world", [*texts, *part.lines], [THIS])
        return ground

    def _ground_world(self, ground: _Grounded, other: Changed) -> None:
        """Ground one more world. Raises TooWide, and PolicyError."""
        ground.worlds += 1
        sides = []
        for rows in (other.gone, other.come):
            read = {name: self._read[name] for name in rows if name in self._read}
            base = replace(self._base, rows=rows)
            sides.append(set(fact_lines(base, read, ground.lowered.levels, ground.lowered.shape)))
        lines = []
        for predicate, facts in ((gone, sides[0] - sides[1]), (come, sides[1] - sides[0])):
            for fact in sorted(facts):
                name, _, rest = fact.partition("(")
                lines.append(f"{predicate(name)}({ground.worlds},{rest}")
        part = f"facts''{ground.worlds}"
        ground.program.add(part, lines)
        parts: list[tuple[str, list[Symbol]]] = [(part, []), ("world", [Number(ground.worlds)])]
        ground.program.parts(parts, ground.again, ground.context)


@dataclass(slots=True)
class _Grounded:
    """A program that is ground, the lines of its part for a world, and how many worlds it has."""

    program: Ground
    lowered: Lowered
    again: Lowered
    context: Calls
    moving: Sequence[LawDecl | PlanDecl]
    worlds: int = 0

    def difference(self) -> Difference:
        """What the last world moves."""
        names = dict(BUILTIN) | {o.collects: len(o.arguments) for o in self.moving}
        old, new = (
            Answer({(n, a): self._of_world(form(n), n, a) for n, a in names.items()})
            for form in (before, after)
        )
        return Difference(old, new, self.moving)

    def _of_world(self, form: str, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate in the last world, as atoms of another that has no world."""
        found = []
        for atom in self.program.control.symbolic_atoms.by_signature(form, arity + 1):
            world, *args = atom.symbol.arguments
            if world.number == self.worlds:
                assert atom.is_fact, f"{atom.symbol} was left open"
                found.append(Function(name, args))
        return found


def _anew(line: Line) -> bool:
    return of_a_world(line.rule.head.name)


def _in_this_world(text: str) -> str:
    """A lowered line for one world alone."""
    return f"{text[:-1]}; {WORLD} = {THIS}." if WORLD in text else text


def _raise_failures(ground: _Grounded) -> None:
    if findings := ground.program.amiss(ground.lowered, ground.context):
        raise PolicyError(findings)
