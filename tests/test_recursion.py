"""Recursion: strata, and no walk without an end."""

from __future__ import annotations

from pathlib import Path

import pytest
from lawtext import assert_house_style, declared, loaded, place, policy, unmarked

from ullage.findings import errors_of
from ullage.results import value_text

SORTS = {"n": ("count",), "b": ("bytes",), "s": ("shape",), "pair": ("count", "count")}
NAMES = {
    **SORTS,
    "total": ("count", "bytes"),
    "other": ("count", "bytes"),
    "along": ("thing", "count", "bytes"),
    "two": ("(count, count)",),
    "flag": ("thing",),
    "mate": ("thing", "thing"),
}


def law(text: str) -> str:
    """The rules, with the docstring of every predicate that they derive."""
    heads = {line.split("(", 1)[0].strip() for line in text.replace(". ", ".\n").split("\n")}
    return "".join(declared(n, *NAMES[n]) for n in sorted(heads & set(NAMES))) + text


STARTS = 'total(0, "0 B").\n'

UNBOUNDED = [
    "n(1). n(N + 1) :- n(N).",
    "n(1). n(N - 1) :- n(N).",
    "n(1). n(N * 2) :- n(N).",
    "n(1). n(N + N) :- n(N).",
    "n(1). n(N + 1) :- n(N), n(M), M < 3.",
    # In the body, where clingo solves for the variable.
    "n(1). n(N) :- n(N - 1).",
    "n(1). n(N) :- n(M - 1), N = M.",
    # Behind equations.
    "n(1). n(N) :- n(M), N = M + 1.",
    "n(1). n(N) :- n(M), N = K, K = M + 1.",
    "n(1). n(N) :- n(M), K = M + 1, N = K.",
    "n(1). n(N) :- n(M), (N, K) = (M + 1, 2).",
    "n(1). n(N) :- n(M), K = (M + 1, 2), K = (N, _).",
    "n(1). n(N) :- n(M), N = M..M + 1.",
    "n(1). n(N) :- n(M), N = (M; M + 1).",
    "n(1). n(M..M + 1) :- n(M).",
    "n(1). n((M; M + 1)) :- n(M).",
    "n(1). n(N) :- n(M), N = @floor(M + 1).",
    'b("1 B"). b(X + "1 B") :- b(X).',
    'b("1 B"). b(X) :- b(Y), X = Y + "1 B".',
    'b("1 B"). b(X) :- b(Y), X = #sum { Y; "1 B" }.',
    'b("1 B"). b(X) :- b(Y), X = #max { Y + "1 B"; "2 B" }.',
    # Inside terms.
    's(box("1 B")). s(box(X + "1 B")) :- s(box(X)).',
    's(box("1 B")). s(box(X)) :- s(box(Y)), X = Y + "1 B".',
    's(box("1 B")). s(S) :- s(box(Y)), S = box(Y + "1 B").',
    's(box("1 B")). s(S) :- s(box(Y)), S = Z, Z = box(Y + "1 B").',
    "two((1, 1)). two((B, A + B)) :- two((A, B)).",
    "two((1, 1)). two(X) :- two((A, B)), X = (B, A + B).",
    # Across predicates.
    'total(0, S) :- other(0, S). other(P, S + "1 B") :- total(P, S). ' + STARTS,
    "total(P, S) :- other(P - 1, S). other(P, S) :- total(P, S). " + STARTS,
    "total(P + 1, S + B) :- other(P, S), part(P, size, B). other(0, S) :- total(_, S). " + STARTS,
    # A table that does not hold the growing argument bounds nothing.
    "n(1). n(N + 1) :- n(N), part(M), thing(_, number, M).",
    STARTS + "total(P, S + B) :- total(P, S), part(P, size, B).",
    STARTS + "total(P + 1, S + B) :- total(P, S), part(_, size, B).",
    STARTS + "total(P * 1, S + B) :- total(P, S), part(P * 1, size, B).",
    STARTS + "total(P + 0, S + B) :- total(P, S), part(P + 0, size, B).",
    STARTS + "total(3 - P, S + B) :- total(P, S), part(3 - P, size, B).",
    STARTS + "total(P + 1, S + B) :- total(P, S), not part(P + 1), part(_, size, B).",
    STARTS + "total(P + 1, S + B) :- total(P, S), other(P + 1, B). other(P, B) :- total(P, B).",
    # A walk that another rule takes back to where it began.
    STARTS
    + "total(P + 1, S + B) :- total(P, S), part(P + 1, size, B). total(0, S) :- total(_, S).",
    STARTS
    + "total(P + 1, S + B) :- total(P, S), part(P + 1, size, B)."
    + " total(P, S) :- total(_, S), part(P).",
    STARTS
    + "total(P + 1, S + B) :- total(P, S), part(P + 1, size, B)."
    + " total(P - 1, S + B) :- total(P, S), part(P - 1, size, B).",
    STARTS
    + "total(P + 1, S + B) :- total(P, S), part(P + 1, size, B)."
    + " total(P, S) :- total(P + 1, S), part(P).",
    STARTS
    + "total(P + 1, S + B) :- total(P, S), part(P + 1, size, B)."
    + " other(P - 1, S) :- total(P, S), part(P - 1). total(P, S) :- other(P, S).",
]


