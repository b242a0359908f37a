"""The formats that programs read, on the command line: streams, exit statuses, who prints them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from io import BytesIO, TextIOWrapper
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ullage.cli import main
from ullage.cli.app import VERBS
from ullage.cli.exit_code import ExitCode
from ullage.render import REPORT_FORMATS

ROOT = Path(__file__).resolve().parents[1]
SMALL = ROOT / "docs" / "small"

WAIVER = """\
waiver:
  - law: room
    subject: serve
    refusal: too_large
    reason: it {runs} <cold>, 100%
    owner: A. Keeper
    expires: 2027-03-01
    source: decision of 4 May
"""

CASES = """\
law: room
given:
  machine:
    - {machine: kiln, memory: 10 GiB, state: up, spare: 20%}
  job:
    - {job: fire, machine: kiln, need: 8 GiB}
cases:
  - name: it fits
    expect:
      - subject: {job: fire}
        verdict: fits
  - name: it does not
    expect:
      - subject: {job: fire}
        verdict: refused
"""

RUNS: Mapping[str, tuple[list[str], ExitCode]] = {
    "check": (["check"], ExitCode.FINE),
    "check, weighed": (["check", "--fail-on", "refused"], ExitCode.REFUSED),
    "standings": (["standings"], ExitCode.FINE),
    "standings, weighed": (["standings", "--fail-on", "unestablished"], ExitCode.UNESTABLISHED),
    "test": (["test"], ExitCode.INVALID),
    "test, chosen": (["test", "-k", "it and fits"], ExitCode.FINE),
    "diff": (["diff", "old", "."], ExitCode.FINE),
    "diff, weighed": (["diff", "old", ".", "--fail-on", "looser"], ExitCode.REFUSED),
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a folder of a repository, with an older state of its facts beside it."""
    (tmp_path / ".git").mkdir()
    lab = tmp_path / "lab"
    shutil.copytree(SMALL, lab)
    (lab / "tests" / "laws").mkdir(parents=True)
    (lab / "tests" / "laws" / "room.yaml").write_text(CASES, "utf-8")
    shutil.copytree(lab / "facts", lab / "old" / "facts")
    old = lab / "old" / "facts" / "machines.yaml"
    old.write_text(old.read_text("utf-8").replace("memory: 128 GiB", "memory: 96 GiB"), "utf-8")
    monkeypatch.chdir(lab)
    return lab


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def readable(format: str, text: str) -> None:
    """Whether stdout holds the format, and nothing else."""
    if format == "sarif":
        assert json.loads(text)["version"] == "2.1.0"
    elif format == "junit":
        assert ET.fromstring(text).tag == "testsuites"
    elif format == "tap":
        assert text.startswith("TAP version 14\n1..")
    else:
        assert all(line.startswith("::") for line in text.splitlines())


