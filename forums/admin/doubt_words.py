"""Texts of the web interface for evidence and doubts about how a forum's pages are read; each doubt
has a link to the page where it can be resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from forums.models import Doubt, Site
from forums.services import doubts

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
    number of cases in which it held; `holds`: whether it counts as true; `choice`: the selector
    chosen to make it hold, "" for the default reading.
    """

    text: str
    holds: bool
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
