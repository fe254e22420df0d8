"""Runs `demo` with less content as a process of its own, for tests that kill it: `python -m
tests.small_demo --once`."""

from __future__ import annotations

import os
import sys

import django


def main() -> None:
    """Runs the command `demo`, reduced in size, with the arguments of this process."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
    django.setup()
    from django.core.management import call_command

    from deepweb.commands import demo as deepweb_demo
    from focused.commands import demo as focused_demo
    from forums.commands import demo as forums_demo

    forums_demo.HISTORY_DAYS, forums_demo.INTERVAL_SECONDS = 1, 21_600
    focused_demo.PAGES = 30
    deepweb_demo.WISHES = {"queries": 22, "probes": 0, "details": 10}
    call_command("demo", *sys.argv[1:])


if __name__ == "__main__":
    main()
