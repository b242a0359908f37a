"""The contenders over routes, each in a process of its own, which prints JSON.

``route_contenders.py NAME N NODES FOLDER on|off`` decides N routes of so many nodes; ``FOLDER``
holds the facts as YAML, and the last word says whether the garbage collector runs. All begin with
the same rows, whose making is not timed, and answer with the same counts and exact sums.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from clock import Clock, report
from harness import Answer
from route_cases import Row, Rows, rows

RULES = Path(__file__).parents[1] / "rules"
WORKLOAD = ("context_tokens", "concurrency", "kv_dtype", "indexer_layout", "window_layout")


def _answer(
    admissible: int, reasons: int, headrooms: Iterable[Fraction], prefill: Iterable[Fraction]
) -> Answer:
    return {
        "admissible": admissible,
        "reasons": reasons,
        "headroom": str(sum(headrooms, Fraction(0))),
        "prefill": str(sum(prefill, Fraction(0))),
    }


def python(given: Rows, folder: Path, clock: Clock) -> Answer:
    """Plain Python: fifths of bytes, so that the reserve is whole; fractions of milliseconds."""
    with clock.run(), clock.phase("solve"):
        routes = decided(given)
        return _answer(
            sum(r.verdict == "admissible" for r in routes),
            sum(len(r.reasons) for r in routes),
            (r.values["headroom"] for r in routes if "headroom" in r.values),
            (r.seam["prefill_serialization"] for r in routes),
        )


class _Host(NamedTuple):
    """Usable bytes, and fifths of them that are kept and left; None where they are unknown."""

    usable: int | None = None
    reserve: int | None = None
    budget: int | None = None
    refused: bool = False


class _Route(NamedTuple):
    """All that is concluded of a route: what the plans `route`, `route_node` and `seam` show."""

    route: str
    verdict: str
    reasons: list[tuple[Any, ...]]
    obligations: list[tuple[Any, ...]]
    values: Row
    nodes: dict[str, Row]
    seam: Row


def decided(given: Rows) -> list[_Route]:
    """The routes of the rows."""
    reserves = [(row["fraction"], row["floor"]) for row in given["reserve_policy"]]
    hosts = {row["host"]: _host(row, reserves) for row in given["host"]}
    nodes: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for row in given["route_node"]:
        nodes[row["route"]].append((row["host"], row["position"]))
    policy = given["route_policy"][0]
    shapes = {row["architecture"]: row for row in given["architecture"]}
    artifacts = {row["artifact"]: row for row in given["artifact"]}
    kv = _caches(given)
    found = []
    for row in given["route"]:
        artifact = artifacts[row["artifact"]]
        asked = {**policy, **row}
        at = {host: (hosts[host], place) for host, place in nodes[row["route"]]}
        weights, cache = artifact["total_bytes"], kv(artifact["architecture"], asked)
        seam = _seam(asked, shapes[artifact["architecture"]], len(at) - 1)
        found.append(_route(asked, at, weights, cache, seam))
    return found


def _host(row: Row, reserves: Sequence[tuple[Fraction, int]]) -> _Host:
    whole, ram, gpu = (row.get(c) for c in ("physical_usable", "system_ram", "gpu_memory"))
    unified = row.get("unified", False)
    if whole is not None:
        usable = whole
    elif unified or ram is None:
        usable = ram
    else:
        usable = None if gpu is None else ram + gpu
    if (unified and gpu) or 0 in (ram, usable):
        return _Host(refused=True)
    if usable is None:
        return _Host()
    reserve = max(
        max(5 * usable * part.numerator // part.denominator, 5 * floor) for part, floor in reserves
    )
    budget = 5 * usable - reserve
    return _Host(usable, reserve, budget) if budget > 0 else _Host(usable, reserve, None, True)


def _route(
    asked: Row, at: dict[str, tuple[_Host, int]], weights: int, cache: int, seam: Row
) -> _Route:
    need = 5 * (weights + cache)
    values: Row = {
        "artifact": asked["artifact"],
        "node_count": len(at),
        "weights": weights,
        "kv": cache,
        "required_placement": Fraction(need, 5),
        **{column: asked[column] for column in ("imbalance_factor", *WORKLOAD)},
    }
    reasons: list[tuple[Any, ...]] = []
    if len(at) < asked["min_nodes"]:
        reasons.append(("too_few_nodes",))
    reasons += [("host_refused", name) for name, (host, _) in at.items() if host.refused]
    places = [place for _, place in at.values()]
    if len(set(places)) < len(places):
        reasons += [("position_taken_twice", p) for p in set(places) if places.count(p) > 1]
    unread = [n for n, (host, _) in at.items() if host.budget is None and not host.refused]
    budgets = [host.budget for host, _ in at.values() if host.budget is not None]
    if budgets and len(budgets) == len(at):
        usable = sum(host.usable or 0 for host, _ in at.values())
        budget = sum(budgets)
        against = {
            "aggregate_budget_short": budget < need,
            "single_node_admits_target": max(budgets) >= need,
            "below_hard_fit_floor": usable < asked["hard_fit_floor"],
        }
        reasons += [(name,) for name, holds in against.items() if holds]
        values |= {
            "aggregate_usable": usable,
            "aggregate_placement_budget": Fraction(budget, 5),
            "headroom": Fraction(budget - need, 5),
            "headroom_at_imbalance": (budget - asked["imbalance_factor"] * need) / 5,
            **against,
        }
    nodes: dict[str, Row] = {
        name: {
            "position": place,
            "physical_usable": host.usable,
            "reserve": None if host.reserve is None else Fraction(host.reserve, 5),
            "placement_budget": None if host.budget is None else Fraction(host.budget, 5),
        }
        for name, (host, place) in at.items()
    }
    verdict = "refused" if reasons else "unestablished" if unread else "admissible"
    obligations = [("node_memory", name) for name in unread]
    return _Route(asked["route"], verdict, reasons, obligations, values, nodes, seam)


def _caches(given: Rows) -> Callable[[str, Row], int]:
    """The bytes of an architecture's caches by what is asked, each figured once."""
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in given["kv_component"]:
        parts[row["architecture"]].append(row)
    wide = {row["dtype"]: row["bytes_per_value"] for row in given["kv_dtype"]}
    known: dict[tuple[object, ...], int] = {}

    def kv(architecture: str, asked: Row) -> int:
        context, concurrency, dtype, indexer, window = workload = [asked[c] for c in WORKLOAD]
        key = (architecture, *workload)
        if key not in known:
            values = 0
            for row in parts[architecture]:
                layers, tokens = row["layers"], context
                if row["kind"] == "indexer" and indexer != "optimized":
                    layers = row["conservative_layers"] if indexer == "conservative" else 0
                if row["kind"] == "window" and window == "windowed":
                    tokens = min(context, row["window_tokens"])
                values += layers * row["values_per_token"] * tokens
            known[key] = int(values * concurrency * wide[dtype])
        return known[key]

    return kv


