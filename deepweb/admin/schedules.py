"""Views of scheduled harvests: set the interval at which a form is harvested again, and start such
a harvest at once."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import hours
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import attempt, back, number, post_view
from crawlmgr.exports import desk
from deepweb.models import Form, Source
from deepweb.services import dispatch, harvests

INTERVALS = (
    (0, gettext_lazy("only when a user starts it")),
    (86_400, gettext_lazy("1 day")),
    (7 * 86_400, gettext_lazy("1 week")),
    (30 * 86_400, gettext_lazy("30 days")),
)


def _find(pk: int) -> Form:
    form = Form.objects.filter(pk=pk).select_related("source").defer("words").first()
    if form is None:
        raise Http404(_("There is no such form."))
    return form


@post_view("deepweb/form/<int:pk>/schedule/", "form-schedule", "deepweb.change_form")
def schedule(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the interval at which the form is harvested again, or none."""
    form, seconds = _find(pk), number(request.POST.get("interval", ""))
    if seconds not in {value for value, _name in INTERVALS}:
        messages.error(request, _("Choose an interval."))
        return back(request, "search-form", pk)
    done = (
        _("The form is harvested again by schedule.")
        if seconds
        else _("The form is harvested only when a user starts it.")
    )
    attempt(request, done, lambda: dispatch.repeat(form, seconds, datetime.now(UTC)))
    return back(request, "search-form", pk)


@post_view("deepweb/form/<int:pk>/again/", "form-again", "crawlmgr.add_run")
def again(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a harvest of the form at once, with the settings of its last harvest."""
    form, now = _find(pk), datetime.now(UTC)
    options, web = dispatch.last_settings(form)
    done = _("The harvest has started.")
    attempt(
        request,
        done,
        lambda: harvests.start([form], options, now=now, settings=web, user=request.user),
    )
    return back(request, "search-form", pk)


def _timed(pk: int) -> tuple[str, str, str] | None:
    found = Form.objects.filter(pk=pk).values_list("source__name", "source_id").first()
    return (
        (found[0], address("admin:search-form", pk), f"source:{found[1]}")
        if found is not None
        else None
    )


hours.TIMED[harvests.KIND] = hours.Timed(
    gettext_lazy("Harvest"),
    "admin:search-form",
    "deepweb.view_form",
    ("admin:form-again", "crawlmgr.add_run"),
    _timed,
    "deepweb.change_form",
)


def _named() -> list[tuple[int, str]]:
    return list(Source.objects.order_by("name", "pk").values_list("pk", "name"))


desk.SITES |= dict.fromkeys(("forms", "queries", "records"), _named)
