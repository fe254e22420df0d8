"""Parsers for command-line arguments: times, keys, names."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(text: str) -> datetime:
    """Parses an ISO 8601 time; without a zone it is UTC."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def key(text: str) -> int:
    """Parses the database key of a site or a run. Raises ValueError out of range."""
    value = int(text)
    if not 0 <= value < 2**63:
        raise ValueError(text)
    return value


def names(text: str) -> tuple[str, ...]:
    """Parses comma-separated names."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))
