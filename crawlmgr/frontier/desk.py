"""Admin views of hosts: next allowed request times, crawl delays, back-off and robots.txt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import charts, tables, tags, words
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Choice, Column, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, existing, page
from crawlmgr.database import caches
from crawlmgr.frontier import fetching, host_reads, hosts
from crawlmgr.models import Host
from crawlmgr.web import robots
from crawlmgr.web.url import UrlError, absolute, canonical, host_key


def _states() -> list[tuple[str, str]]:
    return [("", _("All")), ("waiting", _("Waiting")), ("failing", _("Failing"))]


def _next(host: Any) -> str:
    """Returns the table cell with the time of the next allowed request of a Host. `host.now` is the
    current time, set when the rows were read."""
    if host.next_at <= host.now:
        return format_html('<span class="ok">{}</span>', _("ready"))
    asked = host.retry_after_until is not None and host.retry_after_until > host.now
    return format_html("{}{}", tags.ago(host.next_at), _asked_to_wait() if asked else "")


def _asked_to_wait() -> str:
    return format_html(' <span class="badge warn">{}</span>', _("asked to wait"))


def error_text(host: Host) -> str:
    """Returns the last error of a host in words. The stored text is a code followed by a space and
    the error itself; a text with an unknown code is returned as it is."""
    code = host.last_error.partition(" ")[0]
    told = words.say(code)
    return host.last_error if told == code else told


def _last(host: Host) -> str:
    if host.last_error:
        return format_html(
            '<span class="bad" title="{}">{}</span>', host.last_error, error_text(host)
        )
    return str(host.last_status or tags.NOTHING)


def _robots(host: Host) -> str:
    if host.robots_fetched_at:
        return words.say(host.robots_verdict)
    return format_html('<span class="soft">{}</span>', _("not read"))


def _seconds(name: str, title: Any, *, usual: bool = True) -> Column:
    """Makes a column for the host's field `name`, a duration in seconds. With `usual` false it is
    hidden until chosen."""
    return Column(
        name,
        title,
        lambda host: getattr(host, name),
        lambda host: tags.duration(getattr(host, name)),
        look="num",
        usual=usual,
    )


def _figure(name: str, title: Any, *, usual: bool = True) -> Column:
    """Makes a column for the host's counter `name`; the list can be sorted by it, the largest
    number first. With `usual` false it is hidden until chosen."""

    def value(host: Host) -> int:
        return int(getattr(host, name))

    return Column(
        name,
        title,
        value,
        lambda host: tags.number(value(host)),
        falling(name),
        look="num",
        usual=usual,
    )


def _failures(host: Host) -> str:
    return format_html('<span class="{}">{}</span>', "bad" if host.failures else "", host.failures)


def _name(host: Host) -> str:
    return format_html('<a href="{}">{}</a>', address("admin:host", host.pk), host.key)


def _narrowed(rows: tables.Rows, code: str) -> tables.Rows:
    return (
        host_reads.waiting(rows, datetime.now(UTC))
        if code == "waiting"
        else host_reads.failing(rows)
    )


TABLE = Table(
    "hosts",
    (
        Column(
            "host", gettext_lazy("Host"), lambda host: host.key, _name, by("key"), look="title one"
        ),
        Column(
            "next", gettext_lazy("Next request"), lambda host: host.next_at, _next, look="nowrap"
        ),
        Column(
            "in_flight",
            gettext_lazy("In flight"),
            lambda host: host.in_flight,
            lambda host: f"{host.in_flight} / {host.connections}",
            look="num",
        ),
        _seconds("pace", gettext_lazy("Current delay")),
        _seconds("delay_seconds", gettext_lazy("Configured delay"), usual=False),
        _seconds("crawl_delay_seconds", "Crawl-delay", usual=False),
        Column(
            "failures",
            gettext_lazy("Failures in a row"),
            lambda host: host.failures,
            _failures,
            falling("failures"),
            look="num",
        ),
        Column(
            "last",
            gettext_lazy("Last response"),
            lambda host: host.last_error or host.last_status,
            _last,
            look="ended",
        ),
        Column("robots", "robots.txt", lambda host: host.robots_verdict, _robots, look="nowrap"),
        _figure("requests", gettext_lazy("Requests")),
        Column(
            "bytes",
            gettext_lazy("Received"),
            lambda host: host.bytes,
            lambda host: tags.size(host.bytes),
            falling("bytes"),
            look="num",
        ),
        _figure("errors", gettext_lazy("Errors"), usual=False),
        Column(
            "asked",
            gettext_lazy("Last request"),
            lambda host: host.last_request_at,
            lambda host: tags.ago(host.last_request_at if host.requests else None),
            falling("last_request_at", nullable=True),
            look="nowrap",
        ),
    ),
    "host",
    tables.words_in("key"),
    (Choice("show", gettext_lazy("State"), _states, _narrowed),),
)


HOURS = 48


HOST_HOURS = 7 * 24


BUSIEST = "busiest-hosts"


# the query sums up the last hours of all hosts; the chart has one bar per hour, so results that are
# a minute old are good enough
BUSIEST_SECONDS = 60.0


@admin_view("hosts/", "hosts")
def host_list(request: HttpRequest) -> HttpResponseBase:
    """Lists all hosts, with a chart of the requests to the busiest ones."""
    now = datetime.now(UTC)
    charts_wanted = request.GET.get("part") != "rows" and not request.GET.get("as")
    context = {"totals": host_reads.totals(), "charts": _busiest(now)} if charts_wanted else {}
    return table_page(
        request,
        "desk/hosts.html",
        TABLE,
        host_reads.for_lists(),
        context,
        prepare=lambda rows: _with_pace(rows, now),
        title=_("Hosts"),
        item="hosts",
    )


def _with_pace(rows: list[Host], now: datetime) -> list[Host]:
    """Sets on each host its effective crawl delay (`pace`), the number of requests in flight
    (`in_flight`) and the time (`now`); returns the hosts."""
    asked = host_reads.in_flight_of_hosts([host.pk for host in rows], now)
    host: Any
    for host in rows:
        host.pace, host.in_flight, host.now = (
            hosts.effective_delay(host),
            asked.get(host.pk, 0),
            now,
        )
    return rows


def _busiest(now: datetime) -> list[charts.Chart]:
    series = caches.remembered(BUSIEST, BUSIEST_SECONDS, lambda: host_reads.busiest(now, HOURS))
    found = []
    for key, title, unit in (
        ("requests", _("Requests"), _("requests per hour")),
        ("bytes", _("Received"), _("MB per hour")),
    ):
        lines = []
        for one, colour in zip(series, charts.COLOURS, strict=False):
            rows = host_reads.filled(one.hours, now, HOURS)
            values = [
                row.requests if key == "requests" else round(row.bytes / 1e6, 2) for row in rows
            ]
            lines.append(charts.Series(one.key, [row.hour for row in rows], values, colour))
        found.append(
            charts.chart(
                f"chart-{key}",
                title,
                lines,
                x=_("hour (UTC)"),
                y=unit,
                note=_("the busiest hosts of the last 48 hours"),
            )
        )
    return found


@admin_view("hosts/<int:pk>/", "host")
def host_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one host: its next allowed request time, its requests, its robots.txt, and a test of
    whether robots.txt allows an address."""
    host = existing(Host.objects.filter(pk=pk).first(), _("There is no such host."))
    now = datetime.now(UTC)
    rows = host_reads.filled(host_reads.hourly(now, HOST_HOURS, host), now, HOST_HOURS)
    hours = [row.hour for row in rows]
    drawn = charts.chart(
        "chart-host",
        _("Requests and bytes"),
        [
            charts.Series(
                _("answered"), hours, [row.requests - row.errors for row in rows], charts.NEW
            ),
            charts.Series(_("errors"), hours, [row.errors for row in rows], charts.BAD),
            charts.Series(
                _("MB received"),
                hours,
                [round(row.bytes / 1e6, 3) for row in rows],
                charts.UPDATED,
                line=True,
                second_axis=True,
            ),
        ],
        x=_("hour (UTC)"),
        y=_("requests per hour"),
        y2=_("MB per hour"),
        note=_("the last 7 days"),
    )
    context = {
        "host": host,
        "error": error_text(host),
        "now": now,
        "pace": hosts.effective_delay(host),
        "charts": [drawn],
        "pages": host_reads.recent_pages(host),
        "tried": _tried(host, request.GET.get("url", "")),
        "url": request.GET.get("url", ""),
    }
    return page(
        request,
        "desk/host.html",
        context,
        title=host.key,
        item="hosts",
        trail=[(_("Hosts"), reverse("admin:hosts"))],
    )


