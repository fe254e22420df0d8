"""The page of a run: its status sentence, its buttons, and when its live part stops refreshing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from crawlmgr.archive import warc_files as archive_reads
from crawlmgr.models import Event, Export, Host, Node, Page, Run, WarcFile
from crawlmgr.runs import run_reads
from crawlmgr.runs.desk import story
from tests.crawlmgr.admin.rows import NOW, tight, user

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=8)  # the tests may run long after this file was imported


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


def run(**values: Any) -> Run:
    return Run.objects.create(
        **{"kind": "forum", "label": "x", "created": NOW, "started": NOW, **values}
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"state": "queued"}, "Waits for a free worker."),
        ({"state": "running", "lease_until": LATER}, "Working."),
        ({"state": "running"}, "Continues as soon as a worker is free."),
        (
            {"state": "running", "waiting_for": "a.example", "waiting_until": LATER},
            "Waits until a.example may be requested again:",
        ),
        (
            {"state": "running", "lease_until": LATER, "wanted": "stop"},
            "Stops after the current page.",
        ),
        (
            {"state": "running", "lease_until": LATER, "wanted": "pause"},
            "Pauses after the current page.",
        ),
        ({"state": "paused"}, "Paused: by a user"),
        ({"state": "paused", "stopped_by": "disk_low"}, "too little space on the disk"),
        (
            {"state": "finished", "stopped_by": "incomplete: http_503, host_unreachable"},
            "(HTTP status 503; the host could not be reached",
        ),
        ({"state": "stopped", "stopped_by": "stopped"}, "Ended: stopped by a user."),
        (
            {"state": "failed", "stopped_by": "program_error", "detail": "boom"},
            "Ended: an internal error.",
        ),
    ],
)
def test_why_a_run_waits_or_ended_is_told_in_words(
    client: Client, values: dict[str, Any], words: str
) -> None:
    one = run(**values)
    assert words in story(one, NOW)["text"]
    assert words.encode() in client.get(f"/admin/runs/{one.pk}/").content


def test_what_slowed_a_run_down_is_shown_where_there_was_any(client: Client) -> None:
    smooth, slow = (
        run(state="finished"),
        run(state="finished", busy=3, retries=12, waits=2, waited_seconds=120),
    )
    assert "429 or 503" not in client.get(f"/admin/runs/{smooth.pk}/").content.decode()
    text = tight(client.get(f"/admin/runs/{slow.pk}/"))
    assert (
        '<dt>Responses 429 or 503</dt><dd class="warn">3</dd>' in text
        and "<dt>Retries</dt><dd>12</dd>" in text
    )
    assert "<dt>Waits for hosts</dt><dd>2 · 2 min</dd>" in text, text[
        text.index("Waits for hosts") :
    ][:80]


def test_a_run_that_sends_no_requests_shows_no_pages_and_leads_to_what_it_made(
    client: Client,
) -> None:
    made = Export.objects.create(
        name="Posts", table="posts", format="csv", columns=[], keep=1, created=NOW
    )
    run = Run.objects.create(
        kind="export",
        label="Posts",
        target=made.pk,
        state="finished",
        stopped_by="exported",
        created=NOW,
    )
    text = client.get(f"/admin/runs/{run.pk}/").content.decode()
    assert (
        f'href="/admin/exports/{made.pk}/"' in text
        and "To the export" in text
        and "Recently fetched pages" not in text
    )
    made.delete()
    assert "To the export" not in client.get(f"/admin/runs/{run.pk}/").content.decode()
    Run.objects.filter(pk=run.pk).update(kind="topic")
    assert "Recently fetched pages" in client.get(f"/admin/runs/{run.pk}/").content.decode()


def test_buttons_fit_the_state(client: Client) -> None:
    shown = {
        "queued": {"pause", "stop"},
        "running": {"pause", "stop"},
        "paused": {"resume", "stop"},
        "failed": {"resume"},
        "finished": set(),
    }
    for state, wanted in shown.items():
        text = client.get(f"/admin/runs/{run(state=state).pk}/").content.decode()
        assert {name for name in ("pause", "resume", "stop") if f'/{name}/"' in text} == wanted, (
            state
        )


def test_the_live_part_is_only_a_part_and_says_when_it_is_over(client: Client) -> None:
    one = run(state="running", lease_until=LATER)
    part = client.get(f"/admin/runs/{one.pk}/?part=live")
    assert b"<html" not in part.content and "X-Desk-Done" not in part.headers
    Run.objects.filter(pk=one.pk).update(state="finished")
    assert client.get(f"/admin/runs/{one.pk}/?part=live").headers["X-Desk-Done"] == "1"


def test_a_failed_run_is_tried_again_where_it_stood(client: Client) -> None:
    one = run(state="failed", stopped_by="program_error", fetched=7)
    client.post(f"/admin/runs/{one.pk}/resume/")
    one.refresh_from_db()
    assert (one.state, one.fetched) == ("queued", 7)


def test_a_button_that_comes_too_late_says_so(client: Client) -> None:
    one = run(state="finished")
    text = client.post(f"/admin/runs/{one.pk}/stop/", follow=True).content.decode()
    assert "that cannot be done now" in text


def test_the_status_bar_counts_what_lives(client: Client) -> None:
    now = datetime.now(UTC)
    host = Host.objects.create(key="a.example")
    one = run(state="running")
    Node.objects.create(name="a", started=NOW, heartbeat=now, workers=3)
    Node.objects.create(name="b", started=NOW, heartbeat=NOW - timedelta(hours=2), workers=5)
    Page.objects.bulk_create(
        Page(
            run=one,
            host=host,
            key_hash=number,
            url="x",
            url_hash=1,
            fetched_at=now - timedelta(seconds=20 * number),
        )
        for number in range(6)
    )
    Event.objects.create(at=NOW, level=40, code="slice_broke", text="boom", run=one)
    state = client.get("/admin/status.json").json()
    assert (state["light"], state["workers"], state["runs"]) == (
        "warn",
        "3 workers",
        "Runs: 1 running, 0 queued",
    )
    assert state["rate"] in (
        "2 pages a minute · 0 requests in flight",
        "3 pages a minute · 0 requests in flight",
    )
    assert (
        state["error"]["text"] == "Processing of a run was interrupted: boom"
        and state["error"]["url"] == f"/admin/runs/{one.pk}/"
    )


def test_days_of_the_chart_narrow_runs_and_posts(client: Client) -> None:
    now = datetime.now(UTC)
    for back, state in ((0, "finished"), (2, "failed"), (2, "finished"), (9, "finished")):
        Run.objects.create(
            kind="topic",
            label=f"{back} {state}",
            state=state,
            created=now,
            finished=now - timedelta(days=back),
        )
    days, sums = run_reads.ended_by_day(now)
    assert (
        len(days) == 30
        and days[-1] == now.date()
        and sums[(now - timedelta(days=2)).date(), "failed"] == 1
    )
    page = client.get("/admin/runs/").content.decode()
    assert 'data-brush="runs"' in page and 'data-table="runs"' in page
    day = (now - timedelta(days=2)).date().isoformat()
    rows = client.get(f"/admin/runs/?from={day}&to={day}&part=rows").content.decode()
    assert (
        "2 failed" in rows
        and "2 finished" in rows
        and "0 finished" not in rows
        and "9 finished" not in rows
    )
    assert client.get(f"/admin/forums/posts/?from={day}&to={day}").status_code == 200


def test_days_of_the_chart_narrow_the_files_of_the_archive(client: Client) -> None:
    now = datetime.now(UTC)
    for back in (0, 2, 2, 40):
        WarcFile.objects.create(
            name=f"{back}-{WarcFile.objects.count()}.warc.gz",
            created=now - timedelta(days=back),
            bytes=1_500_000,
        )
    days, sums = archive_reads.bytes_by_day(now)
    assert len(days) == 30 and sums == {
        now.date(): 1_500_000,
        (now - timedelta(days=2)).date(): 3_000_000,
    }
    page = client.get("/admin/archive/")
    (drawn,) = page.context["charts"]
    assert (
        drawn.brush == "archive"
        and 'data-brush="archive"' in page.content.decode()
        and 'data-table="archive"' in page.content.decode()
    )
    assert drawn.figure["data"][0]["y"][-3:] == [3.0, 0.0, 1.5]
    day = (now - timedelta(days=2)).date().isoformat()
    rows = client.get(f"/admin/archive/?from={day}&to={day}&part=rows").content.decode()
    assert rows.count("<tr data-row") == 2 and "2-1.warc.gz" in rows and "0-0.warc.gz" not in rows
