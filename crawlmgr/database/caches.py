"""Results that are kept: in a cache shared by all processes of the installation (`remembered`), and
queries of which several parts of a page need the rows, made once per request (`once`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

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
