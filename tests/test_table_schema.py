"""``ullage schema``: the schemas take what the loader takes, and refuse what they can."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from support import write_rules

from ullage.cli import main
from ullage.columns import ColumnReader
from ullage.declarations import Column, Declarations
from ullage.facts import load_facts
from ullage.sorts import ScalarError
from ullage.tables import load_declarations
from ullage.tableschema import fact_file_schema, table_schemas

ROOT = Path(__file__).resolve().parents[1]
FACT_FILES = sorted((ROOT / "facts").rglob("*.yaml"))

TABLES = """\
sorts:
  state: {values: [up, down, "no"]}
  watts: {units: {W: 1, kW: 1000, mW: 1/1000}}
tables:
  machine:
    doc: A machine.
    source: required
    key: {machine: machine}
    columns:
      memory: {sort: bytes, required: true, doc: Its memory.}
      state: state
      gpus: {sort: count, default: 1, minimum: 1, maximum: 8}
      offset: {sort: count, minimum: -5}
      spare: {sort: ratio, maximum: 1}
      change: {sort: ratio, minimum: -1/2}
      link: bytes_per_second
      net: bits_per_second
      wait: milliseconds
      power: watts
      shared: bool
      note: text
      names: {sort: text, list: true}
      near: {sort: machine, references: machine}
  layer:
    key: {machine: {sort: machine, references: machine}, number: {sort: count, ranges: true}}
    columns: {size: bytes}
