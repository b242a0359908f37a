"""Which conclusions a world may ask for itself, so that they need not be drawn of all facts.

A node is *lazy* where every rule that reads it is of a lazy node, and where keys lead both ways: a
key of the reader to the keys of what it reads, to ask for these, and a key of what moved to the
keys of the reader, to know whom to ask for. Atoms of eager nodes lead, for these are there before
anything is asked; and on the way up also *links*: what a lazy node relates to its key in atoms of
eager nodes, whether it holds or not.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ullage.rules.delta.reading import At, Reading, Use, connected, keyable, path
from ullage.rules.terms import Atom

Keys = dict[str, tuple[At, ...]]
"""The lazy nodes, each with the places of its key."""


class Lazy:
    """The lazy nodes of some rules, and how they link their keys to what else they hold."""

    def __init__(self, readings: Mapping[str, Sequence[Reading]], keys: Keys) -> None:
        self.readings = readings
        self.keys = keys
        self._linked: dict[tuple[str, At], bool] = {}

    def links(self, reading: Reading, use: Use | None) -> list[Use]:
        """The lazy atoms beside another as the links that they are, each to one place."""
        found = []
        for other in reading.beside(use):
            key = self.keys.get(other.node)
            if key is None or other.node == reading.node:
                continue
            for at in self.readings[other.node][0].places():
                named = frozenset(reading.names(other.atom, [*key, at]))
                if at not in key and reading.names(other.atom, [at]) and self.link(other.node, at):
                    found.append(dataclasses.replace(other, binds=named, link=at))
        return found

    def link(self, name: str, at: At) -> bool:
        """Whether eager atoms, or links again, relate a lazy node's key to another place of it."""
        known = self._linked.get((name, at))
        if known is None:
            # While it is asked of itself it is none.
            self._linked[name, at] = False
            known = all(self._links(r, at) for r in self.readings[name])
            self._linked[name, at] = known
        return known

    def _links(self, reading: Reading, at: At) -> bool:
        head, places = reading.rule.head, [*self.keys[reading.node], at]
        if any(reading.fixed(head, place) is None for place in places):
            return False
        leading = [*self.steady(reading, None), *self.links(reading, None)]
        start = reading.names(head, self.keys[reading.node])
        bound = set().union(*(u.binds for u in leading))
        return reading.names(head, places) <= bound & (connected(start, leading) | start)

    def steady(self, reading: Reading, use: Use | None) -> list[Use]:
        """The atoms of eager nodes beside another."""
        return [u for u in reading.beside(use) if u.node not in self.keys]


@dataclass(frozen=True, slots=True)
class Told:
    """Where the subject of a law or plan stands in one of the nodes that tell of it."""

    owner: str
    within: At

    def part(self, at: At) -> At | None:
        """Which part of the subject stands at a place; None where it is none."""
        size = len(self.within)
        return at[size:] if at[:size] == self.within else None


def lazy(
    readings: Mapping[str, Sequence[Reading]],
    rings: Mapping[str, set[str]],
    cone: Collection[str],
    eager: Collection[str],
    told: Mapping[str, Told],
) -> Lazy:
    """The lazy nodes of some rules, by node.

    ``cone`` are the nodes that may move, ``eager`` those that are wanted whole, ``told`` those that
    tell of subjects: the keys of all that tell of the same are the same parts of them.
    """
    widest: Keys = {}
    for name, found in readings.items():
        if name in eager or len(rings[name]) > 1:
            continue
        widest[name] = tuple(
            at
            for at in keyable(found, rings[name])
            if name not in told or told[name].part(at) is not None
        )
    about: dict[str, list[Reading]] = defaultdict(list)
    for reading in (r for found in readings.values() for r in found):
        for name in {reading.node, *(u.node for u in reading.uses)}:
            about[name].append(reading)
    while True:
        # A node that is taken out leads where it did not before, so all keys are tried anew.
        search = _Search(readings, about, cone, told, Lazy(readings, dict(widest)))
        search.settle()
        if not search.dropped:
            return search.lazy
        for name in search.dropped:
            del widest[name]


