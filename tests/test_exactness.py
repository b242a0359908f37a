"""Lowered arithmetic equals arithmetic on ``fractions.Fraction``, or the run ends in an error.

Every expected figure is computed here, with Python's own fractions; nothing of the engine's
arithmetic is used for it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import clingo
import pytest
from clingo.symbol import Symbol, SymbolType
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import Figures, declared, fig, figures, load

from ullage.findings import PolicyError
from ullage.policy import Policy
from ullage.results import Quantity, Term, Value

ONE = Fraction(1)
NANO = Fraction(1, 10**9)
LIMIT = Fraction(32768 * 10**18)
COUNT_LIMIT = 10**9
HUGE = "32767999999999999999999 B"
"""The largest whole figure but for its decimals."""

TABLES = """\
sorts:
  span:
    forms:
      whole: {}
      part: {Size: bytes, Share: ratio}
tables:
  item:
    key: {item: item}
    columns:
      a: {sort: bytes, minimum: -LOW B}
      b: {sort: bytes, minimum: -LOW B}
      c: {sort: bytes, minimum: -LOW B}
      r: {sort: ratio, minimum: -LOW}
      s: {sort: ratio, minimum: -LOW}
      n: {sort: count, minimum: -999999999}
      m: {sort: count, minimum: -999999999}
      v: {sort: bytes_per_second, minimum: -LOW B/s}
      w: {sort: bits_per_second, minimum: -LOW bit/s}
      t: {sort: milliseconds, minimum: -LOW ms}
      sizes: {sort: bytes, list: true, minimum: -LOW B}
  use:
    key: {item: {sort: item, references: item}, number: count}
  piece:
    key: {item: {sort: item, references: item}, size: bytes}
    columns:
      share: ratio
""".replace("LOW", "32767" + "9" * 18 + "." + "9" * 9)
COLUMNS = ("a", "b", "c", "r", "s", "n", "m", "v", "w", "t")
SORTS = {
    **dict.fromkeys("abc", "bytes"),
    **dict.fromkeys("rs", "ratio"),
    **dict.fromkeys("nm", "count"),
    "v": "bytes_per_second",
    "w": "bits_per_second",
    "t": "milliseconds",
}

Row = Mapping[str, Fraction]
Compute = Callable[[Row], Fraction | None]

# A failing batch names its questions and rows; to shrink it would take minutes.
QUICK = settings(
    deadline=None,
    max_examples=25,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def items(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Rows of the table ``item``, named i0, i1, ..."""
    found: list[dict[str, object]] = []
    for number, row in enumerate(rows):
        cells: dict[str, object] = {"item": f"i{number}"}
        for column, value in row.items():
            cells[column] = int(value) if SORTS[column] == "count" else value
        found.append(cells)
    return found


def solve(
    rules: str,
    rows: Sequence[Mapping[str, object]],
    predicates: Sequence[str] = (),
    pieces: Sequence[Mapping[str, object]] = (),
    /,
    **values: str,
) -> Figures:
    """The figures of rules over items. Raises PolicyError."""
    with TemporaryDirectory() as folder:
        law = fig(rules, values, predicates)
        policy = load(Path(folder), TABLES, law, {"item": rows, "piece": pieces})
        found = figures(policy)
        assert dumped(policy) == concluded(policy)
        return found


def codes(error: PolicyError) -> set[str]:
    return {f.code for f in error.findings if f.severity.value == "error"}


def holds_or_errs(rule: str, row: Mapping[str, object], *allowed: str) -> bool:
    """Whether a rule of the count ``x`` gives 1, or the run ends in errors of these codes."""
    try:
        return solve(rule, [row], x="count") == {"i0": {"x": ONE}}
    except PolicyError as error:
        return codes(error) <= set(allowed)


def errors(
    rules: str,
    rows: Sequence[Mapping[str, object]],
    predicates: Sequence[str] = (),
    /,
    **values: str,
) -> list[tuple[str, set[str]]]:
    """The code of every finding, with the lines of the rules that it names."""
    with TemporaryDirectory() as folder:
        law = fig(rules, values, predicates)
        policy = load(Path(folder), TABLES, law, {"item": rows})
        with pytest.raises(PolicyError) as caught:
            policy.standings()
        lines = law.split("\n")
        return [
            (f.code, {lines[p.line - 1] for p in f.positions})
            for f in caught.value.findings
            if f.severity.value == "error"
        ]


# --- the dump, read without the engine -----------------------------------------------------------


def plain(symbol: Symbol) -> object:
    """A term of a printed program as a plain value; limbs as the number they stand for."""
    if symbol.type == SymbolType.String:
        return symbol.string
    if symbol.type == SymbolType.Number:
        return Fraction(symbol.number)
    arguments = symbol.arguments
    if symbol.name == "q" and len(arguments) in (3, 4):
        return limbs(arguments)
    if symbol.name == "r" and len(arguments) in (4, 5):
        value = limbs(arguments[:-1])
        rest = arguments[-1]
        return value + continued(rest) * NANO if rest.type == SymbolType.Function else value
    if symbol.name == "":
        return tuple(plain(a) for a in arguments)
    return (symbol.name, *(plain(a) for a in arguments)) if arguments else symbol.name


def limbs(parts: Sequence[Symbol]) -> Fraction:
    value = Fraction(0)
    sizes = (Fraction(10**18), Fraction(10**9), ONE, NANO)
    for part, size in zip(parts, sizes[-len(parts) :], strict=True):
        value += part.number * size
    return value


def continued(tail: Symbol) -> Fraction:
    """0 < value < 1 from nested pairs of a quotient (its length and limbs) and the rest."""
    (_, digits), rest = tail.arguments[0].arguments, tail.arguments[1]
    quotient = 0
    for digit in digits.arguments:
        quotient = quotient * 10**9 + digit.number
    below = continued(rest) if rest.type == SymbolType.Function else Fraction(0)
    return 1 / (abs(quotient) + below)


def dumped(policy: Policy) -> set[object]:
    """What a bare clingo concludes from the printed program."""
    control = clingo.Control(["--warn=none"])
    control.add("base", [], policy.dump())
    control.ground([("base", [])])
    found: list[set[object]] = []
    control.solve(on_model=lambda m: found.append({plain(s) for s in m.symbols(shown=True)}))
    assert len(found) == 1
    return found[0]


def concluded(policy: Policy) -> set[object]:
    """What the API concludes, as the same plain values."""
    found: set[object] = set()
    for s in policy.standings():
        parts = tuple(bare(v) for _, v in s.subject)
        subject = parts[0] if len(parts) == 1 else parts
        found.add(("standing", s.law, subject, s.verdict))
        found |= {("reason", s.law, subject, bare(t)) for t in s.reasons}
        found |= {("obligation", s.law, subject, bare(t)) for t in s.obligations}
        found |= {("value", s.law, subject, name, q.value) for name, q in s.values}
    for p in policy.plan():
        parts = tuple(bare(v) for _, v in p.subject)
        subject = parts[0] if len(parts) == 1 else parts
        if p.plan == "seam":
            # A subject of forms is shown without the form's name.
            subject = ("over_route" if p.subject[0][0] == "route" else "over_nodes", *parts)
        found |= {("plan", p.plan, subject, name, bare(value)) for name, value in p.values}
    return found


def bare(value: Value) -> object:
    match value:
        case bool():
            return "true" if value else "false"
        case Quantity():
            return value.value
        case Term():
            return (value.name, *(bare(v) for _, v in value.args)) if value.args else value.name
        case tuple():
            return tuple(bare(v) for v in value)
    return value


# --- figures -------------------------------------------------------------------------------------

nanos: st.SearchStrategy[int] = st.one_of(
    st.integers(-(10**27), 10**27),
    st.integers(-(10**12), 10**12),
    st.integers(-20, 20).map(lambda n: n * 10**9),
    st.sampled_from([10**9, 10**18, 10**27, 2**40 * 10**9, 2**63]).flatmap(
        lambda edge: st.builds(operator.add, st.sampled_from([edge, -edge]), st.integers(-2, 2))
    ),
)
decimals = nanos.map(lambda n: n * NANO)
rationals = st.one_of(
    decimals,
    st.fractions(-100, 100, max_denominator=30),
    st.fractions(-(10**18), 10**18, max_denominator=10**6),
)
ratios = st.one_of(
    st.sampled_from(
        ["0.2", "0.92", "34/32", "1/3", "7/9", "1.10", "-1/2", "0", "1", "0.000000001"]
    ).map(Fraction),
    st.fractions(-3, 3, max_denominator=100),
    decimals,
)
counts = st.one_of(
    st.integers(-5, 20),
    st.integers(-(10**9) + 1, 10**9 - 1),
    st.sampled_from([999999999, -999999999, 46341, -46341]),
).map(Fraction)


def rows_of(
    size: st.SearchStrategy[Fraction], least: int = 3, most: int = 6
) -> st.SearchStrategy[list[Row]]:
    """Rows that hold every column; some repeat a figure, for ties."""
    row: st.SearchStrategy[dict[str, Fraction]] = st.fixed_dictionaries(
        {
            **dict.fromkeys("abcvwt", size),
            **dict.fromkeys("rs", ratios),
            **dict.fromkeys("nm", counts),
        }
    )
    tied = st.tuples(row, st.sampled_from([ONE - ONE, NANO, -NANO, ONE])).map(
        lambda pair: {**pair[0], "b": pair[0]["a"] + pair[1], "s": pair[0]["r"] + pair[1]}
    )
    return st.lists(st.one_of(row, tied), min_size=least, max_size=most)


