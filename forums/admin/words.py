"""Texts of the web interface for codes: evidence and doubts about how a forum's pages are read,
reasons of planned visits, parts of a site's model, and names and colours of policies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.db.models import Sum
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from crawlmgr.admin.tags import duration
from forums.models import Doubt, Plan, PlanDay, Policy, Site
from forums.visits import doubts

CLAIMS = {
    "replies": gettext_noop("replies + 1 = posts"),
    "posts": gettext_noop("posts in the list = posts of the thread"),
    "author": gettext_noop("author in the list = author of the first post"),
    "last_author": gettext_noop("last author in the list = author of the last post"),
    "last_reply": gettext_noop("last reply in the list = time of the last post"),
    "created": gettext_noop("creation time in the list = time of the first post"),
    "title": gettext_noop("title in the list = title of the thread"),
    "order": gettext_noop("times are in order on a page of posts"),
    "people": gettext_noop("each profile has one name"),
    "next_list": gettext_noop("the next page of a list brings new rows"),
    "next_thread": gettext_noop("the next page of a thread brings new posts"),
}


UNREAD = {
    "robots": gettext_noop("disallowed by robots.txt"),
    "login": gettext_noop("for members only"),
    "cut": gettext_noop("not inspected: the inspection had reached its limit"),
    "unreadable": gettext_noop("no threads were recognised on its page"),
}


_OF_LISTS = frozenset(
    ("replies", "author", "last_author", "last_reply", "created", "title", "next_list")
)


MAX_DOUBTS = 40


@dataclass(frozen=True, slots=True)
class DoubtRow:
    """A possible error in how a forum is read, in words, with address (`link`) and name (`click`)
    of the page to resolve it."""

    doubt: Doubt
    text: str
    link: str
    click: str


@dataclass(frozen=True, slots=True)
class LessonRow:
    """A consistency claim about a site's pages (see `lessons`): `text` says it in words with the
    number of cases in which it held; `is_true`: whether it counts as true; `choice`: the selector
    chosen to make it hold, "" for the default reading.
    """

    text: str
    is_true: bool
    choice: str


def lessons(site: Site, structure: Mapping[str, Any]) -> list[LessonRow]:
    """Returns the claims about the site's pages in its model (such as "the count in a list is the
    number of posts"), each with how often it was true when the model was learned and in the visits
    since. structure: the model, or its part with `lessons`.
    """
    rows = []
    for one in structure.get("lessons") or ():
        claim = (
            one.get("choice")
            if one.get("claim") == "replies" and one.get("choice") in CLAIMS
            else one.get("claim")
        )
        since = site.evidence.get(str(one.get("claim"))) or {}
        kept, of = one["kept"] + since.get("kept", 0), one["of"] + since.get("of", 0)
        selector = (
            one.get("choice", "") if one.get("choice") not in (claim, "posts", "replies") else ""
        )
        rows.append(LessonRow(_held(str(claim), kept, of), kept >= doubts.HOLDS * of, selector))
    return rows


def _held(claim: str, kept: int, of: int) -> str:
    words = _(CLAIMS[claim]) if claim in CLAIMS else claim
    return ngettext(
        "%(claim)s in %(kept)s of %(of)s case", "%(claim)s in %(kept)s of %(of)s cases", of
    ) % {"claim": words, "kept": kept, "of": of}


def unread(structure: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the boards that were found but not read, each with its name and the reason."""
    return [(one["name"], why(one["reason"])) for one in structure.get("unread") or ()][:MAX_DOUBTS]


def why(reason: str) -> str:
    """Returns the text for the code of the reason why a board was not read."""
    return _(UNREAD[reason]) if reason in UNREAD else reason


def doubt_rows(site: Site) -> list[DoubtRow]:
    """Returns the doubts of a forum that are not dismissed, newest first."""
    rows = Doubt.objects.filter(site=site, settled_at__isnull=True).select_related("board")
    return [_row(site, doubt) for doubt in rows.order_by("-seen", "id")[:MAX_DOUBTS]]


