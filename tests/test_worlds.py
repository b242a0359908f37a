"""What a what-if grounds: no more than what it moves needs, however large the catalog is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support import Rows, declared, write_rules

from ullage import Policy, Set
from ullage.changes import Change
from ullage.moving import Mover
from ullage.rules.delta.nodes import named, of_a_world
from ullage.worlds import Worlds, changed

SMALL = Path(__file__).resolve().parents[1] / "docs" / "small" / "rules"


def jobs(machines: int) -> Rows:
    """Ten jobs on each of so many machines."""
    return {
        "machine": [
            {"machine": f"m{i}", "memory": "64 GiB", "state": "up", "source": "a test"}
            for i in range(machines)
        ],
        "job": [
            {"job": f"j{i}-{j}", "machine": f"m{i}", "need": f"{j * 7} GiB"}
            for i in range(machines)
            for j in range(10)
        ],
    }


def ground(policy: Policy, change: Change) -> Worlds:
    """The worlds after one what-if."""
    mover = Mover(policy._book, policy.facts, {}, policy.standings, policy.on)
    mover.moves([change], (), None)
    worlds = mover._worlds
    assert worlds is not None
    return worlds


def atoms_of_the_world(worlds: Worlds) -> Counter[str]:
    """How many atoms of each predicate the last what-if has added."""
    atoms = worlds.model().control.symbolic_atoms
    assert all(a.is_fact for a in atoms)
    return Counter(a.symbol.name for a in atoms if "''" in a.symbol.name)


def test_a_what_if_grounds_what_it_moves_and_no_more() -> None:
    found = []
    for machines in (5, 40):
        policy = Policy.load(SMALL, rows=jobs(machines))
        worlds = ground(policy, Set("machine", "m3", "spare", "50%"))
        found.append(atoms_of_the_world(worlds))
        # Of the facts, too, no job is judged that nothing asks for.
        assert worlds.model().count("standing", 3) == 0
        assert worlds.model().count("_subject'room", 1) == machines * 10
    assert found[0] == found[1]
    assert found[0]["standing''once"] == found[0]["standing''now"] == 10


def test_what_no_law_and_no_plan_reads_is_not_ground() -> None:
    policy = Policy.load(SMALL, rows=jobs(3))
    worlds = ground(policy, Set("machine", "m1", "names", "[a]"))
    assert not atoms_of_the_world(worlds).keys() - {"machine''gone", "machine''come"}
    assert worlds.model().count("free", 2) == 0


def test_the_facts_are_ground_once_for_many_what_ifs() -> None:
    policy = Policy.load(SMALL, rows=jobs(3))
    mover = Mover(policy._book, policy.facts, {}, policy.standings, policy.on)
    mover.moves([Set("machine", "m1", "spare", "20%")], (), None)
    first = mover._worlds
    assert first is not None
    control = first.model().control
    for spare in ("30%", "40%", "0"):
        mover.moves([Set("machine", "m2", "spare", spare)], (), None)
        assert mover._worlds is first
        assert first.model().control is control
    # Another column is another matter.
    mover.moves([Set("machine", "m2", "state", "down")], (), None)
    assert mover._worlds is not first


def test_rows_differ_by_what_rules_may_read() -> None:
    policy = Policy.load(SMALL, rows=jobs(2))
    assert changed(policy.facts, policy.facts).nodes() == set()
    rows = jobs(3)
    rows["machine"][0]["source"] = "elsewhere"  # type: ignore[index]
    rows["machine"][1]["spare"] = "20%"  # type: ignore[index]
    other = changed(policy.facts, policy.over(rows).facts)
    assert other.nodes() == {
        "machine/spare",
        "machine/",
        "machine/memory",
        "machine/state",
        "machine/gpus",
        "job/",
        "job/machine",
        "job/need",
    }
    assert [r.key for r in other.gone["machine"]] == [("m1",)]
    assert [r.key for r in other.come["machine"]] == [("m1",), ("m2",)]


TABLES = """\
tables:
  part:
    key: {part: part}
    columns: {size: {sort: bytes}, of: {sort: part, references: part}}
"""

RING = """\
%*! whole(Part)
Whether a part is in no other.
Args:
  - Part: part
Subjects: part(Part)
Verdicts:
  - whole [established]
  - inner [established]
Values:
  - least: bytes
*%
standing(whole, P, whole) :- part(P), not _in(P, _).
standing(whole, P, inner) :- _in(P, _).
value(whole, P, least, S) :- _in(P, _), S = #min { B, Q : _in(P, Q), part(Q, size, B) }.
"""


@pytest.mark.parametrize(
    "ring", ["_in(P, R) :- _in(P, Q), _in(Q, R).", "_in(P, R) :- _in(P, Q), part(Q, of, R)."]
)
def test_recursion_is_concluded_anew_where_it_must(tmp_path: Path, ring: str) -> None:
    predicate = declared("_in", Part="part", Other="part")
    law = f"{predicate}_in(P, Q) :- part(P, of, Q).\n{ring}\n{RING}"
    rows: Rows = {
        "part": [
            {"part": f"p{i}", "size": f"{i + 1} B", "of": f"p{i + 1}" if i % 5 < 4 else None}
            for i in range(20)
        ]
    }
    policy = Policy.load(rules=[write_rules(tmp_path, TABLES, law)], rows=rows)
    change = Set("part", "p2", "of", "p10")
    moves = policy.what_if([change])
    told = {m.subject_text: dict(m.values) for m in moves.moved}
    assert {k: [f"{old} {new}" for old, new in v.values()] for k, v in told.items()} == {
        "p2": ["4 B 11 B"]
    }
    before = {s.subject_text: s for s in policy.standings()}
    after = {s.subject_text: s for s in policy.supposing([change]).standings()}
    assert {k for k in before if before[k] != after[k]} == {"p2"}


def test_predicates_of_a_world_are_told_by_their_authors_names() -> None:
    assert [named(n) for n in ("free", "free''now", "free''once")] == ["free"] * 3
    assert [of_a_world(n) for n in ("free", "free''now", "free''gone")] == [False, True, False]
