"""The verb ``import``: where rows go, what they are called, and repositories of the Hub."""

from __future__ import annotations

import io
import json
import os
import stat
import string
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from headers import Tensors, total_of, write_sharded, write_tensors
from hypothesis import example, given
from hypothesis import strategies as st

from ullage.cli import main
from ullage.cli.exit_code import ExitCode
from ullage.cli.import_ import GRAINS
from ullage.findings import UsageError
from ullage.importers.grains import Grain
from ullage.importers.hub import HubStore
from ullage.importers.rows import (
    ImportedRow,
    default_name,
    ranges,
    rows_text,
    write_rows,
)
from ullage.yamlnodes import compose_document, is_absent
from ullage.yamlscalars import scalar_text

Capture = pytest.CaptureFixture[str]

CONFIGS = Path(__file__).parent / "configs"
TINY: Tensors = {
    "model.embed_tokens.weight": ("BF16", (10, 4)),
    "model.layers.0.w": ("F32", (4, 4)),
    "model.layers.1.w": ("F32", (4, 4)),
}


def run(capsys: Capture, *words: object) -> tuple[int, str, str]:
    status = main(["import", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tensors(tmp_path / "Tiny MoE" / "model.safetensors", TINY).parent


# Where rows go.


def test_rows_go_to_stdout(tiny: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, "safetensors", tiny)
    assert (status, err) == (ExitCode.FINE, "")
    rows = yaml.safe_load(out)
    assert rows["artifact"][0]["total_bytes"] == f"{total_of(TINY)} B"
    assert run(capsys, "safetensors", tiny, "-o", "-")[1] == out


def test_rows_go_to_a_file_that_is_written_as_a_whole(tiny: Path, capsys: Capture) -> None:
    target = tiny / "rows.yaml"
    _, out, _ = run(capsys, "safetensors", tiny)
    assert run(capsys, "safetensors", tiny, "-o", target) == (ExitCode.FINE, "", "")
    assert target.read_text("utf-8") == out
    assert sorted(p.name for p in tiny.iterdir()) == ["model.safetensors", "rows.yaml"]


def test_what_nobody_edited_is_written_again(tiny: Path, capsys: Capture) -> None:
    target = tiny / "rows.yaml"
    run(capsys, "safetensors", tiny, "-o", target, "--artifact", "before")
    assert run(capsys, "safetensors", tiny, "-o", target)[0] == ExitCode.FINE
    assert "before" not in target.read_text("utf-8")


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text + "# mine\n",
        lambda text: text.replace("source: ", "source:  ", 1),
        lambda text: text.replace("# 3 tensors", "# three tensors"),
        lambda text: text.replace("# Written by", "# written by"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n" + text,
        lambda text: "mine: []\n",
    ],
)
def test_what_somebody_edited_is_kept(tiny: Path, capsys: Capture, edit: Any) -> None:
    target = tiny / "rows.yaml"
    _, out, _ = run(capsys, "safetensors", tiny)
    edited = edit(out)
    assert edited != out
    target.write_bytes(edited.encode())
    status, printed, err = run(capsys, "safetensors", tiny, "-o", target)
    assert (status, printed) == (ExitCode.COULD_NOT_RUN, "")
    assert "somebody edited it" in err
    assert "`--force`" in err
    assert target.read_bytes() == edited.encode()
    assert run(capsys, "safetensors", tiny, "-o", target, "--force")[0] == ExitCode.FINE
    assert target.read_text("utf-8") == out


def test_an_empty_file_holds_nothing_to_lose(tiny: Path, capsys: Capture) -> None:
    target = tiny / "rows.yaml"
    target.write_text("\n")
    assert run(capsys, "safetensors", tiny, "-o", target)[0] == ExitCode.FINE


def test_nothing_is_written_where_something_is_amiss(tiny: Path, capsys: Capture) -> None:
    (tiny / "model.safetensors").write_bytes(b"{}")
    target = tiny / "rows.yaml"
    status, out, err = run(capsys, "safetensors", tiny, "-o", target)
    assert (status, out) == (ExitCode.INVALID, "")
    assert err.startswith("error[unreadable-header]: ")
    assert not target.exists()


@pytest.mark.skipif(os.name != "posix", reason="needs modes and links")
def test_a_file_keeps_its_mode_and_a_link_stays_one(tiny: Path, capsys: Capture) -> None:
    target, link = tiny / "rows.yaml", tiny / "link.yaml"
    target.touch(mode=0o640)
    link.symlink_to(target)
    assert run(capsys, "safetensors", tiny, "-o", link)[0] == ExitCode.FINE
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_text("utf-8")


def test_a_folder_that_is_not_there_is_told(tiny: Path, capsys: Capture) -> None:
    status, _, err = run(capsys, "safetensors", tiny, "-o", tiny / "no" / "rows.yaml")
    assert status == ExitCode.COULD_NOT_RUN
    assert "cannot write" in err


# What is asked for.


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required"),
        (["safetensors"], "the following arguments are required"),
        (["safetensor", "x"], "a similar word is `safetensors`"),
        (["safetensors", "x", "--grain", "sglang"], "it takes `checkpoint`, `vllm`"),
        (["safetensors", "x", "--facts", "y"], "has no option `--facts`"),
        (["safetensors", "x", "--artifact", "a", "--artifact", "b"], "stands twice"),
        (["safetensors", "x", "--artifact", ""], "a name is empty"),
        (["gguf", "x", "--grain", "vllm"], "`import gguf` takes no `--grain`"),
        (["config", "x", "--digest"], "`import config` takes no `--digest`"),
        (["gguf", "owner/name"], "no file or folder `owner/name`"),
        (["safetensors", "no/such/path"], "no file or folder `no/such/path`"),
        (["safetensors", ""], "no file or folder"),
        (["safetensors", "a\0b"], "no file or folder"),
    ],
)
def test_usage(
    words: list[str], said: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *words)
    assert (status, out) == (ExitCode.COULD_NOT_RUN, "")
    assert said in err


