"""What the loader refuses in rules: each code at its place, with the word to be changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from lawtext import (
    MARK,
    ROWS,
    TABLES,
    assert_house_style,
    declared,
    place,
    policy,
    unmarked,
)
from support import write_rules

from ullage.cli import main
from ullage.findings import Finding, PolicyError, Severity, errors_of
from ullage.policy import Policy
from ullage.results import value_text
from ullage.rules.syntax import parse_file


@dataclasses.dataclass(frozen=True)
class Case:
    """A law whose one error stands at the mark; ``word`` is what its author must change."""

    code: str
    text: str
    word: str
    sort: str = "thing"


def refused(code: str, text: str, word: str, sort: str = "thing") -> object:
    return pytest.param(Case(code, text, word, sort), id=code)


def errors(folder: Path, *laws: str) -> list[Finding]:
    findings = policy(folder, *laws).check()
    assert_house_style(findings)
    return errors_of(findings)


def the_error(folder: Path, *laws: str) -> Finding:
    """The only error of these laws: none is there only because another is."""
    found = errors(folder, *laws)
    assert len(found) == 1, found
    return found[0]


def assert_refused(folder: Path, text: str, code: str, word: str, *others: str) -> Finding:
    law, at = unmarked(text)
    finding = the_error(folder, law, *others)
    assert (finding.code, place(finding)) == (code, at), finding
    assert word in finding.message + finding.help, finding
    return finding


# Predicates and arities.
VOCABULARY = [
    refused("undeclared-predicate", "out(T) :- thing(T), not ^^thnig(T).", "`thing`"),
    refused("undeclared-predicate", "out(T) :- thing(T), ^^outt(T).", "`out`"),
    refused("undeclared-predicate", "out(T) :- thing(T), 0 < #count { P : ^^prat(P) }.", "`part`"),
    refused("undeclared-predicate", "out(T) :- thing(T), ^^thnig(U) : thing(U).", "`thing`"),
    refused("undeclared-predicate", "out(T) :- thing(T), #false : ^^thnig(T).", "`thing`"),
    refused("undeclared-predicate", "out(T) :- thing(T).\n^^outt(T) :- thing(T).", "`out`"),
    refused("wrong-arity", "out(T) :- thing(T).\n^^out(T, T) :- thing(T).", "1 argument"),
    refused("wrong-arity", "out(T) :- thing(T), not ^^thing(T, size).", "column"),
    refused("wrong-arity", "out(T) :- ^^cell(T, 1, size, _), thing(T).", "column"),
    refused("wrong-arity", "out(^^box).", "`box` takes 1 argument", "shape"),
    refused("wrong-arity", "out(^^point(1)).", "`point` takes 0 arguments", "shape"),
    refused("unknown-column", "out(T) :- thing(T, ^^sise, _).", "`size`"),
    refused("unknown-column", "out(T) :- cell((T, _), ^^thing, _).", "key"),
    refused("not-a-word", "out(T) :- thing(T, ^^_, _).", "a column's name"),
    refused("not-a-word", 'out(T) :- thing(T, ^^"size", _).', "a column's name"),
    refused("derived-table", 'out(T) :- thing(T).\n^^thing("z").', "facts"),
    refused("derived-table", 'out(T) :- thing(T).\n^^thing("z", size, "1 B").', "facts"),
]

# Sorts, in every kind of place.
SORTS = [
    refused("wrong-sort", "out(^^T) :- place(T).", "`thing`"),
    refused("wrong-sort", "out(^^T) :- thing(_, note, T).", "`thing`"),
    refused("wrong-sort", "out(T) :- thing(T, note, ^^T).", "`text`"),
    refused("wrong-sort", "out(T) :- place(P), thing(T, friend, ^^P).", "`thing`"),
    refused("wrong-sort", "out(T) :- thing(T), place(P), T != ^^P.", "`place`"),
    refused("wrong-sort", "out(T) :- thing(T), place(P), not thing(^^P).", "`thing`"),
    refused("wrong-sort", "out(T) :- thing(T), thing(^^P, size, _) : place(P).", "`thing`"),
    refused(
        "wrong-sort", "out(T) :- thing(T), 0 < #count { P : place(P), thing(^^P) }.", "`thing`"
    ),
    refused("wrong-sort", "out(^^a) :- thing(_).", '`"a"`'),
    refused("wrong-sort", "out(T) :- thing(T), T != ^^a.", '`"a"`'),
    refused("wrong-sort", "out(^^3) :- thing(_).", "`3`"),
    refused("wrong-sort", 'out(T) :- thing(T, tint, ^^"red").', "`red`"),
    refused("wrong-sort", 'out(T) :- thing(T, tint, C), C != ^^"red".', "`red`"),
    refused("wrong-sort", 'out(T) :- thing(T, ready, ^^"true").', "quotes"),
    refused("wrong-sort", 'out(T) :- thing(T, number, ^^"3").', "quotes"),
    refused("wrong-sort", 'out(T) :- thing(T, number, N), N > ^^"three".', "`count`"),
    refused("wrong-sort", "out(T) :- thing(T, number, N), N > ^^red.", "`count`"),
    refused("wrong-sort", "out(T) :- thing(T, share, N), N > ^^red.", "`ratio`"),
    refused("wrong-sort", "out(T) :- thing(T, note, N), N != ^^x.", '`"x"`'),
    refused("wrong-sort", "out(T) :- thing(T, note, N), N != ^^3.", "`text`"),
    refused("wrong-sort", "out(T) :- thing(T, size, ^^three).", "`bytes`"),
    refused("wrong-sort", 'out(T) :- thing(T, tags, ^^"p").', "`(count, text)`"),
    refused("wrong-sort", "out(^^T) :- cell(T, size, _).", "`(thing, count)`"),
    refused("wrong-sort", "out(^^T) :- cell((_, T), size, _).", "`count`"),
    refused("wrong-sort", "out((^^T, T)) :- thing(T).", "tuple of 2"),
    refused(
        "wrong-sort", "out((^^A, B)) :- thing(A, friend, B).", "tuple of 2", "(count, count, count)"
    ),
    refused("wrong-sort", "out((A, ^^B)) :- thing(A, friend, B).", "`place`", "(thing, place)"),
    refused("wrong-sort", "out(^^f(T)) :- thing(T).", "`thing`"),
    refused("wrong-sort", 'out(^^"point").', "`point`", "shape"),
    refused("wrong-sort", "out(X) :- X = #sum { ^^red : thing(_) }.", "`count`", "count"),
    refused("wrong-sort", "out(N) :- ^^N = #max { T : thing(T) }.", "`thing`"),
    refused("wrong-sort", "out(N) :- thing(N), 1 < #count { ^^N+1 }.", "`thing`"),
    refused("not-in-closed-set", "out(T) :- thing(T, tint, ^^rde).", "`red`"),
    refused("not-in-closed-set", "out(T) :- thing(T, tint, C), C = ^^rde.", "`red`"),
    refused("not-in-closed-set", "out(T) :- thing(T, tint, C), ^^rde != C.", "`red`"),
    refused("not-in-closed-set", "out(T) :- thing(T, tint, C), C = (red; ^^gren).", "`green`"),
    refused("not-in-closed-set", "out(T) :- thing(T, tint, C), (T, C) != (T, ^^rde).", "`red`"),
    refused("not-in-closed-set", "out(T) :- thing(T), thing(T, tint, ^^rde) : thing(_).", "`red`"),
    refused("not-in-closed-set", "out(T) :- thing(T, ready, ^^yes).", "`true`"),
    refused("not-in-closed-set", "out(T) :- thing(T, ready, R), R != ^^yes.", "`true`"),
    refused("undeclared-term", "out(^^circle).", "`point`", "shape"),
    refused("undeclared-term", "out(X) :- X = ^^circle.", "`point`", "shape"),
    refused("unordered-sort", 'out(T) :- thing(T), T < ^^"b".', "`=`"),
]

# Figures and their units.
FIGURES = [
    refused(
        "unit-mismatch",
        "out(^^S + D) :- thing(T, size, S), thing(T, delay, D).",
        "`bytes + milliseconds`",
        "bytes",
    ),
    refused("unit-mismatch", "out(T) :- thing(T, size, S), thing(T, number, ^^S).", "`count`"),
    refused(
        "unit-mismatch", "out(T) :- thing(T, size, S), thing(T, number, N), N < ^^S.", "`bytes`"
    ),
    refused("unit-mismatch", "out(^^X) :- X = #sum { 1, T : thing(T) }.", "`count`", "bytes"),
    refused(
        "unit-mismatch", "out(X) :- thing(_, size, S), X = ^^S * S.", "`bytes * bytes`", "bytes"
    ),
    refused("missing-unit", "out(T) :- thing(T, size, ^^3).", '`"3 B"`'),
    refused("missing-unit", 'out(T) :- thing(T, size, ^^"3").', "`96 GiB`"),
    refused("missing-unit", "out(box(^^1)).", '`"1 B"`', "shape"),
    refused("missing-unit", "out(X) :- X = box(^^1).", '`"1 B"`', "shape"),
    refused("unknown-unit", 'out(T) :- thing(T, size, ^^"3 GQ").', "GiB"),
    refused("unknown-unit", 'out(T) :- thing(T, power, ^^"3 B").', "kW"),
    refused("unknown-unit", 'out(X) :- X = box(^^"1 s").', "GiB", "shape"),
    refused("not-a-quantity", 'out(T) :- thing(T, size, ^^"x").', "`x`"),
    refused("not-a-quantity", 'out(T) :- thing(T, size, S), S > ^^"x".', "`x`"),
    refused("integer-too-large", "out(^^2147483648).", "`2147483648`", "count"),
    refused("integer-too-large", "out(^^0x80000000).", "`0x80000000`", "count"),
    refused("integer-too-large", "out(^^0o20000000000).", "`0o20000000000`", "count"),
    refused("integer-too-large", f"out(^^0b1{'0' * 31}).", "`0b1000", "count"),
    refused("integer-too-large", "out(-^^2147483648).", "`2147483648`", "count"),
    refused("integer-too-large", "out(X) :- X = 1..^^2147483648.", "`2147483648`", "count"),
    refused("integer-too-large", "out(X) :- X = ^^4294967297 - 4.", "`4294967297`", "count"),
    refused("integer-too-large", "out(X) :- X = #sum { ^^4294967297 }.", "`4294967297`", "count"),
    refused("integer-too-large", "out(T) :- thing(T), not part(^^2147483648).", "`2147483648`"),
    refused("integer-too-large", "out(T) :- thing(T), part(P+^^4294967297).", "`4294967297`"),
    refused("integer-too-large", "out(^^2147483647).", "`2147483647`", "count"),
    refused("integer-too-large", "out(^^-1000000000).", "`-1000000000`", "count"),
    refused("interval-too-long", "out(X) :- X = ^^1..1000000000.", "`1..1000000000`", "count"),
    refused(
        "unknown-function", "out(N) :- thing(_, number, M), N = ^^@round(M).", "@floor", "count"
    ),
    refused(
        "unknown-function",
        "out(N) :- thing(_, number, M), N = ^^@floor(M, 2).",
        "1 argument",
        "count",
    ),
    refused("unused-aggregate", "out(T) :- thing(T), ^^#count { P : part(P) }.", "compared"),
]

# Variables that nothing binds.
SAFETY = [
    refused("unsafe-variable", "out(^^T) :- thing(_).", "`T`"),
    refused("unsafe-variable", "out(^^_) :- thing(_).", "`_`"),
    refused("unsafe-variable", "out(T) :- thing(T), not thing(^^U).", "`U`"),
    refused("unsafe-variable", "out(T) :- thing(T), ^^N < 3.", "`N`"),
    refused("unsafe-variable", "out(T) :- thing(T), ^^_ != T.", "`_`"),
    refused("unsafe-variable", "out(T) :- thing(T), ^^V < #count { U : thing(U) }.", "`V`"),
    refused("unsafe-variable", "out(T) :- thing(T), 1 < #count { ^^_ : cell((T, _)) }.", "`_`"),
    refused("unsafe-variable", "out(T) :- thing(T), 1 < #count { ^^U : not thing(U) }.", "`U`"),
    refused("unsafe-variable", "out(T) :- thing(T), #false : not thing(^^U).", "`U`"),
    refused("unsafe-variable", "out(T) :- thing(T).\nout(^^T).", "`T`"),
    refused("unsafe-variable", 'out(T) :- thing(T, size, ^^S + "1 B").', "`S`"),
    refused("unsafe-variable", "out(T) :- thing(T, number, N), ^^M - 1 = N.", "`M`"),
    refused("unsafe-variable", "out(T) :- thing(T), part(^^_ + 1).", "`_`"),
    refused("unsafe-variable", "out(T) :- thing(T), thing(T, size, -^^_).", "`_`"),
]

# What a law may not hold at all.
FORBIDDEN = [
    refused("forbidden-statement", "^^#script (python)\nimport os\n#end.", "#script"),
    refused("forbidden-statement", "  ^^#script(lua) x #end.", "#script"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#script (python) x #end.", "#script"),
    refused("forbidden-statement", "%* a comment *% ^^#script\n(python) x #end.", "#script"),
    refused("forbidden-statement", "%* %* in *% out *%^^#script(lua) x #end.", "#script"),
    refused("forbidden-statement", '^^#include "other.lp".', "#include"),
    refused("forbidden-statement", 'out(T) :- thing(T). ^^#include "other.lp".', "#include"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#include <incmode>.", "#include"),
    refused("forbidden-statement", 'out(T) :- thing(T).\t^^#include "/dev/zero".', "#include"),
    refused("forbidden-statement", '^^#external out("x") : thing(_).', "#external"),
    refused("forbidden-statement", 'out(T) :- thing(T). ^^#external out("x").', "#external"),
    refused("forbidden-statement", "^^#theory t { }.", "theory"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#const n = 3.", "#const"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#show out/1.", "shown"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#show T : out(T).", "shown"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#defined out/1.", "defined"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#program base.", "#program"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#project out/1.", "#project"),
    refused(
        "forbidden-statement", "out(T) :- thing(T). ^^#heuristic out(T). [1, true]", "#heuristic"
    ),
    refused("forbidden-statement", "out(T) :- thing(T). ^^#edge (1, 2).", "#edge"),
    refused("forbidden-statement", "out(T) :- thing(T). ^^:~ out(T). [1, T]", "optimisation"),
    refused("forbidden-statement", "out(T) :- thing(T), ^^&sum { 1 } <= 3.", "theory"),
    refused("forbidden-head", "^^{ out(T) : thing(T) }.", "chooses"),
    refused("forbidden-head", "^^{ out(T) :\n  thing(T) }.", "chooses"),
    refused("forbidden-head", "^^1 { out(T) : thing(T) } 1.", "chooses"),
    refused("forbidden-head", '^^out(T); out("x") :- thing(T).', "chooses"),
    refused("forbidden-head", "^^out(T) : thing(T).", "chooses"),
    refused("forbidden-head", "^^#sum { 1, T : out(T) : thing(T) } = 1.", "chooses"),
    refused("forbidden-head", "^^not out(T) :- thing(T).", "negated"),
    refused("integrity-constraint", "out(T) :- thing(T).\n^^:- out(T).", "refusal"),
    refused("integrity-constraint", "out(T) :- thing(T).\n^^#false :- out(T).", "refusal"),
    refused("forbidden-term", "^^-out(T) :- thing(T).", "classical negation"),
    refused("forbidden-term", "out(T) :- thing(T), ^^-thing(T).", "classical negation"),
    refused("forbidden-term", "out(T) :- ^^thing(T; T).", "pool"),
    refused("forbidden-term", "out(^^#inf).", "`#inf`"),
    refused("forbidden-term", "out(T) :- thing(T), T != ^^#sup.", "`#sup`"),
    refused("forbidden-term", "out(T) :- thing(T), ^^{ thing(_) } > 1.", "#count"),
    refused("forbidden-term", "out(T) :- thing(T, number, N), ^^not 1 < N < 9.", "`not`"),
    refused("forbidden-term", "out(T) :- thing(T), ^^not not 1 < 3 < 9.", "`not`"),
    refused(
        "forbidden-operator", "out(N) :- thing(_, number, M), N = ^^M ** 2.", "`M ** 2`", "count"
    ),
    refused(
        "forbidden-operator", "out(N) :- thing(_, number, M), N = ^^M & 1.", "`M & 1`", "count"
    ),
    refused("forbidden-operator", "out(N) :- thing(_, number, M), N = ^^~M.", "`~M`", "count"),
    refused(
        "forbidden-operator",
        "out(N) :- ^^N = #sum+ { M : thing(_, number, M) }.",
        "`#sum`",
        "count",
    ),
]

SOUND = {
    "thing": "out(T) :- thing(T).",
    "count": "out(N) :- thing(_, number, N).",
    "bytes": "out(S) :- thing(_, size, S).",
    "shape": "out(point).",
    "(thing, thing)": "out((T, T)) :- thing(T).",
    "(thing, place)": "out((T, P)) :- thing(T), place(P).",
    "(count, count, count)": "out((1, 2, 3)).",
}
"""A rule of `out` that nothing is wrong with, by the sort of its argument."""

OUT = declared("out", "thing")
RULE = "out(T) :- thing(T).\n"

# Text that is no rule.
SYNTAX = [
    refused("rule-syntax", "out(T) :- thing(T),^^.", "`.`"),
    refused("rule-syntax", "out(T ^^:- thing(T).", "`:-`"),
    refused("rule-syntax", "out(T) :- thing(T) ^^and place(T).", "look"),
    refused("rule-syntax", "Out^^(T) :- thing(T).", "`(`"),
    refused("rule-syntax", "out(T) :- Thing^^(T).", "`(`"),
    refused("rule-syntax", "out(^^é) :- thing(T).", "`é`"),
    refused("rule-syntax", 'out("é") :- thing(T^^é).', "`é`"),
    refused("rule-syntax", "out(T) :- thing(T)^^\0.", "NUL"),
]


@pytest.mark.parametrize("case", [*VOCABULARY, *SORTS, *FIGURES, *SAFETY, *FORBIDDEN, *SYNTAX])
def test_refused_in_a_rule(tmp_path: Path, case: Case) -> None:
    text = f"{declared('out', case.sort)}{SOUND[case.sort]}\n{case.text}\n"
    assert_refused(tmp_path, text, case.code, case.word)


@pytest.mark.parametrize("case", [*FIGURES[-4:], *SAFETY[:2], *FORBIDDEN[-20:], *SYNTAX[:1]])
def test_a_rule_that_is_refused_is_not_missed_as_well(tmp_path: Path, case: Case) -> None:
    law, _ = unmarked(declared("out", case.sort) + case.text)
    assert the_error(tmp_path, law).code == case.code


@pytest.mark.parametrize("text", ['"3"', "3", '"3 s"', '"20%"', "3 * 2"])
def test_a_figure_of_another_unit(tmp_path: Path, text: str) -> None:
    law, at = unmarked(declared("out", "thing") + f"out(T) :- thing(T, size, S), S > ^^{text}.")
    finding = the_error(tmp_path, law)
    assert finding.code in ("unit-mismatch", "missing-unit", "unknown-unit")
    assert place(finding) == at
    assert "`bytes`" in finding.message


def test_what_has_no_sort_at_all(tmp_path: Path) -> None:
    text = declared("out", "thing") + 'out(T) :- thing(T), X = "a".'
    found = [(f.code, place(f)) for f in errors(tmp_path, text)]
    assert found == [("unsorted-variable", (7, 21)), ("unsorted-term", (7, 25))]


@pytest.mark.parametrize(
    "text",
    [
        'out("x).',
        'out("x\n").',
        'out("a\\tb").',
        "%* never closed\nout(T) :- thing(T).",
        "x",
        "x..",
    ],
)
def test_text_that_breaks_off_is_told_in_words_of_ours(tmp_path: Path, text: str) -> None:
    assert {f.code for f in errors(tmp_path, OUT + RULE + text)} == {"rule-syntax"}


ACCEPTED = [
    # In strings and comments a directive is a word like any other.
    ('out(T) :- thing(T), not thing(T, note, "#script(python) x #end.").', "a b c"),
    ("out(T) :- thing(T). % #script (python)", "a b c"),
    ("%* #script (python) x #end.\n#include <incmode>. *%\nout(T) :- thing(T).", "a b c"),
    # One name with two sorts, each in a set of its own.
    (
        "out(T) :- thing(T), 1 < #count { S : thing(S, size, _) }, 0 < #count { S : part(S) }.",
        "a b c",
    ),
    (
        'out(T) :- thing(T), X = #sum { S : thing(_, size, S) }, X > "8 GiB",'
        " 3 = #sum { S : thing(_, number, S) }.",
        "a b c",
    ),
    (
        "out(T) :- thing(T), thing(S, size, _) : thing(S, note, _); part(S) : cell((T, S)).",
        "a b c",
    ),
    # Anonymous variables.
    ("out(T) :- thing(T), not cell((T, _)).", "b c"),
    ('out(T) :- thing(T, size, _), not thing(T, size, "1 GiB").', "a"),
    ('out(T) :- thing(T, tags, (_, "q")).', "a"),
    # A name that begins with an underscore is a name.
    ("out(T) :- thing(T), thing(_X, friend, T), thing(_X, tint, blue).", ""),
    ('out(_X) :- thing(_X, size, _), _X != "a".', "b"),
    # Letters outside ASCII, tabs, and every kind of white space between words.
    ('out("ä漢").', "ä漢"),
    ("\tout(T)\t:-\tthing(T)\t.", "a b c"),
    ("out(T) :- thing(T).\r\nout(T)\r\n:- thing(T).\r\n", "a b c"),
    ('out("a\\"b\\\\c").', 'a"b\\c'),
    # A text that reads like a quantity is a text where texts stand.
    ('out(T) :- thing(T, note, S), S != "1 GB".', "a"),
    ('out(T) :- thing(T), T != "5%".', "a b c"),
    # Arithmetic under negation, on what an atom binds.
    ("out(T) :- thing(T, number, N), not part(N * 2).", "a"),
    ("out(T) :- thing(T), not part(N * 2) : thing(T, number, N).", "a c"),
    ("out(T) :- thing(T, number, N), part(3 - N).", "a b"),
    # Every term of a set's element counts.
    ('out(T) :- thing(T), 3 = #count { box(S) : part(_, size, S), S > "1 GiB" }.', "a b c"),
]


@pytest.mark.parametrize(("text", "wanted"), ACCEPTED)
def test_accepted(tmp_path: Path, text: str, wanted: str) -> None:
    loaded = policy(tmp_path, declared("out", "thing") + text)
    assert errors_of(loaded.check()) == []
    found = sorted(value_text(row[0]) for row in loaded.query("out(X)").rows)
    assert found == wanted.split()


def test_names_of_the_lowered_program_are_refused(tmp_path: Path) -> None:
    """Lowering names its own variables and predicates with a quote; an author's could clash."""
    sound = declared("out", "bytes")
    for text in (
        "out(S + S) :- thing(_, size, S), thing(_, number, ^^S'M).",
        "out(S + S) :- thing(_, size, S), thing(_, number, ^^Q'1).",
        "out(S) :- thing(_, size, S).\n^^%*! _call'1(A)\nArgs:\n  - A: count\n*%\n_call'1(1).\n"
        "out(S) :- thing(_, size, S), _call'1(1).",
    ):
        law, (line, _) = unmarked(sound + text)
        assert line in [place(f)[0] for f in errors(tmp_path, law)], text


