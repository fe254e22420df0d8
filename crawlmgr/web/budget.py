"""A limit on the CPU seconds spent on parsing and interpreting one page: work that takes longer is
aborted. No Django.

In the main thread an operating-system timer (SIGPROF) aborts the work, also within a regular
expression; for any other thread a second thread checks the worker's CPU clock, and the work is
aborted at its next Python instruction.
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PAGE_SECONDS = 1.5  # CPU seconds for one page; ordinary pages take some hundredths of a second
OVER_BUDGET = "over_budget"  # reason code of a page whose reading was aborted
_LOOK_SECONDS = 0.05  # interval in seconds at which `_Watcher` checks the CPU clock


class OverBudget(Exception):
    """Raised inside a `cpu_budget` block whose CPU seconds are used up."""


class _Open(threading.local):
    """Thread-local flag: `active` is True while the current thread is inside a `cpu_budget`
    block."""

    active = False


_open = _Open()


@contextmanager
def cpu_budget(seconds: float = PAGE_SECONDS) -> Iterator[None]:
    """Context manager that raises OverBudget inside its block when the current thread has spent
    `seconds` (> 0) of CPU time there. Blocks may be nested; only the outermost one has an effect. A
    library call that does not return to Python is not interrupted; the exception is raised after
    it."""
    if _open.active:
        yield
        return
    budget = (
        _Timer(seconds)
        if threading.current_thread() is threading.main_thread()
        else _Watcher(seconds)
    )
    _open.active = True
    try:
        budget.start()
        yield
    finally:
        _open.active = False
        budget.stop()


class _Timer:
    """CPU limit for the main thread. The signal SIGPROF measures the CPU time of the whole process,
    so it may come too early for this thread; then the timer is set again for the remaining time."""

    _running: _Timer | None = None

    def __init__(self, seconds: float) -> None:
        self.end = time.thread_time() + seconds
        self.seconds = seconds

    def start(self) -> None:
        if signal.getsignal(signal.SIGPROF) is not _Timer.rings:
            # the handler is never removed: without it, a signal that comes after `stop` would end
            # the process
            signal.signal(signal.SIGPROF, _Timer.rings)
        _Timer._running = self
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def stop(self) -> None:
        _Timer._running = None
        signal.setitimer(signal.ITIMER_PROF, 0)

    @staticmethod
    def rings(_signal: int, _frame: FrameType | None) -> None:
        """Handles SIGPROF: raises OverBudget if the thread's CPU time is used up, otherwise sets
        the timer for the time that is left."""
        running = _Timer._running
        if running is None:
            return
        left = running.end - time.thread_time()
        if left <= 0:
            _Timer._running = None
            raise OverBudget
        signal.setitimer(signal.ITIMER_PROF, max(left, 0.001))


class _Watcher:
    """CPU limit for a thread other than the main one: a second thread checks the worker's CPU clock
    every 0.05 seconds and raises OverBudget in the worker when its time is used up."""

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
            _raise_in(self.thread, None)  # cancels an exception that has not been delivered

    def _watch(self) -> None:
        while not self.done.wait(_LOOK_SECONDS):
            with self.lock:
                if not self.done.is_set() and time.clock_gettime(self.clock) >= self.end:
                    _raise_in(self.thread, OverBudget)
                    return


def _raise_in(thread: int, error: type[Exception] | None) -> None:
    """Raises `error` in the thread with the identifier `thread`, at its next Python instruction;
    None cancels an exception that has not been delivered yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(error) if error is not None else None
    )
