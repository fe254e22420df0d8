"""A cache, shared by all processes of the installation, for results that are expensive to
compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

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
