"""`bench pages`: compares the seconds that a forum's pages in the web interface take with many
posts and with few."""

from __future__ import annotations

import statistics
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crawlmgr.frontier import hosts
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from crawlmgr.models import Run
from crawlmgr.runs import runs
from forums.models import Board, BoardHour, Post, Site, Thread, Visit
from tests.benches.child import answer_of

BOARDS = 20
POSTS_A_THREAD = 20
HOURS = 30 * 24
VISITS = 120


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--few", type=int, default=2_000, help="posts of the small installation (default 2000)"
    )
    parser.add_argument(
        "--many", type=int, default=200_000, help="posts of the large one (default 200000)"
    )
    parser.add_argument("--rounds", type=int, default=15, help="openings of each page (default 15)")


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures two installations with few and many posts, each in a process of its own; returns the
    two numbers of posts and, as `pages`, for each page its median seconds and number of queries in
    both, and the ratio of the seconds (many to few posts)."""
    sides = {}
    for name in ("few", "many"):
        say(f"{options[name]} posts")
        sides[name] = answer_of(opened, options[name], options["rounds"])
    rows = [
        {
            "page": page,
            "few_seconds": few["seconds"],
            "many_seconds": sides["many"][page]["seconds"],
            "ratio": sides["many"][page]["seconds"] / few["seconds"],
            "few_queries": few["queries"],
            "many_queries": sides["many"][page]["queries"],
        }
        for page, few in sides["few"].items()
    ]
    return {"few": options["few"], "many": options["many"], "pages": rows}


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each page."""
    rows = [
        (
            r["page"],
            *(round(r[key], 4) for key in ("few_seconds", "many_seconds", "ratio")),
            r["few_queries"],
            r["many_queries"],
        )
        for r in result["pages"]
    ]
    head = (
        "page",
        f"s, {result['few']} posts",
        f"s, {result['many']} posts",
        "ratio",
        "queries",
        "queries (many)",
    )
    return text_table(head, rows)


def fill(posts: int) -> None:
    """Inserts a forum of twenty boards with `posts` posts in all, twenty per thread, and visits
    every six hours."""
    now = datetime.now(UTC)
    site = Site.objects.create(
        name="Bench",
        url="http://bench.example/",
        url_hash=1,
        host_id=hosts.host_id("bench.example"),
        added=now,
        posts=posts,
    )
    boards = [
        Board(
            site=site, name=f"Board {n}", url=f"http://bench.example/b/{n}", key=str(n), position=n
        )
        for n in range(BOARDS)
    ]
    Board.objects.bulk_create(boards)
    threads = [
        Thread(
            site=site,
            board=boards[n % BOARDS],
            key=str(n),
            url=f"http://bench.example/t/{n}",
            title=f"Thread {n}",
            first_seen=now,
            last_reply=now - timedelta(minutes=n),
            replies=POSTS_A_THREAD - 1,
            posts=POSTS_A_THREAD,
            fetched_at=now,
        )
        for n in range(max(1, posts // POSTS_A_THREAD))
    ]
    Thread.objects.bulk_create(threads, batch_size=2000)
    for start in range(0, posts, 5000):
        rows = [
            Post(
                thread=threads[n // POSTS_A_THREAD % len(threads)],
                key=str(n),
                page=1 + n % POSTS_A_THREAD // 10,
                position=n % 10,
                author="anna",
                posted=now - timedelta(minutes=n / 4),
                text="A post of some length. " * 12,
                first_seen=now,
            )
            for n in range(start, min(posts, start + 5000))
        ]
        Post.objects.bulk_create(rows, batch_size=2000)
    last = now.replace(minute=0, second=0, microsecond=0)
    step = max(
        1, BOARDS * HOURS // posts
    )  # both forums span the same time; the small one has posts in fewer hours
    hours = [
        BoardHour(board=b, hour=last - timedelta(hours=h), replies=2)
        for b in boards
        for h in range(0, HOURS, step)
    ]
    BoardHour.objects.bulk_create(hours, batch_size=5000)
    for number in range(VISITS):
        at = now - timedelta(hours=6 * number)
        run = runs.create("forum", "Bench", target=site.pk, parameters={}, now=at, start=False)
        Run.objects.filter(pk=run.pk).update(state="finished", stopped_by="complete", finished=at)
        Visit.objects.bulk_create(
            [
                Visit(run=run, board=b, started=at, finished=at, complete=True, new=2, updated=3)
                for b in boards
            ]
        )


def opened(posts: int, rounds: int) -> dict[str, Any]:
    """Fills this process's installation, then opens each page; returns median seconds and number of
    queries of each."""
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)
    fill(posts)
    # in a folder deleted afterwards
    get_user_model().objects.create_superuser("bench", password="bench-bench-1")
    client = Client()
    # password of the account made above
    client.login(username="bench", password="bench-bench-1")
    thread = Thread.objects.order_by("-last_reply").first()
    assert thread is not None
    pages = {
        "home": "/admin/",
        "forum": f"/admin/forums/site/{thread.site_id}/",
        "board": f"/admin/forums/board/{thread.board_id}/",
        "thread": f"/admin/forums/thread/{thread.pk}/",
        "runs": "/admin/runs/",
    }
    result = {}
    for name, path in pages.items():
        seconds = []
        for _ in range(rounds + 1):
            began = time.perf_counter()
            answer = client.get(path, headers={"host": "127.0.0.1"})
            body = b"".join(answer) if answer.streaming else answer.content
            seconds.append(time.perf_counter() - began)
            if answer.status_code != 200 or not body:
                sys.exit(f"{path} answered {answer.status_code}")
        with CaptureQueriesContext(connection) as queries:
            client.get(path, headers={"host": "127.0.0.1"})
        result[name] = {"seconds": statistics.median(seconds[1:]), "queries": len(queries)}
    return result
