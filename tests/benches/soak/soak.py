"""`bench soak`: crawls of all three kinds under `serve` while its processes are killed, frozen and
cut off from the database, its clock jumps, and a slow and a busy host are crawled beside them;
counts what was lost or stored twice."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import (
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    get_user_model,
)
from django.contrib.sessions.backends.db import SessionStore
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from tests.benches import child
from tests.benches.soak import beside
from tests.benches.soak.crawls import BEGINNINGS
from tests.benches.soak.place import Place, kinds
from tests.benches.soak.sites import Sites, number

KILLS_A_ROUND = 25
STUCK_SECONDS = 120.0
"""A run counts as stuck if it makes no progress for so many seconds in which no process was killed.
"""
HASTE = 0.2
"""Probability that the benchmark does not wait, after a kill, until the installation has recovered
before the next kill."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the benchmark: number of kills, database, nodes, clients, random seed,
    and the folder in which totals are kept."""
    parser.add_argument("--kills", type=int, default=40, metavar="N", help="default 40")
    parser.add_argument(
        "--database", choices=["sqlite", "postgresql"], default="sqlite", help="default sqlite"
    )
    parser.add_argument(
        "--nodes",
        type=int,
        default=0,
        metavar="N",
        help="additional nodes that fail (needs PostgreSQL)",
    )
    parser.add_argument(
        "--clients",
        type=int,
        default=30,
        metavar="N",
        help="clients that read the desk meanwhile (default 30)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="random seed of the kills (default 1)"
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="keeps totals and log; a further call with it continues"
    )


@dataclass(slots=True)
class Tally:
    """Totals over all rounds. `lost` and `doubled` count posts, pages and records; `failed` and
    `wedged` (stuck) count runs; `most_at_once` is the maximum number of simultaneous requests to a
    site; `recovery` are the seconds from a kill until everything worked again, for the kills after
    which the benchmark waited for that (see HASTE); `desk` counts HTTP responses by status."""

    kills: int = 0
    lost: int = 0
    doubled: int = 0
    failed: int = 0
    wedged: int = 0
    rounds: int = 0
    most_at_once: int = 0
    by_victim: dict[str, int] = field(default_factory=dict)
    recovery: list[float] = field(default_factory=list)
    desk: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def result(self, seconds: float) -> dict[str, Any]:
        """Returns the totals as they are printed, with `seconds` as the duration. Instead of
        `recovery` they contain its median (`recovery_seconds`), 90th percentile
        (`recovery_seconds_90`) and maximum (`recovery_seconds_max`), each None if no recovery was
        measured."""
        found = asdict(self)
        recovery = sorted(found.pop("recovery"))
        found["recovery_seconds"] = round(statistics.median(recovery), 2) if recovery else None
        found["recovery_seconds_90"] = (
            round(recovery[int(0.9 * (len(recovery) - 1))], 2) if recovery else None
        )
        found["recovery_seconds_max"] = round(recovery[-1], 2) if recovery else None
        return {**found, "seconds": round(seconds, 1)}


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs rounds of three crawls of new sites each, until the wanted number of kills is reached
    and their runs have ended. Returns the totals (`Tally.result`). They are stored in the folder
    after each round; if the folder has totals of an earlier call, these are continued."""
    began = time.monotonic()
    if options["nodes"] and options["database"] != "postgresql":
        raise CommandError("--nodes needs --database postgresql: SQLite serves one machine")
    folder = Path(options["folder"] or tempfile.mkdtemp(prefix="crawlmgr-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"tally-{options['database']}.json"
    tally = Tally(**json.loads(kept.read_text())) if kept.exists() else Tally()
    if tally.kills >= options["kills"]:
        return tally.result(0.0)
    work = Path(tempfile.mkdtemp(prefix="installation-", dir=folder))
    (work / "data").mkdir()
    place = Place(work, options["database"], options["nodes"])
    try:
        place.start()
        _wait(
            place.healthy,
            STUCK_SECONDS * 2,
            f"serve did not become healthy; see {work / 'serve.log'}",
        )
        if place.fleet is not None:
            place.fleet.start()
            _wait(
                lambda: _beating(place) == options["nodes"],
                STUCK_SECONDS * 2,
                f"nodes did not start to work; see {work}",
            )
        while tally.kills < options["kills"]:
            _Round(place, tally, options).work()
            beside = kept.with_suffix(".part")
            beside.write_text(json.dumps(asdict(tally)))
            beside.replace(kept)
    finally:
        place.stop()
        shutil.rmtree(folder if not options["folder"] else work / "data", ignore_errors=True)
    return tally.result(time.monotonic() - began)


def _wait(condition: Callable[[], Any], seconds: float, otherwise: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(otherwise)
        time.sleep(0.1)


def _beating(place: Place) -> int:
    """Returns the number of additional nodes that have sent a heartbeat since their start; the node
    of `serve` does not count."""
    return int(
        place.rows(
            "SELECT COUNT(*) FROM crawlmgr_node WHERE heartbeat >= started AND name LIKE 'soak-%'"
        )[0][0]
    )


class _Round:
    """Three simultaneous crawls during which processes are killed, until the crawls have ended or
    enough kills were made. Then the stored data is compared with the contents of the sites."""

    def __init__(self, place: Place, tally: Tally, options: dict[str, Any]) -> None:
        self.place, self.tally, self.options = place, tally, options
        # what is killed when
        self.draw = random.Random(f"{options['seed']} {tally.rounds}")
        self.wanted = min(KILLS_A_ROUND, options["kills"] - tally.kills)
        share = max(0.1, self.wanted / KILLS_A_ROUND)
        self.sites = Sites(
            datetime.now(UTC), tally.rounds + 1, max(2, int(20 * share)), 0.15 * share
        )
        self.beside = beside.Beside()
        self.made = 0

    def work(self) -> None:
        """Starts the crawls, kills processes, waits for the end of the crawls, and adds the results
        to the totals."""
        with self.sites.served(), self.beside.served():
            began = time.monotonic()
            started = child.call(
                begun,
                self.tally.rounds + 1,
                self.sites.urls,
                self.beside.seeds,
                environment=self.place.environment,
            )
            self.runs: dict[str, int] = started["runs"]
            say(
                f"round {self.tally.rounds + 1}: three crawls begun after"
                f" {time.monotonic() - began:.0f} s"
            )
            with self.place.readers(self.options["clients"], started["session"]) as counts:
                self._kill()
                self._drain()
            for status, count in counts.items():
                self.tally.desk[status] = self.tally.desk.get(status, 0) + count
            self._count()
            self.tally.problems += self.beside.problems(self.place, started["beside"], self.made)
        self.tally.rounds += 1

    def _kill(self) -> None:
        while self.made < self.wanted and self._active():
            victim = self.draw.choice(kinds(self.options["database"], self.options["nodes"]))
            time.sleep(self.draw.uniform(0.0, 1.0))
            before = self._progress()
            if not self.place.kill(victim, self.draw):
                continue
            at = time.monotonic()
            self.made += 1
            self.tally.kills += 1
            self.tally.by_victim[victim] = self.tally.by_victim.get(victim, 0) + 1
            if self.draw.random() < HASTE:
                say(f"kill {self.tally.kills}: {victim}, and continued at once")
                continue
            over = self._recovered(before, at)
            self.tally.recovery.append(over)
            say(f"kill {self.tally.kills}: {victim}, recovered in {over:.1f} s; {self._progress()}")

    def _recovered(self, before: dict[int, int], at: float) -> float:
        """Waits until every run in `before` has made progress or ended and the health check
        succeeds, at most STUCK_SECONDS. Returns the seconds since `at`."""
        while time.monotonic() - at < STUCK_SECONDS:
            after = self._progress()
            if (
                all(after.get(run, -1) != pages for run, pages in before.items())
                and self.place.healthy()
            ):
                break
            time.sleep(0.1)
        return time.monotonic() - at

    def _drain(self) -> None:
        seen, changed = self._progress(), time.monotonic()
        while seen and time.monotonic() - changed < STUCK_SECONDS:
            time.sleep(0.5)
            now = self._progress()
            if now != seen:
                seen, changed = now, time.monotonic()
        self.tally.wedged += len(seen)
        self.tally.problems += [
            f"run {run} is stuck at {requests} requests" for run, requests in seen.items()
        ]

    def _active(self) -> bool:
        return bool(self._progress())

    def _progress(self) -> dict[int, int]:
        """Returns the number of requests of each unfinished run of this round, by the run's id."""
        ids = ", ".join(map(str, self.runs.values()))
        query = (
            f"SELECT id, requests FROM crawlmgr_run WHERE id IN ({ids}) AND state IN "  # noqa: S608
            f"('queued', 'running')"
        )
        return dict(self.place.rows(query))

    def _count(self) -> None:
        rows, runs = self.place.rows, self.runs
        for name, most in self.sites.most_at_once.items():
            self.tally.most_at_once = max(self.tally.most_at_once, most)
            if most > 1:
                self.tally.problems.append(f"{name}: {most} requests at once")
        for name, pk in runs.items():
            state, reason, detail = rows(
                f"SELECT state, stopped_by, detail FROM crawlmgr_run WHERE id = {pk}"  # noqa: S608
            )[0]
            if state not in ("finished", "queued", "running"):
                self.tally.failed += 1
                self.tally.problems.append(f"{name}: {state} {reason} {detail}"[:300])
            left = rows(
                f"SELECT url, reason FROM crawlmgr_url WHERE run_id = {pk}"  # noqa: S608
                " AND state IN (0, 1, 3)"
            )
            self._differ(f"{name}: unfinished addresses", {url for url, _ in left}, Counter())
        posts = rows(
            "SELECT t.url, p.post_id FROM forums_post p JOIN forums_thread t ON "  # noqa: S608
            "t.id = "
            "p.thread_id"
            f" WHERE t.url LIKE '{self.sites.urls['forum']}%'"
        )
        found = Counter((number(url), int(post.removeprefix("p"))) for url, post in posts)
        self._differ("posts", self.sites.posts() - set(found), found)
        pages = rows(
            f"SELECT url FROM focused_topicpage WHERE run_id = {runs['topic']}"  # noqa: S608
            " AND kind IN (0, 2)"
        )
        found = Counter(n for (url,) in pages if (n := number(url)) or "/pages/" in url)
        self._differ("pages of the topic", self.sites.reachable() - set(found), found)
        answers = rows(
            f"SELECT url FROM crawlmgr_page WHERE run_id = {runs['museum']} AND url "  # noqa: S608
            f"LIKE "
            f"'%/search?%' AND status = 200"
        )
        records = rows(
            "SELECT url FROM deepweb_record"  # noqa: S608
            f" WHERE url LIKE '{self.sites.urls['museum']}%'"
        )
        found = Counter(number(url) for (url,) in records)
        self._differ("records", self.sites.records(url for (url,) in answers) - set(found), found)
        for name, pk in runs.items():
            counted, stored = rows(
                "SELECT fetched, (SELECT COUNT(*) FROM crawlmgr_page "  # noqa: S608
                f"WHERE run_id = {pk}) "
                f"FROM "
                f"crawlmgr_run WHERE id = {pk}"
            )[0]
            if counted != stored:
                self.tally.problems.append(f"{name}: {counted} pages counted, {stored} stored")

    def _differ(self, what: str, lost: set[Any], found: Counter[Any]) -> None:
        doubled = sum(found.values()) - len(found)
        self.tally.lost += len(lost)
        self.tally.doubled += doubled
        if lost or doubled:
            some = sorted(map(str, lost))[:3]
            self.tally.problems.append(
                f"round {self.tally.rounds + 1}, {what}: {len(lost)} lost {some}, {doubled} doubled"
            )


def table(result: dict[str, Any]) -> str:
    """Formats the totals and the problems found as text."""
    names = (
        "kills",
        "lost",
        "doubled",
        "failed",
        "wedged",
        "recovery_seconds",
        "recovery_seconds_max",
    )
    rows = [[result[name] for name in names]]
    return "\n".join([text_table(names, rows), *result["problems"]])


def _session() -> str:
    """Makes a login session of the first administrator and returns its key."""
    user = get_user_model()._default_manager.filter(is_superuser=True).order_by("pk").first()
    assert user is not None
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return str(store.session_key)


def begun(number: int, urls: dict[str, str], hostile: list[str]) -> dict[str, Any]:
    """Inspects and saves the site of each kind at `urls`, queues a crawl of each, and one of the
    pages `hostile`. Returns the ids of the runs ("runs"), that of the last ("beside"), and the key
    of a login session ("session"). `number` is the number of the benchmark's round."""
    runs = {name: begin(urls[name], number) for name, begin in BEGINNINGS.items()}
    return {"runs": runs, "beside": beside.begin(hostile, number), "session": _session()}
