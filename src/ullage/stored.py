"""Folders that are not on the disk: files by name, read as if they were.

Loaders take these paths beside those of the system, so that another revision can be read without
writing it anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True, order=True)
class StoredPath:
    """A file or folder of a stored tree.

    ``files`` maps names with slashes to what the files hold, None for one that leads nowhere.
    ``shown`` is how findings name the place; ``inside`` is the name in the tree, "" for all of it.
    """

    shown: PurePosixPath
    inside: str
    files: Mapping[str, bytes | None] = field(compare=False, hash=False, repr=False)

    def __truediv__(self, name: str) -> StoredPath:
        return StoredPath(self.shown / name, _joined(self.inside, name), self.files)

    @property
    def name(self) -> str:
        """The last part of the name."""
        return self.shown.name

    def as_posix(self) -> str:
        """The path as findings show it."""
        return self.shown.as_posix()

    def exists(self) -> bool:
        """Whether a file or folder is there."""
        return self.inside in self.files or self.is_dir()

    def is_dir(self) -> bool:
        """Whether files stand below it."""
        start = _joined(self.inside, "")
        return any(name.startswith(start) for name in self.files)

    def below(self) -> list[StoredPath]:
        """The files anywhere below, in order of name."""
        start = _joined(self.inside, "")
        rests = sorted(n[len(start) :] for n in self.files if n.startswith(start))
        return [self / rest for rest in rests]

    def read_bytes(self) -> bytes:
        """What the file holds. Raises FileNotFoundError."""
        held = self.files.get(self.inside)
        if held is None:
            raise FileNotFoundError(2, "No such file or directory", self.as_posix())
        return held


AnyPath = Path | StoredPath
"""A place to read from."""


def parts_below(path: AnyPath, folder: AnyPath) -> tuple[str, ...]:
    """The parts of a path from a folder above it. Raises ValueError where it is not above."""
    return PurePosixPath(path.as_posix()).relative_to(folder.as_posix()).parts


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


_OF_COMMIT = re.compile(r"[0-9a-f]{12}:.")


def of_commit(commit: str, file: str) -> str:
    """A file of a commit as findings name it, which is as git does: ``COMMIT:path``."""
    return f"{commit[:12]}:{file}"


def is_of_commit(file: str) -> bool:
    """Whether a name is that of a file of a commit."""
    return _OF_COMMIT.match(file) is not None
