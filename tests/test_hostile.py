"""Rule files by authors who are clumsy or mean harm: nothing crashes, hangs or slips through.

Each policy is checked in a process of its own that lives as long as nothing kills it, so that a
crash below Python or a run without an end fails a test instead of ending all of them.
"""

from __future__ import annotations

import json
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lawtext import ROWS, TABLES, assert_house_style, declared
from support import write_rules

from ullage.findings import Severity
from ullage.policy import Policy
from ullage.rules.syntax import parse_text

ROOT = Path(__file__).parent.parent
LAWS = {p.name: p.read_text(encoding="utf-8") for p in sorted((ROOT / "rules").glob("*.lp"))}
PATIENCE = 30
"""Seconds after which a check counts as hanging."""

FUZZ = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@dataclass(frozen=True)
class Error:
    """An error that a check reported: its code, its message, and where it stands."""

    code: str
    message: str
    file: str
    line: int
    column: int


class Checker:
    """Checks policies in another process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def check(self, rules: Path, facts: str) -> list[Error]:
        """The errors of a rules folder over ``small`` or ``no`` rows; AssertionError where the
        check raises, dies, hangs, or reports what is not in the house's form."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": ":".join(sys.path)},
                text=True,
            )
        answer = self._ask(self.process, json.dumps([str(rules), facts]))
        if "raised" in answer:
            raise AssertionError(f"the check raised {answer['raised']}")
        return [Error(*e) for e in answer["errors"]]

    def _ask(self, process: subprocess.Popen[str], question: str) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(question + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        line = process.stdout.readline() if ready else ""
        if not line:
            self.end()
            raise AssertionError("the check killed its process" if ready else "the check hangs")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """End the process; the next check starts another."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def text(self, text: str) -> list[Error]:
        """The errors of one law file of the small policy."""
        return self.check(write_rules(self.folder, TABLES, text), "small")

    def shipped(self, laws: dict[str, str]) -> list[Error]:
        """The errors of the shipped rules with these texts in place of theirs."""
        rules = self.folder / "shipped"
        if not rules.exists():
            shutil.copytree(ROOT / "rules", rules)
        for name, text in {**LAWS, **laws}.items():
            (rules / name).write_text(text, encoding="utf-8", newline="")
        return self.check(rules, "no")


def answer_checks() -> None:
    """The other process: a line of a rules folder in, a line of its errors out."""
    for line in sys.stdin:
        rules, facts = json.loads(line)
        answer: dict[str, object]
        try:
            findings = Policy.load(rules=[rules], rows=ROWS if facts == "small" else {}).check()
            assert_house_style(findings)
            errors = [
                [f.code, f.message, p.file, p.line, p.column]
                for f in findings
                if f.severity is Severity.ERROR
                for p in f.positions[:1]
            ]
            answer = {"errors": errors}
        except BaseException as error:
            answer = {"raised": f"{type(error).__name__}: {error}"[:1000]}
        print(json.dumps(answer), flush=True)


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checker]:
    found = Checker(tmp_path_factory.mktemp("policies"))
    yield found
    found.end()


OUT = declared("out", "count") + "out(1).\n"
DEEP = 10_000

BROKEN = {
    "a letter after a bad escape": 'out("\\é").',
    "letters after a bad escape": 'out("a\\tb", "漢").',
    "a letter outside strings": "out(é).",
    "a letter after two strings": 'out("x""é").',
    "a letter after a nested comment": "%* %* *% é *%",
    "a control character": "out(\x01).",
    "NUL in a string": 'out("a\0b").',
    "NUL in a comment": "% \0",
    "a lone byte order mark": "out(1). \ufeff out(2).",
    "form feeds": "out(1).\f\vout(2).",
    "an open string": 'out("',
    "an open comment": "%* %* *%",
    "an open docstring": "%*! out(A)",
    "open brackets": "out(X) :- X = " + "(" * DEEP,
    "a deep term": f"out(X) :- X = {'f(' * DEEP}1{')' * DEEP}.",
    "a long negation": f"out(T) :- {'not ' * DEEP}out(1).",
    "megabytes of brackets": "(" * (1 << 20),
    "megabytes of comment openings": "%*" * (1 << 19),
    "megabytes of quotes": '"' * ((1 << 20) + 1),
    "megabytes of backslashes": '"' + "\\" * (1 << 20),
    "megabytes of anything": "".join(chr(32 + i * i * 7 % 95) for i in range(1 << 20)),
    "a name of a megabyte": "a" * (1 << 20) + ".",
    "a directive in an odd place": "out(1) :- #include.",
    "a lone hash": "# script (python) x #end.",
    "an included device": 'out(1). #include "/dev/stdin".',
    "an included program": "out(1). #include <incmode>.",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_broken_text_is_refused(checker: Checker, text: str) -> None:
    assert checker.text(OUT + text)


ODD = {
    "nothing": "",
    "only comments": "% a\n%* b\n c *%\n",
    "no last line end": "out(2).",
    "deep brackets": f"out(X) :- X = {'(' * DEEP}1{')' * DEEP}.",
    "deep minuses": f"out(X) :- X = {'-' * DEEP}1.",
    "deep sums": f"out(X) :- X = {'1+' * DEEP}1.",
    "deep bars": f"out(X) :- X = {'|' * DEEP}1{'|' * DEEP}.",
    "deep tuples": f"out(X) :- X = 1, ({'(' * DEEP}1{',)' * DEEP}) != 1.",
    "a text of a megabyte": f'out(X) :- X = 1, not thing("{"a" * (1 << 20)}").',
    "a comment of a megabyte": "%" + "a" * (1 << 20),
    "a label of many words": f'%!trace_rule {{"{"word " * 10_000}"}}.\nout(2).',
    "many rules": "".join(f"out({i}).\n" for i in range(2000)),
    "many literals": f"out(1) :- {'thing(_), ' * 500}thing(_).",
    "letters of all kinds": 'out(X) :- X = 2, not thing("\u00a0\u2028\u202e\U0001f600\x85").',
    "an empty set": "out(X) :- X = #max { }. out(X) :- X = #sum { }.",
    "a chain of comparisons under not": "out(1) :- not not 1 < 2 < 3, not 1 < 3 < 2.",
    "a span of figures": "out(X) :- thing(_, share, X), X = 1..3.",
    "a span that is empty": "out(3..1).",
    "a term that is no figure": "out(X) :- X = f(1). out(X) :- X = red.",
    "minus nothing": "out(1) :- thing(_, number, -_).",
    "arithmetic on nothing": "out(1) :- part(_ + 1), not part(_ - 1), part(2 * _).",
    "a head over many lines": "{ out(1) :\n  thing(_) }.",
    "a list as its element": 'out(1) :- thing(_, tags, X), X = (0, "p").',
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_text_ends_in_findings_or_none(checker: Checker, text: str) -> None:
    """Whether it is sound or refused: it is told in our words, and soon."""
    checker.text(OUT + text)


LEXEMES = [
    "%*",
    "*%",
    "%",
    '"',
    "\n",
    "\r",
    "\\",
    '\\"',
    "\\\\",
    "\\n",
    "a",
    ".",
    " ",
    "%*!",
    "#end",
]


@FUZZ
@given(
    before=st.lists(st.sampled_from(LEXEMES), max_size=8),
    after=st.lists(st.sampled_from(LEXEMES), max_size=4),
    inside=st.sampled_from(["#include", "é"]),
)
def test_no_lexical_trick_hides_what_acts_while_it_is_parsed(
    checker: Checker, before: list[str], after: list[str], inside: str
) -> None:
    """A letter outside ASCII can end the parser's process, and an include reads another file."""
    target = checker.folder / "target.lp"
    target.write_text("leaked(1).\n", encoding="utf-8")
    acting = f' #include "{target}". ' if inside == "#include" else "é"
    for error in checker.text(OUT + "".join([*before, acting, *after])):
        assert "leaked" not in error.message
        assert Path(error.file).name == "0.lp"
        assert "#program" not in error.message


TOKEN = re.compile(r"%\*.*?\*%|%[^\n]*|\"[^\"\n]*\"|\w+|\s+|.", re.S)
STRANGE = [
    *(
        "é",
        '"',
        "%*",
        "*%",
        "%",
        "#script",
        "#include",
        "2147483648",
        "not ",
        "..",
        "((",
        "))",
        "_",
    ),
    *(
        "{",
        "}",
        ":",
        ";",
        ".",
        ":-",
        "@floor",
        "#sum",
        "-",
        "*",
        "/",
        "\0",
        "\r",
        "'",
        "|",
        "X",
        "x",
    ),
    *("1", '"1 GiB"', "Args:", "Frontier:", "- "),
]


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str]:
    """A shipped law with a few tokens or characters deleted, doubled, exchanged or replaced."""
    name = draw(st.sampled_from(sorted(LAWS)))
    parts = TOKEN.findall(LAWS[name])
    if draw(st.booleans()):
        parts = list(LAWS[name])
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(parts) - 1))
        match draw(st.sampled_from(["delete", "double", "exchange", "take", "strange"])):
            case "delete":
                parts[at] = ""
            case "double":
                parts[at] += parts[at]
            case "exchange":
                other = draw(st.integers(0, len(parts) - 1))
                parts[at], parts[other] = parts[other], parts[at]
            case "take":
                parts[at] = parts[draw(st.integers(0, len(parts) - 1))]
            case _:
                parts[at] = draw(st.sampled_from(STRANGE))
    return name, "".join(parts)


