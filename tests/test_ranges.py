"""Keys that range over numbers, and the parts of dotted names."""

from __future__ import annotations

from pathlib import Path

import pytest
from lawtext import assert_house_style
from support import Rows, write_rules

from ullage.facts import load_facts
from ullage.policy import Policy
from ullage.tables import load_declarations

TABLES = """\
sorts:
  tensor: {dotted: true}
tables:
  model: {key: {model: model}, columns: {}}
  tensor:
    key:
      model: {sort: model, references: model}
      layer: {sort: count, ranges: true, maximum: 500}
      name: tensor
    columns: {size: bytes}
  outer: {key: {name: tensor}, columns: {size: bytes}}
  filter: {key: {filter: filter}, columns: {parts: {sort: text, list: true}}}
"""


def keys(tmp_path: Path, text: str) -> tuple[list[tuple[object, ...]], list[str]]:
    """The keys of the table `tensor`, and the codes of what is amiss."""
    declarations, amiss = load_declarations([write_rules(tmp_path, TABLES)])
    assert not amiss
    facts = tmp_path / "facts"
    facts.mkdir(exist_ok=True)
    (facts / "a.yaml").write_text(f"model: [{{model: m}}]\ntensor:\n{text}")
    base, findings = load_facts(declarations, [facts])
    assert_house_style(findings)
    return [r.key for r in base.rows["tensor"]], [f.code for f in findings]


@pytest.mark.parametrize(
    ("layer", "numbers"),
    [
        ("7", [7]),
        ("3..5", [3, 4, 5]),
        ("3..3", [3]),
        ("6..15/4", [6, 10, 14]),
        ("6..14/4", [6, 10, 14]),
        ("[0..1, 3, 6..10/2]", [0, 1, 3, 6, 8, 10]),
        ('"0..1"', [0, 1]),
        ("[7]", [7]),
    ],
)
def test_a_row_stands_for_a_row_of_each_number(
    tmp_path: Path, layer: str, numbers: list[int]
) -> None:
    found, codes = keys(tmp_path, f"  - {{model: m, layer: {layer}, name: a.b, size: 1 B}}\n")
    assert codes == []
    assert found == [("m", n, "a.b") for n in numbers]


@pytest.mark.parametrize(
    ("layer", "code"),
    [
        ("x", "not-a-range"),
        ("-1", "not-a-range"),
        ("1.5", "not-a-range"),
        ("3..", "not-a-range"),
        ("..3", "not-a-range"),
        ("5..3", "not-a-range"),
        ("1..5/0", "not-a-range"),
        ("1...5", "not-a-range"),
        ("[]", "not-a-range"),
        ("[1, [2]]", "not-a-scalar"),
        ("{a: 1}", "not-a-list"),
        ("0..100000", "range-too-long"),
        (f"[{', '.join(['0..500'] * 200)}]", "range-too-long"),
        ("0..501", "above-maximum"),
        ("9999999999", "not-a-range"),
        ("null", "missing-key"),
    ],
)
def test_what_is_no_range(tmp_path: Path, layer: str, code: str) -> None:
    found, codes = keys(tmp_path, f"  - {{model: m, layer: {layer}, name: a, size: 1 B}}\n")
    assert codes == [code]
    assert found == []


def test_ranges_that_meet_are_duplicates_told_once(tmp_path: Path) -> None:
    rows = "  - {model: m, layer: 0..9, name: a}\n  - {model: m, layer: 5..20, name: a}\n"
    _, codes = keys(tmp_path, rows)
    assert codes == ["duplicate-row"]


def test_a_dangling_reference_of_many_rows_is_told_once(tmp_path: Path) -> None:
    _, codes = keys(tmp_path, "  - {model: n, layer: 0..9, name: a}\n")
    assert codes == ["dangling-reference"]


