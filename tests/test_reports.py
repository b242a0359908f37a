"""The formats that programs read: to the character, by the rules of each, and of hostile text.

Golden files are in ``golden/reports``; ``pytest --update-golden`` writes them anew, to be read
before they are kept.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from samples import DIFF, FINDINGS, standing

from ullage import Policy
from ullage.cli.exit_code import ExitCode
from ullage.findings import Finding, Position
from ullage.itemized import of_diff, of_findings, of_standings, of_tests
from ullage.items import Item, Kind, Level, Remark, Report, Run
from ullage.pages import error_page, error_pages
from ullage.places import Places
from ullage.render import REPORT_FORMATS
from ullage.render.reports import REPORTS
from ullage.render.text import one_line
from ullage.results import Law, StandingClass
from ullage.testreport import (
    CaseResult,
    Coverage,
    FileCoverage,
    Mismatch,
    Outcome,
    TestReport,
    Uncovered,
)
from ullage.toplevel import Top

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SMALL = ROOT / "docs" / "small"
GOLDEN = TESTS / "golden" / "reports"
SCHEMA = json.loads((TESTS / "sarif-subset.json").read_text("utf-8"))

CASES = "tests/laws/room.yaml"
TOLD = TestReport(
    (
        CaseResult(CASES, Position(CASES, 3, 5), "it fits", "room", Outcome.PASS, duration=0.012),
        CaseResult(
            CASES,
            Position(CASES, 9, 5),
            "a byte more",
            "room",
            Outcome.FAIL,
            (
                Mismatch(
                    Position(CASES, 12, 9), "train", "verdict", "fits", "refused",
                    "room of train: verdict: expected fits, found refused",
                ),
                Mismatch(
                    Position(CASES, 13, 9), "train", "reasons", "", "too_large(kiln)",
                    "room of train: reasons: not expected `too_large(kiln)`",
                ),
            ),
            duration=0.003,
        ),
        CaseResult(
            CASES, Position(CASES, 20, 5), "no machine", "", Outcome.ERROR,
            reason="`set` names no row",
        ),
        CaseResult(
            "tests/laws/other.yaml", Position("tests/laws/other.yaml", 2, 1), "later", "room",
            Outcome.SKIPPED, reason="waits for a reading",
        ),
    ),
    left_out=2,
    coverage=Coverage(
        (FileCoverage("rules/room.lp", 2, 1, 4, 3),),
        (Uncovered("rule", Position("rules/room.lp", 48, 1), "never ground"),),
    ),
)  # fmt: skip
LAWS = (
    Law("fit", "Whether an arm fits. It reads.", ("Arm",), (("fits", StandingClass.ESTABLISHED),)),
)


@cache
def small() -> Policy:
    """The small policy, with positions as a run in its folder has them."""
    with chdir(SMALL):
        policy = Policy.load("rules", "facts")
        policy.standings()
    return policy


def run_of(verb: str, code: ExitCode = ExitCode.FINE, top: Top | None = None) -> Run:
    top = top or Top("/repo", "/repo")
    return Run(verb, "1.2.3", code.value, code.sentence, top)


def of_small(failing: Sequence[str] = ()) -> Report:
    policy = small()
    places = Places(policy.book.laws, policy.facts)
    return of_standings(policy.standings(), places, policy.laws, failing)


GOLDENS: Mapping[str, Callable[[], tuple[Report, Run]]] = {
    "check": lambda: (
        of_findings(FINDINGS),
        run_of("check", ExitCode.INVALID, Top("/repo", "/repo/lab")),
    ),
    "standings": lambda: (of_small(), run_of("standings", ExitCode.REFUSED)),
    "test": lambda: (of_tests(TOLD, LAWS), run_of("test", ExitCode.INVALID)),
    "diff": lambda: (
        of_diff(
            DIFF, LAWS, {"component_fact": Position("rules/component.lp", 30, 1)}, ["looser"]
        ),
        run_of("diff", ExitCode.REFUSED),
    ),
}  # fmt: skip
ENDINGS = {"sarif": "sarif", "junit": "xml", "github": "txt", "tap": "tap"}


@pytest.mark.parametrize("format", REPORTS)
@pytest.mark.parametrize("verb", GOLDENS)
def test_golden(verb: str, format: str, request: pytest.FixtureRequest) -> None:
    text = REPORTS[format](*GOLDENS[verb]())
    path = GOLDEN / f"{verb}.{ENDINGS[format]}"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text("utf-8")


def test_every_golden_file_has_a_case() -> None:
    assert {p.name for p in GOLDEN.iterdir()} == {
        f"{verb}.{ending}" for verb in GOLDENS for ending in ENDINGS.values()
    }


def test_the_names_of_the_formats_are_those_of_the_parser() -> None:
    assert tuple(REPORTS) == REPORT_FORMATS


# Items.


def outcomes(report: Report) -> list[tuple[str, str, Outcome]]:
    return [(i.suite, i.name, i.outcome) for i in report.items]


def test_standings_pass_fail_or_are_skipped() -> None:
    assert outcomes(of_small()) == [
        ("room", "index", Outcome.SKIPPED),
        ("room", "serve", Outcome.FAIL),
        ("room", "train", Outcome.PASS),
    ]
    assert [r.level for r in of_small().remarks] == [Level.WARNING, Level.ERROR]


def test_an_unestablished_standing_fails_where_that_was_asked_for() -> None:
    report = of_small(["unestablished"])
    assert report.items[0].outcome is Outcome.FAIL
    assert report.remarks[0].level is Level.ERROR


def test_a_standing_says_why_and_stands_at_its_row() -> None:
    remark = of_small().remarks[1]
    assert remark.message == "serve is refused: it needs more than crucible has free"
    row = next(n for n, line in enumerate(fact_lines(), 1) if "{job: serve," in line)
    assert str(remark.positions[0]) == f"facts/machines.yaml:{row}:5"


def fact_lines() -> list[str]:
    return (SMALL / "facts" / "machines.yaml").read_text("utf-8").splitlines()


def test_what_moves_fails_where_fail_on_names_it() -> None:
    def moved(*failing: str) -> list[tuple[Outcome, Level]]:
        found = of_diff(DIFF, LAWS, {}, failing).items[:6]
        return [(i.outcome, i.remarks[0].level) for i in found]

    looser, rest = (Outcome.PASS, Level.WARNING), (Outcome.PASS, Level.NOTE)
    failed = (Outcome.FAIL, Level.ERROR)
    assert moved() == [looser, looser, rest, rest, rest, rest]
    assert moved("looser") == [failed, failed, rest, rest, rest, rest]
    assert moved("any") == [failed] * 6


def test_a_move_stands_at_its_cause() -> None:
    report = of_diff(DIFF, LAWS, {}, ())
    for item, reasoned in zip(report.items, (*DIFF.moved, *DIFF.plans), strict=False):
        assert [str(p) for p in item.positions] == [str(c.place) for c in reasoned.causes]


def test_a_run_that_finds_nothing_has_one_item_that_passes() -> None:
    """Readers of test results take an empty list for a run that went wrong."""
    assert outcomes(of_findings(())) == [
        ("policy", "declarations, facts and rules are valid", Outcome.PASS)
    ]
    policy = small()
    places = Places(policy.book.laws, policy.facts)
    assert outcomes(of_standings((), places, (), ())) == [("policy", "no standings", Outcome.PASS)]
    nothing = replace(DIFF, moved=(), plans=(), without_effect=(), not_the_same=())
    assert outcomes(of_diff(nothing, (), {}, ())) == [("policy", "nothing moves", Outcome.PASS)]


def test_warnings_alone_fail_nothing() -> None:
    report = of_findings(FINDINGS[2:])
    assert [(i.suite, i.outcome) for i in report.items] == [
        ("findings", Outcome.PASS),
        ("policy", Outcome.PASS),
    ]
    assert [r.level for r in report.remarks] == [Level.WARNING]


# Places of subjects.

RACKS = """\
tables:
  spare:
    doc: A spare part of a rack.
    key:
      rack: {sort: rack, references: rack}
  rack:
    doc: A rack.
    key: {rack: rack}
  slot:
    doc: A slot of a rack.
    key:
      rack: {sort: rack, references: rack}
      number: count
