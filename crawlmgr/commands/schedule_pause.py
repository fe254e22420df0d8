"""`schedule pause`: pauses all crawling, or resumes it."""

from __future__ import annotations

from typing import Any

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result
from crawlmgr.services import holds

HELP = "pause all crawling, or with --off resume it"


def add_arguments(parser: Any) -> None:
    parser.add_argument("--off", action="store_true", help="resume all crawling")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    number = (holds.resume_all if options["off"] else holds.pause_all)(SYSTEM.now())
    return Result(
        {"paused": not options["off"], "runs": number},
        f"{'Resumed' if options['off'] else 'Paused'}: {number} runs.",
    )
