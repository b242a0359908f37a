"""The README shows what the program prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ullage.cli import main

ROOT = Path(__file__).parents[1]


def test_the_screen_is_what_the_first_command_ends_in(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    screen = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert screen is not None
    assert main(["standings"]) == 0
    assert capsys.readouterr().out.endswith(f"\n{screen.group(1)}")
