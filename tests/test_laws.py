"""The laws, by their tests as data and against an independent reading of what they say."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage import Policy, Standing
from ullage.lawtests import SOURCE, LawCase, edited_rows, load_cases, run_case
from ullage.lawtests.batch import Batch
from ullage.rules.declared import LawDecl
from ullage.testreport import CaseResult, Outcome, messages

ROOT = Path(__file__).parent.parent
RULES = ROOT / "rules"
POLICY = Policy.load(rules=[RULES], rows={})
FILES = sorted((ROOT / "tests" / "laws").glob("*.yaml"))
LOADED = {path.stem: load_cases(path) for path in FILES}
BESIDE = {"seam", "tier_memory"}
"""No laws, and they have a file of cases: a plan that none judges, and the memories of a host."""

CASES = [(stem, case) for stem, loaded in LOADED.items() for case in loaded.cases]

Row = dict[str, str]
Rows = dict[str, list[Row]]

FEW = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
"""Each example is a policy of many subjects, so that a few make hundreds."""


def laws() -> Mapping[str, LawDecl]:
    """The declared laws of the shipped rules."""
    return POLICY._book.laws


def standings(rows: Mapping[str, list[Row]], law: str) -> dict[str, Standing]:
    """The standings of one law by subject, of rows that must be sound."""
    sourced = {t: [{"source": SOURCE, **row} for row in of] for t, of in rows.items()}
    policy = POLICY.over(sourced)
    assert not policy.check()
    found = policy.standings([law])
    by_subject = {s.subject_text: s for s in found}
    assert len(by_subject) == len(found), "a subject has two standings"
    return by_subject


@cache
def judged() -> dict[int, CaseResult]:
    """What became of each case, all of them judged together."""
    results = Batch(POLICY).judge([case for _, case in CASES])
    return {id(case): result for (_, case), result in zip(CASES, results, strict=True)}


@pytest.mark.parametrize(
    ("stem", "case"), CASES, ids=[f"{stem}: {case.name}" for stem, case in CASES]
)
def test_case(stem: str, case: LawCase) -> None:
    result = judged()[id(case)]
    assert messages(result) == []
    assert result.outcome is Outcome.PASS


def test_every_law_has_a_file_of_sound_cases() -> None:
    assert set(laws()) <= set(LOADED) <= {*laws(), *BESIDE}
    for loaded in LOADED.values():
        assert not loaded.findings
        assert loaded.cases


@pytest.mark.parametrize("law", sorted(laws()))
def test_every_verdict_reason_and_obligation_is_shown_and_shown_gone(law: str) -> None:
    declared = laws()[law]
    expected = [e for _, case in CASES for e in case.expect if e.law == law]
    assert {e.verdict for e in expected} >= set(declared.verdicts)
    for what, terms in (("reasons", declared.reasons), ("obligations", declared.obligations)):
        wholes = [w for e in expected if (w := getattr(e, what)) is not None]
        for name in terms:
            shown = [w for w in wholes if any(t.split("(")[0] == name for t in w)]
            assert shown, f"no case shows {name}"
            assert len(shown) < len(wholes), f"no case shows {name} gone"


def test_case_files_that_say_nothing_are_findings(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    for text, code, position in (
        ("", "no-law-tests", (1, 1)),
        ("law: node_memory\n", "no-law-tests", (1, 1)),
        ("cases: []\n", "no-law-tests", (1, 1)),
        ("cases:\n  - name: a\n", "bad-law-test", (2, 5)),
        ("cases:\n  - expect: []\n", "bad-law-test", (2, 5)),
        ("cases:\n  - {name: a, expext: []}\n", "bad-law-test", (2, 15)),
        ("cases:\n  - {name: a, expect: [{verdict: x}]}\n", "bad-law-test", (2, 24)),
        ("cases: {}\n", "not-a-list", (1, 8)),
        ("cases:\n\t- a\n", "yaml-tab", (2, 1)),
    ):
        path.write_text(text)
        loaded = load_cases(path)
        at = [(p.line, p.column) for f in loaded.findings if f.code == code for p in f.positions]
        assert position in at, (text, loaded.findings)


def test_two_cases_of_one_name_are_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    case = "  - {name: a, findings: [no-facts]}\n"
    path.write_text("cases:\n" + case + case)
    assert [f.code for f in load_cases(path).findings] == ["bad-law-test"]


def test_an_edit_of_no_row_is_a_mismatch() -> None:
    case = LawCase(
        "a",
        LOADED["node_memory"].cases[0].position,
        {"host": ({"host": "box"},)},
        remove=("host/none",),
        set=(("host/nil/unified", "true"),),
    )
    _, left = edited_rows(case, {"host": ("host",)})
    assert [edit.without_row for edit in left] == [
        "remove: no given row is `host/none`",
        "set: no given row is `host/nil`",
    ]


def test_a_wrong_expectation_is_told_cell_by_cell(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(
        "law: node_memory\n"
        "cases:\n"
        "  - name: a\n"
        "    given:\n"
        "      host: [{host: box, physical_usable: 128 GiB}]\n"
        "      reserve_policy: [{policy: p, fraction: 20%, floor: 8 GiB}]\n"
        "    expect:\n"
        "      - subject: {host: box}\n"
        "        verdict: refused\n"
        "        reasons: [no_usable_memory]\n"
        "        values: {reserve: 8 GiB, placement_budget: null}\n"
        "      - {subject: {host: other}, verdict: established}\n"
        "    absent:\n"
        "      - {subject: {host: box}}\n"
    )
    (case,) = load_cases(path).cases
    assert run_case(case, POLICY) == [
        "node_memory of box: verdict: expected `refused`, found `established`",
        "node_memory of box: reasons: missing `no_usable_memory`",
        "node_memory of box: value `reserve`: expected 8 GiB, found 27487790694.4 bytes",
        "node_memory of box: value `placement_budget`: expected none, found 109951162777.6 bytes",
        "node_memory of other: expected a standing, found none (subjects: box)",
        "node_memory of box: expected no standing, found `established`",
    ]


# -- components across two revisions


SUPERCHIP: Row = {
    "system": "chip",
    "gpu_memory_kind": "hbm3",
    "gpu_memory_capacity": "96 GiB",
    "cpu_memory_kind": "lpddr5x",
    "cpu_memory_capacity": "480 GB",
    "link": "nvlink_c2c",
    "link_per_direction": "450 GB/s",
    "source": SOURCE,
}
FACT = "component_fact(System, Reach, Capacity, Kind, Addressability)"


def components(row: Row) -> set[tuple[object, ...]]:
    policy = POLICY.over({"coherent_superchip": [row]})
    return {tuple(map(str, binding)) for binding in policy.query(FACT).rows}


def test_a_row_edited_to_another_rate_is_another_component() -> None:
    before = components(SUPERCHIP)
    after = components({**SUPERCHIP, "link_per_direction": "900 GB/s"})
    assert {fact[1] for fact in before - after} == {"coherent_link"}
    assert {fact[1] for fact in after - before} == {"coherent_link"}
    assert {fact[1] for fact in before & after} == {"direct"}


def test_a_row_edited_to_other_gpu_memory_is_another_component() -> None:
    before = components(SUPERCHIP)
    after = components({**SUPERCHIP, "gpu_memory_capacity": "144 GiB"})
    assert {fact[1] for fact in before - after} == {"direct"}
    assert {fact[1] for fact in before & after} == {"coherent_link"}


def test_a_row_in_other_units_is_the_same_component() -> None:
    assert components(SUPERCHIP) == components(
        {**SUPERCHIP, "gpu_memory_capacity": "98304 MiB", "link_per_direction": "0.45 TB/s"}
    )


def test_two_rates_in_one_revision_are_aliased(tmp_path: Path) -> None:
    """A policy's own table of rates: the shipped tables never tell one rate twice."""
    rules = tmp_path / "rules"
    shutil.copytree(RULES, rules)
    (rules / "tables" / "measured.yaml").write_text(
        "tables:\n"
        "  measured_superchip:\n"
        "    doc: A rate that was measured.\n"
        "    key: {system: system}\n"
        "    columns:\n"
        "      rate: {sort: bytes_per_second, required: true, doc: Measured.}\n"
    )
    law = rules / "component.lp"
    text = law.read_text()
    text = text.replace("coherent_superchip/3,", "coherent_superchip/3, measured_superchip/3,", 1)
    text += (
        '\n%!trace_rule {"% was measured at %", System, Rate}.\n'
        "component_claim(\n"
        "    System, coherent_link, coherent_superchip, Capacity, Kind,\n"
        "    across_coherent_link(Rate)\n"
        ") :-\n"
        "    measured_superchip(System, rate, Rate),\n"
        "    coherent_superchip(System, cpu_memory_capacity, Capacity),\n"
        "    coherent_superchip(System, cpu_memory_kind, Kind).\n"
    )
    law.write_text(text)
    for rate, verdict, reasons in (
        ("450 GB/s", "established", []),
        ("450.000000001 GB/s", "aliased", ["differs(addressability)"]),
    ):
        rows = {
            "coherent_superchip": [SUPERCHIP],
            "measured_superchip": [{"system": "chip", "rate": rate}],
        }
        policy = Policy.load(rules=[rules], rows=rows)
        assert not policy.check()
        (found,) = policy.standings(["component_identity"], "chip/coherent_link")
        assert (found.verdict, [str(r) for r in found.reasons]) == (verdict, reasons)


