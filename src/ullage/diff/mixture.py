"""Policies between two others: the new one, with some of what changed taken from the old.

Whether a change moved a conclusion is seen by doing without it: what is concluded then is solved,
never reasoned about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import TypeVar

from ullage.columns import Row
from ullage.declarations import Declarations
from ullage.diff.changed import DeclaredPiece, FactPiece, Piece, RulePiece
from ullage.facts import FactBase, Loader
from ullage.findings import PolicyError, errors_of
from ullage.plans import plans
from ullage.results import Plan, Standing, Value
from ullage.rules.book import RuleBook
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl, Predicate
from ullage.rules.delta import cell_node, needed, nodes_of, reached
from ullage.rules.delta.nodes import node
from ullage.rules.inference import TypedRule, infer
from ullage.rules.recursion import check_recursion
from ullage.rules.terms import Fun, Rule
from ullage.rules.vocabulary import Vocabulary
from ullage.solve import Atoms, Model, solve
from ullage.standings import standings
from ullage.symbols import subjects
from ullage.waivers import Waivers, laws_of
from ullage.waivertable import WAIVER
from ullage.worlds import Worlds, changed

Subject = tuple[tuple[str, Value], ...]
Owner = tuple[str, str]
"""``law`` or ``plan``, and its name."""

Told = tuple[Owner, Subject]
"""What is concluded about: a law or plan, and a subject."""


class Undecided(Enum):
    """What a mixture says of a subject where it says no one thing: two verdicts, or none."""

    UNDECIDED = "undecided"


Conclusion = Standing | Plan | Undecided | None
"""What is concluded of a subject; None where it is no subject."""

Conclusions = Mapping[Told, Standing | Plan | Undecided]

_T = TypeVar("_T")

Reload = Callable[[Declarations], FactBase]
"""The facts as other declarations read them."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two policies that are compared, with all that it concludes.

    ``on`` is the day of its waivers. ``reload`` is None where its files are not known.
    """

    book: RuleBook
    facts: FactBase
    conclusions: Callable[[], Conclusions]
    model: Callable[[], Model]
    on: date
    reload: Reload | None = None


def owners_of(book: RuleBook) -> dict[Owner, LawDecl | PlanDecl]:
    """The laws and plans of a book."""
    found: dict[Owner, LawDecl | PlanDecl] = {("law", n): d for n, d in book.laws.items()}
    return found | {("plan", n): d for n, d in book.plans.items()}


def concluded(
    model: Atoms,
    owners: Mapping[Owner, LawDecl | PlanDecl],
    rules: Iterable[TypedRule],
    waivers: Waivers,
) -> Conclusions:
    """All that a model says of the subjects of some laws and plans, with the waivers of it."""
    written = [t.rule for t in rules]
    laws = {n: d for (_, n), d in owners.items() if isinstance(d, LawDecl)}
    declared = {n: d for (_, n), d in owners.items() if isinstance(d, PlanDecl)}
    found: dict[Told, Standing | Plan | Undecided] = {
        (owner, parts): Undecided.UNDECIDED
        for owner, decl in owners.items()
        for parts, _ in subjects(model, decl)
    }
    judged, _ = standings(model, laws, written)
    for standing in judged:
        found[("law", standing.law), standing.subject] = waivers.beside(standing)
    for plan in plans(model, declared, (), written)[0]:
        found[("plan", plan.plan), plan.subject] = plan
    return found


class Mixtures:
    """What is concluded between two policies of those laws and plans that moved."""

    def __init__(
        self,
        old: Side,
        new: Side,
        pieces: Sequence[Piece],
        owners: Collection[Owner],
        of_new: Conclusions,
    ) -> None:
        """``of_new`` is what the new policy concludes of these owners."""
        self.of_new = of_new
        self._old = old
        self._new = new
        self._pieces = pieces
        self._owners = owners
        self._bases: dict[tuple[int, frozenset[int]], FactBase] = {}
        self._worlds: Worlds | None = None
        self._known: dict[frozenset[int], Conclusions | None] = {}

    def reach(self, piece: Piece) -> set[Owner]:
        """The laws and plans that a piece may move, by what their rules read.

        No rule need read a waiver: it says itself of which law it is.
        """
        found: set[Owner] = set()
        for side in (self._old, self._new):
            tables = side.book.vocabulary.declarations.tables
            starts = self._starts(piece, side)
            if starts is None:
                return {*self._owners}
            cone = reached(side.book.rules, tables, starts)
            for owner, decl in owners_of(side.book).items():
                if not cone.isdisjoint(nodes_of(decl)):
                    found.add(owner)
            if isinstance(piece, FactPiece):
                keys = (e.key for e in piece.edits if e.table == WAIVER)
                found |= {("law", law) for law in laws_of(side.facts, keys)}
        return found & {*self._owners}

    def _starts(self, piece: Piece, side: Side) -> set[str] | None:
        """The nodes where a piece stands; None for a declaration, which may be anywhere."""
        tables = side.book.vocabulary.declarations.tables
        match piece:
            case FactPiece(edits=edits):
                names = {e.table for e in edits}
                # Rows of computed tables come of these.
                made = {n for n, t in tables.items() if t.computed is not None}
                return {
                    cell_node(n, c)
                    for n in (names | made) & tables.keys()
                    for c in ("", *tables[n].columns)
                    if n in made or any(e.table == n and e.column in ("", c) for e in edits)
                }
            case RulePiece(old=old, new=new):
                return {node(r.head, tables) for r in (old, new) if r is not None}
            case DeclaredPiece():
                return None

    def without(self, undone: Iterable[int]) -> Conclusions | None:
        """What is concluded where the pieces of these numbers are as in the old policy.

        None where that is no policy: its rules cannot be read under its declarations, or a figure
        has no value.
        """
        chosen = frozenset(undone)
        if chosen not in self._known:
            try:
                self._known[chosen] = self._solved(chosen)
            except PolicyError:
                self._known[chosen] = None
        return self._known[chosen]

    def _solved(self, chosen: frozenset[int]) -> Conclusions | None:
        declared = frozenset(i for i in chosen if isinstance(self._pieces[i], DeclaredPiece))
        of_rules = any(isinstance(self._pieces[i], RulePiece) for i in chosen)
        if not declared and not of_rules:
            return self._beside(self._facts(chosen, declared, self._new.facts.declarations))
        book = self._book(chosen, declared)
        if book is None:
            return None
        return self._whole(book, self._facts(chosen, declared, book.vocabulary.declarations))

    def _beside(self, facts: FactBase) -> Conclusions:
        """What the new rules conclude of other facts, ground beside the new model."""
        other = changed(self._new.facts, facts)
        nodes = other.nodes()
        own = owners_of(self._new.book)
        if self._worlds is None or not nodes <= self._worlds.nodes:
            known = self._worlds.nodes if self._worlds is not None else frozenset()
            wanted = [d for o, d in own.items() if o in self._owners]
            self._worlds = Worlds(self._new.book.rules, wanted, self._new.facts, nodes | known)
        difference = self._worlds.differing(other)
        told = {o: d for o, d in own.items() if d in difference.owners}
        rules = self._new.book.rules
        waivers = Waivers.on(self._new.on, facts)
        before, after = (
            concluded(answer, told, rules, waivers) for answer in (difference.old, difference.new)
        )
        kept = {k: v for k, v in self.of_new.items() if k not in before}
        return {k: _beside(waivers, v) for k, v in kept.items()} | dict(after)

    def _whole(self, book: RuleBook, facts: FactBase) -> Conclusions:
        own = {o: d for o, d in owners_of(book).items() if o in self._owners}
        wanted = {n for decl in own.values() for n in nodes_of(decl)}
        rules = needed(book.rules, facts.declarations.tables, wanted)
        waivers = Waivers.on(self._new.on, facts)
        return concluded(solve(rules, facts), own, rules, waivers)

    def _facts(
        self, chosen: frozenset[int], declared: frozenset[int], declarations: Declarations
    ) -> FactBase:
        """The new facts with the pieces of facts among the chosen ones as in the old."""
        old, new = (self._base(i, declared, declarations) for i in (0, 1))
        loader = Loader.over(new, {})
        before = {name: {row.key: row for row in rows} for name, rows in old.rows.items()}
        for number in sorted(chosen):
            piece = self._pieces[number]
            for edit in piece.edits if isinstance(piece, FactPiece) else ():
                if edit.table not in loader.tables:
                    continue
                earlier = before.get(edit.table, {}).get(edit.key)
                row = loader.tables[edit.table].rows.get(edit.key)
                loader.take(edit.table, edit.key, _edited(row, earlier, edit.column))
        return loader.base()

    def _base(self, number: int, declared: frozenset[int], declarations: Declarations) -> FactBase:
        """The facts of a side, as declarations read them."""
        side = (self._old, self._new)[number]
        if side.facts.declarations is declarations:
            return side.facts
        key = (number, declared)
        if key not in self._bases:
            alike = not declared and not any(isinstance(p, DeclaredPiece) for p in self._pieces)
            self._bases[key] = (
                replace(side.facts, declarations=declarations)
                if alike or side.reload is None
                else side.reload(declarations)
            )
        return self._bases[key]

    def _book(self, chosen: frozenset[int], declared: frozenset[int]) -> RuleBook | None:
        """The new rules with chosen pieces as in the old; None where they are not sound."""
        pieces = [self._pieces[i] for i in sorted(chosen)]
        gone = {id(p.new) for p in pieces if isinstance(p, RulePiece) and p.new is not None}
        kept = [t for t in self._new.book.rules if id(t.rule) not in gone]
        come = [p.old for p in pieces if isinstance(p, RulePiece) and p.old is not None]
        vocabulary = self._vocabulary([p for p in pieces if isinstance(p, DeclaredPiece)])
        if declared:
            # What declarations say may be of use to every rule.
            collected = self._collecting([p for p in pieces if isinstance(p, DeclaredPiece)])
            come = [*(t.rule for t in kept if t.rule.head.name not in collected), *come]
            come += [r for r in collected.values() if r is not None]
            kept = []
        rules = [*kept, *_typed([r for r in come if _owned(r, vocabulary)], vocabulary)]
        if errors_of(check_recursion([t.rule for t in rules], vocabulary.declarations)):
            return None
        return RuleBook(vocabulary, rules=rules)

    def _collecting(self, undone: Sequence[DeclaredPiece]) -> dict[str, Rule | None]:
        """The old rules that collect the subjects of laws and plans, by what they collect."""
        found: dict[str, Rule | None] = {}
        for side in (self._new, self._old):
            own = owners_of(side.book)
            wanted = {
                d.collects for o, d in own.items() if any((p.of, p.name) == o for p in undone)
            }
            found |= dict.fromkeys(wanted)
            if side is self._old:
                rules = [t.rule for t in side.book.rules]
                found |= {r.head.name: r for r in rules if r.head.name in wanted}
        return found

    def _vocabulary(self, undone: Sequence[DeclaredPiece]) -> Vocabulary:
        """The new vocabulary, with some of it as in the old; what only the old has stays known."""
        old, new = self._old.book.vocabulary, self._new.book.vocabulary
        names = {(p.of, p.name) for p in undone}
        tables = dict(new.declarations.tables)
        for name in {**old.declarations.tables, **tables}:
            if ("table", name) in names:
                _take(tables, old.declarations.tables, name)
        declarations = new.declarations
        if names:
            sorts = {**new.declarations.sorts, **old.declarations.sorts}
            declarations = replace(declarations, tables=MappingProxyType(tables), sorts=sorts)
        predicates: dict[str, Predicate] = {**old.predicates, **new.predicates}
        laws, plans_ = dict(new.laws), dict(new.plans)
        for of, name in names:
            if of == "predicate":
                _take(predicates, old.predicates, name)
            elif of == "law":
                _take(laws, old.laws, name)
            elif of == "plan":
                _take(plans_, old.plans, name)
        declared: list[LawDecl | PlanDecl] = [*laws.values(), *plans_.values()]
        helpers = {
            d.collects: Predicate(d.collects, d.arguments, d.doc, d.position) for d in declared
        }
        return Vocabulary(declarations, predicates | helpers, laws, plans_)


def _beside(waivers: Waivers, told: Standing | Plan | Undecided) -> Standing | Plan | Undecided:
    return waivers.beside(told) if isinstance(told, Standing) else told


def _typed(rules: Iterable[Rule], vocabulary: Vocabulary) -> list[TypedRule]:
    """The rules with their sorts. Raises PolicyError."""
    found = []
    for rule in rules:
        typed, findings = infer(rule, vocabulary)
        if typed is None:
            raise PolicyError(findings)
        found.append(typed)
    return found


def _owned(rule: Rule, vocabulary: Vocabulary) -> bool:
    """Whether the law or plan is there that a rule concludes about, if it does."""
    if rule.head.name not in BUILTIN:
        return True
    owner = rule.head.args[0]
    known = vocabulary.plans if rule.head.name == "plan" else vocabulary.laws
    return not isinstance(owner, Fun) or owner.name in known


def _take(into: dict[str, _T], of: Mapping[str, _T], name: str) -> None:
    if name in of:
        into[name] = of[name]
    else:
        into.pop(name, None)


def _edited(row: Row | None, earlier: Row | None, column: str) -> Row | None:
    """A row as it was before, or with one cell as it was."""
    if not column:
        return earlier
    if row is None or earlier is None:
        # A cell of a row that another piece takes away is gone with it.
        return row
    cells = dict(row.cells)
    cell = earlier.cells.get(column)
    if cell is None:
        cells.pop(column, None)
    else:
        cells[column] = cell
    return row._replace(cells=cells)