@pytest.mark.parametrize("format", REPORT_FORMATS)
@pytest.mark.parametrize("name", RUNS)
def test_the_status_and_stderr_are_those_of_every_format(
    name: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, expected = RUNS[name]
    code, out, err = run(capsys, *words, "--format", format)
    assert code == expected
    readable(format, out)
    assert (code, err) == (expected, run(capsys, *words)[2])


@pytest.mark.parametrize("name", RUNS)
def test_sarif_tells_the_status(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, expected = RUNS[name]
    _, out, _ = run(capsys, *words, "--format", "sarif")
    (invocation,) = json.loads(out)["runs"][0]["invocations"]
    assert invocation["exitCode"] == expected
    assert invocation["exitCodeDescription"] == expected.sentence


@pytest.mark.parametrize("format", REPORT_FORMATS)
@pytest.mark.parametrize("words", [["check"], ["standings"], ["test"], ["diff", "old", "."]])
def test_an_invalid_policy_is_told_on_stdout(
    words: list[str], format: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = project / "rules" / "room.lp"
    rules.write_text(rules.read_text("utf-8") + "\nnothing(X) :- no_such(X).\n", "utf-8")
    code, out, err = run(capsys, *words, "--format", format)
    assert (code, err) == (ExitCode.INVALID, "")
    readable(format, out)
    assert "undeclared-predicate" in out
    assert "lab/rules/room.lp" in out


def test_a_commit_that_is_invalid_has_no_place_in_the_checkout(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*words: str) -> None:
        settings = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        subprocess.run(["git", *settings, *words], cwd=project, check=True, capture_output=True)

    (project.parent / ".git").rmdir()
    facts = project / "facts" / "machines.yaml"
    sound = facts.read_text("utf-8")
    facts.write_text(sound.replace("memory: 128 GiB", "memory: 128"), "utf-8")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "broken")
    facts.write_text(sound, "utf-8")
    code, out, err = run(capsys, "diff", "HEAD", "--format", "sarif")
    assert (code, err) == (ExitCode.INVALID, "")
    found = json.loads(out)["runs"][0]
    assert found["results"] == []
    (invocation,) = found["invocations"]
    assert invocation["executionSuccessful"] is False
    (told,) = invocation["toolExecutionNotifications"]
    assert "facts/machines.yaml:3:13" in told["message"]["text"]
    code, out, err = run(capsys, "diff", "HEAD", "--format", "github")
    assert out.startswith("::error title=missing-unit::")


def test_paths_are_from_the_top_of_the_repository(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "standings", "--format", "github")
    assert "::error file=lab/facts/machines.yaml,line=" in out


@pytest.mark.parametrize("format", REPORT_FORMATS)
@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"check", "standings", "test", "diff"}))
def test_other_verbs_refuse_them_and_name_their_own(
    verb: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, verb, "--format", format)
    assert (code, out) == (ExitCode.COULD_NOT_RUN, "")
    assert f"`--format` does not take `{format}`" in err
    assert "it takes `human`, " in err


@pytest.mark.parametrize("verb", ["check", "standings", "test", "diff"])
def test_the_help_names_them(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, verb, "--help")
    assert "|sarif|junit|github|tap" in "".join(out.split())


@pytest.mark.parametrize("format", REPORT_FORMATS)
def test_they_are_utf_8_whatever_stdout_is(
    format: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = project / "facts" / "machines.yaml"
    text = facts.read_text("utf-8").replace("{job: serve,", "{job: sérvice,")
    facts.write_text(text, "utf-8")
    raw = BytesIO()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(raw, encoding="ascii"))
    assert main(["standings", "--format", format]) == ExitCode.FINE
    told = raw.getvalue().decode("utf-8")
    readable(format, told)
    assert "sérvice" in (
        json.dumps(json.loads(told), ensure_ascii=False) if format == "sarif" else told
    )


def test_a_waived_refusal_counts_for_nothing_and_says_on_whose_word(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the last day it is suppressed and skipped, and on the next it fails again."""
    shutil.copy(ROOT / "rules" / "tables" / "waivers.yaml", project / "rules" / "tables")
    (project / "facts" / "waivers.yaml").write_text(WAIVER, "utf-8")
    words = "waived until 2027-03-01 by A. Keeper: it {runs} <cold>, 100%"
    flags = ("standings", "--subject", "serve", "--on", "2027-03-01", "--format")
    (result,) = json.loads(run(capsys, *flags, "sarif")[1])["runs"][0]["results"]
    assert result["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": words}
    ]
    assert result["level"] == "note"
    waives = result["relatedLocations"][-1]["physicalLocation"]
    assert waives["artifactLocation"]["uri"] == "lab/facts/waivers.yaml"
    case = ET.fromstring(run(capsys, *flags, "junit")[1]).find("testsuite/testcase/skipped")
    assert case is not None
    assert words in (case.text or "") + (case.get("message") or "")
    github = run(capsys, *flags, "github")[1]
    assert github.startswith("::notice file=lab/facts/machines.yaml,")
    assert words.replace("%", "%25") in github
    assert "ok 1 - room: serve # SKIP" in run(capsys, *flags, "tap")[1]
    flags = (*flags[:-2], "2027-03-02", "--format")
    assert run(capsys, *flags, "github")[1].startswith("::error ")
    (result,) = json.loads(run(capsys, *flags, "sarif")[1])["runs"][0]["results"]
    assert "suppressions" not in result
