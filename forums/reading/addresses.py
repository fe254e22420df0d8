"""What an address tells: the site's own id of a thread or board, and where a thread's first page is."""

from __future__ import annotations


def thread_key(url: str) -> str:
    """The site's own thread id in `url`, so that all addresses of one thread give one key."""
    return url


def board_key(url: str) -> str:
    """The site's own board id in `url`, so that all addresses of one board give one key."""
    return url


def first_page(url: str) -> str:
    """The address of the first page of the thread or list at `url`."""
    return url
