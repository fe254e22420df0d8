"""Template filters and tags: times, sizes, states and safe links; the loader of templates."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from django import template
from django.template.context import Context
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as url_tag
from django.template.loaders import filesystem
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.access import vault
from crawlmgr.admin import help as help_pages
from crawlmgr.admin import table_tags, words
from crawlmgr.admin.tree import address, open_item
from crawlmgr.models import UrlState
from crawlmgr.schedule import timings

register = template.Library()
register.filter("said", words.say)
register.filter("briefly", words.brief)  # a shorter text than `said`, for rows of a list
register.filter("waits", words.waits)
register.filter("seed", words.seed)
register.filter("hours", words.hours)
register.filter("kind", words.kind)
register.filter("happened", words.happened)
register.tag("table", table_tags.table)
register.tag("column", table_tags.column)
register.tag("row", table_tags.attributes)
register.tag("cell", table_tags.attributes)
register.tag("placeholder", table_tags.placeholder)

STATE_LOOK = {
    "running": "on",
    "queued": "",
    "paused": "warn",
    "finished": "ok",
    "stopped": "warn",
    "failed": "bad",
}
NOTHING = "–"
INDENTATION = re.compile(r"\n[ \t]+")


class Loader(filesystem.Loader):
    """Loads a template without the indentation of its lines, which would be a sixth of every page.
    The line breaks stay: to a browser one is as good as any other white space, and messages about a
    template name the right line."""

    def get_contents(self, origin: Any) -> str:
        return INDENTATION.sub("\n", super().get_contents(origin))


def _time(value: datetime | None, kind: str) -> str:
    if value is None:
        return NOTHING
    utc = value.astimezone(UTC)
    shown = (
        f'<time datetime="{utc.isoformat(timespec="seconds")}" data-{kind}>{utc:%Y-%m-%d %H:%M}'
        " UTC</time>"
    )
    # contains only digits and fixed words; format_html would be slow for lists with hundreds of
    # times
    return mark_safe(shown)  # noqa: S308


@register.filter
def ago(value: datetime | None) -> str:
    """Formats a time as a relative one ("5 minutes ago"): HTML that the browser keeps current, with
    the exact time as its title; a dash for None."""
    return _time(value, "ago")


@register.filter
def predicted(value: datetime | None, until: datetime | None) -> str:
    """Formats when something is due: a time, or with `until` the period in which it will probably
    happen."""
    if value is None or until is None:
        return _time(value, "ago")
    now = datetime.now(UTC)
    if until <= now:
        return format_html("{} {}", _("was due"), _time(until, "ago"))
    first, last = max(0.0, (value - now).total_seconds()), max(60.0, (until - now).total_seconds())
    low, high = (duration(seconds) for seconds in (first, last))
    text = _("likely within %(high)s") if first < 60 else _("likely in %(low)s to %(high)s")
    title = f"{value.astimezone(UTC):%Y-%m-%d %H:%M} – {until.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return format_html('<span title="{}">{}</span>', title, text % {"low": low, "high": high})


@register.filter
def clock(value: datetime | None) -> str:
    """Formats a date and time in the user's time zone."""
    return _time(value, "clock")


@register.simple_tag
def zoned(value: datetime | None, zone: ZoneInfo) -> str:
    """Formats a date and time in a time zone, such as that of the site on which it was found."""
    if value is None:
        return NOTHING
    utc = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        utc.isoformat(timespec="seconds"),
        f"{utc:%Y-%m-%d %H:%M:%S}",
        f"{value.astimezone(zone):%Y-%m-%d %H:%M}",
    )


@register.simple_tag
def local(value: datetime, zone: ZoneInfo) -> str:
    """Returns the time of day of `value` in a time zone, as HH:MM."""
    return f"{value.astimezone(zone):%H:%M}"


@register.filter
def number(value: float | str | None) -> str:
    """Formats a number as 1,234,567; a dash for None or ""."""
    return NOTHING if value is None or isinstance(value, str) else f"{value:,.0f}"


@register.filter
def share(value: float | None) -> str:
    """Formats a share in [0, 1] as a percentage; a dash for None."""
    return NOTHING if value is None else f"{value * 100:.0f} %"


@register.filter
def size(value: float | None) -> str:
    """Formats a size in bytes with decimal units (1 kB = 1,000 bytes); a dash for None."""
    if value is None:
        return NOTHING
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


