"""Mutation testing: the mutants of a rule, which of them cases notice, and the list of the rest."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import random
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import declared, write_rules

from ullage import Policy
from ullage.cli.app import main
from ullage.cli.exit_code import ExitCode
from ullage.findings import Position, errors_of
from ullage.lawtests import Expectation, LawCase, load_cases, mutation
from ullage.lawtests.alone import judge_alone
from ullage.lawtests.batch import Batch
from ullage.lawtests.mutants import Mutant, mutants
from ullage.lawtests.mutating import chosen_files, run_mutation
from ullage.lawtests.running import run_tests
from ullage.mutationreport import Fate, MutantResult, MutationReport
from ullage.processes import available
from ullage.results import Quantity
from ullage.rules.syntax import parse_text
from ullage.rules.terms import Rule, Var, substituted
from ullage.rules.writing import rule_text
from ullage.testreport import Outcome

ROOT = Path(__file__).parent.parent
SHIPPED = Policy.load(rules=[ROOT / "rules"], rows={})

TABLES = """\
sorts:
  shape:
    doc: What a box looks like.
    values: [flat, tall, round]
tables:
  box:
    doc: A box.
    key: {box: box}
    columns:
      size: {sort: bytes, required: true, doc: How large it is.}
      spare: {sort: bytes, doc: What it can bear.}
      parts: {sort: count, doc: Into how many parts it is cut.}
      shape: {sort: shape, doc: What it looks like.}
      open: {sort: bool, doc: Whether it is open.}
  on:
    doc: A box that stands on another.
    key: {upper: box, lower: box}
"""


LAW = """\
% Purpose  whether boxes hold what stands on them
% Input    box/1, box/3, on/1
% Output   above/2, part/2, standing/3, reason/3, obligation/3, value/4

%*! above(Upper, Lower)
A box that stands on another, or on one that does.
Args:
  - Upper: box
  - Lower: box
Frontier: the test
*%
%!trace_rule {"% stands on %", Upper, Lower}.
above(Upper, Lower) :- on((Upper, Lower)).
%!trace_rule {"% stands on what stands on %", Upper, Lower}.
above(Upper, Lower) :- on((Upper, Middle)), above(Middle, Lower).

%*! _load(Box, Bytes)
All that stands on a box.
Args:
  - Box: box
  - Bytes: bytes
*%
_load(Box, Sum) :- box(Box), Sum = #sum { S, U : above(U, Box), box(U, size, S) }.

%*! _crushed(Box)
A box that bears too much.
Args:
  - Box: box
*%
_crushed(Box) :- _load(Box, Sum), box(Box, spare, Spare), Sum > Spare, not box(Box, shape, flat).

%*! part(Box, Bytes)
One of the parts of a box.
Args:
  - Box: box
  - Bytes: bytes
Frontier: the test
*%
%!trace_rule {"% has parts", Box}.
part(Box, Size / Parts) :- box(Box, size, Size), box(Box, parts, Parts), Parts > 0.

%*! holds(Box)
Whether a box holds what stands on it.
Args:
  - Box: box
Subjects: box(Box)
Verdicts:
  - holds [established]
  - crushed [refused]
  - unknown [unestablished]
Reasons:
  - too_heavy(Bytes: bytes)
Obligations:
  - spare
Values:
  - load: bytes
  - part: bytes
