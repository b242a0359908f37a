"""Which changes moved a conclusion: those whose undoing gives back the old one, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ullage import progress
from ullage.diff.changed import FactPiece, Piece
from ullage.diff.mixture import Conclusion, Conclusions, Mixtures, Owner, Told, Undecided
from ullage.results import Plan, Standing, Term


@dataclass(frozen=True, slots=True)
class Moving:
    """The numbers of the pieces that moved a conclusion.

    With ``alone`` to undo any one of them gives back the old conclusion; else all of them are to be
    undone, and no fewer would do.
    """

    pieces: tuple[int, ...]
    alone: bool


def same(one: Conclusion, other: Conclusion) -> bool:
    """Whether two conclusions say the same; the words for it are no part of that."""
    return _said(one) == _said(other)


def _said(conclusion: Conclusion) -> object:
    if isinstance(conclusion, Standing):
        return (
            conclusion.verdict,
            conclusion.standing,
            [_bare(t) for t in conclusion.reasons],
            [_bare(t) for t in conclusion.obligations],
            sorted((n, v.value, v.unit) for n, v in conclusion.values),
            conclusion.waivers,
        )
    if isinstance(conclusion, Plan):
        return sorted((name, repr(value)) for name, value in conclusion.values)
    return conclusion


def _bare(term: Term) -> object:
    return term.name, repr(term.args)


def causes(
    mixtures: Mixtures, pieces: Sequence[Piece], moved: Mapping[Told, Conclusion]
) -> dict[Told, Moving]:
    """What moved each conclusion; ``moved`` has the old ones."""
    return _Search(mixtures, pieces, moved).found()


MANY = 32
"""Of more pieces those that are alike are tried together first: a trial may take a second."""

Some = tuple[int, ...]
"""The numbers of pieces that are undone together."""


class _Search:
    def __init__(
        self, mixtures: Mixtures, pieces: Sequence[Piece], moved: Mapping[Told, Conclusion]
    ) -> None:
        self.mixtures = mixtures
        self.moved = moved
        self.every = range(len(pieces))
        reach: list[set[Owner]] = [mixtures.reach(p) for p in pieces]
        self.some = _alike(pieces) if len(pieces) > MANY else [(n,) for n in self.every]
        self.reach = {some: set[Owner]().union(*(reach[n] for n in some)) for some in self.some}
        self.tried: dict[Some, Conclusions | None] = {}

    def found(self) -> dict[Told, Moving]:
        """The causes of every conclusion that moved."""
        for number, some in enumerate(self.some, start=1):
            # What is all that differs needs no trial.
            reached = any(owner in self.reach[some] for owner, _ in self.moved)
            if len(some) < len(self.every) and reached:
                progress.phase(f"undoing change {number} of {len(self.some)}")
                self.tried[some] = self.mixtures.without(some)
        return {told: self._moving(told, old) for told, old in self.moved.items()}

    def _moving(self, told: Told, old: Conclusion) -> Moving:
        near = [some for some in self.some if told[0] in self.reach[some]]
        enough = [
            half
            for some in near
            if self._undoes([some], told, old)
            for half in self._halved(some, told, old)
        ]
        if alone := sorted(n for some in enough if len(some) == 1 for n in some):
            return Moving(tuple(alone), True)
        chosen = [min(enough, key=len)] if enough else self._fewest(near, told, old)
        if any(len(some) > 1 for some in chosen):
            singles: list[Some] = sorted((n,) for some in chosen for n in some)
            chosen = self._none_to_keep(singles, told, old)
        pieces = tuple(sorted(n for some in chosen for n in some))
        return Moving(pieces, len(pieces) == 1)

    def _halved(self, some: Some, told: Told, old: Conclusion) -> list[Some]:
        """The smallest parts, by halves, of pieces that undo it together, each of which does."""
        at = len(some) // 2
        halves = [half for half in (some[:at], some[at:]) if half]
        if len(halves) == 2 and (enough := [h for h in halves if self._undoes([h], told, old)]):
            return [part for half in enough for part in self._halved(half, told, old)]
        return [some]

    def _undoes(self, chosen: Sequence[Some], told: Told, old: Conclusion) -> bool:
        """Whether the old conclusion is back without these pieces."""
        undone = {n for some in chosen for n in some}
        if len(undone) == len(self.every):
            # Nothing new is left, so this is the old policy.
            return True
        concluded = self.mixtures.without(undone)
        return concluded is not None and same(concluded.get(told), old)

    def _fewest(self, near: Sequence[Some], told: Told, old: Conclusion) -> list[Some]:
        """Pieces that give back the old conclusion together, none of which can be kept."""
        new = self.mixtures.of_new.get(told)
        felt = [some for some in near if self._felt(some, told, new)]
        tries: list[list[Some]] = [felt, [*near]]
        chosen = next((c for c in tries if c and self._undoes(c, told, old)), [*self.some])
        return self._none_to_keep(chosen, told, old)

    def _none_to_keep(self, chosen: list[Some], told: Told, old: Conclusion) -> list[Some]:
        """The chosen, which undo it together, without those that need not be undone for it."""
        size = max(len(chosen) // 2, 1)
        first = True
        while True:
            left = self._without_some(chosen, size, told, old)
            # What had to stay beside a piece may go once that is gone, so the last pass drops none.
            if size == 1 and len(left) == len(chosen):
                return left
            # Where neither a half nor a quarter can go, most are needed: it is as well to ask each.
            stuck = not first and len(left) == len(chosen)
            chosen, size, first = left, 1 if stuck else max(size // 2, 1), False

    def _without_some(
        self, chosen: Sequence[Some], size: int, told: Told, old: Conclusion
    ) -> list[Some]:
        """The chosen without each run of a size that is not needed, one after the other."""
        left = [*chosen]
        at = 0
        while at < len(left):
            rest = left[:at] + left[at + size :]
            if rest and self._undoes(rest, told, old):
                left = rest
            else:
                at += size
        return left

    def _felt(self, some: Some, told: Told, new: Conclusion) -> bool:
        """Whether something else is concluded without some pieces, or nothing sound."""
        concluded = self.tried.get(some)
        if concluded is None:
            return True
        here = concluded.get(told)
        return isinstance(here, Undecided) or not same(here, new)


def _alike(pieces: Sequence[Piece]) -> list[Some]:
    """The numbers of pieces that change the same column of a table, or rules, in one file."""
    found: dict[tuple[str, ...], list[int]] = {}
    for number, piece in enumerate(pieces):
        cause = piece.cause
        edits = piece.edits if isinstance(piece, FactPiece) else ()
        of = (edits[0].table, edits[0].column) if edits else ()
        found.setdefault((cause.kind, cause.change, cause.place.file, *of), []).append(number)
    return [tuple(numbers) for numbers in found.values()]
