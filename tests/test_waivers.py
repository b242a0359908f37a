"""Waivers: worked by hand on ``docs/small``, and on a law of two reasons with figures.

crucible has 16 GiB, of which a tenth is kept free, and `serve` needs 15 GiB: `too_large(crucible)`.
`train` fits anvil, and nobody looked at bellows, where `index` is to run.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support import write_rules
from test_diff import commit, repo

from ullage import Policy, PolicyError, Set, UsageError
from ullage.changes import Add
from ullage.cli import main
from ullage.days import read_day
from ullage.diff.result import Diff, Verdict, step
from ullage.findings import Finding, Severity
from ullage.lawtests.running import read_cases, run_tests
from ullage.moves import Moved
from ullage.records.record import Record
from ullage.records.replay import replay
from ullage.render import FORMATS, View
from ullage.results import Standing, StandingClass, Waiver

__all__ = ["repo"]

SMALL = Path(__file__).resolve().parents[1] / "docs" / "small"
MAY = date(2026, 5, 4)
"""A day on which every waiver of these tests is in force that is not said to have expired."""

TABLE = """\
tables:
  waiver:
    doc: A refusal that is suspended.
    key: {law: text, subject: text, refusal: text}
    columns:
      reason: {sort: text, required: true}
      owner: {sort: text, required: true}
      expires: {sort: text, required: true}
"""

ITEMS = """\
tables:
  item:
    key: {item: item, place: place}
    columns:
      weight: {sort: bytes, required: true}
      sealed: {sort: bool}
"""

LAW = """\
% Purpose  what may be shipped
% Input    item/1, item/3
% Output   standing/3, reason/3

%*! ship(Item, Place)
Whether an item may go.
Args:
  - Item: item
  - Place: place
Subjects: item((Item, Place))
Verdicts:
  - goes [established]
  - stays [refused]
Reasons:
  - heavy(By: bytes): it is {By} too heavy
  - open: it is not sealed
  - odd(Item: item): {Item} is odd
*%

%*! _heavy(Item, Place, By)
By how much it is too heavy.
Args:
  - Item: item
  - Place: place
  - By: bytes
*%
_heavy(I, P, W - "1 kB") :- item((I, P), weight, W), W > "1 kB".

%*! _open(Item, Place)
It is not sealed.
Args:
  - Item: item
  - Place: place
*%
_open(I, P) :- item((I, P)), not item((I, P), sealed, true).

%!trace_rule {"% stays", I}.
standing(ship, (I, P), stays) :- _heavy(I, P, _).

%!trace_rule {"% stays open", I}.
standing(ship, (I, P), stays) :- _open(I, P).

%!trace_rule {"% goes", I}.
standing(ship, (I, P), goes) :- item((I, P)), not _open(I, P), not _heavy(I, P, _).

%!trace_rule {"% is too heavy", I}.
reason(ship, (I, P), heavy(By)) :- _heavy(I, P, By).

%!trace_rule {"% is open", I}.
reason(ship, (I, P), open) :- _open(I, P).

%!trace_rule {"% is odd", I}.
reason(ship, (I, P), odd(I)) :- item((I, P), weight, "7 B").
"""


ROWS: dict[str, list[dict[str, object]]] = {
    "machine": [{"machine": "crucible", "memory": "16 GiB", "state": "up", "source": "a test"}],
    "job": [{"job": "serve", "machine": "crucible", "need": "15 GiB"}],
}
"""The rows of `serve` alone."""


def row(refusal: str = "too_large", subject: str = "serve", **other: str) -> dict[str, object]:
    """A row of the table."""
    given = {"law": "room", "subject": subject, "refusal": refusal, "reason": "it swaps"}
    return {**given, "owner": "lab", "expires": "2027-03-01", **other}


def folder(path: Path, *waivers: Mapping[str, object]) -> Path:
    """The small policy with the table and these rows of it, in a folder."""
    shutil.copytree(SMALL, path)
    (path / "rules" / "tables" / "waivers.yaml").write_text(TABLE)
    if waivers:
        (path / "facts" / "waivers.yaml").write_text(json.dumps({"waiver": waivers}))
    return path


def load(path: Path, on: date = MAY) -> Policy:
    return Policy.load(path / "rules", path / "facts", on=on)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: `serve` is waived through the first of March."""
    there = folder(tmp_path / "here", row())
    monkeypatch.chdir(there)
    return there


def items(
    path: Path, *rows: Mapping[str, object], waivers: Sequence[Mapping[str, object]]
) -> Policy:
    """The policy of ``LAW`` over items and waivers."""
    rules = write_rules(path, ITEMS, LAW)
    (rules / "tables" / "1.yaml").write_text(TABLE)
    return Policy.load(rules, rows={"item": rows, "waiver": waivers}, on=MAY)


def item(weight: str = "1 kB", sealed: bool = True, **other: str) -> dict[str, object]:
    return {"item": "urn", "place": "hall", "weight": weight, "sealed": sealed, **other}


def ship(refusal: str, subject: str = "urn/hall", **other: str) -> dict[str, object]:
    return row(refusal, subject, law="ship", **other)


def one(policy: Policy, subject: str = "serve") -> Standing:
    [found] = policy.standings(subject=subject)
    return found


def codes(findings: Sequence[Finding]) -> list[str]:
    return [f.code for f in findings]


