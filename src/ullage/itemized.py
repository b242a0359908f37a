"""Findings, standings, law tests and comparisons as items, for formats that know none of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ullage.diff.result import Cause, Diff, NotTheSame, Reasoned, step
from ullage.findings import Finding, Position, Severity, counted, errors_of
from ullage.items import Item, Kind, Level, Remark, Report
from ullage.moves import Moved, MovedPlan
from ullage.mutationreport import Fate, MutantResult, MutationReport
from ullage.pages import cause, error_page, first_sentence
from ullage.places import Places
from ullage.render.diffs import VERDICTS, identity, tally
from ullage.render.human import said
from ullage.render.moves import stays
from ullage.render.waivers import waiver_lines
from ullage.results import Law, Standing, StandingClass, exact_text_of, plainly
from ullage.testreport import CaseResult, Outcome, TestReport, Uncovered

POLICY = "policy"
"""The suite of what is told of the policy as a whole."""

IDLE, OTHER = "diff/idle", "diff/other"
"""The codes of a change without effect, and of a thing that is not the same."""

UNCOVERED = "coverage"
"""The code of what no law test has shown."""

MUTANT = "mutant"
"""The code of a fault in a rule that no law test notices."""

_KINDS = {
    IDLE: Kind(
        "A change moved nothing.",
        "A change moved nothing: no standing and no plan is otherwise for it.",
        "",
    ),
    OTHER: Kind(
        "A thing kept its name and is not the same.",
        "A thing kept its name and is not the same: both policies have it, and what they say of it "
        "differs.",
        "",
    ),
    UNCOVERED: Kind(
        "No law test has shown a rule or condition.",
        "No law test has shown a rule or condition of the policy to matter.",
        "",
    ),
    MUTANT: Kind(
        "No law test notices a fault in a rule.",
        "No law test notices a fault in a rule: with it, all of them pass as they do without.",
        "",
    ),
}


# Findings.


def of_findings(findings: Sequence[Finding]) -> Report:
    """An item for each finding: errors fail, warnings do not; one that passes where none fails."""
    items = [_finding(f) for f in findings]
    if not errors_of(findings):
        items.append(Item(POLICY, "declarations, facts and rules are valid", Outcome.PASS))
    return Report(tuple(items), kinds={f.code: _kind(f.code) for f in findings})


def _finding(finding: Finding) -> Item:
    error = finding.severity is Severity.ERROR
    remark = Remark(
        Level.ERROR if error else Level.WARNING,
        finding.code,
        finding.code,
        finding.message,
        finding.positions,
        finding.help,
        (finding.message,),
    )
    return Item(
        "findings",
        f"{finding.code}: {finding.message}",
        Outcome.FAIL if error else Outcome.PASS,
        finding.positions,
        (remark,),
    )


def _kind(code: str) -> Kind:
    page = error_page(code)
    text = cause(page) or code
    return Kind(first_sentence(text), text, page)


# Standings.


def of_standings(
    standings: Iterable[Standing], places: Places, laws: Iterable[Law], failing: Collection[str]
) -> Report:
    """An item for each standing, in the suite of its law.

    Established ones pass, refused ones fail, or are skipped where they are waived, and
    unestablished ones are skipped, or fail where ``failing`` names their class.
    """
    items = tuple(_standing(s, places.of(s), failing) for s in standings)
    if not items:
        items = (Item(POLICY, "no standings", Outcome.PASS),)
    return Report(items, kinds=law_kinds(laws))


_OUTCOMES = {
    StandingClass.REFUSED: (Outcome.FAIL, Level.ERROR),
    StandingClass.UNESTABLISHED: (Outcome.SKIPPED, Level.WARNING),
}


def _standing(
    standing: Standing, positions: tuple[Position, ...], failing: Collection[str]
) -> Item:
    subject, kind = standing.subject_text, standing.standing
    if kind is StandingClass.ESTABLISHED:
        return Item(standing.law, subject, Outcome.PASS, positions)
    outcome, level = _OUTCOMES[kind]
    if kind.value in failing:
        outcome, level = Outcome.FAIL, Level.ERROR
    if standing.waived:
        outcome, level = Outcome.SKIPPED, Level.NOTE
    waivers = waiver_lines(standing)
    words = "; ".join(filter(None, [said(standing), *waivers]))
    remark = Remark(
        level,
        standing.law,
        f"{standing.law} {subject}",
        f"{subject} is {kind.value}: {words}" if words else f"{subject} is {kind.value}",
        (*positions, *(replace(w.position, note="waives it") for w in standing.waivers)),
        "",
        ("standing", subject),
        "; ".join(waivers) if standing.waived else "",
    )
    return Item(standing.law, subject, outcome, positions, (remark,))


def law_kinds(laws: Iterable[Law]) -> dict[str, Kind]:
    """What each law decides, by its name."""
    return {law.name: _law(law) for law in laws}


def _law(law: Law) -> Kind:
    text = " ".join(law.doc.split()) or law.name
    verdicts = "".join(f"- `{name}`: {kind.value}\n" for name, kind in law.verdicts)
    subject = ", ".join(law.arguments)
    page = f"# {law.name}\n\n{text}\n\nVerdicts on a subject ({subject}):\n\n{verdicts}"
    return Kind(first_sentence(text), text, page)


# Law tests.


def of_tests(report: TestReport, laws: Iterable[Law]) -> Report:
    """An item for each case, in the suite of its file, with a remark for each cell that differs.

    What no case has shown of the rules follows, skipped, where coverage was asked for.
    """
    items = [_case(r) for r in report.results]
    lines = []
    if report.coverage is not None:
        items += [_uncovered(u) for u in report.coverage.uncovered]
    if report.left_out:
        lines.append(f"{counted(report.left_out, 'case')} not run")
    return Report(tuple(items), tuple(lines), {**law_kinds(laws), UNCOVERED: _KINDS[UNCOVERED]})


def _case(result: CaseResult) -> Item:
    level = Level.NOTE if result.outcome is Outcome.SKIPPED else Level.ERROR
    case = replace(result.position, note="the case")
    told = [(result.reason, result.position, "")] if result.reason else []
    told += [(m.message, m.position, f"{m.subject}\n{m.what}") for m in result.mismatches]
    remarks = [
        Remark(
            level,
            result.law or "law test",
            result.name,
            f"{result.name}: {message}",
            (position,) if position == result.position else (position, case),
            "",
            ("test", result.name, what),
        )
        for message, position, what in told
    ]
    return Item(
        result.file,
        result.name,
        result.outcome,
        (result.position,),
        tuple(remarks),
        result.duration,
    )


def _uncovered(part: Uncovered) -> Item:
    place = part.position
    name = f"uncovered {part.what} at {place.line}:{place.column}"
    remark = Remark(
        Level.NOTE,
        UNCOVERED,
        f"uncovered {part.what}",
        f"no case has shown this {part.what}: {part.reason}",
        (place,),
        "",
        (part.what, part.reason),
    )
    return Item(place.file, name, Outcome.SKIPPED, (place,), (remark,))


# Mutants.


_FATES = {
    Fate.KILLED: Outcome.PASS,
    Fate.SURVIVED: Outcome.FAIL,
    Fate.EQUIVALENT: Outcome.SKIPPED,
}


def of_mutation(report: MutationReport) -> Report:
    """An item for each mutant, in the suite of its file: killed ones pass, survivors fail.

    Those that are equivalent are skipped. Findings of the list of these follow.
    """
    items = [*map(_mutant, report.results), *map(_finding, report.findings)]
    lines = [f"{counted(report.left_out, 'case')} not run"] if report.left_out else []
    kinds = {f.code: _kind(f.code) for f in report.findings}
    return Report(tuple(items), tuple(lines), {MUTANT: _KINDS[MUTANT], **kinds})


def _mutant(result: MutantResult) -> Item:
    place = result.position
    name = f"{result.change} at {place.line}:{place.column}"
    message = {
        Fate.KILLED: "",
        Fate.SURVIVED: f"survived: {result.change}: {result.seen}",
        Fate.EQUIVALENT: f"equivalent: {result.change}: {result.reason}",
    }[result.fate]
    level = Level.ERROR if result.fate is Fate.SURVIVED else Level.NOTE
    identity = (result.rule, result.mutation, result.before, result.after)
    remark = Remark(
        level, MUTANT, f"{result.mutation} {result.fate.value}", message, (place,), "", identity
    )
    remarks = (remark,) if message else ()
    return Item(place.file, name, _FATES[result.fate], (place,), remarks)


# Comparisons.


def of_diff(
    diff: Diff,
    laws: Iterable[Law],
    declared: Mapping[str, Position],
    failing: Collection[str],
) -> Report:
    """An item for each standing and plan that moves, each thing not the same, each idle change.

    A move fails where ``failing`` has ``any``, or ``looser`` and it is looser; none fails else.
    ``declared`` has the places of predicates, by name.
    """
    items = [_move(r, failing) for r in (*diff.moved, *diff.plans)]
    if not items:
        items.append(Item(POLICY, "nothing moves", Outcome.PASS))
    items += [_other(t, declared) for t in diff.not_the_same]
    items += [_idle(c) for c in diff.without_effect]
    moves = tally(diff)
    lines = [VERDICTS[diff.verdict], *([f"moved: {moves}"] if moves else []), stays(diff.left)]
    plans = {f"plan/{m.plan}": _plan(m) for r in diff.plans if isinstance(m := r.move, MovedPlan)}
    return Report(tuple(items), tuple(lines), {**law_kinds(laws), **plans, **_KINDS})


def _move(reasoned: Reasoned, failing: Collection[str]) -> Item:
    move = reasoned.move
    looser = step(move) > 0
    failed = "any" in failing or (looser and "looser" in failing)
    told = Level.WARNING if looser else Level.NOTE
    if isinstance(move, Moved):
        suite, code, sides = move.law, move.law, [_side(s) for s in (move.old, move.new)]
        words = f"{sides[0]} -> {sides[1]}"
    else:
        suite, code, words = f"plan {move.plan}", f"plan/{move.plan}", "moves"
        words = "appears" if move.old is None else "goes" if move.new is None else words
    values = [
        f"{name} {' -> '.join('?' if v is None else plainly(v) for v in pair)}"
        for name, pair in move.values.items()
    ]
    joint = " or " if reasoned.alone else " and "
    by = joint.join(_words(c) for c in reasoned.causes)
    parts = [words, *values, *([f"by {by}"] if by else [])]
    positions = tuple(_place(c) for c in reasoned.causes)
    remark = Remark(
        Level.ERROR if failed else told,
        code,
        f"{suite} {move.subject_text}",
        f"{move.subject_text}: {'; '.join(parts)}",
        positions,
        "",
        ("move", move.subject_text),
    )
    outcome = Outcome.FAIL if failed else Outcome.PASS
    return Item(suite, move.subject_text, outcome, positions, (remark,))


def _side(standing: Standing | None) -> str:
    if standing is None:
        return "(not there)"
    words = "; ".join(filter(None, [said(standing), *waiver_lines(standing)]))
    return f"{standing.standing.value} ({words})" if words else standing.standing.value


def _plan(move: MovedPlan) -> Kind:
    text = f"The plan `{move.plan}` of a subject moves."
    return Kind(text, text, "")


def _words(cause: Cause) -> str:
    return f"{cause.change} {cause.kind} {cause.what}"


def _place(cause: Cause) -> Position:
    note = f"{_words(cause)}{', in the old files' if cause.change == 'removed' else ''}"
    return Position(cause.place.file, cause.place.line, cause.place.column, note)


def _idle(cause: Cause) -> Item:
    text, place = _words(cause), _place(cause)
    remark = Remark(
        Level.NOTE, IDLE, "moved nothing", f"{text} moved nothing", (place,), "", ("idle", text)
    )
    return Item("changes that moved nothing", text, Outcome.PASS, (place,), (remark,))


def _other(thing: NotTheSame, declared: Mapping[str, Position]) -> Item:
    name = "/".join(exact_text_of(v) for _, v in thing.name)
    known = declared.get(thing.predicate)
    places = () if known is None else (known,)
    remark = Remark(
        Level.NOTE, OTHER, f"{name} is not the same", identity(thing), places, "", ("other", name)
    )
    return Item("not the same, under the same name", name, Outcome.PASS, places, (remark,))