# --- expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exp:
    """An expression: its text, with ``<a>`` for the variable of column ``a``, and its value."""

    text: str
    sort: str
    value: Compute

    def __repr__(self) -> str:
        return f"{self.text} : {self.sort}"


def both(
    x: Exp, y: Exp, sort: str, sign: str, of: Callable[[Fraction, Fraction], Fraction | None]
) -> Exp:
    def value(row: Row) -> Fraction | None:
        one, other = x.value(row), y.value(row)
        return None if one is None or other is None else of(one, other)

    text = f"@{sign}({x.text}, {y.text})" if sign.isidentifier() else f"({x.text} {sign} {y.text})"
    return Exp(text, sort, value)


def one(x: Exp, sort: str, shape: str, of: Callable[[Fraction], Fraction]) -> Exp:
    def value(row: Row) -> Fraction | None:
        inner = x.value(row)
        return None if inner is None else of(inner)

    return Exp(shape.replace("X", x.text), sort, value)


def floor(x: Fraction) -> Fraction:
    return Fraction(math.floor(x))


def ceil(x: Fraction) -> Fraction:
    return Fraction(math.ceil(x))


def divide(x: Fraction, y: Fraction) -> Fraction | None:
    return x / y if y else None


def floor_div(x: Fraction, y: Fraction) -> Fraction | None:
    return floor(x / y) if y else None


def ceil_div(x: Fraction, y: Fraction) -> Fraction | None:
    return ceil(x / y) if y else None


def modulo(x: Fraction, y: Fraction) -> Fraction | None:
    return x - y * math.floor(x / y) if y else None


def column(name: str) -> Exp:
    return Exp(f"<{name}>", SORTS[name], lambda row: row[name])


def figure(text: str, sort: str, value: Fraction) -> Exp:
    return Exp(text, sort, lambda row: value)


BYTES_LITERALS: dict[str, int | Fraction] = {
    "0 B": 0,
    "1 B": 1,
    "0.000000001 B": NANO,
    "8 GiB": 8 * 2**30,
    "1/3 B": Fraction(1, 3),
    "999999999.999999999 B": 10**9 - NANO,
    "1000000000000000000 B": 10**18,
    "-2.5 kB": -2500,
}
RATIO_LITERALS = {
    "20%": Fraction(1, 5),
    "0.92": Fraction(23, 25),
    "34/32": Fraction(17, 16),
    "1/3": Fraction(1, 3),
    "7/9": Fraction(7, 9),
    "1.10": Fraction(11, 10),
    "0": Fraction(0),
    "-0.5": Fraction(-1, 2),
    "1/46340": Fraction(1, 46340),
    "31/32": Fraction(31, 32),
    "99999/100000": Fraction(99999, 100000),
    "0.000000001": NANO,
}

atoms = {
    "bytes": st.one_of(
        st.sampled_from([column(c) for c in "abc"]),
        st.sampled_from(
            [figure(f'"{t}"', "bytes", Fraction(v)) for t, v in BYTES_LITERALS.items()]
        ),
    ),
    "ratio": st.one_of(
        st.sampled_from([column(c) for c in "rs"]),
        st.sampled_from([figure(f'"{t}"', "ratio", v) for t, v in RATIO_LITERALS.items()]),
    ),
    "count": st.one_of(
        st.sampled_from([column(c) for c in "nm"]),
        st.integers(-3, 9).map(lambda n: figure(str(n), "count", Fraction(n))),
        st.sampled_from([figure(str(n), "count", Fraction(n)) for n in (999999999, 65536)]),
    ),
}


@st.composite
def expression(draw: st.DrawFn, sort: str, depth: int) -> Exp:
    """A well-sorted expression of that sort over a row's columns."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(atoms[sort])

    def inner(of: str) -> Exp:
        return draw(expression(of, depth - 1))

    shapes = ["+", "-", "+", "-", "neg", "abs", "*", "\\"]
    if sort == "count":
        shapes += ["floor", "ceil", "floor_div", "ceil_div"]
    else:
        shapes += ["/", "*literal", "/literal", "floor", "ceil"]
    shape = draw(st.sampled_from(shapes))
    if shape in ("+", "-", "\\"):
        of = {"+": operator.add, "-": operator.sub, "\\": modulo}[shape]
        right = "count" if sort == "ratio" and draw(st.booleans()) else sort
        sides = [inner(sort), inner(right)]
        if draw(st.booleans()):
            sides.reverse()
        return both(sides[0], sides[1], sort, shape, of)
    if shape == "neg":
        return one(inner(sort), sort, "-(X)", operator.neg)
    if shape == "abs":
        return one(inner(sort), sort, "|X|", abs)
    if shape in ("floor", "ceil"):
        of_one = floor if shape == "floor" else ceil
        if sort == "ratio":
            return one(inner("count"), "ratio", '(X * "1")', lambda x: x)
        return one(inner("ratio" if sort == "count" else sort), sort, f"@{shape}(X)", of_one)
    if shape in ("floor_div", "ceil_div"):
        of = floor_div if shape == "floor_div" else ceil_div
        alike = draw(st.sampled_from(["bytes", "ratio", "count"]))
        return both(inner(alike), inner(alike), "count", shape, of)
    if shape in ("*literal", "/literal"):
        text = draw(st.sampled_from(sorted(RATIO_LITERALS)))
        factor = figure(f'"{text}"', "ratio", RATIO_LITERALS[text])
        if shape == "/literal":
            return both(inner(sort), factor, sort, "/", divide)
        sides = [inner(sort), factor]
        if draw(st.booleans()):
            sides.reverse()
        return both(sides[0], sides[1], sort, "*", operator.mul)
    if shape == "*":
        other = "count" if sort == "count" else draw(st.sampled_from(["ratio", "count"]))
        sides = [inner(sort), inner(other)]
        if draw(st.booleans()):
            sides.reverse()
        return both(sides[0], sides[1], sort, "*", operator.mul)
    if sort == "ratio":
        alike = draw(st.sampled_from(["bytes", "ratio", "count"]))
        return both(inner(alike), inner(alike), "ratio", "/", divide)
    return both(inner(sort), inner(draw(st.sampled_from(["ratio", "count"]))), sort, "/", divide)


def fits(value: Fraction | None, sort: str) -> bool:
    """Whether a value can be held: within the range of its sort."""
    if value is None:
        return False
    if sort == "count":
        return abs(value) < COUNT_LIMIT
    return abs(value) < LIMIT


def body(text: str, number: int, names: Mapping[str, str]) -> list[str]:
    """The literals that admit an item to a question and bind the columns of its text."""
    used = [c for c in COLUMNS if f"<{c}>" in text]
    return [
        f"use(({names['i']}, {number}))",
        *(f"item({names['i']}, {c}, {names[c]})" for c in used),
    ]


def named(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"<(\w)>", lambda m: names[m.group(1)], text)


NAMES = {"i": "I", **{c: c.upper() for c in COLUMNS}}


@dataclass(frozen=True)
class Question:
    """A value or a comparison asked of every row for which both sides have a value."""

    left: Exp
    op: str = ""
    right: Exp | None = None

    @property
    def sort(self) -> str:
        return self.left.sort if self.right is None else "count"

    def text(self) -> str:
        return self.left.text + (self.right.text if self.right is not None else "")

    def admits(self, row: Row) -> bool:
        sides = [self.left] if self.right is None else [self.left, self.right]
        return all(fits(s.value(row), s.sort) for s in sides)

    def expected(self, row: Row) -> Fraction | None:
        value = self.left.value(row)
        if self.right is None:
            return value
        return ONE if COMPARE[self.op](value, self.right.value(row)) else None

    def rule(self, number: int, names: Mapping[str, str] = NAMES, order: Sequence[int] = ()) -> str:
        literals = body(self.text(), number, names)
        head = "1"
        if self.right is None:
            head = named(self.left.text, names)
        else:
            literals.append(named(f"{self.left.text} {self.op} {self.right.text}", names))
        if order:
            literals = [literals[k % len(literals)] for k in order] + literals
        return f"value(fig, {names['i']}, q{number}, {head}) :- {', '.join(literals)}."


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


@st.composite
def questions(draw: st.DrawFn) -> Question:
    sort = draw(st.sampled_from(["bytes", "bytes", "ratio", "count"]))
    left = draw(expression(sort, draw(st.integers(1, 4))))
    if draw(st.integers(0, 2)):
        return Question(left)
    mixed = {"ratio": ["ratio", "count"], "count": ["count", "ratio"], "bytes": ["bytes"]}[sort]
    right = draw(expression(draw(st.sampled_from(mixed)), draw(st.integers(0, 3))))
    return Question(left, draw(st.sampled_from(sorted(COMPARE))), right)


def ask(
    asked: Sequence[Question],
    rows: Sequence[Row],
    rules: Sequence[str] = (),
    cells: Sequence[Mapping[str, object]] = (),
) -> list[str]:
    """Where the engine's answers to the questions are not what fractions say."""
    uses = [
        {"item": f"i{k}", "number": n}
        for k, row in enumerate(rows)
        for n, q in enumerate(asked)
        if q.admits(row)
    ]
    wanted = {
        f"i{k}": {
            f"q{n}": value
            for n, q in enumerate(asked)
            if q.admits(row) and (value := q.expected(row)) is not None
        }
        for k, row in enumerate(rows)
    }
    values = {f"q{n}": q.sort for n, q in enumerate(asked)}
    text = "\n".join(rules or [q.rule(n) for n, q in enumerate(asked)])
    with TemporaryDirectory() as folder:
        policy = load(
            Path(folder), TABLES, fig(text, values), {"item": cells or items(rows), "use": uses}
        )
        found = figures(policy)
        assert dumped(policy) == concluded(policy)
    return [
        f"{asked[n].rule(n)} {shown(row)}: {found[i].get(q)}, not {wanted[i].get(q)}"
        for k, row in enumerate(rows)
        for n in range(len(asked))
        for i, q in [(f"i{k}", f"q{n}")]
        if found[i].get(q) != wanted[i].get(q)
    ]


