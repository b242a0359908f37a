"""Paths as a CI service names them: from the top of the repository, with forward slashes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ullage.stored import is_of_commit


@dataclass(frozen=True, slots=True)
class Top:
    """The folder that paths are told from, and the one they are read from; both absolute."""

    folder: str
    here: str

    @classmethod
    def of(cls, here: Path) -> Top:
        """The top of the git checkout around a folder; the folder itself where there is none."""
        around = (here, *here.parents)
        found = next((f for f in around if os.path.exists(f / ".git")), here)
        return cls(str(found), str(here))

    def path(self, file: str) -> str | None:
        """A file's path from the top; an absolute one where it is elsewhere.

        None for what is no file of the disk: a query, a row from Python, a file of a commit.
        """
        if not file or file.startswith("<") or is_of_commit(file):
            return None
        whole = os.path.normpath(os.path.join(self.here, file))
        told = os.path.relpath(whole, self.folder) if self._holds(whole) else whole
        return told.replace(os.sep, "/")

    def _holds(self, whole: str) -> bool:
        folder = os.path.join(self.folder, "")
        return whole == self.folder or whole.startswith(folder)
