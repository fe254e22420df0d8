"""Inserts generated rows for `bench desk`: forums with boards, threads, posts, visits and plans."""

from __future__ import annotations

from datetime import timedelta

from crawlmgr.models import Run
from forums.models import (
    Board,
    BoardHour,
    EventLog,
    Plan,
    PlannedVisit,
    Post,
    Simulation,
    Site,
    SiteLogin,
    StructureVersion,
    Thread,
    Visit,
)
from tests.benches.desk.bulk import Sizes, Sql, ago, insert

BOARDS = 20  # number of boards per forum
POSTS = 2  # posts per thread: a million threads for two million posts
# share of all threads that are in the first board; DEEP / 10 is the share of all posts that are in
# its first thread
DEEP = 0.1
HOURS = 60  # number of recent hours in which each board has posts
DAY = 86_400


def fill(sizes: Sizes) -> None:
    """Inserts forums with boards of equal size, except that the first board of the first forum and
    its first thread are large."""
    now, forums = sizes.now, sizes.forums
    boards, threads = forums * BOARDS, sizes.posts // POSTS
    insert(
        Site,
        forums,
        id=Sql("i + 1"),
        name=Sql("printf('Forum %03d', i)"),
        url=Sql("printf('http://host%05d.example/', i)"),
        url_hash=Sql("i + 1"),
        host_id=Sql("i + 1"),
        engine="phpbb",
        added=now - timedelta(days=700),
        threads=threads // forums,
        posts=sizes.posts // forums,
        version=1,
        structure={"engine": "phpbb", "root": "http://host.example/"},
    )
    insert(
        StructureVersion,
        forums,
        site_id=Sql("i + 1"),
        number=1,
        at=now - timedelta(days=700),
        origin="learned",
        structure={"engine": "phpbb"},
    )
    insert(
        SiteLogin,
        1,
        site_id=1,
        method="form",
        address="http://host00000.example/login",
        state="",
        changed_at=now,
    )
    insert(
        Board,
        boards,
        id=Sql("i + 1"),
        site_id=Sql(f"1 + i / {BOARDS}"),
        name=Sql("printf('Board %d', i)"),
        key=Sql("printf('b%d', i)"),
        url=Sql(f"printf('http://host%05d.example/f%d', i / {BOARDS}, i)"),
        position=Sql(f"i % {BOARDS}"),
        next_visit=ago("0 - 60 * (i % 600)", now),
        last_visit=ago("60 * (i % 600)", now),
        complete_at=ago("60 * (i % 600)", now),
        watched_since=now - timedelta(days=90),
        threads=threads // boards,
        posts=sizes.posts // boards,
    )
    first = int(threads * DEEP)
    board = Sql(f"CASE WHEN i < {first} THEN 1 ELSE 1 + i % {boards} END")
    at = ago(f"CAST(i * {700 * DAY / threads} AS INTEGER)", now)
    insert(
        Thread,
        threads,
        id=Sql("i + 1"),
        site_id=Sql(f"CASE WHEN i < {first} THEN 1 ELSE 1 + (i % {boards}) / {BOARDS} END"),
        board_id=board,
        key=Sql("printf('t%d', i)"),
        url=Sql("printf('http://host.example/t%d', i)"),
        title=Sql("printf('What about number %d?', i)"),
        author=Sql("printf('user%d', i % 977)"),
        last_reply=at,
        created=at,
        first_seen=at,
        fetched_at=at,
        replies=POSTS - 1,
        posts=POSTS,
    )
    deep = int(sizes.posts * DEEP / 10)
    insert(
        Post,
        sizes.posts,
        thread_id=Sql(f"CASE WHEN i < {deep} THEN 1 ELSE 1 + i / {POSTS} END"),
        key=Sql("printf('p%d', i)"),
        post_id=Sql("printf('%d', i)"),
        page=Sql(f"CASE WHEN i < {deep} THEN 1 + i / 20 ELSE 1 END"),
        position=Sql(f"CASE WHEN i < {deep} THEN i % 20 ELSE i % {POSTS} END"),
        author=Sql("printf('user%d', i % 977)"),
        posted=ago(f"CAST(i * {700 * DAY / sizes.posts} AS INTEGER)", now),
        first_seen=now,
        text=Sql(
            "printf('Post number %d says a few words about this and that, as posts do, and then it"
            " ends.', i)"
        ),
    )
    insert(
        BoardHour,
        boards * HOURS,
        board_id=Sql(f"1 + i / {HOURS}"),
        hour=ago(f"36000 * (i % {HOURS})", now.replace(minute=0, second=0, microsecond=0)),
        threads=1,
        replies=Sql("1 + i % 5"),
    )
    _visits(sizes, boards)
    _plans(sizes, boards)


