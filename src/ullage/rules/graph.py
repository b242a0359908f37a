"""What rules build on one another: constructors, strata, growth, and what nobody reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ullage.declarations import Declarations
from ullage.findings import Finding, Position, listed
from ullage.rules.docstrings import BUILTIN, LawDecl, Predicate
from ullage.rules.terms import (
    Aggregate,
    Atom,
    Comparison,
    Conditional,
    Expr,
    Fun,
    Int,
    Literal,
    Op,
    Rule,
    Truth,
    Tup,
    Var,
    names,
)


def node(atom: Atom) -> str:
    """The predicate an atom is of; those that every law derives are told apart by law."""
    if atom.name in BUILTIN and atom.args:
        first = atom.args[0]
        if isinstance(first, Fun):
            return f"{atom.name}({first.name})"
    return atom.name


@dataclass(frozen=True, slots=True)
class Use:
    """One atom read in a body: how it is read decides whether recursion may pass through it."""

    atom: Atom
    monotone: bool


def uses(body: Iterable[Literal]) -> Iterator[Use]:
    """Every atom that a body reads."""
    for literal in body:
        match literal:
            case Atom():
                yield Use(literal, literal.sign == 0)
            case Conditional(literal=inner, conditions=conditions):
                for part in (inner, *conditions):
                    if isinstance(part, Atom):
                        yield Use(part, False)
            case Aggregate(elements=elements):
                for element in elements:
                    for part in element.conditions:
                        if isinstance(part, Atom):
                            yield Use(part, False)
            case _:
                pass


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
                    (head.position, _noted(table.position, "declares the table")),
                    "derive a predicate of your own",
                )
            )
            continue
        declared: Position | None = None
        what = f"`{head.name}`"
        if head.name in BUILTIN:
            first = head.args[0] if head.args else None
            if isinstance(first, Fun) and first.name in laws:
                declared = laws[first.name].position
                what = f"`{head.name}` of the law `{first.name}`"
        elif head.name in predicates:
            declared = predicates[head.name].position
        if declared is not None and declared.file != head.position.file:
            findings.append(
                Finding(
                    "foreign-constructor",
                    f"{what} is derived outside the file that declares it",
                    (head.position, _noted(declared, "declares it, and alone may derive it")),
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


def check_recursion(rules: Sequence[Rule], declarations: Declarations) -> list[Finding]:
    """No recursion through negation or aggregates, and none that grows without bound."""
    edges: dict[str, set[str]] = {}
    for rule in rules:
        below = edges.setdefault(node(rule.head), set())
        for use in uses(rule.body):
            if use.atom.name not in declarations.tables:
                below.add(node(use.atom))
                edges.setdefault(node(use.atom), set())
    component = {n: i for i, c in enumerate(components(edges)) for n in c}
    findings = []
    for rule in rules:
        here = component[node(rule.head)]
        recursive = []
        for use in uses(rule.body):
            if component.get(node(use.atom)) != here or use.atom.name in declarations.tables:
                continue
            if use.monotone:
                recursive.append(use.atom)
            else:
                findings.append(
                    Finding(
                        "unstratified",
                        f"`{use.atom.name}` is negated or aggregated by a rule it depends on",
                        (use.atom.position, _noted(rule.head.position, "the rule's head")),
                        "a law has one answer set; break the circle",
                    )
                )
        if recursive and (growth := _growth(rule, recursive, component, here)):
            findings.append(growth)
    return findings


def _growth(
    rule: Rule, recursive: Sequence[Atom], component: Mapping[str, int], here: int
) -> Finding | None:
    """A recursive rule that makes new terms, unless a finite relation bounds them."""
    definitions = _definitions(rule.body)
    finite: list[Expr] = []
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.sign == 0 and component.get(node(literal)) != here:
            finite.extend(literal.args)
            for arg in literal.args:
                if isinstance(arg, Tup):
                    finite.extend(arg.args)
    growing = [a for a in rule.head.args if _makes(a, definitions)]
    unbounded = [a for a in growing if not _bounded(a, finite, definitions)]
    if not unbounded or _walks(rule, recursive, finite, definitions):
        return None
    return Finding(
        "unbounded-recursion",
        f"`{rule.head.name}` makes a new term from its own at each step",
        (unbounded[0].position,),
        "let a table's positions bound the walk: an argument `P + 1` that an atom of a table "
        "holds, too",
    )


def _definitions(body: Iterable[Literal]) -> dict[str, Expr]:
    """Variables that an equation or aggregate defines by a computed term."""
    found: dict[str, Expr] = {}
    for literal in body:
        if isinstance(literal, Comparison) and literal.sign == 0:
            chain = [literal.first, *(t for _, t in literal.rest)]
            for (op, right), left in zip(literal.rest, chain, strict=False):
                if op == "=":
                    for var, term in ((left, right), (right, left)):
                        if isinstance(var, Var) and not isinstance(term, Var):
                            found[var.name] = term
        elif isinstance(literal, Aggregate) and literal.sign == 0:
            for op, guard in literal.guards:
                if op == "=" and isinstance(guard, Var):
                    found[guard.name] = Op("+", (guard,), literal.position)
    return found


def _makes(term: Expr, definitions: Mapping[str, Expr]) -> bool:
    match term:
        case Op():
            return bool(names(term))
        case Var(name=name):
            return name in definitions and bool(names(definitions[name]))
        case Fun(args=args):
            return any(names(a) for a in args)
        case Tup(args=args):
            return any(_makes(a, definitions) for a in args)
    return False


def _bounded(term: Expr, finite: Sequence[Expr], definitions: Mapping[str, Expr]) -> bool:
    if term in finite:
        return True
    if isinstance(term, Var) and term.name in definitions:
        return definitions[term.name] in finite
    if isinstance(term, Tup):
        return all(
            not _makes(a, definitions) or _bounded(a, finite, definitions) for a in term.args
        )
    return any(isinstance(f, Var) and definitions.get(f.name) == term for f in finite)


def _walks(
    rule: Rule,
    recursive: Sequence[Atom],
    finite: Sequence[Expr],
    definitions: Mapping[str, Expr],
) -> bool:
    """Whether one argument steps up or down by a fixed count, inside a finite relation."""
    for atom in recursive:
        if atom.name != rule.head.name:
            continue
        for before, after in zip(atom.args, rule.head.args, strict=False):
            pairs = [(before, after)]
            if isinstance(before, Tup) and isinstance(after, Tup):
                pairs = list(zip(before.args, after.args, strict=False))
            for was, now in pairs:
                step = definitions.get(now.name, now) if isinstance(now, Var) else now
                if _bounded(now, finite, definitions) and _steps(step, was):
                    return True
                back = definitions.get(was.name, was) if isinstance(was, Var) else was
                if now in finite and _steps(back, now):
                    return True
    return False


def _steps(term: Expr, start: Expr) -> bool:
    return (
        isinstance(term, Op)
        and term.name in ("+", "-")
        and len(term.args) == 2
        and (
            (term.args[0] == start and _whole(term.args[1]))
            or (term.name == "+" and term.args[1] == start and _whole(term.args[0]))
        )
    )


def _whole(term: Expr) -> bool:
    return isinstance(term, Int) and term.value > 0


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


def _noted(position: Position, note: str) -> Position:
    return Position(position.file, position.line, position.column, note)
