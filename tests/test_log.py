"""Since when a standing holds, over a history worked by hand on ``docs/small``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from test_diff import FACTS, LAW, commit, edit, git, repo, verdicts
from test_schema import validator

from ullage.cli import main
from ullage.diff.history import history
from ullage.diff.result import History
from ullage.diff.sides import Sides
from ullage.findings import UsageError

__all__ = ["repo"]


@pytest.fixture
def past(repo: Path) -> Path:
    """train fits, is refused with 100 GiB, fits again with 110; serve is touched in between."""
    edit(FACTS, "128 GiB", "100 GiB")
    commit("less of anvil")
    edit(FACTS, "need: 15 GiB", "need: 14 GiB")
    commit("serve is smaller")
    edit(LAW, "% fits", "% has room")
    commit("words")
    (repo / "README").write_text("no part of the policy")
    commit("a note")
    edit(FACTS, "100 GiB", "110 GiB")
    commit("more of anvil")
    return repo


def told(found: History) -> list[tuple[str, str, str, list[str]]]:
    moves = []
    for turn in found.turns:
        old, new = verdicts(turn.reasoned)
        moves.append((turn.commit.title, old, new, [c.what for c in turn.reasoned.causes]))
    return moves


AGAIN = ("more of anvil", "refused", "fits", ["machine anvil: memory 100 GiB -> 110 GiB"])
LESS = ("less of anvil", "fits", "refused", ["machine anvil: memory 128 GiB -> 100 GiB"])


def test_a_history_ends_where_what_holds_began(past: Path) -> None:
    found = history(Sides(), "train")
    assert told(found) == [AGAIN]
    assert [s.verdict for s in found.standings] == ["fits"]
    # The note is no part of the policy.
    assert found.length == 5


def test_the_whole_history(past: Path) -> None:
    found = history(Sides(), "train", whole=True)
    assert told(found) == [AGAIN, LESS, ("the inventory of May", "", "fits", [])]


def test_what_holds_from_the_first_commit_on(past: Path) -> None:
    assert told(history(Sides(), "index")) == [("the inventory of May", "", "unestablished", [])]


def test_an_earlier_revision(past: Path) -> None:
    assert told(history(Sides(), "train", revision="HEAD~1")) == [LESS]


def test_a_commit_that_cannot_be_read_is_stepped_over(past: Path) -> None:
    edit(FACTS, "memory: 110 GiB", "memory: 110")
    commit("no unit")
    edit(FACTS, "memory: 110", "memory: 90 GiB")
    commit("a unit, and less")
    found = history(Sides(), "train")
    (turn,) = found.turns
    assert [c.title for c in found.invalid] == ["no unit"]
    # What the two commits did together is told of the first of them, and the other is named.
    assert turn.commit.title == "no unit"
    assert [c.title for c in turn.among] == ["a unit, and less"]
    assert [c.what for c in turn.reasoned.causes] == ["machine anvil: memory 110 GiB -> 90 GiB"]


def test_what_is_not_there(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="no subject is named `trains`"):
        history(Sides(), "trains")
    assert main(["log", "train", "rooom"]) == 1
    assert "a similar law is `room`" in capsys.readouterr().err
    assert main(["log", "train", "--revision", "nowhere"]) == 1
    assert "no revision of this repository" in capsys.readouterr().err


def test_formats(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = git("rev-parse", "HEAD").strip()
    assert main(["log", "train", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    checker: Draft202012Validator = validator("log-1")
    checker.validate(document)
    assert document["moves"][0]["commit"] == {
        "name": name,
        "date": "2026-05-04",
        "author": "A. Keeper",
        "title": "more of anvil",
    }
    assert main(["log", "train", "--format", "concise"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "room train established fits"
    assert lines[1].startswith(f"commit {name} 2026-05-04 standing room train refused->established")
    assert lines[2] == f"by {FACTS}:3:13: changed fact: machine anvil: memory 100 GiB -> 110 GiB"
    assert main(["log", "train", "--fail-on", "unestablished"]) == 0
    assert main(["log", "index", "--fail-on", "unestablished"]) == 4
    out = capsys.readouterr().out
    assert out.startswith(f"room  established  since 2026-05-04  {name[:12]}  A. Keeper\n")