# -- weight_offload_split against a reading of its table in plain Python


RELAYOUT = {"TRITON": "in_place", "MARLIN": "allocates", "HUMMING": "unknown", "BARE": None}


def split_by_the_table(arm: Row, reading: Row) -> tuple[str, set[str], set[str], int | None]:
    """Verdict, reasons, obligations and device copies, row by row of the law's table."""
    if arm["offload"] == "none":
        return "no_offload", set(), set(), None
    if arm["offload"] == "prefetch":
        step = arm.get("prefetch_step")
        if step is None:
            return "unestablished", set(), {"prefetch_step"}, None
        if int(step) == 0:
            return "refused", {"prefetch_step_zero"}, set(), None
        return "prefetch", set(), set(), int(step)
    needed = ["uva_available", "uva_disabled"]
    backend = None
    open_ = set()
    if "moe_oracle" in arm:
        needed.append("moe_backend")
        backend = reading.get("moe_backend")
    elif "moe_backend" in reading:
        # Not in the table: a launch that chose a backend is of no dense model.
        open_.add("moe_oracle")
    if backend is not None and backend not in RELAYOUT:
        return "refused", {f"unknown_backend({backend})"}, set(), None
    open_ |= {f"read({name})" for name in needed if name not in reading}
    if backend is not None and RELAYOUT[backend] in (None, "unknown"):
        open_.add(f"relayout_fact({backend})")
    if open_:
        return "unestablished", set(), open_, None
    if backend is not None and RELAYOUT[backend] == "allocates":
        return "refused", {f"relayout_backend({backend})"}, set(), None
    if reading["uva_available"] == "false" or reading["uva_disabled"] == "true":
        return "functional_call_fallback", set(), set(), 1
    return "uva_zero_copy_view", set(), set(), 0


