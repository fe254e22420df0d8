"""The plan is true: the budget of a day is used exactly, looks included, and every place tells the same of it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.urls import reverse

from crawlmgr.models import Run, RunState
from forums.models import Board, Look, OverviewSource, Plan, PlannedVisit, Site, Visit
from forums.reads import plans as plan_reads
from forums.reads import with_freshness
from forums.reads.standing import standing
from forums.services import dispatch, loops, plans, visits
from tests.forums.planned import NOW, fill, make_site

pytestmark = pytest.mark.django_db
MIDNIGHT = NOW.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def with_index(site: Site) -> OverviewSource:
    boards = list(site.boards.order_by("pk").values_list("pk", flat=True))
    return OverviewSource.objects.create(site=site, kind="index", url=site.url, url_hash=7, found=NOW, boards=boards)


def work(now: datetime, quiet: bool = True) -> None:
    """Ends every run as if its visits and looks had been made at `now`."""
    for run in Run.objects.filter(state=RunState.QUEUED):
        for pk in run.parameters["boards"]:
            visit, _ = Visit.objects.get_or_create(run=run, board_id=pk)
            Visit.objects.filter(pk=visit.pk).update(
                started=now, list_pages=1, requests=2, stopped_by="watermark", state={"complete": True, "stopped_by": "watermark"}
            )
            visit.refresh_from_db()
            visits.finish(visit, now)
        for look in Look.objects.filter(pk__in=run.parameters.get("looks", [])):
            shown = {str(board.pk): [10, 100, (NOW - timedelta(days=1)).timestamp()] for board in look.source.site.boards.all()}
            Look.objects.filter(pk=look.pk).update(run=run, state="done", read_at=now, shown=shown)
            OverviewSource.objects.filter(pk=look.source_id).update(shown=shown, read_at=now)
        Run.objects.filter(pk=run.pk).update(state=RunState.FINISHED)


@pytest.fixture
def followed() -> tuple[Site, Plan]:
    site = make_site()
    fill(site)
    with_index(site)
    plan = plans.save(site.pk, {"policy": "adaptive", "visits_per_day": 40}, now=NOW)
    for step in range(8):
        dispatch.start_due(MIDNIGHT - timedelta(minutes=16 - 2 * step))
        work(MIDNIGHT - timedelta(minutes=16 - 2 * step))
    return site, plan


def test_a_day_of_the_loop_uses_its_budget_looks_included_and_all_places_agree(followed, admin_client, capsys) -> None:
    site, plan = followed
    told: list[tuple[datetime, int, datetime, datetime | None]] = []
    for step in range(121):  # a ranking every twelve minutes, the last one at 23:59
        now = MIDNIGHT + timedelta(minutes=min(12 * step, 1439))
        dispatch.start_due(now)
        if step % 12 == 7:
            stands = standing(plan, now)
            made = PlannedVisit.objects.filter(plan=plan, state="started", at__gte=MIDNIGHT, at__lte=now).count()
            spent = sum(Look.objects.filter(at__gte=MIDNIGHT, at__lte=now).values_list("cost", flat=True))
            assert (stands.used_today, stands.left_today) == (made + spent, 40 - made - spent)
            row = with_freshness([site], now)[0]
            first = min(Board.objects.exclude(next_visit=None), key=lambda board: board.next_visit, default=None)
            if first is not None:
                assert (row.next_visit, row.next_until) == (first.next_visit, first.next_until)
            told += [(now, board.pk, board.next_visit, board.next_until) for board in Board.objects.exclude(next_visit=None)]
        work(now)
    stands = standing(plan, MIDNIGHT + timedelta(hours=23, minutes=59))
    assert (stands.used_today, stands.left_today) == (40, 0) and stands.looks_today > 0
    assert stands.sources[0].used == sum(Look.objects.filter(at__gte=MIDNIGHT).values_list("cost", flat=True))
    assert len(told) >= 20 and all(until is not None for *_rest, until in told), "times that are not kept exactly are spans"


def test_the_command_and_the_page_tell_what_the_standing_tells(followed, admin_client, capsys, monkeypatch) -> None:
    site, plan = followed
    dispatch.start_due(MIDNIGHT)
    work(MIDNIGHT)
    now = MIDNIGHT + timedelta(minutes=1)
    monkeypatch.setattr("crawlmgr.clock.SYSTEM.now", lambda: now, raising=False)
    stands = standing(plan, datetime.now(NOW.tzinfo))
    page = admin_client.get(reverse("admin:forum-plan", args=[site.pk]))
    assert page.context["standing"] == stands and page.context["standing"].visits_per_day == 40
    shown = admin_client.get(reverse("admin:forum", args=[site.pk])).context["plan"]
    assert (shown["used"], shown["left"]) == (stands.used_today, stands.left_today)


def test_a_planned_visit_stands_at_its_time_and_an_expected_one_in_a_span(followed) -> None:
    site, plan = followed
    wish = plans.add(plan, site.boards.first().pk, MIDNIGHT + timedelta(hours=2), now=MIDNIGHT)
    rows, _more = plan_reads.coming(plan, MIDNIGHT, 50)
    fixed = [one for one in rows if one.planned is not None]
    assert [(one.at, one.until) for one in fixed] == [(wish.at, None)]
    likely = [one for one in rows if one.planned is None]
    assert likely and all(one.at <= one.expected_at <= one.until and one.posts is not None for one in likely)
    assert loops.used(plan, MIDNIGHT) is not None


def test_forum_plan_tells_used_sources_reasons_and_posts(followed, capsys) -> None:
    site, _plan = followed
    call_command("forum", "plan", str(site.pk), "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["visits_per_day"] == 40 and document["used_today"] >= 0
    assert [one["kind"] for one in document["sources"]] == ["index"] and 0 <= document["sources"][0]["share_of_budget"] <= 1
    for board in document["boards"]:
        assert len(board["visits"]) == len(board["reasons"]) == len(board["expected_posts"])
        assert board["likely"] is True and all("posts" in reason for reason in board["reasons"])