@pytest.mark.parametrize(
    "text",
    [
        "out(X) :- X = #max { }.",
        "out(X) :- X = #sum { }, thing(_, number, X).",
        "out(1..3).",
        "out(X) :- X = 1..3.",
    ],
)
def test_odd_but_sound_terms_end_in_a_model_or_a_finding(tmp_path: Path, text: str) -> None:
    assert_house_style(policy(tmp_path, declared("out", "ratio") + text).check())


# What files declare, and how they fit together.


@pytest.mark.parametrize(
    ("code", "text", "word"),
    [
        pytest.param(c, t, w, id=c)
        for c, t, w in [
            ("bad-docstring", "^^%*! Out(T)\nArgs:\n  - T: thing\n*%\n", "signature"),
            ("bad-docstring", "^^%*! *%\n", "signature"),
            ("bad-docstring", "^^%*! _x(T)\n*%\n", "`T`"),
            ("bad-docstring", "%*! _x(T)\n^^Arg:\n  - T: thing\n*%\n", "`Args`"),
            ("bad-docstring", "%*! _x(T)\nArgs:\n^^  - U: thing\n*%\n", "`U`"),
            ("bad-docstring", "%*! _x(T)\nArgs:\n^^  - T thing\n*%\n", "`- Host: host`"),
            ("bad-docstring", "%*! _x(T)\nArgs:\n  - T: thing\n^^  - T: place\n*%\n", "`T`"),
            ("bad-docstring", "%*! _x(T)\nArgs:\n  - T: thing\n^^Args:\n*%\n", "`Args`"),
            (
                "bad-docstring",
                "%*! _x(T)\nArgs:\n  - T: thing\n^^Frontiers: me\n*%\n",
                "`Frontier`",
            ),
            ("bad-docstring", "^^%*! _x(T)\nArgs:\n  - T: thing\nFrontier:\n*%\n", "consumer"),
            ("bad-docstring", "^^%*! _x(T, T)\nArgs:\n  - T: thing\n*%\n", "`T`"),
            ("bad-docstring", "^^%*! _x(t)\n*%\n", "upper case"),
            (
                "bad-docstring",
                "^^%*! _x(T)\nArgs:\n  - T: thing\nValues:\n  - a: bytes\n*%\n",
                "Verdicts",
            ),
            ("unknown-sort", "%*! _x(T)\nArgs:\n^^  - T: thign\n*%\n", "`thing`"),
            ("unknown-sort", "%*! _x(T)\nArgs:\n^^  - T: (thing, Count)\n*%\n", "`count`"),
            ("duplicate-predicate", "^^%*! out(T)\nArgs:\n  - T: thing\n*%\n", "`out`"),
            ("duplicate-predicate", "^^%*! thing(T)\nArgs:\n  - T: thing\n*%\n", "`thing`"),
            ("duplicate-predicate", "^^%*! standing(T)\nArgs:\n  - T: thing\n*%\n", "`standing`"),
            ("two-arities", "^^%*! out(A, B)\nArgs:\n  - A: thing\n  - B: thing\n*%\n", "`out`"),
            ("underived-predicate", "^^%*! _x(T)\nArgs:\n  - T: thing\n*%\n", "`_x/1`"),
            (
                "dangling-predicate",
                "^^%*! _x(T)\nArgs:\n  - T: thing\n*%\n_x(T) :- thing(T).\n",
                "Frontier:",
            ),
            (
                "dangling-predicate",
                "^^%*! _x(T)\nArgs:\n  - T: thing\n*%\n_x(T) :- thing(T).\n_x(T) :- _x(T).\n",
                "`_x/1`",
            ),
            ("bad-label", '^^%!trace_rule {"% is", X}.\n', "`X`"),
            ("bad-label", '^^%!trace_rule {"% is"}.\n', "`%`"),
            ("bad-label", '^^%!trace_rule {"is", T}.\n', "`%`"),
            ("bad-label", '^^%!trace_rule {"% is", T}\n', "%!trace_rule"),
            ("bad-label", '^^%!trace_rul {"% is", T}.\n', "%!trace_rule"),
        ]
    ],
)
def test_refused_beside_the_rules(tmp_path: Path, code: str, text: str, word: str) -> None:
    assert_refused(tmp_path, OUT + RULE + text + RULE, code, word)


