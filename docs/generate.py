"""Generates the reference pages, and runs every example of the documentation.

    python docs/generate.py            write the pages of docs/reference, and the index of errors
    python docs/generate.py --update   the same, and record in each page what its examples print
    python docs/generate.py --check    write nothing; fail where a page is stale

Pages are the README and everything below docs/. One is an example where it has
``<!-- start: FOLDER -->``. Its blocks then run from top to bottom in a folder that is ``empty``, a
copy of ``docs/small`` (``small``) or one of the shipped rules and facts (``shipped``):

- a fenced block below ``<!-- file: PATH -->`` is written to that file;
- a ``diff`` block changes the file that it names: the lines with a space or ``-`` in front must
  stand there in one place;
- a ``console`` block runs each line that begins with ``$ ``, and holds what all of them print.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from ullage import __file__ as package
from ullage.cli import main as ullage
from ullage.declarations import Column, Declarations, Flag, Table
from ullage.pages import cause, error_page, first_sentence
from ullage.rules import arithmetic
from ullage.rules.book import RuleBook, load_book
from ullage.rules.declared import LawDecl, PlanDecl, Predicate, TermDecl
from ullage.rules.terms import uses
from ullage.sorts import (
    BUILTIN,
    ClosedSort,
    EntitySort,
    ExactSort,
    FormsSort,
    Sort,
    exact_text,
)
from ullage.tables import load_declarations

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
REFERENCE = DOCS / "reference"
SMALL = DOCS / "small"

_START = re.compile(r"<!-- start: (empty|small|shipped) -->")
_FILE = re.compile(r"<!-- file: (\S+) -->")
_FENCE = re.compile(r"(`{3,})(\w*)\s*")
_SECTION = re.compile(
    r"\s*(?:Args|Subjects|Verdicts|Reasons|Obligations|Values|Frontier"
    r"|Plan|Law|Rows|Columns|Under|Bar|Note):.*"
)
_PROGRESS = re.compile(r"^ullage: [a-z ]+(?:…|\.\.\.) [0-9]+\.[0-9] s\n", re.M)
"""What a run of more than two seconds says of itself: a matter of the machine, and no output."""


# Examples.


class DocsError(Exception):
    """A page that cannot be run as it stands; says where and why."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block that runs.

    ``kind`` is ``file``, ``diff`` or ``console``; ``heading`` the nearest one above; ``first`` the
    index of the block's first inner line in the page.
    """

    kind: str
    path: str
    heading: str
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation: where its example starts ("" where it has none), and its
    blocks.
    """

    path: Path
    start: str
    lines: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        """The path from docs/, as people name it."""
        return Path(os.path.relpath(self.path, DOCS)).as_posix()


@dataclass(slots=True)
class Outcome:
    """What came of a page's blocks: the lines of each console block, and the mismatches."""

    recorded: dict[int, list[str]] = field(default_factory=dict)
    mismatches: list[str] = field(default_factory=list)


def pages() -> list[Page]:
    """The README, then every page below docs/, in order of path."""
    return [read_page(p) for p in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))]


def read_page(path: Path) -> Page:
    """The blocks of one page."""
    lines = path.read_text("utf-8").split("\n")
    start = ""
    heading = ""
    blocks = []
    index = 0
    while index < len(lines):
        if match := _START.fullmatch(lines[index]):
            start = match.group(1)
        if lines[index].startswith("#"):
            heading = lines[index].lstrip("# ")
        fence = _FENCE.fullmatch(lines[index])
        if fence is None:
            index += 1
            continue
        end = lines.index(fence.group(1), index + 1)
        inner = tuple(lines[index + 1 : end])
        named = _FILE.fullmatch(lines[index - 1]) if index else None
        if named:
            blocks.append(Block("file", named.group(1), heading, index + 1, inner))
        elif fence.group(2) == "diff":
            blocks.append(Block("diff", inner[0].removeprefix("--- "), heading, index + 1, inner))
        elif fence.group(2) == "console":
            blocks.append(Block("console", "", heading, index + 1, inner))
        index = end + 1
    return Page(path, start, tuple(lines), tuple(blocks))