"""

LAW = """\
% Purpose  what the law says
% Input    slot/1, spare/1
% Output   standing/3

%*! slots(Rack, Number)
Slots.
Args:
  - Rack: rack
  - Number: count
Subjects: slot((Rack, Number))
Verdicts:
  - done [established]
*%
%!trace_rule {"% and % are done", R, N}.
standing(slots, (R, N), done) :- slot((R, N)).

%*! spares(Rack)
Spares.
Args:
  - Rack: rack
Subjects: spare(Rack)
Verdicts:
  - done [established]
*%
%!trace_rule {"% is done", R}.
standing(spares, R, done) :- spare(R).

%*! pairs(One, Other)
Pairs.
Args:
  - One: rack
  - Other: rack
Subjects: spare(One), rack(Other), One != Other
Verdicts:
  - done [established]
*%
%!trace_rule {"% and % are done", A, B}.
standing(pairs, (A, B), done) :- spare(A), rack(B), A != B.
"""


def test_places_by_the_key_of_the_whole_subject_or_of_its_parts(tmp_path: Path) -> None:
    (tmp_path / "rules" / "tables").mkdir(parents=True)
    (tmp_path / "facts").mkdir()
    (tmp_path / "rules" / "tables" / "t.yaml").write_text(RACKS, "utf-8")
    (tmp_path / "rules" / "l.lp").write_text(LAW, "utf-8")
    (tmp_path / "facts" / "f.yaml").write_text(
        "rack:\n  - {rack: a}\n  - {rack: b}\n"
        "slot:\n  - {rack: a, number: 2}\n"
        "spare:\n  - {rack: a}\n",
        "utf-8",
    )
    with chdir(tmp_path):
        policy = Policy.load("rules", "facts")
        found = Places(policy.book.laws, policy.facts)
        lines = {
            f"{s.law} {s.subject_text}": [p.line for p in found.of(s) if not p.note]
            for s in policy.standings()
        }
    # Subjects of `spares` are drawn from `spare`; else `rack`, which refers to none, goes first.
    assert lines == {"slots a/2": [5], "spares a": [7], "pairs a/b": [2, 3]}


def test_places_of_every_shipped_standing() -> None:
    """Each subject of the shipped policy stands at a row that names the last of its parts."""
    with chdir(ROOT):
        policy = Policy.load("rules", "facts")
        places = Places(policy.book.laws, policy.facts)
        for one in policy.standings():
            rows = [p for p in places.of(one) if not p.note]
            assert rows, one
            lines = Path(rows[0].file).read_text("utf-8").splitlines()
            # A row may go on over lines; the key stands in the first few.
            told = "\n".join(lines[rows[0].line - 1 : rows[0].line + 6])
            parts = one.subject_text.split("/")
            assert any(re.search(rf"\b{re.escape(p)}", told) for p in parts), (one, told)


def test_a_subject_without_a_row_stands_at_its_law() -> None:
    policy = small()
    law = policy.book.laws["room"]
    gone = standing("room", {"job": "nobody"}, StandingClass.REFUSED, "refused")
    (place,) = Places(policy.book.laws, policy.facts).of(gone)
    assert (place, place.note) == (law.position, "declares the law `room`")


# Paths.


def test_paths_are_told_from_the_top_of_the_repository(tmp_path: Path) -> None:
    lab = tmp_path / "top" / "lab" / "deep"
    lab.mkdir(parents=True)
    assert Top.of(lab).path("facts/a.yaml") == "facts/a.yaml"
    (tmp_path / "top" / ".git").write_text("gitdir: elsewhere\n")
    top = Top.of(lab)
    assert top.folder == str(tmp_path / "top")
    assert top.path("facts/a.yaml") == "lab/deep/facts/a.yaml"
    assert top.path("./facts//b/../a.yaml") == "lab/deep/facts/a.yaml"
    assert top.path("../facts/a.yaml") == "lab/facts/a.yaml"
    assert top.path(str(tmp_path / "top" / "a.yaml")) == "a.yaml"
    assert top.path("../../../a.yaml") == str(tmp_path / "a.yaml")
    # A folder whose name begins as that of the top does is no part of it.
    assert top.path("../../../top2/a.yaml") == str(tmp_path / "top2" / "a.yaml")


@pytest.mark.parametrize("file", ["", "<query>", "<rows>", "0123456789ab:rules/a.lp"])
def test_what_is_no_file_has_no_path(file: str) -> None:
    assert Top("/repo", "/repo").path(file) is None


# Pages.


def test_every_page_can_be_read_by_itself() -> None:
    codes = sorted(p.stem for p in error_pages().glob("*.md") if p.stem != "README")
    assert len(codes) > 90
    for code in codes:
        page = error_page(code)
        assert page.startswith(f"# {code}\n\n")
        outside = re.sub(r"^(`{3,}).*?^\1$", "", page, flags=re.M | re.S)
        assert "<!--" not in outside
        assert not re.search(r"\]\((?!https?:)", outside), code


def test_the_pages_come_with_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '"docs/errors" = "ullage/_errors"' in project


def test_a_code_without_a_page_has_none() -> None:
    assert error_page("no-such-code") == ""
    assert error_page("../cli") == ""


# SARIF.


def document(report: Report, run: Run) -> Any:
    found = json.loads(REPORTS["sarif"](report, run))
    Draft202012Validator(SCHEMA).validate(found)
    return found["runs"][0]


@pytest.mark.parametrize("verb", GOLDENS)
def test_sarif_keeps_to_the_schema_and_to_itself(verb: str) -> None:
    report, run = GOLDENS[verb]()
    found = document(report, run)
    rules = found["tool"]["driver"]["rules"]
    assert len({r["id"] for r in rules}) == len(rules)
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    told = Counter(r["level"] for r in found["results"])
    told += Counter(
        n["level"]
        for n in found["invocations"][0]["toolExecutionNotifications"]
        if "associatedRule" in n
    )
    assert told == Counter(r.level.value for r in report.remarks)
    prints = [r["partialFingerprints"]["ullage/v1"] for r in found["results"]]
    assert len(set(prints)) == len(prints)
    assert found["invocations"][0]["exitCode"] == run.status


def test_the_schema_is_strict() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    found = json.loads((GOLDEN / "check.sarif").read_text("utf-8"))
    found["runs"][0]["results"][0]["surprise"] = 1
    assert not Draft202012Validator(SCHEMA).is_valid(found)


def test_sarif_carries_the_page_of_each_code() -> None:
    (rule,) = document(of_findings(FINDINGS[:1]), run_of("check"))["tool"]["driver"]["rules"]
    assert rule["id"] == "unknown-column"
    assert rule["shortDescription"]["text"] == (
        "A row, or an atom of a rule, names a column that its table does not declare."
    )
    page = rule["help"]["markdown"]
    assert page == error_page("unknown-column")
    assert "## Fix" in page


def test_what_has_no_place_is_a_notification_and_the_run_failed() -> None:
    """Code scanning refuses a whole file where one result has no place."""
    nowhere = Finding("no-facts", "there is no fact")
    old = Finding("missing-unit", "`96` has no unit", (Position("0123456789ab:f.yaml", 2, 3),))
    found = document(of_findings([nowhere, old]), run_of("diff", ExitCode.INVALID))
    assert found["results"] == []
    (invocation,) = found["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [n["message"]["text"] for n in invocation["toolExecutionNotifications"]] == [
        "there is no fact",
        "`96` has no unit (0123456789ab:f.yaml:2:3)",
    ]
    assert document(of_findings(FINDINGS[:1]), run_of("check"))["invocations"][0][
        "executionSuccessful"
    ]


def test_a_place_that_no_location_can_name_is_told() -> None:
    places = (Position("<query>", 1, 4), Position("rules/t.yaml", 3, 3))
    finding = Finding("missing-unit", "`96` has no unit", places)
    (result,) = document(of_findings([finding]), run_of("check"))["results"]
    assert result["message"]["text"] == "`96` has no unit (<query>:1:4)"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "rules/t.yaml"
    assert "relatedLocations" not in result


def test_fingerprints_stay_where_lines_move() -> None:
    def prints(findings: Sequence[Finding]) -> list[str]:
        found = document(of_findings(findings), run_of("check"))["results"]
        return [r["partialFingerprints"]["ullage/v1"] for r in found]

    one = FINDINGS[0]
    lower = replace(one, positions=tuple(replace(p, line=p.line + 7) for p in one.positions))
    assert prints([one]) == prints([lower])
    assert len(set(prints([one, lower]))) == 2
    elsewhere = replace(one, positions=(Position("facts/other.yaml", 14, 5),))
    reworded = replace(one, message="table `integrated_system` has no column `bus`")
    assert len({*prints([one]), *prints([elsewhere]), *prints([reworded])}) == 3


def test_fingerprints_of_standings_are_of_law_and_subject() -> None:
    def prints(report: Report) -> list[str]:
        found = document(report, run_of("standings"))["results"]
        return [r["partialFingerprints"]["ullage/v1"] for r in found]

    item = of_small().items[1]
    reworded = replace(item, remarks=(replace(item.remarks[0], message="serve is refused: else"),))
    assert prints(Report((item,))) == prints(Report((reworded,)))


def test_sarif_names_files_by_uris() -> None:
    place = Position("facts/a b%#?é.yaml", 1, 1)
    outside = Position("/elsewhere/x.yaml", 2, 2)
    finding = Finding("some-code", "it is odd", (place, outside))
    (result,) = document(of_findings([finding]), run_of("check"))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "facts/a%20b%25%23%3F%C3%A9.yaml"
    assert unquote(uri) == place.file
    other = result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]
    assert other == {"uri": "file:///elsewhere/x.yaml"}


def test_no_placeholder_and_no_link_comes_from_a_text() -> None:
    finding = Finding("some-code", "`{0}` and [here](http://a.example)", FINDINGS[0].positions)
    (result,) = document(of_findings([finding]), run_of("check"))["results"]
    assert result["message"]["text"] == "`{{0}}` and [here] (http://a.example)"


# JUnit.


def suites(text: str) -> ET.Element:
    """The document, held to what readers of JUnit count on."""
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    cases = list(root.iter("testcase"))
    check_counts(root, cases, "failures", "errors")
    assert set(root.attrib) == {"name", "tests", "failures", "errors", "time"}
    assert cases
    assert len(list(root.iter("testcase"))) == sum(len(s.findall("testcase")) for s in root)
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.get("name")
        check_counts(suite, suite.findall("testcase"), *COUNTED)
        assert set(suite.attrib) == {"name", "tests", "time", *COUNTED}
        assert [c.tag for c in suite] == sorted((c.tag for c in suite), key=ORDER.index)
        for case in suite.findall("testcase"):
            assert {"name", "classname", "time"} <= set(case.attrib)
            assert set(case.attrib) <= {"name", "classname", "time", "file", "line"}
            assert [c.tag for c in case] in (
                [],
                ["failure"],
                ["error"],
                ["skipped"],
                ["system-out"],
            )
            assert int(case.get("line", "1")) >= 1
    return root


ORDER = ("properties", "testcase")
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def check_counts(element: ET.Element, cases: Sequence[ET.Element], *names: str) -> None:
    counts = {"tests": len(cases)}
    for name in names:
        counts[name] = sum(c.find(COUNTED[name]) is not None for c in cases)
    assert {name: int(element.get(name, "-1")) for name in counts} == counts
    seconds = sum(float(c.get("time", "nan")) for c in cases)
    assert float(element.get("time", "nan")) == pytest.approx(
        seconds, abs=0.001 * len(cases) + 1e-9
    )


@pytest.mark.parametrize("verb", GOLDENS)
def test_junit_counts_what_it_holds(verb: str) -> None:
    report, run = GOLDENS[verb]()
    root = suites(REPORTS["junit"](report, run))
    assert [c.get("name") for c in root.iter("testcase")] == [i.name for i in report.items]


def test_junit_of_law_tests() -> None:
    root = suites(REPORTS["junit"](*GOLDENS["test"]()))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "1", "1")
    assert [suite.get("skipped") for suite in root] == ["0", "1", "1"]
    failed = root.find(".//testcase[@name='a byte more']")
    assert failed is not None
    assert (failed.get("file"), failed.get("line"), failed.get("time")) == (CASES, "9", "0.003")
    failure = failed.find("failure")
    assert failure is not None
    assert failure.text is not None
    # Both cells that differ are told, at their places.
    assert "tests/laws/room.yaml:12:9" in failure.text
    assert "not expected `too_large(kiln)`" in failure.text


# GitHub.


def commands(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """The commands of a log as a runner reads them: name, properties and message."""
    for line in re.split(r"\r\n|\r|\n", text.removesuffix("\n")) if text else ():
        match = re.fullmatch(r"::([a-z-]+) ([^:]*)::(.*)", line)
        assert match, line
        pairs = (p.partition("=") for p in match[2].split(","))
        yield match[1], {n: unescaped(v, ":,") for n, _, v in pairs}, unescaped(match[3], "")


def unescaped(text: str, more: str) -> str:
    for char in ("\r", "\n", *more):
        text = text.replace(f"%{ord(char):02X}", char)
    return text.replace("%25", "%")


def test_github_commands_read_back() -> None:
    found = list(commands(REPORTS["github"](*GOLDENS["check"]())))
    assert found == [
        (
            "error",
            {
                "file": "lab/facts/systems/nvidia.yaml",
                "line": "14",
                "col": "5",
                "title": "unknown-column",
            },
            "table `integrated_system` has no column `capasity` "
            "(lab/rules/tables/systems.yaml:9:3, declares its columns); "
            "a similar column is `capacity`",
        ),
        ("error", {"title": "no-facts"}, "there is no fact in `facts`"),
        (
            "warning",
            {
                "file": "lab/rules/tables/plan.yaml",
                "line": "3",
                "col": "3",
                "title": "unread-table",
            },
            "no rule reads table `tier`",
        ),
    ]


def test_github_has_the_worst_first() -> None:
    names = [name for name, _, _ in commands(REPORTS["github"](*GOLDENS["diff"]()))]
    assert names == ["error"] * 2 + ["notice"] * 7
    assert [n for n, _, _ in commands(REPORTS["github"](of_small(), run_of("standings")))] == [
        "error",
        "warning",
    ]


def test_github_says_first_of_all_notices_what_the_whole_run_came_to() -> None:
    found = list(commands(REPORTS["github"](*GOLDENS["diff"]())))
    assert found[2] == (
        "notice",
        {"title": "ullage diff"},
        "neither stricter nor looser as a whole; "
        "moved: 3 standings (2 looser, 1 stricter) and 3 plans; 1 standing stays as it is",
    )


def test_github_says_nothing_of_what_passed() -> None:
    assert REPORTS["github"](of_findings(()), run_of("check")) == ""


def test_github_tells_how_much_it_cut() -> None:
    long = Finding("some-code", "x" * 70_000)
    ((_, _, message),) = commands(REPORTS["github"](of_findings([long]), run_of("check")))
    assert message == "x" * 10_000 + "… (60000 characters more)"


# TAP.

_TEST = re.compile(
    r"(?P<status>ok|not ok) (?P<number>\d+) - (?P<name>(?:[^#\\]|\\.)*?)"
    r"(?: # (?P<directive>SKIP)(?: (?P<reason>(?:[^#\\]|\\.)*))?)?"
)


def points(text: str) -> list[dict[str, Any]]:
    """The tests of a TAP document, read line by line as the specification says."""
    lines = text.split("\n")
    assert lines.pop() == ""
    assert lines.pop(0) == "TAP version 14"
    plan = re.fullmatch(r"1\.\.(\d+)", lines.pop(0))
    assert plan
    found: list[dict[str, Any]] = []
    block: list[str] | None = None
    for line in lines:
        if block is not None:
            assert line.startswith("  ")
            if line == "  ...":
                found[-1]["told"] = yaml.safe_load("\n".join(block))
                block = None
            else:
                block.append(line[2:])
        elif line == "  ---":
            assert "told" not in found[-1]
            block = []
        elif not line.startswith("#"):
            match = _TEST.fullmatch(line)
            assert match, line
            found.append({k: v and plain(v) for k, v in match.groupdict().items()})
    assert block is None
    assert [int(p["number"]) for p in found] == list(range(1, int(plan[1]) + 1))
    return found


def plain(text: str) -> str:
    return re.sub(r"\\([\\#])", r"\1", text)


@pytest.mark.parametrize("verb", GOLDENS)
def test_tap_reads_back(verb: str) -> None:
    report, run = GOLDENS[verb]()
    found = points(REPORTS["tap"](report, run))
    assert len(found) == len(report.items)
    for point, item in zip(found, report.items, strict=True):
        assert point["name"] == f"{item.suite}: {item.name}"
        assert (point["status"] == "not ok") == (item.outcome in (Outcome.FAIL, Outcome.ERROR))
        assert (point["directive"] == "SKIP") == (item.outcome is Outcome.SKIPPED)
        told = point.get("told")
        assert [r["message"] for r in remarks(told)] == [r.message for r in item.remarks]


def remarks(told: Any) -> list[Any]:
    return [] if told is None else [told, *told.get("also", ())]


def test_tap_tells_every_cell_that_differs() -> None:
    failed = points(REPORTS["tap"](*GOLDENS["test"]()))[1]
    assert failed["status"] == "not ok"
    assert failed["told"]["at"][0] == {"file": CASES, "line": 12, "column": 9}
    assert failed["told"]["also"][0]["at"][0] == {"file": CASES, "line": 13, "column": 9}


# Hostile text.

HOSTILE = (
    "\n::error::forged",
    "\r\nnot ok 1 - forged",
    "a # SKIP forged",
    "back\\# SKIP forged",
    "\x1b[31mred\x1b[0m\x07\x00",
    "\ud800 alone \udcff",
    "]]><!-- & <forged/> \" '",
    "%0A::error::, : = ,title=forged",
    "\u2028::error::x\u2029\u0085",
    "  ...\n  ---\nforged: true",
    '"}], "results": [',
    "\ufffe\uffff\ufeff",
    "\u202eright to left",
    "x" * 100_000,
    "{0} [a](1)",
    "🧊 é",
)
TEXTS = st.sampled_from(HOSTILE) | st.text(
    st.characters(codec=None) | st.sampled_from("#\\:%,\n\r\x1b{}[]\"'<&> -"), max_size=30
)
POSITIONS = st.builds(
    Position,
    TEXTS.filter(lambda t: "\0" not in t),
    st.integers(1, 9),
    st.integers(1, 9),
    TEXTS,
)
REMARKS = st.builds(
    Remark,
    st.sampled_from(Level),
    TEXTS.filter(bool),
    TEXTS,
    TEXTS.filter(bool),
    st.lists(POSITIONS, max_size=2).map(tuple),
    TEXTS,
    st.lists(TEXTS, max_size=2).map(tuple),
)
ITEMS = st.builds(
    Item,
    TEXTS.filter(bool),
    TEXTS,
    st.sampled_from(Outcome),
    st.lists(POSITIONS, max_size=1).map(tuple),
    st.lists(REMARKS, max_size=2).map(tuple),
)
HOSTILE_REPORTS = st.builds(
    Report,
    st.lists(ITEMS, min_size=1, max_size=4).map(tuple),
    st.lists(TEXTS.filter(bool), max_size=2).map(tuple),
    st.dictionaries(
        TEXTS, st.builds(Kind, TEXTS.filter(bool), TEXTS.filter(bool), TEXTS), max_size=1
    ),
)


@given(HOSTILE_REPORTS)
def test_hostile_text_stays_inside_sarif(report: Report) -> None:
    text = REPORTS["sarif"](report, run_of("check"))
    text.encode("ascii")
    found = document(report, run_of("check"))
    told = [*found["results"], *found["invocations"][0]["toolExecutionNotifications"]]
    assert len(told) == len(report.remarks) + len(report.said)
    for string in strings(found):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e]", string)


def strings(value: Any) -> Iterator[str]:
    """All strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


