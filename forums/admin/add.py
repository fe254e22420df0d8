"""Admin views for adding a forum: its address, live progress of the inspection, choice of boards
with a preview, then name, time zone and interval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from crawlmgr.admin import words
from crawlmgr.admin.views import admin_view, attempt, back, opens_nothing, page
from crawlmgr.models import Run, RunState
from crawlmgr.runs import run_reads, runs
from crawlmgr.runs.desk import story
from crawlmgr.web.url import UrlError, canonical, host_key
from forums.admin.words import unread
from forums.models import DEFAULT_INTERVAL_SECONDS
from forums.sites import sites

INTERVALS = (
    (900, gettext_lazy("15 minutes")),
    (1800, gettext_lazy("30 minutes")),
    (3600, gettext_lazy("1 hour")),
    (3 * 3600, gettext_lazy("3 hours")),
    (6 * 3600, gettext_lazy("6 hours")),
    (12 * 3600, gettext_lazy("12 hours")),
    (86400, gettext_lazy("1 day")),
    (7 * 86400, gettext_lazy("1 week")),
)

EVIDENCE = {
    "given": gettext_noop("Set by a user."),
    "stated": gettext_noop("The pages state the time zone."),
    "pairs": gettext_noop("Computed from times that the pages show in two notations."),
    "future": gettext_noop("Computed from the newest times; please check."),
    "language": gettext_noop("Guessed from the language only; please check."),
    "none": gettext_noop(
        "The pages show no time zone; this one is assumed for times without a zone. Please check."
    ),
}


def known_zone(zone: str) -> None:
    """Raises ValidationError for a name of no time zone (validator of form fields)."""
    if zone not in available_timezones():
        raise forms.ValidationError(_("There is no such time zone; names look like Asia/Shanghai."))


class AddressForm(forms.Form):
    """First form of adding a forum: the forum's address."""

    address = forms.CharField(label=gettext_lazy("Address"), max_length=2000, strip=True)
    delay_seconds = forms.FloatField(
        label=gettext_lazy("Pause between requests"), min_value=0, max_value=3600, initial=1.0
    )
    private = forms.BooleanField(
        label=gettext_lazy("Allow private addresses for this forum"), required=False
    )