def run_page(page: Page, folder: Path) -> Outcome:
    """Run a page's blocks in an empty folder. Raises DocsError where one cannot be run."""
    if page.start != "empty":
        for part in ("rules", "facts"):
            shutil.copytree((SMALL if page.start == "small" else ROOT) / part, folder / part)
    outcome = Outcome()
    with contextlib.chdir(folder):
        for block in page.blocks:
            run_block(page, block, outcome)
    return outcome


def run_block(page: Page, block: Block, outcome: Outcome) -> None:
    """Run one block in the working folder."""
    where = f"{page.name}:{block.first + 1}"
    if block.kind == "file":
        path = Path(block.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(block.lines) + "\n", "utf-8")
    elif block.kind == "diff":
        change_file(block, where)
    else:
        found = run_console(block.lines)
        outcome.recorded[block.first] = found
        if tuple(found) != block.lines:
            outcome.mismatches.append(
                f"{where}: expected\n" + "\n".join(block.lines) + "\nfound\n" + "\n".join(found)
            )


def change_file(block: Block, where: str) -> None:
    """Apply a diff without line numbers: each hunk's old lines stand in the file once."""
    path = Path(block.path)
    text = path.read_text("utf-8")
    hunks: list[list[str]] = []
    for line in block.lines[2:]:
        if line.startswith("@@"):
            hunks.append([])
        else:
            hunks[-1].append(line or " ")
    for hunk in hunks:
        old = "".join(f"{line[1:]}\n" for line in hunk if line[0] != "+")
        new = "".join(f"{line[1:]}\n" for line in hunk if line[0] != "-")
        if f"\n{text}".count(f"\n{old}") != 1:
            raise DocsError(f"{where}: these lines do not stand once in `{path}`:\n{old}")
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]
    path.write_text(text, "utf-8")


def run_console(lines: Sequence[str]) -> list[str]:
    """The commands among the lines, each with what it prints below it."""
    found: list[str] = []
    status = 0
    for line in lines:
        if not line.startswith("$ "):
            continue
        found.append(line)
        command = line[2:]
        if command == "echo $?":
            text = f"{status}\n"
        else:
            text, status = run_command(command)
            text = _PROGRESS.sub("", text)
        found += [t.rstrip() for t in text.rstrip("\n").split("\n")] if text else []
    return found


def run_command(command: str) -> tuple[str, int]:
    """What a command prints, stdout and stderr together, and its exit status."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>;&$")
    lexer.whitespace_split = True
    words = list(lexer)
    # In this process where no shell is needed: a new one takes longer to start than most examples
    # to run.
    if not any(set(w) <= set("|<>;&$") for w in words):
        if words[0] == "ullage":
            return run_here(lambda: ullage(words[1:]))
        if words[0] == "python" and words[1:] == [Path(words[-1]).name]:
            return run_here(lambda: run_script(words[1]))
    with tempfile.TemporaryDirectory() as bin_folder:
        for name, called in (("ullage", "-m ullage"), ("python", "")):
            script = Path(bin_folder) / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {called} "$@"\n')
            script.chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONPATH": str(Path(package).parents[1]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
        }
        done = subprocess.run(
            ["sh", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return done.stdout.decode("utf-8"), done.returncode


def run_here(work: Callable[[], int]) -> tuple[str, int]:
    """What a function prints, stdout and stderr together, and the status it returns."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        status = work()
    return stream.buffer.getvalue().decode("utf-8"), status


def run_script(name: str) -> int:
    """Run a Python file of the working folder; 0, unless it raises."""
    runpy.run_path(name)
    return 0


