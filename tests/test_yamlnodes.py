"""YAML as nodes: places, refusals and bounds."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage import yamlnodes
from ullage.stored import parts_below
from ullage.textfiles import files_below
from ullage.yamlnodes import (
    MAX_DEPTH,
    YAML_ENDINGS,
    Nodes,
    collector_paused,
    compose_document,
    is_absent,
    read_document,
)


@pytest.fixture(params=["c", "pure"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both composers: libyaml may be absent where ullage runs."""
    if request.param == "pure":
        pure = yamlnodes._bounded_loader(yaml.SafeLoader)
        monkeypatch.setattr(yamlnodes, "_LOADER", pure)
    elif not yaml.__with_libyaml__:
        pytest.skip("libyaml is absent")
    return str(request.param)


@pytest.mark.parametrize(
    ("data", "code", "line", "column", "word"),
    [
        (b"ok: 1\nbad: \xff", "not-utf8", 2, 6, "0xff"),
        (b"a: b\x07", "yaml-syntax", 1, 5, "U+0007"),
        (b"a: \0", "yaml-syntax", 1, 4, "U+0000"),
        (b"a:\n\tb: 1", "yaml-tab", 2, 1, "spaces"),
        (b"a: b\n\tc: 1", "yaml-tab", 2, 1, "spaces"),
        (b"a: b: c", "yaml-syntax", 1, 5, "quotes"),
        (b"a: [1, 2\nb: c\n", "yaml-syntax", 1, 4, "bracket"),
        (b"a: {b: c", "yaml-syntax", 1, 4, "bracket"),
        (b"a:\n  b: 'x\n", "yaml-syntax", 2, 6, "quote"),
        (b"a: @x", "yaml-syntax", 1, 4, "`@`"),
        (b"a:\n  - b\n c", "yaml-syntax", 3, 2, "align"),
        (b"a: - b", "yaml-syntax", 1, 4, "list"),
        (b"a: *x", "yaml-syntax", 1, 4, "alias"),
        (b"a: &x 1\nb: &x 2", "yaml-syntax", 2, 4, "anchor"),
        (b"a: 1\n---\nb: 2", "yaml-syntax", 2, 1, "---"),
        (b"a: !!int 3", "yaml-tag", 1, 4, "`!!int`"),
        (b"a: [!foo x]", "yaml-tag", 1, 5, "`!foo`"),
        (b"!!map\na: b", "yaml-tag", 1, 1, "`!!map`"),
        (b"a: ! x", "yaml-tag", 1, 4, "`!`"),
        (b"a: &n !x y", "yaml-tag", 1, 4, "`!x`"),
        (b"a: !u!x y", "yaml-tag", 1, 4, "tag"),
        (b"a: &a [*a]", "alias-expansion", 1, 4, "anchor"),
        (b"[" * 5000, "yaml-syntax", 1, None, str(MAX_DEPTH)),
        (b"- " * 5000, "yaml-syntax", 1, None, str(MAX_DEPTH)),
        (b"? " * 5000, "yaml-syntax", 1, None, str(MAX_DEPTH)),
        (b"{a: " * 5000, "yaml-syntax", 1, None, str(MAX_DEPTH)),
    ],
)
def test_refuses(
    loader: str, data: bytes, code: str, line: int, column: int | None, word: str
) -> None:
    document = compose_document(data, "f.yaml")
    finding = document.findings[0]
    assert finding.code == code
    assert (finding.positions[0].file, finding.positions[0].line) == ("f.yaml", line)
    assert column in (None, finding.positions[0].column)
    assert word in finding.message + finding.help