def test_help_tells_the_kinds_and_no_flag_of_a_policy(capsys: Capture) -> None:
    assert main(["import", "--help"]) == ExitCode.FINE
    out = capsys.readouterr().out
    for word in ("config", "safetensors", "gguf", "--artifact", "--grain", "--digest", "--force"):
        assert word in out
    assert "--facts" not in out
    assert set(GRAINS) == {g.value for g in Grain}


def test_names_are_the_sources_unless_given(tiny: Path, capsys: Capture) -> None:
    rows = yaml.safe_load(run(capsys, "safetensors", tiny)[1])
    assert (rows["artifact"][0]["artifact"], rows["artifact"][0]["architecture"]) == (
        "tiny-moe",
        "tiny-moe",
    )
    words = ["--artifact", "x", "--architecture", "y"]
    rows = yaml.safe_load(run(capsys, "safetensors", tiny, *words)[1])
    assert (rows["artifact"][0]["artifact"], rows["artifact"][0]["architecture"]) == ("x", "y")
    assert {r["artifact"] for t in rows.values() for r in t} == {"x"}
    rows = yaml.safe_load(run(capsys, "safetensors", tiny / "model.safetensors")[1])
    assert rows["artifact"][0]["artifact"] == "model"


def test_the_working_folder_is_named_by_its_own_name(
    tiny: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny)
    rows = yaml.safe_load(run(capsys, "safetensors", ".")[1])
    assert rows["artifact"][0]["artifact"] == "tiny-moe"
    assert str(tiny) not in run(capsys, "safetensors", tiny)[1]


def test_a_folder_of_the_cache_of_the_hub_is_named_by_its_repository(
    tmp_path: Path, capsys: Capture
) -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    folder = tmp_path / "models--Owner--Tiny-FP8" / "snapshots" / commit
    write_tensors(folder / "model.safetensors", TINY)
    rows = yaml.safe_load(run(capsys, "safetensors", folder)[1])
    (artifact,) = rows["artifact"]
    assert (artifact["artifact"], artifact["revision"]) == ("tiny-fp8", commit)
    assert f"Owner/Tiny-FP8 at {commit}" in artifact["source"]


def test_a_warning_is_said_and_the_rows_come(tmp_path: Path, capsys: Capture) -> None:
    write_sharded(tmp_path, [TINY], total=1)
    status, out, err = run(capsys, "safetensors", tmp_path)
    assert status == ExitCode.FINE
    assert err.startswith("warning[total-size-differs]: ")
    assert "# warning[total-size-differs]: " in out
    _, again, err = run(capsys, "safetensors", tmp_path, "--format", "concise")
    assert again == out
    assert "warning[total-size-differs]" in err.splitlines()[0]


