"""The table component of lists: order, filters, columns, paging, files, saved views and selected
rows, and the number of queries."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crawlmgr.models import ListView, Run
from forums.models import Site
from tests.crawlmgr.admin.rows import NOW, site, tight, user, walk

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


def runs(number: int, **values: Any) -> list[Run]:
    """Creates runs; sorted by page count, they are in another order than by id. Every third run has
    not ended."""
    return Run.objects.bulk_create(
        Run(
            **{
                "kind": "forum",
                "label": f"Riverside {place}",
                "created": NOW,
                "state": "running" if place % 3 == 0 else "finished",
                "finished": NOW - timedelta(minutes=place) if place % 3 else None,
                "fetched": (place * 7) % 40,
                "stopped_by": "complete",
                **values,
            }
        )
        for place in range(number)
    )


def rows(client: Client, query: str = "", where: str = "/admin/runs/") -> list[int]:
    text = client.get(f"{where}{query}").content.decode()
    return [int(found) for found in re.findall(r'<tr data-row="(\d+)"', text)]


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("", lambda run: -run.pk),
        ("-id", lambda run: run.pk),
        ("fetched", lambda run: (-run.fetched, -run.pk)),
        ("-fetched", lambda run: (run.fetched, run.pk)),
        (
            "finished",
            lambda run: (
                run.finished is None,
                -run.finished.timestamp() if run.finished else 0,
                -run.pk,
            ),
        ),
    ],
)
def test_every_page_goes_on_where_the_one_before_ended(client: Client, sort: str, key: Any) -> None:
    made = runs(130)
    assert walk(client, f"?sort={sort}") == [run.pk for run in sorted(made, key=key)]


def test_a_head_sorts_and_once_more_turns_round(client: Client) -> None:
    runs(3)
    text = client.get("/admin/runs/").content.decode()
    assert 'href="?sort=fetched"' in text and 'aria-sort="descending"' in text
    again = client.get("/admin/runs/?sort=fetched").content.decode()
    assert 'href="?sort=-fetched"' in again and '<option value="?sort=fetched" selected>' in again
    assert again.count(" selected>Pages") == 1 and '<option value="?sort=-bytes">' in again


def test_words_and_choices_narrow_and_are_kept_by_all_links(client: Client) -> None:
    wanted = runs(2, label="Harbour", state="failed")
    runs(60)
    assert set(rows(client, "?q=harb&show=failed")) == {run.pk for run in wanted}
    text = client.get("/admin/runs/?q=riverside&kind=forum").content.decode()
    for link in re.findall(r'href="(\?[^"]*(?:sort|after|as)=[^"]+)"', text):
        assert "q=riverside" in link and "kind=forum" in link, link
    assert "60" in re.findall(r'id="table-count">([^<]+)', text)[0]


def test_nothing_that_stands_in_the_address_breaks_the_page(client: Client) -> None:
    runs(3)
    for query in (
        "sort=nothing",
        "sort=-",
        "sort=run",
        "col=x&col=y",
        "show=zzz",
        "after=n~n",
        "before=9~9~9",
        "as=exe",
        "last=1",
    ):
        assert client.get(f"/admin/runs/?{query}").status_code == 200, query


def test_chosen_columns_stand_in_their_order_and_in_the_file(client: Client) -> None:
    runs(3)
    text = tight(client.get("/admin/runs/?col=bytes&col=run&col=took"))
    heads = re.findall(r'<th scope="col"[^>]*>(?:<a[^>]*>)?([^<]+)', text)
    assert [one.strip() for one in heads] == ["Received", "Run", "Took"]
    answer = client.get("/admin/runs/?col=bytes&col=run&col=took&as=csv")
    assert (
        "".join(part.decode() for part in answer.streaming_content).splitlines()[0]
        == "bytes,run,took"
    )  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "query", ["", "?sort=-fetched", "?sort=finished&q=riverside&show=finished"]
)
def test_a_file_holds_exactly_what_the_pages_show(client: Client, query: str) -> None:
    runs(1_130, label="Riverside")
    Run.objects.filter(pk__gt=Run.objects.order_by("pk")[120].pk).update(label="=Harbour")
    sign = "&" if query else "?"
    answer = client.get(f"/admin/runs/{query}{sign}as=csv")
    text = "".join(part.decode() for part in answer.streaming_content)  # type: ignore[attr-defined]
    lines = list(csv.DictReader(io.StringIO(text)))
    limit = 60 * 20
    assert [int(one["id"]) for one in lines][:limit] == walk_all(client, query)
    assert not any(one["run"].startswith("=") for one in lines)
    answer = client.get(f"/admin/runs/{query}{sign}as=json")
    told = json.loads(  # type: ignore[attr-defined]
        "".join(part.decode() for part in answer.streaming_content)
    )
    assert [one["id"] for one in told] == [int(one["id"]) for one in lines]


def walk_all(client: Client, query: str) -> list[int]:
    found: list[int] = []
    address = query or "?"
    while True:
        text = client.get(f"/admin/runs/{address}&part=rows").content.decode()
        found += [int(one) for one in re.findall(r'<tr data-row="(\d+)"', text)]
        further = re.search(r'href="(\?[^"]*after=[^"]+)"', text)
        if further is None:
            return found
        address = further.group(1).replace("&amp;", "&")


def test_a_view_is_kept_opened_replaced_and_removed_by_its_owner_only(client: Client) -> None:
    sent = {
        "list": "runs",
        "at": "/admin/runs/",
        "query": "show=failed&sort=fetched",
        "name": "Broken",
    }
    assert (
        client.post("/admin/views/save/", sent).headers["Location"]
        == "/admin/runs/?show=failed&sort=fetched"
    )
    client.post("/admin/views/save/", {**sent, "query": "show=failed"})
    view = ListView.objects.get()
    assert view.query == "show=failed" and "Broken" in client.get("/admin/runs/").content.decode()
    other = Client()
    other.force_login(user("viewer"))
    other.post(f"/admin/views/{view.pk}/remove/", {"at": "/admin/runs/"})
    assert ListView.objects.exists() and "Broken" not in other.get("/admin/runs/").content.decode()
    client.post(f"/admin/views/{view.pk}/remove/", {"at": "/admin/runs/"})
    assert not ListView.objects.exists()


@pytest.mark.parametrize(
    "at", ["https://evil.example/", "//evil.example/", "/\\evil.example", "", "/healthz"]
)
def test_a_view_leads_to_nowhere_but_the_desk(client: Client, at: str) -> None:
    answer = client.post("/admin/views/save/", {"list": "runs", "at": at, "query": "", "name": "x"})
    assert answer.headers["Location"] == "/admin/" and not ListView.objects.exists()


def test_ticked_runs_are_paused_and_stopped_and_the_list_stays_as_it_was(client: Client) -> None:
    one, two, over = (
        Run.objects.create(kind="forum", label="x", state=state, created=NOW)
        for state in ("queued", "queued", "finished")
    )
    answer = client.post(
        "/admin/runs/do/",
        {"do": "pause", "row": [one.pk, over.pk], "at": "/admin/runs/?show=active"},
        follow=True,
    )
    assert answer.redirect_chain[-1][0] == "/admin/runs/?show=active"
    text = answer.content.decode()
    assert "Applied to 1 run." in text and "1 cannot be changed now." in text
    assert list(Run.objects.order_by("pk").values_list("state", flat=True)) == [
        "paused",
        "queued",
        "finished",
    ]
    client.post("/admin/runs/do/", {"do": "stop", "row": [two.pk]})
    two.refresh_from_db()
    assert two.state == "stopped"
    for bad in (
        {},
        {"do": "x", "row": [1]},
        {"do": "stop", "row": ["²", "9" * 30]},
        {"do": "stop", "row": [one.pk], "at": "//evil.example/"},
    ):
        assert client.post("/admin/runs/do/", bad).headers["Location"] == "/admin/runs/"


def test_ticked_forums_are_paused_and_a_viewer_has_no_ticks(client: Client) -> None:
    made = [site(number, f"https://f{number}.example/") for number in (1, 2)]
    client.post("/admin/forums/do/", {"do": "pause", "row": [made[0].pk]})
    assert set(Site.objects.filter(paused=True)) == {made[0]}
    client.post("/admin/forums/do/", {"do": "resume", "row": [one.pk for one in made]})
    assert not Site.objects.filter(paused=True)
    client.post("/admin/forums/do/", {"do": "crawl", "row": [made[1].pk]})
    viewer = Client()
    viewer.force_login(user("viewer"))
    assert 'name="row"' not in viewer.get("/admin/forums/").content.decode()
    assert 'name="row"' in client.get("/admin/forums/").content.decode()


@pytest.mark.parametrize(
    "sort",
    ["name", "-name", "threads", "posts", "last_visit", "next_visit", "-next_visit", "added"],
)
def test_forums_are_sorted_by_what_they_show(client: Client, sort: str) -> None:
    from forums.models import Board

    for number in range(1, 8):
        made = site(number, f"https://f{number}.example/")
        Site.objects.filter(pk=made.pk).update(
            threads=number * 5 % 7, posts=number * 3 % 7, paused=number == 3
        )
        Board.objects.filter(site=made).update(last_visit=NOW - timedelta(hours=number * 5 % 7))
        Board.objects.create(
            site=made,
            name="b",
            url="x",
            key="k",
            last_visit=NOW - timedelta(hours=number * 5 % 7) if number > 2 else None,
            next_visit=NOW + timedelta(hours=number * 3 % 7 + 1) if number > 1 else None,
        )
    found = rows(client, f"?sort={sort}", "/admin/forums/")
    assert sorted(found) == sorted(Site.objects.values_list("pk", flat=True))
    plain = rows(client, f"?sort={sort.removeprefix('-')}", "/admin/forums/")
    assert len(set(found)) == 7 and (
        not sort.startswith("-") or sort.endswith("next_visit") or found == plain[::-1]
    )


def test_a_table_asks_as_much_for_two_rows_as_for_fifty(client: Client) -> None:
    def asked(address: str) -> int:
        client.get(address)
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        return len(queries)

    addresses = (
        "/admin/runs/?sort=fetched",
        "/admin/runs/?part=rows",
        "/admin/forums/?sort=next_visit",
        "/admin/forums/?part=rows",
    )
    runs(2)
    site(1)
    few = [asked(one) for one in addresses]
    runs(120)
    for number in range(2, 60):
        site(number, f"https://f{number}.example/")
    assert [asked(one) for one in addresses] == few
