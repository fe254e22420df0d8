"""Jobs in flight: order of results, reuse of threads, and a memory limit that cannot deadlock."""

from __future__ import annotations

import threading

from crawlmgr.web.http.fetch_pool import JobPool, MemoryLimit
from tests.serving import PATIENCE_SECONDS


def test_results_come_in_the_order_in_which_jobs_end() -> None:
    pool: JobPool[int, int] = JobPool()
    gates = [threading.Event() for _ in range(3)]

    def job(number: int) -> int:
        assert gates[number].wait(PATIENCE_SECONDS)
        return number * number

    for number in range(3):
        pool.start(number, lambda n=number: job(n))
    assert len(pool) == 3 and pool.wait(0, 9) == []
    got = []
    for number in (2, 0, 1):
        gates[number].set()
        got += pool.wait(PATIENCE_SECONDS, 9)
    assert [(one.key, one.value) for one in got] == [(2, 4), (0, 0), (1, 1)] and len(pool) == 0


def test_an_error_of_a_job_is_given_to_the_owner() -> None:
    pool: JobPool[str, None] = JobPool()
    pool.start("wrong", lambda: [].pop())  # type: ignore[func-returns-value]
    (one,) = pool.wait(PATIENCE_SECONDS, 1)
    assert one.key == "wrong" and isinstance(one.error, IndexError)


def test_threads_are_used_again_and_no_more_are_made_than_jobs_at_once() -> None:
    pool: JobPool[int, int] = JobPool()
    seen = set()
    for number in range(40):
        pool.start(number, threading.get_ident)
        (one,) = pool.wait(PATIENCE_SECONDS, 1)
        seen.add(one.value)
    assert len(seen) <= 2
    pool.close()


def test_the_owner_can_be_woken_without_a_result() -> None:
    pool: JobPool[int, int] = JobPool()
    pool.wake()
    assert pool.wait(PATIENCE_SECONDS, 5) == []


def test_results_are_gathered_while_others_are_running() -> None:
    pool: JobPool[int, int] = JobPool()
    gate = threading.Event()
    pool.start(0, lambda: 0)
    pool.start(1, lambda: int(gate.wait(PATIENCE_SECONDS)))
    assert [one.key for one in pool.wait(PATIENCE_SECONDS, 9, 0.01)] == [0], (
        "what does not come is not waited for"
    )
    pool.start(2, gate.is_set)
    threading.Timer(0.05, gate.set).start()
    assert sorted(one.key for one in pool.wait(PATIENCE_SECONDS, 9, PATIENCE_SECONDS)) == [
        1,
        2,
    ], "nothing is left to wait for"


def test_room_holds_its_bound_and_lets_one_go_on_so_that_nobody_waits_for_ever() -> None:
    memory, pool = MemoryLimit(100), JobPool[int, int]()
    most: list[int] = []

    def read() -> int:
        for _ in range(5):
            memory.take(30)
            most.append(memory.used)
        return memory.end()

    for number in range(8):
        pool.start(number, read)
    ended = 0
    while ended < 8:
        for one in pool.wait(PATIENCE_SECONDS, 8):
            assert one.error is None and one.value == 150
            memory.release(one.value)
            ended += 1
    assert memory.used == 0
    assert max(most) <= 100 + 150, "beyond the bound only by what the one holds that may go on"


def test_nobody_waits_for_room_that_is_shut() -> None:
    memory, pool = MemoryLimit(10), JobPool[int, int]()
    memory.take(10)
    for number in range(3):
        pool.start(number, lambda: [memory.take(8), memory.take(8)] and memory.end())
    got = len(pool.wait(0.2, 3))
    assert got <= 1, "one may go on beyond the bound"
    memory.shut()
    while got < 3:
        found = pool.wait(PATIENCE_SECONDS, 3)
        assert found
        got += len(found)
