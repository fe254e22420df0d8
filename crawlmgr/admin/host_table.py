"""Columns and filters of the list of hosts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import narrowing, tables, tags, words
from crawlmgr.admin.tables import Choice, Column, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.models import Host
from crawlmgr.reads import hosts as reads


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


def trouble(host: Host) -> str:
    """Returns the last error of a host in words. The stored text is a code followed by a space and
    the error itself; a text with an unknown code is returned as it is."""
    code = host.last_error.partition(" ")[0]
    told = words.say(code)
    return host.last_error if told == code else told


def _last(host: Host) -> str:
    if host.last_error:
        return format_html('<span class="bad" title="{}">{}</span>', host.last_error, trouble(host))
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
    return reads.waiting(rows, datetime.now(UTC)) if code == "waiting" else reads.failing(rows)


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
    narrowing.words_in("key"),
    (Choice("show", gettext_lazy("State"), _states, _narrowed),),
)