def told(finding: Finding) -> tuple[str, str, int, int]:
    at = finding.positions[0]
    return finding.code, at.file, at.line, at.column


# What a waiver is of, and when it is in force.


def test_nothing_that_was_concluded_is_otherwise(tmp_path: Path) -> None:
    bare, waived = (
        load(folder(tmp_path / name, *rows)) for name, rows in (("a", []), ("b", [row()]))
    )
    found = one(waived)
    assert (found.standing, found.verdict) == (StandingClass.REFUSED, "refused")
    assert found.reasons == one(bare).reasons
    assert [s.subject_text for s in waived.standings() if s.waivers] == ["serve"]
    assert found.waived
    assert found.waived_until == date(2027, 3, 1)
    [waiver] = found.waivers
    assert waiver == Waiver("too_large", "it swaps", "lab", date(2027, 3, 1), waiver.position)
    assert (waiver.position.file, waiver.position.line) == (
        str(tmp_path / "b" / "facts" / "waivers.yaml"),
        1,
    )


@pytest.mark.parametrize(
    ("day", "waived"),
    [
        (date(2027, 2, 28), True),
        (date(2027, 3, 1), True),
        (date(2027, 3, 2), False),
        (date.min, True),
        (date.max, False),
    ],
)
def test_it_is_in_force_through_its_last_day(day: date, waived: bool, tmp_path: Path) -> None:
    assert one(load(folder(tmp_path / "a", row()), day)).waived is waived


def test_without_a_day_it_is_today_in_utc(tmp_path: Path) -> None:
    before = datetime.now(UTC).date()
    rows = [row(expires=before.isoformat())]
    there = folder(tmp_path / "a", *rows)
    policy = Policy.load(there / "rules", there / "facts")
    assert policy.on in (before, datetime.now(UTC).date())
    if policy.on == before:
        assert one(policy).waived
    old = row(expires=(before - timedelta(days=1)).isoformat())
    assert not one(policy.over({**ROWS, "waiver": [old]})).waived


@pytest.mark.parametrize(
    ("refusals", "waived", "unwaived"),
    [
        ([], False, ["heavy", "open"]),
        (["heavy"], False, ["open"]),
        (["open"], False, ["heavy"]),
        (["heavy", "open"], True, []),
        (["heavy(24 bytes)", "open"], True, []),
        (["heavy", "heavy(24 bytes)", "open"], True, []),
    ],
)
def test_each_reason_is_to_be_matched(
    refusals: list[str], waived: bool, unwaived: list[str], tmp_path: Path
) -> None:
    policy = items(tmp_path, item("1.024 kB", sealed=False), waivers=list(map(ship, refusals)))
    found = one(policy, "urn/hall")
    assert found.waived is waived
    assert [w.refusal for w in found.waivers] == sorted(refusals)
    assert [r.name for r in found.unwaived] == unwaived
    assert codes(policy.check()) == []


@pytest.mark.parametrize(
    ("refusal", "waived"),
    [
        ("heavy", True),
        ("heavy(24 bytes)", True),
        ("heavy(24)", False),
        ("heavy(25 bytes)", False),
        ("heavy(0.024 kB)", False),
        ("heavy( 24 bytes )", False),
    ],
)
def test_the_whole_text_of_a_reason_is_of_that_one_alone(
    refusal: str, waived: bool, tmp_path: Path
) -> None:
    policy = items(tmp_path, item("1.024 kB"), waivers=[ship(refusal)])
    assert one(policy, "urn/hall").waived is waived
    assert codes(policy.check()) == ([] if waived else ["idle-waiver"])


def test_a_figure_is_exact_where_its_display_is_rounded(tmp_path: Path) -> None:
    weight = "4194303 B"
    by = 4194303 - 1000
    policy = items(tmp_path, item(weight), waivers=[ship(f"heavy({by} bytes)")])
    found = one(policy, "urn/hall")
    assert found.waived
    assert str(by) not in str(found.reasons[0])


def test_a_waiver_of_one_place_is_of_no_other(tmp_path: Path) -> None:
    both = [item("2 kB"), item("2 kB", place="yard")]
    policy = items(tmp_path, *both, waivers=[ship("heavy", "urn/yard")])
    assert {s.subject_text: s.waived for s in policy.standings()} == {
        "urn/hall": False,
        "urn/yard": True,
    }


def test_the_earliest_day_counts_and_of_one_reason_the_latest(tmp_path: Path) -> None:
    waivers = [
        ship("heavy", expires="2027-01-01"),
        ship("heavy(1000 bytes)", expires="2027-06-01"),
        ship("open", expires="2027-03-01"),
    ]
    policy = items(tmp_path, item("2 kB", sealed=False), waivers=waivers)
    assert one(policy, "urn/hall").waived_until == date(2027, 3, 1)


@given(st.text(alphabet="0123456789-/ T:W", max_size=12))
def test_a_day_is_written_in_one_way(text: str) -> None:
    day = read_day(text)
    assert day is None or day.isoformat() == text


@given(st.dates())
def test_every_day_is_read(day: date) -> None:
    assert read_day(day.isoformat()) == day


# What the command line makes of it.


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main([*words])
    told = capsys.readouterr()
    return status, told.out, told.err


