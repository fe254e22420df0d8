"""Queries whose rows several parts of a page need (panels, figures, navigation tree): made once per
request for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")

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
