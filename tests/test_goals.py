"""Goals: the changes that reach one, against brute force by the solver.

Brute force asks the solver of every value at once: each arm is copied once for each value, all
copies stand in one catalog, and one run says what is concluded of each.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ullage import Policy, StandingClass, UsageError
from ullage.cli import main
from ullage.explain import goals
from ullage.explain.goals import Reach
from ullage.explain.lines import Line, Varied
from ullage.facts import FactBase
from ullage.findings import PolicyError
from ullage.render.reaching import reaching

Rows = dict[str, list[dict[str, object]]]

LAW = "arm_memory_fit"


def rows_of(base: FactBase) -> Rows:
    """The given rows of a catalog as Python has them."""
    found: Rows = {}
    for name, table in base.declarations.tables.items():
        if table.computed is not None:
            continue
        rows = []
        for row in base.rows.get(name, ()):
            told: dict[str, object] = {"source": row.source} if row.source else {}
            told |= {c.name: v for c, v in zip(table.key, row.key, strict=True)}
            for column, cell in row.cells.items():
                inner = cell.value
                told[column] = [c.value for c in inner] if isinstance(inner, tuple) else inner
            rows.append(told)
        found[name] = rows
    return found


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return Policy.load()


@dataclass(frozen=True)
class Brute:
    """Arms, and of each and each value of a column what the solver says of its fit."""

    policy: Policy
    standings: Mapping[tuple[str, str, object], StandingClass]

    def fitting(self, arm: str, column: str, values: Sequence[object]) -> list[object]:
        """The values with which an arm fits."""
        fits = StandingClass.ESTABLISHED
        return [v for v in values if self.standings[arm, column, v] is fits]


GRIDS: Mapping[str, Sequence[int]] = {
    "cpu_offload": [n * 2**33 for n in range(72)],
    "context_tokens": [1 + n * 7919 for n in range(40)],
}
"""Values that brute force tries: by 8 GiB, and by a prime number of tokens."""

LOWERED = {
    "short-gh200-llama": ("worked-gh200-llama-70b", {"cpu_offload": 0}),
    "short-gh200-qwen3": ("worked-gh200-qwen3-235b", {"cpu_offload": 2**30}),
    "short-h200-deepseek": ("worked-h200-deepseek-v3", {"cpu_offload": 2**34}),
    "short-rtx4090": ("worked-rtx4090-llama-70b-192", {"cpu_offload": 10 * 2**30}),
    "long-gh200-llama": ("worked-gh200-llama-70b", {"context_tokens": 300_000}),
}
"""Arms that fit, with less offloaded or more asked: so that there is something to be found."""


def copy_arm(rows: Rows, arm: str, name: str, cells: Mapping[str, object]) -> None:
    """Add a copy of an arm, with some cells otherwise, and of what was read of its launch."""
    for table, own in (("arm", cells), ("offload_reading", {})):
        found = [r for r in rows[table] if r["arm"] == arm]
        rows[table] += [{**r, "arm": name, **own} for r in found]
        assert found or table != "arm"


@pytest.fixture(scope="module")
def brute(shipped: Policy) -> Brute:
    rows = rows_of(shipped.facts)
    for name, (arm, cells) in LOWERED.items():
        copy_arm(rows, arm, name, cells)
    given = shipped.over(rows)
    refused = [s.subject_text for s in given.standings(LAW) if s.standing is StandingClass.REFUSED]
    assert set(LOWERED) <= set(refused)
    assert len(refused) >= 20
    dtypes = [str(r["dtype"]) for r in rows["kv_dtype"]]
    many = rows_of(given.facts)
    named: dict[str, tuple[str, str, object]] = {}
    for arm in refused:
        for column, values in (*GRIDS.items(), ("kv_dtype", dtypes)):
            for value in values:
                name = f"{arm}@{column}@{value}"
                named[name] = arm, column, value
                copy_arm(many, arm, name, {column: value})
    found = {
        named[s.subject_text]: s.standing
        for s in shipped.over(many).standings(LAW)
        if s.subject_text in named
    }
    assert len(found) == len(named)
    return Brute(given, found)


def reach(policy: Policy, arm: str, *vary: str) -> Reach:
    return policy.reach(LAW, arm, "fits", vary=[f"arm/{arm}/{v}" for v in vary])


def present(policy: Policy, arm: str, column: str) -> Fraction | None:
    row = next(r for r in policy.facts.rows["arm"] if r.key == (arm,))
    cell = row.cells.get(column)
    if cell is None:
        return None
    assert isinstance(cell.value, int | Fraction)
    return Fraction(cell.value)


def test_every_refused_arm_is_answered_as_brute_force_answers(brute: Brute) -> None:
    answered = {"found": 0, "none": 0}
    for arm in sorted({arm for arm, _, _ in brute.standings}):
        for column, values in GRIDS.items():
            unit = " B" if column == "cpu_offload" else ""
            step = values[1] - values[0]
            text = f"{column}={values[0]}{unit}..{values[-1]}{unit}/{step}{unit}"
            found = reach(brute.policy, arm, text)
            fitting = brute.fitting(arm, column, values)
            assert found.settled
            now = present(brute.policy, arm, column)
            start = Fraction(values[0]) if now is None else now
            nearest = min((abs(Fraction(v) - start) for v in fitting), default=None)  # type: ignore[call-overload]
            if nearest is None:
                assert found.ways == (), (arm, column)
                answered["none"] += 1
            else:
                ((change,),) = found.ways
                assert abs(change.new.value - start) == nearest, (arm, column)  # type: ignore[union-attr]
                answered["found"] += 1
        dtypes = sorted({str(v) for a, c, v in brute.standings if (a, c) == (arm, "kv_dtype")})
        found = reach(brute.policy, arm, f"kv_dtype={','.join(dtypes)}")
        assert [str(c.new) for (c,) in found.ways] == brute.fitting(arm, "kv_dtype", dtypes)
    assert min(answered.values()) >= 5, answered


def test_an_exact_figure_is_the_smallest_one(brute: Brute) -> None:
    """What holds at the figure found fails one base unit nearer to the present one."""
    for arm, column in (
        ("short-gh200-llama", "cpu_offload"),
        ("long-gh200-llama", "context_tokens"),
        ("worked-gh200-gpt-oss-uniform", "context_tokens"),
    ):
        ((change,),) = reach(brute.policy, arm, column).ways
        assert change.old is not None
        nearer = 1 if change.old.value > change.new.value else -1  # type: ignore[union-attr]
        for more, standing in ((0, StandingClass.ESTABLISHED), (nearer, StandingClass.REFUSED)):
            rows = rows_of(brute.policy.facts)
            row = next(r for r in rows["arm"] if r["arm"] == arm)
            row[column] = int(change.new.value) + more  # type: ignore[union-attr]
            (told,) = brute.policy.over(rows).standings(LAW, arm)
            assert told.standing is standing, (arm, column, more)


def test_no_offload_at_all_is_proved_and_not_sampled(shipped: Policy) -> None:
    """On one pool an offload wins nothing, whatever its size (laws, section 7)."""
    found = reach(shipped, "worked-gb10-llama-70b-uva", "cpu_offload")
    assert found.ways == ()
    assert found.settled
    ((tried,),) = [found.tried]
    assert tried.cases > 100


def test_every_refused_arm_of_the_catalog_is_settled_for_all_figures(shipped: Policy) -> None:
    """Every offload and context there is: found, or proved that there is none.

    Brute force above tries fewer values of each; where it finds one, so does this. The one arm that
    can be mended so is charged for a window as if it were none.
    """
    refused = [
        s.subject_text for s in shipped.standings(LAW) if s.standing is StandingClass.REFUSED
    ]
    assert len(refused) >= 17
    found = {}
    for arm in refused:
        for column in ("cpu_offload", "context_tokens", "kv_dtype"):
            answer = reach(shipped, arm, column)
            assert answer.settled
            if answer.ways:
                found[arm, column] = len(answer.ways)
    assert set(found) == {
        ("worked-gh200-gpt-oss-uniform", "context_tokens"),
        ("worked-gh200-gpt-oss-uniform", "kv_dtype"),
    }


def test_two_changes_where_one_will_not_do(shipped: Policy) -> None:
    arm = "gh200-glm52-marlin"
    rows = rows_of(shipped.facts)
    row = next(r for r in rows["offload_reading"] if r["arm"] == arm)
    row["uva_available"] = False
    policy = shipped.over(rows)
    cells = [f"offload_reading/{arm}/{c}" for c in ("uva_available", "moe_backend=MARLIN,TRITON")]
    found = policy.reach("weight_offload_split", arm, "uva_zero_copy_view", vary=cells)
    assert [[str(c.new) for c in way] for way in found.ways] == [["True", "TRITON"]]


def test_what_is_left_open_names_what_is_to_be_read(shipped: Policy) -> None:
    found = reach(shipped, "worked-gh200-llama-70b-none", "offload")
    assert found.ways == ()
    told = {str(o.changes[0].new): o.obligations for o in found.open}
    assert told == {"uva": ("uva_available", "uva_disabled"), "prefetch": ("prefetch_step",)}


def test_a_cell_that_is_unread_is_a_reading_to_take(shipped: Policy) -> None:
    cell = "offload_reading/gh200-qwen3-235b/moe_backend"
    found = shipped.reach(
        "weight_offload_split", "gh200-qwen3-235b", "uva_zero_copy_view", vary=[cell]
    )
    assert found.ways
    assert found.readings == (cell,)


def test_the_backends_that_would_do_are_those_that_move_no_weights(shipped: Policy) -> None:
    """By the release's table of backends: enumerated for the oracle, and known to move none."""
    arm = "gh200-glm52-marlin"
    cell = f"offload_reading/{arm}/moe_backend"
    found = shipped.reach("weight_offload_split", arm, "uva_zero_copy_view", vary=[cell])
    base = shipped.facts
    (of_arm,) = [r for r in base.rows["arm"] if r.key == (arm,)]
    place = (of_arm.cells["release"].value, of_arm.cells["moe_oracle"].value)
    enumerated = {r.key[2] for r in base.rows["moe_backend_arm"] if r.key[:2] == place}
    still = {
        r.key[2]
        for r in base.rows["moe_backend"]
        if r.key[:2] == place and r.cells["relayout"].value not in ("allocates", "unknown")
    }
    assert {str(c.new) for (c,) in found.ways} == enumerated & still


