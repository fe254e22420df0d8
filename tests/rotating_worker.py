"""Runs a command in a process whose WARC files are full after the first page; kills it (SIGKILL) at
a MOMENT of the change to the next file ("never": not at all). Usage: `python -m
tests.rotating_worker MOMENT forum crawl 1 --json`.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import django

ROTATE_BYTES = 12_000
MOMENTS = ("full", "closed", "opened", "listed")
"""Moments of the change to the next file: the full file is closed but the index does not record it
yet; the next file has been opened; it is listed in the index."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Runs the command with the arguments of this process."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
    django.setup()
    from django.core.management import call_command

    from crawlmgr.archive import archive
    from crawlmgr.web.warc import WarcWriter

    moment, *words = sys.argv[1:]
    archive.ROTATE_BYTES = ROTATE_BYTES
    real_open, real_close, real_init = archive.Archive._open, WarcWriter.close, WarcWriter.__init__
    full: list[str] = []  # names of the WARC files that reached ROTATE_BYTES

    def opened(self: Any, now: Any) -> WarcWriter:
        if self.writer is not None and self.writer.size >= ROTATE_BYTES:
            full.append(self.writer.path.name)
            if moment == "full":
                die()
        writer = real_open(self, now)
        if full and moment == "listed":
            die()
        return writer

    def close(self: WarcWriter) -> None:
        real_close(self)
        if full and moment == "closed":
            die()

    def init(self: WarcWriter, *args: Any, **named: Any) -> None:
        real_init(self, *args, **named)
        if full and moment == "opened":
            die()

    archive.Archive._open = opened  # type: ignore[method-assign]
    WarcWriter.close = close  # type: ignore[method-assign,assignment]
    WarcWriter.__init__ = init  # type: ignore[method-assign,assignment]
    call_command(*words)


if __name__ == "__main__":
    main()
