"""Which changes moved a conclusion: those whose undoing gives back the old one, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ullage import progress
from ullage.diff.changed import Piece
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


class _Search:
    def __init__(
        self, mixtures: Mixtures, pieces: Sequence[Piece], moved: Mapping[Told, Conclusion]
    ) -> None:
        self.mixtures = mixtures
        self.moved = moved
        self.every = range(len(pieces))
        self.reach: list[set[Owner]] = [mixtures.reach(p) for p in pieces]
        self.singles: dict[int, Conclusions | None] = {}

    def found(self) -> dict[Told, Moving]:
        """The causes of every conclusion that moved."""
        found = {}
        # A lone piece is all that differs, and needs no trial.
        for number in self.every if len(self.every) > 1 else ():
            if any(owner in self.reach[number] for owner, _ in self.moved):
                progress.phase(f"undoing change {number + 1} of {len(self.every)}")
                self.singles[number] = self.mixtures.without({number})
        for told, old in self.moved.items():
            near = [n for n in self.every if told[0] in self.reach[n]]
            alone = [n for n in near if self._undoes([n], told, old)]
            if alone:
                found[told] = Moving(tuple(alone), True)
            else:
                found[told] = Moving(tuple(self._fewest(near, told, old)), False)
        return found

    def _undoes(self, chosen: Sequence[int], told: Told, old: Conclusion) -> bool:
        """Whether the old conclusion is back without these pieces."""
        if len(chosen) == len(self.every):
            # Nothing new is left, so this is the old policy.
            return True
        concluded = (
            self.singles.get(chosen[0]) if len(chosen) == 1 else self.mixtures.without(chosen)
        )
        return concluded is not None and same(concluded.get(told), old)

    def _fewest(self, near: Sequence[int], told: Told, old: Conclusion) -> list[int]:
        """Pieces that give back the old conclusion together, none of which can be kept."""
        new = self.mixtures.of_new.get(told)
        felt = [n for n in near if self._felt(n, told, new)]
        tries: list[list[int]] = [felt, [*near]]
        chosen = next((c for c in tries if c and self._undoes(c, told, old)), [*self.every])
        size = max(len(chosen) // 2, 1)
        while True:
            left = self._without_some(chosen, size, told, old)
            # What had to stay beside a piece may go once that is gone, so the last pass drops none.
            if size == 1 and len(left) == len(chosen):
                return left
            chosen, size = left, max(size // 2, 1)

    def _without_some(
        self, chosen: Sequence[int], size: int, told: Told, old: Conclusion
    ) -> list[int]:
        """The chosen pieces without each run of a size that is not needed, one after the other."""
        left = [*chosen]
        at = 0
        while at < len(left):
            rest = left[:at] + left[at + size :]
            if rest and self._undoes(rest, told, old):
                left = rest
            else:
                at += size
        return left

    def _felt(self, number: int, told: Told, new: Conclusion) -> bool:
        """Whether something else is concluded without a piece, or nothing sound."""
        concluded = self.singles.get(number)
        if concluded is None:
            return True
        here = concluded.get(told)
        return isinstance(here, Undecided) or not same(here, new)
