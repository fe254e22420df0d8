"""The forums' tables, one file a noun."""

from forums.models.sites import DEFAULT_INTERVAL_SECONDS, Board, BoardHour, Post, Site, Thread, Visit

__all__ = [
    "DEFAULT_INTERVAL_SECONDS",
    "Board",
    "BoardHour",
    "Post",
    "Site",
    "Thread",
    "Visit",
]
