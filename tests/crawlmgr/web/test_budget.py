"""CPU budgets: endless work is aborted in the main thread (also inside a regular expression) and in
other threads; waiting costs nothing."""

from __future__ import annotations

import re
import threading
import time

import pytest

from crawlmgr.web.budget import OverBudget, cpu_budget


def _spin() -> None:
    while True:
        sum(range(100))


def test_endless_work_ends() -> None:
    with pytest.raises(OverBudget), cpu_budget(0.05):
        _spin()


def test_an_expression_that_backtracks_without_end_ends() -> None:
    with pytest.raises(OverBudget), cpu_budget(0.05):
        re.match(r"(?:a+)+b", "a" * 60)


def test_the_outer_of_two_budgets_counts() -> None:
    with pytest.raises(OverBudget), cpu_budget(0.05), cpu_budget(100):
        _spin()


def test_waiting_costs_nothing_and_nothing_comes_late() -> None:
    with cpu_budget(0.05):
        time.sleep(0.15)
    begun = time.process_time()
    while time.process_time() - begun < 0.1:
        sum(range(100))


def test_cpu_of_other_threads_is_not_counted() -> None:
    enough = threading.Event()

    def burn() -> None:
        while not enough.is_set():
            sum(range(100))

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        with cpu_budget(0.1):
            time.sleep(0.3)
    finally:
        enough.set()
        thread.join()


def test_endless_work_of_any_thread_ends() -> None:
    ended: list[str] = []

    def work() -> None:
        for _ in range(2):
            try:
                with cpu_budget(0.05):
                    _spin()
            except OverBudget:
                ended.append("over")
        with cpu_budget(0.05):
            time.sleep(0.15)
        ended.append("waited")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert ended == ["over", "over", "waited"]