*%
%!trace_rule {"% holds", Box}.
standing(holds, Box, holds) :- box(Box, spare, _), not _crushed(Box).
%!trace_rule {"% is crushed", Box}.
standing(holds, Box, crushed) :- _crushed(Box).
%!trace_rule {"% bears nobody knows what", Box}.
standing(holds, Box, unknown) :- box(Box), not box(Box, spare, _).
%!trace_rule {"% bears %", Box, Sum}.
reason(holds, Box, too_heavy(Sum)) :- _crushed(Box), _load(Box, Sum).
%!trace_rule {"% is to be measured", Box}.
obligation(holds, Box, spare) :- box(Box), not box(Box, spare, _).
%!trace_rule {"% bears %", Box, Sum}.
value(holds, Box, load, Sum) :- _load(Box, Sum).
%!trace_rule {"% has parts of %", Box, Part}.
value(holds, Box, part, Part) :- part(Box, Part).
"""

CASES = """\
law: holds
given:
  box:
    - {box: a, size: 3 KiB, spare: 1 KiB, parts: 3}
    - {box: b, size: 1 KiB, spare: 1 KiB}
    - {box: c, size: 1 KiB, spare: 1 KiB, parts: 0}
  on:
    - {upper: c, lower: b}
    - {upper: b, lower: a}
cases:
  - name: what stands on what stands on a box weighs, too
    expect:
      - subject: {box: a}
        verdict: crushed
        reasons: [too_heavy(2 KiB)]
        values: {load: 2 KiB, part: 1 KiB}
      - {subject: {box: b}, verdict: holds, values: {load: 1 KiB, part: null}}
      - {subject: {box: c}, verdict: holds, values: {load: 0 B, part: null}}
  - name: nobody looked
    set: {box/b/spare: null}
    expect:
      - {subject: {box: b}, verdict: unknown, obligations: [spare]}
"""


def write_stack(folder: Path, law: str = LAW, cases: str = CASES) -> Path:
    """A project of boxes on boxes, with its tests."""
    write_rules(folder, TABLES, law)
    (folder / "tests" / "laws").mkdir(parents=True)
    (folder / "tests" / "laws" / "holds.yaml").write_text(cases)
    (folder / "facts").mkdir()
    return folder


def mutated(folder: Path, mutant: Mutant) -> Path:
    """The rules of boxes on boxes with a mutant's text in the place of its rule."""
    lines = LAW.split("\n")
    line = mutant.original.rule.position.line - 1
    lines[line] = mutant.text
    if not mutant.text and lines[line - 1].startswith("%!"):
        # A label is of the rule below it.
        lines[line - 1] = ""
    return write_rules(folder, TABLES, "\n".join(lines))


STACK_RULES = write_rules(Path(tempfile.mkdtemp()), TABLES, LAW)
STACK = Policy.load(rules=[STACK_RULES], rows={})
MUTANTS = mutants(STACK.book)


@functools.cache
def policies() -> list[Policy]:
    """A policy of its own for each mutant of boxes on boxes, made of its text."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            Policy.load(rules=[mutated(Path(folder) / str(n), mutant)], rows={})
            for n, mutant in enumerate(MUTANTS)
        ]


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as the working folder."""
    monkeypatch.chdir(write_stack(tmp_path))
    return tmp_path


# -- the mutants of a rule, by hand


def edits(folder: Path, rule: str, *heads: str) -> set[tuple[str, str, str]]:
    """What is done to one rule of a policy in which all heads are declared."""
    law = "% Purpose  a test\n% Input    box/1\n% Output   \n" + "\n".join([*heads, rule, ""])
    book = Policy.load(rules=[write_rules(folder, TABLES, law)], rows={}).book
    assert len(book.authored) == 1, book.findings
    return {(m.operator.value, m.before, m.after) for m in mutants(book)}


BOX = declared("r", Box="box")
FIGURE = declared("r", Box="box", Bytes="bytes")
TOTAL = declared("r", Bytes="bytes")
COUNTED = declared("r", Count="count")


