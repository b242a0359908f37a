"""Rule files are read twice, by clingo's parser and without it: both give the same rules.

Nothing here says what a text means. Each reader is derived independently of the other, and stands
for what the other must give: every node, every name, and every line and column.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage.reference.reader import RuleText, Unreadable, read_rules
from ullage.rules.syntax import parse_text

ROOT = Path(__file__).parents[1]
LAWS = sorted(
    path
    for path in ROOT.rglob("*.lp")
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)
BLOCK = re.compile(r"^```prolog\n(.*?)^```", re.M | re.S)
DOCS = [
    block for path in sorted(ROOT.glob("docs/**/*.md")) for block in BLOCK.findall(path.read_text())
]
FILE = "law.lp"


def apart(first: object, second: object, where: str) -> Iterator[str]:
    """Where two trees differ: in a kind, a length, or a value, those left out of ``==`` too."""
    if type(first) is not type(second):
        yield f"{where}: {first!r} and {second!r}"
    elif isinstance(first, tuple):
        assert isinstance(second, tuple)
        if len(first) != len(second):
            yield f"{where}: {len(first)} and {len(second)} parts"
        for number, (a, b) in enumerate(zip(first, second, strict=False)):
            yield from apart(a, b, f"{where}[{number}]")
    elif dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            a, b = getattr(first, field.name), getattr(second, field.name)
            yield from apart(a, b, f"{where}.{field.name}")
    elif first != second:
        yield f"{where}: {first!r} and {second!r}"


def by_reference(text: str, name: str = FILE) -> RuleText | Unreadable:
    """What the reference reads, or why it reads nothing."""
    try:
        return read_rules(name, text)
    except Unreadable as refused:
        return refused


def both(text: str, name: str = FILE) -> RuleText | None:
    """What both readers read, which is the same; None where both refuse."""
    file, findings = parse_text(name, text)
    found = by_reference(text, name)
    if isinstance(found, Unreadable):
        assert findings, f"{text!r} is refused by the reference alone: {found}"
        assert_told_well(found, text, name)
        return None
    assert not findings, f"{text!r} is refused by the program alone: {findings[0].message}"
    rules = tuple(file.rules)
    assert list(apart(rules, found.rules, "rules")) == [], text
    assert rules == found.rules
    docstrings = [(d.text, d.position) for d in file.docstrings]
    assert docstrings == [(d.text, d.position) for d in found.docstrings]
    return found


def assert_told_well(refused: Unreadable, text: str, name: str) -> None:
    lines = text.split("\n")
    at = refused.position
    assert at.file == name
    assert 1 <= at.line <= len(lines)
    assert 1 <= at.column <= len(lines[at.line - 1]) + 1
    assert refused.message
    assert "\n" not in refused.message


def test_the_comparison_sees_what_equality_leaves_out() -> None:
    (first,), (second,) = (read_rules(FILE, text).rules for text in ("a(X) :- b.", "a( X) :- b."))
    (one,), (other,) = (rule.head.args for rule in (first, second))
    assert one == other
    assert list(apart(one, other, "X")) == ["X.position.column: 3 and 4"]


@pytest.mark.parametrize("path", LAWS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_law(path: Path) -> None:
    found = both(path.read_bytes().decode(), path.as_posix())
    assert found is not None
    assert found.rules


def test_laws_were_found() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in LAWS}
    assert {"rules", "docs"} <= folders


@pytest.mark.parametrize("text", DOCS)
def test_every_rule_in_the_docs(text: str) -> None:
    """Some are pieces of a declaration, and no rules: then neither reader reads them."""
    both(text)


READ = {
    # Files.
    "nothing": "",
    "white space alone": " \t\r\n\n ",
    "a comment without a line's end": "a. % the end",
    "a carriage return before a comment's end": '%!trace_rule {"x"}.\r\na.\r\n',
    "carriage returns": "a(X)\r\n:- b(X),\r\n   c.\r\nd.\r\n",
    "a carriage return alone": "a\r:-\rb.\rc.",
    "tabs": "\ta(X)\t:-\tb(X)\t.\n\t\tc.",
    "several rules a line": "a. b :- c. d(1). e.",
    "no space at all": "a(X):-b(X),X<1,not c;1<2.d:-e:f;g.",
    "an empty body": "a :- .",
    "a rule over many lines": "a(X,\n  Y) :-\n\n  b(X),\n  c(Y)\n.",
    "white space of all kinds inside a text": 'a :- b("x  \t\u00a0\u2028\x1c  y"),   c.',
    # Comments.
    "comments in a body": 'a :- % "one, .\n b, %* two.\n 3. *% c. %* *% d.',
    "a comment inside a term": "a(1 %* , 2 *% + % .\n 3).",
    "letters outside ASCII": 'a("ä漢\U0001f600", X) :- b("é", X), X = 1. % é\nc("é"). %* ü *% d.',
    "letters outside ASCII before a docstring": '%* é *% %*! ä\n *% a :- %* é *% b("é" , X).',
    "comments that nest": "%* a %* b *% c *% a.",
    "a percent sign hides the end of a comment": "%* 20% of *%\n it *% a.",
    "a percent sign in a docstring": "%*! a(X)\n 20% *%\n 30%* of *% it *% a.",
    "stars and percent signs": "%**% a. %* * *% b. %* ** *% c. %%* d.\n e.",
    "comments side by side": "%*a*%%*b*%a.%*c*%b.%c",
    "a comment by a hash": "#! nothing, not even a label\na. #! b.",
    "a string with comment signs": 'a("%*", "*%", "% b", "#!") :- c.',
    "docstrings": "%*!*% %*! a *% a. %*!b *% b :- c %*! d\n\n*%.",
    # Labels.
    "a label": '%!trace_rule {"% in %", X, Y}.\na(X, Y) :- b(X, Y).',
    "a label after its rule's head": 'a(X) %!trace_rule {"%", X}.\n :- b(X).',
    "a label in the body": 'a :- b, %!trace_rule {"x"}.\n c.',
    "a label before the dot": 'a :- b %!trace_rule {"x"}.\n . c.',
    "a label behind the dot": 'a :- b. %!trace_rule {"x"}.\nc.',
    "a label behind a fact's dot": 'a.%!trace_rule {"x"}.\nb. c.',
    "a label behind an aggregate": 'a :- #sum{1}. %!trace_rule {"x"}.\nb.',
    "a label behind a guard": 'a :- #sum{1} < 2. %!trace_rule {"x"}.\nb.',
    "a label behind a condition": 'a :- b : c. %!trace_rule {"x"}.\nb.',
    "the last of two labels": '%!trace_rule {"x"}.\n%!trace_rule {"y"}.\na. b.',
    "a label, a comment and a docstring": '%!trace_rule {"x"}.\n% c\n%*! d *%\na.',
    "a label for nothing": 'a.\n%!trace_rule {"x"}.',
    "a label with escapes": r'%!trace_rule {"a \"b\" \\ \n \x \\\" %", X}.' + "\na(X) :- b(X).",
    "a label with spaces": '  %!trace_rule  { "% %" , X , Y } .  \na(X, Y) :- b(X, Y).',
    "a label without spaces": '%!trace_rule{"%",Ä}.\na.',
    # Words.
    "integers": "a(0, 7, 10, 2147483647, 0x1F, 0xff, 0o17, 0o70, 0b101, 0x0).",
    "integers side by side": "a :- 1#count{X:b(X)}2.",
    "strings with escapes": r'a("", "\"", "\\", "\n", "\\n", "a\\\"b\nc").',
    "names": "a(b_1, _b, __b, 'b, b'c, _'b, not1, notX, default, override, left, asp).",
    "variables": "a(X) :- b(X, _X, __X, X1, Xa_B).",
    "a name that begins like a keyword": "nothing :- not nothing, not not notnot.",
    "names without and with brackets": "a() :- b(), c(d(), d).",
    # Terms.
    "signs": "a(-3, -(3), --3, -f(3), -(-(3)), -(1, 2), - 3).",
    "a sign binds most tightly": "a(X) :- b(Y), X = -Y * 2 - -Y / -3 + -1..-Y.",
    "precedence": "a :- 1 + 2 * 3 - 4 / 5 \\ 6 = 1 * 2 + 3 .. 4 + 5 * 6.",
    "to the left": "a :- 1 - 2 - 3 = 8 / 4 / 2, 9 \\ 5 * 3 = 1 + 2 - 3 + 4, X = 1..2..3.",
    "brackets": "a :- ((1 + 2) * 3) = (1) - (2 - (3)), (X) = ((2)) * ((3)..(4)).",
    "intervals": "a(1..3) :- b(X), X = -1..X + 1, f(1..2) = (1..2, 3).",
    "a long interval": "a :- X = 1..1000001, X = -500000..500000.",
    "a pool": "a :- X = (1; 2), X = (b; c(1); (d, e); ; f,), X = (;).",
    "a pool of forms": "a :- X = f(1; 2, 3; ), X = f(;).",
    "a pool of calls": "a :- X = @floor(1; 2), X = @floor_div(1, 2; 3, 4).",
    "tuples": "a((1, 2), (1,), (), (,), ( ), (\n), ((1, 2), 3), ((1,),), (1, 2,)).",
    "absolute figures": "a(X) :- b(X), |X| < ||X| - |2||, |X; 1| = -|X|.",
    "calls": "a(@floor(X / 2), @ceil(X)) :- b(X), @floor_div(X, 2) < @ceil_div(X, -3).",
    "anonymous variables": "a :- b(_, f(_), (_, _)), not c(_). d :- e(_).",
    "anonymous variables in comparisons": "a :- _ < _ < f(_, _), b(_), (_, 1) = _.",
    "anonymous variables in aggregates": "a :- _ = #sum{_, 1 : b(_), _ < (_, _); 2} < _, c(_).",
    "anonymous variables in conditions": "a :- b(_) : c(_), _ = _; _ = 2 : d(_).",
    # Literals.
    "comparisons": "a :- 1 = 2, 1 == 2, 1 != 2, 1 <> 2, 1 < 2, 1 <= 2, 1 > 2, 1 >= 2.",
    "alternatives at the ends of a chain": "a(X) :- b(X), (1; 2) < X < (3; 4).",
    "chains": "a :- 1 < X <= 2 != Y, f(X) = b = c = (1, 2).",
    "comparisons that begin like an atom": (
        "a :- b = c, b(1) < 2, b(1) + 1 > 2, -b < 1, (b) = 1, b..c = 1."
    ),
    "negation": "a :- not b, not not c(1), not 1 < 2, not not X = 1, not (1) < 2.",
    "truth": "a :- #true, #false, not #true, not not #true, not #false, not not #false.",
    "semicolons and commas": "a :- b; c, d; e.",
    "conditions": "a :- b : c, d; e; f(X) : g(X), not h, X < 1.",
    "conditions without any": "a :- b : ; c : .",
    "conditions of every literal": (
        "a :- not b : c; 1 < 2 : d; #false : not not e; not 1 = 2 : #true."
    ),
    # Aggregates.
    "each function": "a :- #count{1} = 1, #sum{1} = 1, #min{1} = 1, #max{1} = 1.",
    "elements": "a :- X = #sum{1, b, Y : b(Y), Y < 3; 2; c : ; (X, Y), 1 : not d, #true}.",
    "an element in brackets": "a :- X = #sum{(Y) : b(Y); (Y) + 1 : b(Y); (Y, 1); (Y;1); -1; |Y|}.",
    "a guard on the left": (
        "a :- X = #sum{1}, X != #sum{1}, X < #sum{1}, X <= #sum{1}, X > #sum{1}, X >= #sum{1}."
    ),
    "a guard on the right": (
        "a :- #sum{1} == X, #sum{1} <> X, #sum{1} < X, #sum{1} <= X, #sum{1} > X, #sum{1} >= X."
    ),
    "guards on both sides": "a :- 1 < #sum{1} < 3, X = #count{1} >= Y + 1.",
    "guards without a comparison": (
        "a :- 1 #sum{1}, #sum{1} 1, 1 #sum{1} 2, X + 1 #sum{1} -1, (1) #sum{1} (2)."
    ),
    "no guard": "a :- #sum{1}, not #sum{1}; #count{1}.",
    "negated aggregates": (
        "a :- not 1 < #sum{1}, not not #sum{1} = X, not   (1) = #sum{1}, not 1 #sum{1}."
    ),
    "an aggregate of white space": "a:-X=#sum\n{\n1\n:\nb\n;\n2\n}\n<\n3.",
    "a set and a condition": "a :- X = #sum{1 : b} ; c : d ; not e.",
}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_read_alike(text: str) -> None:
    assert both(text) is not None


REFUSED = {
    # Files.
    "a NUL": "a. % \0",
    "a lone surrogate": 'a("\ud800").',
    "a letter outside ASCII": "ä.",
    "a form feed": "a.\f b.",
    "a comment without an end": "a. %* b",
    "a comment within one without an end": "a. %* %* *% b",
    "a comment whose end is hidden": "a. %* 20% *%",
    "a string without an end": 'a("b).',
    "a string over two lines": 'a("b\n").',
    "an unknown escape": r'a("\t").',
    "a dot alone": "a. .",
    "no dot": "a :- b",
    "a directive": "#show a/1.",
    "a constant": "#const n = 1.",
    "a script": "#script (python)\n#end.",
    "an unknown directive": "#foo.",
    "another format": "asp 1 0 0",
    # Labels.
    "a label that is none": "%!trace_rule {x}.\na.",
    "a label of another kind": '%!show_trace {"x"}.\na.',
    "a label with too few arguments": '%!trace_rule {"% %", X}.\na(X) :- b(X).',
    "a label with too many arguments": '%!trace_rule {"%", X, Y}.\na(X) :- b(X).',
    "a label of terms": '%!trace_rule {"%", f(X)}.\na(X) :- b(X).',
    "a label without a dot": '%!trace_rule {"x"}\na.',
    # Heads.
    "no head": ":- a.",
    "a choice": "{ a }.",
    "a choice with bounds": "1 { a; b } 1 :- c.",
    "a disjunction": "a ; b :- c.",
    "a disjunction by a bar": "a | b.",
    "a head with a condition": "a : b.",
    "an aggregate as head": "#sum { 1 : a } = 1.",
    "a comparison as head": "X = 1 :- a(X).",
    "a negated head": "not a :- b.",
    "a truth as head": "#true.",
    "a pool as head": "a(1; 2).",
    "an anonymous variable in a head": "a(_) :- b.",
    "an anonymous variable deep in a head": "a(f((_, 1))) :- b.",
    "an optimisation": ":~ a. [1]",
    # Words.
    "classical negation": "a :- -b.",
    "classical negation of a head": "-a(1).",
    "a leading zero": "a(01).",
    "an octal nine": "a(0o9).",
    "a binary two": "a(0b12).",
    "an integer of 32 bits": "a(2147483648).",
    "a hexadecimal integer of 32 bits": "a(0x80000000).",
    "a negative integer of 32 bits": "a(-2147483648).",
    "a decimal": "a(1.5).",
    "a bare figure": "a(8 GiB).",
    "two underscores": "a(__) :- b.",
    "an underscore and a quote": "a :- b(_').",
    "a variable with a quote": "a(X') :- b(X').",
    "a predicate with a quote": "a'b.",
    "a predicate with a quote in a body": "a :- b'.",
    "infinity": "a :- #inf < 1.",
    # Terms.
    "a power": "a :- X = 2 ** 3.",
    "an operator on bits": "a :- X = 1 & 2.",
    "another operator on bits": "a :- X = 1 ^ 2 ? 3.",
    "a complement": "a :- X = ~1.",
    "nothing between commas": "a(1,,2).",
    "a comma at an end": "a(1,).",
    "a comma before a tuple": "a((,1)).",
    "an unknown call": "a(@foo(1)).",
    "a call of too many": "a(@floor(1, 2)).",
    "a call without arguments": "a(@floor).",
    "a call of a pool with too few": "a(@floor(1; )).",
    "an anonymous operand": "a :- b(_ + 1).",
    "an anonymous operand under a sign": "a :- X = -_.",
    "an anonymous end": "a :- X = 1.._.",
    "an anonymous argument of a call": "a :- X = @floor(_).",
    "an anonymous absolute figure": "a :- X = |_|.",
    "bars around nothing": "a :- X = ||.",
    "an interval that is too long": "a :- X = 0..1000001.",
    "brackets that close too late": "a((1).",
    "brackets that close too early": "a(1)).",
    "terms side by side": "a(1 2).",
    # Literals.
    "three negations": "a :- not not not b.",
    "a negated chain": "a :- not 1 < X < 3.",
    "alternatives in a chain": "a(X) :- b(X), X = (1; 2) < 3.",
    "an interval in a chain": "a(X) :- b(X), X < f(1..2) < Y.",
    "an atom in brackets": "a :- (b).",
    "a term alone": "a :- 1.",
    "a variable alone": "a :- X.",
    "a sum alone": "a :- b + 1.",
    "a string alone": 'a :- "b".',
    "a call alone": "a :- @floor(1).",
    "a pool of atoms": "a :- b(1; 2).",
    "nothing after a comma": "a :- b, .",
    "nothing before a comma": "a :- , b.",
    "a comparison with nothing": "a :- 1 < .",
    "two comparisons side by side": "a :- 1 < < 2.",
    "a condition, and a comma": "a :- b :, c.",
    "two conditions": "a :- b : c : d.",
    "two arrows": "a :- b :- c.",
    "a theory atom": "a :- &b { 1 }.",
    # Aggregates.
    "a set without a function": "a :- 1 { b }.",
    "a set alone": "a :- { b; c }.",
    "a positive sum": "a :- X = #sum+ { 1 }.",
    "an unknown function": "a :- X = #avg { 1 }.",
    "an aggregate of nothing": "a :- X = #sum { }.",
    "an element of nothing": "a :- X = #sum { : b }.",
    "an element after nothing": "a :- X = #sum { 1; }.",
    "two aggregates compared": "a :- #sum { 1 } = #sum { 1 }.",
    "an aggregate in a chain": "a :- 1 < 2 < #sum { 1 }.",
    "an aggregate before a chain": "a :- #sum { 1 } < 2 < 3.",
    "a negated aggregate compared twice": "a :- not 1 < #sum { 1 } < 3.",
    "an aggregate in an aggregate": "a :- 1 = #sum { 1 : #sum { 1 } = 1 }.",
    "an aggregate as a condition": "a :- b : 1 = #sum { 1 }.",
    "an aggregate with a condition": "a :- 1 = #sum { 1 } : b.",
    "an aggregate as a term": "a(#sum { 1 }).",
    "a set that is not closed": "a :- 1 = #sum { 1 : b .",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_refused_alike(text: str) -> None:
    assert both(text) is None
    assert both(f"p(1).\n% é\n{text}") is None


NESTED = {
    "forms": ("f(", "1", ")"),
    "tuples": ("(", "1", ",)"),
    "sums to the left": ("", "1", " + 1"),
    "sums to the right": ("1 + (", "1", ")"),
    "signs": ("-", "X", ""),
    "bars": ("|", "X", "|"),
}


@pytest.mark.parametrize(("before", "inner", "after"), NESTED.values(), ids=NESTED)
def test_both_stop_at_one_depth(before: str, inner: str, after: str) -> None:
    def law(depth: int) -> str:
        return f"a :- b(X), 1 = {before * (depth - 1)}{inner}{after * (depth - 1)}."

    assert both(law(50)) is not None
    assert both(law(101)) is None
    assert both(law(300)) is None
    if "1 + (" not in before:  # Brackets are a depth of their own to the reference.
        assert both(law(100)) is not None


MEGABYTE = 1 << 20
ENDLESS = {
    "brackets": "a(" + "(" * (MEGABYTE // 4),
    "forms": "a(" + "f(" * (MEGABYTE // 8),
    "minuses": "a(" + "-" * (MEGABYTE // 4) + "1).",
    "a sum": "a(1" + "+1" * (MEGABYTE // 8) + ").",
    "a decimal": "a(" + "1" * MEGABYTE + ").",
    "underscores": "a(" + "_" * MEGABYTE,
    "quotes and underscores": "a(" + "_'" * MEGABYTE + ").",
    "comments": "%*" * MEGABYTE,
    "stars": "%*" + "*" * MEGABYTE,
    "a string": 'a("' + '\\"' * MEGABYTE,
    "a label": '%!trace_rule {"x"' + ", X" * MEGABYTE,
    "a label's spaces": '%!trace_rule {"x"' + " " * MEGABYTE + "x",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_text_without_end_is_refused_soon(text: str) -> None:
    """The reference alone, for some of these end clingo's process. A quadratic step would hang."""
    with pytest.raises(Unreadable) as refused:
        read_rules(FILE, text)
    assert_told_well(refused.value, text, FILE)
    assert len(refused.value.message) < 100


