"""The tour through the demonstration: six steps, each a page of the desk with a sentence about it above."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from crawlmgr.admin.site import Step


def steps(request: HttpRequest) -> list[Step]:
    """The steps that there is a page for by now, in their order."""
    if not request.user.has_perm("crawlmgr.view_run"):
        return []
    return [found for _order, make in admin.site.tour if (found := make()) is not None]


def bar(request: HttpRequest) -> dict[str, Any] | None:
    """What a page shows that was opened as a step (`?tour=3`): its place, its words, the addresses before and after."""
    asked = request.GET.get("tour", "")
    if not asked.isascii() or not asked.isdigit() or len(asked) > 2:
        return None
    known = steps(request)
    number = int(asked)
    if not 1 <= number <= len(known):
        return None
    before, after = (address(known, place) for place in (number - 1, number + 1))
    return {"number": number, "total": len(known), "step": known[number - 1], "before": before, "after": after}


def address(known: list[Step], number: int) -> str:
    """Where a step is, counted from 1; "" where there is none."""
    if not 1 <= number <= len(known):
        return ""
    url = known[number - 1].url
    return f"{url}{'&' if '?' in url else '?'}tour={number}"


def _alarms() -> Step:
    about = _("What is wrong, and what has reached its goal, is told here, and by mail, webhook or chat to whom you name.")
    return Step(_("An alarm"), about, reverse("admin:alarms"))


def _exports() -> Step:
    about = _("Choose what, look at the first rows, keep it: by hand, on a schedule, by an address, over the API.")
    return Step(_("Take it with you"), about, reverse("admin:exports"))


admin.site.add_tour(50, _alarms)
admin.site.add_tour(60, _exports)
