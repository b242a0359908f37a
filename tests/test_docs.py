"""The documentation: its examples run, its generated pages are fresh, every code has its page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from ullage import Policy
from ullage.sorts import BUILTIN, ExactSort

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
ERRORS = DOCS / "errors"
SOURCE = ROOT / "src" / "ullage"

UNSHOWN = {
    "not-grounded": "whatever stops the solver is found before it is asked",
    "undefined-operation": "every term has a sort before the solver sees it",
}
"""Codes that no files can show, and why."""

NO_CODES = {
    *("cat-file", "ls-tree", "merge-base", "rev-parse"),
    *("fail-on", "system-out", "ullage-progress", "utf-8-sig", "what-if", "why-not"),
}
"""Words of the shape of a code that are none."""

FILLED = {
    "duplicate-{}": ("duplicate-flag", "duplicate-sort", "duplicate-table"),
    "unknown-{}": ("unknown-law", "unknown-plan"),
}
"""Codes that are put together when they are reported."""

WORKED = (
    # Caches of GLM-5.2, by the layout of its indexes; then what a token takes in F16.
    'kv="828899328 bytes"',
    'kv="782106624 bytes"',
    " 955908096 bytes",
    'kv_bytes_per_token="95232 bytes"',
    'kv_bytes_per_token="109824 bytes"',
    # Minimum and recommended nodes of each tier, behind the exact budget.
    " 212031764544 bytes",
    " 25769803776 bytes  9        10  ",
    " 41231686041.6 bytes  6         6  ",
    " 54975581388.8 bytes  4         5  ",
    " 82463372083.2 bytes  3         3  ",
    " 109951162777.6 bytes  2         3  ",
    # Two routes, and the seams over three nodes.
    "headroom                  7.33 GiB      7870561011.2 bytes",
    "one node would do         yes",
    " 12288 bytes",
    " 0.0786432 milliseconds",
    "decode, what latency costs    1 ms",
    " 1288.4901888 milliseconds",
    " 8192 bytes",
)
"""What the policy's founding text works out, as the guide's commands print it."""


def _generate() -> Any:
    spec = spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Its dataclasses look their module up by name.
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = _generate()
PAGES = {p.name: p for p in generate.pages()}
RUN = sorted(name for name, page in PAGES.items() if page.start)
CODE_PAGES = {p.stem for p in ERRORS.glob("*.md")} - {"README"}


class Ran:
    """Runs each page once, in a folder that stays."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self.factory = factory
        self.done: dict[str, tuple[Any, Path]] = {}

    def __call__(self, name: str) -> tuple[Any, Path]:
        if name not in self.done:
            folder = self.factory.mktemp("page")
            self.done[name] = (generate.run_page(PAGES[name], folder), folder)
        return self.done[name]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory)


# Examples.


@pytest.mark.parametrize("name", RUN)
def test_examples_print_what_the_page_says(name: str, ran: Ran) -> None:
    outcome, _ = ran(name)
    assert not outcome.mismatches, "\n\n".join(outcome.mismatches)


def test_the_guide_and_the_reference_of_verbs_run() -> None:
    pages = {"guide", "fit", "planning", "language", "facts", "import", "records", "cli", "api"}
    pages |= {"policy", "why"}
    assert {"../README.md", *(f"{page}.md" for page in pages)} <= set(RUN)
    assert PAGES["guide.md"].start == "empty"


def test_the_guide_changes_what_an_author_may_change_alone() -> None:
    changed = {b.path.partition("/")[0] for b in PAGES["guide.md"].blocks if b.path}
    assert changed == {"rules", "facts"}


def test_the_guide_shows_every_worked_figure() -> None:
    said = "\n".join(
        line for b in PAGES["guide.md"].blocks if b.kind == "console" for line in b.lines
    )
    assert [figure for figure in WORKED if figure not in said] == []


def test_a_page_that_says_something_else_is_found(tmp_path: Path) -> None:
    page = generate.Page(
        DOCS / "made-up.md",
        "small",
        ("```console", "$ ullage check", "$ echo $?", "3", "```"),
        (generate.Block("console", "", "", 1, ("$ ullage check", "$ echo $?", "3")),),
    )
    outcome = generate.run_page(page, tmp_path)
    assert len(outcome.mismatches) == 1
    assert generate.record(page, outcome).split("\n")[3] == "0"


def test_what_a_slow_run_says_of_itself_is_no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = (
        "ullage: reading facts… 2.0 s\nullage: grounding... 12.3 s\nullage: error: no\n1 row\n"
    )
    monkeypatch.setattr(generate, "run_command", lambda _: (printed, 0))
    assert generate.run_console(["$ ullage check"]) == [
        "$ ullage check",
        "ullage: error: no",
        "1 row",
    ]


