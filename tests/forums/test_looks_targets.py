"""Overview fetches with real forum software: overview sources are found automatically, and new
posts are found with fewer requests than by reading the list of every board."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from forums.models import Look, OverviewSource, Post, Site, Visit
from forums.plans import loops, plan_days, plans
from forums.plans.plan_state import PlanState
from forums.sites import sites
from forums.visits import overviews

TARGET = Path(__file__).resolve().parents[3] / "shared" / "targets" / "target"
STATE = Path(os.environ.get("CRAWL_TARGETS") or Path.home() / ".cache" / "crawl-targets")
# with this random seed, machina (a forum) gets the new thread in a sub-board that its index omits
BELOW = 1101
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0, "history_days": 400.0}

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.skipif(
        not TARGET.exists(), reason="the real forums to crawl are not on this machine"
    ),
]


def target(*words: object) -> str:
    done = subprocess.run(
        [str(TARGET), *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stderr or done.stdout)[-300:]
    return done.stdout.strip()


@pytest.fixture(params=["machina", "spirit", "flaskbb"])
def running(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Name and address of a forum started for this test."""
    name = request.param
    if not (STATE / name).is_dir():
        pytest.skip(f"{name} is not installed here")
    if (
        subprocess.run([str(TARGET), name, "status"], capture_output=True, check=False).returncode
        == 0
    ):
        pytest.skip(f"{name} is in use")
    hosts.forget()
    try:
        yield name, target(name, "start").splitlines()[-1]
    finally:
        target(name, "stop")


def crawled(site: Site, **given: object) -> Run:
    run = sites.crawl_now(  # type: ignore[arg-type]
        site.pk, now=datetime.now(UTC), start=False, **given
    )
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


def test_what_changed_costs_fewer_requests_than_a_look_at_every_board(
    running: tuple[str, str],
) -> None:
    name, address = running
    found = sites.discover(address, {"settings": OPEN}, now=datetime.now(UTC), start=False)
    assert engine.run_slice(found.pk) == RunState.FINISHED
    found.refresh_from_db()
    urls = [board["url"] for board in found.result["boards"]]
    site = sites.save(
        found, name="", timezone="", board_urls=urls, settings=OPEN, now=datetime.now(UTC)
    )
    crawled(site)
    crawled(site)
    source = (
        OverviewSource.objects.filter(site=site, enabled=True)
        .order_by("-names_threads", "pk")
        .first()
    )
    assert source is not None and len(source.boards) >= 2
    plan = plans.save(site.pk, {"policy": "adaptive", "visits_per_day": 96}, now=datetime.now(UTC))
    plan_days.replan(plan, datetime.now(UTC))
    for draw in (int(datetime.now(UTC).timestamp()) % 100_000, BELOW):
        calibrated = overviews.ask(source, datetime.now(UTC))
        crawled(site, readings=[calibrated.pk], board_ids=[])
        _tell(plan)
        before = Post.objects.count()
        added = target(name, "add", 1, 2, draw)
        look = overviews.ask(source, datetime.now(UTC))
        crawled(site, readings=[look.pk], board_ids=[])
        asked = 1 if source.names_threads else 1 + _visit_what_was_told(plan, site)
        known = set(
            site.boards.values_list("name", flat=True)
        )  # boards empty on discovery are missing: no posts expected there
        expected = sum(json.loads(line)["board"] in known for line in added.splitlines())
        assert expected >= 2 and Post.objects.count() == before + expected, (
            f"a new thread and two replies: {added}"
        )
        assert asked < site.boards.count() + 1
        assert Look.objects.get(pk=look.pk).state == "done"
        live = _tell(plan)
        assert live.loop.overview is not None and not live.loop.overview.known.any(), (
            "nothing is left waiting"
        )
        assert not live.loop.overview.wrong.any(), "what was told was found"
    if name == "machina":
        assert "Keyboards" in added, "the draw is one of a board that the index does not show"


def _visit_what_was_told(plan: plans.Plan, site: Site) -> int:
    """Visits the boards on which an overview page has shown posts not fetched yet; returns the
    number of list pages read."""
    live = _tell(plan)
    assert live.loop.overview is not None
    due = live.boards[np.flatnonzero(live.loop.overview.known > 0)].tolist()
    visit = crawled(site, board_ids=due)
    return sum(Visit.objects.filter(run=visit).values_list("list_pages", flat=True))


def _tell(plan: plans.Plan) -> PlanState:
    now = datetime.now(UTC) + timedelta(seconds=1)
    live = loops.load(plan, now)
    assert live is not None
    loops.report(live, now)
    loops.store(live, now)
    return live