def shown(row: Row) -> str:
    return ", ".join(f"{c} = {v}" for c, v in row.items())


@settings(QUICK, max_examples=110)
@given(st.lists(questions(), min_size=8, max_size=8), rows_of(rationals))
def test_random_expressions_and_comparisons(asked: list[Question], rows: list[Row]) -> None:
    assert ask(asked, rows) == []


@settings(QUICK, max_examples=40)
@given(st.lists(questions(), min_size=8, max_size=8), rows_of(decimals))
def test_random_expressions_over_nine_decimals(asked: list[Question], rows: list[Row]) -> None:
    assert ask(asked, rows) == []


TRICKY = [
    *("X", "E", "T", "N", "H", "M", "R", "K", "V", "Xt"),
    *("E1", "C1", "X1", "Xc", "Xa", "I"),
]


@settings(QUICK, max_examples=25)
@given(
    st.lists(questions(), min_size=4, max_size=4),
    rows_of(decimals, most=4),
    st.permutations(TRICKY),
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
)
def test_names_order_and_repetition_do_not_matter(
    asked: list[Question], rows: list[Row], names: list[str], order: list[int]
) -> None:
    renamed = dict(zip(("i", *COLUMNS), names, strict=False))
    rules = [q.rule(n, renamed, order) for n, q in enumerate(asked)]
    rules = [*reversed(rules), rules[0]]
    assert ask(asked, rows, rules, list(reversed(items(rows)))) == []


def in_unit(value: Fraction, size: int, unit: str) -> str:
    scaled = value / size
    return f"{scaled.numerator}/{scaled.denominator} {unit}"


@settings(QUICK, max_examples=20)
@given(
    st.lists(questions(), min_size=4, max_size=4),
    rows_of(st.integers(-(10**12), 10**12).map(Fraction), most=4),
    st.sampled_from([(2**30, "GiB"), (2**10, "KiB"), (1000, "kB"), (10**12, "TB"), (1, "B")]),
)
def test_the_unit_a_figure_is_written_in_does_not_matter(
    asked: list[Question], rows: list[Row], unit: tuple[int, str]
) -> None:
    cells = items(rows)
    for cell, row in zip(cells, rows, strict=True):
        for name in "abc":
            cell[name] = in_unit(row[name], *unit)
    assert ask(asked, rows, (), cells) == []


# --- several expressions that limbs cannot do, in one rule ---------------------------------------

REST = "item(I, a, A), item(I, b, B), item(I, r, R), item(I, n, N)"


@settings(QUICK, max_examples=15)
@given(rows_of(st.integers(-(10**9), 10**9).map(lambda n: n * NANO)))
def test_several_expressions_in_one_rule(rows: list[Row]) -> None:
    """None waits for another, whichever atoms bind their variables."""
    rows = [{**row, "n": row["n"] or ONE, "r": row["r"] / 10**9} for row in rows]
    shapes: dict[str, Callable[[Fraction, Fraction, Fraction, Fraction], bool]] = {
        "A * R < B * R": lambda a, b, r, n: a * r < b * r,
        "A * R < B / N": lambda a, b, r, n: a * r < b / n,
        "X = A * R, Y = B / N, X >= Y": lambda a, b, r, n: a * r >= b / n,
        "X = A * R, Y = X / N, Y != B": lambda a, b, r, n: a * r / n != b,
        "A * R > B, A / N > B": lambda a, b, r, n: a * r > b and a / n > b,
        "not A * R > B / N": lambda a, b, r, n: not a * r > b / n,
        "X = A * R, Y = B * R, Z = X * N - Y * N, Z <= A / N": lambda a, b, r, n: (
            a * r * n - b * r * n <= a / n
        ),
        "#max { A * R; B / N } = B / N": lambda a, b, r, n: max(a * r, b / n) == b / n,
        "|A * R| <= |B / N|, |A - B| >= @floor(A / N)": lambda a, b, r, n: (
            abs(a * r) <= abs(b / n) and abs(a - b) >= math.floor(a / n)
        ),
    }
    rules = "\n".join(f"value(fig, I, q{k}, 1) :- {REST}, {t}." for k, t in enumerate(shapes))
    rules += f"\nvalue(fig, I, x, A * R + B / N) :- {REST}."
    rules += f"\nvalue(fig, I, y, X + Y) :- {REST}, X = A * R, Y = B / N."
    found = solve(
        rules, items(rows), **{f"q{k}": "count" for k in range(len(shapes))}, x="bytes", y="bytes"
    )
    for number, row in enumerate(rows):
        a, b, r, n = (row[c] for c in "abrn")
        wanted = {f"q{k}": ONE for k, holds in enumerate(shapes.values()) if holds(a, b, r, n)}
        assert found[f"i{number}"] == wanted | {"x": a * r + b / n, "y": a * r + b / n}


# --- chains, written as people write them --------------------------------------------------------


@st.composite
def chains(draw: st.DrawFn) -> Question:
    """Two to eight operands joined by + and -, some of them grouped, some of them products."""
    count = draw(st.integers(2, 8))
    parts = []
    for _ in range(count):
        part = draw(atoms["bytes"])
        shape = draw(st.integers(0, 5))
        if shape == 0:
            factor = draw(atoms["ratio"])
            part = Exp(f"{factor.text} * {part.text}", "bytes", product_of(factor, part))
        elif shape == 1:
            part = both(part, draw(atoms["bytes"]), "bytes", "-", operator.sub)
        elif shape == 2 and part.text.startswith("<"):
            part = one(part, "bytes", "|X|", abs)
        parts.append(part)
    signs = draw(st.lists(st.sampled_from("+-"), min_size=count - 1, max_size=count - 1))
    text = parts[0].text + "".join(f" {s} {p.text}" for s, p in zip(signs, parts[1:], strict=True))

    def value(row: Row) -> Fraction | None:
        total = parts[0].value(row)
        for sign, part in zip(signs, parts[1:], strict=True):
            inner = part.value(row)
            assert total is not None
            assert inner is not None
            total = total + inner if sign == "+" else total - inner
        return total

    return Question(Exp(text, "bytes", value))


def product_of(x: Exp, y: Exp) -> Compute:
    def value(row: Row) -> Fraction | None:
        one, other = x.value(row), y.value(row)
        assert one is not None
        assert other is not None
        return one * other

    return value


@settings(QUICK, max_examples=25)
@given(st.lists(chains(), min_size=6, max_size=6), rows_of(decimals))
def test_chains_of_sums_and_differences(asked: list[Question], rows: list[Row]) -> None:
    assert ask(asked, rows) == []


@settings(QUICK, max_examples=25)
@given(rows_of(rationals))
def test_every_comparison_with_ties_and_neighbours(rows: list[Row]) -> None:
    pairs = [("a", "b"), ("r", "s"), ("n", "m"), ("n", "r"), ("r", "m")]
    asked = [Question(column(x), op, column(y)) for x, y in pairs for op in COMPARE]
    asked += [Question(column("a"), op, column("a")) for op in COMPARE]
    assert ask(asked, rows) == []


@settings(QUICK, max_examples=25)
@given(rows_of(rationals))
def test_rates_times_and_data(rows: list[Row]) -> None:
    def of(left: str, sign: str, right: str, sort: str, size: Fraction) -> Exp:
        base = {"*": operator.mul, "/": divide}[sign]

        def scaled(x: Fraction, y: Fraction) -> Fraction | None:
            found = base(x, y)
            return None if found is None else found * size

        return both(column(left), column(right), sort, sign, scaled)

    asked = [
        Question(of("a", "/", "v", "milliseconds", Fraction(1000))),
        Question(of("a", "/", "w", "milliseconds", Fraction(8000))),
        Question(of("v", "*", "t", "bytes", Fraction(1, 1000))),
        Question(of("t", "*", "v", "bytes", Fraction(1, 1000))),
        Question(of("w", "*", "t", "bytes", Fraction(1, 8000))),
        Question(of("a", "/", "t", "bytes_per_second", Fraction(1000))),
        Question(of("v", "/", "w", "ratio", Fraction(8))),
        Question(of("w", "/", "v", "ratio", Fraction(1, 8))),
        Question(of("v", "/", "r", "bytes_per_second", ONE)),
        Question(of("n", "*", "w", "bits_per_second", ONE)),
        Question(of("t", "/", "t", "ratio", ONE)),
    ]
    asked = [Question(q.left) for q in asked]
    assert ask(asked, rows) == []


# --- aggregates ----------------------------------------------------------------------------------

