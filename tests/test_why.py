"""Why something holds, and why not: what is shown, and what every question answers.

Golden files are in ``golden/why``; ``pytest --update-golden`` writes them anew, to be read aloud
before they are kept.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
from collections.abc import Sequence
from contextlib import chdir
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
import zoo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support import declared, write_rules

from ullage import Policy, PolicyError, UsageError
from ullage.cli import main
from ullage.explain.answers import Denial, Explanation
from ullage.explain.derive import MOST_WAYS, Derivation
from ullage.explain.outline import DEEPEST, nodes
from ullage.reference.values import Atom
from ullage.render.explanations import denial, explanation

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = Path(__file__).parent / "golden" / "why"
SHIPPED = ["--rules", "rules", "--facts", "facts"]

MARLIN = ["weight_offload_split", "gh200-glm52-marlin"]
UNREAD = ["weight_offload_split(gh200-qwen3-235b, uva_zero_copy_view)"]
CASES = {
    "marlin.txt": ["why", *MARLIN],
    "functional-call.txt": ["why", "weight_offload_split", "gh200-llama-70b-disabled"],
    "route-two-reasons.txt": ["why", "route_fit", "below-floor"],
    "topology-count.txt": [
        "why", "topology", "glm-5.2-ud-iq2-xxs/128GiB", "arithmetic_minimum_nodes",
    ],
    "kv-total.txt": ["why", "kv", "glm-5.2", "kv"],
    "fit-established.txt": ["why", "arm_memory_fit", "worked-gb10-gpt-oss"],
    "fit-headroom.txt": [
        "why", "arm_memory_fit", "worked-gb10-gpt-oss", "headroom", "--depth", "6",
    ],
    "fit-refused.txt": ["why", "arm_memory_fit", "worked-rtx4090-llama-70b-128", "--depth", "7"],
    "unestablished.txt": ["why", "weight_offload_split", "gh200-qwen3-235b"],
    "not-one-unread.txt": ["why-not", *UNREAD],
    "not-relayout.txt": ["why-not", *MARLIN],
    "not-shortfall.txt": ["why-not", "reason(route_fit, two-128, single_node_admits_target)"],
    "not-short-fit.txt": ["why-not", "arm_memory_fit", "worked-gb10-qwen3-235b", "--depth", "6"],
    "marlin.json": ["why", *MARLIN, "--format", "json"],
    "marlin.md": ["why", *MARLIN, "--format", "markdown"],
    "marlin.dot": ["why", *MARLIN, "--format", "dot"],
    "not-one-unread.json": ["why-not", *UNREAD, "--format", "json"],
    "not-one-unread.md": ["why-not", *UNREAD, "--format", "markdown"],
    "not-one-unread.dot": ["why-not", *UNREAD, "--format", "dot"],
}  # fmt: skip
"""What each golden file holds: the words after ``ullage``."""


@cache
def shipped() -> Policy:
    """The shipped policy, with positions from the top of the repository."""
    with chdir(ROOT):
        policy = Policy.load("rules", "facts")
        policy.model()
    return policy


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


# Golden files.


@pytest.mark.parametrize("name", CASES)
def test_golden(
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    policy = shipped()
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(Policy, "load", lambda *_, **__: policy)
    code, text, err = run(capsys, *CASES[name], *SHIPPED)
    assert (code, err) == (0, "")
    assert str(ROOT) not in text
    assert "/tmp" not in text
    path = GOLDEN / name
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text("utf-8")


def test_every_golden_file_has_a_case() -> None:
    assert {p.name for p in GOLDEN.iterdir()} == set(CASES)


@pytest.mark.parametrize("name", [n for n in CASES if n.endswith(".txt")])
def test_a_person_who_knows_no_rules_reads_it(name: str) -> None:
    """No variable, operator, quote or call of the rule language is in what is said."""
    text = (GOLDEN / name).read_text("utf-8").partition("\nsources:\n")[0]
    for line in text.splitlines():
        said = re.sub(r"  \([^()]*:[0-9]+:[0-9]+\)( \[[0-9]+\])?( \(shown above\))?$", "", line)
        assert not re.search(r"\b_\b|_'|:-|#[a-z]|@[a-z]|\bnot [a-z_]+\(|[\"']\w+[\"']\(", said), (
            line
        )
        assert "a predicate of" not in said


def test_a_shortfall_says_by_how_many_bytes() -> None:
    assert re.search(r"short by [0-9.]+ GiB \([0-9.]+ bytes\)", golden("not-shortfall.txt"))
    assert re.search(r"-[0-9.]+ GiB < 0 B, by [0-9.]+ GiB", golden("not-short-fit.txt"))
    assert "192 GiB < 224 GiB, by 32 GiB" in golden("route-two-reasons.txt")


def test_one_unread_fact_is_named_with_its_cell() -> None:
    text = golden("not-one-unread.txt")
    assert text.endswith("\nunread on the way:\n  offload_reading gh200-qwen3-235b: moe_backend\n")
    document = json.loads(golden("not-one-unread.json"))
    assert document["unread"] == [
        {"table": "offload_reading", "key": "gh200-qwen3-235b", "column": "moe_backend"}
    ]


def test_what_is_refused_asks_for_no_reading() -> None:
    assert "unread on the way" not in golden("not-relayout.txt")
    for arm in ("gh200-glm52-marlin", "gb10-gpt-oss-uva", "rtx5090-gpt-oss"):
        assert shipped().why_not("weight_offload_split", arm).unread == ()


def golden(name: str) -> str:
    return (GOLDEN / name).read_text("utf-8")


@pytest.mark.parametrize("name", [n for n in CASES if n.endswith(".dot")])
def test_dot_is_a_tree_of_labelled_nodes(name: str) -> None:
    """Each line is a node, or an edge from a node to a later one; one edge leads to each node but
    the roots.
    """
    first, *lines, last = golden(name).splitlines()
    assert (first, last) == ("digraph derivation {", "}")
    labels: dict[int, str] = {}
    parents: dict[int, int] = {}
    for line in lines:
        node = re.fullmatch(r'  n([0-9]+) \[shape=([a-z]+), label=("(?:[^"\\]|\\.)*")\];', line)
        edge = re.fullmatch(r"  n([0-9]+) -> n([0-9]+);", line)
        if node:
            labels[int(node[1])] = json.loads(node[3])
        elif edge:
            assert int(edge[2]) not in parents
            parents[int(edge[2])] = int(edge[1])
        else:
            assert line == "  rankdir=LR;"
    assert list(labels) == list(range(1, len(labels) + 1))
    assert all(parent < child for child, parent in parents.items())
    found = shipped().why(*MARLIN) if "marlin" in name else shipped().why_not(*UNREAD)
    told = [node for _, node in nodes(found.outline())]
    assert len(told) == len(labels)
    assert [t.text in label for t, label in zip(told, labels.values(), strict=True)] == [
        True
    ] * len(told)
    assert len(labels) - len(parents) == len(found.outline())


def test_markdown_escapes_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = golden("marlin.md")
    assert text.startswith("### weight\\_offload\\_split of gh200-glm52-marlin: refused;")
    assert "\nSources:\n\n1. " in text
    row = 'paint: "a*b_<i>|`#`", size: 1 B, glossy: true, source: "[x](y)\\nnext"'
    folder = zoo.write(tmp_path, facts={"a.yaml": f"paint: [{{{row}}}]"})
    where = ["--rules", str(folder / "rules"), "--facts", str(folder / "facts")]
    _, text, _ = run(capsys, "why", "fine", "a*b_<i>|`#`", "--format", "markdown", *where)
    assert "- a\\*b\\_\\<i\\>\\|\\`\\#\\` is fine" in text
    assert text.endswith("1. \\[x\\](y)\\\\nnext\n")
    assert len(text.splitlines()) == 8


def test_notebooks_and_prints_show_the_same() -> None:
    found = shipped().why(*MARLIN)
    assert str(found) in golden("marlin.txt")
    assert found._repr_markdown_() == golden("marlin.md")
    denied = shipped().why_not(*UNREAD)
    assert str(denied) in golden("not-one-unread.txt")
    assert denied._repr_markdown_() == golden("not-one-unread.md")


def test_a_stream_without_box_lines_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    policy = shipped()
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(Policy, "load", lambda *_, **__: policy)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["why", *MARLIN, *SHIPPED]) == 0
    text = stream.buffer.getvalue().decode("ascii")
    assert "\n`- nothing about gh200-glm52-marlin is left open" in text
    assert "\n   |- the launch of" in text


# The zoo: every kind of condition.


@cache
def zoo_policy(folder: Path) -> Policy:
    with chdir(zoo.write(folder)):
        policy = Policy.load("rules", "facts")
        assert not policy.check()
    return policy


@pytest.fixture(scope="module")
def zoo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zoo")


@pytest.fixture
def animals(zoo_folder: Path) -> Policy:
    return zoo_policy(zoo_folder)


def lines(found: Explanation | Denial, *, every: bool = False) -> list[str]:
    """The lines of an outline, each with a place behind it where it has one."""
    return [
        f"{'  ' * level}{node.text}" + (f" @{node.place}" if node.place is not None else "")
        for level, node in nodes(found.outline(every=every))
    ]


TOLD = {
    "compared(elm, _)": [
        "elm takes 476.84 MiB, which is enough @rules/zoo.lp",
        "  paint elm: size is 476.84 MiB @facts/a.yaml:8:38",
        "  476.84 MiB >= 400 MB, by 95.37 MiB (100000000 bytes)",
    ],
    "chained(elm, _)": ["  1 B < 476.84 MiB <= 1 GB != 476.84 MiB"],
    "computed(oak/2-b.c d, _, _)": [
        "a third of oak/2-b.c d is 512 MiB @rules/zoo.lp",
        "  512 MiB = 1.50 GiB / 3",
        "  floor(512 MiB) > 0 B, by 512 MiB",
    ],
    "absent(elm)": [
        "  paint elm: glossy is unread",
        "  not so: a predicate of a test (elm, 1 B)",
        "    paint elm: size is 476.84 MiB, and not 1 B @rules/zoo.lp",
    ],
    "twice_negated(ääh)": ["  paint ääh: glossy is false @facts/a.yaml:9:49"],
    "summed(elm, _)": [
        "what is under elm weighs 7 B @rules/zoo.lp",
        "  7 B is the sum of these 2",
        "    over elm / oak/2-b.c d: weight is 4 B @facts/b.yaml:4:44",
        "    over elm / ääh: weight is 3 B @facts/b.yaml:2:36",
        "  7 B is the sum of these 2; 7 B >= 1 B; 7 B <= 1 GB",
    ],
    "summed(oak/2-b.c d, _)": None,
    "counted(ääh, _)": ["  there is 1", "  there is 1; not 1 > 5"],
    "counted(oak/2-b.c d, 0)": ["  there are 0"],
    "extremes(_, _)": [
        "sizes go from 1 B to 1.50 GiB @rules/zoo.lp",
        "  1 B is the least of these 3",
        "  1.50 GiB is the greatest of these 3",
    ],
    "greater(elm, _)": ["  1 GiB is the greatest of 1 GiB, 476.84 MiB"],
    "all_weighed(elm)": [
        "  wherever there is a row over elm / Under, over elm / Under: weight is read",
        "    over elm / ääh: weight is 3 B @facts/b.yaml:2:36",
        "    over elm / oak/2-b.c d: weight is 4 B @facts/b.yaml:4:44",
    ],
    "pooled(ääh, red)": ["  shade is red, one of red, blue", "  shade is red, not green"],
    "numbered(elm, 3)": [
        "  paint elm: parts is 5 @facts/a.yaml:8:53",
        "  number is 3, one of 1..5",
    ],
    "numbered(ääh, 1)": ["  paint ääh: parts is 2, the default @rules/tables/zoo.yaml:15:7"],
    "toned(elm, mixed(green, 6))": ["elm is mixed @rules/zoo.lp"],
    "toned(ääh, plain)": ["  paint ääh: glossy is not true"],
    "mixed_red(ääh, _)": ["  ääh is mixed @rules/zoo.lp", "  #true"],
    "called(oak/2-b.c d, 1, _)": [
        'oak/2-b.c d is called a "b", c @rules/zoo.lp',
        '  paint oak/2-b.c d: names 1 is a "b", c @facts/a.yaml:6:26',
    ],
    "paired((ääh, oak/2-b.c d))": ["  there is a row over ääh / oak/2-b.c d @facts/b.yaml:3:5"],
    "constant(elm)": ["  paint elm: shade is green @facts/a.yaml:8:25"],
    "constant(ääh)": ["  paint ääh: size is 1 B @facts/a.yaml:9:36"],
    'segment(x.y.z, "y.z")': ["  there is a row tensor_part x.y.z / y.z @facts/b.yaml:7:5"],
    "of_kind(2, 0, _)": [
        "  part_alike m / 2: first is 0 @facts/b.yaml:7:5",
        "  1 GiB is the only one",
        "    part_first m / 0 / x.y.z: size is 1 GiB @facts/b.yaml:7:48",
    ],
    "reaches(ääh, _)": ["ääh lies right on oak/2-b.c d @rules/zoo.lp"],
    "apart(ääh, elm)": [
        "  not so: a predicate of a test (ääh, elm)",
        "    there is no over ääh / elm @rules/zoo.lp",
        "  top is ääh, not elm",
    ],
    "paint(elm)": ["there is a row paint elm @facts/a.yaml:8:5"],
    "part((m, 2, x.y.z), size, _)": ["part m / 2 / x.y.z: size is 1 GiB @facts/b.yaml:7:48"],
    "reason(fine, ääh, dull(_))": ["ääh does not shine @rules/zoo.lp"],
    "value(fine, elm, size, _)": ["elm takes 476.84 MiB @rules/zoo.lp"],
    "plan(layers, (elm, ääh), shade, red)": ["ääh is red @rules/zoo.lp"],
}
"""Questions of the zoo, and lines of their answers; None where it does not hold."""


@pytest.mark.parametrize("question", TOLD)
def test_every_kind_of_condition_is_told(question: str, animals: Policy) -> None:
    wanted = TOLD[question]
    if wanted is None:
        with pytest.raises(UsageError, match="does not hold"):
            animals.why(question)
        return
    told = [re.sub(r"(zoo\.lp):[0-9]+:[0-9]+$", r"\1", t) for t in lines(animals.why(question))]
    assert [w for w in wanted if w not in told] == [], "\n".join(told)


def test_facts_carry_the_word_of_whoever_gave_them(animals: Policy) -> None:
    sources = {n.source for _, n in nodes(animals.why("extremes(_, _)").outline())}
    assert sources == {"", "shelf 3; list of 4 May", "list of 4 May", "漢字"}
    text = str(animals.why("extremes(_, _)"))
    assert text.endswith("  [1] 漢字\n  [2] list of 4 May\n  [3] shelf 3; list of 4 May\n")


def test_nobody_gave_a_default(animals: Policy) -> None:
    (fact,) = (n for _, n in nodes(animals.why("numbered(ääh, 1)").outline()) if n.kind == "fact")
    assert fact.source == ""
    assert fact.place is not None
    assert fact.place.file == "rules/tables/zoo.yaml"


def test_rows_given_in_python_have_their_places_too(animals: Policy) -> None:
    policy = animals.over(
        {"paint": [{"paint": "p", "size": 1, "shade": "blue", "glossy": False, "source": "me"}]}
    )
    found = policy.why("fine", "p")
    assert found.standing is not None
    assert found.standing.verdict == "refused"
    told = lines(found)
    assert "  paint p: glossy is false @<rows>:1:1" in told
    assert [n.source for _, n in nodes(found.outline()) if n.kind == "fact"] == ["me", "me"]
    assert {s["file"] for s in found.proof().steps} == {"<rows>", "rules/zoo.lp"}


NOT_TOLD = {
    "compared(ääh, _)": ["  fails: 1 B >= 400 MB: short by 381.47 MiB (399999999 bytes)"],
    "compared(elm, 1 GiB)": ["  fails: paint elm: size is 476.84 MiB, and not 1 GiB"],
    "chained(ääh, _)": ["  fails: 1 B < 1 B: they are equal, which is not enough"],
    "absent(ääh)": ["  fails: paint ääh: glossy is read"],
    "twice_negated(elm)": ["  fails: paint elm: glossy is unread"],
    "summed(ääh, _)": [
        "  holds: the sum is 0",
        "  fails: the sum is 0, and not >= 1 B: short by 1 B",
    ],
    "counted(elm, 7)": ["  fails: the number is 2, and not 7: short by 5"],
    "greater(elm, 1 GB)": [
        "  fails: the greatest is 1 GiB, and not 953.67 MiB: short by 70.33 MiB (73741824 bytes)"
    ],
    "all_weighed(ääh)": ["  fails: over ääh / oak/2-b.c d: weight is unread"],
    "pooled(elm, green)": ["  fails: shade is green, none of red, blue", "  fails: shade is green"],
    "numbered(elm, 9)": ["  fails: number is 9, none of 1..5"],
    "toned(oak/2-b.c d, plain)": ["  fails: paint oak/2-b.c d: glossy is true"],
    "mixed_red(elm, 6)": [
        "  fails, for it is not so: a predicate of a test (elm, mixed(red, 6))",
        "    a rule would say: elm is mixed",
        "      fails: paint elm: shade is green, and not red",
    ],
    "called(elm, 0, x)": ["  fails: paint elm: names is unread"],
    "reaches(ääh, elm)": [
        "a rule would say: ääh lies right on elm",
        "  fails: there is no over ääh / elm",
        "  holds: ääh lies right on oak/2-b.c d",
    ],
    "apart(elm, ääh)": ["  fails, for it is so: a predicate of a test (elm, ääh)"],
    "constant(oak/2-b.c d)": ["  fails: paint oak/2-b.c d: size is 1.50 GiB, and not 1 B"],
    "of_kind(3, 0, _)": ["  fails: part_alike m / 3: first is 3, and not 0"],
    "over((ääh, elm))": ["fails: there is no over ääh / elm"],
    "paint(elm, glossy, _)": ["fails: paint elm: glossy is unread"],
    "fine(elm, good)": ["  fails: paint elm: glossy is unread"],
    "layers(ääh, oak/2-b.c d, weight)": ["  fails: over ääh / oak/2-b.c d: weight is unread"],
    "reason(fine, ääh, cold)": ["  fails: paint ääh: shade is red, and not blue"],
}
"""Questions of the zoo that do not hold, and lines that say what is missing."""


@pytest.mark.parametrize("question", NOT_TOLD)
def test_what_fails_is_told(question: str, animals: Policy) -> None:
    told = [line.split(" @")[0] for line in lines(animals.why_not(question))]
    assert [w for w in NOT_TOLD[question] if w not in told] == [], "\n".join(told)
    with pytest.raises(UsageError, match="does not hold"):
        animals.why(question)


def test_unread_facts_are_those_that_readings_may_change(animals: Policy) -> None:
    assert animals.why_not("fine(elm, good)").unread == (("paint", "elm", "glossy"),)
    assert animals.why_not("fine", "elm").unread == (("paint", "elm", "glossy"),)
    assert animals.why_not("fine", "ääh").unread == ()
    assert animals.why_not("mixed_red(elm, 6)").unread == ()
    assert animals.why_not("all_weighed(ääh)").unread == (("over", "ääh/oak/2-b.c d", "weight"),)


def test_documents_keep_to_their_schemas(animals: Policy) -> None:
    for name, questions in (("proof-1", TOLD), ("why-not-1", NOT_TOLD)):
        schema = json.loads((files("ullage") / "schemas" / f"{name}.json").read_text("utf-8"))
        validator = Draft202012Validator(schema)
        for question in questions:
            if name == "why-not-1":
                text = denial(animals.why_not(question), "json", None, depth=None)
            elif TOLD[question] is not None:
                text = explanation(animals.why(question), "json", None, depth=None, every=False)
            validator.validate(json.loads(text))


# Several ways, recursion, depth.


TWO_WAYS = """\
tables:
  hop: {key: {start: place, stop: place}, columns: {}}
  short: {key: {start: place, stop: place}, columns: {}}
