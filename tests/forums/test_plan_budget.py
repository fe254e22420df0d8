"""A day's budget is used exactly, including readings of overview sources, and all pages show the
same figures of a plan."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from crawlmgr import clock
from crawlmgr.models import Run, RunState, Url
from forums import dispatch
from forums.models import Board, Look, OverviewSource, Plan, PlannedVisit, Site, Visit
from forums.plans import loops, plans
from forums.plans import reads as plan_reads
from forums.plans import reads as waiting
from forums.plans.reads import budget_use
from forums.schedule.loop_values import Figures
from forums.visits import board_state, overviews, visits
from tests.forums.planned import NOW, fill, make_site

pytestmark = pytest.mark.django_db
MIDNIGHT = NOW.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def with_index(site: Site) -> OverviewSource:
    boards = list(site.boards.order_by("pk").values_list("pk", flat=True))
    return OverviewSource.objects.create(
        site=site, kind="index", url=site.url, url_hash=7, found=NOW, boards=boards
    )


def work(now: datetime, with_readings: bool = True) -> None:
    """Ends all queued runs as if their board visits and, with `with_readings`, their overview
    fetches had been made at `now`."""
    for run in Run.objects.filter(state=RunState.QUEUED):
        for pk in run.parameters["boards"]:
            visit, _ = Visit.objects.get_or_create(run=run, board_id=pk)
            Visit.objects.filter(pk=visit.pk).update(
                started=now,
                list_pages=1,
                requests=2,
                stopped_by="watermark",
                state={"complete": True, "stopped_by": "watermark"},
            )
            visit.refresh_from_db()
            visits.finish(visit, now)
        for look in Look.objects.filter(
            pk__in=run.parameters.get("looks", []) if with_readings else []
        ):
            shown = {
                str(board.pk): [10, 100, (NOW - timedelta(days=1)).timestamp()]
                for board in look.source.site.boards.all()
            }
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


class Fixed(datetime):
    """Replaces `datetime` in view modules: `now()` returns the class attribute `moment`, which
    tests set."""

    moment: datetime = MIDNIGHT

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return cls.moment


@pytest.fixture
def at(monkeypatch):
    """Returns a function that sets the current time for the web pages and the command line."""
    for module in ("plans", "sites", "threads", "delays"):
        monkeypatch.setattr(f"forums.admin.{module}.datetime", Fixed)
    monkeypatch.setattr(clock.SystemClock, "now", lambda _self: Fixed.moment)

    def set_to(moment: datetime) -> None:
        Fixed.moment = moment

    return set_to


def compare(site: Site, plan: Plan, now: datetime, client, capsys) -> dict:
    """Checks that the plan page, the forum's page, the list of forums and `forum plan --json`
    agree; returns the JSON document."""
    call_command("forum", "plan", str(site.pk), "--json")
    document = json.loads(capsys.readouterr().out)
    told = (document["visits_per_day"], document["used_today"], document["left_today"])
    page = client.get(reverse("admin:forum-plan", args=[site.pk])).context
    budget = page["budget"]
    assert (budget.visits_per_day, budget.used_today, budget.left_today) == told
    shown = client.get(reverse("admin:forum", args=[site.pk])).context
    assert (shown["plan"]["visits"], shown["plan"]["used"], shown["plan"]["left"]) == told
    boards = {one["board"]: (one["next_visit"], one["next_until"]) for one in document["boards"]}
    rows = {row.board.pk: row.due for row in shown["rows"]}
    assert {
        pk: tuple(one and one.isoformat() for one in (due.at, due.until))
        for pk, due in rows.items()
    } == boards
    first: dict[int, tuple[str, str | None]] = {}
    for row in page["coming"]:
        one = row["visit"]
        first.setdefault(one.board.pk, (one.at.isoformat(), one.until and one.until.isoformat()))
    assert first and first == {pk: boards[pk] for pk in first}
    listed = json.loads(
        b"".join(client.get(reverse("admin:forums"), {"as": "json"}).streaming_content)
    )
    assert datetime.fromisoformat(listed[0]["next_visit"]) == datetime.fromisoformat(
        min(boards.values())[0]
    )
    for board in document["boards"]:
        assert (
            len(board["visits"]) == len(board["reasons"]) == len(board["expected_posts"])
            and board["likely"] is True
        )
    return document


@pytest.mark.slow
@pytest.mark.once
def test_a_day_of_the_loop_uses_its_budget_looks_included_and_all_places_agree(
    followed, at, admin_client, capsys
) -> None:
    site, plan = followed
    moments = set(random.Random(5).sample(range(1, 119), 10))
    told: list[tuple[datetime, int, datetime, datetime | None]] = []
    for step in range(121):  # a ranking every twelve minutes, the last one at 23:59
        now = MIDNIGHT + timedelta(minutes=min(12 * step, 1439))
        dispatch.start_due(now)
        if step in moments:
            at(now)
            document = compare(site, plan, now, admin_client, capsys)
            made = PlannedVisit.objects.filter(
                plan=plan, state="started", at__gte=MIDNIGHT, at__lte=now
            ).count()
            spent = sum(
                Look.objects.filter(at__gte=MIDNIGHT, at__lte=now).values_list("cost", flat=True)
            )
            assert (document["used_today"], document["left_today"]) == (
                made + spent,
                40 - made - spent,
            )
            budget = budget_use(plan, now)
            assert budget.expected_visits + budget.expected_looks == budget.left_today, (
                "what is expected until midnight is what is left"
            )
            told += [
                (now, board.pk, board.next_visit, board.next_until)
                for board in Board.objects.exclude(next_visit=None)
            ]
        work(now)
    budget = budget_use(plan, MIDNIGHT + timedelta(hours=23, minutes=59))
    assert (budget.used_today, budget.left_today) == (40, 0) and budget.looks_today > 0
    assert budget.sources[0].used == sum(
        Look.objects.filter(at__gte=MIDNIGHT).values_list("cost", flat=True)
    )
    assert len(told) >= 20 and all(until is not None for *_rest, until in told), (
        "times that are not kept exactly are spans"
    )
    assert kept(plan, told) >= 0.5, "likely means more often than not"


def test_a_source_that_cannot_be_read_leaves_the_visits_to_the_boards(
    followed, admin_client, at
) -> None:
    site, plan = followed
    source = OverviewSource.objects.get()
    for step in range(121):
        now = MIDNIGHT + timedelta(minutes=min(12 * step, 1439))
        dispatch.start_due(now)
        for pk in Look.objects.filter(state="asked").values_list("pk", flat=True):
            Look.objects.filter(pk=pk).update(run=Run.objects.latest("pk"))
            overviews.failed(Url(payload={"look": pk}), "no_boards", now)
        work(now, with_readings=False)
    asked = Look.objects.filter(at__gte=MIDNIGHT).order_by("at").values_list("at", flat=True)
    gaps = [later - earlier for earlier, later in zip(asked, asked[1:], strict=False)]
    assert 2 <= len(asked) <= 7 and all(
        gap >= timedelta(minutes=15 * 2**n) for n, gap in enumerate(gaps)
    )
    assert PlannedVisit.objects.filter(
        plan=plan, state="started", at__gte=MIDNIGHT
    ).count() == 40 - len(asked)
    at(MIDNIGHT + timedelta(hours=23, minutes=59))
    assert (
        "cannot be read"
        in admin_client.get(reverse("admin:forum-plan", args=[site.pk])).content.decode()
    )
    source.refresh_from_db()
    assert source.failures == Look.objects.filter(state="failed").count()


def test_a_board_that_cannot_be_read_leaves_the_visits_to_the_others(
    followed, admin_client
) -> None:
    _site, plan = followed
    OverviewSource.objects.all().delete()
    broken = Board.objects.order_by("pk").first()
    made = []
    for step in range(121):
        now = MIDNIGHT + timedelta(minutes=min(12 * step, 1439))
        dispatch.start_due(now)
        for visit in Visit.objects.filter(board=broken, finished=None):
            item = Url(pk=0, run=visit.run, url=broken.url, kind="list", group=visit.pk)
            visits.list_failed(visit.run, item, "http_403", now)
            made.append(now)
        Run.objects.filter(
            visits__in=Visit.objects.exclude(finished=None), state=RunState.QUEUED
        ).update(state=RunState.FINISHED)
        work(now, with_readings=False)
    gaps = [later - earlier for earlier, later in zip(made, made[1:], strict=False)]
    assert 3 <= len(made) <= 8 and all(
        gap >= timedelta(minutes=15 * 2**n) for n, gap in enumerate(gaps)
    )
    assert PlannedVisit.objects.filter(plan=plan, state="started", at__gte=MIDNIGHT).count() == 40
    broken.refresh_from_db()
    assert broken.failures == len(made)
    Board.objects.filter(pk=broken.pk).update(rests_until=datetime.now(UTC) + timedelta(hours=3))
    page = admin_client.get(reverse("admin:board", args=[broken.pk])).content.decode()
    assert f"could not be read (failures in a row: {len(made)})" in page
    board_state.record_success(broken)
    broken.refresh_from_db()
    assert (broken.failures, broken.rests_until) == (0, None)


@pytest.mark.parametrize(
    ("failures", "reason", "minutes"),
    [
        (1, "http_403", 15),
        (2, "no_boards", 30),
        (7, "http_404", 960),
        (9, "http_404", 1440),
        (9, "timeout: 30 s", 120),
        (9, "http_503", 120),
        (9, "login_expired", 120),
    ],
)
def test_rests_double_up_to_a_day_or_two_hours_for_a_site(
    failures: int, reason: str, minutes: int
) -> None:
    assert board_state.pause_seconds(failures, reason) == 60 * minutes


def kept(plan: Plan, told: list[tuple[datetime, int, datetime, datetime | None]]) -> float:
    """Returns the share of predicted time spans (`told`) that contain the board's next visit, give
    or take twelve minutes."""
    made: dict[int, list[datetime]] = {}
    for board, at in (
        PlannedVisit.objects.filter(plan=plan, state="started")
        .order_by("at")
        .values_list("board_id", "at")
    ):
        made.setdefault(board, []).append(at)
    found = []
    for now, board, first, until in told:
        after = [at for at in made.get(board, []) if at > now]
        if after and until is not None:
            found.append(first - timedelta(minutes=12) <= after[0] <= until + timedelta(minutes=12))
    return float(np.mean(found))


def test_a_planned_visit_stands_at_its_time_and_an_expected_one_in_a_span(followed) -> None:
    site, plan = followed
    wish = plans.add(plan, site.boards.first().pk, MIDNIGHT + timedelta(hours=2), now=MIDNIGHT)
    rows, _more = plan_reads.coming(plan, MIDNIGHT, 50)
    fixed = [one for one in rows if one.planned is not None]
    assert [(one.at, one.until) for one in fixed] == [(wish.at, None)]
    dispatch.start_due(wish.at - timedelta(minutes=2))
    work(wish.at - timedelta(minutes=2))
    assert PlannedVisit.objects.get(pk=wish.pk).state == "planned"
    dispatch.start_due(wish.at)
    made = PlannedVisit.objects.get(pk=wish.pk)
    assert (made.state, made.at) == (
        "started",
        wish.at,
    ) and made.visit is not None, "what is told without a span is kept"
    likely = [one for one in rows if one.planned is None]
    assert likely and all(
        one.at <= one.expected_at <= one.until and one.posts is not None for one in likely
    )
    assert loops.used(plan, MIDNIGHT) is not None


def test_forum_plan_tells_used_sources_reasons_and_posts(followed, capsys) -> None:
    site, _plan = followed
    call_command("forum", "plan", str(site.pk), "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["visits_per_day"] == 40 and document["used_today"] >= 0
    assert [one["kind"] for one in document["sources"]] == ["index"] and 0 <= document["sources"][
        0
    ]["share_of_budget"] <= 1
    for board in document["boards"]:
        assert len(board["visits"]) == len(board["reasons"]) == len(board["expected_posts"])
        assert board["likely"] is True and all("posts" in reason for reason in board["reasons"])


def test_posts_that_the_index_shows_and_nobody_has_fetched_count_as_waiting(
    followed, at, admin_client
) -> None:
    site, plan = followed
    now = MIDNIGHT + timedelta(hours=1)
    live = loops.load(plan, MIDNIGHT)
    boards = live.boards.tolist()
    look = Figures(
        np.full(3, 10.0),
        np.array([104.0, 100.0, 100.0]),
        np.full(3, (MIDNIGHT + timedelta(minutes=30)).timestamp()),
    )
    midnight = MIDNIGHT.timestamp()
    live.loop.overview.calibrate(
        0, Figures(np.full(3, 10.0), np.full(3, 100.0), np.full(3, midnight)), midnight
    )
    live.loop.record_figures(0, look, now.timestamp())
    loops.store(live, now)
    found = waiting.shown(site, now)
    assert [one.board for one in found] == [boards[0]] and found[0].weight == pytest.approx(2.0)
    later = waiting.shown(site, now + timedelta(hours=1))[0]
    assert later.weighted_hours == pytest.approx(found[0].weighted_hours + 2.0), "they wait on"
    Run.objects.update(scheduled=True)
    Visit.objects.create(
        run=Run.objects.first(),
        board_id=boards[0],
        list_pages=1,
        started=now,
        finished=now,
        arrived_replies=1,
        arrivals=[[now.timestamp() - 60, False, 60.0]],
    )
    at(now)
    report = admin_client.get(reverse("admin:forum-delays", args=[site.pk])).context["report"]
    assert report.waiting_posts >= 2 and report.mean_with_waiting > report.delay.mean_hours


def test_a_deadline_is_set_for_ticked_boards_and_taken_away(followed, admin_client) -> None:
    site, plan = followed
    board = site.boards.last()
    address = reverse("admin:forum-boards", args=[site.pk])
    admin_client.post(address, {"do": "deadline", "deadline": "2,5", "board": [board.pk]})
    board.refresh_from_db()
    assert board.deadline_hours == 2.5 and Plan.objects.get(pk=plan.pk).stale == "deadline"
    dispatch.start_due(MIDNIGHT)
    assert loops.load(plan, MIDNIGHT).loop.deadline_hours.tolist().count(2.5) == 1
    for wrong in ("x", "0", "-1", "nan", "9999"):
        admin_client.post(address, {"do": "deadline", "deadline": wrong, "board": [board.pk]})
        board.refresh_from_db()
        assert board.deadline_hours == 2.5
    admin_client.post(address, {"do": "deadline", "deadline": "", "board": [board.pk]})
    board.refresh_from_db()
    assert board.deadline_hours is None
