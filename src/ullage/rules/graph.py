"""What rules build on one another: constructors, circles, and what nobody reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ullage.declarations import Declarations
from ullage.findings import Finding, Position, Severity, listed, similar
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl, Predicate
from ullage.rules.terms import (
    Aggregate,
    Atom,
    Conditional,
    Fun,
    Rule,
    Truth,
    names,
    uses,
    variables,
)


def node(atom: Atom) -> str:
    """The predicate an atom is of; those that every law derives are told apart by law."""
    if atom.name in BUILTIN and atom.args:
        first = atom.args[0]
        if isinstance(first, Fun):
            return f"{atom.name}({first.name})"
    return atom.name


def components(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """Strongly connected components, each after those it points to (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[set[str]] = []
    for root in sorted(edges):
        if root in index:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            here, rest = work[-1]
            for there in rest:
                if there not in index:
                    index[there] = low[there] = len(index)
                    stack.append(there)
                    on_stack.add(there)
                    work.append((there, iter(sorted(edges.get(there, ())))))
                    break
                if there in on_stack:
                    low[here] = min(low[here], index[there])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[here])
                if low[here] == index[here]:
                    component = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                        if member == here:
                            break
                    found.append(component)
    return found


def check_constructors(
    rules: Iterable[Rule],
    declarations: Declarations,
    predicates: Mapping[str, Predicate],
    laws: Mapping[str, LawDecl],
    plans: Mapping[str, PlanDecl],
) -> list[Finding]:
    """A predicate is derived only in the file that declares it, and tables by no rule."""
    findings = []
    for rule in rules:
        head = rule.head
        if head.name in declarations.tables:
            table = declarations.tables[head.name]
            findings.append(
                Finding(
                    "derived-table",
                    f"a rule derives `{head.name}`, whose rows are facts",
                    (head.position, replace(table.position, note="declares the table")),
                    "derive a predicate of your own",
                )
            )
            continue
        declared: Position | None = None
        what = f"`{head.name}`"
        if head.name in BUILTIN:
            first = head.args[0] if head.args else None
            owners: Mapping[str, LawDecl | PlanDecl] = plans if head.name == "plan" else laws
            if isinstance(first, Fun) and first.name in owners:
                declared = owners[first.name].position
                kind = "plan" if head.name == "plan" else "law"
                what = f"`{head.name}` of the {kind} `{first.name}`"
        elif head.name in predicates:
            declared = predicates[head.name].position
        if declared is not None and declared.file != head.position.file:
            findings.append(
                Finding(
                    "foreign-constructor",
                    f"{what} is derived outside the file that declares it",
                    (head.position, replace(declared, note="declares it, and alone may derive it")),
                    "move the rule there, or derive a predicate of this file",
                )
            )
    return findings


def check_readers(
    rules: Sequence[Rule],
    predicates: Mapping[str, Predicate],
    subjects: Iterable[Atom],
) -> list[Finding]:
    """Every declared predicate is derived by a rule, and read by one or by a named consumer."""
    derived = {r.head.name for r in rules}
    read = {u.atom.name for r in rules for u in uses(r.body) if u.atom.name != r.head.name}
    read |= {a.name for a in subjects}
    findings = []
    for predicate in predicates.values():
        if predicate.name not in derived:
            findings.append(
                Finding(
                    "underived-predicate",
                    f"no rule derives `{predicate.name}/{predicate.arity}`",
                    (predicate.position,),
                    "write its rules, or take the declaration away",
                )
            )
        elif predicate.name not in read and not predicate.frontier:
            findings.append(
                Finding(
                    "dangling-predicate",
                    f"no rule reads `{predicate.name}/{predicate.arity}`",
                    (predicate.position,),
                    "take it away, or add `Frontier:` with who reads it",
                )
            )
    return findings


def check_labels(rules: Iterable[Rule]) -> list[Finding]:
    """Labels name variables of their rule; only arguments that the head or body binds."""
    findings = []
    for rule in rules:
        if rule.label is None:
            continue
        bound = names(rule.head).union(*(names(b) for b in rule.body if not isinstance(b, Truth)))
        missing = [a for a in rule.label.args if a not in bound]
        if missing:
            findings.append(
                Finding(
                    "bad-label",
                    f"the label speaks of {listed(missing)}, which are not in the rule",
                    (rule.label.position,),
                    "a label names variables of its rule",
                )
            )
    return findings