def record(page: Page, outcome: Outcome) -> str:
    """The page's text with what its console blocks print now."""
    lines = list(page.lines)
    for block in reversed(page.blocks):
        if block.kind == "console":
            lines[block.first : block.first + len(block.lines)] = outcome.recorded[block.first]
    return "\n".join(lines)


# Reference pages.


@dataclass(frozen=True, slots=True)
class Policy:
    """The shipped policy's declarations and rules, with paths from the top of the repository."""

    declarations: Declarations
    book: RuleBook

    @staticmethod
    def load() -> Policy:
        """Load it. Raises DocsError where it is not sound."""
        with contextlib.chdir(ROOT):
            declarations, findings = load_declarations([Path("rules")])
            book = load_book([Path("rules")], declarations)
        errors = [f for f in [*findings, *book.findings] if f.severity.value == "error"]
        if errors:
            raise DocsError("\n".join(f"{f.code}: {f.message}" for f in errors))
        return Policy(declarations, book)


def reference() -> dict[Path, str]:
    """The text of every generated page."""
    policy = Policy.load()
    return {
        REFERENCE / "sorts.md": sorts_page(policy),
        REFERENCE / "arithmetic.md": arithmetic_page(),
        REFERENCE / "tables.md": tables_page(policy),
        REFERENCE / "flags.md": flags_page(policy),
        REFERENCE / "laws.md": laws_page(policy),
        REFERENCE / "plans.md": plans_page(policy),
        REFERENCE / "predicates.md": predicates_page(policy),
        DOCS / "errors" / "README.md": errors_page(),
    }


_GENERATED = "<!-- Written by docs/generate.py; change what it is made from, not this page. -->"


