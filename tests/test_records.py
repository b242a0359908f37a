"""Decision records: what they hold and mask, that equal runs have equal ones, what replays say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from hmac import new as hmac
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support import declared, load, write_rules

from ullage import Policy, PolicyError, Record, UsageError, replay
from ullage.cli import main
from ullage.cli.exit_code import ExitCode
from ullage.records.flows import flows, sensitive_columns
from ullage.records.shape import first_fault
from ullage.reference.steps import digest
from ullage.tables import load_declarations

ROOT = Path(__file__).parents[1]
SMALL = ROOT / "docs" / "small"
SCHEMA: Any = json.loads((files("ullage") / "schemas" / "record-1.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
KEY = "ULLAGE_RECORD_KEY"
SECRET = "a secret of some length"
FACTS = "facts/machines.yaml"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder that is a copy of the documentation's small policy."""
    shutil.copytree(SMALL, tmp_path / "small")
    monkeypatch.chdir(tmp_path / "small")
    return tmp_path / "small"


def policy() -> Policy:
    return Policy.load("rules", "facts")


def change(path: str, old: str, new: str) -> None:
    text = Path(path).read_text("utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new), "utf-8")


def codes(record: Record, of: Policy | None = None) -> list[str]:
    """The codes of a replay's findings, each once, in order."""
    return sorted({f.code for f in replay(record, of or policy()).findings})


def said(record: Record, of: Policy | None = None) -> str:
    """What a replay says, with every place."""
    lines = []
    for finding in replay(record, of or policy()).findings:
        lines.append(f"{finding.code}: {finding.message}")
        lines += [f"  {p} {p.note}".rstrip() for p in finding.positions]
    return "\n".join(lines)


# What a record holds.


def test_a_record_keeps_to_its_schema_and_comes_back(small: Path) -> None:
    record = policy().record()
    VALIDATOR.check_schema(SCHEMA)
    VALIDATOR.validate(json.loads(record.text))
    assert replace(Record.parse(record.text), origin=record.origin) == record
    assert record.name == f"standings-{record.digest[:16]}.json"
    content = {k: v for k, v in json.loads(record.text).items() if k != "digest"}
    assert digest(content) == record.digest == json.loads(record.text)["digest"]


def test_the_schemas_agree_on_what_a_standing_is() -> None:
    text = (files("ullage") / "schemas" / "standings-1.json").read_text("utf-8")
    standings, record = json.loads(text)["$defs"], SCHEMA["$defs"]
    for name in ("name", "args", "quantity", "term", "reason", "obligation"):
        assert standings[name] == record[name]
    masked = {"$ref": "#/$defs/masked"}
    shown = [kind for kind in record["value"]["anyOf"] if kind != masked]
    assert standings["value"]["anyOf"] == shown != record["value"]["anyOf"]


def test_standings_are_as_the_verb_prints_them(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["standings", "--format", "json"])
    printed = json.loads(capsys.readouterr().out)["standings"]
    assert [dict(s.told) for s in policy().record().standings] == printed


def used(record: Record, subject: str) -> list[str]:
    [standing] = [s for s in record.standings if subject in s.told["subject"].values()]
    rows = (record.rows[i] for i in standing.rows)
    return [f"{row.table} {'/'.join(json.loads(str(k)) for k in row.key)}" for row in rows]


def test_a_standing_rests_on_what_it_was_concluded_from_alone(small: Path) -> None:
    record = policy().record()
    assert used(record, "train") == ["machine anvil", "job train"]
    assert used(record, "index") == ["machine bellows", "job index"]
    assert used(record, "serve") == ["machine crucible", "job serve"]
    [train] = [s for s in record.standings if s.told["subject"] == {"job": "train"}]
    rules = [str(record.rules[i].text).partition(" :-")[0] for i in train.rules]
    assert "standing(room, Job, fits)" in rules
    # What must not hold is told, too; and what nothing of it asks for is not.
    assert "_too_large(Job, Machine)" in rules
    assert "_unseen(Job, Machine)" in rules
    assert not [r for r in rules if r.startswith(("plan(", "reason(", "obligation("))]


def test_digests_are_those_of_proofs(small: Path) -> None:
    loaded = policy()
    record = loaded.record()
    places = {f"{r.file}:{r.line}:{r.column}": r.digest for r in record.rules}
    for row in record.rows:
        content = {"table": row.table, "key": row.key, "cells": row.cells, "source": row.source}
        assert row.digest == digest(content)
        # A proof has one digest of all the rows that stand at a place.
        places[f"{row.file}:{row.line}:{row.column}"] = digest([content])
    for standing in loaded.standings():
        proof = loaded.why(standing.law, standing.subject_text).proof()
        assert proof.digests
        assert proof.digests.items() <= places.items()


def test_a_record_is_of_what_was_asked_for(small: Path) -> None:
    record = policy().record("room", "train")
    assert (record.asked.laws, record.asked.subject) == (("room",), "train")
    assert [s.told["subject"] for s in record.standings] == [{"job": "train"}]
    assert {row.table for row in record.rows} == {"machine", "job"}
    assert len(record.rows) == 2
    with pytest.raises(UsageError, match="no subject"):
        policy().record(subject="tran")


def test_equal_runs_have_equal_records(small: Path) -> None:
    texts = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")}
        words = [sys.executable, "-m", "ullage", "standings", "--record", f"records{seed}"]
        subprocess.run(words, env=environment, check=True, capture_output=True)
        [path] = Path(f"records{seed}").iterdir()
        texts.add((path.name, path.read_bytes()))
    asked = policy()
    for standing in asked.standings():
        asked.why(standing.law, standing.subject_text)
    asked.why_not("room", "train", "refused")
    texts.add((asked.record().name, asked.record().text.encode()))
    assert len(texts) == 1


def test_the_shipped_policy_is_recorded_and_replayed(tmp_path: Path) -> None:
    loaded = Policy.load(ROOT / "rules", ROOT / "facts")
    record = loaded.record()
    VALIDATOR.validate(json.loads(record.text))
    assert len(record.standings) == len(loaded.standings())
    again = Record.read(record.write(tmp_path))
    assert again.text == record.text
    assert replay(again, Policy.load(ROOT / "rules", ROOT / "facts")).findings == ()
    # What one standing rests on is no matter of which others are recorded.
    for number in range(0, len(record.standings), 97):
        told = record.standings[number]
        standing = loaded.standings()[number]
        own = loaded.record(standing.law, standing.subject_text)
        assert own.standings[0].told == told.told
        assert [r.digest for r in own.rows] == [record.rows[i].digest for i in told.rows]
        assert [r.digest for r in own.rules] == [record.rules[i].digest for i in told.rules]


def test_dates_of_readings_are_told(small: Path) -> None:
    change("rules/tables/machines.yaml", "gpus:", "seen: {sort: text, date: true}\n      gpus:")
    change(FACTS, "memory: 128 GiB", "memory: 128 GiB\n    seen: 2026-05-03")
    change(FACTS, "memory: 64 GB", "memory: 64 GB\n    seen: 2026-04-01")
    record = policy().record()
    dates = {row.date for row in record.rows if row.table == "machine"}
    assert dates == {"2026-05-03", "2026-04-01", None}
    assert {tuple(s.dates) for s in record.standings} == {("2026-05-03",), ("2026-04-01",), ()}
    VALIDATOR.validate(json.loads(record.text))
    assert codes(record) == []


def test_names_beyond_ascii(small: Path) -> None:
    change(FACTS, "train", "Zug №1 «ä»")
    path = policy().record(subject="Zug №1 «ä»").write(Path("Akten/für später"))
    assert path.read_bytes().isascii()
    record = Record.read(path)
    assert record.standings[0].told["subject"] == {"job": "Zug №1 «ä»"}
    assert codes(record) == []


def test_lines_of_a_record_are_known(small: Path) -> None:
    record = policy().record()
    lines = record.text.split("\n")
    for kind in ("rows", "rules", "standings"):
        for number, item in enumerate(json.loads(record.text)[kind]):
            line = lines[record.line(kind, number) - 1]
            assert json.loads(line.strip().removesuffix(",")) == item


# Replays.


def test_what_is_unchanged_is_reproduced(small: Path) -> None:
    found = replay(policy().record(), policy())
    assert found.equal
    assert found.findings == ()


def test_a_changed_row_and_what_it_moves(small: Path) -> None:
    record = policy().record()
    change(FACTS, "16 GiB", "64 GiB")
    assert codes(record) == ["row-differs", "standing-differs"]
    text = said(record)
    assert "`machine` `crucible` had `memory` `17179869184 bytes`, and has `68719476736 by" in text
    assert "`room` of `serve` was `refused`, and is `fits`" in text
    assert "no longer has the reason `too_large(crucible)`" in text
    assert text.count("facts/machines.yaml:12:5") == 2


def test_a_row_that_changed_without_effect_differs_all_the_same(small: Path) -> None:
    record = policy().record()
    change(FACTS, "source: inventory of 3 May", "source: inventory of 4 May")
    assert codes(record) == ["row-differs"]
    assert "had `source` `inventory of 3 May`, and has `inventory of 4 May`" in said(record)
    change(FACTS, "    names: [the old one, lab 2]\n", "")
    assert "no longer has `names`, which was `[the old one, lab 2]`" in said(record)


def test_a_row_that_nobody_used_may_change(small: Path) -> None:
    record = policy().record("room", "train")
    change(FACTS, "16 GiB", "64 GiB")
    change(FACTS, "  - {job: index, machine: bellows, need: 10 GB}\n", "")
    assert codes(record) == ["record-moved"] or codes(record) == []
    assert replay(record, policy()).equal


def test_a_removed_row(small: Path) -> None:
    record = policy().record()
    change(FACTS, "  - {job: serve, machine: crucible, need: 15 GiB}\n", "")
    assert codes(record) == ["row-differs", "standing-differs"]
    assert "`job` `serve` is gone; it stood at facts/machines.yaml:21:5" in said(record)
    assert "`room` of `serve` was `refused`, and is no standing any more" in said(record)


def test_an_added_row(small: Path) -> None:
    record = policy().record()
    Path("facts/more.yaml").write_text("job:\n  - {job: new, machine: anvil, need: 1 GiB}\n")
    [finding] = replay(record, policy()).findings
    assert finding.code == "standing-differs"
    assert finding.message == "`room` of `new` is `fits`, and was no standing"
    assert str(finding.positions[1]) == "facts/more.yaml:2:5"
    # What a record did not ask for may come.
    assert codes(policy().record(subject="train")) == []


def test_moved_rows_and_rules_are_a_note(small: Path) -> None:
    record = policy().record()
    change(FACTS, "machine:\n  - machine: anvil", "# a comment\nmachine:\n  - machine: anvil")
    change("rules/room.lp", "% Purpose", "% A comment.\n% Purpose")
    Path("facts/all").mkdir()
    found = replay(record, policy())
    assert found.equal
    assert [f.message for f in found.findings] == [
        "6 rows and rules of `facts/machines.yaml` stand on other lines now",
        "13 rows and rules of `rules/room.lp` stand on other lines now",
    ]
    Path(FACTS).rename("facts/all/other.yaml")
    [note, _] = replay(record, policy()).findings
    assert note.message.endswith("of `facts/machines.yaml` stand in `facts/all/other.yaml` now")


def test_line_breaks_in_a_rule_are_no_change(small: Path) -> None:
    record = policy().record()
    change("rules/room.lp", "need, Need), free(", "need, Need),\n    free(")
    assert codes(record) == ["record-moved"]


def test_a_changed_rule(small: Path) -> None:
    record = policy().record()
    change("rules/room.lp", "Need > Free.", "Need > Free + Free.")
    assert codes(record) == ["rule-differs", "standing-differs"]
    text = said(record)
    assert "rule-differs: a rule of `_too_large` is otherwise than it was" in text
    assert "rules/room.lp:39:1 is otherwise than it was" in text


def test_a_changed_label_and_a_changed_subject_are_changes_of_rules(small: Path) -> None:
    record = policy().record()
    change("rules/room.lp", '"% fits"', '"% has room"')
    assert codes(record) == ["rule-differs"]
    change("rules/room.lp", '"% has room"', '"% fits"')
    change(
        "rules/room.lp", "Subjects: job(Job)\nVerd", "Subjects: job(Job), job(Job, need, _)\nVerd"
    )
    assert codes(record) == ["rule-differs"]


def test_a_removed_and_an_added_rule(small: Path) -> None:
    change("rules/room.lp", "_refused(Job) :- _down(Job, _).\n", "")
    change("rules/room.lp", "%*! _unseen", "_refused(Job) :- _down(Job, _).\n\n%*! _unseen")
    record = policy().record()
    change("rules/room.lp", "_refused(Job) :- _down(Job, _).\n", "")
    assert "a rule of `_refused` is gone; it stood at rules/room.lp:57:1" in said(record)


def test_a_new_rule_is_named_where_nothing_of_the_record_changed(small: Path) -> None:
    record = policy().record(subject="train")
    change("rules/room.lp", "%*! _unseen", "_too_large(Job, M) :- job(Job, machine, M), "
           "job(Job, need, N), N > \"90 GiB\".\n\n%*! _unseen")  # fmt: skip
    [finding] = [f for f in replay(record, policy()).findings if f.code == "standing-differs"]
    assert "was `fits`, and is `refused`" in finding.message
    assert "rules/room.lp:58:1" in [str(p) for p in finding.positions[1:]]
    assert finding.positions[1].note == "is a rule that it rests on now, and did not"


def test_a_class_that_changes_without_its_verdict(small: Path) -> None:
    record = policy().record(subject="train")
    change("rules/room.lp", "fits [established]", "fits [refused]")
    change(
        "rules/room.lp",
        '% is refused", Job}.',
        '% is refused", Job}.',
    )
    change("rules/room.lp", "reason(room, Job, too_large(Machine)) :- _too_large(Job, Machine).",
           "reason(room, Job, too_large(Machine)) :- job(Job, machine, Machine).")  # fmt: skip
    text = said(record)
    assert (
        "was established as `fits`, and is refused; has the reason `too_large(anvil)` now" in text
    )


def test_another_version_is_a_note(small: Path) -> None:
    record = policy().record()
    record = replace(record, versions={**record.versions, "clingo": "5.7.1", "moon": "1"})
    found = replay(Record.parse(record.text), policy())
    assert found.equal
    assert {f.code for f in found.findings} == {"record-version"}
    assert any(
        "the record is of clingo `5.7.1`, and this is `" in f.message for f in found.findings
    )
    assert any("of moon `1`, and this is none" in f.message for f in found.findings)


# Whatever changes, a replay says why.

TABLES = """\
sorts:
  kind: {values: [plain, odd]}
tables:
  item:
    key: {item: item}
    columns:
      size: bytes
      within: item
      kind: kind
  ban:
    key: {item: item}
"""

LAW = (
    """\
% Purpose  items of a test
% Input    item/1, item/3, ban/1
% Output   standing/3, reason/3, obligation/3, value/4

%*! check(Item)
Whether an item may be used.
Args:
  - Item: item
Subjects: item(Item), not _hidden(Item)
Verdicts:
  - fine [established]
  - refused [refused]
  - unestablished [unestablished]
Reasons:
  - banned
  - odd_inside(Part: item)
Obligations:
  - size
Values:
  - total: bytes
  - parts: count
*%
"""
    + declared("_hidden", Item="item")
    + "_hidden(I) :- item(I, kind, odd), not _below(_, I).\n"
    + declared("_below", Part="item", Item="item")
    + "_below(I, J) :- item(I, within, J).\n"
    + "_below(I, K) :- _below(I, J), item(J, within, K).\n"
    + declared("_banned", Item="item")
    + "_banned(I) :- item(I), ban(I).\n"
    + "_banned(I) :- _below(I, J), ban(J).\n"
    + declared("_sized", Item="item")
    + "_sized(I) :- item(I, size, _), item(P, size, _) : _below(P, I).\n"
    + declared("_odd", Item="item", Part="item")
    + "_odd(I, P) :- _below(P, I), item(P, kind, odd), not item(P, size, _).\n"
    + declared("_bad", Item="item")
    + "_bad(I) :- _banned(I).\n_bad(I) :- item(I), _odd(I, _), not _sized(I).\n"
    + """
%!trace_rule {"% is fine", I}.
standing(check, I, fine) :- item(I), not _hidden(I), not _bad(I), _sized(I).
%!trace_rule {"% is refused", I}.
standing(check, I, refused) :- item(I), not _hidden(I), _bad(I).
%!trace_rule {"% is open", I}.
standing(check, I, unestablished) :- item(I), not _hidden(I), not _bad(I), not _sized(I).
%!trace_rule {"% is banned", I}.
reason(check, I, banned) :- item(I), not _hidden(I), _banned(I).
%!trace_rule {"% is odd in %", P, I}.
reason(check, I, odd_inside(P)) :- item(I), not _hidden(I), _odd(I, P), _bad(I).
%!trace_rule {"% has no size", I}.
obligation(check, I, size) :- item(I), not _hidden(I), not _bad(I), not _sized(I).
%!trace_rule {"% has % in all", I, T}.
value(check, I, total, T) :- item(I), not _hidden(I),
    T = #sum { S, P : _below(P, I), item(P, size, S) }.
%!trace_rule {"% has % parts", I, N}.
value(check, I, parts, N) :- item(I), not _hidden(I), N = #count { P : _below(P, I) }, N > 0.
"""
)

NAMES = ("a", "b", "c", "d", "e")
ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "item": st.sampled_from(NAMES),
            "size": st.sampled_from([None, "1 B", "2 B", "7 B"]),
            "within": st.sampled_from([None, *NAMES]),
            "kind": st.sampled_from([None, "plain", "odd"]),
        }
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda r: r["item"],
)
BANS = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return load(tmp_path_factory.mktemp("items"), TABLES, LAW, {})


