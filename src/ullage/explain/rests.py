"""What conclusions rest on: the rows and rules that were looked at to conclude them.

What holds rests on its shortest derivation. What must not hold, and that a set has no further
member, rests on all that was looked at in vain: each rule that could conclude it, each of its
conditions as far as they hold, each row that fits. So a conclusion changes only where one of these
does, or where a row or rule comes that would be looked at, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ullage.columns import Row
from ullage.explain.derive import Derivation, Explainer, Remembering, Support
from ullage.reference.bodies import Bindings, Member, complete, outer_names, pools_apart
from ullage.reference.evaluate import node
from ullage.reference.facts import key_of
from ullage.reference.values import Atom, Pattern
from ullage.rules import terms
from ullage.rules.terms import Aggregate, Expr, Rule

Lookup = tuple[str, tuple[Pattern, ...]]
"""A predicate, and what was known of the arguments of the atoms that were looked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A group of conclusions: atoms that hold, and what was looked for whether or not it does."""

    atoms: Sequence[Atom] = ()
    lookups: Sequence[Lookup] = ()


@dataclass(frozen=True, slots=True)
class Rests:
    """What a group of conclusions rests on: rows and rules in order of place, and whole tables.

    Under a ``not``, rules that conclude in a circle are not followed instance by instance: they and
    all rules below them are among the rules, and each table below them is one of ``tables``.
    """

    rows: tuple[Row, ...]
    rules: tuple[Rule, ...]
    tables: tuple[str, ...]


def rests_on(explainer: Explainer, groups: Sequence[Asked]) -> list[Rests]:
    """What each group of conclusions rests on; what they share is worked out once."""
    search = _Search(explainer)
    search.follow(groups)
    return [search.rests(group) for group in groups]


class _Search:
    """What rests on what, as a graph without circles; its leaves are rows, rules and tables.

    Atoms and lookups are long, and hashed as a whole each time: each is a number.
    """

    def __init__(self, explainer: Explainer) -> None:
        self.explainer = explainer
        self.tables = explainer.base.declarations.tables
        self.bodies = _Logging(explainer)
        self.rules = [rule for found in explainer.rules.values() for rule in found]
        self.by_head: dict[tuple[str, int], list[Rule]] = {}
        for rule in self.rules:
            self.by_head.setdefault((rule.head.name, len(rule.head.args)), []).append(rule)
        # A set of leaves is a number: a bit for each.
        self.bits: dict[object, int] = {}
        self.leaves: list[Row | Rule | str] = []
        self.atoms: dict[Atom, int] = {}
        self.lookups: dict[Lookup, int] = {}
        self.pending: list[tuple[int, Lookup]] = []
        self.own: dict[int, int] = {}
        self.under: dict[int, list[int]] = {}
        self.all: dict[int, int] = {}

    def follow(self, groups: Iterable[Asked]) -> None:
        """Find what each conclusion rests on, and what that does."""
        groups = list(groups)
        derivation = self.explainer.derivation(*dict.fromkeys(a for g in groups for a in g.atoms))
        for group in groups:
            self._numbers(group.lookups)
        for atom in derivation.steps():
            self._atom(atom, derivation)
        while self.pending:
            self._lookup(*self.pending.pop())

    def rests(self, group: Asked) -> Rests:
        """What a group rests on, once all is followed."""
        found = 0
        for number in [*(self.atoms[a] for a in group.atoms), *self._numbers(group.lookups)]:
            found |= self._reached(number)
        leaves = [leaf for i, leaf in enumerate(self.leaves) if found >> i & 1]
        rows = [leaf for leaf in leaves if isinstance(leaf, Row)]
        rules = [leaf for leaf in leaves if isinstance(leaf, Rule)]
        return Rests(
            tuple(sorted(rows, key=lambda r: (r.file, r.line, r.column, r.table, str(r.key)))),
            tuple(sorted(rules, key=lambda r: r.position)),
            tuple(sorted(leaf for leaf in leaves if isinstance(leaf, str))),
        )

    def _reached(self, start: int) -> int:
        """The leaves under a node."""
        stack = [start]
        while stack:
            at = stack[-1]
            rest = [n for n in self.under[at] if n not in self.all]
            if rest:
                stack += rest
                continue
            stack.pop()
            if at not in self.all:
                found = self.own[at]
                for n in self.under[at]:
                    found |= self.all[n]
                self.all[at] = found
        return self.all[start]

    def _numbers(self, lookups: Iterable[Lookup]) -> list[int]:
        """The numbers of lookups; those that are new are to be taken in."""
        found = []
        for lookup in lookups:
            number = self.lookups.get(lookup)
            if number is None:
                number = self.lookups[lookup] = -1 - len(self.lookups)
                self.pending.append((number, lookup))
            found.append(number)
        return found

    def _atom(self, atom: Atom, derivation: Derivation) -> None:
        """Take in an atom that holds; those that it rests on are taken in already."""
        here = self.atoms[atom] = len(self.atoms)
        support = derivation.chosen(atom)
        if support is None:
            self.own[here] = self._row(derivation.readings[atom].row)
            self.under[here] = []
            return
        self.own[here] = self._rule(support.rule)
        self.under[here] = [self.atoms[p] for p in support.premises]
        self.under[here] += self._numbers(self._conditions(support))

    def _conditions(self, support: Support) -> dict[Lookup, None]:
        """What was looked for to find that an instance's conditions hold, besides its premises."""
        outer = outer_names(support.rule)
        with self.bodies.logged() as log:
            for told in support.conditions:
                if isinstance(told.literal, Aggregate):
                    self.bodies.members(told.literal, support.bindings)
                elif told.kind in ("absence", "each"):
                    self.bodies.test(told.literal, support.bindings, outer)
        return log

    def _lookup(self, here: int, lookup: Lookup) -> None:
        """Take in what was looked for, and what was looked for to find it, or that it is not."""
        name, patterns = lookup
        found: dict[Lookup, None] = {}
        leaves = 0
        if name in self.tables:
            for row in self._rows(name, patterns):
                leaves |= self._row(row)
        for rule in self.by_head.get((name, len(patterns)), ()):
            known = list(self.bodies.head_bindings(rule, patterns))
            if not known:
                continue
            if node(rule.head) in self.explainer.below[node(rule.head)]:
                leaves |= self._circle(node(rule.head))
                continue
            leaves |= self._rule(rule)
            with self.bodies.logged() as log:
                for bindings in known:
                    for _ in self.bodies.ways(rule, bindings):
                        pass
            found |= log
        self.own[here] = leaves
        self.under[here] = self._numbers(found)

    def _rows(self, table: str, patterns: Sequence[Pattern]) -> Iterator[Row]:
        """The rows that were looked at: the one that is named, or those that fit."""
        rows = self.explainer.known.rows(table)
        if complete(patterns[0]):
            for row in rows.with_key(patterns[0]):
                if self.bodies.fits(key_of(self.explainer.base, row), patterns[0]):
                    yield row
            return
        for arguments, reading in rows.matching(patterns):
            if all(map(self.bodies.fits, arguments, patterns)):
                yield reading.row

    def _circle(self, name: str) -> int:
        """The rules of a predicate that rests on itself, and the rules and tables below."""
        found = 0
        for rule in self.rules:
            if node(rule.head) in self.explainer.below[name]:
                found |= self._rule(rule)
        for table in self.explainer.below[name] & self.tables.keys():
            found |= self._bit(table, table)
        return found

    def _row(self, row: Row) -> int:
        return self._bit((row.table, row.key), row)

    def _rule(self, rule: Rule) -> int:
        return self._bit(rule.position, rule)

    def _bit(self, key: object, leaf: Row | Rule | str) -> int:
        if key not in self.bits:
            self.bits[key] = len(self.leaves)
            self.leaves.append(leaf)
        return 1 << self.bits[key]


