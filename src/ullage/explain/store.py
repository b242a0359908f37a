"""The atoms of a solved policy, fetched as a question reaches them.

Rows of tables are found among the facts. Derived atoms are asked of the solver: of a thing that few
rows and atoms name, all atoms that name it at once; else those that share what is known of their
arguments. A predicate of few atoms, or one that is asked again and again, is read whole; and where
questions differ in one part, place after place or name after name, all that they might ask is read
at once. So a question about one subject among thousands reads that one's atoms alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from clingo.symbol import Function, Number, String, Symbol

from ullage.columns import Row
from ullage.explain.asking import Asking, Signature, Sorts, Thing
from ullage.facts import FactBase
from ullage.reference.evaluate import AtomSet
from ullage.reference.facts import Reading, atoms_of
from ullage.reference.values import Atom, Figure, Form, Pattern, Value, Word
from ullage.rules import numbers
from ullage.rules.book import RuleBook
from ullage.rules.declared import BUILTIN
from ullage.rules.terms import Expr, Fun
from ullage.solve import Model
from ullage.sorts import (
    BoolSort,
    ClosedSort,
    CountSort,
    EntitySort,
    ExactSort,
    FormsSort,
    Sort,
    TextSort,
    TupleSort,
)

_FEW = 600
"""A predicate of fewer atoms is read whole."""

_EACH = 80
"""How many atoms of a predicate are read in the time that it takes to ask for some."""

_MANY = 50
"""A thing that more rows name is not asked for as such: too many atoms would name it."""

_CROWD = 2_000
"""A thing that more atoms name is not read as such."""

_ALIKE = 3
"""So many questions that differ in one part are asked alone, and then all such at once."""


class Known:
    """The atoms that hold, to be asked by pattern."""

    def __init__(self, book: RuleBook, base: FactBase, model: Model) -> None:
        self.base = base
        self.model = model
        self.signatures = _signatures(book)
        self.arities: dict[str, set[int]] = {}
        for (name, _, _), sorts in self.signatures.items():
            self.arities.setdefault(name, set()).add(len(sorts))
        self.derived = AtomSet()
        self.whole: set[str] = set()
        self.asking = Asking(model, self.signatures)
        self.asked: set[tuple[str, tuple[_Lookup, ...]]] = set()
        self.times: dict[str, int] = {}
        self.alike: Counter[tuple[str, _Lookup]] = Counter()
        self.read: set[tuple[str, _Lookup]] = set()
        self.things: set[Thing] = set()
        self.crowded: set[Thing] = set()
        self.tables: dict[str, _Rows] = {}

    def matching(self, name: str, patterns: Sequence[Pattern]) -> Iterable[tuple[Value, ...]]:
        """The arguments of atoms that may fit the patterns."""
        if name in self.base.declarations.tables:
            return (args for args, _ in self.rows(name).matching(patterns))
        self._fetch(name, patterns)
        return self.derived.matching(name, patterns)

    def reading(self, atom: Atom) -> Reading | None:
        """What an atom of a table was read from; None for a derived one, or one that is not."""
        name, arguments = atom
        if name not in self.base.declarations.tables:
            return None
        found = self.rows(name).matching(arguments)
        return next((r for args, r in found if args == arguments), None)

    def rows(self, table: str) -> _Rows:
        """The rows of a table, to be asked by key."""
        if table not in self.tables:
            self.tables[table] = _Rows(self.base, table)
        return self.tables[table]

    def _fetch(self, name: str, patterns: Sequence[Pattern]) -> None:
        """Read the atoms that may fit the patterns, or all of their predicate."""
        if name in self.whole or name not in self.arities:
            return
        fitting = [
            sorts
            for signature, sorts in self.signatures.items()
            if signature[0] == name and _of_signature(patterns, signature, sorts)
        ]
        lookups = tuple(_lookup(patterns, sorts) for sorts in fitting)
        if (name, lookups) in self.asked:
            return
        if not all(lookup.known for lookup in lookups) or self._is_worth_all(name):
            self.whole.add(name)
            for arity in self.arities[name]:
                for symbol in self.model.atoms(name, arity):
                    self._take(symbol, name)
            return
        named = [t for sorts in fitting for t in _things(patterns, sorts)]
        if not self.things.isdisjoint(named):
            return
        alone = self._alone(named)
        if alone is not None and self._name(alone[0], [alone[1]]):
            return
        self.asked.add((name, lookups))
        for lookup, sorts in zip(lookups, fitting, strict=True):
            parts = range(len(lookup.known) if len(lookup.known) > 1 else 0)
            self._ask(name, lookup, [_lookup(patterns, sorts, without=part) for part in parts])

    def _ask(self, name: str, lookup: _Lookup, wider: Sequence[_Lookup]) -> None:
        """Read what a lookup finds, or what one of the wider ones does."""
        if any((name, wide) in self.read for wide in wider):
            return
        for wide in wider:
            self.alike[name, wide] += 1
            if self.alike[name, wide] == _ALIKE + 1:
                found = list(self.asking.matching(name, *wide))
                if len(found) < _FEW:
                    self.read.add((name, wide))
                    for atom in found:
                        self._take(atom, name)
                    return
        for atom in self.asking.matching(name, *lookup):
            self._take(atom, name)

    def expect(self, atoms: Iterable[Atom]) -> None:
        """Read at once what will be asked for next, thing by thing, about these atoms."""
        things: dict[str, dict[str, None]] = {}
        for name, arguments in atoms:
            if name in self.whole or name not in self.arities:
                continue
            named = list(_things(arguments, self.signatures[_signature(name, arguments)]))
            if self.things.isdisjoint(named) and (alone := self._alone(named)) is not None:
                things.setdefault(alone[0], {})[alone[1]] = None
        for sort, texts in things.items():
            self._name(sort, texts)

    def _alone(self, named: Iterable[Thing]) -> Thing | None:
        """The first of these things that few rows name."""
        return next((t for t in named if t not in self.crowded and not self._is_common(t[1])), None)

    def _is_common(self, text: str) -> bool:
        """Whether many rows name a thing, or what is named together with it by a row of its own."""
        rows = self.mentions.get(text, [])
        if len(rows) > _MANY:
            return True
        beside = {part for row in rows for part in row.key if isinstance(part, str)}
        return any(len(self.mentions[part]) > _MANY for part in beside)

    def _name(self, sort: str, texts: Collection[str]) -> bool:
        """Read all atoms that name things of a sort; false where they are too many."""
        found = list(self.asking.naming(sort, texts))
        things = {(sort, text) for text in texts}
        if len(found) > _CROWD * len(things):
            self.crowded |= things
            return False
        self.things |= things
        for predicate, atom in found:
            if predicate not in self.whole:
                self._take(atom, predicate)
        return True

    @cached_property
    def mentions(self) -> Mapping[str, Sequence[Row]]:
        """The rows that name each thing."""
        found: dict[str, list[Row]] = {}
        for rows in self.base.rows.values():
            for row in rows:
                for thing in _named_by(row):
                    found.setdefault(thing, []).append(row)
        return found

    def _is_worth_all(self, name: str) -> bool:
        """Whether a predicate is read whole in the time that asking for parts of it took so far."""
        times = self.times[name] = self.times.get(name, 0) + 1
        if times & (times - 1):
            return False
        most = _FEW + _EACH * times
        return sum(self.model.count(name, a, most) for a in self.arities[name]) < most

    def _take(self, symbol: Symbol, name: str) -> None:
        arguments = symbol.arguments
        sorts = self.signatures[_signature(name, arguments)]
        values = (decode(s, sort) for s, sort in zip(arguments, sorts, strict=True))
        self.derived.add(name, tuple(values))


def _signatures(book: RuleBook) -> dict[Signature, Sorts]:
    """The sorts of what rules derive."""
    found: dict[Signature, Sorts] = {}
    for typed in book.rules:
        head = typed.rule.head
        places = typed.places[id(head)]
        owner = word = ""
        if head.name in BUILTIN:
            owner = _fixed(head.args[0])
            word = _fixed(head.args[2]) if head.name in ("value", "plan") else ""
        found[head.name, owner, word] = tuple(p.sort for p in places)
    return found


def _signature(name: str, arguments: Sequence[Symbol | Value]) -> Signature:
    """Which of the predicates of one name an atom is of, by its words."""
    if name not in BUILTIN:
        return name, "", ""
    words = [getattr(arguments[place], "name", "") for place in (0, 2)]
    return name, words[0], words[1] if name in ("value", "plan") else ""


def _fixed(term: Expr) -> str:
    assert isinstance(term, Fun)
    return term.name


class _Lookup(NamedTuple):
    """The arguments of a predicate as terms, with a variable ``K0``, ``K1``, … for each known part,
    and what these stand for.
    """

    arguments: tuple[str, ...]
    known: tuple[Symbol, ...]


def _lookup(patterns: Sequence[Pattern], sorts: Sorts, *, without: int = -1) -> _Lookup:
    """What asks for the atoms that may fit patterns, with any value for a known part left out."""
    parts = itertools.count()
    known: list[Symbol] = []
    fresh = itertools.count()

    def term(pattern: Pattern, sort: Sort | None) -> str:
        match pattern, sort:
            case tuple(), TupleSort(items=items) if len(pattern) == len(items):
                inner = ",".join(map(term, pattern, items))
                return f"({inner},)" if len(items) == 1 else f"({inner})"
            case Form(name=name, args=args), FormsSort(forms=forms):
                if len(args) == len(forms.get(name, ())):
                    return f"{name}({','.join(map(term, args, (s for _, s in forms[name])))})"
            case str(), EntitySort() | TextSort():
                return variable(String(pattern))
            case Word(name=name), BoolSort() | ClosedSort() | FormsSort() | None:
                return variable(Function(name))
            case Figure(value=number), CountSort() if number.denominator == 1:
                return variable(Number(int(number)))
        return f"X{next(fresh)}"

    def variable(value: Symbol) -> str:
        if next(parts) == without:
            return f"X{next(fresh)}"
        known.append(value)
        return f"K{len(known) - 1}"

    arguments = tuple(map(term, patterns, sorts))
    return _Lookup(arguments, tuple(known))


def _things(patterns: Sequence[Pattern], sorts: Sequence[Sort | None]) -> Iterator[Thing]:
    """The names and texts in values, each with its sort, in their order."""
    for pattern, sort in zip(patterns, sorts, strict=True):
        match pattern, sort:
            case str(), EntitySort() | TextSort():
                yield sort.name, pattern
            case tuple(), TupleSort(items=items) if len(pattern) == len(items):
                yield from _things(pattern, items)
            case Form(name=name, args=args), FormsSort(forms=forms):
                if len(args) == len(forms.get(name, ())):
                    yield from _things(args, [s for _, s in forms[name]])


def _named_by(row: Row) -> set[str]:
    """The names and texts in a row."""
    cells = [c.value for c in row.cells.values()]
    lists = [c.value for cell in cells if isinstance(cell, tuple) for c in cell]
    return {v for v in (*row.key, *cells, *lists) if isinstance(v, str)}


def _of_signature(patterns: Sequence[Pattern], signature: Signature, sorts: Sorts) -> bool:
    """Whether atoms of a signature may fit the patterns."""
    fixed = iter(word for word in signature[1:] if word)
    return len(patterns) == len(sorts) and all(
        pattern in (None, Word(next(fixed)))
        for pattern, sort in zip(patterns, sorts, strict=True)
        if sort is None
    )


def decode(symbol: Symbol, sort: Sort | None) -> Value:
    """A term of the solver as a value of the reference."""
    match sort:
        case ExactSort():
            return Figure(numbers.decode(symbol), sort.name)
        case CountSort():
            return Figure(Fraction(symbol.number), "count")
        case BoolSort() | ClosedSort() | None:
            return Word(symbol.name)
        case TupleSort(items=items):
            return tuple(decode(s, i) for s, i in zip(symbol.arguments, items, strict=True))
        case FormsSort(forms=forms):
            if not symbol.arguments:
                return Word(symbol.name)
            sorts = (s for _, s in forms[symbol.name])
            args = tuple(decode(s, i) for s, i in zip(symbol.arguments, sorts, strict=True))
            return Form(symbol.name, args)
    return symbol.string


class _Rows:
    """The rows of one table, found by any part of their key."""

    def __init__(self, base: FactBase, table: str) -> None:
        self.base = base
        self.all = base.rows.get(table, ())
        self.by_part: list[dict[object, list[Row]]] = []
        self.atoms: dict[tuple[object, ...], list[tuple[tuple[Value, ...], Reading]]] = {}
        self.key = base.declarations.tables[table].key

    def matching(self, patterns: Sequence[Pattern]) -> Iterator[tuple[tuple[Value, ...], Reading]]:
        """Atoms of the rows that may fit, each with what it was read from."""
        column = patterns[1] if len(patterns) == 3 else None
        for row in self._rows(patterns[0]):
            for args, reading in self._atoms(row):
                if len(args) == len(patterns) and (column is None or args[1] == column):
                    yield args, reading

    def _atoms(self, row: Row) -> list[tuple[tuple[Value, ...], Reading]]:
        """The atoms of a row, made when it is first looked at."""
        if row.key not in self.atoms:
            self.atoms[row.key] = [(args, told) for (_, args), told in atoms_of(self.base, row)]
        return self.atoms[row.key]

    def with_key(self, pattern: Pattern) -> list[Row]:
        """The rows whose key may fit a pattern."""
        return list(self._rows(pattern))

    def _rows(self, pattern: Pattern) -> Collection[Row]:
        single = len(self.key) == 1
        parts = [pattern] if single else pattern if isinstance(pattern, tuple) else []
        best: Collection[Row] = self.all
        for place, part in enumerate(parts):
            # The text of a quantity is not yet the figure that a key holds.
            written = isinstance(part, str) and isinstance(self.key[place].sort, ExactSort)
            if isinstance(part, str | Word | Figure) and not written:
                found = self._index()[place].get(_plain(part), ())
                if len(found) < len(best):
                    best = found
        return best

    def _index(self) -> list[dict[object, list[Row]]]:
        if not self.by_part:
            self.by_part = [{} for _ in self.key]
            for row in self.all:
                for place, part in enumerate(row.key):
                    self.by_part[place].setdefault(part, []).append(row)
        return self.by_part


def _plain(value: str | Word | Figure) -> object:
    """A part of a key as rows hold it."""
    match value:
        case Word(name=name):
            return {"true": True, "false": False}.get(name, name)
        case Figure(value=number):
            return number
    return value
