"""Proofs: each conclusion of the catalog has one, each holds, and no changed one does."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st

import ullage
from ullage import Policy, PolicyError, Severity, UsageError
from ullage.cli import main
from ullage.explain.proof import prove
from ullage.findings import Finding
from ullage.reference import policy as reference
from ullage.reference.check import Checker, parse
from ullage.reference.steps import Steps, identity
from ullage.rules.declared import BUILTIN

ROOT = Path(__file__).resolve().parents[1]
Document = dict[str, Any]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


@dataclass
class Kept:
    """A policy, and a checker over it that knows nothing of the solver."""

    policy: Policy
    checker: Checker

    def proof(self, *question: str) -> Document:
        """A proof as it is read from its file."""
        return again(self.policy.why(*question).proof().document())

    def check(self, document: object) -> list[Finding]:
        return list(self.checker.check(document, "proof.json"))


def again(document: object) -> Document:
    found = json.loads(json.dumps(document))
    assert isinstance(found, dict)
    return found


@cache
def shipped() -> Kept:
    with chdir(ROOT):
        rules, facts = Path("rules"), Path("facts")
        return Kept(Policy.load(rules, facts), Checker(reference.load([rules], [facts])))


@pytest.fixture(scope="module")
def zoo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zoo.write(tmp_path_factory.mktemp("zoo"))


@cache
def kept(folder: Path) -> Kept:
    with chdir(folder):
        rules, facts = Path("rules"), Path("facts")
        return Kept(Policy.load(rules, facts), Checker(reference.load([rules], [facts])))


@pytest.fixture
def animals(zoo_folder: Path) -> Kept:
    return kept(zoo_folder)


# The whole catalog.


@pytest.fixture(scope="module")
def whole() -> tuple[list[str], Document]:
    """Every conclusion of the shipped catalog, and one proof of them all."""
    policy = shipped().policy
    explainer = policy.explainer
    goals = [a for n, arity in BUILTIN.items() for a in explainer.holding(n, [None] * arity)]
    derivation = explainer.derivation(*goals)
    proof = prove(derivation, Steps(explainer.base, explainer.words))
    return list(proof.goals), again(proof.document())


def test_every_conclusion_of_the_catalog_has_a_proof(whole: tuple[list[str], Document]) -> None:
    goals, document = whole
    model = shipped().policy.model()
    assert len(goals) == sum(model.count(n, arity) for n, arity in BUILTIN.items())
    assert len(goals) > 4000
    assert len(document["steps"]) > 15_000
    proved = {s["atom"] for s in document["steps"] if s["kind"] == "rule"}
    assert set(goals) <= proved


def test_every_step_of_the_catalog_holds(whole: tuple[list[str], Document]) -> None:
    assert shipped().check(whole[1]) == []


def test_twenty_proofs_by_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = shipped().policy
    standings = policy.standings()
    chosen = [(s.law, s.subject_text) for s in standings[:: len(standings) // 17]][:17]
    plans = [
        ("kv", "glm-5.2", "kv"),
        ("seam", "three-128", "seams"),
        ("route", "two-128", "headroom"),
    ]
    monkeypatch.chdir(ROOT)
    files = []
    with monkeypatch.context() as patched:
        patched.setattr(Policy, "load", lambda *_, **__: policy)
        for number, words in enumerate([*chosen, *plans]):
            code, text, err = run(capsys, "why", *words, "--format", "json")
            assert (code, err) == (0, "")
            files.append(tmp_path / f"{number}.json")
            files[-1].write_text(text)
    assert len(files) == 20
    where = ["--rules", "rules", "--facts", "facts"]
    code, out, err = run(capsys, "verify", *map(str, files), *where)
    assert (code, out) == (0, "")
    lines = [line for line in err.splitlines() if "steps hold" in line]
    assert len(lines) == 20
    first = json.loads(files[0].read_text())
    assert lines[0] == f"ullage: {files[0]}: {len(first['steps'])} steps hold"


def test_proofs_of_every_condition(animals: Kept) -> None:
    """Every conclusion of the zoo, which has a rule of each kind."""
    explainer = animals.policy.explainer
    names = {name for name, _, _ in explainer.known.signatures if "'" not in name}
    assert len(names) > 25
    for name in sorted(names):
        for arity in explainer.known.arities[name]:
            goals = explainer.holding(name, [None] * arity)
            assert goals
            steps = Steps(explainer.base, explainer.words)
            document = again(prove(explainer.derivation(*goals), steps).document())
            assert animals.check(document) == [], name


# Changed proofs.


PROOFS = {
    "sum": ["summed(elm, _)"],
    "absence": ["absent(elm)"],
    "condition": ["all_weighed(elm)"],
    "figures": ["computed(oak/2-b.c d, _, _)"],
    "recursion": ["apart(ääh, elm)", ],
    "twice": ["twice_negated(ääh)"],
    "term": ["mixed_red(ääh, _)"],
    "standing": ["fine", "ääh"],
}  # fmt: skip


def small(name: str, animals: Kept) -> tuple[Kept, Document]:
    """A small proof by name, and what checks it."""
    if name == "marlin":
        return shipped(), shipped().proof("weight_offload_split", "gh200-glm52-marlin")
    if name == "route":
        return shipped(), shipped().proof("route_fit", "below-floor")
    return animals, animals.proof(*PROOFS[name])


SMALL = ["marlin", "route", *PROOFS]


def steps_named(findings: Sequence[Finding]) -> set[int]:
    """The numbers of the steps that findings name."""
    found = set()
    for finding in findings:
        if finding.code == "proof-broken":
            assert re.match(r"step [0-9]+, `.*`, does not hold: ", finding.message, re.DOTALL)
            found |= set(map(int, re.findall(r"\bstep ([0-9]+), `", finding.message)))
    return found


@pytest.mark.parametrize("name", SMALL)
def test_no_byte_of_a_proof_may_change(name: str, animals: Kept) -> None:
    """Flips that leave the document what it was are none: in an escape, say, ``\\u00E4``.

    Of the long proof of a route some thousand bytes are tried, spread all over it.
    """
    keeper, document = small(name, animals)
    text = json.dumps(document).encode()
    stride = max(1, len(text) // 2500)
    named = other = equal = 0
    for place in range(0, len(text), stride):
        for bit in (1, 32):
            changed = bytearray(text)
            changed[place] ^= bit
            found, findings = parse(changed.decode(), "proof.json")
            if not findings:
                if found == document:
                    equal += 1
                    continue
                findings = keeper.check(found)
            assert findings, changed
            assert {f.code for f in findings} <= {"json-syntax", "bad-proof", "proof-broken"}
            if steps_named(findings):
                named += 1
            else:
                other += 1
    assert named > (named + other) / 4
    assert equal < (named + other) / 20


def rebuilt(document: Document, steps: list[Document]) -> Document:
    """A proof of changed steps with right ids: of each step, and of it as a premise of others."""
    new: dict[str, str] = {}
    made = []
    for step in steps:
        step = {**step, "premises": [new.get(p, p) for p in step["premises"]]}
        own = identity(step)  # type: ignore[arg-type]
        new[step["id"]] = own
        made.append({**step, "id": own})
    return {**document, "steps": made}


def users(steps: Sequence[Document], number: int) -> int:
    """The number of the first step that rests on a step; its own, where none does."""
    own = steps[number - 1]["id"]
    return next((n for n, s in enumerate(steps, start=1) if own in s["premises"]), number)


def other_values(step: Document, steps: Sequence[Document]) -> Iterator[tuple[str, object]]:
    """Other values of each field of a step, of the right types."""
    atom = step["atom"]
    yield "atom", f"x{atom}"
    yield "atom", f"{atom} "
    yield "atom", f"not {atom}"
    yield "atom", ""
    yield "atom", next(s["atom"] for s in steps if s["atom"] != atom)
    swaps = [(" bytes", " ratio"), (" bytes", ""), ('"elm"', '"ääh"'), ("1", "2"), ("_", "X")]
    for old, new in [*swaps, ("elm", "e\\u006cm"), (", ", ","), ("(", "( ")]:
        if old in atom:
            yield "atom", atom.replace(old, new, 1)
    for kind in ("fact", "rule", "absence", "computed", "given", ""):
        if kind != step["kind"]:
            yield "kind", kind
    rules = [s["rule"] for s in steps]
    yield from (("rule", r) for r in {None, "", "a :- b.", *rules} - {step["rule"]})
    if step["rule"]:
        yield "rule", step["rule"] + " "
    bindings = step["bindings"]
    yield "bindings", {**bindings, "Another": "1"}
    yield "bindings", {**bindings, "_": "1"}
    for name, value in bindings.items():
        yield "bindings", {n: v for n, v in bindings.items() if n != name}
        odd = ['"nobody"', "nobody", "7", "7 bytes", "1/0", "((", "", "9" * 5000, "x(" * 200]
        odd += [f"{value} ", f" {value}", f"({value},)", '"\\ud800"']
        for wrong in [*odd, value.replace(" bytes", " milliseconds")]:
            if wrong != value:
                yield "bindings", {**bindings, name: wrong}
    premises = step["premises"]
    for place in range(len(premises)):
        yield "premises", premises[:place] + premises[place + 1 :]
        yield "premises", [*premises, premises[place]]
    if len(set(premises)) > 1:
        yield "premises", premises[::-1]
    yield "premises", [*premises, "0" * 32]
    before = [s["id"] for s in steps[: steps.index(step)]]
    for more in before[:3]:
        yield "premises", [*premises, more]
        if premises and more != premises[0]:
            yield "premises", [more, *premises[1:]]
    yield "file", "elsewhere.yaml"
    yield "file", ""
    for field in ("line", "column"):
        yield from ((field, step[field] + by) for by in (1, -1, 10**30))
    yield "source", "somebody else"
    if step["source"] is not None:
        yield "source", None
        yield "source", step["source"] + " "
    yield "label", step["label"] + "!"
    yield "label", ""


@pytest.mark.parametrize("name", SMALL)
def test_no_field_of_a_step_may_change(name: str, animals: Kept) -> None:
    """Ids are made right again all the way down, so that only what a step says can be wrong."""
    keeper, document = small(name, animals)
    steps = document["steps"]
    numbers = range(1, len(steps) + 1)
    tried = 0
    for number in numbers if len(steps) < 60 else numbers[:: len(steps) // 25]:
        step = steps[number - 1]
        for field, value in other_values(step, steps):
            changed = [*steps[: number - 1], {**step, field: value}, *steps[number:]]
            goals = [g for g in document["goals"] if g != step["atom"]]
            if field == "atom" and step["atom"] in document["goals"]:
                goals.append(value)
            else:
                goals = document["goals"]
            proof = rebuilt({**document, "goal": goals[0], "goals": goals}, changed)
            findings = keeper.check(proof)
            assert findings, (field, value, step)
            named = steps_named(findings)
            # With another fact for one that a rule only asks to be there, that step may hold; then
            # a step is one too many.
            wanted = {number, users(proof["steps"], number)} if field != "premises" else named
            assert named & wanted, (field, value, findings)
            tried += 1
    assert tried > 100
    assert keeper.check(document) == []


@pytest.mark.parametrize("name", SMALL)
def test_no_step_may_go_come_or_move(name: str, animals: Kept) -> None:
    keeper, document = small(name, animals)
    steps = document["steps"]
    some = range(0, len(steps), max(1, len(steps) // 40))
    for place in some:
        without = rebuilt(document, steps[:place] + steps[place + 1 :])
        findings = keeper.check(without)
        assert findings
        if any(steps[place]["id"] in s["premises"] for s in steps):
            assert steps_named(findings)
        twice = rebuilt(document, [*steps[: place + 1], steps[place], *steps[place + 1 :]])
        assert place + 2 in steps_named(keeper.check(twice))
        last = rebuilt(document, [*steps, steps[place]])
        assert len(steps) + 1 in steps_named(keeper.check(last))
    for place in range(len(steps) - 1):
        moved = [*steps]
        moved[place], moved[place + 1] = moved[place + 1], moved[place]
        assert steps_named(keeper.check(rebuilt(document, moved)))
    other = again(keeper.policy.why(*OTHER[keeper is animals]).proof().document())
    more = [s for s in other["steps"] if s["id"] not in {t["id"] for t in steps}]
    findings = keeper.check(rebuilt(document, [*steps, *more]))
    assert {len(steps) + n for n in range(1, len(more) + 1)} <= steps_named(findings)
    assert "no goal rests on it" in findings[0].message


OTHER = {False: ["usable(nominal-32, _)"], True: ["extremes(_, _)"]}


def test_a_step_of_its_own_twice_is_named(animals: Kept) -> None:
    """Two ways to conclude one thing are one too many, though each holds."""
    explainer = animals.policy.explainer
    one = animals.proof("reaches(elm, oak/2-b.c d)")
    derivation = explainer.derivation(
        *animals.policy.why("reaches(elm, oak/2-b.c d)").derivation.goals
    )
    for supports in derivation.supports.values():
        supports.reverse()
    other = again(prove(derivation, Steps(explainer.base, explainer.words)).document())
    assert other["steps"] != one["steps"]
    # A longer way is a proof, too: that a derivation is the shortest is no claim of it.
    assert animals.check(other) == []
    both = {s["id"]: s for s in [*one["steps"], *other["steps"]]}
    findings = animals.check({**one, "steps": list(both.values())})
    assert any("a step before it proves the same" in f.message for f in findings)


def test_another_goal(animals: Kept) -> None:
    document = animals.proof("summed(elm, _)")
    inner = document["steps"][0]["atom"]
    for goal in ('summed("elm", 8 bytes)', 'summed("elm", 7 ratio)', "nothing", "", "("):
        (finding,) = animals.check({**document, "goal": goal, "goals": [goal]})
        assert finding.code == "bad-proof"
        assert f"no step proves the goal `{goal}`" in finding.message
    changes: list[dict[str, object]] = [
        {"goal": inner},
        {"goals": []},
        {"goals": [document["goal"], document["goal"]]},
        {"goals": [document["goal"], 3]},
        {"goals": [document["goal"], None]},
        {"goals": [[document["goal"]]]},
        {"goal": inner, "goals": [inner, document["goal"], inner]},
    ]
    for change in changes:
        assert [f.code for f in animals.check({**document, **change})] == ["bad-proof"], change
    # Of a part of it, the rest of the steps are of no use.
    assert steps_named(animals.check({**document, "goal": inner, "goals": [inner]}))
    # A computed or absent thing is no conclusion.
    computed = next(s["atom"] for s in document["steps"] if s["kind"] == "computed")
    assert animals.check({**document, "goal": computed, "goals": [computed]})


def test_a_proof_of_less_or_of_more_is_one(animals: Kept) -> None:
    """What no checker can find, since it is none: the goals say what was proved, and a reader who
    wants another reads them. Nor is anything lost where the text alone is another.
    """
    document = animals.proof("fine", "ääh")
    goals = document["goals"]
    assert len(goals) == 2
    more = [*goals, next(s["atom"] for s in document["steps"] if s["kind"] == "fact")]
    assert animals.check({**document, "goals": more}) == []
    text = json.dumps(document, indent=3, sort_keys=True, ensure_ascii=False)
    found, findings = parse(f"\n\t{text}\r\n ", "x")
    assert not findings
    assert animals.check(found) == []


def test_wrong_digests(animals: Kept) -> None:
    document = animals.proof("summed(elm, _)")
    digests = document["digests"]
    assert len(digests) == 4
    for place in digests:
        others: list[object] = ["0" * 64, digests[place].upper(), "", None, 3, [], {}]
        for wrong in others:
            findings = animals.check({**document, "digests": {**digests, place: wrong}})
            assert len(steps_named(findings)) == 1
            assert f"`{place}` is not what it was" in findings[0].message
        left = {p: d for p, d in digests.items() if p != place}
        (finding,) = animals.check({**document, "digests": left})
        assert f"`{place}` has no digest in the proof" in finding.message
        assert finding.code == "proof-broken"
    (finding,) = animals.check({**document, "digests": {**digests, "x:1:1": "0" * 64}})
    assert finding.code == "bad-proof"
    assert "`x:1:1`" in finding.message


# Changed files.


Change = Callable[[Path], None]


def put(path: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        file = folder / path
        text = file.read_text("utf-8")
        assert text.count(old) == 1, (text.count(old), old)
        file.write_text(text.replace(old, new), "utf-8")

    return change


def more(path: str, text: str) -> Change:
    def change(folder: Path) -> None:
        with (folder / path).open("a", encoding="utf-8") as file:
            file.write(text)

    return change


def file(text: str) -> Change:
    """A file of facts more."""

    def change(folder: Path) -> None:
        (folder / "facts" / "c.yaml").write_text(text, encoding="utf-8")

    return change


def each(*changes: Change) -> Change:
    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


def rule(text: str) -> Change:
    """A rule more."""
    return more("rules/zoo.lp", f'\n%!trace_rule {{"also"}}.\n{text}\n')


ABSENCE, SUM, APART = ["absent(elm)"], ["summed(elm, _)"], ["apart(ääh, elm)"]
A, B, LAW = "facts/a.yaml", "facts/b.yaml", "rules/zoo.lp"
ROW = "  - {top: elm, under: ääh, weight: 3 B}\n"
ABSENT = """\
absent(Paint) :-
    paint(Paint),
    not paint(Paint, glossy, _),
    not compared(Paint, "1 B").