def _row(site: Site, doubt: Doubt) -> DoubtRow:
    detail, board = doubt.detail, doubt.board.name if doubt.board else ""
    correct = reverse("admin:forum-correct", args=[site.pk])
    lists, threads = (f"{correct}?{urlencode({'kind': kind})}" for kind in ("threadlist", "thread"))
    mend = _("Correct a page")
    if doubt.code == "board_unread":
        page = "forum-login" if detail.get("reason") == "login" else "forum-edit"
        text = _("Board %(name)s was found but not read: %(why)s.") % {
            "name": detail.get("name"),
            "why": why(str(detail.get("reason"))),
        }
        return DoubtRow(
            doubt,
            text,
            reverse(f"admin:{page}", args=[site.pk]),
            _("Login") if page == "forum-login" else _("Edit"),
        )
    if doubt.code == "lesson":
        text = _("A consistency check failed: %(told)s.") % {
            "told": _held(doubt.subject, detail.get("kept", 0), detail.get("of", 0))
        }
        return DoubtRow(doubt, text, lists if doubt.subject in _OF_LISTS else threads, mend)
    if doubt.code == "counts_differ":
        told = _held("replies", detail.get("kept", 0), detail.get("of", 0))
        return DoubtRow(
            doubt,
            _("%(board)s: a consistency check failed at the last visit: %(told)s.")
            % {
                "board": board,
                "told": told,
            },
            threads,
            mend,
        )
    pages = detail.get("pages", 0)
    if doubt.code == "rows_left_out":
        text = _("%(board)s: rows may be missing from %(pages)s of the list pages read last.") % {
            "board": board,
            "pages": pages,
        }
        return DoubtRow(doubt, text, lists, mend)
    text = _("%(board)s: posts may be missing from %(pages)s of the threads read last.") % {
        "board": board,
        "pages": pages,
    }
    return DoubtRow(doubt, text, threads, mend)


REPLAN_REASONS = {
    "asked": gettext_noop("requested by a user"),
    "new": gettext_noop("the plan is new"),
    "day": gettext_noop("a new day"),
    "policy": gettext_noop("the policy was changed"),
    "visits_per_day": gettext_noop("the number of visits was changed"),
    "theta": gettext_noop("the weight of replies was changed"),
    "history_days": gettext_noop("the length of the history was changed"),
    "half_life_days": gettext_noop("the half-life was changed"),
    "bins": gettext_noop("the parts of the day were changed"),
    "active": gettext_noop("the plan was switched on or off"),
    "importance": gettext_noop("importances were changed"),
    "hours": gettext_noop("the hours of work were changed"),
    "boards": gettext_noop("other boards"),
    "deadline": gettext_noop("deadlines were changed"),
    "history": gettext_noop("the first posts have been fetched"),
    "visits": gettext_noop("a user changed planned visits"),
}


def replan_reason(code: str) -> str:
    """Returns the text for the code of the reason why a day was planned again."""
    return _(REPLAN_REASONS[code]) if code in REPLAN_REASONS else code


def sentence(day: PlanDay | None, plan: Plan) -> str:
    """Returns one sentence on the policy's effect: how long posts are expected to wait on average,
    and how long they would if all boards were visited equally often; "" if these figures are not
    known."""
    weight = day.board_days.aggregate(total=Sum("weight"))["total"] if day is not None else None
    if day is None or not weight or day.expected_delay is None or day.era_delay is None:
        return ""
    waits, equal = (
        duration(3600.0 * value / weight) for value in (day.expected_delay, day.era_delay)
    )
    values = {"waits": waits, "equal": equal, "visits": day.visits_per_day}
    if plan.policy == Policy.ERA:
        return (
            _("With %(visits)s equal visits a day posts are expected to wait %(equal)s on average.")
            % values
        )
    text = _(
        "Posts are expected to wait %(waits)s on average, %(equal)s with equal visits at the same"
        " cost (%(visits)s a day)."
    )
    return text % values


def why_planned(
    code: str, figures: dict[str, Any], zone: ZoneInfo, at: datetime, person: str = ""
) -> str:
    """Returns one sentence that says why a visit is planned, with times in the plan's zone.
    figures: the stored values for the text; at: time of the visit; person: name of the user who
    scheduled it."""
    values = {
        "previous": _clock(figures.get("previous"), zone, at),
        "hours": _number(figures.get("hours_since")),
        "rate": _number(figures.get("per_hour")),
        "from": _hour(figures.get("from_hour")),
        "to": _hour(figures.get("to_hour")),
        "waiting": _number(figures.get("waiting")),
        "person": person,
    }
    text = _sentence(code, bool(figures.get("previous"))) % values
    return (
        _("%(reason)s (no history yet: average rhythm of public forums)") % {"reason": text}
        if figures.get("prior")
        else text
    )