def test_a_frontier_needs_no_reader(tmp_path: Path) -> None:
    assert errors(tmp_path, OUT + RULE) == []


def test_only_the_declaring_file_derives(tmp_path: Path) -> None:
    first, second = OUT + RULE, 'ok("x").\n^^out("x").\n' + declared("ok", "thing")
    finding = assert_refused(tmp_path, second, "foreign-constructor", "`out`", first)
    assert [Path(p.file).name for p in finding.positions] == ["0.lp", "1.lp"]
    assert finding.positions[1].note


@pytest.mark.parametrize("name", ["out", "standing", "reason"])
def test_no_fact_asserts_what_rules_derive(tmp_path: Path, name: str) -> None:
    loaded = policy(tmp_path, LAW + FINE, OUT + RULE, rows={**ROWS, name: [{"thing": "z"}]})
    assert [f.code for f in errors_of(loaded.check())] == ["derived-predicate"]


def test_labels_and_headers_are_asked_for(tmp_path: Path) -> None:
    findings = policy(tmp_path, OUT + RULE + declared("_h", "thing") + "_h(T) :- thing(T).").check()
    assert_house_style(findings)
    assert {f.severity for f in findings} == {Severity.WARNING}
    assert [(f.code, place(f)) for f in findings] == [
        ("bad-header", (1, 1)),
        ("bad-header", (1, 1)),
        ("bad-header", (1, 1)),
        ("missing-label", (7, 1)),
    ]


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ("% Purpose a test\n^^% Input thing/3\n% Output out/1\n", "`thing/1`"),
        ("% Purpose a test\n% Input thing/1\n^^% Output out/1, gone/2\n", "`gone/2`"),
    ],
)
def test_a_header_that_is_not_true(tmp_path: Path, header: str, word: str) -> None:
    text, at = unmarked(header)
    label = '%!trace_rule {"% is", T}.\n'
    findings = policy(tmp_path, text + OUT + label + RULE).check()
    assert {(f.code, place(f)) for f in findings} == {("bad-header", at)}
    assert any(word in f.message for f in findings)


