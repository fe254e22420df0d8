"""Admin view for editing a saved forum: name, time zone, crawl settings, exceptions for private
addresses, and which boards are visited."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.access import vault
from crawlmgr.admin.views import OPEN_PRIVATE, admin_view, back, numbers, opens_nothing, page
from crawlmgr.conf import CrawlSettings
from crawlmgr.web.url import canonical, host_key
from forums.admin import site_table
from forums.admin.add import INTERVALS, known_zone
from forums.admin.sites import find
from forums.models import Board, Site
from forums.sites import reads, sites

PRIVATE = (
    "private",
    "proxy_private",
    "proxy_resolves",
)  # exceptions for private addresses; only administrators may allow them
SWITCHES = ("respect_robots", "obey_robots_meta", "obey_nofollow", "use_apis")
KEEP = ("", gettext_lazy("as set for each board"))


class EditForm(forms.Form):
    """Form with every setting of a saved forum that can be changed. The allowed ranges of crawl
    settings are those of `CrawlSettings`."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=200)
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"), max_length=64, validators=[known_zone]
    )
    delay_seconds = forms.FloatField(
        label=gettext_lazy("Pause between requests"), min_value=0, max_value=3600
    )
    connections = forms.IntegerField(
        label=gettext_lazy("Requests at the same time"), min_value=1, max_value=16
    )
    history_days = forms.FloatField(
        label=gettext_lazy("History on the first visit"), min_value=0, max_value=100_000
    )
    max_pages = forms.IntegerField(
        label=gettext_lazy("Maximum list pages a visit"), min_value=1, max_value=100_000
    )
    interval = forms.TypedChoiceField(
        label=gettext_lazy("Visit every"),
        choices=(KEEP, *INTERVALS),
        coerce=int,
        empty_value=None,
        required=False,
    )
    proxy = forms.CharField(label=gettext_lazy("Proxy"), max_length=300, required=False)
    headers = forms.CharField(
        label=gettext_lazy("Request headers"), max_length=8000, required=False, strip=True
    )
    private = forms.BooleanField(
        label=gettext_lazy("Allow private addresses for this forum"), required=False
    )
    proxy_private = forms.BooleanField(
        label=gettext_lazy("The proxy is on a private network"), required=False
    )
    proxy_resolves = forms.BooleanField(
        label=gettext_lazy("The proxy resolves host names itself"), required=False
    )
    respect_robots = forms.BooleanField(label=gettext_lazy("Obey robots.txt"), required=False)
    obey_robots_meta = forms.BooleanField(
        label=gettext_lazy("Obey robots meta tags and X-Robots-Tag"), required=False
    )
    obey_nofollow = forms.BooleanField(
        label=gettext_lazy("Do not follow links marked rel=nofollow"), required=False
    )
    use_apis = forms.BooleanField(
        label=gettext_lazy("Read the forum's own JSON interface where it has one"), required=False
    )

    def clean_proxy(self) -> str:
        proxy = str(self.cleaned_data["proxy"]).strip()
        try:
            sites.check_proxy(proxy)
        except ValueError:
            raise forms.ValidationError(
                _(
                    "This is not a proxy address; proxy addresses look like"
                    " http://proxy.example:3128."
                )
            ) from None
        return proxy

    def clean_headers(self) -> dict[str, str]:
        try:
            return sites.parse_headers(self.cleaned_data["headers"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


@admin_view(
    "forums/site/<int:pk>/edit/", "forum-edit", "forums.change_site", post="forums.change_site"
)
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the form and saves it on POST; errors are shown beside the fields, and nothing is saved
    then."""
    site = find(pk)
    boards = reads.ordered(
        list(
            Board.objects.filter(site=site).only(
                "id", "name", "parent_id", "position", "enabled", "site_id"
            )
        )
    )
    form = EditForm(request.POST or None, initial=_initial(site))
    chosen = {board.pk for board, _depth in boards if board.enabled}
    if request.method == "POST":
        chosen = set(numbers(request.POST.getlist("board")))
        if (
            form.is_valid()
            and opens_nothing(request, form, *PRIVATE, before=_open(site))
            and _save(request, site, form, chosen)
        ):
            return back(request, "forum", pk)
    trail = [(_("Forums"), reverse("admin:forums")), (site.name, reverse("admin:forum", args=[pk]))]
    context = {
        "site": site,
        "tabs": site_table.of_forum(request, pk, "forum-edit"),
        "form": form,
        "boards": [(board, min(depth, 3), board.pk in chosen) for board, depth in boards],
        "zones": sorted(available_timezones()),
    }
    status = 422 if form.errors else 200
    return page(
        request,
        "forums/edit.html",
        context,
        title=_("Edit"),
        item=f"site:{pk}",
        trail=trail,
        status=status,
    )


def _initial(site: Site) -> dict[str, Any]:
    crawl = CrawlSettings.from_mapping(vault.shown(site.settings))
    named = ("delay_seconds", "connections", "history_days", "max_pages", "proxy", *SWITCHES)
    return {
        "name": site.name,
        "timezone": site.timezone,
        **{name: getattr(crawl, name) for name in named},
        "headers": "\n".join(f"{name}: {value}" for name, value in crawl.headers.items()),
        **{name: name in _open(site) for name in PRIVATE},
        "interval": "",
    }


def _open(site: Site) -> set[str]:
    """Returns the exceptions for private addresses that the forum's stored settings allow: a subset
    of `PRIVATE`."""
    crawl = CrawlSettings.from_mapping(site.settings)
    states = {
        "private": crawl.allow_private,
        "proxy_private": crawl.proxy_private,
        "proxy_resolves": crawl.proxy_resolves,
    }
    return {name for name, state in states.items() if state}


def _wanted(request: HttpRequest, site: Site, form: EditForm) -> set[str]:
    """Returns the private addresses that the forum's crawls may reach after the form is saved, as
    names of `PRIVATE`.

    A user without the permission cannot change them. If such a user enters another proxy, what an
    administrator had allowed for the old proxy no longer applies.
    """
    if request.user.has_perm(OPEN_PRIVATE):
        return {name for name in PRIVATE if form.cleaned_data[name]}
    same = form.cleaned_data["proxy"] == _initial(site)["proxy"]
    return {name for name in _open(site) if same or name == "private"}


def _save(request: HttpRequest, site: Site, form: EditForm, chosen: set[int]) -> bool:
    data = form.cleaned_data
    plain = ("delay_seconds", "connections", "history_days", "max_pages", *SWITCHES)
    settings: dict[str, Any] = {
        name: data[name] for name in plain if data[name] != _initial(site)[name]
    }
    settings["proxy"] = data["proxy"] or None
    settings["headers"] = data["headers"] or None
    wanted = _wanted(request, site, form)
    if ("private" in wanted) != (
        "private" in _open(site)
    ):  # if unchanged, the stored setting stays: it may name further hosts
        settings["allow_private"] = host_key(canonical(site.url)) if "private" in wanted else None
    settings |= {name: name in wanted or None for name in ("proxy_private", "proxy_resolves")}
    values = {
        "name": data["name"],
        "timezone": data["timezone"],
        "settings": settings,
        "interval_seconds": data["interval"],
        "boards": chosen,
    }
    try:
        changed = sites.update(site.pk, values, now=datetime.now(UTC), user=request.user)
    except ValueError as error:
        form.add_error(None, str(error))
        return False
    if changed and data["timezone"] != site.timezone:
        messages.info(
            request,
            _("The new time zone applies from the next visit on; stored times stay unchanged."),
        )
    messages.success(
        request,
        _("%(name)s is saved.") % {"name": data["name"]} if changed else _("Nothing was changed."),
    )
    return True
