"""Law tests as a verb: outcomes, choosing, formats; and many cases judged as each is alone."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage import Policy
from ullage.cli.app import main
from ullage.cli.exit_code import ExitCode
from ullage.findings import UsageError
from ullage.lawtests import Expectation, LawCase, load_cases, running
from ullage.lawtests.alone import judge_alone
from ullage.lawtests.batch import Batch
from ullage.lawtests.choosing import chooser
from ullage.processes import available
from ullage.testreport import CaseResult, Outcome

ROOT = Path(__file__).parent.parent
SHIPPED = Policy.load(rules=[ROOT / "rules"], rows={})
SHIPPED_CASES = [
    case
    for path in sorted((ROOT / "tests" / "laws").glob("*.yaml"))
    for case in load_cases(path).cases
]

TABLES = """\
tables:
  box:
    doc: A box.
    key: {box: box}
    columns:
      size: {sort: bytes, required: true, doc: How large it is.}
      parts: {sort: count, doc: Into how many parts it is cut.}
      share: {sort: ratio, doc: How much of it is free.}
"""

LAW = """\
% Purpose  the part of a box
% Input    box/1, box/3
% Output   part/2

%*! part(Box, Bytes)
One of the parts of a box.
Args:
  - Box: box
  - Bytes: bytes
*%
%!trace_rule {"% has parts of % over %", Box, Size, Parts}.
part(Box, Size / Parts) :- box(Box, size, Size), box(Box, parts, Parts).

%*! cut(Box)
Whether a box is cut.
Args:
  - Box: box
Subjects: box(Box)
Verdicts:
  - cut [established]
  - small [refused]
  - uncut [unestablished]
Reasons:
  - too_small(Bytes: bytes)
Obligations:
  - parts
Values:
  - part: bytes
  - free: bytes
*%
%!trace_rule {"% is cut", Box}.
standing(cut, Box, cut) :- part(Box, Bytes), Bytes >= "1 KiB".
%!trace_rule {"% is too small", Box}.
standing(cut, Box, small) :- part(Box, Bytes), Bytes < "1 KiB".
%!trace_rule {"% is too small", Box}.
reason(cut, Box, too_small(Bytes)) :- part(Box, Bytes), Bytes < "1 KiB".
%!trace_rule {"% is not cut", Box}.
standing(cut, Box, uncut) :- box(Box), not box(Box, parts, _).
%!trace_rule {"% is not cut", Box}.
obligation(cut, Box, parts) :- box(Box), not box(Box, parts, _).
%!trace_rule {"a part of % is %", Box, Bytes}.
value(cut, Box, part, Bytes) :- part(Box, Bytes).
%!trace_rule {"of % a part is free", Box}.
value(cut, Box, free, Share * Size) :- box(Box, size, Size), box(Box, share, Share).
"""

TESTS = """\
law: cut
given:
  box: [{box: b, size: 3 KiB, parts: 3}]
