"""The Python API: a policy of rules and facts, loaded once and asked many times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path

from ullage import progress
from ullage.changes import Change, Set, read_set
from ullage.days import today
from ullage.declarations import Declarations
from ullage.diff.compared import compare
from ullage.diff.mixture import Conclusions, Reload, Side
from ullage.diff.result import Diff
from ullage.explain.answers import Denial, Explanation
from ullage.explain.deep import with_room
from ullage.explain.derive import Explainer
from ullage.explain.goals import Reach, Search, read_vary
from ullage.explain.questions import Question
from ullage.explain.questions import Reader as Questions
from ullage.explain.refute import Refuter
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
from ullage.folders import folders
from ullage.moves import Moves
from ullage.moving import Mover
from ullage.plans import chosen, plans
from ullage.records.make import make_record
from ullage.records.masks import Key, Masks
from ullage.records.record import Record
from ullage.reference.text import atom_text
from ullage.results import Bindings, Law, Plan, Plans, Standing, exact_text_of, value_order
from ullage.rules.book import QUERY, RuleBook, from_query, load_book, query_rule
from ullage.rules.declared import BUILTIN, LawDecl
from ullage.rules.terms import Rule
from ullage.solve import Lowerings, Model, solve
from ullage.standings import standings
from ullage.stored import AnyPath
from ullage.symbols import decode
from ullage.tables import load_declarations
from ullage.waivers import Waivers, ambiguous, faults, spent
from ullage.whatif import suppose, suppose_changes
from ullage.yamlnodes import collector_paused

MOST_GOALS = 12
"""How many atoms a question with open parts may ask about."""


class Policy:
    """Rules over facts. Findings are kept, so that ``check`` gives them all at once."""

    def __init__(
        self,
        book: RuleBook,
        facts: FactBase,
        of_rules: Sequence[Finding] = (),
        of_facts: Sequence[Finding] = (),
        reload: Reload | None = None,
        on: date | None = None,
    ) -> None:
        self._book = book
        self._facts = facts
        self._of_rules = tuple(of_rules)
        # A law that could not be read may be the one that a waiver names.
        of_waivers = [] if errors_of(of_rules) else faults(facts, book)
        self._findings = (*of_rules, *of_facts, *of_waivers)
        self._reload = reload
        self._on = on or today()
        self._lowerings = Lowerings()
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
        on: date | None = None,
    ) -> Policy:
        """Load rules and facts from folders, and facts from rows.

        Without ``rules`` and ``facts`` the working folder's are taken where both exist, else those
        shipped; of one alone, the other is the working folder's where it has it, else that shipped.
        With ``rows`` and no ``facts``, the rows are all there is. Rows map a table's name
        to mappings from column to value: text as in YAML, or bool, int, Fraction or Decimal in
        base units; None is absent. With ``override`` a later folder's row replaces an earlier one
        of equal key. ``on`` is the day that decides which waivers are in force: this policy's, and
        that of each that is made of it. Without it that is today, in UTC.

        Raises UsageError where a folder is missing. What is invalid inside is kept as findings.
        """
        rule_folders, fact_folders = folders(rules, facts, rows is not None)
        return cls.read(rule_folders, fact_folders, rows=rows, override=override, on=on)

    @classmethod
    def read(
        cls,
        rules: Sequence[AnyPath],
        facts: Sequence[AnyPath],
        *,
        rows: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
        override: bool = False,
        like: Policy | None = None,
        on: date | None = None,
    ) -> Policy:
        """Load the rules and facts of these very folders, as ``load`` does.

        The rules of ``like`` are taken where they are known to be the same.
        """

        def facts_under(declarations: Declarations) -> FactBase:
            return load_facts(declarations, facts, rows=rows, override=override)[0]

        if like is not None:
            book, findings = like._book, like._of_rules
        else:
            progress.phase("loading rules")
            declarations, found = load_declarations(rules)
            book = load_book(rules, declarations)
            # Whatever names a table would only say again that there is none.
            findings = (*found, *(book.findings if declarations.tables else ()))
        progress.phase("loading facts")
        base, amiss = load_facts(
            book.vocabulary.declarations,
            facts,
            rows=rows,
            override=override,
            derived=_derived(book),
        )
        of_facts = amiss if base.declarations.tables else ()
        read = cls(book, base, findings, of_facts, facts_under, on)
        if like is not None:
            read._lowerings = like._lowerings
        return read

    def over(self, rows: Mapping[str, Sequence[Mapping[str, object]]]) -> Policy:
        """The same rules over other facts, given as for ``load``: rules are read once for many."""
        return self.of_facts(*load_facts(self.declarations, [], rows=rows, derived=self.derived))

    def of_facts(self, facts: FactBase, findings: Sequence[Finding] = ()) -> Policy:
        """The same rules over facts that were read before, with what was found in those."""
        return Policy(self._book, facts, self._of_rules, findings, on=self._on)

    def of_book(self, book: RuleBook) -> Policy:
        """Other rules, of the same vocabulary, over the same facts."""
        return Policy(book, self._facts, self._of_rules, on=self._on)

    @property
    def on(self) -> date:
        """The day that decides which waivers are in force."""
        return self._on

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found in declarations, rules and facts as they were loaded."""
        return self._findings

    @property
    def book(self) -> RuleBook:
        """The rules, typed."""
        return self._book

    @property
    def derived(self) -> Mapping[str, Position]:
        """What no fact may assert, and where it is declared."""
        return _derived(self._book)

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
        """Every finding of declarations, rules and facts, and of the standings where sound.

        Waivers that have expired, or suspend nothing, are warnings.
        """
        findings = list(self._findings)
        if not errors_of(findings):
            for conclude in (self._solved, lambda: self._planned(list(self._book.plans))):
                try:
                    conclude()
                except PolicyError as error:
                    findings += error.findings
        if not errors_of(findings):
            findings += spent(self._facts, self._solved(), self._on)
        return tuple(sorted(set(findings), key=lambda f: f.sort_key))

    def standings(
        self, laws: Sequence[str] | str = (), subject: str | None = None
    ) -> tuple[Standing, ...]:
        """The standings of the named law or laws (all, where none is named), by law and subject.

        ``subject`` is a subject's parts joined by ``/``. Raises PolicyError where the policy is
        invalid, UsageError for a law or subject that is not there.
        """
        laws = self._named(laws)
        chosen = [s for s in self._solved() if not laws or s.law in laws]
        if subject is None:
            return tuple(chosen)
        found = tuple(s for s in chosen if s.subject_text == subject)
        if not found:
            raise _no_subject(subject, (s.subject_text for s in chosen))
        return found

    def _named(self, laws: Sequence[str] | str) -> Sequence[str]:
        """The names of laws. Raises PolicyError where the policy is invalid, and UsageError."""
        laws = [laws] if isinstance(laws, str) else laws
        self._sound()
        for law in laws:
            if law not in self._book.laws:
                raise UsageError(f"no law is named `{law}`", self._law_hint(law))
        return laws

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
            policy = self._supposing(supposed.base)
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

    def what_if(
        self, changes: Iterable[Change], laws: Sequence[str] | str = (), subject: str | None = None
    ) -> Moves:
        """What changes of facts move: standings and plans, under the facts and as supposed.

        Of laws that are named their standings alone; ``subject`` is a subject's parts joined by
        ``/``. What the changes cannot reach is not looked at. Raises PolicyError where the policy
        is invalid, under the facts or as supposed, and UsageError for what is not there.
        """
        laws = self._named(laws)
        moves = self._mover.moves(changes, laws, subject)
        if subject is not None and not moves and not moves.left:
            known = {s.subject_text for s in self.standings(laws)}
            known |= set() if laws else {p.subject_text for p in self.plan()}
            if subject not in known:
                raise _no_subject(subject, known)
        return moves

    def supposing(self, changes: Iterable[Change]) -> Policy:
        """The same rules over the facts as changes suppose them. Raises as ``what_if`` does."""
        self._sound()
        return self._supposing(self._mover.suppose(changes).base)

    def _supposing(self, base: FactBase) -> Policy:
        """The same rules over other facts, on the same day."""
        return Policy(self._book, base, self._findings, on=self._on)

    def diff(self, other: Policy, laws: Collection[str] = (), subject: str | None = None) -> Diff:
        """What moves from this policy to another: standings and plans, each with what moved it.

        Of laws that are named their standings alone; ``subject`` is a subject's parts joined by
        ``/``. Waivers are those in force on the other's day: that a day went by is no change of
        facts. Raises PolicyError where one of the two is invalid.
        """
        with collector_paused():
            return compare(self._as_of(other._on)._side(), other._side(), laws, subject)

    def _side(self) -> Side:
        self._sound()
        return Side(self._book, self._facts, self._conclusions, self.model, self._on, self._reload)

    def _as_of(self, day: date) -> Policy:
        """The same policy on a day."""
        if day == self._on:
            return self
        policy = Policy(self._book, self._facts, self._findings, (), self._reload, day)
        policy._lowerings, policy._model = self._lowerings, self._model
        return policy

    def _conclusions(self) -> Conclusions:
        """All standings and plans, by what they are of. Raises PolicyError."""
        laws = {(("law", s.law), s.subject): s for s in self._solved()}
        return laws | {
            (("plan", p.plan), p.subject): p for p in self._planned(list(self._book.plans))
        }

    def read_set(self, text: str) -> Set:
        """The change that ``table/key/column=value`` asks for. Raises PolicyError, UsageError."""
        self._sound()
        return read_set(text, self._facts)

    @cached_property
    def _mover(self) -> Mover:
        return Mover(self._book, self._facts, _derived(self._book), self._solved, self._on)

    @cached_property
    def _waivers(self) -> Waivers:
        return Waivers.on(self._on, self._facts)

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

    def why(self, *question: str) -> Explanation:
        """Why something holds: an atom, or a law or plan, a subject, and what of it.

        ``policy.why("route_fit", "twinspark")`` asks for a standing with its reasons and
        obligations, ``policy.why("usable(dgx-1, _)")`` for any atom. Raises PolicyError where the
        policy is invalid, UsageError for what is not there or does not hold.
        """
        asked = self._questions.read(question)
        found = [sorted(self.explainer.holding(*a), key=atom_text) for a in asked.asked]
        goals = [goal for goals in found for goal in goals]
        if not goals:
            raise UsageError(
                f"`{asked.words}` does not hold", f"ask `why-not {asked.words}` for the reasons"
            )
        if len(goals) > MOST_GOALS and asked.about is None:
            shown = ", ".join(f"`{atom_text(g)}`" for g in goals[:3])
            raise UsageError(
                f"{len(goals)} atoms are `{asked.words}`", f"name one of them, as {shown}"
            )
        derivation = self.explainer.derivation(*goals)
        return Explanation(asked, derivation, self.explainer, self._standing_of(asked))

    def why_not(self, *question: str) -> Denial:
        """Why something does not hold: each rule that could conclude it, and what it lacks.

        Questions are those of ``why``; of a law and subject alone, each established verdict is
        asked for that the subject has not. Raises PolicyError where the policy is invalid,
        UsageError for what is not there or holds.
        """
        asked = self._questions.read(question, negated=True)
        standing = self._standing_of(asked)
        wanted = [a for a in asked.asked if not self.explainer.holding(*a)]
        if not wanted:
            raise UsageError(f"`{asked.words}` holds", f"ask `why {asked.words}` for the reasons")
        refuter = Refuter(self.explainer)
        refutations = tuple(refuter.refutation(*a) for a in wanted)
        return Denial(asked, refutations, self.explainer, standing)

    def reach(self, *goal: str, vary: Sequence[str]) -> Reach:
        """Which changes of some cells would make something hold: the fewest, then the smallest.

        ``goal`` is a question as for ``why_not``; each of ``vary`` is ``table/key/column``, or with
        the values that it may take ``table/key/column=v1,v2`` or ``=low..high/step``. Raises
        PolicyError where the policy or a value is invalid, UsageError for what is not there, or
        where the goal is reached already.
        """
        asked = self._questions.read(goal, negated=True)
        if any(self.explainer.holding(*a) for a in asked.asked):
            raise UsageError(
                f"`{asked.words}` holds already",
                "nothing is to be changed; `why` says what it follows from",
            )
        varies = [read_vary(text, self._facts) for text in vary]
        about = self._book.laws.get(asked.about[0]) if asked.about else None

        def holds(changes: Sequence[Set]) -> bool:
            supposed = suppose_changes(self._facts, changes, _derived(self._book))
            policy = self._supposing(supposed.base)
            return any(policy.explainer.holding(*a) for a in asked.asked)

        search = Search(self.explainer, asked.asked, holds, about)
        ways = with_room(lambda: search.ways(varies))
        still_open, apart = ((), ()) if ways else (tuple(search.open), tuple(search.apart))
        tried = search.tried(varies)
        return Reach(asked.words, tuple(ways), tried, search.settled, still_open, apart)

    def record(self, laws: Sequence[str] | str = (), subject: str | None = None) -> Record:
        """The decision record of the standings that ``standings`` gives, and what each rests on.

        Values of sensitive columns are masked, by the key in the environment where there is one.
        Raises as ``standings`` does, and UsageError for a key that is too short.
        """
        found = self.standings(laws, subject)
        masks = Masks.of(self._book, self._facts, Key.of_environment)
        names = {laws} if isinstance(laws, str) else {*laws}
        progress.phase("recording")
        with collector_paused():
            return make_record(self.explainer, found, sorted(names), subject, masks)

    @cached_property
    def explainer(self) -> Explainer:
        """What finds derivations. Raises PolicyError where the policy is invalid."""
        return Explainer(self._book, self._facts, self.model())

    @property
    def _questions(self) -> Questions:
        self._sound()
        return Questions(self._book, self.explainer.known)

    def _standing_of(self, asked: Question) -> Standing | None:
        """The standing that a question is about, if it is about one."""
        if asked.about is None or asked.about[0] not in self._book.laws:
            return None
        if self._waivers.found:
            # Whose a waiver is, is told by all standings.
            self._solved()
        law = self._book.laws[asked.about[0]]
        return self._waivers.beside(self.explainer.standing(law, asked.about[1]))

    def model(self) -> Model:
        """The answer set itself, for those who count atoms. Raises PolicyError."""
        self._sound()
        if self._model is None:
            self._model = solve(self._book.rules, self._facts, self._lowerings)
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
                found, findings = self._concluded(model, self._book.laws)
            if findings:
                raise PolicyError([*self._findings, *findings])
            self._standings = tuple(found)
        return self._standings

    def _concluded(
        self, model: Model, laws: Mapping[str, LawDecl]
    ) -> tuple[list[Standing], list[Finding]]:
        """The standings of some laws with their waivers, and what is amiss with them."""
        found, findings = standings(model, laws, self._rules)
        told = [self._waivers.beside(s) for s in found]
        return told, [*findings, *ambiguous(self._facts, told)]

    def _planned(self, names: Sequence[str]) -> tuple[Plan, ...]:
        """The plans of these names. Of the laws, those alone are read that judge them."""
        key = tuple(names)
        if key not in self._plans:
            declared = {name: self._book.plans[name] for name in names}
            judging = {d.law: self._book.laws[d.law] for d in declared.values() if d.law}
            model = self.model()
            with collector_paused():
                found, findings = (
                    ([s for s in self._standings if s.law in judging], [])
                    if self._standings is not None
                    else self._concluded(model, judging)
                )
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
    for owner in book.owners:
        for name in BUILTIN:
            places.setdefault(name, owner.position)
    return places


def _no_subject(subject: str, known: Iterable[str]) -> UsageError:
    subjects = sorted(set(known))
    parts = [s for s in subjects if subject in s.split("/")]
    return UsageError(
        f"no subject is named `{subject}`",
        f"subjects with it are {listed(parts)}" if parts else similar(subject, subjects, "subject"),
    )