def _tried(host: Host, text: str) -> dict[str, Any] | None:
    """Tells whether the stored robots.txt allows the address `text` (a path is completed to an
    address of this host). Returns a dictionary with `text`, the sentence to show, and `look`, its
    style; None if `text` is empty."""
    text = text.strip()
    if not text:
        return None
    try:
        address = canonical(absolute(text, f"http://{host.key}/") or text)
    except UrlError:
        return {"look": "bad", "text": words.say("bad_url")}
    if host_key(address) != host.key:
        return {
            "look": "warn",
            "text": _("This address belongs to the host %(host)s.") % {"host": host_key(address)},
        }
    if host.robots_fetched_at is None:
        return {"look": "warn", "text": _("robots.txt has not been read yet.")}
    rules = robots.RobotsRules(
        text=host.robots_text or None,
        verdict=host.robots_verdict,
        fetched_at=host.robots_fetched_at,
        expires_at=host.robots_expires_at or host.robots_fetched_at,
        agent=fetching.PRODUCT,
    )
    if rules.allowed(address):
        return {"look": "ok", "text": _("Allowed: %(url)s") % {"url": address}}
    return {"look": "bad", "text": _("Refused by robots.txt: %(url)s") % {"url": address}}


desk_site.add_page(30, gettext_lazy("Hosts"), "hosts", "dns", "hosts")
