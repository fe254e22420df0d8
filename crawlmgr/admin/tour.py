"""The guided tour through the demonstration: six steps, each a page of the web interface with an
explanation above it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from crawlmgr.admin.site import Step, desk_site


def steps(request: HttpRequest) -> dict[int, Step]:
    """Returns the steps of the tour that already have a page, by number, in order. Steps without a
    page are counted too, so that no number changes when one of them gets its page. Returns {} for
    users who may not see runs."""
    if not request.user.has_perm("crawlmgr.view_run"):
        return {}
    made = enumerate((make() for _order, make in desk_site.tour), 1)
    return {number: step for number, step in made if step is not None}


def bar(request: HttpRequest) -> dict[str, Any] | None:
    """Returns context for a page opened as a step of the tour (`?tour=3`): the step's number, its
    texts, and the addresses of the previous and the next step ("" for none); None for other pages.
    """
    asked = request.GET.get("tour", "")
    if not asked.isascii() or not asked.isdigit() or len(asked) > 2:
        return None
    known = steps(request)
    number = int(asked)
    if number not in known:
        return None
    before = max((one for one in known if one < number), default=0)
    after = min((one for one in known if one > number), default=0)
    context = {"number": number, "total": len(desk_site.tour), "step": known[number]}
    return {**context, "before": address(known, before), "after": address(known, after)}


def address(known: dict[int, Step], number: int) -> str:
    """Returns the address at which step `number` of the guided tour is shown; "" if `known`, the
    steps by number, has no such step."""
    if number not in known:
        return ""
    url = known[number].url
    return f"{url}{'&' if '?' in url else '?'}tour={number}"


def _alarms() -> Step:
    about = _(
        "Problems and completed goals are reported here, and by mail, webhook or chat to the"
        " recipients you choose."
    )
    return Step(_("An alarm"), about, reverse("admin:alarms"))


def _exports() -> Step:
    about = _(
        "Choose the content, check the first rows and save the export: it can run by hand or by"
        " schedule and be fetched by an address or over the API."
    )
    return Step(_("Export the data"), about, reverse("admin:exports"))


desk_site.add_tour(50, _alarms)
desk_site.add_tour(60, _exports)