"""
PLACES = "% Purpose  walks\n% Input    hop/1, short/1\n% Output   reach/2, twice/2\n\n"
REACH = (
    declared("reach", Start="place", Stop="place")
    + """\
%!trace_rule {"a hop leads from % to %", Start, Stop}.
reach(Start, Stop) :- hop((Start, Stop)).
%!trace_rule {"a walk leads from % over % to %", Start, Via, Stop}.
reach(Start, Stop) :- reach(Start, Via), reach(Via, Stop).
"""
    + declared("twice", Start="place", Stop="place")
    + """\
%!trace_rule {"by hops"}.
twice(Start, Stop) :- reach(Start, Stop).
%!trace_rule {"by a short cut"}.
twice(Start, Stop) :- short((Start, Stop)).
"""
)


def walks(folder: Path, hops: Sequence[str], shorts: Sequence[str] = ()) -> Policy:
    """A policy of hops, each written as ``ab``."""
    rows = {
        table: [{"start": p[0], "stop": p[1]} for p in pairs]
        for table, pairs in (("hop", hops), ("short", shorts))
    }
    return Policy.load(rules=[write_rules(folder, TWO_WAYS, PLACES + REACH)], rows=rows)


def test_all_shows_every_way_and_without_it_the_shortest(tmp_path: Path) -> None:
    found = walks(tmp_path, ["ab", "bc"], ["ac"]).why("twice(a, c)")
    short = [line.split(" @")[0] for line in lines(found)]
    assert short == ["by a short cut", "  there is a row short a / c"]
    every = [line.split(" @")[0] for line in lines(found, every=True)]
    assert every == [
        "by a short cut (2 ways)",
        "  way 1: by a short cut",
        "    there is a row short a / c",
        "  way 2: by hops",
        "    a walk leads from a over b to c",
        "      a hop leads from a to b",
        "        there is a row hop a / b",
        "      a hop leads from b to c",
        "        there is a row hop b / c",
    ]


def test_a_circle_does_not_loop(tmp_path: Path) -> None:
    policy = walks(tmp_path, ["ab", "ba", "bb", "aa"], ["cc"])
    for start, stop in (("a", "b"), ("b", "a"), ("a", "a")):
        found = policy.why(f"reach({start}, {stop})")
        assert found.derivation.heights[found.derivation.goals[0]] == 2
        assert len(found.outline()[0].below) == 1
        shown = lines(found, every=True)
        assert any("(shown above)" not in line for line in shown)
        assert len(shown) < 60
    denied = policy.why_not("reach(b, c)")
    assert len(lines(denied)) < 60


def brute(hops: frozenset[str]) -> dict[str, int]:
    """The least height of a derivation of each ``reach``, by making all derivations of a height
    from those below it.
    """
    least: dict[str, int] = dict.fromkeys(hops, 2)
    for height in itertools.count(3):
        made = {
            a[0] + b[1]
            for a, b in itertools.product(least, repeat=2)
            if a[1] == b[0] and max(least[a], least[b]) == height - 1
        }
        new = made - least.keys()
        if not new and height > max(least.values(), default=0) + 1:
            return least
        least |= dict.fromkeys(new, height)
    raise AssertionError


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.frozensets(st.sampled_from([a + b for a in "abcde" for b in "abcde"]), min_size=1))
def test_the_shortest_derivation_has_the_least_height(tmp_path: Path, hops: frozenset[str]) -> None:
    policy = walks(tmp_path, sorted(hops))
    wanted = brute(hops)
    explainer = policy.explainer
    goals = explainer.holding("reach", [None, None])
    assert {str(a) + str(b) for _, (a, b) in goals} == wanted.keys()
    for goal in goals:
        found = explainer.derivation(goal)
        assert found.heights[goal] == wanted["".join(map(str, goal[1]))]
        assert height(goal, found, frozenset()) == found.heights[goal]


def height(atom: Atom, derivation: Derivation, above: frozenset[Atom]) -> int:
    """How high the chosen derivation of an atom is; no atom rests on itself in it."""
    assert atom not in above
    support = derivation.chosen(atom)
    if support is None:
        return 1
    return 1 + max(height(p, derivation, above | {atom}) for p in support.premises)


def test_what_rests_on_hundreds_of_steps_is_shown_and_proved(tmp_path: Path) -> None:
    table = "tables:\n  next: {key: {n: count}, columns: {to: count}}\n"
    law = "% Purpose  a walk\n% Input    next/3\n% Output   at/1\n\n" + declared("at", N="count")
    law += '%!trace_rule {"% begins", N}.\nat(N) :- next(N, to, 1), N = 0.\n'
    law += '%!trace_rule {"then comes %", N}.\nat(N) :- at(Before), next(Before, to, N).\n'
    rows = {"next": [{"n": n, "to": n + 1} for n in range(700)]}
    policy = Policy.load(rules=[write_rules(tmp_path, table, law)], rows=rows)
    found = policy.why("at(700)")
    shown = [line.split(" @")[0] for line in lines(found)]
    assert shown[:4] == [
        "then comes 700",
        "  and so on, 698 steps more by the same rule",
        "    then comes 1",
        "      0 begins",
    ]
    assert len(shown) == 8
    every = list(nodes(found.outline(every=True)))
    assert max(level for level, _ in every) <= DEEPEST
    assert any(node.hidden for _, node in every)
    assert str(found)
    assert found.derivation.heights[found.derivation.goals[0]] == 702
    assert len(found.proof().steps) == 700 + 701 + 1
    assert policy.why_not("at(702)").outline()


def test_a_short_walk_is_shown_step_by_step(tmp_path: Path) -> None:
    found = walks(tmp_path, ["ab", "bc", "cd"]).why("reach(a, d)")
    assert not any("and so on" in line for line in lines(found))


def test_depth_cuts_and_counts_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = shipped().why(*MARLIN)
    whole = list(nodes(found.outline()))
    for depth in range(1, 6):
        cut = list(nodes(found.outline(depth=depth)))
        assert max(level for level, _ in cut) <= depth
        shown = {(level, n.text) for level, n in cut}
        assert shown <= {(level, n.text) for level, n in whole}
    (first, *_) = found.outline(depth=1)
    assert first.below == ()
    assert first.hidden == 7
    for word in ("0", "-1", "x", "1.5", "", "²", "1000000000"):
        code, _, err = run(capsys, "why", "fine", "x", "--depth", word)
        assert code == 1
        assert "--depth" in err


def test_what_was_shown_is_marked_and_not_shown_again() -> None:
    text = golden("marlin.txt")
    assert text.count("its backend MARLIN allocates storage") == 2
    assert text.count("its backend MARLIN allocates storage (shown above)") == 1
    assert golden("not-relayout.txt").count("as shown above") == 2


def test_members_of_a_sum_are_shown_the_largest_first(tmp_path: Path) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "paint": [{"paint": f"p{i}", "size": 1, "source": "x"} for i in range(21)],
        "over": [{"top": "p0", "under": f"p{i}", "weight": i * 7 % 20} for i in range(1, 21)],
    }
    with chdir(zoo.write(tmp_path)):
        policy = Policy.load("rules", rows=rows)
    found = policy.why("summed(p0, _)")
    sum_ = found.outline()[0].below[1]
    assert sum_.text == "190 B is the sum of these 20"
    assert [n.text for n in sum_.below] == [
        "over p0 / p17: weight is 19 B",
        "over p0 / p14: weight is 18 B",
        "over p0 / p11: weight is 17 B",
        "and 17 more like these",
    ]
    assert len(found.outline(every=True)[0].below[1].below) == 20


def test_of_many_ways_some_are_followed(tmp_path: Path) -> None:
    """A proof rests on one of them, and so many more would only be read."""
    rows: dict[str, list[dict[str, object]]] = {
        "paint": [{"paint": "p", "size": 1, "source": "x"}],
        "model": [{"model": "m"}],
        "part": [{"model": "m", "layer": "0..99", "name": "x.y", "size": "1 B"}],
    }
    with chdir(zoo.write(tmp_path)):
        policy = Policy.load("rules", rows=rows)
    found = policy.why("segment(x.y, y)")
    assert found.outline(every=True)[0].text == "x.y has y (100 ways)"
    ways = found.outline(every=True)[0].below
    assert len(ways) == MOST_WAYS + 1
    assert ways[-1].text == f"and {100 - MOST_WAYS} more ways like these"


# Order and files.


def shuffled_facts(rng: random.Random) -> dict[str, str]:
    """The rows of the zoo in another order, in other files."""
    heads = {"paint": 3, "over": 3, "part": 2}
    blocks: list[str] = []
    table = ""
    for text in zoo.FACTS.values():
        for line in text.splitlines(keepends=True):
            if line.startswith("  - "):
                blocks.append(f"{table}:\n{line}")
            elif line.startswith("    "):
                blocks[-1] += line
            else:
                table = line.split(":")[0]
                if "[" in line:
                    blocks.append(line)
    assert len(blocks) == sum(heads.values()) + 1
    rng.shuffle(blocks)
    return {f"{rng.randrange(10**6)}-{i}.yaml": block for i, block in enumerate(blocks)}


def without_places(found: Explanation | Denial) -> list[tuple[int, str, str]]:
    return [(level, n.text, n.source) for level, n in nodes(found.outline(every=True))]


@pytest.mark.parametrize("seed", range(6))
def test_order_and_files_change_no_answer(seed: int, animals: Policy, tmp_path: Path) -> None:
    rng = random.Random(seed)
    blocks = list(zoo.BLOCKS)
    rng.shuffle(blocks)
    facts = shuffled_facts(rng)
    with chdir(zoo.write(tmp_path, tuple(blocks), facts)):
        (Path("rules") / "zoo.lp").rename(Path("rules") / f"{seed}.lp")
        policy = Policy.load("rules", "facts")
        assert not policy.check()
    for question in TOLD:
        if TOLD[question] is not None:
            one, other = animals.why(question), policy.why(question)
            assert without_places(one) == without_places(other)
            assert [s["atom"] for s in one.proof().steps] == [
                s["atom"] for s in other.proof().steps
            ]
    for question in NOT_TOLD:
        assert without_places(animals.why_not(question)) == without_places(policy.why_not(question))
        assert animals.why_not(question).unread == policy.why_not(question).unread


def test_the_order_of_the_shipped_files_changes_no_answer(tmp_path: Path) -> None:
    for kind, pattern in (("rules", "*.lp"), ("facts", "*.yaml")):
        paths = sorted((ROOT / kind).rglob(pattern), reverse=True)
        (tmp_path / kind).mkdir()
        for number, path in enumerate(paths):
            shutil.copy(path, tmp_path / kind / f"{number:04}{path.suffix}")
    shutil.copytree(ROOT / "rules" / "tables", tmp_path / "rules" / "tables")
    assert len(list((tmp_path / "facts").iterdir())) > 20
    with chdir(tmp_path):
        policy = Policy.load("rules", "facts")
    for words in CASES.values():
        verb, *question = [w for w in words if w not in ("--depth", "6", "7")]
        if "--format" in question:
            continue
        ask, again = (
            (shipped().why, policy.why) if verb == "why" else (shipped().why_not, policy.why_not)
        )
        assert without_places(ask(*question)) == without_places(again(*question))


# Questions.


GOOD = (
    ["fine", "elm"],
    ["fine", "oak/2-b.c d"],
    ["fine", '"oak/2-b.c d"'],
    ["fine(oak/2-b.c d)"],
    ['fine("oak/2-b.c d", good)'],
    ["fine(oak/2-b.c d)", "good"],
    ["fine", "ääh", "refused"],
    ["fine", "ääh", "dull"],
    ["fine", "ääh", "dull(ääh)"],
    ["fine", "ääh", "dull(_)"],
    ["fine", "elm", "glossy"],
    ["fine", "elm", "size"],
    ["layers", "elm/ääh"],
    ["layers", "(elm, ääh)"],
    ["layers", "elm", "ääh"],
    ["layers(elm, ääh)"],
    ["layers((elm, ääh))"],
    ["layers", "elm/ääh", "weight"],
    ["layers(elm, ääh, shade)"],
    ["layers", "elm/oak/2-b.c d", "weight"],
    ["compared(elm, 500 MB)"],
    ["compared(elm, 500000000 B)"],
    ["compared(elm, 500000000 bytes)"],
    ['compared("elm", "500 MB")'],
    [" compared ( elm , _ ) ."],
    ["compared(elm, Size)"],
    ["compared(elm,_Any)"],
    ["compared(_, 500 MB)"],
    ["compared"],
    ["extremes"],
    ["toned(elm, mixed(_, 6))"],
    ["toned(elm, mixed(green, N))"],
    ["toned(elm, plain)"],
    ["paired((ääh, oak/2-b.c d))"],
    ["paired((_, oak/2-b.c d))"],
    ["called(oak/2-b.c d, 0, the old one)"],
    ['called(oak/2-b.c d, 1, "a \\"b\\", c")'],
    ["called(_, 1, _)"],
    ["paint(elm)"],
    ["paint(elm, size, _)"],
    ["paint(elm, size, 500 MB)"],
    ["paint(oak/2-b.c d, glossy, true)"],
    ["paint(oak/2-b.c d, names, (0, _))"],
    ["over((elm, ääh))"],
    ["over(elm/ääh, weight, 3 B)"],
    ["part((m, 1, x.y.z))"],
    ["part_first((m, 0, x.y.z), size, _)"],
    ["part_alike((m, 2), first, 0)"],
    ["tensor_part((x.y.z, y.z))"],
    ["of_kind(2, 0, 1 GiB)"],
    ["computed(oak/2-b.c d, 1 GiB, 1/2 GiB)"],
    ["standing(fine, elm, V)"],
    ["reason(fine, ääh, dull(ääh))"],
    ["obligation(fine, elm, glossy)"],
    ["value(fine, elm, size, 500 MB)"],
    ["plan(layers, (elm, ääh), weight, 3 B)"],
)  # fmt: skip


@pytest.mark.parametrize("question", GOOD, ids=" | ".join)
def test_a_question_may_be_put_so(question: list[str], animals: Policy) -> None:
    found = animals.why(*question)
    assert found.derivation.goals
    assert str(found)
    with pytest.raises(UsageError, match="holds") as caught:
        animals.why_not(*question) if question != ["fine", "elm"] else animals.why_not("paint(elm)")
    assert "ask `why " in caught.value.help


BAD = {
    ("fin", "elm"): ("named `fin`", "`fine`"),
    ("fine", "elms"): ("no subject `elms`", "`elm`"),
    ("fine", "PAINT"): ("no subject `PAINT`", "`elm`"),
    ("fine(PAINT, VERDICT)",): ("no subject `PAINT`", "`elm`"),
    ("fine", "zzzz"): ("no subject `zzzz`", "subjects are `elm`"),
    ("layers", "elm"): ("no subject `elm`", "`elm/ääh`"),
    ("fine",): ("without a subject", "write `fine PAINT`"),
    ("fine", "elm", "god"): ("`god`", "`good`"),
    ("fine", "elm", "established"): ("`established`", "`unestablished`"),
    ("fine", "ääh", "dul"): ("`dul`", "`dull`"),
    ("fine", "elm", "siz"): ("`siz`", "`size`"),
    ("fine", "elm", "size(3)"): ("`size`", "`size`"),
    ("fine", "elm", "good", "refused"): ("`refused` is one word more", "subject of 1 part"),
    ("fine", "ääh", "dull(a, b)"): ("takes 1 argument, not 2", "(paint)"),
    ("layers", "elm/ääh", "weigth"): ("no value `weigth`", "`weight`"),
    ("layers", "elm/ääh", "weight", "more"): ("one word more", "subject of 2 parts"),
    ("paimt(elm)",): ("named `paimt`", "`paint`"),
    ("paint(elms)",): ("no paint is named `elms`", "`elm`"),
    ("paint(elm, siz, _)",): ("no column `siz`", "`size`"),
    ("paint(elm, size)",): ("one argument for a row, or three", "paint(Key, column, Value)"),
    ("paint()",): ("one argument for a row, or three", "paint(Key)"),
    ("paint(elm, size, 5)",): ("`5` has no unit", "write a unit"),
    ("paint(elm, size, 5 s)",): ("`s` is not a unit", ""),
    ("paint(elm, size, much)",): ("`much`", ""),
    ("paint(elm, glossy, yes)",): ("`yes`", ""),
    ("paint(elm, parts, 1.5)",): ("`1.5`", ""),
    ("paint(elm, shade, rad)",): ("`rad`", "`red`"),
    ("paint(elm, names, x)",): ("has 1 parts", "(count, text)"),
    ("over(elm)",): ("has 1 parts", "(paint, paint)"),
    ("over((elm, b, c))",): ("has 3 parts", "(paint, paint)"),
    ("compared(elm)",): ("takes 2 arguments, not 1", "(paint, bytes)"),
    ("compared(elm, 1 GB, 3)",): ("takes 2 arguments, not 3", "(paint, bytes)"),
    ("compared(elms, _)",): ("no paint is named `elms`", "`elm`"),
    ("compared(elm, 1)",): ("no unit", "write a unit"),
    ("toned(elm, mixt(red, 1))",): ("no term of `tone`", "`mixed`"),
    ("toned(elm, mixed(red))",): ("takes 2 arguments, not 1", "(shade, count)"),
    ("toned(elm, mixed(rad, 1))",): ("`rad`", "`red`"),
    ("standing(fin, elm, V)",): ("no rule derives", "`fine`"),
    ("standing()",): ("no rule derives `standing()`", "laws are `fine`"),
    ("value(fine, elm, siz, _)",): ("no rule derives", "`size`"),
    ("plan(layers, (elm, ääh), weigth, _)",): ("no rule derives", "`weight`"),
    ("fine elm",): ("is no atom", "name(Argument"),
    ("not paint(elm)",): ("is no atom", ""),
    ("paint(elm) :- x",): ("is no atom", ""),
    ("",): ("is no atom", ""),
    ("Fine", "elm"): ("is no atom", ""),
    ("compared(elm, _)", "x"): ("`x` is one word more", "neither a law nor a plan"),
    ("compared(elm, _), paint(elm)",): ("`_), paint(elm`", ""),
}  # fmt: skip


@pytest.mark.parametrize("question", BAD, ids=" | ".join)
@pytest.mark.parametrize("verb", ["why", "why-not"])
def test_a_bad_question_names_the_nearest(
    question: tuple[str, ...], verb: str, zoo_folder: Path, animals: Policy,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(zoo_folder)
    monkeypatch.setattr(Policy, "load", lambda *_, **__: animals)
    code, out, err = run(capsys, verb, *question)
    said, hint = BAD[question]
    first, *rest = err.splitlines()
    assert (code, out) == (1, "")
    assert first.startswith("ullage: error: ")
    assert said in first
    assert hint in "\n".join(rest)


def test_each_verb_points_to_the_other(animals: Policy) -> None:
    with pytest.raises(UsageError) as caught:
        animals.why("fine(elm, good)")
    assert caught.value.message == "`fine(elm, good)` does not hold"
    assert caught.value.help == "ask `why-not fine(elm, good)` for the reasons"
    with pytest.raises(UsageError) as caught:
        animals.why_not("fine", "elm", "unestablished")
    assert caught.value.message == "`fine elm unestablished` holds"
    assert caught.value.help == "ask `why fine elm unestablished` for the reasons"
    with pytest.raises(UsageError, match="holds"):
        animals.why_not("fine", "oak/2-b.c d")


def test_a_question_about_too_much_asks_for_less(tmp_path: Path) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "paint": [{"paint": f"p{i}", "size": 1, "source": "x"} for i in range(20)]
    }
    with chdir(zoo.write(tmp_path)):
        policy = Policy.load("rules", rows=rows)
    with pytest.raises(UsageError) as caught:
        policy.why("paint(_)")
    assert caught.value.message == "20 atoms are `paint(_)`"
    for named in re.findall(r"`(.*?)`", caught.value.help):
        assert policy.why(named).derivation.goals


def test_an_invalid_policy_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = zoo.write(tmp_path, facts={"a.yaml": "paint: [{paint: p, size: 3}]\n"})
    where = ["--rules", str(folder / "rules"), "--facts", str(folder / "facts")]
    for verb in ("why", "why-not"):
        code, out, err = run(capsys, verb, "fine", "p", *where)
        assert (code, out) == (3, "")
        assert "error[missing-unit]" in err
        code, out, err = run(capsys, verb, "fine", "p", "--format", "json", *where)
        assert (code, err) == (3, "")
        assert json.loads(out)["schema"] == "ullage/findings/1"
    with pytest.raises(PolicyError):
        Policy.load(folder / "rules", folder / "facts").why("fine", "p")


def test_fail_on_weighs_the_standing_that_is_asked_about(
    zoo_folder: Path, animals: Policy, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(zoo_folder)
    monkeypatch.setattr(Policy, "load", lambda *_, **__: animals)
    both = ["--fail-on", "refused", "--fail-on", "unestablished"]
    assert run(capsys, "why", "fine", "ääh", *both)[0] == 2
    assert run(capsys, "why", "fine", "elm", *both)[0] == 4
    assert run(capsys, "why-not", "fine", "elm", *both)[0] == 4
    assert run(capsys, "why", "fine", "oak/2-b.c d", *both)[0] == 0
    assert run(capsys, "why", "compared(elm, _)", *both)[0] == 0


def test_the_standing_asked_about_comes_with_the_answer(animals: Policy) -> None:
    for words in (["fine", "ääh"], ["fine", "ääh", "size"], ["fine(ääh, refused)"]):
        found = animals.why(*words)
        assert found.standing is not None
        assert found.standing == next(s for s in animals.standings() if s.subject_text == "ääh")
    assert animals.why("compared(elm, _)").standing is None


NAMES = (
    "fine",
    "layers",
    "paint",
    "over",
    "toned",
    "compared",
    "reaches",
    "standing",
    "value",
    "part",
)
WORDS = st.one_of(
    st.sampled_from(
        [*NAMES, "elm", "ääh", "oak/2-b.c d", "good", "size", "weight", "names", "_", "Name",
         "5 GB", "1/0 B", "-3 B", "9" * 5000, "(", ")", ",", '"', "\\", "a/b", "(elm, ääh)",
         "mixed(red, 2)", "--", "not", ":-", "\ud800", "\n", "'", "1e9", "0x1", "𐍈", "#sum",
         "@floor(1)", "X+1"]
    ),
    st.text(max_size=12),
)  # fmt: skip


@st.composite
def questions(draw: st.DrawFn) -> list[str]:
    """Random words, most of which begin as a question does."""
    name = draw(st.one_of(st.sampled_from(NAMES), st.text(max_size=8)))
    if draw(st.booleans()):
        inside = draw(st.lists(WORDS, max_size=4))
        name = f"{name}({draw(st.sampled_from([',', ', ', ' ,']))}{', '.join(inside)})"
    return [name, *draw(st.lists(WORDS, max_size=3))]


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(verb=st.sampled_from(["why", "why-not"]), question=questions())
def test_nothing_that_a_person_types_is_a_defect(
    verb: str, question: list[str], zoo_folder: Path, animals: Policy,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(zoo_folder)
    monkeypatch.setattr(Policy, "load", lambda *_, **__: animals)
    code, _, err = run(capsys, verb, "--", *question)
    assert code in (0, 1, 3)
    assert "internal error" not in err
    assert "Traceback" not in err


def test_a_variable_of_a_question_joins_nothing(animals: Policy) -> None:
    with pytest.raises(UsageError, match="`X` stands twice"):
        animals.why("greater(X, X)")
    assert str(animals.why("greater(_, _)"))