# Texts composed at random, from words with anything between them that may stand there.

Words = tuple[str, ...]


def joined(strategies: list[st.SearchStrategy[Words]], between: str) -> st.SearchStrategy[Words]:
    return st.tuples(*strategies).map(lambda parts: separated(parts, between))


def separated(parts: tuple[Words, ...] | list[Words], between: str) -> Words:
    words: list[str] = []
    for number, part in enumerate(parts):
        words += [between] * (number > 0)
        words += part
    return tuple(words)


def some(
    strategy: st.SearchStrategy[Words], between: str, least: int = 1, most: int = 3
) -> st.SearchStrategy[Words]:
    return st.lists(strategy, min_size=least, max_size=most).map(lambda p: separated(p, between))


def word(*words: str) -> st.SearchStrategy[Words]:
    return st.sampled_from(words).map(lambda w: (w,))


def wrapped(
    before: Words, strategy: st.SearchStrategy[Words], *after: str
) -> st.SearchStrategy[Words]:
    return strategy.map(lambda words: (*before, *words, *after))


COMPARE = word("=", "==", "!=", "<>", "<", "<=", ">", ">=")
LEAF = word("a", "f", "X", "Y", "_Z", "0", "1", "42", "0xF", "0o7", "0b1", '"s"', '"é\\"\\n"')


