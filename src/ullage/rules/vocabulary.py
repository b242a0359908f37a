"""What every predicate of a policy takes: tables, derived predicates, laws and their terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ullage.declarations import Declarations, Table, elsewhere
from ullage.findings import Finding, Position, counted, listed, similar
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl, Predicate, TermDecl
from ullage.rules.terms import Atom, Fun
from ullage.sorts import (
    COUNT,
    BoolSort,
    ClosedSort,
    CountSort,
    EntitySort,
    FormsSort,
    Sort,
    TextSort,
    TupleSort,
)

_SHAPES = {
    "standing": "standing(law, Subject, verdict)",
    "reason": "reason(law, Subject, Term)",
    "obligation": "obligation(law, Subject, Term)",
    "value": "value(law, Subject, name, Figure)",
    "plan": "plan(plan, Subject, name, Value)",
}

FOLLOWS = Finding("", "follows from a broken declaration, which has a finding of its own")

Slot = tuple[str, ...]
"""Where a value stands: a predicate, then column, law or argument, then the path inside terms."""


@dataclass(frozen=True, slots=True)
class Place:
    """What one argument of an atom takes: its sort (None: a fixed word) and its slot."""

    sort: Sort | None
    slot: Slot


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All predicates a rule may name."""

    declarations: Declarations
    predicates: Mapping[str, Predicate]
    laws: Mapping[str, LawDecl] = field(default_factory=dict)
    plans: Mapping[str, PlanDecl] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    """Names whose docstring cannot be read: what uses them is not to blame."""

    def known(self) -> list[str]:
        """Every predicate's name."""
        derived = [p for p in self.predicates if "'" not in p]
        return [*self.declarations.tables, *derived, *BUILTIN]

    def places(self, atom: Atom) -> tuple[Place, ...] | Finding:
        """What each argument of an atom takes, or why the atom cannot be."""
        table = self.declarations.tables.get(atom.name)
        if table is not None:
            return self._table(atom, table)
        if atom.name in BUILTIN:
            return self._builtin(atom)
        predicate = self.predicates.get(atom.name)
        if predicate is None and atom.name in self.broken:
            return FOLLOWS
        if predicate is None:
            return Finding(
                "undeclared-predicate",
                f"no table or docstring declares `{atom.name}/{len(atom.args)}`",
                (atom.position,),
                similar(atom.name, self.known(), "predicate")
                or "declare it in a docstring: `%*! name(Argument) … *%`",
            )
        if predicate.arity != len(atom.args):
            shown = ", ".join(a for a, _ in predicate.arguments)
            return _arity(
                atom,
                counted(predicate.arity, "argument"),
                predicate.position,
                f"it is declared as `{atom.name}({shown})`",
            )
        return tuple(Place(s, (atom.name, str(i))) for i, (_, s) in enumerate(predicate.arguments))

    def _table(self, atom: Atom, table: Table) -> tuple[Place, ...] | Finding:
        key = Place(table.key_sort, (atom.name, ""))
        if len(atom.args) == 1:
            return (key,)
        if len(atom.args) != 3:
            return _arity(
                atom,
                "one argument for a row, or three for a row's column",
                table.position,
                f"write `{atom.name}(Key)` or `{atom.name}(Key, column, Value)`",
            )
        column = _word(atom, 1, "a column's name")
        if isinstance(column, Finding):
            return column
        declared = table.columns.get(column)
        if declared is None:
            keys = [c.name for c in table.key]
            help = (
                f"`{column}` is in the key, the first argument"
                if column in keys
                else "rules do not read sources; they stay with the facts"
                if column == "source"
                else elsewhere(column, table, self.declarations)
                or similar(column, table.columns, "column")
            )
            return Finding(
                "unknown-column",
                f"table `{table.name}` has no column `{column}`",
                (
                    atom.args[1].position,
                    replace(table.position, note="declares its columns"),
                ),
                help,
            )
        sort: Sort = TupleSort.of(COUNT, declared.sort) if declared.many else declared.sort
        return (key, Place(None, ()), Place(sort, (atom.name, column)))

    def _builtin(self, atom: Atom) -> tuple[Place, ...] | Finding:
        arity = BUILTIN[atom.name]
        if len(atom.args) != arity:
            return _arity(atom, counted(arity, "argument"), None, f"write `{_SHAPES[atom.name]}`")
        kind = "plan" if atom.name == "plan" else "law"
        name = _word(atom, 0, f"a {kind}'s name")
        if isinstance(name, Finding):
            return name
        plan = self.plans.get(name)
        law = self.laws.get(name)
        if (plan if kind == "plan" else law) is None:
            if name in self.broken:
                return FOLLOWS
            return Finding(
                f"unknown-{kind}",
                f"no docstring declares a {kind} `{name}`",
                (atom.args[0].position,),
                similar(name, self.plans if kind == "plan" else self.laws, kind),
            )
        if kind == "plan":
            assert plan is not None
            return self._value(atom, plan, (f"plan {name}",))
        assert law is not None
        subject = Place(law.subject_sort, (name, "subject"))
        first = Place(None, ())
        if atom.name == "standing":
            verdicts = ClosedSort(f"verdict of {name}", "", tuple(law.verdicts))
            return (first, subject, Place(verdicts, ()))
        if atom.name == "reason":
            return (
                first,
                subject,
                Place(_forms(f"reason of {name}", law.reasons), (name, "reason")),
            )
        if atom.name == "obligation":
            forms = _forms(f"obligation of {name}", law.obligations)
            return (first, subject, Place(forms, (name, "obligation")))
        return self._value(atom, law, (name,))

    def _value(
        self, atom: Atom, owner: LawDecl | PlanDecl, slot: Slot
    ) -> tuple[Place, ...] | Finding:
        """What ``value`` of a law, or ``plan`` of a plan, takes."""
        kind = atom.name if atom.name == "plan" else "law"
        value = _word(atom, 2, "a value's name")
        if isinstance(value, Finding):
            return value
        if value not in owner.values:
            declared = replace(owner.position, note=f"declares the {kind}'s values")
            return Finding(
                "undeclared-value",
                f"the {kind} `{owner.name}` declares no value `{value}`",
                (atom.args[2].position, declared),
                similar(value, owner.values, "value"),
            )
        fixed = Place(None, ())
        subject = Place(owner.subject_sort, (*slot, "subject"))
        return (fixed, subject, fixed, Place(owner.values[value], (*slot, "value", value)))