cases:
  - name: three parts of a box of 3 KiB are cut
    expect:
      - {subject: {box: b}, verdict: cut, values: {part: 1 KiB}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rules of one law, and its tests; it is the working folder."""
    (tmp_path / "rules" / "tables").mkdir(parents=True)
    (tmp_path / "facts").mkdir()
    (tmp_path / "rules" / "tables" / "box.yaml").write_text(TABLES)
    (tmp_path / "rules" / "cut.lp").write_text(LAW)
    (tmp_path / "tests" / "laws").mkdir(parents=True)
    (tmp_path / "tests" / "laws" / "cut.yaml").write_text(TESTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add(case: str) -> None:
    """Add a case to the tests of the working folder."""
    with Path("tests/laws/cut.yaml").open("a") as file:
        file.write(case)


WRONG = """\
  - name: wrong thrice
    set: {box/b/parts: "4"}
    expect:
      - subject: {box: b}
        verdict: cut
        reasons: []
        values: {part: 1 KiB, free: null}
"""


def test_all_cases_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test"]) == ExitCode.FINE
    out = capsys.readouterr().out
    assert out == "1 case: 1 passed\n"


def test_each_cell_that_differs_is_told_at_its_place(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(WRONG)
    assert main(["test", "--format", "concise"]) == ExitCode.INVALID
    place = "tests/laws/cut.yaml"
    assert capsys.readouterr().out.replace(str(project) + "/", "").splitlines() == [
        f"{place}:12:18: fail: wrong thrice: cut of b: verdict: expected `cut`, found `small`",
        f"{place}:13:18: fail: wrong thrice: cut of b: reasons: not expected `too_small(768 B)`",
        f"{place}:14:24: fail: wrong thrice: cut of b: value `part`: expected 1 KiB, "
        "found 768 bytes",
    ]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("  - {name: a, remove: [box/c], findings: [no-facts]}\n", "no given row is `box/c`"),
        ('  - {name: a, set: {box/b/parts: "-1"}, absent: [{subject: {box: c}}]}\n', "error["),
        (
            '  - {name: a, set: {box/b/parts: "0"}, absent: [{subject: {box: c}}]}\n',
            "error[division-by-zero]",
        ),
    ],
)
def test_a_case_that_cannot_be_judged_errs(
    project: Path, capsys: pytest.CaptureFixture[str], case: str, said: str
) -> None:
    add(case)
    assert main(["test", "--format", "json"]) == ExitCode.INVALID
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"pass": 1, "fail": 0, "error": 1, "skipped": 0}
    assert said in document["cases"][1]["reason"]


def test_a_skip_tells_its_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add("  - {name: later, skip: waits for a figure}\n")
    assert main(["test"]) == ExitCode.FINE
    out = capsys.readouterr().out
    assert "waits for a figure" in out
    assert "1 passed, 1 skipped" in out


@pytest.mark.parametrize("reason", ["", "true", "''"])
def test_a_skip_without_a_reason_is_a_finding(
    project: Path, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    add(f"  - name: later\n    skip: {reason}\n    absent: [{{subject: {{box: c}}}}]\n")
    assert main(["test"]) == ExitCode.INVALID
    assert "bad-law-test" in capsys.readouterr().err


def test_fail_fast_tells_nothing_after_the_first(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(WRONG + "  - {name: after, absent: [{subject: {box: c}}]}\n")
    assert main(["test", "--fail-fast", "--format", "json"]) == ExitCode.INVALID
    document = json.loads(capsys.readouterr().out)
    assert [c["outcome"] for c in document["cases"]] == ["pass", "fail"]
    assert document["not_run"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ["test", "nowhere"],
        ["test", "-k", "nonsuch"],
        ["test", "-k", "and"],
        ["test", "facts"],
        ["test", "--facts", "facts"],
        ["test", ""],
    ],
)
def test_an_empty_run_is_no_pass(
    project: Path, capsys: pytest.CaptureFixture[str], words: Sequence[str]
) -> None:
    assert main(words) == ExitCode.COULD_NOT_RUN
    assert capsys.readouterr().err.startswith("ullage: error: ")


def test_tests_are_looked_for_beside_the_rules(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    assert main(["test", "--rules", "../rules"]) == ExitCode.FINE
    (project / "tests" / "laws" / "cut.yaml").rename(project / "tests" / "cut.yaml")
    (project / "tests" / "laws").rmdir()
    assert main(["test", "--rules", "../rules"]) == ExitCode.FINE
    (project / "tests" / "cut.yaml").unlink()
    (project / "tests").rmdir()
    assert main(["test", "--rules", "../rules"]) == ExitCode.COULD_NOT_RUN
    assert "tests" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("floor", ["The Floor", "floor and spare"]),
        ("floor and not spare", ["The Floor"]),
        ("not floor or SPARE", ["floor and spare", "roof"]),
        ("not (floor or roof)", []),
        ("floor and (spare or roof)", ["floor and spare"]),
    ],
)
def test_words_choose(expression: str, chosen: list[str]) -> None:
    names = ["The Floor", "floor and spare", "roof"]
    assert [n for n in names if chooser(expression)(n)] == chosen


@pytest.mark.parametrize("expression", ["", "and", "a b", "a and", "(a", "a)", "not", "((" * 99])
def test_no_expression(expression: str) -> None:
    with pytest.raises(UsageError):
        chooser(expression)


# -- many at once, and each alone


def untimed(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Results without what differs from run to run."""
    return [dataclasses.replace(r, duration=0.0) for r in results]


def test_shipped_cases_end_alike_together_and_alone() -> None:
    """A few, and with them some that fail: what they expect is that of their neighbour."""
    sample = SHIPPED_CASES[5::60]
    crossed = [
        dataclasses.replace(a, expect=b.expect, absent=b.absent, findings=b.findings)
        for a, b in zip(sample, SHIPPED_CASES[6::60], strict=False)
    ]
    cases = [*sample, *crossed]
    together = Batch(SHIPPED).judge(cases)
    assert untimed(together) == untimed([judge_alone(c, SHIPPED) for c in cases])
    assert {r.outcome for r in together} >= {Outcome.PASS, Outcome.FAIL}


SIZES = ["0 B", "1 B", "1000 B", "3 KiB", "7 GiB", "999999999 GB", "8 EiB"]
ROWS = st.fixed_dictionaries(
    {"box": st.sampled_from(["b", "c"]), "size": st.sampled_from(SIZES)},
    optional={
        "parts": st.sampled_from(["0", "1", "3", "7", "-1", "many"]),
        "share": st.sampled_from(["0", "20%", "1/3", "0.000000001", "2"]),
    },
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(ROWS, max_size=2), min_size=2, max_size=8))
def test_generated_cases_end_alike_together_and_alone(
    project: Path, drawn: list[list[dict[str, str]]]
) -> None:
    """Divisions by zero, figures out of range, duplicates and faulty values among sound ones."""
    policy = Policy.load(rules=["rules"], rows={})
    (model,) = load_cases(Path("tests/laws/cut.yaml")).cases
    cases = [
        LawCase(f"{n}", model.position, {"box": tuple(rows)}, expect=model.expect)
        for n, rows in enumerate(drawn)
    ]
    together = Batch(policy).judge(cases)
    assert untimed(together) == untimed([judge_alone(c, policy) for c in cases])


