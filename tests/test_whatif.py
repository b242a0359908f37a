"""What-ifs: how changes are written, what is refused of them, and what they move."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from lawtext import assert_house_style
from support import Rows, declared, write_rules

from ullage import Add, Policy, PolicyError, Set, SupposedCell, SupposedRow, Unset, UsageError
from ullage.changes import Change, key_text, read_set, read_unset
from ullage.cli import main
from ullage.columns import Cell
from ullage.declarations import Column
from ullage.facts import FactBase
from ullage.results import Plan, Standing
from ullage.sorts import BoolSort, ClosedSort, CountSort, ExactSort

SMALL = Path(__file__).resolve().parents[1] / "docs" / "small"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small policy of the documentation, as the working folder."""
    for part in ("rules", "facts"):
        shutil.copytree(SMALL / part, tmp_path / part)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def policy(folder: Path) -> Policy:
    return Policy.load(folder / "rules", folder / "facts")


# How changes are written.

SLASHES = """\
tables:
  thing:
    key: {thing: text}
    columns:
      size: {sort: text}
      note: {sort: text}
  pair:
    key: {left: text, right: text}
    columns: {note: {sort: text}}
  line:
    key:
      line: text
      number: {sort: count, ranges: true}
    columns: {size: {sort: bytes}}
"""

NAMES: Rows = {
    "thing": [
        {"thing": "a"},
        {"thing": "a/b"},
        {"thing": "a=b"},
        {"thing": "q/size=x"},
        {"thing": "x"},
        {"thing": "x/note=y/z"},
    ],
    "pair": [{"left": "a/b", "right": "c"}, {"left": "a", "right": "d"}],
    "line": [{"line": "one", "number": "0..3", "size": "1 B"}],
}


def slashes(folder: Path, rows: Rows = NAMES) -> FactBase:
    policy = Policy.load(rules=[write_rules(folder, SLASHES)], rows=rows)
    return policy.facts


@pytest.mark.parametrize(
    ("text", "key", "column", "value"),
    [
        ("thing/a/size=1", "a", "size", "1"),
        ("thing/a/size=", "a", "size", ""),
        ("thing/a/size=1/2", "a", "size", "1/2"),
        ("thing/a/size=a=b", "a", "size", "a=b"),
        ("thing/a/b/size=1", "a/b", "size", "1"),
        ("thing/a=b/size=1", "a=b", "size", "1"),
        ("thing/a/size=x/note=1", "a", "size", "x/note=1"),
        # Both columns stand in it, and one of the two rows alone.
        ("thing/q/size=x/note=1", "q/size=x", "note", "1"),
        ("pair/a/b/c/note=1", "a/b/c", "note", "1"),
        ("line/one/2/size=2 B", "one/2", "size", "2 B"),
        # What is not there is read as it most likely was meant.
        ("thing/b/size=1", "b", "size", "1"),
        ("thing/b=c/size=1", "b=c", "size", "1"),
        ("thing/a/sise=1/note=2", "a", "sise", "1/note=2"),
        ("thong/a/size=1", "a", "size", "1"),
    ],
)
def test_a_set_names_a_cell_that_is_there(
    tmp_path: Path, text: str, key: str, column: str, value: str
) -> None:
    table = text.partition("/")[0]
    assert read_set(text, slashes(tmp_path)) == Set(table, key, column, value)


def test_a_set_that_names_two_cells_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read_set("thing/x/note=y/z/size=2", slashes(tmp_path))
    assert "`note` of `x` or `size` of `x/note=y/z`" in raised.value.message
    assert "--add" in raised.value.help


def test_a_key_text_of_two_rows_is_refused(tmp_path: Path) -> None:
    rows: Rows = {"pair": [{"left": "a/b", "right": "c"}, {"left": "a", "right": "b/c"}]}
    policy = Policy.load(rules=[write_rules(tmp_path, SLASHES, fit_text())], rows=rows)
    with pytest.raises(UsageError, match="names 2 rows"):
        policy.what_if([Unset("pair", "a/b/c", "note")])
    # As a tuple it is one.
    moves = policy.what_if([Set("pair", ("a", "b/c"), "note", "x")])
    assert [c.key for c in moves.supposed] == ["a/b/c"]
    assert policy.supposing([Set("pair", ("a", "b/c"), "note", "x")]).facts.rows["pair"][1].cells


def fit_text() -> str:
    """A law file that has nothing to say."""
    return declared("nothing", Name="text").replace("nothing(", "seen(") + "seen(N) :- thing(N).\n"


@pytest.mark.parametrize("text", ["", "thing", "thing/a", "thing/a/size", "thing//size=1", "a=b"])
def test_a_set_without_a_cell_or_a_value_is_wrong_usage(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="sets no cell") as raised:
        read_set(text, slashes(tmp_path))
    assert "table/key/column=value" in raised.value.help


@pytest.mark.parametrize("text", ["", "thing", "thing/a", "thing//size", "thing/a/"])
def test_an_unset_without_a_cell_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="names no cell"):
        read_unset(text)


def test_an_unset_takes_all_but_table_and_column_as_the_key() -> None:
    assert read_unset("pair/a/b/c/note") == Unset("pair", "a/b/c", "note")


# What is refused.

