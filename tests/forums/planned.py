"""Forums with stored posts for tests of plans: no web, only what visits would have left in the tables."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np

from crawlmgr.models import Host
from forums.models import Board, BoardHour, Post, Site, Thread

NOW = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
DIURNAL = 1.2 + np.sin((np.arange(24) - 9) / 24 * 2 * np.pi)  # busiest at 15 h


def make_site(name: str = "a", volumes: tuple[float, ...] = (40.0, 10.0, 2.0), zone: str = "UTC", now: datetime = NOW) -> Site:
    """A site with a board a volume (posts a day), watched for two days, none of its posts stored yet."""
    host, _ = Host.objects.get_or_create(key=f"http://{name}")
    number = Site.objects.count() + 1
    site = Site.objects.create(name=name, url=f"http://{name}/", url_hash=number, host=host, timezone=zone, added=now)
    for position, _volume in enumerate(volumes):
        Board.objects.create(
            site=site, name=f"{name}{position}", url=f"http://{name}/{position}", key=f"{name}{position}", position=position,
            last_visit=now - timedelta(hours=1), complete_at=now - timedelta(hours=1), watched_since=now - timedelta(days=2),
        )  # fmt: skip
    return site


def fill(site: Site, volumes: tuple[float, ...] = (40.0, 10.0, 2.0), days: int = 20, now: datetime = NOW, seed: int = 1) -> int:
    """Stores Poisson posts of the last days with an afternoon rhythm in UTC; returns their number."""
    rng = np.random.default_rng(seed)
    made = 0
    for board, volume in zip(site.boards.order_by("position"), volumes, strict=True):
        thread = Thread.objects.create(site=site, board=board, key=f"t{board.pk}", url="x", title="t", first_seen=now)
        start = now - timedelta(days=days)
        hours: Counter[tuple[datetime, bool]] = Counter()
        posts = []
        for hour in range(days * 24):
            begin = start + timedelta(hours=hour)
            for _ in range(rng.poisson(volume * DIURNAL[begin.hour] / DIURNAL.sum())):
                posted = begin + timedelta(seconds=float(rng.uniform(0, 3600)))
                opener = bool(rng.random() < 0.2)
                posts.append(Post(thread=thread, key=str(len(posts)), page=1, position=0 if opener else 1, posted=posted, first_seen=posted))
                hours[posted.replace(minute=0, second=0, microsecond=0), opener] += 1
        Post.objects.bulk_create(posts)
        BoardHour.objects.bulk_create(
            BoardHour(board=board, hour=moment, threads=hours[moment, True], replies=hours[moment, False])
            for moment in sorted({moment for moment, _ in hours})
        )
        made += len(posts)
    return made
