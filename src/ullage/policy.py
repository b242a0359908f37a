"""The Python API: a policy of rules and facts, loaded once and asked many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ullage import progress
from ullage.declarations import Declarations
from ullage.facts import FactBase, load_facts
from ullage.findings import (
    Finding,
    PolicyError,
    Position,
    UsageError,
    errors_of,
    listed,
    similar,
)
from ullage.plans import chosen, plans
from ullage.results import Bindings, Law, Plan, Plans, Standing, exact_text_of, value_order
from ullage.rules.book import QUERY, RuleBook, from_query, load_book, query_rule
from ullage.rules.declared import BUILTIN
from ullage.rules.terms import Rule
from ullage.solve import Model, solve
from ullage.standings import standings
from ullage.symbols import decode
from ullage.tables import load_declarations
from ullage.whatif import suppose
from ullage.yamlnodes import collector_paused


def default_folders() -> tuple[Path, Path]:
    """The rules and facts of the working folder where both exist, else those shipped."""
    here = (Path("rules"), Path("facts"))
    return here if all(p.is_dir() for p in here) else shipped_folders()


def shipped_folders() -> tuple[Path, Path]:
    """The rules and facts that come with the package."""
    shipped = Path(__file__).parent / "_policy"
    if not shipped.is_dir():
        shipped = Path(__file__).parents[2]
    return shipped / "rules", shipped / "facts"


class Policy:
    """Rules over facts. Findings are kept, so that ``check`` gives them all at once."""

    def __init__(
        self,
        book: RuleBook,
        facts: FactBase,
        of_rules: Sequence[Finding] = (),
        of_facts: Sequence[Finding] = (),
    ) -> None:
        self._book = book
        self._facts = facts
        self._of_rules = tuple(of_rules)
        self._findings = (*of_rules, *of_facts)
        self._model: Model | None = None
        self._standings: tuple[Standing, ...] | None = None
        self._plans: dict[tuple[str, ...], tuple[Plan, ...]] = {}

    @classmethod
    def load(
        cls,
        rules: Sequence[Path | str] | Path | str | None = None,
        facts: Sequence[Path | str] | Path | str | None = None,
        *,
        rows: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
        override: bool = False,
    ) -> Policy:
        """Load rules and facts from folders, and facts from rows.

        Without ``rules`` and ``facts`` the working folder's are taken where both exist, else those
        shipped; of one alone, the other is the working folder's where it has it, else that shipped.
        With ``rows`` and no ``facts``, the rows are all there is. Rows map a table's name
        to mappings from column to value: text as in YAML, or bool, int, Fraction or Decimal in
        base units; None is absent. With ``override`` a later folder's row replaces an earlier one
        of equal key.

        Raises UsageError where a folder is missing. What is invalid inside is kept as findings.
        """
        rule_folders, fact_folders = _folders(rules, facts, rows is not None)
        progress.phase("loading rules")
        declarations, findings = load_declarations(rule_folders)
        book = load_book(rule_folders, declarations)
        progress.phase("loading facts")
        base, found = load_facts(
            declarations, fact_folders, rows=rows, override=override, derived=_derived(book)
        )
        if not declarations.tables:
            # Whatever names a table would only say again that there is none.
            return cls(book, base, findings)
        return cls(book, base, [*findings, *book.findings], found)

    def over(self, rows: Mapping[str, Sequence[Mapping[str, object]]]) -> Policy:
        """The same rules over other facts, given as for ``load``: rules are read once for many."""
        base, found = load_facts(self.declarations, [], rows=rows, derived=_derived(self._book))
        return Policy(self._book, base, self._of_rules, found)

    @property
    def declarations(self) -> Declarations:
        """The declared tables and sorts."""
        return self._facts.declarations

    @property
    def facts(self) -> FactBase:
        """The rows, with their positions."""
        return self._facts

    @property
    def laws(self) -> tuple[Law, ...]:
        """The declared laws, in the order of their files."""
        return tuple(
            Law(
                decl.name,
                decl.doc,
                tuple(a for a, _ in decl.arguments),
                tuple((v.name, v.standing) for v in decl.verdicts.values()),
            )
            for decl in self._book.laws.values()
        )

    def check(self) -> tuple[Finding, ...]:
        """Every finding of declarations, rules and facts, and of the standings where sound."""
        findings = list(self._findings)
        if not errors_of(findings):
            for conclude in (self._solved, lambda: self._planned(list(self._book.plans))):
                try:
                    conclude()
                except PolicyError as error:
                    findings += error.findings
        return tuple(sorted(set(findings), key=lambda f: f.sort_key))

    def standings(
        self, laws: Sequence[str] | str = (), subject: str | None = None
    ) -> tuple[Standing, ...]:
        """The standings of the named law or laws (all, where none is named), by law and subject.

        ``subject`` is a subject's parts joined by ``/``. Raises PolicyError where the policy is
        invalid, UsageError for a law or subject that is not there.
        """
        laws = [laws] if isinstance(laws, str) else laws
        self._sound()
        for law in laws:
            if law not in self._book.laws:
                raise UsageError(f"no law is named `{law}`", self._law_hint(law))
        chosen = [s for s in self._solved() if not laws or s.law in laws]
        if subject is None:
            return tuple(chosen)
        found = tuple(s for s in chosen if s.subject_text == subject)
        if not found:
            subjects = sorted({s.subject_text for s in chosen})
            parts = [s for s in subjects if subject in s.split("/")]
            raise UsageError(
                f"no subject is named `{subject}`",
                f"subjects with it are {listed(parts)}"
                if parts
                else similar(subject, subjects, "subject"),
            )
        return found

    def _law_hint(self, name: str) -> str:
        of = sorted({s.law for s in self._solved() if s.subject_text == name})
        if of:
            return f"it is a subject of {listed(of)}: write `--subject {name}`"
        known = self._book.laws
        return similar(name, known, "law") or f"laws are {listed(list(known))}"

    def plan(
        self, names: Sequence[str] | str = (), flags: Mapping[str, str] | None = None
    ) -> Plans:
        """The plans of the names (all, where none is named), by plan and subject.

        ``flags`` maps flags that the policy declares, without their dashes, to values as text: they
        choose among the plans, and suppose facts otherwise for this answer alone. A plan that is
        shown under another comes with it. Raises PolicyError where the policy or a supposed value
        is invalid, UsageError for a plan or flag that is not there, and where nothing is chosen.
        """
        names = [names] if isinstance(names, str) else names
        self._sound()
        declared = self._book.plans
        for name in names:
            if name not in declared:
                raise UsageError(f"no plan is named `{name}`", self._plan_hint(name))
        supposed = suppose(self._facts, flags or {})
        policy = self
        if supposed.assumptions:
            policy = Policy(self._book, supposed.base, self._findings)
        shown = [n for n in declared if not names or {n, declared[n].layout.under} & {*names}]
        found = chosen(policy._planned(shown), declared, names, supposed.selected)
        layouts = {name: decl.layout for name, decl in declared.items()}
        return Plans(tuple(found), supposed.assumptions, layouts)

    def _plan_hint(self, name: str) -> str:
        flags = {flag.selects: flag.name for flag in self.declarations.flags.values()}
        parts = {
            n
            for p in self._planned(list(self._book.plans))
            for n, v in p.subject
            if exact_text_of(v) == name
        }
        for part in sorted(parts & flags.keys()):
            return f"`--{flags[part]} {name}` shows the plans of that {part}"
        known = self._book.plans
        if not known:
            return "none is declared"
        return similar(name, known, "plan") or f"plans are {listed(list(known))}"

    def query(self, body: str) -> Bindings:
        """The bindings of a rule body's variables, in the order of their appearance.

        Raises PolicyError where the policy or the body is invalid; the body's positions are in
        the file ``<query>``.
        """
        self._sound()
        typed, columns, findings = query_rule(body, self._book)
        if typed is None or errors_of(findings):
            raise PolicyError(findings)
        try:
            model = solve([*self._book.rules, typed], self._facts)
        except PolicyError as error:
            raise PolicyError(from_query(f) for f in error.findings) from error
        rows = [
            tuple(decode(s, sort) for s, (_, sort) in zip(a.arguments, columns, strict=True))
            for a in model.atoms(QUERY, len(columns))
        ]
        return Bindings(tuple(n for n, _ in columns), tuple(sorted(rows, key=value_order)))

    def model(self) -> Model:
        """The answer set itself, for those who count atoms. Raises PolicyError."""
        self._sound()
        if self._model is None:
            self._model = solve(self._book.rules, self._facts)
        return self._model

    def dump(self) -> str:
        """The lowered program with its facts, for a stock clingo. Raises PolicyError."""
        return self.model().text()

    def _sound(self) -> None:
        if errors_of(self._findings):
            raise PolicyError(self._findings)

    def _solved(self) -> tuple[Standing, ...]:
        if self._standings is None:
            model = self.model()
            with collector_paused():
                found, findings = standings(model, self._book.laws, self._rules)
            if findings:
                raise PolicyError([*self._findings, *findings])
            self._standings = tuple(found)
        return self._standings

    def _planned(self, names: Sequence[str]) -> tuple[Plan, ...]:
        """The plans of these names. Of the laws, those alone are read that judge them."""
        key = tuple(names)
        if key not in self._plans:
            declared = {name: self._book.plans[name] for name in names}
            judging = {d.law: self._book.laws[d.law] for d in declared.values() if d.law}
            model = self.model()
            with collector_paused():
                found, findings = standings(model, judging, self._rules)
                planned, more = plans(model, declared, found, self._rules)
            if findings or more:
                raise PolicyError([*self._findings, *findings, *more])
            self._plans[key] = tuple(planned)
        return self._plans[key]

    @property
    def _rules(self) -> list[Rule]:
        return [t.rule for t in self._book.rules]


def _derived(book: RuleBook) -> dict[str, Position]:
    """What no fact may assert: derived predicates, and those that every law derives."""
    places = {p.name: p.position for p in book.vocabulary.predicates.values()}
    for owner in (*book.laws.values(), *book.plans.values()):
        for name in BUILTIN:
            places.setdefault(name, owner.position)
    return places


def _folders(
    rules: Sequence[Path | str] | Path | str | None,
    facts: Sequence[Path | str] | Path | str | None,
    rows: bool,
) -> tuple[list[Path], list[Path]]:
    """The folders that a load reads. Raises UsageError for a name that is empty."""
    default_rules, default_facts = default_folders()
    if rules is not None or facts is not None:
        shipped_rules, shipped_facts = shipped_folders()
        default_rules = Path("rules") if Path("rules").is_dir() else shipped_rules
        default_facts = Path("facts") if Path("facts").is_dir() else shipped_facts
    rule_folders = _paths(rules) if rules is not None else [default_rules]
    if facts is not None:
        return rule_folders, _paths(facts)
    return rule_folders, [] if rows else [default_facts]


def _paths(given: Sequence[Path | str] | Path | str) -> list[Path]:
    paths = [given] if isinstance(given, Path | str) else list(given)
    if "" in paths:
        raise UsageError("a folder's name is empty", "write `.` for the working folder")
    return [Path(p) for p in paths]