def over(items: Policy, rows: Sequence[Mapping[str, object]], bans: Sequence[str]) -> Policy:
    return items.over({"item": rows, "ban": [{"item": b} for b in bans]})


def test_the_policy_of_the_property_is_sound(items: Policy) -> None:
    assert over(items, [{"item": "a", "size": "1 B"}], []).check() == ()


@settings(max_examples=150)
@given(ITEMS, BANS, ITEMS, BANS)
def test_a_standing_differs_only_with_something_that_it_rests_on(
    items: Policy,
    rows: list[Mapping[str, object]],
    bans: list[str],
    others: list[Mapping[str, object]],
    other_bans: list[str],
) -> None:
    before, after = over(items, rows, bans), over(items, [*others, *rows[:1]][:5], other_bans)
    try:
        record = Record.parse(before.record().text)
        found = replay(record, after)
    except PolicyError:
        # Two rows of one key.
        return
    assert replay(record, before).findings == ()
    moved = {s.subject_text for s in before.standings()} ^ {
        s.subject_text for s in after.standings()
    }
    was = {s.subject_text: s for s in before.standings()}
    moved |= {s.subject_text for s in after.standings() if was.get(s.subject_text, s) != s}
    told = [f for f in found.findings if f.code == "standing-differs"]
    assert {re.findall("`([^`]*)`", f.message)[1] for f in told} == moved
    for finding in told:
        assert len(finding.positions) > 1, finding.message
        assert all(p.note for p in finding.positions[1:])


