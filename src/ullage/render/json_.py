"""JSON by the schemas in ``ullage/schemas``: one element a line, so that texts compare by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from ullage.findings import Finding
from ullage.render.base import View
from ullage.results import Assumption, Bindings, Plan, Plans, Quantity, Standing, Term, Value

Json = str | bool | int | None | Sequence["Json"] | Mapping[str, "Json"]
"""What we write: figures are strings, so that no reader rounds them."""


class JsonRenderer:
    """The ``json`` format. Text beyond ASCII is escaped, so that any stream can carry it."""

    def __init__(self, view: View) -> None:
        """Needs nothing of the view: the text is the same everywhere."""

    def standings(self, standings: Sequence[Standing]) -> str:
        """``ullage/standings/1``."""
        return _document("standings", {}, "standings", (_standing(s) for s in standings))

    def plans(self, plans: Plans) -> str:
        """``ullage/plan/1``."""
        head = {"what_if": [_assumption(a) for a in plans.assumptions]}
        return _document("plan", head, "plans", (_plan(p) for p in plans))

    def findings(self, findings: Sequence[Finding]) -> str:
        """``ullage/findings/1``."""
        return _document("findings", {}, "findings", (_finding(f) for f in findings))

    def bindings(self, bindings: Bindings) -> str:
        """``ullage/query/1``."""
        rows = (
            {n: value_json(v) for n, v in zip(bindings.variables, row, strict=True)}
            for row in bindings.rows
        )
        return _document("query", {"variables": bindings.variables}, "rows", rows)


def value_json(value: Value) -> Json:
    """A value as JSON: figures as objects, tuples as lists, terms by name and arguments."""
    match value:
        case Quantity():
            return {"value": value.text, "unit": value.unit, "display": value.display}
        case Term():
            return {"name": value.name, "args": _args(value)}
        case tuple():
            return [value_json(v) for v in value]
        case _:
            return value


def _args(term: Term) -> Json:
    return {name: value_json(value) for name, value in term.args}


def _standing(standing: Standing) -> Json:
    return {
        "law": standing.law,
        "subject": {name: value_json(value) for name, value in standing.subject},
        "standing": standing.standing.value,
        "verdict": standing.verdict,
        "reasons": [{"reason": t.name, "args": _args(t)} for t in standing.reasons],
        "obligations": [{"obligation": t.name, "args": _args(t)} for t in standing.obligations],
        "values": {name: value_json(quantity) for name, quantity in standing.values},
    }


def _plan(plan: Plan) -> Json:
    return {
        "plan": plan.plan,
        "subject": {name: value_json(value) for name, value in plan.subject},
        "values": {name: value_json(value) for name, value in plan.values},
        "judged": None if plan.standing is None else _standing(plan.standing),
    }


def _assumption(assumption: Assumption) -> Json:
    old = assumption.old
    return {
        "flag": assumption.flag,
        "table": assumption.table,
        "key": assumption.key,
        "column": assumption.column,
        "old": None if old is None else value_json(old),
        "new": value_json(assumption.new),
    }


def _finding(finding: Finding) -> Json:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "positions": [
            {"file": p.file, "line": p.line, "column": p.column, "note": p.note}
            for p in finding.positions
        ],
        "help": finding.help,
    }


def _document(schema: str, head: Mapping[str, Json], name: str, elements: Iterable[Json]) -> str:
    # Each element is dumped by itself: an indented dump of a whole document is far slower.
    opening = json.dumps({"schema": f"ullage/{schema}/1", **head})[:-1]
    lines = ",\n".join(f"  {json.dumps(e)}" for e in elements)
    body = f"[\n{lines}\n ]" if lines else "[]"
    return f"{opening},\n {json.dumps(name)}: {body}}}\n"