REFUSED: list[tuple[list[Change], str, str, str]] = [
    ([Set("machin", "anvil", "spare", "1")], "unknown-table", "<--set>:1:1", "`machine`"),
    ([Set("free", "anvil", "spare", "1")], "derived-predicate", "<--set>:1:1", "change the facts"),
    ([Set("standing", "anvil", "x", "1")], "derived-predicate", "<--set>:1:1", "change the facts"),
    ([Set("machine", "anvl", "spare", "1")], "no-such-row", "<--set>:1:9", "`anvil`"),
    ([Set("machine", "kiln", "spare", "1")], "no-such-row", "<--set>:1:9", "`bellows`"),
    ([Set("machine", ("kiln",), "spare", "1")], "no-such-row", "<--set>:1:9", "`bellows`"),
    ([Set("machine", ("a", "b"), "spare", "1")], "no-such-row", "<--set>:1:9", "`bellows`"),
    ([Unset("machine", "anvl", "spare")], "no-such-row", "<--unset>:1:9", "`anvil`"),
    ([Set("machine", "anvil", "spair", "1")], "unknown-column", "<--set>:1:15", "`spare`"),
    ([Set("machine", "anvil", "machine", "x")], "fixed-column", "<--set>:1:15", "--add"),
    ([Set("machine", "anvil", "source", "x")], "fixed-column", "<--set>:1:15", "--add"),
    ([Unset("job", "train", "job")], "fixed-column", "<--unset>:1:11", "--add"),
    ([Set("machine", "anvil", "spare", "2")], "above-maximum", "<--set>:1:21", "maximum"),
    ([Set("machine", "anvil", "spare", "x")], "not-a-quantity", "<--set>:1:21", "ratio"),
    ([Set("machine", "anvil", "memory", "7")], "missing-unit", "<--set>:1:22", "GiB"),
    ([Set("machine", "anvil", "memory", 7.5)], "not-a-quantity", "<--set>:1:22", "exact"),
    ([Set("machine", "anvil", "gpus", "0")], "below-minimum", "<--set>:1:20", "minimum"),
    ([Set("machine", "anvil", "gpus", "1.5")], "not-a-count", "<--set>:1:20", "digits"),
    ([Set("machine", "anvil", "shared", "yes")], "not-a-bool", "<--set>:1:22", "`true`"),
    ([Set("machine", "anvil", "state", "upp")], "not-in-closed-set", "<--set>:1:21", "`up`"),
    ([Set("machine", "anvil", "state", "[up]")], "not-a-scalar", "<--set>:1:21", "one value"),
    ([Set("machine", "anvil", "names", "one")], "not-a-list", "<--set>:1:21", "[a, b]"),
    ([Set("machine", "anvil", "names", "[a, [b]]")], "not-a-scalar", "<--set>:1:25", "value"),
    ([Set("machine", "anvil", "names", "[a, b")], "yaml-syntax", "<--set>:1:21", "[a, b]"),
    ([Set("machine", "anvil", "names", '["a\\x1b"]')], "not-text", "<--set>:1:22", "control"),
    ([Set("machine", "anvil", "names", "a")], "not-a-list", "<--set>:1:21", "[a, b]"),
    ([Set("machine", "anvil", "names", 3)], "not-a-list", "<--set>:1:21", "list"),
    ([Set("job", "train", "machine", "anvl")], "dangling-reference", "<--set>:1:19", "`anvil`"),
    ([Unset("job", "train", "need")], "missing-column", "<--unset>:1:11", "need"),
    ([Set("job", "train", "need", "~")], "missing-column", "<--set>:1:16", "need"),
    ([Set("job", "train", "need", None)], "missing-column", "<--set>:1:16", "need"),
    (
        [Set("machine", "anvil", "gpus", "2"), Set("machine", "anvil", "spare", "x")],
        "not-a-quantity",
        "<--set>:2:21",
        "ratio",
    ),
]


@pytest.mark.parametrize(("changes", "code", "place", "word"), REFUSED)
def test_a_change_is_held_to_what_a_file_is_held_to(
    policy: Policy, changes: list[Change], code: str, place: str, word: str
) -> None:
    with pytest.raises(PolicyError) as raised:
        policy.what_if(changes)
    (finding,) = raised.value.findings
    assert_house_style([finding])
    assert (finding.code, str(finding.positions[0])) == (code, place)
    assert word in finding.message + finding.help


def test_all_that_is_amiss_is_told_together(policy: Policy) -> None:
    with pytest.raises(PolicyError) as raised:
        policy.what_if(
            [
                Set("machine", "anvil", "spare", "x"),
                Unset("job", "train", "need"),
                Set("job", "serve", "machine", "anvl"),
            ]
        )
    assert [str(f.positions[0]) for f in raised.value.findings] == [
        "<--set>:1:21",
        "<--set>:2:19",
        "<--unset>:1:11",
    ]


def test_a_cell_is_supposed_once(policy: Policy) -> None:
    with pytest.raises(UsageError, match="`machine/anvil/spare` is supposed twice"):
        policy.what_if([Set("machine", "anvil", "spare", "1"), Unset("machine", "anvil", "spare")])


def test_computed_tables_are_not_supposed(tmp_path: Path) -> None:
    tables = """\
sorts: {name: {dotted: true}}
tables: {thing: {key: {name: name}, columns: {size: {sort: bytes}}}}
"""
    law = declared("seen", Name="name") + 'seen(N) :- name_part((N, "b")).\n'
    policy = Policy.load(
        rules=[write_rules(tmp_path, tables, law)], rows={"thing": [{"name": "a.b"}]}
    )
    with pytest.raises(PolicyError) as raised:
        policy.what_if([Set("name_part", "a.b/b", "size", "1 B")])
    assert [f.code for f in raised.value.findings] == ["derived-predicate"]


def test_an_invalid_policy_supposes_nothing(folder: Path) -> None:
    (folder / "facts" / "more.yaml").write_text("machine: [{machine: ladle}]\n")
    policy = Policy.load(folder / "rules", folder / "facts")
    for ask in (policy.what_if, policy.supposing):
        with pytest.raises(PolicyError):
            ask([Set("machine", "anvil", "spare", "1")])
    with pytest.raises(PolicyError):
        policy.read_set("machine/anvil")


# What is supposed.


