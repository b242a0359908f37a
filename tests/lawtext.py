"""One small policy for tests of the rule loader, and the form that every finding must have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from support import Rows, write_rules

from ullage.findings import Finding
from ullage.policy import Policy
from ullage.rules.book import load_book
from ullage.tables import load_declarations

TABLES = """\
sorts:
  colour: {values: [red, green, blue]}
  shape: {forms: {point: {}, box: {Side: bytes}}}
  watts: {units: {W: 1, kW: 1000}}
tables:
  thing:
    key: {thing: thing}
    columns:
      size: bytes
      delay: milliseconds
      rate: bytes_per_second
      share: ratio
      power: watts
      number: count
      ready: bool
      tint: colour
      note: text
      friend: {sort: thing, references: thing}
      tags: {sort: text, list: true}
  place: {key: {place: place}, columns: {}}
  part: {key: {position: count}, columns: {size: bytes}}
  cell:
    key: {thing: {sort: thing, references: thing}, position: count}
    columns: {size: bytes}
"""

ROWS: Rows = {
    "thing": [
        {
            "thing": "a",
            "size": "8 GiB",
            "delay": "5 ms",
            "rate": "1 GB/s",
            "share": "20%",
            "power": "3 kW",
            "number": "3",
            "ready": "true",
            "tint": "red",
            "note": "x",
            "friend": "b",
            "tags": ["p", "q"],
        },
        {"thing": "b", "size": "1 GiB", "number": "0", "tint": "blue"},
        {"thing": "c"},
    ],
    "place": [{"place": "here"}],
    "part": [{"position": str(i), "size": f"{i} GiB"} for i in range(5)],
    "cell": [{"thing": "a", "position": str(i), "size": f"{i} GiB"} for i in range(5)],
}

MARK = "^^"
"""Stands before the place where a finding is expected."""


def declared(name: str, *sorts: str) -> str:
    """The docstring of a predicate that only tests read, with arguments A0, A1, … of the sorts."""
    args = [f"A{i}" for i in range(len(sorts))]
    lines = [f"%*! {name}({', '.join(args)})", "A predicate.", "Args:"]
    lines += [f"  - {a}: {s}" for a, s in zip(args, sorts, strict=True)]
    return "\n".join([*lines, "Frontier: tests", "*%", ""])


def unmarked(text: str) -> tuple[str, tuple[int, int]]:
    """The text without its mark, and the line and column where the mark stood."""
    before, mark, after = text.partition(MARK)
    assert mark, "the text marks no place"
    return before + after, (before.count("\n") + 1, len(before) - before.rfind("\n"))


def policy(folder: Path, *laws: str, rows: Rows = ROWS) -> Policy:
    """The small policy with these law files."""
    return Policy.load(rules=[write_rules(folder, TABLES, *laws)], rows=rows)


def loaded(folder: Path, *laws: str) -> list[Finding]:
    """What is wrong with these law files as they are loaded, before anything is grounded."""
    rules = write_rules(folder, TABLES, *laws)
    declarations, findings = load_declarations([rules])
    assert not findings
    return load_book([rules], declarations).findings


def place(finding: Finding) -> tuple[int, int]:
    """The line and column where a finding asks for a change."""
    return finding.positions[0].line, finding.positions[0].column


def assert_house_style(findings: Iterable[Finding]) -> None:
    """A code, a line without a full stop or a word of clingo's or the lowering's, a real place."""
    for finding in findings:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", finding.code)
        for text in (finding.message, finding.help):
            assert "\n" not in text, finding
            assert not text.endswith("."), finding
            ours = re.sub(r"`[^`]*`", "", text)
            assert not re.search(r"<block>|<string>|<[A-Z]+>|lexer error|_[a-z]+'|X'", ours), (
                finding
            )
        assert re.match(r"[a-z`#0-9]", finding.message), finding
        assert finding.positions, finding
        for position in finding.positions:
            path = Path(position.file)
            if not path.is_file():
                continue
            text = path.read_bytes().decode("utf-8-sig", errors="replace")
            lines = text.split("\n")
            assert 1 <= position.line <= len(lines), finding
            assert 1 <= position.column <= len(lines[position.line - 1]) + 1, finding
