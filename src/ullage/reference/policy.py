"""A policy as the reference reads it: rules by its own reader, facts and declarations as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ullage.facts import FactBase, load_facts
from ullage.findings import Finding, PolicyError, Position, errors_of
from ullage.reference.bodies import Bodies
from ullage.reference.evaluate import AtomSet, Failed, below, circles, conclusions, node
from ullage.reference.facts import Reading, all_atoms
from ullage.reference.reader import Unreadable, read_rules
from ullage.reference.sound import unsound
from ullage.reference.values import Arithmetic, Atom
from ullage.reference.words import Words
from ullage.rules import docstrings, terms
from ullage.rules.declared import LawDecl, PlanDecl, Predicate
from ullage.rules.terms import Rule
from ullage.rules.vocabulary import Vocabulary
from ullage.sorts import Sort
from ullage.stored import AnyPath, parts_below
from ullage.tables import load_declarations
from ullage.textfiles import decode, files_below, read_bytes, shown_path


@dataclass(frozen=True)
class ReferencePolicy:
    """Rules and facts read without the solver, and what follows from them."""

    vocabulary: Vocabulary
    rules: tuple[Rule, ...]
    base: FactBase

    @cached_property
    def readings(self) -> dict[Atom, Reading]:
        """Every fact, and what it was read from."""
        found: dict[Atom, Reading] = {}
        for atom, reading in all_atoms(self.base):
            found.setdefault(atom, reading)
        return found

    @cached_property
    def model(self) -> ReferenceModel:
        """What the rules conclude, as far as it is asked for."""
        return ReferenceModel(self)

    @cached_property
    def words(self) -> Words:
        """How people read it."""
        return Words(self.base.declarations, self.vocabulary.predicates)

    def sorts(self, atom: terms.Atom) -> Sequence[Sort | None]:
        """The sorts of an atom's arguments. Raises PolicyError where there is none."""
        places = self.vocabulary.places(atom)
        if isinstance(places, Finding):
            raise PolicyError([places])
        return [p.sort for p in places]


class ReferenceModel:
    """The atoms of a policy, circle by circle as they are asked for."""

    def __init__(self, policy: ReferencePolicy) -> None:
        self.policy = policy
        self.atoms = AtomSet()
        for name, arguments in policy.readings:
            self.atoms.add(name, arguments)
        self.bodies = Bodies(Arithmetic(policy.base.declarations.sorts), self.atoms)
        self.below = below(policy.rules)
        self.circles = circles(policy.rules)
        self.done: set[str] = set()

    def conclude(self, predicates: set[str]) -> None:
        """Work out these predicates, and all that they rest on. Raises Failed."""
        wanted = predicates.union(*(self.below.get(p, set()) for p in predicates)) - self.done
        for circle in self.circles:
            name = node(circle[0].head)
            if name not in wanted:
                continue
            changed = recursive = True
            while changed and recursive:
                changed = False
                recursive = name in self.below[name]
                for rule in circle:
                    found = list(conclusions(rule, self.bodies, self.policy.sorts(rule.head)))
                    for arguments in found:
                        changed = self.atoms.add(rule.head.name, arguments) or changed
        self.done |= wanted


def load(
    rules: Sequence[AnyPath], facts: Sequence[AnyPath], *, override: bool = False
) -> ReferencePolicy:
    """Read a policy. Raises PolicyError where it is invalid, UsageError for a missing folder."""
    declarations, findings = load_declarations(rules)
    base, found = load_facts(declarations, facts, override=override)
    findings = [*findings, *found]
    read: list[Rule] = []
    predicates: dict[str, Predicate] = {}
    laws: dict[str, LawDecl] = {}
    plans: dict[str, PlanDecl] = {}
    for path in _law_files(rules):
        name = shown_path(path)
        data = read_bytes(path)
        text = data if isinstance(data, Finding) else decode(data, name)
        if isinstance(text, Finding):
            findings.append(text)
            continue
        try:
            file = read_rules(name, text)
        except Unreadable as error:
            findings.append(Finding("rule-syntax", error.message, (error.position,)))
            continue
        read += file.rules
        for docstring in file.docstrings:
            declared, amiss = docstrings.parse(docstring, declarations)
            findings += amiss
            if isinstance(declared, LawDecl):
                laws[declared.name] = declared
            elif isinstance(declared, PlanDecl):
                plans[declared.name] = declared
            elif declared is not None:
                predicates[declared.name] = declared
    vocabulary = Vocabulary(declarations, predicates, laws, plans)
    if not errors_of(findings):
        findings += unsound(read, vocabulary)
    if errors_of(findings):
        raise PolicyError(errors_of(findings))
    return ReferencePolicy(vocabulary, tuple(read), base)


def _law_files(folders: Sequence[AnyPath]) -> list[AnyPath]:
    return [
        path
        for folder in folders
        for path in files_below(folder, (".lp",))[0]
        if parts_below(path, folder)[0] != "search"
    ]


__all__ = ["Failed", "Position", "ReferenceModel", "ReferencePolicy", "load"]