@pytest.mark.parametrize("data", [b"", b"# nothing\n", b"---\n...\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_no_error(loader: str, data: bytes) -> None:
    document = compose_document(data, "f")
    assert (document.findings, document.complete) == ((), True)
    assert document.root is None or is_absent(document.root)


def test_a_byte_order_mark_moves_nothing(loader: str) -> None:
    plain, marked = (compose_document(d + b"a: !x b", "f") for d in (b"", b"\xef\xbb\xbf"))
    assert plain.findings == marked.findings


def test_columns_count_characters(loader: str) -> None:
    document = compose_document("{é: 'ü', ß: !x y}".encode(), "f")
    assert [p.column for f in document.findings for p in f.positions] == [13]


def test_every_tag_is_found_and_the_tree_kept() -> None:
    document = compose_document(b"a: !x 1\nb: [!y 2, {c: !z 3}]\nd: '! no tag'", "f")
    assert [f.message.split("`")[1] for f in document.findings] == ["!x", "!y", "!z"]
    assert document.complete
    assert document.root is not None


def test_every_line_that_a_tab_indents_is_named() -> None:
    (finding,) = compose_document(b"a:\n\tb: 1\n\tc: 2\n  d: 3\n \te: 4\n", "f").findings
    assert [p.line for p in finding.positions] == [2, 3, 5]


def test_plain_aliases_are_fine() -> None:
    document = compose_document(b"a: &s text\nb: [*s, *s, *s]\n*s : c", "f")
    assert document.findings == ()
    assert document.shared


@pytest.mark.parametrize("width", [2, 9])
def test_exponential_aliases_are_counted_not_expanded(loader: str, width: int) -> None:
    lines = ["l0: &l0 [x, x]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * width)}]" for i in range(1, 300)]
    document = compose_document("\n".join(lines).encode(), "f")
    assert [f.code for f in document.findings] == ["alias-expansion"]
    assert document.root is None


def test_quadratic_aliases_are_refused() -> None:
    text = f"a: &a [{', '.join('x' * 1000)}]\nb: [{', '.join(['*a'] * 1000)}]"
    assert [f.code for f in compose_document(text.encode(), "f").findings] == ["alias-expansion"]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_document(data: bytes) -> None:
    document = compose_document(data, "f")
    assert document.complete or document.findings


yamlish = st.lists(
    st.sampled_from(
        [
            *("a", ": ", "- ", "\n", "  ", "\t", "[", "]", "{", "}", ",", "&x ", "*x", "!t ", "'"),
            *('"', "? ", "| ", "> ", "---\n", "...\n", "#", "%", "\\", "null", "~", "<<", "é"),
        ]
    ),
    max_size=25,
).map("".join)


@settings(deadline=None)
@given(yamlish)
def test_whatever_looks_like_yaml_ends_in_places(text: str) -> None:
    document = compose_document(text.encode(), "f")
    for finding in document.findings:
        assert all(p.line >= 1 and p.column >= 1 for p in finding.positions)
        assert finding.message
        assert finding.message[0].islower()


def test_entries_report_shapes_and_duplicates() -> None:
    document = compose_document(b"a: 1\na: 2\n[x]: 3\n", "f")
    nodes = Nodes("f")
    entries = nodes.entries(document.root, "the file")
    assert [(k, v.value) for k, (_, v) in entries.items()] == [("a", "1")]
    duplicate, complex_key = nodes.findings
    assert duplicate.code == "duplicate-mapping-key"
    assert "`a`" in duplicate.message
    assert [str(p) for p in duplicate.positions] == ["f:2:1", "f:1:1"]
    assert complex_key.code == "not-a-scalar"
    assert str(complex_key.positions[0]) == "f:3:1"


@pytest.mark.parametrize(
    ("method", "text", "code"),
    [
        ("entries", "[x]", "not-a-mapping"),
        ("entries", "x", "not-a-mapping"),
        ("elements", "{a: b}", "not-a-list"),
        ("elements", "x", "not-a-list"),
        ("text", "[x]", "not-a-scalar"),
    ],
)
def test_shapes(method: str, text: str, code: str) -> None:
    nodes = Nodes("f")
    getattr(nodes, method)(compose_document(text.encode(), "f").root, "it")
    assert [f.code for f in nodes.findings] == [code]


@pytest.mark.parametrize(
    ("text", "absent"),
    [("null", True), ("~", True), ("'null'", False), ('""', False), ("NULL", False), ("no", False)],
)
def test_only_bare_words_are_absent(loader: str, text: str, absent: bool) -> None:
    root = compose_document(text.encode(), "f").root
    assert root is not None
    assert is_absent(root) is absent
    assert (Nodes("f").text(root, "it") is None) is absent


def test_the_collector_is_as_it_was() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_files_in_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/x.yml", "a.yaml", "b/a.yaml", "c.txt", ".hidden.yaml", ".git/x.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    files, findings = files_below(tmp_path, YAML_ENDINGS)
    assert ["/".join(parts_below(f, tmp_path)) for f in files] == ["a.yaml", "b/a.yaml", "b/x.yml"]
    assert findings == []


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f.yaml").touch()
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert len(files_below(tmp_path, YAML_ENDINGS)[0]) == 1


@pytest.mark.parametrize("kind", ["missing", "dangling", "self", "fifo"])
def test_an_unreadable_file_is_a_finding(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "f.yaml"
    if kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "self":
        path.symlink_to(path)
    elif kind == "fifo":
        os.mkfifo(path)
    document = read_document(path)
    assert [f.code for f in document.findings] == ["unreadable-file"]
    assert not document.complete