EACH = "item(J, a, A), item(J, b, B)"
small = st.one_of(
    st.integers(-4, 4).map(Fraction), st.fractions(-3, 3, max_denominator=6), decimals
)
PURE = (ONE / 5, ONE / 3, ONE, -ONE, ONE * 0, ONE * 17 / 16, -ONE / 2, 7 * NANO)


FIGURES = {"count": counts, "ratio": st.sampled_from(PURE)}


def table(*columns: str, least: int = 1, most: int = 8) -> st.SearchStrategy[list[Row]]:
    """Rows with these columns alone, of which many hold the same figures."""
    row: st.SearchStrategy[dict[str, Fraction]] = st.fixed_dictionaries(
        {c: FIGURES.get(SORTS[c], small) for c in columns}
    )
    return st.lists(row, min_size=least, max_size=most)


def alike(found: Figures, name: str) -> Fraction | None:
    """The one figure that every item has, or None where none has one."""
    values = {f.get(name) for f in found.values()}
    assert len(values) == 1
    return values.pop()


@settings(QUICK, max_examples=40)
@given(table("a", "b", "r"))
def test_sums(rows: list[Row]) -> None:
    rules = "\n".join(
        f"value(fig, I, {name}, S) :- item(I), S = #sum {{ {elements} }}."
        for name, elements in {
            "each": f"A, J : {EACH}",
            "set": f"A : {EACH}",
            "difference": f"A - B, J : {EACH}",
            "differences": f"A - B : {EACH}",
            "defined": f"D, J : {EACH}, D = A - B",
            "product": f"A * R, J : {EACH}, item(J, r, R)",
            "products": f"A * R : {EACH}, item(J, r, R)",
            "scaled": f'A * "20%", J : {EACH}',
            "third": f"A / 3, J : {EACH}",
            "several": "A, J : item(J, a, A); B, J : item(J, b, B)",
            "tagged": "A, 0, J : item(J, a, A); -B, 1, J : item(J, b, B)",
            "over": f'A, J : {EACH}, A > B; "1 B", J, K : item(J), item(K)',
            "none": f"A, J : {EACH}, A < B, B < A",
        }.items()
    )
    rules += "\nvalue(fig, I, rest, S) :- item(I), S = #sum { A, J : item(J, a, A), J != I }."
    rules += "\nvalue(fig, I, more, S) :- item(I, a, X), S = #sum { A, J : item(J, a, A), A > X }."
    rules += (
        "\nvalue(fig, I, shifted, S) :- item(I, b, X), S = #sum { A - X, J : item(J, a, A) }."
        "\nvalue(fig, I, shares, S) :- item(I, r, X), S = #sum { A * X, J : item(J, a, A) }."
        "\nvalue(fig, I, both, S) :- T = #sum { A, J : item(J, a, A) }, item(I, b, B),"
        " S = #sum { T, J : item(J); B }."
        "\nvalue(fig, I, within, 1) :- item(I, a, A), item(I, b, B),"
        " A <= #sum { X, J : item(J, b, X) }, #sum { X : item(_, a, X) } > B."
    )
    pairs = [(row["a"], row["b"]) for row in rows]
    triples = [(row["a"], row["b"], row["r"]) for row in rows]
    names = re.findall(r"value\(fig, I, (\w+)", rules)
    found = solve(rules, items(rows), **{n: "count" if n == "within" else "bytes" for n in names})
    zero = Fraction(0)
    same = {
        "each": sum((a for a, _ in pairs), zero),
        "set": sum({a for a, _ in pairs}, zero),
        "difference": sum((a - b for a, b in pairs), zero),
        "differences": sum({a - b for a, b in pairs}, zero),
        "defined": sum((a - b for a, b in pairs), zero),
        "product": sum((a * r for a, _, r in triples), zero),
        "products": sum({a * r for a, _, r in triples}, zero),
        "scaled": sum((a / 5 for a, _ in pairs), zero),
        "third": sum((a / 3 for a, _ in pairs), zero),
        "several": sum((f for a, b in pairs for f in {a, b}), zero),
        "tagged": sum((a - b for a, b in pairs), zero),
        "over": sum((a for a, b in pairs if a > b), zero) + len(rows) ** 2,
        "none": zero,
    }
    assert {n: alike(found, n) for n in same} == same
    for number, (a, b, r) in enumerate(triples):
        figures_of = found[f"i{number}"]
        others = [x for k, (x, _) in enumerate(pairs) if k != number]
        assert figures_of["rest"] == sum(others, zero)
        assert figures_of["more"] == sum((x for x, _ in pairs if x > a), zero)
        assert figures_of["shifted"] == sum((x - b for x, _ in pairs), zero)
        assert figures_of["shares"] == sum((x * r for x, _ in pairs), zero)
        # A set: the element of B alone is none of the pairs.
        assert figures_of["both"] == len(rows) * same["each"] + b
        within = a <= sum((x for _, x in pairs), zero) and same["set"] > b
        assert figures_of.get("within") == (ONE if within else None)


@settings(QUICK, max_examples=1)
@given(st.integers(0, 2**32))
def test_a_sum_of_ten_thousand_terms(seed: int) -> None:
    draw = Random(seed).randint
    edge = 10**27
    rows = [{"a": draw(-edge, edge) * NANO, "b": draw(-edge, edge) * NANO} for _ in range(10_000)]
    rows[5000:5010] = rows[:10]
    rules = (
        'value(fig, "i0", each, S) :- S = #sum { A, J : item(J, a, A) }.'
        'value(fig, "i0", set, S) :- S = #sum { A : item(J, a, A) }.'
        'value(fig, "i0", difference, S) :- S = #sum { A - B, J : item(J, a, A), item(J, b, B) }.'
    )
    found = solve(rules, items(rows), each="bytes", set="bytes", difference="bytes")["i0"]
    zero = Fraction(0)
    assert found == {
        "each": sum((row["a"] for row in rows), zero),
        "set": sum({row["a"] for row in rows}, zero),
        "difference": sum((row["a"] - row["b"] for row in rows), zero),
    }


@settings(QUICK, max_examples=30)
@given(table("a", "b", "r", "n"))
def test_extrema(rows: list[Row]) -> None:
    shapes = {
        "least": "#min { A, J : item(J, a, A) }",
        "most": "#max { A : item(J, a, A) }",
        "mixed": "#max { A : item(_, a, A); B : item(_, b, B) }",
        "gap": f"#min {{ A - B, J : {EACH} }}",
        "share": f"#max {{ A * R : {EACH}, item(J, r, R) }}",
        "third": f"#min {{ A / 3 : {EACH} }}",
    }
    rules = "\n".join(
        f"value(fig, I, {name}, S) :- item(I), S = {text}." for name, text in shapes.items()
    )
    rules += (
        "\nvalue(fig, I, count, S) :- item(I), S = #max { N, J : item(J, n, N) }."
        "\nvalue(fig, I, given, S) :- item(I, a, A), item(I, b, B), S = #max { A; B; A - B }."
        "\nvalue(fig, I, floor, S) :- item(I, a, A), item(I, b, B), item(I, r, R),"
        ' S = #min { R * A; B; "1/3 B" }.'
        "\nvalue(fig, I, above, S) :- item(I, a, X), S = #min { A : item(_, a, A), A >= X }."
        "\nvalue(fig, I, held, 1) :- item(I, a, A), item(I, b, B), #max { A; B / 7 } <= A."
        "\nvalue(fig, I, top, 1) :- item(I, a, A), A = #max { X : item(_, a, X) }."
    )
    names = re.findall(r"value\(fig, I, (\w+)", rules)
    sorts = {n: "count" if n in ("count", "held", "top") else "bytes" for n in names}
    found = solve(rules, items(rows), **sorts)
    everything = [(row["a"], row["b"], row["r"]) for row in rows]
    assert {n: alike(found, n) for n in (*shapes, "count")} == {
        "least": min(a for a, _, _ in everything),
        "most": max(a for a, _, _ in everything),
        "mixed": max(max(a, b) for a, b, _ in everything),
        "gap": min(a - b for a, b, _ in everything),
        "share": max(a * r for a, _, r in everything),
        "third": min(a / 3 for a, _, _ in everything),
        "count": max(row["n"] for row in rows),
    }
    for number, (a, b, r) in enumerate(everything):
        figures_of = found[f"i{number}"]
        assert figures_of["given"] == max(a, b, a - b)
        assert figures_of["floor"] == min(r * a, b, Fraction(1, 3))
        assert figures_of["above"] == a
        assert figures_of.get("held") == (ONE if b / 7 <= a else None)
        assert figures_of.get("top") == (ONE if a == max(x for x, _, _ in everything) else None)


