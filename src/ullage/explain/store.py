"""The atoms of a solved policy, fetched as a question reaches them.

Rows of tables are found among the facts. Derived atoms are asked of the solver: of a thing that few
rows name, all atoms that name it at once; else those that share what is known of their arguments. A
predicate of few atoms, or one that is asked again and again, is read whole. So a question about one
subject among thousands reads that one's atoms alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from clingo.symbol import Function, Number, String, Symbol, SymbolType

from ullage.columns import Row
from ullage.explain.asking import Asking, Signature, Sorts
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
        self.things: set[str] = set()
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
        lookups = tuple(
            _lookup(patterns, sorts)
            for signature, sorts in self.signatures.items()
            if signature[0] == name and _of_signature(patterns, signature, sorts)
        )
        if (name, lookups) in self.asked:
            return
        if not all(lookup.known for lookup in lookups) or self._is_worth_all(name):
            self.whole.add(name)
            for arity in self.arities[name]:
                for symbol in self.model.atoms(name, arity):
                    self._take(symbol, name)
            return
        named = [t for lookup in lookups for t in _strings(lookup.known)]
        if not self.things.isdisjoint(named):
            return
        alone = next((t for t in named if self.mentions.get(t, 0) <= _MANY), None)
        if alone is not None:
            self.things.add(alone)
            for predicate, atom in self.asking.naming(alone):
                if predicate not in self.whole:
                    self._take(atom, predicate)
            return
        self.asked.add((name, lookups))
        for lookup in lookups:
            for atom in self.asking.matching(name, *lookup):
                self._take(atom, name)

    @cached_property
    def mentions(self) -> Counter[str]:
        """How many rows name each thing."""
        found: Counter[str] = Counter()
        for rows in self.base.rows.values():
            for row in rows:
                found.update(_named_by(row))
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
        owner = word = ""
        if name in BUILTIN:
            owner = arguments[0].name
            word = arguments[2].name if name in ("value", "plan") else ""
        sorts = self.signatures[name, owner, word]
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


def _fixed(term: Expr) -> str:
    assert isinstance(term, Fun)
    return term.name


class _Lookup(NamedTuple):
    """The arguments of a predicate as terms, with a variable ``K0``, ``K1``, … for each known part,
    and what these stand for.
    """

    arguments: tuple[str, ...]
    known: tuple[Symbol, ...]


def _lookup(patterns: Sequence[Pattern], sorts: Sorts) -> _Lookup:
    """What asks for the atoms that may fit patterns."""
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
        known.append(value)
        return f"K{len(known) - 1}"

    arguments = tuple(map(term, patterns, sorts))
    return _Lookup(arguments, tuple(known))


def _strings(symbols: Iterable[Symbol]) -> Iterator[str]:
    return (s.string for s in symbols if s.type is SymbolType.String)


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
