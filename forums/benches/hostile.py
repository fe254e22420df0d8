"""Parsing functions of the forum crawler that `bench hostile` runs on hostile input."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from crawlmgr.benches.hostile import Reader
from forums.reading import read_page
from forums.reading.apis import read_api

AT = datetime(2026, 3, 30, tzinfo=UTC)
READERS: Mapping[str, tuple[str, Reader]] = {
    "forum list": (
        "html",
        lambda text: read_page(text, "http://forum.example/viewforum.php?f=2", AT),
    ),
    "forum thread": (
        "html",
        lambda text: read_page(text, "http://forum.example/viewtopic.php?t=7", AT),
    ),
    "forum API": ("json", lambda text: read_api(text, "http://forum.example/latest.json")),
}