def check_lone_variables(rules: Iterable[Rule]) -> list[Finding]:
    """A named variable that stands once joins nothing; it is `_`, or a typo of another."""
    findings = []
    for rule in rules:
        found = [v for item in (rule.head, *rule.body) for v in variables(item)]
        told = rule.label.args if rule.label is not None else ()
        times = Counter([*(v.name for v in found), *told])
        for variable in found:
            if times[variable.name] == 1 and not variable.name.startswith("_"):
                others = {v.name for v in found if not v.anonymous} - {variable.name}
                findings.append(
                    Finding(
                        "lone-variable",
                        f"`{variable.name}` stands once in its rule, and joins nothing",
                        (variable.position,),
                        similar(variable.name, others, "variable")
                        or f"write `_`, or `_{variable.name}` to keep the name",
                        Severity.WARNING,
                    )
                )
    return findings


def check_sums(rules: Iterable[Rule]) -> list[Finding]:
    """A sum of figures alone adds equal figures of different things up once."""
    findings = []
    for rule in rules:
        for literal in rule.body:
            if not isinstance(literal, Aggregate) or literal.function != "sum":
                continue
            for element in literal.elements:
                others = set().union(*(names(c) for c in element.conditions)) - names(
                    element.terms[0]
                )
                outside = names(rule.head).union(
                    *(names(b) for b in rule.body if not isinstance(b, Aggregate | Conditional))
                )
                if len(element.terms) == 1 and others - outside:
                    findings.append(
                        Finding(
                            "keyless-sum",
                            "the sum adds equal figures up once, whatever they are of",
                            (element.position,),
                            "name what they are of, too, as in `#sum { Need, Job : … }`",
                            Severity.WARNING,
                        )
                    )
    return findings


def check_conclusions(
    rules: Iterable[Rule], laws: Mapping[str, LawDecl], plans: Mapping[str, PlanDecl]
) -> list[Finding]:
    """Every declared verdict, reason, obligation and value is one that some rule derives."""
    said: dict[tuple[str, str], set[str] | None] = {}
    for rule in rules:
        head = rule.head
        if head.name in BUILTIN and len(head.args) > 2 and isinstance(head.args[0], Fun):
            key = (head.name, head.args[0].name)
            word = head.args[2]
            known = said.setdefault(key, set())
            if not isinstance(word, Fun):
                # A variable may stand for any of them.
                said[key] = None
            elif known is not None:
                known.add(word.name)
    declared: list[tuple[LawDecl | PlanDecl, str, str, Iterable[str]]] = []
    for law in laws.values():
        declared += [
            (law, "standing", "verdict", law.verdicts),
            (law, "reason", "reason", law.reasons),
            (law, "obligation", "obligation", law.obligations),
            (law, "value", "value", law.values),
        ]
    declared += [(plan, "plan", "value", plan.values) for plan in plans.values()]
    findings = []
    for owner, kind, what, words in declared:
        known = said.get((kind, owner.name), set())
        for name in words:
            if known is not None and name not in known:
                findings.append(
                    Finding(
                        "unused-conclusion",
                        f"no rule derives the {what} `{name}` of `{owner.name}`",
                        (owner.position,),
                        "derive it, or take its line away",
                        Severity.WARNING,
                    )
                )
    return findings


def walks_with_sets(rules: Iterable[Rule]) -> list[Rule]:
    """The rules with a set in their bodies whose heads rest on themselves."""
    rules = list(rules)
    edges: dict[str, set[str]] = {}
    for rule in rules:
        edges.setdefault(node(rule.head), set()).update(node(u.atom) for u in uses(rule.body))
    for below in list(edges.values()):
        for name in below:
            edges.setdefault(name, set())
    circle = {name: i for i, members in enumerate(components(edges)) for name in members}
    return [
        rule
        for rule in rules
        if any(isinstance(b, Aggregate | Conditional) for b in rule.body)
        and any(circle[node(u.atom)] == circle[node(rule.head)] for u in uses(rule.body))
    ]