@pytest.mark.parametrize(
    ("head", "rule", "expected"),
    [
        pytest.param(
            BOX,
            'r(B) :- box(B, size, S), S < "1 KiB".',
            # Without the atom nothing binds S, and not with it negated.
            {
                ("remove", "r(B)", ""),
                ("constant", "size", "spare"),
                ("drop", 'S < "1 KiB"', ""),
                ("boundary", 'S < "1 KiB"', 'S <= "1 KiB"'),
                ("reverse", 'S < "1 KiB"', 'S > "1 KiB"'),
                ("constant", '"1 KiB"', '"2 KiB"'),
            },
            id="comparison",
        ),
        pytest.param(
            BOX,
            "r(B) :- box(B), not box(B, parts, _).",
            {
                ("remove", "r(B)", ""),
                ("drop", "not box(B, parts, _)", ""),
                ("negate", "not box(B, parts, _)", "box(B, parts, _)"),
            },
            id="negation",
        ),
        pytest.param(
            BOX,
            "r(B) :- box(B, parts, N), N != 9, box(B, open, true).",
            {
                ("remove", "r(B)", ""),
                ("drop", "N != 9", ""),
                ("negate", "N != 9", "N = 9"),
                ("constant", "9", "10"),
                ("drop", "box(B, open, true)", ""),
                ("negate", "box(B, open, true)", "not box(B, open, true)"),
                ("constant", "true", "false"),
            },
            id="equality, count and bool",
        ),
        pytest.param(
            BOX,
            "r(B) :- box(B, shape, tall).",
            # Words of a closed set follow one another in a circle.
            {("remove", "r(B)", ""), ("constant", "tall", "round")},
            id="word of a closed set",
        ),
        pytest.param(
            FIGURE,
            "r(B, S / N) :- box(B, size, S), box(B, parts, N).",
            {
                ("remove", "r(B, S / N)", ""),
                ("arithmetic", "S / N", "S * N"),
                ("constant", "size", "spare"),
            },
            id="quotient",
        ),
        pytest.param(
            FIGURE,
            'r(B, S - "0.9 KiB") :- box(B, size, S), box(B, spare, S).',
            {
                ("remove", 'r(B, S - "0.9 KiB")', ""),
                ("arithmetic", 'S - "0.9 KiB"', 'S + "0.9 KiB"'),
                ("constant", '"0.9 KiB"', '"1.0 KiB"'),
                ("drop", "box(B, size, S)", ""),
                ("negate", "box(B, size, S)", "not box(B, size, S)"),
                ("constant", "size", "spare"),
                ("drop", "box(B, spare, S)", ""),
                ("negate", "box(B, spare, S)", "not box(B, spare, S)"),
                ("constant", "spare", "size"),
            },
            id="difference and a unit of the last place",
        ),
        pytest.param(
            TOTAL,
            "r(T) :- T = #sum { S, B : box(B, size, S), not box(B, shape, flat) }.",
            {
                ("remove", "r(T)", ""),
                ("constant", "size", "spare"),
                ("constant", "flat", "tall"),
                ("drop", "not box(B, shape, flat)", ""),
                ("negate", "not box(B, shape, flat)", "box(B, shape, flat)"),
            },
            id="condition of an aggregate",
        ),
        pytest.param(
            FIGURE,
            "r(B, T) :- box(B, size, S), box(B, spare, P), T = #max { S; P }.",
            {
                ("remove", "r(B, T)", ""),
                ("constant", "size", "spare"),
                ("constant", "spare", "size"),
                ("arithmetic", "#max", "#min"),
                ("drop", "S", ""),
                ("drop", "P", ""),
            },
            id="extremum",
        ),
    ],
)
def test_each_small_fault_is_a_mutant(
    tmp_path: Path, head: str, rule: str, expected: set[tuple[str, str, str]]
) -> None:
    assert edits(tmp_path, rule, head) == expected


HEAD = "% Purpose  a test\n% Input    box/1, on/1\n% Output   r/2\n"
ABOVE = declared("r", Upper="box", Lower="box")
STEP = "r(U, L) :- on((U, M)), r(M, L)."


def test_recursion_through_negation_is_no_mutant(tmp_path: Path) -> None:
    """Nor is one that steps without end, which nothing here does."""
    law = "\n".join([HEAD, ABOVE, "r(U, L) :- on((U, L)).", STEP, ""])
    book = Policy.load(rules=[write_rules(tmp_path, TABLES, law)], rows={}).book
    assert {(m.operator.value, m.before, m.after) for m in mutants(book)} == {
        ("remove", "r(U, L)", ""),
    }
    assert [m.number for m in mutants(book)] == [0, 1]


