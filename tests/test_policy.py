"""The Python API and the folders it reads; files that nobody reads; order and pure numbers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ullage import Policy
from ullage.findings import Severity, UsageError
from ullage.results import Quantity, StandingClass

SMALL = Path(__file__).parents[1] / "docs" / "small"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a copy of the documentation's small policy."""
    shutil.copytree(SMALL, tmp_path / "small")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "small"


def codes(policy: Policy) -> set[str]:
    return {f.code for f in policy.check()}


def test_both_folders_here_are_read(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    assert [law.name for law in Policy.load().laws] == ["room"]


def test_one_folder_here_is_not_read_alone(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(small / "facts")
    monkeypatch.chdir(small)
    assert "room" not in [law.name for law in Policy.load().laws]


def test_named_rules_go_with_the_facts_here(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (small / "rules").rename(small / "laws")
    monkeypatch.chdir(small)
    policy = Policy.load(rules="laws")
    assert not policy.check()
    assert {s.subject_text for s in policy.standings("room")} == {"index", "serve", "train"}


def test_an_empty_name_is_no_folder() -> None:
    with pytest.raises(UsageError, match="empty"):
        Policy.load(rules="")
    with pytest.raises(UsageError, match="empty"):
        Policy.load(facts=[""])


def test_hints_lead_from_a_law_to_a_subject_and_back(small: Path) -> None:
    policy = Policy.load(small / "rules", small / "facts")
    with pytest.raises(UsageError) as raised:
        policy.standings(["index"])
    assert "--subject index" in raised.value.help
    with pytest.raises(UsageError) as raised:
        policy.standings(subject="indx")
    assert "`index`" in raised.value.help


def test_results_are_handy(small: Path) -> None:
    policy = Policy.load(small / "rules", small / "facts")
    (serve,) = policy.standings("room", "serve")
    assert serve.standing is StandingClass.REFUSED
    assert str(serve.standing) == "refused"
    bindings = policy.query("job(Job, need, Need)")
    assert len(bindings) == 3
    rows = {str(row["Job"]): row["Need"] for row in bindings}
    assert isinstance(rows["serve"], Quantity)
    assert repr(rows["serve"]) == f"Quantity({rows['serve'].text} bytes)"


def test_files_that_look_meant_and_are_not_read_are_told(small: Path) -> None:
    (small / "facts" / "more.YAML").write_text("machine: []\n")
    (small / "facts" / "more.json").write_text("{}")
    (small / "facts" / "NOTES.txt").write_text("for people")
    (small / "rules" / "more.yaml").write_text("tables: {}\n")
    (small / "rules" / "more.LP").write_text("% a law?\n")
    found = Policy.load(small / "rules", small / "facts").check()
    assert {f.code for f in found} == {"unread-file"}
    assert {f.severity for f in found} == {Severity.WARNING}
    assert [Path(f.positions[0].file).name for f in found] == [
        "more.YAML",
        "more.json",
        "more.LP",
        "more.yaml",
    ]


def test_rules_without_tables_say_only_that(small: Path) -> None:
    shutil.rmtree(small / "rules" / "tables")
    assert codes(Policy.load(small / "rules", small / "facts")) == {"no-tables"}


@pytest.mark.parametrize(
    "test",
    [
        'N > "1/2"',
        'N = "1/1"',
        'N + "1/2" > "1"',
        '1 > ("7/9" \\ N)',
        '|N| > "7/9"',
        "N - 1 >= 0",
        'R = N * "1/2", R < N',
    ],
)
def test_a_literal_may_stand_before_the_atom_that_sorts_its_variable(
    small: Path, test: str
) -> None:
    policy = Policy.load(small / "rules", small / "facts")
    after = policy.query(f"machine(M, gpus, N), {test}")
    before = policy.query(f"{test}, machine(M, gpus, N)")
    assert {str(row["M"]) for row in before} == {str(row["M"]) for row in after}


def test_a_conflict_names_the_rules_that_say_it(small: Path) -> None:
    law = small / "rules" / "room.lp"
    text = law.read_text().replace("not _refused(Job), not _unseen(Job, _).", "job(Job).")
    law.write_text(text)
    policy = Policy.load(small / "rules", small / "facts")
    (finding,) = [f for f in policy.check() if "`index`" in f.message]
    assert finding.code == "standing-conflict"
    lines = text.split("\n")
    said = {p.note: lines[p.line - 1] for p in finding.positions[1:]}
    assert {k: v.split("(")[0] for k, v in said.items()} == {
        "says `fits`": "standing",
        "says `unestablished`": "standing",
    }