# Laws.
LAW = """\
%*! law(Thing)
A law.
Args:
  - Thing: thing
Subjects: thing(Thing)
Verdicts:
  - fine [established]
  - bad [refused]
  - open [unestablished]
Reasons:
  - broken(Thing: thing): {Thing} is broken
  - plain
Obligations:
  - read: read it
Values:
  - figure: bytes
  - tally: count
*%
"""
FINE = "standing(law, T, fine) :- thing(T).\n"


@pytest.mark.parametrize(
    ("code", "old", "new", "word"),
    [
        pytest.param(c, o, n, w, id=c)
        for c, o, n, w in [
            ("undeclared-predicate", "Subjects: thing", "^^Subjects: thign", "`thing`"),
            ("unsafe-variable", "Subjects: thing(Thing)", "^^Subjects: thing(_)", "`Thing`"),
            ("wrong-sort", "Subjects: thing", "^^Subjects: place", "`place`"),
            ("rule-syntax", "Subjects: thing(Thing)", "^^Subjects: thing(Thing", "look"),
            ("bad-docstring", "Subjects: thing(Thing)", "^^Subjects: thing(Thing). a", "subjects"),
            (
                "forbidden-statement",
                "Subjects: thing(Thing)",
                "^^Subjects: thing(Thing). #include <incmode>",
                "#include",
            ),
            (
                "bad-docstring",
                "%*! law(Thing)\nA law.\nArgs:\n  - Thing",
                "%*! law()\nA law.\nArgs:\n^^  - Thing",
                "`law`",
            ),
            ("bad-docstring", "Subjects: thing(Thing)\n", "", "Subjects:"),
            ("bad-docstring", "Subjects:", "^^Subject:", "`Subjects`"),
            ("bad-docstring", "  - fine [established]", "^^  - fine [establish]", "`established`"),
            ("bad-docstring", "  - fine [established]", "^^  - fine", "`established`"),
            (
                "bad-docstring",
                "  - fine [established]",
                "^^  - fine [established]: {tall}",
                "`tally`",
            ),
            ("bad-docstring", "  - bad", "  - bad [refused]\n^^  - bad", "`bad`"),
            ("bad-docstring", "  - plain", "  - plain\n^^  - plain", "`plain`"),
            ("bad-docstring", "  - tally", "  - tally: count\n^^  - tally", "`tally`"),
            ("bad-docstring", "  - broken(Thing: thing)", "^^  - broken(Thing)", "`Thing`"),
            (
                "bad-docstring",
                "  - broken(Thing: thing): {T",
                "^^  - broken(Thing: thing): {t",
                "`Thing`",
            ),
            ("bad-docstring", "Obligations:", "^^Obligation:", "`Obligations`"),
            ("bad-docstring", "  - figure: bytes", "^^  - figure: text", "`text`"),
            ("unknown-sort", "  - figure: bytes", "^^  - figure: byte", "`bytes`"),
            ("unknown-sort", "broken(Thing: thing)", "^^broken(Thing: thong)", "`thing`"),
        ]
    ],
)
def test_refused_in_a_declaration_of_a_law(
    tmp_path: Path, code: str, old: str, new: str, word: str
) -> None:
    assert LAW.count(old) == 1
    text = LAW.replace(old, new)
    if MARK not in text:
        text = MARK + text
    law, (line, _) = unmarked(text)
    finding = the_error(tmp_path, law, OUT + RULE)
    assert finding.code == code, finding
    assert word in finding.message + finding.help, finding
    # Subjects are told apart by their docstring as a whole, all else by the line.
    assert finding.positions[0].line in (1, line), finding


