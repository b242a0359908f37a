"""Makes decision records: standings, with the rows and rules that each rests on."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence

import clingo
from clingo import parse_term

from ullage import __version__
from ullage.columns import Row
from ullage.declarations import Column
from ullage.explain.derive import Explainer
from ullage.explain.rests import Asked as Question
from ullage.explain.rests import rests_on
from ullage.explain.store import decode
from ullage.facts import FactBase
from ullage.records.masks import Masks
from ullage.records.record import (
    Asked,
    Record,
    RecordedRow,
    RecordedRule,
    RecordedStanding,
    RecordedTable,
)
from ullage.reference.steps import digest
from ullage.reference.text import value_text
from ullage.reference.values import Atom, Value, Word, of_scalar
from ullage.render.json_ import Json
from ullage.results import Standing
from ullage.rules.declared import OF_LAWS
from ullage.rules.terms import Rule
from ullage.sorts import Scalar
from ullage.symbols import Subject, subjects


def versions() -> dict[str, str]:
    """What concludes: this package, the solver and Python, each with its version."""
    return {
        "ullage": __version__,
        "clingo": clingo.__version__,
        "python": platform.python_version(),
    }


def make_record(
    explainer: Explainer,
    standings: Sequence[Standing],
    asked_laws: Sequence[str],
    asked_subject: str | None,
    masks: Masks,
) -> Record:
    """The record of the standings of a solved policy that were asked for."""
    base, laws = explainer.base, explainer.book.laws
    used = rests_on(explainer, conclusions(explainer, standings))
    found = {(r.table, r.key): r for u in used for r in u.rows}
    shown = {key: show_row(base, row, masks) for key, row in found.items()}
    # By what is shown alone: the order of masked names would tell something of them.
    rows = sorted(shown, key=lambda k: _order(shown[k]))
    rules = {r.position: r for u in used for r in u.rules}
    numbers: dict[object, int] = {key: i for i, key in enumerate(rows)}
    numbers |= {position: i for i, position in enumerate(sorted(rules))}
    told = []
    for standing, rests in zip(standings, used, strict=True):
        keys = [(r.table, r.key) for r in rests.rows]
        dates = {d for k in keys if isinstance(d := shown[k].date, str)}
        told.append(
            RecordedStanding(
                masks.standing(standing, laws[standing.law]),
                tuple(sorted(numbers[k] for k in keys)),
                tuple(sorted(numbers[r.position] for r in rests.rules)),
                rests.tables,
                tuple(sorted(dates)),
            )
        )
    if masks.columns:
        places = {name: i for i, name in enumerate(laws)}
        told.sort(key=lambda s: (places[str(s.told["law"])], json.dumps(s.told["subject"])))
    subject: Json = asked_subject
    if asked_subject is not None and any(masks.hides(s, laws[s.law]) for s in standings):
        subject = masks.key.mask(asked_subject)
    return Record(
        versions(),
        Asked(tuple(asked_laws), subject),
        tuple(sorted(f"{table}/{column}" for table, column in masks.columns)),
        masks.key.name if masks.columns else None,
        tuple(shown[k] for k in rows),
        tuple(show_rule(rules[position], masks) for position in sorted(rules)),
        tuple(show_table(base, t, masks) for t in sorted({t for u in used for t in u.tables})),
        tuple(told),
    )


def conclusions(explainer: Explainer, standings: Sequence[Standing]) -> list[Question]:
    """What was concluded for each standing: that its subject is one, and all that is said of it."""
    known = explainer.known
    said: dict[tuple[str, Value], list[Atom]] = {}
    for kind, arity in OF_LAWS.items():
        for values in known.matching(kind, (None,) * arity):
            law, subject, *_ = values
            assert isinstance(law, Word)
            said.setdefault((law.name, subject), []).append((kind, values))
    found = []
    for standing, about in zip(standings, subject_values(explainer, standings), strict=True):
        decl = explainer.book.laws[standing.law]
        parts = about if len(decl.arguments) > 1 else (about,)
        assert isinstance(parts, tuple)
        found.append(Question([(decl.collects, parts), *said[standing.law, about]]))
    return found


def subject_values(explainer: Explainer, standings: Iterable[Standing]) -> list[Value]:
    """The subjects of standings, as rules write them."""
    known: dict[str, dict[Subject, list[Value]]] = {}
    found = []
    for standing in standings:
        law = explainer.book.laws[standing.law]
        if law.name not in known:
            known[law.name] = {}
            for parts, text in subjects(explainer.known.model, law):
                value = decode(parse_term(text), law.subject_sort)
                known[law.name].setdefault(parts, []).append(value)
        values = known[law.name][standing.subject]
        # Terms of two forms may show the same parts; they come in the order of their standings.
        found.append(values.pop(0) if len(values) > 1 else values[0])
    return found


def show_row(base: FactBase, row: Row, masks: Masks) -> RecordedRow:
    """A row as a record has it."""
    table = base.declarations.tables[row.table]
    key = [
        _cell(row.table, column, value, masks)
        for column, value in zip(table.key, row.key, strict=True)
    ]
    cells: dict[str, Json] = {}
    date: Json = None
    for name, cell in sorted(row.cells.items()):
        column = table.columns[name]
        if isinstance(cell.value, tuple):
            inner = (c.value for c in cell.value)
            cells[name] = [
                _cell(row.table, column, v, masks) for v in inner if not isinstance(v, tuple)
            ]
            continue
        cells[name] = _cell(row.table, column, cell.value, masks)
        if column.date:
            date = str(cell.value) if isinstance(cells[name], str) else cells[name]
    source = masks.text(row.source)
    content = {"table": row.table, "key": key, "cells": cells, "source": source}
    place = (row.file, row.line, row.column)
    return RecordedRow(row.table, tuple(key), cells, source, date, *place, digest(content))


def _cell(table: str, column: Column, value: Scalar, masks: Masks) -> Json:
    """One value of a row: exact text, or the mask of its text without quotes."""
    told = of_scalar(value, column.sort)
    plain = told if isinstance(told, str) else value_text(told)
    if (table, column.name) in masks.columns or (isinstance(told, str) and masks.repeats(told)):
        return masks.key.mask(plain)
    return value_text(told)


def show_rule(rule: Rule, masks: Masks) -> RecordedRule:
    """A rule as a record has it."""
    # What collects the subjects of a law is written alike for many: its law tells it apart.
    owner = rule.head.name.removeprefix("_subject") if "'" in rule.head.name else ""
    text = masks.text(rule.text.replace("_subject", f"_subject{owner}", 1) if owner else rule.text)
    label: Json = None
    if rule.label is not None:
        label = [masks.text(t) for t in (rule.label.text, *rule.label.args)]
    place = (rule.position.file, rule.position.line, rule.position.column)
    return RecordedRule(text, label, *place, digest({"rule": text, "label": label}))


def show_table(base: FactBase, name: str, masks: Masks) -> RecordedTable:
    """A table that was looked through, as a record has it: in whatever order its rows stand."""
    rows = base.rows.get(name, ())
    digests = sorted(show_row(base, row, masks).digest for row in rows)
    return RecordedTable(name, len(rows), digest(digests))


def _order(row: RecordedRow) -> tuple[str, int, int, str, str]:
    return row.file, row.line, row.column, row.table, json.dumps(row.key)