def _sentence(code: str, visited: bool) -> str:
    if code == "rhythm":
        if visited:
            return _(
                "because %(rate)s posts an hour are expected from %(from)s to %(to)s o'clock, and"
                " the last visit was at %(previous)s"
            )
        return _(
            "because %(rate)s posts an hour are expected from %(from)s to %(to)s o'clock, and there"
            " was no visit before"
        )
    if code == "even":
        if visited:
            return _("evenly spaced: %(hours)s h after the last visit (%(previous)s)")
        return _("evenly spaced; there was no visit before")
    if code == "waiting":
        return _(
            "because about %(waiting)s posts waited, %(hours)s h after the visit at %(previous)s"
        )
    if code == "expected":
        if visited:
            return _(
                "expected: about %(waiting)s posts waiting by then, %(hours)s h after the visit at"
                " %(previous)s"
            )
        return _("expected: the board has not been visited yet")
    if code == "later":
        return _("expected: about %(waiting)s posts should have arrived since the visit before")
    if code == "person":
        return _("scheduled by %(person)s")
    return code.replace("%", "%%")


def _clock(text: Any, zone: ZoneInfo, at: datetime) -> str:
    """Returns a stored time as a time of day in `zone`; with its date if that is not the date of
    the visit (`at`)."""
    if not text:
        return ""
    moment = datetime.fromisoformat(str(text)).astimezone(zone)
    return (
        f"{moment:%H:%M}"
        if moment.date() == at.astimezone(zone).date()
        else f"{moment:%m-%d %H:%M}"
    )


def _number(value: Any) -> str:
    return (
        "–"
        if value is None
        else f"{float(value):.2g}"
        if float(value) < 10
        else f"{float(value):.0f}"
    )


def _hour(value: Any) -> str:
    return "–" if value is None else f"{float(value) % 24:.0f}"


KINDS = {
    "index": gettext_noop("board index"),
    "list": gettext_noop("list of threads"),
    "threadlist": gettext_noop("list of threads"),
    "thread": gettext_noop("thread"),
    "alias": gettext_noop("other addresses of a thread"),
    "profile": gettext_noop("profile"),
    "other": gettext_noop("other page"),
}


ROLES = {
    "url": gettext_noop("address"),
    "title": gettext_noop("title"),
    "name": gettext_noop("name"),
    "author": gettext_noop("author"),
    "replies": gettext_noop("replies"),
    "views": gettext_noop("views"),
    "threads": gettext_noop("number of threads"),
    "posts": gettext_noop("number of posts"),
    "created": gettext_noop("creation time"),
    "last_reply": gettext_noop("last reply"),
    "last_author": gettext_noop("last author"),
    "last_post_url": gettext_noop("link to the last post"),
    "board_url": gettext_noop("link to the board"),
    "board_name": gettext_noop("name of the board"),
    "pinned": gettext_noop("pinned"),
    "locked": gettext_noop("locked"),
    "posted": gettext_noop("time of the post"),
    "text": gettext_noop("text"),
    "post_id": gettext_noop("post id"),
    "number": gettext_noop("position in the thread"),
    "description": gettext_noop("description"),
    "parent": gettext_noop("parent board"),
}


REASONS = {
    "marks": gettext_noop("the pages look different (other class names)"),
    "kind": gettext_noop("pages are recognised as different kinds than before"),
    "rows": gettext_noop("far fewer rows on a page"),
    "roles": gettext_noop("fields that were present are missing"),
    "addresses": gettext_noop("addresses have a different form"),
    "contradiction": gettext_noop(
        "the model's rule relating reply counts to post counts no longer holds"
    ),
    "rules": gettext_noop("corrected fields are no longer found"),
    "boards_lost": gettext_noop("boards were not found again"),
    "threads_unknown": gettext_noop("the threads listed differ from the stored ones"),
    "posts_differ": gettext_noop("the posts read differ from the stored ones"),
    "roles_lost": gettext_noop("fields that were present are missing"),
    "nothing_read": gettext_noop("no list of threads could be read"),
}


WHAT = {
    "engine": gettext_noop("software"),
    "timezone": gettext_noop("time zone"),
    "day_first": gettext_noop("order of day and month"),
    "posts_per_page": gettext_noop("posts per page"),
    "counts_posts": gettext_noop("meaning of the counts"),
    "list_flip": gettext_noop("further pages of a list"),
    "thread_flip": gettext_noop("further pages of a thread"),
    "patterns": gettext_noop("addresses"),
    "pager": gettext_noop("position of the link to the next page"),
    "rows": gettext_noop("rows per page"),
    "roles": gettext_noop("fields"),
    "marks": gettext_noop("class names"),
    "version": gettext_noop("version"),
    "rule": gettext_noop("correction"),
}


