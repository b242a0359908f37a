"""The reference evaluator and clingo conclude the same: over the shipped policy, and by chance.

A case is one generated rule with its facts, among the rules of its program. Both evaluators get the
same text and rows. They have to find the same atoms, or both end in an error of the same rule; each
kind of rule has to occur, and to matter, often enough; and a fault in the reference is found.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import programs
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from programs import Program
from support import write_rules

from ullage.declarations import Declarations
from ullage.explain.store import decode
from ullage.facts import load_facts
from ullage.findings import PolicyError, Position, errors_of
from ullage.policy import Policy
from ullage.reference import values
from ullage.reference.bodies import Bindings, Bodies, Member, Way
from ullage.reference.evaluate import AtomSet, Failed, node
from ullage.reference.policy import ReferencePolicy
from ullage.reference.policy import load as load_reference
from ullage.reference.reader import read_rules
from ullage.reference.values import Arithmetic, Atom, Figure, Undefined, Value
from ullage.rules import terms
from ullage.rules.book import load_book
from ullage.rules.terms import Aggregate, Comparison, Conditional, Literal, Rule
from ullage.solve import Model, solve
from ullage.tables import load_declarations

ROOT = Path(__file__).parents[1]

PROGRAMS = 500
"""How many programs are drawn of each focus."""

CASES = {
    **{"joins": 800, "negation": 800, "comparisons": 850, "arithmetic": 800, "aggregates": 900},
    **{"conditions": 850, "recursion": 1_500, "terms": 800, "laws": 2_000, "range": 800},
}
"""How many rules they hold at least."""

_SETS = ("of 1", "of 2", "has one twice", "over elements", "over what is bound outside")
OCCUR: dict[str, dict[str, int]] = {
    "joins": dict.fromkeys(("_", "a tuple", "a pool"), 100),
    "negation": {
        **{f"not atom{kind}: {held}": 50 for kind in ("", " of _") for held in (True, False)},
        **{f"not not atom: {held}": 10 for held in (True, False)},
    },
    "comparisons": {
        **{f"{op} {held}": 10 for op in programs.COMPARISONS for held in (True, False)},
        **{"a chain": 25, "a count beside a ratio": 20},
        **{f"not comparison: {held}": 20 for held in (True, False)},
    },
    "arithmetic": {
        **{f"{op} makes a fraction": 10 for op in "*/+"},
        **{f"{op} below zero": 5 for op in ("-", "floor", "ceil", "floor_div", "ceil_div", "\\")},
        **{"undefined": 1, "fraction": 50},
    },
    "aggregates": {
        **{f"#{name} {kind}": 10 for name in ("sum", "count", "max", "min") for kind in _SETS},
        **{"#sum of 0": 10, "#count of 0": 10, "#max of given": 5, "#min of given": 5},
        **{"two guards": 5},
    },
    "conditions": {
        "every of 0: True": 50,
        **{f"every of {number}: {held}": 50 for number in (1, 2) for held in (True, False)},
    },
    "recursion": {"recursion": 300},
    "terms": {
        **dict.fromkeys(("a form", "a tuple", "a pool"), 50),
        **{"an interval": 20, "arithmetic in an atom": 10, "Fun in a head": 5},
    },
    "laws": {
        f"{verb} {name}": 10
        for verb in ("concludes", "reads")
        for name in ("standing", "reason", "obligation", "value")
    },
    "range": {"wide": 50, "wide conclusion": 20, "fails of overflow": 10},
}
"""What has to occur in the programs of a focus, and how often."""


def concluded(model: Model, reference: ReferencePolicy) -> set[Atom]:
    """What the solver derived of the predicates that the rules derive, as the reference has it."""
    found: set[Atom] = set()
    for head in {(r.head.name, _fixed(r.head)): r.head for r in reference.rules}.values():
        sorts = reference.sorts(head)
        words = [(i, w) for i, (w, s) in enumerate(zip(_fixed(head), sorts, strict=True)) if not s]
        for symbol in model.atoms(head.name, len(head.args)):
            if all(symbol.arguments[i].name == word for i, word in words):
                values = zip(symbol.arguments, sorts, strict=True)
                found.add((head.name, tuple(decode(v, s) for v, s in values)))
    return found


def _fixed(atom: terms.Atom) -> tuple[str, ...]:
    """What stands for the arguments that are words, which tell a law's predicates apart."""
    return tuple(a.name if isinstance(a, terms.Fun) else "" for a in atom.args)