def test_every_mutant_is_a_rule_that_the_loader_takes() -> None:
    for mutant, policy in zip(MUTANTS, policies(), strict=True):
        codes = {f.code for f in errors_of(policy.findings)}
        # What is concluded and read of no rule is no fault of the rule itself.
        assert codes <= {"dangling-predicate", "underived-predicate"}, mutant.text


def renamed(rule: Rule) -> tuple[object, object]:
    """A rule whose anonymous variables are numbered as they stand."""
    names: dict[str, str] = {}

    def put(var: Var) -> Var:
        if not var.anonymous:
            return var
        return dataclasses.replace(var, name=names.setdefault(var.name, f"_{len(names)}"))

    return substituted((rule.head, rule.body), put)


def test_every_shipped_rule_reads_back_as_itself() -> None:
    rules = [rule for file in SHIPPED.book.files for rule in file.rules]
    assert len(rules) > 100
    for rule in rules:
        file, findings = parse_text("again", rule_text(rule))
        assert not findings, rule_text(rule)
        (again,) = file.rules
        assert renamed(again) == renamed(rule), rule_text(rule)


# -- which of them cases notice


def fates(cases: Sequence[LawCase], policy: Policy = STACK, processes: int = 1) -> MutationReport:
    """What cases make of the mutants of boxes on boxes, or of another policy."""
    report = run_tests(policy, cases)
    assert report.sound
    return run_mutation(
        policy,
        cases,
        report,
        files=chosen_files(policy, []),
        equivalents=Path("nowhere/tests/mutants.yaml"),
        processes=processes,
    )


