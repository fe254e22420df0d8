"""Public JSON interfaces of forum software, and feeds: which address is requested for a page, and
which records are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forums.reading import PageKind, board_key, thread_key
from forums.reading.apis import api_address, read_api

ROOT = "https://forum.example/talk/"


@pytest.mark.parametrize(
    ("engine", "page", "asked"),
    [
        ("discourse", "", "categories.json?include_subcategories=true"),
        ("discourse", "latest", "latest.json"),
        ("discourse", "latest?page=2", "latest.json?page=2"),
        ("discourse", "c/garden/7", "c/garden/7.json"),
        ("discourse", "c/garden/roses/12?page=1", "c/garden/roses/12.json?page=1"),
        ("discourse", "t/how-to-cut-roses/88", "t/88.json"),
        ("discourse", "t/how-to-cut-roses/88?page=3", "t/88.json?page=3"),
        ("discourse", "t/how-to-cut-roses/88/41", None),
        ("discourse", "u/anna", None),
        ("discourse", "search?q=roses", None),
        ("discourse", "c/garden/7?order=views", None),
        ("nodebb", "", "api/categories"),
        ("nodebb", "category/5/roses", "api/category/5/roses"),
        ("nodebb", "category/5/roses?page=2", "api/category/5/roses?page=2"),
        ("nodebb", "topic/9/cut-them-low", "api/topic/9/cut-them-low"),
        ("nodebb", "topic/9/cut-them-low/14", None),
        ("nodebb", "user/anna", None),
        (
            "flarum",
            "t/roses",
            (
                "api/discussions?filter%5Btag%5D=roses&sort=-lastPostedAt&include=user,"
                "lastPostedUser,tags"
                "&page%5Boffset%5D=0&page%5Blimit%5D=20"
            ),
        ),
        (
            "flarum",
            "d/31-cut-them?page=3",
            (
                "api/posts?filter%5Bdiscussion%5D=31&sort=createdAt&include=user,discussion"
                "&page%5Boffset%5D=40&page%5Blimit%5D=20"
            ),
        ),
        ("flarum", "d/31-cut-them/17", None),
        ("flarum", "tags", "api/tags"),
        ("flarum", "u/anna", None),
        ("phpbb", "viewtopic.php?t=4", None),
        ("unknown", "latest", None),
    ],
)
def test_the_address_asked_instead_of_a_page(engine: str, page: str, asked: str | None) -> None:
    assert api_address(engine, ROOT + page, ROOT) == (asked if asked is None else ROOT + asked)


def topic(key: int, posts: int, **more: object) -> dict[str, object]:
    return {
        "id": key,
        "title": f"Roses &amp; thorns {key}",
        "slug": f"roses-thorns-{key}",
        "posts_count": posts,
        "views": 90,
        "created_at": "2026-03-01T08:00:00.000Z",
        "last_posted_at": "2026-03-02T09:30:15.000Z",
        "highest_post_number": posts,
        "pinned": False,
        "closed": False,
        "archived": False,
        "category_id": 7,
        "last_poster_username": "ben",
        "posters": [{"user_id": 1}, {"user_id": 2}],
        **more,
    }


def test_a_category_of_discourse() -> None:
    answer = {
        "users": [{"id": 1, "username": "anna"}, {"id": 2, "username": "ben"}],
        "topic_list": {
            "more_topics_url": "/c/garden/7?page=1",
            "topics": [topic(4, 12, pinned=True), topic(5, 1, closed=True)],
        },
    }
    reading = read_api(json.dumps(answer), ROOT + "c/garden/7.json")
    first, second = reading.records
    assert reading.kind is PageKind.threadlist and reading.engine == "discourse"
    assert (
        first.url,
        first.title,
        first.author,
        first.replies,
        first.pinned,
        first.last_author,
    ) == (ROOT + "t/roses-thorns-4/4", "Roses & thorns 4", "anna", 11, True, "ben")
    assert first.last_reply and first.last_reply.value.isoformat() == "2026-03-02T09:30:15+00:00"
    assert second.replies == 0 and second.locked
    assert reading.next == ROOT + "c/garden/7?page=1"
    assert board_key(first.board_url) == board_key(ROOT + "c/garden/7")
    assert thread_key(first.url) == thread_key(first.last_post_url)
    asked = api_address("discourse", reading.next, ROOT)
    assert asked == ROOT + "c/garden/7.json?page=1"
    further = read_api(json.dumps(answer), asked)
    assert further.next == ROOT + "c/garden/7?page=2" and further.current == 2


def test_categories_of_discourse_with_those_inside() -> None:
    inner = {"id": 9, "name": "Climbing", "slug": "climbing", "topic_count": 3, "post_count": 20}
    outer = {
        "id": 7,
        "name": "Roses",
        "slug": "roses",
        "topic_count": 40,
        "post_count": 300,
        "description_text": "All of them",
        "topics": [topic(4, 2), topic(5, 2, last_posted_at="2026-04-01T00:00:00Z")],
        "subcategory_list": [inner],
    }
    reading = read_api(
        json.dumps({"category_list": {"categories": [outer]}}),
        ROOT + "categories.json?include_subcategories=true",
    )
    roses, climbing = reading.records
    assert reading.kind is PageKind.index
    assert (roses.url, roses.name, roses.threads, roses.posts) == (
        ROOT + "c/roses/7",
        "Roses",
        40,
        300,
    )
    assert roses.last_reply.value.month == 4
    assert (climbing.url, climbing.parent) == (ROOT + "c/roses/climbing/9", roses.url)


def test_posts_of_discourse_without_quotes_and_small_actions() -> None:
    cooked = (
        '<aside class="quote"><blockquote><p>cut them</p></blockquote></aside><p>No, wait<br>until'
        " spring.</p>"
    )
    posts = [
        {
            "id": 70,
            "username": "anna",
            "created_at": "2026-03-01T08:00:00Z",
            "cooked": "<p>When?</p>",
            "post_number": 1,
            "post_type": 1,
        },
        {
            "id": 71,
            "username": "ben",
            "created_at": "2026-03-01T09:00:00Z",
            "cooked": cooked,
            "post_number": 2,
            "post_type": 1,
        },
        {
            "id": 72,
            "username": "eve",
            "created_at": "2026-03-01T09:10:00Z",
            "cooked": "",
            "post_number": 3,
            "post_type": 3,
        },
        {
            "id": 73,
            "username": "eve",
            "created_at": "2026-03-01T09:20:00Z",
            "cooked": "<p>gone</p>",
            "user_deleted": True,
            "post_number": 4,
        },
    ]
    answer = {
        "id": 4,
        "slug": "roses",
        "title": "Roses",
        "category_id": 7,
        "post_stream": {"posts": posts, "stream": list(range(45))},
    }
    reading = read_api(json.dumps(answer).encode(), ROOT + "t/4.json")
    assert reading.kind is PageKind.thread and reading.thread_id == "4"
    assert [(post.author, post.text, post.number) for post in reading.records] == [
        ("anna", "When?", 1),
        ("ben", "No, wait\nuntil spring.", 2),
    ]
    assert reading.next == ROOT + "t/roses/4?page=2" and reading.last == ROOT + "t/roses/4?page=3"
    assert read_api(json.dumps(answer), ROOT + "t/4.json?page=3").next is None


def test_a_category_and_a_topic_of_nodebb() -> None:
    row = {
        "tid": 9,
        "slug": "9/cut-them-low",
        "title": "Cut them low?",
        "postcount": 5,
        "viewcount": 60,
        "pinned": 1,
        "locked": 0,
        "timestampISO": "2026-03-01T08:00:00.000Z",
        "lastposttime": 1_772_443_815_000,
        "user": {"username": "anna"},
        "teaser": {"pid": 44, "user": {"username": "ben"}},
        "category": {"slug": "5/roses", "name": "Roses"},
    }
    child = {
        "cid": 6,
        "slug": "6/climbing",
        "name": "Climbing",
        "totalTopicCount": 3,
        "totalPostCount": 11,
    }
    answer = {
        "cid": 5,
        "slug": "5/roses",
        "name": "Roses",
        "topics": [row, {**row, "deleted": 1}],
        "children": [child],
        "pagination": {"currentPage": 1, "pageCount": 3},
    }
    reading = read_api(json.dumps(answer), ROOT + "api/category/5/roses")
    (only,) = reading.records
    assert (only.url, only.replies, only.pinned, only.author, only.last_author) == (
        ROOT + "topic/9/cut-them-low",
        4,
        True,
        "anna",
        "ben",
    )
    assert only.last_reply.value.isoformat() == "2026-03-02T09:30:15+00:00"
    assert reading.next == ROOT + "category/5/roses?page=2" and len(reading.pages) == 3
    assert [(board.url, board.threads, board.posts) for board in reading.boards] == [
        (ROOT + "category/6/climbing", 3, 11)
    ]

    post = {
        "pid": 40,
        "index": 0,
        "content": "<p>Low?</p>",
        "timestampISO": "2026-03-01T08:00:00Z",
        "user": {"username": "anna"},
    }
    thread = {
        "tid": 9,
        "slug": "9/cut-them-low",
        "title": "Cut them low?",
        "posts": [post, {**post, "pid": 41, "deleted": 1}],
        "pagination": {"currentPage": 1, "pageCount": 1},
    }
    posts = read_api(json.dumps(thread), ROOT + "api/topic/9/cut-them-low")
    assert posts.kind is PageKind.thread and posts.next is None
    assert [(found.author, found.text, found.post_id, found.number) for found in posts.records] == [
        ("anna", "Low?", "40", 1)
    ]


def test_discussions_posts_and_tags_of_flarum() -> None:
    users = [
        {"type": "users", "id": "1", "attributes": {"username": "anna", "displayName": "Anna"}}
    ]
    tags = [
        {
            "type": "tags",
            "id": "3",
            "attributes": {"slug": "roses", "name": "Roses", "discussionCount": 8},
        }
    ]
    inner = {
        "type": "tags",
        "id": "4",
        "attributes": {"slug": "climbing", "name": "Climbing"},
        "relationships": {"parent": {"data": {"type": "tags", "id": "3"}}},
    }
    row = {
        "type": "discussions",
        "id": "31",
        "attributes": {
            "title": "Cut them?",
            "slug": "31-cut-them",
            "commentCount": 25,
            "createdAt": "2026-03-01T08:00:00+00:00",
            "lastPostedAt": "2026-03-02T09:30:15+00:00",
            "lastPostNumber": 27,
            "isSticky": True,
        },
        "relationships": {
            "user": {"data": {"type": "users", "id": "1"}},
            "tags": {"data": [{"type": "tags", "id": "3"}]},
        },
    }
    asked = api_address("flarum", ROOT + "t/roses", ROOT)
    assert asked
    listed = read_api(
        json.dumps({"data": [row], "included": users + tags, "links": {"next": "x"}}), asked
    )
    (only,) = listed.records
    assert (only.url, only.replies, only.author, only.board_name, only.pinned) == (
        ROOT + "d/31-cut-them",
        24,
        "Anna",
        "Roses",
        True,
    )
    assert listed.next == ROOT + "t/roses?page=2" and listed.board_url == ROOT + "t/roses"

    post = {
        "type": "posts",
        "id": "90",
        "attributes": {
            "number": 1,
            "createdAt": "2026-03-01T08:00:00Z",
            "contentType": "comment",
            "contentHtml": "<p>Low?</p>",
        },
        "relationships": {
            "user": {"data": {"type": "users", "id": "1"}},
            "discussion": {"data": {"type": "discussions", "id": "31"}},
        },
    }
    renamed = {**post, "id": "91", "attributes": {"number": 2, "contentType": "discussionRenamed"}}
    asked = api_address("flarum", only.url, ROOT)
    assert asked
    posts = read_api(
        json.dumps({"data": [post, renamed], "included": [*users, row], "links": {"next": "x"}}),
        asked,
    )
    assert [(found.author, found.text, found.post_id) for found in posts.records] == [
        ("Anna", "Low?", "90")
    ]
    assert posts.next == ROOT + "d/31-cut-them?page=2"

    boards = read_api(json.dumps({"data": [*tags, inner]}), ROOT + "api/tags").records
    assert [(board.name, board.threads, board.parent) for board in boards] == [
        ("Roses", 8, None),
        ("Climbing", None, ROOT + "t/roses"),
    ]


RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" \
xmlns:slash="http://purl.org/rss/1.0/modules/slash/"><channel>
<title>Garden talk</title><link>https://forum.example/</link>
<item><title>Cut &amp; burn</title><link>/talk/threads/cut.5/</link><dc:creator>anna</dc:creator>
<pubDate>Sun, 01 Mar 2026 08:00:00 GMT</pubDate><slash:comments>7</slash:comments></item>
<item><title>No address</title></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Garden talk</title>
<entry><title>Roses</title><link rel="replies" href="https://forum.example/r"/>\
<link href="https://forum.example/t/5"/>
<author><name>ben</name></author><published>2026-03-01T08:00:00Z</published>\
<updated>2026-03-02T09:30:15+02:00</updated></entry></feed>"""