def cell_of(policy: Policy, change: Change) -> SupposedCell:
    (cell,) = policy.what_if([change]).supposed
    assert isinstance(cell, SupposedCell)
    return cell


def test_what_was_supposed_is_told_with_its_place(policy: Policy) -> None:
    spare = cell_of(policy, Set("machine", "bellows", "spare", "20%"))
    assert (spare.option, spare.table, spare.key, spare.column) == (
        "--set",
        "machine",
        "bellows",
        "spare",
    )
    assert (str(spare.old), str(spare.new)) == ("1/3", "0.2")
    assert (Path(spare.place.file).name, spare.place.line) == ("machines.yaml", 10)
    state = cell_of(policy, Set("machine", "bellows", "state", "up"))
    # Where nothing was read, the row is the place.
    assert (state.old, state.new, state.place.line) == (None, "up", 6)
    default = cell_of(policy, Set("machine", "anvil", "spare", "0.2"))
    assert (str(default.old), default.place.note) == ("0.1", "declares the default")
    gone = cell_of(policy, Unset("machine", "bellows", "spare"))
    # The default comes back.
    assert (str(gone.old), str(gone.new)) == ("1/3", "0.1")
    assert cell_of(policy, Unset("machine", "anvil", "state")).new is None


def test_a_list_is_supposed_whole(policy: Policy) -> None:
    for value in ("[a, 'b, c', \"null\"]", ["a", "b, c", "null"]):
        cell = cell_of(policy, Set("machine", "crucible", "names", value))
        assert cell.old == ("the old one", "lab 2")
        assert cell.new == ("a", "b, c", "null")
    assert cell_of(policy, Set("machine", "crucible", "names", "[]")).new == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: b #c", "a: b #c"),
        ("  a ", "a"),
        ("'~'", "~"),
        ('"a, [b]"', "a, [b]"),
        ("&a", "&a"),
        ("1e3", "1e3"),
        ("~", None),
        ("null", None),
        ("", None),
    ],
)
def test_text_is_taken_as_it_is_and_quotes_as_in_a_file(
    tmp_path: Path, text: str, value: str | None
) -> None:
    policy = Policy.load(rules=[write_rules(tmp_path, SLASHES, fit_text())], rows=NAMES)
    facts = policy.supposing([policy.read_set(f"thing/a/note={text}")]).facts
    cell = facts.rows["thing"][0].cells.get("note")
    assert (cell and cell.value) == value


def test_python_values_are_in_base_units(policy: Policy) -> None:
    cell = cell_of(policy, Set("machine", ("anvil",), "memory", 2**30))
    assert str(cell.new) == "1 GiB"
    assert str(cell_of(policy, Set("machine", "anvil", "spare", Fraction(1, 3))).new) == "1/3"
    assert cell_of(policy, Set("machine", "anvil", "shared", True)).new is True


@pytest.mark.parametrize(
    "change",
    [
        Set("machine", "anvil", "spare", "10%"),
        Set("machine", "crucible", "names", "[the old one, lab 2]"),
        Unset("machine", "bellows", "state"),
        Unset("machine", "anvil", "spare"),
        Set("machine", "bellows", "state", "null"),
    ],
)
def test_what_changes_nothing_is_told_as_such(policy: Policy, change: Change) -> None:
    moves = policy.what_if([change])
    assert len(moves) == 0
    assert moves.left == 3
    (cell,) = moves.supposed
    assert isinstance(cell, SupposedCell)
    assert cell.same


def test_a_number_of_a_range_is_supposed_alone(tmp_path: Path) -> None:
    policy = Policy.load(rules=[write_rules(tmp_path, SLASHES, fit_text())], rows=NAMES)
    supposed = policy.supposing([policy.read_set("line/one/2/size=7 B")]).facts
    assert [r.cells["size"].value for r in supposed.rows["line"]] == [1, 1, 7, 1]
    assert [r.cells["size"].value for r in policy.facts.rows["line"]] == [1, 1, 1, 1]


# Rows that are added.

MORE = """\
machine:
  - {machine: ladle, memory: 64 GiB, state: up, source: a wish}
job:
  - {job: cast, machine: ladle, need: 32 GiB}
"""


def added(folder: Path, text: str, *, override: bool = False) -> Add:
    file = folder / "more.yaml"
    file.write_text(text)
    return Add(file, override)


def test_rows_are_added_with_all_that_they_need(folder: Path, policy: Policy) -> None:
    moves = policy.what_if([added(folder, MORE)])
    assert [(c.table, c.key) for c in moves.supposed] == [("machine", "ladle"), ("job", "cast")]
    assert all(isinstance(c, SupposedRow) and c.replaces is None for c in moves.supposed)
    (cast,) = moves.moved
    assert cast.old is None
    assert cast.new is not None
    assert (cast.law, cast.subject_text, cast.new.verdict) == ("room", "cast", "fits")
    assert {n: str(new) for n, (_, new) in cast.values.items()} == {"headroom": "25.60 GiB"}
    (plan,) = moves.plans
    assert (plan.plan, plan.subject_text, plan.old) == ("placement", "cast", None)
    assert moves.left == 3