def _visits(sizes: Sizes, boards: int) -> None:
    """Inserts the visits: one for each run of a forum; every twentieth is of the first board."""
    at = ago(f"({sizes.runs} - i) * {2 * 365 * DAY // sizes.runs}", sizes.now)
    insert(
        Visit,
        sizes.runs,
        board_id=Sql(f"CASE WHEN i % 20 = 0 THEN 1 ELSE 1 + (i * 31) % {boards} END"),
        run_id=Sql("i + 1"),
        started=at,
        finished=at,
        complete=True,
        stopped_by="watermark",
        list_pages=1,
        requests=3,
        bytes=90_000,
        new=1,
        updated=2,
        unchanged=40,
        fetched=3,
        changed=3,
        posts_new=4,
        arrived_new=1,
        arrived_replies=3,
        delay_new_seconds=900.0,
        delay_replies_seconds=2_400.0,
        arrivals=Sql(
            f"printf('[[%d, 1, 900.0]]', {int(sizes.now.timestamp())} - ({sizes.runs} - i) *"
            f" {2 * 365 * DAY // sizes.runs} - 900)"
        ),
    )


def _plans(sizes: Sizes, boards: int) -> None:
    now = sizes.now
    insert(
        Plan,
        1,
        id=1,
        scope="site 1",
        site_id=1,
        policy="optimal",
        visits_per_day=80,
        changed_at=now,
        stale="",
        ranked_at=now,
    )
    insert(
        Plan,
        1,
        id=2,
        scope="all",
        policy="optimal",
        visits_per_day=4 * boards,
        changed_at=now,
        stale="",
        ranked_at=now,
    )
    insert(
        PlannedVisit,
        boards * 10,
        plan_id=Sql(f"CASE WHEN i % {boards} < {BOARDS} THEN 1 ELSE 2 END"),
        board_id=Sql(f"1 + i % {boards}"),
        at=ago(f"(i / {boards} - 2) * 20000 + i % {boards}", now),
        state=Sql(f"CASE WHEN i / {boards} < 2 THEN 'planned' ELSE 'started' END"),
        code="rhythm",
        expected_events=1.0,
        expected_delay=2.0,
    )
    insert(
        EventLog,
        20,
        id=Sql("i + 1"),
        name=Sql("printf('log %d', i)"),
        file=Sql("printf('%d.csv', i)"),
        boards=3,
        events=99,
        first=now,
        last=now,
        added=now,
    )
    setup = {
        "policies": ["era"],
        "visits_per_board": [4],
        "start": "2026-01-01",
        "timezone": "UTC",
        "theta": 0.5,
        "history_days": 20,
        "test_days": 5,
    }
    setup |= {"reading": "cyclic", "bins": 24, "min_events": 0, "target_hours": 1}
    insert(
        Simulation,
        40,
        id=Sql("i + 1"),
        kind="schedules",
        log_id=Sql("1 + i % 20"),
        setup=setup,
        total=1,
        done=1,
        created=now,
        result={"rows": []},
    )
    site = {
        "name": "Forum",
        "url": "http://host00000.example/",
        "engine": "phpbb",
        "timezone": "UTC",
        "timezone_evidence": "given",
    }
    insert(
        Run,
        1,
        id=sizes.runs + 1,
        kind="forum-discovery",
        label="Forum",
        target=1,
        state="finished",
        stopped_by="boards_found",
        created=now,
        started=now,
        finished=now,
        parameters={"url": site["url"], "settings": {}},
        result={"progress": {}, "site": site, "boards": [], "structure": {}, "problem": ""},
    )


def arguments(sizes: Sizes) -> dict[str, dict[str, object]]:
    """Returns the URL arguments with which `bench desk` opens the views of one object, by view
    name."""
    of_site = [
        "forum",
        "forum-delete",
        "forum-correct",
        "forum-login",
        "forum-edit",
        "forum-tree",
        "forum-model",
        "forum-plan",
        "forum-tuning",
        "forum-delays",
    ]
    found: dict[str, dict[str, object]] = {
        name: {"pk": 1} for name in [*of_site, "board", "thread", "simulation"]
    }
    return {
        **found,
        "forum-found": {"pk": sizes.runs + 1},
        "forum-delays-export": {"pk": 1, "table": "boards"},
        "simulation-export": {"pk": 1, "fmt": "csv"},
    }


QUERIES = {
    "forum": ("part=live", "page=2"),
    "board": (
        "last",
        "visits=1",
        "sort=replies",
        "sort=-posts",
        "sort=created",
        "q=number+77",
        "show=gone",
    ),
    "boards": (
        "sort=posts",
        "sort=next_visit",
        "site=1&sort=last_visit",
        "show=late",
        "q=board",
        "q=nowhere",
    ),
    "threads": (
        "last",
        "sort=first_seen",
        "site=1",
        "site=1&last",
        "q=number+77",
        "show=pending",
        "show=gone&site=1",
    ),
    "posts": ("last", "sort=posted", "sort=-posted"),
    "thread": ("last",),
    "forums": ("last",),
    "forum-plan": ("board=1",),
    "forum-delays": ("days=90",),
}
"""Further query strings with which `bench desk` measures views, by view name."""