def test_feeds_and_sitemaps_are_lists_without_a_next_page() -> None:
    reading = read_api(RSS, ROOT + "index.rss")
    (only,) = reading.records
    assert (
        reading.kind is PageKind.threadlist
        and reading.evidence == ("feed",)
        and reading.next is None
    )
    assert (only.url, only.title, only.author, only.replies) == (
        "https://forum.example/talk/threads/cut.5/",
        "Cut & burn",
        "anna",
        7,
    )
    assert only.created.value.hour == 8 and only.last_reply is None
    (entry,) = read_api(ATOM.encode(), ROOT + "feed.atom").records
    assert (entry.url, entry.author) == ("https://forum.example/t/5", "ben")
    assert entry.last_reply.value.isoformat() == "2026-03-02T07:30:15+00:00"
    sitemap = (
        "<urlset"
        ' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://forum.example/t/5'
        "</loc><lastmod>2026-03-02</lastmod></url></urlset>"
    )
    reading = read_api(sitemap, ROOT + "sitemap.xml")
    assert reading.evidence == ("sitemap",) and reading.records[0].last_reply.value.day == 2


@pytest.mark.parametrize(
    ("category", "board"),
    [
        (
            '<category domain="forumdisplay.php?f=2">Garden &amp; yard</category>',
            (ROOT + "forumdisplay.php?f=2", "Garden & yard"),
        ),
        (
            '<category term="Garden" scheme="https://forum.example/viewforum.php?f=2"/>',
            ("https://forum.example/viewforum.php?f=2", "Garden"),
        ),
        (
            '<category scheme="http://www.sixapart.com/ns/types#category">Garden</category>',
            (None, "Garden"),
        ),
        ('<category scheme="https://[bad">Garden</category>', (None, "Garden")),
        ("", (None, None)),
    ],
)
def test_the_first_category_of_an_item_is_its_board(
    category: str, board: tuple[str | None, str | None]
) -> None:
    more = "<category>second</category>" if category else ""
    item = (
        "<item><title>Roses</title><link>/t/5</link><pubDate>Sun, 01 Mar 2026 08:00:00"
        f" GMT</pubDate>{category}{more}</item>"
    )
    (only,) = read_api(
        f"<rss version='2.0'><channel><title>x</title>{item}</channel></rss>", ROOT + "index.rss"
    ).records
    assert (only.board_url, only.board_name) == board


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html><body>Sign in</body></html>",
        '{"errors": ["not allowed"]}',
        "[1, 2]",
        b"\xff\xfe\x00",
        "null",
    ],
)
def test_other_answers_are_none(body: str | bytes) -> None:
    reading = read_api(body, ROOT + "latest.json")
    assert reading.kind is PageKind.other and reading.evidence == ("no_api",)


