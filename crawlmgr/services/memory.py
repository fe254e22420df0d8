"""What costs too much to work out at every look: kept for a while, for all processes of the installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

T = TypeVar("T")


def remembered(key: str, seconds: float, make: Callable[[], T]) -> T:
    """What `make` gave under this key less than so many seconds ago; else what it gives now. Not for None."""
    found: T | None = cache.get(key)
    if found is None:
        found = make()
        cache.set(key, found, seconds)
    return found
