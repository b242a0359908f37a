"""Which mutants of a policy's rules its law tests notice.

Two groundings find it. In the first every case is judged by the rules as they are, and beside each
rule stand its mutants: a case in which a mutant concludes just what its rule does cannot tell them
apart. Of the others, some are judged in *versions*, many by one grounding: a version is a case
judged by the rules with one mutant among them (``ullage.rules.versions``).
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import clingo
from clingo.core import MessageCode
from clingo.symbol import Function, Symbol

from ullage import progress
from ullage.findings import PolicyError
from ullage.lawtests.compare import found, mismatches
from ullage.lawtests.grounding import MOST_ROWS, Base, Grounder, Program, portions
from ullage.lawtests.mutants import Mutant
from ullage.lawtests.telling import AMISS, ask_lines, asked, telling_lines, told
from ullage.plans import plans
from ullage.policy import Policy
from ullage.rules import graph
from ullage.rules.cases import CASE, by_case
from ullage.rules.declared import BUILTIN, LawDecl, PlanDecl
from ullage.rules.delta import needed, nodes_of, reached
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Line, Lowered
from ullage.rules.lowering.program import rule_text
from ullage.rules.numbers import TooWide
from ullage.rules.terms import Atom, Fun, uses
from ullage.rules.versions import VERSION, VERSIONS, by_version, in_version
from ullage.standings import standings

_OWN = "_own'"
_MUTANT = "_mutant'"
_APART = "_apart'"
_BLAMED = "_blamed'"
_ONLY = "_only'"
_WITHOUT = "_without'"

MUTANTS_AT_ONCE = 200
"""How many mutants are ground beside their rules at once."""

_VERSIONS_AT_ONCE = 600
_ROUNDS = (2, 6, 20, 60, None)
"""Of a mutant that nothing has killed, so many more cases are judged in each round, then all."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant, by number: the case that killed it, or None.

    ``apart`` counts the cases in which it concludes otherwise than its rule; where its rule builds
    on itself, those in which either concludes anything.
    """

    mutant: int
    killed: int | None
    apart: int


@dataclass(frozen=True, slots=True)
class _Version:
    mutant: int
    base: int


@dataclass(slots=True)
class _State:
    """The cases that tell a mutant from its rule and are still to be judged, the best last.

    Each has a number: versions of equal numbers end alike.
    """

    left: list[tuple[int, int]]
    apart: int
    killed: int | None = None


class Mutation:
    """Judges mutants of one policy by cases that pass as its rules are."""

    def __init__(self, rules: Policy, mutants: Sequence[Mutant], bases: Sequence[Base]) -> None:
        self._book = rules.book
        self._tables = rules.declarations.tables
        self._mutants = mutants
        self._bases = bases
        self._size = [sum(len(rows) for rows in b.facts.rows.values()) for b in bases]
        self._asked = [asked(b.case) for b in bases]
        edges: dict[str, set[str]] = {}
        for typed in self._book.rules:
            below = edges.setdefault(graph.node(typed.rule.head), set())
            for use in uses(typed.rule.body):
                below.add(graph.node(use.atom))
                edges.setdefault(graph.node(use.atom), set())
        members = graph.components(edges)
        self._order = {name: i for i, nodes in enumerate(members) for name in nodes}
        self._circles = {n for m in members for n in m if len(m) > 1 or n in edges[n]}
        self._cones: dict[str, frozenset[str]] = {}

    def portions(self) -> list[list[int]]:
        """The mutants' numbers in portions, such as move much the same together."""
        order = sorted(range(len(self._mutants)), key=lambda m: -self._order[self._head(m)])
        number = -(-len(order) // MUTANTS_AT_ONCE)
        ends = [len(order) * n // number for n in range(number + 1)]
        return [order[first:end] for first, end in itertools.pairwise(ends)]

    def judged(self, numbers: Sequence[int]) -> list[Verdict]:
        """A verdict for each of these mutants; those that clingo cannot ground have none."""
        states = {
            mutant: _State([(c, cases[c]) for c in self._ranked(mutant, cases)], len(cases))
            for mutant, cases in self._apart(numbers).items()
        }
        kills: dict[int, bool] = {}
        for most in _ROUNDS:
            tries = _tries(states, kills, most)
            for portion in self._portions({alike: some[0] for alike, some in tries.items()}):
                pending = {
                    alike: tries[alike]
                    for alike in portion
                    if any(states[v.mutant].killed is None for v in tries[alike])
                }
                killing = self._killing([some[0] for some in pending.values()])
                # What a program is made of has circles, and is large.
                gc.collect()
                for alike, some in pending.items():
                    kills[alike] = some[0] in killing
                    for version in some if kills[alike] else ():
                        state = states[version.mutant]
                        state.killed = version.base if state.killed is None else state.killed
        return [Verdict(m, state.killed, state.apart) for m, state in states.items()]

    def _portions(self, versions: Mapping[int, _Version]) -> list[list[int]]:
        """The versions in runs of no more, and of no more rows, than are ground together."""
        portions: list[list[int]] = []
        held = 0
        for number, version in versions.items():
            rows = self._size[version.base]
            if not portions or len(portions[-1]) == _VERSIONS_AT_ONCE or held + rows > MOST_ROWS:
                portions.append([])
                held = 0
            portions[-1].append(number)
            held += rows
        return portions

    def _head(self, mutant: int) -> str:
        return graph.node(self._mutants[mutant].original.rule.head)

    def _cone(self, node: str) -> frozenset[str]:
        """What builds on a node, and itself."""
        if node not in self._cones:
            self._cones[node] = frozenset(reached(self._book.rules, self._tables, {node}))
        return self._cones[node]

    def _owners(self, nodes: frozenset[str]) -> list[LawDecl | PlanDecl]:
        """The laws and plans of which something may move with nodes."""
        return [o for o in self._book.owners if not nodes.isdisjoint(nodes_of(o))]

    def _ranked(self, mutant: int, cases: Iterable[int]) -> list[int]:
        """Cases, the most promising last: those that ask for what may move, then small ones."""
        names = {o.name for o in self._owners(self._cone(self._head(mutant)))}
        return sorted(cases, key=lambda c: (bool(names & self._asked[c]), -self._size[c], -c))

    # Which cases tell a mutant from its rule.

    def _apart(self, numbers: Sequence[int]) -> dict[int, dict[int, int]]:
        """The cases in which each mutant concludes otherwise or is amiss, numbered as alike."""
        beside = _Beside(self._book.rules, self._mutants, numbers, self._circles)
        wanted = {self._head(m) for m in numbers}
        for number in numbers:
            typed = self._mutants[number].typed
            if typed is not None:
                wanted |= {graph.node(u.atom) for u in uses(typed.rule.body)}
        base = needed(self._book.rules, self._tables, wanted)
        grounder = Grounder(beside.rules(base), [*base, *beside.mutated], self._bases, self._tables)
        if refused := _refused(grounder.lowered):
            return self._apart([m for m in numbers if m not in refused])
        blames = (_blame(line, CASE) for line in grounder.lowered.lines)
        lines = [*beside.lines, *filter(None, blames)]
        alike = _Alike()
        apart: dict[int, dict[int, int]] = {m: {} for m in numbers}
        first = 0
        for portion in portions(self._bases):
            try:
                program = grounder.program(portion, lines)
            except (PolicyError, TooWide):
                # Whatever this is, judging finds whose it is.
                for cases in apart.values():
                    cases |= {first + n: alike.new() for n in range(len(portion))}
            else:
                for mutant, case in _pairs(program, _APART):
                    apart[mutant][first + case] = -1
                self._tell_alike(program, apart, alike, first)
                for mutant, case in _pairs(program, _BLAMED):
                    if mutant >= 0:
                        apart[mutant][first + case] = alike.new()
            first += len(portion)
        return apart

    def _tell_alike(
        self, program: Program, apart: Mapping[int, dict[int, int]], alike: _Alike, first: int
    ) -> None:
        """Number the cases of each mutant by what it concludes in them, with those of its rule."""
        arities = {
            name: arity for name, arity, _ in program.ground.control.symbolic_atoms.signatures
        }
        for mutant, cases in apart.items():
            rule = self._mutants[mutant].number
            if self._head(mutant) in self._circles:
                cases |= {c: alike.new() for c, number in cases.items() if number < 0}
                continue
            atoms: dict[int, set[str]] = {c: set() for c, number in cases.items() if number < 0}
            name = f"{_MUTANT}{mutant}"
            for symbol in program.atoms(name, arities[name]) if name in arities else ():
                case, *args = symbol.arguments
                if (here := atoms.get(first + case.number)) is not None:
                    here.add(",".join(map(str, args)))
            cases |= {c: alike.of((rule, c, frozenset(texts))) for c, texts in atoms.items()}

    # Which cases end otherwise.

    def _killing(self, versions: Sequence[_Version]) -> set[_Version]:
        """Those versions of which the case does not pass."""
        if not versions:
            return set()
        try:
            return self._judge(versions)
        except (PolicyError, TooWide):
            if len(versions) == 1:
                return {versions[0]}
        half = len(versions) // 2
        return self._killing(versions[:half]) | self._killing(versions[half:])

    def _judge(self, versions: Sequence[_Version]) -> set[_Version]:
        """The same, of versions that are ground together. Raises PolicyError, and TooWide."""
        heads = {self._head(v.mutant) for v in versions}
        cone = frozenset().union(*map(self._cone, heads))
        owners = self._owners(cone)
        lines = [*telling_lines(owners, lambda name: f"{in_version(name)}(C,_,")]
        lines += ask_lines(self._bases[v.base].case for v in versions)
        program = self._program(versions, cone.union(*map(nodes_of, owners)), lines)
        failing = program.failing()
        if failing is None:
            if len(versions) == 1:
                return {versions[0]}
            half = len(versions) // 2
            return self._killing(versions[:half]) | self._killing(versions[half:])
        return {versions[n] for n in failing} | self._differing(program, versions, owners, failing)

    def _program(
        self,
        versions: Sequence[_Version],
        moving: frozenset[str],
        lines: Iterable[str],
    ) -> _Versions:
        """The ``moving`` nodes in versions, and what these read as the cases have it."""
        mutants = sorted({v.mutant for v in versions})
        replaced = {self._mutants[m].number for m in mutants}
        authored, rules = [], []
        for number, typed in enumerate(self._book.rules):
            if graph.node(typed.rule.head) in moving:
                authored.append(typed)
                never = f"{_WITHOUT}{number}" if number in replaced else ""
                rules.append(by_version(typed, moving, never=never))
        for mutant in mutants:
            if (mutated := self._mutants[mutant].typed) is not None:
                authored.append(mutated)
                rules.append(by_version(mutated, moving, only=f"{_ONLY}{mutant}"))
        read = {graph.node(u.atom) for t in authored for u in uses(t.rule.body)}
        base = needed(self._book.rules, self._tables, read - moving)
        cases = sorted({v.base for v in versions})
        place = {c: i for i, c in enumerate(cases)}
        bases = [self._bases[c] for c in cases]
        grounder = Grounder([*by_case(base), *rules], [*authored, *base], bases, self._tables)
        facts = []
        for number, version in enumerate(versions):
            at = f"({number},{place[version.base]})"
            facts += [f"{VERSIONS}{at}.", f"{_ONLY}{version.mutant}{at}."]
            facts.append(f"{_WITHOUT}{self._mutants[version.mutant].number}({number}).")
        blames = filter(None, (_blame(line, VERSION) for line in grounder.lowered.lines))
        program = grounder.program(bases, [*facts, *lines, *blames])
        return _Versions(program.ground, program.lowered, program.context)

    def _differing(
        self,
        program: Program,
        versions: Sequence[_Version],
        owners: Sequence[LawDecl | PlanDecl],
        passed_over: set[int],
    ) -> set[_Version]:
        """The versions whose conclusions are amiss, or not those that their case expects."""
        amiss = {s.arguments[0].number for s in program.atoms(AMISS, 1)}
        answers = [_Answer() for _ in versions]
        for name, arity in (dict(BUILTIN) | {o.collects: len(o.arguments) for o in owners}).items():
            for symbol in program.atoms(told(name), arity + 1):
                version, *args = symbol.arguments
                answers[version.number].symbols[name].append(Function(name, args))
        progress.phase("comparing")
        found_out = set()
        for number, (judged, answer) in enumerate(zip(versions, answers, strict=True)):
            if number in passed_over:
                continue
            if number in amiss or self._differs(judged, answer, owners):
                found_out.add(judged)
        return found_out

    def _differs(
        self, version: _Version, answer: _Answer, owners: Sequence[LawDecl | PlanDecl]
    ) -> bool:
        names = {o.name for o in owners} & self._asked[version.base]
        if not names:
            return False
        case = self._bases[version.base].case
        laws = {n: law for n, law in self._book.laws.items() if n in names}
        declared = {n: plan for n, plan in self._book.plans.items() if n in names}
        stand, _ = standings(answer, laws, ())
        planned, _ = plans(answer, declared, (), ())
        asking = dataclasses.replace(
            case,
            expect=tuple(e for e in case.expect if e.owner[1] in names),
            absent=tuple(e for e in case.absent if e.owner[1] in names),
        )
        return bool(mismatches(asking, found(stand, planned)))


class _Beside:
    """Mutants beside the rules as they are, and lines that tell where they conclude otherwise."""

    def __init__(
        self,
        rules: Sequence[TypedRule],
        mutants: Sequence[Mutant],
        numbers: Sequence[int],
        circles: set[str],
    ) -> None:
        self._rules = rules
        self._of_head: dict[str, list[int]] = defaultdict(list)
        for number, typed in enumerate(rules):
            self._of_head[graph.node(typed.rule.head)].append(number)
        self._split = {
            n
            for m in numbers
            for n in self._of_head[graph.node(mutants[m].original.rule.head)]
            if len(self._of_head[graph.node(mutants[m].original.rule.head)]) > 1
        }
        self.mutated: list[TypedRule] = []
        """The rules of mutants, as authors would have written them."""
        self._probes: list[TypedRule] = []
        self.lines: list[str] = []
        for number in numbers:
            self._add(number, mutants[number], circles)

    def rules(self, base: Sequence[TypedRule]) -> list[TypedRule]:
        """The rules to lower: those of the policy that are needed, and the mutants."""
        numbers = {id(t): n for n, t in enumerate(self._rules)}
        kept = []
        for typed in base:
            number = numbers[id(typed)]
            made = by_case([typed])[0]
            if number in self._split:
                made = _headed(made, f"{_OWN}{number}")
                atom = _atom_text(typed.rule.head)
                self.lines.append(rule_text(atom, [_named(atom, f"{_OWN}{number}")]))
            kept.append(made)
        return [*kept, *self._probes]

    def _add(self, number: int, mutant: Mutant, circles: set[str]) -> None:
        head = mutant.original.rule.head
        atom = _atom_text(head)
        own = _named(atom, f"{_OWN}{mutant.number}") if mutant.number in self._split else atom
        made = _named(atom, f"{_MUTANT}{number}")
        apart = f"{_APART}({number},C)"
        if mutant.typed is not None:
            self.mutated.append(mutant.typed)
            probe = _headed(by_case([mutant.typed])[0], f"{_MUTANT}{number}")
            self._probes.append(probe)
        if graph.node(head) in circles:
            self.lines.append(rule_text(apart, [own]))
            if mutant.typed is not None:
                self.lines.append(rule_text(apart, [made]))
            return
        others = [
            f"not {_named(atom, f'{_OWN}{n}')}"
            for n in self._of_head[graph.node(head)]
            if n != mutant.number
        ]
        if mutant.typed is None:
            self.lines.append(rule_text(apart, [own, *others]))
        else:
            self.lines.append(rule_text(apart, [made, f"not {atom}"]))
            self.lines.append(rule_text(apart, [own, f"not {made}", *others]))


class _Alike:
    """Numbers: one for each thing, and new ones for what is like no other."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, frozenset[str]], int] = {}
        self._next = itertools.count()

    def new(self) -> int:
        """A number that nothing has."""
        return next(self._next)

    def of(self, thing: tuple[int, int, frozenset[str]]) -> int:
        """The number of a thing."""
        if thing not in self._known:
            self._known[thing] = self.new()
        return self._known[thing]


def _tries(
    states: Mapping[int, _State], kills: Mapping[int, bool], most: int | None
) -> dict[int, list[_Version]]:
    """The next versions to judge of each mutant, by number, those that end alike together.

    What is known of others like it is not judged again: a mutant is killed by that, or passes on.
    """
    tries: dict[int, list[_Version]] = defaultdict(list)
    for mutant, state in states.items():
        taken = 0
        while state.killed is None and state.left and taken != most:
            case, alike = state.left.pop()
            if alike not in kills:
                tries[alike].append(_Version(mutant, case))
                taken += 1
            elif kills[alike]:
                state.killed = case
    return tries


def _pairs(program: Program, name: str) -> Iterator[tuple[int, int]]:
    """The mutants and cases that a predicate tells of."""
    for symbol in program.atoms(name, 2):
        mutant, case = symbol.arguments
        yield mutant.number, case.number


@dataclass(frozen=True, slots=True)
class _Versions(Program):
    """A program of versions."""

    def failing(self) -> set[int] | None:
        """The versions that are amiss; None where something is, and it is unknown in which."""
        found = {s.arguments[1].number for s in self.atoms(_BLAMED, 2)}
        if not self.ground.amiss(self.lowered, self.context):
            return found
        control = self.ground.control
        open_walk = any(
            not atom.is_fact
            for rule in self.lowered.walks
            for atom in control.symbolic_atoms.by_signature(rule.head.name, len(rule.head.args))
        )
        return found if found and not open_walk and self.ground.silent else None


@dataclass(slots=True)
class _Answer:
    """The conclusions of one version; it is read as a model is."""

    symbols: dict[str, list[Symbol]] = field(default_factory=lambda: defaultdict(list))

    def atoms(self, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate, in no order."""
        return self.symbols.get(name, [])

    def texts(self, name: str, arity: int) -> list[str]:
        """The same, written out."""
        return [str(s) for s in self.symbols.get(name, [])]


def _atom_text(head: Atom) -> str:
    """The atoms in a case that a head may be, as text.

    Of what every law derives the law stands in it, as in its rules: clingo takes what builds on one
    law for no circle with what builds on another.
    """
    args = [f"A{i}" for i in range(len(head.args))]
    if head.name in BUILTIN and isinstance(head.args[0], Fun):
        args[0] = head.args[0].name
    return f"{head.name}({','.join(['C', *args])})"


def _named(atom: str, name: str) -> str:
    return name + atom[atom.index("(") :]


def _headed(typed: TypedRule, name: str) -> TypedRule:
    """A rule of another predicate, with the arguments of its own."""
    head = dataclasses.replace(typed.rule.head, name=name)
    return dataclasses.replace(
        typed,
        rule=dataclasses.replace(typed.rule, head=head),
        places={**typed.places, id(head): typed.places[id(typed.rule.head)]},
        kept=(*typed.kept, typed.rule, head),
    )


_FAILURE = re.compile(r"(?:_undefined|_empty)'\d+\(.*?\) :- (.*)", re.DOTALL)
_BEYOND = re.compile(r"_beyond'(\d+)\((.*?)\) :- (\w+''in\()_(.*); \|\w+\| >= \d+\.")


def _blame(line: Line, of: str) -> str:
    """A line that tells whose failure a line of the lowered program finds; empty for others."""
    name = line.rule.head.name
    mutant = name.removeprefix(_MUTANT) if name.startswith(_MUTANT) else "-1"
    if of == VERSION and (match := _BEYOND.fullmatch(line.text)):
        number, value, atom, rest = match.groups()
        return f"{_BLAMED}(-1,{of}) :- {atom}{of}{rest}; _range'{number}({value})."
    match = _FAILURE.fullmatch(line.text)
    if match is None or of not in line.text:
        return ""
    return f"{_BLAMED}({mutant},{of}) :- {match.group(1)}"


def _refused(lowered: Lowered) -> set[int]:
    """The mutants of which clingo could not ground the lowered rules."""
    messages: list[str] = []

    def log(code: MessageCode, message: str) -> None:
        messages.append(message)

    lines = [x for x in lowered.lines if x.rule.head.name.startswith(_MUTANT)]
    control = clingo.Control(["-Wno-atom-undefined"], logger=log, message_limit=100_000)
    texts = (f"{x.text[:-1]}; _never'." if " :- " in x.text else x.text for x in lines)
    try:
        control.add("base", [], "\n".join(texts))
        control.ground([("base", [])])
    except RuntimeError:
        pass
    found = set()
    for message in messages:
        match = re.match(r"<block>:(\d+):", message)
        if match and "unsafe" in message:
            found.add(int(lines[int(match.group(1)) - 1].rule.head.name.removeprefix(_MUTANT)))
    return found
