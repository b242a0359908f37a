"""Small programs by chance: well-sorted rules, and rows of the tables that they read.

Whatever is drawn is a program that the loader takes; what it concludes, and whether it ends in an
error, is left to chance.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

Sort = str | tuple["Sort", ...]
"""A sort by name; a tuple is the sort of tuples."""

Row = dict[str, object]

FOCUSES = (
    *("joins", "negation", "comparisons", "arithmetic", "aggregates"),
    *("conditions", "recursion", "terms", "laws", "range"),
)
"""What a program has more of than others have; each has some of everything."""

# --- sorts and their values ----------------------------------------------------------------------

UNITS = {
    "ratio": "",
    "bytes": " B",
    "milliseconds": " ms",
    "bytes_per_second": " B/s",
    "bits_per_second": " bit/s",
    "watts": " W",
}
FIGURES = ("count", *UNITS)
WORDS = {
    "colour": ("red", "green", "blue"),
    "bool": ("true", "false"),
    "a verdict": ("fits", "refused", "open"),
}
QUOTED = {"thing": ("a", "b", "c"), "text": ("a", "1 B", 'x \\ "y"')}
FORMS: Mapping[str, Mapping[str, tuple[Sort, ...]]] = {
    "shape": {"point": (), "box": ("bytes",), "line": ("thing", "ratio")},
    "a reason": {"odd": (), "large": ("thing", "bytes")},
    "an obligation": {"ask": (), "look": ("thing", "count")},
}
PAIRS: tuple[Sort, ...] = (("thing", "count"), ("thing", "bytes"), ("ratio", "colour"))
DECLARED: tuple[Sort, ...] = (*FIGURES, "thing", "text", "colour", "bool", "shape", *PAIRS)
"""What an argument of a predicate may be; laws have sorts of their own besides."""

COUNTS = ("1", "0", "2", "1", "0", "3", "-1")
MOST_COUNTS = ("999999999", "-999999998", "500000000")
SMALL = ("1", "0", "2", "3", "-1", "0.5", "1/3", "-7/3", "0.000000001")
WIDE = ("2000000000000000", "-3000000000000000.5", "7000000000000000/3", "1000000000000000000")
MOST = ("32767999999999999999999", "-32767999999999999999999.9", "20000000000000000000000")
IN_UNITS = {
    "ratio": ("20%", "34/32", "0.92"),
    "bytes": ("1 GiB", "-2.5 kB", "1/3 KiB", "1024 MiB"),
    "milliseconds": ("2 s", "0.5 us", "1 min"),
    "bytes_per_second": ("1 kB/s", "1 KiB/s"),
    "bits_per_second": ("1 kbit/s", "8 bit/s"),
    "watts": ("2 kW", "-0.1 kW"),
}

TABLES = """\
sorts:
  colour: {values: [red, green, blue]}
  watts: {units: {W: 1, kW: 1000}}
  shape: {forms: {point: {}, box: {Side: bytes}, line: {Of: thing, Share: ratio}}}
tables:
  item:
    key: {thing: thing}
    columns:
      size: {sort: bytes, minimum: -LOW B}
      need: {sort: bytes, minimum: -LOW B, default: 1/3 B}
      share: {sort: ratio, minimum: -LOW}
      delay: {sort: milliseconds, minimum: -LOW ms}
      rate: {sort: bytes_per_second, minimum: -LOW B/s}
      line: {sort: bits_per_second, minimum: -LOW bit/s}
      power: {sort: watts, minimum: -LOW W}
      number: {sort: count, minimum: -999999999}
      spare: {sort: count, minimum: -999999999, default: 2}
      ready: bool
      tint: {sort: colour, default: green}
      note: text
      friend: thing
      tags: {sort: text, list: true}
      sizes: {sort: bytes, list: true, minimum: -LOW B}
  cell:
    key: {thing: thing, position: {sort: count, minimum: -999999999}}
    columns: {size: {sort: bytes, minimum: -LOW B}, share: {sort: ratio, minimum: -LOW}}
  link:
    key: {from: thing, to: thing}
    columns: {cost: {sort: count, minimum: -999999999}}
  piece:
    key: {thing: thing, size: {sort: bytes, minimum: -LOW B}}
    columns: {share: {sort: ratio, minimum: -LOW}}
