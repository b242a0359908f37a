"""Where the files of a checkpoint are: listed, measured and opened without loading them."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from ullage.textfiles import shown_path

_CHUNK = 1 << 20


class Store(Protocol):
    """A set of files by name. Every method but ``shown`` raises OSError where a file resists."""

    def names(self) -> tuple[str, ...]:
        """The files at the top, in order of name."""
        ...

    def size(self, name: str) -> int:
        """Bytes of a file."""
        ...

    def open(self, name: str) -> BinaryIO:
        """A file to read and seek in."""
        ...

    def digest(self, name: str) -> str:
        """The SHA-256 of a whole file."""
        ...

    def local(self, name: str) -> Path:
        """A small file as one of this machine."""
        ...

    def shown(self, name: str) -> str:
        """A file as findings name it."""
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this machine."""

    path: Path

    def names(self) -> tuple[str, ...]:
        """The files at the top, in order of name; links count as what they lead to."""
        with os.scandir(self.path) as entries:
            return tuple(sorted(e.name for e in entries if not e.is_dir()))

    def size(self, name: str) -> int:
        """Bytes of a file."""
        status = os.stat(self.path / name)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file")
        return status.st_size

    def open(self, name: str) -> BinaryIO:
        """A file to read and seek in."""
        self.size(name)
        return (self.path / name).open("rb")

    def digest(self, name: str) -> str:
        """The SHA-256 of a whole file, read a piece at a time."""
        digest = hashlib.sha256()
        with self.open(name) as stream:
            while piece := stream.read(_CHUNK):
                digest.update(piece)
        return digest.hexdigest()

    def local(self, name: str) -> Path:
        """The file itself."""
        self.size(name)
        return self.path / name

    def shown(self, name: str) -> str:
        """A file as findings name it."""
        return shown_path(self.path / name)
