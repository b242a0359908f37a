"""All rules of a policy, read, declared, sorted and checked: the book that a run grounds."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import clingo
from clingo import ast
from clingo.core import MessageCode

from ullage.declarations import Declarations
from ullage.findings import Finding, Position, Severity, errors_of, listed, similar
from ullage.rules import docstrings, graph
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl, Predicate, snake
from ullage.rules.inference import TypedRule, infer
from ullage.rules.recursion import check_recursion
from ullage.rules.syntax import RuleFile, parse_file, parse_text, signatures
from ullage.rules.terms import Atom, Rule, Var, outer_variables, uses
from ullage.rules.vocabulary import Vocabulary
from ullage.sorts import Sort
from ullage.stored import AnyPath, parts_below
from ullage.textfiles import files_below, passed_over, shown_path
from ullage.yamlnodes import YAML_ENDINGS

QUERY = "_query'"
"""The predicate that holds the bindings of an ad-hoc query."""

QUERY_FILE = "<query>"

_UNSAFE = re.compile(r":(\d+):(\d+)(?:-[\d:]+)?: note: '([^']+)' is unsafe")


@dataclass(slots=True)
class RuleBook:
    """The rules of a policy, typed, with their vocabulary; sound only without error findings."""

    vocabulary: Vocabulary
    files: list[RuleFile] = field(default_factory=list)
    rules: list[TypedRule] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def laws(self) -> Mapping[str, LawDecl]:
        """The declared laws by name, in the order of the files."""
        return self.vocabulary.laws

    @property
    def plans(self) -> Mapping[str, PlanDecl]:
        """The declared plans by name, in the order of the files."""
        return self.vocabulary.plans

    @property
    def owners(self) -> list[LawDecl | PlanDecl]:
        """The laws, then the plans."""
        return [*self.laws.values(), *self.plans.values()]

    @property
    def authored(self) -> list[TypedRule]:
        """The rules that stand in files: those that collect subjects are made of docstrings."""
        collects = {owner.collects for owner in self.owners}
        return [t for t in self.rules if t.rule.head.name not in collects]


def rule_files(folders: Sequence[AnyPath]) -> tuple[list[AnyPath], list[Finding]]:
    """The law files of rules folders, in a fixed order; searches are not run, and said so."""
    laws: list[AnyPath] = []
    findings: list[Finding] = []
    for folder in folders:
        files, found = files_below(folder, (".lp",))
        findings += found
        tables, _ = files_below(folder / "tables", YAML_ENDINGS)
        findings += passed_over(
            folder,
            [*files, *tables],
            (".lp", *YAML_ENDINGS),
            "laws end in `.lp`, and declarations are `.yaml` files below `tables/`",
        )
        for path in files:
            if parts_below(path, folder)[0] != "search":
                laws.append(path)
                continue
            findings.append(
                Finding(
                    "search-not-run",
                    f"`{shown_path(path)}` is a search, and this version runs laws only",
                    (Position(shown_path(path), 1, 1),),
                    "keep searches outside the rules folder",
                )
            )
    return laws, findings


def load_book(folders: Sequence[AnyPath], declarations: Declarations) -> RuleBook:
    """Read every law below the folders, which must exist."""
    files = []
    paths, findings = rule_files(folders)
    for path in paths:
        file, found = parse_file(path)
        files.append(file)
        findings += found
    if not any(f.rules for f in files) and not findings:
        places = tuple(Position(shown_path(f), 1, 1) for f in folders)
        findings.append(
            Finding(
                "no-rules", "no law stands below the rules folder", places, "write a `.lp` file"
            )
        )
    return _book(files, declarations, findings)


def _book(files: list[RuleFile], declarations: Declarations, findings: list[Finding]) -> RuleBook:
    refused = {p.file for f in findings for p in f.positions}
    predicates, laws, plans, broken, found = _declared(files, declarations)
    findings += found
    findings += _plans_alone(laws, plans, broken)
    findings += _flags_alone(declarations, plans) if files and not broken else []
    owners: dict[str, LawDecl | PlanDecl] = {law.collects: law for law in laws.values()}
    owners |= {plan.collects: plan for plan in plans.values()}
    subject_rules: list[Rule] = []
    for owner in owners.values():
        rule, found = _subject_rule(owner)
        findings += found
        if rule is not None:
            subject_rules.append(rule)
    helpers = {
        name: Predicate(name, owner.arguments, owner.doc, owner.position)
        for name, owner in owners.items()
    }
    vocabulary = Vocabulary(declarations, predicates | helpers, laws, plans, broken)
    book = RuleBook(vocabulary, files, findings=findings)
    rules = [r for f in files for r in f.rules]
    unsafe = [f for file in files for f in check_safety(file)]
    findings += unsafe
    for rule in [*rules, *subject_rules]:
        typed, found = infer(rule, vocabulary)
        if any(_inside(f, rule) for f in unsafe):
            found = [f for f in found if not f.code.startswith("unsorted-")]
        if rule.head.name in owners:
            found = [_at_owner(f, owners[rule.head.name]) for f in found]
        findings += found
        if typed is not None:
            book.rules.append(typed)
    subjects = [u.atom for r in subject_rules for u in uses(r.body)]
    findings += graph.check_constructors(rules, declarations, predicates, laws, plans)
    # A rule that was refused may be the one that derives, or reads.
    if not refused:
        findings += graph.check_readers(rules, predicates, subjects)
        findings += graph.check_conclusions(rules, laws, plans)
    findings += check_recursion(rules, declarations)
    findings += graph.check_labels(rules)
    findings += graph.check_lone_variables(rules)
    findings += graph.check_sums(rules)
    faulty = {p.file for f in errors_of(findings) for p in f.positions}
    for file in files:
        if file.path not in faulty:
            own = [r for r in subject_rules if r.position.file == file.path]
            findings += _check_header(file, [u.atom for r in own for u in uses(r.body)])
    findings += _missing_labels(rules)
    return book


def _inside(finding: Finding, rule: Rule) -> bool:
    """Whether a finding stands in a rule."""
    at, place = rule.position, finding.positions[0]
    return place.file == at.file and at.line <= place.line <= at.line + rule.lines


def _declared(
    files: Iterable[RuleFile], declarations: Declarations
) -> tuple[
    dict[str, Predicate], dict[str, LawDecl], dict[str, PlanDecl], frozenset[str], list[Finding]
]:
    """The declared predicates, laws and plans, and the names whose docstring cannot be read."""
    broken: set[str] = set()
    predicates: dict[str, Predicate] = {}
    laws: dict[str, LawDecl] = {}
    plans: dict[str, PlanDecl] = {}
    findings: list[Finding] = []
    for file in files:
        for docstring in file.docstrings:
            declared, found = docstrings.parse(docstring, declarations)
            findings += found
            if declared is None:
                broken.add(docstrings.signature_name(docstring))
                continue
            of_kind: Mapping[str, Predicate | LawDecl | PlanDecl] = (
                laws
                if isinstance(declared, LawDecl)
                else plans
                if isinstance(declared, PlanDecl)
                else predicates
            )
            finding = _clash(declared, of_kind.get(declared.name), declarations)
            if finding is not None:
                findings.append(finding)
            elif isinstance(declared, LawDecl):
                laws[declared.name] = declared
            elif isinstance(declared, PlanDecl):
                plans[declared.name] = declared
            else:
                predicates[declared.name] = declared
    return predicates, laws, plans, frozenset(broken), findings


def _plans_alone(
    laws: Mapping[str, LawDecl], plans: Mapping[str, PlanDecl], broken: frozenset[str]
) -> list[Finding]:
    """Plans whose law is none, or judges other subjects; and those shown under no plan."""
    findings = []
    for plan in plans.values():
        law = laws.get(plan.law)
        if plan.law and law is None and plan.law not in broken:
            findings.append(
                Finding(
                    "unknown-law",
                    f"no docstring declares a law `{plan.law}`",
                    (plan.position,),
                    similar(plan.law, laws, "law"),
                )
            )
        if law is not None and law.subject_sort != plan.subject_sort:
            findings.append(
                Finding(
                    "bad-docstring",
                    f"the law `{law.name}` judges `{law.subject_sort}`, and the plan "
                    f"`{plan.name}` is of `{plan.subject_sort}`",
                    (plan.position, dataclasses.replace(law.position, note="declares the law")),
                    "a plan's law has the same subjects",
                )
            )
        under = plan.layout.under
        if under and (under not in plans or plans[under].layout.under):
            if under not in broken:
                findings.append(
                    Finding(
                        "unknown-plan",
                        f"the plan `{plan.name}` is shown under `{under}`, which is no plan that "
                        "stands by itself",
                        (plan.position,),
                        similar(under, plans, "plan"),
                    )
                )
        elif under:
            rows = [n for n, _ in plan.arguments if snake(n) != plan.layout.rows]
            if [dict(plan.arguments)[n] for n in rows] != [s for _, s in plans[under].arguments]:
                findings.append(
                    Finding(
                        "bad-docstring",
                        f"the parts of `{plan.name}` beside its rows are not those of `{under}`",
                        (plan.position,),
                        "a plan under another has its subject, and one part more",
                    )
                )
    return findings


def _flags_alone(declarations: Declarations, plans: Mapping[str, PlanDecl]) -> list[Finding]:
    """Flags that choose by what no plan has."""
    told = {name for plan in plans.values() for name in plan.told}
    return [
        Finding(
            "bad-declaration",
            f"flag `{flag.name}` selects `{flag.selects}`, which no plan has as a part or value",
            (flag.position,),
            similar(flag.selects, told, "part"),
        )
        for flag in declarations.flags.values()
        if flag.selects and flag.selects not in told
    ]


def _clash(
    declared: Predicate | LawDecl | PlanDecl,
    earlier: Predicate | LawDecl | PlanDecl | None,
    declarations: Declarations,
) -> Finding | None:
    name, at = declared.name, declared.position
    if name in BUILTIN:
        return Finding(
            "duplicate-predicate",
            f"`{name}` is a predicate of the engine, which no docstring declares",
            (at,),
            "choose another name",
        )
    if isinstance(declared, Predicate) and name in declarations.tables:
        table = dataclasses.replace(declarations.tables[name].position, note="declares the table")
        return Finding(
            "duplicate-predicate", f"`{name}` is a table, too", (at, table), "choose another name"
        )
    if earlier is None:
        return None
    first = dataclasses.replace(earlier.position, note="is the first declaration")
    if len(earlier.arguments) != len(declared.arguments):
        return Finding(
            "two-arities",
            f"`{name}` is declared with {len(earlier.arguments)} and with "
            f"{len(declared.arguments)} arguments",
            (at, first),
            "give one of the two a name of its own",
        )
    return Finding(
        "duplicate-predicate", f"a second docstring of `{name}`", (at, first), "keep one"
    )


def _subject_rule(owner: LawDecl | PlanDecl) -> tuple[Rule | None, list[Finding]]:
    """The rule that collects the subjects of a law or plan from its ``Subjects:`` section."""
    head = ", ".join(a for a, _ in owner.arguments)
    file, found = parse_text(owner.position.file, f"_subject({head}) :- {owner.subjects}.")
    found = [_at_owner(f, owner) for f in found]
    found += [_at_owner(f, owner) for f in check_safety(file)]
    if found or len(file.rules) != 1:
        found = found or [
            Finding(
                "bad-docstring", f"the subjects of `{owner.name}` cannot be read", (owner.position,)
            )
        ]
        return None, found
    rule = file.rules[0]
    head_atom = dataclasses.replace(rule.head, name=owner.collects, position=owner.position)
    return dataclasses.replace(rule, head=head_atom, position=owner.position), []


def _at_owner(finding: Finding, owner: LawDecl | PlanDecl) -> Finding:
    """A finding about the subjects of a law or plan, at its docstring."""
    place = dataclasses.replace(owner.position, note="the section `Subjects:` of this docstring")
    others = [p for p in finding.positions[1:] if p.file != owner.position.file]
    return dataclasses.replace(finding, positions=(place, *others))


def check_safety(file: RuleFile) -> list[Finding]:
    """clingo's own check that every variable is bound, on the author's rules."""
    messages: list[str] = []

    def log(code: MessageCode, message: str) -> None:
        messages.append(message)

    control = clingo.Control(logger=log, message_limit=1000)
    # An atom that nothing derives keeps the rules from being grounded; they are only checked.
    with ast.ProgramBuilder(control) as builder:
        for statement in file.statements:
            location = statement.location
            never = ast.Literal(
                location,
                ast.Sign.NoSign,
                ast.SymbolicAtom(ast.Function(location, "_never'", [], False)),
            )
            builder.add(ast.Rule(location, statement.head, [*statement.body, never]))
    try:
        control.ground([("base", [])])
    except RuntimeError:
        pass
    else:
        return []
    lines = file.text.split("\n")
    findings = []
    for message in messages:
        for line, column, name in _UNSAFE.findall(message):
            text = lines[int(line) - 1].encode()[: int(column) - 1].decode(errors="replace")
            findings.append(
                Finding(
                    "unsafe-variable",
                    "`_` stands where nothing binds it"
                    if name.startswith("#Anon")
                    else f"nothing binds `{name}`",
                    (Position(file.path, int(line), len(text) + 1),),
                    "a variable needs an atom outside `not` that holds it, or an equation",
                )
            )
    if not findings:
        said = " ".join(" ".join(messages).split())
        findings.append(
            Finding("rule-syntax", f"the rules are not sound: {said}", (Position(file.path, 1, 1),))
        )
    return findings


def _check_header(file: RuleFile, subjects: Iterable[Atom]) -> list[Finding]:
    """The header says what the file reads and derives, and says it truly.

    Atoms that only collect subjects may be named, and need not be.
    """
    if not file.rules:
        return []
    derived = {_signature(r.head) for r in file.rules}
    read = {_signature(u.atom) for r in file.rules for u in uses(r.body)}
    wanted = {
        "Input": {s for s in read - derived if not s[0].startswith("_")},
        "Output": {s for s in derived if not s[0].startswith("_")},
    }
    findings = []
    for word in ("Purpose", "Input", "Output"):
        if word not in file.header:
            findings.append(
                Finding(
                    "bad-header",
                    f"the file has no `% {word}` line",
                    (Position(file.path, 1, 1),),
                    "a header says purpose, input and output predicates",
                    Severity.WARNING,
                )
            )
            continue
        text, at = file.header[word]
        if word == "Purpose":
            continue
        said = signatures(text)
        more_read = {_signature(a) for a in subjects} if word == "Input" else set()
        for pair, what in (
            (wanted[word] - said, "does not name"),
            (said - wanted[word] - more_read, "names"),
        ):
            if pair:
                shown = listed([f"{n}/{a}" for n, a in sorted(pair)])
                verb = "read" if word == "Input" else "derive"
                more = "" if what == "does not name" else f", which the file does not {verb}"
                findings.append(
                    Finding(
                        "bad-header",
                        f"`% {word}` {what} {shown}{more}",
                        (at,),
                        "",
                        Severity.WARNING,
                    )
                )
    return findings


def _signature(atom: Atom) -> tuple[str, int]:
    return atom.name, len(atom.args)


def _missing_labels(rules: Iterable[Rule]) -> list[Finding]:
    return [
        Finding(
            "missing-label",
            f"a rule of `{rule.head.name}` has no label",
            (rule.position,),
            'write `%!trace_rule {"…"}.` before it: what it concludes, in words',
            Severity.WARNING,
        )
        for rule in rules
        if rule.label is None and not rule.head.name.startswith("_")
    ]


def query_rule(
    body: str, book: RuleBook
) -> tuple[TypedRule | None, tuple[tuple[str, Sort], ...], list[Finding]]:
    """An ad-hoc body as a rule over its variables, in the order of their appearance.

    Positions are those of the body's text, in the file ``<query>``.
    """
    body = body.strip().removesuffix(".").rstrip()
    if not body:
        return None, (), [_query_finding("the query is empty", "write a rule's body", 1, 1)]
    file, findings = parse_text(QUERY_FILE, f"query :-\n{body}\n.")
    if not findings and len(file.rules) != 1:
        findings = [
            _query_finding("the query is not one body", "a query has a body and no head", 2, 1)
        ]
    if not findings:
        findings = check_safety(file)
    if findings:
        last = body.split("\n")
        end = Position(QUERY_FILE, len(last) + 1, len(last[-1]) + 1)
        return None, (), [from_query(_within(f, end)) for f in findings]
    rule = file.rules[0]
    found: dict[str, Var] = {}
    for literal in rule.body:
        for variable in outer_variables(literal):
            if not variable.anonymous:
                found.setdefault(variable.name, variable)
    probe_rule = dataclasses.replace(rule, head=dataclasses.replace(rule.head, name=QUERY))
    probe, findings = infer(probe_rule, _with_query(book.vocabulary, QUERY, ()))
    if probe is None:
        return None, (), [from_query(f) for f in findings]
    columns = tuple((n, probe.variables[n]) for n in found)
    head = Atom(QUERY, tuple(found.values()), rule.position)
    typed, findings = infer(
        dataclasses.replace(rule, head=head), _with_query(book.vocabulary, QUERY, columns)
    )
    return typed, columns, [from_query(f) for f in findings]


def _query_finding(message: str, help: str, line: int, column: int) -> Finding:
    return Finding("rule-syntax", message, (Position(QUERY_FILE, line, column),), help)


def _within(finding: Finding, end: Position) -> Finding:
    """A finding of a query; one behind its text says that the text breaks off."""
    at = finding.positions[0]
    if finding.code != "rule-syntax" or (at.line, at.column) <= (end.line, end.column):
        return finding
    return _query_finding(
        "the query ends too early",
        "close what is open; the last literal is not whole",
        end.line,
        end.column,
    )


def _with_query(
    vocabulary: Vocabulary, name: str, arguments: tuple[tuple[str, Sort], ...]
) -> Vocabulary:
    predicate = Predicate(name, arguments, "", Position(QUERY_FILE, 1, 1))
    return dataclasses.replace(vocabulary, predicates={**vocabulary.predicates, name: predicate})


def from_query(finding: Finding) -> Finding:
    """A finding with its lines counted from the body's first."""
    positions = tuple(
        dataclasses.replace(p, line=max(1, p.line - 1)) if p.file == QUERY_FILE else p
        for p in finding.positions
    )
    return dataclasses.replace(finding, positions=positions)
