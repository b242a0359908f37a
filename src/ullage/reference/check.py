"""Checks a proof against the rules and facts on disk. Nothing of the solver is used.

A step is right where it equals the step that the row or rule it names makes; an instance of a rule
is one where each condition is met by the step that stands for it, what is absent is absent from
all that the rules conclude, and every figure is what it is computed to be.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ullage.findings import Finding, Position
from ullage.reference.bodies import Bindings, Bodies, Way, steps_of
from ullage.reference.evaluate import Failed, node
from ullage.reference.facts import atoms_of
from ullage.reference.policy import ReferencePolicy
from ullage.reference.steps import (
    SCHEMA,
    Digests,
    Step,
    Steps,
    each_of,
    first_match,
    identity,
    in_order,
    made_of,
)
from ullage.reference.text import Malformed, atom_text, parse_value, value_text
from ullage.reference.values import Atom, Form, Undefined, Word, as_sort, is_of
from ullage.rules import terms
from ullage.rules.terms import Aggregate, Conditional, Expr, Literal, Rule
from ullage.sorts import ScalarError

_KEYS = {"schema": str, "goal": str, "goals": list, "digests": dict, "steps": list}
_STEP_KEYS = {
    "id": str,
    "atom": str,
    "kind": str,
    "rule": (str, type(None)),
    "bindings": dict,
    "premises": list,
    "file": str,
    "line": int,
    "column": int,
    "source": (str, type(None)),
    "label": str,
}


class _Instance(Bodies):
    """The meaning of one rule's body where each positive condition is met by a given atom alone.

    ``stuck`` is the last condition of the rule that was not met.
    """

    def __init__(self, bodies: Bodies, rule: Rule, given: Mapping[int, Atom]) -> None:
        super().__init__(bodies.arithmetic, bodies.atoms)
        self.given = given
        self.own = {id(s.literal) for s in steps_of(rule.body)}
        self.stuck: Literal | None = None

    def matches(
        self, atom: terms.Atom, bindings: Bindings, args: Sequence[Expr] | None = None
    ) -> Iterator[tuple[Bindings, Atom]]:
        """As in all bodies, but of the given atom alone where there is one."""
        given = self.given.get(id(atom))
        if given is None:
            yield from super().matches(atom, bindings, args)
            return
        for found in self.unify_all(args or atom.args, given[1], bindings):
            yield found, given

    def extended(self, place: int, literal: Literal, way: Way, outer: set[str]) -> list[Way]:
        """As in all bodies; a condition of the rule that does not hold is kept."""
        found = super().extended(place, literal, way, outer)
        if not found and id(literal) in self.own:
            self.stuck = literal
        return found


class Checker:
    """Checks proofs over one policy; steps that many proofs share are checked once."""

    def __init__(self, policy: ReferencePolicy) -> None:
        self.policy = policy
        self.make = Steps(policy.base, policy.words)
        self.rules: dict[tuple[str, int, int], Rule] = {
            (r.position.file, r.position.line, r.position.column): r for r in policy.rules
        }
        self.sound: dict[str, Step] = {}
        self.findings: list[Finding] = []
        self.numbers: dict[str, int] = {}

    def check(self, document: object, name: str) -> list[Finding]:
        """What is wrong with a proof; empty where every step of it holds.

        ``name`` is the file that a finding names. Codes: ``bad-proof`` for what is no proof,
        ``proof-broken`` for a step that does not hold.
        """
        self.findings = []
        self.name = name
        self.place = Position(name, 1, 1)
        steps = self._shaped(document)
        if steps is None:
            return self.findings
        assert isinstance(document, dict)
        known: dict[str, Step] = {}
        self.numbers = {s["id"]: n for n, s in enumerate(steps, start=1)}
        for number, step in enumerate(steps, start=1):
            self._step(number, step, known)
            known[step["id"]] = step
        if not self.findings:
            self._whole(document, known)
        return self.findings

    # The document.

    def _shaped(self, document: object) -> list[Step] | None:
        """The steps of a document that has the shape of a proof."""
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            self._bad(f"this is no proof of the schema `{SCHEMA}`")
            return None
        if not _has(document, _KEYS):
            self._bad(f"a proof has the keys {', '.join(_KEYS)}, and no others")
            return None
        steps = document["steps"]
        for number, step in enumerate(steps, start=1):
            if not isinstance(step, dict) or not _has(step, _STEP_KEYS):
                self._bad(f"step {number} has not the keys of a step: {', '.join(_STEP_KEYS)}")
            elif not all(isinstance(p, str) for p in step["premises"]):
                self._bad(f"step {number} has premises that are no ids")
            elif not all(isinstance(v, str) for v in step["bindings"].values()):
                self._bad(f"step {number} has bindings that are no text")
        return None if self.findings else steps

    def _whole(self, document: Mapping[str, object], known: Mapping[str, Step]) -> None:
        """The goals are proved, every step is of use, and the digests are those of what is used."""
        goals = document["goals"]
        assert isinstance(goals, list)
        if not goals or document["goal"] != goals[0]:
            self._bad("the goal is not the first of the goals")
            return
        conditions = {p for s in known.values() if s["kind"] == "rule" for p in s["premises"]}
        for number, (own, step) in enumerate(known.items(), start=1):
            if step["kind"] in ("absence", "computed") and own not in conditions:
                self._broken(number, step, "it is no condition of a rule")
        proved: dict[object, str] = {}
        for number, (own, step) in enumerate(known.items(), start=1):
            if step["kind"] in ("fact", "rule") and proved.setdefault(step["atom"], own) != own:
                self._broken(number, step, "a step before it proves the same")
        missing = [g for g in goals if not isinstance(g, str) or g not in proved]
        if missing:
            self._bad(f"no step proves the goal `{missing[0]}`")
        elif len(set(goals)) != len(goals):
            self._bad("a goal stands twice")
        if self.findings:
            return
        premises = {own: step["premises"] for own, step in known.items()}
        order = in_order((proved[g] for g in goals), premises)
        of_use = set(order)
        for number, (own, step) in enumerate(known.items(), start=1):
            if own not in of_use:
                self._broken(number, step, "no goal rests on it")
        if not self.findings and order != list(known):
            places = zip(known.items(), order, strict=True)
            number = next(n for n, ((own, _), o) in enumerate(places, start=1) if own != o)
            self._broken(number, list(known.values())[number - 1], "it stands out of its order")
        self._digests(document["digests"], list(known.values()))

    def _digests(self, given: object, steps: Sequence[Step]) -> None:
        """The digests are those of the rules and rows that steps rest on."""
        assert isinstance(given, dict)
        digests = Digests(self.policy.base)
        users: dict[str, int] = {}
        for number, step in enumerate(steps, start=1):
            if step["kind"] == "rule":
                place = digests.rule(self.rules[step["file"], step["line"], step["column"]])
                users.setdefault(place, number)
            elif step["kind"] == "fact":
                place = digests.row(self.policy.readings[_atom(step["atom"])])
                users.setdefault(place, number)
        for place, digest in digests.told().items():
            if given.get(place) != digest:
                what = "is not what it was" if place in given else "has no digest in the proof"
                self._broken(users[place], steps[users[place] - 1], f"`{place}` {what}")
        for place in sorted(given.keys() - users.keys()):
            self._bad(f"the digest of `{place}` is of nothing that the proof rests on")

    # Steps.

    def _step(self, number: int, step: Step, known: Mapping[str, Step]) -> None:
        if step["id"] in known:
            self._broken(number, step, "a second step has its id")
        elif step["id"] != identity(step):
            self._broken(number, step, "its id is not the hash of what it says")
        elif any(p not in known for p in step["premises"]):
            self._broken(number, step, "a premise of it is no step before it")
        elif step["id"] not in self.sound:
            why = self._why_broken(step, known)
            if why:
                self._broken(number, step, why)
            else:
                self.sound[step["id"]] = step

    def _why_broken(self, step: Step, known: Mapping[str, Step]) -> str:
        """What is wrong with a step, in words; "" where it holds."""
        try:
            if step["kind"] == "fact":
                return self._fact(step)
            if step["kind"] == "rule":
                return self._rule(step, known)
            if step["kind"] in ("absence", "computed"):
                # It holds as a condition of the rule that uses it, with which it is checked.
                return ""
        except Malformed as error:
            return f"`{error}` is no value"
        except ScalarError as error:
            return error.message
        except Undefined as error:
            return f"an expression of it {error}"
        except Failed as error:
            return f"a rule that it rests on has no value: {error}"
        return f"`{step['kind']}` is no kind of step"

    def _fact(self, step: Step) -> str:
        atom = _atom(step["atom"])
        reading = self.policy.readings.get(atom)
        if reading is None:
            return "no row on disk says so"
        # Equal figures may differ in their unit: the row's own atom is the one that it proves.
        own = next(a for a, _ in atoms_of(self.policy.base, reading.row) if a == atom)
        return _differs(step, self.make.fact(own, reading))

    def _rule(self, step: Step, known: Mapping[str, Step]) -> str:
        rule = self.rules.get((step["file"], step["line"], step["column"]))
        if rule is None:
            return f"no rule begins at {step['file']}:{step['line']}:{step['column']}"
        if rule.text != step["rule"]:
            return "the rule on disk is another"
        atom = _atom(step["atom"])
        if not self._is_of(atom, rule.head):
            return "it is no atom of the predicate that its rule concludes"
        if len(step["premises"]) != len(rule.body):
            return "it has not one premise for each condition of its rule"
        premises = [known[p] for p in step["premises"]]
        given: dict[int, Atom] = {}
        for literal, told in zip(rule.body, premises, strict=True):
            if isinstance(literal, terms.Atom) and literal.sign != 1:
                if told["kind"] not in ("fact", "rule"):
                    return f"{self._named(told)} is neither a fact nor a conclusion"
                given[id(literal)] = _atom(told["atom"])
                if not self._is_of(given[id(literal)], literal):
                    return f"{self._named(told)} is no atom of its condition at {literal.position}"
        self.policy.model.conclude(
            {node(u.atom) for u in terms.uses(rule.body) if not u.monotone}
            - self.policy.base.declarations.tables.keys()
        )
        bodies = _Instance(self.policy.model.bodies, rule, given)
        bindings = self._concluded(step, rule, atom, bodies)
        if isinstance(bindings, str):
            return bindings
        if why := _differs(step, self.make.rule(atom, rule, bindings, step["premises"])):
            return why
        for literal, told in zip(rule.body, premises, strict=True):
            if why := self._told(literal, bindings, told, known):
                return (
                    f"its condition at {literal.position} is not met by {self._named(told)}: {why}"
                )
        return ""

    def _concluded(self, step: Step, rule: Rule, atom: Atom, bodies: _Instance) -> Bindings | str:
        """The bindings under which a rule concludes an atom from the premises that bodies match,
        those that the step tells; or what is wrong, in words.
        """
        sorts = self.policy.sorts(rule.head)
        met = False
        for known in bodies.head_bindings(rule, atom[1]):
            for way in bodies.ways(rule, known):
                met = True
                if {n: value_text(v) for n, v in way.bindings.items()} != step["bindings"]:
                    continue
                for values in bodies.heads(rule, way):
                    typed = tuple(as_sort(v, s) for v, s in zip(values, sorts, strict=True))
                    if atom_text((rule.head.name, typed)) == step["atom"]:
                        return way.bindings
        if met:
            return "its bindings are not those under which its rule concludes it"
        if bodies.stuck is None:
            return "its rule concludes no such atom"
        return f"its condition at {bodies.stuck.position} is not met by what it rests on"

    def _told(
        self, literal: Literal, bindings: Bindings, told: Step, known: Mapping[str, Step]
    ) -> str:
        """What is wrong with a step as that of a condition, which holds; "" where it tells it."""
        bodies = self.policy.model.bodies
        rests: Iterable[Atom] = ()
        if isinstance(literal, terms.Atom) and literal.sign != 1:
            if literal.sign and [_atom(told["atom"])] != first_match(bodies, literal, bindings):
                return "it is not the first of those that meet it"
            return ""
        if isinstance(literal, terms.Atom):
            again = self.make.absence(literal, bindings)
        elif isinstance(literal, Aggregate):
            members = made_of(bodies.members(literal, bindings))
            rests = dict.fromkeys(a for atoms in members.values() for a in atoms)
            again = self.make.computed(literal, bindings, members, told["premises"])
        else:
            if isinstance(literal, Conditional):
                rests = each_of(bodies, literal, bindings)
            again = self.make.computed(literal, bindings, (), told["premises"])
        if why := _differs(told, again):
            return why
        if any(p not in known for p in told["premises"]):
            return "a premise of it is no step before it"
        proved = [known[p] for p in told["premises"]]
        if [s["atom"] for s in proved] != [atom_text(a) for a in rests]:
            return "its premises are not the atoms that it rests on"
        if any(s["kind"] not in ("fact", "rule") for s in proved):
            return "a premise of it is neither a fact nor a conclusion"
        return ""

    def _is_of(self, atom: Atom, written: terms.Atom) -> bool:
        """Whether an atom is of the predicate of one as written, its values of the right sorts."""
        name, values = atom
        return (
            name == written.name
            and len(values) == len(written.args)
            and all(map(is_of, values, self.policy.sorts(written)))
        )

    # Findings.

    def _named(self, step: Step) -> str:
        return f"step {self.numbers[step['id']]}, `{step['atom']}`,"

    def _bad(self, message: str) -> None:
        help = "`ullage why --format json` prints proofs"
        self.findings.append(Finding("bad-proof", message, (self.place,), help))

    def _broken(self, number: int, step: Step, why: str) -> None:
        at = Position(step["file"], step["line"], step["column"], "the step's place")
        places = (self.place, at) if step["file"] else (self.place,)
        message = f"step {number}, `{step['atom']}`, does not hold: {why}"
        self.findings.append(Finding("proof-broken", message, places))


def _atom(text: str) -> Atom:
    """The atom of a text. Raises Malformed."""
    value = parse_value(text)
    if isinstance(value, Form):
        return value.name, value.args
    if isinstance(value, Word):
        return value.name, ()
    raise Malformed(text)


def _differs(step: Step, again: Step) -> str:
    """The first key in which two steps differ, in words."""
    for key, value in again.items():
        if key != "id" and step[key] != value:  # type: ignore[literal-required]
            return f"its {key} is `{step[key]}`, and should be `{value}`"  # type: ignore[literal-required]
    return ""


def _has(given: Mapping[str, object], keys: Mapping[str, object]) -> bool:
    return given.keys() == keys.keys() and all(
        isinstance(given[k], kind) and not (kind is int and isinstance(given[k], bool))  # type: ignore[arg-type]
        for k, kind in keys.items()
    )


def parse(text: str, name: str) -> tuple[object, list[Finding]]:
    """A proof's text as a document. Code: ``json-syntax``."""

    def once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                raise _Twice(key)
            found[key] = value
        return found

    at = Position(name, 1, 1)
    try:
        return json.loads(text, object_pairs_hook=once), []
    except _Twice as error:
        message = f"the key `{error}` stands twice in one object"
        return None, [Finding("json-syntax", message, (at,), "keep one")]
    except json.JSONDecodeError as error:
        at = Position(name, error.lineno, error.colno)
        help = "take the file as ullage wrote it: one JSON object"
        return None, [Finding("json-syntax", error.msg.lower(), (at,), help)]
    except RecursionError:
        return None, [Finding("json-syntax", "it is nested too deep", (at,))]
    except ValueError:
        # The one that is left: Python reads no whole number of thousands of digits.
        return None, [Finding("json-syntax", "a number in it is too long", (at,))]


class _Twice(Exception):
    """A key that stands twice in an object."""
