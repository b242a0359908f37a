"""JSON by the schemas in ``ullage/schemas``: one element a line, so that texts compare by line."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence

from ullage.diff.result import (
    Cause,
    Commit,
    Diff,
    History,
    NotTheSame,
    Reasoned,
    Turn,
    step,
)
from ullage.findings import Finding, Position
from ullage.moves import Moved, MovedPlan, Moves, SupposedCell, SupposedRow
from ullage.mutationreport import Fate, MutantResult, MutationReport
from ullage.render.base import View
from ullage.results import (
    Assumption,
    Bindings,
    Plan,
    Plans,
    Quantity,
    Standing,
    Term,
    Value,
    Waiver,
)
from ullage.testreport import CaseResult, Coverage, Outcome, TestReport

Json = str | bool | int | None | Sequence["Json"] | Mapping[str, "Json"]
"""What we write: figures are strings, so that no reader rounds them."""


class JsonRenderer:
    """The ``json`` format. Text beyond ASCII is escaped, so that any stream can carry it."""

    def __init__(self, view: View) -> None:
        """Needs nothing of the view: the text is the same everywhere."""

    def standings(self, standings: Sequence[Standing]) -> str:
        """``ullage/standings/1``."""
        return _document("standings", {}, standings=map(standing_json, standings))

    def plans(self, plans: Plans) -> str:
        """``ullage/plan/1``."""
        head = {"what_if": [_assumption(a) for a in plans.assumptions]}
        return _document("plan", head, plans=(_plan(p) for p in plans))

    def moves(self, moves: Moves) -> str:
        """``ullage/what-if/1``."""
        cells = [_cell(c) for c in moves.supposed if isinstance(c, SupposedCell)]
        rows = [_row(c) for c in moves.supposed if isinstance(c, SupposedRow)]
        return _document(
            "what-if",
            {"what_if": cells, "rows": rows, "left": moves.left},
            moved=(_moved(m) for m in moves.moved),
            plans=(_moved_plan(p) for p in moves.plans),
        )

    def diff(self, diff: Diff) -> str:
        """``ullage/diff/1``."""
        return _document(
            "diff",
            {"verdict": diff.verdict.value, "left": diff.left},
            moved=(_reasoned(r) for r in diff.moved),
            plans=(_reasoned(r) for r in diff.plans),
            without_effect=map(_cause, diff.without_effect),
            components_changed=map(_not_the_same, diff.not_the_same),
        )

    def history(self, history: History) -> str:
        """``ullage/log/1``."""
        return _document(
            "log",
            {"commits": history.length, "invalid": [_commit(c) for c in history.invalid]},
            standings=map(standing_json, history.standings),
            moves=map(_turn, history.turns),
        )

    def findings(self, findings: Sequence[Finding]) -> str:
        """``ullage/findings/1``."""
        return _document("findings", {}, findings=(_finding(f) for f in findings))

    def tests(self, report: TestReport) -> str:
        """``ullage/test/1``."""
        counts: dict[str, Json] = {o.value: len(report.of(o)) for o in Outcome}
        head: dict[str, Json] = {"counts": counts, "not_run": report.left_out}
        if report.coverage is not None:
            head["coverage"] = _coverage(report.coverage)
        return _document("test", head, cases=map(_case, report.results))

    def mutation(self, report: MutationReport) -> str:
        """``ullage/mutation/1``."""
        counts: dict[str, Json] = {f.value: len(report.of(f)) for f in Fate}
        head: dict[str, Json] = {
            "counts": counts,
            "cases": report.cases,
            "not_run": report.left_out,
            "findings": [_finding(f) for f in report.findings],
        }
        return _document("mutation", head, mutants=map(_mutant, report.results))

    def bindings(self, bindings: Bindings) -> str:
        """``ullage/query/1``."""
        rows = (
            {n: value_json(v) for n, v in zip(bindings.variables, row, strict=True)}
            for row in bindings.rows
        )
        return _document("query", {"variables": bindings.variables}, rows=rows)


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


def _coverage(coverage: Coverage) -> Json:
    return {
        "files": [dataclasses.asdict(file) for file in coverage.files],
        "uncovered": [
            {"what": u.what, "reason": u.reason, "position": _position(u.position)}
            for u in coverage.uncovered
        ],
    }


def _mutant(result: MutantResult) -> dict[str, Json]:
    case = result.case
    return {
        "rule": result.rule,
        "mutation": result.mutation,
        "before": result.before,
        "after": result.after,
        "outcome": result.fate.value,
        "position": _position(result.position),
        "cases_apart": result.apart,
        "killed_by": (
            None if case is None else {"name": result.killed_by, "position": _position(case)}
        ),
        "reason": result.reason,
    }


def _case(result: CaseResult) -> dict[str, Json]:
    return {
        "name": result.name,
        "law": result.law,
        "outcome": result.outcome.value,
        "reason": result.reason,
        "position": _position(result.position),
        "mismatches": [
            {
                "subject": m.subject,
                "what": m.what,
                "expected": m.expected,
                "found": m.found,
                "message": m.message,
                "position": _position(m.position),
            }
            for m in result.mismatches
        ],
        "milliseconds": round(result.duration * 1000),
    }


def _args(term: Term) -> Json:
    return {name: value_json(value) for name, value in term.args}


def standing_json(standing: Standing) -> dict[str, Json]:
    """A standing as JSON."""
    return {
        "law": standing.law,
        "subject": {name: value_json(value) for name, value in standing.subject},
        **_verdict(standing),
        "values": {name: value_json(quantity) for name, quantity in standing.values},
    }


def _verdict(standing: Standing) -> dict[str, Json]:
    return {
        "standing": standing.standing.value,
        "verdict": standing.verdict,
        "reasons": [{"reason": t.name, "args": _args(t)} for t in standing.reasons],
        "obligations": [{"obligation": t.name, "args": _args(t)} for t in standing.obligations],
        **waivers_json(standing),
    }


def waivers_json(standing: Standing) -> dict[str, Json]:
    """Whether a standing is waived, and by what."""
    return {"waived": standing.waived, "waivers": [waiver_json(w) for w in standing.waivers]}


def waiver_json(waiver: Waiver) -> dict[str, Json]:
    """A waiver as JSON."""
    return {
        "refusal": waiver.refusal,
        "reason": waiver.reason,
        "owner": waiver.owner,
        "expires": waiver.expires.isoformat(),
        "file": waiver.position.file,
        "line": waiver.position.line,
        "column": waiver.position.column,
    }


def _reasoned(reasoned: Reasoned) -> dict[str, Json]:
    move = reasoned.move
    told = _moved(move) if isinstance(move, Moved) else _moved_plan(move)
    way = step(move)
    return {
        **told,
        "way": "looser" if way > 0 else "stricter" if way < 0 else "neither",
        "causes": [_cause(c) for c in reasoned.causes],
        "alone": reasoned.alone,
    }


def _turn(turn: Turn) -> Json:
    told = _reasoned(turn.reasoned)
    return {"commit": _commit(turn.commit), "or": [_commit(c) for c in turn.among], **told}


def _commit(commit: Commit) -> Json:
    return {
        "name": commit.name,
        "date": commit.date,
        "author": commit.author,
        "title": commit.title,
    }


def _cause(cause: Cause) -> Json:
    return {
        "kind": cause.kind,
        "file": cause.place.file,
        "line": cause.place.line,
        "change": cause.change,
        "what": cause.what,
    }


def _not_the_same(thing: NotTheSame) -> Json:
    return {
        "predicate": thing.predicate,
        "name": {n: value_json(v) for n, v in thing.name},
        "old": {n: value_json(v) for n, v in thing.old},
        "new": {n: value_json(v) for n, v in thing.new},
    }


def _moved(moved: Moved) -> dict[str, Json]:
    return {
        "law": moved.law,
        "subject": {name: value_json(value) for name, value in moved.subject},
        "old": None if moved.old is None else _verdict(moved.old),
        "new": None if moved.new is None else _verdict(moved.new),
        "values": _changes(moved.values),
    }


def _moved_plan(plan: MovedPlan) -> dict[str, Json]:
    return {
        "plan": plan.plan,
        "subject": {name: value_json(value) for name, value in plan.subject},
        "change": "appears" if plan.old is None else "goes" if plan.new is None else "moves",
        "values": _changes(plan.values),
    }


def _changes(values: Mapping[str, tuple[Value | None, Value | None]]) -> Json:
    return {name: [_or_null(old), _or_null(new)] for name, (old, new) in values.items()}


def _or_null(value: Value | None) -> Json:
    return None if value is None else value_json(value)


def _cell(cell: SupposedCell) -> Json:
    return {
        "option": cell.option,
        "table": cell.table,
        "key": cell.key,
        "column": cell.column,
        "old": _or_null(cell.old),
        "new": _or_null(cell.new),
        "place": _position(cell.place),
    }


def _row(row: SupposedRow) -> Json:
    return {
        "table": row.table,
        "key": row.key,
        "place": _position(row.place),
        "replaces": None if row.replaces is None else _position(row.replaces),
    }


def _position(place: Position) -> Json:
    return {"file": place.file, "line": place.line, "column": place.column, "note": place.note}


def _plan(plan: Plan) -> Json:
    return {
        "plan": plan.plan,
        "subject": {name: value_json(value) for name, value in plan.subject},
        "values": {name: value_json(value) for name, value in plan.values},
        "judged": None if plan.standing is None else standing_json(plan.standing),
    }


def _assumption(assumption: Assumption) -> Json:
    return {
        "flag": assumption.flag,
        "table": assumption.table,
        "key": assumption.key,
        "column": assumption.column,
        "old": _or_null(assumption.old),
        "new": value_json(assumption.new),
    }


def _finding(finding: Finding) -> Json:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "positions": [_position(p) for p in finding.positions],
        "help": finding.help,
    }


def _document(schema: str, head: Mapping[str, Json], **lists: Iterable[Json]) -> str:
    # Each element is dumped by itself: an indented dump of a whole document is far slower.
    parts = [json.dumps({"schema": f"ullage/{schema}/1", **head})[:-1]]
    for name, elements in lists.items():
        lines = ",\n".join(f"  {json.dumps(e)}" for e in elements)
        body = f"[\n{lines}\n ]" if lines else "[]"
        parts.append(f"{json.dumps(name)}: {body}")
    return ",\n ".join(parts) + "}\n"


def document(content: Mapping[str, object], rows: str) -> str:
    """A JSON document with one line for each element of its last list."""
    head = {k: v for k, v in content.items() if k != rows}
    elements = content[rows]
    assert isinstance(elements, list)
    opening = json.dumps(head)[:-1]
    lines = ",\n".join(f"  {json.dumps(e)}" for e in elements)
    return f"{opening},\n {json.dumps(rows)}: [\n{lines}\n ]}}\n"