def test_findings_come_in_the_format_asked_for(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"")
    status, out, err = run(capsys, "safetensors", tmp_path, "--format", "json")
    assert (status, err) == (ExitCode.INVALID, "")
    assert json.loads(out)["findings"][0]["code"] == "unreadable-header"


def test_a_configuration_and_files_of_one_folder_fit_together(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "GPT-OSS-120B"
    write_tensors(folder / "model.safetensors", TINY)
    text = (CONFIGS / "gpt-oss-120b.json").read_text("utf-8")
    (folder / "config.json").write_text(text, "utf-8")
    config = yaml.safe_load(run(capsys, "config", folder)[1])
    files = yaml.safe_load(run(capsys, "safetensors", folder)[1])
    assert config["architecture"][0]["architecture"] == "gpt-oss-120b"
    assert files["artifact"][0]["architecture"] == "gpt-oss-120b"
    assert "artifact" not in config
    assert config["architecture"][0]["source"].startswith("config.json of GPT-OSS-120B, sha256 ")
    named = yaml.safe_load(run(capsys, "config", folder, "--artifact", "a")[1])
    assert named["artifact"][0]["total_bytes"] == "65248815744 B"


def test_a_folder_without_a_configuration_is_told(tmp_path: Path, capsys: Capture) -> None:
    status, _, err = run(capsys, "config", tmp_path)
    assert status == ExitCode.COULD_NOT_RUN
    assert "no `config.json` is in" in err


def test_start_up_of_the_verb_leaves_the_solver_alone(tiny: Path) -> None:
    code = (
        "import sys; from ullage.cli import main\n"
        f"assert main(['import', 'safetensors', {str(tiny)!r}]) == 0\n"
        "assert not {'clingo', 'ullage.policy', 'gguf', 'numpy', 'huggingface_hub'} "
        "& set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# The Hub, by a stand-in for its package.


@dataclass
class Sibling:
    rfilename: str
    size: int | None
    lfs: dict[str, object] | None = None


@dataclass
class Info:
    sha: str
    siblings: list[Sibling]


@dataclass
class Hub:
    """A stand-in: ``folder`` has the files of each repository, below its id."""

    folder: Path
    reads: list[str] = field(default_factory=list)
    revisions: list[str | None] = field(default_factory=list)
    fault: Exception | None = None

    def model_info(self, repository: str, *, revision: str | None, files_metadata: bool) -> Info:
        assert files_metadata
        if self.fault is not None:
            raise self.fault
        self.revisions.append(revision)
        base = self.folder / repository
        if not base.is_dir():
            raise RuntimeError(f"404: no {repository}.\nsecond line")
        files = sorted(p for p in base.rglob("*") if p.is_file())
        return Info(
            "c" * 40,
            [
                Sibling(p.relative_to(base).as_posix(), p.stat().st_size, {"sha256": "d" * 64})
                for p in files
            ],
        )

    def open(self, path: str, mode: str, block_size: int) -> io.BufferedReader:
        assert mode == "rb"
        repository, _, rest = path.partition("@")
        revision, _, name = rest.partition("/")
        assert revision == "c" * 40
        self.reads.append(name)
        return (self.folder / repository / name).open("rb")

    def hf_hub_download(self, repository: str, name: str, *, revision: str) -> str:
        assert revision == "c" * 40
        return str(self.folder / repository / name)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    stand_in = Hub(tmp_path / "hub")
    module = ModuleType("huggingface_hub")
    vars(module).update(
        HfApi=lambda: stand_in,
        HfFileSystem=lambda: stand_in,
        hf_hub_download=stand_in.hf_hub_download,
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.chdir(tmp_path)
    return stand_in


def test_a_repository_is_read_by_its_headers(hub: Hub, capsys: Capture) -> None:
    write_sharded(hub.folder / "Owner" / "Tiny-FP8", [TINY])
    status, out, err = run(capsys, "safetensors", "Owner/Tiny-FP8@v1.0", "--digest")
    assert (status, err) == (ExitCode.FINE, "")
    rows = yaml.safe_load(out)
    (artifact,) = rows["artifact"]
    assert artifact["artifact"] == "tiny-fp8"
    assert artifact["revision"] == "c" * 40
    assert artifact["total_bytes"] == f"{total_of(TINY)} B"
    assert f"Owner/Tiny-FP8 at {'c' * 40}" in artifact["source"]
    # The digest is the Hub's own: no file is fetched for it.
    assert rows["artifact_file"][0]["sha256"] == "d" * 64
    assert hub.revisions == ["v1.0"]
    assert hub.reads == ["model.safetensors.index.json", "model-00001-of-00001.safetensors"]


def test_a_configuration_of_a_repository(hub: Hub, capsys: Capture) -> None:
    folder = hub.folder / "openai" / "gpt-oss-120b"
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes((CONFIGS / "gpt-oss-120b.json").read_bytes())
    rows = yaml.safe_load(run(capsys, "config", "openai/gpt-oss-120b")[1])
    assert rows["architecture"][0]["num_hidden_layers"] == 36
    assert rows["architecture"][0]["source"] == (
        f"config.json of openai/gpt-oss-120b at {'c' * 40}"
    )
    assert hub.revisions == [None]


def test_a_path_that_is_there_is_never_taken_for_a_repository(hub: Hub, capsys: Capture) -> None:
    write_tensors(Path("Owner") / "Tiny" / "model.safetensors", TINY)
    assert run(capsys, "safetensors", "Owner/Tiny")[0] == ExitCode.FINE
    assert hub.revisions == []


@pytest.mark.parametrize("fault", [None, OSError("offline"), ValueError("bad id"), KeyError()])
def test_a_repository_that_cannot_be_read_is_told(
    hub: Hub, capsys: Capture, fault: Exception | None
) -> None:
    hub.fault = fault
    status, out, err = run(capsys, "safetensors", "owner/none@main")
    assert (status, out) == (ExitCode.COULD_NOT_RUN, "")
    assert err.startswith("ullage: error: `owner/none@main` cannot be read from the Hub: ")
    assert "second line" not in err


def test_a_file_that_goes_away_is_a_finding(
    hub: Hub, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sharded(hub.folder / "owner" / "tiny", [TINY])

    def fails(*_: object, **__: object) -> None:
        raise ValueError("502 of a proxy")

    monkeypatch.setattr(hub, "open", fails)
    status, out, err = run(capsys, "safetensors", "owner/tiny")
    assert (status, out) == (ExitCode.INVALID, "")
    assert "error[unreadable-file]" in err


def test_a_repository_without_the_file_that_its_index_names(hub: Hub, capsys: Capture) -> None:
    index = write_sharded(hub.folder / "owner" / "tiny", [TINY])
    index.with_name("model-00001-of-00001.safetensors").unlink()
    status, _, err = run(capsys, "safetensors", "owner/tiny")
    assert status == ExitCode.INVALID
    assert "error[missing-shard]" in err


def test_without_the_package_it_says_what_to_install(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    status, _, err = run(capsys, "safetensors", "owner/name")
    assert status == ExitCode.COULD_NOT_RUN
    assert "`pip install ullage[hub]`" in err


def test_the_stand_in_is_called_as_the_package_is() -> None:
    hub = pytest.importorskip("huggingface_hub")
    import inspect

    info = inspect.signature(hub.HfApi.model_info).parameters
    assert {"repo_id", "revision", "files_metadata"} <= info.keys()
    download = inspect.signature(hub.hf_hub_download).parameters
    assert [*download][:2] == ["repo_id", "filename"]
    assert "revision" in download
    opened = inspect.signature(hub.HfFileSystem.open).parameters
    assert {"path", "mode", "block_size"} <= opened.keys()
    sibling = inspect.signature(hub.hf_api.RepoSibling).parameters
    assert {"rfilename", "size", "lfs"} <= sibling.keys()


def test_the_digest_of_a_file_that_the_hub_has_none_of() -> None:
    store = HubStore("owner/name", "c" * 40, {"a": (1, "")})
    with pytest.raises(OSError, match="no digest"):
        store.digest("a")


# The text of rows.

TEXTS = st.text(
    st.one_of(
        st.sampled_from(string.ascii_letters + string.digits + " -?:,[]{}#&*!|>'\"%@`~._/\\=<"),
        st.characters(codec="utf-8"),
    ),
    max_size=12,
)


def read_back(text: str) -> Any:
    """The text's rows by our own reader: each scalar as text, None where it is absent."""
    document = compose_document(text.encode(), "a.yaml")
    assert document.findings == ()
    assert document.root is not None

    def value(node: Any) -> Any:
        if isinstance(node.value, str):
            return None if is_absent(node) else node.value
        if node.value and isinstance(node.value[0], tuple):
            return {value(k): value(v) for k, v in node.value}
        return [value(n) for n in node.value]

    return value(document.root)


@given(st.lists(st.one_of(TEXTS, st.lists(TEXTS, min_size=1, max_size=3).map(tuple)), min_size=1))
@example(["NO", "0x4", "010", "1:30", "null", "~", "", "- a", "a: b", "a #b", "2026-11-29", "1e3"])
@example(
    [" a", "a ", "\u00a0a", "\ufeff", "\x85", "\u2028", "\U0001f600", "'a'", '"a"', "\\", "a:"]
)
def test_text_that_is_written_is_read_as_it_was(values: list[str | tuple[str, ...]]) -> None:
    cells = tuple((f"c{n}", value) for n, value in enumerate(values))
    text = rows_text([ImportedRow("t", cells)], ["told\nover lines", "\x1b[0m"])
    expected = {n: [*v] if isinstance(v, tuple) else v for n, v in cells}
    assert read_back(text) == {"t": [expected]}
    # Other readers of YAML see the same text, but for words that are our own truth values.
    for value in values:
        for part in [value] if isinstance(value, str) else value:
            for flow in (False, True):
                written = scalar_text(part, flow=flow)
                theirs = yaml.safe_load(f"[{written}]" if flow else f"a: {written}")
                seen = theirs[0] if flow else theirs["a"]
                assert (str(seen).lower() if isinstance(seen, bool) else str(seen)) == part


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("mlp.experts.w13_weight", "mlp.experts.w13_weight"),
        ("256x2048x6144", "256x2048x6144"),
        ("4096 B", "4096 B"),
        ("12", "12"),
        ("a, b", "a, b"),
        ("true", "true"),
        ("no", '"no"'),
        ("0x4", '"0x4"'),
        ("012", '"012"'),
        ("12e3", '"12e3"'),
        ("", '""'),
        ("null", '"null"'),
        ("a: b", '"a: b"'),
        ("a:b", "a:b"),
    ],
)
def test_text_is_quoted_where_it_must_be(value: str, written: str) -> None:
    assert scalar_text(value) == written


def test_a_short_row_is_a_line_and_a_long_one_is_not() -> None:
    short = ImportedRow("t", (("a", "x"), ("b", ("1", "2..3"))))
    long = ImportedRow("t", (("a", "x" * 100), ("b", ("1", "2..3"))))
    text = rows_text([short, ImportedRow("u", (("c", "a, b"),)), long], ["head"])
    assert text.partition("\n")[2] == (
        f"# head\n\nt:\n  - {{a: x, b: [1, 2..3]}}\n  - a: {'x' * 100}\n    b: [1, 2..3]\n\n"
        'u:\n  - {c: "a, b"}\n'
    )


def test_a_circle_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(UsageError, match="cannot"):
        write_rows(tmp_path / "a", "t: []\n", force=False)


def test_a_name_that_is_left_with_nothing_is_asked_for() -> None:
    assert default_name("GLM-5.2 (FP8)") == "glm-5.2-fp8"
    with pytest.raises(UsageError, match="nothing to name"):
        default_name("…")


@given(st.sets(st.integers(0, 60), min_size=1))
def test_ranges_name_each_number_once(numbers: set[int]) -> None:
    found = ranges(sorted(numbers))
    parts = [found] if isinstance(found, str) else [*found]
    named: list[int] = []
    for part in parts:
        bounds, _, step = part.partition("/")
        first, _, last = bounds.partition("..")
        named += range(int(first), int(last or first) + 1, int(step or 1))
    assert sorted(named) == sorted(numbers)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([7], "7"),
        ([0, 1], "0..1"),
        ([0, 2], ("0", "2")),
        ([0, 2, 4], "0..4/2"),
        (range(3, 78), "3..77"),
        ([0, 1, 2, *range(6, 75, 4)], ("0..2", "6..74/4")),
    ],
)
def test_ranges_are_short(numbers: range | list[int], text: str | tuple[str, ...]) -> None:
    assert ranges(numbers) == text
