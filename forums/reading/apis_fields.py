"""Fields of JSON answers read without trust: whatever a server sends, a wrong type gives None and never an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import unescape
from typing import Any

from lxml import etree
from lxml.html import document_fromstring

from crawlmgr.text.dates import Moment
from forums.reading.postrows import text_of

_LONGEST_POST_CHARS = 1_000_000
_QUOTES = "descendant::blockquote | descendant::aside[contains(@class, 'quote')]"


def table(value: object) -> Mapping[str, Any]:
    """`value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a JSON array; nothing for anything else."""
    return (row for row in value if isinstance(row, dict)) if isinstance(value, list) else iter(())


def number(value: object) -> int | None:
    """A count or an id: an integer of 0 or more, also one written as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def text(value: object) -> str:
    """A line of text: markup escapes undone, white space collapsed; "" for anything but text."""
    return " ".join(unescape(value).split()) if isinstance(value, str) else ""


def moment(value: object) -> Moment | None:
    """A time in ISO 8601 (UTC where it names no zone) or in epoch milliseconds."""
    try:
        if isinstance(value, str):
            told = datetime.fromisoformat(value)
            return Moment((told if told.tzinfo else told.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0), 1)
        if isinstance(value, int | float) and value > 0:
            return Moment(datetime.fromtimestamp(value // 1000, UTC), 1)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def markup_text(value: object) -> str:
    """The text of a post given as HTML, without the quotes in it where anything else is left."""
    if not isinstance(value, str) or not value.strip():
        return ""
    try:
        root = document_fromstring(value[:_LONGEST_POST_CHARS])
    except (etree.ParserError, ValueError):
        return ""
    return text_of(root, set(), set(root.xpath(_QUOTES))) or text_of(root, set())