@pytest.mark.parametrize(
    ("goal", "vary", "message"),
    [
        (("no_law", "x"), ["arm/x/offload"], "no law, plan, table or predicate"),
        (("weight_offload_split", "nope"), ["arm/x/offload"], "has no subject"),
        (("weight_offload_split", "gh200-glm52-marlin", "refused"), ["arm/x/y"], "holds already"),
        ((LAW, "worked-gb10-llama-70b", "fits"), ["arm"], "names no cell"),
        ((LAW, "worked-gb10-llama-70b", "fits"), ["arms/x/offload"], "no table `arms`"),
        ((LAW, "worked-gb10-llama-70b", "fits"), ["arm/x/ofload"], "has no column `ofload`"),
        ((LAW, "worked-gb10-llama-70b", "fits"), ["arm/x/offload"], "no row is `x` in `arm`"),
        (
            (LAW, "worked-gb10-llama-70b", "fits"),
            ["arm/worked-gb10-llama-70b/note"],
            "cannot be listed",
        ),
        (
            (LAW, "worked-gb10-llama-70b", "fits"),
            ["arm/worked-gb10-llama-70b/cpu_offload=9 GiB..1 GiB"],
            "holds nothing",
        ),
    ],
)
def test_a_question_that_is_none_is_told_so(
    shipped: Policy, goal: tuple[str, ...], vary: list[str], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        shipped.reach(*goal, vary=vary)
    assert message in error.value.message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("offload=uvva", "not-in-closed-set"),
        ("cpu_offload=12", "missing-unit"),
        ("context_tokens=1.5", "not-a-count"),
        ("gpu_memory_utilization=200%", "above-maximum"),
    ],
)
def test_a_value_that_is_none_has_its_columns_finding(
    shipped: Policy, text: str, code: str
) -> None:
    with pytest.raises(PolicyError) as error:
        reach(shipped, "worked-gb10-llama-70b", text)
    assert [f.code for f in error.value.findings] == [code]


