"""Work shared out among processes that begin as copies of this one."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import TypeVar

from ullage import progress

Item = TypeVar("Item")
Result = TypeVar("Result")


def available() -> int:
    """How many processes have a core each here; 1 where a process cannot be copied safely."""
    if sys.platform != "linux":
        return 1
    return len(os.sched_getaffinity(0))


def shared_out(
    work: Callable[[Sequence[Item]], Result], items: Sequence[Item], processes: int
) -> list[tuple[Sequence[Item], Result]]:
    """The items in as many shares, each with what ``work`` gave for it; every n-th is in one share.

    The first share is worked on here. What ``work`` gives must be picklable; a share that another
    process fails at is worked on here, and raises what it raises. With one process, or while
    another thread runs, which a copy would lack, there is one share.
    """
    if processes < 2:
        return [(items, work(items))]
    with progress.paused():
        if threading.active_count() > 1:
            processes = 1
        shares = [items[n::processes] for n in range(processes)]
        children = [_started(work, share) for share in shares[1:]]
    try:
        results = [(shares[0], work(shares[0]))]
        for share, (child, here) in zip(shares[1:], children, strict=True):
            results.append((share, _received(here, work, share)))
            child.join()
    finally:
        for child, here in children:
            child.terminate()
            here.close()
    return results


def one_by_one(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int
) -> list[Result]:
    """What ``work`` gives for each item, each in a process that ends with it, so many at a time.

    What the solver has once named it keeps until a process ends. What ``work`` gives must be
    picklable; an item that another process fails at is worked on here, and raises what it raises.
    All are where there is one, and where this process cannot be copied safely.
    """
    with progress.paused():
        copied = sys.platform == "linux" and threading.active_count() == 1
    if not copied or len(items) < 2:
        return [work(item) for item in items]
    results: dict[int, Result] = {}
    left = list(enumerate(items))[::-1]
    running: dict[Connection, tuple[int, ForkProcess]] = {}
    try:
        while left or running:
            while left and len(running) < processes:
                number, item = left.pop()
                with progress.paused():
                    child, here = _started(work, item)
                running[here] = number, child
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                number, child = running[ready]
                results[number] = _received(ready, work, items[number])
                del running[ready]
                ready.close()
                child.join()
    finally:
        for here, (_, child) in running.items():
            child.terminate()
            here.close()
    return [results[number] for number in range(len(items))]


def _started(work: Callable[[Item], Result], share: Item) -> tuple[ForkProcess, Connection]:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(work, share, there), daemon=True)
    child.start()
    there.close()
    return child, here


def _work(work: Callable[[Item], Result], share: Item, there: Connection) -> None:
    # Whatever goes wrong goes wrong again where it can be told, and an interrupt reaches all.
    with suppress(Exception, KeyboardInterrupt), there:
        there.send(work(share))


def _received(here: Connection, work: Callable[[Item], Result], share: Item) -> Result:
    try:
        return here.recv()  # type: ignore[no-any-return]
    except EOFError:
        return work(share)