def test_a_diff_that_does_not_fit_is_found(tmp_path: Path) -> None:
    lines = ("--- facts/machines.yaml", "+++ facts/machines.yaml", "@@", "-    state: up")
    block = generate.Block("diff", "facts/machines.yaml", "", 1, lines)
    page = generate.Page(DOCS / "made-up.md", "small", (), (block,))
    with pytest.raises(generate.DocsError, match="do not stand once"):
        generate.run_page(page, tmp_path)


def test_the_policy_page_names_whatever_the_policy_concludes() -> None:
    text = (DOCS / "policy.md").read_text("utf-8")
    book = generate.Policy.load().book
    names = {*book.laws, *book.plans}
    names |= {n for law in book.laws.values() for n in law.reasons}
    assert sorted(n for n in names if not re.search(rf"`{n}\b", text)) == []
    shown = "\n".join(line for line in text.split("\n") if line.startswith("| "))
    assert sorted(n for n in (*book.laws, *book.plans) if f"`{n}`" not in shown) == []


# Error pages.


def test_every_code_of_the_source_has_a_page_and_no_other() -> None:
    assert codes_of_the_source() == CODE_PAGES


@pytest.mark.parametrize("code", sorted(CODE_PAGES))
def test_an_error_page_is_made_in_one_way(code: str) -> None:
    lines = (ERRORS / f"{code}.md").read_text("utf-8").split("\n")
    headings = [line for line in lines if re.match(r"#{1,6} [a-zA-Z]", line)]
    headings = [line for line in headings if not _fenced(lines, line)]
    assert headings == [f"# {code}", "## Example", "## What ullage prints", "## Fix"]


@pytest.mark.parametrize("code", sorted(CODE_PAGES - UNSHOWN.keys()))
def test_an_error_page_shows_its_code_and_its_fix_mends_it(code: str, ran: Ran) -> None:
    page = PAGES[f"errors/{code}.md"]
    printed = [b for b in page.blocks if b.kind == "console" and b.heading == "What ullage prints"]
    said = "\n".join(line for block in printed for line in block.lines)
    assert f"[{code}]: " in said
    fix = [b for b in page.blocks if b.heading == "Fix"]
    assert fix, "a page's fix is shown, not only told"
    outcome, folder = ran(page.name)
    after = [line for b in fix for line in outcome.recorded.get(b.first, ())]
    assert f"[{code}]" not in "\n".join(after)
    if any(b.kind in ("file", "diff") for b in page.blocks):
        policy = Policy.load(folder / "rules", folder / "facts")
        assert code not in {f.code for f in policy.check()}


def test_what_no_files_show_has_no_example() -> None:
    for code in UNSHOWN:
        assert PAGES[f"errors/{code}.md"].start == ""


def codes_of_the_source() -> set[str]:
    """The codes that the source can report: first arguments, and words of their shape."""
    found: set[str] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _reports(node) and node.args:
                found.update(_words(node.args[0]))
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"\A[a-z]+(?:-[a-z0-9]+)*-[a-z]+\Z", node.value))
    return found - NO_CODES


def _reports(call: ast.Call) -> bool:
    """Whether a call reports a finding; a lookup of a field by its name is ``find``, too."""
    name = getattr(call.func, "id", None) or getattr(call.func, "attr", "")
    if name == "find":
        return len(call.args) > 1
    return name in {"Finding", "ScalarError", "report", "_report"}


def _words(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", node.value):
            yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = (str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
        pattern = "".join(parts)
        yield from FILLED[pattern]
    elif isinstance(node, ast.IfExp):
        yield from _words(node.body)
        yield from _words(node.orelse)


def _fenced(lines: list[str], line: str) -> bool:
    before = lines[: lines.index(line)]
    return sum(t.startswith("```") for t in before) % 2 == 1


# Reference and links.


def test_generated_pages_are_fresh() -> None:
    assert generate.stale_reference(update=False) == []


def test_all_units_are_told() -> None:
    text = (DOCS / "facts.md").read_text("utf-8")
    for sort in BUILTIN.values():
        if isinstance(sort, ExactSort):
            row = next(line for line in text.split("\n") if line.startswith(f"| `{sort.name}` | "))
            told = set(re.findall(r"`([^`]+)`", row)) - {sort.name}
            assert told == {u for u in sort.units if u}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_lead_somewhere(name: str) -> None:
    page = PAGES[name]
    text = re.sub(r"^```.*?^```", "", "\n".join(page.lines), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        there = page.path.parent / path if path else page.path
        assert there.exists(), target
        if anchor:
            assert anchor in _anchors(there), target


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
