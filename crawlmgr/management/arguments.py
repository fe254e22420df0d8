"""Arguments of commands: parsers for times, keys and names, and the options of all commands that
crawl."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def moment(text: str) -> datetime:
    """Parses a time in ISO 8601; a time without a zone is in UTC. Raises ValueError for any other
    text."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def key(text: str) -> int:
    """Parses the database key of a site or a run. Raises ValueError if it is not a number in [0,
    2**63)."""
    value = int(text)
    if not 0 <= value < 2**63:
        raise ValueError(text)
    return value


def names(text: str) -> tuple[str, ...]:
    """Parses a comma-separated list of names."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def add_web_arguments(parser: Any) -> None:
    """Adds the options that every command that crawls has (see `foreground.web_settings`)."""
    parser.add_argument(
        "--allow-private",
        action="store_true",
        help=(
            "allow the hosts and ports of the given addresses to be on loopback or private networks"
        ),
    )
    parser.add_argument(
        "--private-host",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help=(
            "also allow this private address (may be repeated): host, host:port, address or network"
        ),
    )
    parser.add_argument(
        "--delay",
        type=float,
        metavar="SECONDS",
        help="seconds between two requests to one host (default 1)",
    )
    parser.add_argument(
        "--connections", type=int, metavar="N", help="simultaneous requests to one host (default 1)"
    )
    parser.add_argument(
        "--in-flight",
        type=int,
        metavar="N",
        help="simultaneous requests over all hosts of a run (default 32)",
    )
    parser.add_argument(
        "--pages-per-host",
        type=int,
        metavar="N",
        help="most pages that the run fetches from one host (0: no limit)",
    )
    parser.add_argument(
        "--by-nodes",
        action="store_true",
        help="have worker nodes do the work, and wait until they have finished",
    )
