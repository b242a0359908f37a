"""What CI services are given: hooks, the action and recipes name verbs and flags that are there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import ullage
from ullage.cli.app import VERBS, WITHOUT_POLICY
from ullage.cli.parser import FAIL_ON, VerbParser
from ullage.render import FORMATS

ROOT = Path(__file__).resolve().parents[1]
SMALL = ROOT / "docs" / "small"
ACTION: Any = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS: Any = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]

needs_bash = pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("git") is None, reason="needs bash and git"
)


def parse(words: list[str]) -> Any:
    """The words after ``ullage`` as the command line reads them. Raises UsageError."""
    verb = VERBS[words[0]]
    parser = VerbParser(
        words[0],
        verb.SUMMARY,
        reads_policy=words[0] not in WITHOUT_POLICY,
        formats=getattr(verb, "PRINTS", tuple(FORMATS)),
        fail_on=getattr(verb, "FAILS_ON", FAIL_ON),
    )
    verb.arguments(parser)
    return parser.read(words[1:])


# Hooks.


def test_hooks_run_verbs_that_are_there() -> None:
    assert {h["id"] for h in HOOKS} == {"ullage-check", "ullage-fmt", "ullage-test"}
    for hook in HOOKS:
        program, *words = shlex.split(hook["entry"])
        assert program == "ullage"
        assert hook["id"] == f"ullage-{words[0]}"
        parse([*words, "--rules", "a", "--facts", "b"])
        assert hook["language"] == "python"
        # A verb that were given the files that changed would not see what they are wrong with.
        assert hook["pass_filenames"] is False
        for name in ("rules/a.lp", "rules/tables/t.yaml", "facts/f.yml"):
            assert re.search(hook["files"], name)


# The action.


def scripts() -> Iterator[tuple[str, str]]:
    for step in STEPS:
        if "run" in step:
            yield step["name"], step["run"]


def test_nothing_from_outside_is_in_the_text_of_a_script() -> None:
    for name, script in scripts():
        assert "${{" not in script, name
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        assert "run" not in step or step["shell"] == "bash"


def test_actions_are_pinned_to_commits() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert len(used) == 2
    for name, comment in used:
        assert re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+@[0-9a-f]{40}", name)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment)


def test_inputs_are_those_that_are_used() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    steps = text[text.index("\nruns:") :]
    assert set(re.findall(r"inputs\.([\w-]+)", steps)) == set(ACTION["inputs"])
    for name, declared in ACTION["inputs"].items():
        assert declared["description"].endswith("."), name
        assert "default" in declared, name
        assert f"`{name}`" in (ROOT / "docs" / "ci.md").read_text("utf-8")


def test_every_variable_of_a_script_is_set() -> None:
    """Each upper-case name that a script reads is its step's, or the runner's."""
    given = {"RUNNER_TEMP", "GITHUB_ACTION_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}
    given |= {"GITHUB_REPOSITORY"}
    for step in STEPS:
        read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", step.get("run", "")))
        made = set(re.findall(r"^\s*([A-Z][A-Z_]+)=", step.get("run", ""), re.M))
        assert read - made <= {*step.get("env", {}), *given}
        assert set(step.get("env", {})) <= {*read, "GH_TOKEN"}


class Runner:
    """Runs scripts of the action as a runner would, over a repository that stands here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "checkout"
        self.temp = folder / "temp"
        self.output = folder / "output"
        self.summary = folder / "summary"
        self.calls = folder / "calls"
        self.bin = folder / "bin"
        shutil.copytree(SMALL, self.checkout)
        (self.temp / "ullage" / "bin").mkdir(parents=True)
        self.bin.mkdir()
        package = Path(ullage.__file__).parents[1]
        self.program(
            self.temp / "ullage" / "bin" / "ullage",
            f'printf "%s\\0" "$@" >> {shlex.quote(str(self.calls))}\n'
            f"echo >> {shlex.quote(str(self.calls))}\n"
            f"PYTHONPATH={shlex.quote(str(package))} exec {shlex.quote(sys.executable)} "
            '-m ullage "$@"\n',
        )
        self.git("init", "-q", "-b", "main")
        self.commit("first")

    def program(self, path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}", "utf-8")
        path.chmod(0o755)

    def git(self, *words: str) -> str:
        named = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        done = subprocess.run(
            ["git", *named, *words], cwd=self.checkout, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, title: str) -> str:
        self.git("add", ".")
        self.git("commit", "-q", "-m", title)
        return self.git("rev-parse", "HEAD")

    def run(self, name: str, **given: str) -> tuple[int, str, str]:
        step = next(s for s in STEPS if s.get("name") == name)
        for path in (self.output, self.summary, self.calls):
            path.write_text("", "utf-8")
        known = dict.fromkeys(step.get("env", {}), "")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.checkout,
            env={
                **known,
                **given,
                "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_OUTPUT": str(self.output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "GITHUB_REPOSITORY": "who/what",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            check=False,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    def outputs(self) -> Mapping[str, str]:
        lines = self.output.read_text("utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def called(self) -> list[list[str]]:
        lines = self.calls.read_text("utf-8").split("\n")[:-1]
        return [line.split("\0")[:-1] for line in lines]


JUDGE = "Check, test and compare"
TELL = "Tell what moves"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def edit(runner: Runner, old: str, new: str) -> None:
    facts = runner.checkout / "facts" / "machines.yaml"
    text = facts.read_text("utf-8")
    assert old in text
    facts.write_text(text.replace(old, new), "utf-8")


@needs_bash
def test_the_action_checks_and_writes_sarif(runner: Runner) -> None:
    edit(runner, "memory: 128 GiB", "memory: 128")
    code, out, _ = runner.run(JUDGE, VERBS="check", SARIF="true")
    assert code == 0
    assert runner.outputs()["status"] == "3"
    folder = Path(runner.outputs()["sarif"])
    assert [p.name for p in folder.iterdir()] == ["check.sarif"]
    (result,) = json.loads((folder / "check.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "missing-unit"
    # The log has it for people, between lines that keep the runner from taking it for commands.
    first, *_, last = out.splitlines()
    assert first.removeprefix("::stop-commands::") == last.strip(":")
    assert "error[missing-unit]: " in out
    assert {tuple(call) for call in runner.called()} == {
        ("check",), ("check", "--format", "sarif"),
    }  # fmt: skip


@needs_bash
def test_the_action_annotates_where_code_scanning_is_not_wanted(runner: Runner) -> None:
    edit(runner, "memory: 128 GiB", "memory: 128")
    _, out, _ = runner.run(JUDGE, VERBS="check", SARIF="false")
    assert out.startswith("::error file=facts/machines.yaml,line=3,col=13,title=missing-unit::")
    assert "sarif" not in runner.outputs()


@needs_bash
def test_the_action_compares_with_the_base(runner: Runner) -> None:
    base = runner.git("rev-parse", "HEAD")
    edit(runner, "memory: 16 GiB", "memory: 64 GiB")
    code, out, _ = runner.run(JUDGE, VERBS="diff", SARIF="true", BASE=base)
    assert (code, runner.outputs()["status"]) == (0, "0")
    assert "::warning file=facts/machines.yaml" in out
    moves = Path(runner.outputs()["moves"]).read_text("utf-8")
    assert moves.startswith("### ullage: looser")
    assert runner.summary.read_text("utf-8") == moves
    code, _, err = runner.run(JUDGE, VERBS="diff", FAIL_ON_DIFF="looser\nany\n", BASE=base)
    assert (code, runner.outputs()["status"]) == (0, "2")
    assert "1 standing got looser" in err


@needs_bash
def test_the_action_fetches_a_base_that_is_not_there(runner: Runner, tmp_path: Path) -> None:
    base = runner.git("rev-parse", "HEAD")
    edit(runner, "memory: 16 GiB", "memory: 64 GiB")
    runner.commit("second")
    shallow = tmp_path / "shallow"
    runner.git("clone", "-q", "--depth=1", f"file://{runner.checkout}", str(shallow))
    runner.git("config", "uploadpack.allowAnySHA1InWant", "true")
    runner.checkout = shallow
    runner.run(JUDGE, VERBS="diff", BASE=base)
    assert runner.outputs()["status"] == "0"
    assert "looser" in Path(runner.outputs()["moves"]).read_text("utf-8")


@needs_bash
def test_the_action_runs_all_and_keeps_the_first_status(runner: Runner) -> None:
    code, _, err = runner.run(
        JUDGE, VERBS="check\n test", SARIF="true", FAIL_ON="refused\nunestablished\n"
    )
    assert (code, runner.outputs()["status"]) == (0, "2")
    # There are no law tests here, which is wrong usage and has no report.
    assert "no law tests stand beside" in err
    assert {c[0] for c in runner.called()} == {"check", "test"}
    folder = Path(runner.outputs()["sarif"])
    assert [p.name for p in folder.iterdir()] == ["check.sarif"]


@needs_bash
def test_hostile_inputs_are_words_and_nothing_else(runner: Runner) -> None:
    hostile = "$(touch pwned) `touch pwned`; touch pwned #\n--help\n*"
    runner.run(JUDGE, VERBS="check", SARIF="false", RULES=hostile, FACTS=hostile, FAIL_ON=hostile)
    (called,) = runner.called()
    values = [f"{option}={line}" for option in ("--rules", "--facts", "--fail-on")
              for line in hostile.split("\n")]  # fmt: skip
    assert called == ["check", *values, "--format", "github"]
    assert runner.outputs()["status"] == "1"
    runner.run(JUDGE, VERBS=f"* {hostile}", SARIF="false")
    assert runner.called() == []
    assert runner.outputs()["status"] == "1"
    runner.run(JUDGE, VERBS="diff", BASE="--upload-pack=touch pwned")
    assert runner.outputs()["status"] == "1"
    assert not list(runner.folder.rglob("pwned"))


@needs_bash
def test_what_the_action_runs_is_read_by_the_command_line(runner: Runner) -> None:
    base = runner.git("rev-parse", "HEAD")
    seen = set()
    for sarif in ("true", "false"):
        runner.run(
            JUDGE, VERBS="check test diff", SARIF=sarif, RULES="rules", FACTS="facts",
            FAIL_ON="refused", FAIL_ON_DIFF="any", BASE=base,
        )  # fmt: skip
        for call in runner.called():
            args = parse(call)
            seen.add((call[0], args.format))
            assert args.rules == [Path("rules")]
            assert args.facts == (None if call[0] == "test" else [Path("facts")])
    assert seen == {
        ("check", "human"), ("check", "sarif"), ("check", "github"),
        ("test", "human"), ("test", "github"),
        ("diff", "markdown"), ("diff", "github"),
    }  # fmt: skip


def stand_in(runner: Runner, found: str, ends: int = 0) -> Path:
    """A program ``gh`` that says which comments were found, and keeps what it was asked."""
    said = runner.folder / "said"
    runner.program(
        runner.bin / "gh",
        f'for word; do printf "%s\\n" "$word"; done >> {shlex.quote(str(said))}\n'
        f'case "$*" in *--paginate*) printf "{found}";; esac\nexit {ends}\n',
    )
    return said


@needs_bash
@pytest.mark.parametrize(
    ("found", "method", "path"),
    [
        ("", "POST", "repos/who/what/issues/7/comments"),
        ("41\\n42\\n", "PATCH", "repos/who/what/issues/comments/41"),
    ],
)
def test_the_action_edits_its_comment(found: str, method: str, path: str, runner: Runner) -> None:
    said = stand_in(runner, found)
    moves = runner.folder / "diff.md"
    moves.write_text("### ullage: looser\n", "utf-8")
    code, out, _ = runner.run(TELL, MOVES=str(moves), NUMBER="7", WHICH=". a b")
    assert (code, out) == (0, "")
    words = said.read_text("utf-8").splitlines()
    assert words[-5:] == ["--method", method, path, "--field", f"body=@{moves}.comment"]
    mark, *rest = Path(f"{moves}.comment").read_text("utf-8").split("\n")
    assert re.fullmatch(r"<!-- ullage [0-9a-f]{12} -->", mark)
    assert rest == ["### ullage: looser", ""]


@needs_bash
def test_a_comment_is_no_longer_than_comments_may_be(runner: Runner) -> None:
    stand_in(runner, "")
    moves = runner.folder / "diff.md"
    moves.write_text("é" * 40_001, "utf-8")
    runner.run(TELL, MOVES=str(moves), NUMBER="7", WHICH="")
    body = Path(f"{moves}.comment").read_text("utf-8")
    assert len(body) < 65_536
    assert body.endswith("é\n\nThe rest is in the summary of the run.\n")


@needs_bash
def test_a_fork_that_may_not_comment_is_no_failure(runner: Runner) -> None:
    stand_in(runner, "", ends=1)
    moves = runner.folder / "diff.md"
    moves.write_text("### ullage\n", "utf-8")
    code, out, _ = runner.run(TELL, MOVES=str(moves), NUMBER="7", WHICH="")
    assert code == 0
    assert out.startswith("::warning title=ullage::no comment could be written")


@needs_bash
def test_the_action_ends_as_ullage_ended(runner: Runner) -> None:
    for status in ("0", "2", "3"):
        assert runner.run("End as ullage ended", STATUS=status)[0] == int(status)


# Recipes.


def test_recipes_name_verbs_and_flags_that_are_there() -> None:
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    blocks = re.findall(r"^```(?:sh|yaml)\n(.*?)^```", text, re.M | re.S)
    commands = [
        m for b in blocks for m in re.findall(r"(?<![\w/-])ullage ([a-z-]+ ?[^|>&;'\n]*)", b)
    ]
    assert len(commands) >= 6
    for command in commands:
        parse(shlex.split(command))