def optional(**columns: st.SearchStrategy[str]) -> st.SearchStrategy[Row]:
    """Rows in which each column may be absent."""
    return st.fixed_dictionaries({}, optional=dict(columns))


BOOLS = st.sampled_from(["true", "false"])
ARMS = st.builds(
    lambda offload, rest: {"offload": offload, **rest},
    st.sampled_from(["none", "uva", "uva", "uva", "prefetch"]),
    optional(moe_oracle=st.just("fp8"), prefetch_step=st.sampled_from(["0", "1", "2", "7"])),
)
READINGS = optional(
    uva_available=BOOLS,
    uva_disabled=BOOLS,
    moe_backend=st.sampled_from([*RELAYOUT, "NONSUCH"]),
)


@FEW
@given(st.lists(st.tuples(ARMS, READINGS, st.booleans()), min_size=1, max_size=80))
def test_split_is_the_table_of_the_law(drawn: list[tuple[Row, Row, bool]]) -> None:
    rows: Rows = {
        "host": [{"host": "box"}],
        "engine_release": [{"release": "r", "engine": "e", "version": "1"}],
        "architecture": [{"architecture": "s", "num_hidden_layers": "1", "hidden_size": "1"}],
        "artifact": [{"artifact": "w", "architecture": "s", "total_bytes": "1 B"}],
        "moe_backend_arm": [{"release": "r", "oracle": "fp8", "backend": b} for b in RELAYOUT],
        "moe_backend": [
            {"release": "r", "oracle": "fp8", "backend": b, "relayout": relayout}
            for b, relayout in RELAYOUT.items()
            if relayout is not None
        ],
        "arm": [],
        "offload_reading": [],
    }
    expected = {}
    for number, (arm, reading, told) in enumerate(drawn):
        name = f"arm{number}"
        rows["arm"].append({"arm": name, "host": "box", "release": "r", "artifact": "w", **arm})
        if told:
            rows["offload_reading"].append({"arm": name, **reading})
        expected[name] = split_by_the_table(arm, reading if told else {})
    found = standings(rows, "weight_offload_split")
    assert set(found) == set(expected)
    for name, standing in found.items():
        copies = standing.value_map.get("device_copies")
        assert (
            standing.verdict,
            {str(r) for r in standing.reasons},
            {str(o) for o in standing.obligations},
            None if copies is None else copies.value,
        ) == expected[name]