def compound(inner: st.SearchStrategy[Words]) -> st.SearchStrategy[Words]:
    argument = st.one_of(inner, inner, word("_"))
    lists = some(some(argument, ",", 0), ";", 1, 2)
    operator = word("+", "-", "*", "/", "\\", "..")
    return st.one_of(
        wrapped(("f", "("), lists, ")"),
        wrapped(("(",), lists, ")"),
        wrapped(("(",), some(inner, ","), ",", ")"),
        wrapped(("(",), inner, ")"),
        wrapped(("-",), inner),
        wrapped(("|",), some(inner, ";", 1, 2), "|"),
        wrapped(("@", "floor", "("), inner, ")"),
        wrapped(("@", "ceil_div", "("), joined([inner, inner], ","), ")"),
        st.tuples(inner, operator, inner).map(lambda t: t[0] + t[1] + t[2]),
        st.tuples(inner, operator, inner, operator, inner).map(lambda t: sum(t, ())),
    )


TERM = st.recursive(LEAF, compound, max_leaves=5)
NOT = st.sampled_from([(), (), ("not",), ("not", "not")])
ATOM = st.one_of(
    word("p", "q"),
    wrapped(("p", "("), some(st.one_of(TERM, word("_")), ",", 0), ")"),
)
SIMPLE = st.one_of(
    st.tuples(NOT, st.one_of(ATOM, word("#true", "#false"))).map(lambda t: t[0] + t[1]),
    st.tuples(NOT, TERM, COMPARE, st.one_of(TERM, word("_"))).map(lambda t: sum(t, ())),
    st.tuples(word("_", "X"), COMPARE, TERM, COMPARE, TERM).map(lambda t: sum(t, ())),
)
CONDITIONS = some(SIMPLE, ",", 0, 2)
ELEMENT = st.tuples(
    some(st.one_of(TERM, word("_")), ","), st.one_of(st.just(()), wrapped((":",), CONDITIONS))
).map(lambda t: t[0] + t[1])
SET = st.tuples(
    word("#count", "#sum", "#min", "#max"), wrapped(("{",), some(ELEMENT, ";"), "}")
).map(lambda t: t[0] + t[1])
MAYBE_COMPARE = st.one_of(st.just(()), COMPARE)
LEFT = st.tuples(TERM, MAYBE_COMPARE).map(lambda t: t[0] + t[1])
RIGHT = st.tuples(MAYBE_COMPARE, TERM).map(lambda t: t[0] + t[1])
AGGREGATE = st.one_of(
    st.tuples(NOT, LEFT, SET).map(lambda t: sum(t, ())),
    st.tuples(NOT, SET, RIGHT).map(lambda t: sum(t, ())),
    st.tuples(LEFT, SET, RIGHT).map(lambda t: sum(t, ())),
    st.tuples(NOT, SET).map(lambda t: t[0] + t[1]),
)
LITERAL = st.one_of(
    st.tuples(st.one_of(SIMPLE, SIMPLE, AGGREGATE), word(",", ";")),
    st.tuples(SIMPLE.flatmap(lambda s: wrapped((*s, ":"), CONDITIONS)), word(";")),
)
BODY = st.lists(LITERAL, min_size=1, max_size=4).map(
    lambda literals: sum((part + end for part, end in literals), ())[:-1]
)
RULE = st.one_of(
    wrapped(("p", "(", "X", ",", "f", "(", "1", ")", ")", ":-"), BODY, "."),
    wrapped(("p", ":-"), BODY, "."),
    wrapped(("q", "("), some(TERM, ","), ")", "."),
)
GAPS = [
    " ",
    " ",
    " ",
    "\n",
    "\t",
    "\r\n",
    "  \n  ",
    " % é, .\n",
    "%* é\n *%",
    '%!trace_rule {"é"}.\n',
]
CLOSED = frozenset("(){},;")


