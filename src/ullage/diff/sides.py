"""The two policies of a comparison, by what people name them: folders, revisions, what is here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from ullage.days import today
from ullage.diff.git import Repository
from ullage.findings import Finding, PolicyError, UsageError, errors_of
from ullage.folders import folders
from ullage.policy import Policy
from ullage.stored import AnyPath, of_commit
from ullage.textfiles import files_below, read_bytes
from ullage.yamlnodes import YAML_ENDINGS

_Texts = list[tuple[str, object]]


@dataclass(slots=True)
class Sides:
    """Reads policies from folders and revisions, by what ``--rules`` and ``--facts`` name.

    All of them have the waivers of one day: that a day went by is no change.
    """

    rules: Sequence[Path] | None = None
    facts: Sequence[Path] | None = None
    override: bool = False
    on: date = field(default_factory=today)
    _repository: Repository | None = field(default=None, init=False)
    _last: tuple[_Texts, _Texts] | None = field(default=None, init=False)

    def pair(self, words: Sequence[str]) -> tuple[Policy, Policy]:
        """The policies that the words name: OLD and NEW, ``OLD..NEW`` or ``OLD...NEW``.

        Without NEW it is what is in the working folder; without both, OLD is ``HEAD``. The three
        dots stand for the commit at which the two went apart. Raises UsageError, and PolicyError
        where one of the two is invalid; its findings are then named with the revision.
        """
        if "" in words:
            raise UsageError("a name is empty", "name a folder or a revision; `.` is what is here")
        old, new, apart = _words(words)
        if apart:
            old = self.repository.base_of(old or "HEAD", new or "HEAD")
        where = [self._where(old or "HEAD"), self._where(new) if new else None]
        folders_of = [self._folders(place) for place in where]
        before = self._policy(folders_of[0], where[0], None)
        alike = [_texts(old) == _texts(new) for old, new in zip(*folders_of, strict=True)]
        if all(alike):
            return before, before
        return before, self._policy(folders_of[1], where[1], before if alike[0] else None)

    def at(self, commit: str, like: Policy | None = None) -> Policy:
        """The policy of a commit. Raises UsageError, and PolicyError where it is invalid.

        What it reads as the policy before it did, which may be given as ``like``, is not read
        again.
        """
        places = self._folders(commit)
        texts = (_texts(places[0]), _texts(places[1]))
        known = self._last if like is not None else None
        self._last = texts
        if like is not None and texts == known:
            return like
        return self._policy(places, commit, like if known and known[0] == texts[0] else None)

    @property
    def repository(self) -> Repository:
        """The repository of the working folder. Raises UsageError where there is none."""
        if self._repository is None:
            self._repository = Repository.here()
        return self._repository

    def named(self) -> tuple[list[Path], list[Path]]:
        """The folders of rules and facts that a run here reads."""
        return folders(self.rules, self.facts, False)

    def _where(self, word: str) -> Path | str:
        """The folder that a word names, or the commit. Raises UsageError."""
        folder = Path(word)
        if not folder.is_dir():
            return self.repository.revision(word)
        plain = "/" not in word and not word.startswith(".")
        if plain and self._known(word):
            raise UsageError(
                f"`{word}` is a folder and a revision",
                f"write `./{word}` for the folder, `refs/heads/{word}` for the branch",
            )
        return folder

    def _known(self, word: str) -> bool:
        try:
            return self.repository.known_revision(word) is not None
        except UsageError:
            return False

    def _folders(self, where: Path | str | None) -> tuple[list[AnyPath], list[AnyPath]]:
        """The folders of rules and facts at a place: None is here, a text is a commit."""
        rules, facts = self.named()
        if where is None:
            return [*rules], [*facts]
        if isinstance(where, str):
            found = self.repository.folders(where, [*rules, *facts])
            return found[: len(rules)], found[len(rules) :]
        return self._below(where, rules, facts)

    def _below(
        self, folder: Path, rules: Sequence[Path], facts: Sequence[Path]
    ) -> tuple[list[AnyPath], list[AnyPath]]:
        """The folders of a policy that stands in a folder; what it lacks is taken from here.

        A folder with neither rules nor facts of its own is a folder of facts.
        """
        own_rules = [folder / r for r in self.rules or [Path("rules")]]
        own_facts = [folder / f for f in self.facts or [Path("facts")]]
        has = [all(f.is_dir() for f in own) for own in (own_rules, own_facts)]
        if not any(has):
            return [*rules], [folder]
        return [*(own_rules if has[0] else rules)], [*(own_facts if has[1] else facts)]

    def _policy(
        self,
        places: tuple[Sequence[AnyPath], Sequence[AnyPath]],
        where: Path | str | None,
        like: Policy | None,
    ) -> Policy:
        policy = Policy.read(*places, override=self.override, like=like, on=self.on)
        findings = errors_of(policy.check())
        if findings:
            raise PolicyError(
                [_at(f, where) for f in findings] if isinstance(where, str) else findings
            )
        return policy


def _words(words: Sequence[str]) -> tuple[str, str, bool]:
    """OLD, NEW and whether OLD is where the two went apart; "" for what is not named."""
    if len(words) == 1 and ".." in words[0] and not Path(words[0]).is_dir():
        dots = "..." if "..." in words[0] else ".."
        old, _, new = words[0].partition(dots)
        if old or new:
            return old, new or ("" if dots == "..." else "HEAD"), dots == "..."
    old, new = [*words, "", ""][:2]
    return old, new, False


def _at(finding: Finding, commit: str) -> Finding:
    """A finding whose places are named as git names them: ``REVISION:path``."""
    places = tuple(
        replace(p, file=p.file if p.file.startswith("<") else of_commit(commit, p.file))
        for p in finding.positions
    )
    return replace(finding, positions=places)


def _texts(places: Sequence[AnyPath]) -> _Texts:
    """The files that a load reads: where these are the same, so is all that is read."""
    found: _Texts = []
    for place in places:
        for path in files_below(place, (".lp", *YAML_ENDINGS))[0]:
            found.append((path.as_posix(), read_bytes(path)))
    return found
