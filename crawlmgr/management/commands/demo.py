"""`demo`: serves small websites on this machine and crawls them, so that a new user sees the whole
web interface in operation."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from typing import Any, NoReturn
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse
from django.utils.module_loading import import_string

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.demo.database import Database
from crawlmgr.demo.forum import Forum, ForumPages
from crawlmgr.demo.site import Pages, Website
from crawlmgr.demo.topic_web import TopicWeb
from crawlmgr.management.base import Stopped, say, write_json
from crawlmgr.management.commands.serve import served_at
from crawlmgr.management.demonstration import CLOCK, Part, Served, own_runs
from crawlmgr.management.supervision import only_one, run_system_checks
from crawlmgr.models import Host

WAIT_SECONDS = 0.5
PAGES: Mapping[str, Callable[[datetime], Pages]] = {
    "forum": lambda began: ForumPages(Forum(began), CLOCK.now),
    "topic": lambda began: TopicWeb(),
    "deepweb": lambda began: Database(),
}


class Command(BaseCommand):
    help = (
        "Demonstrates the program: serves a small web on this machine and crawls it, until Ctrl-C."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            help="exit after the crawls instead of serving the pages until Ctrl-C",
        )
        parser.add_argument(
            "--remove", action="store_true", help="delete everything that the demonstration created"
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run_system_checks()
        with only_one("demo"), _signals():
            try:
                upgrade.ready()
                parts: dict[str, Part] = {
                    name: import_string(dotted)() for name, dotted in settings.DEMOS.items()
                }
                if options["remove"]:
                    self._remove(parts, options["json"])
                else:
                    self._show(parts, options)
            except Stopped as stop:
                raise CommandError(
                    str(stop) or "Stopped; all results are stored, and `demo` continues from there."
                ) from stop

    def _show(self, parts: dict[str, Part], options: dict[str, Any]) -> None:
        with ExitStack() as stack:
            start = time.monotonic()
            stack.callback(CLOCK.let_go)
            web = _serve(parts, stack)
            stack.callback(_leave, parts)
            made = _crawl(parts, web)
            say(f"All of it took {time.monotonic() - start:.0f} seconds.")
            with suppress(Stopped):
                self._tell(parts, web, made, options["json"])
                if not options["once"]:
                    say("The demonstration web is served, and new posts keep coming, until Ctrl-C.")
                    _wait_for_a_signal()
        say(
            "The demonstration web is no longer served; its scheduled visits are paused until the"
            " next `demo`."
        )

    def _tell(
        self, parts: dict[str, Part], web: dict[str, Served], made: dict[str, Any], as_json: bool
    ) -> None:
        if as_json:
            write_json(made)
            sys.stdout.flush()
            return
        desk = served_at()
        forum, topic, deep = made["forum"], made["topic"], made["deepweb"]
        lines = [
            (
                f"Forum: {forum['boards']} boards, {forum['threads']} threads, {forum['posts']}"
                f" posts ({web['forum'].url})"
            ),
            f"Topic: {topic['fetched']} pages, {topic['on_topic']} ({web['topic'].url})",
            (
                f"Database: {deep['records']} records by {deep['queries']}"
                f" queries{_share(deep['coverage'])} ({web['deepweb'].url})"
            ),
            "",
            f"On the desk (`serve`, at http://{desk}/):",
        ]
        for page in (page for part in parts.values() for page in part.pages()):
            lines.append(
                f"  {page.words + ':':20}"
                f" http://{desk}{reverse(f'admin:{page.name}', args=page.arguments)}"
            )
        self.stdout.write("\n".join([*lines, "", "`demo --remove` takes all of it away again."]))
        self.stdout.flush()

    def _remove(self, parts: dict[str, Part], as_json: bool) -> None:
        """Deletes the demonstration's websites from the database and prints what was deleted;
        archived pages are kept, as when any site is deleted."""
        now = SYSTEM.now()
        places = list(
            Host.objects.filter(pages__run__in=own_runs()).distinct().values_list("pk", flat=True)
        )
        removed = {name: part.remove(now) for name, part in parts.items()}
        own_runs().delete()
        Host.objects.filter(pk__in=places, pages=None, urls=None, sites=None).delete()
        if as_json:
            write_json({"removed": removed})
            return
        told = [line for lines in removed.values() for line in lines]
        self.stdout.write(
            "\n".join(f"Removed: {line}" for line in told)
            or "There is nothing of the demonstration to remove."
        )


def _share(coverage: Sequence[float] | None) -> str:
    return "" if coverage is None else f", {coverage[0]:.0%} to {coverage[1]:.0%} of it"


def _serve(parts: dict[str, Part], stack: ExitStack) -> dict[str, Served]:
    """Serves each part's website, at its earlier address if there was a demonstration before,
    otherwise on a free port. Returns the websites by part. Raises CommandError if a port is in use.
    """
    now = SYSTEM.now().replace(microsecond=0)
    web = {}
    for name, part in parts.items():
        kept = part.kept()
        port = urlsplit(kept.url).port if kept is not None else 0
        began = kept.began if kept is not None else now
        try:
            web[name] = Served(
                stack.enter_context(Website(PAGES[name](began), port or 0)).url, began
            )
        except OSError as error:
            raise CommandError(
                f"Port {port}, where the demonstration's pages were, cannot be used"
                f" ({error.strerror or error}); free it, or start again with `demo --remove` and"
                " `demo`."
            ) from None
    return web


def _crawl(parts: dict[str, Part], web: dict[str, Served]) -> dict[str, Any]:
    """Adds every part to the database, then crawls them, and returns their figures (dictionaries)
    by part. The parts are crawled in reverse order, so that the forum of the first part has new
    posts by the time it is crawled.
    """
    for name, part in parts.items():
        part.add(*web[name])
    made = {name: part.finish() for name, part in reversed(parts.items())}
    return {name: made[name] for name in parts}


def _wait_for_a_signal() -> NoReturn:
    """Sleeps until a signal raises Stopped; in short intervals, because a signal that arrives just
    before a sleep begins is only handled when the sleep ends."""
    while True:
        time.sleep(WAIT_SECONDS)


def _leave(parts: dict[str, Part]) -> None:
    now = SYSTEM.now()
    for part in parts.values():
        part.leave(now)


@contextmanager
def _signals() -> Iterator[None]:
    """Context manager in which Ctrl-C, SIGTERM and a closed terminal raise Stopped, but only once,
    so that cleaning up is not interrupted."""

    ended = False

    def handle(number: int, frame: Any) -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise Stopped("")

    before = {
        number: signal.signal(number, handle)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
