"""The command line end to end: over the policy that comes with ullage, and over bad facts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import ullage
from ullage import Policy
from ullage.cli import main
from ullage.cli.exit_code import ExitCode
from ullage.results import StandingClass

RULES = str(Path(__file__).parent.parent / "rules")

GOOD = """\
integrated_system:
  - system: gb10
    memory_kind: lpddr5x
    capacity: 128 GiB
    source: data sheet
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where there is neither ./rules nor ./facts, so that the shipped policy is used.
    monkeypatch.chdir(tmp_path)


def test_check_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == ExitCode.FINE
    assert capsys.readouterr() == ("", "")


def test_standings_keep_to_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standings", "--format", "json"]) == ExitCode.FINE
    document = json.loads(capsys.readouterr().out)
    schema = json.loads((files("ullage") / "schemas" / "standings-1.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    standings = document["standings"]
    subjects = Counter((s["law"], json.dumps(s["subject"])) for s in standings)
    assert subjects
    assert set(subjects.values()) == {1}
    assert {"component_identity", "node_memory", "backend_catalog", "weight_offload_split"} <= {
        s["law"] for s in standings
    }


def test_every_verdict_of_the_split_is_reached_by_a_shipped_arm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["standings", "weight_offload_split", "--format", "json"]) == ExitCode.FINE
    standings = json.loads(capsys.readouterr().out)["standings"]
    assert {s["verdict"] for s in standings} == {
        "no_offload",
        "prefetch",
        "functional_call_fallback",
        "uva_zero_copy_view",
        "refused",
        "unestablished",
    }
    assert main(["standings", "--fail-on", "refused", "--fail-on", "unestablished"]) == (
        ExitCode.REFUSED
    )


def test_people_see_refusals_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standings", "weight_offload_split"]) == ExitCode.FINE
    head, *lines = capsys.readouterr().out.splitlines()
    order = ["refused", "unestablished", "established"]
    classes = [line.split()[0] for line in lines]
    assert head.startswith("weight_offload_split ")
    assert classes == sorted(classes, key=order.index)
    assert all(len(line.split()) > 2 for line in lines)


def test_an_unknown_name_is_one_with_a_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["standings", "node_memroy"]) == ExitCode.COULD_NOT_RUN
    out, err = capsys.readouterr()
    assert out == ""
    assert "`node_memroy`" in err
    assert "`node_memory`" in err


