"""The literals of one rule while it is written: what each binds, needs and rests on."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Piece:
    """One lowered literal: what it binds and needs, by variable, and the sites it rests on.

    One that works ``either`` way may as well bind what it needs, for what it binds.
    """

    text: str
    binds: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    atom: bool = False
    sites: frozenset[int] = frozenset()
    either: bool = False

    def ways(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """Each way to read it: what it then binds, and what it needs."""
        ways = [(self.binds, self.needs)]
        return [*ways, (self.needs, self.binds)] if self.either else ways


def is_temp(variable: str) -> bool:
    """Whether lowering made the variable: authors write no apostrophe, and renaming writes one."""
    return variable.startswith("X''")


class WriteAgain(Exception):
    """A variable turned out to need its limbs; the rule is written again with them."""


@dataclass(slots=True)
class Scribe:
    """Collects the pieces of a body and, while one is open, of a set inside it.

    ``expanded`` names the variables that are written as their limbs. In a ``guarded`` rule whatever
    computes does so for the rule's own instances.
    """

    guarded: bool = False
    expanded: set[str] = field(default_factory=set)
    outer: list[Piece] = field(default_factory=list)
    scope: list[Piece] = field(default_factory=list)
    temps: int = 0

    def begin(self) -> None:
        """Start the rule anew; what is known to need limbs stays known."""
        self.outer = []
        self.scope = self.outer
        self.temps = 0

    def temp(self) -> str:
        """A variable that no author can write."""
        self.temps += 1
        return f"X''{self.temps}"

    def add(
        self,
        text: str,
        binds: Iterable[str] = (),
        needs: Iterable[str] = (),
        *,
        atom: bool = False,
        sites: Iterable[int] = (),
        either: bool = False,
    ) -> None:
        """Add a piece to the open scope."""
        known = (frozenset(binds), frozenset(needs), atom, frozenset(sites), either)
        self.scope.append(Piece(text, *known))

    def expand(self, variable: str) -> None:
        """Ask for a variable's limbs, which takes writing the rule again."""
        self.expanded.add(variable)
        raise WriteAgain

    def surroundings(self) -> Surroundings:
        """What stands around the open scope's end, once the whole rule is written."""
        return Surroundings(self.outer, self.scope, self.guarded)

    @contextmanager
    def inside(self) -> Iterator[list[Piece]]:
        """Open the scope of a set's conditions; the pieces added to it."""
        before, self.scope = self.scope, []
        try:
            yield self.scope
        finally:
            self.scope = before

    def texts(self) -> list[str]:
        """The body's literals."""
        return [p.text for p in self.outer]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The pieces around a site or set, kept until the whole rule is written."""

    outer: Sequence[Piece]
    scope: Sequence[Piece]
    guarded: bool = False

    def pieces(self) -> list[Piece]:
        """All of them, those of the body first."""
        return [*self.outer, *(p for p in self.scope if not any(p is o for o in self.outer))]

    def without(self, variable: str) -> list[Piece]:
        """The pieces that do not rest on a variable."""
        pieces = self.pieces()
        resting = _resting(pieces, {variable})
        return [p for p in pieces if not p.needs & resting and variable not in p.binds]

    def before(self, site: int, wanted: set[str], awaited: Container[int] = ()) -> list[Piece]:
        """The pieces that a site with these arguments may be evaluated after.

        They rest on no site but those that its arguments rest on and those awaited, so that no two
        sites wait for each other.
        """
        pieces = self.pieces()
        rests = _rests(pieces)
        needed = set().union(*(rests.get(v, frozenset()) for v in wanted))
        return [
            p
            for p in pieces
            if all(
                s in needed or s in awaited
                for s in p.sites.union(*(rests.get(v, frozenset()) for v in p.needs))
            )
        ]

    def support(self, site: int, wanted: set[str]) -> list[str]:
        """Literals that bind variables: one atom and its filters, else all that may come before."""
        found = self.before(site, wanted)
        if not wanted and not self.guarded:
            return []
        for piece in () if self.guarded else found:
            if piece.atom and wanted | piece.needs <= piece.binds:
                # What another piece binds for it, as a limb, a filter would have to bring along.
                filters = [
                    p.text
                    for p in found
                    if not p.atom and not p.binds and p.needs and p.needs <= piece.binds
                    if "X''" not in p.text
                ]
                return [piece.text, *filters]
        return [p.text for p in found]


def _rests(pieces: Sequence[Piece]) -> dict[str, frozenset[int]]:
    """The sites that each variable rests on: those of whatever binds it with the fewest."""
    rests: dict[str, frozenset[int]] = {}
    for _ in pieces:
        for piece in pieces:
            for binds, needs in piece.ways():
                if not all(v in rests for v in needs):
                    continue
                sites = piece.sites.union(*(rests[v] for v in needs))
                for variable in binds:
                    if variable not in rests or len(sites) < len(rests[variable]):
                        rests[variable] = sites
    return rests


def _resting(pieces: Sequence[Piece], variables: set[str]) -> set[str]:
    """The variables that cannot be bound without the given ones."""
    resting = set(variables)
    changed = True
    while changed:
        changed = False
        for binds, needs in (way for piece in pieces for way in piece.ways()):
            if needs & resting and not binds <= resting:
                resting |= binds
                changed = True
    return resting
