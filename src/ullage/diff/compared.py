"""What a change of facts or rules would do: what moved, what moved it, and what did nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ullage.diff.causes import Moving, causes, same
from ullage.diff.changed import Piece, declared_pieces, fact_pieces, rule_pieces
from ullage.diff.identity import not_the_same
from ullage.diff.mixture import Conclusions, Mixtures, Owner, Side, Told, Undecided, owners_of
from ullage.diff.result import Diff, Reasoned, Verdict, step
from ullage.moves import Moved, MovedPlan
from ullage.results import Plan, Standing, subject_text, value_order


def compare(old: Side, new: Side, laws: Collection[str] = (), subject: str | None = None) -> Diff:
    """What moves from one policy to another, both sound; of these laws and this subject alone.

    Without laws it is of all of them, and of the plans. Raises PolicyError.
    """
    pieces: list[Piece] = []
    if old.book is not new.book:
        pieces += declared_pieces(old.book, new.book)
        pieces += rule_pieces(*([t.rule for t in side.book.authored] for side in (old, new)))
        if not pieces:
            old = replace(old, book=new.book)
    pieces += fact_pieces(old.facts, new.facts)
    pieces.sort(key=lambda p: (p.cause.kind, p.cause.place, p.cause.what))
    of_new = new.conclusions()
    of_old = old.conclusions() if pieces else of_new
    asked = {("law", law) for law in laws}
    told = [
        (owner, about)
        for owner, about in {**of_old, **of_new}
        if (not asked or owner in asked) and subject in (None, subject_text(about))
        if not same(of_old.get((owner, about)), of_new.get((owner, about)))
    ]
    moving: dict[Told, Moving] = {}
    if told:
        owners = {owner for owner, _ in told}
        there = {k: v for k, v in of_new.items() if k[0] in owners}
        mixtures = Mixtures(old, new, pieces, owners, there)
        moving = causes(mixtures, pieces, {k: of_old.get(k) for k in told})
    order = [*owners_of(old.book) | owners_of(new.book)]
    reasoned = [
        Reasoned(_move(k, of_old, of_new), tuple(pieces[i].cause for i in m.pieces), m.alone)
        for k, m in moving.items()
    ]
    reasoned.sort(key=lambda r: _place(r.move, order))
    moved = tuple(r for r in reasoned if isinstance(r.move, Moved))
    plans = tuple(r for r in reasoned if isinstance(r.move, MovedPlan))
    used = {i for m in moving.values() for i in m.pieces}
    idle = tuple(p.cause for i, p in enumerate(pieces) if i not in used)
    had = sum(kind == "law" for (kind, _), _ in of_old)
    left = had - sum(r.move.old is not None for r in moved)
    other = tuple(not_the_same(old, new)) if pieces else ()
    return Diff(_verdict(moved, plans), moved, plans, idle, other, left)


def _move(told: Told, of_old: Conclusions, of_new: Conclusions) -> Moved | MovedPlan:
    old, new = of_old.get(told), of_new.get(told)
    if told[0][0] == "plan":
        assert not isinstance(old, Standing | Undecided)
        assert not isinstance(new, Standing | Undecided)
        return MovedPlan(old, new)
    assert not isinstance(old, Plan | Undecided)
    assert not isinstance(new, Plan | Undecided)
    return Moved(old, new)


def _verdict(moved: Sequence[Reasoned], plans: Sequence[Reasoned]) -> Verdict:
    steps = [step(r.move) for r in moved]
    up, down = any(s > 0 for s in steps), any(s < 0 for s in steps)
    if up != down:
        return Verdict.LOOSER if up else Verdict.STRICTER
    return Verdict.NEITHER if moved or plans else Verdict.EQUAL


def _place(move: Moved | MovedPlan, order: Sequence[Owner]) -> tuple[object, ...]:
    """Looser first and the furthest of these, then stricter, then the rest; by law and subject."""
    way = step(move)
    group = (0, -way) if way > 0 else (1, way) if way else (2, 0)
    owner = ("law", move.law) if isinstance(move, Moved) else ("plan", move.plan)
    names = [name for name, _ in move.subject]
    return group, order.index(owner), names, value_order(tuple(v for _, v in move.subject))
