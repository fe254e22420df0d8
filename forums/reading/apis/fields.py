"""Reads fields of untrusted JSON responses: a value of the wrong type gives None or an empty value,
never an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import unescape
from typing import Any

from crawlmgr.text.dates import Moment
from crawlmgr.web.pages.tree import parse
from forums.reading.posts.texts import text_of

_LONGEST_POST_CHARS = 1_000_000
_LARGEST = 2**31 - 1  # largest integer that the database columns can store
# Times outside these years mean nothing: some software writes "never" as the first or last second
# it can represent.
_YEARS = range(1970, 9000)
_UNSTORABLE = re.compile(
    "[\x00\ud800-\udfff]"
)  # valid in JSON, but no database can store them in text
_QUOTES = "descendant::blockquote | descendant::aside[contains(@class, 'quote')]"


def table(value: object) -> Mapping[str, Any]:
    """Returns `value` if it is a JSON object, otherwise an empty mapping."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> Iterator[Mapping[str, Any]]:
    """Returns an iterator over the JSON objects in a JSON array; empty for any other value."""
    return (row for row in value if isinstance(row, dict)) if isinstance(value, list) else iter(())


def number(value: object) -> int | None:
    """Returns a count or id if it is an integer from 0 to 2,147,483,647, also one written as text;
    otherwise None."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
        else None
    )


def text(value: object) -> str:
    """Returns a string as one line, with markup escapes undone and white space collapsed; "" for
    any other value."""
    return " ".join(unescape(_storable(value)).split()) if isinstance(value, str) else ""


def _storable(value: str) -> str:
    return _UNSTORABLE.sub("\ufffd", value)


def moment(value: object) -> Moment | None:
    """Returns the time given in ISO 8601 (taken as UTC if without zone) or in epoch milliseconds;
    None for any other value, and for years outside 1970 to 8999."""
    try:
        if isinstance(value, str):
            told = datetime.fromisoformat(value)
            told = (
                (told if told.tzinfo else told.replace(tzinfo=UTC))
                .astimezone(UTC)
                .replace(microsecond=0)
            )
        elif isinstance(value, int | float) and value > 0:
            told = datetime.fromtimestamp(value // 1000, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return Moment(told, 1) if told.year in _YEARS else None


def markup_text(value: object) -> str:
    """Returns the text of a post given as HTML, without quotes unless nothing else remains; "" for
    any other value."""
    if not isinstance(value, str) or not value.strip():
        return ""
    root = parse(_storable(value[:_LONGEST_POST_CHARS]))
    if root is None:
        return ""
    return text_of(root, set(), set(root.xpath(_QUOTES))) or text_of(root, set())