@dataclass(slots=True)
class _Search:
    """Takes places from keys until what is left leads, and nodes out where none are left."""

    readings: Mapping[str, Sequence[Reading]]
    about: Mapping[str, Sequence[Reading]]
    cone: Collection[str]
    told: Mapping[str, Told]
    lazy: Lazy
    dropped: dict[str, None] = field(default_factory=dict)
    narrowed: dict[str, None] = field(default_factory=dict)

    @property
    def keys(self) -> Keys:
        return self.lazy.keys

    def settle(self) -> None:
        """Do so."""
        rules = [reading for found in self.readings.values() for reading in found]
        while rules:
            for reading in rules:
                while self._held(reading):
                    pass
            self._even()
            # What is linked depends on all keys, and each rule on those of its own nodes.
            self.lazy = Lazy(self.readings, self.keys)
            again = {id(r): r for name in self.narrowed for r in self.about[name]}
            rules = list(again.values())
            self.narrowed.clear()
            if not rules:
                rules = [r for found in self.readings.values() for r in found if self._held(r)]

    def _even(self) -> None:
        """Give all nodes that tell of one law or plan the same key."""
        common: dict[str, set[At | None]] = {}
        for name, told in self.told.items():
            if name in self.keys:
                parts = {told.part(at) for at in self.keys[name]}
                common[told.owner] = common.get(told.owner, parts) & parts
        for name, told in self.told.items():
            if name in self.keys:
                kept = tuple(at for at in self.keys[name] if told.part(at) in common[told.owner])
                if kept != self.keys[name]:
                    self.keys[name] = kept
                    self.narrowed[name] = None

    def _held(self, reading: Reading) -> bool:
        """Hold the keys against one rule; whether any had to give way."""
        name, head = reading.node, reading.rule.head
        if name not in self.keys:
            return sum(self._drop(u.node) for u in reading.uses) > 0
        if not reading.names(head, self.keys[name]):
            return self._drop(name)
        for use in reading.uses:
            steady = self.lazy.steady(reading, use)
            if use.node in self.keys:
                led = connected(reading.names(head, self.keys[name]), steady)
                kept = self._led(reading, use.node, use.atom, led)
                if kept != self.keys[use.node]:
                    return self._give_way(reading, use.node, use.atom, kept)
            if use.node in self.cone:
                start = self._leads(reading, use)
                kept = self._led(reading, name, head, connected(start, steady))
                if kept != self.keys[name]:
                    leading = [*steady, *self.lazy.links(reading, use)]
                    kept = self._led(reading, name, head, connected(start, leading))
                if kept != self.keys[name]:
                    return self._take_out(reading, use, kept) or self._give_way(
                        reading, name, head, kept
                    )
        return False

    def _leads(self, reading: Reading, use: Use) -> set[str]:
        """The variables by which an atom that moved leads on: of a lazy one, its key's."""
        key = self.keys.get(use.node)
        return set(use.binds) if key is None else reading.names(use.atom, key)

    def _led(self, reading: Reading, name: str, atom: Atom, led: Collection[str]) -> tuple[At, ...]:
        """The places of a key that are led to."""
        return tuple(
            at
            for at in self.keys[name]
            if reading.fixed(atom, at) is not None and reading.names(atom, [at]) <= set(led)
        )

    def _give_way(self, reading: Reading, name: str, atom: Atom, kept: tuple[At, ...]) -> bool:
        """Narrow a key, or take its node out where nothing is left of it."""
        if not reading.names(atom, kept):
            return self._drop(name)
        self.keys[name] = kept
        self.narrowed[name] = None
        return True

    def _take_out(self, reading: Reading, use: Use, kept: tuple[At, ...]) -> bool:
        """Take out the lazy atoms through which one that moved would lead to the head, if any."""
        name, head = reading.node, reading.rule.head
        if reading.names(head, kept):
            return False
        way = path(use.binds, reading.names(head, self.keys[name]), [use, *reading.beside(use)])
        return sum(self._drop(u.node) for u in way or ()) > 0

    def _drop(self, name: str) -> bool:
        if name not in self.keys:
            return False
        del self.keys[name]
        self.dropped[name] = None
        self.narrowed[name] = None
        return True
