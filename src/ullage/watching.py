"""Rounds of work, one whenever a file below some folders has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ullage.textfiles import files_below

POLL_SECONDS = 0.3


def rounds(paths: Sequence[Path]) -> Iterator[None]:
    """A round at once, and one after each change of the files at or below ``paths``.

    What changes while a round is worked on begins the next. It goes on without end.
    """
    while True:
        seen = _state(paths)
        yield
        while _state(paths) == seen:
            time.sleep(POLL_SECONDS)


def _state(paths: Sequence[Path]) -> dict[Path, tuple[int, int, int]]:
    """When each file was written last, how large it is, and which one it is."""
    found = {}
    for path in paths:
        for file in files_below(path, ("",))[0] if path.is_dir() else [path]:
            # One that is gone, or is being written anew, is another state.
            with suppress(OSError):
                status = os.stat(file)
                found[file] = status.st_mtime_ns, status.st_size, status.st_ino
    return found