"""
GOOD = "machine: x, memory: 1 GiB, source: s"

Capture = pytest.CaptureFixture[str]

# YAML 1.2, as editors read it.
_CORE = (
    (r"null|Null|NULL|~|", lambda _: None),
    (r"true|True|TRUE", lambda _: True),
    (r"false|False|FALSE", lambda _: False),
    (r"[-+]?[0-9]+", int),
    (r"0o[0-7]+", lambda text: int(text[2:], 8)),
    (r"0x[0-9a-fA-F]+", lambda text: int(text[2:], 16)),
    (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", float),
)


def scalar(text: str) -> object:
    """What an editor makes of text without quotes."""
    return next((make(text) for pattern, make in _CORE if re.fullmatch(pattern, text)), text)


def typed(text: str) -> object:
    """What an editor makes of YAML."""
    return _value(yaml.compose(text, Loader=yaml.SafeLoader))


def _value(node: yaml.Node | None) -> object:
    if isinstance(node, yaml.MappingNode):
        return {_value(key): _value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(part) for part in node.value]
    assert isinstance(node, yaml.ScalarNode | None)
    return None if node is None else node.value if node.style else scalar(node.value)


@pytest.fixture(scope="module")
def declarations(tmp_path_factory: pytest.TempPathFactory) -> Declarations:
    found, findings = load_declarations([write_rules(tmp_path_factory.mktemp("small"), TABLES)])
    assert not findings
    return found


@pytest.fixture(scope="module")
def validator(declarations: Declarations) -> Draft7Validator:
    return Draft7Validator(fact_file_schema(declarations))


@pytest.fixture(scope="module")
def shipped() -> Draft7Validator:
    found, _ = load_declarations([ROOT / "rules"])
    base, _ = load_facts(found, [ROOT / "facts"])
    schema = fact_file_schema(found, base)
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


@pytest.mark.parametrize("path", FACT_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_shipped_file_is_taken(path: Path, shipped: Draft7Validator) -> None:
    assert [e.message for e in shipped.iter_errors(typed(path.read_text()))] == []


@pytest.mark.parametrize(
    "rows",
    [
        f"machine: [{{{GOOD}}}]",
        "machine:\n",
        "",
        "machine: [{machine: 010, memory: 0.5 GiB, source: [a, 2]}]",
        f"machine: [{{{GOOD}, state: no}}]",
        f"machine: [{{{GOOD}, gpus: 8, offset: -5, spare: 20%, change: -0.5, shared: true}}]",
        f"machine: [{{{GOOD}, gpus: '2', spare: 1/3, shared: 'false', names: [1, NO, x]}}]",
        f"machine: [{{{GOOD}, note: 2026-11-02, link: 450 GB/s, net: 2.5Gbit/s, wait: 1/3 ms}}]",
        f"machine: [{{{GOOD}, note: ~, state: null, gpus: , names: null}}]",
        f"machine: [{{{GOOD}, near: not there yet, power: 3 mW}}]",
        "layer: [{machine: x, number: 3..77}, {machine: x, number: [0, 6..74/4]}]",
        "layer: [{machine: x, number: 7}]",
    ],
)
def test_what_is_right_is_taken(rows: str, validator: Draft7Validator) -> None:
    assert [e.message for e in validator.iter_errors(typed(rows))] == []


@pytest.mark.parametrize(
    "rows",
    [
        "machines: []",
        "machine: {}",
        "machine: [x]",
        "machine: [{machine: x, memory: 1 GiB}]",
        "machine: [{machine: x, memory: 1 GiB, source: null}]",
        "machine: [{machine: x, source: s}]",
        "machine: [{memory: 1 GiB, source: s}]",
        "machine: [{machine: null, memory: 1 GiB, source: s}]",
        "machine: [{machine: [x], memory: 1 GiB, source: s}]",
        "machine: [{machine: x, memory: 96, source: s}]",
        "machine: [{machine: x, memory: 96 gb, source: s}]",
        "machine: [{machine: x, memory: -1 GiB, source: s}]",
        f"machine: [{{{GOOD}, colour: red}}]",
        f"machine: [{{{GOOD}, state: running}}]",
        f"machine: [{{{GOOD}, gpus: 0}}]",
        f"machine: [{{{GOOD}, gpus: 9}}]",
        f"machine: [{{{GOOD}, gpus: 1.5}}]",
        f"machine: [{{{GOOD}, gpus: many}}]",
        f"machine: [{{{GOOD}, offset: -6}}]",
        f"machine: [{{{GOOD}, spare: 1.1}}]",
        f"machine: [{{{GOOD}, spare: -0.1}}]",
        f"machine: [{{{GOOD}, shared: 'yes'}}]",
        f"machine: [{{{GOOD}, shared: 1}}]",
        f"machine: [{{{GOOD}, names: x}}]",
        f"machine: [{{{GOOD}, names: [null]}}]",
        f"machine: [{{{GOOD}, link: 2.5 Gbit/s}}]",
        "layer: [{machine: x, number: 3-77}]",
        "layer: [{machine: x, number: []}]",
        "layer: [{machine: x, number: -1}]",
        "layer: [{machine: x}]",
    ],
)
def test_mistakes_are_refused(rows: str, validator: Draft7Validator) -> None:
    assert list(validator.iter_errors(typed(rows)))


_TEXTS = st.one_of(
    st.lists(
        st.sampled_from(
            ["-", "0", "1", "7", "96", "010", ".", "5", "/", "3", " ", "\t", "GiB", "GB", "B", "kB",
             "GB/s", "MiB/s", "Gbit/s", "ms", "min", "s", "h", "us", "%", "W", "kW", "mW", "gb",
             "e3", "_", "true", "false", "up", "no", "null", "..", "٣"]
        ),
        min_size=1, max_size=6,
    ).map("".join),
    st.text(max_size=8),
    st.integers(-20, 2 * 10**9).map(str),
    st.decimals(-2, 2, places=3).map(str),
)  # fmt: skip


@settings(max_examples=2000, deadline=None)
@given(_TEXTS, st.booleans())
@example("-0 B", False)
@example("-0", False)
@example("1/3", False)
@example("1.0", False)
@example("010", False)
def test_schema_and_loader_agree(declarations: Declarations, text: str, quoted: bool) -> None:
    """What the loader takes the schema takes; text that the schema takes breaks no form."""
    value = text if quoted else scalar(text)
    table = declarations.tables["machine"]
    machine: Any = table_schemas(declarations)["machine"]
    properties = machine["items"]["properties"]
    for column in table.columns.values():
        if column.many or (value is None and not quoted):
            continue
        taken = Draft7Validator(properties[column.name]).is_valid(value)
        error = _refusal(column, text)
        # What no pattern tells: bounds, and a fraction below which nothing stands.
        untold = error in _BOUNDS or bool(re.search(r"/0+(\.0+)?(?![0-9.])", text))
        if error is None:
            assert taken, (column.name, text)
        elif isinstance(value, str) and not untold:
            assert not taken, (column.name, text, error)


_BOUNDS = (
    *("quantity-out-of-range", "count-out-of-range", "below-minimum", "above-maximum"),
    *("negative-quantity", "not-text"),
)


def _refusal(column: Column, text: str) -> str | None:
    """The code by which the loader refuses a text, if it does."""
    try:
        ColumnReader(column).text(text)
    except ScalarError as error:
        return error.code
    return None


def test_keys_of_the_catalog_are_offered_and_others_taken(
    declarations: Declarations, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(
        f"machine: [{{{GOOD}}}, {{machine: y, memory: 1 B, source: s}}]"
    )
    base, _ = load_facts(declarations, [tmp_path])
    machine: Any = table_schemas(declarations, base)["machine"]
    near = machine["items"]["properties"]["near"]
    assert near["anyOf"][0] == {"enum": ["x", "y"]}
    assert Draft7Validator(near).is_valid("z")


def test_what_rows_and_columns_mean_is_told(declarations: Declarations) -> None:
    schema: Any = table_schemas(declarations)["machine"]
    assert schema["description"] == "A machine."
    memory = schema["items"]["properties"]["memory"]
    assert memory["description"].startswith("Its memory.")
    assert "GiB" in memory["description"]


def test_a_folder_is_written_and_what_is_stale_goes(tmp_path: Path, capsys: Capture) -> None:
    rules = write_rules(tmp_path, TABLES)
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "a.yaml").write_text(f"machine: [{{{GOOD}}}]\n")
    out = tmp_path / "schemas"
    words = ["schema", "--rules", str(rules), "--facts", str(facts)]
    assert main([*words, "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    names = sorted(p.relative_to(out).as_posix() for p in out.rglob("*.json"))
    assert names == ["facts.json", "tables/layer.json", "tables/machine.json"]
    for path in out.rglob("*.json"):
        Draft7Validator.check_schema(json.loads(path.read_text()))
    (out / "tables" / "old.json").write_text((out / "tables" / "layer.json").read_text())
    (out / "tables" / "mine.json").write_text("{}")
    (out / "tables" / "mine2.json").write_text("no JSON")
    assert main([*words, "-o", str(out)]) == 0
    assert sorted(p.name for p in (out / "tables").iterdir()) == [
        "layer.json",
        "machine.json",
        "mine.json",
        "mine2.json",
    ]
    capsys.readouterr()
    assert main(words) == 0
    assert capsys.readouterr().out == (out / "facts.json").read_text()


def test_unsound_declarations_and_folders_end_as_they_should(
    tmp_path: Path, capsys: Capture
) -> None:
    rules = write_rules(tmp_path, "tables: {u: {}}\n")
    facts = tmp_path / "facts"
    facts.mkdir()
    assert main(["schema", "--rules", str(rules), "--facts", str(facts)]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "bad-declaration" in told.err
    (tmp_path / "file").write_text("")
    sound = ["--rules", str(ROOT / "rules"), "--facts", str(ROOT / "facts")]
    assert main(["schema", *sound, "-o", str(tmp_path / "file")]) == 1
    assert "cannot write" in capsys.readouterr().err