""".replace("LOW", "32767" + "9" * 18 + "." + "9" * 9)
KEYS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "item": (("thing", "thing"),),
    "cell": (("thing", "thing"), ("position", "count")),
    "link": (("from", "thing"), ("to", "thing")),
    "piece": (("thing", "thing"), ("size", "bytes")),
}
COLUMNS: Mapping[str, Mapping[str, Sort]] = {
    "item": {
        **{"size": "bytes", "need": "bytes", "share": "ratio", "delay": "milliseconds"},
        **{"rate": "bytes_per_second", "line": "bits_per_second", "power": "watts"},
        **{"number": "count", "spare": "count", "ready": "bool", "tint": "colour"},
        **{"note": "text", "friend": "thing"},
        **{"tags": ("count", "text"), "sizes": ("count", "bytes")},
    },
    "cell": {"size": "bytes", "share": "ratio"},
    "link": {"cost": "count"},
    "piece": {"share": "ratio"},
}

LAW = """\
%*! judged(Thing)
A law of a test.
Args:
  - Thing: thing
Subjects: item(Thing)
Verdicts:
  - fits [established]
  - refused [refused]
  - open [unestablished]
Reasons:
  - odd
  - large(Of: thing, Size: bytes)
Obligations:
  - ask
  - look(At: thing, Position: count)
Values:
  - left: bytes
  - parts: count
  - share: ratio
*%
%*! told(Thing, Position)
A plan of a test.
Args:
  - Thing: thing
  - Position: count
Plan: figures of a test
Subjects: cell((Thing, Position))
Values:
  - size: bytes
  - name: text
  - fits: bool