@FUZZ
@given(edits())
def test_an_edit_of_a_shipped_law_is_checked(checker: Checker, edit: tuple[str, str]) -> None:
    name, text = edit
    checker.shipped({name: text})


def words(text: str) -> list[re.Match[str]]:
    """The predicates and constants that rules name, outside strings and comments."""
    blank = re.sub(
        r'"(?:[^"\\\n]|\\.)*"|%\*.*?\*%|%[^\n]*',
        lambda m: re.sub(r"[^\n]", " ", m.group()),
        text,
        flags=re.S,
    )
    return [m for m in re.finditer(r"(?<![#@\w])_*[a-z]\w*", blank) if m.group() != "not"]


@st.composite
def misspellings(draw: st.DrawFn) -> tuple[str, str, int, int]:
    """A shipped law with one word of one rule misspelt, and where that word stands."""
    name = draw(st.sampled_from(sorted(LAWS)))
    text = LAWS[name]
    word = draw(st.sampled_from(words(text)))
    begin, end = word.span()
    letters = list(word.group())
    at = draw(st.integers(0, len(letters) - 1))
    match draw(st.sampled_from(["drop", "double", "exchange"])):
        case "drop":
            letters[at] = ""
        case "double":
            letters[at] *= 2
        case _:
            letters[at], letters[at - 1] = letters[at - 1], letters[at]
    new = "".join(letters)
    known = {m.group() for t in LAWS.values() for m in words(t)}
    if not re.fullmatch(r"_*[a-z]\w*", new) or new in known | {"not", "host", "arm"}:
        new = word.group() + "x"
    line = text.count("\n", 0, begin) + 1
    column = begin - text.rfind("\n", 0, begin)
    return name, text[:begin] + new + text[end:], line, column


@FUZZ
@given(misspellings())
def test_no_misspelt_word_passes_in_silence(
    checker: Checker, case: tuple[str, str, int, int]
) -> None:
    name, text, line, column = case
    found = {(Path(e.file).name, e.line, e.column) for e in checker.shipped({name: text})}
    assert (name, line, column) in found


if __name__ == "__main__":
    answer_checks()


@pytest.mark.parametrize("text", ["1+" * 120_000 + "1", "-" * 120_000 + "1"])
def test_a_chain_of_many_operators_is_refused_before_clingo_reads_it(text: str) -> None:
    """clingo's parser overflows its stack there, which ends the process."""
    _, findings = parse_text("long.lp", f"p(X) :- X = {text}.")
    assert [f.code for f in findings] == ["forbidden-term"]


def test_an_integer_of_thousands_of_digits_is_too_large() -> None:
    """Python refuses to make a number of so many digits."""
    _, findings = parse_text("long.lp", f"p({'9' * 5000}).")
    assert [f.code for f in findings] == ["integer-too-large"]