@pytest.mark.usefixtures("serve")
def test_fail_on_refused_passes_a_waived_one_over_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, _, err = run(capsys, "standings", "--fail-on", "refused", "--on", "2027-03-01")
    assert status == 0
    assert err == (
        "ullage: 1 refused standing is waived, and passed over: room serve until 2027-03-01\n"
    )
    status, _, err = run(capsys, "standings", "--fail-on", "refused", "--on", "2027-03-02")
    assert status == 2
    assert err == "ullage: 1 standing is refused: room serve\n"
    status, _, err = run(capsys, "standings", "--on", "2027-03-01")
    assert (status, err) == (0, "")


@pytest.mark.usefixtures("serve")
@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["plan"],
        ["what-if", "--set", "job/train/need=1 GiB"],
        ["query", "job(J)"],
        ["why", "room", "serve"],
        ["why-not", "room", "serve"],
    ],
)
def test_every_verb_that_weighs_standings_takes_a_day(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, *words, "--fail-on", "refused", "--on", "2027-03-01")[0] == 0
    assert run(capsys, *words, "--fail-on", "refused", "--on", "2027-03-02")[0] == 2


@pytest.mark.usefixtures("serve")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["standings", "--on", "1.3.2027"], "`1.3.2027`"),
        (["standings", "--on", "2027-02-29"], "`2027-02-29`"),
        (["standings", "--on", "20270301"], "`20270301`"),
        (["standings", "--on", ""], "``"),
        (["standings", "--on", "2027-03-01", "--on", "2027-03-01"], "twice"),
        (["test", "--on", "2027-03-01"], "`ullage test`"),
        (["verify", "proof.json", "--on", "2027-03-01"], "`ullage verify`"),
    ],
)
def test_what_is_no_day_or_takes_none_is_a_wrong_use(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (1, "")
    assert said in err


def test_no_policy_may_name_a_flag_so(tmp_path: Path) -> None:
    there = folder(tmp_path / "a")
    (there / "rules" / "tables" / "flags.yaml").write_text("flags:\n  on: {selects: machine}\n")
    [finding] = load(there).check()
    assert (finding.code, finding.positions[0].line) == ("bad-declaration", 2)


# Where it is shown.


@pytest.mark.usefixtures("serve")
def test_people_see_it_below_the_standing(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "standings", "--on", "2027-03-01")
    assert out.splitlines()[:3] == [
        "room                      1 refused (1 waived) · 1 unestablished · 1 established",
        "  refused        serve    it needs more than crucible has free",
        "      waived until 2027-03-01 by lab: it swaps",
    ]
    _, out, _ = run(capsys, "plan", "--on", "2027-03-01")
    lines = out.splitlines()
    at = lines.index("  refused  it needs more than crucible has free  (serve)")
    assert lines[at + 1] == "      waived until 2027-03-01 by lab: it swaps"
    _, out, _ = run(capsys, "why", "room", "serve", "--on", "2027-03-01")
    assert out.splitlines()[:3] == [
        "room of serve: refused (waived); it needs more than crucible has free",
        "  waived until 2027-03-01 by lab: it swaps",
        "",
    ]
    _, out, _ = run(capsys, "why-not", "room", "serve", "--format", "markdown")
    assert "\nwaived until 2027-03-01 by lab: it swaps\n" in out


def test_people_see_what_is_not_waived(tmp_path: Path) -> None:
    policy = items(tmp_path, item("2 kB", sealed=False), waivers=[ship("open")])
    text = FORMATS["human"](View()).standings(policy.standings())
    assert text.splitlines()[0].endswith("1 refused")
    assert text.splitlines()[2:] == [
        "      open waived until 2027-03-01 by lab: it swaps",
        "      not waived: heavy(1000 bytes)",
    ]


@pytest.mark.usefixtures("serve")
def test_concise_has_it_behind_the_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--subject", "serve", "--format", "concise", "--on", "2027-03-01")
    _, out, _ = run(capsys, "standings", *words)
    assert out == (
        "room serve refused refused too_large(crucible) "
        '| waived too_large until 2027-03-01 by lab: "it swaps"\n'
    )


def valid(name: str, text: str) -> Any:
    """A document that its schema takes."""
    schema = json.loads((files("ullage") / "schemas" / f"{name}-1.json").read_text("utf-8"))
    document = json.loads(text)
    Draft202012Validator(schema).validate(document)
    return document


WAIVED = {
    "refusal": "too_large",
    "reason": "it swaps",
    "owner": "lab",
    "expires": "2027-03-01",
    "file": "facts/waivers.yaml",
    "line": 1,
    "column": 13,
}


@pytest.mark.usefixtures("serve")
def test_json_has_it_wherever_it_has_a_standing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def document(name: str, *words: str) -> Any:
        _, out, _ = run(capsys, *words, "--format", "json", "--on", "2027-03-01")
        return valid(name, out)

    found = document("standings", "standings")["standings"]
    assert [(s["waived"], s["waivers"]) for s in found] == [
        (False, []),
        (True, [WAIVED]),
        (False, []),
    ]
    judged = [p["judged"] for p in document("plan", "plan")["plans"]]
    assert [j["waivers"] for j in judged if j["waived"]] == [[WAIVED]]
    denied = document("why-not", "why-not", "room", "serve")
    assert denied["standing"]["waivers"] == [WAIVED]
    gone = ("--set", "waiver/room/serve/too_large/expires=2027-02-28")
    [moved] = document("what-if", "what-if", *gone)["moved"]
    assert [moved[side]["waivers"] for side in ("old", "new")] == [[WAIVED], []]
    before = str(folder(tmp_path / "before"))
    [moved] = document("diff", "diff", before, ".")["moved"]
    assert (moved["old"]["waived"], moved["new"]["waived"], moved["way"]) == (False, True, "looser")
    assert moved["new"]["waivers"] == [WAIVED]


@pytest.mark.parametrize("format", ["human", "concise", "markdown"])
def test_hostile_words_forge_nothing(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = row(owner="A\nroom train refused", reason="<b>|x|`y`")
    monkeypatch.chdir(folder(tmp_path / "here", hostile))
    before = str(folder(tmp_path / "before"))
    how = ("--format", format, "--on", "2026-05-04")
    _, out, _ = run(capsys, "diff", before, ".", *how)
    assert not any(line.startswith("room train") for line in out.splitlines())
    shown = r"\<b\>\|x\|\`y\`" if format == "markdown" else "<b>|x|`y`"
    assert shown in out
    if format == "markdown":
        assert "<b>" not in out
        _, out, _ = run(capsys, "why", "room", "serve", *how)
        assert shown in out
        assert not any(line.startswith("room train") for line in out.splitlines())
    else:
        _, out, _ = run(capsys, "standings", *how)
        [line] = [line for line in out.splitlines() if "<b>" in line]
        assert "waived" in line


# What moves.


def diff(old: Path, new: Path, on: date = MAY) -> Diff:
    return load(old, on).diff(load(new, on))


def causes(found: Diff) -> list[tuple[str, bool, list[str]]]:
    return [
        (r.move.subject_text, r.alone, [f"{c.kind} {c.change} {c.what}" for c in r.causes])
        for r in found.moved
    ]


def test_a_waiver_that_comes_is_looser_and_is_the_cause(tmp_path: Path) -> None:
    old, new = folder(tmp_path / "a"), folder(tmp_path / "b", row())
    found = diff(old, new)
    assert found.verdict is Verdict.LOOSER
    assert causes(found) == [("serve", True, ["fact added waiver room/serve/too_large"])]
    assert found.left == 2
    back = diff(new, old)
    assert back.verdict is Verdict.STRICTER
    assert causes(back) == [("serve", True, ["fact removed waiver room/serve/too_large"])]


def test_only_the_waivers_of_what_moved_are_its_causes(tmp_path: Path) -> None:
    others = [row("machine_down"), row("too_large(anvil)"), row("too_large", "train")]
    found = diff(folder(tmp_path / "a"), folder(tmp_path / "b", *others, row()))
    assert causes(found) == [("serve", True, ["fact added waiver room/serve/too_large"])]
    assert len(found.without_effect) == 3


def test_a_waived_refusal_is_stricter_than_what_nobody_has_read(tmp_path: Path) -> None:
    """It is the machine that moved it: without that, the waiver would be idle."""
    new = folder(tmp_path / "b", row("machine_down", "index"))
    machines = new / "facts" / "machines.yaml"
    machines.write_text(machines.read_text().replace("gpus: 2", "state: down"))
    found = diff(folder(tmp_path / "a"), new)
    assert found.verdict is Verdict.STRICTER
    [moved] = found.moved
    assert isinstance(moved.move, Moved)
    assert moved.move.new is not None
    assert moved.move.new.waived
    assert [c.what for c in moved.causes] == ["machine bellows: state (nothing) -> down"]
    assert "waiver room/index/machine_down" in [c.what for c in found.without_effect]


@pytest.mark.parametrize(
    ("change", "verdict", "what"),
    [
        ({"expires": "2027-04-01"}, Verdict.LOOSER, "expires 2027-03-01 -> 2027-04-01"),
        ({"expires": "2026-05-03"}, Verdict.STRICTER, "expires 2027-03-01 -> 2026-05-03"),
        ({"owner": "ops"}, Verdict.NEITHER, "owner lab -> ops"),
        ({"reason": "it waits"}, Verdict.NEITHER, "reason it swaps -> it waits"),
    ],
)
def test_a_cell_of_a_waiver_moves_what_it_is_of(
    change: dict[str, str], verdict: Verdict, what: str, tmp_path: Path
) -> None:
    found = diff(folder(tmp_path / "a", row()), folder(tmp_path / "b", row(**change)))
    assert found.verdict is verdict
    assert causes(found) == [("serve", True, [f"fact changed waiver room/serve/too_large: {what}"])]


def test_a_row_that_only_moved_moves_nothing(tmp_path: Path) -> None:
    old, new = (folder(tmp_path / name, row()) for name in "ab")
    (new / "facts" / "waivers.yaml").rename(new / "facts" / "a.yaml")
    assert diff(old, new).verdict is Verdict.EQUAL


def test_two_waivers_that_are_both_needed_are_both_causes(tmp_path: Path) -> None:
    weights = item("2 kB", sealed=False)
    old = items(tmp_path / "a", weights, waivers=[])
    new = items(tmp_path / "b", weights, waivers=[ship("heavy"), ship("open")])
    [moved] = old.diff(new).moved
    assert not moved.alone
    assert sorted(c.what for c in moved.causes) == [
        "waiver ship/urn/hall/heavy",
        "waiver ship/urn/hall/open",
    ]


def test_a_day_that_went_by_is_no_change(tmp_path: Path) -> None:
    there = folder(tmp_path / "a", row())
    march, later = load(there, date(2027, 3, 1)), load(there, date(2027, 3, 2))
    assert march.diff(later).verdict is Verdict.EQUAL
    assert later.diff(march).verdict is Verdict.EQUAL
    assert march.on == date(2027, 3, 1)
    assert one(march).waived


def test_a_day_that_went_by_is_no_cause_of_what_moved_on_it(tmp_path: Path) -> None:
    old, new = (folder(tmp_path / name, row()) for name in "ab")
    machines = new / "facts" / "machines.yaml"
    machines.write_text(machines.read_text().replace("128 GiB", "100 GiB"))
    found = load(old, date(2027, 3, 1)).diff(load(new, date(2027, 3, 2)))
    assert causes(found) == [
        ("train", True, ["fact changed machine anvil: memory 128 GiB -> 100 GiB"])
    ]


def test_a_table_that_is_declared_with_its_first_waiver(tmp_path: Path) -> None:
    old, new = folder(tmp_path / "a"), folder(tmp_path / "b", row())
    (old / "rules" / "tables" / "waivers.yaml").unlink()
    found = diff(old, new)
    assert causes(found) == [
        ("serve", True, ["fact added waiver room/serve/too_large", "rule added table waiver"])
    ]


def moved_of(policy: Policy, *changes: Set | Add) -> list[tuple[object, ...]]:
    moves = policy.what_if(changes)
    assert moves.left == 3 - sum(m.old is not None for m in moves.moved)
    return [
        (m.subject_text, *(None if s is None else s.waived for s in (m.old, m.new)))
        for m in moves.moved
    ]


def test_a_waiver_may_be_supposed(tmp_path: Path) -> None:
    policy = load(folder(tmp_path / "a"))
    wish = tmp_path / "wish.yaml"
    wish.write_text(json.dumps({"waiver": [row(), row("too_large", "train")]}))
    assert moved_of(policy, Add(wish)) == [("serve", False, True)]
    wish.write_text(json.dumps({"waiver": [row(expires="2026-05-03")]}))
    assert moved_of(policy, Add(wish)) == []


def test_what_a_change_of_facts_moves_has_the_waivers_of_each_side(tmp_path: Path) -> None:
    policy = load(folder(tmp_path / "a", row(), row("too_large", "train")))
    assert moved_of(policy, Set("job", "train", "need", "120 GiB")) == [("train", False, True)]
    assert moved_of(policy, Set("job", "serve", "need", "1 GiB")) == [("serve", True, False)]
    both = [
        Set("job", "train", "need", "120 GiB"),
        Set("waiver", "room/train/too_large", "expires", "2026-05-03"),
        Set("waiver", "room/serve/too_large", "expires", "2026-05-04"),
    ]
    assert moved_of(policy, *both) == [("serve", True, True), ("train", False, False)]


def test_what_is_supposed_is_held_to_the_rules_of_waivers(tmp_path: Path) -> None:
    policy = load(folder(tmp_path / "a", row()))
    with pytest.raises(PolicyError) as caught:
        policy.what_if([Set("waiver", "room/serve/too_large", "expires", "soon")])
    assert [told(f) for f in caught.value.findings] == [
        ("bad-waiver", "<--set>", 1, len("waiver/room/serve/too_large/expires=") + 1)
    ]


def test_the_day_is_kept_by_every_policy_that_is_made_of_one(tmp_path: Path) -> None:
    day = date(2027, 3, 1)
    policy = load(folder(tmp_path / "a", row()), day)
    changed = policy.supposing([Set("job", "train", "need", "1 GiB")])
    over = policy.over({**ROWS, "waiver": [row()]})
    assert (changed.on, over.on) == (day, day)
    assert one(changed).waived
    assert one(over).waived
    [standing] = policy.plan(flags={"machine": "crucible"}).standings
    assert standing.waived
    supposed = policy.plan("placement", {"machine": "crucible", "anvil-spare": "1/3"})
    assert [s.waived for s in supposed.standings] == [True]
    for found in (policy.why("room", "serve"), policy.why_not("room", "serve")):
        assert found.standing is not None
        assert found.standing.waived


REFUSALS = ("heavy", "heavy(1000 bytes)", "heavy(2 bytes)", "open")
DAYS = (date(2026, 5, 3), date(2026, 5, 4), date(2026, 5, 5))
PLACES = ("hall", "yard")

GIVEN = st.dictionaries(
    st.tuples(st.sampled_from(PLACES), st.sampled_from(REFUSALS)), st.sampled_from(DAYS)
)
SHAPES = st.tuples(st.booleans(), st.booleans())
"""Whether an item is too heavy, and whether it is open."""


def last_day(
    heavy: bool, open_: bool, place: str, given: Mapping[tuple[str, str], date]
) -> date | None:
    """The last day on which an item is waived, by hand; None where it is not on that of the tests.

    Of one reason the last of its waivers counts, of several reasons the first that is open again.
    """
    there = {r: day for (p, r), day in given.items() if p == place and day >= MAY}
    names = [{"heavy", "heavy(1000 bytes)"}] * heavy + [{"open"}] * open_
    lasts = [[day for r, day in there.items() if r in of_one] for of_one in names]
    return min(map(max, lasts)) if lasts and all(lasts) else None


def worked_out(heavy: bool, open_: bool, place: str, given: Mapping[tuple[str, str], date]) -> bool:
    """Whether an item is waived on the day of these tests, by hand."""
    return last_day(heavy, open_, place, given) is not None


def way(before: date | None, after: date | None) -> int:
    """Longer is looser; so is a waiver where none was."""
    first, second = before or date.min, after or date.min
    return (second > first) - (second < first)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """The policy of ``LAW`` on the day of these tests; rows are given to it."""
    return items(tmp_path_factory.mktemp("law"), waivers=[])


def two(shapes: Sequence[tuple[bool, bool]]) -> list[dict[str, object]]:
    return [
        item("2 kB" if heavy else "1 kB", sealed=not open_, place=place)
        for place, (heavy, open_) in zip(PLACES, shapes, strict=True)
    ]


def given_rows(given: Mapping[tuple[str, str], date]) -> list[dict[str, object]]:
    return [ship(r, f"urn/{p}", expires=day.isoformat()) for (p, r), day in given.items()]


@settings(deadline=None, max_examples=40)
@given(st.tuples(SHAPES, SHAPES), GIVEN, st.randoms())
def test_waivers_in_any_order_change_nothing_that_is_concluded(
    bare: Policy,
    shapes: tuple[tuple[bool, bool], ...],
    given: dict[tuple[str, str], date],
    luck: random.Random,
) -> None:
    rows = given_rows(given)
    plain = bare.over({"item": two(shapes)})
    found = bare.over({"item": two(shapes), "waiver": rows}).standings()
    assert [replace(s, waivers=()) for s in found] == list(plain.standings())
    assert [s.waived for s in found] == [
        worked_out(*shape, place, given) for shape, place in zip(shapes, PLACES, strict=True)
    ]
    luck.shuffle(rows)
    assert bare.over({"item": two(shapes), "waiver": rows}).standings() == found


@settings(deadline=None, max_examples=25)
@given(st.tuples(SHAPES, SHAPES), GIVEN, GIVEN)
def test_what_a_change_of_waivers_moves_is_worked_out_by_hand(
    bare: Policy,
    shapes: tuple[tuple[bool, bool], ...],
    before: dict[tuple[str, str], date],
    after: dict[tuple[str, str], date],
) -> None:
    old, new = (
        bare.over({"item": two(shapes), "waiver": given_rows(rows)}) for rows in (before, after)
    )
    found = old.diff(new)
    sides = [{s.subject_text: s for s in p.standings()} for p in (old, new)]
    moved = [n for n in sides[0] if sides[0][n].waivers != sides[1][n].waivers]
    assert sorted(r.move.subject_text for r in found.moved) == sorted(moved)
    ways = {step(r.move) for r in found.moved}
    by_hand = {
        way(last_day(*shape, place, before), last_day(*shape, place, after))
        for shape, place in zip(shapes, PLACES, strict=True)
        if f"urn/{place}" in moved
    }
    assert ways == by_hand
    for reasoned in found.moved:
        named = {c.what.split(": ")[0] for c in reasoned.causes}
        subject = reasoned.move.subject_text
        assert named
        assert all(what.startswith(f"waiver ship/{subject}/") for what in named)


def test_a_history_has_the_commit_that_waived(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rules/tables/waivers.yaml").write_text(TABLE)
    commit("a table of waivers")
    Path("facts/waivers.yaml").write_text(json.dumps({"waiver": [row()]}))
    commit("serve is waived")
    words = ("log", "serve", "--on", "2027-03-01")
    _, out, _ = run(capsys, *words, "--format", "json")
    document = valid("log", out)
    assert [(t["commit"]["title"], t["way"]) for t in document["moves"]] == [
        ("serve is waived", "looser")
    ]
    assert document["standings"][0]["waivers"] == [WAIVED]
    status, out, _ = run(capsys, *words, "--fail-on", "refused")
    assert status == 0
    assert "waived until 2027-03-01 by lab: it swaps" in out.splitlines()[1]
    status, out, _ = run(capsys, "log", "serve", "--on", "2027-03-02", "--fail-on", "refused")
    assert status == 2
    assert "the inventory of May" in out
    assert "waived" not in out
    _, out, _ = run(capsys, "diff", "HEAD~1", "HEAD", "--on", "2027-03-02")
    assert out.startswith("equal: nothing moves\n")


# Records.


def test_a_record_shows_it_and_a_replay_does_not_compare_it(tmp_path: Path) -> None:
    there = folder(tmp_path / "a", row())
    record = load(there).record()
    document = valid("record", record.text)
    [serve] = [s for s in document["standings"] if s["waived"]]
    assert [(w["refusal"], w["owner"]) for w in serve["waivers"]] == [("too_large", "lab")]
    record = Record.read(record.write(tmp_path))
    for day in (MAY, date(2027, 3, 2)):
        assert replay(record, load(there, day)).findings == ()
    (there / "facts" / "waivers.yaml").unlink()
    assert replay(record, load(there)).findings == ()


def test_a_record_from_before_waivers_holds(tmp_path: Path) -> None:
    there = folder(tmp_path / "a", row())
    record = load(there).record()
    old = [
        replace(s, told={k: v for k, v in s.told.items() if not k.startswith("waive")})
        for s in record.standings
    ]
    record = Record.read(replace(record, standings=tuple(old)).write(tmp_path))
    assert replay(record, load(there)).equal


def test_a_record_masks_what_a_waiver_repeats(tmp_path: Path) -> None:
    there = folder(tmp_path / "a", row("too_large(crucible)", reason="crucible swaps", owner="lab"))
    tables = there / "rules" / "tables" / "machines.yaml"
    tables.write_text(
        tables.read_text().replace(
            "key: {machine: machine}", "key: {machine: {sort: machine, sensitive: true}}"
        )
    )
    waivers = there / "rules" / "tables" / "waivers.yaml"
    waivers.write_text(
        waivers.read_text().replace("owner: {sort: text, ", "owner: {sort: text, sensitive: true, ")
    )
    record = load(there).record()
    valid("record", record.text)
    assert "crucible" not in record.text
    assert '"lab"' not in record.text
    assert '"2027-03-01"' in record.text
    assert replay(record, load(there)).equal


def test_a_record_masks_a_figure_that_a_waiver_repeats(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, ITEMS.replace("bytes, ", "bytes, sensitive: true, "), LAW)
    (rules / "tables" / "1.yaml").write_text(TABLE)
    rows = {"item": [item("1.024 kB")], "waiver": [ship("heavy(24 bytes)")]}
    record = Policy.load(rules, rows=rows, on=MAY).record()
    [standing] = record.standings
    assert standing.told["reasons"][0]["args"]["by"].keys() == {"masked"}
    assert standing.told["waivers"][0]["refusal"].keys() == {"masked"}
    assert "24 bytes" not in record.text


# Findings.


def test_the_shipped_catalog_waives_nothing() -> None:
    policy = Policy.load("rules", "facts")
    assert policy.facts.rows["waiver"] == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (", refusal: text}", "}", 2, "`refusal`"),
        ("refusal: text}", "refusal: text, part: text}", 4, "`part`"),
        ("subject: text", "subject: count", 4, "`count`"),
        ("      owner: {sort: text, required: true}\n", "", 2, "`owner`"),
        ("owner: {sort: text, required: true}", "owner: text", 7, "not required"),
        ("expires: {sort: text", "expires: {sort: bool", 8, "`bool`"),
        ("reason: {sort: text", "reason: {sort: text, list: true", 6, "list"),
    ],
)
def test_a_table_of_that_name_has_its_columns(
    old: str, new: str, line: int, said: str, tmp_path: Path
) -> None:
    there = folder(tmp_path / "a")
    tables = there / "rules" / "tables" / "waivers.yaml"
    assert old in TABLE
    tables.write_text(TABLE.replace(old, new))
    [finding] = load(there).check()
    assert (finding.code, finding.positions[0].line) == ("bad-declaration", line)
    assert said in finding.message


def test_a_table_may_have_columns_of_its_own_and_names_for_its_texts(tmp_path: Path) -> None:
    there = folder(tmp_path / "a", row(owner="lab", ticket="7"))
    tables = there / "rules" / "tables" / "waivers.yaml"
    declared = TABLE.replace("owner: {sort: text", "owner: {sort: team, references: team")
    declared = declared.replace("{law: text, subject: text", "{subject: text, law: text")
    team = "  team:\n    key: {team: team}\n    columns: {}\n"
    tables.write_text(declared + "      ticket: count\n" + team)
    (there / "facts" / "teams.yaml").write_text("team: [{team: lab}]\n")
    policy = load(there)
    assert codes(policy.check()) == []
    assert one(policy).waived
    assert causes(load(folder(tmp_path / "b")).diff(policy))[0][0] == "serve"


FAULTY = """\
waiver:
  - law: {law}
    subject: serve
    refusal: {refusal}
    reason: it swaps
    owner: lab
    expires: {expires}
"""


@pytest.mark.parametrize(
    ("cells", "line", "column", "said", "help"),
    [
        ({"expires": "2027-02-29"}, 7, 14, "`2027-02-29`", "2027-03-01"),
        ({"expires": "2027-3-1"}, 7, 14, "`2027-3-1`", "2027-03-01"),
        ({"expires": "20270301"}, 7, 14, "`20270301`", "2027-03-01"),
        ({"expires": "never"}, 7, 14, "`never`", "2027-03-01"),
        ({"expires": "2027-03-01T00:00:00Z"}, 7, 14, "no day", "2027-03-01"),
        ({"expires": "0000-01-01"}, 7, 14, "no day", "2027-03-01"),
        ({"law": "rooms"}, 2, 10, "`rooms`", "a similar law is `room`"),
        ({"law": "fit"}, 2, 10, "`fit`", "laws are `room`"),
        ({"refusal": "to_large"}, 4, 14, "`to_large`", "`too_large`"),
        ({"refusal": "broken"}, 4, 14, "`broken`", "its reasons are `too_large`, `machine_down`"),
        ({"refusal": "refused"}, 4, 14, "`refused`", "its reasons are"),
        ({"refusal": "to_large(crucible)"}, 4, 14, "`to_large(crucible)`", "`too_large`"),
        ({"refusal": "too_large(crucible"}, 4, 14, "`too_large(crucible`", "`too_large(Machine)`"),
        ({"refusal": '" too_large"'}, 4, 14, "too_large", "`too_large`"),
        ({"refusal": '""'}, 4, 14, "no reason", "its reasons are"),
    ],
)
def test_a_bad_waiver_is_an_error_at_its_cell(
    cells: dict[str, str], line: int, column: int, said: str, help: str, tmp_path: Path
) -> None:
    there = folder(tmp_path / "a")
    file = there / "facts" / "waivers.yaml"
    sound = {"law": "room", "refusal": "too_large", "expires": "2027-03-01"}
    file.write_text(FAULTY.format(**{**sound, **cells}))
    policy = load(there)
    [finding] = policy.findings
    assert told(finding) == ("bad-waiver", str(file), line, column)
    assert finding.severity is Severity.ERROR
    assert said in finding.message
    assert help in finding.help
    with pytest.raises(PolicyError):
        policy.standings()


def test_a_reason_without_arguments_has_no_brackets(tmp_path: Path) -> None:
    policy = items(tmp_path, item(sealed=False), waivers=[ship("open()")])
    [finding] = policy.findings
    assert (finding.code, finding.help) == ("bad-waiver", "write `open`")


def test_every_fault_of_a_waiver_is_told_at_once(tmp_path: Path) -> None:
    rows = [row(expires="soon"), row("broken", expires="later"), row(law="rooms")]
    assert codes(load(folder(tmp_path / "a", *rows)).findings) == ["bad-waiver"] * 4


def test_one_mistake_is_one_finding(tmp_path: Path) -> None:
    """Of a law that cannot be read, nothing is said of its waivers."""
    there = folder(tmp_path / "a", row())
    law = there / "rules" / "room.lp"
    law.write_text(law.read_text().replace("  - refused [refused]", "  - refused [refusd]"))
    assert "bad-waiver" not in codes(load(there).findings)
    (there / "facts" / "waivers.yaml").write_text(json.dumps({"waiver": [{"law": "room"}]}))
    assert "bad-waiver" not in codes(load(there).findings)


def test_a_law_test_may_expect_the_finding(tmp_path: Path) -> None:
    there = folder(tmp_path / "a")
    case = {
        "name": "a waiver of nothing",
        "given": {"waiver": [row("broken")]},
        "findings": ["bad-waiver"],
    }
    unexpected = {
        "name": "the same, and it is not expected",
        "given": {"waiver": [row("broken")]},
        "absent": [{"subject": {"job": "serve"}}],
    }
    file = tmp_path / "laws.yaml"
    file.write_text(json.dumps({"law": "room", "cases": [case, unexpected]}))
    report = run_tests(Policy.load(there / "rules", rows={}), read_cases([file]), processes=1)
    assert [r.outcome.value for r in report.results] == ["pass", "error"]


def test_an_expired_waiver_is_a_warning_of_check(tmp_path: Path) -> None:
    policy = load(folder(tmp_path / "a", row()), date(2027, 3, 2))
    [finding] = policy.check()
    assert (finding.code, finding.severity) == ("expired-waiver", Severity.WARNING)
    assert "`serve`" in finding.message
    assert "2027-03-01" in finding.message
    assert policy.findings == ()
    assert codes(load(tmp_path / "a", date(2027, 3, 1)).check()) == []


@pytest.mark.parametrize(
    ("waiver", "column", "said", "help"),
    [
        (row(subject="server"), "subject", "`server`", "`serve`"),
        (row(subject="nobody"), "subject", "`nobody`", "--subject"),
        (row(subject="train"), "subject", "established", "delete"),
        (row(subject="index"), "subject", "unestablished", "delete"),
        (row("machine_down"), "refusal", "`machine_down`", "`too_large(crucible)`"),
        (row("too_large(anvil)"), "refusal", "`too_large(anvil)`", "`too_large(crucible)`"),
    ],
)
def test_an_idle_waiver_is_a_warning_of_check(
    waiver: dict[str, object], column: str, said: str, help: str, tmp_path: Path
) -> None:
    there = folder(tmp_path / "a", waiver)
    [finding] = load(there).check()
    assert (finding.code, finding.severity) == ("idle-waiver", Severity.WARNING)
    assert said in finding.message
    assert help in finding.help
    text = (there / "facts" / "waivers.yaml").read_text()
    assert finding.positions[0].column == text.index(f'"{column}": ') + len(f'"{column}": ') + 1
    supposed = load(there).supposing([Set("machine", "anvil", "gpus", "2")])
    assert supposed.check() == (finding,)


def test_what_is_not_refused_is_not_waived_whatever_its_reasons(tmp_path: Path) -> None:
    policy = items(tmp_path, item("7 B"), waivers=[ship("odd")])
    found = one(policy, "urn/hall")
    assert found.standing is StandingClass.ESTABLISHED
    assert [r.name for r in found.reasons] == ["odd"]
    assert (found.waived, found.waivers) == (False, ())
    assert codes(policy.check()) == ["idle-waiver"]


def test_a_text_that_names_two_subjects_is_no_waiver_of_either(tmp_path: Path) -> None:
    both = [
        item("2 kB", item="a", place="b/c"),
        item("2 kB", item="a/b", place="c"),
    ]
    policy = items(tmp_path, *both, waivers=[ship("heavy", "a/b/c")])
    with pytest.raises(PolicyError) as caught:
        policy.standings()
    assert [f.code for f in caught.value.findings] == ["bad-waiver"]
    assert "2 subjects" in caught.value.findings[0].message
    assert codes(policy.check()) == ["bad-waiver"]


def test_a_law_may_read_the_table(tmp_path: Path) -> None:
    """It is a table like any other, though a law that reads it judges by its own suspension."""
    there = folder(tmp_path / "a", row())
    policy = load(there)
    assert policy.query('waiver((Law, Subject, R), owner, "lab")').rows == (
        ("room", "serve", "too_large"),
    )


def test_no_subject_is_still_a_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        load(folder(tmp_path / "a", row())).standings(subject="nobody")
