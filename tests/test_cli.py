"""The command line: exit statuses, streams, wording. Most tests run it over a stand-in policy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from types import ModuleType

import pytest
from samples import BINDINGS, FINDINGS, HOST, MARLIN, STANDINGS, TRITON, UNREAD

import ullage
from ullage import progress
from ullage.cli import main
from ullage.cli.app import VERBS
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import write_file
from ullage.findings import Finding, PolicyError, UsageError
from ullage.results import Bindings, Standing

DUMP = 'host("spärk").\n'


class StandIn:
    """Answers as a policy would; its class attributes are what a test sets."""

    findings: Sequence[Finding] = ()
    result: Sequence[Standing] = ()
    fault: BaseException | None = None
    loaded: tuple[object, ...] = ()

    @classmethod
    def load(
        cls,
        rules: Sequence[Path] | None = None,
        facts: Sequence[Path] | None = None,
        *,
        override: bool = False,
        on: date | None = None,
    ) -> StandIn:
        cls.loaded = (rules, facts, override, on)
        if cls.fault is not None:
            raise cls.fault
        return cls()

    def check(self) -> Sequence[Finding]:
        return self.findings

    def standings(self, laws: Sequence[str] = (), subject: str | None = None) -> Sequence[Standing]:
        if self.findings:
            raise PolicyError(self.findings)
        return tuple(
            s
            for s in self.result
            if (not laws or s.law in laws) and subject in (None, s.subject_text)
        )

    def query(self, body: str) -> Bindings:
        if body != "ok(X)":
            raise PolicyError(FINDINGS[:1])
        return BINDINGS

    def dump(self) -> str:
        return DUMP


Policy = type[StandIn]


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Policy:
    class Fresh(StandIn):
        pass

    module = ModuleType("ullage.policy")
    vars(module)["Policy"] = Fresh
    monkeypatch.setitem(sys.modules, "ullage.policy", module)
    return Fresh


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == ExitCode.FINE
    assert capsys.readouterr().out == f"ullage {ullage.__version__}\n"
    assert main(["--help"]) == ExitCode.FINE
    text = capsys.readouterr().out
    for word in (*VERBS, *(code.sentence for code in ExitCode)):
        assert word in text
    for verb in VERBS:
        assert main([verb, "--help"]) == ExitCode.FINE
        assert f"usage: ullage {verb}" in capsys.readouterr().out


def test_start_up_leaves_the_solver_alone() -> None:
    code = (
        "import sys; from ullage.cli import main; main(['--version'])\n"
        "assert not {'clingo', 'yaml', 'ullage.policy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_module_runs() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ullage", "nothing"], check=False, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("ullage: error: no verb `nothing`\n  help: ")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ([], "no verb given", "verbs are `check`"),
        (["chekc"], "no verb `chekc`", "a similar verb is `check`"),
        (["--format", "json"], "`--format` stands where a verb should", "verbs are"),
        (["check", "--frmat", "json"], "no option `--frmat`", "a similar option is `--format`"),
        (["check", "--form=json"], "no option `--form`", "a similar option is `--format`"),
        (["check", "-q"], "no option `-q`", "see `ullage check --help`"),
        (["check", "it"], "`ullage check` does not take `it`", "see `ullage check --help`"),
        (["check", "--format", "yaml"], "does not take `yaml`", "it takes `human`, `json`"),
        (["check", "--format=jsno"], "does not take `jsno`", "a similar word is `json`"),
        (["standings", "--fail-on", "refuse"], "does not take `refuse`", "`refused`"),
        (["check", "--rules"], "--rules", "see `ullage check --help`"),
        (["query"], "BODY", "see `ullage query --help`"),
    ],
)
def test_wrong_usage_is_one(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.COULD_NOT_RUN
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert out == ""
    assert first.startswith("ullage: error: ")
    assert message in first
    assert second.startswith("  help: ")
    assert hint in second


def test_without_flags_the_policy_chooses(policy: Policy) -> None:
    assert main(["check"]) == ExitCode.FINE
    assert policy.loaded == (None, None, False, None)


def test_flags_reach_the_policy(policy: Policy) -> None:
    words = ["--rules", "a", "--rules", "b", "--facts", "c", "--override", "--on", "2027-03-01"]
    main(["check", *words])
    assert policy.loaded == ([Path("a"), Path("b")], [Path("c")], True, date(2027, 3, 1))


def test_a_missing_folder_is_one(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    policy.fault = UsageError("no folder `a\nb`")
    assert main(["check", "--rules", "a\nb"]) == ExitCode.COULD_NOT_RUN
    assert capsys.readouterr() == ("", "ullage: error: no folder `a\\nb`\n")


def test_check_of_a_valid_policy_prints_nothing(
    policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check"]) == ExitCode.FINE
    assert capsys.readouterr() == ("", "")


def test_check_prints_findings_to_stdout(
    policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.findings = FINDINGS
    assert main(["check"]) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert out.startswith("error[unknown-column]: ")
    assert out.endswith("\n2 errors, 1 warning\n")
    assert err == ""
    assert main(["check", "--format", "json"]) == ExitCode.INVALID
    assert len(json.loads(capsys.readouterr().out)["findings"]) == 3


def test_warnings_alone_are_fine(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    policy.findings = FINDINGS[2:]
    assert main(["check"]) == ExitCode.FINE
    assert capsys.readouterr().out.endswith("\n1 warning\n")


@pytest.mark.parametrize("words", [["standings"], ["query", "bad("]])
def test_an_invalid_policy_is_three(
    words: list[str], policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.findings = FINDINGS
    assert main(words) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0].startswith("error[")
    assert main([*words, "--format", "concise"]) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert out.startswith("facts/systems/nvidia.yaml:14:5: error[") or "error[no-facts]" in out
    assert err == ""
    assert main([*words, "--format", "json"]) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert json.loads(out)["schema"] == "ullage/findings/1"


@pytest.mark.parametrize(
    ("fail_on", "standings", "code"),
    [
        ([], [MARLIN, UNREAD], ExitCode.FINE),
        (["refused"], [MARLIN, UNREAD], ExitCode.REFUSED),
        (["unestablished"], [MARLIN, UNREAD], ExitCode.UNESTABLISHED),
        (["unestablished", "refused"], [MARLIN, UNREAD], ExitCode.REFUSED),
        (["unestablished", "refused"], [UNREAD, TRITON], ExitCode.UNESTABLISHED),
        (["unestablished", "refused"], [TRITON], ExitCode.FINE),
        (["refused"], [UNREAD], ExitCode.FINE),
        (["unestablished"], [MARLIN], ExitCode.FINE),
    ],
)
@pytest.mark.parametrize("verb", [["standings"], ["check"], ["query", "ok(X)"]])
def test_fail_on(
    verb: list[str],
    fail_on: list[str],
    standings: list[Standing],
    code: ExitCode,
    policy: Policy,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy.result = standings
    flags = [word for kind in fail_on for word in ("--fail-on", kind)]
    assert main([*verb, *flags]) == code
    assert bool(capsys.readouterr().err) == (code != ExitCode.FINE)


def test_fail_on_says_what_stands_in_the_way(
    policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.result = [MARLIN, MARLIN, UNREAD]
    main(["check", "--fail-on", "refused", "--fail-on", "unestablished"])
    assert capsys.readouterr() == (
        "",
        "ullage: 2 standings are refused: weight_offload_split gh200-glm52-marlin, "
        "weight_offload_split gh200-glm52-marlin\n"
        "ullage: 1 standing is unestablished: weight_offload_split gh200-glm52\n",
    )


def test_fail_on_weighs_the_chosen_standings_alone(policy: Policy) -> None:
    policy.result = STANDINGS
    flags = ["--fail-on", "refused"]
    assert main(["standings", *flags]) == ExitCode.REFUSED
    assert main(["standings", "node_memory", *flags]) == ExitCode.FINE
    assert main(["standings", "--subject", "spark", *flags]) == ExitCode.FINE


def test_standings(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    policy.result = STANDINGS
    assert main(["standings", "node_memory", "--values", "component_identity"]) == ExitCode.FINE
    out = capsys.readouterr().out
    assert "reserve          25.60 GiB  27487790694.4 bytes\n" in out
    assert "aliased" not in out
    assert "two rows claim it" in out
    assert "weight_offload_split" not in out
    assert main(["standings", "--format=json"]) == ExitCode.FINE
    assert len(json.loads(capsys.readouterr().out)["standings"]) == len(STANDINGS)


def test_query(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "ok(X)", "--format", "concise"]) == ExitCode.FINE
    assert capsys.readouterr().out.startswith('System=gb10 Capacity="137438953472 bytes"')


def test_dump(policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy.result = [HOST]
    target = tmp_path / "program.lp"
    target.write_text("old")
    assert main(["standings", "--dump", str(target)]) == ExitCode.FINE
    assert target.read_text("utf-8") == DUMP
    assert list(tmp_path.iterdir()) == [target]
    assert "node_memory" in capsys.readouterr().out
    assert main(["standings", "--dump", "-"]) == ExitCode.FINE
    assert capsys.readouterr().out == DUMP


def test_dump_keeps_the_mode_of_a_file(policy: Policy, tmp_path: Path) -> None:
    target = tmp_path / "program.lp"
    target.write_text("old")
    target.chmod(0o600)
    assert main(["standings", "--dump", str(target)]) == ExitCode.FINE
    assert target.read_text() != "old"
    assert target.stat().st_mode & 0o777 == 0o600


def test_dump_to_a_circle_of_links_is_refused(
    policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    circle = tmp_path / "circle.lp"
    circle.symlink_to(circle)
    assert main(["standings", "--dump", str(circle)]) == ExitCode.COULD_NOT_RUN
    assert "cannot write" in capsys.readouterr().err


def test_dump_without_a_name_is_refused(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standings", "--dump", ""]) == ExitCode.COULD_NOT_RUN
    assert "names no file" in capsys.readouterr().err


def test_a_second_subject_is_refused(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["standings", "--subject", "a", "--subject", "b"]
    assert main(words) == ExitCode.COULD_NOT_RUN
    assert "stands twice" in capsys.readouterr().err


def test_dump_to_stdout_keeps_the_program(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(raw, encoding="ascii"))
    assert main(["standings", "--dump", "-"]) == ExitCode.FINE
    assert raw.getvalue().decode("utf-8") == DUMP


def test_dump_where_nothing_can_be_written(
    policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["standings", "--dump", str(tmp_path / "no" / "x.lp")]) == ExitCode.COULD_NOT_RUN
    assert "cannot write" in capsys.readouterr().err
    assert main(["standings", "--dump", str(tmp_path)]) == ExitCode.COULD_NOT_RUN
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes and links")
def test_a_file_that_is_no_plain_file_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    pipe, target, link = tmp_path / "pipe", tmp_path / "target", tmp_path / "link"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()
    target.touch()
    link.symlink_to(target)
    write_file(link, "text")
    assert link.is_symlink()
    assert target.read_text() == "text"


def test_text_that_stdout_cannot_carry_is_escaped(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(raw, encoding="ascii"))
    policy.findings = [Finding("some-code", "`spärk` is odd")]
    assert main(["check"]) == ExitCode.INVALID
    assert b"`sp\\xe4rk` is odd" in raw.getvalue()


def test_an_interrupt_is_one(policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    policy.fault = KeyboardInterrupt()
    assert main(["check"]) == ExitCode.COULD_NOT_RUN
    assert capsys.readouterr() == ("", "ullage: interrupted\n")


def test_an_internal_error_is_one_line(
    policy: Policy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy.fault = RuntimeError("two\nlines")
    monkeypatch.delenv("ULLAGE_DEBUG", raising=False)
    assert main(["check"]) == ExitCode.COULD_NOT_RUN
    err = capsys.readouterr().err
    assert err.startswith("ullage: internal error: RuntimeError: two\\nlines\n  help: ")
    assert "Traceback" not in err
    monkeypatch.setenv("ULLAGE_DEBUG", "1")
    assert main(["check"]) == ExitCode.COULD_NOT_RUN
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "ullage", "--help"],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ran.returncode == ExitCode.COULD_NOT_RUN
    assert ran.stderr.startswith("ullage: error: cannot write the output: ")
    assert len(ran.stderr.splitlines()) == 1


def test_a_reader_that_goes_away_is_no_failure() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-m", "ullage", "--help"],
        check=False,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (ExitCode.FINE, "")


def test_quick_runs_show_no_progress() -> None:
    stream = StringIO()
    with progress.shown(stream, quiet_seconds=progress.QUIET_SECONDS):
        progress.phase("grounding")
    assert stream.getvalue() == ""
    progress.phase("nobody listens")


def wait_for(stream: StringIO, text: str) -> None:
    for _ in range(200):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} not in {stream.getvalue()!r}")


def test_long_runs_show_each_phase_once() -> None:
    stream = StringIO()
    with progress.shown(stream, quiet_seconds=0.01):
        progress.phase("loading facts")
        wait_for(stream, "ullage: loading facts... ")
        progress.phase("grounding")
        wait_for(stream, "ullage: grounding... ")
    lines = stream.getvalue().splitlines()
    assert [line.rpartition("...")[0] for line in lines][-2:] == [
        "ullage: loading facts",
        "ullage: grounding",
    ]
    assert all(line.endswith(" s") for line in lines)


def test_a_terminal_gets_one_line_that_goes_away() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with progress.shown(stream, quiet_seconds=0.01):
        progress.phase("solving")
        wait_for(stream, "solving")
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_that_cannot_be_written_stops_nothing() -> None:
    class Gone(StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with progress.shown(Gone(), quiet_seconds=0):
        progress.phase("solving")
        time.sleep(0.05)
    with progress.shown(None):
        progress.phase("solving")
