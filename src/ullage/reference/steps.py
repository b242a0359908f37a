"""The steps of a proof, each made whole from what it speaks of.

A proof's step is right where it equals the step made from the rule or the row that it names; so
that what makes steps is also what they are held against.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from ullage.facts import FactBase
from ullage.findings import Position
from ullage.reference.bodies import Bindings, Bodies, Member
from ullage.reference.facts import Reading
from ullage.reference.text import aggregate_text, atom_text, literal_text, value_text
from ullage.reference.values import Atom, Value, of_scalar
from ullage.reference.words import Words
from ullage.rules import terms
from ullage.rules.terms import Aggregate, Conditional, Literal, Rule, names

SCHEMA = "ullage/proof/1"


class Step(TypedDict):
    """One step. ``premises`` are the ids of the steps that it rests on, in order."""

    id: str
    atom: str
    kind: str
    rule: str | None
    bindings: dict[str, str]
    premises: list[str]
    file: str
    line: int
    column: int
    source: str | None
    label: str


class Steps:
    """Makes steps of one policy."""

    def __init__(self, base: FactBase, words: Words) -> None:
        self.base = base
        self.words = words

    def fact(self, atom: Atom, reading: Reading) -> Step:
        """A row, or a cell of one, as it stands in its file. A default has no source."""
        row = reading.row
        place = Position(row.file, row.line, row.column)
        source = row.source or None
        label = self.words.fact(atom)
        if reading.cell is not None and reading.cell.line > 0:
            place = Position(row.file, reading.cell.line, reading.cell.column)
        elif reading.cell is not None:
            place = self.base.position(row, reading.column)
            source = None
            if reading.cell.line == 0:
                label += ", the default"
        return _step("fact", atom_text(atom), place, label, source=source)

    def rule(self, atom: Atom, rule: Rule, bindings: Bindings, premises: Sequence[str]) -> Step:
        """An instance of a rule, and the steps of its conditions, one each."""
        return _step(
            "rule",
            atom_text(atom),
            rule.position,
            self.words.label(rule, bindings),
            rule=rule.text,
            bindings=bindings,
            premises=premises,
        )

    def absence(self, literal: terms.Atom, bindings: Bindings) -> Step:
        """An atom that does not hold."""
        shown = {n: bindings[n] for n in sorted(names(literal)) if n in bindings}
        label = self.words.absence(literal, bindings)
        text = literal_text(literal, bindings)
        return _step("absence", text, literal.position, label, bindings=shown)

    def computed(
        self,
        literal: Literal,
        bindings: Bindings,
        members: Iterable[tuple[Value, ...]] = (),
        premises: Sequence[str] = (),
    ) -> Step:
        """A comparison that holds, or an aggregate's value over its members."""
        members = list(members)
        shown = {n: bindings[n] for n in sorted(names(literal)) if n in bindings}
        if isinstance(literal, Aggregate):
            text = aggregate_text(literal, members, bindings)
            label = aggregate_text(literal, members, bindings, self.words.value)
        else:
            text = literal_text(literal, bindings)
            label = self.words.literal(literal, bindings)
        return _step("computed", text, literal.position, label, bindings=shown, premises=premises)


def made_of(members: Iterable[Member]) -> dict[tuple[Value, ...], tuple[Atom, ...]]:
    """The distinct tuples of a set, each with the atoms that make it one, in order of their text.

    Of several ways in which a tuple is a member, the first by the text of its atoms is told.
    """
    ways: dict[tuple[Value, ...], list[tuple[Atom, ...]]] = {}
    for member in members:
        ways.setdefault(member.terms, []).append(tuple(a for _, a in member.way.matched))
    told = {t: w[0] if len(w) == 1 else min(w, key=_texts) for t, w in ways.items()}
    return dict(sorted(told.items(), key=lambda m: [value_text(v) for v in m[0]]))


def each_of(bodies: Bodies, literal: Conditional, bindings: Bindings) -> tuple[Atom, ...]:
    """The atoms on which a literal rests that holds under each instance of its conditions."""
    found: list[tuple[Atom, ...]] = []
    for way in bodies.instances(literal.conditions, bindings):
        atoms = [a for _, a in way.matched]
        inner = literal.literal
        if isinstance(inner, terms.Atom) and inner.sign != 1:
            atoms += first_match(bodies, inner, way.bindings)
        found.append(tuple(atoms))
    return tuple(dict.fromkeys(a for atoms in sorted(found, key=_texts) for a in atoms))


