"""Runs jobs in threads, for work that mostly waits for the network: returns results in order of
arrival, and limits the memory that results take."""

from __future__ import annotations

import ctypes
import gc
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # constants of glibc's malloc.h
# Memory blocks of at least this size are taken from the system singly, and returned to it when
# freed. The limit is above what libdeflate allocates for compressing a record: taking that from the
# system each time would take twice as long as compressing.
_BIG_BYTES = 786_432
_KEPT_BYTES = 4_000_000  # bytes of free memory kept at the end of a malloc arena
_NEW_OBJECTS = 20_000
_SWITCH_SECONDS = 0.02
IDLE_SECONDS = 30.0
"""Seconds without work after which a thread of a JobPool ends."""


@dataclass(frozen=True, slots=True)
class Ended(Generic[Key, Value]):
    """A finished job: the key it was started with, and its value or the error it raised; the other
    of the two is None."""

    key: Key
    value: Value | None
    error: BaseException | None


class JobPool(Generic[Key, Value]):
    """Runs jobs concurrently, one thread per running job, and returns their results to the one
    thread that owns the JobPool.

    Only the owner calls `start`, `wait` and `len`. Threads are created on demand and reused; they
    are daemons, so that a process can exit without waiting for the network. A job may call `wake`
    to wake the owner before a result is ready.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Key, Callable[[], Value]] | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[Ended[Key, Value] | None] = queue.SimpleQueue()
        self._out = 0
        self._threads = 0
        self._idle = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Returns the number of started jobs whose results `wait` has not returned yet."""
        return self._out

    def start(self, key: Key, job: Callable[[], Value]) -> None:
        """Starts a job in its own thread at once, however many are running; its result carries
        `key`."""
        self._out += 1
        with self._lock:
            spawn = self._idle == 0
            if not spawn:
                self._idle -= 1
            else:
                self._threads += 1
        self._jobs.put((key, job))
        if spawn:
            threading.Thread(
                target=self._work, daemon=True, name=f"in-flight-{self._threads}"
            ).start()

    def wait(self, seconds: float, most: int, gather: float = 0.0) -> list[Ended[Key, Value]]:
        """Returns up to `most` results in order of arrival: waits up to `seconds` for the first
        one, then up to `gather` for further ones if any are expected. Returns what has arrived,
        perhaps nothing, if the time is over or a job calls `wake`.
        """
        found: list[Ended[Key, Value]] = []
        try:
            one = self._ended.get(timeout=seconds) if seconds > 0 else self._ended.get_nowait()
            end = time.monotonic() + gather
            while True:
                if one is None:
                    break
                found.append(one)
                if len(found) >= min(most, self._out):
                    break
                left = end - time.monotonic()
                one = self._ended.get(timeout=left) if left > 0 else self._ended.get_nowait()
        except queue.Empty:
            pass
        self._out -= len(found)
        return found

    def wake(self) -> None:
        """Makes the owner's `wait` return now; called from jobs that need something from the
        owner."""
        self._ended.put(None)

    def close(self) -> None:
        """Lets idle threads end; results that have not been returned are discarded."""
        with self._lock:
            threads = self._threads
        for _ in range(threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while True:
            try:
                given = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    # No thread is idle: `start` has just reserved the last one, perhaps this one,
                    # for a job that it puts into the queue next.
                    if self._idle == 0:
                        continue
                    self._idle -= 1
                    self._threads -= 1
                return
            if given is None:
                return
            key, job = given
            try:
                ended = Ended(key, job(), None)
            except BaseException as error:
                ended = Ended(key, None, error)
            del job, given
            with self._lock:
                self._idle += 1
            self._ended.put(ended)
            del key, ended


@cache
def share_memory() -> bool:
    """Configures malloc so that all threads share freed memory and large blocks return to the
    system at once. Call it before starting threads. Returns False if the C library has no
    `mallopt`, or refuses the values.

    By default each arena of glibc keeps the memory that its threads freed: with 256 threads and
    pages of 1 MB, 470 MB instead of 350.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    wanted = ((_M_ARENA_MAX, 2), (_M_MMAP_THRESHOLD, _BIG_BYTES), (_M_TRIM_THRESHOLD, _KEPT_BYTES))
    return all(mallopt(name, value) for name, value in wanted)


@cache
def calm_collector() -> None:
    """Makes Python's cycle collector ignore all objects existing now and check new ones less often:
    parsing a page creates thousands of objects and hardly any cycle, and checks at the default rate
    take a fifth of the time. Call it once per process."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 20)


@cache
def switch_rarely() -> None:
    """Lets the thread that parses and stores pages run longer before another thread takes over:
    fetching threads mostly wait for the network, and each switch costs both threads their CPU
    caches. Call it once per process.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)


class MemoryLimit:
    """A limit on the bytes of memory that many threads hold: a thread reserves memory before it
    reads from the network, and waits while none is free.

    A reservation lasts until the owner of the thread's result frees it by `release`. To avoid a
    deadlock among waiting threads, one of them at a time may exceed the limit until it has
    finished.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used = 0
        self._held: dict[int, int] = {}
        self._free: int | None = None
        self._shut = False
        self._change = threading.Condition()

    def take(self, size: int) -> float:
        """Reserves memory for `size` received bytes in the name of the calling thread; returns the
        seconds it had to wait for it."""
        me = threading.get_ident()
        with self._change:
            waited = 0.0
            if self._full(size) and self._free != me:
                began = time.monotonic()
                while self._full(size) and self._free != me:
                    # all memory is held by threads that are still reading: none will be freed, so
                    # this one may exceed the limit
                    if self._free is None and self.used == sum(self._held.values()):
                        self._free = me
                        break
                    self._change.wait()
                waited = time.monotonic() - began
            self.used += size
            self._held[me] = self._held.get(me, 0) + size
        return waited

    def _full(self, size: int) -> bool:
        """Tells whether `size` more bytes would exceed the limit; never after `shut`."""
        return self.used + size > self.limit_bytes and not self._shut

    def shut(self) -> None:
        """Ends all waiting for memory; called when a run is aborted and its data will be
        discarded."""
        with self._change:
            self._shut = True
            self._change.notify_all()

    def end(self) -> int:
        """Called by a thread that has finished: ends its permission to exceed the limit, and
        returns the number of bytes that it has reserved. The owner of the thread's result passes
        this number to `release` later."""
        me = threading.get_ident()
        with self._change:
            if self._free == me:
                self._free = None
                self._change.notify_all()
            return self._held.pop(me, 0)

    def release(self, size: int) -> None:
        """Frees `size` reserved bytes; called after the thread's result has been processed."""
        if size:
            with self._change:
                self.used -= size
                self._change.notify_all()