def test_a_law_that_is_refused_is_not_missed_as_well(tmp_path: Path) -> None:
    text = LAW.replace("figure: bytes", "figure: byte") + FINE
    assert the_error(tmp_path, text).code == "unknown-sort"


def test_a_predicate_that_is_refused_is_not_missed_as_well(tmp_path: Path) -> None:
    assert the_error(tmp_path, declared("out", "thign") + RULE).code == "unknown-sort"


CONCLUSIONS = [
    refused("unknown-law", "standing(^^lwa, T, fine) :- thing(T).", "`law`"),
    refused("not-a-word", "standing(^^L, T, fine) :- thing(T), L = 3.", "a law's name"),
    refused("not-a-word", "value(law, T, ^^V, 3) :- thing(T), V = 1.", "a value's name"),
    refused("wrong-arity", "^^standing(law, fine).", "3 arguments"),
    refused("wrong-sort", "standing(law, ^^T, fine) :- place(T).", "`thing`"),
    refused("wrong-sort", 'standing(law, T, ^^"fine") :- thing(T).', "`fine`"),
    refused("not-in-closed-set", "standing(law, T, ^^fien) :- thing(T).", "`fine`"),
    refused("not-in-closed-set", "standing(law, T, V) :- thing(T), V = ^^fien.", "`fine`"),
    refused("undeclared-term", "reason(law, T, ^^plian) :- thing(T).", "`plain`"),
    refused("undeclared-term", "obligation(law, T, ^^reed) :- thing(T).", "`read`"),
    refused("wrong-arity", "reason(law, T, ^^broken) :- thing(T).", "`broken`"),
    refused("wrong-sort", "reason(law, T, broken(^^P)) :- thing(T), place(P).", "`thing`"),
    refused("undeclared-value", "value(law, T, ^^tall, 3) :- thing(T).", "`tally`"),
    refused("missing-unit", "value(law, T, figure, ^^3) :- thing(T).", '`"3 B"`'),
    refused("unit-mismatch", "value(law, T, tally, ^^S) :- thing(T, size, S).", "`count`"),
]


