"""Plans: how they are declared, what is refused of them, and flags that suppose facts otherwise."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from lawtext import assert_house_style
from support import Rows, write_rules

from ullage.cli import main
from ullage.findings import PolicyError, UsageError
from ullage.policy import Policy
from ullage.results import Plan, Quantity
from ullage.tables import load_declarations

TABLES = """\
sorts:
  colour: {values: [red, green]}
  lot:
    forms:
      of_shelf: {Shelf: shelf}
      of_count: {Count: count}
  twins:
    forms:
      one: {Shelf: shelf}
      other: {Shelf: shelf}
tables:
  shelf:
    key: {shelf: shelf}
    columns:
      size: {sort: bytes, minimum: 1 B}
      colour: colour
  box:
    key:
      shelf: {sort: shelf, references: shelf}
      box: box
    columns: {size: bytes}
  rule:
    key: {rule: rule}
    columns:
      spare: {sort: ratio, minimum: 0, maximum: 1}
      shelf: {sort: shelf, references: shelf}
      label: {sort: text, default: plain}
      tags: {sort: text, list: true}
  count:
    key:
      number: {sort: count, minimum: 1}
    columns: {}
  step:
    key: {step: step}
    columns:
      size: {sort: bytes, required: true}
      label: {sort: text, default: plain}
"""

FLAGS = """\
flags:
  shelf: {selects: shelf, doc: this shelf alone}
  colour: {selects: colour}
  spare: {sets: rule/main/spare, doc: what if so much were kept free}
  laid-on: {sets: rule/main/shelf}
  label: {sets: rule/main/label}
  count: {selects: count, adds: count, fills: [number]}
  step: {selects: step, adds: step, fills: [step, size]}
"""

PLANS = """\
% Purpose  what fits
% Input    shelf/1, shelf/3, box/1, box/3, rule/3, count/1, step/1, step/3
% Output   standing/3, reason/3, plan/4

%*! fit(Shelf)
Whether the boxes fit.
Args:
  - Shelf: shelf
Subjects: shelf(Shelf)
Verdicts:
  - fits [established]: they fit
  - refused [refused]
Reasons:
  - full: no room
*%
%!trace_rule {"% fits", S}.
standing(fit, S, fits) :- shelf(S), not _full(S).
%!trace_rule {"% is full", S}.
standing(fit, S, refused) :- _full(S).
%!trace_rule {"% is full", S}.
reason(fit, S, full) :- _full(S).

%*! _full(Shelf)
Full.
Args:
  - Shelf: shelf
*%
_full(S) :- _used(S, U), _room(S, R), U > R.

%*! _used(Shelf, Bytes)
Used.
Args:
  - Shelf: shelf
  - Bytes: bytes
*%
_used(S, U) :- shelf(S), U = #sum { B, X : box((S, X), size, B) }.

%*! _room(Shelf, Bytes)
Room.
Args:
  - Shelf: shelf
  - Bytes: bytes
*%
_room(S, B - F * B) :- shelf(S, size, B), rule("main", spare, F).

%*! shelf(Who)
A shelf.
Args:
  - Who: shelf
Plan: {Who} in {colour}
Law: fit
Bar: used of room
Subjects: shelf(Who)
Values:
  - used: bytes
  - room: bytes: room for boxes
  - colour: colour
  - full: bool
  - note: text
*%
%!trace_rule {"% is used in %", U, S}.
plan(shelf, S, used, U) :- _used(S, U).
%!trace_rule {"% is room in %", R, S}.
plan(shelf, S, room, R) :- _room(S, R).
%!trace_rule {"% is %", S, C}.
plan(shelf, S, colour, C) :- shelf(S, colour, C).
%!trace_rule {"% is full", S}.
plan(shelf, S, full, true) :- _full(S).
%!trace_rule {"% is not full", S}.
plan(shelf, S, full, false) :- shelf(S), not _full(S).
%!trace_rule {"% is noted", S}.
plan(shelf, S, note, N) :- shelf(S), rule("main", label, N).