ORDERS = {
    None: gettext_noop("not determined: no date shows it"),
    True: gettext_noop("day before month"),
    False: gettext_noop("month before day"),
}


COUNTS = {
    None: gettext_noop("not determined"),
    True: gettext_noop("all posts, including the first one"),
    False: gettext_noop("replies"),
}


SORTS = {
    "last_reply": gettext_noop("by last reply"),
    "created": gettext_noop("by creation time"),
    "": gettext_noop("not recognised"),
}


def kind(code: str) -> str:
    """Returns the display name of a kind of page."""
    return _(KINDS[code]) if code in KINDS else code


def role(code: str) -> str:
    """Returns the display name of a field."""
    return _(ROLES[code]) if code in ROLES else code


def reason(code: str) -> str:
    """Returns the text for the code of a reason why pages no longer fit the model, or why a new
    model was not accepted."""
    return _(REASONS[code]) if code in REASONS else code


def what(code: str) -> str:
    """Returns a text that names the part of a model that a version changed. Codes such as
    "rule.threadlist.replies" name a part, a kind of page and a field."""
    head, *rest = code.split(".")
    if head not in WHAT:
        return code
    parts = [kind(rest[0])] if rest else []
    parts += [role(rest[1])] if len(rest) > 1 else []
    return f"{_(WHAT[head])} ({', '.join(parts)})" if parts else _(WHAT[head])


class PolicyWords(NamedTuple):
    """How a policy is shown: its title, its colour in charts, and a short name for legends and
    narrow columns, with the papers' abbreviation (None: the title up to its colon)."""

    title: Promise
    colour: str
    short: Promise | None = None


POLICIES: Mapping[str, PolicyWords] = {
    "interval": PolicyWords(gettext_lazy("fixed interval"), "#94a3b8"),
    "era": PolicyWords(
        gettext_lazy("era: equal visits, equally spaced"),
        "#64748b",
        gettext_lazy("equal visits (era)"),
    ),
    "wra": PolicyWords(
        gettext_lazy("wra: number of visits by posting volume"),
        "#14b8a6",
        gettext_lazy("by volume (wra)"),
    ),
    "lra": PolicyWords(
        gettext_lazy("lra: times of visits by posting rhythm"),
        "#f59e0b",
        gettext_lazy("by rhythm (lra)"),
    ),
    "bra": PolicyWords(
        gettext_lazy("bra: the paper's rule, corrected"),
        "#ef4444",
        gettext_lazy("volume and rhythm (bra)"),
    ),
    "bra_literal": PolicyWords(gettext_lazy("bra as printed"), "#f97316"),
    "bra_method1": PolicyWords(gettext_lazy("bra: eq. (9) of the paper"), "#ec4899"),
    "optimal": PolicyWords(gettext_lazy("optimal timetable"), "#10b981"),
    "adaptive": PolicyWords(
        gettext_lazy("adaptive: chooses each visit by current forecasts"), "#3b82f6"
    ),
    "glances": PolicyWords(
        gettext_lazy("glances: adaptive, also fetches the index page"), "#a16207"
    ),
    "newest": PolicyWords(
        gettext_lazy("newest: adaptive, also fetches the list of the newest threads"), "#0891b2"
    ),
    "clairvoyant": PolicyWords(
        gettext_lazy("clairvoyant: lower bound, knows all events in advance"), "#8b5cf6"
    ),
    "bic": PolicyWords(gettext_lazy("bic: by the last replies shown in lists"), "#3b82f6"),
    "eic": PolicyWords(
        gettext_lazy("eic: by each thread's mean interval between changes"), "#ef4444"
    ),
    "rate": PolicyWords(gettext_lazy("rate × elapsed time"), "#f59e0b"),
    "hazard": PolicyWords(gettext_lazy("hazard: by predicted replies"), "#10b981"),
    "oracle": PolicyWords(
        gettext_lazy("oracle: best possible, knows all changes in advance"), "#8b5cf6"
    ),
}


def name(policy: str) -> str:
    """Returns the name of a policy; its code if it has none."""
    return str(POLICIES[policy].title) if policy in POLICIES else policy


def short(policy: str) -> str:
    """Returns a short name of a policy for legends and narrow columns, with the papers'
    abbreviation."""
    if policy in POLICIES and (brief := POLICIES[policy].short) is not None:
        return str(brief)
    return re.split("[:：]", name(policy), maxsplit=1)[0]
