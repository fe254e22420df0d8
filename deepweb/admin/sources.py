"""Views of search sites: the table of all with its filters and actions, adding sites, and one site
with its forms."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms as django_forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import tables, tags
from crawlmgr.admin import tables as removal_views
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Action, Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, opens_nothing, page, post_view
from crawlmgr.exports import downloads
from crawlmgr.models import Run
from crawlmgr.web.url import UrlError, canonical, host_key
from deepweb import reads
from deepweb.admin.forms import picture
from deepweb.admin.records import lines_of
from deepweb.forms import sources
from deepweb.forms.stored import refusal_code
from deepweb.models import Form, Source
from deepweb.reads import SourceRow, is_search

MAY_DELETE = "deepweb.delete_source"


def _name(row: SourceRow) -> str:
    one = row.source
    name = format_html(
        '<a href="{}" title="{}">{}</a>', address("admin:source", one.pk), one.name, one.name
    )
    return format_html("{}<br>{}", name, tags.outlink(one.url, one.url, "soft small"))


def _records(row: SourceRow) -> str:
    if not row.source.records:
        return "0"
    html = '<a href="{}?site={}">{}</a>'
    return format_html(
        html, reverse("admin:records"), row.source.pk, tags.number(row.source.records)
    )


def _state(row: SourceRow) -> str:
    return render_to_string("deepweb/source_state.html", {"row": row})


def _state_word(row: SourceRow) -> str:
    if row.run is not None:
        return str(row.run.state)
    return "can be queried" if row.search else "no search form" if row.source.looked_at else "new"


def _states() -> list[tuple[str, str]]:
    return [
        ("", _("All states")),
        ("search", _("can be queried")),
        ("none", _("no search form")),
        ("new", _("not inspected yet")),
    ]


def _in_state(rows: Rows, code: str) -> Rows:
    if code == "new":
        return rows.filter(looked_at__isnull=True)
    found = Exists(Form.objects.filter(is_search(), source=OuterRef("pk")))
    return rows.filter(found) if code == "search" else rows.filter(~found, looked_at__isnull=False)


TABLE = Table(
    "sources",
    (
        Column(
            "site",
            gettext_lazy("Site"),
            lambda row: row.source.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column("url", gettext_lazy("Address"), lambda row: row.source.url, look="one", usual=False),
        Column(
            "search",
            gettext_lazy("Search forms"),
            lambda row: row.search,
            lambda row: tags.number(row.search),
            falling("search_forms"),
            {"search_forms": Count("forms", filter=is_search("forms__"))},
            look="num",
        ),
        Column(
            "forms",
            gettext_lazy("Forms"),
            lambda row: row.forms,
            lambda row: tags.number(row.forms),
            falling("all_forms"),
            {"all_forms": Count("forms")},
            look="num",
        ),
        Column(
            "pages",
            gettext_lazy("Pages"),
            lambda row: row.source.pages,
            lambda row: tags.number(row.source.pages),
            falling("pages"),
            look="num",
        ),
        Column(
            "records",
            gettext_lazy("Records"),
            lambda row: row.source.records,
            _records,
            falling("records"),
            look="num",
        ),
        Column(
            "inspected",
            gettext_lazy("Inspected"),
            lambda row: row.source.looked_at,
            lambda row: tags.ago(row.source.looked_at),
            falling("looked_at", nullable=True),
            look="nowrap",
        ),
        Column(
            "added",
            gettext_lazy("Added"),
            lambda row: row.source.created,
            lambda row: tags.ago(row.source.created),
            tables.NEWEST,
            look="nowrap",
            usual=False,
        ),
        Column("state", gettext_lazy("State"), _state_word, _state),
    ),
    "added",
    tables.words_in("name", "url"),
    (Choice("show", gettext_lazy("State"), _states, _in_state),),
    (
        Action("find", gettext_lazy("Search for forms again"), "refresh", "crawlmgr.add_run"),
        Action(tables.DELETE, gettext_lazy("Delete"), "delete", MAY_DELETE),
    ),
    "sources-do",
    deletes="source",
)


def _find_forms(request: HttpRequest, source: Source, now: Any) -> None:
    sources.find([source.url], now=now, settings=source.parameters, user=request.user)


VERBS: dict[str, tables.Verb] = {"find": _find_forms}


@post_view("deepweb/do/", "sources-do", "deepweb.change_source")
def do(request: HttpRequest) -> HttpResponse:
    """Carries out an action on the selected sites: search for forms again, delete, or undo the
    deletion."""

    def success_text(count: int) -> str:
        return ngettext(
            "Applied to %(count)s search site.", "Applied to %(count)s search sites.", count
        )

    rows = Source.objects.defer("links")
    return tables.carry_out(request, TABLE, rows, VERBS, reverse("admin:sources"), success_text)


TABLES = ("forms", "queries", "records")


MAX_ADDRESSES = 100


LINES_TOLD = 20


HARVESTS = 10


RECORDS = 8


class AddForm(django_forms.Form):
    """Form with the addresses of sites, one per line, and the settings of the crawl for forms."""

    addresses = django_forms.CharField(label=gettext_lazy("Addresses"), max_length=100_000)
    depth = django_forms.IntegerField(
        label=gettext_lazy("Depth"), min_value=0, max_value=10, initial=sources.DEPTH
    )
    pages = django_forms.IntegerField(
        label=gettext_lazy("Most pages per site"),
        min_value=1,
        max_value=100_000,
        initial=sources.PAGES,
    )
    delay_seconds = django_forms.FloatField(
        label=gettext_lazy("Pause between requests"), min_value=0, max_value=3600, initial=1
    )
    private = django_forms.BooleanField(label=gettext_lazy("Private network"), required=False)

    def clean_addresses(self) -> list[str]:
        """Returns the valid addresses in canonical form, and sets `wrong` to the numbers of the
        invalid lines. Raises ValidationError if no address is valid or there are too many.
        """
        lines = [line.strip() for line in str(self.cleaned_data["addresses"]).splitlines()]
        wanted: list[str] = []
        self.wrong: list[str] = []
        for number, line in enumerate(lines, start=1):
            if not line or line.startswith("#"):
                continue
            address = line if "://" in line else f"http://{line}"
            try:
                wanted.append(canonical(address))
            except UrlError:
                self.wrong.append(str(number))
        if self.wrong and not wanted:
            raise django_forms.ValidationError(_wrong_lines(self.wrong))
        if not wanted or len(wanted) > MAX_ADDRESSES:
            raise django_forms.ValidationError(
                _("Between 1 and %(most)s addresses at a time.") % {"most": MAX_ADDRESSES}
            )
        return wanted


def _wrong_lines(numbers: list[str]) -> str:
    more = ", …" if len(numbers) > LINES_TOLD else ""
    return _("Lines that are not web addresses: %(lines)s.") % {
        "lines": ", ".join(numbers[:LINES_TOLD]) + more
    }


@admin_view("deepweb/", "sources", "deepweb.view_source")
def source_list(request: HttpRequest) -> HttpResponseBase:
    """Lists all search sites, newest first."""

    def context() -> dict[str, Any]:
        return {"harvests": reads.harvests(size=8), "downloads": downloads.choices(TABLES)}

    return table_page(
        request,
        "deepweb/sources.html",
        TABLE,
        Source.objects.defer("links"),
        context,
        prepare=reads.with_numbers,
        key=lambda row: row.source.pk,
        title=_("Search sites"),
        item="sources",
    )


@admin_view("deepweb/add/", "source-add", "deepweb.view_source", post="deepweb.add_source")
def add(request: HttpRequest) -> HttpResponse:
    """Shows and processes the form for new sites; starts a crawl of them for forms."""
    if not request.user.has_perm("deepweb.add_source"):
        raise PermissionDenied
    form = AddForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and opens_nothing(request, form, "private"):
        run = _find(request, form)
        if run is not None:
            if form.wrong:
                messages.warning(request, _wrong_lines(form.wrong))
            only = run.parameters["sources"]
            return back(request, "source", only[0]) if len(only) == 1 else back(request, "sources")
    trail = [(_("Search sites"), reverse("admin:sources"))]
    context = {"form": form, "contact": settings.CONTACT}
    return page(
        request,
        "deepweb/add.html",
        context,
        title=_("Add search sites"),
        item="source-add",
        trail=trail,
        status=422 if form.errors else 200,
    )


def _find(request: HttpRequest, form: AddForm) -> Run | None:
    data = form.cleaned_data
    chosen: dict[str, Any] = {"delay_seconds": data["delay_seconds"]}
    if data["private"]:  # private addresses are allowed for the hosts of these sites only
        chosen["allow_private"] = ",".join(
            sorted({host_key(address) for address in data["addresses"]})
        )
    started: list[Run] = []

    def start() -> None:
        started.append(
            sources.find(
                data["addresses"],
                now=datetime.now(UTC),
                depth=data["depth"],
                pages=data["pages"],
                settings=chosen,
                user=request.user,
            )
        )

    attempt(request, _("The search for forms has started."), start)
    return started[0] if started else None


def find(pk: int) -> Source:
    source = Source.objects.defer("links").filter(pk=pk).first()
    if source is None:
        raise Http404(_("There is no such site."))
    return source


@admin_view("deepweb/site/<int:pk>/", "source", "deepweb.view_source")
def source_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one site: its forms by type, each with a preview of its fields."""
    source = find(pk)
    row = reads.with_numbers([source])[0]
    forms = [
        {"form": form, "picture": picture(form, 6), "asks": refusal_code(form) is None}
        for form in reads.forms_of(source)
    ]
    context = {
        "source": source,
        "row": row,
        "forms": forms,
        "harvests": reads.harvests(size=HARVESTS, source=source),
        "of_site": True,
        "newest": lines_of(reads.newest_records(source, RECORDS)),
        "downloads": downloads.choices(TABLES, site=pk),
    }
    trail = [(_("Search sites"), reverse("admin:sources"))]
    answer = page(
        request,
        "deepweb/source.html",
        context,
        title=source.name,
        item=f"source:{pk}",
        trail=trail,
        live="deepweb/source_live.html",
    )
    if request.GET.get("run") and row.run is None:
        answer["X-Desk-Reload"] = "1"
    return answer


