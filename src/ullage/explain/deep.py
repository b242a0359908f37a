"""Work that follows rules backwards, one call within the other, with room for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from ullage.findings import UsageError

Result = TypeVar("Result")

_STACK = 256 * 2**20
_DEEPEST = 60_000


def with_room(work: Callable[[], Result]) -> Result:
    """What the work makes. Raises what it raises, UsageError where even so it goes too deep."""
    made: list[Result] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made.append(work())
        except BaseException as error:
            failed.append(error)

    size, limit = threading.stack_size(), sys.getrecursionlimit()
    threading.stack_size(_STACK)
    sys.setrecursionlimit(_DEEPEST)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failed:
        if isinstance(failed[0], RecursionError):
            raise UsageError(
                "the question goes through too many steps of a recursion", "ask about a nearer step"
            ) from failed[0]
        raise failed[0]
    return made[0]
