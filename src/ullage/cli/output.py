"""Where output goes: what was asked for to stdout, everything else to stderr."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from ullage.findings import UsageError
from ullage.render import FORMATS, Renderer, View
from ullage.render.text import one_line
from ullage.terminal import encodes, wants_colour
from ullage.textfiles import write_whole


def renderer(name: str, stream: TextIO | None, *, values: bool = False) -> Renderer:
    """The format of that name, for what the stream can show."""
    view = View(
        colour=wants_colour(stream, os.environ),
        unicode=encodes("·", stream),
        values=values,
    )
    return FORMATS[name](view)


def write(text: str, stream: TextIO | None = None) -> None:
    """Write to stdout, or to the stream given.

    A reader that has gone away, as ``head`` does, is no failure: the rest goes nowhere and the
    exit status still tells the result. Raises UsageError where the system refuses to write.
    """
    if not text:
        return
    wanted = stream or sys.stdout
    if wanted is None:
        # A stream that the caller closed is None.
        raise UsageError("cannot write the output: stdout is closed")
    stream = wanted
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding
        write(text.encode(encoding, "backslashreplace").decode(encoding), stream)
    except BrokenPipeError:
        _discard(stream)
    except OSError as error:
        _discard(stream)
        raise UsageError(f"cannot write the output: {error.strerror or error}") from error


def write_program(text: str) -> None:
    """Write a program to stdout in UTF-8, whatever stdout's encoding: escapes would change it.

    Raises UsageError where the system refuses to write.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    write(text)


def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises UsageError where that fails."""
    try:
        stream = _own_stream(path) if path.exists() else None
    except (OSError, RuntimeError) as error:
        # A circle of links is a RuntimeError.
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write `{path}`: {said}") from error
    if stream is not None:
        write(text, stream)
    else:
        write_whole(path, text)


def _own_stream(path: Path) -> TextIO | None:
    """The stream of ours that already writes to a file, as with ``/dev/stdout``.

    It must be written to by that stream: any other way has a place of its own in the file.
    """
    status = path.stat()
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(number)):
                return stream
    return None


def say(text: str, help: str = "") -> None:
    """Say one line on stderr, with a hint below it where there is one."""
    hint = f"  help: {one_line(help)}\n" if help else ""
    with suppress(UsageError):
        # Nobody is left to be told that stderr cannot be written.
        write(f"ullage: {one_line(text)}\n{hint}", sys.stderr)


def _discard(stream: TextIO) -> None:
    """Let whatever the stream still holds, or gets later, go nowhere."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