*%
"""


@dataclass(frozen=True)
class Program:
    """The rules of one program with their docstrings, and rows by table."""

    text: str
    rows: Mapping[str, Sequence[Row]]

    def __repr__(self) -> str:
        rows = [f"{name}: {row}\n" for name, of in self.rows.items() for row in of]
        return f"\n{self.text}{''.join(rows)}"


@dataclass(frozen=True)
class Source:
    """A predicate as rules write it: each argument a fixed word, or None and its sort."""

    name: str
    args: tuple[tuple[str | None, Sort], ...]


def source(name: str, *args: Sort) -> Source:
    """Of sorts, and of words that begin with ``=``."""
    found: list[tuple[str | None, Sort]] = []
    for arg in args:
        fixed = isinstance(arg, str) and arg.startswith("=")
        found.append((str(arg)[1:], "") if fixed else (None, arg))
    return Source(name, tuple(found))


def key_of(table: str) -> Sort:
    sorts = tuple(sort for _, sort in KEYS[table])
    return sorts if len(sorts) > 1 else sorts[0]


ROWS = [source(table, key_of(table)) for table in KEYS]
CELLS = [
    source(table, key_of(table), f"={column}", sort)
    for table, columns in COLUMNS.items()
    for column, sort in columns.items()
]
CONCLUSIONS: Mapping[str, Sequence[Source]] = {
    "value": [
        source("value", "=judged", "thing", "=left", "bytes"),
        source("value", "=judged", "thing", "=parts", "count"),
        source("value", "=judged", "thing", "=share", "ratio"),
    ],
    "reason": [source("reason", "=judged", "thing", "a reason")],
    "obligation": [source("obligation", "=judged", "thing", "an obligation")],
    "standing": [source("standing", "=judged", "thing", "a verdict")],
    "plan": [
        source("plan", "=told", ("thing", "count"), "=size", "bytes"),
        source("plan", "=told", ("thing", "count"), "=name", "text"),
        source("plan", "=told", ("thing", "count"), "=fits", "bool"),
    ],
}


# --- expressions ---------------------------------------------------------------------------------


def _operations() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """By sort of the result: a pattern, and the sorts of its operands; ``/`` marks a divisor."""
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for sort in FIGURES:
        found[sort] = [
            ("({} + {})", (sort, sort)),
            ("({} - {})", (sort, sort)),
            ("-({})", (sort,)),
            ("|{}|", (sort,)),
            (r"({} \ {})", (sort, f"/{sort}")),
        ]
        for pure in ("count", "ratio"):
            if sort not in ("count", "ratio"):
                found[sort] += [
                    ("({} * {})", (sort, pure)),
                    ("({} * {})", (pure, sort)),
                    ("({} / {})", (sort, f"/{pure}")),
                ]
        if sort not in ("count", "ratio"):
            found[sort] += [("@floor({})", (sort,)), ("@ceil({})", (sort,))]
    of_count, of_ratio = found["count"], found["ratio"]
    of_count += [("({} * {})", ("count", "count"))]
    for pure in ("count", "ratio"):
        of_count += [("@floor({})", (pure,)), ("@ceil({})", (pure,))]
    for sort in FIGURES:
        of_count += [(f"@{name}_div({{}}, {{}})", (sort, f"/{sort}")) for name in ("floor", "ceil")]
        of_ratio += [("({} / {})", (sort, f"/{sort}"))]
    of_count += [
        ("@floor_div({}, {})", ("ratio", "/count")),
        ("@ceil_div({}, {})", ("count", "/ratio")),
    ]
    for one, other in itertools.permutations(("count", "ratio")):
        of_ratio += [(f"({{}} {sign} {{}})", (one, other)) for sign in "+-*"]
        of_ratio += [(f"({{}} {sign} {{}})", (one, f"/{other}")) for sign in "/\\"]
    of_ratio += [("({} * {})", ("ratio", "ratio"))]
    rates = ("bytes_per_second", "bits_per_second")
    for one, other in itertools.permutations(rates):
        of_ratio.append(("({} / {})", (one, f"/{other}")))
    for rate in rates:
        found["bytes"] += [
            ("({} * {})", (rate, "milliseconds")),
            ("({} * {})", ("milliseconds", rate)),
        ]
        found["milliseconds"] += [("({} / {})", ("bytes", f"/{rate}"))] * 2
    found["bytes_per_second"] += [("({} / {})", ("bytes", "/milliseconds"))] * 3
    return found


OPERATIONS = _operations()
COMPARISONS = ("<", "=", "<=", "!=", ">", "!=", ">=")


# --- the writer ----------------------------------------------------------------------------------


@functools.cache
def _below(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most - 1)


@dataclass
class Scope:
    """The variables that are bound, by sort, and the literals so far."""

    bound: dict[Sort, list[str]] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    inner: bool = False
    ordered: bool = False
    """Whether a literal says the sort of a variable, and so stands before what reads it."""

    made: set[str] = field(default_factory=set)
    """Variables for forms that an equation gives: as other forms they would bind nothing."""

    def inside(self) -> Scope:
        """The scope of a set: it sees what is bound outside."""
        bound = {sort: list(names) for sort, names in self.bound.items()}
        return Scope(bound, inner=True, made=set(self.made))

    def of(self, sort: Sort) -> list[str]:
        return self.bound.get(sort, [])


def shown(sort: Sort) -> str:
    """A sort as docstrings write it."""
    return sort if isinstance(sort, str) else f"({', '.join(map(shown, sort))})"


def composed(name: str, args: Sequence[str]) -> str:
    """A form or, without a name, a tuple."""
    return f"{name}({', '.join(args)})" if args else name


class Writer:
    """Draws one program. Of each choice the first is the simplest, to which examples shrink."""

    def __init__(self, draw: st.DrawFn, focus: str) -> None:
        self.draw = draw
        self.focus = focus
        self.own: list[Source] = []
        self.docstrings: list[str] = []
        self.rules: list[str] = []
        self.read: dict[str, set[str]] = {}
        self.wide = ""
        self.names = 0

    # Choices.

    def pick(self, options: Sequence[T]) -> T:
        return options[self.draw(_below(len(options)))]

    def weighed(self, *options: tuple[int, T]) -> T:
        """One of the options, each as often as its weight says."""
        at = self.draw(_below(sum(weight for weight, _ in options)))
        for weight, option in options:
            if at < weight:
                return option
            at -= weight
        raise AssertionError(options)

    def chance(self, percent: int) -> bool:
        return self.draw(_below(100)) >= 100 - percent

    def upto(self, most: int) -> range:
        """As many steps as are drawn."""
        return range(self.draw(_below(most + 1)))

    def focused(self, focus: str, weight: int) -> int:
        """A weight, four times as much where the program is of that focus."""
        return weight * 4 if focus == self.focus else weight

    # Values and variables.

    def fresh(self, sort: Sort, scope: Scope) -> str:
        """A variable that is new in its scope. Sets of one rule may name theirs alike."""
        if scope.inner:
            taken = {name for names in scope.bound.values() for name in names}
            return next(n for n in (f"X{i}" for i in itertools.count()) if n not in taken)
        self.names += 1
        return f"{shown(sort)[0].upper() if isinstance(sort, str) else 'K'}{self.names}"

    def bind(self, sort: Sort, scope: Scope) -> str:
        name = self.fresh(sort, scope)
        scope.bound.setdefault(sort, []).append(name)
        return name

    def value(self, sort: str) -> str:
        """A value as a file of facts has it."""
        if sort in WORDS:
            return self.pick(WORDS[sort])
        if sort in QUOTED:
            return self.pick(QUOTED[sort])
        most = self.wide == "most"
        if sort == "count":
            return self.pick(MOST_COUNTS if most and self.chance(15) else COUNTS)
        if self.wide and self.chance(25):
            return self.pick(MOST if most else WIDE) + UNITS[sort]
        return self.pick(IN_UNITS[sort]) if self.chance(20) else self.pick(SMALL) + UNITS[sort]

    def constant(self, sort: Sort) -> str:
        """A value as a rule has it."""
        if isinstance(sort, tuple):
            # Text that is a quantity's, too, is taken for one in a tuple that says nothing else.
            return composed("", [self.constant(s) if s != "text" else '"a"' for s in sort])
        if sort in FORMS:
            name = self.pick(list(FORMS[sort]))
            return composed(name, [self.constant(s) for s in FORMS[sort][name]])
        text = self.value(sort)
        if sort == "count" or sort in WORDS:
            return text
        text = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'

    # Terms whose variables are bound.

    def variable(self, sort: Sort, scope: Scope) -> str:
        """A bound variable, or a constant where there is none."""
        names = scope.of(sort)
        return self.pick(names[::-1]) if names else self.constant(sort)

    def term(self, sort: Sort, scope: Scope, depth: int = 1) -> str:
        if sort in FIGURES and depth and self.chance(self.focused("arithmetic", 20)):
            return self.figure(str(sort), scope, depth)
        if scope.of(sort) and not self.chance(12):
            return self.variable(sort, scope)
        if isinstance(sort, tuple):
            return composed("", [self.term(s, scope, depth) for s in sort])
        if sort in FORMS:
            name = self.pick(list(FORMS[sort]))
            return composed(name, [self.term(s, scope, depth) for s in FORMS[sort][name]])
        return self.constant(sort)

    def figure(self, sort: str, scope: Scope, depth: int) -> str:
        """An expression of a sort of figures."""
        if not depth or self.chance(15):
            return self.variable(sort, scope) if self.chance(80) else self.constant(sort)
        pattern, operands = self.pick(OPERATIONS[sort])
        return pattern.format(
            *(
                self.divisor(of[1:], scope) if of[0] == "/" else self.figure(of, scope, depth - 1)
                for of in operands
            )
        )

    def divisor(self, sort: str, scope: Scope) -> str:
        """What is rarely nothing: a constant, or a variable beside a condition."""
        zero = "0" if sort == "count" else f'"0{UNITS[sort]}"'
        names = scope.of(sort)
        kind = self.weighed((4, "constant"), (4, "guarded"), (1, "any"))
        if names and kind != "constant":
            name = self.pick(names[::-1])
            if kind == "guarded":
                scope.body.append(self.pick([f"{name} != {zero}", f"{name} > {zero}"]))
            return name
        if kind == "any":
            return self.figure(sort, scope, 1)
        while (found := self.constant(sort)) == zero:
            pass
        return found

    # Atoms.

    def predicate(self) -> Source:
        own = [(self.focused("recursion", 5), self.own)] if self.own else []
        chosen = self.pick(self.weighed((5, CELLS), (2, ROWS), *own))
        if chosen.name in COLUMNS:
            column = chosen.args[1][0] if len(chosen.args) > 1 else None
            self.read.setdefault(chosen.name, set()).add(column or "")
        return chosen

    def atom(self, scope: Scope, *, binds: bool) -> str:
        """An atom; where it binds, it may bring new variables."""
        chosen = self.predicate()
        args = [
            word if word is not None else self.pattern(sort, scope, binds)
            for word, sort in chosen.args
        ]
        return composed(chosen.name, args)

    def pattern(self, sort: Sort, scope: Scope, binds: bool) -> str:
        """An argument of an atom in a body."""
        parts = isinstance(sort, tuple) or sort in FORMS
        figure, count = sort in FIGURES, sort == "count"
        kind = self.weighed(
            (7 if binds else 0, "new"),
            ((2 if figure and not count else 7) if scope.of(sort) else 0 if binds else 1, "known"),
            (7 if parts else 0, "parts"),
            (2, "_"),
            (1, "constant"),
            (0 if parts else self.focused("terms", 1), "pool"),
            (self.focused("terms", 1) if count else 0, "interval"),
            (self.focused("terms", 1) if count else 0, "shifted"),
            (self.focused("arithmetic", 1) if figure else 0, "figure"),
        )
        match kind:
            case "new":
                return self.bind(sort, scope)
            case "_":
                return "_"
            case "parts" if isinstance(sort, tuple):
                return composed("", [self.pattern(s, scope, binds) for s in sort])
            case "parts":
                forms = FORMS[str(sort)]
                form = self.pick(list(forms))
                return composed(form, [self.pattern(s, scope, binds) for s in forms[form]])
            case "constant" if sort == "ratio" and self.chance(30):
                return self.pick(("1", "0", "-2"))
            case "constant":
                return self.constant(sort)
            case "pool":
                return f"({self.constant(sort)}; {self.variable(sort, scope)})"
            case "interval":
                return self.interval(scope)
            case "shifted":
                term = self.bind(sort, scope) if binds else self.variable(sort, scope)
                scope.ordered |= binds
                return f"{term} {self.pick('+-')} {self.pick('12')}"
            case "figure":
                return self.figure(str(sort), scope, 1)
        return self.variable(sort, scope)

    def interval(self, scope: Scope) -> str:
        if scope.of("count") and self.chance(40):
            name = self.pick(scope.of("count"))
            return f"{name}..{name} + {self.pick('12')}"
        return self.pick(("0..1", "1..3", "-1..2", "2..1"))

    # Literals.

    def literal(self, scope: Scope) -> None:
        """One more literal of a body; inside a set, of its conditions."""
        of = self.focused
        write = self.weighed(
            (of("joins", 6), self.joined),
            (of("negation", 4), self.negated),
            (of("comparisons", 3), self.compared),
            (of("arithmetic", 2) + of("range", 1), self.defined),
            (of("terms", 2), self.matched),
            (0 if scope.inner else of("aggregates", 3), self.aggregated),
            (0 if scope.inner else of("conditions", 2), self.conditional),
            (1, self.truth),
        )
        write(scope)

    def joined(self, scope: Scope) -> None:
        scope.body.append(self.atom(scope, binds=True))

    def negated(self, scope: Scope) -> None:
        sign = self.weighed((4, "not "), (1, "not not "))
        scope.body.append(sign + self.atom(scope, binds=False))

    def truth(self, scope: Scope) -> None:
        scope.body.append(self.weighed((8, "#true"), (4, "not #false"), (1, "#false")))

    def compared(self, scope: Scope) -> None:
        scope.body.append(self.comparison(scope))

    def comparison(self, scope: Scope) -> str:
        """A comparison of two terms or, of figures, sometimes more."""
        sign = self.weighed((6, ""), (self.focused("negation", 1), "not "), (1, "not not "))
        plain = [s for s in scope.bound if s not in FIGURES]
        if plain and self.chance(25):
            sort = self.pick(plain)
            op, other = self.pick(("=", "!=")), self.term(sort, scope)
            if not isinstance(sort, tuple) and self.chance(15):
                other = f"({other}; {self.term(sort, scope)})"
            return f"{sign}{self.variable(sort, scope)} {op} {other}"
        sort = str(self.pick([s for s in FIGURES if scope.of(s)] or ["count"]))
        mixed = ("count", "ratio") if sort in ("count", "ratio") else (sort,)
        parts = [self.figure(sort, scope, self.weighed((3, 0), (2, 1), (1, 2)))]
        links = self.weighed((5, 1), (0 if sign else 2, 2))
        for link in range(links):
            beside = self.pick(mixed)
            other = self.figure(beside, scope, self.weighed((3, 0), (1, 1)))
            if link == links - 1 and beside == sort and self.chance(8):
                other = f"({other}; {self.constant(sort)})"
            parts += [self.pick(COMPARISONS), other]
        return sign + " ".join(parts)

    def defined(self, scope: Scope) -> None:
        """An equation that binds a variable: to a figure, a term, or each of several."""
        kind = self.weighed((6, "figure"), (1, "pool"), (1, "interval"), (1, "same"))
        if kind == "interval":
            term = self.interval(scope)
            sort: Sort = "count"
        elif kind == "same":
            sort = self.pick(list(scope.bound))
            term = self.pick(scope.of(sort))
        elif kind == "pool":
            sort = self.pick(list(scope.bound))
            term = f"({self.pick(scope.of(sort))}; {self.term(sort, scope)})"
        else:
            sort = self.pick([s for s in FIGURES if scope.of(s)] or ["count"])
            results = [s for s in FIGURES if any(sort in of for _, of in OPERATIONS[s])]
            sort = self.pick(results)
            term = self.figure(sort, scope, self.weighed((3, 1), (2, 2), (1, 3)))
        sides = [self.bind(sort, scope), term]
        scope.made |= {sides[0]} if sort == "shape" else set()
        scope.ordered |= sort in ("count", "ratio")
        scope.body.append(" = ".join(sides if self.chance(80) else sides[::-1]))

    def matched(self, scope: Scope) -> None:
        """An equation of tuples or forms: taken apart, built, or compared part by part."""
        whole = [s for s in scope.bound if isinstance(s, tuple) or s == "shape"]
        whole = [s for s in whole if set(scope.of(s)) - scope.made]
        kind = self.weighed((3 if whole else 0, "apart"), (2, "built"), (1, "parts"))
        if kind == "apart":
            sort = self.pick(whole)
            name = self.pick([n for n in scope.of(sort) if n not in scope.made])
            parts = FORMS["shape"][self.pick(("box", "line"))] if sort == "shape" else sort
            form = {1: "box", 2: "line"}[len(parts)] if sort == "shape" else ""
            taken = [self.bind(s, scope) if self.chance(70) else self.term(s, scope) for s in parts]
            sides = [name, composed(form, taken)]
        elif kind == "built":
            sorts = [self.pick(list(scope.bound)), self.pick(list(scope.bound))]
            if tuple(sorts) not in PAIRS:
                sorts = ["bytes"]
            form = "" if len(sorts) > 1 else "box"
            term = composed(form, [self.variable(s, scope) for s in sorts])
            sides = [self.bind(tuple(sorts) if not form else "shape", scope), term]
            scope.made |= {sides[0]} if form else set()
        else:
            sorts = [self.pick(list(scope.bound)) for _ in range(2)]
            left = [self.pick(scope.of(s)) for s in sorts]
            right = [self.term(s, scope) if self.chance(70) else "_" for s in sorts]
            sides = [composed("", left), composed("", right)]
        scope.body.append(" = ".join(sides if self.chance(70) else sides[::-1]))

    # Sets.

    def conditions(self, scope: Scope, most: int = 2) -> None:
        self.joined(scope)
        for _ in self.upto(most):
            self.literal(scope)

    def conditional(self, scope: Scope) -> None:
        inner = scope.inside()
        self.conditions(inner, 1)
        kind = self.weighed((3, "atom"), (2, "not"), (2, "comparison"))
        if kind == "comparison":
            held = self.comparison(inner)
        else:
            held = ("not " if kind == "not" else "") + self.atom(inner, binds=False)
        scope.body.append(f"{held} : {', '.join(inner.body)}")

    def aggregated(self, scope: Scope) -> None:
        function = self.pick(("sum", "count", "max", "min"))
        sign = self.weighed((8, ""), (self.focused("negation", 1), "not "), (1, "not not "))
        sort = "count"
        elements: list[str] = []
        for number in range(self.weighed((5, 1), (2, 2), (1, 3))):
            inner = scope.inside()
            if function == "count" or self.chance(80):
                self.conditions(inner)
            if not number and function != "count":
                sort = self.pick([str(s) for s in FIGURES if inner.of(s)] or ["count"])
            if function == "count":
                first = self.pick(inner.of(self.pick(list(inner.bound))))
            else:
                first = self.figure(sort, inner, self.weighed((4, 0), (2, 1), (1, 2)))
            # Of which things the figures are; without them equal figures count once.
            names = [n for s in inner.bound for n in inner.of(s) if n not in scope.of(s)]
            more = names if self.chance(70) else []
            terms = ", ".join(dict.fromkeys([first, *more]))
            elements.append(f"{terms} : {', '.join(inner.body)}" if inner.body else terms)
        if function in ("min", "max") and not self.chance(15):
            # What it may fall back on, so that it is rarely that of nothing.
            elements.insert(0, self.figure(sort, scope, self.weighed((3, 0), (1, 1))))
        text = f"#{function} {{ {'; '.join(elements)} }}"
        if not sign and self.chance(60):
            name = self.bind(sort, scope)
            scope.ordered |= sort in ("count", "ratio")
            scope.body.append(f"{name} = {text}" if self.chance(70) else f"{text} = {name}")
            return
        guard = self.figure(sort, scope, 1)
        left = self.chance(30)
        if left:
            text = f"{guard} {self.pick(COMPARISONS)} {text}"
        if not left or (not sign and self.chance(50)):
            text = f"{text} {self.pick(COMPARISONS)} {self.figure(sort, scope, 1)}"
        scope.body.append(sign + text)

    # Rules.

    def body(self) -> Scope:
        scope = Scope()
        self.names = 0
        self.joined(scope)
        while not scope.bound:
            self.joined(scope)
        for _ in self.upto(3):
            self.literal(scope)
        if self.focus not in ("joins", "terms", "laws"):
            write: Mapping[str, Callable[[Scope], None]] = {
                "negation": self.negated,
                "comparisons": self.compared,
                "arithmetic": self.defined,
                "range": self.defined,
                "aggregates": self.aggregated,
                "conditions": self.conditional,
                "recursion": self.joined,
            }
            write[self.focus](scope)
        return scope

    def rule(self, head: Source, scope: Scope) -> None:
        """A rule of this head. What it concludes comes from its body, as far as it can."""
        args = []
        for word, sort in head.args:
            if word is not None:
                args.append(word)
            elif sort in FIGURES and self.chance(5):
                args.append(f"({self.constant(sort)}; {self.term(sort, scope)})")
            elif sort == "count" and self.chance(5):
                args.append(self.interval(scope))
            else:
                args.append(self.term(sort, scope))
        body = scope.body
        if not scope.ordered and self.chance(60):
            body = self.draw(st.permutations(body))
        self.rules.append(f"{composed(head.name, args)} :- {joined(body)}.")

    def declare(self, name: str, *sorts: Sort) -> Source:
        """A predicate of the program's own, with its docstring."""
        args = [f"A{i}" for i in range(len(sorts))]
        lines = [f"%*! {composed(name, args)}", "A predicate.", "Args:"]
        lines += [f"  - {a}: {shown(s)}" for a, s in zip(args, sorts, strict=True)]
        self.docstrings += [*lines, "Frontier: tests", "*%"]
        return source(name, *sorts)

    def stratum(self, number: int) -> None:
        """A predicate, with one or two rules over what stands below it."""
        scope = self.body()
        sorts = [s for s in scope.bound if s in DECLARED]
        wanted = [self.pick(sorts or ["count"]) for _ in range(1 + len(self.upto(2)))]
        # What a rule binds last is what it is about.
        wanted[0] = (sorts or ["count"])[-1]
        head = self.declare(f"p{number}", *wanted)
        self.rule(head, scope)
        if self.chance(30):
            self.rule(head, self.body())
        self.own.append(head)

    # Recursion and laws.

    def circle(self) -> None:
        """Predicates that rest on themselves, and end."""
        self.pick((self.reach, self.walk, self.turns))()

    def reach(self) -> None:
        """What is reached by steps, each under a condition."""
        head = self.declare("reach", "thing", "thing")
        self.read.setdefault("link", set()).add("")
        scope = Scope({"thing": ["X", "Y", "Z"]}, ["reach(X, Y)", "link((Y, Z))"])
        step = self.weighed((3, "link((Y, Z))"), (1, "reach(Y, Z)"), (1, "item(Y, friend, Z)"))
        if "friend" in step:
            self.read.setdefault("item", set()).add("friend")
        scope.body[1] = step
        for _ in self.upto(1):
            self.literal(scope)
        self.rules.append(f"reach(X, Y) :- {self.pick(('link((X, Y))', 'link((Y, X))'))}.")
        self.rules.append(f"reach(X, Z) :- {joined(scope.body)}.")
        self.own.append(head)

    def walk(self) -> None:
        """A running total along the positions of cells or of a list."""
        head = self.declare("walk", "thing", "count", "bytes")
        listed = self.chance(40)
        table, column = ("item", "sizes") if listed else ("cell", "size")
        self.read.setdefault(table, set()).add(column)
        at = "item(T, sizes, ({}, B))" if listed else "cell((T, {}), size, B)"
        total = self.pick(
            (
                "S + B",
                "S - B",
                "S / 3 + B",
                '"20%" * S + B',
                "#max { S; B }",
                "(S + B) / 2",
                "S + S",
            )
        )
        start, back = self.pick((("0", "1"), ("1", "1"), ("-1", "1"), ("3", "-1")))
        sign = "+" if back == "1" else "-"
        scope = Scope({"bytes": ["B", "S"], "count": ["P", "Q"], "thing": ["T"]})
        place = "Q"
        shape = self.pick(("head", "body", "equation"))
        if shape == "head":
            place = f"P {sign} 1"
            scope.body = ["walk(T, P, S)", at.format(place)]
            scope.bound["count"] = ["P"]
        elif shape == "body":
            scope.body = [f"walk(T, Q {'-' if sign == '+' else '+'} 1, S)", at.format("Q")]
            scope.bound["count"] = ["Q"]
        else:
            scope.body = ["walk(T, P, S)", f"Q = P {sign} 1", at.format("Q")]
        figure = "U" if total.startswith("#") else total
        if figure == "U":
            scope.body.append(f"U = {total}")
        for _ in self.upto(1):
            self.weighed((1, self.negated), (1, self.compared))(scope)
        self.rules.append(f"walk(T, {start}, B) :- {at.format(start)}.")
        self.rules.append(f"walk(T, {place}, {figure}) :- {joined(scope.body)}.")
        self.own.append(head)

    def turns(self) -> None:
        """Two predicates that rest on each other."""
        even, odd = self.declare("even", "thing", "count"), self.declare("odd", "thing", "count")
        self.read.setdefault("cell", set()).add("")
        step = self.pick(("cell((T, N + 1))", "cell((T, N + 1)), cell((T, N))"))
        scope = Scope({"thing": ["T"], "count": ["N"]}, [f"even(T, N), {step}"])
        for _ in self.upto(1):
            self.weighed((1, self.negated), (1, self.compared))(scope)
        self.rules += [
            f"even(T, {self.pick('01')}) :- cell((T, _)).",
            f"odd(T, N + 1) :- {joined(scope.body)}.",
            f"even(T, N + 1) :- odd(T, N), {step}.",
        ]
        self.own += [even, odd]

    def law(self) -> None:
        """A law and a plan: some of what they may conclude, each over what was concluded before."""
        self.docstrings.append(LAW.rstrip())
        self.read.setdefault("item", set()).add("")
        self.read.setdefault("cell", set()).add("")
        for kind in self.draw(st.permutations(list(CONCLUSIONS)))[: 2 + len(self.upto(3))]:
            heads = [self.pick(CONCLUSIONS[kind]) for _ in range(1 + len(self.upto(1)))]
            for head in heads:
                self.rule(head, self.body())
            self.own += dict.fromkeys(heads)

    # Facts.

    def rows(self) -> dict[str, list[Row]]:
        """Rows of the tables that the rules read, with the columns that they read."""
        found: dict[str, list[Row]] = {}
        for table in sorted(self.read):
            keys: dict[tuple[str, ...], Row] = {}
            for _ in range(2 + len(self.upto(4))):
                key = tuple(self.value(sort) for _, sort in KEYS[table])
                if table == "piece":
                    # Of each figure one text, so that no two rows have one key.
                    key = (key[0], self.pick(SMALL) + " B")
                row: Row = dict(zip((n for n, _ in KEYS[table]), key, strict=True))
                for column in sorted(self.read[table] - {""}):
                    if not self.chance(20):
                        row[column] = self.filled(COLUMNS[table][column])
                keys.setdefault(key, row)
            found[table] = list(keys.values())
        return found

    def filled(self, sort: Sort) -> object:
        if isinstance(sort, tuple):
            return [self.value(str(sort[1])) for _ in self.upto(3)]
        return self.value(str(sort))

    def program(self) -> Program:
        if self.focus == "range":
            self.wide = self.weighed((2, "wide"), (3, "most"))
        elif self.chance(15):
            self.wide = "wide"
        if self.focus == "recursion" or self.chance(5):
            self.circle()
        if self.focus == "laws" or self.chance(3):
            self.law()
        for number in range(self.weighed((5, 1), (3, 2), (1, 3))):
            self.stratum(number)
        text = "\n".join([*self.docstrings, *self.rules, ""])
        return Program(text, self.rows())


def joined(body: Sequence[str]) -> str:
    """A body as text. What follows a condition's colon goes on to the next semicolon."""
    return "".join(
        text + ("" if last else "; " if " : " in text and "{" not in text else ", ")
        for text, last in zip(body, [*[False] * (len(body) - 1), True], strict=True)
    )


@functools.cache
def programs(focus: str) -> st.SearchStrategy[Program]:
    """Programs with more of one kind of rule than of others."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Program:
        return Writer(draw, focus).program()

    return drawn()