def _seam(asked: Row, shape: Row, seams: int) -> Row:
    token = 2 * shape["hidden_size"]
    rate = asked["link_rate"]
    decode = Fraction(8000 * token * seams, rate)
    found = {
        "artifact": asked["artifact"],
        "nodes": seams + 1,
        "seams": seams,
        "link_rate": rate,
        "per_hop_latency": asked["per_hop_latency"],
        "bytes_per_token_per_seam": token,
        "decode_serialization": decode,
        "decode_bandwidth_share": decode,
        "decode_latency": asked["per_hop_latency"] * seams,
        "prefill_bytes": token * asked["context_tokens"],
        "prefill_serialization": decode * asked["context_tokens"],
        "meets_minimum_link": rate >= asked["min_link_rate"],
        "is_recommended_link": rate >= asked["recommended_link_rate"],
    }
    if "index_topk" in shape:
        found["dsa_sideband_bytes_per_query"] = 4 * shape["index_topk"]
    return found


BASE = 10**7
"""Of a limb: clingo's integers have 32 bits, and limbs of 200 nodes are to add up within them."""

HAND = """
% What is asked: the route's own word, else the policy's.
ask(R,C,V) :- own(R,C,V).
ask(R,C,V) :- route(R,_), policy(C,V), not own(R,C,_).
asks(R,w(T,N,D,I)) :-
    ask(R,context_tokens,T), ask(R,concurrency,N), ask(R,kv_dtype,D), ask(R,indexer_layout,I).

% Hosts: bytes, and fifths of bytes, so that the reserve is whole. It is 20 %, and at least 8 GiB.
unsound(S) :- unified(S), gpu_memory(S,G), G > q(0,0).
unsound(S) :- system_ram(S,q(0,0)).
memory(S,U) :- physical_usable(S,U).
memory(S,U) :- system_ram(S,U), unified(S), not physical_usable(S,_).
memory(S,q(A+C+(B+D)/10000000,(B+D)\\10000000)) :-
    system_ram(S,q(A,B)), gpu_memory(S,q(C,D)), not unified(S), not physical_usable(S,_).
unsound(S) :- memory(S,q(0,0)).
usable(S,U) :- memory(S,U), not unsound(S).
reserve(S,U) :- usable(S,U), U >= q(4294,9672960).
reserve(S,q(4294,9672960)) :- usable(S,U), U < q(4294,9672960).
left(S,q(5*H-A-1+E/10000000,E\\10000000)) :-
    usable(S,q(H,M)), reserve(S,q(A,B)), E = 5*M-B+10000000.
budget(S,B) :- left(S,B), B > q(0,0).
bad(S) :- unsound(S).
bad(S) :- left(S,B), B <= q(0,0).

% Caches: one sequence's bytes for each token and beside them, times tokens, times sequences.
wanted(A,W) :- asks(R,W), route(R,A).
charged(A,C,(conservative;optimized;none),L) :- part(A,C,K,L,_,_,_), K != indexer.
charged(A,C,conservative,L) :- part(A,C,indexer,_,L,_,_).
charged(A,C,optimized,L) :- part(A,C,indexer,L,_,_,_).
grown(A,w(T,N,D,I),X) :-
    wanted(A,w(T,N,D,I)), dtype(D,P,Q),
    X = #sum { L*V*P/Q,C : charged(A,C,I,L), part(A,C,K,_,_,V,_), K != window }.
fixed(A,w(T,N,D,I),X) :-
    wanted(A,w(T,N,D,I)), dtype(D,P,Q),
    X = #sum { L*V*P/Q*Y,C : charged(A,C,I,L), part(A,C,window,_,_,V,Y), Y <= T;
               L*V*P/Q*T,C : charged(A,C,I,L), part(A,C,window,_,_,V,Y), Y > T }.
sequence(A,w(T,N,D,I),q(G/10000+E/10000000,E\\10000000)) :-
    grown(A,w(T,N,D,I),X), fixed(A,w(T,N,D,I),F),
    G = (T/1000)*X, E = (G\\10000)*1000+(T\\1000)*X+F.
kv(A,w(T,N,D,I),q(H*N+M*N/10000000,M*N\\10000000)) :- sequence(A,w(T,N,D,I),q(H,M)).
needs(A,W,q(A1+B1+(A2+B2)/10000000,(A2+B2)\\10000000)) :- weights(A,q(A1,A2)), kv(A,W,q(B1,B2)).
need(R,W,q(5*H+5*M/10000000,5*M\\10000000)) :- route(R,A), asks(R,W), needs(A,W,q(H,M)).

% Routes.
nodes(R,N) :- route(R,_), N = #count { S : node(R,S,_) }.
lacking(R) :- node(R,S,_), not budget(S,_).
whole(R) :- route(R,_), not lacking(R).
all_usable(R,q(H+M/10000000,M\\10000000)) :-
    whole(R), H = #sum { A,S : node(R,S,_), usable(S,q(A,_)) },
    M = #sum { B,S : node(R,S,_), usable(S,q(_,B)) }.
all_budgets(R,q(H+M/10000000,M\\10000000)) :-
    whole(R), H = #sum { A,S : node(R,S,_), budget(S,q(A,_)) },
    M = #sum { B,S : node(R,S,_), budget(S,q(_,B)) }.
headroom(R,q(A-C-1+E/10000000,E\\10000000)) :-
    all_budgets(R,q(A,B)), need(R,_,q(C,D)), E = B-D+10000000.
% In hundredths of a fifth of a byte: the factor is a whole number of hundredths.
headroom_at_imbalance(R,q(100*A-F*C-F+E/10000000,E\\10000000)) :-
    all_budgets(R,q(A,B)), need(R,_,q(C,D)), ask(R,imbalance_factor,F),
    E = 100*B-F*D+F*10000000.
reason(R,too_few_nodes) :- nodes(R,N), ask(R,min_nodes,L), N < L.
reason(R,host_refused(S)) :- node(R,S,_), bad(S).
reason(R,position_taken_twice(P)) :- node(R,S,P), node(R,O,P), S != O.
reason(R,aggregate_budget_short) :- all_budgets(R,B), need(R,_,N), B < N.
reason(R,single_node_admits_target) :- whole(R), node(R,S,_), budget(S,B), need(R,_,N), B >= N.
reason(R,below_hard_fit_floor) :- all_usable(R,U), ask(R,hard_fit_floor,F), U < F.
refused(R) :- reason(R,_).
admissible(R) :- all_budgets(R,_), need(R,_,_), not refused(R).
unestablished(R) :- route(R,_), not refused(R), not admissible(R).
obligation(R,node_memory(S)) :- node(R,S,_), not budget(S,_), not bad(S).

% Seams: times in units of 100 ps.
seams(R,N-1) :- nodes(R,N).
token(R,2*W) :- route(R,A), hidden_size(A,W).
decode_serialization(R,B*P*S) :- token(R,B), ask(R,link_rate,V), wire(V,P), seams(R,S).
decode_latency(R,L*S) :- ask(R,per_hop_latency,L), seams(R,S).
prefill_bytes(R,q(G/10000+E/10000000,E\\10000000)) :-
    token(R,B), ask(R,context_tokens,T), G = (T/1000)*B, E = (G\\10000)*1000+(T\\1000)*B.
a_seam(R,q(H*P+M*P/10000000,M*P\\10000000)) :-
    prefill_bytes(R,q(H,M)), ask(R,link_rate,V), wire(V,P).
prefill_serialization(R,q(H*S+M*S/10000000,M*S\\10000000)) :- a_seam(R,q(H,M)), seams(R,S).
sideband(R,4*K) :- route(R,A), index_topk(A,K).
meets_minimum_link(R) :- ask(R,link_rate,V), ask(R,min_link_rate,L), V >= L.
is_recommended_link(R) :- ask(R,link_rate,V), ask(R,recommended_link_rate,L), V >= L.
"""
"""The laws of routes in clingo, written by hand: an exact figure is one term of two limbs.

What the policy decides of hosts, that all figures are whole in the units chosen, and that no host
names a system of the catalog are written into it.
"""

