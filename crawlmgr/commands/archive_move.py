"""`archive move`: moves all closed WARC files of this machine into the object store now."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result
from crawlmgr.services import archive_moves

HELP = "move closed WARC files of this machine into the object store"


def add_arguments(parser: Any) -> None:
    """Adds nothing: the command has no options."""


def run(options: dict[str, Any]) -> Result:
    database.ready()
    if not settings.ARCHIVE_STORE:
        raise CommandError(
            "No store is set: name one with CRAWLMGR_ARCHIVE_STORE=s3://bucket/folder."
        )
    done = archive_moves.move(SYSTEM.now())
    if done.trouble:
        raise CommandError(
            f"The store does not answer, {done.moved} files were moved: {done.trouble}"
        )
    text = (
        f"{done.moved} files moved, {done.bytes} bytes; {done.damaged} do not match their index and"
        " stay"
    )
    return Result(done._asdict(), text)
