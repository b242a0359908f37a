"""Comparisons for people: which way it goes, what moves and by what, and what did nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ullage.diff.result import (
    Cause,
    Commit,
    Diff,
    History,
    NotTheSame,
    Reasoned,
    Turn,
    Verdict,
    step,
)
from ullage.findings import counted
from ullage.moves import Moved
from ullage.render.moves import MoveBlocks, Words, stays
from ullage.render.text import one_line
from ullage.results import plainly, value_text

VERDICTS = {
    Verdict.EQUAL: "equal: nothing moves",
    Verdict.STRICTER: "stricter: some standings get stricter, and none looser",
    Verdict.LOOSER: "looser: some standings get looser, and none stricter",
    Verdict.NEITHER: "neither stricter nor looser as a whole",
}
"""What a verdict says, in words."""


def tally(diff: Diff) -> str:
    """How many standings and plans move, and which way."""
    steps = [step(r.move) for r in diff.moved]
    ways = [
        (sum(s > 0 for s in steps), "looser"),
        (sum(s < 0 for s in steps), "stricter"),
        (sum(s == 0 for s in steps), "otherwise"),
    ]
    parts = [f"{n} {word}" for n, word in ways if n]
    words = [f"{counted(len(steps), 'standing')} ({', '.join(parts)})"] if steps else []
    words += [counted(len(diff.plans), "plan")] if diff.plans else []
    return " and ".join(words)


def identity(thing: NotTheSame) -> str:
    """A thing that is not the same, in words."""
    name = "/".join(value_text(v) for _, v in thing.name)
    pairs = zip(thing.old, thing.new, strict=True)
    parts = (f"{n} {plainly(old)} -> {plainly(new)}" for (n, old), (_, new) in pairs)
    return f"{name} is not the same {thing.predicate.removesuffix('_fact')}: {', '.join(parts)}"


def shown(cause: Cause) -> str:
    """A cause in words, with its place."""
    return f"{cause.change} {cause.kind}  {cause.what}  ({cause.place})"


class DiffBlocks:
    """Writes comparisons; a writer of moves shows what moves."""

    def __init__(self, moves: MoveBlocks) -> None:
        self._moves = moves

    def text(self, diff: Diff) -> str:
        """The verdict, what moves in its order, what is not the same, and what did nothing."""
        moves = tally(diff)
        blocks = [[VERDICTS[diff.verdict], *([f"moved: {moves}"] if moves else [])]]
        for title, group in _grouped([*diff.moved, *diff.plans]):
            lines = [title]
            for reasoned in group:
                lines += _reasoned(self._moves, reasoned)
            blocks.append(lines)
        if diff.not_the_same:
            blocks.append([one_line(identity(t)) for t in diff.not_the_same])
        if diff.without_effect:
            lines = [f"  {one_line(shown(c))}" for c in diff.without_effect]
            blocks.append(["changes that moved nothing", *lines])
        if diff:
            blocks.append([stays(diff.left)])
        return "\n".join("".join(f"{line.rstrip()}\n" for line in block) for block in blocks)


class HistoryBlocks:
    """Writes histories; a writer of moves shows each, and others word a standing."""

    def __init__(self, moves: MoveBlocks, said: Words) -> None:
        self._moves = moves
        self._said = said

    def text(self, history: History) -> str:
        """What each law says now and since when, then the moves, the newest first."""
        since: dict[str, Turn] = {}
        for turn in history.turns:
            since.setdefault(_law(turn), turn)
        lines = []
        for standing in history.standings:
            began = since.get(standing.law)
            when = "since before the first commit"
            if began is not None:
                when = f"since {_commit(began.commit)}"
            lines.append(f"{standing.law}  {standing.standing.value}  {when}")
            lines += [f"  {one_line(words)}"] if (words := self._said(standing)) else []
        blocks = [lines]
        for turn in history.turns:
            lines = [
                f"{_commit(turn.commit)}",
                f"  {one_line(turn.commit.title)}",
                f"  {_law(turn)}",
            ]
            lines += _reasoned(self._moves, turn.reasoned)
            if turn.among:
                names = ", ".join(c.name[:12] for c in turn.among)
                lines.append(f"      or in {names}: what came before cannot be read")
            blocks.append(lines)
        if history.invalid:
            names = ", ".join(c.name[:12] for c in history.invalid)
            blocks.append([f"no policy can be read at {names}"])
        return "\n".join("".join(f"{line.rstrip()}\n" for line in block) for block in blocks)


def _law(turn: Turn) -> str:
    move = turn.reasoned.move
    assert isinstance(move, Moved)
    return move.law


def _commit(commit: Commit) -> str:
    return one_line(f"{commit.date}  {commit.name[:12]}  {commit.author}")


def _reasoned(moves: MoveBlocks, reasoned: Reasoned) -> list[str]:
    together = "" if reasoned.alone or len(reasoned.causes) < 2 else "together: "
    causes = [f"      by   {together}{one_line(shown(c))}" for c in reasoned.causes]
    return [*moves.one(reasoned.move), *causes]


def _grouped(reasoned: Iterable[Reasoned]) -> Iterable[tuple[str, Sequence[Reasoned]]]:
    """What moves in runs of one law or plan, in the order given."""
    runs: list[tuple[str, list[Reasoned]]] = []
    for one in reasoned:
        move = one.move
        title = move.law if isinstance(move, Moved) else f"plan {move.plan}"
        if not runs or runs[-1][0] != title:
            runs.append((title, []))
        runs[-1][1].append(one)
    return runs
