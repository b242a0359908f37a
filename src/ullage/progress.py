"""Tells a waiting person which phase a long run is in, on a stream that carries nothing else.

Code that does the work calls :func:`phase`; only a run inside :func:`shown` ever prints.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ullage.terminal import encodes

QUIET_SECONDS = 2.0
"""A run that ends sooner prints nothing."""

_TERMINAL_SECONDS = 0.2
_PLAIN_SECONDS = 10.0


class Progress:
    """Reports one run from a thread of its own, so that a call into the solver cannot hold it up.

    On a terminal one line is rewritten and cleared at the end. Elsewhere a line is printed when
    the phase changes, and now and then while it does not.
    """

    def __init__(self, stream: TextIO, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._stream = stream
        self._quiet_seconds = quiet_seconds
        self._terminal = stream.isatty()
        self._ellipsis = "…" if encodes("…", stream) else "..."
        self._phase = "starting"
        self._started = time.monotonic()
        self._stopped = threading.Event()
        # The phase that was told last, and when: whoever goes on does not tell it again.
        self._told = ("", 0.0)
        self._thread: threading.Thread

    def start(self) -> None:
        """Start to report, or go on."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._report, name="ullage-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the report; nothing is printed afterwards."""
        self._stopped.set()
        self._thread.join()

    def phase(self, name: str) -> None:
        """Name what the run does from now on, as in ``grounding``."""
        self._phase = name

    def _report(self) -> None:
        spent = time.monotonic() - self._started
        if self._stopped.wait(max(0.0, self._quiet_seconds - spent)):
            return
        while True:
            phase, now = self._phase, time.monotonic()
            line = f"ullage: {phase}{self._ellipsis} {now - self._started:.1f} s"
            if self._terminal:
                self._write(f"\r\x1b[K{line}")
            elif phase != self._told[0] or now - self._told[1] >= _PLAIN_SECONDS:
                self._write(f"{line}\n")
                self._told = phase, now
            if self._stopped.wait(_TERMINAL_SECONDS):
                break
        if self._terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Whoever listened has gone; the run itself must not fail over that.
            self._stopped.set()


_active: Progress | None = None


def phase(name: str) -> None:
    """Name the phase of the run in progress; does nothing where no progress is shown."""
    if _active is not None:
        _active.phase(name)


@contextmanager
def paused() -> Iterator[None]:
    """Run the block with no thread that reports; a process in which one runs is not to be copied.

    What stood on the stream stands there still, and the seconds go on.
    """
    if _active is not None:
        _active.stop()
    try:
        yield
    finally:
        if _active is not None:
            _active.start()


@contextmanager
def shown(stream: TextIO | None, quiet_seconds: float = QUIET_SECONDS) -> Iterator[None]:
    """Show progress on ``stream`` while the block runs, once it has run ``quiet_seconds``."""
    global _active
    if stream is None:
        yield
        return
    outer, _active = _active, Progress(stream, quiet_seconds)
    _active.start()
    try:
        yield
    finally:
        _active.stop()
        _active = outer