def test_cells_of_added_rows_may_be_set(folder: Path, policy: Policy) -> None:
    moves = policy.what_if([Set("machine", "ladle", "memory", "16 GiB"), added(folder, MORE)])
    assert [m.new.verdict for m in moves.moved if m.new] == ["refused"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("machine: [{machine: anvil, memory: 1 GiB, source: x}]", "duplicate-row"),
        ("machine: [{machine: ladle, memory: 1 GiB}]", "missing-source"),
        ("machine: [{machine: ladle, source: x}]", "missing-column"),
        ("machine: [{memory: 1 GiB, source: x}]", "missing-key"),
        ("machine: [{machine: ladle, memory: 1, source: x}]", "missing-unit"),
        ("job: [{job: cast, machine: ladel, need: 1 B}]", "dangling-reference"),
        ("free: [{machine: anvil}]", "derived-predicate"),
        ("jobs: []", "unknown-table"),
        ("job: [", "yaml-syntax"),
    ],
)
def test_added_rows_are_read_as_a_file_is(
    folder: Path, policy: Policy, text: str, code: str
) -> None:
    with pytest.raises(PolicyError) as raised:
        policy.what_if([added(folder, text)])
    (finding,) = raised.value.findings
    assert finding.code == code
    assert Path(finding.positions[0].file).name == "more.yaml"


def test_a_row_replaces_another_with_override_alone(folder: Path, policy: Policy) -> None:
    text = "machine: [{machine: crucible, memory: 32 GiB, state: up, source: x}]"
    moves = policy.what_if([added(folder, text, override=True)])
    row, *cells = moves.supposed
    assert isinstance(row, SupposedRow)
    assert row.replaces is not None
    assert (Path(row.replaces.file).name, row.replaces.line) == ("machines.yaml", 12)
    # Of its cells those that are otherwise; a name that nobody gives it is gone.
    assert [(c.column, c.new) for c in cells if isinstance(c, SupposedCell)][1:] == [
        ("names", None)
    ]
    assert [m.new.verdict for m in moves.moved if m.new] == ["fits"]
    again = added(folder, text.replace("32", "64"), override=True)
    both = policy.supposing([Add(again.file, True), Add(again.file, True)])
    assert both.facts.rows["machine"][2].cells["memory"].value == 64 * 2**30


def test_a_file_that_is_not_there_is_wrong_usage(policy: Policy) -> None:
    with pytest.raises(UsageError, match=r"no file `nowhere\.yaml`"):
        policy.what_if([Add(Path("nowhere.yaml"))])


# What moves.


def test_a_standing_moves_with_its_values_and_a_plan(policy: Policy) -> None:
    moves = policy.what_if([Set("machine", "anvil", "spare", "30%")])
    (train,) = moves.moved
    assert train.old is not None
    assert train.new is not None
    assert (train.old.verdict, train.new.verdict) == ("fits", "refused")
    assert [r.name for r in train.new.reasons] == ["too_large"]
    assert train.values["headroom"][1] is None
    (plan,) = moves.plans
    assert list(plan.values) == ["free", "headroom"]
    assert moves.left == 2
    assert len(moves) == 2


def test_a_value_alone_moves_a_standing(policy: Policy) -> None:
    (train,) = policy.what_if([Set("machine", "anvil", "spare", "11%")]).moved
    assert train.old is not None
    assert train.new is not None
    assert train.old.verdict == train.new.verdict
    assert list(train.values) == ["headroom"]


def test_laws_and_subjects_are_chosen(policy: Policy) -> None:
    changes = [Set("machine", "anvil", "spare", "30%"), Set("machine", "bellows", "state", "up")]
    everything = policy.what_if(changes)
    assert [m.subject_text for m in everything.moved] == ["index", "train"]
    of_law = policy.what_if(changes, "room")
    assert (of_law.moved, of_law.plans, of_law.left) == (everything.moved, (), 1)
    of_train = policy.what_if(changes, subject="train")
    assert [m.subject_text for m in of_train.moved] == ["train"]
    assert [p.subject_text for p in of_train.plans] == ["train"]
    assert of_train.left == 0
    assert policy.what_if(changes, subject="serve").left == 1
    with pytest.raises(UsageError, match="no law is named `rooms`"):
        policy.what_if(changes, "rooms")
    with pytest.raises(UsageError, match="no subject is named `trian`"):
        policy.what_if(changes, subject="trian")


def test_one_policy_answers_many_what_ifs(policy: Policy) -> None:
    before = policy.standings()
    for spare, verdict in (("30%", "refused"), ("0", "fits"), ("1/3", "refused"), ("20%", "fits")):
        (train,) = policy.what_if([Set("machine", "anvil", "spare", spare)]).moved
        assert train.new is not None
        assert train.new.verdict == verdict
    assert policy.standings() == before


DIVIDED = """\
% Purpose  figures of a test
% Input    item/1, item/3
% Output   standing/3, value/4

%*! share(Item)
A share.
Args:
  - Item: item
Subjects: item(Item)
Verdicts:
  - done [established]
Values:
  - part: ratio
  - sum: bytes
*%
%!trace_rule {"% is done", I}.
standing(share, I, done) :- item(I).
%!trace_rule {"% is a part", I}.
value(share, I, part, A / B) :- item(I, size, A), item(I, whole, B).
%!trace_rule {"% is a sum", I}.
value(share, I, sum, A + B) :- item(I, size, A), item(I, whole, B).
"""
ITEMS = """\
tables:
  item:
    key: {item: item}
    columns: {size: {sort: bytes}, whole: {sort: bytes}}
"""


def divided(folder: Path) -> Policy:
    rows: Rows = {
        "item": [{"item": n, "size": "1 B", "whole": w} for n, w in (("a", "2 B"), ("b", "4 B"))]
    }
    return Policy.load(rules=[write_rules(folder, ITEMS, DIVIDED)], rows=rows)


def test_figures_may_need_more_room_than_those_of_the_facts(tmp_path: Path) -> None:
    policy = divided(tmp_path)
    for whole, part, total in (
        ("3 B", "1/3", "4"),
        ("1/7 B", "7", "8/7"),
        ("8 PB", "0.000000000000000125", "8000000000000001"),
        ("32000 PB", "0.00000000000000000003125", "32000000000000000001"),
        ("4 B", "0.25", "5"),
    ):
        (moved,) = policy.what_if([Set("item", "a", "whole", whole)]).moved
        new = {name: q.text for name, q in moved.new.values} if moved.new else {}
        assert new == {"part": part, "sum": total}, whole


