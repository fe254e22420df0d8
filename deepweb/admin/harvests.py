"""Views of all harvests of all forms, and of scheduled ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import tables, tags, words
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Choice, Column, Table, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, number, post_view
from crawlmgr.exports import desk, downloads
from crawlmgr.models import RunState
from crawlmgr.runs.desk import SHOWN
from crawlmgr.schedule import desk as hours
from deepweb import harvests, reads
from deepweb.models import Form, Harvest, Source


def _name(one: Harvest) -> str:
    return format_html(
        '<a href="{}">{} #{}</a>',
        address("admin:harvest", one.pk),
        one.form.source.name,
        one.run_id,
    )


def _form(one: Harvest) -> str:
    html = '<a href="{}" title="{}">{}</a>'
    return format_html(
        html, address("admin:search-form", one.form_id), one.form.action, one.form.action
    )


def _in_all(one: Harvest) -> str:
    if one.low is not None and one.high is not None:
        return f"{tags.number(one.low)} – {tags.number(one.high)}"
    if one.unknown:
        return format_html(
            '<span class="soft" title="{}">{}</span>', words.say(one.unknown), _("not estimable")
        )
    return tags.NOTHING


def _most(one: Harvest) -> str:
    return tags.NOTHING if one.high is None else tags.number(one.high)


def _end(one: Harvest) -> str:
    if not one.stopped_by:
        return tags.NOTHING
    return format_html(
        '<span title="{}">{}</span>', words.say(one.stopped_by), words.brief(one.stopped_by)
    )


def _figure(name: str, title: Any, *, usual: bool = True) -> Column:
    """Returns a column of the table for one of the harvest's counters; `usual` tells whether it is
    shown by default."""

    def value(one: Harvest) -> int:
        return int(getattr(one, name))

    return Column(
        name,
        title,
        value,
        lambda one: tags.number(value(one)),
        falling(name),
        look="num",
        usual=usual,
    )


def _states() -> list[tuple[str, str]]:
    names = dict(RunState.choices)
    return [
        ("", _("All states")),
        ("active", _("Active")),
        *((code, str(names[code])) for code in SHOWN if code in names),
    ]


def _policy(one: Harvest) -> str:
    return words.say(f"policy_{one.run.parameters.get('policy', 'fresh')}")


TABLE = Table(
    "harvests",
    (
        Column(
            "harvest",
            gettext_lazy("Harvest"),
            lambda one: one.form.source.name,
            _name,
            tables.NEWEST,
            look="title",
        ),
        Column(
            "form",
            gettext_lazy("Form"),
            lambda one: one.form.action,
            _form,
            look="one",
            usual=False,
        ),
        Column("policy", gettext_lazy("Policy"), _policy, look="nowrap"),
        _figure("queries", gettext_lazy("Queries")),
        Column(
            "efficiency",
            gettext_lazy("Efficiency"),
            lambda one: one.efficiency,
            lambda one: tags.share(one.efficiency),
            look="num",
        ),
        _figure("records", gettext_lazy("Records")),
        _figure("requests", gettext_lazy("Requests")),
        _figure("details", gettext_lazy("Detail pages"), usual=False),
        Column(
            "low",
            gettext_lazy("Estimated total records"),
            lambda one: one.low,
            _in_all,
            look="nowrap",
        ),
        Column(
            "high",
            gettext_lazy("Estimated total, maximum"),
            lambda one: one.high,
            _most,
            look="num",
            usual=False,
        ),
        Column(
            "state",
            gettext_lazy("State"),
            lambda one: one.run.state,
            lambda one: tags.state(one.run),
        ),
        Column(
            "created",
            gettext_lazy("Created"),
            lambda one: one.run.created,
            lambda one: tags.ago(one.run.created),
            look="nowrap",
        ),
        Column(
            "ended",
            gettext_lazy("End reason"),
            lambda one: words.say(one.stopped_by) if one.stopped_by else None,
            _end,
            look="ended",
        ),
    ),
    "harvest",
    tables.words_in("form__source__name"),
    (
        Choice(
            "show",
            gettext_lazy("State"),
            _states,
            lambda rows, code: rows.filter(run__state__in=SHOWN[code]),
        ),
    ),
)


@admin_view("deepweb/harvests/", "harvests", "deepweb.view_harvest")
def harvest_list(request: HttpRequest) -> HttpResponseBase:
    """Lists every harvest, newest first."""
    context = {
        "downloads": downloads.choices(["queries"]),
        "empty": _(
            "No form has been harvested yet. To start a harvest, choose “Harvest” beside a search"
            " form of a site."
        ),
        "steps": "deepweb/begin.html",
        "beside": True,
    }
    trail = [(_("Search sites"), reverse("admin:sources"))]
    return table_page(
        request,
        "desk/list.html",
        TABLE,
        reads.all_harvests(),
        context,
        title=_("Harvests"),
        item="harvests",
        trail=trail,
    )


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
    attempt(request, done, lambda: harvests.repeat(form, seconds, datetime.now(UTC)))
    return back(request, "search-form", pk)


@post_view("deepweb/form/<int:pk>/again/", "form-again", "crawlmgr.add_run")
def again(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a harvest of the form at once, with the settings of its last harvest."""
    form, now = _find(pk), datetime.now(UTC)
    options, web = harvests.last_settings(form)
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