@settings(QUICK, max_examples=30)
@given(table("a", "b", "r"))
def test_counts_of_sets(rows: list[Row]) -> None:
    shapes = {
        "pairs": f"A, B : {EACH}",
        "values": "A : item(_, a, A)",
        "mixed": "A : item(_, a, A); B : item(_, b, B)",
        "thirds": "A : item(_, a, A); D : item(_, b, B), D = B / 3",
        "shares": f"Q : {EACH}, item(J, r, R), Q = A * R; B : item(_, b, B)",
        "close": f'J : {EACH}, |A - B| <= "1 B"',
        "none": f"J : {EACH}, A != A",
    }
    rules = "\n".join(
        f"value(fig, I, {name}, S) :- item(I), S = #count {{ {text} }}."
        for name, text in shapes.items()
    )
    rules += (
        "\nvalue(fig, I, rank, S) :- item(I, a, X), S = #count { J : item(J, a, A), A < X }."
        "\nvalue(fig, I, tagged, S) :- item(I), S = #sum { 1, A : item(_, a, A);"
        " 1, D : item(_, b, B), D = B / 3 }."
    )
    names = re.findall(r"value\(fig, I, (\w+)", rules)
    found = solve(rules, items(rows), **dict.fromkeys(names, "count"))
    a, b = [row["a"] for row in rows], [row["b"] for row in rows]
    thirds = {*a, *(x / 3 for x in b)}
    products = {row["a"] * row["r"] for row in rows}
    close = [x for x, y in zip(a, b, strict=True) if abs(x - y) <= 1]
    wanted = {
        "pairs": len(set(zip(a, b, strict=True))),
        "values": len(set(a)),
        "mixed": len({*a, *b}),
        "thirds": len(thirds),
        "shares": len({*products, *b}),
        "close": len(close),
        "none": 0,
        "tagged": len(thirds),
    }
    assert {n: alike(found, n) for n in wanted} == wanted
    for number, x in enumerate(a):
        assert found[f"i{number}"]["rank"] == sum(1 for y in a if y < x)


@settings(QUICK, max_examples=30)
@given(table("a", "b", "c"))
def test_conditional_literals_and_negated_conditions(rows: list[Row]) -> None:
    """A chain is one condition, negated or not, and so are an aggregate's two bounds."""
    asked = {
        "chain": "A < B < C",
        "not_not": "not not A < B",
        "every": 'A - "1 B" <= X : item(_, a, X)',
        "every_chain": "A < X < C : item(_, b, X)",
        "every_third": 'A / 3 <= X : item(_, b, X), X >= "0 B"',
        "every_pair": "(A, B) = (X, Y) : item(J, a, X), item(J, b, Y)",
        "no_pair": "(A, B) != (Y, X) : item(J, a, X), item(J, b, Y)",
        "bounds": '"0 B" <= #sum { X, J : item(J, a, X) } <= C',
        "not_count": "not 2 <= #count { J : item(J, a, X), X > A }",
        "not_least": "not #min { X : item(_, a, X) } = A",
    }
    rules = "\n".join(
        f"value(fig, I, {name}, 1) :- item(I, a, A), item(I, b, B), item(I, c, C), {text}."
        for name, text in asked.items()
    )
    found = solve(rules, items(rows), **dict.fromkeys(asked, "count"))
    every = [(row["a"], row["b"], row["c"]) for row in rows]
    total = sum((x for x, _, _ in every), Fraction(0))
    for number, (a, b, c) in enumerate(every):
        truth = {
            "chain": a < b < c,
            "not_not": a < b,
            "every": all(a - 1 <= x for x, _, _ in every),
            "every_chain": all(a < y < c for _, y, _ in every),
            "every_third": all(a / 3 <= y for _, y, _ in every if y >= 0),
            "every_pair": all((a, b) == (x, y) for x, y, _ in every),
            "no_pair": all((a, b) != (y, x) for x, y, _ in every),
            "bounds": 0 <= total <= c,
            "not_count": not sum(1 for x, _, _ in every if x > a) >= 2,
            "not_least": min(x for x, _, _ in every) != a,
        }
        assert set(found[f"i{number}"]) == {n for n, holds in truth.items() if holds}


# --- figures of more than nine decimals, beside figures of fewer ---------------------------------

QUOTIENT = declared("quotient", Item="item", Q="ratio")
GIVEN = declared("given", Item="item", R="ratio")
DERIVE = """
quotient(I, A / B) :- item(I, a, A), item(I, b, B), B != "0 B".
given(I, R) :- item(I, r, R).
"""
tiny = st.integers(-3, 3).map(Fraction)
modest = st.one_of(tiny, st.fractions(-9, 9, max_denominator=9), st.just(1000 * NANO))


APART = {
    "tuples": ("pair", "no_pair", "not_pair"),
    "negated": ("unmatched", "not_shifted", "not_third", "not_column"),
    "pools": ("among", "among_them", "either"),
    "matched": ("matched", "scaled", "shifted", "third", "column"),
}


@pytest.mark.parametrize("kind", ["atoms", *APART])
@settings(QUICK, max_examples=10)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"a": tiny, "b": st.sampled_from([1, 1, 2, 3, -3]).map(Fraction), "r": tiny, "n": tiny}
        ),
        min_size=2,
        max_size=6,
    )
)
def test_fractions_meet_decimals(kind: str, rows: list[Row]) -> None:
    shapes: dict[str, tuple[str, Callable[[Fraction, Fraction], bool]]] = {
        "join": ("quotient(I, X), given(I, X)", operator.eq),
        "equal": ("quotient(I, X), given(I, Y), X = Y", operator.eq),
        "unequal": ("quotient(I, X), given(I, Y), X != Y", operator.ne),
        "less": ("quotient(I, X), given(I, Y), X < Y", operator.lt),
        "most": ("quotient(I, X), given(I, Y), Y >= X", operator.le),
        "absent": ("quotient(I, X), not given(I, X)", operator.ne),
        "present": ("quotient(I, X), not not given(I, X)", operator.eq),
        "untold": ("given(I, Y), not quotient(I, Y)", operator.ne),
        "pair": ("quotient(I, X), given(I, Y), (X, I) = (Y, I)", operator.eq),
        "no_pair": ("quotient(I, X), given(I, Y), (X, I) != (Y, I)", operator.ne),
        "not_pair": ("quotient(I, X), given(I, Y), not (X, I) = (Y, I)", operator.ne),
        "matched": ("item(I, a, A), item(I, b, B), given(I, A / B)", operator.eq),
        "unmatched": ("item(I, a, A), item(I, b, B), not given(I, A / B)", operator.ne),
        "scaled": ("quotient(I, X), given(I, 3 * X)", lambda q, r: r == 3 * q),
        "shifted": ("quotient(I, X), given(I, X + 1)", lambda q, r: r == q + 1),
        "not_shifted": ("quotient(I, X), not given(I, X - 1)", lambda q, r: r != q - 1),
        "third": ("given(I, X), quotient(I, X / 3)", lambda q, r: q == r / 3),
        "not_third": ("given(I, X), not quotient(I, X / 3)", lambda q, r: q != r / 3),
        "literal": ('quotient(I, "1/3")', lambda q, r: q == Fraction(1, 3)),
        "not_literal": ('item(I), not given(I, "1/3")', lambda q, r: True),
        "one": ('quotient(I, "1")', lambda q, r: q == 1),
        "among": (
            'quotient(I, X), X = ("1"; "2/3"; "-1/3")',
            lambda q, r: q in (1, Fraction(2, 3), Fraction(-1, 3)),
        ),
        "among_them": ('quotient(I, ("1"; "2/3"))', lambda q, r: q in (1, Fraction(2, 3))),
        "either": ('quotient(I, X), given(I, Y), Z = (X; Y), Z > "1"', lambda q, r: max(q, r) > 1),
        "same": ("quotient(I, X), given(I, X) : item(I)", operator.eq),
        "largest": ("quotient(I, X), given(I, Y), #max { X; Y } = Y", operator.le),
        "column": ("item(I, a, A), item(I, b, B), item(I, r, A / B)", operator.eq),
        "not_column": ("item(I, a, A), item(I, b, B), not item(I, r, A / B)", operator.ne),
        "wholes": ("quotient(I, X), item(I, n, N), X <= N", lambda q, r: True),
    }
    others = {n for k, names in APART.items() if k != kind for n in names}
    chosen = set(shapes) - others if kind == "atoms" else set(APART[kind])
    shapes = {n: shape for n, shape in shapes.items() if n in chosen}
    rules = DERIVE + "\n".join(
        f"value(fig, I, {name}, 1) :- {text}." for name, (text, _) in shapes.items()
    )
    found = solve(rules, items(rows), [QUOTIENT, GIVEN], **dict.fromkeys(shapes, "count"))
    for number, row in enumerate(rows):
        q, r = row["a"] / row["b"], row["r"]
        wanted = {n for n, (_, holds) in shapes.items() if holds(q, r)}
        if not q <= row["n"]:
            wanted.discard("wholes")
        assert set(found[f"i{number}"]) == wanted


