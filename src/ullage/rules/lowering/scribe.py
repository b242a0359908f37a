"""The literals of one rule while it is written: what each binds, needs and rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Piece:
    """One lowered literal: what it binds and needs, by variable, and the sites it rests on."""

    text: str
    binds: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    atom: bool = False
    sites: frozenset[int] = frozenset()


def is_temp(variable: str) -> bool:
    """Whether lowering made the variable: no author can write an apostrophe."""
    return variable.startswith("E'")


class WriteAgain(Exception):
    """A variable turned out to need its limbs; the rule is written again with them."""


@dataclass(slots=True)
class Scribe:
    """Collects the pieces of a body and, while one is open, of a set inside it.

    ``expanded`` names the variables that are written as their limbs.
    """

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
        return f"E'{self.temps}"

    def add(
        self,
        text: str,
        binds: Iterable[str] = (),
        needs: Iterable[str] = (),
        *,
        atom: bool = False,
        sites: Iterable[int] = (),
    ) -> None:
        """Add a piece to the open scope."""
        self.scope.append(Piece(text, frozenset(binds), frozenset(needs), atom, frozenset(sites)))

    def expand(self, variable: str) -> None:
        """Ask for a variable's limbs, which takes writing the rule again."""
        self.expanded.add(variable)
        raise WriteAgain

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

    def mark_sites(self) -> None:
        """Let every piece of the body know all sites that its variables rest on."""
        changed = True
        while changed:
            changed = False
            free = {v for p in self.outer if not p.sites for v in p.binds}
            rests: dict[str, frozenset[int]] = {}
            for piece in self.outer:
                for variable in piece.binds - free:
                    rests[variable] = rests.get(variable, frozenset()) | piece.sites
            for piece in self.outer:
                sites = piece.sites.union(*(rests.get(v, frozenset()) for v in piece.needs))
                if sites != piece.sites:
                    piece.sites = sites
                    changed = True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The pieces around a site or set, kept until the whole rule is written."""

    outer: Sequence[Piece]
    scope: Sequence[Piece]

    def pieces(self) -> list[Piece]:
        """All of them, those of the body first."""
        return [*self.outer, *(p for p in self.scope if not any(p is o for o in self.outer))]

    def without(self, variable: str) -> list[Piece]:
        """The pieces that do not rest on a variable."""
        pieces = self.pieces()
        resting = _resting(pieces, {variable})
        return [p for p in pieces if not p.needs & resting and variable not in p.binds]

    def free_of(self, site: int) -> list[Piece]:
        """The pieces that do not rest on a site."""
        pieces = self.pieces()
        free = {v for p in pieces if site not in p.sites for v in p.binds}
        made = {v for p in pieces if site in p.sites for v in p.binds} - free
        resting = _resting(pieces, made)
        return [p for p in pieces if site not in p.sites and not p.needs & resting]

    def support(self, site: int, wanted: set[str]) -> list[str]:
        """Literals that bind variables: one atom and its filters, else all that are free."""
        free = self.free_of(site)
        for piece in free:
            if piece.atom and wanted <= piece.binds:
                filters = [
                    p.text
                    for p in free
                    if not p.atom and not p.binds and p.needs and p.needs <= piece.binds
                ]
                return [piece.text, *filters]
        return [p.text for p in free]


def _resting(pieces: Sequence[Piece], variables: set[str]) -> set[str]:
    """The variables that cannot be bound without the given ones."""
    resting = set(variables)
    changed = True
    while changed:
        changed = False
        for piece in pieces:
            if piece.needs & resting and not piece.binds <= resting:
                resting |= piece.binds
                changed = True
    return resting