@given(HOSTILE_REPORTS)
def test_hostile_text_stays_inside_junit(report: Report) -> None:
    text = REPORTS["junit"](report, run_of("check"))
    root = suites(text.encode("utf-8").decode("utf-8"))
    assert len(list(root.iter("testcase"))) == len(report.items)


@given(HOSTILE_REPORTS)
def test_hostile_text_stays_inside_github(report: Report) -> None:
    text = REPORTS["github"](report, run_of("check"))
    text.encode("utf-8")
    found = list(commands(text))
    assert len(found) == len(report.remarks) + bool(report.said)
    told = {(one_line(r.title)[:200], one_line(r.message)[:9_000]) for r in report.remarks}
    for _, properties, message in found:
        assert set(properties) <= {"file", "line", "col", "title"}
        if properties["title"] != "ullage check":
            assert any(
                properties["title"].startswith(title) and message.startswith(begin)
                for title, begin in told
            )
    assert len(text.splitlines()) == len(report.remarks) + bool(report.said)


@given(HOSTILE_REPORTS)
def test_hostile_text_stays_inside_tap(report: Report) -> None:
    text = REPORTS["tap"](report, run_of("check"))
    text.encode("utf-8")
    found = points(text)
    assert len(text.splitlines()) == len(text.split("\n")) - 1
    for point, item in zip(found, report.items, strict=True):
        assert point["name"] == one_line(f"{item.suite}: {item.name}")
        assert (point["status"] == "not ok") == (item.outcome in (Outcome.FAIL, Outcome.ERROR))
        assert (point["directive"] == "SKIP") == (item.outcome is Outcome.SKIPPED)
        told = [(r["message"], r["code"]) for r in remarks(point.get("told"))]
        assert told == [(one_line(r.message), one_line(r.code)) for r in item.remarks]
