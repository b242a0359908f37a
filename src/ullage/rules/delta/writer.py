"""Writes the part of a program that a world is ground by: rules to lower, and lines of text."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any, cast

from ullage.findings import Position
from ullage.rules import graph
from ullage.rules.declared import BUILTIN, OF_LAWS, LawDecl, PlanDecl
from ullage.rules.delta.lazy import Lazy, Told, lazy
from ullage.rules.delta.lines import Lead, Lines, Step, of_world
from ullage.rules.delta.nodes import WORLD, come, gone, moved, now, once, reached
from ullage.rules.delta.reading import At, Reading, Use, joined, keyable, path, pattern, rings
from ullage.rules.inference import TypedRule
from ullage.rules.lowering import Levels
from ullage.rules.lowering.program import tuple_text
from ullage.rules.terms import Aggregate, Atom, Conditional, Expr, Fun, Literal, Var
from ullage.rules.vocabulary import Place
from ullage.sorts import COUNT

MOST_JOINED = 3
"""How many atoms that may have moved lead to a key; arguments beyond are left out of it."""

MOVED = "_moved''"
"""The relation of the subjects that may have moved: its kind, its law or plan, the subject."""

_NOWHERE = Position("", 1, 1)


def before(name: str) -> str:
    """The predicate of what is concluded of the subjects that may move, under the facts."""
    return f"{name}''before"


def after(name: str) -> str:
    """The same of a world."""
    return f"{name}''after"


@dataclass(frozen=True, slots=True)
class _Region:
    """Where a node is concluded anew: a relation of keys, and the places that these are of."""

    name: str
    key: tuple[At, ...]


@dataclass(frozen=True, slots=True)
class _Holding:
    """A relation that an atom is asked of; before its own arguments it has variables ``extra``."""

    relation: str
    extra: Mapping[str, tuple[Var, Place]] = field(default_factory=dict)


def _touched(region: _Region) -> str:
    """The relation of a lazy node's keys that moved atoms lead to."""
    return f"{region.name}'touched"


@dataclass(frozen=True, slots=True)
class Delta:
    """The part of a program that worlds are ground by.

    ``facts`` are the rules that conclude from the facts, and are ground once. ``rules`` conclude
    for a world, and ``lines`` are text, with THIS in them; ``moving`` are the laws and plans whose
    conclusions may move.
    """

    facts: tuple[TypedRule, ...]
    rules: tuple[TypedRule, ...]
    lines: tuple[str, ...]
    moving: tuple[LawDecl | PlanDecl, ...]


def conclusions(owner: LawDecl | PlanDecl) -> Iterable[str]:
    """The predicates of what a law or plan concludes."""
    return ("plan",) if isinstance(owner, PlanDecl) else OF_LAWS


def nodes_of(owner: LawDecl | PlanDecl) -> set[str]:
    """The nodes of all that a law or plan says, and of its subjects."""
    return {owner.collects, *(f"{kind}({owner.name})" for kind in conclusions(owner))}


def delta(
    rules: Sequence[TypedRule],
    owners: Iterable[LawDecl | PlanDecl],
    tables: Collection[str],
    changed: Collection[str],
    levels: Levels,
) -> Delta:
    """What grounds changes of these nodes of tables.

    ``levels`` are those that all rules settle at: figures are joined as text only where both places
    write them alike.
    """
    writer = _Writer(rules, owners, tables, changed, levels)
    writer.write()
    return Delta(
        tuple(r.typed for n, rs in writer.readings.items() if n not in writer.lazy for r in rs),
        tuple(writer.rules),
        writer.lines.texts,
        tuple(writer.moving),
    )


