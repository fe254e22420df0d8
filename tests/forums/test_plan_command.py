"""`forum plan`: what it stores and prints, and its one-line error messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command

from forums.models import Plan, PlannedVisit
from tests.forums.planned import fill, make_site

pytestmark = pytest.mark.django_db


Command = Callable[..., dict]


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def plan(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command; returns its JSON document and its messages."""

    def run(*arguments: str) -> dict:
        call_command("forum", "plan", *arguments, "--json")
        out = capsys.readouterr()
        return {**json.loads(out.out), "said": out.err}

    return run


def test_the_next_day_is_stored_and_printed(now: datetime, plan: Command) -> None:
    site = make_site(now=now)
    fill(site, now=now)
    for policy in ("optimal", "adaptive"):
        found = plan(str(site.pk), "--policy", policy, "--visits-per-day", "30")
        assert (found["policy"], found["visits_per_day"], found["basis"], len(found["boards"])) == (
            policy,
            30,
            "history",
            3,
        )
        assert sum(len(board["visits"]) for board in found["boards"]) == 30
        assert found["boards"][0]["weight"] > found["boards"][2]["weight"] > 0
        assert all(
            len(time) == 8 and time[2] == ":"
            for board in found["boards"]
            for time in board["visits"]
        )
    assert Plan.objects.get().policy == "adaptive" and not PlannedVisit.objects.exists()


def test_before_any_history_it_says_so(now: datetime, plan: Command) -> None:
    site = make_site(now=now)
    site.boards.update(watched_since=None, complete_at=None, last_visit=None)
    found = plan("--policy", "optimal", "--visits-per-day", "6")
    assert (
        found["basis"] == "prior"
        and found["site"] is None
        and sum(len(b["visits"]) for b in found["boards"]) == 6
    )
    assert "no history yet" in found["said"]


def test_refusals_are_one_line(now: datetime, plan: Command) -> None:
    with pytest.raises(CommandError, match="There is no site 7"):
        plan("7")
    with pytest.raises(CommandError, match="no board"):
        plan("--visits-per-day", "5")
    site = make_site(now=now)
    with pytest.raises(CommandError, match="visits_per_day") as wrong:
        plan(str(site.pk), "--visits-per-day", "0")
    assert wrong.value.returncode == 2
    with pytest.raises(CommandError, match="own intervals"):
        plan(str(site.pk), "--policy", "interval")


def test_without_a_board_no_plan_is_kept(plan: Command) -> None:
    with pytest.raises(CommandError, match="no board"):
        plan()
    assert not Plan.objects.exists()