@pytest.mark.parametrize("text", UNBOUNDED)
def test_a_walk_without_an_end_is_refused_before_it_is_walked(tmp_path: Path, text: str) -> None:
    findings = loaded(tmp_path, law(text))
    assert_house_style(findings)
    found = errors_of(findings)
    assert found
    assert {f.code for f in found} <= {
        "unbounded-recursion",
        "unsafe-variable",
        "unsorted-variable",
    }
    if any(f.code == "unbounded-recursion" for f in found):
        assert all(f.help for f in found)


def test_where_and_what_grows(tmp_path: Path) -> None:
    text, at = unmarked(law("n(1).\nn(^^N + 1) :- n(N)."))
    (finding,) = errors_of(loaded(tmp_path, text))
    assert (finding.code, place(finding)) == ("unbounded-recursion", at)
    assert "`n`" in finding.message
    assert "table" in finding.help


FIVE = "(0,0 B) (1,1 GiB) (2,3 GiB) (3,6 GiB) (4,10 GiB)"

BOUNDED = [
    ("total(P + 1, S + B) :- total(P, S), part(P + 1, size, B).", "total(P, S)", FIVE),
    ("total(P, S + B) :- total(P - 1, S), part(P, size, B).", "total(P, S)", FIVE),
    ("total(Q, S + B) :- total(P, S), Q = P + 1, part(Q, size, B).", "total(P, S)", FIVE),
    ("total(Q, S + B) :- total(P, S), part(Q, size, B), P = Q - 1.", "total(P, S)", FIVE),
    ("total(Q, S + B) :- total(P, S), part(Q, size, B), P + 1 = Q.", "total(P, S)", FIVE),
    ("total(P + 1, T) :- total(P, S), part(P + 1, size, B), T = S + B.", "total(P, S)", FIVE),
    ("total(P + 1, S + B) :- total(P, S), part(P + 1), part(P + 1, size, B).", "total(P, S)", FIVE),
    (
        "total(P + 1, S + B) :- total(P, S), other(P + 1, B). other(P, B) :- part(P, size, B).",
        "total(P, S)",
        FIVE,
    ),
    ('total(P + 1, S) :- total(P, S), part(P + 1), S < "1 B".', "total(4, S)", "(0 B)"),
    ("total(P + 1, S + S) :- total(P, S), part(P + 1).", "total(4, S)", "(0 B)"),
    (
        'total(P - 1, B) :- total(P, _), part(P - 1, size, B). total(4, "0 B").',
        "total(1, S)",
        "(1 GiB)",
    ),
    (
        'along(T, 0, "0 B") :- thing(T, size, _).'
        " along(T, P + 1, S + B) :- along(T, P, S), cell((T, P + 1), size, B).",
        "along(T, 4, S)",
        "(a,10 GiB)",
    ),
    (
        'along(T, 0, "0 B") :- thing(T, size, _).'
        " along(T, P, S + B) :- along(T, P - 1, S), cell((T, P), size, B).",
        "along(T, 4, S)",
        "(a,10 GiB)",
    ),
    # Recursion that makes no new term ends by itself.
    (
        "mate(A, B) :- thing(A, friend, B). mate(A, C) :- mate(A, B), mate(B, C)."
        " mate(A, B) :- mate(B, A).",
        'mate("a", X)',
        "(a) (b)",
    ),
    ("two((1, 2)). two((B, A)) :- two((A, B)).", "two(X)", "((1, 2)) ((2, 1))"),
    ("n(4). n(N) :- n(M), part(N), N < M.", "n(X)", "(0) (1) (2) (3) (4)"),
    # Growth below the recursion is no growth of it.
    ("n(N + 1) :- part(N).", "n(X)", "(1) (2) (3) (4) (5)"),
    ("n(N) :- thing(_, number, M), N = M + 1.", "n(X)", "(1) (4)"),
]


