"""Recognises known forum software by marks in its pages, and the kind of page by the forms of its
addresses. The results are used only as hints."""

from __future__ import annotations

import re

from forums.reading.document import Page
from forums.reading.model import PageKind

_GENERATOR = re.compile(
    r"discuz|phpbb|vbulletin|xenforo|mybb|smf|simple"
    r" machines|discourse|nodebb|flarum|phpwind|vanilla|invision|punbb|fluxbb|"
    r"bbpress|woltlab|misago",
    re.I,
)
_NAMES = {"simple machines": "smf", "invision": "ips"}
# Signs of forum software as (name, words, pattern). The pattern is matched on the page in lower
# case, and only if the page contains one of the words, since every match contains one: searching
# for fixed words is faster.
_MARKS = tuple(
    (name, words.split(), re.compile(form))
    for name, words, form in (
        (
            "discuz",
            'discuz! id="ct" id="nv_forum" forum.php?mod=forumdisplay',
            (
                r"powered by"
                r" (?:<[^>]+>|\s)*discuz!|id=\"(?:ct|nv_forum)\"|forum\.php\?mod=forumdisplay"
            ),
        ),
        (
            "phpbb",
            "phpbb topiclist viewforum.php?f=",
            r"powered by (?:<[^>]+>|\s)*phpbb|class=\"[^\"]*topiclist|viewforum\.php\?f=\d",
        ),
        ("xenforo", 'id="xf" xenforo', r"<html[^>]+id=\"xf\"|xenforo"),
        (
            "vbulletin",
            "vbulletin",
            r"vbulletin[-_](?:global|menu|css)|powered by (?:<[^>]+>|\s)*vbulletin",
        ),
        ("mybb", "mybb", r"powered by (?:<[^>]+>|\s)*mybb|mybb\."),
        ("smf", "machines smf_theme_url", r"simple machines|smf_theme_url"),
        ("nodebb", 'component=" nodebb', r"component=\"(?:category/topic|post/content)\"|nodebb"),
        ("flarum", "flarum-", r"flarum-(?:content|loading|json)"),
        ("phpwind", "phpwind", r"phpwind"),
        ("tieba", "j_thread_list l_post_bright", r"j_thread_list|l_post_bright"),
        ("vanilla", "vanillicon itemdiscussion", r"vanillicon|class=\"[^\"]*itemdiscussion"),
        ("flaskbb", "flaskbb", r"powered by (?:<[^>]+>|\s)*flaskbb"),
        (
            "spirit",
            "js-clickable-area comments_list__comment",
            r"js-clickable-area|comments_list__comment",
        ),
        ("machina", "topic-name-link forum-name-link", r"topic-name-link|forum-name-link"),
    )
)
# numbers of characters searched at the beginning and the end of a page, where forum software names
# itself
_HEAD, _TAIL = 60_000, 30_000
_THREAD_ADDRESS = (
    r"viewtopic|showthread|viewthread|/thread-\d|/threads?/|/topic/|/discussion/\d"
    r"|[?&]topic=\d|/t/[^/]+/\d|/d/\d|/p/\d"
)
_LIST_ADDRESS = (
    r"viewforum|forumdisplay|/forum-\d|/forums/[^/]+\.\d|/categories/[^/]+$"
    r"|[?&]board=\d|/c/[^/]+/\d"
)
_KINDS = (
    (PageKind.thread, re.compile(_THREAD_ADDRESS, re.I)),
    (PageKind.threadlist, re.compile(_LIST_ADDRESS, re.I)),
)


def engine_of(page: Page, source: str) -> str:
    """Returns the name of the forum software of a page: from its generator tag, otherwise from the
    first mark found in `source`, the page's markup; "unknown" if there is none."""
    element = page.root.find(".//meta[@name='generator']")
    found = _GENERATOR.search(element.get("content", "")) if element is not None else None
    if found:
        name = found.group().lower()
        return _NAMES.get(name, name)
    ends = source if len(source) <= _HEAD + _TAIL else f"{source[:_HEAD]}\n{source[-_TAIL:]}"
    ends = ends.lower()
    told = (
        name
        for name, words, mark in _MARKS
        if any(word in ends for word in words) and mark.search(ends)
    )
    return next(told, "unknown")


def expected_kind(engine: str, url: str) -> PageKind | None:
    """Returns the kind of page that known forum software has at addresses of this form; None if the
    form or the software (`engine` "unknown") is not known."""
    if engine == "unknown":
        return None
    return next((kind for kind, form in _KINDS if form.search(url)), None)
