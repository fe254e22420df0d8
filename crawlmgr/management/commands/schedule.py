"""`manage.py schedule`: lists and changes scheduled items, like the page of schedules in the web
interface."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils.module_loading import import_string

from crawlmgr.clock import SYSTEM
from crawlmgr.management.base import Result, Subcommand, SubcommandCommand, key, table
from crawlmgr.schedule import due, recurring, timings

MAX_ITEMS = 1000


SHOWN = 5


class List(Subcommand):
    """`schedule list`: lists everything that is scheduled, the next start first."""

    help = "list all scheduled items: interval, next start, working hours"

    def run(self, options: dict[str, Any]) -> Result:
        found = recurring.documents(SYSTEM.now(), MAX_ITEMS)
        header = ("kind", "target", "name", "every (s)", "next", "hours")
        columns = ("kind", "target", "name", "interval_seconds", "next", "hours")
        rows = [tuple(one[name] for name in columns) for one in found["schedules"]]
        return Result(found, table(header, rows))


class Hours(Subcommand):
    """`schedule hours`: shows or sets the working hours of one scheduled item."""

    help = "show or set the working hours of a scheduled item and the random shift of its starts"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("kind", choices=sorted(settings.TIMED), help="kind of the item's runs")
        parser.add_argument("target", type=key, help="number of the forum, topic, form or export")
        parser.add_argument(
            "--hours",
            metavar="TEXT",
            help='for example "01:00-06:00" or "mon-fri 22:00-06:00"; "" for any time',
        )
        parser.add_argument(
            "--timezone", metavar="ZONE", help="time zone of these hours (default UTC)"
        )
        parser.add_argument(
            "--jitter",
            type=int,
            metavar="MINUTES",
            help="shift each start at random by at most this time",
        )

    def run(self, options: dict[str, Any]) -> Result:
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


class Every(Subcommand):
    """`schedule every`: sets the interval at which a topic is crawled, a form harvested or an
    export written."""

    help = "set the interval at which an item is started by schedule (forums: see `forum plan`)"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "kind", choices=sorted(settings.REPEATED), help="kind of the item's runs"
        )
        parser.add_argument("target", type=key, help="its number")
        parser.add_argument("hours", type=int, help="hours between two starts; 0: only on request")

    def run(self, options: dict[str, Any]) -> Result:
        kind, target, hours = options["kind"], options["target"], options["hours"]
        try:
            import_string(settings.REPEATED[kind])(target, hours * 3600 or None, SYSTEM.now())
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from None
        return Result(
            {"kind": kind, "target": target, "interval_seconds": hours * 3600 or None}, "Set."
        )


class Pause(Subcommand):
    """`schedule pause`: pauses all crawling, or resumes it."""

    help = "pause all crawling, or with --off resume it"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--off", action="store_true", help="resume all crawling")

    def run(self, options: dict[str, Any]) -> Result:
        number = (due.resume_all if options["off"] else due.pause_all)(SYSTEM.now())
        return Result(
            {"paused": not options["off"], "runs": number},
            f"{'Resumed' if options['off'] else 'Paused'}: {number} runs.",
        )


class Command(SubcommandCommand):
    help = "Lists and changes scheduled items; pauses and resumes all crawling."
    uses_database = True
    subcommands = {
        "list": List(),
        "hours": Hours(),
        "every": Every(),
        "pause": Pause(),
    }