@settings(QUICK, max_examples=25)
@given(
    st.lists(
        st.fixed_dictionaries({"a": modest, "b": modest.filter(bool), "r": st.sampled_from(PURE)}),
        min_size=2,
        max_size=5,
    )
)
def test_composite_terms_carry_figures(rows: list[Row]) -> None:
    """Forms, tuples and composite keys hold figures of any number of decimals, and match."""
    predicates = [
        declared("cut", Item="item", Span="span"),
        declared("told", Item="item", Span="span"),
        declared("twin", Item="item", Pair="(bytes, item)"),
        declared("held", Item="item", Pair="(bytes, item)"),
    ]
    rules = """
    cut(I, part(A, A / B)) :- item(I, a, A), item(I, b, B).
    cut(I, S) :- item(I, a, A), item(I, b, B), S = part(B, B / A), A != "0 B".
    told(I, part(A, R)) :- item(I, a, A), item(I, r, R).
    told(I, whole) :- item(I).
    twin(I, (A / 3, I)) :- item(I, a, A).
    twin(I, T) :- item(I, b, B), T = (B / 3, I).
    held(I, (B, I)) :- item(I, b, B).
    value(fig, I, part, S) :- item(I), S = #max { R : cut(I, part(_, R)) }.
    value(fig, I, size, S) :- item(I), S = #sum { A, R : cut(I, part(A, R)) }.
    value(fig, I, taken, S) :- item(I), S = #max { R, A : cut(I, T), T = part(A, R) }.
    value(fig, I, shared, 1) :- cut(I, S), told(I, S).
    value(fig, I, apart, 1) :- told(I, S), S != whole, not cut(I, S).
    value(fig, I, equal, 1) :- cut(I, S), told(I, T), S = T.
    value(fig, I, kinds, N) :- item(I), N = #count { S : cut(I, S); T : told(I, T) }.
    value(fig, I, all, N) :- item(I), N = #count { S : cut(_, S); T : told(_, T) }.
    value(fig, I, twins, S) :- item(I), S = #sum { X : twin(I, (X, _)) }.
    value(fig, I, holds, 1) :- twin(I, T), held(I, T).
    value(fig, I, opened, 1) :- twin(I, T), T = (X, _), X < "0 B".
    value(fig, I, equals, 1) :- twin(I, T), held(I, U), T = U.
    value(fig, I, built, 1) :- item(I, a, A), twin(I, T), T = (A, I).
    """
    pieces = [
        {"item": f"i{k}", "size": size, "share": size / 7}
        for k, row in enumerate(rows)
        for size in {abs(row["a"]), abs(row["b"]) / 3}
    ]
    rules += """
    value(fig, I, keyed, S) :- item(I), S = #sum { X * R, X : piece((I, X), share, R) }.
    value(fig, I, known, 1) :- item(I, a, A), piece((I, A)).
    value(fig, I, unknown, 1) :- item(I, a, A), not piece((I, A)).
    value(fig, I, under, 1) :- item(I, b, B), piece((I, B / 3)).
    """
    counted = ("shared", "apart", "equal", "kinds", "all", "holds", "opened", "equals", "built")
    sorts = dict.fromkeys((*counted, "known", "unknown", "under"), "count") | {
        "part": "ratio",
        "taken": "ratio",
        "size": "bytes",
        "twins": "bytes",
        "keyed": "bytes",
    }
    found = solve(rules, items(rows), predicates, pieces, **sorts)
    cuts = [
        {(a, a / b), (b, b / a)} if a else {(a, a / b)}
        for a, b in ((row["a"], row["b"]) for row in rows)
    ]
    told = [(row["a"], row["r"]) for row in rows]
    every = len(set().union(*cuts, told)) + 1
    for number, row in enumerate(rows):
        a, b, r = row["a"], row["b"], row["r"]
        cut, twins = cuts[number], {a / 3, b / 3}
        shares = {abs(a), abs(b) / 3}
        wanted: dict[str, object] = {
            "part": max(q for _, q in cut),
            "taken": max(q for _, q in cut),
            "size": sum((x for x, _ in cut), Fraction(0)),
            "twins": sum(twins, Fraction(0)),
            "kinds": len(cut | {(a, r)}) + 1,
            "all": every,
            "keyed": sum((x * x / 7 for x in shares), Fraction(0)),
        }
        truth = {
            "shared": (a, r) in cut,
            "equal": (a, r) in cut,
            "apart": (a, r) not in cut,
            "holds": b in twins,
            "equals": b in twins,
            "opened": min(twins) < 0,
            "built": a in twins,
            "known": a in shares,
            "unknown": a not in shares,
            "under": b / 3 in shares,
        }
        wanted |= {n: ONE for n, holds in truth.items() if holds}
        assert found[f"i{number}"] == wanted


WALK = declared("walk", Item="item", N="count", S="bytes")


@settings(QUICK, max_examples=20)
@given(st.lists(st.lists(st.one_of(decimals, small), max_size=9), min_size=1, max_size=4))
def test_a_walk_along_positions(lists: list[list[Fraction]]) -> None:
    """Recursion carries a running total, whole or divided, exactly from step to step."""
    steps = {
        "plain": "S + V",
        "third": "S / 3 + V",
        "fifth": 'S * "20%" - V',
        "mean": "(S + V) / 2",
    }
    for step in steps.values():
        rules = f"""
        walk(I, 0, V) :- item(I, sizes, (0, V)).
        walk(I, N + 1, {step}) :- walk(I, N, S), item(I, sizes, (N + 1, V)).
        value(fig, I, last, S) :- walk(I, N, S), N = #max {{ M : walk(I, M, _) }}.
        value(fig, I, all, T) :- item(I), T = #sum {{ S, N : walk(I, N, S) }}.
        """
        rows = [{"item": f"i{k}", "sizes": sizes} for k, sizes in enumerate(lists)]
        found = solve(rules, rows, [WALK], last="bytes", all="bytes")
        for number, sizes in enumerate(lists):
            totals: list[Fraction] = []
            for v in sizes:
                totals.append(v if not totals else follow(step, totals[-1], v))
            wanted = {"all": sum(totals, Fraction(0))}
            if totals:
                wanted["last"] = totals[-1]
            assert found[f"i{number}"] == wanted


def follow(step: str, s: Fraction, v: Fraction) -> Fraction:
    return {
        "S + V": s + v,
        "S / 3 + V": s / 3 + v,
        'S * "20%" - V': s / 5 - v,
        "(S + V) / 2": (s + v) / 2,
    }[step]


@settings(QUICK, max_examples=20)
@given(table("a", "b", "r", "n", most=5))
def test_figures_keep_their_value_over_several_rules(rows: list[Row]) -> None:
    predicates = [
        declared("half", Item="item", X="bytes"),
        declared("mixed", Item="item", X="bytes"),
        declared("back", Item="item", X="bytes"),
        declared("share", Item="item", R="ratio"),
    ]
    rules = """
    half(I, A / 7) :- item(I, a, A).
    half(I, B) :- item(I, b, B).
    mixed(I, X * R - "1/9 B") :- half(I, X), item(I, r, R).
    mixed(I, X) :- half(I, X), not mixed_out(I).
    back(I, X * 63) :- mixed(I, X).
    share(I, N * "1") :- item(I, n, N).
    share(I, R / 3) :- item(I, r, R).
    mixed_out(I) :- item(I, n, N), N > 3.
    value(fig, I, sum, S) :- item(I), S = #sum { X : back(I, X) }.
    value(fig, I, count, S) :- item(I), S = #count { X : mixed(I, X) }.
    value(fig, I, least, S) :- item(I), S = #min { X : back(I, X) }.
    value(fig, I, share, S) :- item(I), S = #sum { X : share(I, X) }.
    value(fig, I, whole, 1) :- share(I, X), item(I, n, N), X = N.
    """
    predicates.append(declared("mixed_out", Item="item"))
    found = solve(
        rules,
        items(rows),
        predicates,
        sum="bytes",
        count="count",
        least="bytes",
        share="ratio",
        whole="count",
    )
    for number, row in enumerate(rows):
        a, b, r, n = (row[c] for c in "abrn")
        half = {a / 7, b}
        mixed = {x * r - Fraction(1, 9) for x in half} | (half if n <= 3 else set())
        back = {x * 63 for x in mixed}
        assert found[f"i{number}"] == {
            "sum": sum(back, Fraction(0)),
            "count": len(mixed),
            "least": min(back),
            "share": sum({n, r / 3}, Fraction(0)),
            "whole": 1,
        }


# --- past the range ------------------------------------------------------------------------------