@pytest.mark.parametrize("case", CONCLUSIONS)
def test_refused_in_a_conclusion(tmp_path: Path, case: Case) -> None:
    assert_refused(tmp_path, LAW + FINE + case.text, case.code, case.word)


def test_a_conclusion_in_another_file(tmp_path: Path) -> None:
    other = declared("ok", "thing") + 'ok("x").\n^^reason(law, T, plain) :- thing(T).'
    assert_refused(tmp_path, other, "foreign-constructor", "`law`", LAW + FINE)


SOUND_BAD = "standing(law, T, bad) :- thing(T, size, _).\n"
REST = "standing(law, T, fine) :- thing(T), not thing(T, size, _).\n"


@pytest.mark.parametrize(
    ("code", "text", "word"),
    [
        pytest.param(c, t, w, id=c)
        for c, t, w in [
            ("standing-missing", 'standing(law, "a", fine). standing(law, "b", fine).', "`c`"),
            ("standing-conflict", FINE + 'standing(law, "b", open).', "`b`"),
            ("reason-missing", FINE.replace("thing(T)", 'thing(T), T != "a"')
                + 'standing(law, "a", bad).', "`a`"),
            ("obligation-missing", FINE.replace("thing(T)", 'thing(T), T != "a"')
                + 'standing(law, "a", open). reason(law, "a", plain).', "`a`"),
            ("no-subject", FINE + 'standing(law, "z", fine).', "`z`"),
            ("no-subject", FINE + 'reason(law, "z", plain).', "`z`"),
            ("no-subject", FINE + 'obligation(law, "z", read).', "`z`"),
            ("no-subject", FINE + 'value(law, "z", tally, 3).', "`z`"),
            ("two-values", FINE + 'value(law, "a", tally, 3). value(law, "a", tally, 4).', "tally"),
        ]
    ],
)  # fmt: skip
def test_refused_standings(tmp_path: Path, code: str, text: str, word: str) -> None:
    finding = the_error(tmp_path, LAW + text)
    assert (finding.code, place(finding)) == (code, (1, 1))
    assert word in finding.message


