"""Deletion of a large forum: batch by batch, whatever happens in between, with progress on the
desk; another forum loses nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crawlmgr import jobs
from crawlmgr.frontier import frontier, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Event, Host, Page, Run, RunState, Url
from crawlmgr.runs import runs
from crawlmgr.upkeep import removals
from crawlmgr.web.url import url_hash
from forums.models import Board, BoardHour, Post, Site, Thread, Visit
from forums.sites import sites
from forums.sites import sites as forum_removals
from tests.crawlmgr.admin.rows import NOW, user

pytestmark = pytest.mark.django_db
TABLES = (Post, Thread, Visit, BoardHour, Board, Url, Page)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Makes removals delete small batches; returns the list to which each batch adds its number of
    deleted rows."""
    hosts.forget()
    monkeypatch.setattr(removals, "BATCH", 7)
    monkeypatch.setattr(removals, "AT_ONCE", 50)
    sizes: list[int] = []
    original = removals._delete

    def counting(*given: Any) -> int:
        sizes.append(original(*given))
        return sizes[-1]

    monkeypatch.setattr(removals, "_delete", counting)
    return sizes


def forum(name: str, threads: int = 20) -> Site:
    host = Host.objects.create(key=f"{name}.example")
    url = f"http://{name}.example/"
    site = Site.objects.create(
        name=name, url=url, url_hash=url_hash(url), host=host, added=NOW, threads=threads
    )
    board = Board.objects.create(site=site, name="b", url=f"{url}b", key=f"{name} b")
    for n in range(threads):
        thread = Thread.objects.create(
            site=site, board=board, key=str(n), url=f"{url}t{n}", title=str(n), first_seen=NOW
        )
        Post.objects.bulk_create(
            Post(thread=thread, key=str(m), text="x", page=1, position=m, first_seen=NOW)
            for m in range(1 + n % 5)
        )
        BoardHour.objects.create(board=board, hour=NOW + timedelta(hours=n))
    run = sites.crawl_now(site.pk, now=NOW, start=False)
    frontier.add(run.pk, [NewUrl(f"{url}{n}") for n in range(threads)], NOW)
    Url.objects.filter(run=run).update(parent=Url.objects.filter(run=run).first())
    for n in range(threads):
        Page.objects.create(
            run=run, host=host, url=f"{url}{n}", url_hash=n, key_hash=n, status=200, fetched_at=NOW
        )
    Visit.objects.create(run=run, board=board)
    return site


def rows() -> list[int]:
    return [table.objects.count() for table in TABLES]


def test_a_small_forum_goes_at_once(small_batches: list[int]) -> None:
    forum("other", 3)
    before = rows()
    assert forum_removals.start_removal(forum("small", 3), NOW) is None
    assert rows() == before and Run.objects.count() == 1


def test_a_large_one_goes_in_bounded_batches_worked_by_a_run(small_batches: list[int]) -> None:
    other, large = forum("other"), forum("large")
    halves = rows()
    run = forum_removals.start_removal(large, NOW, user("administrator"))
    assert run is not None and rows() == halves and Site.objects.get(pk=large.pk).paused
    assert Run.objects.get(kind="forum", target=large.pk).state == RunState.STOPPED
    for busy in (
        lambda: sites.crawl_now(large.pk, now=NOW),
        lambda: forum_removals.start_removal(large, NOW),
    ):
        with pytest.raises(runs.Busy) as told:
            busy()
        assert told.value.run == run
    slices = 0
    while jobs.run_slice(run.pk, seconds=0.005) == RunState.RUNNING:
        slices += 1
        shown = Run.objects.get(pk=run.pk).result
        assert not shown or 0 <= shown["removed"] <= shown["rows"]
    run.refresh_from_db()
    assert (run.state, run.stopped_by) == (RunState.FINISHED, "removed") and slices > 1
    assert (
        run.result["removed"] == run.result["rows"] == sum(small_batches)
        and max(small_batches) <= 7
    )
    assert [2 * left for left in rows()] == halves
    assert list(Site.objects.all()) == [other] and Run.objects.filter(kind="forum").count() == 1
    assert Event.objects.get(code="site_deleted").text.endswith("(administrator)")


def test_a_removal_that_was_killed_is_done_by_the_next(
    small_batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = forum("large")
    original = removals._delete

    def killed(*given: Any) -> int:
        if len(small_batches) == 4:
            raise SystemExit
        return original(*given)

    monkeypatch.setattr(removals, "_delete", killed)
    with pytest.raises(SystemExit):
        sites.delete_site(site.pk, NOW)
    assert Site.objects.exists() and Post.objects.count() < sum(1 + n % 5 for n in range(20))
    monkeypatch.setattr(removals, "_delete", original)
    sites.delete_site(site.pk, NOW)
    assert not any(rows()) and not Site.objects.exists() and not Run.objects.exists()


def test_a_pause_holds_it_and_it_goes_on(small_batches: list[int]) -> None:
    run = forum_removals.start_removal(forum("large"), NOW)
    assert run is not None
    jobs.run_slice(
        run.pk, on_step=lambda: runs.pause(run.pk, NOW) if len(small_batches) == 3 else None
    )
    assert Run.objects.get(pk=run.pk).state == RunState.PAUSED and Site.objects.exists()
    runs.resume(run.pk, NOW, start=False)
    assert jobs.run_slice(run.pk) == RunState.FINISHED and not Site.objects.exists()


def test_the_desk_leads_to_the_run_and_tells_how_far_it_is(
    client: Client, small_batches: list[int]
) -> None:
    client.force_login(user("administrator"))
    site = forum("large")
    answer = client.post(f"/admin/forums/site/{site.pk}/delete/", {"name": "large"})
    run = Run.objects.get(kind=forum_removals.REMOVAL)
    assert answer.headers["Location"] == f"/admin/runs/{run.pk}/"
    assert "progress busy" in client.get(f"/admin/runs/{run.pk}/").content.decode()
    again = client.post(
        f"/admin/forums/site/{site.pk}/delete/", {"name": "large"}, follow=True
    ).content.decode()
    assert (
        "is already being deleted" in again
        and Run.objects.filter(kind=forum_removals.REMOVAL).count() == 1
    )
    jobs.run_slice(
        run.pk, on_step=lambda: runs.pause(run.pk, NOW) if len(small_batches) == 3 else None
    )
    text = client.get(f"/admin/runs/{run.pk}/").content.decode()
    total = Run.objects.get(pk=run.pk).result["rows"]
    gone = sum(small_batches)
    assert (
        0 < gone < total
        and f"{gone} of {total} rows" in text
        and f"width: {100 * gone // total}%" in text
    )
    runs.resume(run.pk, NOW, start=False)
    jobs.run_slice(run.pk)
    assert "everything is deleted" in client.get(f"/admin/runs/{run.pk}/").content.decode()


def test_an_operator_may_not(client: Client) -> None:
    client.force_login(user("operator"))
    site = forum("large")
    assert (
        client.post(f"/admin/forums/site/{site.pk}/delete/", {"name": "large"}).status_code == 403
    )
    assert Site.objects.exists() and not Run.objects.filter(kind=forum_removals.REMOVAL).exists()


def test_a_batch_costs_the_same_in_a_large_forum(small_batches: list[int]) -> None:
    def cost(site: Site) -> int:
        with CaptureQueriesContext(removals.transaction.get_connection()) as asked:
            store = forum_removals._removal(site, NOW, None).batch()
            assert store is not None
            store()
        return len(asked)

    assert cost(forum("small", 10)) == cost(forum("large", 60))
