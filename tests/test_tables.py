"""Table declarations: what they mean, and where each mistake is shown."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.declarations import Declarations
from ullage.findings import Finding, UsageError
from ullage.sorts import BYTES, TEXT, ClosedSort, EntitySort, ExactSort, FormsSort
from ullage.tables import load_declarations

GOOD = """\
sorts:
  reach:
    doc: How a memory is reached.
    values: [one_pool, direct]
  watts:
    units: {W: 1, kW: 1000, mW: 1/1000}
  addressability:
    forms:
      one_pool: {}
      across: {PerDirection: bytes_per_second, Reach: reach}
  vendor: {doc: Who makes it.}
tables:
  system:
    doc: A machine.
    source: required
    key: {system: system}
    columns:
      capacity: {sort: bytes, required: true, doc: its memory}
      gpus: {sort: count, default: 1, minimum: 1, maximum: 8}
      how: text
      power: {sort: watts, minimum: -1 kW}
      made_by: vendor
  component:
    key: {system: {sort: system, references: system}, reach: reach}
    columns:
      peers: {sort: system, list: true, references: [system]}
"""


def load(folder: Path, *files: str) -> tuple[Declarations, list[Finding]]:
    """The declarations of these texts, as files 0.yaml, 1.yaml, ..."""
    tables = folder / "rules" / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(files):
        (tables / f"{number}.yaml").write_text(text, encoding="utf-8")
    return load_declarations([folder / "rules"])


def test_a_sound_declaration(tmp_path: Path) -> None:
    declarations, findings = load(tmp_path, GOOD)
    assert findings == []
    assert list(declarations.tables) == ["system", "component"]
    system = declarations.tables["system"]
    assert (system.doc, system.source_required) == ("A machine.", True)
    assert system.key_sort == EntitySort("system")
    assert str(system.position).endswith("rules/tables/0.yaml:13:3")
    capacity, gpus, how = (system.columns[c] for c in ("capacity", "gpus", "how"))
    assert (capacity.sort, capacity.required, capacity.doc) == (BYTES, True, "its memory")
    assert (gpus.sort.name, gpus.default, gpus.minimum, gpus.maximum) == (
        "count",
        "1",
        Fraction(1),
        Fraction(8),
    )
    assert (how.sort, how.required, how.many) == (TEXT, False, False)
    assert system.columns["power"].minimum == -1000
    component = declarations.tables["component"]
    assert component.key_sort.name == "(system, reach)"
    assert component.key[0].references == ("system",)
    assert component.columns["peers"].many
    assert declarations.sorts["reach"] == ClosedSort("reach", "", ("one_pool", "direct"))
    watts = declarations.sorts["watts"]
    assert isinstance(watts, ExactSort)
    assert watts.units["mW"] == Fraction(1, 1000)
    forms = declarations.sorts["addressability"]
    assert isinstance(forms, FormsSort)
    assert [n for n, _ in forms.forms["across"]] == ["PerDirection", "Reach"]
    assert [s.name for s in declarations.entity_sorts()] == ["system", "vendor"]


@pytest.mark.parametrize(
    ("old", "new", "code", "place", "word"),
    [
        ("source: required", "source: wanted", "bad-declaration", "wanted", "wanted"),
        ("source: required", "sauce: required", "bad-declaration", "sauce", "`source`"),
        ("capacity: {sort: bytes,", "capacity: {sort: byts,", "unknown-sort", "byts", "`bytes`"),
        ("how: text", "how: texts", "unknown-sort", "texts", "`text`"),
        ("how: text", "how:", "bad-declaration", "how:", "sort"),
        ("how: text", "how: [text]", "not-a-mapping", "[text]", "column `how`"),
        ("how: text", "how: {sort: [text]}", "not-a-scalar", "[text]", "column `how`"),
        ("how: text", "How: text", "bad-declaration", "How", "`How`"),
        ("how: text", "row: text", "bad-declaration", "row", "`row`"),
        ("how: text", "source: text", "bad-declaration", "source", "`source`"),
        ("how: text", "gpus: text", "duplicate-mapping-key", "gpus", "`gpus`"),
        ("how: text", "system: text", "bad-declaration", "system: text", "`system`"),
        ("how: text", "how: addressability", "bad-declaration", "address", "addressability"),
        ("how: text", "how: {sort: text, minimum: 1}", "bad-declaration", "1}", "minimum"),
        ("how: text", "how: {sort: text, requird: true}", "bad-declaration", "requ", "`required`"),
        ("how: text", "how: {sort: text, list: yes}", "bad-declaration", "yes", "`true`"),
        ("default: 1", "default: 0", "below-minimum", "0,", "`0`"),
        ("default: 1", "default: 9", "above-maximum", "9,", "`9`"),
        ("default: 1", "default: one", "not-a-count", "one,", "one"),
        ("default: 1", "default: 1, required: true", "bad-declaration", "1, req", "default"),
        ("maximum: 8", "maximum: 0", "bad-declaration", "0}", "minimum"),
        ("minimum: -1 kW", "minimum: -1", "missing-unit", "-1}", "kW"),
        ("key: {system: system}", "kee: {system: system}", "bad-declaration", "kee", "`key`"),
        ("references: system}", "references: systm}", "bad-declaration", "systm}", "`system`"),
        ("references: system}", "references: component}", "bad-declaration", "comp", "2 columns"),
        ("peers: {sort: system", "peers: {sort: text", "bad-declaration", "system]", "`system`"),
        ("list: true", "list: true, default: a", "bad-declaration", "a,", "default"),
        ("[one_pool, direct]", "[one_pool, one_pool]", "bad-declaration", "one_pool]", "one_pool"),
        ("[one_pool, direct]", "[One, direct]", "bad-declaration", "One", "`One`"),
        ("[one_pool, direct]", "[not, direct]", "bad-declaration", "not", "`not`"),
        ("[one_pool, direct]", "[]", "bad-declaration", "values", "values"),
        ("[one_pool, direct]", "one_pool", "not-a-list", "one_pool", "reach"),
        ("W: 1,", "W: 2,", "bad-declaration", "units", "size"),
        ("W: 1,", "W: 1, J: 1,", "bad-declaration", "units", "2 units"),
        ("kW: 1000", "kW: lots", "bad-declaration", "lots", "`kW`"),
        ("kW: 1000", "kW: -1", "bad-declaration", "-1", "`kW`"),
        ("kW: 1000", "e9: 1000", "bad-declaration", "e9", "`e9`"),
        ("kW: 1000", "k W: 1000", "bad-declaration", "k W", "`k W`"),
        ("Reach: reach}", "Reach: rech}", "unknown-sort", "rech", "`reach`"),
        ("Reach: reach}", "reach: reach}", "bad-declaration", "reach: reach}", "upper-case"),
        ("Reach: reach}", "Reach: addressability}", "bad-declaration", "addressability}", "itself"),
        ("  reach:\n", "  bytes:\n", "bad-declaration", "bytes", "built-in"),
        ("  reach:\n", "  Reach:\n", "bad-declaration", "Reach", "`Reach`"),
        ("  watts:\n", "  watts:\n    values: [a]\n", "bad-declaration", "units", "`units`"),
        ("  component:", "  plan:", "bad-declaration", "plan", "`plan`"),
        ("  component:", "  Component:", "bad-declaration", "Component", "lower-case"),
        ("  component:", "  system:", "duplicate-mapping-key", "system:\n    key: {sys", "`sys"),
        ("sorts:\n", "sort:\n", "bad-declaration", "sort:", "`sorts`"),
        ("doc: A machine.", "doc: !x A machine.", "yaml-tag", "!x", "!x"),
        ("doc: A machine.", "doc: A: machine.", "yaml-syntax", ": machine", "quotes"),
        ("doc: A machine.", "doc: [A]", "not-a-scalar", "[A]", "doc"),
    ],
)  # fmt: skip
def test_refuses(tmp_path: Path, old: str, new: str, code: str, place: str, word: str) -> None:
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    _, findings = load(tmp_path, text)
    (found,) = (f.positions[0] for f in findings if f.code == code and word in f.message + f.help)
    lines = text.split("\n")
    rest = "\n".join([lines[found.line - 1][found.column - 1 :], *lines[found.line :]])
    assert rest.startswith(place)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("sorts: {reach: {values: [a]}}", "duplicate-sort"),
        ("tables: {system: {key: {system: system}}}", "duplicate-table"),
    ],
)
def test_duplicates_across_files_show_both(tmp_path: Path, text: str, code: str) -> None:
    _, findings = load(tmp_path, GOOD, text)
    (finding,) = findings
    assert finding.code == code
    assert [Path(p.file).name for p in finding.positions] == ["1.yaml", "0.yaml"]
    assert "first" in finding.positions[1].note


def test_sorts_may_stand_in_other_files(tmp_path: Path) -> None:
    sorts, tables = GOOD.split("tables:", 1)
    together, _ = load(tmp_path / "a", GOOD)
    apart, findings = load(tmp_path / "b", "tables:" + tables, sorts)
    assert findings == []
    assert together.sorts == apart.sorts
    assert list(together.tables) == list(apart.tables)


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("how: text", "how: texts").replace("W: 1,", "W: 3,")
    _, findings = load(tmp_path, text, "tables: [x]", "a: b: c")
    assert [f.code for f in findings] == [
        "bad-declaration", "unknown-sort", "not-a-mapping", "yaml-syntax",
    ]  # fmt: skip


@pytest.mark.parametrize("text", [None, "", "tables:\n"])
def test_no_table_at_all(tmp_path: Path, text: str | None) -> None:
    declarations, findings = load(tmp_path, *([] if text is None else [text]))
    assert [f.code for f in findings] == ["no-tables"]
    assert dict(declarations.tables) == {}


def test_a_missing_folder_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no folder `.*nowhere`"):
        load_declarations([tmp_path / "nowhere"])


words = st.sampled_from(
    [
        *("sorts", "tables", "key", "columns", "sort", "doc", "values", "units", "forms", "system"),
        *(
            "references",
            "default",
            "minimum",
            "list",
            "text",
            "bytes",
            "count",
            "1",
            "true",
            "null",
        ),
    ]
)
trees = st.recursive(
    words | st.text("aZ0_-. ~", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


def flow(tree: object) -> str:
    """A tree as YAML in flow style."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(flow(v) for v in tree) + "]"
    return f'"{tree}"' if tree and not str(tree).isalnum() else str(tree)


@settings(deadline=None, max_examples=40)
@given(st.fixed_dictionaries({"sorts": trees, "tables": trees}) | trees)
def test_any_tree_ends_in_findings(tmp_path_factory: pytest.TempPathFactory, tree: object) -> None:
    declarations, findings = load(tmp_path_factory.mktemp("t"), flow(tree))
    assert declarations.tables or findings
    assert all(f.positions for f in findings)