@pytest.mark.skipif(available() < 2, reason="needs processes that copy this one")
def test_cases_end_alike_in_one_process_and_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "WORTH", 1)
    some = SHIPPED_CASES[5::40]
    cases = [dataclasses.replace(c, skip="" if n % 7 else "why") for n, c in enumerate(some)]
    one, two = (
        running.run_tests(SHIPPED, cases, covered=True, processes=processes) for processes in (1, 2)
    )
    assert untimed(one.results) == untimed(two.results)
    assert one.coverage == two.coverage
    assert len(one.of(Outcome.SKIPPED)) == len(cases[::7])


def test_no_number_of_processes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "-j", "0"]) == ExitCode.COULD_NOT_RUN
    assert "`-j` does not take `0`" in capsys.readouterr().err


# -- cases on top of the catalog


FACTS = """\
box:
  - {box: c, size: 4 KiB, parts: 2, source: x}
  - {box: d, size: 1 KiB, parts: 2, source: x}
"""

ON_CATALOG = """\
law: cut
facts: catalog
cases:
  - name: as the catalog has it
    expect:
      - {subject: {box: c}, verdict: cut, values: {part: 2 KiB}}
      - {subject: {box: d}, verdict: small}
  - name: a cell and a row of it otherwise
    set: {box/c/parts: 8}
    remove: [box/d]
    expect:
      - {subject: {box: c}, verdict: small, values: {part: 512 B}}
    absent:
      - {subject: {box: d}}
  - name: a row beside it, and one in place of one
    given:
      box:
        - {box: d, size: 3 KiB}
        - {box: e, size: 1 MiB, parts: 4}
    set: {box/c/parts: null}
    expect:
      - {subject: {box: c}, verdict: uncut}
      - {subject: {box: d}, verdict: uncut}
      - {subject: {box: e}, verdict: cut, values: {part: 256 KiB}}
  - name: a faulty cell
    set: {box/c/parts: many}
    findings: [not-a-count]
"""


def write_on_catalog(text: str = ON_CATALOG) -> None:
    """Facts, and a file of law tests on top of them."""
    Path("facts/box.yaml").write_text(FACTS)
    Path("tests/laws/catalog.yaml").write_text(text)