KEYS = st.sampled_from(
    "category_list categories topic_list topics post_stream posts stream users id slug title tid"
    " pagination data type attributes name".split()
)
WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    answer=st.dictionaries(KEYS, WILD, max_size=5),
    at=st.sampled_from(["t/4.json", "c/a/7.json?page=-1", "api/posts?page[offset]=x", "api/tags"]),
)
def test_answers_of_the_wrong_types_never_raise(answer: dict[str, object], at: str) -> None:
    assert read_api(json.dumps(answer), ROOT + at).kind in PageKind


@pytest.mark.parametrize(
    ("claim", "field", "read"),
    [
        ({"title": "cut \ud83d"}, "title", "cut \ufffd"),
        ({"title": "a\x00b"}, "title", "a\ufffdb"),
        ({"slug": "\udc00"}, "url", "https://forum.example/talk/t/\ufffd/3"),
        ({"posts_count": 10**25}, "replies", None),
        ({"last_posted_at": "9999-12-31T23:59:59Z", "bumped_at": None}, "last_reply", None),
        ({"created_at": "0001-01-01T00:00:00Z"}, "created", None),
    ],
)
def test_what_no_database_takes_is_no_text_no_count_and_no_time(
    claim: dict[str, object], field: str, read: object
) -> None:
    answer = {"topic_list": {"topics": [topic(3, 2, **claim)]}}
    reading = read_api(json.dumps(answer), f"{ROOT}c/garden/7.json")
    assert getattr(reading.records[0], field) == read


def test_half_a_character_does_not_cost_the_post_its_text() -> None:
    post = {
        "post_number": 1,
        "post_type": 1,
        "username": "a\ud83d",
        "cooked": "<p>Cut them low \ud83d now</p>",
    }
    answer = {"id": 3, "slug": "roses", "post_stream": {"posts": [post], "stream": [1]}}
    [read] = read_api(json.dumps(answer), f"{ROOT}t/3.json").records
    assert (read.author, read.text) == ("a\ufffd", "Cut them low \ufffd now")