class SaveForm(forms.Form):
    """Last form of adding a forum: name, time zone and interval of visits."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=200)
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"), max_length=64, validators=[known_zone]
    )
    interval = forms.TypedChoiceField(
        label=gettext_lazy("Visit every"),
        choices=INTERVALS,
        coerce=int,
        initial=DEFAULT_INTERVAL_SECONDS,
    )
    history_days = forms.FloatField(
        label=gettext_lazy("History on the first visit"), min_value=0, max_value=100_000, initial=20
    )
    start = forms.BooleanField(
        label=gettext_lazy("Visit immediately"), required=False, initial=True
    )


@admin_view("forums/add/", "forum-add", "forums.view_site", post="forums.add_site")
def add(request: HttpRequest) -> HttpResponse:
    """Shows the form for a forum's address; on POST starts the forum's inspection."""
    if not request.user.has_perm("forums.add_site"):
        raise PermissionDenied
    form = AddressForm(request.POST or None, initial={"address": request.GET.get("address", "")})
    if request.method == "POST" and form.is_valid() and opens_nothing(request, form, "private"):
        run = _discover(request, form)
        if run is not None:
            return back(request, "forum-found", run.pk)
    context = {
        "form": form,
        "contact": settings.CONTACT,
        "recent": run_reads.for_lists().filter(kind="forum-discovery")[:6],
    }
    trail = [(_("Forums"), reverse("admin:forums"))]
    return page(
        request,
        "forums/add.html",
        context,
        title=_("Add forum"),
        item="forum-add",
        trail=trail,
        status=200 if not form.errors else 422,
    )


def _discover(request: HttpRequest, form: AddressForm) -> Run | None:
    chosen: dict[str, Any] = {"delay_seconds": form.cleaned_data["delay_seconds"]}
    address = form.cleaned_data["address"]
    address = address if "://" in address else f"http://{address}"
    try:
        own = host_key(canonical(address))
        if form.cleaned_data["private"]:  # the address guard is to allow this forum's own host only
            chosen["allow_private"] = own
        return sites.discover(
            address, {"settings": chosen}, now=datetime.now(UTC), user=request.user
        )
    except runs.Busy as busy:
        messages.info(request, _("This address is already being inspected."))
        return busy.run
    except UrlError:
        form.add_error("address", words.say("bad_url"))
        return None


@admin_view("forums/add/<int:pk>/", "forum-found", "forums.view_site", post="forums.add_site")
def found(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the progress of a forum's inspection; when it has ended, its boards to choose from,
    which a POST saves."""
    run = Run.objects.select_related("created_by").filter(pk=pk, kind="forum-discovery").first()
    if run is None:
        raise Http404(_("There is no such run."))
    boards = _indented(run.result.get("boards", []))
    ready = run.state == RunState.FINISHED and bool(boards)
    form = SaveForm(request.POST or None, initial=_initial(run)) if ready else None
    chosen = (
        set(request.POST.getlist("board"))
        if request.method == "POST"
        else {board["url"] for board in boards}
    )
    if request.method == "POST" and form is not None and form.is_valid():
        saved = _save(request, run, form, sorted(chosen))
        if saved is not None:
            return saved
    now = datetime.now(UTC)
    problem = str(run.result.get("problem") or run.stopped_by)
    context = {
        "run": run,
        "now": now,
        "story": story(run, now),
        "ready": ready,
        "form": form,
        "boards": boards,
        "chosen": chosen,
        "unread": unread(run.result.get("structure") or {}),
        "about": run.result.get("site", {}),
        "evidence": _evidence(run),
        "progress": run.result.get("progress", {}),
        "problem": words.say(problem),
        "refused": problem.startswith("refused_address") and "no_contact" not in problem,
        "silent": "no_contact" in problem,
        "zones": sorted(available_timezones()) if ready else (),
        "pages": run_reads.recent_pages(run, 6),
        "misses": run_reads.recent_failures(run, 6),
    }
    trail = [(_("Forums"), reverse("admin:forums")), (_("Add forum"), reverse("admin:forum-add"))]
    answer = page(
        request,
        "forums/found.html",
        context,
        title=run.label,
        item="forum-add",
        trail=trail,
        live="forums/found_live.html",
    )
    if not run.active:
        answer["X-Desk-Reload"] = "1"
    return answer


def _evidence(run: Run) -> str:
    """Returns the evidence by which the inspection found the time zone, in words."""
    code = run.result.get("site", {}).get("timezone_evidence", "")
    return _(EVIDENCE[code]) if code in EVIDENCE else _(EVIDENCE["none"])


def _initial(run: Run) -> dict[str, Any]:
    about = run.result.get("site", {})
    return {
        "name": run.parameters.get("name") or about.get("name") or run.label,
        "timezone": about.get("timezone") or "UTC",
    }


def _indented(boards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the boards in the same order, each with its `depth` (0 to 3, the number of its
    parents), and with parsed times."""
    depths: dict[str, int] = {}
    for board in boards:
        depths[board["url"]] = min(3, depths.get(board.get("parent_url") or "", -1) + 1)
    return [
        {**board, "depth": depths[board["url"]], "rows": [_timed(row) for row in board["rows"]]}
        for board in boards
    ]


def _timed(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "last_reply": datetime.fromisoformat(row["last_reply"]) if row.get("last_reply") else None,
    }


def _save(request: HttpRequest, run: Run, form: SaveForm, urls: list[str]) -> HttpResponse | None:
    data, now = form.cleaned_data, datetime.now(UTC)
    try:
        site = sites.save(
            run,
            name=data["name"],
            timezone=data["timezone"],
            board_urls=urls,
            interval_seconds=data["interval"],
            settings={"history_days": data["history_days"]},
            now=now,
            user=request.user,
        )
    except ValueError as error:
        form.add_error(None, _("Choose at least one board.") if not urls else str(error))
        return None
    messages.success(request, _("%(name)s is saved.") % {"name": site.name})
    if data["start"]:
        attempt(
            request,
            _("The first visit has started."),
            lambda: sites.crawl_now(site.pk, now=now, user=request.user),
        )
    return back(request, "forum", site.pk)
