"""Addresses and reading of NodeBB's JSON for guests: every page is also available as JSON below
/api."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from forums.reading.apis.fields import markup_text, moment, number, rows, table, text
from forums.reading.model import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord

_ADDRESS = re.compile(
    r"^(?P<mount>.*?)(?P<page>/(?:categories|recent|category/\d+(?:/[^/]+)?"
    r"|topic/\d+(?:/[^/]+)?))/?$"
)


def address(path: str, query: str, root: str) -> str | None:
    """Returns path and query of the JSON for the path and query of a page; None for a page without
    JSON. `root` is the path of the forum's front page."""
    page = parse_qs(query).get("page", [""])[0]
    if query and (not page.isdecimal() or len(parse_qs(query)) > 1):
        return None
    tail = f"?page={page}" if page else ""
    found = _ADDRESS.match(path)
    if found:
        return f"{found['mount']}/api{found['page']}{tail}"
    return (
        f"{root.rstrip('/')}/api/categories{tail}" if path.rstrip("/") == root.rstrip("/") else None
    )


def read(answer: Mapping[str, Any], url: str) -> PageReading | None:
    """Returns the reading of a response of this API; None if it has another form. `url` is the
    response's own address."""
    base = url.split("/api/", 1)[0]
    if isinstance(answer.get("posts"), list) and "tid" in answer:
        return _posts(answer, base)
    if isinstance(answer.get("topics"), list):
        return _topics(answer, base)
    if isinstance(answer.get("categories"), list):
        return PageReading(PageKind.index, tuple(_boards(answer["categories"], base, None)))
    return None


def _boards(found: object, base: str, parent: str | None) -> list[BoardRecord]:
    boards = []
    for row in rows(found):
        if not row.get("slug") or not row.get("name") or row.get("link"):
            continue  # The entry has no page of its own: a category may be a link to another site.
        url = f"{base}/category/{text(row['slug'])}"
        newest = [_time(post) for post in (*rows(row.get("posts")), table(row.get("teaser")))]
        boards.append(
            BoardRecord(
                url,
                text(row["name"]),
                threads=number(row.get("totalTopicCount", row.get("topic_count"))),
                posts=number(row.get("totalPostCount", row.get("post_count"))),
                last_reply=max(
                    (time for time in newest if time), key=lambda time: time.value, default=None
                ),
                description=text(row.get("description")),
                parent=parent,
            )
        )
        boards += _boards(row.get("children"), base, url)
    return boards


def _time(row: Mapping[str, Any], name: str = "timestamp") -> Any:
    return moment(row.get(f"{name}ISO")) or moment(row.get(name))


def _name(user: object) -> str | None:
    found = table(user)
    return text(found.get("username")) or text(found.get("displayname")) or None


def _pages(answer: Mapping[str, Any], about: str) -> dict[str, Any]:
    pager = table(answer.get("pagination"))
    current, last = number(pager.get("currentPage")) or 1, number(pager.get("pageCount")) or 1
    pages = tuple(
        about if at == 1 else f"{about}?page={at}" for at in range(1, min(last, 2_000) + 1)
    )
    return {
        "current": current,
        "pages": pages if last > 1 else (),
        "next": f"{about}?page={current + 1}" if current < last else None,
        "last": f"{about}?page={last}" if last > 1 else None,
    }


def _topics(answer: Mapping[str, Any], base: str) -> PageReading:
    slug = text(answer.get("slug")) if "cid" in answer else ""
    board = f"{base}/category/{slug}" if slug else None
    threads = []
    for row in rows(answer["topics"]):
        if not row.get("slug") or row.get("deleted") or not row.get("title"):
            continue
        category, teaser, posts = (
            table(row.get("category")),
            table(row.get("teaser")),
            number(row.get("postcount")),
        )
        above = f"{base}/category/{text(category['slug'])}" if category.get("slug") else board
        threads.append(
            ThreadRecord(
                f"{base}/topic/{text(row['slug'])}",
                text(row["title"]),
                author=_name(row.get("user")),
                replies=max(0, posts - 1) if posts is not None else None,
                counts_posts=posts is not None or None,
                created=_time(row),
                last_reply=_time(row, "lastposttime") or _time(teaser),
                pinned=bool(row.get("pinned")),
                last_author=_name(teaser.get("user")),
                last_post_url=f"{base}/post/{teaser['pid']}" if number(teaser.get("pid")) else None,
                board_url=above,
                board_name=text(category.get("name")) or None,
                views=number(row.get("viewcount")),
                locked=bool(row.get("locked")),
            )
        )
    children = tuple(_boards(answer.get("children"), base, board)) if board else ()
    return PageReading(
        PageKind.threadlist,
        tuple(threads),
        title=text(answer.get("name")),
        sort="last_reply",
        board_url=board,
        boards=children,
        **_pages(answer, board or f"{base}/recent"),
    )


def _posts(answer: Mapping[str, Any], base: str) -> PageReading:
    about = f"{base}/topic/{text(answer.get('slug')) or answer['tid']}"
    category = table(answer.get("category"))
    posts = tuple(
        PostRecord(
            _name(row.get("user")),
            _time(row),
            markup_text(row.get("content")),
            post_id=str(row["pid"]),
            url=f"{base}/post/{row['pid']}",
            number=place + 1 if (place := number(row.get("index"))) is not None else None,
        )
        for row in rows(answer["posts"])
        if number(row.get("pid")) is not None and not row.get("deleted") and not row.get("eventId")
    )
    return PageReading(
        PageKind.thread,
        posts,
        title=text(answer.get("title")),
        thread_id=str(answer["tid"]),
        board_url=f"{base}/category/{text(category['slug'])}" if category.get("slug") else None,
        **_pages(answer, about),
    )