class _Writer:
    """Writes the part for one set of changed nodes."""

    def __init__(
        self,
        rules: Sequence[TypedRule],
        owners: Iterable[LawDecl | PlanDecl],
        tables: Collection[str],
        changed: Collection[str],
        levels: Levels,
    ) -> None:
        self.cone = reached(rules, tables, changed)
        self.lines = Lines()
        self.rules: list[TypedRule] = []
        self.readings: dict[str, list[Reading]] = defaultdict(list)
        for typed in rules:
            reading = Reading(typed, tables, levels)
            self.readings[reading.node].append(reading)
        edges = {
            name: {u.node for r in found for u in r.uses if u.node in self.readings}
            for name, found in self.readings.items()
        }
        self.rings = rings(edges, graph.components(edges))
        given = list(owners)
        self.moving = [o for o in given if not self.cone.isdisjoint(nodes_of(o))]
        self.asked = self._lazy(given)
        self.lazy = self.asked.keys
        self.regions: dict[str, _Region] = {}
        self._views: dict[int, _Holding] = {}
        self._links: dict[tuple[str, At], str] = {}

    def _lazy(self, owners: Iterable[LawDecl | PlanDecl]) -> Lazy:
        eager = {o.collects for o in owners if isinstance(o, LawDecl)}
        told: dict[str, Told] = {}
        for owner in owners:
            told |= {
                f"{kind}({owner.name})": Told(owner.collects, (1,)) for kind in conclusions(owner)
            }
            told[owner.collects] = Told(owner.collects, (0,) if len(owner.arguments) == 1 else ())
        return lazy(self.readings, self.rings, self.cone, eager, told)

    def write(self) -> None:
        """Write everything."""
        for name in self.readings:
            if name in self.lazy:
                self.regions[name] = _Region(self.lines.mark("asked"), self.lazy[name])
            elif name in self.cone:
                self.regions[name] = self._region(name)
        for name in sorted(self.cone - self.readings.keys()):
            table, _, column = name.partition("/")
            self._either_side(table, ["Key", column, "Value"] if column else ["Key"])
        for name, readings in self.readings.items():
            for reading in readings:
                if name in self.lazy:
                    self._asking(name, reading)
                elif name in self.cone:
                    self._triggers(self.regions[name], name, reading)
                    self._conclude(now, name, reading)
            if name in self.cone and name not in self.lazy:
                self._differences(name, readings[0])
        for owner in self.moving:
            self._tell(owner)

    # Regions.

    def _region(self, name: str) -> _Region:
        """The region of a node; those of a ring of several share one, which has no key."""
        ring = self.rings[name]
        shared = next((self.regions[n] for n in ring if n in self.regions), None)
        if shared is not None:
            return shared
        return _Region(self.lines.mark("region"), self._key(name, ring) if len(ring) < 2 else ())

    def _key(self, name: str, ring: Collection[str]) -> tuple[At, ...]:
        """The places that the region of a node tells apart, as many as every rule can tell.

        In each rule positive atoms fix them, recursive ones keep them, and few atoms that may have
        moved themselves lead to them.
        """
        readings = self.readings[name]
        key = keyable(readings, ring)
        for reading in readings:
            head = reading.rule.head
            for use in self._moving(reading, ring):
                wanted = reading.names(head, key)
                found = joined(use.binds, wanted, self._leading(reading, use))
                leading = [u for u in found if u.node in self.cone]
                if len(leading) > MOST_JOINED:
                    late = wanted.difference(*(u.binds for u in leading[:MOST_JOINED]))
                    key = [at for at in key if not reading.names(head, [at]) & late]
        return tuple(key)

    def _moving(self, reading: Reading, ring: Collection[str]) -> list[Use]:
        """The atoms of a rule that may have moved before the rule is asked again."""
        return [u for u in reading.uses if u.node in self.cone and u.node not in ring]

    def _leading(self, reading: Reading, use: Use | None) -> list[Use]:
        """The atoms that another can be joined with, first those that cannot have moved."""
        steady = sorted(self.asked.steady(reading, use), key=lambda u: u.node in self.cone)
        return [*steady, *self.asked.links(reading, use)]

    def _triggers(self, region: _Region, name: str, reading: Reading) -> None:
        """For each atom that may have moved, the keys that it leads to."""
        head = reading.rule.head
        text = of_world(region.name, reading.some(head, region.key))
        wanted = reading.names(head, region.key)
        ring = self.rings[name]
        for use in self._moving(reading, ring):
            key = self.lazy.get(use.node)
            if key is None:
                start = _lead(reading, use.atom, moved(use.atom.name))
            else:
                start = _lead(reading, use.atom, _touched(self.regions[use.node]), key)
            steps = joined(start.names, wanted, self._leading(reading, use))
            self.lines.derive(text, wanted, start, [self._either(reading, u, ring) for u in steps])

    def _either(self, reading: Reading, use: Use, ring: Collection[str]) -> Step:
        """An atom as it may hold in one of the two worlds.

        Of a ring the atoms that held are enough: what has come there is in the region already.
        """
        if use.link is not None:
            places = [*self.lazy[use.node], use.link]
            link = of_world(self._link(use.node, use.link), reading.some(use.atom, places))
            return Step(use.binds, [link])
        ways = [_held(reading, use)]
        if use.node in self.cone and use.node not in ring:
            ways.append(of_world(come(use.atom.name), reading.args(use.atom)))
        return Step(use.binds, ways)

    def _link(self, name: str, at: At) -> str:
        """The relation of a lazy node's key to another place of it."""
        if (name, at) not in self._links:
            relation = self._links[name, at] = self.lines.mark("link")
            places = [*self.lazy[name], at]
            for reading in self.readings[name]:
                head = reading.rule.head
                wanted = reading.names(head, places)
                steps = joined((), wanted, self._leading(reading, None))
                text = of_world(relation, reading.some(head, places))
                ways = [self._either(reading, u, ()) for u in steps]
                self.lines.derive(text, wanted, None, ways)
        return self._links[name, at]

    # What is asked of lazy nodes.

    def _asking(self, name: str, reading: Reading) -> None:
        """Whom a rule of a lazy node is asked for, and what it asks for itself."""
        region = self.regions[name]
        if name in self.cone:
            self._triggers(_Region(_touched(region), region.key), name, reading)
            self._conclude(now, name, reading)
        self._conclude(once, name, reading)
        start = _lead(reading, reading.rule.head, region.name, region.key)
        for use in reading.uses:
            if use.node in self.lazy and use.node not in self.rings[name]:
                asked = self.regions[use.node]
                text = of_world(asked.name, reading.some(use.atom, asked.key))
                wanted = reading.names(use.atom, asked.key)
                steps = joined(start.names, wanted, self.asked.steady(reading, use))
                ways = [self._either(reading, u, ()) for u in steps]
                self.lines.derive(text, wanted, start, ways)

    # What holds.

    def _conclude(self, world: Callable[[str], str], name: str, reading: Reading) -> None:
        """The rule again within its region, of a world or of the facts."""
        typed, rule = reading.typed, reading.rule
        places = dict(typed.places)
        variable = Var(WORLD, _NOWHERE)

        def again(predicate: str, args: Sequence[Expr], at: Sequence[Place], sign: int = 0) -> Atom:
            made = Atom(predicate, (variable, *args), rule.position, sign)
            places[id(made)] = (Place(COUNT, (WORLD,)), *at)
            return made

        found: dict[int, Atom] = {}
        for use in reading.uses:
            holding = self._holding(world, name, reading, use)
            if holding is not None:
                atom = use.atom
                more = [holding.extra[n] for n in sorted(holding.extra)]
                args = [*(var for var, _ in more), *atom.args]
                at = [*(place for _, place in more), *typed.places[id(atom)]]
                found[id(atom)] = again(holding.relation, args, at, atom.sign)
        region = self.regions[name]
        parts = [p for at in region.key if (p := reading.part(rule.head, at)) is not None]
        guard = again(region.name, [term for term, _ in parts], [place for _, place in parts])
        body = [_rewritten(literal, found, guard) for literal in rule.body]
        head = again(world(rule.head.name), rule.head.args, typed.places[id(rule.head)])
        self.rules.append(
            dataclasses.replace(
                typed,
                rule=dataclasses.replace(rule, head=head, body=(guard, *body)),
                variables={**typed.variables, WORLD: COUNT},
                terms=dict(typed.terms),
                places=places,
                guarded=True,
            )
        )

    def _holding(
        self, world: Callable[[str], str], name: str, reading: Reading, use: Use
    ) -> _Holding | None:
        """The relation of a world that an atom is asked of; None where it is the atom's own."""
        moving = world is now and use.node in self.cone
        if use.node in self.lazy:
            return _Holding(now(use.atom.name) if moving else once(use.atom.name))
        if not moving:
            return None
        if use.node in self.rings[name]:
            return _Holding(now(use.atom.name))
        return self._view(name, reading, use)

    def _view(self, name: str, reading: Reading, use: Use) -> _Holding:
        """What holds now of an atom, as far as the region leads to it.

        Where it leads there through others, the view holds the region's key, too.
        """
        if id(use) in self._views:
            return self._views[id(use)]
        region, head = self.regions[name], reading.rule.head
        start = _lead(reading, head, region.name, region.key)
        steps: list[Use] = []
        extra: dict[str, tuple[Var, Place]] = {}
        if not reading.named(start.names & use.binds):
            others = sorted(reading.beside(use), key=lambda u: u.node in self.cone)
            names = reading.named(start.names) or start.names
            steps = path(names, use.binds, others) or []
            extra = reading.variables(head, region.key) if steps else {}
        view = self._views[id(use)] = _Holding(self.lines.mark("view"), extra)
        args = reading.args(use.atom, (f"F''{i}" for i in count()))
        held = f"{use.atom.name}({','.join(args)}); not {of_world(gone(use.atom.name), args)}"
        ways = [held, of_world(come(use.atom.name), args)]
        self.lines.derive(
            of_world(view.relation, [*sorted(extra), *args]),
            use.binds | extra.keys(),
            start,
            [*(self._now(name, reading, u) for u in steps), Step(use.binds, ways)],
        )
        return view

    def _now(self, name: str, reading: Reading, use: Use) -> Step:
        """An atom as it holds now."""
        holding = self._holding(now, name, reading, use)
        if holding is None:
            return Step(use.binds, [_held(reading, use)])
        args = [*sorted(holding.extra), *reading.args(use.atom)]
        return Step(use.binds | holding.extra.keys(), [of_world(holding.relation, args)])

    def _differences(self, name: str, reading: Reading) -> None:
        """What is gone, and what has come, of a node."""
        head = reading.rule.head
        args, places = pattern([p.sort for p in reading.typed.places[id(head)]])
        if head.name in BUILTIN:
            word = head.args[0]
            assert isinstance(word, Fun)
            args[0] = places[0,] = word.name
        region = self.regions[name]
        within = of_world(region.name, [places[at] for at in region.key])
        held = f"{head.name}({','.join(args)})"
        holds = of_world(now(head.name), args)
        self.lines.add(of_world(gone(head.name), args), within, held, f"not {holds}")
        self.lines.add(of_world(come(head.name), args), holds, f"not {held}")
        self._either_side(head.name, args)

    def _either_side(self, predicate: str, args: Sequence[str]) -> None:
        """What has moved of a node: clingo tells nodes of one predicate apart by their words."""
        for side in (gone, come):
            head = of_world(moved(predicate), args)
            self.lines.add(head, of_world(side(predicate), args))

    # What is told.

    def _tell(self, owner: LawDecl | PlanDecl) -> None:
        """The subjects of a law or plan that may have moved, and all that is concluded of them."""
        kind = "plan" if isinstance(owner, PlanDecl) else "law"
        parts, places = pattern([sort for _, sort in owner.arguments])
        subject = parts[0] if len(parts) == 1 else tuple_text(parts)
        of = of_world(MOVED, [kind, owner.name, subject])
        within = {(1, *(at[1:] if len(parts) == 1 else at)): name for at, name in places.items()}
        told = [(owner.collects, owner.collects, parts, places)]
        for name in conclusions(owner):
            args = [owner.name, subject, *(f"W{i}" for i in range(2, BUILTIN[name]))]
            told.append((f"{name}({owner.name})", name, args, within))
        asked, moving = [], []
        for each, name, args, at in told:
            head, later = of_world(before(name), args), of_world(after(name), args)
            region = self.regions.get(each)
            if each in self.lazy and region is not None:
                keys = [at[place] for place in region.key]
                asked.append(of_world(region.name, keys))
                worlds = [of_world(once(name), args)]
                if each in self.cone:
                    worlds.append(of_world(now(name), args))
                    touched = of_world(_touched(region), keys)
                    moving.append(touched)
                    for holds in worlds:
                        self.lines.add(of, touched, holds)
                self.lines.add(head, of, worlds[0])
                self.lines.add(later, of, worlds[-1])
                continue
            held = f"{name}({','.join(args)})"
            if each in self.cone:
                moving.append(of_world(moved(name), args))
                self.lines.add(of, moving[-1])
            went = f"not {of_world(gone(name), args)}"
            self.lines.add(head, of, held)
            self.lines.add(later, of, held, went)
            self.lines.add(later, of, of_world(come(name), args))
        # Whoever may have moved is asked for all that is told, before it is known who has.
        for head, cause in product(asked, moving):
            self.lines.add(head, cause)


