"""Checkpoints of the Hugging Face Hub: listed there, their headers read a range at a time.

The ``huggingface_hub`` package is imported where a repository is named, and nowhere else.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from ullage.findings import UsageError

REPOSITORY = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@([\w./-]+))?", re.ASCII)
"""A repository's id, with a revision or without."""

_MAX_SMALL = 16 << 20
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class HubStore:
    """The files of one revision of a repository.

    ``files`` maps each to its size and, where the Hub keeps it, its SHA-256.
    """

    repository: str
    revision: str
    files: Mapping[str, tuple[int, str]]

    @staticmethod
    def of(repository: str, revision: str | None) -> HubStore:
        """The files of a repository at a revision, or at its newest. Raises UsageError."""
        hub = _hub()
        try:
            info = hub.HfApi().model_info(repository, revision=revision, files_metadata=True)
            files = {
                s.rfilename: (int(s.size), str((s.lfs or {}).get("sha256", "")))
                for s in info.siblings
                if s.size is not None
            }
            return HubStore(repository, str(info.sha), files)
        except Exception as error:
            # Which exceptions the package lets out differs between its releases.
            at = f"{repository}@{revision}" if revision else repository
            raise UsageError(
                f"`{at}` cannot be read from the Hub: {_said(error)}",
                "name a folder with its files, or a repository as `owner/name@revision`; a gated "
                "one needs a login of `huggingface_hub`",
            ) from error

    def names(self) -> tuple[str, ...]:
        """The files at the top, in order of name."""
        return tuple(sorted(n for n in self.files if "/" not in n))

    def size(self, name: str) -> int:
        """Bytes of a file."""
        if name not in self.files:
            raise FileNotFoundError(2, "no such file", name)
        return self.files[name][0]

    def open(self, name: str) -> BinaryIO:
        """A file to read and seek in; only what is read is fetched."""
        self.size(name)
        try:
            path = f"{self.repository}@{self.revision}/{name}"
            return cast(BinaryIO, _hub().HfFileSystem().open(path, "rb", block_size=_BLOCK))
        except Exception as error:
            _resist(error)

    def digest(self, name: str) -> str:
        """The SHA-256 of a whole file, as the Hub has it: nothing is fetched for it."""
        self.size(name)
        known = self.files[name][1]
        if not known:
            raise OSError(0, "the Hub tells no digest of it")
        return known

    def local(self, name: str) -> Path:
        """A small file, fetched."""
        if self.size(name) > _MAX_SMALL:
            raise OSError(0, f"it has more than {_MAX_SMALL} bytes")
        try:
            return Path(_hub().hf_hub_download(self.repository, name, revision=self.revision))
        except Exception as error:
            _resist(error)

    def shown(self, name: str) -> str:
        """A file as findings name it."""
        return f"{self.repository}@{self.revision[:12]}/{name}".removesuffix("/")


def _hub() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise UsageError(
            "a repository is read with the `huggingface_hub` package, which is not installed",
            "install it with `pip install ullage[hub]`, or name a folder with its files",
        ) from error


def _resist(error: Exception) -> NoReturn:
    if isinstance(error, UsageError):
        raise error
    raise OSError(0, _said(error)) from error


def _said(error: Exception) -> str:
    """The first line of what an exception says."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