def derived(reference: ReferencePolicy) -> set[Atom]:
    """All that the rules conclude. Raises Failed."""
    reference.model.conclude({node(r.head) for r in reference.rules})
    tables = reference.base.declarations.tables
    return {atom for atom in reference.model.atoms if atom[0] not in tables}


@pytest.mark.parametrize(
    ("folder", "least"), [(ROOT, 10_000), (ROOT / "docs" / "small", 20)], ids=["shipped", "small"]
)
def test_a_policy_has_the_same_atoms_by_both(folder: Path, least: int) -> None:
    rules, facts = [folder / "rules"], [folder / "facts"]
    reference = load_reference(rules, facts)
    model = Policy.load(rules=rules, facts=facts).model()
    heads = {line.rule.head.name for line in model.lowered.lines if "'" not in line.rule.head.name}
    assert heads == {r.head.name for r in reference.rules}
    mine, theirs = derived(reference), concluded(model, reference)
    assert len(mine) >= least
    assert mine == theirs


# --- what happens while the reference evaluates --------------------------------------------------


class Watched(Arithmetic):
    """Counts what is computed and compared."""

    def __init__(self, base: Arithmetic, seen: Counter[str]) -> None:
        super().__init__(base.sorts)
        self.seen = seen

    def operate(self, name: str, operands: Sequence[Value]) -> Figure:
        units = [v.unit if isinstance(v, Figure) else "text" for v in operands]
        try:
            result = super().operate(name, operands)
        except Undefined:
            self.seen["undefined"] += 1
            raise
        self.seen[" ".join([name, *units])] += 1
        self.seen[f"{name} makes a fraction"] += (result.value * 10**9).denominator != 1
        self.seen[f"{name} below zero"] += result.value < 0
        self.seen["wide"] += abs(result.value) >= 2**20 * 10**9
        return result

    def holds(self, a: Value, op: str, b: Value) -> bool:
        result = super().holds(a, op, b)
        self.seen[f"{op} {result}"] += 1
        units = {v.unit for v in (a, b) if isinstance(v, Figure)}
        self.seen["a count beside a ratio"] += units == {"count", "ratio"}
        return result


class Unbounded(Watched):
    """Takes a figure of any size for one, as long as none concludes it."""

    def operate(self, name: str, operands: Sequence[Value]) -> Figure:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ullage.reference.values.within_range", lambda figure: figure)
            return super().operate(name, operands)

    def total(self, figures: Sequence[Figure]) -> Figure:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ullage.reference.values.within_range", lambda figure: figure)
            return super().total(figures)


class Watching(Bodies):
    """Counts which literals hold and fail, what sets hold, and what rules conclude."""

    def __init__(self, base: Bodies, seen: Counter[str], bounded: bool) -> None:
        arithmetic = (Watched if bounded else Unbounded)(base.arithmetic, seen)
        super().__init__(arithmetic, base.atoms)
        self.seen = seen

    def test(self, literal: Literal, bindings: Bindings, outer: set[str]) -> bool:
        result = super().test(literal, bindings, outer)
        match literal:
            case terms.Atom(sign=sign):
                kind = "not " * sign + "atom"
                if any(v.anonymous for v in terms.variables(literal)):
                    kind += " of _"
            case Comparison(sign=sign):
                kind = "not " * sign + "comparison"
            case Aggregate(sign=sign):
                kind = "not " * sign + f"#{literal.function}"
            case Conditional():
                ways = len(list(self.instances(literal.conditions, bindings)))
                kind = f"every of {min(ways, 2)}"
            case _:
                kind = "truth"
        self.seen[f"{kind}: {result}"] += 1
        return result

    def aggregate_value(self, aggregate: Aggregate, members: Iterable[Member]) -> Figure:
        members = list(members)
        tuples = {m.terms for m in members}
        name = f"#{aggregate.function}"
        if any(e.conditions for e in aggregate.elements):
            self.seen[f"{name} of {min(len(tuples), 2)}"] += 1
        elif len(tuples) > 1:
            self.seen[f"{name} of given"] += 1
        self.seen[f"{name} has one twice"] += len(members) > len(tuples)
        self.seen[f"{name} over elements"] += len({id(m.element) for m in members}) > 1
        return super().aggregate_value(aggregate, members)

    def heads(self, rule: Rule, way: Way) -> Iterator[tuple[Value, ...]]:
        for arguments in super().heads(rule, way):
            self.seen.update(features(rule))
            self.seen["fraction"] += any(map(_fraction, arguments))
            self.seen["wide conclusion"] += any(map(_wide, arguments))
            yield arguments