def _lead(reading: Reading, atom: Atom, relation: str, places: Sequence[At] | None = None) -> Lead:
    """A relation of this world over an atom's arguments, or over what stands at some places."""

    def text(shown: Collection[str]) -> str:
        if places is None:
            return of_world(relation, reading.args(atom, shown=shown))
        return of_world(relation, reading.some(atom, places, shown))

    return Lead(frozenset(reading.names(atom, places)), text)


def _held(reading: Reading, use: Use) -> str:
    """An atom as it holds under the facts, with a variable for each blank.

    clingo would make a relation without them of one that may be large.
    """
    args = reading.args(use.atom, (f"G''{i}" for i in count()))
    return f"{use.atom.name}({','.join(args)})"


def _rewritten(literal: Literal, found: Mapping[int, Atom], guard: Atom) -> Literal:
    """A literal with other atoms; each group of a set is kept to the region."""

    def put(item: Any) -> Any:
        return found.get(id(item), item)

    match literal:
        case Conditional(literal=inner, conditions=conditions):
            kept = tuple(put(c) for c in conditions)
            return dataclasses.replace(literal, literal=put(inner), conditions=kept)
        case Aggregate(elements=elements):
            put_in = []
            for element in elements:
                conditions = tuple(put(c) for c in element.conditions)
                guarded = (*conditions, guard) if conditions else ()
                put_in.append(dataclasses.replace(element, conditions=guarded))
            return dataclasses.replace(literal, elements=tuple(put_in))
    return cast(Literal, put(literal))