@functools.cache
def by_hand() -> tuple[MutantResult, ...]:
    """What becomes of all mutants of boxes on boxes by its tests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "holds.yaml"
        path.write_text(CASES)
        return fates(load_cases(path).cases).results


@pytest.mark.parametrize(
    ("change", "fate", "apart"),
    [
        # `above` builds on itself: any case in which something stands on something might tell.
        (("above(Upper, Lower)", "remove", "above(Upper, Lower)", "", 13), "killed", 2),
        (("above(Upper, Lower)", "remove", "above(Upper, Lower)", "", 15), "killed", 2),
        # b bears just what it can, where anybody knows what that is.
        (("_crushed(Box)", "boundary", "Sum > Spare", "Sum >= Spare", 30), "killed", 1),
        # Nothing is flat.
        (("_crushed(Box)", "drop", "not box(Box, shape, flat)", "", 30), "survived", 0),
        (("_crushed(Box)", "constant", "flat", "tall", 30), "survived", 0),
        # c is cut into no parts: this divides by zero, which no case expects.
        (("part(Box, Size / Parts)", "drop", "Parts > 0", "", 40), "killed", 2),
        (("part(Box, Size / Parts)", "boundary", "Parts > 0", "Parts >= 0", 40), "killed", 2),
        # Three parts are more than one, too.
        (("part(Box, Size / Parts)", "constant", "0", "1", 40), "survived", 0),
        (
            ("part(Box, Size / Parts)", "arithmetic", "Size / Parts", "Size * Parts", 40),
            "killed",
            2,
        ),
        # Every box then has an obligation, of which only b's is expected, in one case.
        (
            ("obligation(holds, Box, spare)", "drop", "not box(Box, spare, _)", "", 68),
            "survived",
            2,
        ),
        # An unestablished box without an obligation is no answer.
        (
            (
                "obligation(holds, Box, spare)",
                "negate",
                "not box(Box, spare, _)",
                "box(Box, spare, _)",
                68,
            ),
            "killed",
            2,
        ),
        # Only a is refused, in both cases.
        (("reason(holds, Box, too_heavy(Sum))", "remove", None, "", 66), "killed", 2),
    ],
)
def test_what_becomes_of_a_mutant(
    change: tuple[str, str, str | None, str, int], fate: str, apart: int
) -> None:
    rule, mutation, before, after, line = change
    (mutant,) = (
        m
        for m in by_hand()
        if (m.rule, m.mutation, m.before, m.after) == (rule, mutation, before or rule, after)
        and m.position.line == line
    )
    assert (mutant.fate, mutant.apart) == (fate, apart)
    assert (mutant.case is not None) == (fate == "killed")


def ends(mutated: Policy, cases: Sequence[LawCase]) -> Fate:
    """What becomes of a mutant that is a policy of its own, by each case alone."""
    # That nothing derives what is read is a finding of the loader, and told of no case.
    mutated = STACK.of_book(mutated.book)
    passed = all(judge_alone(c, mutated).outcome is Outcome.PASS for c in cases)
    return Fate.SURVIVED if passed else Fate.KILLED


SIZES = st.sampled_from(["0 B", "6 B", "600 B", "1 KiB", "3 KiB"])
BOX_ROWS = st.fixed_dictionaries(
    {"size": SIZES},
    optional={
        "spare": SIZES,
        "parts": st.sampled_from(["0", "1", "2", "3"]),
        "shape": st.sampled_from(["flat", "tall"]),
    },
)
NAMES = st.sampled_from("abc")


@st.composite
def drawn_cases(draw: st.DrawFn) -> list[LawCase]:
    """Boxes on boxes, even in circles; some of what holds is expected, and some is not told."""
    cases = []
    for number in range(draw(st.integers(1, 4))):
        boxes = draw(st.dictionaries(NAMES, BOX_ROWS, min_size=1))
        pairs = draw(
            st.sets(st.tuples(st.sampled_from(sorted(boxes)), st.sampled_from(sorted(boxes))))
        )
        rows = {
            "box": tuple({"box": name, **row} for name, row in sorted(boxes.items())),
            "on": tuple({"upper": u, "lower": lower} for u, lower in sorted(pairs)),
        }
        place = Position("drawn", number + 1, 1)
        expect = []
        for standing in STACK.over(rows).standings():
            if draw(st.booleans()):
                expect.append(
                    Expectation(
                        "holds",
                        tuple((k, str(v)) for k, v in standing.subject),
                        place,
                        verdict=standing.verdict,
                        values=tuple(
                            (name, value.text)
                            for name, value in standing.values
                            if draw(st.booleans()) and isinstance(value, Quantity)
                        ),
                    )
                )
        cases.append(LawCase(f"{number}", place, rows, expect=tuple(expect), law="holds"))
    return cases


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn_cases())
def test_a_mutant_ends_as_a_policy_of_its_text_does(cases: list[LawCase]) -> None:
    """Many mutants by one grounding, and each alone: recursion, sums, and divisions by zero."""
    report = fates(cases)
    assert len(report.results) == len(MUTANTS)
    ordered = sorted(zip(MUTANTS, policies(), strict=True), key=lambda m: m[0].position)
    for result, (mutant, policy) in zip(report.results, ordered, strict=True):
        assert result.fate is ends(policy, cases), (mutant.position, result.change)


def test_shipped_mutants_end_as_their_policies_do() -> None:
    """Some of one file of rules, by the law tests of that file."""
    file = chosen_files(SHIPPED, [ROOT / "rules" / "seam.lp"])
    cases = [c for c in load_cases(ROOT / "tests" / "laws" / "seam.yaml").cases if not c.skip]
    report = run_mutation(
        SHIPPED,
        cases,
        run_tests(SHIPPED, cases),
        files=file,
        equivalents=Path("nowhere/tests/mutants.yaml"),
    )
    results = {(r.position, r.change): r.fate for r in report.results}
    found = mutants(SHIPPED.book, file)
    for mutant in random.Random(7).sample(found, 8):
        becomes = f" -> `{mutant.after}`" if mutant.after else ""
        change = f"{mutant.operator.value} `{mutant.before}`{becomes}"
        fate = results.get((mutant.position, change))
        if fate is None:
            # clingo takes no such rule.
            continue
        book = copy.copy(SHIPPED.book)
        book.rules = list(book.rules)
        book.rules[mutant.number : mutant.number + 1] = [mutant.typed] if mutant.typed else []
        judged = Batch(SHIPPED.of_book(book)).judge(cases)
        passed = all(r.outcome is Outcome.PASS for r in judged)
        assert fate is (Fate.SURVIVED if passed else Fate.KILLED), change


@pytest.mark.skipif(available() < 2, reason="needs processes that copy this one")
def test_mutants_end_alike_in_one_process_and_in_two(
    stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutation, "MUTANTS_AT_ONCE", 7)
    cases = load_cases(Path("tests/laws/holds.yaml")).cases
    two = fates(cases, processes=2)
    assert two == fates(cases)
    fate = {(r.position, r.change): r.fate for r in by_hand()}
    assert {(r.position, r.change): r.fate for r in two.results} == fate


def test_a_finding_that_solving_makes_is_noticed(stack: Path) -> None:
    """The case expects what is divided by zero; a mutant that does not divide is noticed."""
    unguarded = LAW.replace(", Parts > 0", "")
    Path("rules/0.lp").write_text(unguarded)
    Path("tests/laws/holds.yaml").write_text(
        "law: holds\ncases:\n"
        "  - {name: none, given: {box: [{box: a, size: 1 B, parts: 0}]}, "
        "findings: [division-by-zero]}\n"
    )
    policy = Policy.load(rules=["rules"], rows={})
    report = fates(load_cases(Path("tests/laws/holds.yaml")).cases, policy)
    killed = {r.change for r in report.of(Fate.KILLED)}
    assert killed == {
        "remove `part(Box, Size / Parts)`",
        "arithmetic `Size / Parts` -> `Size * Parts`",
        "constant `size` -> `spare`",
    }


# -- the verb


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a run of mutation."""
    code = main(["test", "--mutate", *words])
    out, err = capsys.readouterr()
    return code, out, err