def test_what_is_supposed_may_have_no_answer(tmp_path: Path) -> None:
    policy = divided(tmp_path)
    with pytest.raises(PolicyError) as raised:
        policy.what_if([Set("item", "a", "whole", "0 B")])
    (finding,) = raised.value.findings
    assert finding.code == "division-by-zero"
    assert "`value`" in finding.message
    assert "World" not in finding.message
    # The policy itself is none the worse.
    assert len(policy.what_if([Set("item", "a", "whole", "3 B")]).moved) == 1


def test_a_law_that_fails_what_is_supposed_is_told(tmp_path: Path) -> None:
    law = DIVIDED.replace("done) :- item(I).", "done) :- item(I, size, _).")
    rows: Rows = {"item": [{"item": "a", "size": "1 B"}, {"item": "b", "size": "1 B"}]}
    policy = Policy.load(rules=[write_rules(tmp_path, ITEMS, law)], rows=rows)
    with pytest.raises(PolicyError) as raised:
        policy.what_if([Unset("item", "a", "size")])
    assert [f.code for f in raised.value.findings] == ["standing-missing"]
    assert "`a`" in raised.value.findings[0].message


# The same as over facts that are changed and read anew.


def plain_rows(facts: FactBase) -> dict[str, list[dict[str, object]]]:
    """The rows as Python gives them, without those that are computed and without defaults."""
    found: dict[str, list[dict[str, object]]] = {}
    for name, table in facts.declarations.tables.items():
        if table.computed is not None:
            continue
        found[name] = []
        for row in facts.rows.get(name, ()):
            cells: dict[str, object] = {"source": row.source or None}
            cells |= {c.name: v for c, v in zip(table.key, row.key, strict=True)}
            cells |= {n: plain(c) for n, c in row.cells.items() if c.line}
            found[name].append(cells)
    return found


def plain(cell: Cell) -> object:
    return [plain(c) for c in cell.value] if isinstance(cell.value, tuple) else cell.value


def anew(policy: Policy, changes: Sequence[Change]) -> Policy:
    """The policy over all its rows, written out, changed and read again."""
    rows = plain_rows(policy.facts)
    tables = policy.declarations.tables
    texts: dict[str, dict[str, int]] = {}
    for change in changes:
        assert not isinstance(change, Add)
        name = change.table
        if name not in texts:
            given = policy.facts.rows[name]
            texts[name] = {key_text(tables[name], row): i for i, row in enumerate(given)}
        row = rows[name][texts[name][str(change.key)]]
        row.pop(change.column, None)
        if isinstance(change, Set):
            row[change.column] = change.value
    return policy.over(rows)


Told = tuple[dict[object, Standing], dict[object, tuple[tuple[str, object], ...]]]


def told(policy: Policy) -> Told:
    """All standings, and the values of all plans, by law or plan and subject."""

    def values(plan: Plan) -> tuple[tuple[str, object], ...]:
        return plan.values

    return (
        {(s.law, s.subject): s for s in policy.standings()},
        {(p.plan, p.subject): values(p) for p in policy.plan()},
    )


def told_or_amiss(policy: Policy) -> tuple[Told, set[str]]:
    """What a policy tells, or the codes of what is amiss in it."""
    try:
        return told(policy), set()
    except PolicyError as error:
        return ({}, {}), {f.code for f in error.findings}


def assert_moves(policy: Policy, changes: Sequence[Change], before: Told) -> int:
    """That a what-if tells what differs from facts that are read anew; how much that is."""
    after, amiss = told_or_amiss(anew(policy, changes))
    if amiss:
        with pytest.raises(PolicyError) as raised:
            policy.what_if(changes)
        assert {f.code for f in raised.value.findings} == amiss, changes
        return 0
    moves = policy.what_if(changes)
    standings = {(m.law, m.subject): (m.old, m.new) for m in moves.moved}
    plans = {
        (p.plan, p.subject): (p.old and p.old.values, p.new and p.new.values) for p in moves.plans
    }
    assert standings == differing(before[0], after[0]), changes
    assert plans.keys() == differing(before[1], after[1]).keys(), changes
    for key, (old, new) in plans.items():
        assert old in (before[1].get(key), None), changes
        assert new in (after[1].get(key), None), changes
    assert moves.left == sum(before[0][k] == after[0].get(k) for k in before[0])
    return len(moves)


def differing(old: Mapping[object, object], new: Mapping[object, object]) -> dict[object, object]:
    return {
        key: (old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key)
    }


def drawn(column: Column, present: Sequence[object], draw: random.Random) -> object:
    """A value that the column may hold: another one's, or one of its sort."""
    sort = column.sort
    values: list[object] = [v for v in present if not isinstance(v, tuple)]
    if isinstance(sort, BoolSort):
        values = [True, False]
    elif isinstance(sort, ClosedSort):
        values = list(sort.values)
    elif isinstance(sort, CountSort):
        values += [1, 2, 3, 7]
    elif isinstance(sort, ExactSort):
        figures = [v for v in values if isinstance(v, int | Fraction)]
        scaled = draw.choice(figures) if figures else 1
        values.append(Fraction(scaled) * draw.choice((2, Fraction(1, 2), Fraction(5, 4), 0)))
    value = draw.choice(values or ["x"])
    return [value] * draw.choice((0, 1)) if column.many else value


