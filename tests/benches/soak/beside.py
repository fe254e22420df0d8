"""What `bench soak` has beside its crawls: a page slower than a slice, and a host that asks to be
left alone for years.

The crawl of these hosts need not end during a round. It must not fail, a page that was sent for
often must be given up, and it may not wait for longer than any rule allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from crawlmgr.clock import SYSTEM
from crawlmgr.web.politeness import LONGEST_PAUSE
from focused.topic import topics
from tests.benches.soak.place import TIMES, Place
from tests.site.server import LocalSite, Reply, Request

SLOW_SECONDS = 4 * float(TIMES["CRAWLMGR_SLICE_SECONDS"])
MOST_TRIES = 8  # more requests than this, beyond one for each kill, are not a retry but a loop
YEARS = "315360000"  # a Retry-After of ten years, in seconds


class Beside:
    """Two hosts beside the crawled sites; their addresses are in `seeds` while they are served."""

    def __init__(self) -> None:
        self.slow, self.busy = LocalSite(), LocalSite()
        self.slow.add("/slow", self._late)
        self.busy.add("/busy", lambda request: Reply(b"", 503, {"Retry-After": YEARS}))
        self.seeds: list[str] = []

    def _late(self, request: Request) -> Reply:
        request.stopped.wait(SLOW_SECONDS)
        return Reply(b"<title>Late</title><p>late")

    @contextmanager
    def served(self) -> Iterator[None]:
        """Context manager that serves the hosts."""
        with self.slow, self.busy:
            self.seeds = [self.slow.url("/slow"), self.busy.url("/busy")]
            yield

    def problems(self, place: Place, run: int, kills: int) -> list[str]:
        """Returns what went wrong: the state of the crawl `run`, requests for the slow page after
        `kills` kills, the time until which it waits."""
        found = []
        ((state, reason, until),) = place.rows(
            "SELECT state, stopped_by, waiting_until"  # noqa: S608
            f" FROM crawlmgr_run WHERE id = {run}"
        )
        if state == "failed":
            found.append(f"slow and busy hosts: {state} {reason}")
        asked = sum(seen.path == "/slow" for seen in self.slow.log)
        if not 0 < asked <= MOST_TRIES + kills:
            found.append(f"the slow page was requested {asked} times")
        if until and _moment(until) > datetime.now(UTC) + LONGEST_PAUSE + timedelta(minutes=1):
            found.append(f"the crawl of slow and busy hosts waits until {until}")
        return found


def begin(seeds: list[str], number: int) -> int:
    """Adds a topic with both hosts' pages as seeds and queues its crawl; returns the run's id."""
    settings = {
        "allow_private": ",".join(urlsplit(url).netloc for url in seeds),
        "delay_seconds": 0.0,
    }
    topic = topics.add(
        f"beside {number}",
        seeds,
        documents=[("Late pages", "Pages that answer late, and hosts that ask to be left alone.")],
        now=SYSTEM.now(),
        strategy="best_first",
        options={"pages": 10},
        settings=settings,
    )
    return int(topics.crawl(topic, now=SYSTEM.now()).pk)


def _moment(value: datetime | str) -> datetime:
    """A time as the database driver returns it: SQLite's is text in UTC."""
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return value.astimezone(UTC)
