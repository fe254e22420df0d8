"""Silence: seldom told of a forum that is only quiet, always of one that has stopped; shown, told once, over with the first news."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from crawlmgr.models import Event, Host
from forums.models import Board, BoardHour, Site
from forums.services import silences
from forums.silence import find_silence

NOW = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
SHAPE = np.array([0.1] * 8 + [1.0] * 4 + [2.0] * 12) / 29  # share of a day's items by the hour, 0.8 at night


def record(seed: int, a_day: float, days: int) -> tuple[np.ndarray, np.ndarray]:
    """Hours of a forum with bursts: threads come by the hour of the day and bring a geometric number of replies with them."""
    rng, hours = np.random.default_rng(seed), np.arange(24 * days) % 24
    threads = rng.poisson(a_day / 3 * SHAPE[hours])
    return np.array([n + rng.negative_binomial(n, 1 / 3) if n else 0 for n in threads]), hours


def test_a_quiet_forum_is_no_silent_one() -> None:
    alarms = sum(find_silence(*record(seed, a_day, 28)) is not None for seed in range(200) for a_day in (3.0, 12.0, 60.0))
    assert alarms <= 6


@pytest.mark.parametrize(("a_day", "days_gone"), [(60.0, 2), (12.0, 6)])
def test_a_forum_that_stopped_is_told_of(a_day: float, days_gone: int) -> None:
    for seed in range(40):
        counts, hours = record(seed, a_day, 28)
        counts[-24 * days_gone :] = 0
        found = find_silence(counts, hours)
        assert found is not None and found.hours >= 24 * days_gone and found.expected >= 2 * found.longest


def test_a_night_is_no_silence() -> None:
    day = np.array([0] * 10 + [6] * 14)
    counts = np.concatenate([np.tile(day, 9), np.zeros(10, np.int64)])
    assert find_silence(counts, np.arange(len(counts)) % 24) is None
    longer = np.concatenate([counts, np.zeros(2, np.int64)])
    found = find_silence(longer, np.arange(len(longer)) % 24)
    assert found is not None and (found.hours, found.expected, found.longest) == (12, 12.0, 0.0)


@pytest.mark.parametrize(("a_day", "days"), [(40.0, 2), (0.4, 28)])
def test_of_what_is_hardly_known_nothing_is_said(a_day: float, days: int) -> None:
    counts, hours = record(1, a_day, days)
    counts[-20:] = 0
    assert find_silence(counts, hours) is None


def fill(board: Board, until: datetime, days: int = 9) -> None:
    first = until.replace(minute=0, second=0, microsecond=0) - timedelta(days=days)
    BoardHour.objects.bulk_create(BoardHour(board=board, hour=first + timedelta(hours=n), replies=1) for n in range(24 * days))


@pytest.mark.django_db
def test_marked_told_once_shown_and_over_with_the_first_news(client: Client) -> None:
    now = datetime.now(UTC)
    host = Host.objects.create(key="a.example")
    silent, busy, unvisited = (
        Site.objects.create(name=f"forum {n}", url=f"x{n}", url_hash=n, host=host, timezone="Asia/Shanghai", added=now) for n in range(3)
    )
    for site, ago, visited in ((silent, 20, 1), (busy, 0, 1), (unvisited, 90, 80)):
        at = now - timedelta(hours=visited)
        board = Board.objects.create(site=site, name="a", url="a", key="a", complete_at=at, watched_since=now - timedelta(days=30))
        fill(board, now - timedelta(hours=ago))
    assert silences.watch(now) == 1 and silences.watch(now) == 1
    assert list(Site.objects.filter(silent_since__isnull=False)) == [silent]
    assert [event.text for event in Event.objects.filter(code="silent")] == ["forum 0: 19 h, 19"]
    client.force_login(get_user_model().objects.create_superuser("root"))
    told = "has given nothing new for longer than its rhythm explains"
    assert client.get(reverse("admin:index")).content.decode().count(told) == 1
    assert 'id="silence-banner"' in client.get(reverse("admin:forum", args=[silent.pk])).content.decode()
    assert 'id="silence-banner"' not in client.get(reverse("admin:forum", args=[busy.pk])).content.decode()

    BoardHour.objects.create(board=Board.objects.get(site=silent), hour=now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=2), replies=1)
    assert silences.watch(now) == 0 and not Site.objects.filter(silent_since__isnull=False).exists()
    assert told not in client.get(reverse("admin:index")).content.decode()