class _Logging(Remembering):
    """Bodies that note what is looked for."""

    def __init__(self, explainer: Explainer) -> None:
        super().__init__(explainer.bodies.arithmetic, explainer.known)
        self.log: dict[Lookup, None] = {}
        self._logs: dict[tuple[object, ...], dict[Lookup, None]] = {}

    @contextmanager
    def logged(self) -> Iterator[dict[Lookup, None]]:
        """What is looked for while it lasts."""
        before, self.log = self.log, {}
        try:
            yield self.log
        finally:
            self.log = before

    def matches(
        self, atom: terms.Atom, bindings: Bindings, args: Sequence[Expr] | None = None
    ) -> Iterator[tuple[Bindings, Atom]]:
        """The atoms that an atom as written matches; what was looked for is noted."""
        for chosen in pools_apart(args or atom.args):
            self.log[atom.name, tuple(self.pattern(a, bindings) for a in chosen)] = None
        yield from super().matches(atom, bindings, args)

    def members(self, aggregate: Aggregate, bindings: Bindings) -> list[Member]:
        """The members of a set; what was looked for to find them is noted each time."""
        key = self.key(aggregate, bindings)
        with self.logged() as log:
            found = super().members(aggregate, bindings)
        self.log |= self._logs.setdefault(key, log)
        return found
