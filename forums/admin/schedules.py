"""Adds the visits of forums to the page of schedules in the web interface."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from crawlmgr.admin.tree import address
from crawlmgr.exports import desk
from crawlmgr.schedule import desk as hours
from forums.models import Site
from forums.reads import recurring


def _timed(pk: int) -> tuple[str, str, str] | None:
    name = Site.objects.filter(pk=pk).values_list("name", flat=True).first()
    return (name, address("admin:forum", pk), f"site:{pk}") if name is not None else None


def _zone(pk: int) -> str:
    return Site.objects.filter(pk=pk).values_list("timezone", flat=True).first() or "UTC"


hours.TIMED[recurring.KIND] = hours.Timed(
    gettext_lazy("Forum"),
    "admin:forum",
    "forums.view_site",
    ("admin:forum-crawl", "crawlmgr.add_run"),
    _timed,
    "forums.change_plan",
    _zone,
    recurring.planned,
)


def _named() -> list[tuple[int, str]]:
    return list(Site.objects.order_by("name").values_list("pk", "name"))


desk.SITES |= dict.fromkeys(("boards", "threads", "posts", "visits", "pages", "links"), _named)