def _figures(value: Value) -> Iterator[Fraction]:
    match value:
        case Figure(value=number):
            yield number
        case tuple():
            for part in value:
                yield from _figures(part)


def _fraction(value: Value) -> bool:
    return any((f * 10**9).denominator != 1 for f in _figures(value))


def _wide(value: Value) -> bool:
    return any(abs(f) >= 2**20 * 10**9 for f in _figures(value))


def features(rule: Rule) -> set[str]:
    """What a rule that concludes something is made of."""
    found = set()
    for literal in rule.body:
        match literal:
            case Comparison(rest=rest) if len(rest) > 1:
                found.add("a chain")
            case Aggregate(function=function, guards=guards):
                found.add("two guards" if len(guards) > 1 else f"#{function}")
                inside = set().union(*(terms.names(e) for e in literal.elements))
                if inside & terms.global_names(rule):
                    found.add(f"#{function} over what is bound outside")
            case _:
                pass
        for item in terms.within(literal):
            match item:
                case terms.Pool():
                    found.add("a pool")
                case terms.Span():
                    found.add("an interval")
                case terms.Tup():
                    found.add("a tuple")
                case terms.Fun(args=args) if args:
                    found.add("a form")
                case terms.Var(anonymous=True):
                    found.add("_")
                case terms.Atom(sign=0, args=args) if any(isinstance(a, terms.Op) for a in args):
                    found.add("arithmetic in an atom")
                case terms.Atom(name=name) if name in ("standing", "reason", "obligation", "value"):
                    found.add(f"reads {name}")
    for item in terms.within(rule.head):
        if isinstance(item, terms.Pool | terms.Span | terms.Tup | terms.Fun) and (
            not isinstance(item, terms.Fun) or item.args
        ):
            found.add(f"{type(item).__name__} in a head")
    if rule.head.name in ("standing", "reason", "obligation", "value", "plan"):
        found.add(f"concludes {rule.head.name}")
    if any(node(u.atom) == node(rule.head) for u in terms.uses(rule.body)):
        found.add("recursion")
    return found


# --- by chance -----------------------------------------------------------------------------------


@functools.cache
def declarations() -> Declarations:
    with TemporaryDirectory() as folder:
        rules = write_rules(Path(folder), programs.TABLES)
        found, findings = load_declarations([rules])
    assert not findings
    return found