# Lines.


def test_what_a_line_decides_is_decided_alike_within_its_bounds() -> None:
    """Programs over lines against the same programs over fractions, at every value in bounds."""
    draws = random.Random(5)
    names = ("<", "<=", ">", ">=", "==", "floor", "ceil", "abs", "min", "*", "/")
    compared = 0
    wide = 0
    for _ in range(4000):
        first = Fraction(draws.randint(-5, 5), draws.choice([1, 2]))
        step = Fraction(draws.choice([1, 1, 2, 3]), draws.choice([1, 2, 4]))
        grid = [first + n * step for n in range(40)]
        lines = [
            (
                Fraction(draws.randint(-6, 6), draws.choice([1, 1, 2, 3])),
                Fraction(draws.randint(-6, 6), draws.choice([1, 2, 3])),
            )
            for _ in range(3)
        ]
        program = [draws.choice(names) for _ in range(3)]
        varied = Varied(draws.choice(grid), first, step)
        with varied.frame() as bounds:
            said, left = _run(program, [Line(varied, a, s) if s else a for a, s in lines])
        assert bounds.holds(varied.x)
        inside = [y for y in grid if bounds.holds(y)]
        wide += len(inside) > 1
        for y in inside:
            again, plain = _run(program, [a + s * y for a, s in lines])
            assert again == said, (program, lines, varied.x, y)
            for one, other in zip(left, plain, strict=True):
                now = one.at + one.slope * y if isinstance(one, Line) else one
                assert now == other, (program, lines, varied.x, y)
                compared += 1
    assert compared > 50_000
    assert wide > 1000