%*! box(Shelf, Box)
A box.
Args:
  - Shelf: shelf
  - Box: box
Plan: boxes
Rows: Box
Columns: size
Under: shelf
Subjects: box((Shelf, Box))
Values:
  - size: bytes
*%
%!trace_rule {"% has %", S, B}.
plan(box, (S, X), size, B) :- box((S, X), size, B).

%*! lots(Lot)
Lots.
Args:
  - Lot: lot
Plan: lots
Subjects: _lot(Lot)
Values:
  - number: count
*%
%*! _lot(Lot)
A lot.
Args:
  - Lot: lot
*%
_lot(of_shelf(S)) :- shelf(S).
_lot(of_count(N)) :- count(N).
%!trace_rule {"% of them", N}.
plan(lots, L, number, N) :- _lot(L), L = of_count(N).

%*! steps(Step)
Steps.
Args:
  - Step: step
Plan: steps of {label}
Rows: Step
Columns: size
Subjects: step(Step)
Values:
  - size: bytes
  - label: text
*%
%!trace_rule {"% is %", S, B}.
plan(steps, S, size, B) :- step(S, size, B).
%!trace_rule {"% is %", S, L}.
plan(steps, S, label, L) :- step(S, label, L).
"""

ROWS: Rows = {
    "shelf": [
        {"shelf": "left", "size": "10 GiB", "colour": "red"},
        {"shelf": "right", "size": "4 GiB"},
        {"shelf": "unread"},
    ],
    "box": [
        {"shelf": "left", "box": "a", "size": "2 GiB"},
        {"shelf": "left", "box": "b", "size": "6 GiB"},
        {"shelf": "right", "box": "a", "size": "3 GiB"},
    ],
    "rule": [{"rule": "main", "spare": "20%", "shelf": "left"}],
    "step": [{"step": "1GiB", "size": "1 GiB"}, {"step": "10GiB", "size": "10 GiB"}],
}


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    found = load(tmp_path)
    assert found.check() == ()
    return found


def load(
    folder: Path, plans: str = PLANS, tables: str = TABLES + FLAGS, rows: Rows = ROWS
) -> Policy:
    return Policy.load(rules=[write_rules(folder, tables, plans)], rows=rows)


def by_subject(plans: object, name: str) -> dict[str, Plan]:
    assert hasattr(plans, "__iter__")
    return {p.subject_text: p for p in plans if p.plan == name}


def text_of(plan: Plan, value: str) -> str:
    quantity = plan.value_map[value]
    assert isinstance(quantity, Quantity)
    return quantity.text


# What a plan tells.


def test_a_plan_has_what_could_be_concluded_and_its_law_beside_it(policy: Policy) -> None:
    shelves = by_subject(policy.plan(), "shelf")
    assert list(shelves) == ["left", "right", "unread"]
    left, right, unread = shelves.values()
    # 10 GiB less a fifth, and 2 + 6 GiB.
    assert (text_of(left, "room"), text_of(left, "used")) == (str(8 * 2**30), str(8 * 2**30))
    assert [n for n, _ in left.values] == ["used", "room", "colour", "full", "note"]
    assert left.standing is not None
    assert (left.standing.law, left.standing.verdict) == ("fit", "fits")
    assert left.value_map["full"] is False
    assert left.value_map["colour"] == "red"
    # 4 GiB less a fifth is 3.2 GiB, room for 3.
    assert text_of(right, "room") == "3435973836.8"
    assert "colour" not in right.value_map
    assert [n for n, _ in unread.values] == ["used", "full", "note"]


def test_the_parts_may_be_named_unlike_those_of_the_law(policy: Policy) -> None:
    assert by_subject(policy.plan("shelf"), "shelf")["left"].subject == (("who", "left"),)


def test_a_plan_under_another_comes_with_it(policy: Policy) -> None:
    assert {p.plan for p in policy.plan("shelf")} == {"shelf", "box"}
    assert {p.plan for p in policy.plan("box")} == {"box"}
    boxes = by_subject(policy.plan("shelf", {"colour": "red"}), "box")
    assert list(boxes) == ["left/a", "left/b"]


def test_a_subject_of_forms_is_shown_by_its_forms_arguments(tmp_path: Path) -> None:
    lots = load(tmp_path, rows={**ROWS, "count": [{"number": 7}, {"number": 3}]}).plan("lots")
    assert [[n for n, _ in p.subject] for p in lots] == [["count"]] * 2 + [["shelf"]] * 3
    assert [p.subject_text for p in lots] == ["3", "7", "left", "right", "unread"]


def test_standings_of_the_plans_are_told_once(policy: Policy) -> None:
    plans = policy.plan()
    assert len(plans.standings) == 3
    assert len(plans) == 3 + 3 + 3 + 2


# What is refused of a declaration: the text that replaces another in PLANS, code, and a word.
DECLARATIONS = [
    ("Plan: lots\n", "Plan:\n", "bad-docstring", "does not say what it tells"),
    ("Plan: lots\n", "Plan: lots of {what}\n", "bad-docstring", "`what`"),
    ("Plan: lots\nSubjects: _lot(Lot)\n", "Plan: lots\n", "bad-docstring", "Subjects"),
    ("Plan: lots\n", "Plan: lots\nVerdicts:\n  - a [refused]\n", "bad-docstring", "`Verdicts:`"),
    ("Plan: lots\n", "Plan: lots\nFrontier: us\n", "bad-docstring", "`Frontier:`"),
    ("Plan: lots\n", "Rows: Lot\n", "bad-docstring", "no `Plan:`"),
    ("Columns: size\nUnder", "Under", "bad-docstring", "alone"),
    ("Rows: Box\n", "", "bad-docstring", "alone"),
    ("Rows: Box\n", "Rows: Bx\n", "bad-docstring", "`box`"),
    ("Columns: size\nUnder", "Columns: sise\nUnder", "bad-docstring", "`size`"),
    ("Under: shelf", "Under: shelv", "unknown-plan", "`shelf`"),
    ("Under: shelf", "Under: box", "unknown-plan", "`box`"),
    ("Under: shelf", "Under: steps", "bad-docstring", "one part more"),
    ("Law: fit", "Law: fitt", "unknown-law", "`fit`"),
    ("Plan: lots\n", "Plan: lots\nLaw: fit\n", "bad-docstring", "same subjects"),
    ("Bar: used of room", "Bar: used", "bad-docstring", "part of whole"),
    ("Bar: used of room", "Bar: used of rum", "bad-docstring", "`room`"),
    ("Bar: used of room", "Bar: colour of room", "bad-docstring", "exact sort"),
    ("  - full: bool\n", "  - full: lot\n", "bad-docstring", "single values"),
    ("  - full: bool\n", "  - used: bool\n", "bad-docstring", "second value"),
    ("  - Lot: lot\nPlan", "  - Lot: twins\nPlan", "bad-docstring", "same arguments"),
    ("plan(box,", "plan(bux,", "unknown-plan", "`box`"),
    ("plan(box, (S, X), size", "plan(box, (S, X), sise", "undeclared-value", "`size`"),
    ("plan(box, (S, X), size, B)", "plan(box, X, size, B)", "wrong-sort", "(shelf, box)"),
    ("plan(shelf, S, colour, C)", "plan(shelf, S, colour, S)", "wrong-sort", "`S`"),
    ("plan(shelf, S, used, U) :-", "plan(shelf, S, used) :-", "wrong-arity", "plan(plan,"),
    ("plan(shelf, S, note, N)", "plan(N, S, note, N)", "not-a-word", "plan's name"),
    ("%*! lots(Lot)", "%*! plan(Lot)", "duplicate-predicate", "`plan`"),
    ("%*! lots(Lot)", "%*! steps(Lot)", "duplicate-predicate", "`steps`"),
]


@pytest.mark.parametrize(("old", "new", "code", "word"), DECLARATIONS)
def test_what_is_amiss_in_a_declaration(
    tmp_path: Path, old: str, new: str, code: str, word: str
) -> None:
    assert PLANS.count(old) == 1
    findings = load(tmp_path, PLANS.replace(old, new)).check()
    assert_house_style(findings)
    shown = [f"{f.code}: {f.message} {f.help}" for f in findings]
    assert any(s.startswith(f"{code}: ") and word in s for s in shown), shown


def test_a_value_that_no_rule_derives_is_a_warning(tmp_path: Path) -> None:
    plans = PLANS.replace("  - note: text\n", "  - note: text\n  - spare: ratio\n")
    assert [(f.code, f.severity.value) for f in load(tmp_path, plans).check()] == [
        ("unused-conclusion", "warning")
    ]


def test_a_plan_is_derived_where_it_is_declared(tmp_path: Path) -> None:
    other = '%!trace_rule {"% is %", S, "x"}.\nplan(shelf, S, note, "x") :- shelf(S).\n'
    rules = write_rules(
        tmp_path, TABLES + FLAGS, PLANS, other.replace(', "x"}', "}").replace(" is %", "")
    )
    codes = {f.code for f in Policy.load(rules=[rules], rows=ROWS).check()}
    assert "foreign-constructor" in codes


def test_facts_assert_no_plan(tmp_path: Path) -> None:
    findings = load(tmp_path, rows={**ROWS, "plan": [{"plan": "x"}]}).check()
    assert [f.code for f in findings] == ["derived-predicate"]


@pytest.mark.parametrize(
    ("rule", "code", "word"),
    [
        ("plan(shelf, S, used, B) :- shelf(S, size, B).", "two-values", "`used`"),
        ('plan(lots, of_count(1), number, 1) :- shelf("left").', "no-subject", "`1`"),
    ],
)
def test_what_is_said_twice_or_of_nothing(tmp_path: Path, rule: str, code: str, word: str) -> None:
    plans = f'{PLANS}%!trace_rule {{"said"}}.\n{rule}\n'
    findings = load(tmp_path, plans).check()
    assert_house_style(findings)
    assert {f.code for f in findings} == {code}
    assert word in findings[0].message
    with pytest.raises(PolicyError):
        load(tmp_path, plans).plan()


# Flags.


def test_a_flag_supposes_a_cell_for_one_answer(policy: Policy) -> None:
    before = by_subject(policy.plan("shelf"), "shelf")["left"]
    plans = policy.plan("shelf", {"spare": "30%"})
    left = by_subject(plans, "shelf")["left"]
    # 10 GiB less three tenths is 7 GiB, and 8 are used.
    assert text_of(left, "room") == str(7 * 2**30)
    assert left.standing is not None
    assert left.standing.verdict == "refused"
    (assumed,) = plans.assumptions
    assert (assumed.flag, assumed.table, assumed.key, assumed.column) == (
        "spare",
        "rule",
        "main",
        "spare",
    )
    assert isinstance(assumed.old, Quantity)
    assert isinstance(assumed.new, Quantity)
    assert (assumed.old.value, assumed.new.value) == (Fraction(1, 5), Fraction(3, 10))
    assert by_subject(policy.plan("shelf"), "shelf")["left"] == before
    assert policy.plan("shelf").assumptions == ()


def test_a_flag_supposes_a_cell_that_nobody_told(tmp_path: Path) -> None:
    rows = {**ROWS, "rule": [{"rule": "main", "spare": 0}]}
    (assumed,) = load(tmp_path, rows=rows).plan("steps", {"laid-on": "right"}).assumptions
    assert (assumed.old, assumed.new) == (None, "right")
    (assumed,) = load(tmp_path, rows=rows).plan("steps", {"label": "x"}).assumptions
    assert (assumed.old, assumed.new) == ("plain", "x")


def test_a_flag_adds_a_row_where_there_is_none(policy: Policy) -> None:
    plans = policy.plan("steps", {"step": "3GiB"})
    assert [p.subject_text for p in plans] == ["3GiB"]
    assert text_of(plans.plans[0], "size") == str(3 * 2**30)
    # A default is the row's, as in a file.
    assert plans.plans[0].value_map["label"] == "plain"
    assert [(a.column, str(a.new)) for a in plans.assumptions] == [("size", "3 GiB")]
    known = policy.plan("steps", {"step": "1GiB"})
    assert [p.subject_text for p in known] == ["1GiB"]
    assert known.assumptions == ()


def test_a_number_is_the_same_however_it_is_written(policy: Policy) -> None:
    plans = policy.plan("lots", {"count": "03"})
    assert [p.subject_text for p in plans] == ["3"]
    assert [(a.key, str(a.new)) for a in plans.assumptions] == [("3", "3")]


def test_flags_choose_by_parts_and_by_values(policy: Policy) -> None:
    assert {p.subject_text for p in policy.plan("shelf", {"colour": "red"})} == {
        "left",
        "left/a",
        "left/b",
    }
    chosen = policy.plan(flags={"shelf": "right"})
    assert {(p.plan, p.subject_text) for p in chosen} == {("lots", "right")}


@pytest.mark.parametrize(
    ("names", "flags", "message", "help"),
    [
        (["shelv"], {}, "no plan is named `shelv`", "`shelf`"),
        ([], {"shelv": "left"}, "no flag `--shelv`", "`--shelf`"),
        ([], {"x": "left"}, "no flag `--x`", "flags are"),
        (["lots"], {"shelf": "lefd"}, "no plan is of the shelf `lefd`", "`left`"),
        (["lots"], {"shelf": "zzz"}, "no plan is of the shelf `zzz`", "there are"),
        (["left"], {}, "no plan is named `left`", "`--shelf left` shows the plans of that shelf"),
        (["steps"], {"shelf": "left"}, "no `steps` plan has", "it has"),
        ([], {"shelf": "left", "count": "3"}, "together", "drop one"),
    ],
)
def test_what_cannot_be_chosen(
    policy: Policy, names: list[str], flags: dict[str, str], message: str, help: str
) -> None:
    with pytest.raises(UsageError) as raised:
        policy.plan(names, flags)
    assert message in raised.value.message
    assert help in raised.value.help


@pytest.mark.parametrize(
    ("flags", "code", "word"),
    [
        ({"spare": "2"}, "above-maximum", "maximum"),
        ({"spare": "x"}, "not-a-quantity", "ratio"),
        ({"laid-on": "lefd"}, "dangling-reference", "`left`"),
        ({"count": "0"}, "below-minimum", "minimum"),
        ({"count": "1.5"}, "not-a-count", "digits"),
        ({"step": "banana"}, "not-a-quantity", "`10GiB`"),
        ({"step": "7"}, "missing-unit", "GiB"),
        ({"label": "a\x1bb"}, "not-text", "control"),
    ],
)
def test_a_supposed_value_is_held_to_its_column(
    policy: Policy, flags: dict[str, str], code: str, word: str
) -> None:
    with pytest.raises(PolicyError) as raised:
        policy.plan(flags=flags)
    (finding,) = raised.value.findings
    assert_house_style([finding])
    assert finding.code == code
    assert word in finding.message + finding.help
    assert finding.positions[0].file == f"<--{next(iter(flags))}>"
    assert "declares column" in finding.positions[1].note


def test_a_flag_of_a_row_that_is_not_there(tmp_path: Path) -> None:
    rows = {**ROWS, "rule": [{"rule": "mein"}]}
    with pytest.raises(PolicyError) as raised:
        load(tmp_path, rows=rows).plan(flags={"spare": "0"})
    (finding,) = raised.value.findings
    assert finding.code == "no-such-row"
    assert "`mein`" in finding.help


FAULTY_FLAGS = [
    ("rules: {selects: shelf}", "bad-declaration", "every verb"),
    ("Shelf: {selects: shelf}", "bad-declaration", "lower-case"),
    ("a: {}", "bad-declaration", "selects nothing"),
    ("a: {chooses: shelf}", "bad-declaration", "`chooses`"),
    ("a: {sets: rule}", "bad-declaration", "table/key/column"),
    ("a: {sets: rul/main/spare}", "bad-declaration", "`rule`"),
    ("a: {sets: rule/main/spair}", "bad-declaration", "`spare`"),
    ("a: {sets: rule/main/tags}", "bad-declaration", "one value"),
    ("a: {selects: s, adds: stap, fills: [step]}", "bad-declaration", "`step`"),
    ("a: {selects: s, adds: step, fills: [step]}", "bad-declaration", "size"),
    ("a: {selects: s, adds: step, fills: [step, size, sise]}", "bad-declaration", "`size`"),
    ("a: {selects: s, adds: box, fills: [shelf, box]}", "bad-declaration", "one key column"),
    ("a: {selects: s, adds: step}", "bad-declaration", "alone"),
    ("a: {selects: s, fills: [step]}", "bad-declaration", "alone"),
    ("a: {selects: [s]}", "not-a-scalar", "list"),
    ("a: 7", "not-a-mapping", "mapping"),
]


@pytest.mark.parametrize(("flag", "code", "word"), FAULTY_FLAGS)
def test_what_is_amiss_in_a_flag(tmp_path: Path, flag: str, code: str, word: str) -> None:
    rules = write_rules(tmp_path, f"{TABLES}flags:\n  {flag}\n")
    declarations, findings = load_declarations([rules])
    assert_house_style(findings)
    shown = [f"{f.code}: {f.message} {f.help}" for f in findings]
    assert any(s.startswith(f"{code}: ") and word in s for s in shown), shown
    assert "a" not in declarations.flags


def test_a_flag_selects_what_some_plan_has(tmp_path: Path) -> None:
    tables = f"{TABLES}flags: {{a: {{selects: colur}}, b: {{selects: who}}}}\n"
    (finding,) = load(tmp_path, tables=tables).check()
    assert (finding.code, finding.positions[0].file) == (
        "bad-declaration",
        str(tmp_path / "rules" / "tables" / "0.yaml"),
    )
    assert "`colour`" in finding.help


def test_a_flag_is_declared_once(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, TABLES + FLAGS)
    (rules / "tables" / "1.yaml").write_text("flags: {shelf: {selects: shelf}}\n")
    _, findings = load_declarations([rules])
    assert [f.code for f in findings] == ["duplicate-flag"]


# The command line.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_rules(tmp_path, TABLES + FLAGS, PLANS)
    facts = tmp_path / "facts"
    facts.mkdir()
    lines = []
    for table, rows in ROWS.items():
        lines.append(f"{table}:")
        lines += ["  - {" + ", ".join(f'{c}: "{v}"' for c, v in row.items()) + "}" for row in rows]
    (facts / "a.yaml").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["plan"], 0),
        (["plan", "--fail-on", "refused"], 0),
        (["plan", "--fail-on", "refused", "--spare", "30%"], 2),
        (["plan", "steps", "--fail-on", "refused", "--spare", "30%"], 0),
        (["plan", "--spare=30%", "shelf", "--format", "json"], 0),
        (["plan", "--format", "concise", "--spare", "30%", "shelf", "box"], 0),
        (["plan", "--spare", "-1"], 3),
        (["plan", "--spare", "3 GiB"], 3),
        (["plan", "--spare"], 1),
        (["plan", "--spare", "--format", "json"], 1),
        (["plan", "--spare", "1", "--spare", "1"], 1),
        (["plan", "--spair", "1"], 1),
        (["plan", "--spair"], 1),
        (["plan", "shelv"], 1),
        (["plan", "--shelf", "nope"], 1),
        (["plan", "--help"], 0),
        (["plan", "--format", "xml"], 1),
        (["standings", "--spare", "30%"], 1),
    ],
)
def test_exit_codes(folder: Path, words: list[str], code: int) -> None:
    assert main(words) == code


@pytest.mark.usefixtures("folder")
def test_the_help_text_has_the_flags_of_the_policy(capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "--help"])
    out = capsys.readouterr().out
    assert "--spare VALUE" in out
    assert "what if so much were kept free" in out


@pytest.mark.usefixtures("folder")
def test_a_flag_of_nobody_is_told_before_its_missing_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "--spair"]) == 1
    assert "`--spare`" in capsys.readouterr().err
    assert main(["plan", "--spare"]) == 1
    assert "has no value" in capsys.readouterr().err


def test_the_help_text_is_that_of_the_rules_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = str(write_rules(tmp_path, TABLES + FLAGS, PLANS))
    for words in (["--rules", rules], [f"--rules={rules}"]):
        assert main(["plan", *words, "--help"]) == 0
        assert "--spare VALUE" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_people_see_a_block_a_subject_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "shelf", "steps", "--spare", "30%"]) == 0
    assert capsys.readouterr().out == GOLDEN


GOLDEN = """\
what if  --spare  rule main spare  0.2 → 0.3