# -- node_memory against a reading of its section in plain Python


GIB = 2**30
CATALOG: dict[str, dict[str, Fraction]] = {
    "pool": {"one_pool": Fraction(128 * GIB)},
    "chip": {"direct": Fraction(2 * 96 * GIB), "coherent_link": Fraction(2 * 480 * GIB)},
    "cards": {"direct": Fraction(4 * 32 * GIB)},
    "told": {"direct": Fraction(4 * 32 * GIB), "host_link": Fraction(4 * 256 * GIB)},
}
CATALOG_ROWS: Rows = {
    "integrated_system": [{"system": "pool", "memory_kind": "m", "capacity": "128 GiB"}],
    "coherent_superchip": [
        {
            "system": "chip",
            "gpu_memory_kind": "m",
            "gpu_memory_capacity": "96 GiB",
            "cpu_memory_kind": "n",
            "cpu_memory_capacity": "480 GiB",
            "link": "nvlink_c2c",
            "link_per_direction": "450 GB/s",
            "gpus": "2",
        }
    ],
    "discrete_system": [
        {"system": "cards", "gpu_memory_kind": "m", "gpu_memory_capacity": "32 GiB", "gpus": "4"},
        {
            "system": "told",
            "gpu_memory_kind": "m",
            "gpu_memory_capacity": "32 GiB",
            "gpus": "4",
            "host_memory_kind": "n",
            "host_memory_capacity": "256 GiB",
            "host_link_per_direction": "64 GB/s",
        },
    ],
}

Policies = list[tuple[Fraction, Fraction]]
Memory = tuple[str, set[str], set[str], dict[str, Fraction]]