_WHOLE = {"imbalance_factor": 100, "per_hop_latency": 10**7}
"""The units in which fractions are whole: hundredths, and 100 ps."""

_RATES = ("min_link_rate", "recommended_link_rate", "link_rate")


def _limbs(value: int) -> str:
    return "q({},{})".format(*divmod(value, BASE))


def _asked(column: str, value: Any) -> str:
    """A figure of a policy or route as the program has it."""
    if column == "hard_fit_floor":
        return _limbs(value)
    if column in _RATES:
        return str(value // 10**8)
    return f'"{value}"' if column == "kv_dtype" else str(value * _WHOLE.get(column, 1))


def _facts(given: Rows) -> list[str]:
    facts = [
        f"policy({column},{_asked(column, value)})."
        for column, value in given["route_policy"][0].items()
        if column not in ("policy", "source")
    ]
    rates = {r["link_rate"] for r in (*given["route_policy"], *given["route"]) if "link_rate" in r}
    facts += [f"wire({rate // 10**8},{8 * 10**10 // rate})." for rate in sorted(rates)]
    for row in given["kv_dtype"]:
        wide = row["bytes_per_value"]
        facts.append(f'dtype("{row["dtype"]}",{wide.numerator},{wide.denominator}).')
    for row in given["architecture"]:
        for column in ("hidden_size", "index_topk"):
            if column in row:
                facts.append(f'{column}("{row["architecture"]}",{row[column]}).')
    for row in given["kv_component"]:
        most, window = row.get("conservative_layers", 0), row.get("window_tokens", 0)
        facts.append(
            f'part("{row["architecture"]}","{row["component"]}",{row["kind"]},{row["layers"]},'
            f"{most},{row['values_per_token']},{window})."
        )
    # Each artifact here has the name of its architecture.
    facts += [
        f'weights("{row["artifact"]}",{_limbs(row["total_bytes"])}).' for row in given["artifact"]
    ]
    for row in given["host"]:
        host = row["host"]
        for column, value in row.items():
            if column == "unified":
                facts.append(f'unified("{host}").')
            elif column != "host":
                facts.append(f'{column}("{host}",{_limbs(value)}).')
    for row in given["route"]:
        route = row["route"]
        facts.append(f'route("{route}","{row["artifact"]}").')
        facts += [
            f'own("{route}",{column},{_asked(column, value)}).'
            for column, value in row.items()
            if column not in ("route", "artifact")
        ]
    facts += [
        f'node("{row["route"]}","{row["host"]}",{row["position"]}).' for row in given["route_node"]
    ]
    return facts


def hand(given: Rows, folder: Path, clock: Clock) -> Answer:
    """The laws in clingo, written by hand."""
    with clock.phase("import"):
        import clingo
    with clock.run():
        with clock.phase("encode"):
            text = "\n".join([HAND, "#show.", *_facts(given)])
        control = clingo.Control(["-Wno-global-variable", "-Wno-atom-undefined"])
        with clock.phase("add"):
            control.add("base", [], text)
        with clock.phase("ground"):
            control.ground([("base", [])])
        with clock.phase("solve"):
            control.solve()

        def figures(name: str, unit: int) -> Iterable[Fraction]:
            for atom in control.symbolic_atoms.by_signature(name, 2):
                high, low = (a.number for a in atom.symbol.arguments[1].arguments)
                yield Fraction(high * BASE + low, unit)

        with clock.phase("read"):
            return _answer(
                sum(1 for _ in control.symbolic_atoms.by_signature("admissible", 1)),
                sum(1 for _ in control.symbolic_atoms.by_signature("reason", 2)),
                figures("headroom", 5),
                figures("prefill_serialization", 10**7),
            )


def _ullage(source: str) -> Callable[[Rows, Path, Clock], Answer]:
    def run(given: Rows, folder: Path, clock: Clock) -> Answer:
        with clock.phase("import"):
            import ullage.policy
        clock.wrap_ullage()
        with clock.run():
            if source == "rows":
                policy = ullage.policy.Policy.load(RULES, rows=given)
            else:
                policy = ullage.policy.Policy.load(RULES, folder)
            plans = policy.plan()
        # Every figure is there by now; adding some of them up is no part of the job.
        standings: list[Any] = [p.standing for p in plans if p.plan == "route"]
        figures: list[Any] = [(p.plan, p.value_map) for p in plans]
        return _answer(
            sum(s.verdict == "admissible" for s in standings),
            sum(len(s.reasons) for s in standings),
            [v["headroom"].value for n, v in figures if n == "route" and "headroom" in v],
            [v["prefill_serialization"].value for n, v in figures if n == "seam"],
        )

    return run


CONTENDERS: dict[str, Callable[[Rows, Path, Clock], Answer]] = {
    "python": python,
    "hand-terms": hand,
    "ullage-rows": _ullage("rows"),
    "ullage-yaml": _ullage("yaml"),
}


def main() -> None:
    """Run one contender and print what it took."""
    name, n, nodes, folder, collector = sys.argv[1:]
    contender = CONTENDERS[name]
    given = {} if name == "ullage-yaml" else rows(int(n), int(nodes))
    report(lambda clock: contender(given, Path(folder), clock), collector)


if __name__ == "__main__":
    main()