def disagreement(program: Program, folder: Path, seen: Counter[str]) -> str:
    """What the two evaluators say differently of a program; "" where they agree."""
    path = folder / "0.lp"
    path.write_text(program.text, encoding="utf-8")
    book = load_book([folder], declarations())
    base, findings = load_facts(declarations(), [], rows=program.rows)
    seen["programs"] += 1
    if errors_of([*book.findings, *findings]):
        seen["refused"] += 1
        assume(False)
    read = read_rules(book.files[0].path, program.text)
    if list(read.rules) != book.files[0].rules:
        return "the readers read different rules"

    def reference(bounded: bool, rules: Sequence[Rule] = read.rules) -> set[Atom] | Failed:
        policy = ReferencePolicy(book.vocabulary, tuple(rules), base)
        policy.model.bodies = Watching(policy.model.bodies, seen, bounded)
        try:
            return derived(policy)
        except Failed as failed:
            return failed

    seen["cases"] += len(read.rules)
    mine = reference(True)
    try:
        model = solve(book.rules, base)
    except PolicyError as error:
        codes = {f.code for f in error.findings}
        if codes == {"unstratified"}:
            # What a set in a walk computes with the walk is refused, which only grounding tells.
            seen["refused"] += 1
            return ""
        places = {replace(p, note="") for f in error.findings for p in f.positions}
        # Of several rules that fail the solver tells those that it came to.
        tries = [functools.partial(reference, bounded) for bounded in (False, True)]
        if not any(blamed(read.rules, places, evaluated) for evaluated in tries):
            return f"the solver alone fails: {error.findings}; the reference has {mine}"
        seen.update(f"fails of {code}" for code in codes)
        return ""
    if isinstance(mine, Failed):
        # What leaves the range on the way may be told, or computed as if there were none.
        mine = reference(False)
        seen["leaves the range on the way"] += 1
        if isinstance(mine, Failed):
            return f"the reference alone fails: {mine}"
    theirs = concluded(model, ReferencePolicy(book.vocabulary, read.rules, base))
    seen["atoms"] += len(mine)
    seen["programs that conclude"] += bool(mine)
    if mine == theirs:
        return ""
    return f"the solver alone concludes {theirs - mine}, the reference alone {mine - theirs}"


def blamed(
    rules: Sequence[Rule],
    places: Collection[Position],
    evaluated: Callable[[Sequence[Rule]], set[Atom] | Failed],
) -> bool:
    """Whether a rule at one of the places fails, once those that fail before it are left out."""
    left = list(rules)
    while isinstance(failed := evaluated(left), Failed):
        if failed.rule.position in places:
            return True
        left = [r for r in left if r is not failed.rule]
    return False


def check(focus: str, folder: Path, most: int, *phases: Phase) -> Counter[str]:
    """Hold so many programs of a focus against each other, and count what occurs in them."""
    seen: Counter[str] = Counter()

    @settings(
        deadline=None,
        max_examples=most,
        suppress_health_check=list(HealthCheck),
        phases=phases or tuple(Phase),
    )
    @given(programs.programs(focus))
    def agree(program: Program) -> None:
        found = disagreement(program, folder, seen)
        assert not found, f"{found}\n{program!r}"

    agree()
    return seen


@pytest.mark.parametrize("focus", programs.FOCUSES)
def test_generated_programs(focus: str, tmp_path: Path) -> None:
    seen = check(focus, tmp_path, PROGRAMS)
    assert seen["cases"] >= CASES[focus]
    assert seen["refused"] < 0.05 * PROGRAMS, "what is drawn is to be a program that loads"
    assert seen["programs that conclude"] > 0.25 * PROGRAMS
    rare = {kind: seen[kind] for kind, least in OCCUR[focus].items() if seen[kind] < least}
    assert not rare


def test_ten_thousand_cases() -> None:
    assert sum(CASES.values()) >= 10_000
    assert CASES.keys() == OCCUR.keys() == set(programs.FOCUSES)


# --- found by chance, and worked out by hand -----------------------------------------------------

_ROWS: dict[str, list[programs.Row]] = {
    "item": [
        {"thing": "a", "number": "1", "size": "1 B", "sizes": ["6 B", "2 B"]},
        {"thing": "b", "spare": "999999999"},
    ]
}