DOUBLED = "X0 = A + A, " + ", ".join(f"X{k + 1} = X{k} + X{k}" for k in range(20))
OVERFLOWS = {
    "sum": ("bytes", f'value(fig, I, x, A + "{HUGE}") :- item(I, a, A).'),
    "difference": ("bytes", f'value(fig, I, x, -A - "{HUGE}") :- item(I, a, A).'),
    "negated": ("bytes", f'value(fig, I, x, -(A + "{HUGE}")) :- item(I, a, A).'),
    "product": ("bytes", "value(fig, I, x, A * R) :- item(I, a, A), item(I, r, R)."),
    "quotient": ("bytes", 'value(fig, I, x, A / "0.000000001") :- item(I, a, A).'),
    "time": ("milliseconds", "value(fig, I, x, A / V) :- item(I, a, A), item(I, v, V)."),
    "equation": ("bytes", f'value(fig, I, x, X) :- item(I, a, A), X = A + "{HUGE}".'),
    "renamed": ("bytes", f'value(fig, I, x, Y) :- item(I, a, A), X = A + "{HUGE}", Y = X.'),
    "reversed": ("bytes", f'value(fig, I, x, Y) :- item(I, a, A), A + "{HUGE}" = X, X = Y.'),
    "pair": ("bytes", f'value(fig, I, x, X) :- item(I, a, A), (X, I) = (A + "{HUGE}", I).'),
    "largest": ("bytes", f'value(fig, I, x, X) :- item(I, a, A), X = #max {{ A + "{HUGE}"; A }}.'),
    "largest_of": (
        "bytes",
        f'value(fig, I, x, X) :- item(I), X = #max {{ A + "{HUGE}" : item(I, a, A) }}.',
    ),
    "least_of": (
        "bytes",
        f'value(fig, I, x, X) :- item(I), X = #min {{ -A - "{HUGE}", J : item(J, a, A) }}.',
    ),
    "total": (
        "bytes",
        f'value(fig, I, x, X) :- item(I), X = #sum {{ A, J : item(J, a, A); "{HUGE}" }}.',
    ),
    "total_of": (
        "bytes",
        f'value(fig, I, x, X) :- item(I), X = #sum {{ A + "{HUGE}", J : item(J, a, A) }}.',
    ),
    "doubled": ("bytes", f"value(fig, I, x, X20) :- item(I, b, A), {DOUBLED}."),
    "doubled_over": ("count", f"value(fig, I, x, 1) :- item(I, b, A), {DOUBLED}, X20 > A."),
    "count": ("count", "value(fig, I, x, N + M) :- item(I, n, N), item(I, m, M)."),
    "count_literal": ("count", "value(fig, I, x, N + 999999999) :- item(I, n, N)."),
    "count_product": ("count", "value(fig, I, x, N * M) :- item(I, n, N), item(I, m, M)."),
    "count_negative": ("count", "value(fig, I, x, -N - M) :- item(I, n, N), item(I, m, M)."),
    "count_renamed": (
        "count",
        "value(fig, I, x, Y) :- item(I, n, N), item(I, m, M), X = N + M, Y = X.",
    ),
    "count_largest": (
        "count",
        "value(fig, I, x, X) :- item(I, n, N), item(I, m, M), X = #max { N + M; N }.",
    ),
    "count_largest_of": (
        "count",
        "value(fig, I, x, X) :- item(I), X = #max { N + M : item(I, n, N), item(I, m, M) }.",
    ),
    "count_total": (
        "count",
        "value(fig, I, x, X) :- item(I), X = #sum { N, 1 : item(I, n, N); M, 2 : item(I, m, M) }.",
    ),
    "count_floor": ("count", "value(fig, I, x, @floor(A / B)) :- item(I, a, A), item(I, b, B)."),
}
"""Rules that leave the range; those that only compare may say what is true instead."""

MAY_HOLD = ("doubled_over",)

EXTREME: dict[str, object] = {
    "item": "i0",
    "a": Fraction(10**21),
    "b": Fraction(2048 * 10**18),
    "r": Fraction(10**9),
    "v": NANO,
    "n": 999999999,
    "m": 999999999,
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_overflow_is_an_error_that_names_the_rule(name: str) -> None:
    sort, rule = OVERFLOWS[name]
    row = dict(EXTREME, b=Fraction(1)) if name == "count_floor" else EXTREME
    if name in MAY_HOLD:
        assert holds_or_errs(rule, row, "overflow")
        return
    found = errors(rule, [row], x=sort)
    assert {code for code, _ in found} == {"overflow"}
    assert all(rule in lines for _, lines in found)


INSIDE = {
    "tuple": (
        declared("kept", Item="item", Pair="(bytes, item)"),
        f'kept(I, (A + "{HUGE}", I)) :- item(I, a, A).',
        "kept(I, (X, _))",
    ),
    "tuple_variable": (
        declared("kept", Item="item", Pair="(bytes, item)"),
        f'kept(I, T) :- item(I, a, A), T = (A + "{HUGE}", I).',
        "kept(I, (X, _))",
    ),
    "form": (
        declared("kept", Item="item", Span="span"),
        f'kept(I, part(A + "{HUGE}", "1")) :- item(I, a, A).',
        "kept(I, part(X, _))",
    ),
    "form_variable": (
        declared("kept", Item="item", Span="span"),
        f'kept(I, S) :- item(I, a, A), S = part(A + "{HUGE}", "1").',
        "kept(I, part(X, _))",
    ),
    "walk": (
        declared("kept", Item="item", N="count", Size="bytes"),
        "kept(I, 0, A) :- item(I, a, A)."
        " kept(I, N + 1, X + X) :- kept(I, N, X), item(I, sizes, (N + 1, _)).",
        "kept(I, 40, X)",
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_overflow_inside_a_term_is_an_error(name: str) -> None:
    predicate, rule, read = INSIDE[name]
    row = dict(EXTREME, sizes=[Fraction(0)] * 41)
    found = errors(f"{rule}\nvalue(fig, I, x, X) :- {read}.", [row], [predicate], x="bytes")
    assert {code for code, _ in found} == {"overflow"}
    assert all(rule in lines for _, lines in found)


def test_the_last_figures_of_the_range_are_held() -> None:
    top = LIMIT - NANO
    rows: list[dict[str, object]] = [{"item": "i0", "a": top, "b": -top, "n": 999999998}]
    found = solve(
        'value(fig, I, x, A - "0.000000001 B" + "0.000000001 B") :- item(I, a, A).'
        "value(fig, I, y, -A) :- item(I, a, A)."
        "value(fig, I, z, B / 3) :- item(I, b, B)."
        "value(fig, I, n, N + 1) :- item(I, n, N)."
        "value(fig, I, m, -N - 1) :- item(I, n, N).",
        rows,
        **{"x": "bytes", "y": "bytes", "z": "bytes", "n": "count", "m": "count"},
    )["i0"]
    assert found == {"x": top, "y": -top, "z": -top / 3, "n": 999999999, "m": -999999999}
    for rule in ('A + "0.000000001 B"', '-A - "0.000000002 B"', 'A / "0.9"'):
        text = f"value(fig, I, x, {rule}) :- item(I, a, A)."
        assert [code for code, _ in errors(text, rows, x="bytes")] == ["overflow"], rule


@settings(QUICK, max_examples=60)
@given(
    st.lists(questions().filter(lambda q: q.right is None), min_size=1, max_size=1),
    rows_of(rationals, least=1, most=1),
)
def test_a_value_is_right_or_an_error(asked: list[Question], rows: list[Row]) -> None:
    """Nothing keeps a value out here: it is what fractions say, or the run names the rule."""
    (question,), (row,) = asked, rows
    literals = ["item(I)", *body(question.text(), 0, NAMES)[1:]]
    rule = f"value(fig, I, q0, {named(question.left.text, NAMES)}) :- {', '.join(literals)}."
    if question.admits(row):
        value = question.left.value(row)
        assert solve(rule, items(rows), q0=question.sort) == {"i0": {"q0": value}}
        return
    found = errors(rule, items(rows), q0=question.sort)
    expected = "division-by-zero" if question.left.value(row) is None else "overflow"
    assert {code for code, _ in found} == {expected}
    assert all(rule in lines for _, lines in found)


@pytest.mark.parametrize("fine", ["1/1" + "0" * 60, "1/7" + "0" * 60])
def test_a_figure_too_fine_to_hold_is_a_finding(fine: str) -> None:
    allowed = ("overflow", "quantity-out-of-range")
    row: dict[str, object] = {"item": "i0", "a": 1, "b": 1}
    for literal in (f'A > "{fine} B"', f'X = A + "{fine} B", X > A'):
        assert holds_or_errs(f"value(fig, I, x, 1) :- item(I, a, A), {literal}.", row, *allowed)
    rule = "value(fig, I, x, 1) :- item(I, a, A), item(I, b, B), A < B."
    assert holds_or_errs(rule, {**row, "a": f"{fine} B"}, *allowed)


# --- division by zero ----------------------------------------------------------------------------

BOTH = "item(I, a, A), item(I, b, B)"
UNGUARDED = {
    "quotient": f"value(fig, I, x, A / B) :- {BOTH}.",
    "floor": f'value(fig, I, x, @floor(A / B) * "1") :- {BOTH}.',
    "whole": f'value(fig, I, x, @floor_div(A, B) * "1") :- {BOTH}.',
    "ceil": f'value(fig, I, x, @ceil_div(A, B) * "1") :- {BOTH}.',
    "modulo": f'value(fig, I, x, (A \\ B) / "1 B") :- {BOTH}.',
    "difference": f"value(fig, I, x, A / (B - B)) :- {BOTH}.",
    "defined": f"value(fig, I, x, A / D) :- {BOTH}, item(I, r, R), D = B * R.",
    "inside": f"value(fig, I, x, B / (A / B) / A) :- {BOTH}.",
    "comparison": f'value(fig, I, x, 1) :- {BOTH}, A / B > "1".',
    "negated": f'value(fig, I, x, 1) :- {BOTH}, not A / B > "1".',
    "sum": "value(fig, I, x, S) :- item(I), S = #sum { A / B, J : item(J, a, A), item(J, b, B) }.",
    "least": f"value(fig, I, x, S) :- item(I), S = #min {{ A / B, J : {EACH} }}.",
    "every": 'value(fig, I, x, 1) :- item(I), A / B > "0" : item(J, a, A), item(J, b, B).',
    "counts": "value(fig, I, x, N / M) :- item(I, n, N), item(I, m, M).",
    "absent": f"value(fig, I, x, 1) :- {BOTH}, not item(I, r, A / B).",
}
ZERO: dict[str, object] = {"item": "i0", "a": 7, "b": 0, "r": 1, "n": 3, "m": 0}
FINE: dict[str, object] = {"item": "i1", "a": 7, "b": 2, "r": 1, "n": 3, "m": 4}


@pytest.mark.parametrize("name", UNGUARDED)
def test_division_by_zero_is_an_error_that_names_the_rule(name: str) -> None:
    rule = UNGUARDED[name].replace("fig, I, x, 1)", 'fig, I, x, "1")')
    found = errors(rule, [ZERO, FINE], x="ratio")
    assert {code for code, _ in found} == {"division-by-zero"}
    assert all(rule in lines for _, lines in found)


GUARDED = {
    "unequal": f'{BOTH}, B != "0 B", X = A / B',
    "above": f'X = A / B, B > "0 B", {BOTH}',
    "not_zero": f'{BOTH}, not B = "0 B", X = A / B',
    "not_fact": f'{BOTH}, not item(I, b, "0 B"), X = A / B',
    "difference": f'{BOTH}, D = B - "0 B", D > "0 B", X = A / D',
    "product": f'{BOTH}, item(I, r, R), D = B * R, D > "0 B", X = A / D',
    "expression": f'{BOTH}, B + B > "0 B", X = A / B',
    "derived": f"{BOTH}, nonzero(I), X = A / B",
    "pair": f'{BOTH}, (B, I) != ("0 B", I), X = A / B',
    "counted": f'{BOTH}, #count {{ J : item(J), item(I, b, Y), Y > "0 B" }} > 0, X = A / B',
    "summed": f'{BOTH}, #sum {{ Y, J : item(J), item(I, b, Y) }} > "0 B", X = A / B',
    "largest": f'{BOTH}, #max {{ B; "0 B" }} > "0 B", X = A / B',
    "every": f'{BOTH}, Y > "0 B" : item(I, b, Y); X = A / B',
}


@pytest.mark.parametrize("name", GUARDED)
def test_a_guard_keeps_division_by_zero_out(name: str) -> None:
    rules = f"""
    nonzero(I) :- item(I, b, B), B != "0 B".
    value(fig, I, x, X) :- {GUARDED[name]}.
    """
    found = solve(rules, [ZERO, FINE], [declared("nonzero", Item="item")], x="ratio")
    assert found == {"i0": {}, "i1": {"x": Fraction(7, 2)}}


def test_a_guard_inside_keeps_division_by_zero_out() -> None:
    found = solve(
        'value(fig, I, x, S) :- item(I), S = #sum { A / B, J : EACH, B > "0 B" }.'
        'value(fig, I, y, S) :- item(I), S = #min { A / B, J : EACH, B != "0 B" }.'
        'value(fig, I, z, "1") :- item(I), A / B > "1" : EACH, B != "0 B".'
        'value(fig, I, n, S) :- item(I), S = #count { J : EACH, B != "0 B", A / B > "1" }.'.replace(
            "EACH", EACH
        ),
        [ZERO, FINE],
        x="ratio",
        y="ratio",
        z="ratio",
        n="count",
    )
    each = {"x": Fraction(7, 2), "y": Fraction(7, 2), "z": 1, "n": 1}
    assert found == {"i0": each, "i1": each}


# --- counts near the edge ------------------------------------------------------------------------


@settings(QUICK, max_examples=30)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "n": counts,
                "m": counts,
                "r": st.one_of(ratios, st.integers(-2 * 10**9, 2 * 10**9).map(Fraction)),
            }
        ),
        min_size=3,
        max_size=8,
    )
)
def test_counts_compare_at_any_size(rows: list[Row]) -> None:
    """A sum of counts may pass the range of counts where it is only compared."""
    rows = [*rows, *({**row, "r": row["n"] + row["m"]} for row in rows)]
    asked: dict[str, Callable[[Fraction, Fraction, Fraction], bool]] = {
        "N + M > R": lambda n, m, r: n + m > r,
        "R = N + M": lambda n, m, r: r == n + m,
        "N - M <= R": lambda n, m, r: n - m <= r,
        "N + M >= N": lambda n, m, r: n + m >= n,
        "N - M < 0": lambda n, m, r: n - m < 0,
        "N + 999999999 > M": lambda n, m, r: n + 999999999 > m,
        "N < R": lambda n, m, r: n < r,
        "-N != R": lambda n, m, r: -n != r,
        "R - N >= M": lambda n, m, r: r - n >= m,
        "N - R >= M": lambda n, m, r: n - r >= m,
        "X = N + M, X > R": lambda n, m, r: n + m > r,
        "X = N - M, X > 0": lambda n, m, r: n - m > 0,
    }
    rules = "\n".join(
        f"value(fig, I, q{k}, 1) :- item(I, n, N), item(I, m, M), item(I, r, R), {text}."
        for k, text in enumerate(asked)
    )
    sorts = {f"q{k}": "count" for k in range(len(asked))}
    found = solve(rules, items(rows), **sorts)
    for number, row in enumerate(rows):
        n, m, r = row["n"], row["m"], row["r"]
        wanted = {f"q{k}" for k, holds in enumerate(asked.values()) if holds(n, m, r)}
        assert set(found[f"i{number}"]) == wanted


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("N + 2147483647 > 5", "integer-too-large"),
        ("N < 2000000000", "integer-too-large"),
        ("not N < M < N", "forbidden-term"),
        ("not 1 <= #count { J : item(J) } <= 3", "forbidden-term"),
    ],
)
def test_what_would_not_be_exact_is_refused(text: str, code: str) -> None:
    rule = f"value(fig, I, x, 1) :- item(I, n, N), item(I, m, M), {text}."
    assert errors(rule, [EXTREME], x="count") == [(code, {rule})]


