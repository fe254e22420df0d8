"""`schedule every`: sets the interval at which a topic is crawled, a form harvested or an export
written."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils.module_loading import import_string

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.arguments import key
from crawlmgr.management.base import Result

HELP = "set the interval at which an item is started by schedule (forums: see `forum plan`)"


def add_arguments(parser: Any) -> None:
    parser.add_argument("kind", choices=sorted(settings.REPEATED), help="kind of the item's runs")
    parser.add_argument("target", type=key, help="its number")
    parser.add_argument("hours", type=int, help="hours between two starts; 0: only on request")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    kind, target, hours = options["kind"], options["target"], options["hours"]
    try:
        import_string(settings.REPEATED[kind])(target, hours * 3600 or None, SYSTEM.now())
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    return Result(
        {"kind": kind, "target": target, "interval_seconds": hours * 3600 or None}, "Set."
    )
