"""One thing a line, for grep, editors and CI logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ullage.diff.result import Cause, Diff, History
from ullage.findings import Finding
from ullage.moves import Moved, MovedPlan, Moves, SupposedCell, SupposedRow
from ullage.mutationreport import Fate, MutationReport
from ullage.render.base import View
from ullage.render.diffs import identity
from ullage.render.text import field, label, one_line
from ullage.results import Bindings, Plan, Plans, Standing, Value, Waiver, exact_text_of
from ullage.testreport import CaseResult, Outcome, TestReport


class ConciseRenderer:
    """The ``concise`` format. Figures are exact; a field with a space in it is quoted."""

    def __init__(self, view: View) -> None:
        """Needs nothing of the view: the text is the same everywhere."""

    def standings(self, standings: Sequence[Standing]) -> str:
        """``law subject standing verdict reason;reason``, with obligations after the reasons.

        Behind them, after ``|``, each waiver as ``waived refusal until day by owner: reason``.
        """
        return _lines(_standing(s) for s in standings)

    def plans(self, plans: Plans) -> str:
        """``plan subject name=value``, and after ``|`` the standing that judges it, where one does.

        Before them what was supposed, as ``what-if table key column=value``.
        """
        supposed = (
            f"what-if {a.table} {field(a.key)} {a.column}={field(exact_text_of(a.new))}"
            for a in plans.assumptions
        )
        return _lines([*supposed, *(_plan(p) for p in plans)])

    def moves(self, moves: Moves) -> str:
        """``standing law subject class->class verdict->verdict -reason +reason name=old->new``.

        Waivers that come and go stand among the reasons, as ``"waived …"``.
        Plans are ``plan name subject name=old->new``, what was supposed ``what-if …`` before them.
        Where there is nothing, nothing stands.
        """
        return _lines(
            [
                *(_supposed(s) for s in moves.supposed),
                *(_moved(m) for m in moves.moved),
                *(_moved_plan(p) for p in moves.plans),
            ]
        )

    def diff(self, diff: Diff) -> str:
        """``verdict …``, a line for each move as ``moves`` has it, and ``path:line: …`` for causes.

        A cause follows the moves that it is of, led by ``by``, or ``with`` where it is one of
        several that moved it together; a change without effect is led by ``idle``, a thing that is
        not the same by ``other``.
        """
        lines = [f"verdict {diff.verdict.value}"]
        for reasoned in (*diff.moved, *diff.plans):
            move = reasoned.move
            lines.append(_moved(move) if isinstance(move, Moved) else _moved_plan(move))
            led = "by" if reasoned.alone or len(reasoned.causes) == 1 else "with"
            lines += [f"{led} {_cause(c)}" for c in reasoned.causes]
        lines += [one_line(f"other {identity(t)}") for t in diff.not_the_same]
        lines += [f"idle {_cause(c)}" for c in diff.without_effect]
        return _lines(lines)

    def history(self, history: History) -> str:
        """The standings, and for each move ``commit date`` and the lines that ``diff`` has."""
        lines = [_standing(s) for s in history.standings]
        for turn in history.turns:
            move = turn.reasoned.move
            assert isinstance(move, Moved)
            lines.append(f"commit {turn.commit.name} {turn.commit.date} {_moved(move)}")
            lines += [f"or {c.name}" for c in turn.among]
            lines += [f"by {_cause(c)}" for c in turn.reasoned.causes]
        lines += [f"invalid {c.name}" for c in history.invalid]
        return _lines(lines)

    def findings(self, findings: Sequence[Finding]) -> str:
        """``path:line:column: severity[code]: message``; no place, where none is known."""
        return _lines(_finding(f) for f in findings)

    def tests(self, report: TestReport) -> str:
        """``path:line:column: outcome: name: what differs``, a line for each thing amiss.

        Cases that passed have a line where each case is to have one. What no case has shown of the
        rules is ``path:line:column: uncovered rule: why``, likewise of a condition.
        """
        lines = [line for result in report.results for line in _test(result, report)]
        if report.coverage is not None:
            lines += [
                one_line(f"{u.position}: uncovered {u.what}: {u.reason}")
                for u in report.coverage.uncovered
            ]
        return _lines(lines)

    def mutation(self, report: MutationReport) -> str:
        """``path:line:column: survived: change: cases that might tell it``, a survivor a line.

        Findings of the list of equivalent mutants follow.
        """
        survivors = (
            one_line(f"{r.position}: {r.fate.value}: {r.change}: {r.seen}")
            for r in report.of(Fate.SURVIVED)
        )
        return _lines([*survivors, *map(_finding, report.findings)])

    def bindings(self, bindings: Bindings) -> str:
        """``Variable=value`` for each variable, a row a line."""
        return _lines(
            " ".join(
                f"{name}={field(exact_text_of(value))}"
                for name, value in zip(bindings.variables, row, strict=True)
            )
            for row in bindings.rows
        )


def _cause(cause: Cause) -> str:
    return one_line(f"{cause.place}: {cause.change} {cause.kind}: {cause.what}")


def _test(result: CaseResult, report: TestReport) -> Iterator[str]:
    head = f"{result.outcome.value}: {result.name}"
    if result.reason:
        yield one_line(f"{result.position}: {head}: {result.reason}")
    elif result.outcome is Outcome.PASS and report.every_case:
        yield one_line(f"{result.position}: {head}")
    for mismatch in result.mismatches:
        yield one_line(f"{mismatch.position}: {head}: {mismatch.message}")


def _finding(finding: Finding) -> str:
    place = f"{finding.positions[0]}: " if finding.positions else ""
    return one_line(f"{place}{label(finding)}: {finding.message}")


def _plan(plan: Plan) -> str:
    words = [plan.plan, field(plan.subject_text)]
    words += [f"{name}={field(exact_text_of(value))}" for name, value in plan.values]
    standing = plan.standing
    return " ".join(words) + (f" | {_standing(standing)}" if standing is not None else "")


def _supposed(change: SupposedCell | SupposedRow) -> str:
    words = ["what-if", change.table, field(change.key)]
    if isinstance(change, SupposedCell):
        words.append(f"{change.column}={_change(change.old, change.new)}")
    return " ".join(words)


def _moved(moved: Moved) -> str:
    sides = (moved.old, moved.new)
    words = ["standing", moved.law, field(moved.subject_text)]
    words.append("->".join("" if s is None else s.standing.value for s in sides))
    words.append("->".join("" if s is None else s.verdict for s in sides))
    said = [
        [
            *(field(exact_text_of(t)) for t in (*s.reasons, *s.obligations)),
            *(field(_waived(w)) for w in s.waivers),
        ]
        if s is not None
        else []
        for s in sides
    ]
    words += [f"-{t}" for t in said[0] if t not in said[1]]
    words += [f"+{t}" for t in said[1] if t not in said[0]]
    return " ".join([*words, *_values(moved.values)])


def _moved_plan(plan: MovedPlan) -> str:
    return " ".join(["plan", plan.plan, field(plan.subject_text), *_values(plan.values)])


def _values(values: Mapping[str, tuple[Value | None, Value | None]]) -> list[str]:
    return [f"{name}={_change(old, new)}" for name, (old, new) in values.items()]


def _change(old: Value | None, new: Value | None) -> str:
    return "->".join("" if v is None else field(exact_text_of(v)) for v in (old, new))


def _standing(standing: Standing) -> str:
    words = [standing.law, field(standing.subject_text), standing.standing.value, standing.verdict]
    why = ";".join(one_line(exact_text_of(t)) for t in (*standing.reasons, *standing.obligations))
    waived = [
        f"| waived {field(w.refusal)} until {w.expires} by {field(w.owner)}: {field(w.reason)}"
        for w in standing.waivers
    ]
    return " ".join([*words, *([why] if why else []), *waived])


def _waived(waiver: Waiver) -> str:
    return f"waived {waiver.refusal} until {waiver.expires} by {waiver.owner}: {waiver.reason}"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
