"""The JSON we print keeps to the schemas we ship, and the schemas are strict."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from samples import BINDINGS, DIFF, FINDINGS, MOVES, PLANS, STANDINGS

from ullage import Policy
from ullage.diff.result import Diff, Verdict
from ullage.findings import Finding, Position
from ullage.moves import Moves
from ullage.mutationreport import Fate, MutantResult, MutationReport
from ullage.render import FORMATS, View
from ullage.render.explanations import denial, explanation
from ullage.results import Bindings, Plans
from ullage.testreport import CaseResult, Mismatch, Outcome, TestReport

JSON = FORMATS["json"](View())

PLACE = Position("tests/laws/room.yaml", 3, 5)
TESTS = TestReport(
    (
        CaseResult("tests/laws/room.yaml", PLACE, "a", "room", Outcome.PASS, duration=0.01),
        CaseResult(
            "tests/laws/room.yaml",
            PLACE,
            "b",
            "",
            Outcome.FAIL,
            (Mismatch(PLACE, "train", "verdict", "fits", "refused", "differs"),),
        ),
        CaseResult("tests/laws/room.yaml", PLACE, "c", "room", Outcome.SKIPPED, reason="later"),
    ),
    left_out=2,
)


MUTATION = MutationReport(
    tuple(
        MutantResult(PLACE, "r(B)", mutation, "S < 1", after, fate, apart, name, case, reason)
        for mutation, after, fate, apart, name, case, reason in (
            ("boundary", "S <= 1", Fate.KILLED, 2, "a", PLACE, ""),
            ("drop", "", Fate.SURVIVED, 0, "", None, ""),
            ("reverse", "S > 1", Fate.EQUIVALENT, 1, "", None, "always so"),
        )
    ),
    3,
    (Finding("idle-equivalent", "an entry", (PLACE,), "delete it"),),
)


def schema(name: str) -> Any:
    return json.loads((files("ullage") / "schemas" / f"{name}.json").read_text("utf-8"))


def validator(name: str) -> Draft202012Validator:
    Draft202012Validator.check_schema(schema(name))
    return Draft202012Validator(schema(name))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("standings-1", JSON.standings(STANDINGS)),
        ("standings-1", JSON.standings([])),
        ("findings-1", JSON.findings(FINDINGS)),
        ("findings-1", JSON.findings([])),
        ("plan-1", JSON.plans(PLANS)),
        ("plan-1", JSON.plans(Plans(()))),
        ("what-if-1", JSON.moves(MOVES)),
        ("what-if-1", JSON.moves(Moves((), (), (), 0))),
        ("diff-1", JSON.diff(DIFF)),
        ("diff-1", JSON.diff(Diff(Verdict.EQUAL, (), (), (), (), 7))),
        ("query-1", JSON.bindings(BINDINGS)),
        ("test-1", JSON.tests(TESTS)),
        ("test-1", JSON.tests(TestReport(()))),
        ("mutation-1", JSON.mutation(MUTATION)),
        ("mutation-1", JSON.mutation(MutationReport((), 1))),
        ("query-1", JSON.bindings(Bindings((), ((),)))),
    ],
)
def test_what_we_print_is_valid(name: str, text: str) -> None:
    validator(name).validate(json.loads(text))


def drop(*path: str | int) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return change


def put(value: object, *path: str | int) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return change


RESERVE = ("standings", 3, "values", "reserve")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(put([], "standings", 2, "reasons"), id="refused without a reason"),
        pytest.param(put([], "standings", 1, "obligations"), id="unestablished without a need"),
        pytest.param(put("maybe", "standings", 0, "standing"), id="unknown class"),
        pytest.param(put({}, "standings", 0, "subject"), id="no subject"),
        pytest.param(drop("standings", 0, "values"), id="no values"),
        pytest.param(put(1, "standings", 0, "weight"), id="unknown key"),
        pytest.param(put("2", "schema"), id="another schema"),
        pytest.param(put(25.6, *RESERVE, "value"), id="a figure that readers would round"),
        pytest.param(put("2.50", *RESERVE, "value"), id="a figure not in its shortest form"),
        pytest.param(put("1e9", *RESERVE, "value"), id="an exponent"),
        pytest.param(drop(*RESERVE, "display"), id="no display"),
    ],
)
def test_standings_are_held_to_the_contract(change: Callable[[Any], None]) -> None:
    document = json.loads(JSON.standings(STANDINGS))
    broken = copy.deepcopy(document)
    change(broken)
    assert validator("standings-1").is_valid(document)
    assert not validator("standings-1").is_valid(broken)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(put("Not A Code", "findings", 0, "code"), id="code"),
        pytest.param(put("fatal", "findings", 0, "severity"), id="severity"),
        pytest.param(put(0, "findings", 0, "positions", 0, "line"), id="line"),
        pytest.param(drop("findings", 0, "help"), id="help"),
    ],
)
def test_findings_are_held_to_the_contract(change: Callable[[Any], None]) -> None:
    document = json.loads(JSON.findings(FINDINGS))
    change(document)
    assert not validator("findings-1").is_valid(document)


SMALL = Path(__file__).resolve().parents[1] / "docs" / "small"


@cache
def small() -> Policy:
    return Policy.load(SMALL / "rules", SMALL / "facts")


def proof(*question: str) -> Any:
    text = explanation(small().why(*question), "json", None, depth=None, every=False)
    return json.loads(text)


def why_not(*question: str, vary: str = "") -> Any:
    would_do = small().reach(*question, vary=[vary]) if vary else None
    text = denial(small().why_not(*question), "json", None, depth=None, would_do=would_do)
    return json.loads(text)


@pytest.mark.parametrize(
    "question",
    [["room", "serve"], ["room", "index"], ["room", "train", "headroom"], ["free(anvil, _)"],
     ["machine(anvil, gpus, 1)"], ["placement", "train"]],
)  # fmt: skip
def test_proofs_are_valid(question: list[str]) -> None:
    validator("proof-1").validate(proof(*question))


def test_what_is_told_of_what_does_not_hold_is_valid() -> None:
    for question in (["room", "serve"], ["room", "index"], ["machine(bellows, state, up)"],
                     ["free(anvil, 1 B)"], ["_unseen(train, _)"]):  # fmt: skip
        validator("why-not-1").validate(why_not(*question))
    varied = why_not("room", "serve", "fits", vary="job/serve/need")
    validator("why-not-1").validate(varied)
    validator("goal-1").validate(varied["would_do"])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(drop("goals"), id="no goals"),
        pytest.param(put([], "goals"), id="nothing proved"),
        pytest.param(put([], "steps"), id="no steps"),
        pytest.param(put("ullage/proof/2", "schema"), id="another schema"),
        pytest.param(put("0" * 63, "digests", "facts/machines.yaml:12:5"), id="half a digest"),
        pytest.param(put("given", "steps", 0, "kind"), id="unknown kind"),
        pytest.param(put(["0" * 32], "steps", 0, "premises"), id="a fact with a premise"),
        pytest.param(put("a.", "steps", 0, "rule"), id="a fact with a rule"),
        pytest.param(put(None, "steps", -1, "rule"), id="a conclusion without a rule"),
        pytest.param(put("me", "steps", -1, "source"), id="a conclusion with a source"),
        pytest.param(put("x", "steps", 0, "id"), id="no id"),
        pytest.param(put(0, "steps", 0, "line"), id="no line"),
        pytest.param(put(7, "steps", -1, "bindings", "Job"), id="a bare value"),
        pytest.param(drop("steps", 0, "label"), id="nothing in words"),
        pytest.param(put(1, "steps", 0, "weight"), id="unknown key"),
    ],
)
def test_proofs_are_held_to_the_contract(change: Callable[[Any], None]) -> None:
    document = proof("room", "serve")
    broken = copy.deepcopy(document)
    change(broken)
    assert validator("proof-1").is_valid(document)
    assert not validator("proof-1").is_valid(broken)


FAILING = ("refuted", 0, "rules", 0, "failing", 0)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(drop("unread"), id="no word on what is unread"),
        pytest.param(put([], "refuted"), id="nothing asked"),
        pytest.param(put({"law": "room"}, "standing"), id="half a standing"),
        pytest.param(put("perhaps", "standing", "standing"), id="unknown class"),
        pytest.param(drop("refuted", 0, "rules", 0, "label"), id="nothing in words"),
        pytest.param(put(0, "refuted", 0, "rules", 0, "distance"), id="nothing fails"),
        pytest.param(drop(*FAILING, "short"), id="no word on by how much"),
        pytest.param(put(1.5, *FAILING, "short"), id="a bare figure"),
        pytest.param(put("much", *FAILING, "obstacle"), id="a word for an obstacle"),
        pytest.param(put({"table": "job"}, *FAILING, "unread"), id="half a cell"),
        pytest.param(put({}, "would_do"), id="changes of no schema"),
        pytest.param(put(1, "weight"), id="unknown key"),
    ],
)
def test_denials_are_held_to_the_contract(change: Callable[[Any], None]) -> None:
    document = why_not("room", "serve")
    broken = copy.deepcopy(document)
    change(broken)
    assert validator("why-not-1").is_valid(document)
    assert not validator("why-not-1").is_valid(broken)


def test_the_schemas_agree_on_what_a_value_is() -> None:
    standings, query, plan, what_if, diff = (
        schema(n)["$defs"] for n in ("standings-1", "query-1", "plan-1", "what-if-1", "diff-1")
    )
    for name in ("name", "args", "value", "quantity", "term"):
        assert standings[name] == query[name] == plan[name] == what_if[name] == diff[name]
    for name in ("standing", "reason", "obligation"):
        assert standings[name] == plan[name]
    for name in ("name", "args", "value", "quantity", "term"):
        assert schema("why-not-1")["$defs"][name] == standings[name]
    for name in ("reason", "obligation"):
        assert standings[name] == what_if[name]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(put({}, "plans", 0, "subject"), id="no subject"),
        pytest.param(drop("plans", 0, "values"), id="no values"),
        pytest.param(drop("plans", 0, "judged"), id="no word on the law"),
        pytest.param(put("yes", "plans", 0, "judged"), id="a word for a standing"),
        pytest.param(put(1, "plans", 0, "weight"), id="unknown key"),
        pytest.param(put(1.5, "plans", 0, "values", "usable"), id="a bare figure"),
        pytest.param(drop("what_if", 0, "old"), id="nothing of what was"),
        pytest.param(put(None, "what_if", 0, "new"), id="nothing supposed"),
        pytest.param(drop("what_if"), id="no word on what is supposed"),
    ],
)
def test_plans_are_held_to_the_contract(change: Callable[[Any], None]) -> None:
    document = json.loads(JSON.plans(PLANS))
    broken = copy.deepcopy(document)
    change(broken)
    assert validator("plan-1").is_valid(document)
    assert not validator("plan-1").is_valid(broken)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(put(-1, "left"), id="fewer than none"),
        pytest.param(drop("left"), id="no word on what stays"),
        pytest.param(drop("what_if", 0, "place"), id="no place"),
        pytest.param(put("--flag", "what_if", 0, "option"), id="unknown option"),
        pytest.param(drop("rows", 0, "replaces"), id="no word on another row"),
        pytest.param(drop("moved", 0, "old"), id="nothing of what was"),
        pytest.param(put(None, "moved", 1, "old"), id="neither old nor new"),
        pytest.param(put([None], "moved", 0, "values", "headroom"), id="one side of a value"),
        pytest.param(put([1, 2], "moved", 0, "values", "headroom"), id="bare figures"),
        pytest.param(put("comes", "plans", 0, "change"), id="unknown change"),
    ],
)
def test_moves_are_held_to_the_contract(change: Callable[[Any], None]) -> None:
    document = json.loads(JSON.moves(MOVES))
    broken = copy.deepcopy(document)
    change(broken)
    assert validator("what-if-1").is_valid(document)
    assert not validator("what-if-1").is_valid(broken)
