"""Texts for the codes that are stored with runs, visits, pages and events. A code without a text is
shown as it is."""

from __future__ import annotations

import re

from django.utils.dates import WEEKDAYS_ABBR
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from crawlmgr import installation
from crawlmgr.models import Event, UrlState
from crawlmgr.runs.run_reads import SAID as SAID
from crawlmgr.runs.run_reads import say as say
from crawlmgr.schedule import due, timings
from crawlmgr.schedule.opening_hours import DAY_NAMES
from crawlmgr.upkeep import backups

KINDS = {
    "backup": gettext_noop("backup"),
    "export": gettext_noop("export"),
    "forum": gettext_noop("forum visit"),
    "forum-discovery": gettext_noop("inspection of a new forum"),
    "forum-removal": gettext_noop("deletion of a forum"),
    "forum-reread": gettext_noop("stored pages of a forum read again"),
    "simulation": gettext_noop("simulation"),
    "topic": gettext_noop("topic crawl"),
    "topic-compare": gettext_noop("comparison of strategies"),
    "topic-samples": gettext_noop("samples of a topic"),
    "topic-texts": gettext_noop("reading of samples"),
    "topic-removal": gettext_noop("deletion of a topic"),
    "deepweb-removal": gettext_noop("deletion of a search site"),
    "deepweb": gettext_noop("search forms"),
}


OF_KIND: dict[str, dict[str, str]] = {
    "forum": {
        "complete": gettext_noop("complete: every board was read up to its stop condition"),
        "unreachable": gettext_noop("the forum could not be reached"),
    },
    "topic": {"unreachable": gettext_noop("none of the seeds could be reached")},
    "deepweb-find": {
        "complete": gettext_noop("complete: every page to be inspected was read"),
        "unreachable": gettext_noop("the site could not be reached"),
    },
    "deepweb-harvest": {"unreachable": gettext_noop("the site could not be reached")},
}
"""Texts for codes that mean something different for runs of a kind, by kind and code."""


def to_install(extra: str) -> str:
    """Returns the text that tells how to install the libraries of a feature."""
    return _("not installed here: %(command)s") % {"command": installation.command(extra)}


def ended(kind: str, code: str) -> str:
    """Returns the text for the reason `code` why a run of this kind ended."""
    own = OF_KIND.get(kind, {}).get(code)
    return _(own) if own is not None else say(code)


def happened(event: Event) -> str:
    """Returns the details of an event as text."""
    told = due.read_missed(event)
    if told is None:
        code, _space, detail = event.text.partition(" ")
        return f"{say(code)}: {say(detail)}" if detail and code in SAID else say(event.text)
    name = kind(told.name) if told.name == backups.KIND else told.name
    since = {"name": name, "count": told.times, "since": f"{told.since:%Y-%m-%d %H:%M} UTC"}
    return (
        ngettext(
            "%(name)s: %(count)s start since %(since)s",
            "%(name)s: %(count)s starts since %(since)s",
            told.times,
        )
        % since
    )


def brief(code: str) -> str:
    """Returns a short text for a code, without details and without what follows a colon or
    semicolon. `say` returns the full text."""
    whole = say(code.partition(":")[0])
    return min((whole.partition(sign)[0].strip() for sign in (":", "：", ";", "；")), key=len)


def kind(code: str) -> str:
    """Returns the name of a kind of run."""
    return _(KINDS[code]) if code in KINDS else code


def waits(waiting_for: str) -> str:
    """Returns the text on what a run waits for: a host that may not be requested yet, or the run's
    working hours."""
    if not timings.is_of_hours(waiting_for):
        return _("waits for %(host)s") % {"host": waiting_for}
    text, _space, zone = waiting_for.removeprefix(f"{timings.WAITS} ").rpartition(" ")
    return _("waits for its hours (%(hours)s, %(zone)s)") % {"hours": hours(text), "zone": zone}


def pause(cause: str, amount: float) -> str:
    """Returns a sentence on why a host may not be requested yet. `cause` and `amount` are those of
    `crawlmgr.frontier.host_reads.PauseCause`."""
    if cause == "retry_after":
        return _("The host asked us to wait (Retry-After).")
    if cause == "failures":
        return ngettext(
            "%(number)s request to the host failed; the pause grows with each failure in a row.",
            "%(number)s requests to the host failed one after another; the pause grows with each"
            " failure in a row.",
            int(amount),
        ) % {"number": int(amount)}
    values = {"seconds": f"{amount:g}"}
    if cause == "crawl_delay":
        return (
            _("Its robots.txt asks for %(seconds)s s between two requests (Crawl-delay).") % values
        )
    return _("The delay between two requests to it is %(seconds)s s.") % values


def seed(outcome: str) -> str:
    """Returns the text for the outcome of a seed (a code such as "failed timeout")."""
    state, _space, reason = outcome.partition(" ")
    label = str(UrlState[state.upper()].label)
    return f"{label}: {say(reason)}" if reason else label


def hours(text: str) -> str:
    """Formats stored working hours ("mon-fri 22:00-06:00") in the user's language."""
    spans = re.sub(r"(\d\d:\d\d)-(\d\d:\d\d)", r"\1–\2", text)
    return re.sub(r"[a-z]{3}", lambda found: str(WEEKDAYS_ABBR[DAY_NAMES.index(found[0])]), spans)


def clock(minutes: int) -> str:
    """Returns minutes since midnight as a time of day (HH:MM)."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
