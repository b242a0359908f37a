"""What each format prints of a comparison, to the character."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import DIFF

from ullage.diff.result import Diff, Verdict
from ullage.render import FORMATS, View
from ullage.render.markdown import diff_markdown

GOLDEN = Path(__file__).parent / "golden" / "diff"
EQUAL = Diff(Verdict.EQUAL, (), (), (), (), 3)


@pytest.mark.parametrize(
    ("file", "write"),
    [
        ("human.txt", FORMATS["human"](View()).diff),
        ("ascii.txt", FORMATS["human"](View(unicode=False)).diff),
        ("concise.txt", FORMATS["concise"](View()).diff),
        ("diff.json", FORMATS["json"](View()).diff),
        ("comment.md", diff_markdown),
    ],
)
def test_formats(file: str, write: Callable[[Diff], str]) -> None:
    assert write(DIFF) == (GOLDEN / file).read_text("utf-8")


def test_where_nothing_moves() -> None:
    assert FORMATS["human"](View()).diff(EQUAL) == "equal: nothing moves\n"
    assert FORMATS["concise"](View()).diff(EQUAL) == "verdict equal\n"
    assert json.loads(FORMATS["json"](View()).diff(EQUAL))["verdict"] == "equal"
    assert diff_markdown(EQUAL) == (
        "### ullage: equal: nothing moves\n\n"
        "Neither facts nor rules say anything else than before.\n"
    )


def test_markdown_is_not_steered_by_names() -> None:
    text = diff_markdown(DIFF)
    assert "<b>" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    # A bar in a name starts no cell: each row has as many as its head.
    for line in rows:
        assert line.replace("\\|", "").count("|") in (7, 5)