@pytest.mark.parametrize("flag", ["--rules", "--facts"])
def test_a_missing_folder_is_one(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", flag, "nowhere"]) == ExitCode.COULD_NOT_RUN
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ullage: error: ")
    assert "nowhere" in err


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    return "\n".join(lines) + "\n"


CAPACITY = "128 GiB"


@pytest.mark.parametrize(
    ("code", "line", "text"),
    [
        pytest.param("not-utf8", 3, GOOD.replace("lpddr5x", "l\xe4").encode("latin-1"), id="utf8"),
        pytest.param("yaml-syntax", None, GOOD.replace("lpddr5x", "[lpddr5x"), id="syntax"),
        pytest.param("yaml-tab", 3, GOOD.replace("    memory", "\tmemory"), id="tab"),
        pytest.param("yaml-tag", 4, GOOD.replace(CAPACITY, "!!str 1 GiB"), id="tag"),
        pytest.param("alias-expansion", None, bomb(), id="bomb"),
        pytest.param("duplicate-mapping-key", 5, GOOD.replace("source", "capacity"), id="twice"),
        pytest.param("missing-unit", 4, GOOD.replace(CAPACITY, "96"), id="bare"),
        pytest.param("unknown-unit", 4, GOOD.replace(CAPACITY, "96 gb"), id="unit"),
        pytest.param("negative-quantity", 4, GOOD.replace(CAPACITY, "-1 GiB"), id="negative"),
        pytest.param("not-a-quantity", 4, GOOD.replace(CAPACITY, "1e400 GiB"), id="exponent"),
        pytest.param("not-a-quantity", 4, GOOD.replace(CAPACITY, "NaN"), id="nan"),
        pytest.param("missing-source", None, GOOD.replace("source", "bandwidth"), id="source"),
        pytest.param(
            "derived-predicate", 1, GOOD.replace("integrated_system", "component"), id="d"
        ),
        pytest.param("unknown-table", 1, GOOD.replace("integrated", "integreated"), id="table"),
        pytest.param("unknown-column", 4, GOOD.replace("capacity", "capasity"), id="column"),
        pytest.param("duplicate-row", None, GOOD + GOOD.partition("\n")[2], id="row"),
    ],
)
def test_bad_facts_are_three(
    code: str, line: int | None, text: str | bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad").mkdir()
    Path("bad/x.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    flags = ["--rules", RULES, "--facts", "bad"]
    assert main(["check", *flags, "--format", "json"]) == ExitCode.INVALID
    findings = json.loads(capsys.readouterr().out)["findings"]
    found = next(f for f in findings if f["code"] == code)
    assert found["help"]
    assert found["positions"][0]["file"] == str(Path("bad/x.yaml"))
    if line is not None:
        assert found["positions"][0]["line"] == line
    assert main(["standings", *flags]) == ExitCode.INVALID
    out, err = capsys.readouterr()
    assert out == ""
    assert f"error[{code}]: " in err


def test_an_empty_facts_folder_is_three(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["check", "--rules", RULES, "--facts", "empty"]) == ExitCode.INVALID
    assert "error[no-facts]: " in capsys.readouterr().out


def test_good_facts_are_fine(capsys: pytest.CaptureFixture[str]) -> None:
    Path("good").mkdir()
    Path("good/x.yaml").write_text(GOOD, "utf-8")
    flags = ["--rules", RULES, "--facts", "good"]
    assert main(["check", *flags]) == ExitCode.FINE
    assert capsys.readouterr() == ("", "")
    query = ["query", "integrated_system(System, capacity, Bytes)", "--format", "concise", *flags]
    assert main(query) == ExitCode.FINE
    assert capsys.readouterr().out == 'System=gb10 Bytes="137438953472 bytes"\n'


def test_any_backend_without_its_fact_is_missed() -> None:
    """Deleting one `moe_backend` row refuses its catalog, with that arm as the reason."""
    policy = Policy.load(RULES, Path(RULES).parent / "facts")
    rows = policy.facts.rows
    whole = {**rows, "arm": (), "offload_reading": ()}
    for gone in rows["moe_backend"]:
        left = [row for row in rows["moe_backend"] if row is not gone]
        base = replace(policy.facts, rows={**whole, "moe_backend": left})
        release, oracle, backend = gone.key
        standings = Policy(policy._book, base, ()).standings(["backend_catalog"])
        refused = [s for s in standings if s.standing is StandingClass.REFUSED]
        assert [s.subject_text for s in refused] == [f"{release}/{oracle}"]
        assert [str(r) for s in refused for r in s.reasons] == [f"missing_arm({backend})"]


def test_a_dump_to_where_stdout_goes_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ullage", "standings", "backend_catalog", "--dump"]
    with (tmp_path / "out").open("w+") as out:
        print("before", file=out, flush=True)
        path = {"PYTHONPATH": str(Path(ullage.__file__).parents[1])}
        env = {**os.environ, **path}
        subprocess.run([*command, "/dev/stdout"], stdout=out, check=True, env=env)
        print("after", file=out, flush=True)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0] == "before"
    assert any(line.startswith("backend_catalog ") for line in lines)
    assert any(line.startswith("% A lowered program") for line in lines)


def plan(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    """The plans of a command by subject, each as in JSON, which must keep to its schema."""
    assert main(["plan", *words, "--format", "json"]) == ExitCode.FINE
    document = json.loads(capsys.readouterr().out)
    schema = json.loads((files("ullage") / "schemas" / "plan-1.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    found = {}
    for p in document["plans"]:
        parts = [v["value"] if isinstance(v, dict) else v for v in p["subject"].values()]
        found["/".join(parts)] = p
    return found


def figures(plan: dict[str, Any], *names: str) -> list[str]:
    return [plan["values"][name]["value"] for name in names]


# The worked figures of the laws, sections 6, 8, 9 and 10.
IQ2 = "glm-5.2-ud-iq2-xxs"
TIERS = {
    "32GiB": ["25769803776", "9", "10"],
    "48GiB": ["41231686041.6", "6", "6"],
    "64GiB": ["54975581388.8", "4", "5"],
    "96GiB": ["82463372083.2", "3", "3"],
    "128GiB": ["109951162777.6", "2", "3"],
}


def test_the_worked_topologies(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(capsys, "topology", "--artifact", IQ2)
    assert {
        subject.removeprefix(f"{IQ2}/"): figures(
            p, "placement_budget", "arithmetic_minimum_nodes", "recommended_nodes"
        )
        for subject, p in found.items()
    } == TIERS
    for p in found.values():
        assert figures(p, "weights", "total_placement") == ["211075856448", "212031764544"]
        assert p["values"]["is_arithmetic_minimum_topology"] is (
            p["values"]["arithmetic_minimum_nodes"] == p["values"]["recommended_nodes"]
        )
        assert [r["reason"] for r in p["judged"]["reasons"]] == ["no_measured_placement"]


@pytest.mark.parametrize(
    ("words", "kv"),
    [
        ([], "955908096"),
        (["--indexer-layout", "optimized"], "828899328"),
        (["--indexer-layout", "none"], "782106624"),
    ],
)
def test_the_worked_caches(words: list[str], kv: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(capsys, "topology", "--artifact", IQ2, "--tier", "64GiB", *words)
    assert figures(found[f"{IQ2}/64GiB"], "kv") == [kv]


# Bytes a token at two bytes a value, and what is fixed, as the makers' figures have them.
PER_TOKEN = {
    "deepseek-v3": ("70272", "70272"),
    "deepseek-v3.2": ("85888", "85888"),
    "glm-4.5-air": ("188416", "188416"),
    "glm-5": ("109824", "109824"),
    "glm-5.1": ("109824", "109824"),
    "glm-5.2": ("95232", "109824"),
    "glm-5.3": ("95232", "109824"),
    "gpt-oss-120b": ("36864", "36864"),
    "llama-3.3-70b": ("327680", "327680"),
    "qwen3-235b-a22b": ("192512", "192512"),
}


def test_bytes_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    for layout, place in (("optimized", 0), ("conservative", 1)):
        found = plan(capsys, "kv", "--kv-dtype", "F16", "--indexer-layout", layout)
        assert {s: figures(p, "kv_bytes_per_token") for s, p in found.items()} == {
            name: [both[place]] for name, both in PER_TOKEN.items()
        }
        assert figures(found["gpt-oss-120b"], "kv_bytes_per_sequence") == ["4718592"]
    uniform = plan(capsys, "kv", "--kv-dtype", "F16", "--window-layout", "uniform")
    assert figures(uniform["gpt-oss-120b"], "kv_bytes_per_token") == ["73728"]


def test_the_worked_routes(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(capsys, "route")
    assert found["two-128"]["judged"]["verdict"] == "admissible"
    assert figures(found["two-128"], "headroom") == ["7870561011.2"]
    refused = found["large-and-small"]["judged"]
    assert [r["reason"] for r in refused["reasons"]] == ["single_node_admits_target"]


def test_the_worked_seam(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(capsys, "seam", "--artifact", IQ2, "--nodes", "3")
    for subject in (f"{IQ2}/3", "three-128"):
        assert figures(
            found[subject],
            "bytes_per_token_per_seam",
            "decode_serialization",
            "decode_bandwidth_share",
            "decode_latency",
            "prefill_serialization",
            "dsa_sideband_bytes_per_query",
        ) == ["12288", "0.0786432", "0.0786432", "1", "1288.4901888", "8192"]


def test_a_flat_reserve_flips_what_fits_on_paper_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two boxes of 121.69 GiB: the fraction stands in for the scratch that such a run dies of."""
    flat = ["--reserve-fraction", "0", "--reserve-floor", "12 GiB"]
    verdicts = [
        {
            name: plan(capsys, "route", *words)[name]["judged"]["verdict"]
            for name in ("twinspark", "two-strix-iq2", "two-strix-q2k")
        }
        for words in ([], flat)
    ]
    assert verdicts == [
        {"twinspark": "refused", "two-strix-iq2": "admissible", "two-strix-q2k": "refused"},
        {"twinspark": "admissible", "two-strix-iq2": "admissible", "two-strix-q2k": "refused"},
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--context", "0"], "below-minimum"),
        (["--context", "-5"], "below-minimum"),
        (["--context", "1.5"], "not-a-count"),
        (["--context", "200000000"], "above-maximum"),
        (["--context", "1" + "0" * 30], "count-out-of-range"),
        (["--concurrency", "0"], "below-minimum"),
        (["--kv-dtype", "Q9_9"], "dangling-reference"),
        (["--imbalance", "0.99"], "below-minimum"),
        (["--link-rate", "0 Gbit/s"], "below-minimum"),
        (["--link-rate", "2.5"], "missing-unit"),
        (["--latency", "-1ms"], "negative-quantity"),
        (["--nodes", "0"], "below-minimum"),
        (["--tier", "80"], "missing-unit"),
        (["--reserve-fraction", "101%"], "above-maximum"),
    ],
)
def test_a_bad_what_if_is_three(
    words: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words, "--format", "json"]) == ExitCode.INVALID
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["code"] == code
    assert finding["help"]
    if code == "dangling-reference":
        assert all(f"`{known}`" in finding["help"] for known in ("F16", "Q8_0", "fp8"))


def test_the_largest_figures_stay_in_range(capsys: pytest.CaptureFixture[str]) -> None:
    """The bounds of the policy's columns are such that no model of the catalog overflows."""
    most = ["--context", "100000000", "--concurrency", "1000000", "--kv-dtype", "F32"]
    found = plan(capsys, "kv", *most)
    # 80 layers of 2 * 8 * 128 values of 4 bytes, for 10^14 tokens.
    assert figures(found["llama-3.3-70b"], "kv") == [str(80 * 2048 * 4 * 10**14)]
    assert plan(capsys, "topology", *most, "--imbalance", "100")
    assert plan(capsys, "topology", "--tier", "8589934593 B")


def test_an_offload_on_one_pool_wins_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    tiers = plan(capsys, "arm_tier")
    for arm in ("worked-gb10-gpt-oss", "worked-gb10-llama-70b"):
        still, moved = (figures(tiers[f"{a}/one_pool"], "used") for a in (arm, f"{arm}-uva"))
        assert still == moved
    arms = plan(capsys, "arm")
    assert figures(arms["worked-gb10-llama-70b"], "host_bytes") == ["0"]
    assert int(figures(arms["worked-gb10-llama-70b-uva"], "host_bytes")[0]) > 0


def test_a_superchip_moves_the_same_across_its_link(capsys: pytest.CaptureFixture[str]) -> None:
    arms, tiers = plan(capsys, "arm"), plan(capsys, "arm_tier")
    moved = arms["worked-gh200-llama-70b"]
    assert figures(moved, "link_per_direction") == ["450000000000"]
    assert moved["judged"]["values"]["link_per_direction"]["display"] == "450 GB/s"
    (host,) = figures(moved, "host_bytes")
    (device,) = figures(tiers["worked-gh200-llama-70b/direct"], "weights")
    assert figures(tiers["worked-gh200-llama-70b/coherent_link"], "used") == [host]
    assert int(host) + int(device) == 141107412992
    none = tiers["worked-gh200-llama-70b-none/direct"]
    assert figures(none, "weights") == ["141107412992"]


# The bytes of each model's parameters, as its makers' figures have them: main, and with the block
# for speculation.
WEIGHTS = {
    "glm-5.2-fp8": (745584430656, 755617062592),
    "deepseek-v3-fp8": (673150552416, 688574778944),
    "qwen3-235b-a22b-fp8": (236445455360, 236445455360),
    "gpt-oss-120b": (65248815744, 65248815744),
    "llama-3.3-70b-bf16": (141107412992, 141107412992),
}


def test_parameters_add_up_to_the_figures_of_their_models() -> None:
    facts = Policy.load(RULES, Path(RULES).parent / "facts").facts
    depth: dict[Any, Any] = {
        r.key[0]: r.cells["num_hidden_layers"].value for r in facts.rows["architecture"]
    }
    shape: dict[Any, Any] = {
        r.key[0]: r.cells["architecture"].value for r in facts.rows["artifact"]
    }
    base: Counter[Any] = Counter()
    whole: Counter[Any] = Counter()
    for row in facts.rows["parameter"]:
        artifact, layer, _ = row.key
        size: Any = row.cells["bytes"].value
        whole[artifact] += size
        if layer < depth[shape[artifact]]:
            base[artifact] += size
    for row in facts.rows["outer_parameter"]:
        size = row.cells["bytes"].value
        base[row.key[0]] += size
        whole[row.key[0]] += size
    assert {a: (base[a], whole[a]) for a in whole} == WEIGHTS


def test_every_verdict_of_the_fit_is_reached(capsys: pytest.CaptureFixture[str]) -> None:
    laws = {
        "arm_memory_fit": {"fits", "refused", "unestablished"},
        "checkpoint_tier_split": {"established", "refused", "unestablished"},
        "offload_effective": {"no_offload", "effective", "ignored", "unestablished"},
        "prefetch_sound": {"no_prefetch", "sound", "refused", "unestablished"},
        # `parted` needs a backend whose scales are per tensor, which no row of the catalog tells.
        "uva_residency": {"host", "device", "unknown"},
    }
    assert main(["standings", *laws, "--format", "json"]) == ExitCode.FINE
    found: dict[str, set[str]] = {}
    for s in json.loads(capsys.readouterr().out)["standings"]:
        found.setdefault(s["law"], set()).add(s["verdict"])
    assert found == laws