def random_changes(policy: Policy, draw: random.Random) -> list[Change]:
    """A few changes of cells that some rows have."""
    tables = [
        t
        for t in policy.declarations.tables.values()
        if t.computed is None and t.columns and policy.facts.rows.get(t.name)
    ]
    found: dict[tuple[str, str, str], Change] = {}
    for _ in range(draw.choice((1, 1, 2, 3))):
        table = draw.choice(tables)
        rows = policy.facts.rows[table.name]
        key = key_text(table, draw.choice(rows))
        column = draw.choice(list(table.columns.values()))
        cell = (table.name, key, column.name)
        if draw.random() < 0.2 and not column.required:
            found[cell] = Unset(*cell)
            continue
        present = [r.cells[column.name].value for r in rows if column.name in r.cells]
        if column.references:
            of = [policy.facts.rows.get(t, ()) for t in column.references]
            present = [r.key[0] for rows_of in of for r in rows_of]
        found[cell] = Set(*cell, drawn(column, present, draw))
    return list(found.values())


@pytest.fixture(scope="module")
def shipped() -> tuple[Policy, Told]:
    root = SMALL.parents[1]
    policy = Policy.load(root / "rules", root / "facts")
    return policy, told(policy)


@pytest.mark.parametrize("seed", range(12))
def test_the_shipped_catalog_moves_as_if_it_were_read_anew(
    seed: int, shipped: tuple[Policy, Told]
) -> None:
    policy, before = shipped
    assert_moves(policy, random_changes(policy, random.Random(seed)), before)


def test_what_catalogs_ask_most_moves_as_if_it_were_read_anew(
    shipped: tuple[Policy, Told],
) -> None:
    policy, before = shipped
    cells = [
        "arm/gh200-glm52-marlin/offload=none",
        "arm/gh200-glm52-marlin/offload=prefetch",
        "host/nominal-gh200/unified=true",
        "tier/128GiB/physical_usable=64 GiB",
        "reserve_policy/standard/floor=40 GiB",
        "reserve_policy/standard/fraction=30%",
        "route_policy/standard/concurrency=8",
    ]
    known = [c for c in cells if _there(policy, c)]
    assert len(known) > 4
    assert sum(assert_moves(policy, [policy.read_set(text)], before) > 0 for text in known) > 3


def _there(policy: Policy, text: str) -> bool:
    change = policy.read_set(text)
    table = policy.declarations.tables[change.table]
    rows = policy.facts.rows[change.table]
    return change.column in table.columns and change.key in {key_text(table, r) for r in rows}


NET_TABLES = """\
sorts:
  kind: {values: [core, leaf]}
  whom:
    forms:
      node_of: {Node: node}
      kind_of: {Kind: kind}
tables:
  node:
    key: {node: node}
    columns:
      cap: {sort: bytes}
      kind: {sort: kind, default: leaf}
      ready: {sort: bool}
      tags: {sort: text, list: true}
      beside: {sort: node, references: node}
  edge:
    key:
      a: {sort: node, references: node}
      b: {sort: node, references: node}
    columns:
      cost: {sort: bytes}
      hops: {sort: count, default: 1}
  rule:
    key: {rule: rule}
    columns: {spare: {sort: ratio}, least: {sort: count}}
"""

NET_PREDICATES = {
    "_to": {"A": "node", "B": "node"},
    "_odd": {"A": "node", "B": "node"},
    "_even": {"A": "node", "B": "node"},
    "_near": {"A": "node", "B": "node"},
    "_paid": {"A": "node", "Cost": "bytes"},
    "_many": {"A": "node", "N": "count"},
    "_most": {"A": "node", "Cap": "bytes"},
    "_all_ready": {"A": "node"},
    "_figure": {"Cap": "bytes"},
    "_kept": {"Cap": "bytes", "Kept": "bytes"},
    "_free": {"A": "node", "Kept": "bytes"},
    "_quiet": {"A": "node"},
    "_in_kind": {"Kind": "kind", "A": "node"},
    "_kinds": {"Kind": "kind", "Sum": "bytes"},
    "_whom": {"Whom": "whom"},
    "_apart": {"A": "node", "B": "node", "By": "bytes"},
    "_tagged": {"A": "node", "Tag": "text"},
}

NET_RULES = """\
% Each way in which rules build on one another.
_to(A, B) :- edge((A, B)).
_to(A, C) :- _to(A, B), edge((B, C)).
_odd(A, B) :- edge((A, B)).
_even(A, C) :- _odd(A, B), edge((B, C)).
_odd(A, C) :- _even(A, B), edge((B, C)).
_near(A, B) :- edge((A, B), hops, 1).
_near(A, B) :- _near(B, A).
_near(A, B) :- node(A, beside, B).
_paid(A, Cost) :- node(A), Cost = #sum { C, B : _to(A, B), edge((_, B), cost, C) }.
_many(A, N) :- node(A), N = #count { B : _to(A, B); B : _near(A, B) }.
_most(A, Cap) :- _to(A, B), node(B, cap, _), Cap = #max { C, X : _to(A, X), node(X, cap, C) }.
_all_ready(A) :- node(A), node(B, ready, true) : _to(A, B).
_figure(Cap) :- node(_, cap, Cap).
_kept(Cap, Spare * Cap) :- _figure(Cap), rule("main", spare, Spare).
_free(A, Cap - Kept) :- node(A, cap, Cap), _kept(Cap, Kept).
_quiet(A) :- node(A), not _to(A, _), not _near(_, A).
_in_kind(Kind, A) :- node(A, kind, Kind).
_kinds(Kind, Sum) :- _in_kind(Kind, _), Sum = #sum { F, A : _in_kind(Kind, A), _free(A, F) }.
_whom(node_of(A)) :- _in_kind(core, A).
_whom(kind_of(Kind)) :- _kinds(Kind, Sum), Sum > "3 GiB".
_apart(A, B, By) :- edge((A, B)), _free(A, F), _free(B, G), F > G, By = F - G.
_tagged(A, Tag) :- node(A, tags, (_, Tag)), not _quiet(A).
"""

