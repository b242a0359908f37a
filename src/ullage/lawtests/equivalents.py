"""The list of equivalent mutants: those that no law test can notice, and why.

It is a file of its own, ``mutants.yaml``; ``docs/testing.md`` tells its format. An entry names a
mutant by what stands in its rule, never by a line, so that it stays true while rules move.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from yaml.nodes import Node

from ullage.findings import Finding, PolicyError, Position, errors_of, listed, similar
from ullage.lawtests.mutants import Mutant, Operator
from ullage.rules.writing import literal_text, rule_text
from ullage.yamlnodes import Nodes, read_document
from ullage.yamlscalars import scalar_text

_KEYS = ("file", "rule", "mutation", "what", "to", "nth", "reason")
_NEEDED = ("file", "rule", "mutation", "reason")
_WITHOUT_AFTER = (Operator.REMOVE, Operator.DROP)


@dataclass(frozen=True, slots=True)
class Equivalent:
    """One entry: a mutant by its file and rule, what is changed ``to`` what, and the reason.

    ``rule`` is a head or a whole rule. ``nth`` says which is meant of several that are alike, from
    1; it is 0 where there is one.
    """

    position: Position
    file: str
    rule: str
    mutation: str
    what: str
    to: str
    nth: int
    reason: str


def load_equivalents(path: Path) -> list[Equivalent]:
    """The entries of a file; none where there is no such file.

    Raises PolicyError with the codes of reading YAML, and ``bad-equivalent`` for an entry that says
    too little, or something else.
    """
    if not path.exists():
        return []
    document = read_document(path)
    reader = _Reader(Nodes(document.file, list(document.findings)))
    found = reader.file(document.root) if document.root is not None else []
    if errors := errors_of(reader.nodes.findings):
        raise PolicyError(errors)
    return found


@dataclass(slots=True)
class _Reader:
    nodes: Nodes

    def file(self, root: Node) -> list[Equivalent]:
        entries = self.nodes.entries(root, "a list of equivalent mutants")
        for key, (place, _) in entries.items():
            if key != "equivalent":
                self._bad(f"the file has no key `{key}`", place, "entries stand in `equivalent:`")
        _, listed_node = entries.get("equivalent", (None, None))
        elements = self.nodes.elements(listed_node, "`equivalent`")
        return [e for e in map(self._entry, elements) if e is not None]

    def _entry(self, node: Node) -> Equivalent | None:
        before = len(self.nodes.findings)
        entries = self.nodes.entries(node, "an entry")
        for key, (place, _) in entries.items():
            if key not in _KEYS:
                help = similar(key, _KEYS, "key") or f"keys are {', '.join(_KEYS)}"
                self._bad(f"an entry has no key `{key}`", place, help)
        words = {
            key: (self.nodes.text(value, f"`{key}`") or "").strip()
            for key, (_, value) in entries.items()
        }
        for key in _NEEDED:
            if not words.get(key):
                help = (
                    "say why no law test can notice the mutant"
                    if key == "reason"
                    else "`ullage test --mutate -v` prints an entry for each survivor"
                )
                self._bad(f"an entry has no `{key}`", node, help)
        mutation = words.get("mutation", "")
        if mutation and mutation not in list(Operator):
            known = [o.value for o in Operator]
            help = similar(mutation, known, "mutation") or f"mutations are {listed(known)}"
            self._bad(f"`mutation` is `{mutation}`", entries["mutation"][1], help)
        elif mutation:
            self._shape(mutation, entries, words)
        nth = words.get("nth", "")
        if nth and re.fullmatch("[1-9][0-9]{0,3}", nth) is None:
            self._bad(f"`nth` is `{nth}`", entries["nth"][1], "it counts from 1")
        if len(self.nodes.findings) > before:
            return None
        return Equivalent(
            self.nodes.position(node),
            words["file"],
            words["rule"],
            mutation,
            words.get("what", ""),
            words.get("to", ""),
            int(nth or 0),
            words["reason"],
        )

    def _shape(
        self, mutation: str, entries: Mapping[str, tuple[Node, Node]], words: Mapping[str, str]
    ) -> None:
        """What an entry of a mutation has beside what all have."""
        wanted = {"what"} if mutation != Operator.REMOVE else set()
        wanted |= {"to"} if mutation not in _WITHOUT_AFTER else set()
        for key in ("what", "to"):
            if words.get(key) and key not in wanted:
                place = entries[key][0]
                self._bad(f"an entry of `{mutation}` has no `{key}`", place, "drop the line")
            if not words.get(key) and key in wanted:
                place = entries["mutation"][1]
                help = "say what is changed in the rule" if key == "what" else "say into what"
                self._bad(f"an entry of `{mutation}` lacks `{key}`", place, help)

    def _bad(self, message: str, node: Node, help: str) -> None:
        self.nodes.report("bad-equivalent", message, node, help=help)


class Listing:
    """Mutants as entries name them. ``root`` is the folder that their files are named from."""

    def __init__(self, found: Sequence[Mutant], files: Iterable[str], root: Path) -> None:
        """Of mutants; ``files`` are all files of the policy's rules, whether mutated or not."""
        root = root.resolve()
        self._names = {f: _name(Path(f).resolve(), root) for f in files}
        self._found = found
        self._by_rule: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._rules: dict[tuple[str, str], set[int]] = defaultdict(set)
        for place, mutant in enumerate(found):
            file = self._names[mutant.original.rule.position.file]
            for text in _texts(mutant):
                self._by_rule[file, text].append(place)
                self._rules[file, text].add(mutant.number)

    def matched(
        self, entries: Sequence[Equivalent], looked_at: Iterable[str]
    ) -> tuple[dict[int, Equivalent], list[Finding]]:
        """The entry of each mutant that has one, by its place, and a finding for each of none.

        Entries of a file that is not looked at are passed over. Raises PolicyError with
        ``bad-equivalent`` for one that may mean several mutants, or is a second of one.
        """
        known = set(self._names.values())
        mutated = {self._names[f] for f in looked_at}
        matched: dict[int, Equivalent] = {}
        bad, idle = [], []
        for entry in entries:
            if entry.file in known and entry.file not in mutated:
                continue
            places = self._meant(entry)
            if entry.nth:
                places = places[entry.nth - 1 : entry.nth]
            if not places:
                idle.append(self.idle(entry))
            elif len(places) > 1:
                bad.append(self._ambiguous(entry, len(places)))
            elif places[0] in matched:
                bad.append(_doubled(entry, matched[places[0]]))
            else:
                matched[places[0]] = entry
        if bad:
            raise PolicyError(bad)
        return matched, idle

    def entry(self, place: int) -> list[str]:
        """The lines that list a mutant as equivalent, but for the reason."""
        mutant = self._found[place]
        file = self._names[mutant.original.rule.position.file]
        head, whole = _texts(mutant)
        rule = head if len(self._rules[file, head]) == 1 else whole
        lines = [("file", file), ("rule", rule), ("mutation", mutant.operator.value)]
        if mutant.operator is not Operator.REMOVE:
            lines.append(("what", mutant.before))
        if mutant.after:
            lines.append(("to", mutant.after))
        alike = [p for p in self._by_rule[file, rule] if _alike(self._found[p], mutant)]
        words = [f"{key}: {scalar_text(text)}" for key, text in lines]
        if len(alike) > 1:
            words.append(f"nth: {alike.index(place) + 1}")
        words.append("reason:")
        return [f"{'- ' if n == 0 else '  '}{line}" for n, line in enumerate(words)]

    def _meant(self, entry: Equivalent) -> list[int]:
        return [
            place
            for place in self._by_rule.get((entry.file, entry.rule), ())
            if (mutant := self._found[place]).operator == entry.mutation
            and (mutant.operator is Operator.REMOVE or mutant.before == entry.what)
            and mutant.after == entry.to
        ]

    def idle(self, entry: Equivalent) -> Finding:
        """That an entry means no mutant, and the part of it that is to blame."""
        mutants = [self._found[p] for p in self._by_rule.get((entry.file, entry.rule), ())]
        known = self._names.values()
        if entry.file not in known:
            message = f"no file of rules is `{entry.file}`"
            help = similar(entry.file, known, "file")
        elif not mutants:
            message = f"no rule of `{entry.file}` is `{entry.rule}`"
            texts = [text for file, text in self._by_rule if file == entry.file]
            help = similar(entry.rule, texts, "rule")
        else:
            changed = f" of `{entry.what}`" if entry.what else ""
            changed += f" to `{entry.to}`" if entry.to else ""
            message = f"`{entry.rule}` has no mutant by `{entry.mutation}`{changed}"
            what = [m.before for m in mutants if m.operator == entry.mutation]
            help = similar(entry.what, [w for w in what if w != entry.what], "part")
        help = help or "delete the entry, or name what stands in the rule now"
        return Finding("idle-equivalent", message, (entry.position,), help)

    def _ambiguous(self, entry: Equivalent, number: int) -> Finding:
        several = len(self._rules[entry.file, entry.rule]) > 1
        return Finding(
            "bad-equivalent",
            f"an entry of `{entry.rule}` may mean {number} mutants",
            (entry.position,),
            "several rules have this head: give the whole rule in `rule:`"
            if several
            else f"say in `nth:` which is meant, from 1 to {number}",
        )


def killed(entry: Equivalent, name: str, case: Position) -> Finding:
    """That a case tells a mutant from its rule, which an entry says is equivalent."""
    return Finding(
        "killed-equivalent",
        f"the case `{name}` tells a mutant of `{entry.rule}` from its rule",
        (entry.position, Position(case.file, case.line, case.column, "the case")),
        "delete the entry: the mutant is not equivalent",
    )


def _doubled(entry: Equivalent, first: Equivalent) -> Finding:
    at = first.position
    return Finding(
        "bad-equivalent",
        f"a mutant of `{entry.rule}` has a second entry",
        (entry.position, Position(at.file, at.line, at.column, "is the first")),
        "keep one of the two",
    )


def _texts(mutant: Mutant) -> tuple[str, str]:
    """A mutant's rule as entries may name it: its head, and the whole."""
    rule = mutant.original.rule
    return literal_text(rule.head), rule_text(rule)


def _alike(one: Mutant, other: Mutant) -> bool:
    return (one.operator, one.before, one.after) == (other.operator, other.before, other.after)


def _name(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()
