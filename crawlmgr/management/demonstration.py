"""What `demo` asks of each crawler: a part that adds its own site of the demonstration web, crawls it, and takes it away."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from crawlmgr.models import Run

MARK = "demonstration"  # among the settings of all that the demonstration made: when it was first shown


class Served(NamedTuple):
    """A site of the demonstration: its address, and when it was first shown."""

    url: str
    began: datetime


class Room(NamedTuple):
    """A page of the desk to look at."""

    words: str
    name: str
    arguments: tuple[int, ...]


class Part(Protocol):
    """One crawler's part. Life: add → finish, each time; what is there already is used again. Then leave, at the end."""

    def kept(self) -> Served | None: ...

    def add(self, url: str, began: datetime) -> None: ...

    def finish(self) -> dict[str, Any]: ...

    def rooms(self) -> list[Room]: ...

    def leave(self, now: datetime) -> None: ...

    def remove(self, now: datetime) -> list[str]: ...


def crawl_settings(url: str, began: datetime) -> dict[str, Any]:
    """Crawl settings of a site of the demonstration: this one private address, no pause, and the mark."""
    return {"allow_private": urlsplit(url).netloc, "delay_seconds": 0.0, MARK: began.isoformat()}


def kept(url: str, settings: dict[str, Any]) -> Served:
    """What a marked row tells."""
    return Served(url, datetime.fromisoformat(settings[MARK]))


def own_runs() -> Any:
    """Every run that the demonstration's sites have had."""
    return Run.objects.filter(**{f"parameters__settings__{MARK}__isnull": False})
