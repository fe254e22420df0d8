"""Every list of the desk: each order shows all rows exactly once, and each filter and action does
what it says."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crawlmgr.models import Deletion, Host, Run, WarcFile
from deepweb.forms import sources
from deepweb.models import Source
from focused.models import Topic, TopicRun
from forums.models import Board, Site, Thread
from tests.benches.desk import rows as desk_rows
from tests.benches.desk.bulk import Sizes
from tests.crawlmgr.admin.rows import NOW, user, walk

pytestmark = [pytest.mark.django_db, pytest.mark.once]
FEW = {"forums": 4, "pages": 60, "posts": 900, "runs": 40, "topic_pages": 1400}


@pytest.fixture
def filled() -> Sizes:
    """Creates rows of every kind, as `bench desk` does; some lack the value that a list is sorted
    by."""
    made = Sizes(**FEW, now=NOW)
    desk_rows.fill(made)
    Thread.objects.filter(pk__in=[2, 4, 9]).update(last_reply=None, replies=None, created=None)
    Thread.objects.filter(pk__in=[3, 4]).update(gone_at=NOW, pending=True)
    Board.objects.filter(pk__in=[5, 6]).update(last_visit=None, next_visit=None, enabled=False)
    Topic.objects.filter(pk__in=Topic.objects.order_by("pk").values("pk")[:2]).update(
        strategy="shark", interval_seconds=86_400
    )
    Topic.objects.create(name="never crawled", added=NOW)
    sources.add(["http://new.example/"], NOW, {})
    WarcFile.objects.filter(pk=3).update(closed=None)
    Board.objects.filter(pk=7).update(next_visit=NOW - timedelta(hours=9), next_until=None)
    return made


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


def lists() -> list[str]:
    run = TopicRun.objects.order_by("pk")[1].pk
    return [
        "/admin/forums/boards/",
        "/admin/forums/boards/?site=1",
        "/admin/forums/threads/",
        "/admin/forums/threads/?site=1",
        "/admin/forums/board/1/",
        "/admin/forums/posts/",
        f"/admin/topics/run/{run}/pages/",
        "/admin/deepweb/records/",
        "/admin/deepweb/records/?site=1",
        "/admin/deepweb/harvests/",
        "/admin/exports/",
        "/admin/hosts/",
        "/admin/events/",
        "/admin/topics/",
        "/admin/deepweb/",
        "/admin/archive/",
        "/admin/forums/",
        "/admin/runs/",
    ]


def keys(client: Client, address: str) -> list[int]:
    """The keys of the rows on all pages, following the links from page to page."""
    path, _sign, query = address.partition("?")
    return walk(client, f"?{query}&part=rows", path, most=200)


def orders(client: Client, address: str) -> list[str]:
    text = client.get(f"{address}{'&' if '?' in address else '?'}part=rows").content.decode()
    return sorted(
        set(re.findall(r"[?;]sort=(-?[\w]+)", text.split("<thead>", 1)[1].split("</thead>", 1)[0]))
    )


def test_every_order_of_every_list_shows_each_row_once(client: Client, filled: Sizes) -> None:
    """Ascending and descending orders show the same rows; rows without a value come last in
    both."""
    for address in lists():
        sign = "&" if "?" in address else "?"
        plain = keys(client, address)
        assert len(plain) == len(set(plain)) > 0, address
        wanted = {name.removeprefix("-") for name in orders(client, address)}
        assert wanted, f"{address}: no column sorts"
        for name in wanted:
            down, up = (keys(client, f"{address}{sign}sort={one}") for one in (name, f"-{name}"))
            assert sorted(down) == sorted(up) == sorted(plain), f"{address} by {name}"


@pytest.mark.parametrize(
    ("address", "rows"),
    [
        ("/admin/forums/boards/?show=out", lambda: Board.objects.filter(enabled=False)),
        ("/admin/forums/boards/?show=never", lambda: Board.objects.filter(last_visit=None)),
        ("/admin/forums/boards/?q=board+1", lambda: Board.objects.filter(name__icontains="1")),
        ("/admin/forums/threads/?show=gone", lambda: Thread.objects.exclude(gone_at=None)),
        (
            "/admin/forums/threads/?show=pending&site=1",
            lambda: Thread.objects.filter(pending=True, site=1),
        ),
        (
            "/admin/forums/threads/?q=number+7",
            lambda: Thread.objects.filter(title__icontains="number").filter(title__icontains="7"),
        ),
        (
            "/admin/forums/board/1/?show=gone&sort=posts",
            lambda: Thread.objects.filter(board=1).exclude(gone_at=None),
        ),
        ("/admin/topics/?q=1", lambda: Topic.objects.filter(name__icontains="1")),
        ("/admin/topics/?strategy=shark&sort=rate", lambda: Topic.objects.filter(strategy="shark")),
        (
            "/admin/topics/?show=on&sort=-seeds",
            lambda: Topic.objects.exclude(interval_seconds=None),
        ),
        (
            "/admin/deepweb/?show=search&sort=forms",
            lambda: Source.objects.filter(forms__type="search").distinct(),
        ),
        ("/admin/deepweb/?show=new", lambda: Source.objects.filter(looked_at=None)),
        ("/admin/archive/?show=open", lambda: WarcFile.objects.filter(closed=None)),
        (
            "/admin/archive/?q=00001&sort=size",
            lambda: WarcFile.objects.filter(name__contains="00001"),
        ),
        (
            "/admin/topics/run/{run}/pages/?show=relevant&sort=-relevance",
            lambda: _topic_pages().filter(relevant=True),
        ),
        (
            "/admin/topics/run/{run}/pages/?show=copies",
            lambda: _topic_pages().exclude(duplicate_of=None),
        ),
    ],
)
def test_filters_show_what_they_say(client: Client, filled: Sizes, address: str, rows: Any) -> None:
    run = TopicRun.objects.order_by("pk")[1].pk
    found = rows()
    assert set(keys(client, address.format(run=run))) == set(found.values_list("pk", flat=True)), (
        address
    )


def _topic_pages() -> Any:
    run = TopicRun.objects.order_by("pk")[1]
    return run.run.topic_pages.filter(kind=0)


def test_days_narrow_threads_in_the_zone_of_their_forum(client: Client, filled: Sizes) -> None:
    """Both boundary days are included completely; invalid days are ignored; files and further pages
    keep the filter."""
    Site.objects.filter(pk=1).update(timezone="Asia/Shanghai")
    day = datetime(2026, 3, 5, tzinfo=ZoneInfo("Asia/Shanghai"))
    times = {
        11: day,
        12: day + timedelta(hours=23, minutes=59),
        13: day - timedelta(minutes=1),
        14: day + timedelta(days=2),
    }
    for pk, at in times.items():
        Thread.objects.filter(pk=pk).update(board=1, site=1, last_reply=at)
    assert set(keys(client, "/admin/forums/board/1/?from=2026-03-05&to=2026-03-05")) == {11, 12}
    assert {11, 12, 13} <= set(
        keys(client, "/admin/forums/board/1/?to=2026-03-05")
    ) and 14 not in keys(client, "/admin/forums/board/1/?to=2026-03-05")
    plain = keys(client, "/admin/forums/board/1/")
    for bad in ("x", "0001-01-01", "9999-99-99", "2026-03-05T00:00"):
        assert keys(client, f"/admin/forums/board/1/?from={bad}") == plain
    assert client.get("/admin/forums/board/1/?from=1970-01-02&to=9999-12-31").status_code == 200
    answer = client.get("/admin/forums/board/1/?from=2026-03-05&to=2026-03-05&as=csv")
    assert (
        len(  # type: ignore[attr-defined]
            b"".join(answer.streaming_content).decode().splitlines()
        )
        == 3
    )


def test_late_boards_are_those_that_their_forum_calls_late(client: Client, filled: Sizes) -> None:
    found = keys(client, "/admin/forums/boards/?show=late")
    assert 7 in found and 5 not in found
    Site.objects.update(paused=True)
    assert keys(client, "/admin/forums/boards/?show=late") == []


def test_a_file_has_the_fields_of_records(client: Client, filled: Sizes) -> None:
    answer = client.get(
        "/admin/deepweb/records/?site=1&col=author&col=record&col=nosuch&q=Author&as=csv"
    )
    lines = list(  # type: ignore[attr-defined]
        csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode()))
    )
    assert lines and list(lines[0]) == ["author", "record", "nosuch"]
    assert all(
        one["author"].startswith("Author ") and one["record"].startswith("Book ") for one in lines
    )


def test_ticked_boards_of_two_forums_are_set_and_visited(client: Client, filled: Sizes) -> None:
    Run.objects.filter(state__in=("queued", "running", "paused")).update(state="finished")
    ticked = [1, 2, 21]
    to = {"at": "/admin/forums/boards/?sort=posts"}
    answer = client.post(
        "/admin/forums/boards/do/",
        {"do": "interval", "row": ticked, "interval": "3600", **to},
        follow=True,
    )
    assert (
        answer.redirect_chain[-1][0] == "/admin/forums/boards/?sort=posts"
        and "Applied to 3 boards." in answer.content.decode()
    )
    assert set(Board.objects.filter(pk__in=ticked).values_list("interval_seconds", flat=True)) == {
        3600
    }
    for bad in ("", "5", "x", "9" * 30):
        client.post("/admin/forums/boards/do/", {"do": "interval", "row": ticked, "interval": bad})
    assert set(Board.objects.filter(pk__in=ticked).values_list("interval_seconds", flat=True)) == {
        3600
    }
    client.post("/admin/forums/boards/do/", {"do": "off", "row": ticked})
    assert not Board.objects.filter(pk__in=ticked, enabled=True)
    before = set(Run.objects.values_list("pk", flat=True))
    client.post("/admin/forums/boards/do/", {"do": "crawl", "row": ticked})
    made = Run.objects.exclude(pk__in=before)
    assert sorted((run.target, run.parameters["boards"]) for run in made) == [
        (1, [1, 2]),
        (2, [21]),
    ]


def test_ticked_topics_are_crawled_and_set(client: Client, filled: Sizes) -> None:
    Run.objects.filter(state__in=("queued", "running", "paused")).update(state="finished")
    ticked = list(Topic.objects.order_by("pk").values_list("pk", flat=True)[:2])
    client.post(
        "/admin/topics/do/",
        {"do": "interval", "row": ticked, "interval": "604800", "at": "/admin/topics/?q=1"},
    )
    assert set(Topic.objects.filter(pk__in=ticked).values_list("interval_seconds", flat=True)) == {
        604_800
    }
    for bad in ("", "17", "x"):
        client.post("/admin/topics/do/", {"do": "interval", "row": ticked, "interval": bad})
    assert set(Topic.objects.filter(pk__in=ticked).values_list("interval_seconds", flat=True)) == {
        604_800
    }
    answer = client.post(
        "/admin/topics/do/", {"do": "interval", "row": ticked, "interval": "0"}, follow=True
    )
    assert "Applied to 2 topics." in answer.content.decode() and not Topic.objects.filter(
        pk__in=ticked
    ).exclude(next_run=None)
    client.post("/admin/topics/do/", {"do": "delete", "row": ticked})
    assert not Deletion.objects.exists(), "an operator deletes nothing"
    source = Source.objects.get(looked_at=None)
    client.post("/admin/deepweb/do/", {"do": "find", "row": [source.pk]})
    assert Run.objects.latest("pk").parameters["sources"] == [source.pk]


def test_every_list_asks_as_much_for_few_rows_as_for_many(client: Client, filled: Sizes) -> None:
    """A full page of thirty rows needs at most one query more than a list filtered to fewer
    rows."""

    def asked(address: str) -> int:
        client.get(address)
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        return len(queries)

    for many, few in (
        ("/admin/forums/threads/?part=rows", "/admin/forums/threads/?part=rows&q=number+77"),
        ("/admin/forums/boards/?part=rows", "/admin/forums/boards/?part=rows&show=out"),
        (
            "/admin/forums/board/1/?part=rows",
            "/admin/forums/board/1/?part=rows&show=gone&sort=posts",
        ),
        ("/admin/topics/?part=rows", "/admin/topics/?part=rows&q=1"),
        ("/admin/deepweb/?part=rows", "/admin/deepweb/?part=rows&q=1"),
        ("/admin/archive/?part=rows", "/admin/archive/?part=rows&q=00001"),
        ("/admin/deepweb/records/?part=rows", "/admin/deepweb/records/?part=rows&q=Author+1"),
    ):
        assert asked(many) <= asked(few) + 1 and asked(few) < 20, many


def test_what_went_wrong_at_a_host_is_said_in_words() -> None:
    host = Host.objects.create(
        key="a.example",
        failures=3,
        last_error="connect [Errno 111] Connection refused",
        robots_verdict="deny",
        robots_fetched_at=NOW,
        robots_expires_at=NOW,
    )
    client = Client()
    client.force_login(user("viewer"))
    row = client.get("/admin/hosts/").content.decode()
    assert 'title="connect [Errno 111] Connection refused">no connection<' in row
    page = client.get(f"/admin/hosts/{host.pk}/").content.decode()
    assert (
        "Last error: no connection" in page
        and "It could not be read: nothing is fetched" in page
        and "It is empty or missing" not in page
    )