def survivors(text: str) -> list[str]:
    """The survivors that concise output tells, without their files."""
    return [line.partition(": survived: ")[2].rpartition(": ")[0] for line in text.splitlines()]


def test_a_survivor_makes_the_exit_code_three(
    stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys)
    assert code == ExitCode.INVALID
    assert (
        "survived rules/0.lp:40:82: constant `0` -> `1`\n  no case tells it from its rule\n" in out
    )
    assert "judged by 2 cases" in out.splitlines()[-1]
    assert "tests/mutants.yaml" in err


def listed(*entries: str) -> None:
    """List entries as equivalent mutants of the working folder."""
    text = "".join(f"  - {{{entry}}}\n" for entry in entries)
    Path("tests/mutants.yaml").write_text(f"equivalent:\n{text}")


PARTS = "file: rules/0.lp, rule: 'part(Box, Size / Parts)', mutation: constant, what: '0', to: '1'"


def test_every_survivor_can_be_listed_as_printed(
    stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, "-v")
    entries = [line[4:] for line in out.splitlines() if line.startswith("    ")]
    assert entries
    text = "\n".join(f"  {line}" for line in ["", *entries]).replace("reason:", "reason: why")
    Path("tests/mutants.yaml").write_text(f"equivalent:{text}\n")
    code, out, err = run(capsys)
    assert (code, err) == (ExitCode.FINE, "")
    number = text.count("reason: why")
    assert out.endswith(f" killed, {number} equivalent; judged by 2 cases\n")
    # The tests themselves do not trip over the list, wherever they stand.
    assert main(["test", "tests"]) == ExitCode.FINE
    Path("tests/laws/holds.yaml").rename("tests/holds.yaml")
    Path("tests/laws").rmdir()
    assert main(["test"]) == ExitCode.FINE
    assert run(capsys)[0] == ExitCode.FINE
    # Where a reason is missing none is taken.
    Path("tests/mutants.yaml").write_text(f"equivalent:{text}\n".replace("reason: why", "reason:"))
    assert run(capsys)[0] == ExitCode.INVALID