@register.filter
def duration(seconds: float | None) -> str:
    """Formats a duration in seconds in the largest unit that keeps the number readable; a dash for
    None."""
    if seconds is None:
        return NOTHING
    if seconds < 90:
        text = f"{seconds:.1f}".rstrip("0").rstrip(".") if seconds < 10 else f"{seconds:.0f}"
        return _("%(number)s s") % {"number": text}
    if seconds < 3600:
        return _("%(number)s min") % {"number": f"{seconds / 60:.0f}"}
    if seconds < 36 * 3600:
        return _("%(number)s h") % {"number": f"{seconds / 3600:.1f}".removesuffix(".0")}
    days = round(seconds / 86400)
    return ngettext("%(number)s day", "%(number)s days", days) % {"number": days}


@register.filter
def state(run: Any) -> SafeString:
    """Formats a run's state as a badge; a requested pause or stop that has not happened yet is
    shown instead."""
    wish = {"pause": _("pausing"), "stop": _("stopping")}.get(run.wanted) if run.active else None
    look = "warn" if wish else STATE_LOOK.get(run.state, "")
    if run.state == "running" and not wish and timings.is_of_hours(getattr(run, "waiting_for", "")):
        return format_html(
            '<span class="badge" title="{}">{}</span>', words.waits(run.waiting_for), _("waits")
        )
    return format_html('<span class="badge {}">{}</span>', look, wish or run.get_state_display())


@register.filter
def took(run: Any) -> str:
    """Formats the duration of a run that has ended; a dash for others."""
    return (
        duration((run.finished - run.started).total_seconds())
        if run.finished and run.started
        else NOTHING
    )


@register.filter
def pretty(value: Any) -> str:
    """Formats a JSON value as indented text; secret crawl settings are replaced by dots."""
    return json.dumps(vault.shown_anywhere(value), ensure_ascii=False, indent=2)


@register.filter
def ended(run: Any) -> str:
    """Returns the reason why a run ended, in the wording for its kind."""
    return words.ended(run.kind, run.stopped_by)


@register.filter
def url_state(name: str) -> str:
    """Returns the translated name of an address's state in the frontier."""
    return str(UrlState[name.upper()].label)


@register.filter
def inset(depth: int) -> str:
    """Returns the CSS class that indents a table cell by the depth of its row in a tree (0 for the
    root)."""
    return f"in{depth}"


def safe_address(url: str) -> str:
    """Returns the address if it is http or https, otherwise "": nothing else may become a link."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme.lower() in ("http", "https") and parts.netloc else ""


class _Address(URLNode):
    """Template node of a `{% url %}` that is faster for views of one database row. A list has
    several such links in each line, and Django would search its URL patterns for each link."""

    def render(self, context: Context) -> str:
        if len(self.args) == 1 and not self.kwargs and not self.asvar:
            name, pk = str(self.view_name.resolve(context)), self.args[0].resolve(context)
            if name.startswith("admin:") and type(pk) is int and pk >= 0:
                return address(name, pk)
        return str(super().render(context))


@register.tag("url")
def url(parser: Any, token: Any) -> _Address:
    """Replaces Django's `{% url %}`, without searching the URL patterns if the address is the page
    of one row."""
    node = url_tag(parser, token)
    return _Address(node.view_name, node.args, node.kwargs, node.asvar)


@register.simple_tag
def outlink(url: str, text: str = "", css: str = "link wrap") -> SafeString:
    """Makes a link to an external page that sends no referrer; plain text if the address is not
    http or https."""
    address = safe_address(url)
    if not address:
        return format_html('<span class="{}">{}</span>', css, text or url)
    return format_html(
        '<a class="{}" href="{}" rel="noopener noreferrer" target="_blank">{}</a>',
        css,
        address,
        text or url,
    )


@register.simple_tag(takes_context=True)
def guide(context: Any) -> str:
    """Returns the address of the page of the user guide that explains the current view."""
    return help_pages.beside(open_item(context["request"]))


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<span class="material-symbols-outlined" aria-hidden="true">{}</span>', name)


@register.simple_tag
def tick_all(name: str) -> SafeString:
    """Makes the checkbox that ticks all checkboxes of a name, for the heading of their column."""
    return format_html(
        '<input type="checkbox" class="tick" data-tick-all="{}" aria-label="{}">', name, _("all")
    )


@register.simple_tag
def desk_words() -> SafeString:
    """Returns an HTML element with texts for the browser script, in the user's language, as
    JSON."""
    return json_script({"offline": _("The server does not respond")}, "desk-words")


@register.inclusion_tag("desk/facts.html")
def facts(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    return {"pairs": pairs}