@settings(max_examples=60)
@given(ITEMS, BANS, st.data())
def test_what_no_standing_rests_on_moves_nothing(
    items: Policy, rows: list[Mapping[str, object]], bans: list[str], data: st.DataObject
) -> None:
    before = over(items, rows, bans)
    record = before.record()
    used = {json.loads(str(r.key[0])) for r in record.rows if r.table == "item"}
    if record.tables:
        return
    kept = [r for r in rows if r["item"] in used]
    assert replay(record, over(items, kept, bans)).equal


def test_a_law_and_a_table_that_are_gone(small: Path, items: Policy) -> None:
    text = said(policy().record(), over(items, [{"item": "a"}], []))
    assert "`machine` `anvil` is gone" in text
    assert "`room` of `train` was `fits`, and is no standing any more" in text
    assert "a rule of `free` is gone" in text
    assert "`check` of `a` is `unestablished`, and was no standing" in text


# What is tampered with.


def tampered(record: Record) -> Iterator[str]:
    """The text with one character of each class changed, in many places."""
    text = record.text
    classes = ("[a-z]", "[A-Z_]", "[0-9]", r"[{}\[\]]", "[:,]", '"', r"\\", r"[ .()%*-]", "\n")
    for pattern in classes:
        places = [m.start() for m in re.finditer(pattern, text)]
        for place in places[:: max(1, len(places) // 25)]:
            for other in ("x", "0", '"', "}", ""):
                if other != text[place]:
                    yield text[:place] + other + text[place + 1 :]


def test_a_changed_character_is_found(small: Path) -> None:
    record = policy().record()
    whole = json.loads(record.text)
    count = 0
    for text in tampered(record):
        try:
            if json.loads(text) == whole:
                continue
        except ValueError:
            pass
        count += 1
        with pytest.raises(PolicyError) as raised:
            Record.parse(text, "it.json")
        assert {f.code for f in raised.value.findings} <= {"bad-record", "json-syntax"}
        assert raised.value.findings[0].positions[0].file == "it.json"
    assert count > 500


def test_another_layout_is_the_same_record(small: Path) -> None:
    record = policy().record()
    again = Record.parse(json.dumps(json.loads(record.text), indent=4))
    assert again == record
    assert codes(again) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "json-syntax"),
        ("{", "json-syntax"),
        ("[]", "bad-record"),
        ("null", "bad-record"),
        ("{}", "bad-record"),
        ('{"schema": "ullage/record/1"}', "bad-record"),
        ('{"schema": "ullage/proof/1"}', "bad-record"),
        ('{"a": 1, "a": 2}', "json-syntax"),
        ("[" * 100_000, "json-syntax"),
        ("9" * 10_000, "json-syntax"),
    ],
)
def test_what_is_no_record(text: str, code: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Record.parse(text)
    assert [f.code for f in raised.value.findings] == [code]


def signed(document: dict[str, Any]) -> str:
    """A document with the digest that it should have."""
    content = {k: v for k, v in document.items() if k != "digest"}
    return json.dumps({**document, "digest": digest(content)})


def deep(value: object, levels: int) -> object:
    for _ in range(levels):
        value = [value]
    return value


CHANGES: Mapping[str, Callable[[Any], object]] = {
    "a row that is not there": lambda d: d["standings"][0]["used"]["rows"].append(99),
    "a rule that is not there": lambda d: d["standings"][0]["used"]["rules"].append(99),
    "a table that is not there": lambda d: d["standings"][0]["used"]["tables"].append("machine"),
    "a row from behind": lambda d: d["standings"][0]["used"]["rows"].append(-1),
    "a truth value for a number": lambda d: d["standings"][0]["used"]["rows"].append(True),
    "a fraction for a number": lambda d: d["standings"][0]["used"]["rows"].append(1.0),
    "an unknown key": lambda d: d.update(more=1),
    "no versions": lambda d: d.pop("versions"),
    "a version that is none": lambda d: d["versions"].update(clingo=5),
    "no subject": lambda d: d["standings"][0].update(subject={}),
    "another class": lambda d: d["standings"][0].update(standing="maybe"),
    "a line break behind a name": lambda d: d["standings"][0].update(law="room\n"),
    "a bare figure": lambda d: d["standings"][2]["values"].update(headroom=1),
    "another digest of a row": lambda d: d["rows"][0].update(digest="0" * 64),
    "another digest of a rule": lambda d: d["rules"][0].update(digest="0" * 64),
    "dates of no row": lambda d: d["standings"][0]["used"].update(dates=["2031-01-01"]),
    "a mask that is none": lambda d: d["rows"][0].update(source={"masked": "0"}),
    "a deep value": lambda d: d["standings"][0]["subject"].update(job=deep("x", 300)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_record_of_another_shape_is_refused(name: str, small: Path) -> None:
    document = json.loads(policy().record().text)
    CHANGES[name](document)
    with pytest.raises(PolicyError) as raised:
        Record.parse(signed(document))
    assert [f.code for f in raised.value.findings] == ["bad-record"]


@pytest.mark.parametrize("name", CHANGES)
def test_shapes_are_held_as_the_schema_says(name: str, small: Path) -> None:
    document = json.loads(policy().record().text)
    assert first_fault(document, SCHEMA) == ""
    CHANGES[name](document)
    # JSON Schema knows of no digests. It takes 1.0 for a whole number, and its Python a line break
    # behind a pattern's end.
    beyond = ("another digest of a row", "another digest of a rule", "dates of no row")
    if name in beyond:
        assert VALIDATOR.is_valid(document)
    elif name not in ("a fraction for a number", "a line break behind a name", "a deep value"):
        assert bool(first_fault(document, SCHEMA)) != VALIDATOR.is_valid(document)
    assert first_fault({}, {"type": "object", "required": ["a"]}) == "the record has no `a`"
    with pytest.raises(ValueError, match="maxLength"):
        first_fault("", {"maxLength": 1})


def test_a_forged_record_is_found_by_its_replay(small: Path) -> None:
    document = json.loads(policy().record().text)
    document["standings"][1]["verdict"] = "fits"
    document["standings"][1]["standing"] = "established"
    document["rows"][0]["cells"]["memory"] = "1 bytes"
    document["rows"][1]["key"] = ['"bell']
    document["rows"][2]["cells"]["names"] = "no list"
    document["rows"][3]["key"] *= 2
    document["rules"][0]["label"] = []
    document["standings"][0]["subject"] = {"job": {"name": "x", "args": {"y": [True, "z"]}}}
    figure = {"value": "9" * 5000, "unit": "bytes", "display": "many"}
    document["standings"][2]["subject"] = {"job": figure}
    document["asked"]["laws"] = ["nolaw", "room"]
    for row in document["rows"]:
        row["digest"] = digest({k: row[k] for k in ("table", "key", "cells", "source")})
    for rule in document["rules"]:
        rule["digest"] = digest({"rule": rule["text"], "label": rule["label"]})
    record = Record.parse(signed(document))
    assert codes(record) == ["row-differs", "rule-differs", "standing-differs"]
    text = said(record)
    assert '`machine` `"bell` is gone' in text
    assert "the record asks for the law `nolaw`, which is not declared" in text
    assert "`room` of `x((true, z))` was `unestablished`, and is no standing any more" in text


# Masks.

SENSITIVE = {
    "    key: {machine: machine}\n": "    key: {machine: {sort: machine, sensitive: true}}\n",
    "memory: {sort: bytes, ": "memory: {sort: bytes, sensitive: true, ",
    "names: {sort: text, ": "names: {sort: text, sensitive: true, ",
}


@pytest.fixture
def masked(small: Path) -> Path:
    """The small policy with sensitive names and memories."""
    for old, new in SENSITIVE.items():
        change("rules/tables/machines.yaml", old, new)
    change(FACTS, "source: inventory of 3 May", "source: inventory of the hall of crucible")
    return small


SECRETS = ("anvil", "bellows", "crucible", "the old one", "lab 2", str(2**37), str(2**34))


def test_no_sensitive_value_stands_in_a_record(masked: Path) -> None:
    path = policy().record().write(Path("records"))
    data = path.read_bytes()
    for secret in SECRETS:
        assert secret.encode() not in data
    # The headroom is computed from a memory, and the machine of an obligation is named by its key.
    document = json.loads(data)
    VALIDATOR.validate(document)
    index, serve, train = document["standings"]
    assert index["obligations"][0]["args"]["machine"].keys() == {"masked"}
    assert serve["reasons"][0]["args"]["machine"].keys() == {"masked"}
    assert train["values"]["headroom"].keys() == {"masked"}
    assert train["subject"] == {"job": "train"}
    assert document["masked"]["columns"] == [
        "job/machine",
        "machine/machine",
        "machine/memory",
        "machine/names",
    ]


def test_a_mask_is_the_digest_of_the_exact_text(
    masked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = policy().record(subject="serve")
    assert record.key is None
    row = record.rows[0]
    assert row.key[0] == {"masked": sha256(b"crucible").hexdigest()}
    assert row.cells["memory"] == {"masked": sha256(b"17179869184 bytes").hexdigest()}
    assert row.cells["gpus"] == "1"
    monkeypatch.setenv(KEY, SECRET)
    keyed = policy().record(subject="serve")
    assert keyed.rows[0].key[0] == {
        "masked": hmac(SECRET.encode(), b"crucible", "sha256").hexdigest()
    }
    assert keyed.key == hmac(SECRET.encode(), b"ullage/record/1", "sha256").hexdigest()[:16]
    assert SECRET not in keyed.text
    # One value has one mask wherever it stands.
    assert keyed.rows[0].key[0] == keyed.rows[1].cells["machine"]
    assert keyed.standings[0].told["reasons"][0]["args"]["machine"] == keyed.rows[0].key[0]


@pytest.mark.parametrize("secret", ["", SECRET])
def test_masked_records_are_replayed(
    secret: str, masked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, secret)
    record = Record.parse(policy().record().text)
    assert codes(record) == []
    change(FACTS, "16 GiB", "64 GiB")
    text = said(record)
    assert re.search("had `memory` `masked [0-9a-f]{8}`, and has `masked [0-9a-f]{8}`", text)
    assert "`room` of `serve` was `refused`, and is `fits`" in text
    assert not [s for s in (*SECRETS, str(2**36)) if s in text]
    change(FACTS, "64 GiB", "16 GiB")
    change(FACTS, "machine: bellows", "machine: tongs")
    text = said(record)
    assert re.search("`machine` `masked [0-9a-f]{8}` is gone", text)
    assert "tongs" not in text


def test_a_record_needs_its_key(masked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRET)
    record = policy().record()
    for other in ("", "another key of some length"):
        monkeypatch.setenv(KEY, other)
        with pytest.raises(UsageError, match="need the key"):
            replay(record, policy())
    monkeypatch.setenv(KEY, "short")
    with pytest.raises(UsageError, match="5 characters"):
        policy().record()
    # Where nothing is sensitive no key is asked for.
    monkeypatch.delenv(KEY)
    for old, new in SENSITIVE.items():
        change("rules/tables/machines.yaml", new, old)
    plain = policy().record()
    for other in ("short", SECRET):
        monkeypatch.setenv(KEY, other)
        assert plain.text == policy().record().text
    assert codes(plain) == []


def test_a_subject_may_be_sensitive(small: Path) -> None:
    change(
        "rules/tables/machines.yaml", "key: {job: job}", "key: {job: {sort: job, sensitive: true}}"
    )
    record = Record.parse(policy().record(subject="serve").text)
    assert record.asked.subject == {"masked": sha256(b"serve").hexdigest()}
    assert "serve" not in record.text
    assert codes(record) == []
    change(FACTS, "need: 15 GiB", "need: 1 GiB")
    assert re.search("`room` of `masked [0-9a-f]{8}` was `refused`, and is `fits`", said(record))
    assert "serve" not in said(record)
    # Whatever order masked subjects stand in tells nothing of their names.
    subjects = [json.dumps(s.told["subject"]) for s in policy().record().standings]
    assert subjects == sorted(subjects)


def test_a_column_that_becomes_sensitive_is_no_difference(small: Path) -> None:
    record = policy().record()
    for old, new in SENSITIVE.items():
        change("rules/tables/machines.yaml", old, new)
    assert [f for f in codes(record) if f != "record-moved"] == []
    hidden = policy().record()
    for old, new in SENSITIVE.items():
        change("rules/tables/machines.yaml", new, old)
    assert [f for f in codes(hidden) if f != "record-moved"] == []


def test_words_that_repeat_a_sensitive_name_are_masked(small: Path) -> None:
    for old, new in SENSITIVE.items():
        change("rules/tables/machines.yaml", old, new)
    change("rules/room.lp", '"% fits", Job', '"% fits anvil, or so", Job')
    change(FACTS, "job: train", "job: train on anvil")
    change(FACTS, "job: index", "job: anvils")
    record = policy().record()
    texts = {str(rule.label) for rule in record.rules}
    assert not [t for t in texts if "anvil" in t]
    subjects = {json.dumps(s.told["subject"]) for s in record.standings}
    assert '{"job": "anvils"}' in subjects
    assert not [s for s in subjects if "train" in s]
    assert re.findall(r"\banvil\b", record.text) == []
    assert codes(Record.parse(record.text)) == []


FLOWS = """\
sorts:
  way:
    forms: {by_key: {Name: text, Size: bytes}, plain: {}}
  part: {dotted: true}
tables:
  secret:
    key: {secret: {sort: secret, sensitive: true}, part: part}
    columns:
      size: {sort: bytes, sensitive: true}
      rank: count
      notes: {sort: text, list: true, sensitive: true}
  public:
    key: {public: public}
    columns:
      of: {sort: secret}
      size: bytes
  single:
    key: {single: {sort: single, sensitive: true}}
  follows:
    key: {follows: {sort: single, references: single}}
    columns:
      also: {sort: single, references: follows}
  dotted:
    key: {dotted: {sort: part, sensitive: true}}
"""


def reached(folder: Path, rules: str, *predicates: str) -> dict[str, set[tuple[object, ...]]]:
    """Where sensitive values go in some rules, by predicate."""
    written = write_rules(folder, FLOWS, "% Purpose  a test\n" + "".join(predicates) + rules)
    declarations, findings = load_declarations([written])
    assert not findings
    loaded = Policy.load(written, rows={})
    book = loaded.explainer.book
    found = flows([t.rule for t in book.rules], declarations, sensitive_columns(declarations))
    return {name: set(paths) for name, paths in found.items() if name.startswith("to_")}


def test_where_sensitive_values_go(tmp_path: Path) -> None:
    found = reached(
        tmp_path,
        """\
to_key(S, P) :- secret((S, P)).
to_tuple((P, S), R) :- secret((S, P), rank, R).
to_sum(P, X + "1 B") :- secret((_, P), size, X).
to_equal(P, Y) :- secret((_, P), size, X), Y = X / 2.
to_total(R, T) :- secret(_, rank, R), T = #sum { X, P : secret((_, P), size, X) }.
to_most(R, T) :- secret(_, rank, R), T = #max { X : secret(_, size, X) }.
to_number(R, N) :- secret(_, rank, R), N = #count { S : secret((S, _)) }.
to_form(by_key(N, X)) :- secret(K, size, X), secret(K, notes, (0, N)).
to_place(I) :- secret(_, notes, (I, _)).
to_branch(P) :- secret((S, P)), public(O), public(O, size, Y), secret((S, P), size, X), X > Y.
to_second(P, X) :- to_sum(P, X).
to_public(O, S) :- public(O, of, S).
to_joined(O, S) :- public(O, of, S), secret((S, _)).
to_follows(F) :- follows(F).
to_also(A) :- follows(_, also, A).
to_part(P) :- part_part((_, P)).
""",
        *(
            declared(name, **arguments)
            for name, arguments in {
                "to_key": {"S": "secret", "P": "part"},
                "to_tuple": {"A": "(part, secret)", "R": "count"},
                "to_sum": {"P": "part", "X": "bytes"},
                "to_equal": {"P": "part", "X": "bytes"},
                "to_total": {"R": "count", "T": "bytes"},
                "to_most": {"R": "count", "T": "bytes"},
                "to_number": {"R": "count", "N": "count"},
                "to_form": {"W": "way"},
                "to_place": {"I": "count"},
                "to_branch": {"P": "part"},
                "to_second": {"P": "part", "X": "bytes"},
                "to_public": {"O": "public", "S": "secret"},
                "to_joined": {"O": "public", "S": "secret"},
                "to_follows": {"F": "single"},
                "to_also": {"A": "single"},
                "to_part": {"P": "text"},
            }.items()
        ),
    )
    assert {name: paths for name, paths in found.items() if paths} == {
        "to_key": {(0,)},
        "to_tuple": {(0, 1)},
        "to_sum": {(1,)},
        "to_equal": {(1,)},
        "to_total": {(1,)},
        "to_most": {(1,)},
        "to_form": {(0, ("by_key", 0)), (0, ("by_key", 1))},
        "to_second": {(1,)},
        "to_joined": {(1,)},
        "to_follows": {(0,)},
        "to_also": {(0,)},
        "to_part": {(0,)},
    }


# Declarations.


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("gpus: {", "gpus: {sensitive: yes, ", "`sensitive` of column `gpus` is `yes`", 15),
        ("gpus: {", "gpus: {date: true, ", "column `gpus` is of sort `count` and a date", 15),
        ("names: {", "names: {date: true, ", "column `names` is a list and a date", 19),
        (
            "names: {",
            "seen: {sort: text, date: true}\n      read: {sort: text, date: true}\n      names: {",
            "table `machine` has two dates",
            20,
        ),
        (
            "key: {machine: machine}",
            "key: {machine: {sort: machine, date: true}}",
            "key column `machine` has no property `date`",
            11,
        ),
    ],
)
def test_what_a_declaration_may_not_say(
    old: str, new: str, message: str, line: int, small: Path
) -> None:
    change("rules/tables/machines.yaml", old, new)
    findings = Policy.load("rules", "facts").check()
    assert [(f.code, f.message, f.positions[0].line) for f in findings] == [
        ("bad-declaration", message, line)
    ]


def test_readings_of_the_shipped_policy_have_dates() -> None:
    tables = Policy.load(ROOT / "rules", ROOT / "facts").declarations.tables
    dated = {t.name for t in tables.values() for c in t.columns.values() if c.date}
    taken = {t.name for t in tables.values() if "taken" in t.columns}
    assert dated == taken
    assert {"host", "host_memory", "offload_reading"} <= dated


# The command line.


def test_the_verbs_write_and_replay(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standings", "--record", "a/b", "--format", "concise"]) == ExitCode.FINE
    out, err = capsys.readouterr()
    assert out.startswith("room index ")
    [path] = Path("a/b").iterdir()
    assert err == f"ullage: recorded in {path}\n"
    assert path.name == policy().record().name
    before = path.stat().st_mtime_ns
    assert main(["standings", "--record", "a/b"]) == ExitCode.FINE
    assert path.stat().st_mtime_ns == before
    capsys.readouterr()
    assert main(["replay", str(path)]) == ExitCode.FINE
    assert capsys.readouterr() == ("", f"ullage: {path}: 3 standings are as recorded\n")
    assert main(["replay", str(path), "--format", "json"]) == ExitCode.FINE
    assert json.loads(capsys.readouterr().out)["findings"] == []
    change(FACTS, "16 GiB", "64 GiB")
    assert main(["replay", str(path), "--format", "concise"]) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert err == ""
    assert [line.partition("]")[0] for line in out.splitlines()] == [
        f"{path}:29:1: error[standing-differs",
        "facts/machines.yaml:12:5: error[row-differs",
    ]


def test_a_record_of_the_standings_asked_for(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["standings", "room", "--subject", "serve", "--record", "r", "--dump", "d.lp"]
    assert main([*words, "--fail-on", "refused"]) == ExitCode.REFUSED
    [path] = Path("r").iterdir()
    record = Record.read(path)
    assert (record.asked.laws, record.asked.subject) == (("room",), "serve")
    assert Path("d.lp").is_file()
    assert "1 standing is refused" in capsys.readouterr().err
    assert main(["replay", str(path), "--fail-on", "unestablished"]) == ExitCode.UNESTABLISHED
    assert "1 standing is as recorded" in capsys.readouterr().err
    assert main(["standings", "--subject", "serv", "--record", "s"]) == ExitCode.COULD_NOT_RUN
    assert not Path("s").exists()


def test_several_records_are_replayed_at_once(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["standings", "--record", "r", "--subject", "train"])
    main(["standings", "--record", "r", "--subject", "serve"])
    paths = sorted(map(str, Path("r").iterdir()))
    change(FACTS, "16 GiB", "64 GiB")
    capsys.readouterr()
    assert main(["replay", *paths]) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert "2 errors" in out
    assert err.count("1 standing is as recorded") == 1


@pytest.mark.parametrize("target", [FACTS, f"{FACTS}/below"])
def test_a_folder_that_is_none(
    target: str, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(FACTS).read_bytes()
    assert main(["standings", "--record", target]) == ExitCode.COULD_NOT_RUN
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"ullage: error: cannot write records to `{target}`: ")
    assert Path(FACTS).read_bytes() == before


def test_a_folder_that_may_not_be_written(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refuse)
        assert main(["standings", "--record", "r"]) == ExitCode.COULD_NOT_RUN
    assert "cannot write records to `r`: Permission denied" in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        assert main(["standings", "--record", "r"]) == ExitCode.COULD_NOT_RUN
    assert "Permission denied" in capsys.readouterr().err
    assert list(Path("r").iterdir()) == []


@pytest.mark.parametrize("words", [["--record", ""], ["--record", "a", "--record", "b"]])
def test_wrong_usage(words: list[str], small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standings", *words]) == ExitCode.COULD_NOT_RUN
    assert "`--record`" in capsys.readouterr().err


def test_an_invalid_policy_writes_no_record(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["standings", "--record", "r"])
    [path] = Path("r").iterdir()
    change(FACTS, "16 GiB", "16")
    assert main(["standings", "--record", "s"]) == ExitCode.INVALID
    assert not Path("s").exists()
    assert main(["replay", str(path)]) == ExitCode.INVALID
    assert "missing-unit" in capsys.readouterr().err


def test_files_that_are_no_records(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "none.json"]) == ExitCode.COULD_NOT_RUN
    assert "`none.json` cannot be read" in capsys.readouterr().err
    assert main(["replay", "facts"]) == ExitCode.COULD_NOT_RUN
    capsys.readouterr()
    record = policy().record()
    for data, code in (
        (b"\xff\xfe", "not-utf8"),
        (b"{", "json-syntax"),
        (record.text.encode().replace(b"fits", b"fots"), "bad-record"),
        (record.text.encode()[:-3], "json-syntax"),
    ):
        Path("bad.json").write_bytes(data)
        assert main(["replay", "bad.json", "--format", "concise"]) == ExitCode.INVALID
        out, err = capsys.readouterr()
        assert re.match(rf"bad\.json:\d+:\d+: error\[{code}\]: ", out)
        assert err == ""


def test_masks_without_a_key_are_said_to_be_weak(
    masked: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["standings", "--record", "r"]) == ExitCode.FINE
    assert "values can be guessed\n  help: set `ULLAGE_RECORD_KEY`" in capsys.readouterr().err
    monkeypatch.setenv(KEY, SECRET)
    assert main(["standings", "--record", "s"]) == ExitCode.FINE
    assert "guessed" not in capsys.readouterr().err
    [path] = Path("s").iterdir()
    monkeypatch.delenv(KEY)
    assert main(["replay", str(path)]) == ExitCode.COULD_NOT_RUN
    assert "need the key" in capsys.readouterr().err
