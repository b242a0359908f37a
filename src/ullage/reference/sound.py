"""Whether rules mean anything, before they are evaluated by their definition.

What is shared with the program are the sorts of terms and the shape of recursion; neither asks the
solver. That every variable is bound is found here by what evaluation itself asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ullage.findings import Finding, Position
from ullage.reference.bodies import Step, outer_names, ready, steps_of
from ullage.reference.values import Value, Word
from ullage.rules import graph, terms
from ullage.rules.inference import infer
from ullage.rules.recursion import check_recursion
from ullage.rules.terms import Aggregate, Comparison, Conditional, Literal, Rule, names
from ullage.rules.vocabulary import Vocabulary

_BOUND: Value = Word("bound")


def unsound(rules: Sequence[Rule], vocabulary: Vocabulary) -> list[Finding]:
    """What keeps rules from having a meaning, with the codes that `ullage check` has for it."""
    declarations = vocabulary.declarations
    findings: list[Finding] = []
    for rule in rules:
        unsafe = list(_unsafe(rule))
        # What nothing binds has no sort, either.
        _, unsorted = infer(rule, vocabulary)
        findings += unsafe
        findings += [f for f in unsorted if not unsafe or not f.code.startswith("unsorted-")]
    findings += graph.check_constructors(
        rules, declarations, vocabulary.predicates, vocabulary.laws, vocabulary.plans
    )
    return findings + check_recursion(rules, declarations)


def _unsafe(rule: Rule) -> Iterator[Finding]:
    """The variables of a rule that nothing binds."""
    outer = outer_names(rule)
    bound = _bound_by(steps_of(rule.body), {}, outer)
    yield from _missing([rule.head, *rule.body], outer - bound.keys(), rule.position)
    for literal in rule.body:
        for conditions, inside in _sets(literal):
            own = set().union(*map(names, [*conditions, *inside]))
            found = _bound_by(steps_of(conditions), bound, own | outer)
            each = isinstance(literal, Conditional)
            items = [*conditions, *inside]
            yield from _missing(items, own - found.keys(), rule.position, each=each)


def _sets(
    literal: Literal,
) -> Iterator[tuple[Sequence[Literal], Sequence[terms.Expr | Literal]]]:
    """The conditions of each set in a literal, and what stands before them."""
    if isinstance(literal, Aggregate):
        for element in literal.elements:
            yield element.conditions, element.terms
    elif isinstance(literal, Conditional):
        yield literal.conditions, (literal.literal,)


def _bound_by(steps: Iterable[Step], bound: dict[str, Value], outer: set[str]) -> dict[str, Value]:
    """The variables that are bound once every literal that can be tried was."""
    known = dict(bound)
    left = list(steps)
    while True:
        tried = [s for s in left if ready(s.literal, known, outer)]
        if not tried:
            return known
        for step in tried:
            known |= dict.fromkeys(_binds(step.literal), _BOUND)
        left = [s for s in left if s not in tried]


def _binds(literal: Literal) -> Iterator[str]:
    match literal:
        case terms.Atom(sign=0) | Comparison(sign=0, rest=(("=", _),)):
            yield from names(literal)
        case Aggregate(sign=0, guards=guards):
            for op, guard in guards:
                if op == "=":
                    yield from names(guard)


def _missing(
    items: Iterable[terms.Expr | Literal], left: Iterable[str], at: Position, *, each: bool = False
) -> Iterator[Finding]:
    """A finding for each of the names, at its first place."""
    items = list(items)
    asked = {v for i in items if isinstance(i, terms.Atom) and (i.sign or each) for v in names(i)}
    for name in sorted(left):
        # Where an atom is only asked for, what is anonymous stands for anything, and so does what
        # stands nowhere else.
        if name in asked and (each or name.startswith("_'")):
            continue
        places = (v.position for i in items for v in terms.variables(i) if v.name == name)
        said = "`_` stands where nothing binds it" if "'" in name else f"nothing binds `{name}`"
        help = "a variable needs an atom outside `not` that holds it, or an equation"
        yield Finding("unsafe-variable", said, (next(places, at),), help)
