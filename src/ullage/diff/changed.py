"""What two policies differ in, piece by piece: cells, rows, rules, and what is declared.

A piece is what an author would undo alone. Where things stand is no part of them: a row that moves
to another file, or a rule that is written with other spaces, is no change.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ullage.changes import key_text, shown
from ullage.columns import Cell, Row, plain
from ullage.declarations import Column, Declarations, Table
from ullage.diff.result import Cause
from ullage.facts import FactBase
from ullage.findings import Position
from ullage.results import plainly
from ullage.rules.declared import LawDecl, PlanDecl, Predicate
from ullage.rules.terms import Atom, Rule, Var, substituted
from ullage.sorts import Scalar

if TYPE_CHECKING:
    from ullage.rules.book import RuleBook

ADDED, REMOVED, CHANGED = "added", "removed", "changed"

Key = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """A row, or one cell of it, to be taken from the old facts."""

    table: str
    key: Key
    column: str = ""


@dataclass(frozen=True, slots=True)
class FactPiece:
    """Rows of one place in a file that came or went, or one cell of them that changed.

    A row whose key names a range stands for many. Without edits only a source changed.
    """

    cause: Cause
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class RulePiece:
    """A rule that came, went or changed."""

    cause: Cause
    old: Rule | None
    new: Rule | None


@dataclass(frozen=True, slots=True)
class DeclaredPiece:
    """A table, sort, predicate, law or plan that is declared otherwise.

    ``of`` is its kind, and what undoing it takes from the old declarations.
    """

    cause: Cause
    of: str
    name: str


Piece = FactPiece | RulePiece | DeclaredPiece


def fact_pieces(old: FactBase, new: FactBase) -> list[FactPiece]:
    """The rows and cells that differ, in order of place."""
    gathered: dict[_Group, list[tuple[Edit, Row]]] = defaultdict(list)
    declared = {**old.declarations.tables, **new.declarations.tables}
    for name, table in declared.items():
        if table.computed is not None:
            continue
        rows = [{row.key: row for row in side.rows.get(name, ())} for side in (old, new)]
        for key in dict.fromkeys([*rows[1], *rows[0]]):
            before, after = rows[0].get(key), rows[1].get(key)
            for column, what in _edits(table, before, after):
                row = after or before
                assert row is not None
                change = ADDED if before is None else REMOVED if after is None else CHANGED
                group = (row.file, row.line, row.column, name, change, column, what)
                edited = "" if column == _SOURCE else column
                gathered[group].append((Edit(name, key, edited), row))
    pieces = []
    for (*_, change, column, what), edits in gathered.items():
        first, row = edits[0]
        table = declared[first.table]
        more = f" and {len(edits) - 1} more" if len(edits) > 1 else ""
        words = f"{first.table} {key_text(table, row)}{more}{f': {what}' if what else ''}"
        base = old if change == REMOVED else new
        place = base.position(row, first.column or None)
        pieces.append(
            FactPiece(
                Cause("fact", change, dataclasses.replace(place, note=""), words),
                () if column == _SOURCE else tuple(e for e, _ in edits),
            )
        )
    return sorted(pieces, key=_order)


_SOURCE = "source"

_Group = tuple[str, int, int, str, str, str, str]
"""Where a row stands, its table, how it changed, in which column, and what of it in words."""


def _edits(table: Table, old: Row | None, new: Row | None) -> Iterator[tuple[str, str]]:
    """The columns in which a row differs, "" for the whole row, and what of them in words."""
    if old is None or new is None:
        yield "", ""
        return
    for column in table.columns.values():
        before, after = old.cells.get(column.name), new.cells.get(column.name)
        if all(cell is None or cell.line == 0 for cell in (before, after)):
            # Two defaults differ by what declares them.
            continue
        sides = [None if cell is None else plain(cell) for cell in (before, after)]
        if sides[0] != sides[1]:
            texts = (_text(before, column), _text(after, column))
            yield column.name, f"{column.name} {' -> '.join(texts)}"
    if old.source != new.source:
        yield _SOURCE, f"source {old.source or '(none)'} -> {new.source or '(none)'}"


def _text(cell: Cell | None, column: Column) -> str:
    if cell is None:
        return "(nothing)"
    if isinstance(cell.value, tuple):
        return f"[{', '.join(_text(part, column) for part in cell.value)}]"
    return plainly(shown(cell.value, column.sort))


def rule_pieces(old: Sequence[Rule], new: Sequence[Rule]) -> list[RulePiece]:
    """The rules that differ in head or body; one that was reworded only is none.

    Of the rules that came and went, those of one head are taken for one that changed, the nearest
    in words first.
    """
    # Nearly all are written alike, and to take a rule apart costs more than to compare its text.
    gone, fresh = _apart(old, new, _text_of), _apart(new, old, _text_of)
    left, come = _apart(gone, fresh, _meaning), _apart(fresh, gone, _meaning)
    pieces = []
    for rule in come:
        pair = _earlier(rule, left)
        if pair is not None:
            left.remove(pair)
        pieces.append(
            RulePiece(
                Cause("rule", ADDED if pair is None else CHANGED, rule.position, _rule_text(rule)),
                pair,
                rule,
            )
        )
    for rule in left:
        cause = Cause("rule", REMOVED, rule.position, _rule_text(rule))
        pieces.append(RulePiece(cause, rule, None))
    return sorted(pieces, key=_order)


def _apart(
    some: Iterable[Rule], others: Iterable[Rule], key: Callable[[Rule], Hashable]
) -> list[Rule]:
    """The rules that the others have not, by a key; a rule that stands twice is had twice."""
    known = Counter(map(key, others))
    found = []
    for rule in some:
        own = key(rule)
        if known[own]:
            known[own] -= 1
        else:
            found.append(rule)
    return found


def _text_of(rule: Rule) -> Hashable:
    return rule.text


def _meaning(rule: Rule) -> Hashable:
    """What of a rule decides what it concludes: not the names of its variables."""
    names: dict[str, str] = {}

    def renamed(variable: Var) -> Var:
        name = names.setdefault(variable.name, f"V{len(names)}")
        return dataclasses.replace(variable, name=name)

    return substituted(rule.head, renamed), tuple(substituted(b, renamed) for b in rule.body)


def _earlier(rule: Rule, old: Sequence[Rule]) -> Rule | None:
    """The old rule that a new one may be another form of."""
    head = _head(rule.head)
    alike = [r for r in old if _head(r.head) == head]
    return max(alike, key=lambda r: _likeness(rule, r), default=None)


def _head(atom: Atom) -> Hashable:
    """What a head is of: its name, and for a conclusion whose and which it is."""
    names = [getattr(a, "name", "") for a in atom.args if not getattr(a, "args", ())]
    constants = [n for n in names if n[:1].islower()]
    return atom.name, len(atom.args), tuple(constants)


def _likeness(new: Rule, old: Rule) -> tuple[int, bool]:
    labels = [r.label.text if r.label else "" for r in (new, old)]
    return sum(literal in old.body for literal in new.body), labels[0] == labels[1]


def _rule_text(rule: Rule) -> str:
    return " ".join(rule.text.split(":-")[0].split()).rstrip(" .")


def declared_pieces(old: RuleBook, new: RuleBook) -> list[DeclaredPiece]:
    """The tables, predicates, laws and plans that are declared otherwise, words aside."""
    found: list[DeclaredPiece] = []
    sides = [b.vocabulary.declarations for b in (old, new)]
    tables = [{n: _bare_table(t) for n, t in d.tables.items()} for d in sides]
    found += _differing("table", tables, [d.tables for d in sides], _table_words(*sides))
    for of, named in (
        ("predicate", [b.vocabulary.predicates for b in (old, new)]),
        ("law", [b.laws for b in (old, new)]),
        ("plan", [b.plans for b in (old, new)]),
    ):
        own = [{n: d for n, d in side.items() if "'" not in n} for side in named]
        bare = [{n: _bare(d) for n, d in side.items()} for side in own]
        found += _differing(of, bare, own, {})
    return sorted(found, key=_order)


def _differing(
    of: str,
    bare: Sequence[Mapping[str, object]],
    declared: Sequence[Mapping[str, Table | Predicate | LawDecl | PlanDecl]],
    words: Mapping[str, str],
) -> Iterator[DeclaredPiece]:
    for name in dict.fromkeys([*bare[1], *bare[0]]):
        before, after = bare[0].get(name), bare[1].get(name)
        if before == after:
            continue
        change = ADDED if before is None else REMOVED if after is None else CHANGED
        place = declared[0 if change == REMOVED else 1][name].position
        more = f": {words[name]}" if change == CHANGED and words.get(name) else ""
        cause = Cause("rule", change, dataclasses.replace(place, note=""), f"{of} {name}{more}")
        yield DeclaredPiece(cause, of, name)


def _bare_table(table: Table) -> object:
    columns = {c.name: _bare_column(c) for c in table.columns.values()}
    key = tuple(map(_bare_column, table.key))
    return key, columns, table.source_required, table.computed


def _bare_column(column: Column) -> Column:
    return dataclasses.replace(column, position=_NOWHERE, doc="")


_NOWHERE = Position("", 1, 1)


def _bare(declared: Predicate | LawDecl | PlanDecl) -> object:
    """A declaration without its place and its words."""
    if isinstance(declared, LawDecl):
        verdicts = {n: v.standing for n, v in declared.verdicts.items()}
        terms = [
            {n: t.arguments for n, t in side.items()}
            for side in (declared.reasons, declared.obligations)
        ]
        return declared.arguments, _spaced(declared.subjects), declared.values, verdicts, terms
    if isinstance(declared, PlanDecl):
        return declared.arguments, _spaced(declared.subjects), declared.values, declared.law
    return declared.arguments


def _spaced(text: str) -> str:
    return "".join(text.split())


def _table_words(old: Declarations, new: Declarations) -> dict[str, str]:
    """Of each table that changed, its columns that did."""
    words = {}
    for name in old.tables.keys() & new.tables.keys():
        sides = [
            {c.name: _bare_column(c) for c in (*t.key, *t.columns.values())}
            for t in (old.tables[name], new.tables[name])
        ]
        parts = []
        for change, names in (
            (ADDED, [c for c in sides[1] if c not in sides[0]]),
            (REMOVED, [c for c in sides[0] if c not in sides[1]]),
            (CHANGED, [c for c in sides[0] if c in sides[1] and sides[0][c] != sides[1][c]]),
        ):
            parts += [f"column {column} {change}" for column in names]
        words[name] = ", ".join(parts)
    return words


def _order(piece: Piece) -> tuple[object, ...]:
    cause = piece.cause
    return cause.kind, cause.place, cause.what