NET_LAWS = """\
%*! sound(Node)
Whether a node is.
Args:
  - Node: node
Subjects: node(Node)
Verdicts:
  - sound [established]
  - refused [refused]
  - open [unestablished]
Reasons:
  - quiet
  - far(From: node)
Obligations:
  - ready(Of: node)
Values:
  - free: bytes
  - paid: bytes
  - many: count
*%
standing(sound, A, sound) :- node(A), not reason(sound, A, _), not obligation(sound, A, _).
standing(sound, A, refused) :- reason(sound, A, _).
standing(sound, A, open) :- obligation(sound, A, _), not reason(sound, A, _).
reason(sound, A, quiet) :- _quiet(A).
reason(sound, A, far(B)) :- _to(B, A), _many(B, N), rule("main", least, Least), N < Least.
obligation(sound, A, ready(B)) :- _to(A, B), not node(B, ready, _).
value(sound, A, free, F) :- _free(A, F).
value(sound, A, paid, C) :- _paid(A, C).
value(sound, A, many, N) :- _many(A, N).

%*! joined(One, Other)
Whether two nodes are joined well.
Args:
  - One: node
  - Other: node
Subjects: edge((One, Other))
Verdicts:
  - well [established]
  - ill [refused]
Reasons:
  - unsound(Node: node)
  - apart(By: bytes)
Values:
  - most: bytes
*%
standing(joined, (A, B), well) :- edge((A, B)), not reason(joined, (A, B), _).
standing(joined, (A, B), ill) :- reason(joined, (A, B), _).
reason(joined, (A, B), unsound(A)) :- edge((A, B)), standing(sound, A, refused).
reason(joined, (A, B), apart(By)) :- _apart(A, B, By).
value(joined, (A, B), most, Cap) :- edge((A, B)), _most(A, Cap).

%*! told(Whom)
What is told of whom.
Args:
  - Whom: whom
Plan: whom
Subjects: _whom(Whom)
Values:
  - sum: bytes
  - good: bool
*%
plan(told, W, sum, Sum) :- _whom(W), W = kind_of(Kind), _kinds(Kind, Sum).
plan(told, W, good, true) :- _whom(W), W = node_of(A), _all_ready(A), not _even(A, A).

%*! pairs(One, Other)
Pairs of nodes.
Args:
  - One: node
  - Other: node
Plan: pairs
Rows: Other
Columns: tag
Subjects: _near(One, Other)
Values:
  - tag: text
  - steps: count
*%
plan(pairs, (A, B), tag, Tag) :- _near(A, B), node(B, tags, (0, Tag)), _tagged(B, Tag).
plan(pairs, (A, B), steps, 1) :- _near(A, B), _odd(A, B), not _even(A, B).
"""

NET: Rows = {
    "node": [
        {"node": "a", "cap": "2 GiB", "kind": "core", "ready": "true", "tags": ["x", "y"]},
        {"node": "b", "cap": "2 GiB", "ready": "false", "beside": "c"},
        {"node": "c", "cap": "1/3 GiB", "tags": ["x"]},
        {"node": "d", "kind": "core"},
        {"node": "e", "cap": "3 GiB", "ready": "true"},
    ],
    "edge": [
        {"a": "a", "b": "b", "cost": "1 KiB"},
        {"a": "b", "b": "c", "hops": "2"},
        {"a": "c", "b": "a", "cost": "5 B"},
        {"a": "d", "b": "b", "cost": "1/7 B"},
    ],
    "rule": [{"rule": "main", "spare": "20%", "least": "2"}],
}

NET_VALUES: dict[str, list[object]] = {
    "cap": ["2 GiB", "1 GiB", "0 B", "1/3 GiB", None],
    "kind": ["core", "leaf", None],
    "ready": ["true", "false", None],
    "tags": [["x"], ["y", "z"], [], None],
    "beside": ["a", "b", "e", None],
    "cost": ["1 KiB", "3 B", "1/3 B", None],
    "hops": ["1", "2", None],
    "spare": ["20%", "1/3", "0", "1", None],
    "least": ["0", "3", "9", None],
}


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> tuple[Policy, Told]:
    docs = "".join(declared(name, **args) for name, args in NET_PREDICATES.items())
    law = docs + NET_RULES + NET_LAWS
    policy = Policy.load(
        rules=[write_rules(tmp_path_factory.mktemp("net"), NET_TABLES, law)], rows=NET
    )
    assert not [f for f in policy.check() if f.severity.value == "error"]
    return policy, told(policy)


def net_cells() -> list[tuple[str, str, str]]:
    tables = {
        "node": ("cap", "kind", "ready", "tags", "beside"),
        "edge": ("cost", "hops"),
        "rule": ("spare", "least"),
    }
    keys = {"node": ["node"], "edge": ["a", "b"], "rule": ["rule"]}
    return [
        (table, "/".join(str(row[k]) for k in keys[table]), column)
        for table, columns in tables.items()
        for row in NET[table]
        for column in columns
    ]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_rules_build_on_moves_as_if_it_were_read_anew(
    data: st.DataObject, net: tuple[Policy, Told]
) -> None:
    policy, before = net
    cells = data.draw(st.lists(st.sampled_from(net_cells()), min_size=1, max_size=4, unique=True))
    changes = [Set(*cell, data.draw(st.sampled_from(NET_VALUES[cell[2]]))) for cell in cells]
    assert_moves(policy, changes, before)


