"""Views of search sites: the list of all, adding sites, and one site with its forms."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms as django_forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import removals as removal_views
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.views import admin_view, attempt, back, opens_nothing, page, post_view
from crawlmgr.exports import downloads
from crawlmgr.models import Run
from crawlmgr.web.url import UrlError, canonical, host_key
from deepweb import reads
from deepweb.admin.pages import picture
from deepweb.admin.record_table import lines_of
from deepweb.admin.source_table import TABLE
from deepweb.models import Source
from deepweb.services import removals, sources
from deepweb.services.forms import refusal_code

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
        return removal_views.away(
            request, source.name, "sources", lambda: removals.start(source, now, request.user)
        )
    trail = [
        (_("Search sites"), reverse("admin:sources")),
        (source.name, reverse("admin:source", args=[pk])),
    ]
    context = {"source": source, "wrong": wrong, "row": reads.with_numbers([source])[0]}
    return page(
        request, "deepweb/delete.html", context, title=_("Delete"), item=f"source:{pk}", trail=trail
    )