def test_cases_on_top_of_the_catalog(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_on_catalog()
    assert main(["test"]) == ExitCode.FINE, capsys.readouterr().out
    assert capsys.readouterr().out == "5 cases: 5 passed\n"


def test_the_catalog_is_that_of_the_flag(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_on_catalog()
    Path("other").mkdir()
    Path("other/box.yaml").write_text(FACTS.replace("parts: 2", "parts: 1"))
    assert main(["test", "--facts", "other", "-k", "has"]) == ExitCode.INVALID
    out = capsys.readouterr().out
    assert "box of c" not in out
    assert "value `part`: expected 2 KiB, found 4096 bytes" in out
    assert "cut of d: verdict: expected `small`, found `cut`" in out


def test_facts_that_no_case_stands_on_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", "--facts", "facts"]) == ExitCode.COULD_NOT_RUN
    assert "no law test stands on facts" in capsys.readouterr().err


def test_a_faulty_catalog_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_on_catalog()
    Path("facts/box.yaml").write_text(FACTS.replace("4 KiB", "4 kibs"))
    assert main(["test"]) == ExitCode.INVALID
    assert "facts/box.yaml:2:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("remove: [box/nil]", "remove: no row is `box/nil`"),
        ("remove: [bag/c]", "remove: no row is `bag/c`"),
        ("set: {box/nil/parts: 1}", "no such row is in `box`"),
        ("set: {bag/c/parts: 1}", "no table `bag` is declared"),
        ("set: {box/c/part: 1}", "table `box` has no column `part`"),
        ("set: {box/c/box: e}", "it is in the key of `box`"),
        ("set: {box/c/size: null}", "a row of `box` has no column `size`"),
        ("given: {box: [{box: e, size: 1 B}, {box: e, size: 2 B}]}", "`e` is already a row"),
    ],
)
def test_edits_of_the_catalog_that_cannot_be_made(
    project: Path, capsys: pytest.CaptureFixture[str], edit: str, said: str
) -> None:
    case = f"law: cut\nfacts: catalog\ncases:\n  - name: n\n    {edit}\n    absent:\n"
    write_on_catalog(f"{case}      - {{subject: {{box: z}}}}\n")
    assert main(["test"]) == ExitCode.INVALID
    out = capsys.readouterr().out
    assert said in out
    assert out.endswith("2 cases: 1 passed, 1 in error\n")


def test_a_catalog_of_another_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_on_catalog(ON_CATALOG.replace("facts: catalog", "facts: shipped"))
    assert main(["test"]) == ExitCode.INVALID
    err = capsys.readouterr().err
    assert "error[bad-law-test]: `facts` is `shipped`" in err
    assert "tests/laws/catalog.yaml:2:8" in err


def test_cases_on_the_shipped_catalog_end_alike_together_and_alone() -> None:
    """One host as it is, and with half its memory; figures of the rows as the file has them."""
    shipped = Policy.load(rules=[ROOT / "rules"], facts=[ROOT / "facts"])
    standing = shipped.standings("node_memory")[0]
    subject = tuple((name, str(part)) for name, part in standing.subject)
    nowhere = SHIPPED_CASES[0].position
    expect = Expectation("node_memory", subject, nowhere, verdict=standing.verdict)
    cases = [
        LawCase("as it is", nowhere, {}, expect=(expect,), on_catalog=True),
        LawCase(
            "without it",
            nowhere,
            {},
            remove=(f"host/{subject[0][1]}",),
            absent=(expect,),
            on_catalog=True,
        ),
        LawCase(
            "without what others name",
            nowhere,
            {},
            remove=("engine_release/vllm@0.29.0",),
            findings=frozenset({"dangling-reference"}),
            on_catalog=True,
        ),
        SHIPPED_CASES[0],
    ]
    together = Batch(shipped).judge(cases)
    assert untimed(together) == untimed([judge_alone(c, shipped) for c in cases])
    assert {together[0].outcome, together[2].outcome} == {Outcome.PASS}


# -- recording


TO_RECORD = """\
law: cut
given:
  box:
    # the only one
    - {box: b, size: 3 KiB, parts: 2}
cases:
  - name: right
    expect:
      - {subject: {box: b}, verdict: cut}
  - name: wrong  # thrice
    set: {box/b/parts: 4}
    expect:
      - subject: {box: b}  # the one
        verdict: cut
        reasons: []
        values: {part: 1 KiB, free: 1 B}
  # Nobody knows yet.
  - name: open
    set: {box/b/size: 1 KiB, box/b/parts: 3, box/b/share: 20%}
  - name: without a subject
    remove: [box/b]
    expect:
      - {subject: {box: b}, verdict: cut}
"""

