"""`schedule hours`: shows or sets the working hours of one scheduled item."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.arguments import key
from crawlmgr.management.base import Result
from crawlmgr.services import timings

HELP = "show or set the working hours of a scheduled item and the random shift of its starts"
SHOWN = 5


def add_arguments(parser: Any) -> None:
    parser.add_argument("kind", choices=sorted(settings.TIMED), help="kind of the item's runs")
    parser.add_argument("target", type=key, help="number of the forum, topic, form or export")
    parser.add_argument(
        "--hours",
        metavar="TEXT",
        help='for example "01:00-06:00" or "mon-fri 22:00-06:00"; "" for any time',
    )
    parser.add_argument("--timezone", metavar="ZONE", help="time zone of these hours (default UTC)")
    parser.add_argument(
        "--jitter",
        type=int,
        metavar="MINUTES",
        help="shift each start at random by at most this time",
    )


def run(options: dict[str, Any]) -> Result:
    database.ready()
    kind, target, now = options["kind"], options["target"], SYSTEM.now()
    given = {"hours": options["hours"], "timezone": options["timezone"]}
    given["jitter_seconds"] = None if options["jitter"] is None else 60 * options["jitter"]
    changes = {name: value for name, value in given.items() if value is not None}
    if changes:
        try:
            timings.put(kind, target, changes, now=now)
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from None
    found = timings.document(kind, target, now, SHOWN)
    text = (
        f"{found['hours'] or 'at any time'} {found['timezone']}, moved by up to"
        f" {found['jitter_seconds'] // 60} min; "
    )
    return Result(
        found, text + ("open now" if found["open"] else f"opens {found['opens'].isoformat()}")
    )