LAW = """\
% Purpose  test
% Input    tensor/1, tensor/3, tensor_part/1, filter/3
% Output   size/2, kept/2

%*! size(Layer, Bytes)
Bytes.
Args:
  - Layer: count
  - Bytes: bytes
Frontier: tests
*%
%!trace_rule {"% has %", Layer, Bytes}.
size(Layer, Bytes) :- tensor((_, Layer, _)), Bytes = #sum { B, N : tensor((_, Layer, N), size, B) }.

%*! kept(Filter, Name)
Kept.
Args:
  - Filter: filter
  - Name: tensor
Frontier: tests
*%
%!trace_rule {"% keeps %", F, N}.
kept(F, N) :- filter(F, parts, (_, P)), tensor_part((N, P)), tensor((_, _, N), size, _).
"""
ROWS: Rows = {
    "model": [{"model": "m"}],
    "tensor": [
        {"model": "m", "layer": "0..2", "name": "mlp.experts.w13", "size": "2 B"},
        {"model": "m", "layer": ["1", 2], "name": "mlp.experts_bias", "size": "3 B"},
        {"model": "m", "layer": 2, "name": "attn.w2", "size": "5 B"},
    ],
    "outer": [{"name": "lm_head.weight", "size": "1 B"}],
    "filter": [
        {"filter": "experts", "parts": ["experts"]},
        {"filter": "two", "parts": ["mlp.experts", "attn"]},
        {"filter": "cut", "parts": ["expert", "mlp.exp", "w"]},
        {"filter": "gap", "parts": ["mlp.w13"]},
        {"filter": "whole", "parts": ["mlp.experts_bias"]},
    ],
}


def test_rules_see_a_row_a_number_and_the_parts_of_names(tmp_path: Path) -> None:
    policy = Policy.load(rules=[write_rules(tmp_path, TABLES, LAW)], rows=ROWS)
    assert policy.check() == ()
    sizes = [(str(r[0]), str(r[1])) for r in policy.query("size(L, B)").rows]
    # 2; 2 + 3; 2 + 3 + 5.
    assert sizes == [("0", "2 B"), ("1", "5 B"), ("2", "10 B")]
    kept = [(str(r[0]), str(r[1])) for r in policy.query("kept(F, N)").rows]
    # Whole segments alone, in one run.
    assert kept == [
        ("experts", "mlp.experts.w13"),
        ("two", "attn.w2"),
        ("two", "mlp.experts.w13"),
        ("whole", "mlp.experts_bias"),
    ]
    parts = policy.query('tensor_part(("lm_head.weight", P))').rows
    assert [str(r[0]) for r in parts] == ["lm_head", "lm_head.weight", "weight"]


def test_nobody_asserts_parts(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, TABLES, LAW)
    rows = {**ROWS, "tensor_part": [{"name": "a", "part": "b"}]}
    assert [f.code for f in Policy.load(rules=[rules], rows=rows).check()] == ["derived-predicate"]


@pytest.mark.parametrize(
    ("tables", "code", "word"),
    [
        ("sorts: {a: {dotted: true, values: [x]}}", "bad-declaration", "names"),
        ("sorts: {a: {dotted: maybe}}", "bad-declaration", "`true`"),
        ("tables: {t: {key: {t: {sort: t, ranges: true}}}}", "bad-declaration", "counts"),
        (
            "tables: {t: {key: {a: {sort: count, ranges: true}, b: {sort: count, ranges: true}}}}",
            "bad-declaration",
            "two key columns",
        ),
        ("tables: {t: {key: {t: t}, columns: {a: {sort: count, ranges: true}}}}",
         "bad-declaration", "`ranges`"),
        ("sorts: {a: {dotted: true}}\ntables: {a_part: {key: {a: a}}}", "duplicate-table", "parts"),
    ],
)  # fmt: skip
def test_what_is_amiss_in_a_declaration(tmp_path: Path, tables: str, code: str, word: str) -> None:
    _, findings = load_declarations([write_rules(tmp_path, tables)])
    assert_house_style(findings)
    assert any(f.code == code and word in f.message + f.help for f in findings), findings
