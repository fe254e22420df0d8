"""Addresses and reading of Flarum's JSON:API for guests: tags as boards, discussions as threads,
and the posts of a discussion in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from forums.reading.apis.fields import markup_text, moment, number, rows, table, text
from forums.reading.model import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord

ROWS_A_PAGE = 20
_ADDRESS = re.compile(
    r"^(?P<mount>.*?)/(?:(?P<all>all|tags)?|t/(?P<tag>[^/]+)|d/(?P<thread>\d+)[^/]*)/?$"
)
_Included = Mapping[tuple[str, str], Mapping[str, Any]]


def address(path: str, query: str, root: str) -> str | None:
    """Returns path and query of the JSON for the path and query of a page; None for a page without
    JSON. `root` is the path of the forum's front page."""
    found, page = _ADDRESS.match(path), parse_qs(query).get("page", ["1"])[0]
    if not found or not page.isdecimal() or (query and list(parse_qs(query)) != ["page"]):
        return None
    offset = (
        f"page%5Boffset%5D={ROWS_A_PAGE * (max(1, int(page)) - 1)}&page%5Blimit%5D={ROWS_A_PAGE}"
    )
    api = f"{found['mount']}/api"
    if found["thread"]:
        return (
            f"{api}/posts?filter%5Bdiscussion%5D={found['thread']}&sort=createdAt&include=user,"
            f"discussion&{offset}"
        )
    if found["all"] == "tags":
        return f"{api}/tags"
    if not found["tag"] and not found["all"] and path.rstrip("/") != root.rstrip("/"):
        return None
    only = f"filter%5Btag%5D={quote(unquote(found['tag']))}&" if found["tag"] else ""
    return f"{api}/discussions?{only}sort=-lastPostedAt&include=user,lastPostedUser,tags&{offset}"


def read(answer: Mapping[str, Any], url: str) -> PageReading | None:
    """Returns the reading of a response of this API; None if it has another form. `url` is the
    response's own address."""
    data = answer.get("data")
    if not isinstance(data, list) or "/api/" not in url:
        return None
    base, _, asked = url.partition("/api/")
    kind = re.split(r"[/?]", asked, maxsplit=1)[0]
    included = {_identity(row): row for row in rows(answer.get("included"))}
    if kind == "tags":
        included |= {_identity(row): row for row in rows(data)}
        return PageReading(PageKind.index, tuple(_board(row, base, included) for row in rows(data)))
    query = parse_qs(urlsplit(url).query)
    page = (number(query.get("page[offset]", ["0"])[0]) or 0) // ROWS_A_PAGE + 1
    more = isinstance(table(answer.get("links")).get("next"), str)
    if kind == "discussions":
        tag = query.get("filter[tag]", [""])[0]
        start = f"{base}/t/{quote(tag)}" if tag else f"{base}/all"
        return PageReading(
            PageKind.threadlist,
            tuple(_thread(row, base, included) for row in rows(data)),
            next=f"{start}?page={page + 1}" if more else None,
            sort="last_reply",
            board_url=start if tag else None,
            current=page,
        )
    return _posts(data, base, included, page, more) if kind == "posts" else None


def _identity(row: Mapping[str, Any]) -> tuple[str, str]:
    return str(row.get("type")), str(row.get("id"))


def _related(row: Mapping[str, Any], name: str, included: _Included) -> list[Mapping[str, Any]]:
    data = table(table(row.get("relationships")).get(name)).get("data")
    return [
        included.get(_identity(one), {})
        for one in (rows(data) if isinstance(data, list) else [table(data)])
    ]


def _named(row: Mapping[str, Any], name: str, included: _Included) -> str | None:
    user = table(_related(row, name, included)[0].get("attributes"))
    return text(user.get("displayName")) or text(user.get("username")) or None


def _board(row: Mapping[str, Any], base: str, included: _Included) -> BoardRecord:
    about = table(row.get("attributes"))
    parent = table(_related(row, "parent", included)[0].get("attributes"))
    return BoardRecord(
        f"{base}/t/{quote(text(about.get('slug')))}",
        text(about.get("name")),
        threads=number(about.get("discussionCount")),
        last_reply=moment(about.get("lastPostedAt")),
        description=text(about.get("description")),
        parent=f"{base}/t/{quote(text(parent['slug']))}" if parent.get("slug") else None,
    )


def _address_of(row: Mapping[str, Any], base: str) -> str:
    """Returns the page address of the discussion `row`; `base` is the forum's address. Newer
    responses include the discussion's number in its slug, older ones do not."""
    key, slug = text(row.get("id")), text(table(row.get("attributes")).get("slug"))
    return f"{base}/d/{slug if slug.split('-')[0] == key else f'{key}-{slug}' if slug else key}"


def _thread(row: Mapping[str, Any], base: str, included: _Included) -> ThreadRecord:
    about, url = table(row.get("attributes")), _address_of(row, base)
    posts = number(about.get("commentCount", about.get("commentsCount")))
    tags = [table(tag.get("attributes")) for tag in _related(row, "tags", included)]
    board = next((tag for tag in tags if tag.get("slug")), {})
    place = number(about.get("lastPostNumber"))
    return ThreadRecord(
        url,
        text(about.get("title")),
        author=_named(row, "user", included) or _named(row, "startUser", included),
        replies=max(0, posts - 1) if posts is not None else None,
        counts_posts=posts is not None or None,
        created=moment(about.get("createdAt", about.get("startTime"))),
        last_reply=moment(about.get("lastPostedAt", about.get("lastTime"))),
        pinned=about.get("isSticky") is True,
        last_author=_named(row, "lastPostedUser", included) or _named(row, "lastUser", included),
        last_post_url=f"{url}/{place}" if place else None,
        board_url=f"{base}/t/{quote(text(board['slug']))}" if board else None,
        board_name=text(board.get("name")) or None,
        views=number(about.get("viewCount")),
        locked=about.get("isLocked") is True,
    )


def _posts(data: object, base: str, included: _Included, page: int, more: bool) -> PageReading:
    posts: list[PostRecord] = []
    discussion: Mapping[str, Any] = {}
    for row in rows(data):
        about = table(row.get("attributes"))
        discussion = _related(row, "discussion", included)[0] or discussion
        if about.get("contentType", "comment") != "comment" or about.get("isHidden") is True:
            continue  # The entry is an event between the posts, such as renaming or tagging.
        place = number(about.get("number"))
        url = _address_of(discussion, base) if discussion else None
        posts.append(
            PostRecord(
                _named(row, "user", included),
                moment(about.get("createdAt", about.get("time"))),
                markup_text(about.get("contentHtml")),
                post_id=text(row.get("id")) or None,
                url=f"{url}/{place}" if url and place else url,
                number=place,
            )
        )
    url = _address_of(discussion, base) if discussion else None
    return PageReading(
        PageKind.thread,
        tuple(posts),
        next=f"{url}?page={page + 1}" if url and more else None,
        title=text(table(discussion.get("attributes")).get("title")) if discussion else "",
        thread_id=text(discussion.get("id")) or None if discussion else None,
        current=page,
    )
