"""Addresses and reading of Discourse's JSON for guests: the categories, the latest topics of a
category, and the posts of a topic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from forums.reading.apis.fields import markup_text, moment, number, rows, table, text
from forums.reading.model import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord

POSTS_A_PAGE = 20
_SPOKEN = (
    1,
    2,
)  # types of posts that are read: ordinary and moderator's posts, not small actions and whispers
_ADDRESS = re.compile(
    r"^(?P<mount>.*?)/(?:(?P<home>categories|latest)?|c/(?P<board>(?:[^/]+/){0,3}\d+)(?:/l/latest)?"
    r"|t/(?:[^/]+/)?(?P<topic>\d+))/?$"
)


def address(path: str, query: str, root: str) -> str | None:
    """Returns path and query of the JSON for the path and query of a page; None for a page without
    JSON. `root` is the path of the forum's front page."""
    found = _ADDRESS.match(path)
    if not found:
        return None
    mount, page = found["mount"], parse_qs(query).get("page", [""])[0]
    if query and (not page.isdecimal() or len(parse_qs(query)) > 1):
        return None
    tail = f"?page={page}" if page else ""
    if found["topic"]:
        return f"{mount}/t/{found['topic']}.json{tail}"
    if found["board"]:
        return f"{mount}/c/{found['board']}.json{tail}"
    if found["home"] == "latest":
        return f"{mount}/latest.json{tail}"
    if found["home"] or path.rstrip("/") == root.rstrip("/"):
        return f"{mount}/categories.json?include_subcategories=true"
    return None


def read(answer: Mapping[str, Any], url: str) -> PageReading | None:
    """Returns what a JSON response of Discourse (boards, threads or posts) shows, as a reading of a
    page; None for any other JSON. `url` is the address of the response, not that of the page."""
    base = re.split(r"/(?:t|c|categories|latest)(?:[/.]|$)", url, maxsplit=1)[0]
    if "category_list" in answer:
        return PageReading(
            PageKind.index, tuple(_boards(table(answer["category_list"]).get("categories"), base))
        )
    if "topic_list" in answer:
        return _topics(answer, base, url)
    return _posts(answer, base, url) if "post_stream" in answer else None


def _boards(found: object, base: str, above: tuple[str, str] = ("", "")) -> list[BoardRecord]:
    boards = []
    for row in rows(found):
        key, slug = number(row.get("id")), text(row.get("slug")) or "-"
        if key is None or not row.get("name"):
            continue
        way, parent = above
        url = f"{base}/c/{way}{slug}/{key}"
        newest = [moment(topic.get("last_posted_at")) for topic in rows(row.get("topics"))]
        boards.append(
            BoardRecord(
                url,
                text(row["name"]),
                threads=number(row.get("topic_count")),
                posts=number(row.get("post_count")),
                last_reply=max(
                    (time for time in newest if time), key=lambda time: time.value, default=None
                ),
                description=text(row.get("description_text")),
                parent=parent or None,
            )
        )
        boards += _boards(row.get("subcategory_list"), base, (f"{way}{slug}/", url))
    return boards


def _topics(answer: Mapping[str, Any], base: str, url: str) -> PageReading:
    people = {
        number(user.get("id")): text(user.get("username")) for user in rows(answer.get("users"))
    }
    found = table(answer["topic_list"])
    board = _board_of(url)
    threads = []
    for row in rows(found.get("topics")):
        key, posts = number(row.get("id")), number(row.get("posts_count"))
        if key is None or not row.get("title"):
            continue
        posters = [number(poster.get("user_id")) for poster in rows(row.get("posters"))]
        about = f"{base}/t/{text(row.get('slug')) or '-'}/{key}"
        place = number(row.get("highest_post_number"))
        category = number(row.get("category_id"))
        threads.append(
            ThreadRecord(
                about,
                text(row["title"]),
                author=people.get(posters[0]) if posters else None,
                replies=max(0, posts - 1) if posts is not None else None,
                counts_posts=posts is not None or None,
                created=moment(row.get("created_at")),
                last_reply=moment(row.get("last_posted_at")) or moment(row.get("bumped_at")),
                pinned=row.get("pinned") is True,
                last_author=text(row.get("last_poster_username")) or None,
                last_post_url=f"{about}/{place}" if place else None,
                board_url=board or (f"{base}/c/{category}" if category else None),
                views=number(row.get("views")),
                locked=row.get("closed") is True or row.get("archived") is True,
            )
        )
    page = number(parse_qs(urlsplit(url).query).get("page", ["0"])[0]) or 0
    start = board or f"{base}/latest"
    return PageReading(
        PageKind.threadlist,
        tuple(threads),
        next=f"{start}?page={page + 1}" if found.get("more_topics_url") and threads else None,
        sort="last_reply",
        board_url=board,
        current=page + 1,
    )


def _board_of(url: str) -> str | None:
    """Returns the page address of a category from `url`, the address of a JSON response that lists
    its topics; None if `url` is not the address of a category."""
    head = url.split("?", 1)[0]
    return head.removesuffix(".json") if "/c/" in head else None


def _posts(answer: Mapping[str, Any], base: str, url: str) -> PageReading:
    stream = table(answer["post_stream"])
    about = f"{base}/t/{text(answer.get('slug')) or '-'}/{number(answer.get('id')) or 0}"
    posts = tuple(
        PostRecord(
            text(row.get("username")) or None,
            moment(row.get("created_at")),
            markup_text(row.get("cooked")),
            post_id=str(
                number(row.get("post_number"))
            ),  # the number that also occurs in the addresses of posts
            url=f"{about}/{number(row.get('post_number'))}",
            number=number(row.get("post_number")),
        )
        for row in rows(stream.get("posts"))
        if row.get("post_type", 1) in _SPOKEN
        and row.get("user_deleted") is not True
        and number(row.get("post_number"))
    )
    ids = stream.get("stream")
    count = len(ids) if isinstance(ids, list) else number(answer.get("posts_count")) or len(posts)
    page = max(1, number(parse_qs(urlsplit(url).query).get("page", ["1"])[0]) or 1)
    last = max(1, -(-count // POSTS_A_PAGE))
    return PageReading(
        PageKind.thread,
        posts,
        next=f"{about}?page={page + 1}" if page < last else None,
        pages=tuple(about if at == 1 else f"{about}?page={at}" for at in range(1, last + 1)),
        title=text(answer.get("title")),
        thread_id=str(number(answer.get("id")) or "") or None,
        board_url=(
            f"{base}/c/{number(answer.get('category_id'))}"
            if number(answer.get("category_id"))
            else None
        ),
        last=f"{about}?page={last}" if last > 1 else None,
        current=page,
    )