def _forms(name: str, terms: Mapping[str, TermDecl]) -> FormsSort:
    return FormsSort(name, "", MappingProxyType({t.name: t.arguments for t in terms.values()}))


def _word(atom: Atom, index: int, what: str) -> str | Finding:
    """The constant that an argument must be."""
    arg = atom.args[index]
    if isinstance(arg, Fun) and not arg.args:
        return arg.name
    return Finding(
        "not-a-word",
        f"argument {index + 1} of `{atom.name}` must be {what}, written as it is",
        (arg.position,),
        "a variable or an expression there would have no sort",
    )


def _arity(atom: Atom, wanted: str, declared: Position | None, help: str) -> Finding:
    positions: tuple[Position, ...] = (atom.position,)
    if declared is not None:
        positions += (replace(declared, note="declares it"),)
    return Finding(
        "wrong-arity",
        f"`{atom.name}` takes {wanted}, not {len(atom.args)}",
        positions,
        help,
    )


def members(sort: Sort) -> str:
    """What a closed sort or a forms sort admits, for a hint."""
    if isinstance(sort, ClosedSort):
        return f"values are {listed(sort.values)}"
    if isinstance(sort, FormsSort):
        return f"terms are {listed(tuple(sort.forms))}" if sort.forms else "none is declared"
    if isinstance(sort, BoolSort):
        return "values are `true`, `false`"
    if isinstance(sort, TupleSort):
        return f"write a tuple `({', '.join(i.name for i in sort.items)})`"
    if isinstance(sort, CountSort):
        return "write digits without quotes"
    if isinstance(sort, TextSort | EntitySort):
        return "names and texts are written in quotes"
    return ""
