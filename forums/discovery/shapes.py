"""Addresses of a forum by their form: a key that identifies a page, the shape that the addresses of
one kind of page share, and addresses that are never requested."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from crawlmgr.web.url import UrlError, canonical
from forums.reading import board_key

_DIGITS = re.compile(r"\d+")
_VERBS = re.compile(r"act|action|do|mod|mode|view|module|route|app|controller|section|s|op", re.I)
_PLAIN_WORD = re.compile(r"[A-Za-z]{1,20}(?:\.[A-Za-z]{2,5})?")
_WORDS = frozenset(
    {
        "forum",
        "forums",
        "board",
        "boards",
        "category",
        "categories",
        "c",
        "f",
        "forumdisplay.php",
        "viewforum.php",
        "showforum",
        "node",
        "nodes",
        "go",
        "bbs",
        "section",
        "sections",
        "group",
        "groups",
        "topic",
        "topics",
        "thread",
        "threads",
        "discussion",
        "discussions",
        "t",
        "d",
        "showthread.php",
        "viewtopic.php",
        "viewthread.php",
        "read.php",
        "thread.php",
        "index.php",
        "forum.php",
        "community",
        "talk",
        "user",
        "users",
        "member",
        "members",
        "profile",
        "tag",
        "tags",
        "u",
        "search",
        "login",
        "register",
        "feed",
        "feeds",
        "rss",
        "page",
        "latest",
        "active",
        "new",
        "unread",
        "question",
        "questions",
        "post",
        "posts",
        "message",
        "messages",
        "comments",
        "item",
        "story",
        "list",
        "read",
        "show",
        "view",
        "display",
        "lists",
        "articles",
        "article",
    }
)
_COUNTERS = re.compile(r"page|start|st|offset|p|pn|pagenumber|from|skip", re.I)
_NEVER = re.compile(
    r"log-?(?:in|out|off)|sign-?(?:in|up|out)|register|registration|auth|password|search|rss|atom"
    r"|feeds?|users?|members?|memberlist"
    r"|profiles?|mark(?:read|all|forums)?|ucp|pm|usercp|account|settings|subscribe|notifications?"
    r"|report|edit|delete|reply|newreply"
    r"|new-?(?:thread|topic)|publish|create|posting|compose|print(?:page|thread)?|attachments?"
    r"|uploads?|avatars?|language|style|theme"
    r"|privacy|terms|calendar|sitemap|online|whosonline|misc",
    re.I,
)
# names of pages that are not boards, except after a word for boards: /c/help is a board, /help is
# not
_ELSEWHERE = re.compile(
    r"tags?|tagged|faq|help|rules|stats|statistics|unread|newposts?|activity|recent|latest|active"
    r"|popular|hot|trending|contact"
    r"|about|donate|shop|blogs?|gallery|downloads?|wiki|share|team|staff|badges|media|redirect"
    r"|bookmarks?|favou?rites?|upgrade"
    r"|premium|app|mobile|archive|portal|space|medal|credit|plugin|ranklist|home|messages"
    r"|subscriptions?",
    re.I,
)
_BOARD_WORDS = frozenset(
    (
        "forum",
        "forums",
        "board",
        "boards",
        "category",
        "categories",
        "c",
        "f",
        "section",
        "sections",
        "node",
        "go",
    )
)
_SENDS = re.compile(
    r"(?:^|[?&;])(?:action|do|mode|act|mod|view)=(?!forumdisplay|viewthread|display|show|forum"
    r"|topic|thread|idx|sf\b|st\b)",
    re.I,
)
_NAMED = re.compile(r"(forum|board|category|thread|topic)-[^\d.]*")
_STARS = re.compile(r"[-_.,]?\*")
_FILE = re.compile(
    r"\.(?:jpe?g|png|gif|svg|webp|ico|css|js|zip|rar|pdf|xml|mp[34]|exe|gz|json|txt|webmanifest)$",
    re.I,
)


@lru_cache(maxsize=32_768)
def page_key(url: str) -> str:
    """Returns a key that all spellings of an address share: the canonical address without scheme,
    `www.` and trailing slash."""
    try:
        plain = canonical(url)
    except UrlError:
        return url
    head, mark, query = plain.partition("?")
    head = head.partition("://")[2].removeprefix("www.").rstrip("/")
    return head + mark + query


def host(url: str) -> str:
    """Returns the host of an address, without `www.`."""
    return page_key(url).partition("/")[0].partition("?")[0]


@lru_cache(maxsize=32_768)
def shape(url: str) -> str:
    """Returns the shape of an address: words for parts of a forum stay, digits become #, other
    words *, page counters are dropped.

    >>> shape("http://a.org/forum/12-my-board?page=2"), \
