"""Jobs in flight: order of results, reuse of threads, and a memory limit that cannot deadlock."""

from __future__ import annotations

import threading

from crawlmgr.web.window import Room, Window
from tests.serving import PATIENCE_SECONDS


def test_results_come_in_the_order_in_which_jobs_end() -> None:
    window: Window[int, int] = Window()
    gates = [threading.Event() for _ in range(3)]

    def job(number: int) -> int:
        assert gates[number].wait(PATIENCE_SECONDS)
        return number * number

    for number in range(3):
        window.start(number, lambda n=number: job(n))
    assert len(window) == 3 and window.wait(0, 9) == []
    got = []
    for number in (2, 0, 1):
        gates[number].set()
        got += window.wait(PATIENCE_SECONDS, 9)
    assert [(one.key, one.value) for one in got] == [(2, 4), (0, 0), (1, 1)] and len(window) == 0


def test_an_error_of_a_job_is_given_to_the_owner() -> None:
    window: Window[str, None] = Window()
    window.start("wrong", lambda: [].pop())  # type: ignore[func-returns-value]
    (one,) = window.wait(PATIENCE_SECONDS, 1)
    assert one.key == "wrong" and isinstance(one.error, IndexError)


def test_threads_are_used_again_and_no_more_are_made_than_jobs_at_once() -> None:
    window: Window[int, int] = Window()
    seen = set()
    for number in range(40):
        window.start(number, threading.get_ident)
        (one,) = window.wait(PATIENCE_SECONDS, 1)
        seen.add(one.value)
    assert len(seen) <= 2
    window.close()


def test_the_owner_can_be_woken_without_a_result() -> None:
    window: Window[int, int] = Window()
    window.tell()
    assert window.wait(PATIENCE_SECONDS, 5) == []


def test_results_are_gathered_while_others_are_running() -> None:
    window: Window[int, int] = Window()
    gate = threading.Event()
    window.start(0, lambda: 0)
    window.start(1, lambda: int(gate.wait(PATIENCE_SECONDS)))
    assert [one.key for one in window.wait(PATIENCE_SECONDS, 9, 0.01)] == [0], "what does not come is not waited for"
    window.start(2, gate.is_set)
    threading.Timer(0.05, gate.set).start()
    assert sorted(one.key for one in window.wait(PATIENCE_SECONDS, 9, PATIENCE_SECONDS)) == [1, 2], "nothing is left to wait for"


def test_room_holds_its_bound_and_lets_one_go_on_so_that_nobody_waits_for_ever() -> None:
    room, window = Room(100), Window[int, int]()
    most: list[int] = []

    def read() -> int:
        for _ in range(5):
            room.take(30)
            most.append(room.used)
        return room.end()

    for number in range(8):
        window.start(number, read)
    ended = 0
    while ended < 8:
        for one in window.wait(PATIENCE_SECONDS, 8):
            assert one.error is None and one.value == 150
            room.give_back(one.value)
            ended += 1
    assert room.used == 0
    assert max(most) <= 100 + 150, "beyond the bound only by what the one holds that may go on"


def test_nobody_waits_for_room_that_is_shut() -> None:
    room, window = Room(10), Window[int, int]()
    room.take(10)
    for number in range(3):
        window.start(number, lambda: [room.take(8), room.take(8)] and room.end())
    got = len(window.wait(0.2, 3))
    assert got <= 1, "one may go on beyond the bound"
    room.shut()
    while got < 3:
        found = window.wait(PATIENCE_SECONDS, 3)
        assert found
        got += len(found)
