"""Since when something holds: what each commit of a history moved of one subject."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ullage import progress
from ullage.diff.result import Commit, History, Reasoned, Turn
from ullage.diff.sides import Sides
from ullage.findings import PolicyError, UsageError
from ullage.moves import Moved
from ullage.policy import Policy


def history(
    sides: Sides,
    subject: str,
    laws: Collection[str] = (),
    revision: str = "HEAD",
    whole: bool = False,
) -> History:
    """What moved the standings of a subject, the newest first, along the first parents.

    Of each law it ends at the commit since which its standing holds; with ``whole`` at the first
    one. Raises UsageError for a subject or law that is not there, and for a history that cannot be
    read; PolicyError where the newest revision is invalid.
    """
    repository = sides.repository
    newest = repository.revision(revision)
    now = sides.at(newest)
    standings = now.standings([*laws], subject)
    folders = [folder for named in sides.named() for folder in named]
    commits = repository.history(newest, folders)
    open_ = {s.law for s in standings}
    turns: list[Turn] = []
    invalid: list[Commit] = []
    for turn in _turns(sides, commits, now, subject, laws, invalid):
        moved = turn.reasoned.move
        assert isinstance(moved, Moved)
        if whole or moved.law in open_:
            turns.append(turn)
        open_.discard(moved.law)
        if not whole and not open_:
            break
    return History(standings, tuple(turns), tuple(invalid), len(commits))


def _turns(
    sides: Sides,
    commits: list[Commit],
    policy: Policy,
    subject: str,
    laws: Collection[str],
    invalid: list[Commit],
) -> Iterator[Turn]:
    """Each move, with the commit that made it; what was invalid on the way is noted."""
    since: list[Commit] = []
    for number, commit in enumerate(commits[:-1]):
        progress.phase(f"reading commit {number + 2} of {len(commits)}")
        try:
            before = sides.at(commits[number + 1].name, policy)
        except (PolicyError, UsageError):
            # A revision that lacks the folders has no policy to be asked, either.
            invalid.append(commits[number + 1])
            since.append(commit)
            continue
        for reasoned in before.diff(policy, laws, subject).moved:
            yield Turn(commit, reasoned, tuple(since))
        since.clear()
        policy = before
    for standing in policy.standings():
        if standing.subject_text == subject and (not laws or standing.law in laws):
            # All that it rests on is new with the first commit that can be read.
            first = Reasoned(Moved(None, standing), (), alone=True)
            oldest = [c for c in commits if c not in invalid][-1]
            yield Turn(oldest, first)