def _page(title: str, opening: str, parts: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", _GENERATED, "", opening, "", *parts]).rstrip() + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(c) for c in row)} |"
    yield ""


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def sorts_page(policy: Policy) -> str:
    """The built-in sorts with their units, and those that the policy declares."""
    parts = ["## Built in", ""]
    parts += _table(
        ("sort", "holds", "units, each with its size in base units"),
        ((_code(s.name), s.doc, _units(s)) for s in BUILTIN.values()),
    )
    declared = [s for n, s in policy.declarations.sorts.items() if n not in BUILTIN]
    parts += ["## Closed sets", ""]
    parts += _table(
        ("sort", "values", "doc"),
        (
            (_code(s.name), ", ".join(_code(v) for v in s.values), s.doc)
            for s in declared
            if isinstance(s, ClosedSort)
        ),
    )
    parts += ["## Terms", ""]
    parts += _table(
        ("sort", "forms", "doc"),
        (
            (
                _code(s.name),
                ", ".join(_code(_term(f, a)) for f, a in s.forms.items()),
                s.doc,
            )
            for s in declared
            if isinstance(s, FormsSort)
        ),
    )
    exact = [s for s in declared if isinstance(s, ExactSort)]
    if exact:
        parts += ["## Exact figures", ""]
        parts += _table(
            ("sort", "units", "doc"), ((_code(s.name), _units(s), s.doc) for s in exact)
        )
    parts += ["## Names of things", ""]
    parts += _table(
        ("sort", "keys", "doc"),
        (
            (_code(s.name), ", ".join(_code(t) for t in _keyed_by(s, policy)), _doc_of(s, policy))
            for s in declared
            if isinstance(s, EntitySort)
        ),
    )
    return _page("Sorts", "What an argument or a column may hold.", parts)


def arithmetic_page() -> str:
    """The sort of every operation over the built-in numeric sorts."""
    figures = [s for s in BUILTIN.values() if arithmetic.numeric(s)]
    parts: list[str] = []
    for name, title in (
        ("+", "A + B, A - B, A \\ B"),
        ("*", "A * B"),
        ("/", "A / B"),
        ("ceil_div", "@floor_div(A, B), @ceil_div(A, B)"),
    ):
        parts += [f"## `{title}`", ""]
        parts += _table(
            ("A \\\\ B", *(_code(b.name) for b in figures)),
            ((_code(a.name), *(_result(name, a, b) for b in figures)) for a in figures),
        )
    parts += ["## `-A`, `|A|`, `@floor(A)`, `@ceil(A)`", ""]
    parts += _table(
        ("A", "`-A`, `\\|A\\|`", "`@floor(A)`, `@ceil(A)`"),
        ((_code(a.name), _result("abs", a), _result("floor", a)) for a in figures),
    )
    opening = (
        "The sort of every operation; `none` where the units do not fit, which is an error at "
        "load. A sort that a policy declares adds to its own alone, divides by its own to a ratio, "
        "and is multiplied or divided by counts and ratios."
    )
    return _page("Arithmetic", opening, parts)


def _result(name: str, *sorts: Sort) -> str:
    sort = arithmetic.result(name, sorts)
    return _code(sort.name) if sort is not None else "none"


def _units(sort: Sort) -> str:
    if not isinstance(sort, ExactSort):
        return ""
    return ", ".join(f"`{u or '(none)'}` {_size(size)}" for u, size in sort.units.items())


def _size(size: Fraction) -> str:
    for base in (1024, 1000):
        power, rest = 0, size
        while rest > 1 and rest % base == 0:
            power, rest = power + 1, rest / base
        if rest == 1 and power > 1:
            return f"{base}^{power}"
    return exact_text(size)


def _keyed_by(sort: Sort, policy: Policy) -> list[str]:
    return [
        t.name
        for t in policy.declarations.tables.values()
        if t.computed is None and any(c.sort == sort for c in t.key)
    ]


def _doc_of(sort: Sort, policy: Policy) -> str:
    computed = (t.computed for t in policy.declarations.tables.values())
    dotted = any(c is not None and c.sort == sort for c in computed)
    return f"{sort.doc} Dotted." if dotted else sort.doc


def _term(name: str, arguments: Sequence[tuple[str, Sort]]) -> str:
    inner = ", ".join(f"{n}: {s.name}" for n, s in arguments)
    return f"{name}({inner})" if inner else name


def tables_page(policy: Policy) -> str:
    """Every table, by the file that declares it."""
    parts = []
    file = ""
    for table in sorted(policy.declarations.tables.values(), key=lambda t: t.position.file):
        if table.position.file != file:
            file = table.position.file
            parts += [f"## {file}", ""]
        parts += [f"### {table.name}", "", table.doc, ""]
        key = ", ".join(_code(c.name) for c in table.key)
        source = "required" if table.source_required else "optional"
        given = f"Source: {source}." if table.computed is None else "Computed; no facts give rows."
        parts += [f"Key: {key}. {given}", ""]
        parts += _table(
            ("column", "sort", "", "doc"),
            (_column(c, table, policy) for c in (*table.key, *table.columns.values())),
        )
    opening = (
        "Every table of the shipped policy. Columns in bold are the key; an absent value gives no "
        "fact. Sorts are in [sorts.md](sorts.md)."
    )
    return _page("Tables", opening, parts)


def _column(column: Column, table: Table, policy: Policy) -> tuple[str, str, str, str]:
    said = []
    in_key = column in table.key
    if column.required and not in_key:
        said.append("required")
    if column.many:
        said.append("list")
    if column.ranges and table.computed is None:
        said.append("ranges; alike" if column.alike else "ranges")
    if column.default is not None:
        said.append(f"default `{column.default}`")
    if column.minimum is not None:
        said.append(f"at least {exact_text(column.minimum)}")
    if column.maximum is not None:
        said.append(f"at most {exact_text(column.maximum)}")
    if column.sensitive:
        said.append("sensitive")
    if column.date:
        said.append("date")
    if column.references:
        said.append("a row of " + " or ".join(_code(r) for r in column.references))
    name = f"**{_code(column.name)}**" if in_key else _code(column.name)
    doc = column.doc or (policy.declarations.sorts[column.sort.name].doc if in_key else "")
    return name, _code(column.sort.name), "; ".join(said), doc


def flags_page(policy: Policy) -> str:
    """Every flag that the policy declares for ``ullage plan``."""
    flags = policy.declarations.flags.values()
    parts = _table(
        ("flag", "does", "doc"), ((_code(f"--{f.name}"), "; ".join(_does(f)), f.doc) for f in flags)
    )
    opening = (
        "Every flag that the shipped policy declares for `ullage plan`. A flag selects plans by a "
        "part of their subject or by a value, sets a cell for one answer, or adds a row for one "
        "answer where no row has its key. Cells are written `table/key/column`; tables are in "
        "[tables.md](tables.md), plans in [plans.md](plans.md)."
    )
    return _page("Flags", opening, parts)


def _does(flag: Flag) -> Iterator[str]:
    if flag.selects:
        yield f"selects by {_code(flag.selects)}"
    if flag.sets:
        yield f"sets {_code('/'.join(flag.sets))}"
    if flag.adds:
        yield f"adds a row of {_code(flag.adds)}, with its {' and '.join(map(_code, flag.fills))}"


def laws_page(policy: Policy) -> str:
    """Every law with all that it may conclude."""
    parts = []
    docs = _docs(policy.book)
    plans = policy.book.plans.values()
    for law in policy.book.laws.values():
        judges = ", ".join(f"[{p.name}](plans.md#{p.name})" for p in plans if p.law == law.name)
        said = f"File: `{law.position.file}`. Subjects: `{law.subjects}`."
        parts += [f"## {law.name}", "", docs[law.name], ""]
        parts += [f"{said} Plan: {judges}." if judges else said, ""]
        parts += _law(law)
    opening = (
        "Every law of the shipped policy. A subject has one verdict of each law it falls under; "
        "a refusal has at least one reason, and what is unestablished at least one obligation."
    )
    return _page("Laws", opening, parts)


def _law(law: LawDecl) -> Iterator[str]:
    yield from _table(
        ("verdict", "class", "words"),
        ((_code(v.name), v.standing.value, v.words) for v in law.verdicts.values()),
    )
    for what, terms in (("reason", law.reasons), ("obligation", law.obligations)):
        if terms:
            yield from _table((what, "words"), _terms(terms))
    if law.values:
        yield from _table(
            ("value", "sort"), ((_code(n), _code(s.name)) for n, s in law.values.items())
        )


def plans_page(policy: Policy) -> str:
    """Every plan with its values, and how people see it."""
    parts = []
    docs = _docs(policy.book)
    for plan in policy.book.plans.values():
        parts += [f"## {plan.name}", "", docs[plan.name], ""]
        parts += [" ".join(_plan(plan)), ""]
        parts += _table(
            ("value", "sort", "words"),
            (
                (_code(name), _code(sort.name), plan.layout.words[name])
                for name, sort in plan.values.items()
            ),
        )
    opening = (
        "Every plan of the shipped policy, with its values in the order in which they are shown. "
        "A value that could not be concluded is left out. Words stand for a value's name where "
        "people read it; the laws that judge plans are in [laws.md](laws.md)."
    )
    return _page("Plans", opening, parts)


def _plan(plan: PlanDecl) -> Iterator[str]:
    """What a plan is about and how it is shown, in sentences."""
    layout = plan.layout
    yield f"File: `{plan.position.file}`. Subjects: `{plan.subjects}`."
    parts = plan.arguments
    if len(parts) == 1 and isinstance(parts[0][1], FormsSort):
        forms = (_code(_term(f, a)) for f, a in parts[0][1].forms.items())
        yield f"A subject is {' or '.join(forms)}."
    yield f"Title: {_code(layout.title)}."
    if plan.law:
        yield f"Judged by [{plan.law}](laws.md#{plan.law})."
    if layout.rows:
        columns = ", ".join(map(_code, layout.columns))
        yield f"A table with a row for each `{layout.rows}`; its columns are {columns}."
    if layout.under:
        yield f"Shown under [{layout.under}](#{layout.under})."
    if layout.bar:
        yield f"Bar: {', '.join(map(_code, layout.bar.parts))} of `{layout.bar.whole}`."
    if layout.note:
        yield f"Note: {layout.note}."


def _terms(terms: Mapping[str, TermDecl]) -> Iterator[tuple[str, str]]:
    for term in terms.values():
        yield _code(_term(term.name, term.arguments)), term.words


def _docs(book: RuleBook) -> dict[str, str]:
    """The free text of each docstring, its own line breaks kept."""
    found = {}
    for file in book.files:
        for docstring in file.docstrings:
            head, *lines = docstring.text.split("\n")
            end = next((i for i, t in enumerate(lines) if _SECTION.fullmatch(t)), len(lines))
            name = head.strip().partition("(")[0]
            found[name] = "\n".join(t.strip() for t in lines[:end]).strip()
    return found


def errors_page() -> str:
    """The index of the error pages: each code with its cause."""
    rows = []
    for path in sorted((DOCS / "errors").glob("*.md")):
        if path.name == "README.md":
            continue
        rows.append((f"[{path.stem}]({path.name})", first_sentence(cause(error_page(path.stem)))))
    opening = (
        "Each finding has a code, in brackets behind its severity, and a page: cause, example, "
        "what ullage prints, fix. An error makes the policy invalid; a warning does not. Examples "
        "stand in a copy of [`docs/small`](../small), with the files shown added or changed."
    )
    return _page("Errors", opening, _table(("code", "cause"), rows))


def predicates_page(policy: Policy) -> str:
    """Every predicate that rules derive for others to read."""
    parts = []
    docs = _docs(policy.book)
    for predicate in policy.book.vocabulary.predicates.values():
        if predicate.name.startswith("_"):
            continue
        arguments = ", ".join(n for n, _ in predicate.arguments)
        parts += [f"## {predicate.name}({arguments})", "", docs[predicate.name], ""]
        parts += _table(
            ("argument", "sort"), ((_code(n), _code(s.name)) for n, s in predicate.arguments)
        )
        parts += [f"Derived in `{predicate.position.file}`. {_readers(predicate, policy)}", ""]
    opening = (
        "Every public predicate of the shipped rules, in the order of their files. A predicate is "
        "derived in its one file alone; names that begin with `_` are that file's own."
    )
    return _page("Predicates", opening, parts)


def _readers(predicate: Predicate, policy: Policy) -> str:
    files = sorted(
        {
            file.path
            for file in policy.book.files
            for rule in file.rules
            if any(u.atom.name == predicate.name for u in uses(rule.body))
        }
    )
    read = f"Read in {', '.join(_code(f) for f in files)}." if files else ""
    frontier = f"Frontier: {predicate.frontier}." if predicate.frontier else ""
    return " ".join(t for t in (read, frontier) if t)


# The command.


def stale(update: bool) -> list[str]:
    """What is stale of examples and reference pages; with ``update`` it is put right."""
    found = []
    for page in pages():
        if not page.start:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_page(page, Path(folder))
        if outcome.mismatches and update:
            page.path.write_text(record(page, outcome), "utf-8")
            print(f"recorded {page.name}")
        else:
            found += outcome.mismatches
    return found


def stale_reference(update: bool) -> list[str]:
    """The names of the generated pages that are stale; with ``update`` they are written."""
    found = []
    for path, text in reference().items():
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(DOCS)}")
        else:
            found.append(f"{path.relative_to(DOCS)} is stale")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the flags say; 1 where a page is stale and stays so."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--check", action="store_true", help="write nothing; fail on a stale page")
    modes.add_argument("--update", action="store_true", help="record what the examples print, too")
    args = parser.parse_args(argv)
    found = stale_reference(update=not args.check)
    if args.check or args.update:
        found += stale(update=args.update)
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