@st.composite
def texts(draw: st.DrawFn, rules: st.SearchStrategy[Words] = RULE, most: int = 3) -> str:
    """Rules as text: words stand apart, or next to a bracket, a comma or a semicolon."""
    words = [w for rule in draw(st.lists(rules, min_size=1, max_size=most)) for w in rule]
    gaps = draw(st.lists(st.sampled_from(GAPS), min_size=1, max_size=7))
    tight = draw(st.booleans())
    text = ""
    for number, (here, following) in enumerate(zip(words, [*words[1:], ""], strict=True)):
        apart = not (tight and CLOSED & {here, following})
        text += here + (gaps[number % len(gaps)] if apart else "")
    return text


SOUGHT = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@settings(SOUGHT, max_examples=250)
@given(texts())
def test_composed_rules_are_read_alike(text: str) -> None:
    if both(text) is None:
        # A `_` alone in brackets may have become an operand, and alternatives stand in a chain.
        # Nothing is refused for its syntax.
        codes = {f.code for f in parse_text(FILE, text)[1]}
        assert codes <= {"unsafe-variable", "forbidden-term"}


STRANGE = (
    *("", " ", "not", "(", ")", "{", "}", ",", ";", ":", ":-", ".", "..", "|", "@", "@floor"),
    *("+", "-", "*", "**", "\\", "&", "^", "~", "?", "$", "!", "=", "<", "<>", "#sum", "#sum+"),
    *("#true", "#inf", "#show", "_", "__", "X'", "a'", "2147483648", "01", "1.5", '"', "%", "*%"),
    *("\\", "[", "]", "'", "\n", "default", "#count { 1 }", "{ a }", "a : b", ":~"),
)


@st.composite
def edited(draw: st.DrawFn) -> Words:
    """The words of a rule, of which a few are left out, doubled, exchanged or replaced."""
    words = list(draw(RULE))
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        at, other = (draw(st.integers(0, len(words) - 1)) for _ in range(2))
        match draw(st.sampled_from(["leave", "double", "exchange", "replace", "insert"])):
            case "leave":
                words[at] = ""
            case "double":
                words.insert(at, words[at])
            case "exchange":
                words[at], words[other] = words[other], words[at]
            case "replace":
                words[at] = draw(st.sampled_from(STRANGE))
            case _:
                words.insert(at, draw(st.sampled_from(STRANGE)))
    return tuple(words)


@settings(SOUGHT, max_examples=400)
@given(texts(edited(), most=1))
def test_edited_rules_are_read_or_refused_alike(text: str) -> None:
    both(text)