def test_rows_that_are_added_move_as_if_they_were_read_anew(
    tmp_path: Path, net: tuple[Policy, Told]
) -> None:
    policy, before = net
    file = tmp_path / "more.yaml"
    file.write_text(
        "node: [{node: f, cap: 1 GiB, ready: true}]\n"
        "edge: [{a: c, b: f}, {a: f, b: d, cost: 2 B}, {a: e, b: a}]\n"
    )
    rows = {name: [*given] for name, given in plain_rows(policy.facts).items()}
    rows["node"].append({"node": "f", "cap": "1 GiB", "ready": True})
    rows["edge"] += [
        {"a": "c", "b": "f"},
        {"a": "f", "b": "d", "cost": "2 B"},
        {"a": "e", "b": "a"},
    ]
    after = told(policy.over(rows))
    moves = policy.what_if([Add(file)])
    found = {(m.law, m.subject): (m.old, m.new) for m in moves.moved}
    assert found == differing(before[0], after[0])
    plans = {(p.plan, p.subject) for p in moves.plans}
    assert plans == differing(before[1], after[1]).keys()


# The command line.


def digest(folder: Path) -> str:
    """All files below a folder, by name and content."""
    found = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        found.update(f"{path.relative_to(folder)}\0{path.stat().st_mtime_ns}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--set", "machine/anvil/spare=30%"], 0),
        (["--set", "machine/anvil/spare=30%", "room", "--subject", "train"], 0),
        (["--set", "machine/anvil/spare=10%"], 0),
        (["--unset", "machine/anvil/state", "--set", "machine/crucible/memory=64 GiB"], 0),
        (["--set", "machine/anvil/spare=30%", "--fail-on", "refused"], 2),
        # `serve` is refused today, and is no longer.
        (["--set", "machine/crucible/memory=64 GiB", "--fail-on", "refused"], 0),
        (["--set", "machine/crucible/memory=64 GiB", "--fail-on", "unestablished"], 4),
        (["--set", "machine/bellows/state=up", "--fail-on", "unestablished"], 0),
        # Weighed is what was asked for, whether it moves or not.
        (["--set", "machine/anvil/spare=9%", "--fail-on", "refused", "--subject", "serve"], 2),
        (["--set", "machine/anvil/spare=9%", "--fail-on", "refused", "--subject", "train"], 0),
        (["--set", "machine/anvil/spare=2"], 3),
        (["--set", "machine/anvl/spare=1"], 3),
        (["--unset", "machine/anvil/memory"], 3),
        ([], 1),
        (["--set"], 1),
        (["--set", "machine/anvil"], 1),
        (["--unset", "machine"], 1),
        (["--add", "nowhere.yaml"], 1),
        (["--set", "machine/anvil/spare=1", "--set", "machine/anvil/spare=1"], 1),
        (["--set", "machine/anvil/spare=1", "rooms"], 1),
        (["--set", "machine/anvil/spare=1", "--subject", "trian"], 1),
        (["--set", "machine/anvil/spare=1", "--subject", "a", "--subject", "b"], 1),
        (["--set", "machine/anvil/spare=1", "--format", "xml"], 1),
    ],
)
def test_exit_codes(folder: Path, words: list[str], code: int) -> None:
    before = digest(folder)
    assert main(["what-if", *words]) == code
    assert digest(folder) == before


@pytest.mark.parametrize("format", ["human", "concise", "json"])
def test_an_invalid_value_is_told_in_the_format(
    folder: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", "--set", "machine/anvil/spare=2", "--format", format]) == 3
    out, err = capsys.readouterr()
    told = err if format == "human" else out
    assert "above-maximum" in told
    assert ("<--set>:1:21" in told) == (format != "json")


def test_json_keeps_to_its_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    added(folder, MORE)
    words = [
        "--add",
        "more.yaml",
        "--set",
        "machine/anvil/spare=30%",
        "--unset",
        "machine/anvil/state",
    ]
    assert main(["what-if", *words, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    schema = json.loads((files("ullage") / "schemas" / "what-if-1.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    assert [m["subject"]["job"] for m in document["moved"]] == ["cast", "train"]
    assert [c["option"] for c in document["what_if"]] == ["--set", "--unset"]
    assert [r["key"] for r in document["rows"]] == ["ladle", "cast"]


def test_added_files_follow_override(folder: Path) -> None:
    text = "machine: [{machine: crucible, memory: 32 GiB, state: up, source: x}]"
    added(folder, text)
    assert main(["what-if", "--add", "more.yaml"]) == 3
    assert main(["what-if", "--add", "more.yaml", "--override", "--fail-on", "refused"]) == 0


def test_facts_on_disk_are_never_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = digest(folder)
    main(["standings", "--format", "json"])
    standings = capsys.readouterr().out
    for words in (["--set", "machine/anvil/spare=90%"], ["--unset", "machine/anvil/state"]):
        main(["what-if", *words, "--fail-on", "refused"])
    capsys.readouterr()
    main(["standings", "--format", "json"])
    assert capsys.readouterr().out == standings
    assert digest(folder) == before


def test_edited_yaml_gives_the_same(folder: Path) -> None:
    policy = Policy.load(folder / "rules", folder / "facts")
    moves = policy.what_if(
        [
            policy.read_set("machine/bellows/spare=20%"),
            policy.read_set("job/serve/machine=anvil"),
            read_unset("machine/anvil/state"),
        ]
    )
    file = folder / "facts" / "machines.yaml"
    text = file.read_text()
    for old, new in (
        ("spare: 1/3", "spare: 20%"),
        ("job: serve, machine: crucible", "job: serve, machine: anvil"),
        ("memory: 128 GiB\n    state: up\n", "memory: 128 GiB\n"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    before = told(policy)
    file.write_text(text)
    after = told(Policy.load(folder / "rules", folder / "facts"))
    assert {(m.law, m.subject): (m.old, m.new) for m in moves.moved} == differing(
        before[0], after[0]
    )
    assert {(p.plan, p.subject) for p in moves.plans} == differing(before[1], after[1]).keys()
