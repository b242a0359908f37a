"""Facts: what rows mean, and where each mistake in them is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.columns import Cell, Row
from ullage.declarations import Declarations
from ullage.facts import FactBase, load_facts
from ullage.findings import Finding, Position, UsageError
from ullage.sorts import COUNT_RANGE, RANGE
from ullage.tables import load_declarations

TABLES = """\
sorts:
  reach: {values: [one_pool, direct]}
  watts: {units: {W: 1, kW: 1000}}
tables:
  system:
    source: required
    key: {system: system}
    columns:
      capacity: {sort: bytes, required: true}
      gpus: {sort: count, default: 1, minimum: 1, maximum: 8}
      how: text
      reach: reach
      power: watts
      ok: bool
      share: {sort: ratio, maximum: 100%}
      drift: {sort: milliseconds, minimum: -1 s}
      tags: {sort: text, list: true}
  route:
    key: {system: {sort: system, references: system}, hop: count}
    columns:
      peers: {sort: system, list: true, references: [system]}
      via: {sort: system, references: [system], default: gb10}
"""

GOOD = """\
system:
- {system: gb10, capacity: 128 GiB, source: datasheet}
- {system: gh200, capacity: 96 GB, source: [a, b], gpus: 4, share: 34/68}
route:
- system: gb10
  hop: 2
  peers: [gh200]
"""

DERIVED = {"standing": Position("engine", 1, 1), "fits": Position("rules/fits.lp", 7, 3)}


@pytest.fixture(scope="session")
def declarations(tmp_path_factory: pytest.TempPathFactory) -> Declarations:
    """The declarations of TABLES."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "tables").mkdir()
    (folder / "tables" / "t.yaml").write_text(TABLES)
    loaded, findings = load_declarations([folder])
    assert findings == []
    return loaded