FOUND: dict[str, tuple[str, list[int] | str]] = {
    "1,999,999,998 twice wraps in 32 bits to a count": (
        "p(X + X) :- item(_, spare, X - 999999999).",
        "overflow",
    ),
    "what `X - 1` gives is checked as any figure": (
        "p(X) :- item(_, spare, X - 1).",
        "overflow",
    ),
    "a variable of the set's own takes no value of the set": (
        "p(X) :- item(_), 1 + 1 = X, #max { 1; 2 : item(_, size, _), 1 < X } = X.",
        [2],
    ),
    "a variable that an equation gives is compared with the set": (
        "p(X) :- item(_), X = 1, X = #max { N : item(_, number, N) }, X < 2.",
        [1],
    ),
    "an atom computes with what it binds: 6 B at position 0, 2 B at position 1": (
        'p(P) :- item(T, sizes, (P, "1 B" * (6 - P * 4))), item(T).',
        [0, 1],
    ),
    "an atom that computes with what it binds says so where there is no value": (
        'p(P) :- item(_, sizes, (P, "1 B" / P)).',
        "division-by-zero",
    ),
    "what another literal keeps out needs no value": (
        'p(P) :- item(_, sizes, (P, "2 B" / P)), P != 0.',
        [1],
    ),
    "what an atom does not match anyhow needs no value": (
        'p(1) :- item(_, sizes, (@floor_div(1, 0), "5 B")).\np(2) :- item(_).',
        [2],
    ),
    "the least of nothing is the fault of its own rule": (
        "p(X) :- X = #min { N : item(_, number, N), N > 1 }.\np(1 + 1) :- item(_).",
        "empty-extremum",
    ),
    "a constant in a set of a walk rests on nothing that the walk reaches": (
        "p(N + 1) :- p(N), item(_, sizes, (N + 1, _)), "
        'item(_, size, _) : item(_, spare, @ceil("-7/3")).\n'
        "p(0) :- item(_).\n"
        "%*! q(Count)\nNone.\nArgs:\n  - Count: count\nFrontier: tests\n*%\n"
        "q(N) :- p(N), not p(N).",
        [0, 1],
    ),
    "an interval that computes its end binds after its atom": (
        "p(X) :- item(_, number, X + 1), item(_, number, X..X + X + 1).",
        [0],
    ),
}


@pytest.mark.parametrize("rule", FOUND)
def test_found_by_chance(rule: str, tmp_path: Path) -> None:
    text, wanted = FOUND[rule]
    program = Program(
        f"%*! p(Count)\nCounts.\nArgs:\n  - Count: count\nFrontier: tests\n*%\n{text}\n", _ROWS
    )
    assert not disagreement(program, tmp_path, Counter())
    base, _ = load_facts(declarations(), [], rows=_ROWS)
    rules = load_book([tmp_path], declarations()).rules
    if isinstance(wanted, str):
        with pytest.raises(PolicyError) as error:
            solve(rules, base)
        assert {f.code for f in error.value.findings} == {wanted}
    else:
        found = solve(rules, base).atoms("p", 1)
        assert sorted(s.arguments[0].number for s in found) == wanted


# What faulty parts of a reference would do, each beside what it takes the place of.

UNARY, HOLDS = values._unary, Arithmetic.holds
VALUE, INSTANCES, ADD = Bodies.aggregate_value, Bodies.instances, AtomSet.add


def _never_rounds_up(name: str, figure: Figure) -> Figure:
    return UNARY("floor" if name == "ceil" else name, figure)


def _never_equal(self: Arithmetic, a: Value, op: str, b: Value) -> bool:
    return HOLDS(self, a, op.replace("=", "") if op in ("<=", ">=") else op, b)


def _adds_twice(self: Bodies, aggregate: Aggregate, members: Sequence[Member]) -> Figure:
    if aggregate.function != "sum":
        return VALUE(self, aggregate, members)
    return self.arithmetic.total([self.arithmetic.alone(m.terms[0]) for m in members])


def _the_first(self: Bodies, conditions: Sequence[Literal], bindings: Bindings) -> Iterator[Way]:
    yield from itertools.islice(INSTANCES(self, conditions, bindings), 1)


def _nothing_new(self: AtomSet, name: str, arguments: tuple[Value, ...]) -> bool:
    ADD(self, name, arguments)
    return False


FAULTS: dict[str, tuple[str, str, object]] = {
    "never rounds up": ("arithmetic", "values._unary", _never_rounds_up),
    "is never equal": ("comparisons", "values.Arithmetic.holds", _never_equal),
    "adds equal members": ("aggregates", "bodies.Bodies.aggregate_value", _adds_twice),
    "looks at one instance": ("conditions", "bodies.Bodies.instances", _the_first),
    "has no range": ("range", "values.within_range", lambda figure: figure),
    "ends after one round": ("recursion", "evaluate.AtomSet.add", _nothing_new),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_reference_is_found(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    focus, target, replacement = FAULTS[fault]
    monkeypatch.setattr(f"ullage.reference.{target}", replacement)
    with pytest.raises(AssertionError, match="alone"):
        check(focus, tmp_path, PROGRAMS, Phase.generate)