def test_one_figure_said_by_two_rules_is_one_value(tmp_path: Path) -> None:
    text = FINE + 'value(law, "a", figure, "1 KiB"). value(law, "a", figure, "1024 B").'
    assert errors(tmp_path, LAW + text) == []


RUN = [
    ("overflow", "out(X) :- thing(_, size, S), X = S * 999999999 * 999999999.", "bytes"),
    ("overflow", "out(X) :- thing(_, number, N), X = (N + 99999) * (N + 99999).", "count"),
    ("division-by-zero", "out(X) :- thing(_, number, N), X = 1 / N.", "ratio"),
    ("division-by-zero", "out(X) :- thing(_, number, N), X = 7 \\ N.", "count"),
    ("division-by-zero", "out(X) :- thing(_, number, N), X = @ceil_div(7, N).", "count"),
    ("empty-extremum", 'out(X) :- X = #max { S : thing(_, size, S), S > "1 TB" }.', "bytes"),
    ("empty-extremum", "out(X) :- X = #min { N : thing(_, number, N), N > 9 }.", "count"),
]


@pytest.mark.parametrize(("code", "text", "sort"), [pytest.param(*r, id=r[0]) for r in RUN])
def test_refused_on_the_rows(tmp_path: Path, code: str, text: str, sort: str) -> None:
    found = errors(tmp_path, declared("out", sort) + text)
    assert {f.code for f in found} == {code}
    assert {f.positions[0].line for f in found} == {7}
    assert all("`out`" in f.message for f in found)


# Queries.
QUERIES = [
    ("undeclared-predicate", "thing(T),\nnot ^^thnig(T)"),
    ("integer-too-large", "X = ^^2147483648"),
    ("unsafe-variable", "thing(T), ^^N > 3"),
    ("not-in-closed-set", "thing(T, tint, C), C = ^^rde"),
    ("division-by-zero", "thing(T, number, N), X = ^^1 / N"),
    ("rule-syntax", "thing(T) ^^thing(T)"),
    ("rule-syntax", "thing(T) ^^:- thing(T)"),
    ("forbidden-statement", "thing(T). ^^#include <incmode>"),
]


@pytest.mark.parametrize(("code", "text"), [pytest.param(*q, id=q[0]) for q in QUERIES])
def test_refused_in_a_query(tmp_path: Path, code: str, text: str) -> None:
    body, at = unmarked(text)
    with pytest.raises(PolicyError) as caught:
        policy(tmp_path, OUT + RULE).query(body)
    assert_house_style(caught.value.findings)
    assert {(f.code, f.positions[0].file, *place(f)) for f in caught.value.findings} == {
        (code, "<query>", *at)
    }


