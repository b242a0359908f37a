"""Revisions of a git repository, read through git itself and without touching any checkout."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ullage.diff.result import Commit
from ullage.findings import UsageError
from ullage.stored import StoredPath

_MOST_LINKS = 20
_LINK, _MODULE = "120000", "160000"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, and where in it the working folder is: ``prefix`` ends in a slash or is ""."""

    top: Path
    prefix: str

    @classmethod
    def here(cls) -> Repository:
        """The repository of the working folder. Raises UsageError where there is none."""
        said = _git(Path(), "rev-parse", "--show-toplevel", "--show-prefix")
        if said is None:
            raise UsageError(
                "the working folder is in no git repository",
                "name two folders, or run this where the policy's history is",
            )
        top, prefix = said.decode("utf-8", "surrogateescape").split("\n")[:2]
        return cls(Path(top), prefix)

    def revision(self, word: str) -> str:
        """The full name of the commit that a word names. Raises UsageError."""
        found = self.known_revision(word)
        if found is None:
            raise UsageError(
                f"`{word}` is no folder, and no revision of this repository",
                "name a folder, a branch, a tag, a commit or `HEAD`",
            )
        return found

    def known_revision(self, word: str) -> str | None:
        """The full name of the commit that a word names; None where it names none."""
        if not word:
            return None
        said = _git(
            self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{word}^{{commit}}"
        )
        return None if said is None else said.decode("ascii").strip()

    def base_of(self, one: str, other: str) -> str:
        """The commit from which two went apart. Raises UsageError where there is none."""
        said = _git(self.top, "merge-base", self.revision(one), self.revision(other))
        if said is None:
            raise UsageError(
                f"`{one}` and `{other}` have no commit in common",
                "fetch more of the history: a shallow clone lacks the one they went apart at",
            )
        return said.decode("ascii").strip()

    def inside(self, folder: Path) -> str | None:
        """A folder's name in the repository; None for one outside it."""
        try:
            name = Path(os.path.abspath(folder)).relative_to(os.path.abspath(self.top))
        except ValueError:
            try:
                name = folder.resolve().relative_to(self.top.resolve())
            except (ValueError, OSError, RuntimeError):
                return None
        return "" if name == Path() else name.as_posix()

    def folders(self, commit: str, wanted: Sequence[Path]) -> list[StoredPath | Path]:
        """Folders as a commit has them; those outside the repository as they are.

        Raises UsageError for a folder that the commit lacks.
        """
        names = [self.inside(folder) for folder in wanted]
        files = self._files(commit, [n for n in names if n is not None])
        found: list[StoredPath | Path] = []
        for folder, name in zip(wanted, names, strict=True):
            if name is None:
                found.append(folder)
                continue
            stored = StoredPath(PurePosixPath(folder.as_posix()), name, files)
            if not stored.is_dir():
                raise UsageError(
                    f"`{commit[:12]}` has no folder `{folder.as_posix()}`",
                    "compare revisions that both have it, or name others with `--rules`, `--facts`",
                )
            found.append(stored)
        return found

    def history(self, commit: str, folders: Iterable[Path]) -> list[Commit]:
        """The commits that touch any of these folders, the newest first, along first parents."""
        names = [n or "." for n in map(self.inside, folders) if n is not None]
        form = "--format=%H%x00%as%x00%an%x00%s"
        said = _said(self.top, "log", "--first-parent", form, commit, "--", *names)
        lines = said.decode("utf-8", "replace").splitlines()
        return [Commit(*line.split("\0", 3)) for line in lines if line]

    def _files(self, commit: str, folders: Sequence[str]) -> dict[str, bytes | None]:
        """What the files below some folders hold, links followed as far as the commit has them.

        None stands for a link that leads nowhere.
        """
        entries: dict[str, tuple[str, str]] = {}
        for line in _said(self.top, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            if line:
                told, _, name = line.decode("utf-8", "surrogateescape").partition("\t")
                mode, _, digest = told.split(" ")
                entries[name] = (mode, digest)
        links = {n: d for n, (mode, d) in entries.items() if mode == _LINK}
        targets = dict(zip(links, self._blobs(links.values()), strict=True))
        wanted: dict[str, str] = {}
        lost: list[str] = []
        for folder in folders:
            for name, at in _names_below(folder, entries, targets):
                if at is None:
                    lost.append(name)
                    continue
                mode, digest = entries[at]
                if mode == _MODULE:
                    raise UsageError(
                        f"`{name}` is a submodule at `{commit[:12]}`, which is not read",
                        "compare two folders instead",
                    )
                wanted[name] = digest
        return {
            **dict.fromkeys(lost),
            **dict(zip(wanted, self._blobs(wanted.values()), strict=True)),
        }

    def _blobs(self, digests: Iterable[str]) -> list[bytes]:
        asked = list(digests)
        if not asked:
            return []
        said = _said(self.top, "cat-file", "--batch", given="\n".join(asked).encode() + b"\n")
        found = []
        at = 0
        for digest in asked:
            end = said.index(b"\n", at)
            words = said[at:end].split()
            if len(words) != 3:
                raise UsageError(
                    f"git has no object `{digest[:12]}`", "fetch the whole of the revision"
                )
            size = int(words[2])
            found.append(said[end + 1 : end + 1 + size])
            at = end + size + 2
        return found


def _names_below(
    folder: str, entries: dict[str, tuple[str, str]], targets: dict[str, bytes]
) -> list[tuple[str, str | None]]:
    """The files below a folder, each with the entry it is; a link is the file it leads to.

    A link that leads out of the commit, to nothing or in circles has no entry.
    """
    found: list[tuple[str, str | None]] = []
    stack = [(folder, folder, _MOST_LINKS)]
    while stack:
        shown, real, left = stack.pop()
        start = f"{real}/" if real else ""
        names = [n for n in entries if n == real or n.startswith(start)]
        if not names and shown != folder:
            found.append((shown, None))
        for name in names:
            as_shown = "/".join(p for p in (shown, name[len(real) :].lstrip("/")) if p)
            if name not in targets:
                found.append((as_shown, name))
                continue
            link = targets[name].decode("utf-8", "surrogateescape")
            target = os.path.normpath(os.path.join(os.path.dirname(name), link))
            if not left or target.startswith(("..", "/")):
                found.append((as_shown, None))
            else:
                stack.append((as_shown, "" if target == "." else target, left - 1))
    return found


def _said(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """What git prints. Raises UsageError with git's own words where it fails."""
    run = _run(folder, words, given)
    if run.returncode:
        lines = run.stderr.decode("utf-8", "replace").strip().splitlines() or ["it says nothing"]
        said = lines[-1].removeprefix("fatal: ")
        raise UsageError(f"`git {words[0]}` fails: {said}", "see what git itself says of it")
    return run.stdout


def _git(folder: Path, *words: str) -> bytes | None:
    """What git prints, or None where it fails."""
    run = _run(folder, words, b"")
    return None if run.returncode else run.stdout


def _run(folder: Path, words: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    # Of hooks, locks and settings that colour or page nothing may change what is read.
    settings = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
    try:
        return subprocess.run(
            ["git", *words], cwd=folder, input=given, capture_output=True, env=settings, check=False
        )
    except OSError as error:
        raise UsageError(
            f"git cannot be run: {(error.strerror or str(error)).lower()}",
            "install git, or compare two folders",
        ) from error