@post_view("deepweb/site/<int:pk>/find/", "source-find", "crawlmgr.add_run")
def look_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a crawl of the site for forms."""
    source = find(pk)
    attempt(
        request,
        _("The search for forms has started."),
        lambda: sources.find(
            [source.url], now=datetime.now(UTC), settings=source.parameters, user=request.user
        ),
    )
    return back(request, "source", pk)


@admin_view(
    "deepweb/site/<int:pk>/delete/",
    "source-delete",
    "deepweb.delete_source",
    post="deepweb.delete_source",
)
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks for confirmation, for which the site's name has to be typed, showing what will be lost;
    then deletes the site."""
    source = find(pk)
    wrong = request.method == "POST" and request.POST.get("name", "").strip() != source.name.strip()
    if request.method == "POST" and not wrong:
        now = datetime.now(UTC)
        return removal_views.delete_object(
            request,
            source.name,
            "sources",
            lambda: sources.start_removal(source, now, request.user),
        )
    trail = [
        (_("Search sites"), reverse("admin:sources")),
        (source.name, reverse("admin:source", args=[pk])),
    ]
    context = {"source": source, "wrong": wrong, "row": reads.with_numbers([source])[0]}
    return page(
        request, "deepweb/delete.html", context, title=_("Delete"), item=f"source:{pk}", trail=trail
    )