def first_match(bodies: Bodies, literal: terms.Atom, bindings: Bindings) -> list[Atom]:
    """The first atom by its text that an atom as written matches; none where nothing does."""
    return sorted((a for _, a in bodies.matches(literal, bindings)), key=atom_text)[:1]


def _texts(atoms: Iterable[Atom]) -> list[str]:
    return [atom_text(a) for a in atoms]


def in_order(goals: Iterable[str], premises: Mapping[str, Sequence[str]]) -> list[str]:
    """The ids of steps that goals rest on, each once, after those of its premises: the one order
    of a proof.
    """
    order: dict[str, None] = {}
    stack = [(goal, False) for goal in reversed(list(goals))]
    while stack:
        step, done = stack.pop()
        if step in order:
            continue
        if done:
            order[step] = None
        else:
            stack.append((step, True))
            stack += [(p, False) for p in reversed(premises[step]) if p not in order]
    return list(order)


def _step(
    kind: str,
    atom: str,
    place: Position,
    label: str,
    *,
    rule: str | None = None,
    bindings: Bindings | None = None,
    premises: Sequence[str] = (),
    source: str | None = None,
) -> Step:
    step = Step(
        id="",
        atom=atom,
        kind=kind,
        rule=rule,
        bindings={n: value_text(v) for n, v in sorted((bindings or {}).items())},
        premises=list(premises),
        file=place.file,
        line=place.line,
        column=place.column,
        source=source,
        label=label,
    )
    step["id"] = identity(step)
    return step


def identity(step: Step) -> str:
    """The id of a step: a hash of all else that it says."""
    content = {k: v for k, v in step.items() if k != "id"}
    return digest(content)[:32]


def digest(content: object) -> str:
    """The SHA-256 of a value, written as JSON in one way."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def row_content(base: FactBase, reading: Reading) -> dict[str, object]:
    """A row's table, key, cells and source, each value as exact text."""
    row = reading.row
    table = base.declarations.tables[row.table]
    cells: dict[str, object] = {}
    for name, cell in sorted(row.cells.items()):
        sort = table.columns[name].sort
        if isinstance(cell.value, tuple):
            inner = [c.value for c in cell.value]
            cells[name] = [
                value_text(of_scalar(v, sort)) for v in inner if not isinstance(v, tuple)
            ]
        else:
            cells[name] = value_text(of_scalar(cell.value, sort))
    key = [value_text(of_scalar(v, c.sort)) for v, c in zip(row.key, table.key, strict=True)]
    return {"table": row.table, "key": key, "cells": cells, "source": row.source}


class Digests:
    """The SHA-256 of what steps rest on, by the place where it stands.

    One written row may stand for several, as where its key ranges: of one place, those rows count
    that a step rests on.
    """

    def __init__(self, base: FactBase) -> None:
        self.base = base
        self.of_rules: dict[str, str] = {}
        self.of_rows: dict[str, dict[str, object]] = {}

    def rule(self, rule: Rule) -> str:
        """Count a rule, and give its place."""
        place = str(rule.position)
        self.of_rules[place] = rule_digest(rule)
        return place

    def row(self, reading: Reading) -> str:
        """Count a row, and give its place."""
        row = reading.row
        place = f"{row.file}:{row.line}:{row.column}"
        own = digest([row.table, *map(str, row.key)])
        rows = self.of_rows.setdefault(place, {})
        if own not in rows:
            rows[own] = row_content(self.base, reading)
        return place

    def told(self) -> dict[str, str]:
        """Each place with its digest."""
        rows = {p: digest([r[own] for own in sorted(r)]) for p, r in self.of_rows.items()}
        return dict(sorted({**self.of_rules, **rows}.items()))


def rule_digest(rule: Rule) -> str:
    """The digest of a rule: its text and its label."""
    label = None if rule.label is None else [rule.label.text, *rule.label.args]
    return digest({"rule": rule.text, "label": label})
