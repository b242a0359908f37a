"""Explanations as outlines: what is said, where it stands, and what it rests on below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ullage.explain.derive import Condition, Derivation, Explainer, Support
from ullage.explain.refute import QUESTION, Attempt, Failing, Refutation, Refuter
from ullage.findings import Position
from ullage.reference.bodies import Bindings
from ullage.reference.steps import Steps
from ullage.reference.text import pattern_text, value_text
from ullage.reference.values import Atom, Figure, Form, Value
from ullage.reference.words import GIVES
from ullage.rules import terms
from ullage.rules.terms import Aggregate, Comparison, Expr, Fun, Int, Literal, Op, Tup, Var

DEEPEST = 120
"""How many levels an outline has at most."""

_MANY_MEMBERS = 8
_SHOWN_MEMBERS = 3

_MANY_LIKE_IT = 3
"""More steps in a row than these, all concluded by one rule, are left out but for the last."""


@dataclass(frozen=True, slots=True)
class Node:
    """One line of an outline. ``kind`` is that of a proof's step, or ``rule`` or ``failing`` of
    why-not; ``source`` whose word a fact is; ``hidden`` how many nodes below are left out.
    """

    text: str
    kind: str
    place: Position | None = None
    source: str = ""
    below: tuple[Node, ...] = ()
    hidden: int = 0
    repeats: bool = False


@dataclass(slots=True)
class Outliner:
    """Makes outlines. With ``every`` each way of concluding is shown, each member of a sum, and
    each step of a walk from one conclusion of a rule to the next.
    """

    explainer: Explainer
    depth: int = DEEPEST
    every: bool = False
    seen: set[Atom] = field(default_factory=set)

    def derivation(self, derivation: Derivation) -> list[Node]:
        """An outline of each goal."""
        self.seen = set()
        return [self._atom(derivation, goal, 1) for goal in derivation.goals]

    def _atom(self, d: Derivation, atom: Atom, level: int) -> Node:
        reading = d.readings.get(atom)
        if reading is not None:
            made = Steps(self.explainer.base, self.explainer.words).fact(atom, reading)
            place = Position(made["file"], made["line"], made["column"])
            return Node(made["label"], "fact", place, made["source"] or "")
        supports = d.supports[atom] if self.every else d.supports[atom][:1]
        support = supports[0]
        text = self.explainer.words.label(support.rule, support.bindings)
        if atom in self.seen:
            return Node(text, "rule", support.rule.position, repeats=True)
        self.seen.add(atom)
        if level >= min(self.depth, DEEPEST):
            hidden = len(Derivation((atom,), d.readings, d.supports).steps()) - 1
            return Node(text, "rule", support.rule.position, hidden=hidden)
        if len(supports) == 1:
            below = self._conditions(d, support, atom, level)
            return Node(text, "rule", support.rule.position, below=tuple(below))
        ways = [
            Node(
                f"way {n}: {self.explainer.words.label(s.rule, s.bindings)}",
                "rule",
                s.rule.position,
                below=tuple(self._conditions(d, s, atom, level + 1)),
            )
            for n, s in enumerate(supports, start=1)
        ]
        more = d.more.get(atom, 0)
        if more:
            ways.append(Node(f"and {more} more ways like these", "more"))
        return Node(f"{text} ({len(supports) + more} ways)", "rule", below=tuple(ways))

    def _conditions(
        self, d: Derivation, support: Support, atom: Atom, level: int
    ) -> Iterator[Node]:
        for term, value in zip(support.rule.head.args, atom[1], strict=True):
            yield from self._computed(term, value, support.bindings)
        for told in support.conditions:
            yield self._condition(d, told, support, level)

    def _computed(self, term: Expr, value: Value, bindings: Bindings) -> Iterator[Node]:
        """What a rule's head computes, with the figures that it is computed of."""
        words = self.explainer.words
        match term, value:
            case Op(args=(Var(), Int())), Figure(unit="count"):
                pass  # The next place, or the one before.
            case Op(), Figure():
                text = f"{words.with_exact(value)} = {words.term(term, bindings)}"
                yield Node(text, "computed", term.position)
            case (Tup(args=args), tuple(parts)) | (Fun(args=args), Form(args=parts)):
                for inner, part in zip(args, parts, strict=True):
                    yield from self._computed(inner, part, bindings)

    def _condition(self, d: Derivation, told: Condition, support: Support, level: int) -> Node:
        words = self.explainer.words
        literal = told.literal
        bindings = support.bindings
        match told.kind:
            case "atom":
                last, number = self._walk(d, told.premises[0], support)
                if number <= _MANY_LIKE_IT:
                    return self._atom(d, told.premises[0], level + 1)
                end = self._atom(d, last, level + 2)
                return Node(
                    f"and so on, {number} steps more by the same rule", "more", below=(end,)
                )
            case "absence":
                assert isinstance(literal, terms.Atom)
                below = tuple(self._why_absent(literal, bindings, level))
                return Node(words.absence(literal, bindings), "absence", below=below)
            case "comparison":
                assert isinstance(literal, Comparison)
                by = self._difference(literal, bindings)
                return Node(words.comparison(literal, bindings, by), "computed")
            case "aggregate":
                return self._aggregate(d, told, bindings, level)
        below = tuple(self._atom(d, a, level + 1) for a in told.premises)
        return Node(words.literal(literal, bindings), "computed", below=below)

    def _walk(self, d: Derivation, atom: Atom, support: Support) -> tuple[Atom, int]:
        """Where a walk ends that goes from conclusion to conclusion of one rule, and how many of
        them lie before it.
        """
        number = 0
        while not self.every and atom not in self.seen:
            chosen = d.chosen(atom)
            if chosen is None or chosen.rule is not support.rule:
                break
            onward = [p for p in chosen.premises if self._concludes(d, p, support)]
            if len(onward) != 1:
                break
            atom = onward[0]
            number += 1
        return atom, number

    def _concludes(self, d: Derivation, atom: Atom, support: Support) -> bool:
        chosen = d.chosen(atom)
        return chosen is not None and chosen.rule is support.rule

    def _difference(self, literal: Comparison, bindings: Bindings) -> Figure | None:
        if literal.sign or len(literal.rest) != 1 or literal.rest[0][0] == "=":
            return None
        return Refuter(self.explainer).difference(literal, bindings)

    def _aggregate(self, d: Derivation, told: Condition, bindings: Bindings, level: int) -> Node:
        literal = told.literal
        assert isinstance(literal, Aggregate)
        assert told.value is not None
        words = self.explainer.words
        number = len(told.members)
        value = words.value(told.value)
        given = all(not e.conditions for e in literal.elements)
        of = ", ".join(words.value(m[0]) for m, _ in told.members)
        if literal.function == "count":
            text = f"there {'is' if number == 1 else 'are'} {number}"
        elif not number:
            text = "there is nothing to add up"
        else:
            these = of if given else f"these {number}"
            text = f"{value} is {GIVES[literal.function]} of {these}"
            if number == 1:
                text = f"{value} is {'each of them' if given else 'the only one'}"
        for op, guard in literal.guards:
            if op != "=" or literal.sign:
                no = "not " * (literal.sign == 1)
                text += f"; {no}{value} {op} {words.term(guard, bindings)}"
        few = number <= _MANY_MEMBERS or self.every
        members = sorted(told.members, key=lambda m: _telling_first(literal.function, m[0]))
        shown = members if few else members[:_SHOWN_MEMBERS]
        below: list[Node] = []
        for values, atoms in shown if not given else ():
            nodes = tuple(self._atom(d, a, level + 1) for a in atoms)
            if len(nodes) == 1:
                below.append(nodes[0])
            else:
                below.append(Node(", ".join(map(words.value, values)), "computed", below=nodes))
        if not few:
            below.append(Node(f"and {number - len(shown)} more like these", "more"))
        return Node(text, "computed", below=tuple(below))

    def _why_absent(self, literal: terms.Atom, bindings: Bindings, level: int) -> Iterator[Node]:
        """What each rule lacks that could conclude what is absent.

        Where all of them lack one conclusion, what that one lacks stands below it.
        """
        if literal.name in self.explainer.base.declarations.tables or level >= self.depth:
            return
        patterns = [self.explainer.bodies.pattern(a, bindings) for a in literal.args]
        refutation = Refuter(self.explainer, deep=False).refutation(literal.name, patterns)
        lacking = {self._lack_within(a.failing[0]): a.failing[0] for a in refutation.attempts}
        # Figures tell most, then what was read.
        told = sorted(lacking, key=lambda text: (self._derived(lacking[text].literal), text))
        few = len(told) <= _MANY_MEMBERS or self.every
        for text in told if few else told[:_MANY_MEMBERS]:
            failing = lacking[text]
            missing = failing.literal
            below: tuple[Node, ...] = ()
            if len(lacking) == 1 and isinstance(missing, terms.Atom) and missing.sign != 1:
                below = tuple(self._why_absent(missing, failing.bindings, level + 1))
            yield Node(text, "failing", missing.position, below=below)
        if not few:
            left = len(told) - _MANY_MEMBERS
            lack = "lacks" if left == 1 else "lack"
            yield Node(f"and {left} more, which {lack} something, too", "more")

    def _derived(self, literal: Literal) -> int:
        """0 for a comparison or another figure, 1 for what a table holds, 2 for a conclusion."""
        if not isinstance(literal, terms.Atom):
            return 0
        return 1 if literal.name in self.explainer.base.declarations.tables else 2

    def _lack_within(self, failing: Failing) -> str:
        """What a condition lacks, told as what is the case: the opposite of a comparison."""
        literal = failing.literal
        if isinstance(literal, Comparison) and not literal.sign and len(literal.rest) == 1:
            return self.explainer.words.opposite(literal, failing.bindings)
        text = self._lack(failing)
        return f"it is {text}" if text.startswith("so: ") else text

    # Why not.

    def refutation(self, refutation: Refutation) -> list[Node]:
        """An outline of every rule that could conclude what is asked, the nearest first.

        What earlier ones have shown is not shown again.
        """
        return self._refuted(refutation, 1)

    def _refuted(self, refutation: Refutation, level: int) -> list[Node]:
        if refutation.fact is not None:
            return [self._failing(refutation.fact, level)]
        if refutation.repeats:
            return [Node("as shown above", "more")]
        if not refutation.attempts:
            shown = ", ".join(map(pattern_text, refutation.patterns))
            return [Node(f"no rule concludes {refutation.name}({shown})", "failing")]
        found = [self._attempt(a, level) for a in refutation.attempts]
        if refutation.more:
            found.append(Node(f"and {refutation.more} more like these", "more"))
        return found

    def _attempt(self, attempt: Attempt, level: int) -> Node:
        words = self.explainer.words
        below: list[Node] = []
        if level < self.depth:
            for told in attempt.held:
                text = _judged("holds", self._held(told, attempt.bindings))
                below.append(Node(text, "held"))
            for failing in attempt.failing:
                below.append(self._failing(failing, level + 1))
            for literal in attempt.untried:
                text = words.literal(literal, attempt.bindings)
                below.append(Node(f"not tried: {text}", "untried"))
        label = words.label(attempt.rule, attempt.bindings)
        return Node(f"a rule would say: {label}", "rule", attempt.rule.position, below=tuple(below))

    def _held(self, told: Condition, bindings: Bindings) -> str:
        words = self.explainer.words
        literal = told.literal
        if told.kind == "absence" and isinstance(literal, terms.Atom):
            return words.absence(literal, bindings)
        if told.kind == "atom" and told.premises:
            return self._said(told.premises[0])
        if isinstance(literal, Aggregate) and told.value is not None:
            text = f"{GIVES[literal.function]} is {words.value(told.value)}"
            for op, guard in literal.guards:
                if op != "=" or literal.sign:
                    no = "not " * (literal.sign == 1)
                    text += f", and {no}{op} {words.term(guard, bindings)}"
            return text
        return words.literal(literal, bindings)

    def _said(self, atom: Atom) -> str:
        words = self.explainer.words
        if self.explainer.known.reading(atom) is not None:
            return words.fact(atom)
        supports = self.explainer.supports(atom)
        return words.label(supports[0].rule, supports[0].bindings)

    def _failing(self, failing: Failing, level: int) -> Node:
        below: list[Node] = []
        if level < self.depth:
            if failing.because is not None:
                below += self._refuted(failing.because, level + 1)
            if failing.obstacle is not None:
                below += [self._atom(failing.obstacle, g, level) for g in failing.obstacle.goals]
            if isinstance(failing.literal, terms.Atom):
                below += [self._fact(a) for a in failing.at_hand]
        text = _judged("fails", self._lack(failing))
        # What was asked stands in no file.
        place = failing.literal.position if failing.literal.position.file != QUESTION else None
        return Node(text, "failing", place, below=tuple(below))

    def _fact(self, atom: Atom) -> Node:
        reading = self.explainer.known.reading(atom)
        assert reading is not None
        made = Steps(self.explainer.base, self.explainer.words).fact(atom, reading)
        place = Position(made["file"], made["line"], made["column"])
        return Node(made["label"], "fact", place, made["source"] or "")

    def _row_or_cell(self, literal: terms.Atom, bindings: Bindings) -> terms.Atom:
        """What is missing where an atom does not hold: of a table without such a row, the row."""
        if literal.name in self.explainer.base.declarations.tables and len(literal.args) > 1:
            key = self.explainer.bodies.pattern(literal.args[0], bindings)
            if not self.explainer.holding(literal.name, [key]):
                return terms.Atom(literal.name, literal.args[:1], literal.position)
        return literal

    def _lack(self, failing: Failing) -> str:
        """What a failing condition lacks, in words."""
        words = self.explainer.words
        literal = failing.literal
        if failing.why:
            shown = words.literal(literal, failing.bindings)
            by = f", which differs by {words.value(failing.short)}" if failing.short else ""
            return f"{shown}: {failing.why}{by}"
        if failing.unread is not None and isinstance(literal, terms.Atom):
            # Whatever value was asked for, there is none.
            args = (*literal.args[:2], terms.Var("_'", literal.position))
            return words.absence(terms.Atom(literal.name, args, literal.position), failing.bindings)
        if isinstance(literal, terms.Atom) and literal.sign != 1:
            if failing.at_hand:
                wanted = words.wanted(literal, failing.bindings)
                return f"{words.fact(failing.at_hand[0])}, and not {wanted}"
            return words.absence(self._row_or_cell(literal, failing.bindings), failing.bindings)
        if isinstance(literal, terms.Atom):
            return words.presence(literal, failing.bindings)
        text = words.literal(literal, failing.bindings)
        if isinstance(literal, Aggregate):
            bodies = self.explainer.bodies
            value = bodies.aggregate_value(literal, bodies.members(literal, failing.bindings))
            wanted = text.split(GIVES[literal.function], 1)[1].strip().removeprefix("= ")
            text = f"{GIVES[literal.function]} is {words.value(value)}, and not {wanted}"
        if failing.short is not None:
            if not failing.short.value:
                return f"{text}: they are equal, which is not enough"
            return f"{text}: short by {words.with_exact(failing.short)}"
        return (
            words.opposite(literal, failing.bindings) if isinstance(literal, Comparison) else text
        )


def _judged(verdict: str, text: str) -> str:
    """Whether a condition holds, and what it says."""
    if text.startswith(("so: ", "not so: ")):
        return f"{verdict}, for it is {text}"
    return f"{verdict}: {text}"


def _telling_first(function: str, values: Sequence[Value]) -> tuple[object, ...]:
    """The order in which people see members: what tells most of the value first."""
    first = values[0]
    size = first.value if isinstance(first, Figure) and function != "count" else Fraction(0)
    rest = [(0, v.value, "") if isinstance(v, Figure) else (1, 0, value_text(v)) for v in values]
    return (size if function == "min" else -size, rest)


def nodes(outline: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """Every node of an outline with its level, from the top."""
    stack = [(0, n) for n in reversed(outline)]
    while stack:
        level, node = stack.pop()
        yield level, node
        stack += [(level + 1, n) for n in reversed(node.below)]