RECORDED = """\
law: cut
given:
  box:
    # the only one
    - {box: b, size: 3 KiB, parts: 2}
cases:
  - name: right
    expect:
      - {subject: {box: b}, verdict: cut}
  - name: wrong  # thrice
    skip: "recorded, and nobody has read it yet: drop this line once you have"
    set: {box/b/parts: 4}
    expect:
      - subject: {box: b}  # the one
        verdict: small
        reasons: [too_small(768 B)]
        values: {part: 768 B, free: null}
  # Nobody knows yet.
  - name: open
    skip: "recorded, and nobody has read it yet: drop this line once you have"
    set: {box/b/size: 1 KiB, box/b/parts: 3, box/b/share: 20%}
    expect:
      - subject: {box: b}
        verdict: small
        reasons: [too_small(341.33 B)]
        values: {part: 1024/3 bytes, free: 204.80 B}
  - name: without a subject
    remove: [box/b]
    expect:
      - {subject: {box: b}, verdict: cut}
"""
"""3 KiB in four parts are 768 bytes, 1 KiB in three 1024/3; a fifth of 1 KiB is 204.8."""


def test_recording_writes_what_differs_and_what_is_open(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("tests/laws/cut.yaml")
    path.write_text(TO_RECORD)
    assert main(["test", "--record"]) == ExitCode.INVALID
    assert path.read_text() == RECORDED
    out = capsys.readouterr().out
    assert "not recorded: there is no cut of b" in out
    assert out.endswith("4 cases: 1 passed, 1 in error, 2 skipped\n")
    skip = '    skip: "recorded, and nobody has read it yet: drop this line once you have"\n'
    path.write_text(RECORDED.replace(skip, ""))
    assert main(["test", "-k", "not without"]) == ExitCode.FINE
    path.write_text(TO_RECORD.partition("  - name: without")[0])
    assert main(["test", "--record"]) == ExitCode.FINE
    assert path.read_text() == RECORDED.partition("  - name: without")[0]
    capsys.readouterr()
    assert main(["test"]) == ExitCode.FINE
    assert capsys.readouterr().out.endswith("3 cases: 1 passed, 2 skipped\n")


def test_only_chosen_cases_are_recorded(project: Path) -> None:
    path = Path("tests/laws/cut.yaml")
    path.write_text(TO_RECORD)
    assert main(["test", "--record", "-k", "right"]) == ExitCode.FINE
    assert path.read_text() == TO_RECORD


def test_an_empty_case_is_a_finding_without_recording(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tests/laws/cut.yaml").write_text(TO_RECORD)
    assert main(["test"]) == ExitCode.INVALID
    assert "the case `open` expects nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "cases:\n  - name: n\n    given: {box: [{box: b, size: 1 B}]}\n",
            "its file names no law",
        ),
        ("law: cut\ncases:\n  - name: n\n", "`cut` says nothing of its rows"),
        (
            "law: cut\ncases:\n  - name: n\n    given: {box: [{box: b, size: 1 B}]}\n"
            "    absent: [{subject: {box: b}}]\n",
            "something is concluded that it expects to be absent",
        ),
        (
            "law: cut\ncases:\n  - &a\n    name: n\n    given: {box: [{box: b, size: 1 B}]}\n"
            "    expect: [{subject: {box: b}, verdict: cut}]\n",
            "shared with others by an alias",
        ),
    ],
)
def test_what_cannot_be_recorded(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = Path("tests/laws/cut.yaml")
    path.write_text(text)
    assert main(["test", "--record"]) == ExitCode.INVALID
    assert f"not recorded: {said}" in capsys.readouterr().out.replace("its lines are ", "")
    assert path.read_text() == text


@pytest.mark.parametrize("other", ["--fail-fast", "--watch"])
def test_recording_is_by_itself(
    project: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    assert main(["test", "--record", other]) == ExitCode.COULD_NOT_RUN
    assert f"`--record` stands beside `{other}`" in capsys.readouterr().err


# -- watching


def test_watching_runs_again_after_each_change(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case is added that fails, then a rule broken, then mended; then the user ends it."""
    law = Path("rules/cut.lp").read_text()
    edits: list[Callable[[], object]] = [
        lambda: add(WRONG),
        lambda: None,
        lambda: Path("rules/cut.lp").write_text(law + "cut("),
        lambda: Path("rules/cut.lp").write_text(law),
    ]
    steps = iter(edits)

    def sleep(_: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr("ullage.watching.time.sleep", sleep)
    assert main(["test", "--watch"]) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if "case" in line and ":" not in line[:6]] == [
        "1 case: 1 passed",
        "2 cases: 1 passed, 1 failed",
        "2 cases: 1 passed, 1 failed",
    ]
    assert err.count("waits for a file to change") == 4
    assert "rules/cut.lp" in err
    assert err.endswith("ended; the last run exits with 3\n")


# -- coverage


def uncovered(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, int, str]]:
    """What of the working folder's rules its tests have not shown: what, in which line, and why."""
    capsys.readouterr()
    assert main(["test", "--coverage", "--format", "json"]) == ExitCode.FINE
    found = json.loads(capsys.readouterr().out)["coverage"]["uncovered"]
    return [(u["what"], u["position"]["line"], u["reason"]) for u in found]


def line(text: str) -> int:
    """The line of the law that begins so."""
    return 1 + next(i for i, one in enumerate(LAW.splitlines()) if one.startswith(text))


def test_coverage_tells_what_no_case_has_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One case: a box with parts, that are large enough, and without a share."""
    small = line("standing(cut, Box, small)")
    reason = line("reason(cut, Box, too_small")
    uncut = line("standing(cut, Box, uncut)")
    obligation = line("obligation(cut, Box, parts)")
    free = line("value(cut, Box, free")
    never = "in a body that is never true"
    assert uncovered(capsys) == [
        # Its comparison is true, and nothing else was in the way of a part that is too small.
        ("condition", line("standing(cut, Box, cut)"), "never alone in the way"),
        ("rule", small, "body never true"),
        ("condition", small, never),
        ("condition", small, never),
        ("rule", reason, "body never true"),
        ("condition", reason, never),
        ("condition", reason, never),
        ("rule", uncut, "body never true"),
        ("condition", uncut, never),
        ("condition", uncut, never),
        ("rule", obligation, "body never true"),
        ("condition", obligation, never),
        ("condition", obligation, never),
        ("rule", free, "never ground"),
        ("condition", free, never),
        ("condition", free, never),
    ]
    add(
        '  - {name: small, set: {box/b/parts: "4"},\n'
        "     expect: [{subject: {box: b}, verdict: small}]}\n"
    )
    told = uncovered(capsys)
    assert {at for _, at, _ in told} == {uncut, obligation, free}
    add(
        "  - {name: uncut, set: {box/b/parts: null}, expect: [{subject: {box: b}}]}\n"
        "  - {name: free, set: {box/b/share: 20%}, expect: [{subject: {box: b}}]}\n"
    )
    assert uncovered(capsys) == []


def test_a_negation_that_holds_wherever_it_is_asked_is_not_tested(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tests/laws/cut.yaml").write_text(
        "law: cut\ncases:\n  - name: uncut\n    given: {box: [{box: b, size: 1 B}]}\n"
        "    expect: [{subject: {box: b}, verdict: uncut}]\n"
    )
    asked = (line("standing(cut, Box, uncut)"), line("obligation(cut, Box, parts)"))
    told = [t for t in uncovered(capsys) if t[1] in asked]
    assert told == [("condition", at, "negation never tested") for at in asked]


def test_a_variable_of_one_atom_may_have_a_name(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without its atom nothing else would bind `_Size`, and nothing needs it."""
    head = "value(cut, Box, part, Bytes)"
    law = LAW.replace(
        f"{head} :- part(Box, Bytes).", f"{head} :- part(Box, Bytes), box(Box, size, _Size)."
    )
    Path("rules/cut.lp").write_text(law)
    assert ("condition", line(head), "never alone in the way") in uncovered(capsys)


def test_errors_of_arithmetic_in_probes_alone_are_no_failures(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule keeps zero out by a condition, without which the probe divides by it."""
    law = LAW.replace(
        "part(Box, Size / Parts) :- box(Box, size, Size), box(Box, parts, Parts).",
        "part(Box, Bytes) :- box(Box, size, Size), box(Box, parts, Parts), Parts > 0, "
        "Bytes = Size / Parts.",
    ).replace("not box(Box, parts, _)", "not part(Box, _)")
    Path("rules/cut.lp").write_text(law)
    add(
        '  - name: none\n    set: {box/b/parts: "0"}\n'
        "    expect: [{subject: {box: b}, verdict: uncut}]\n"
    )
    assert ("condition", line("part(Box"), "never alone in the way") in uncovered(capsys)


@pytest.mark.parametrize(
    ("thresholds", "code", "said"),
    [
        (["0"], ExitCode.FINE, []),
        (["rules=28"], ExitCode.FINE, []),
        (["rules=37.5"], ExitCode.FINE, []),
        (["rules=37.6"], ExitCode.INVALID, ["rules"]),
        (["100"], ExitCode.INVALID, ["rules", "conditions"]),
        (["conditions=100", "rules=1"], ExitCode.INVALID, ["conditions"]),
    ],
)
def test_thresholds(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    thresholds: list[str],
    code: ExitCode,
    said: list[str],
) -> None:
    """Of eight rules three are shown: the part, the verdict and the value of it."""
    words = [word for t in thresholds for word in ("--threshold", t)]
    assert main(["test", "--coverage", *words]) == code
    err = capsys.readouterr().err
    assert [part for part in ("rules", "conditions") if f"of {part} are covered" in err] == said


@pytest.mark.parametrize("word", ["101", "x", "rule=3", "rules=", "=5", "-1", "1e2", ""])
def test_no_threshold(project: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "--coverage", f"--threshold={word}"]) == ExitCode.COULD_NOT_RUN
    assert main(["test", "--threshold", "5"]) == ExitCode.COULD_NOT_RUN


# -- names that nothing declares, and text that is no program


@pytest.mark.parametrize(
    ("expects", "said"),
    [
        ("expect: [{law: Cut, subject: {box: b}, verdict: cut}]", "no law is named `Cut`"),
        ("absent: [{law: cutt, subject: {box: z}}]", "no law is named `cutt`"),
        ("absent: [{plan: cut, subject: {box: z}}]", "no plan is named `cut`"),
        (
            "expect: [{subject: {box: b}, verdict: cut, values: {fre: null}}]",
            "`cut` has no value `fre`",
        ),
        (
            "absent: [{law: 'x). _told''reason(0,cut,\"b\",parts', subject: {box: b}}]",
            "no law is named `x)",
        ),
    ],
)
def test_what_nothing_declares_is_no_expectation(
    project: Path, capsys: pytest.CaptureFixture[str], expects: str, said: str
) -> None:
    add(f"  - name: n\n    {expects}\n")
    assert main(["test"]) == ExitCode.INVALID
    out = capsys.readouterr().out
    assert said in out
    assert out.endswith("2 cases: 1 passed, 1 in error\n")


@pytest.mark.parametrize("word", ["False", "no", "OFF", "0"])
def test_a_switch_is_no_reason_to_skip(
    project: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    add(f"  - name: n\n    skip: {word}\n")
    assert main(["test"]) == ExitCode.INVALID
    assert "`skip` gives no reason" in capsys.readouterr().err


def test_a_circle_of_links_is_unreadable(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tests/laws/loop.yaml").symlink_to("loop.yaml")
    assert main(["test"]) == ExitCode.INVALID
    assert "unreadable-file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ("&r [too_small(1 B)]", "shared with others by an alias"),
        ("\n          # why\n          - too_small(1 B)", "comments stand in a list"),
    ],
)
def test_nothing_is_recorded_over_what_would_be_lost(
    project: Path, capsys: pytest.CaptureFixture[str], reasons: str, said: str
) -> None:
    add(f"  - name: n\n    expect:\n      - subject: {{box: b}}\n        reasons: {reasons}\n")
    text = Path("tests/laws/cut.yaml").read_text()
    assert main(["test", "--record"]) == ExitCode.INVALID
    assert said in capsys.readouterr().out
    assert Path("tests/laws/cut.yaml").read_text() == text
