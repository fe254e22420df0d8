"""Results that are kept: in a cache shared by all processes of the installation (`remembered`), and
queries of which several parts of a page need the rows, made once per request (`once`).

Bounds other caches in bytes, and frees the memory that caches of functions hold: they are bounded
in entries, but a page with long texts makes the entries long."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import clear_cache  # type: ignore[attr-defined]  # not in typeshed

from django.core.cache import cache

T = TypeVar("T")


def remembered(key: str, seconds: float, make: Callable[[], T]) -> T:
    """Returns the cached result of `make` under this key if it is younger than `seconds`; otherwise
    calls `make` and caches its result. A result of None is not cached."""
    found: T | None = cache.get(key)
    if found is None:
        found = make()
        cache.set(key, found, seconds)
    return found


_results: ContextVar[dict[Callable[..., Any], Any] | None] = ContextVar("results", default=None)


@contextmanager
def reused() -> Iterator[None]:
    """Inside this block, functions decorated with `once` query the database at most once. Not for
    code that changes what they read: it would not see its own changes."""
    token = _results.set({})
    try:
        yield
    finally:
        _results.reset(token)


def once(query: Callable[[], T]) -> Callable[[], T]:
    """Decorator for a query without arguments: its first result is returned again until the block
    `reused` ends. Outside such a block, as in workers and commands, every call queries the
    database."""

    @wraps(query)
    def shared() -> T:
        results = _results.get()
        if results is None:
            return query()
        if query not in results:
            results[query] = query()
        found: T = results[query]
        return found

    return shared


GROWTH_BYTES = 100_000_000
"""Growth of a process after which its caches are emptied."""

_FEWEST = 256  # entries: smaller caches hold what is costly to make again, as dictionaries
T = TypeVar("T")
_PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")
_lock = threading.Lock()
_least = 0  # bytes of the process after the last time, or the fewest seen since


def resident_bytes() -> int:
    """Returns the memory of this process in bytes; 0 if the system does not tell it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def bounded(
    cache: OrderedDict[Any, T], most: int, most_bytes: int, weight: Callable[[T], int]
) -> None:
    """Removes the oldest entries of a cache until it has at most `most` of together at most
    `most_bytes`; the newest stays, whatever it weighs."""
    held = sum(map(weight, cache.values())) if len(cache) > 1 else 0
    while len(cache) > 1 and (len(cache) > most or held > most_bytes):
        held -= weight(cache.popitem(last=False)[1])


def free_grown() -> bool:
    """Empties the caches of this process if it has grown by more than GROWTH_BYTES since they were
    last empty, and returns the memory to the system. Called after each task and each answer, since
    a process keeps its caches to its end. Tells whether they were emptied."""
    global _least
    now = resident_bytes()
    with _lock:
        if now <= _least + GROWTH_BYTES:
            _least = min(_least, now) if _least else now
            return False
        for cache in _caches():
            cache.cache_clear()
        clear_cache()  # the standard library keeps the addresses that it divided
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc
        if trim is not None:
            trim(0)
        _least = resident_bytes()
        return True


def _caches() -> Iterator[Any]:
    """Yields the caches of module-level functions of the project that keep many results."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _PACKAGES:
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    largest = value.cache_parameters()["maxsize"]
                    if largest is None or largest >= _FEWEST:
                        yield value
