"""Files of a policy as text: found below folders, read whole, and placed character by character."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, overload

from ullage.findings import Finding, Position, Severity, UsageError
from ullage.stored import AnyPath, StoredPath, parts_below

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def shown_path(path: AnyPath) -> str:
    """A path as findings show it: as given, with forward slashes, always printable as UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


@overload
def files_below(folder: Path, endings: tuple[str, ...]) -> tuple[list[Path], list[Finding]]: ...


@overload
def files_below(
    folder: AnyPath, endings: tuple[str, ...]
) -> tuple[list[AnyPath], list[Finding]]: ...


def files_below(folder: AnyPath, endings: tuple[str, ...]) -> tuple[list[Any], list[Finding]]:
    """The files of these endings anywhere below a folder, in order of path.

    Hidden names are left out. Links are followed, each folder once, so that a loop of links ends.
    """
    files: list[AnyPath] = []
    findings: list[Finding] = []
    if isinstance(folder, StoredPath):
        found = [p for p in folder.below() if p.name.endswith(endings)]
        return [p for p in found if not _hidden(parts_below(p, folder))], findings
    seen: set[tuple[int, int]] = set()

    def note(error: OSError) -> None:
        findings.append(unreadable(shown_path(Path(error.filename or folder)), error))

    for base, folders, names in os.walk(folder, onerror=note, followlinks=True):
        try:
            status = os.stat(base)
        except OSError as error:
            note(error)
            folders.clear()
            continue
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            folders.clear()
            continue
        seen.add(identity)
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        files += [Path(base, n) for n in names if n.endswith(endings) and not n.startswith(".")]
    return sorted(files, key=lambda f: f.as_posix()), findings


def files_at(path: Path, endings: tuple[str, ...], help: str) -> tuple[list[Path], list[Finding]]:
    """A file that somebody names, or the files of these endings below a folder.

    Raises UsageError with ``help`` where nothing is there.
    """
    if path.is_dir():
        return files_below(path, endings)
    if not path.exists():
        raise UsageError(f"no file or folder `{shown_path(path)}`", help)
    return [path], []


def same_file(path: Path) -> Path:
    """A name that all paths to one file share; of a circle of links the path itself."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _hidden(parts: Iterable[str]) -> bool:
    return any(part.startswith(".") for part in parts)


def passed_over(
    folder: AnyPath, read: Iterable[AnyPath], like: tuple[str, ...], help: str
) -> list[Finding]:
    """A warning, ``unread-file``, for each file whose ending is like those read, and is none."""
    known = set(read)
    files, _ = files_below(folder, ("",))
    return [
        Finding(
            "unread-file",
            f"`{shown_path(path)}` is passed over",
            (Position(shown_path(path), 1, 1),),
            help,
            Severity.WARNING,
        )
        for path in files
        if path not in known and path.name.lower().endswith(like)
    ]


def read_bytes(path: AnyPath) -> bytes | Finding:
    """What a file holds, or the finding ``unreadable-file``."""
    try:
        if isinstance(path, StoredPath):
            return path.read_bytes()
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(0, "it is no regular file")
        return path.read_bytes()
    except OSError as error:
        return unreadable(shown_path(path), error)


def decode(data: bytes, file: str) -> str | Finding:
    """Bytes as text, without a byte order mark, or the finding ``not-utf8``."""
    try:
        return data.removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        return Finding(
            "not-utf8",
            f"byte `0x{error.object[error.start]:02x}` is not UTF-8 text",
            (place_at(before, len(before), file),),
            "save the file as UTF-8",
        )


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises UsageError where that fails."""
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe must be written to, never replaced.
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()
        draft = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            draft.write_text(text, encoding="utf-8")
            if target.exists():
                draft.chmod(target.stat().st_mode & 0o7777)
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except (OSError, RuntimeError) as error:
        # A circle of links is a RuntimeError.
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write `{shown_path(path)}`: {said}") from error


def place_at(text: str, index: int, file: str) -> Position:
    """The position of a character of a text."""
    line_start = text.rfind("\n", 0, index) + 1
    return Position(file, text.count("\n", 0, index) + 1, index - line_start + 1)


def unreadable(file: str, error: OSError) -> Finding:
    """The finding ``unreadable-file``: a file that the system does not let us read."""
    reason = (error.strerror or type(error).__name__).lower()
    return Finding(
        "unreadable-file",
        f"`{file}` cannot be read: {reason}",
        (Position(file, 1, 1),),
        "name a file that is there"
        if isinstance(error, FileNotFoundError)
        else "give leave to read it, or move it out of the folder",
    )