"""
MIXED = """\
toned(Paint, mixed(Shade, Parts + 1)) :-
    paint(Paint, shade, Shade),
    paint(Paint, parts, Parts).
"""
FILES: dict[str, tuple[list[str], Change]] = {
    "a value": (SUM, put(B, "weight: 3 B", "weight: 5 B")),
    "a unit": (SUM, put(B, "weight: 3 B", "weight: 3 kB")),
    "a source": (ABSENCE, put(A, "5, source: list of 4 May", "5, source: me")),
    "another cell of a row": (ABSENCE, put(A, "parts: 5,", "parts: 6,")),
    "a row a line further down": (SUM, put(B, "over:\n", "over:\n\n")),
    "a row a blank further right": (SUM, put(B, ROW, ROW.replace("- {", "-  {"))),
    "a row gone": (SUM, put(B, ROW, "")),
    "a file gone": (SUM, lambda folder: (folder / B).unlink()),
    "a row in another file": (SUM, each(put(B, ROW, ""), file(f"over:\n{ROW}"))),
    "a row that makes a sum larger": (SUM, file("over: [{top: elm, under: elm, weight: 1 B}]")),
    "a row that makes a count other": (
        ["counted(elm, _)"],
        file("over: [{top: elm, under: elm}]"),
    ),
    "a row that makes a least of it": (
        ["extremes(_, _)"],
        file("paint: [{paint: p, size: 0 B, source: x}]"),
    ),
    "a row that a condition does not hold for": (
        ["all_weighed(elm)"],
        file("over: [{top: elm, under: elm}]"),
    ),
    "a cell that makes an absence untrue": (
        ABSENCE,
        put(A, "parts: 5,", "parts: 5, glossy: true,"),
    ),
    "a row that makes an absence untrue, by rules": (
        APART,
        file("over: [{top: oak/2-b.c d, under: elm}]"),
    ),
    "a default": (["numbered(ääh, 1)"], put("rules/tables/zoo.yaml", "default: 2", "default: 3")),
    "a rule's text": (ABSENCE, put(LAW, ABSENT, ABSENT.replace("1 B", "2 B"))),
    "where the conditions of a rule stand": (
        ABSENCE,
        put(LAW, ABSENT, ABSENT.replace("\n    paint", " paint")),
    ),
    "a rule's label": (ABSENCE, put(LAW, "nobody looked whether", "nobody saw whether")),
    "what a docstring says of what is absent": (
        APART,
        put(
            LAW,
            "%*! reaches(Top, Under)\nA predicate of a test.",
            "%*! reaches(Top, Under)\nIt lies on it.",
        ),
    ),
    "a rule gone": (ABSENCE, put(LAW, ABSENT, "\n" * 4)),
    "a rule gone that another rests on": (["mixed_red(ääh, _)"], put(LAW, MIXED, "\n" * 3)),
    "a rule more, which makes an absence untrue": (
        ABSENCE,
        rule('compared(Paint, "1 B") :- paint(Paint).'),
    ),
    "a rule more, far below": (APART, rule("reaches(Top, Under) :- paint(Top), paint(Under).")),
    "a line more before a rule": (ABSENCE, put(LAW, "% Purpose  every", "%\n% Purpose  every")),
}
"""A proof that a change of a file breaks, and the change."""


@pytest.mark.parametrize("name", FILES)
def test_no_file_that_a_proof_rests_on_may_change(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    question, change = FILES[name]
    folder = zoo.write(tmp_path)
    monkeypatch.chdir(folder)
    assert run(capsys, "why", *question, "--format", "json")[0] == 0
    main(["why", *question, "--format", "json"])
    Path("proof.json").write_text(capsys.readouterr().out)
    code, out, err = run(capsys, "verify", "proof.json")
    assert (code, out) == (0, "")
    assert " steps hold" in err
    change(folder)
    code, out, err = run(capsys, "verify", "proof.json")
    assert code == 3
    assert "error[proof-broken]: step " in out
    assert err == ""
    assert "\n  proof.json:1:1\n" in out


UNTOUCHED: dict[str, tuple[list[str], Change]] = {
    "a row behind": (ABSENCE, more(B, "  - {model: m, layer: 9, name: q, size: 1 B}\n")),
    "another file": (ABSENCE, file("model: [{model: n}]")),
    "a comment behind": (SUM, more(A, "# nothing\n")),
    "a rule behind": (SUM, rule('constant(Paint) :- paint(Paint, size, "2 B").')),
    "a row of no concern to the sum": (
        SUM,
        file("over: [{top: oak/2-b.c d, under: elm, weight: 1 B}]"),
    ),
}
"""Changes after which a proof still holds, since nothing changed that it rests on."""


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_a_proof_does_not_rest_on_may_change(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    question, change = UNTOUCHED[name]
    monkeypatch.chdir(zoo.write(tmp_path))
    main(["why", *question, "--format", "json"])
    Path("proof.json").write_text(capsys.readouterr().out)
    change(tmp_path)
    code, out, _ = run(capsys, "verify", "proof.json")
    assert (code, out) == (0, "")


RULES = (
    "compared(Paint, Size) :- paint(Paint, size, Size), Size >= red.",
    "compared(Paint, Size) :- paint(Paint, shade, Size).",
    "compared(Paint, 3) :- paint(Paint).",
    "compared(P) :- paint(P).",
    "compared(Paint, Size) :- nix(Paint, Size).",
    "nix(P) :- paint(P).",
    "paint(P) :- over((P, _)).",
    'compared(Paint, "5 x") :- paint(Paint).',
    "standing(nix, P, good) :- paint(P).",
    "standing(fine, P, god) :- paint(P).",
    "compared(Paint, Size + Size) :- compared(Paint, Size).",
    "compared(Paint, Size) :- paint(Paint, size, Size), not compared(Paint, Size).",
    "compared(Paint, S) :- paint(Paint), S = #sum { X, P : compared(P, X) }.",
    "compared(Paint, Size) :- paint(Paint, sise, Size).",
    "compared(Paint, -Shade) :- paint(Paint, shade, Shade).",
    "compared(Paint, S) :- paint(Paint), S = #sum { X : paint(_, shade, X) }.",
    # Nothing binds a variable, or something does.
    "compared(Paint, X) :- paint(Paint).",
    "compared(Paint, Size) :- paint(Paint), not paint(Paint, size, Size).",
    "compared(Paint, Size) :- paint(Paint), not not paint(Paint, size, Size).",
    'compared(Paint, Size) :- paint(Paint), Size > "1 B".',
    "compared(Paint, Size) :- paint(Paint), paint(Paint, size, Own), Size = Own + Size.",
    "compared(Paint, Size) :- paint(Paint, size, Own), Size - Own = Own.",
    "compared(Paint, Size) :- paint(Paint, size, Own), Size = Own * 2.",
    "compared(Paint, Size) :- paint(Paint, size, Own), Own * 2 = Size.",
    "compared(Paint, Size) :- Size = Own, paint(Paint, size, Own).",
    "compared(Paint, Size) :- Other = Size, Size = Other, paint(Paint).",
    "compared(Paint, Size) :- paint(Paint, size, Size), not over((Paint, _)).",
    "compared(Paint, Size) :- paint(Paint, size, Size), not over((Paint, Under)).",
    "compared(Paint, Size) :- paint(Paint, size, Size), _ < 3.",
    'compared(Paint, Size) :- paint(Paint), Size = #max { Own : paint(Paint, size, Own); "1 B" }.',
    "compared(Paint, Size) :- paint(Paint), Size = #max { Own : paint(Paint, size, Size) }.",
    "compared(Paint, Size) :- paint(Paint), Size = #max { Own }, paint(Paint, size, Own).",
    "compared(Paint, Size) :- paint(Paint, size, Size), not 1 < #count { P : over((P, _)) }.",
    "compared(Paint, Size) :- paint(Paint, size, Size), #count { P : not over((P, _)) } = 1.",
    "compared(Paint, Size) :- paint(Paint), #sum { 1 : over((Paint, _)) } > Size.",
    "compared(Paint, Size) :- paint(Paint, size, Size), over((_, U)) : over((Paint, U)).",
    "compared(Paint, Size) :- paint(Paint, size, Size), over((U, V)) : over((Paint, U)).",
    "compared(Paint, Size) :- paint(Paint, size, Size), U != Paint : over((Paint, U)).",
    "numbered(Paint, N) :- paint(Paint), N = 1..3.",
    "numbered(Paint, N + 1) :- paint(Paint, parts, N + 1).",
    "numbered(Paint, N) :- paint(Paint, parts, N * 2).",
    "numbered(Paint, 1..N) :- paint(Paint, parts, N).",
    "paired((A, B)) :- (A, B) = (C, D), over((C, D)).",
)
"""Rules that the zoo could have, sound and unsound."""


@pytest.mark.parametrize("text", RULES)
def test_an_unsound_policy_proves_nothing(text: str, tmp_path: Path) -> None:
    """What `check` refuses, the second program refuses as well, without the solver."""
    folder = zoo.write(tmp_path)
    rule(text)(folder)
    checked = {
        f.code
        for f in Policy.load(folder / "rules", folder / "facts").check()
        if f.severity is Severity.ERROR
    }
    found: set[str] = set()
    try:
        reference.load([folder / "rules"], [folder / "facts"])
    except PolicyError as error:
        found = {f.code for f in error.findings}
    # Without a value an expression is found where it is needed.
    assert found == checked - {"empty-extremum", "division-by-zero", "lone-variable"}


# What is no proof.


GOOD: Document = {
    "schema": "ullage/proof/1",
    "goal": "a",
    "goals": ["a"],
    "digests": {},
    "steps": [],
}
STEP: Document = {
    "id": "0", "atom": "a", "kind": "fact", "rule": None, "bindings": {}, "premises": [],
    "file": "f", "line": 1, "column": 1, "source": None, "label": "",
}  # fmt: skip
ODD: list[object] = [
    None,
    True,
    False,
    0,
    -1,
    10**40,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    {},
    {"": {}},
]
NO_JSON = {
    "nothing": "",
    "a word": "proof",
    "half": '{"schema": "ullage/proof/1"',
    "two": "{}{}",
    "a key twice": '{"schema": "ullage/proof/1", "schema": "ullage/proof/1"}',
    "a key twice, deep": '{"steps": [{"id": {"a": 1, "a": 1}}]}',
    "deep lists": "[" * 200_000,
    "deep objects": '{"a":' * 100_000,
    "a number of many digits": f'{{"schema": {"9" * 10_000}}}',
    "a control character": '{"schema": "\x00"}',
    "a broken escape": '{"schema": "\\ud8"}',
    "a byte order mark": "\ufeff{}",
}


@pytest.mark.parametrize("name", NO_JSON)
def test_what_is_no_json_is_told(name: str) -> None:
    document, findings = parse(NO_JSON[name], "proof.json")
    assert document is None
    assert [f.code for f in findings] == ["json-syntax"]
    assert findings[0].positions[0].file == "proof.json"


def test_a_key_twice_in_a_long_object_is_found_at_once() -> None:
    text = "{" + ", ".join(f'"k{i}": 0' for i in range(100_000)) + ', "k99999": 0}'
    _, (finding,) = parse(text, "x")
    assert finding.message == "the key `k99999` stands twice in one object"


def documents() -> Iterator[object]:
    """What is no proof, of every wrong type in every place."""
    yield from ODD
    yield from ([GOOD], [STEP], "ullage/proof/1", {**GOOD, "schema": "ullage/proof/2"})
    for key in GOOD:
        yield {k: v for k, v in GOOD.items() if k != key}
        yield from ({**GOOD, key: odd} for odd in ODD)
    yield {**GOOD, "more": 1}
    for key in STEP:
        yield {**GOOD, "steps": [{k: v for k, v in STEP.items() if k != key}]}
        yield from ({**GOOD, "steps": [{**STEP, key: odd}]} for odd in ODD)
    yield {**GOOD, "steps": [{**STEP, "more": 1}]}
    yield from ({**GOOD, "steps": [odd]} for odd in ODD)
    for odd in ODD:
        yield {**GOOD, "steps": [{**STEP, "premises": [odd]}]}
        yield {**GOOD, "steps": [{**STEP, "bindings": {"X": odd}}]}
        yield {**GOOD, "goals": [odd]}
        yield {**GOOD, "digests": {"x": odd}}


def with_id(step: Document) -> Document:
    return {**step, "id": identity(step)}  # type: ignore[arg-type]


ATOMS = (
    "",
    " ",
    "a",
    "(",
    ")",
    "a(",
    "a)",
    "a()",
    "a(,)",
    '"a"',
    "1",
    "1/0",
    "1/2 bytes",
    "not a",
    "paint(",
    "paint()",
    'paint("elm"',
    'paint("elm",)',
    'paint("elm", size)',
    'paint("elm", size, 500000000 ratio)',
    "paint(elm)",
    'paint(("elm",))',
    'paint("elm", parts, true)',
    'paint("elm", "parts", 5)',
    'paint("elm\\n")',
    'paint("\\ud800")',
    "paint(" * 150,
    "(" * 5000,
    "9" * 5000,
    f'paint("elm", size, {"9" * 4500} bytes)',
    "ääh",
    'paint("ääh")',
    "\ud800",
    "_",
    "X",
    'compared("elm", "500 MB")',
    'compared("elm", foo)',
    'compared("elm", 5)',
    'compared("elm", (1, 2))',
    "compared",
    'toned("elm", mixed)',
    'toned("elm", mixed(red))',
    'toned("elm", plain())',
    'toned("elm", plain(1))',
    'toned("elm", other(1))',
    'summed("elm", 7)',
    'summed("elm", 7 bytes, 8)',
    "standing(fine)",
    'standing("fine", "elm", good)',
    'standing(fine, "elm", good)',
    'value(fine, "elm", size, 3 bytes)',
    "plan(nix, 1, 2, 3)",
    "reason",
    'called("elm", 1/2, "x")',
    'numbered("elm", 3 bytes)',
    "extremes(1 bytes, 2 bytes)",
    'greater("elm", 99999999999999999999999999999999 bytes)',
)


def test_hostile_proofs_end_in_findings(animals: Kept) -> None:
    """Every wrong type in every place; every odd atom as what a rule concludes and rests on."""
    for document in documents():
        findings = animals.check(document)
        assert findings, document
        assert {f.code for f in findings} <= {"bad-proof", "proof-broken"}
    places = list(animals.checker.rules.values())
    for rule in places:
        at = {
            "file": rule.position.file,
            "line": rule.position.line,
            "column": rule.position.column,
        }
        for atom in ATOMS:
            fact = with_id({**STEP, "atom": atom})
            own = with_id(
                {**STEP, **at, "kind": "rule", "rule": rule.text, "atom": atom,
                 "premises": [fact["id"]] * len(rule.body), "bindings": {"Paint": '"elm"'}}
            )  # fmt: skip
            findings = animals.check({**GOOD, "goal": atom, "goals": [atom], "steps": [fact, own]})
            assert findings, own


def test_circles_are_no_proofs(animals: Kept) -> None:
    """An id is the hash of the ids below it, so a circle would need a hash of itself."""
    document = animals.proof("reaches(elm, oak/2-b.c d)")
    for step in document["steps"]:
        changed = copy.deepcopy(document)
        for other in changed["steps"]:
            if other["id"] == step["id"]:
                other["premises"] = [document["steps"][-1]["id"]]
        assert steps_named(animals.check(changed))
    findings = animals.check({**document, "steps": document["steps"][::-1]})
    assert any("a premise of it is no step before it" in f.message for f in findings)


@settings(max_examples=150)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*GOOD, *STEP]), inner, max_size=12)
        ),
        max_leaves=30,
    )
)
def test_anything_at_all_ends_in_findings(document: object) -> None:
    text = json.dumps(document)
    found, findings = parse(text, "x")
    assert findings or nobody().check(found, "x")


@cache
def nobody() -> Checker:
    """A checker over no policy at all."""
    return Checker(
        reference.load([ROOT / "docs" / "small" / "rules"], [ROOT / "docs" / "small" / "facts"])
    )


# The verb.


def test_findings_are_told_in_each_format(
    zoo_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(zoo_folder)
    main(["why", "summed(elm, _)", "--format", "json"])
    text = capsys.readouterr().out
    good, bad = tmp_path / "good.json", tmp_path / "bad\nnamed.json"
    good.write_text(text)
    bad.write_text(text.replace("weighs 7 B", "weighs 8 B"))
    code, out, err = run(capsys, "verify", str(good), str(bad))
    assert code == 3
    assert "error[proof-broken]: step 6, `summed(" in out
    assert "the step's place" in out
    assert err == f"ullage: {good}: 6 steps hold\n"
    code, out, _ = run(capsys, "verify", str(bad), "--format", "json")
    assert code == 3
    (finding,) = json.loads(out)["findings"]
    assert finding["code"] == "proof-broken"
    assert finding["positions"][0]["file"] == str(bad)
    code, out, _ = run(capsys, "verify", str(bad), "--format", "concise")
    assert code == 3
    assert out.count("\n") == 1
    assert "error[proof-broken]: step 6" in out


def test_proofs_are_checked_from_python(
    zoo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(zoo_folder)
    proof = Policy.load("rules", "facts").why("fine", "ääh").proof()
    text = json.dumps(proof.document())
    for one in (proof, proof.document(), json.loads(text), text):
        assert ullage.verify(one) == ()
        assert ullage.verify(one, rules=["rules"], facts=Path("facts")) == ()
    (finding,) = ullage.verify(text.replace("not fine", "fine"), rules="rules", facts="facts")
    assert finding.code == "proof-broken"
    assert str(finding.positions[0]) == "<proof>:1:1"
    assert [f.code for f in ullage.verify("{")] == ["json-syntax"]
    assert [f.code for f in ullage.verify({})] == ["bad-proof"]
    with pytest.raises(UsageError):
        ullage.verify(proof, rules=tmp_path / "none")
    (tmp_path / "a.yaml").write_text("paint: [{paint: p, size: 3}]\n")
    with pytest.raises(PolicyError):
        ullage.verify(proof, rules="rules", facts=tmp_path)


def test_a_proof_is_read_from_stdin(
    zoo_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.chdir(zoo_folder)
    main(["why", "absent(elm)", "--format", "json"])
    proof = capsys.readouterr().out.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(proof), "utf-8"))
    assert run(capsys, "verify", "-") == (0, "", "ullage: <stdin>: 4 steps hold\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{"), "utf-8"))
    code, out, _ = run(capsys, "verify", "-")
    assert code == 3
    assert "error[json-syntax]: " in out
    assert "\n  <stdin>:1:2\n" in out
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + proof), "utf-8")
    )
    assert run(capsys, "verify", "-")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{\xff"), "utf-8"))
    assert run(capsys, "verify", "-")[0] == 1
    monkeypatch.setattr(sys, "stdin", None)
    assert run(capsys, "verify", "-")[0] == 3


def test_what_cannot_be_read_ends_with_1_or_3(
    zoo_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(zoo_folder)
    code, out, err = run(capsys, "verify", str(tmp_path / "none.json"))
    assert (code, out) == (1, "")
    assert "ullage: error: " in err
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe4"}')
    code, out, err = run(capsys, "verify", str(tmp_path / "latin.json"))
    assert (code, out) == (1, "")
    assert "UTF-8" in err
    assert run(capsys, "verify", str(tmp_path))[0] == 1
    assert run(capsys, "verify")[0] == 1
    proof = tmp_path / "p.json"
    proof.write_text("{}")
    assert run(capsys, "verify", str(proof), "--rules", str(tmp_path / "none"))[0] == 1
    shutil.copytree(zoo_folder, tmp_path / "broken")
    (tmp_path / "broken" / "facts" / "a.yaml").write_text("paint: [{paint: p, size: 3}]\n")
    monkeypatch.chdir(tmp_path / "broken")
    code, _, err = run(capsys, "verify", str(proof))
    assert code == 3
    assert "error[missing-unit]" in err


def test_the_solver_is_not_loaded(zoo_folder: Path, tmp_path: Path) -> None:
    """Whoever does not trust the solver need not: a proof is checked in a process without it."""
    document = kept(zoo_folder).proof("fine", "ääh")
    (tmp_path / "p.json").write_text(json.dumps(document))
    program = (
        "import sys\n"
        "import ullage\n"
        "from ullage.cli import main\n"
        "code = main(['verify', sys.argv[1]])\n"
        "assert not ullage.verify(open(sys.argv[1]).read())\n"
        "loaded = sorted(m for m in sys.modules if m.split('.')[0] in ('clingo', '_clingo', 'cffi')"
        " or m.startswith(('ullage.solve', 'ullage.policy', 'ullage.rules.syntax')))\n"
        "print(code, loaded)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "p.json")],
        cwd=zoo_folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "0 []\n"