def test_a_count_is_a_pure_number_on_either_side() -> None:
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "n": n, "r": Fraction(n)}
        for k, n in enumerate((-999999999, -1, 0, 1, 999999999))
    ]
    found = solve(
        "value(fig, I, same, 1) :- item(I, n, N), item(I, r, R), N = R, not N != R, N <= R."
        "value(fig, I, sum, N + R) :- item(I, n, N), item(I, r, R)."
        "value(fig, I, held, N) :- item(I, n, N).",
        rows,
        same="count",
        sum="ratio",
        held="count",
    )
    for k, row in enumerate(rows):
        assert found[f"i{k}"] == {"same": 1, "sum": 2 * Fraction(str(row["n"])), "held": row["n"]}


# --- local variables, by whatever name -----------------------------------------------------------


@pytest.mark.parametrize("name", ["X'", "X''1", "A'T"])
def test_an_apostrophe_is_refused(name: str) -> None:
    with pytest.raises(PolicyError) as raised:
        solve(f"value(fig, I, x, {name}) :- item(I, a, {name}).", [{"item": "i0"}], x="bytes")
    assert {f.code for f in raised.value.findings} == {"forbidden-term"}


@pytest.mark.parametrize("local", ["X", "E", "X1", "AT", "K", "V", "T", "G", "Xc1", "Xa1"])
def test_a_local_variable_may_have_any_name(local: str) -> None:
    row: dict[str, object] = {"item": "i0", "a": 2, "b": 3, "r": 3}
    used = f"#count {{ J : item(J, b, {local}) }} >= 1"
    found = solve(
        f"value(fig, I, x, A + B) :- item(I, a, A), item(I, b, B), {used}, {used}."
        f"value(fig, I, y, A * {local}) :- item(I, a, A), item(I, r, {local})."
        f"value(fig, I, z, A + {local}) :- item(I, a, A), item(I, b, {local})."
        "value(fig, I, s, A + S) :- item(I, a, A),"
        f" S = #sum {{ {local}, J : item(J, b, {local}) }}.",
        [row],
        x="bytes",
        y="bytes",
        z="bytes",
        s="bytes",
    )
    assert found == {"i0": {"x": 5, "y": 6, "z": 5, "s": 5}}


# --- the printed program -------------------------------------------------------------------------


def test_the_shipped_policy_prints_what_it_concludes() -> None:
    root = Path(__file__).parents[1]
    policy = Policy.load(rules=[root / "rules"], facts=[root / "facts"])
    wanted = concluded(policy)
    assert wanted
    assert dumped(policy) == wanted


def test_a_printed_program_holds_no_call() -> None:
    rows: list[dict[str, object]] = [{"item": "i0", "a": 1, "b": 3}]
    law = fig(
        "value(fig, I, x, A / B) :- item(I, a, A), item(I, b, B), A < B."
        "value(fig, I, y, S) :- item(I), S = #sum { A, J : item(J, a, A) }.",
        {"x": "ratio", "y": "bytes"},
    )
    with TemporaryDirectory() as folder:
        policy = load(Path(folder), TABLES, law, {"item": rows})
        text = policy.dump()
        assert "@" not in text
        assert dumped(policy) == {
            ("standing", "fig", "i0", "done"),
            ("value", "fig", "i0", "x", Fraction(1, 3)),
            ("value", "fig", "i0", "y", Fraction(1)),
        }
        assert text == load(Path(folder), TABLES, law, {"item": rows}).dump()


def test_neighbours_in_a_sequence_of_fractions() -> None:
    """Fractions that agree in twenty digits still order as their values do."""
    values = sorted(
        {Fraction(p, q) for q in range(999_990, 1_000_000) for p in (q // 3, q // 3 + 1)}
    )
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "r": x, "s": y} for k, (x, y) in enumerate(pairwise(values))
    ]
    rules = (
        "value(fig, I, less, 1) :- item(I, r, R), item(I, s, S), R < S, not S <= R, R != S."
        "value(fig, I, gap, S - R) :- item(I, r, R), item(I, s, S)."
    )
    found = solve(rules, rows, less="count", gap="ratio")
    for k, (x, y) in enumerate(pairwise(values)):
        assert found[f"i{k}"] == {"less": 1, "gap": y - x}
