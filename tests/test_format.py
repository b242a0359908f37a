"""``ullage fmt``: what a canonical form keeps, what it settles, and that it is one."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import write_rules

from ullage.cli import main
from ullage.facts import load_facts
from ullage.formatting import files
from ullage.formatting.files import Formatted, column_order, formatted
from ullage.formatting.rulestext import rules_text
from ullage.policy import Policy
from ullage.rules.syntax import parse_text
from ullage.tables import load_declarations
from ullage.yamlnodes import compose_document

ROOT = Path(__file__).resolve().parents[1]
RULES, FACTS = ROOT / "rules", ROOT / "facts"
YAML_FILES = sorted(
    [*FACTS.rglob("*.yaml"), *RULES.rglob("*.yaml"), *(ROOT / "tests" / "laws").glob("*.yaml")]
)
RULE_FILES = sorted(RULES.rglob("*.lp"))

ORDER = {"t": {"k": 0, "a": 1, "b": 2, "source": 3}}
DECLARED = """\
tables:
  t:
    key: {k: text}
    columns: {a: text, b: {sort: text, list: true}, n: count, size: bytes}
"""

Capture = pytest.CaptureFixture[str]


def of(text: str | bytes, name: str = "facts.yaml") -> Formatted:
    """A text as a file of this name."""
    return formatted(text.encode() if isinstance(text, str) else text, Path(name), ORDER)


def after(text: str | bytes, name: str = "facts.yaml") -> str:
    """The canonical form of a text that has one."""
    found = of(text, name)
    assert not found.findings, found.findings
    assert found.after is not None
    return found.after


# YAML.


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # The order of columns; each comment goes with its column or row.
        (
            "t:\n  # the row\n  - b: [x]  # beside b\n    # above k\n    k: one\n    a: 010\n",
            "t:\n  # the row\n  - # above k\n    k: one\n    a: 010\n    b: [x]  # beside b\n",
        ),
        ("t: [{zz: 1, source: s, b: [x], k: y}]\n", "t: [{k: y, b: [x], source: s, zz: 1}]\n"),
        # A table that is not declared keeps its order.
        ("u:\n- {b: 1,  a: 2}\n", "u:\n  - {b: 1, a: 2}\n"),
        # Rows with anchors or aliases keep theirs.
        ("t:\n- {b: &x [1], a: *x}\n", "t:\n  - {b: &x [1], a: *x}\n"),
        ("t:\n- &r\n  b: [1]\n  a: y\n- *r\n", "t:\n  - &r\n    b: [1]\n    a: y\n  - *r\n"),
        # Law tests have rows below `given`.
        (
            "given:\n  t:\n  - {a: 1, k: x}\ncases:\n- name: n\n  given: {t: [{a: 1, k: x}]}\n",
            "given:\n  t:\n    - {k: x, a: 1}\ncases:\n  - name: n\n"
            "    given: {t: [{k: x, a: 1}]}\n",
        ),
        # Scalars keep their text; quotes go where no reader needs them.
        ("a: 'x y'\nb: \"NO\"\nc: '010'\n", "a: x y\nb: \"NO\"\nc: '010'\n"),
        ("a: \"true\"\nb: '12'\nc: ''\nd: '~'\n", "a: \"true\"\nb: '12'\nc: ''\nd: '~'\n"),
        ("a: ['x, y', 'z']\nb: 'x, y'\n", "a: ['x, y', z]\nb: x, y\n"),
        ("a: 'x: y'\nb: 'x #y'\nc: ' x'\n", "a: 'x: y'\nb: 'x #y'\nc: ' x'\n"),
        # Texts of several lines.
        (
            "a:\n - one\n   two\n - |2\n    x\n\n   y\n - >-  # c\n      z\n\n\nb: 1\n",
            "a:\n  - one\n    two\n  - |2\n     x\n\n    y\n  - >-  # c\n    z\n\nb: 1\n",
        ),
        ("a: |+\n  x\n\n\nb: 1\n", "a: |+\n  x\n\n\nb: 1\n"),
        ("a: |\n  x", "a: |-\n  x\n"),
        ("a: one\n  two  # c\n", "a: one\n  two  # c\n"),
        # Blank lines, comments and their indentation.
        ("\n\n# c\n\n\nt:\n\n\n      # d\n- {}\n\n\n", "# c\n\nt:\n  # d\n  - {}\n"),
        ("t:\n  - k: x\n    # in the row\n  # in the list\n# below\n",) * 2,
        ("a:\n  # nothing yet\nb: 1\n",) * 2,
        ("- a\n-\n- # c\n  x: 1\n", "- a\n-\n- # c\n  x: 1\n"),
        # Braces with a comment inside, or too wide, get lines.
        ("a: {x: 1, # one\n y: 2}\n", "a:\n  x: 1  # one\n  y: 2\n"),
        ("a: [ # none\n]\n", "# none\na: []\n"),
        (f"a: [{'x' * 60}, {'y' * 60}]\n", f"a:\n  - {'x' * 60}\n  - {'y' * 60}\n"),
        (f"- {{x: {'x' * 97}}} # c\n", f"# c\n- x: {'x' * 97}\n"),
        ("{}\n", "{}\n"),
        ("{t: [{k: x}]}\n", "t: [{k: x}]\n"),
        ("---\nt: [1]\n", "---\nt: [1]\n"),
        # Nothing, or nothing but comments.
        ("", ""),
        ("  \n\n", ""),
        ("# a\n\n\n#b", "# a\n\n#b\n"),
    ],
)
def test_forms_of_yaml(before: str, expected: str) -> None:
    assert after(before) == expected
    assert after(expected) == expected


def test_a_line_of_100_columns_stays_and_one_of_101_does_not() -> None:
    fits = f"t:\n  - {{k: x, a: {'y' * (100 - 15)}}}\n"
    assert max(map(len, fits.splitlines())) == 100
    assert after(fits) == fits
    wide = fits.replace("}", "y}")
    assert after(wide) == f"t:\n  - k: x\n    a: {'y' * 86}\n"


def test_line_feeds_byte_order_marks_and_tabs() -> None:
    assert after(b"\xef\xbb\xbft:\r\n- {k:\tx,  a: y}\t# c\r\n") == "t:\n  - {k: x, a: y}  # c\n"
    assert after(b"\xef\xbb\xbfp(X)\t:- q(X).\r\n", "a.lp") == "p(X) :- q(X).\n"
    assert of(b"\xef\xbb\xbft: [1]\n").changed


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"a: caf\xe9\n", "not-utf8"),
        (b"a: [1\n", "yaml-syntax"),
        (b"a:\n\t- 1\n", "yaml-tab"),
        (b"a: !x 1\n", "yaml-tag"),
        (b"a: 1\n---\nb: 2\n", "yaml-syntax"),
    ],
)
def test_what_cannot_be_read_is_left_alone(text: bytes, code: str) -> None:
    found = of(text)
    assert [f.code for f in found.findings] == [code]
    assert found.after is None


@pytest.mark.parametrize(
    "text", ["? a\n: 1\n", "[x]: 1\n", "text\n", "a: 1\n...\n", "a: x\u2028 y\n", "&a\nb: 1\n"]
)
def test_rare_yaml_is_left_alone_with_a_warning(text: str) -> None:
    found = of(text)
    assert [(f.code, f.severity.value) for f in found.findings] == [("rare-yaml", "warning")]
    assert found.after is None


def test_a_sealed_file_is_left_as_it_is_until_it_is_edited() -> None:
    sealed = next((FACTS / "models" / "parameters").glob("*.yaml")).read_bytes()
    assert not of(sealed).changed
    assert of(sealed + b"u:   [1]\n").changed


def test_a_defect_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a:   1\n")
    monkeypatch.setattr(files, "tree_text", lambda _: "a: 2\n")
    assert main(["fmt", str(tmp_path)]) == 1
    assert (tmp_path / "a.yaml").read_text() == "a:   1\n"
    monkeypatch.setattr(files, "tree_text", lambda _: "# a lost comment is one, too\na: 1\n")
    assert main(["fmt", str(tmp_path)]) == 1


# Generated files. What they hold is drawn first, and then written in some way.

_WORDS = st.sampled_from(
    ["x", "010", "NO", "1e3", "1:30", "2026-11-02", "true", "a b", "it's", "x, y", "k: v", "a #b",
     "", "~", "null", " lead", "é漢😀", "3..7", "96 GiB", "- x", "{y}", "*z", "&z", "'q'", "\\n"]
)  # fmt: skip
_SPACE = st.sampled_from(["", " ", "  ", "\t"])
_ABOVE = st.lists(st.sampled_from(["# c{}", "#d{}", "", "", "#"]), max_size=3)


@st.composite
def _scalars(draw: st.DrawFn, *, flow: bool) -> str:
    word = draw(_WORDS)
    plain = (
        word == word.strip()
        and not re.search(r"[:#,{}\[\]*&'\\]|^- |^$", word)
    )  # fmt: skip
    how = draw(st.sampled_from(["single", "double", *(["plain"] * 3 if plain else [])]))
    if not flow and word and word == word.strip() and draw(st.integers(0, 9)) == 0:
        return f"{draw(st.sampled_from(['|', '>-', '|+', '>']))}\n{'{indent}'}  {word}"
    if how == "plain":
        return word
    if how == "single":
        return "'" + word.replace("'", "''") + "'"
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def _fact_files(draw: st.DrawFn) -> str:
    """A file of rows of ``t`` with unique keys, laid out anyhow."""
    lines = ["t:" + draw(st.sampled_from(["", "  # head", " #h"]))]
    step = " " * draw(st.integers(0, 4))
    count = 0
    for number in range(draw(st.integers(1, 4))):
        columns = draw(st.permutations(["k", "a", "b", "n", "size", "source", "extra"]))
        chosen = [c for c in columns if c == "k" or draw(st.booleans())]
        cells = []
        flow = draw(st.booleans())
        for column in chosen:
            if column == "k":
                value = f"key{number}"
            elif column == "b":
                parts = draw(st.lists(_scalars(flow=True), max_size=3))
                value = f"[{draw(_SPACE)}{', '.join(parts)}{draw(_SPACE)}]"
            else:
                value = draw(_scalars(flow=flow))
            cells.append(f"{column}: {draw(_SPACE)}{value}")
        for comment in draw(_ABOVE):
            count += 1
            indent = " " * draw(st.integers(0, 6))
            lines.append((indent + comment.format(count)) if comment else draw(_SPACE).strip("\t"))
        if flow:
            beside = draw(st.sampled_from(["", "  # flow", "\t#x"]))
            lines.append(f"{step}- {{{draw(_SPACE)}{', '.join(cells)}}}{beside}")
            continue
        inner = step + " " * draw(st.integers(2, 4))
        for place, cell in enumerate(cells):
            if place:
                for comment in draw(_ABOVE):
                    count += 1
                    lines.append(inner + comment.format(count) if comment else "")
            lead = f"{step}-{inner[len(step) + 1 :]}" if place == 0 else inner
            beside = "" if "\n" in cell else draw(st.sampled_from(["", "", "  # b"]))
            lines.append(lead + cell.replace("{indent}", inner) + beside)
    text = "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n", "\n# end\n", "\n  # end"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


def _comments(text: str) -> list[str]:
    """The comments that the strategy writes, which no scalar of it looks like."""
    return sorted(re.findall(r"#(?: ?[cd][0-9]+| head|h| flow|x| b| end)?(?=\r?$)", text, re.M))


@settings(max_examples=300, deadline=None)
@given(_fact_files())
def test_generated_files_keep_what_they_say(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    if compose_document(text.encode(), "x").findings:
        return
    folder = tmp_path_factory.mktemp("facts")
    rules = write_rules(folder, DECLARED)
    declarations, _ = load_declarations([rules])
    found = formatted(text.encode(), Path("x.yaml"), column_order(declarations))
    assert found.after is not None
    again = formatted(found.after.encode(), Path("x.yaml"), column_order(declarations))
    assert again.after == found.after
    assert _comments(found.after) == _comments(text)
    rows = []
    for number, content in enumerate((text, found.after)):
        place = folder / str(number)
        place.mkdir()
        (place / "x.yaml").write_bytes(content.encode())
        base, findings = load_facts(declarations, [place])
        told = [(r.key, {n: _said(c.value) for n, c in r.cells.items()}, r.source)
                for r in base.rows["t"]]  # fmt: skip
        rows.append((told, sorted((f.code, f.message) for f in findings)))
    assert rows[0] == rows[1]


def _said(value: object) -> object:
    return [_said(v[0]) for v in value] if isinstance(value, tuple) else value


_FRAGMENTS = st.sampled_from(
    ["t:", "a: ", "k: ", "- ", "\n", "\n  ", "\n    ", "\n  - ", "\n    b: ", "\n#c", "\n  # d",
     "  # f", "{", "}", ", ", "[", "]", "'x'", '"y"', "u\n    v", "|\n", ">-\n", "|+\n", "|2\n",
     "&a ", "*a", "x", "~", "\ufeff", "---\n", "\n\n\n", "\t", "😀", '"a \\\n   b"', "\r\n", "null"]
)  # fmt: skip


@settings(max_examples=2000, deadline=None)
@given(st.lists(_FRAGMENTS, min_size=1, max_size=14).map("".join))
def test_whatever_yaml_reads_is_formatted_once_or_left_alone(text: str) -> None:
    if compose_document(text.encode(), "x").findings:
        return
    found = of(text)  # raises where it would say something else
    if found.after is None:
        assert {f.code for f in found.findings} == {"rare-yaml"}
    else:
        assert after(found.after) == found.after


# Rules.


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("p( X ):-q(X ,Y),not  r(Y).% why", "p(X) :- q(X, Y), not r(Y).  % why\n"),
        ("p(X-1,- 2, -Y):-q(X;Y),X=1 .. 3.", "p(X - 1, -2, -Y) :- q(X; Y), X = 1..3.\n"),
        (
            "p(S):-S=#sum{B ,N:q(N , B);0},|X-Y|>=@floor( 1/3 ).",
            "p(S) :- S = #sum { B, N : q(N, B); 0 }, |X - Y| >= @floor(1 / 3).\n",
        ),
        ("a.  b.\n\n\n\nc.", "a.\nb.\n\nc.\n"),
        ("#show   p/1.", "#show p/1.\n"),
        # What fits a line has one.
        ("p(X) :-\n      q(X),\n      r(X).\n", "p(X) :- q(X), r(X).\n"),
        # A docstring keeps its inside, a label its text.
        (
            "  %*! p(X)\n  What  it is. \n*%\n%!trace_rule {\"%  is\",X}.\np(X):-q(X).",
            "%*! p(X)\n  What  it is. \n*%\n%!trace_rule {\"%  is\",X}.\np(X) :- q(X).\n",
        ),
        # Comments between literals stay with what they speak of.
        (
            "p(X) :- q(X), % first\n% second is\n   r(X).\n",
            "p(X) :-\n    q(X),  % first\n    % second is\n    r(X).\n",
        ),
        ("p(X) :- q(X % first\n), r(X).\n", "p(X) :- q(X % first\n), r(X).\n"),
        ("", ""),
        ("% a\n\n\n", "% a\n"),
    ],
)  # fmt: skip
def test_forms_of_rules(before: str, expected: str) -> None:
    assert rules_text(before) == expected
    assert rules_text(expected) == expected
    assert rules_text("".join(f"{line}\n" for line in expected.splitlines())) == expected


def test_a_long_body_keeps_its_authors_lines() -> None:
    literals = [f"literal_of_some_length(Variable{n}, Other{n})" for n in range(4)]
    text = f"p :- {literals[0]},\n  {literals[1]},{literals[2]},{literals[3]}.\n"
    assert rules_text(text) == (
        f"p :-\n    {literals[0]},\n    {literals[1]}, {literals[2]},\n    {literals[3]}.\n"
    )


def test_brackets_that_are_too_wide_are_opened() -> None:
    inner = "Part, Component : kv(Component, layers, Part), kind(Component, Kind), Kind != indexer"
    text = f"p(N) :- N = #sum {{ {inner}, other(Component, Part) }}."
    assert rules_text(text) == (
        "p(N) :-\n    N = #sum {\n        Part, Component :\n"
        "            kv(Component, layers, Part), kind(Component, Kind), Kind != indexer,\n"
        "            other(Component, Part)\n    }.\n"
    )


def test_rules_that_do_not_parse_are_left_alone() -> None:
    found = of("p(X) :- q(X\n", "a.lp")
    assert found.after is None
    assert {f.code for f in found.findings} == {"rule-syntax"}


_RULE_FRAGMENTS = st.sampled_from(
    ["a", "b(X)", "X", "f(", "(", ")", "{", "}", ", ", "; ", ": ", " :- ", ".", ".\n", " not ",
     "#sum{", "=", "!=", "<=", "+", "-", "*", "|", "..", "1", '"s"', "_", "@floor(", "\n", "\n  ",
     "% c\n", " %* b *% ", "%*! p(X)\nx  \n*%\n", '%!trace_rule {"x"}.\n', "x:-y.", "p(1..3).",
     ":- a.", ":~ a. [1]", "\r\n", "#!x\n"]
)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(st.lists(_RULE_FRAGMENTS, min_size=1, max_size=12).map("".join))
def test_whatever_clingo_reads_is_formatted_once(text: str) -> None:
    if not parse_text("x.lp", text)[0].parsed:
        return
    found = of(text, "x.lp")  # raises where it would say something else
    assert found.after is not None
    assert of(found.after, "x.lp").after == found.after


# The shipped policy.


@pytest.mark.parametrize("path", [*YAML_FILES, *RULE_FILES], ids=lambda p: p.name)
def test_the_shipped_files_have_a_canonical_form(path: Path) -> None:
    order = column_order(load_declarations([RULES])[0])
    found = formatted(path.read_bytes(), path, order)
    assert not found.findings
    assert found.after is not None
    assert formatted(found.after.encode(), path, order).after == found.after


def test_the_shipped_policy_concludes_the_same_once_formatted(tmp_path: Path) -> None:
    for folder in (RULES, FACTS):
        shutil.copytree(folder, tmp_path / folder.name)
    rules, facts = tmp_path / "rules", tmp_path / "facts"
    for path in facts.rglob("*.yaml"):
        text = path.read_text()
        if ">-" not in text:
            path.write_text(re.sub(r"^( +(?:- )?\w+): ", r"\1:     ", text, flags=re.M))
    assert main(["fmt", str(rules), str(facts), "--rules", str(rules)]) == 0
    before, new = Policy.load(RULES, FACTS), Policy.load(rules, facts)
    assert _atoms(new) == _atoms(before)


def _atoms(policy: Policy) -> list[str]:
    """The program that is solved, facts and lowered rules, without places."""
    return sorted(line for line in policy.dump().splitlines() if not line.startswith("%"))


# The verb.


def _project(folder: Path) -> tuple[Path, Path, Path]:
    rules = write_rules(folder, DECLARED, "p(X):-q(X).\n")
    facts = folder / "facts"
    facts.mkdir()
    (facts / "a.yaml").write_text("t:\n- {a: x, k: y}\n")
    (facts / "b.yaml").write_text("t:\n  - {k: z}\n")
    return rules / "0.lp", facts / "a.yaml", facts / "b.yaml"


def test_files_are_written_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    law, changed, _ = _project(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["fmt", "--check"]) == 3
    out = capsys.readouterr().out
    assert "facts/a.yaml:2:1" in out
    assert "facts/b.yaml" not in out
    assert main(["fmt", "--diff"]) == 0
    diff = capsys.readouterr().out
    assert "-- {a: x, k: y}\n+  - {k: y, a: x}\n" in diff
    assert changed.read_text() == "t:\n- {a: x, k: y}\n"
    assert main(["fmt"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "2 files formatted" in told.err
    assert changed.read_text() == "t:\n  - {k: y, a: x}\n"
    assert law.read_text() == "p(X) :- q(X).\n"
    assert main(["fmt", "--check", "--format", "json"]) == 0


def test_a_broken_file_is_left_alone_and_the_others_are_formatted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    _, changed, broken = _project(tmp_path)
    broken.write_text("t: [\n")
    monkeypatch.chdir(tmp_path)
    assert main(["fmt", "facts"]) == 3
    assert "error[yaml-syntax]" in capsys.readouterr().err
    assert broken.read_text() == "t: [\n"
    assert changed.read_text() == "t:\n  - {k: y, a: x}\n"


def test_columns_keep_their_order_where_declarations_are_not_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    _, changed, _ = _project(tmp_path)
    (tmp_path / "rules/tables/1.yaml").write_text("tables: {u: {}}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["fmt", "facts"]) == 0
    assert changed.read_text() == "t:\n  - {a: x, k: y}\n"
    assert "columns keep their order" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "given", "expected", "code"),
    [
        ("x.yaml", b"t: [ 1 ]\n", "t: [1]\n", 0),
        ("x.lp", b"p:-q.\n", "p :- q.\n", 0),
        ("x.yaml", b"? t\n: 1\n", "? t\n: 1\n", 0),
        ("x.yaml", b"t: [\n", "", 3),
    ],
)
def test_stdin(
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    name: str,
    given: bytes,
    expected: str,
    code: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    assert main(["fmt", "-", "--stdin-name", name, "--rules", str(RULES)]) == code
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing"], "`missing`"),
        (["-", "x"], "`-`"),
        (["--stdin-name", "x"], "`--stdin-name`"),
        ([""], "empty"),
        ([str(ROOT / "pyproject.toml")], "neither YAML nor rules"),
        ([], "neither `rules` nor `facts`"),
    ],
)
def test_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["fmt", *words]) == 1
    assert said in capsys.readouterr().err


def test_a_file_of_two_paths_is_written_once(tmp_path: Path, capsys: Capture) -> None:
    _, changed, _ = _project(tmp_path)
    link = tmp_path / "link.yaml"
    link.symlink_to(changed)
    assert main(["fmt", "--rules", str(tmp_path / "rules"), str(link), str(changed)]) == 0
    assert "1 file formatted" in capsys.readouterr().err
    assert link.is_symlink()