@pytest.mark.parametrize(
    "body", ["thing(T). thing(U)", 'thing(T). out("x")', "thing(T). out(T) :- thing(T)"]
)
def test_a_query_is_one_body(tmp_path: Path, body: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(tmp_path, OUT + RULE).query(body)
    assert_house_style(caught.value.findings)


# Files.
def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, TABLES, OUT + RULE)
    (rules / "x.lp").write_bytes("% ä\n% ä ".encode() + b"\xe9\n")
    found = errors_of(Policy.load(rules=[rules], rows=ROWS).check())
    assert [(f.code, place(f)) for f in found] == [("not-utf8", (2, 5))]
    assert "0xe9" in found[0].message


def test_utf16_is_not_utf8(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, TABLES)
    (rules / "x.lp").write_bytes((OUT + RULE).encode("utf-16"))
    found = errors_of(Policy.load(rules=[rules], rows=ROWS).check())
    assert [(f.code, place(f)) for f in found] == [("not-utf8", (1, 1))]


def test_a_byte_order_mark_moves_no_column(tmp_path: Path) -> None:
    assert_refused(
        tmp_path,
        "\ufeff" + "%x\n" + OUT + "out(T) :- ^^thign(T).",
        *("undeclared-predicate", "`thing`"),
    )


def test_crlf_moves_no_place(tmp_path: Path) -> None:
    text = (OUT + "out(T) :- thing(T).\nout(T) :- ^^thign(T).\n").replace("\n", "\r\n")
    law, at = unmarked(text)
    rules = write_rules(tmp_path, TABLES)
    (rules / "x.lp").write_bytes(law.encode())
    found = errors_of(Policy.load(rules=[rules], rows=ROWS).check())
    assert [(f.code, place(f)) for f in found] == [("undeclared-predicate", at)]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    _, findings = parse_file(tmp_path)
    assert [f.code for f in findings] == ["unreadable-file"]


@pytest.mark.parametrize("kind", ["dangling", "loop"])
def test_a_link_to_nothing_is_no_law_left_out_in_silence(tmp_path: Path, kind: str) -> None:
    rules = write_rules(tmp_path, TABLES, OUT + RULE)
    (rules / "x.lp").symlink_to(rules / ("gone.lp" if kind == "dangling" else "x.lp"))
    found = errors_of(Policy.load(rules=[rules], rows=ROWS).check())
    assert [(f.code, Path(f.positions[0].file).name) for f in found] == [
        ("unreadable-file", "x.lp")
    ]


def test_a_folder_reached_by_a_link_is_read(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, TABLES, OUT + RULE)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "x.lp").write_text('out("x").\n')
    (rules / "shared").symlink_to(tmp_path / "shared")
    (rules / "self").symlink_to(rules)
    found = errors_of(Policy.load(rules=[rules], rows=ROWS).check())
    assert [f.code for f in found] == ["foreign-constructor"]


def test_a_folder_named_like_a_law_is_a_folder(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, TABLES, OUT + RULE)
    (rules / "x.lp").mkdir()
    (rules / "x.lp" / "y.lp").write_text('out("x").\n')
    found = errors_of(Policy.load(rules=[rules], rows=ROWS).check())
    assert [f.code for f in found] == ["foreign-constructor"]


@pytest.mark.parametrize("text", ["", "% nothing\n", "\n\n", "%* nothing *%"])
def test_files_without_a_rule_beside_one_with(tmp_path: Path, text: str) -> None:
    assert errors(tmp_path, OUT + RULE, text) == []


@pytest.mark.parametrize("texts", [[], [""], ["% nothing\n"], ["% no\r% line\rends\rout(T).\r"]])
def test_no_rules_at_all(tmp_path: Path, texts: list[str]) -> None:
    assert [f.code for f in errors(tmp_path, *texts)] == ["no-rules"]


# The bad input that the command line promises to refuse.
BAD_INPUT = [
    ("undeclared-predicate", "out(T) :- thing(T), not ^^thnig(T).", "thing"),
    ("unit-mismatch", "out(^^S + D) :- thing(T, size, S), thing(T, delay, D).", "bytes"),
    ("integer-too-large", "out(^^2147483648).", "count"),
    (
        "two-arities",
        "out(T) :- thing(T).\n^^%*! out(A, B)\nArgs:\n- A: thing\n- B: thing\n*%",
        "thing",
    ),
    ("forbidden-statement", "out(T) :- thing(T).\n^^#script (python) x #end.", "thing"),
    ("unbounded-recursion", "out(1).\nout(^^N + 1) :- out(N).", "count"),
]


@pytest.mark.parametrize(("code", "text", "sort"), [pytest.param(*b, id=b[0]) for b in BAD_INPUT])
def test_bad_input_ends_in_status_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, text: str, sort: str
) -> None:
    law, (line, column) = unmarked(declared("out", sort) + text)
    rules = write_rules(tmp_path, TABLES, law)
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "things.yaml").write_text("thing: [{thing: a, size: 8 GiB, delay: 5 ms}]\n")
    args = ["check", "--rules", str(rules), "--facts", str(facts)]
    assert main([*args, "--format", "concise"]) == 3
    out = capsys.readouterr().out
    assert f"0.lp:{line}:{column}: error[{code}]: " in out
    assert main(args) == 3
    assert "help: " in capsys.readouterr().out


@pytest.mark.parametrize("missing", ["--rules", "--facts"])
def test_a_missing_folder_ends_in_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    folders = {"--rules": tmp_path, "--facts": tmp_path, missing: tmp_path / "gone"}
    assert main(["check", *(str(w) for pair in folders.items() for w in pair)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "gone" in captured.err