shelf  left  left in red
  refused  no room
  used            8 GiB  8589934592 bytes
  room for boxes  7 GiB  7516192768 bytes
  full            yes
  note            plain
  used of room for boxes  ██████████████████████████!!!!

  box  size
  a    2 GiB  2147483648 bytes
  b    6 GiB  6442450944 bytes

shelf  right  right in ?
  refused  no room
  used            3 GiB     3221225472 bytes
  room for boxes  2.80 GiB  3006477107.2 bytes
  full            yes
  note            plain
  used of room for boxes  ████████████████████████████!!

  box  size
  a    3 GiB  3221225472 bytes

shelf  unread  unread in ?
  established  they fit
  used  0 B
  full  no
  note  plain

steps  steps of plain

  step   size
  1GiB    1 GiB   1073741824 bytes
  10GiB  10 GiB  10737418240 bytes
"""


def test_findings_are_those_of_the_flag_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--spare", "x", "--format", "concise"]) == 3
    out = capsys.readouterr().out
    assert out.startswith("<--spare>:1:1: error[not-a-quantity]: ")
    assert out.count("\n") == 1
    assert sorted(p.name for p in folder.rglob("*.yaml")) == ["0.yaml", "a.yaml"]


HOSTILE = [
    'a","b',
    'x",note,"y")',
    "plan(shelf,q(1,2,3))",
    "back\\slash\\",
    'quote"',
    "two\nlines",
    "\\n no line",
    ",label,5)",
    "r(0,0,1,0)",
    "ü — 漢",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_texts_come_out_as_they_went_in(tmp_path: Path, name: str) -> None:
    rows: Rows = {
        "shelf": [{"shelf": name, "size": "1 GiB"}],
        "box": [{"shelf": name, "box": name, "size": "2 B"}],
        "rule": [{"rule": "main", "spare": "1/3", "label": name}],
    }
    plans = load(tmp_path, rows=rows).plan("shelf")
    (shelf,) = (p for p in plans if p.plan == "shelf")
    assert shelf.subject == (("who", name),)
    assert shelf.value_map["note"] == name
    # Two thirds of a GiB, which is no decimal.
    assert text_of(shelf, "room") == "2147483648/3"
    (box,) = (p for p in plans if p.plan == "box")
    assert box.subject == (("shelf", name), ("box", name))
    assert text_of(box, "size") == "2"
    assert shelf.standing is not None
    assert shelf.standing.subject == (("shelf", name),)