def folder_of(path: Path, files: Mapping[str, str]) -> Path:
    """A folder of these files."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name).parent.mkdir(exist_ok=True, parents=True)
        (path / name).write_text(text, encoding="utf-8")
    return path


def load(
    declarations: Declarations, path: Path, *texts: str, override: bool = False
) -> tuple[FactBase, list[Finding]]:
    """The facts of these texts, each in a folder of its own: 0/f.yaml, 1/f.yaml, ..."""
    folders = [folder_of(path / str(i), {"f.yaml": t}) for i, t in enumerate(texts)]
    return load_facts(declarations, folders, override=override, derived=DERIVED)


def given_rows(
    declarations: Declarations, rows: Mapping[str, Sequence[Mapping[str, object]]]
) -> tuple[FactBase, list[Finding]]:
    """The facts of rows given in Python alone."""
    return load_facts(declarations, [], rows=rows, derived=DERIVED)


def values(base: FactBase) -> dict[str, list[object]]:
    """Rows without their places."""

    def bare(cell: Cell) -> object:
        return [bare(c) for c in cell.value] if isinstance(cell.value, tuple) else cell.value

    return {
        name: [(r.key, {n: bare(c) for n, c in r.cells.items()}, r.source) for r in rows]
        for name, rows in base.rows.items()
    }


def test_rows_cells_and_places(declarations: Declarations, tmp_path: Path) -> None:
    base, findings = load(declarations, tmp_path, GOOD)
    assert findings == []
    file = (tmp_path / "0" / "f.yaml").as_posix()
    gb10, gh200 = base.rows["system"]
    assert gb10 == Row(
        "system",
        ("gb10",),
        {"capacity": Cell(128 * 2**30, 2, 28), "gpus": Cell(1, 0, 0)},
        file,
        2,
        3,
        "datasheet",
    )
    assert gh200.source == "a; b"
    assert gh200.cells["share"].value == Fraction(1, 2)
    (route,) = base.rows["route"]
    assert route.key == ("gb10", 2)
    assert route.cells["peers"].value == (Cell("gh200", 7, 11),)
    assert base.position(gb10) == Position(file, 2, 3)
    assert base.position(gb10, "system") == Position(file, 2, 3)
    assert base.position(gb10, "capacity") == Position(file, 2, 28)
    default = base.position(gb10, "gpus")
    assert default.file.endswith("tables/t.yaml")
    assert (default.line, default.note) == (10, "declares the default")


def test_scalars_are_text_read_by_the_sort(declarations: Declarations, tmp_path: Path) -> None:
    for text in ("NO", "1e3", "010", "1:30", "2024-01-01", "0x10", ".inf", "on", "NULL"):
        (tmp_path / "f").mkdir(exist_ok=True)
        row = f"{{system: {text}, capacity: 1 B, source: s, how: {text}}}"
        base, findings = load(declarations, tmp_path, f"system: [{row}]")
        assert findings == []
        assert base.rows["system"][0].key == (text,)
        assert base.rows["system"][0].cells["how"].value == text


def test_absent_is_no_cell_and_quoted_is_text(declarations: Declarations, tmp_path: Path) -> None:
    text = (
        "system:\n"
        "- {system: a, capacity: 1 B, source: s, how: null, ok: ~, tags: , gpus: null}\n"
        "- {system: b, capacity: 1 B, source: s, how: 'null', tags: ['~', \"\"]}\n"
        "- {system: c, capacity: 1 B, source: s, how: null}\n"
    )
    base, findings = load(declarations, tmp_path, text)
    assert findings == []
    a, b, c = values(base)["system"]
    assert a == (("a",), {"capacity": 1, "gpus": 1}, "s")
    assert b == (("b",), {"capacity": 1, "how": "null", "tags": ["~", ""], "gpus": 1}, "s")
    assert c == (("c",), {"capacity": 1, "gpus": 1}, "s")


ROW = "system:\n- {system: a, capacity: 1 B, source: s"


@pytest.mark.parametrize(
    ("text", "code", "place", "declared", "word"),
    [
        (f"{ROW}, capasity: 2 B}}", "unknown-column", "capasity", "system:", "`capacity`"),
        (f"{ROW}, <<: 2 B}}", "unknown-column", "<<", "system:", "merge"),
        ("systm: []", "unknown-table", "systm", None, "`system`"),
        ("fits: []", "derived-predicate", "fits", None, "`fits`"),
        ("standing: []", "derived-predicate", "standing", None, "`standing`"),
        ("system:\n- {system: a, source: s}", "missing-column", "{", "capacity:", "`capacity`"),
        (
            "system:\n- {system: a, capacity: ~, source: s}",
            "missing-column",
            "{",
            "capacity:",
            "`capacity`",
        ),
        ("system:\n- {capacity: 1 B, source: s}", "missing-key", "{", "system: s", "`system`"),
        (
            "system:\n- {system: null, capacity: 1 B, source: s}",
            "missing-key",
            "{",
            "system: s",
            "`system`",
        ),
        ("route:\n- {hop: 1, via: }", "missing-key", "{", "system: {", "`system`"),
        ("system:\n- {system: a, capacity: 1 B}", "missing-source", "{", "system:", "`source"),
        (
            "system:\n- {system: a, capacity: 1 B, source: ''}",
            "missing-source",
            "{",
            "system:",
            "`source",
        ),
        (f"{ROW}}}\n- {{system: a, capacity: 2 B, source: s}}", "duplicate-row", "{", None, "`a`"),
        (f"{ROW}, how: x, how: y}}", "duplicate-mapping-key", "how: y", None, "`how`"),
        (f"{ROW}, how: , how: y}}", "duplicate-mapping-key", "how: y", None, "`how`"),
        (f"{ROW}}}\nsystem: []", "duplicate-mapping-key", "system", None, "`system`"),
        (f"{ROW}, how: [x]}}", "not-a-scalar", "[x]", "how:", "`how`"),
        (f"{ROW}, how: {{x: y}}}}", "not-a-scalar", "{x: y}", "how:", "`how`"),
        (f"{ROW}, [how]: x}}", "not-a-scalar", "[how]", None, "name"),
        (f"{ROW}, tags: x}}", "not-a-list", "x", "tags:", "`tags"),
        (f"{ROW}, tags: [x, [y]]}}", "not-a-scalar", "[y]", "tags:", "`tags`"),
        (f"{ROW}, tags: [x, null]}}", "not-a-scalar", "null", "tags:", "`tags`"),
        ("system: {a: b}", "not-a-list", "{a", None, "`system`"),
        ("system: x", "not-a-list", "x", None, "`system`"),
        ("system: [x]", "not-a-mapping", "x", None, "`system`"),
        ("[x]", "not-a-mapping", "[x]", None, "the file"),
        (f"{ROW}, ok: yes}}", "not-a-bool", "yes", "ok:", "`true`"),
        (f"{ROW}, reach: one_pol}}", "not-in-closed-set", "one_pol", "reach:", "`one_pool`"),
        (f"{ROW}, power: lots}}", "not-a-quantity", "lots", "power:", "`lots`"),
        (f"{ROW}, power: 1e3 W}}", "not-a-quantity", "1e3", "power:", "`1e3 W`"),
        (f"{ROW}, power: 3}}", "missing-unit", "3}", "power:", "W"),
        (f"{ROW}, power: 3 kw}}", "unknown-unit", "3 kw", "power:", "`kW`"),
        (f"{ROW}, power: {RANGE} W}}", "quantity-out-of-range", "3276", "power:", "`32768"),
        (f"{ROW}, power: -3 W}}", "negative-quantity", "-3 W", "power:", "`-3 W`"),
        (f"{ROW}, gpus: 0}}", "below-minimum", "0}", "gpus:", "1"),
        (f"{ROW}, gpus: 9}}", "above-maximum", "9}", "gpus:", "8"),
        (f"{ROW}, share: 34/32}}", "above-maximum", "34/32", "share:", "`34/32`"),
        (f"{ROW}, drift: -1001 ms}}", "below-minimum", "-1001", "drift:", "-1000 ms"),
        (f"{ROW}, gpus: 1.0}}", "not-a-count", "1.0", "gpus:", "`1.0`"),
        (f"{ROW}, gpus: {COUNT_RANGE}}}", "count-out-of-range", "1000", "gpus:", "`1000000000`"),
        (f'{ROW}, how: "a\\0"}}', "not-text", '"a', "how:", "U+0000"),
        (f'{ROW}, source: "a\\0"}}', "not-text", '"a', None, "U+0000"),
        (f"{ROW}}}\nroute: [{{system: b, hop: 1, via: a}}]", "dangling-reference", "b", "system: {",
         "`b`"),
        (f"{ROW}}}\nroute: [{{system: a, hop: 1, via: gb1}}]", "dangling-reference", "gb1", "via:",
         "`gb1`"),
        (f"{ROW}}}\nroute: [{{system: a, hop: 1, via: a, peers: [a, b]}}]", "dangling-reference",
         "b", "peers:", "`b`"),
        (f"{ROW}, how: !!str x}}", "yaml-tag", "!!str", None, "!!str"),
        (f"{ROW}, how: &a [*a]}}", "alias-expansion", "&a", None, "alias"),
        ("system:\n\t- x", "yaml-tab", "\t", None, "tab"),
        ("system: [a", "yaml-syntax", "[", None, "bracket"),
    ],
)  # fmt: skip
def test_refuses(
    declarations: Declarations,
    tmp_path: Path,
    text: str,
    code: str,
    place: str,
    declared: str | None,
    word: str,
) -> None:
    _, findings = load(declarations, tmp_path, text)
    (finding,) = (f for f in findings if f.code == code)
    assert word in finding.message + finding.help
    found = finding.positions[0]
    assert text.split("\n")[found.line - 1][found.column - 1 :].startswith(place)
    if declared is not None:
        second = finding.positions[1]
        assert TABLES.split("\n")[second.line - 1][second.column - 1 :].startswith(declared)
        assert second.note


def test_a_default_that_dangles_shows_its_declaration(
    declarations: Declarations, tmp_path: Path
) -> None:
    _, findings = load(declarations, tmp_path, f"{ROW}}}\nroute: [{{system: a, hop: 1}}]")
    (finding,) = findings
    assert finding.code == "dangling-reference"
    assert finding.positions[0].note == "declares the default"


def test_near_miss_of_a_reference(declarations: Declarations, tmp_path: Path) -> None:
    text = GOOD.replace("peers: [gh200]", "peers: [gh20]")
    _, findings = load(declarations, tmp_path, text)
    assert [(f.code, f.help) for f in findings] == [
        ("dangling-reference", "a similar row is `gh200`; rows are `gb10`, `gh200`")
    ]


@pytest.mark.parametrize(
    "spoiled",
    [
        "system: [{system: gb10, capacity: 1 B, source: s",
        "system: {a: {system: gb10}}",
        "systems: [{system: gb10, capacity: 1 B, source: s}]",
        "system: [{systm: gb10, capacity: 1 B, source: s}]",
        "system: [[gb10]]",
        "- gb10",
    ],
)
def test_a_row_not_understood_does_not_dangle_too(
    declarations: Declarations, tmp_path: Path, spoiled: str
) -> None:
    _, findings = load(declarations, tmp_path, spoiled, "route: [{system: gb10, hop: 1}]")
    assert findings
    assert "dangling-reference" not in {f.code for f in findings}


def test_all_mistakes_of_a_run_at_once(declarations: Declarations, tmp_path: Path) -> None:
    text = (
        "system:\n- {system: a, capacity: 1, ok: no, sorce: s}\n- x\nfits: []\nhop: []\n"
        "route:\n- {system: q, hop: -1}\n"
    )
    _, findings = load(declarations, tmp_path, text, "a: [")
    assert [f.code for f in findings] == [
        "missing-source", "missing-unit", "not-a-bool", "unknown-column", "not-a-mapping",
        "derived-predicate", "unknown-table", "negative-quantity", "yaml-syntax",
    ]  # fmt: skip


def test_duplicates_show_both_rows(declarations: Declarations, tmp_path: Path) -> None:
    _, findings = load(
        declarations, tmp_path, GOOD, f"{ROW.replace('system: a', 'system: gb10')}}}"
    )
    (finding,) = findings
    assert finding.code == "duplicate-row"
    first, second = finding.positions
    assert first.file.endswith("1/f.yaml")
    assert second.file.endswith("0/f.yaml")
    assert (second.line, second.note) == (2, "is the first row")


def test_override_replaces_by_folder_only(declarations: Declarations, tmp_path: Path) -> None:
    late = f"{ROW.replace('system: a', 'system: gb10')}, gpus: 3}}\n"
    base, findings = load(declarations, tmp_path / "a", GOOD, late, override=True)
    assert findings == []
    assert [r.key for r in base.rows["system"]] == [("gb10",), ("gh200",)]
    assert base.rows["system"][0].cells["gpus"].value == 3
    twice = late + late.split("\n", 1)[1]
    _, findings = load(declarations, tmp_path / "b", GOOD, twice, override=True)
    assert [f.code for f in findings] == ["duplicate-row"]
    assert findings[0].positions[1].file.endswith("1/f.yaml")


def test_given_rows_override_folders(declarations: Declarations, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"f.yaml": GOOD})
    rows = {"system": [{"system": "gb10", "capacity": 5, "source": "me"}]}
    _, findings = load_facts(declarations, [folder], rows=rows)
    assert [(f.code, str(f.positions[0])) for f in findings] == [("duplicate-row", "<rows>:1:1")]
    base, findings = load_facts(declarations, [folder], rows=rows, override=True)
    assert findings == []
    assert base.rows["system"][0].cells["capacity"] == Cell(5, 1, 1)


def test_given_rows_are_read_like_yaml(declarations: Declarations) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "system": [
            {
                "system": "a",
                "capacity": "1 GiB",
                "source": ["x", "y"],
                "how": None,
                "ok": True,
                "share": Decimal("0.25"),
                "drift": Fraction(-1, 3),
                "tags": ("p", "q"),
                "gpus": 2,
            },
            {"system": "b", "capacity": Fraction(4), "source": "z", "how": "null"},
        ]
    }
    base, findings = given_rows(declarations, rows)
    assert findings == []
    assert values(base)["system"] == [
        (
            ("a",),
            {
                "capacity": 2**30,
                "ok": True,
                "share": Fraction(1, 4),
                "drift": Fraction(-1, 3),
                "tags": ["p", "q"],
                "gpus": 2,
            },
            "x; y",
        ),
        (("b",), {"capacity": 4, "how": "null", "gpus": 1}, "z"),
    ]
    assert base.position(base.rows["system"][1], "capacity") == Position("<rows>", 2, 1)


@pytest.mark.parametrize(
    ("column", "value", "code", "word"),
    [
        ("capacity", 0.5, "not-a-quantity", "Fraction"),
        ("capacity", True, "not-a-quantity", "bool"),
        ("capacity", "5", "missing-unit", "GiB"),
        ("capacity", -1, "negative-quantity", "`-1`"),
        ("capacity", RANGE, "quantity-out-of-range", str(RANGE)),
        ("capacity", 10**400, "quantity-out-of-range", "digits"),
        ("capacity", Fraction(1, 10**400), "quantity-out-of-range", "digits"),
        ("capacity", Decimal("1E+999999"), "quantity-out-of-range", "1E+999999"),
        ("capacity", Decimal("1E-999999"), "quantity-out-of-range", "1E-999999"),
        ("capacity", Decimal("NaN"), "not-a-quantity", "NaN"),
        ("capacity", object, "not-a-quantity", "type"),
        ("gpus", 1.0, "not-a-count", "float"),
        ("gpus", Fraction(1, 2), "not-a-count", "`1/2`"),
        ("gpus", 0, "below-minimum", "1"),
        ("gpus", COUNT_RANGE, "count-out-of-range", str(COUNT_RANGE)),
        ("ok", 1, "not-a-bool", "`1`"),
        ("ok", "yes", "not-a-bool", "`true`"),
        ("reach", 3, "not-in-closed-set", "reach"),
        ("how", 3, "not-text", "`3`"),
        ("how", "\ud800", "not-text", "U+D800"),
        ("how", "a\0", "not-text", "U+0000"),
        ("how", ["x"], "not-text", "list"),
        ("tags", "x", "not-a-list", "`x`"),
        ("tags", ["x", None], "not-text", "None"),
        ("source", 3, "not-text", "`3`"),
        ("capasity", 3, "unknown-column", "`capacity`"),
    ],
)
def test_given_values_refused(
    declarations: Declarations, column: str, value: object, code: str, word: str
) -> None:
    row = {"system": "a", "capacity": 1, "source": "s", column: value}
    good = {"system": "z", "capacity": 1, "source": "s"}
    _, findings = given_rows(declarations, {"system": [good, row]})
    finding = next(f for f in findings if f.code == code)
    assert str(finding.positions[0]) == "<rows>:2:1"
    assert word in finding.message + finding.help


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ({"systm": []}, "unknown-table"),
        ({"fits": []}, "derived-predicate"),
        ({"system": "x"}, "not-a-list"),
        ({"system": {"a": 1}}, "not-a-list"),
        ({"system": 3}, "not-a-list"),
        ({"system": ["x"]}, "not-a-mapping"),
        ({"system": [{}]}, "missing-key"),
        ({3: []}, "unknown-table"),
    ],
)
def test_given_shapes_refused(declarations: Declarations, rows: object, code: str) -> None:
    _, findings = given_rows(declarations, rows)  # type: ignore[arg-type]
    assert code in {f.code for f in findings}


def test_folders_without_facts(declarations: Declarations, tmp_path: Path) -> None:
    empty = folder_of(tmp_path / "empty", {"f.yaml": "system:\n", "g.yaml": ""})
    _, findings = load_facts(declarations, [empty])
    assert [f.code for f in findings] == ["no-facts"]
    assert findings[0].positions[0].file == empty.as_posix()
    assert load_facts(declarations, [empty], rows={})[1] == []
    with pytest.raises(UsageError, match=r"no folder `.*nowhere`"):
        load_facts(declarations, [tmp_path / "nowhere"])


def test_unreadable_files(declarations: Declarations, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "f", {"f.yaml": GOOD})
    (folder / "g.yaml").symlink_to(tmp_path / "nowhere")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "h.yaml").write_bytes(b"system:\n- \xff")
    _, findings = load_facts(declarations, [folder])
    assert [(f.code, Path(f.positions[0].file).name) for f in findings] == [
        ("unreadable-file", "g.yaml"),
        ("not-utf8", "h.yaml"),
    ]


def test_aliased_rows_are_read_wherever_they_stand(
    declarations: Declarations, tmp_path: Path
) -> None:
    text = f"{ROW}, tags: &t [x, y]}}\n- {{system: b, capacity: 2 B, source: s, tags: *t}}"
    base, findings = load(declarations, tmp_path, text)
    assert findings == []
    a, b = base.rows["system"]
    assert a.cells["tags"] == b.cells["tags"]


def test_many_dangling_rows_take_bounded_time(declarations: Declarations) -> None:
    rows = {
        "system": [{"system": f"sys{i}", "capacity": 1, "source": "s"} for i in range(3000)],
        "route": [{"system": f"sis{i}", "hop": 1, "via": "sys1"} for i in range(3000)],
    }
    _, findings = given_rows(declarations, rows)
    assert len(findings) == 3000


system_rows = st.fixed_dictionaries(
    {
        "system": st.sampled_from(["a", "b", "c", "NO", "1"]),
        "capacity": st.sampled_from(["1 B", "1.5 GiB", "1", "x", "-1 B"]),
        "source": st.sampled_from(["s", "t"]),
    },
    optional={
        "how": st.sampled_from(["x", "'null'", "null", "[x]"]),
        "gpus": st.sampled_from(["1", "9", "~"]),
        "oops": st.just("1"),
    },
)
route_rows = st.fixed_dictionaries(
    {"system": st.sampled_from(["a", "b", "q"]), "hop": st.integers(0, 3).map(str)},
    optional={"peers": st.sampled_from(["[a]", "[a, q]", "b"]), "via": st.just("a")},
)
any_rows = st.lists(
    st.tuples(st.just("system"), system_rows) | st.tuples(st.just("route"), route_rows),
    max_size=6,
    unique_by=lambda r: (r[0], r[1]["system"], r[1].get("hop")),
)
AnyRows = list[tuple[str, dict[str, str]]]


def as_yaml(rows: AnyRows) -> str:
    """Rows as the text of one file."""
    tables: dict[str, list[str]] = {}
    for table, row in rows:
        flow = ", ".join(f"{k}: {v}" for k, v in row.items())
        tables.setdefault(table, []).append(f"- {{{flow}}}")
    return "".join(f"{t}:\n" + "\n".join(lines) + "\n" for t, lines in tables.items())


def sayings(findings: list[Finding]) -> set[tuple[str, str]]:
    """Findings without their places."""
    return {(f.code, f.message) for f in findings if f.code != "no-facts"}


def by_key(base: FactBase) -> dict[str, list[object]]:
    """Rows without places, in an order of their own."""
    return {name: sorted(rows, key=repr) for name, rows in values(base).items()}


@settings(deadline=None, max_examples=40)
@given(any_rows, st.data())
def test_neither_order_nor_files_matter(
    declarations: Declarations,
    tmp_path_factory: pytest.TempPathFactory,
    rows: AnyRows,
    data: st.DataObject,
) -> None:
    shuffled = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    path = tmp_path_factory.mktemp("f")
    one = folder_of(path / "one", {"f.yaml": as_yaml(rows)})
    two = folder_of(
        path / "two", {"a.yaml": as_yaml(shuffled[:cut]), "b/b.yml": as_yaml(shuffled[cut:])}
    )
    together, findings = load_facts(declarations, [one])
    apart, others = load_facts(declarations, [two])
    assert sayings(findings) == sayings(others)
    assert by_key(together) == by_key(apart)


@settings(deadline=None, max_examples=40)
@given(st.lists(system_rows, max_size=4, unique_by=lambda r: r["system"]))
def test_yaml_and_given_text_agree(
    declarations: Declarations,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, str]],
) -> None:
    plain = [{k: v for k, v in r.items() if k != "how" and v != "~"} for r in rows]
    folder = folder_of(
        tmp_path_factory.mktemp("f"), {"f.yaml": as_yaml([("system", r) for r in plain])}
    )
    written, findings = load_facts(declarations, [folder])
    spoken, others = given_rows(declarations, {"system": plain})
    assert sayings(findings) == sayings(others)
    assert values(written) == values(spoken)


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=60) | st.text("{}[]:,-&*!'\"\n \tsystem0", max_size=60))
def test_any_text_ends_in_findings(
    declarations: Declarations, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    for whole in (text, f"system:\n- {text}", f"system:\n- {{system: {text}, capacity: {text}}}"):
        folder = tmp_path_factory.mktemp("f")
        (folder / "f.yaml").write_bytes(whole.encode("utf-8", "surrogatepass"))
        _, findings = load_facts(declarations, [folder])
        assert all(f.positions for f in findings)


objects = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.fractions() | st.decimals() | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)  # fmt: skip


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["system", "capacity", "gpus", "how", "ok", "share", "tags", "source", "x"]
        ),
        objects,
    )
)
def test_any_object_ends_in_findings(declarations: Declarations, row: dict[str, object]) -> None:
    _, findings = given_rows(declarations, {"system": [row]})
    assert all(f.positions for f in findings)


def test_a_number_too_long_to_print_is_refused(declarations: Declarations) -> None:
    for value in (10**5000, Fraction(1, 10**5000)):
        row = {"system": "a", "capacity": value, "source": "s"}
        _, findings = given_rows(declarations, {"system": [row]})
        assert [f.code for f in findings] == ["quantity-out-of-range"]
        row = {"system": value, "capacity": 1, "source": "s"}
        _, findings = given_rows(declarations, {"system": [row]})
        assert [f.code for f in findings] == ["not-text"]