def _run(
    program: Sequence[str], values: Sequence[Line | Fraction]
) -> tuple[list[bool], list[Line | Fraction]]:
    said: list[bool] = []
    left = list(values)
    for name in program:
        a, b, *_ = left
        match name:
            case "<":
                said.append(bool(a < b))
            case "<=":
                said.append(bool(a <= b))
            case ">":
                said.append(bool(a > b))
            case ">=":
                said.append(bool(a >= b))
            case "==":
                said.append(bool(a == b))
            case "floor":
                left[0] = math.floor(a) * Fraction(1) + b
            case "ceil":
                left[1] = math.ceil(b) * Fraction(1) - a
            case "abs":
                left[0] = abs(a)
            case "min":
                left[0] = min(left)
            case "*":
                left[0] = a * b
            case "/" if b != 0:
                left[0] = a / b
        left = [*left[1:], left[0]]
    return said, left


# Formats.


def test_each_format_tells_the_ways_and_what_was_tried(
    shipped: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = "worked-gh200-gpt-oss-uniform"
    words = ["--goal", LAW, arm, "fits", "--vary", f"arm/{arm}/context_tokens"]
    told = {}
    for name in ("human", "json", "concise"):
        assert main(["what-if", *words, "--format", name]) == 0
        told[name] = capsys.readouterr().out
    change = f"arm/{arm}/context_tokens: 131072 -> 84334"
    assert told["concise"] == f"{change}\n"
    assert f"reached by 1 change:\n  {change}\n" in told["human"]
    document = json.loads(told["json"])
    assert document["settled"]
    schema = json.loads((files("ullage") / "schemas" / "goal-1.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    validator.validate(document)
    assert document["ways"][0][0]["new"]["value"] == "84334"
    del document["settled"]
    assert not validator.is_valid(document)
    open_ones = reach(shipped, "worked-gh200-llama-70b-none", "offload")
    validator.validate(json.loads(reaching(open_ones, "json")))
    assert "left open, and to be read first:" in reaching(open_ones, "human")


def test_why_not_tells_what_would_do(capsys: pytest.CaptureFixture[str]) -> None:
    arm = "gh200-glm52-marlin"
    cell = f"offload_reading/{arm}/moe_backend"
    question = ["why-not", f"weight_offload_split({arm}, uva_zero_copy_view)", "--vary", cell]
    assert main(question) == 0
    assert f"{cell}: MARLIN -> TRITON\n" in capsys.readouterr().out
    assert main([*question, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [w[0]["cell"] for w in document["would_do"]["ways"]] == [cell] * 7


def test_a_goal_over_supposed_facts(capsys: pytest.CaptureFixture[str]) -> None:
    """Without views no backend gives one."""
    arm = "gh200-glm52-marlin"
    goal = ["--goal", "weight_offload_split", arm, "uva_zero_copy_view"]
    words = [
        "what-if",
        *goal,
        "--vary",
        f"offload_reading/{arm}/moe_backend",
        "--format",
        "concise",
    ]
    assert main(words) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert main([*words, "--set", f"offload_reading/{arm}/uva_available=false"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words",
    [["--goal", "x"], ["--vary", "arm/x/y"], [LAW, "--goal", "x", "--vary", "y"]],
)
def test_half_a_goal_is_told_so(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", *words]) == 1
    assert "internal error" not in capsys.readouterr().err


SMALL = Path(__file__).parents[1] / "docs" / "small"


def test_figures_worked_out_by_hand() -> None:
    """`serve` needs 15 GiB of crucible's 16 GiB, of which a tenth is kept free.

    It fits where memory * (1 - spare) >= need: memory of 15 GiB / 0.9 = 17,895,697,066.7 bytes, or
    a spare of 1 - 15/16 = 0.0625, so 6 hundredths; or a need of 14.4 GiB = 15,461,882,265.6 bytes.
    """
    policy = Policy.load(SMALL / "rules", SMALL / "facts")
    cells = ("machine/crucible/memory", "machine/crucible/spare", "job/serve/need")
    found = policy.reach("room", "serve", "fits", vary=cells)
    told = {c.cell: c.new.value for (c,) in found.ways}  # type: ignore[union-attr]
    assert told == dict(zip(cells, (17895697067, Fraction(6, 100), 15461882265), strict=True))


@pytest.mark.parametrize(
    ("vary", "way"),
    [
        # Today's need, 15 GiB, is above the range, of which its upper end is the nearest.
        ("job/serve/need=1GiB..5GiB/1GiB", "5 GiB"),
        ("job/serve/need=5GiB..5GiB", "5 GiB"),
        ("job/serve/need=1GiB..5.5GiB/2GiB", "5 GiB"),
        ("machine/crucible/spare=0..0.05", "0.05"),
        # Today's memory, 16 GiB, is below it; 17 GiB would do, and is not asked for.
        ("machine/crucible/memory=20GiB..64GiB/1GiB", "20 GiB"),
        ("machine/crucible/memory=12GiB..64GiB/4GiB", "20 GiB"),
    ],
)
def test_a_range_is_kept_to_wherever_the_present_figure_is(vary: str, way: str) -> None:
    found = Policy.load(SMALL / "rules", SMALL / "facts").reach(
        "room", "serve", "fits", vary=[vary]
    )
    assert [[str(c.new) for c in changes] for changes in found.ways] == [[way]]


def test_a_step_stands_behind_a_unit_that_has_a_slash() -> None:
    policy = Policy.load(SMALL / "rules", SMALL / "facts")
    found = policy.reach(
        "room", "serve", "fits", vary=["machine/bellows/link=10GB/s..40GB/s/1GB/s"]
    )
    assert [t.values for t in found.tried] == ["from 10 GB/s to 40 GB/s, by 1 GB/s"]
    found = policy.reach("room", "serve", "fits", vary=["machine/bellows/link=10GB/s..40GB/s"])
    assert [t.values for t in found.tried] == ["from 10 GB/s to 40 GB/s, by 1 B/s"]


def test_values_are_read_as_set_reads_them() -> None:
    policy = Policy.load(SMALL / "rules", SMALL / "facts")
    found = policy.reach(
        'machine(crucible, names, (0, "a"))', vary=["machine/crucible/names=['a']"]
    )
    assert len(found.ways) == 1
    with pytest.raises(PolicyError) as error:
        policy.reach('machine(crucible, names, (0, "a"))', vary=["machine/crucible/names=[a"])
    assert [f.code for f in error.value.findings] == ["yaml-syntax"]


def test_figures_that_were_not_tried_together_are_named() -> None:
    """At 0.99 spare nothing fits by 15.9 GiB of memory, nor at 16 GiB by a spare of 0.5."""
    policy = Policy.load(SMALL / "rules", SMALL / "facts")
    cells = ["machine/crucible/memory=1GiB..16GiB/1GiB", "machine/crucible/spare=0.5..1"]
    found = policy.reach("room", "serve", "fits", vary=cells)
    assert not found.ways
    assert not found.settled
    assert found.apart == (("machine/crucible/memory", "machine/crucible/spare"),)
    assert "not tried together: machine/crucible/memory, machine/crucible/spare" in reaching(
        found, "human"
    )


def test_three_long_lists_end() -> None:
    policy = Policy.load(SMALL / "rules", SMALL / "facts")
    many = ",".join(f"[n{i}]" for i in range(500))
    cells = [f"machine/{m}/names={many}" for m in ("crucible", "anvil", "bellows")]
    found = policy.reach("room", "serve", "fits", vary=cells[:1])
    assert found.settled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(goals, "MOST_CASES", 1_000)
        found = policy.reach("room", "serve", "fits", vary=cells)
    assert not found.settled
