"""Many cases judged by one grounding, with the results that each has alone.

Whatever is amiss with a grounding is found in smaller ones, and of a case that it is found in, the
result is that of the case judged alone.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from clingo.symbol import Function, Symbol

from ullage import progress
from ullage.calls import Calls
from ullage.findings import Finding, PolicyError
from ullage.lawtests.alone import ended, judge_alone, with_findings
from ullage.lawtests.cases import LawCase
from ullage.lawtests.compare import found, mismatches
from ullage.lawtests.grounding import Base, lowered_for, numbered_facts, portions
from ullage.lawtests.probes import PROBE, Probes
from ullage.lawtests.rows import Giver
from ullage.lawtests.telling import AMISS, ask_lines, asked, telling_lines, told
from ullage.plans import plans
from ullage.policy import Policy
from ullage.rules.book import RuleBook
from ullage.rules.cases import by_case
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl
from ullage.rules.encode import Reads, reads
from ullage.rules.lowering import Flags, Lowered
from ullage.rules.numbers import TooWide
from ullage.rules.terms import Rule
from ullage.solve import Ground
from ullage.standings import standings
from ullage.testreport import CaseResult


class Batch:
    """Judges cases of one policy, many at once; the policy's facts are the catalog."""

    def __init__(self, rules: Policy, probes: Probes | None = None) -> None:
        """For the rules of a policy; what its ``probes`` see is kept in ``seen``."""
        self.seen: set[str] = set()
        self._probes = by_case(probes.rules) if probes is not None else []
        self._policy = rules
        self.book: RuleBook = rules.book
        self.rules = by_case(self.book.rules)
        self.tables = rules.declarations.tables
        self.read: Reads = reads(self.book.rules, self.tables)
        self._giver = Giver(rules)

    def judge(self, cases: Sequence[LawCase]) -> list[CaseResult]:
        """A result for each case, none of which is skipped, in their order."""
        results: dict[int, CaseResult] = {}
        bases: list[Base] = []
        progress.phase("reading cases")
        for case in cases:
            start = perf_counter()
            given = self._giver.facts(case)
            if given.amiss:
                results[id(case)] = ended(case, (), "; ".join(given.amiss), perf_counter() - start)
            elif given.errors:
                results[id(case)] = with_findings(case, _told(given.errors), perf_counter() - start)
            elif case.findings:
                # What it expects is found by solving, and would spoil the grounding of others.
                results[id(case)] = judge_alone(case, self._policy)
            else:
                bases.append(Base(case, given.facts))
        for case, result in self._judged(bases):
            results[id(case)] = result
        return [results[id(case)] for case in cases]

    def _judged(self, bases: Sequence[Base]) -> Iterator[tuple[LawCase, CaseResult]]:
        """The results of cases with sound rows, in some order."""
        start = perf_counter()
        for grounded in self.ground(bases):
            answers = grounded.answers(self.book.owners)
            self.seen |= grounded.seen()
            share = (perf_counter() - start) / len(answers)
            for base, answer in zip(grounded.bases, answers, strict=True):
                yield base.case, self._concluded(base, answer, share)
            start = perf_counter()

    def _concluded(self, base: Base, answer: CaseAnswer | None, share: float) -> CaseResult:
        start = perf_counter()
        if answer is None:
            return judge_alone(base.case, self._policy)
        names = asked(base.case)
        laws = {name: law for name, law in self.book.laws.items() if name in names}
        declared = {name: plan for name, plan in self.book.plans.items() if name in names}
        stand, amiss = standings(answer, laws, ())
        planned, more = plans(answer, declared, (), ())
        assert not amiss, "the solver finds what is amiss first"
        assert not more, "the solver finds what is amiss first"
        differ = mismatches(base.case, found(stand, planned))
        return ended(base.case, differ, "", share + perf_counter() - start)

    def ground(self, bases: Sequence[Base]) -> Iterator[Grounded | Alone]:
        """Programs of all the cases, portion by portion; those that are amiss are Alone."""
        lowered, flags = lowered_for([*self.rules, *self._probes], bases, self.read)
        left = portions(bases)[::-1]
        while left:
            portion = left.pop()
            grounded = self._sound(portion, lowered, flags)
            if grounded is not None:
                yield grounded
            elif len(portion) == 1:
                yield Alone(portion)
            else:
                half = len(portion) // 2
                left += [portion[half:], portion[:half]]

    def _sound(self, bases: Sequence[Base], lowered: Lowered, flags: Flags) -> Grounded | None:
        """The program of some cases, ground; None where something is amiss with one of them."""
        try:
            facts = numbered_facts(bases, self.read, lowered)
            progress.phase("grounding")
            context = Calls(lowered, flags)
            program = Ground()
            program.add("facts", facts)
            base = dataclasses.replace(
                lowered,
                lines=[x for x in lowered.lines if not _probes(x.rule)],
                undefined={r: s for r, s in lowered.undefined.items() if not _probes(s.rule)},
                empty={r: s for r, s in lowered.empty.items() if not _probes(s.rule)},
                walks=[r for r in lowered.walks if not _probes(r)],
            )
            program.add("base", [line.text for line in base.lines])
            program.parts([("facts", []), ("base", [])], base, context)
        except (PolicyError, TooWide):
            return None
        if program.amiss(base, context):
            return None
        if self._probes:
            # What goes wrong in these alone is no fault of the policy.
            program.add("probes", [x.text for x in lowered.lines if _probes(x.rule)])
            try:
                program.parts([("probes", [])], lowered, context)
            except PolicyError as error:
                raise AssertionError("a probe is no rule") from error
        return Grounded(bases, program)


