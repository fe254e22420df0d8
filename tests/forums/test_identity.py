"""One thread is stored once, however it is named: with session ids, by one of its posts, by the row
left behind where it was moved away, or in the lists of other boards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from lxml.html import document_fromstring, tostring

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.web.url import without_session
from forums.models import Alias, Board, BoardHour, Post, Site, Thread
from forums.reading import PageKind, ThreadRecord, first_page, names_post, post_key, read_page
from forums.sites import sites
from forums.visits import moved_addresses, threads
from forums.visits.incremental import differs, signature
from tests.forums.boards import NOW, RandomForum
from tests.forums.heldout.lists import LISTS
from tests.forums.test_crawl import added, crawl, now, read_once, stored, sums
from tests.forums.test_looks_feeds import look, tried
from tests.site.feeds import Feeds
from tests.site.forum import ForumServer, LocalForum

LIVE = Path(__file__).resolve().parents[3] / "shared" / "data" / "cases" / "live"
HERE = "http://127.0.0.1:18701/viewforum.php?f=8"
AT = datetime(2026, 11, 28, 18, tzinfo=UTC)
Answer = tuple[int, dict[str, str], bytes]


# --- addresses


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        (f"http://a.org/t.php?p=7&sid={'0a' * 16}#p7", "http://a.org/t.php?p=7#p7"),
        (f"http://a.org/t.php?PHPSESSID={'q1' * 13};topic=7.0", "http://a.org/t.php?topic=7.0"),
        (f"http://a.org/t.php?s={'0a' * 16}&t=7", "http://a.org/t.php?t=7"),
        ("http://a.org/t.php?sid=q8t3kd0v1m5b7c2n9x4z6l1p0h&t=7", "http://a.org/t.php?t=7"),
        ("http://a.org/t.do;jsessionid=1A2B?t=7", "http://a.org/t.do?t=7"),
        ("http://a.org/news.php?sid=12&s=lamp", "http://a.org/news.php?sid=12&s=lamp"),
    ],
)
def test_an_address_without_its_session(url: str, plain: str) -> None:
    assert without_session(url) == plain and without_session(plain) == plain


@pytest.mark.parametrize(
    ("urls", "key"),
    [
        (
            ("http://a.org/viewtopic.php?f=2&t=3&p=9#p9", "http://a.org/viewtopic.php?p=9"),
            "a.org p:9",
        ),
        (
            ("http://a.org/index.php?topic=3.msg9#new", "http://a.org/index.php?topic=3.msg9#msg9"),
            "a.org p:9",
        ),
        (("https://a.org/posts/9/", "https://a.org/threads/x.3/page-2#post-9"), "a.org p:9"),
        (
            ("http://a.org/viewtopic.php?id=3&p=2#p9", "http://a.org/viewtopic.php?pid=9"),
            "a.org p:9",
        ),
    ],
)
def test_a_post_has_one_key(urls: tuple[str, str], key: str) -> None:
    assert {post_key(url) for url in urls} == {key} and post_key(key) == key


def test_an_address_that_names_only_a_post_keeps_it() -> None:
    posts = ["http://a.org/viewtopic.php?p=9", "http://a.org/posts/9/", "http://a.org/x.php?pid=9"]
    assert all(names_post(url) and first_page(url) == url for url in posts)
    topics = ["http://a.org/viewtopic.php?t=3&p=9", "http://a.org/viewtopic.php?id=3&p=2"]
    assert [first_page(url) for url in topics] == [url.rpartition("&")[0] for url in topics]
    assert not any(map(names_post, topics))


# --- pages


@pytest.mark.skipif(not LIVE.is_dir(), reason="the shared data are not on this machine")
def test_another_session_changes_no_row() -> None:
    html = (LIVE / "phpbb-sid.html").read_text()
    found = re.search(r"sid=(\w{32})", html)
    assert found is not None
    pages = [html, html.replace(found[1], "f0" * 16), html.replace(f"&amp;sid={found[1]}", "")]
    read = [read_page(page, HERE, AT, expect=PageKind.threadlist) for page in pages]
    rows = [
        [signature(threads.to_row(row)) for row in one.records if isinstance(row, ThreadRecord)]
        for one in read
    ]
    assert len(rows[0]) == 25 and rows[0] == rows[1] == rows[2]
    assert {record.url for one in read for record in one.boards} == {
        "http://127.0.0.1:18701/viewforum.php?f=9"
    }
    raw = {**rows[0][0], "l": f"http://127.0.0.1:18701/viewtopic.php?p=68&sid={found[1]}#p68"}
    assert not differs(raw, rows[0][0])  # as version 0.1.0 stored it


@pytest.mark.skipif(not LIVE.is_dir(), reason="the shared data are not on this machine")
def test_the_last_post_of_a_sub_board_is_no_topic() -> None:
    html = (LIVE / "phpbb-lone-row-beside-subboard.html").read_text()
    read = read_page(html, f"{HERE}&start=25", AT, expect=PageKind.threadlist)
    urls = [row.url for row in read.records if isinstance(row, ThreadRecord)]
    assert urls == ["http://127.0.0.1:18701/viewtopic.php?t=23"]
    tree = document_fromstring(html)
    for topics in tree.find_class("topics"):
        topics.getparent().remove(topics)
    for expect in (PageKind.threadlist, None):
        read = read_page(tostring(tree, encoding="unicode"), HERE, AT, expect=expect)
        boards = [board.url for board in read.boards]
        assert not read.records and boards == ["http://127.0.0.1:18701/viewforum.php?f=9"]


# --- visits


class OddForum:
    """Adds to the pages of a LocalForum: `rows` of topics in boards that are not theirs (board,
    number of the topic, and that in the row's address), of which those above 900 lead on to the
    topic; session ids in all links; a feed that names posts."""

    def __init__(self, served: ForumServer) -> None:
        self.forum, self.feeds = served.forum, Feeds(served.forum, served.url)
        self.rows: list[tuple[int, int, int]] = []
        self.sessions, self.visits, self.notice = False, 0, 0
        served.forum.on_request = self.answer

    def answer(self, path: str) -> Answer | None:
        self.visits += 1
        path = re.sub(r"[?&]sid=\w+", "", path)
        path = path if "?" in path else path.replace("&", "?", 1)
        moved = re.fullmatch(r"/topic/9(\d\d)", path)
        if moved:
            return 301, {"location": f"/topic/{self.notice or int(moved[1])}"}, b""
        post = re.fullmatch(r"/viewtopic\.php\?p=(\d+)", path)
        if post:
            thread = next(
                one
                for one in self.forum.all.values()
                if any(p.number == int(post[1]) for p in one.posts)
            )
            page = self.forum._page(f"/topic/{thread.number}")
            link = f'<link rel="canonical" href="/topic/{thread.number}"></head>'.encode()
            return page[0], page[1], page[2].replace(b"</head>", link)
        special = self.feeds.answer(path)
        if special is not None:
            return self.named_by_posts(special) if path == "/feed" else special
        status, headers, body = self.forum._page(path)
        board = re.fullmatch(r"/board/(\d+)", path)
        if board:
            body = body.replace(b"</table>", self.more(int(board[1])) + b"</table>")
        if self.sessions:

            def sid_of(link: re.Match[bytes]) -> bytes:
                return b"%s?sid=%032x%s" % (link[1], self.visits, b"&amp;" if link[2] else b"")

            body = re.sub(rb'(href="?/(?:board|topic|post)/\d+)(\?)?', sid_of, body)
        return status, headers, body

    def more(self, board: int) -> bytes:
        found = []
        for _board, number, shown in [row for row in self.rows if row[0] == board]:
            thread = self.forum.all[number]
            frozen = thread.posts[0]
            count, word = (0, "Moved: ") if shown > 900 else (len(thread.posts) - 1, "")
            last = frozen if shown > 900 else thread.posts[-1]
            found.append(
                f'<tr class=topic><td><a class=topictitle href="/topic/{shown}">{word}'
                f"{thread.title}</a><br>by <a class=username href=/user/{frozen.author}>"
                f"{frozen.author}</a></td><td class=replies>{count}</td><td class=views>7</td><td"
                f" class=lastpost>by <a class=username href=/user/{last.author}>{last.author}</a>"
                f" {self.forum._time(last.posted)} <a class=lastpost"
                f' href="/post/{last.number}">view</a></td></tr>'
            )
        return "".join(found).encode()

    def named_by_posts(self, feed: Answer) -> Answer:
        def named(link: re.Match[bytes]) -> bytes:
            last = self.forum.all[int(link[1])].posts[-1].number
            return b"/viewtopic.php?p=%d#p%d" % (last, last)

        return feed[0], feed[1], re.sub(rb"/topic/(\d+)(?:#\w+)?", named, feed[2])


@pytest.fixture
def odd() -> Iterator[OddForum]:
    hosts.forget()
    with ForumServer(LocalForum(threads=9, longest=4)) as served:
        made = OddForum(served)
        made.server = served  # type: ignore[attr-defined]
        yield made


def whole(odd: OddForum) -> None:
    """Asserts that every topic and post is stored once, in its board, and counted."""
    forum = odd.forum
    assert stored() == {(path, str(post), text) for path, post, text in forum.truth()}
    assert Post.objects.count() == len(forum.truth())
    homes = {
        int(url.rsplit("/", 1)[1]): int(board.rsplit("/", 1)[1])
        for url, board in Thread.objects.values_list("url", "board__url")
    }
    assert homes == {number: one.board for number, one in forum.all.items()}
    rows: list[Any] = [*Board.objects.all(), *Site.objects.all()]
    for row in rows:
        mine = Thread.objects.filter(**{row._meta.model_name: row})
        assert row.threads == mine.count()
        assert row.posts == Post.objects.filter(thread__in=mine).count()


def left_behind(odd: OddForum) -> None:
    for number, one in odd.forum.all.items():
        if number % 4 == 1:
            odd.rows.append((one.board % 3 + 1, number, 900 + number))


def stuck(odd: OddForum) -> None:
    odd.rows += [(b, n, n) for n in (2, 5) for b in (1, 2, 3) if odd.forum.all[n].board != b]


def with_sessions(odd: OddForum) -> None:
    odd.sessions = True


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", [left_behind, stuck, with_sessions])
def test_a_thread_is_stored_once_and_only_what_changed_is_fetched(
    odd: OddForum, change: Callable[[OddForum], None]
) -> None:
    change(odd)
    site = added(odd.server)  # type: ignore[attr-defined]
    crawl(site, history_days=400)
    crawl(site)
    whole(odd)
    idle = crawl(site)
    assert sums(idle)[1:] == (0, 0) and idle.fetched <= 5
    odd.forum.reply(5, datetime.now(UTC) + timedelta(minutes=2))
    odd.forum.reply(3, datetime.now(UTC) + timedelta(minutes=2))
    assert sums(crawl(site))[1:] == (0, 2)
    whole(odd)
    assert not any("sid=" in url for url in Board.objects.values_list("url", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_page_to_which_all_threads_are_redirected_takes_none_in(odd: OddForum) -> None:
    left_behind(odd)
    odd.notice = 2
    site = added(odd.server)  # type: ignore[attr-defined]
    crawl(site, history_days=400)
    assert not Alias.objects.exists()
    assert set(stored()) == {(path, str(post), text) for path, post, text in odd.forum.truth()}


@pytest.mark.django_db(transaction=True)
def test_posts_that_a_feed_names_lead_to_their_threads(odd: OddForum) -> None:
    site = added(odd.server)  # type: ignore[attr-defined]
    source = tried(site, "feed")
    assert source.enabled
    whole(odd)
    assert look(source).threads == 0
    odd.forum.reply(1, datetime.now(UTC) + timedelta(minutes=2))
    odd.forum.open(2, datetime.now(UTC) + timedelta(minutes=2))
    assert look(source).threads == 2
    whole(odd)
    crawl(site)
    whole(odd)


@pytest.mark.django_db(transaction=True)
def test_a_visit_of_one_board_that_tries_a_feed_fetches_no_other(odd: OddForum) -> None:
    site = added(odd.server)  # type: ignore[attr-defined]
    crawl(site, history_days=400)
    odd.forum.reply(1, datetime.now(UTC) + timedelta(minutes=2))
    other = Board.objects.exclude(url__endswith=f"/{odd.forum.all[1].board}").first()
    assert other is not None
    run = sites.crawl_now(site.pk, now=now(), board_ids=[other.pk], start=False)
    before = len(odd.forum.log)
    engine.run_slice(run.pk)
    asked = odd.forum.log[before:]
    assert "/feed" in asked and not any(path.partition("?")[0] == "/topic/1" for path in asked)
    assert not any("viewtopic" in path for path in asked)


# --- joining


@pytest.mark.django_db(transaction=True)
def test_joined_threads_keep_posts_marks_and_counts(odd: OddForum) -> None:
    site = read_once(odd.server)  # type: ignore[attr-defined]
    thread = Thread.objects.get(url__endswith="/topic/1")
    hours = list(
        BoardHour.objects.order_by("board", "hour").values_list("board", "threads", "replies")
    )
    double = Thread.objects.create(
        site=site,
        board=Board.objects.exclude(pk=thread.board_id)[0],
        key="a p",
        url="http://a/p",
        title=thread.title,
        first_seen=AT,
        fetched_at=AT,
        signature={"n": 1},
    )
    Board.objects.filter(pk=double.board_id).update(threads=F("threads") + 1)
    Site.objects.filter(pk=site.pk).update(threads=F("threads") + 1)
    copies = []
    for post in thread.all_posts.all():
        post.pk, post.thread, post.first_seen, post.edited_at = None, double, AT, AT
        copies.append(post)
    extra = Post(
        thread=double,
        key="i9999",
        post_id="9999",
        author="eve",
        posted=AT - timedelta(days=900),  # in an hour of its own
        text="more",
        precision_seconds=1,
        position=9,
        first_seen=AT,
    )
    Post.objects.bulk_create([*copies, extra])
    threads.count_new(double, 1, [*copies, extra])
    moved_addresses.join(Thread.objects.get(pk=thread.pk), Thread.objects.get(pk=double.pk))
    kept = Thread.objects.get(pk=thread.pk)
    assert not Thread.objects.filter(pk=double.pk).exists()
    assert kept.posts == kept.all_posts.count() == len(copies) + 1
    assert set(kept.all_posts.exclude(key="i9999").values_list("edited_at", flat=True)) == {AT}
    assert Alias.objects.get().key == "a p" and Alias.objects.get().thread == kept
    extra_hour = [(thread.board_id, 0, 1)]
    now_counted = list(
        BoardHour.objects.exclude(threads=0, replies=0)
        .order_by("board", "hour")
        .values_list("board", "threads", "replies")
    )
    assert sorted(now_counted) == sorted([*hours, *extra_hour])
    site.refresh_from_db()
    assert site.posts == Post.objects.count() and site.threads == Thread.objects.count()


def test_threads_whose_addresses_name_their_board_too_are_kept() -> None:
    markup, forum = LISTS["subsilver2"], RandomForum(7, "en")
    reading = read_page(markup.render(forum), markup.url, NOW)
    assert "f=2&t=" in reading.records[0].url and len(reading.records) == len(forum.topics)
