"""Where values of some columns go: which arguments of what rules conclude are taken from them.

A part of a conclusion is one where a variable stands that is bound by such a value, or by what is
computed from one. What only decides whether a rule applies goes nowhere: a comparison, a join, how
many there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from ullage.declarations import Declarations
from ullage.rules import terms
from ullage.rules.declared import BUILTIN
from ullage.rules.terms import (
    Aggregate,
    Comparison,
    Expr,
    Fun,
    Literal,
    Op,
    Pool,
    Rule,
    Span,
    Tup,
    Var,
)

Step = int | tuple[str, int]
"""A part of a tuple, or one of a term of that name."""

Path = tuple[Step, ...]
"""The way to a part of a value, from outside in; the empty one is the whole."""

Paths = frozenset[Path]

NONE: Paths = frozenset()

WHOLE: Paths = frozenset({()})


def inside(paths: Collection[Path], step: Step) -> Paths:
    """What of one part of a value the paths name; all of it where they name all of the value."""
    if () in paths:
        return WHOLE
    return frozenset(p[1:] for p in paths if p[0] == step)


def sensitive_columns(declarations: Declarations) -> set[tuple[str, str]]:
    """The columns, by table and name, that are declared sensitive or hold the values of one.

    One that references a table whose key is sensitive holds that key; the parts of dotted names
    tell the names.
    """
    columns = {
        (table.name, column.name): column
        for table in declarations.tables.values()
        for column in (*table.key, *table.columns.values())
    }
    found = {at for at, column in columns.items() if column.sensitive}
    keys = {t.name: (t.name, t.key[0].name) for t in declarations.tables.values() if t.key}
    while True:
        more = {at for at, c in columns.items() if any(keys.get(r) in found for r in c.references)}
        sorts = {columns[at].sort for at in found}
        for table in declarations.tables.values():
            if table.computed is not None and table.computed.sort in sorts:
                more |= {(table.name, column.name) for column in table.key}
        if more <= found:
            return found
        found |= more


def flows(
    rules: Iterable[Rule], declarations: Declarations, columns: Collection[tuple[str, str]]
) -> Mapping[str, Paths]:
    """Where the columns' values go: parts of what is concluded, by predicate (see ``place``)."""
    found = _Flows(rules, declarations, columns)
    return MappingProxyType({name: frozenset(paths) for name, paths in found.tainted.items()})


def place(name: str, *words: str) -> str:
    """What parts are told of: a predicate; of what each law concludes, the law's (and value's)."""
    return f"{name}({','.join(words)})" if words else name


class _Flows:
    """Follows values from rule to rule until nothing is new."""

    def __init__(
        self,
        rules: Iterable[Rule],
        declarations: Declarations,
        columns: Collection[tuple[str, str]],
    ) -> None:
        self.tables = declarations.tables
        self.tainted: dict[str, set[Path]] = {}
        for table in self.tables.values():
            single = len(table.key) == 1
            key: set[Path] = {
                (0,) if single else (0, i)
                for i, column in enumerate(table.key)
                if (table.name, column.name) in columns
            }
            self.tainted[table.name] = key
            for column in table.columns.values():
                own: Path = (2, 1) if column.many else (2,)
                cell: set[Path] = {own} if (table.name, column.name) in columns else set()
                self.tainted[place(table.name, column.name)] = key | cell
        readers: dict[str, list[Rule]] = {}
        for rule in rules:
            for use in terms.uses(rule.body):
                readers.setdefault(self._place(use.atom), []).append(rule)
        begun = [name for name, paths in self.tainted.items() if paths]
        pending = {id(r): r for name in begun for r in readers.get(name, ())}
        while pending:
            _, rule = pending.popitem()
            head = self._place(rule.head)
            known = self.tainted.setdefault(head, set())
            before = len(known)
            known |= self._concluded(rule)
            if len(known) > before:
                pending |= {id(r): r for r in readers.get(head, ())}

    def _place(self, atom: terms.Atom) -> str:
        words = []
        if atom.name in self.tables:
            words = [a.name for a in atom.args[1:2] if isinstance(a, Fun)]
        elif atom.name in BUILTIN:
            places = (0, 2) if atom.name in ("value", "plan") else (0,)
            words = [a.name for i in places if isinstance(a := atom.args[i], Fun)]
        return place(atom.name, *words)

    def _concluded(self, rule: Rule) -> set[Path]:
        """The parts of a rule's head that such values reach."""
        known: dict[str, set[Path]] = {}
        self._follow(rule.body, known)
        return {(i, *path) for i, arg in enumerate(rule.head.args) for path in _paths(arg, known)}

    def _follow(self, literals: Iterable[Literal], known: dict[str, set[Path]]) -> None:
        """What of the variables such values reach through literals."""
        literals = list(literals)
        size = -1
        while size != (size := sum(map(len, known.values()))):
            for literal in literals:
                self._literal(literal, known)

    def _literal(self, literal: Literal, known: dict[str, set[Path]]) -> None:
        match literal:
            case terms.Atom(sign=0):
                tainted = self.tainted.get(self._place(literal), set())
                for i, arg in enumerate(literal.args):
                    _reach(arg, inside(tainted, i), known)
            case Comparison(sign=0):
                for left, op, right in literal.links():
                    if op == "=":
                        _reach(left, _paths(right, known), known)
                        _reach(right, _paths(left, known), known)
            case Aggregate(function="sum" | "min" | "max"):
                within = {name: set(paths) for name, paths in known.items()}
                self._follow([c for e in literal.elements for c in e.conditions], within)
                if any(_paths(e.terms[0], within) for e in literal.elements):
                    for op, guard in literal.guards:
                        if op == "=":
                            _reach(guard, WHOLE, known)
            case _:
                pass


def _reach(term: Expr, paths: Collection[Path], known: dict[str, set[Path]]) -> None:
    """Note what of a term's variables is reached where these parts of the term are."""
    if not paths:
        return
    match term:
        case Var(name=name):
            known.setdefault(name, set()).update(paths)
        case Tup(args=args):
            for i, arg in enumerate(args):
                _reach(arg, inside(paths, i), known)
        case Fun(name=name, args=args):
            for i, arg in enumerate(args):
                _reach(arg, inside(paths, (name, i)), known)
        case Pool(args=args):
            for arg in args:
                _reach(arg, paths, known)
        case _:
            for variable in terms.variables(term):
                known.setdefault(variable.name, set()).add(())


def _paths(term: Expr, known: Mapping[str, Collection[Path]]) -> set[Path]:
    """The parts of a term that are reached where these parts of its variables are."""
    match term:
        case Var(name=name):
            return set(known.get(name, ()))
        case Tup(args=args):
            return {(i, *p) for i, arg in enumerate(args) for p in _paths(arg, known)}
        case Fun(name=name, args=args):
            return {((name, i), *p) for i, arg in enumerate(args) for p in _paths(arg, known)}
        case Pool(args=args):
            return {p for arg in args for p in _paths(arg, known)}
        case Op() | Span():
            return {()} if any(known.get(v.name) for v in terms.variables(term)) else set()
    return set()