@dataclass(frozen=True, slots=True)
class Alone:
    """Cases that are to be judged alone, for something is amiss with them."""

    bases: Sequence[Base]

    def answers(self, owners: Sequence[LawDecl | PlanDecl]) -> list[None]:
        """Nothing that was concluded of each case."""
        return [None for _ in self.bases]

    def seen(self) -> set[str]:
        """Nothing that probes saw."""
        return set()


@dataclass(frozen=True, slots=True)
class Grounded:
    """A program of some cases, ground; they are numbered as they stand."""

    bases: Sequence[Base]
    program: Ground

    def seen(self) -> set[str]:
        """The probes that some case has shown."""
        atoms = self.program.control.symbolic_atoms
        names = {name for name, _, _ in atoms.signatures if name.startswith(PROBE)}
        return {name for name in names if any(True for _ in atoms.by_signature(name, 1))}

    def answers(self, owners: Sequence[LawDecl | PlanDecl]) -> list[CaseAnswer | None]:
        """What was concluded of each case that it asks of; None where something is amiss."""
        names = dict(BUILTIN) | {o.collects: len(o.arguments) for o in owners}
        found = [CaseAnswer() for _ in self.bases]
        control = self.program.control
        # Ground once the cases are known to be sound, and not in every try.
        lines = [*ask_lines(b.case for b in self.bases), *telling_lines(owners)]
        control.add("telling", [], "\n".join(lines))
        control.ground([("telling", [])])
        atoms = control.symbolic_atoms
        for name, arity in names.items():
            written = name in _AS_TEXT
            for atom in atoms.by_signature(told(name), arity + 1):
                assert atom.is_fact, f"{atom.symbol} was left open"
                if written:
                    case, _, rest = str(atom.symbol)[len(told(name)) + 1 :].partition(",")
                    found[int(case)].written[name].append(f"{name}({rest}")
                else:
                    number, *args = atom.symbol.arguments
                    found[number.number].symbols[name].append(Function(name, args))
        amiss = {a.symbol.arguments[0].number for a in atoms.by_signature(AMISS, 1)}
        return [None if number in amiss else answer for number, answer in enumerate(found)]


_AS_TEXT = ("value", "plan")
"""What readers of conclusions ask for written out alone."""


@dataclass(frozen=True, slots=True)
class CaseAnswer:
    """The conclusions of one case; it is read as a model is."""

    symbols: dict[str, list[Symbol]] = field(default_factory=lambda: defaultdict(list))
    written: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def atoms(self, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate, in no order."""
        return self.symbols.get(name, [])

    def texts(self, name: str, arity: int) -> list[str]:
        """The same of one that is read as text."""
        return self.written.get(name, [])


def _probes(rule: Rule) -> bool:
    return rule.head.name.startswith(PROBE)


def _told(errors: Iterable[Finding]) -> list[Finding]:
    return sorted(set(errors), key=lambda f: f.sort_key)