def memory_by_the_section(host: Row, readings: Mapping[str, str], policies: Policies) -> Memory:
    """Verdict, reasons, obligations and values of a host."""

    def figure(column: str) -> Fraction | None:
        return Fraction(host[column].removesuffix(" B")) if column in host else None

    read = {reach: Fraction(text.removesuffix(" B")) for reach, text in readings.items()}
    usable, ram, gpu = figure("physical_usable"), figure("system_ram"), figure("gpu_memory")
    system, says = host.get("system"), host.get("unified")
    catalog = CATALOG.get(system or "", {})
    integrated = "one_pool" in catalog
    claims_pool = says == "true" or read.get("one_pool", 0) > 0
    unified = integrated or claims_pool
    reasons = set()

    if unified and ((gpu or 0) > 0 or any(v > 0 for r, v in read.items() if r != "one_pool")):
        reasons.add("double_counted_pool")
    strange = {
        r
        for r, v in read.items()
        if v > 0 and r not in catalog and not (r == "host_link" and system in ("cards", "told"))
    }
    if integrated and says == "false":
        reasons.add(f"contradicts_catalog({system})")
    if system is not None and not integrated and (claims_pool or strange):
        reasons.add(f"contradicts_catalog({system})")
    cpu_side = next((r for r in catalog if r != "direct"), None)
    spoken = [*read.items(), ("direct", gpu), (cpu_side, ram)]
    if unified:
        spoken.append(("one_pool", usable))
    for reach, value in spoken:
        if value is not None and reach in catalog and value > catalog[reach]:
            reasons.add(f"exceeds_catalog({reach})")

    unread = {r for r in (*catalog, *(["one_pool"] if unified else [])) if r not in read}
    # A sum over the CPU's or the GPU's side alone would take the other for nothing.
    beside = {*read, *catalog} - {"direct", "one_pool"}
    if "direct" in read and not beside and not unified:
        unread.add("host_link")
    if {"host_link", "coherent_link"} & set(read) and "direct" not in read:
        unread.add("direct")
    total = usable
    if total is None and ram is not None and (unified or gpu is not None):
        total = ram if unified else ram + (gpu or 0)
    if total is None and read and not unread:
        total = sum(read.values(), Fraction(0))
    if ram == 0 or total == 0:
        reasons.add("no_usable_memory")
    if reasons:
        return "refused", reasons, set(), {}
    if total is None:
        if ram is not None:
            return "unestablished", set(), {"gpu_memory"}, {}
        if gpu is not None:
            return "unestablished", set(), {"system_ram"}, {}
        if read:
            return "unestablished", set(), {f"host_memory({r})" for r in unread}, {}
        return "unestablished", set(), {"physical_usable"}, {}
    if not policies:
        return "unestablished", set(), {"reserve_policy"}, {"physical_usable": total}
    reserve = max(max(fraction * total, floor) for fraction, floor in policies)
    values = {"physical_usable": total, "reserve": reserve}
    if total - reserve <= 0:
        return "refused", {"no_placement_budget"}, set(), values
    return "established", set(), set(), {**values, "placement_budget": total - reserve}


AMOUNTS = st.one_of(
    st.sampled_from([0, 1, 8 * GIB, 32 * GIB, 128 * GIB, 128 * GIB + 1, 192 * GIB, 1024 * GIB]),
    st.integers(0, 600 * GIB),
    st.integers(1, 10**15),
).map(lambda amount: f"{amount} B")
HOSTS = optional(
    system=st.sampled_from(sorted(CATALOG)),
    physical_usable=AMOUNTS,
    system_ram=AMOUNTS,
    gpu_memory=st.one_of(st.just("0 B"), AMOUNTS),
    unified=BOOLS,
)
MEMORIES: st.SearchStrategy[Row] = st.one_of(
    st.just({}),
    optional(one_pool=AMOUNTS),
    optional(direct=AMOUNTS, coherent_link=AMOUNTS),
    optional(direct=AMOUNTS, host_link=AMOUNTS),
    optional(one_pool=AMOUNTS, direct=AMOUNTS, coherent_link=AMOUNTS, host_link=AMOUNTS),
)
POLICIES = st.lists(
    st.tuples(
        st.integers(0, 1000).map(lambda n: Fraction(n, 1000)),
        st.integers(0, 64 * GIB).map(Fraction),
    ),
    max_size=3,
)


@FEW
@given(st.lists(st.tuples(HOSTS, MEMORIES), min_size=1, max_size=60), POLICIES)
def test_memory_is_the_section_of_the_law(drawn: list[tuple[Row, Row]], policies: Policies) -> None:
    rows: Rows = {
        **CATALOG_ROWS,
        "host": [],
        "host_memory": [],
        "reserve_policy": [
            {"policy": f"p{n}", "fraction": f"{fraction}", "floor": f"{floor} B"}
            for n, (fraction, floor) in enumerate(policies)
        ],
    }
    expected = {}
    for number, (host, readings) in enumerate(drawn):
        name = f"host{number}"
        rows["host"].append({"host": name, **host})
        rows["host_memory"] += [
            {"host": name, "reach": reach, "usable": usable} for reach, usable in readings.items()
        ]
        expected[name] = memory_by_the_section(host, readings, policies)
    found = standings(rows, "node_memory")
    assert set(found) == set(expected)
    for name, standing in found.items():
        assert (
            standing.verdict,
            {str(r) for r in standing.reasons},
            {str(o) for o in standing.obligations},
            {value: quantity.value for value, quantity in standing.values},
        ) == expected[name], (rows["host"], rows["host_memory"])