def test_a_listed_mutant_is_no_survivor(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, before, _ = run(capsys, "--format", "concise")
    listed(f"{PARTS}, reason: none has one part")
    _, after, _ = run(capsys, "--format", "concise")
    assert set(survivors(before)) - set(survivors(after)) == {"constant `0` -> `1`"}


@pytest.mark.parametrize(
    ("entry", "code", "word"),
    [
        pytest.param(
            "file: rules/0.lp, rule: _crushed(Box), mutation: boundary, what: Sum > Spare, "
            "to: Sum >= Spare, reason: r",
            "killed-equivalent",
            "what stands on what stands",
            id="killed",
        ),
        pytest.param(
            PARTS.replace("to: '1'", "to: '2'") + ", reason: r",
            "idle-equivalent",
            "`2`",
            id="other",
        ),
        pytest.param(
            PARTS.replace("part(Box,", "parts(Box,") + ", reason: r",
            "idle-equivalent",
            "`part(Box, Size / Parts)`",
            id="no such rule",
        ),
        pytest.param(
            PARTS.replace("rules/0.lp", "rules/1.lp") + ", reason: r",
            "idle-equivalent",
            "`rules/0.lp`",
            id="no such file",
        ),
        pytest.param(
            f"{PARTS}, nth: 2, reason: r", "idle-equivalent", "`constant`", id="no such place"
        ),
        pytest.param(PARTS, "bad-equivalent", "`reason`", id="no reason"),
        pytest.param(f"{PARTS}, reason: ' '", "bad-equivalent", "`reason`", id="blank reason"),
        pytest.param(
            f"{PARTS}, reason: r, raison: r", "bad-equivalent", "`raison`", id="unknown key"
        ),
        pytest.param(
            PARTS.replace("constant", "constnat") + ", reason: r",
            "bad-equivalent",
            "`constant`",
            id="unknown mutation",
        ),
        pytest.param(
            PARTS.replace(", to: '1'", "") + ", reason: r", "bad-equivalent", "`to`", id="into what"
        ),
        pytest.param(
            PARTS.replace("constant", "drop") + ", reason: r",
            "bad-equivalent",
            "`to`",
            id="dropped",
        ),
        pytest.param(f"{PARTS}, nth: 0, reason: r", "bad-equivalent", "`nth`", id="nth from one"),
        pytest.param(
            "file: rules/0.lp, rule: 'above(Upper, Lower)', mutation: remove, reason: r",
            "bad-equivalent",
            "the whole rule",
            id="two rules of a head",
        ),
        pytest.param(
            f"{PARTS}, reason: r}}\n  - {{{PARTS}, reason: r",
            "bad-equivalent",
            "second",
            id="twice",
        ),
        pytest.param("[]", "not-a-scalar", "", id="no mapping"),
    ],
)
def test_an_entry_that_means_no_survivor_is_a_finding(
    stack: Path, capsys: pytest.CaptureFixture[str], entry: str, code: str, word: str
) -> None:
    listed(entry)
    status, out, err = run(capsys)
    assert status == ExitCode.INVALID
    (text,) = re.findall(
        rf"error\[{code}\]: .*\n  tests/mutants.yaml:[23]:.*(?:\n  .*)*", out + err
    )
    assert word in text


def test_a_rule_is_named_whole_where_its_head_is_not_enough(
    stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rules/0.lp").write_text(LAW.replace("Parts > 0.", "Parts > 0, Parts != 0."))
    rule = "part(Box, Size / Parts) :- box(Box, size, Size), box(Box, parts, Parts), "
    rule += "Parts > 0, Parts != 0."
    names = [f"rule: '{rule}'", "rule: 'part(Box, Size / Parts)'"]
    for name in names:
        for nth in (1, 2):
            listed(
                PARTS.replace("rule: 'part(Box, Size / Parts)'", name) + f", nth: {nth}, reason: r"
            )
            _, out, _ = run(capsys, "--format", "json")
            columns = [
                m["position"]["column"]
                for m in json.loads(out)["mutants"]
                if m["outcome"] == "equivalent"
            ]
            assert columns == [(0, 82, 94)[nth]]


def test_rules_of_one_file_alone(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entries of other files say nothing then."""
    Path("rules/1.lp").write_text(
        "% Purpose  more\n% Input    box/1\n% Output   a/1\n\n%*! a(Box)\nA box.\nArgs:\n"
        "  - Box: box\nFrontier: the test\n*%\n"
        '%!trace_rule {"% is a box", B}.\na(B) :- box(B).\n'
    )
    listed(f"{PARTS}, reason: none has one part")
    code, out, _ = run(capsys, "--in", "rules/1.lp", "--format", "json")
    document = json.loads(out)
    assert code == ExitCode.INVALID
    assert [(m["rule"], m["mutation"], m["outcome"]) for m in document["mutants"]] == [
        ("a(B)", "remove", "survived")
    ]
    assert document["findings"] == []
    _, whole, _ = run(capsys, "--in", "rules", "--format", "json")
    _, both, _ = run(capsys, "--in", "rules/1.lp", "--in", "rules/0.lp", "--format", "json")
    assert whole == both == run(capsys, "--format", "json")[1]


def test_cases_that_fail_judge_nothing(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tests/laws/holds.yaml").write_text(CASES.replace("verdict: unknown", "verdict: holds"))
    code, out, err = run(capsys)
    assert code == ExitCode.INVALID
    assert "fail tests/laws/holds.yaml:19:5: nobody looked" in out
    assert "no mutant was judged" in err
    assert run(capsys, "-k", "weighs")[1].endswith("judged by 1 case; 1 case not run\n")


def test_skipped_cases_do_not_count(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tests/laws/holds.yaml").write_text("skip: later\n" + CASES)
    code, out, err = run(capsys)
    assert (code, out) == (ExitCode.COULD_NOT_RUN, "")
    assert "no law test is left to judge mutants by" in err


@pytest.mark.parametrize(
    "words",
    [
        ["--record"],
        ["--watch"],
        ["--fail-fast"],
        ["--coverage"],
        ["--in", "rules/9.lp"],
        ["--in", ""],
        ["--in", "tests"],
    ],
)
def test_what_mutation_does_not_go_with(
    stack: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(capsys, *words)[:2] == (ExitCode.COULD_NOT_RUN, "")


def test_in_is_of_mutants_alone(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "--in", "rules"]) == ExitCode.COULD_NOT_RUN
    assert "`--mutate`" in capsys.readouterr().err


def test_programs_are_told_of_each_mutant(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed ones pass, survivors fail and equivalent ones are skipped, as law tests are."""
    listed(f"{PARTS}, reason: none has one part")
    counts = json.loads(run(capsys, "--format", "json")[1])["counts"]
    total = sum(counts.values())
    _, tap, _ = run(capsys, "--format", "tap")
    assert f"1..{total}\n" in tap
    assert len(re.findall("^not ok ", tap, re.M)) == counts["survived"]
    assert len(re.findall("^ok .*# SKIP", tap, re.M)) == counts["equivalent"] == 1
    _, junit, _ = run(capsys, "--format", "junit")
    assert f'tests="{total}" failures="{counts["survived"]}"' in junit
    _, github, _ = run(capsys, "--format", "github")
    assert len(re.findall("^::error file=rules/0.lp,", github, re.M)) == counts["survived"]
    _, sarif, _ = run(capsys, "--format", "sarif")
    results = json.loads(sarif)["runs"][0]["results"]
    assert len(results) == counts["survived"] + counts["equivalent"]
