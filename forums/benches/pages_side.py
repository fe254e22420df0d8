"""One measurement of `bench pages`: fills an installation with a forum of a given number of posts,
opens its pages and times them."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from datetime import UTC, datetime, timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 - Django has to be set up first
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from crawlmgr.models import Run  # noqa: E402
from crawlmgr.services import hosts, runs  # noqa: E402
from forums.models import Board, BoardHour, Post, Site, Thread, Visit  # noqa: E402

BOARDS = 20
POSTS_A_THREAD = 20
HOURS = 30 * 24
VISITS = 120


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


def main(posts: int, rounds: int) -> None:
    """Fills the installation, then opens each page; prints median seconds and number of queries of
    each as JSON."""
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)
    fill(posts)
    # in a folder deleted afterwards
    get_user_model().objects.create_superuser("bench", password="bench-bench-1")  # noqa: S106
    client = Client()
    # password of the account made above
    client.login(username="bench", password="bench-bench-1")  # noqa: S106
    thread = Thread.objects.order_by("-last_reply").first()
    assert thread is not None  # noqa: S101 - filled above
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
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
