"""Creates any number of rows of every kind for tests of the web interface; their names contain
markup that must be escaped."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client

from crawlmgr.models import Event, Host, HostHour, Node, Page, Run, RunHost, Url, WarcFile
from forums.models import (
    Board,
    BoardHour,
    EventLog,
    Plan,
    PlanDay,
    PlannedVisit,
    Post,
    Simulation,
    Site,
    SiteLogin,
    StructureVersion,
    Thread,
    Visit,
)

NOW = datetime.now(UTC).replace(microsecond=0)
SOON = NOW + timedelta(days=1)  # never overdue, however long the tests take
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> 煮酒"
EVIL_URL = "javascript:alert(document.domain)//"


def user(role: str) -> User:
    """Creates a user with a role ("none" for no role), or the first administrator if `role` is
    "first"."""
    if role == "first":
        return User.objects.create_superuser("first", password="a-long-password")
    made = User.objects.create_user(role, password="a-long-password", is_staff=True)
    if role != "none":
        made.groups.add(Group.objects.get(name=role))
    return made


def site(number: int = 1, url: str = "https://forum.example/") -> Site:
    host, _made = Host.objects.get_or_create(key=f"forum{number}.example")
    return Site.objects.create(
        name=f"{EVIL} {number}",
        url=url,
        url_hash=number,
        host=host,
        timezone="Asia/Shanghai",
        added=NOW,
    )


def world(count: int) -> dict[str, int]:
    """Creates `count` rows of each kind in one site, board, thread, run and host; returns their
    keys."""
    forum = site(0, EVIL_URL)
    more = [
        Host(key=f"{number:05}.example", robots_text=EVIL, last_error=EVIL, failures=1)
        for number in range(count)
    ]
    hosts = [forum.host, *Host.objects.bulk_create(more)]
    _forums(forum, count)
    run = _runs(forum, count)
    board = Board.objects.filter(site=forum).order_by("position", "id")[0]
    _threads(forum, board, count)
    boards = Board.objects.filter(site=forum)
    Visit.objects.bulk_create(
        Visit(board=one, run=run, started=NOW, stopped_by=EVIL[:60]) for one in boards
    )
    others = Run.objects.filter(kind="forum", state="finished").order_by("id")[:count]
    Visit.objects.bulk_create(
        Visit(
            board=board,
            run=one,
            started=NOW - timedelta(hours=place),
            finished=NOW,
            stopped_by="watermark",
            new=3,
        )
        for place, one in enumerate(others)
    )
    file = WarcFile.objects.create(name="one.warc.gz", run=run, created=NOW)
    WarcFile.objects.bulk_create(
        WarcFile(name=f"{number}.warc.gz", run=run, created=NOW) for number in range(count)
    )
    Page.objects.bulk_create(
        Page(
            run=run,
            host=forum.host,
            key_hash=number,
            url=EVIL_URL + EVIL,
            url_hash=7,
            title=EVIL,
            status=200,
            content_type=EVIL[:90],
            fetched_at=NOW - timedelta(seconds=number),
            warc=file,
            warc_offset=number,
        )
        for number in range(count)
    )
    Url.objects.bulk_create(
        Url(
            run=run,
            host=forum.host,
            key_hash=number,
            url=EVIL_URL,
            state=3,
            reason=EVIL,
            added_at=NOW,
            ended_at=NOW,
        )
        for number in range(count)
    )
    RunHost.objects.bulk_create(RunHost(run=run, host=host) for host in hosts)
    HostHour.objects.bulk_create(
        HostHour(host=host, hour=NOW.replace(minute=0, second=0), requests=9, bytes=9)
        for host in hosts
    )
    Event.objects.bulk_create(
        Event(at=NOW, level=40, code="run_failed", text=EVIL, run=run, host=hosts[-1])
        for _ in range(count)
    )
    Node.objects.bulk_create(
        Node(
            name=f"node {number} {EVIL}",
            label=EVIL[:60],
            started=NOW,
            heartbeat=NOW,
            workers=2,
            minutes=[[29_000_000, 7]],
        )
        for number in range(count)
    )
    _plans(forum, list(boards), count)
    simulation = _simulations(count)
    thread = Thread.objects.filter(board=board).order_by("id")[0]
    page = Page.objects.order_by("id")[0]
    return {
        "site": forum.pk,
        "board": board.pk,
        "thread": thread.pk,
        "run": run.pk,
        "host": forum.host_id,
        "file": file.pk,
        "page": page.pk,
        "simulation": simulation.pk,
        "node": Node.objects.order_by("id")[0].pk,
        "discovery": Run.objects.get(kind="forum-discovery", target=1).pk,
    }


def _forums(forum: Site, count: int) -> None:
    Site.objects.bulk_create(
        Site(
            name=f"{EVIL} {number}",
            url=EVIL_URL,
            url_hash=1000 + number,
            host=forum.host,
            added=NOW,
        )
        for number in range(count)
    )
    Board.objects.bulk_create(
        Board(
            site=forum,
            name=f"{EVIL} {number}",
            url=EVIL_URL,
            key=str(number),
            position=number,
            next_visit=SOON,
            last_visit=NOW,
        )
        for number in range(count)
    )
    Board.objects.bulk_create(
        Board(site=one, name="x", url="x", key="x", next_visit=SOON)
        for one in Site.objects.exclude(pk=forum.pk)
    )

    StructureVersion.objects.bulk_create(
        StructureVersion(
            site=forum, number=number, at=NOW, origin="edited", changes=[["timezone", EVIL, EVIL]]
        )
        for number in range(1, count + 1)
    )
    told = {
        "at": NOW.isoformat(),
        "kind": EVIL,
        "reasons": [EVIL],
        "roles": [EVIL],
        "state": "disagrees",
        "verdict": [EVIL],
        "version": 1,
    }
    Site.objects.filter(pk=forum.pk).update(
        layout=told, rules={"kinds": {}, "addresses": [["x<y", "thread"]]}
    )
    SiteLogin.objects.create(
        site=forum,
        method="form",
        address=EVIL_URL,
        state="failed",
        reason=EVIL[:60],
        changed_at=NOW,
    )


def _runs(forum: Site, count: int) -> Run:
    Run.objects.bulk_create(
        Run(
            kind="forum",
            label=EVIL[:200],
            target=forum.pk,
            state="finished",
            stopped_by=EVIL[:60],
            created=NOW,
            finished=NOW,
            new=number + 1,
        )
        for number in range(count)
    )
    Run.objects.bulk_create(
        Run(
            kind="forum",
            label=EVIL,
            target=one.pk,
            state="queued",
            exclusive=f"forum {one.pk}",
            created=NOW,
        )
        for one in Site.objects.exclude(pk=forum.pk)
    )
    boards = [
        {
            "name": EVIL,
            "url": f"{EVIL_URL}{number}",
            "parent_url": None,
            "position": number,
            "threads_seen": 3,
            "has_last_reply": True,
            "sort": "",
            "rows": [
                {
                    "title": EVIL,
                    "url": EVIL_URL,
                    "author": EVIL,
                    "replies": 1,
                    "last_reply": None,
                    "pinned": True,
                }
            ],
        }
        for number in range(count)
    ]
    about = {
        "name": EVIL,
        "url": "https://forum.example/",
        "engine": EVIL,
        "timezone": "Asia/Shanghai",
        "timezone_evidence": EVIL,
    }
    result = {
        "progress": {"fetched": 3, "wanted": 0, "found": count},
        "site": about,
        "boards": boards,
        "structure": {},
        "problem": "",
    }
    Run.objects.create(
        kind="forum-discovery",
        label=EVIL_URL,
        target=1,
        state="finished",
        stopped_by="boards_found",
        created=NOW,
        started=NOW,
        finished=NOW,
        result=result,
        parameters={"url": "https://forum.example/", "settings": {}},
    )
    return Run.objects.create(
        kind="forum",
        label=EVIL,
        target=forum.pk,
        state="running",
        created=NOW,
        started=NOW,
        lease_until=NOW + timedelta(hours=1),
        waiting_for=EVIL,
        detail=EVIL,
        parameters={"evil": EVIL},
    )


def _threads(forum: Site, board: Board, count: int) -> None:
    Thread.objects.bulk_create(
        Thread(
            site=forum,
            board=board,
            key=str(number),
            url=EVIL_URL,
            title=EVIL,
            author=EVIL,
            first_seen=NOW,
            last_reply=NOW - timedelta(minutes=number) if number % 3 else None,
            pinned=number < 2,
        )
        for number in range(count)
    )
    thread = Thread.objects.filter(board=board).order_by("id")[0]
    Post.objects.bulk_create(
        Post(
            thread=thread,
            key=str(number),
            page=1 + number // 20,
            position=number % 20,
            author=EVIL,
            text=EVIL,
            url=EVIL_URL,
            first_seen=NOW,
            posted=NOW,
            edited_at=NOW,
            gone_at=NOW,
        )
        for number in range(count)
    )
    BoardHour.objects.bulk_create(
        BoardHour(board=one, hour=NOW.replace(minute=0, second=0), threads=1, replies=2)
        for one in Board.objects.filter(site=forum)
    )


def _plans(forum: Site, boards: list[Board], count: int) -> None:
    """Creates a timetable with planned and made visits and the days on which it was planned, and a
    plan for all forums."""
    plan = Plan.objects.create(
        scope=f"site {forum.pk}",
        site=forum,
        policy="optimal",
        visits_per_day=4 * count,
        changed_at=NOW,
        stale="",
    )
    Plan.objects.get_or_create(
        scope="all",
        defaults={"policy": "era", "visits_per_day": 9, "changed_at": NOW, "stale": EVIL[:20]},
    )
    figures = {
        "from_hour": 1,
        "to_hour": 2,
        "per_hour": 3.0,
        "previous": NOW.isoformat(),
        "hours_since": 4,
    }
    PlannedVisit.objects.bulk_create(
        PlannedVisit(
            plan=plan,
            board=board,
            at=NOW + timedelta(minutes=sign * (number + 60)),
            state="planned" if sign > 0 else "started",
            figures=figures,
            code=EVIL[:20] if number % 2 else "rhythm",
            pinned=number % 3 == 0,
            expected_events=1.0,
            expected_delay=2.0,
        )
        for number, board in enumerate(boards)
        for sign in (1, -1)
    )
    PlanDay.objects.bulk_create(
        PlanDay(
            plan=plan,
            day=(NOW - timedelta(days=number)).date(),
            made_at=NOW,
            reason=EVIL[:20],
            policy="optimal",
            visits_per_day=9,
            theta=0.5,
            basis="history",
            known_days=9.0,
            boards=count,
            boards_known=count,
            expected_delay=1.0,
            era_delay=2.0,
        )
        for number in range(count)
    )


def _simulations(count: int) -> Simulation:
    """Creates event files and failed simulations of them."""
    EventLog.objects.bulk_create(
        EventLog(
            name=EVIL,
            file=f"{number}.csv",
            boards=1,
            events=9,
            first=NOW,
            last=NOW,
            bad_rows=1,
            bad_first=[[2, EVIL]],
            added=NOW,
        )
        for number in range(count)
    )
    log = EventLog.objects.order_by("-id")[0]
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
    Simulation.objects.bulk_create(
        Simulation(
            kind="schedules",
            log=log,
            setup=setup,
            total=2,
            created=NOW,
            problem=EVIL,
            result={"rows": []},
        )
        for _ in range(count)
    )
    return Simulation.objects.order_by("-id")[0]


def page_addresses(keys: dict[str, int]) -> list[str]:
    """Returns addresses of the views, including those that return only the refreshed part of a page
    (`part=live`)."""
    site_, board, thread = keys["site"], keys["board"], keys["thread"]
    return [
        "/admin/",
        "/admin/?part=live",
        "/admin/status.json",
        "/admin/runs/",
        "/admin/runs/?show=active&kind=forum",
        f"/admin/runs/{keys['run']}/",
        f"/admin/runs/{keys['run']}/?part=live",
        "/admin/hosts/",
        "/admin/hosts/?q=exa&show=failing",
        f"/admin/hosts/{keys['host']}/?url=/x",
        "/admin/archive/",
        "/admin/archive/?url=https://forum.example/",
        f"/admin/archive/files/{keys['file']}/",
        f"/admin/archive/pages/{keys['page']}/",
        "/admin/workers/",
        "/admin/workers/?part=live",
        f"/admin/workers/{keys['node']}/",
        "/admin/events/",
        "/admin/events/?show=errors",
        "/admin/forums/",
        f"/admin/forums/site/{site_}/",
        f"/admin/forums/site/{site_}/model/",
        f"/admin/forums/site/{site_}/login/",
        f"/admin/forums/site/{site_}/correct/?kind=thread",
        f"/admin/forums/site/{site_}/?part=live",
        f"/admin/forums/board/{board}/",
        f"/admin/forums/board/{board}/?visits=1",
        f"/admin/forums/site/{site_}/plan/",
        f"/admin/forums/site/{site_}/tuning/",
        f"/admin/forums/site/{site_}/delays/",
        "/admin/forums/site/0/plan/",
        "/admin/forums/site/0/tuning/",
        "/admin/forums/simulations/",
        f"/admin/forums/simulations/{keys['simulation']}/",
        f"/admin/forums/board/{board}/?last=1",
        f"/admin/forums/thread/{thread}/",
        f"/admin/forums/tree/{site_}/",
        f"/admin/forums/add/{keys['discovery']}/",
    ]


def tight(answer: Any) -> str:
    """Returns the HTML of a response without what only the line breaks of its templates make: white
    space beside tags, and more than one space in a row."""
    return re.sub(r" (?=<)|(?<=>) ", "", re.sub(r"\s+", " ", answer.content.decode()))


def walk(client: Client, query: str, where: str = "/admin/runs/", most: int = 20) -> list[int]:
    """Returns the ids of all rows of a list, from its pages in order; fails if there are more than
    `most` pages."""
    found: list[int] = []
    for _ in range(most):
        text = client.get(f"{where}{query}").content.decode()
        found += [int(one) for one in re.findall(r'<tr data-row="(\d+)"', text)]
        further = re.search(r'href="(\?[^"]*after=[^"]+)"', text)
        if further is None:
            return found
        query = further.group(1).replace("&amp;", "&") + (
            "&part=rows" if "part=rows" in query else ""
        )
    raise AssertionError("the pages have no end")
