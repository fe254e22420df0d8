"""CPU seconds that reading one page may take: what goes on longer is ended where it is. Pure.

In the main thread a timer of the operating system ends the work, also within a regular expression; in any other thread a watcher
looks at that thread's CPU clock, and the work ends with the next step of Python.
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PAGE_SECONDS = 1.5  # for one page; ordinary ones take some hundredths
OVER_BUDGET = "over_budget"  # why such a page gave nothing, as a code
_LOOK_SECONDS = 0.05  # how often the watcher looks


class OverBudget(Exception):
    """Raised inside the work that has used up its CPU seconds."""


class _Open(threading.local):
    """Whether this thread is inside a budget."""

    active = False


_open = _Open()


@contextmanager
def cpu_budget(seconds: float = PAGE_SECONDS) -> Iterator[None]:
    """Raises OverBudget in the block when this thread has spent `seconds` (> 0) of CPU in it. Inside another budget that one
    alone counts. Work that no Python step interrupts (a parser of a library) is ended after it."""
    if _open.active:
        yield
        return
    budget = _Timer(seconds) if threading.current_thread() is threading.main_thread() else _Watcher(seconds)
    _open.active = True
    try:
        budget.start()
        yield
    finally:
        _open.active = False
        budget.stop()


class _Timer:
    """The main thread's: SIGPROF counts the CPU of the whole process, so what comes too early is set again."""

    _running: _Timer | None = None

    def __init__(self, seconds: float) -> None:
        self.end = time.thread_time() + seconds
        self.seconds = seconds

    def start(self) -> None:
        if signal.getsignal(signal.SIGPROF) is not _Timer.rings:
            signal.signal(signal.SIGPROF, _Timer.rings)  # stays: a late signal must find it
        _Timer._running = self
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def stop(self) -> None:
        _Timer._running = None
        signal.setitimer(signal.ITIMER_PROF, 0)

    @staticmethod
    def rings(_signal: int, _frame: FrameType | None) -> None:
        running = _Timer._running
        if running is None:
            return
        left = running.end - time.thread_time()
        if left <= 0:
            _Timer._running = None
            raise OverBudget
        signal.setitimer(signal.ITIMER_PROF, max(left, 0.001))


class _Watcher:
    """Another thread's: a second thread looks at its clock while the work lasts."""

    def __init__(self, seconds: float) -> None:
        self.thread = threading.get_ident()
        self.clock = time.pthread_getcpuclockid(self.thread)
        self.end = time.clock_gettime(self.clock) + seconds
        self.lock = threading.Lock()
        self.done = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, name="cpu-budget", daemon=True).start()

    def stop(self) -> None:
        with self.lock:
            self.done.set()
            _raise_in(self.thread, None)  # one that has not arrived is taken back

    def _watch(self) -> None:
        while not self.done.wait(_LOOK_SECONDS):
            with self.lock:
                if not self.done.is_set() and time.clock_gettime(self.clock) >= self.end:
                    _raise_in(self.thread, OverBudget)
                    return


def _raise_in(thread: int, error: type[Exception] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error) if error is not None else None)