shape("http://a.org/viewforum.php?f=3&start=25")
    ('a.org/forum/#-*', 'a.org/viewforum.php?f=#')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    path: list[str] = []
    for segment in parts.path.split("/"):
        if segment:
            form = _segment(unquote(segment), top=not path)
            path.append(
                "*" if path[-1:] == ["#"] and "*" in form else form
            )  # a slug may contain numbers of its own
    query = []
    for name, value in sorted(parse_qsl(parts.query.replace(";", "&"), keep_blank_values=True)):
        if _COUNTERS.fullmatch(name) or (name in ("s", "sid") and len(value) > 16):
            continue
        # boards and threads named in the query, as index.php?forums/name.3/ and
        # forumdisplay.php?3-name
        if not value and re.search(r"[/\d]", name):
            path += [_segment(segment) for segment in name.split("/") if segment]
            continue
        query.append(f"{name}={_value(name, value)}")
    host = parts.netloc.lower().removeprefix("www.")
    return "/".join([host, *path]) + ("?" + "&".join(query) if query else "")


def _segment(segment: str, top: bool = False) -> str:
    lower = segment.lower()
    if lower in _WORDS:
        return lower
    named = _NAMED.fullmatch(lower) if top else None
    if named:
        return f"{named[1]}-*"
    if not _DIGITS.search(segment):
        bare = re.fullmatch(r"([a-z]+)\.(?:php|html?|aspx?|jsp|cgi)", lower)
        return lower if bare else "*"
    pieces = [piece for piece in re.split(r"([-_.,])", segment) if piece]
    masked = []
    for at, piece in enumerate(pieces):
        following = pieces[at + 2] if at + 2 < len(pieces) else ""
        if piece in "-_.,":
            masked.append(piece)
        elif piece.isdigit():
            masked.append("#")
        elif (
            at == 0 and piece.lower() in _WORDS and following.isdigit() and pieces[1] != "."
        ) or _extension(pieces, at):
            masked.append(piece.lower())
        else:
            short = re.fullmatch(r"([A-Za-z]{1,2})\d+", piece)
            masked.append(f"{short[1].lower()}#" if short else "*")
    end = "".join(pieces[-2:]).lower() if _extension(pieces, len(pieces) - 1) else ""
    body = masked[: len(masked) - 2] if end else masked
    if "*" in body and body[0] == "#":
        return f"#{body[1]}*{end}"
    if "*" in body and body[-1] == "#":
        return f"*{body[-2]}#{end}"
    return re.sub(r"\*(?:[-_.,]\*)+", "*", "".join(masked))


def _extension(pieces: list[str], at: int) -> bool:
    return (
        at == len(pieces) - 1
        and at > 1
        and pieces[at - 1] == "."
        and pieces[at].isalpha()
        and len(pieces[at]) < 6
    )


def _value(name: str, value: str) -> str:
    if value.isdigit():
        return "#"
    if re.fullmatch(r"\d+(?:\.\d+)+", value):
        return "#.#"
    return value.lower() if _VERBS.fullmatch(name) and _PLAIN_WORD.fullmatch(value) else "*"


@lru_cache(maxsize=32_768)
def board_identity(url: str) -> str:
    """Returns what identifies a board in its address: its id and the words before it, so that
    category 1 and forum 1 differ."""
    return f"{board_key(url)} {_STARS.sub('', shape(url))}"


def is_specific(form: str) -> bool:
    """Tells whether a shape of addresses is specific enough to identify a kind of page: it contains
    a word for parts of a forum, or a parameter with a number."""
    rest = re.sub(r"^[^/?]*/?", "", form)
    return (
        bool(rest)
        and rest != "*"
        and ("#" in rest or any(part in _WORDS for part in re.split(r"[/?&=-]", rest)))
    )


_ASKS = re.compile(r"new|add|submit|post|write|export|download|vote|tag", re.I)


def sends_or_asks(path: str) -> bool:
    """Tells whether the end of a path contains a word for an action (such as "new" or "login") or
    for a search, feed, profile or similar page, or names a file.

    >>> sends_or_asks("message/new"), sends_or_asks("latest"), sends_or_asks("feed/")
    (True, False, True)
    """
    words = [segment.partition(".")[0] for segment in path.lower().split("/") if segment]
    return bool(_FILE.search(path)) or any(
        _NEVER.fullmatch(word) or _ASKS.fullmatch(word) for word in words
    )


@lru_cache(maxsize=32_768)
def never_requested(url: str) -> bool:
    """Tells whether an address is one that the exploration never requests: profiles, search, feeds,
    forms, files, invalid addresses."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    if (
        parts.scheme not in ("http", "https")
        or _FILE.search(parts.path)
        or _SENDS.search("?" + parts.query)
    ):
        return True
    before = ""
    for segment in parts.path.lower().split("/"):
        word = segment.partition(".")[0]
        if _NEVER.fullmatch(word) or (_ELSEWHERE.fullmatch(word) and before not in _BOARD_WORDS):
            return True
        before = word or before
    return False