@pytest.mark.parametrize(("text", "query", "wanted"), BOUNDED)
def test_a_walk_along_a_table_ends(tmp_path: Path, text: str, query: str, wanted: str) -> None:
    starts = STARTS if "total(P" in text or "total(Q" in text else ""
    walk = law(starts + text)
    assert errors_of(loaded(tmp_path, walk)) == []
    rows = policy(tmp_path, walk).query(query).rows
    assert " ".join(f"({','.join(map(value_text, row))})" for row in rows) == wanted


UNSTRATIFIED = [
    "flag(T) :- thing(T), not ^^flag(T).",
    "flag(T) :- thing(T), not not ^^flag(T).",
    "flag(T) :- thing(T), 0 = #count { U : ^^flag(U) }.",
    "flag(T) :- thing(T), ^^flag(U) : thing(U, friend, T).",
    "flag(T) :- thing(T), thing(U) : ^^flag(U).",
    "n(X) :- X = #sum { Y : ^^n(Y) }.",
    "n(X) :- part(X), X = #max { Y : ^^n(Y) }.",
    "flag(T) :- mate(T, T). mate(T, T) :- thing(T), not ^^flag(T).",
    'flag(T) :- mate(T, T). mate(T, U) :- thing(T), n(1), thing(U). n(1) :- not ^^flag("a").',
]


@pytest.mark.parametrize("text", UNSTRATIFIED)
def test_recursion_through_what_is_not_monotone(tmp_path: Path, text: str) -> None:
    plain, at = unmarked(law(text))
    findings = loaded(tmp_path, plain)
    assert_house_style(findings)
    assert [(f.code, place(f)) for f in errors_of(findings)] == [("unstratified", at)]


def test_every_turn_of_a_circle_is_shown(tmp_path: Path) -> None:
    text = "flag(T) :- thing(T), not mate(T, T). mate(T, T) :- thing(T), not flag(T)."
    found = errors_of(loaded(tmp_path, law(text)))
    assert [f.code for f in found] == ["unstratified", "unstratified"]


STRATIFIED = [
    "flag(T) :- thing(T), not mate(T, T). mate(T, T) :- thing(T, friend, _).",
    "n(X) :- X = #count { T : flag(T) }. flag(T) :- thing(T).",
    "flag(T) :- thing(T), mate(T, U) : thing(U). mate(T, U) :- thing(T), thing(U).",
]


@pytest.mark.parametrize("text", STRATIFIED)
def test_what_is_not_monotone_over_a_lower_stratum(tmp_path: Path, text: str) -> None:
    assert errors_of(policy(tmp_path, law(text)).check()) == []


def test_a_law_may_read_another_laws_standing(tmp_path: Path) -> None:
    def of(name: str) -> str:
        return (
            f"%*! {name}(Thing)\nArgs:\n  - Thing: thing\nSubjects: thing(Thing)\nVerdicts:\n"
            "  - fine [established]\n  - other [established]\n*%\n"
        )

    first = of("one") + "standing(one, T, fine) :- thing(T).\n"
    second = of("two") + (
        "standing(two, T, fine) :- thing(T), not standing(one, T, fine).\n"
        "standing(two, T, other) :- standing(one, T, fine).\n"
    )
    found = policy(tmp_path, first, second)
    assert errors_of(found.check()) == []
    assert {s.verdict for s in found.standings(["two"])} == {"other"}


def test_a_law_may_not_wait_for_its_own_verdict(tmp_path: Path) -> None:
    text = (
        "%*! one(Thing)\nArgs:\n  - Thing: thing\nSubjects: thing(Thing)\nVerdicts:\n"
        "  - fine [established]\n  - other [established]\n*%\n"
        "standing(one, T, fine) :- thing(T, size, _).\n"
        "standing(one, T, other) :- thing(T), not ^^standing(one, T, fine).\n"
    )
    plain, at = unmarked(text)
    found = errors_of(loaded(tmp_path, plain))
    assert [(f.code, place(f)) for f in found] == [("unstratified", at)]
