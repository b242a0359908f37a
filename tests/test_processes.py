"""Work shared out among processes: the same results as here, whatever becomes of the others."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Sequence

import pytest

from ullage import progress
from ullage.processes import available, one_by_one, shared_out

pytestmark = pytest.mark.skipif(available() < 2, reason="needs processes that copy this one")

HERE = os.getpid()


def squares(numbers: Sequence[int]) -> tuple[int, list[int]]:
    return os.getpid(), [n * n for n in numbers]


def test_each_share_is_worked_on_by_a_process_and_told_with_its_items() -> None:
    shares = shared_out(squares, range(10), 3)
    assert [list(share) for share, _ in shares] == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    assert [found for _, (_, found) in shares] == [[0, 9, 36, 81], [1, 16, 49], [4, 25, 64]]
    pids = [pid for _, (pid, _) in shares]
    assert pids[0] == HERE
    assert len(set(pids)) == 3


def test_one_process_is_this_one() -> None:
    assert shared_out(squares, [3], 1) == [([3], (HERE, [9]))]


def test_a_share_whose_process_is_killed_is_worked_on_here() -> None:
    def work(numbers: Sequence[int]) -> tuple[int, list[int]]:
        if os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        return squares(numbers)

    assert [r for _, r in shared_out(work, range(4), 2)] == [(HERE, [0, 4]), (HERE, [1, 9])]


def test_what_a_share_raises_is_raised_here() -> None:
    def work(numbers: Sequence[int]) -> int:
        return 1 // numbers[0]

    with pytest.raises(ZeroDivisionError):
        shared_out(work, [1, 0], 2)


def test_no_process_in_which_another_thread_runs_is_copied() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        shares = shared_out(squares, range(3), 3)
    finally:
        ended.set()
        thread.join()
    assert [(list(share), pid) for share, (pid, _) in shares] == [([0, 1, 2], HERE)]


def test_progress_goes_on_and_is_no_such_thread() -> None:
    stream = io.StringIO()
    with progress.shown(stream, quiet_seconds=0.0):
        progress.phase("squaring")
        shares = shared_out(squares, range(4), 2)
        assert len(shares) == 2
        told = threading.Event()
        while "squaring" not in stream.getvalue():
            told.wait(0.01)
        for _ in range(3):
            shared_out(squares, range(4), 2)
            told.wait(0.05)
    assert stream.getvalue().count("squaring") == 1


def square(number: int) -> tuple[int, int]:
    return os.getpid(), number * number


@pytest.mark.parametrize("processes", [1, 2, 9])
def test_each_item_has_a_process_that_ends_with_it(processes: int) -> None:
    found = one_by_one(square, range(5), processes)
    assert [n for _, n in found] == [0, 1, 4, 9, 16]
    assert len({HERE, *(pid for pid, _ in found)}) == 6


def test_one_item_is_worked_on_here() -> None:
    assert one_by_one(square, [3], 2) == [(HERE, 9)]


def test_an_item_whose_process_is_killed_is_worked_on_here() -> None:
    def work(number: int) -> tuple[int, int]:
        if os.getpid() != HERE and number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return square(number)

    found = one_by_one(work, range(3), 2)
    assert [n for _, n in found] == [0, 1, 4]
    assert found[1] == (HERE, 1)


def test_what_an_item_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        one_by_one(lambda n: 1 // n, [1, 0, 1], 2)


def test_no_item_has_a_process_while_another_thread_runs() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert {pid for pid, _ in one_by_one(square, range(3), 3)} == {HERE}
    finally:
        ended.set()
        thread.join()
