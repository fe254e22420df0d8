"""Jobs in flight: threads that wait for the network, results in the order in which they come, a bound on their bytes. Pure."""

from __future__ import annotations

import ctypes
import gc
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's malloc.h
_BIG_BYTES = 786_432  # more than libdeflate takes for packing a record: fetching that anew took twice as long as the packing
_KEPT_BYTES = 4_000_000  # of free memory at the end of an arena
_NEW_OBJECTS = 20_000
IDLE_SECONDS = 30.0
"""A thread that has had nothing to do for so long ends."""


@dataclass(frozen=True, slots=True)
class Ended(Generic[Key, Value]):
    """A job that has ended: its value, or the error that it raised."""

    key: Key
    value: Value | None
    error: BaseException | None


class Window(Generic[Key, Value]):
    """Runs jobs side by side, one thread each while they wait, and gives their results to the one thread that owns it.

    `start`, `wait` and `len` are the owner's. Threads are made as they are needed and used again; they are daemons, so that a
    process that ends does not wait for the network. Between two results the owner may be told of something else by `tell`.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Key, Callable[[], Value]] | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[Ended[Key, Value] | None] = queue.SimpleQueue()
        self._out = 0
        self._threads = 0
        self._idle = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Jobs started whose results have not been given out."""
        return self._out

    def start(self, key: Key, job: Callable[[], Value]) -> None:
        """Starts a job at once, whatever else is running."""
        self._out += 1
        with self._lock:
            spawn = self._idle == 0
            if not spawn:
                self._idle -= 1
            else:
                self._threads += 1
        self._jobs.put((key, job))
        if spawn:
            threading.Thread(target=self._work, daemon=True, name=f"in-flight-{self._threads}").start()

    def wait(self, seconds: float, most: int, gather: float = 0.0) -> list[Ended[Key, Value]]:
        """Results, at the most `most`, in the order in which they came: at once where there are some, else after `seconds` or
        when one comes or something is told. After the first it is waited `gather` seconds for others that are still running."""
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

    def tell(self) -> None:
        """Ends the owner's wait; for jobs that need something of it."""
        self._ended.put(None)

    def close(self) -> None:
        """Lets idle threads end; results that have not come by now are never given out."""
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
                    if self._idle == 0:  # a job is on its way to some thread: perhaps to this one
                        continue
                    self._idle -= 1
                    self._threads -= 1
                return
            if given is None:
                return
            key, job = given
            try:
                ended = Ended(key, job(), None)
            except BaseException as error:  # noqa: BLE001 - given to the owner, who raises it
                ended = Ended(key, None, error)
            del job, given
            with self._lock:
                self._idle += 1
            self._ended.put(ended)
            del key, ended


@cache
def share_memory() -> bool:
    """Has all threads of this process share memory that was freed, and big pieces go back to the system at once: else each of
    glibc's arenas keeps the bodies of its threads, which made 470 MB of 350 with 256 threads and pages of 1 MB. To be
    called before there are threads. False where the C library is another."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    wanted = ((_M_ARENA_MAX, 2), (_M_MMAP_THRESHOLD, _BIG_BYTES), (_M_TRIM_THRESHOLD, _KEPT_BYTES))
    return all(mallopt(name, value) for name, value in wanted)


@cache
def calm_collector() -> None:
    """Has Python's cycle collector leave alone what this process has loaded by now, and look through what is new less often: a
    page makes some thousands of objects and hardly a cycle, and looking for cycles took a fifth of its time. Once a process."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 20)


class Room:
    """A bound on the bytes that many threads hold: who reads asks for room first, and waits while there is none.

    What a thread takes stays taken until the owner of its result gives it back. So that those who wait for more cannot hold
    all of the room against each other, one of them at a time may go on beyond the bound until it has ended.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used = 0
        self._held: dict[int, int] = {}
        self._free: int | None = None
        self._shut = False
        self._change = threading.Condition()

    def take(self, size: int) -> float:
        """Takes room for what has arrived; returns the seconds that it had to wait for it."""
        me = threading.get_ident()
        with self._change:
            waited = 0.0
            if self._full(size) and self._free != me:
                began = time.monotonic()
                while self._full(size) and self._free != me:
                    if self._free is None and self.used == sum(self._held.values()):  # held by running jobs alone
                        self._free = me
                        break
                    self._change.wait()
                waited = time.monotonic() - began
            self.used += size
            self._held[me] = self._held.get(me, 0) + size
        return waited

    def _full(self, size: int) -> bool:
        return self.used + size > self.limit_bytes and not self._shut

    def shut(self) -> None:
        """Nobody waits any more: what is read from now on is thrown away."""
        with self._change:
            self._shut = True
            self._change.notify_all()

    def end(self) -> int:
        """The thread has all that it wanted; returns the bytes that it holds, for `give_back`."""
        me = threading.get_ident()
        with self._change:
            if self._free == me:
                self._free = None
                self._change.notify_all()
            return self._held.pop(me, 0)

    def give_back(self, size: int) -> None:
        """The result was dealt with."""
        if size:
            with self._change:
                self.used -= size
                self._change.notify_all()
