"""Pages of threads and boards that cannot be read: the others are read all the same, and what is
missing is told with its reason, retried some times and given up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from django.core.management import CommandError, call_command

from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Run
from forums.models import Board, Thread, Visit
from tests.forums.test_crawl import added, crawl, now, stored
from tests.site.forum import LOGIN_FORM, ForumServer, ForumThread, LocalForum

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
HTML = {"content-type": "text/html; charset=utf-8"}
Answer = tuple[int, dict[str, str], bytes]


class WindowedForum(LocalForum):
    """A forum whose pager names the neighbours of a page, the first and the last one only."""

    def _pager(self, base: str, number: int, pages: int) -> str:
        shown = sorted({1, number - 1, number, number + 1, pages} & set(range(1, pages + 1)))
        links = [
            f"<strong>{n}</strong>" if n == number else f'<a href="{base}?page={n}">{n}</a>'
            for n in shown
        ]
        return f"<div class=pagination>{' '.join(links)}</div>" if pages > 1 else ""


class QuickLoginForum(LocalForum):
    """A forum with a login form on every page."""

    def _frame(self, title: str, body: str) -> str:
        return super()._frame(title, f"{body}{LOGIN_FORM}")


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ForumServer]:
    hosts.forget()
    made: Callable[..., LocalForum] = getattr(request, "param", LocalForum)
    with ForumServer(made(boards=2, threads=4, longest=3)) as served:
        long_thread(served.forum)
        yield served


def long_thread(forum: LocalForum) -> ForumThread:
    """Returns the thread of 27 posts on seven pages, made if need be."""
    longest = max(forum.all.values(), key=lambda thread: len(thread.posts))
    for _ in range(27 - len(longest.posts)):
        forum.reply(longest.number, longest.last)
    return longest


def gone(_forum: LocalForum) -> Answer:
    return 404, HTML, b"<html><title>Not found</title><p>There is no such page.</p></html>"


def broken(_forum: LocalForum) -> Answer:
    return 500, HTML, b"<h1>Oops</h1>"


def hidden(_forum: LocalForum) -> Answer:
    return 403, HTML, b"<h1>No entry</h1>"


def empty(forum: LocalForum) -> Answer:
    """A page whose posts are all deleted, with its pager."""
    base = f"/topic/{long_thread(forum).number}"
    return 200, HTML, forum._frame("Thread", f"<h1>Thread</h1>{forum._pager(base, 2, 7)}").encode()


def gate(_forum: LocalForum) -> Answer:
    """Asks for a login without any word that the reader knows."""
    form = "<form method=post action=/in><input name=a><input type=password name=b></form>"
    return 200, HTML, f"<html><title>Pier</title><p>Hier nur Mitglieder.</p>{form}</html>".encode()


def fail(forum: LocalForum, answer: Callable[[LocalForum], Answer], *pages: int) -> None:
    """Lets pages of the long thread be answered with something else."""
    base = f"/topic/{long_thread(forum).number}"
    paths = {base if page == 1 else f"{base}?page={page}" for page in pages}
    forum.on_request = lambda path: answer(forum) if path in paths else None


def without(forum: LocalForum, *pages: int) -> set[tuple[str, str, str]]:
    """All posts but those on pages of the long thread."""
    thread = long_thread(forum)
    size = forum.posts_a_page
    left = {str(p.number) for at, p in enumerate(thread.posts) if at // size + 1 in pages}
    return {row for row in forum.truth() if row[1] not in left}


def told(run: Run) -> list[list[object]]:
    """What the run's visits name as missing: [reason, page number, address]."""
    states = Visit.objects.filter(run=run).values_list("state", flat=True)
    return [one for state in states for one in state["lost"]]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (empty, "no_posts"),
        (gone, "http_404"),
        (broken, "http_500"),
        (hidden, "http_403"),
        (gate, "login_needed"),
    ],
)
@pytest.mark.parametrize("pages", [(2,), (3, 4), (7,)])
def test_the_pages_after_a_missing_one_are_read_and_the_missing_ones_told(
    server: ForumServer,
    answer: Callable[[LocalForum], Answer],
    reason: str,
    pages: tuple[int, ...],
) -> None:
    forum, site = server.forum, added(server)
    fail(forum, answer, *pages)
    run = crawl(site, history_days=400)
    assert stored() == without(forum, *pages)
    assert run.stopped_by == f"incomplete: {reason}"
    assert [one[:2] for one in told(run)] == [[reason, page] for page in pages]
    thread = Thread.objects.get(url__endswith=f"/topic/{long_thread(forum).number}")
    assert thread.pending and sorted(thread.missing) == [str(page) for page in pages]
    before = len(forum.log)
    crawl(site)
    assert len([path for path in forum.log[before:] if "/topic" in path]) <= 3 * len(pages) + 1
    forum.on_request = None
    run = crawl(site)
    assert run.stopped_by == "complete" and stored() == forum.truth()
    thread.refresh_from_db()
    assert not thread.pending and not thread.missing and thread.last_page == 7


@pytest.mark.parametrize("server", [WindowedForum], indirect=True)
@pytest.mark.parametrize("pages", [(2,), (3, 5), (2, 3, 4, 5)])
def test_pages_that_no_pager_names_because_of_the_missing_one_are_read_too(
    server: ForumServer, pages: tuple[int, ...]
) -> None:
    forum, site = server.forum, added(server)
    fail(forum, broken, *pages)
    run = crawl(site, history_days=400)
    assert stored() == without(forum, *pages)
    assert [page for _reason, page, _url in told(run)] == list(pages)


def test_a_thread_is_given_up_with_its_reason_and_read_on_when_it_grows(
    server: ForumServer,
) -> None:
    forum, site = server.forum, added(server)
    other = forum.open(2, now())
    fail(forum, broken, 3)
    middle = forum.on_request
    assert middle is not None
    forum.on_request = lambda path: (
        broken(forum) if path == f"/topic/{other.number}" else middle(path)
    )
    runs = [crawl(site, history_days=400) for _ in range(6)]
    assert [run.stopped_by for run in runs] == ["incomplete: http_500"] * 5 + ["complete"]
    assert not Thread.objects.filter(pending=True).exists()
    page = f"{server.url}topic/{long_thread(forum).number}?page=3"
    assert Thread.objects.get(last_page=7).missing == {"3": [page, "http_500"]}
    assert [one[1] for one in Thread.objects.get(fetched_at=None).missing.values()] == ["http_500"]
    assert Event.objects.filter(code="thread_given_up").count() == 2
    forum.reply(long_thread(forum).number, now())
    before = len(forum.log)
    run = crawl(site)
    assert run.stopped_by == "complete" and stored() == {
        row for row in without(forum, 3) if row[0] != f"/topic/{other.number}"
    }
    assert sum(path.startswith("/topic") for path in forum.log[before:]) == 1


def test_a_later_page_that_is_gone_is_nothing_missing_if_the_row_counts_no_more_posts(
    server: ForumServer,
) -> None:
    """The pager names a page too many."""
    forum, site = server.forum, added(server)
    thread = long_thread(forum)
    shown = forum._pager

    def pager(base: str, number: int, pages: int) -> str:
        return shown(base, number, pages + (base == f"/topic/{thread.number}"))

    forum._pager = pager  # type: ignore[method-assign]
    assert crawl(site, history_days=400).stopped_by == "complete"
    assert stored() == forum.truth() and not Thread.objects.filter(pending=True).exists()


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    "page",
    [
        "<html><title>Log in - Local forum</title><h1>Log in</h1>" + LOGIN_FORM,
        "<html><title>Hinweis</title><p>Dieser Bereich ist geschlossen.</p>" + LOGIN_FORM,
        "<html><title>提示信息</title><p>抱歉，您尚未登录，没有权限访问该版块</p>" + LOGIN_FORM,
    ],
)
def test_a_board_that_shows_a_login_form_needs_a_login(
    server: ForumServer, page: str, status: int
) -> None:
    site = added(server)
    server.forum.on_request = lambda path: (
        (status, HTML, page.encode()) if path.startswith("/board/2") else None
    )
    run = crawl(site, history_days=400)
    assert run.stopped_by == "incomplete: login_needed"
    visit = Visit.objects.get(run=run, board__url__endswith="/board/2")
    assert (visit.stopped_by, visit.complete) == ("login_needed", False)
    assert stored() == {row for row in server.forum.truth() if _board(server, row[0]) == 1}


def _board(server: ForumServer, topic: str) -> int:
    return server.forum.all[int(topic.rsplit("/", 1)[1])].board


@pytest.mark.parametrize("server", [QuickLoginForum], indirect=True)
def test_a_login_form_that_stands_on_every_page_makes_no_gate(server: ForumServer) -> None:
    site = added(server)
    nothing = server.forum._frame("Harbour board", "<h1>Harbour board</h1><p>Nothing here yet.</p>")
    server.forum.on_request = lambda path: (
        (200, HTML, nothing.encode()) if path.startswith("/board/2") else None
    )
    assert crawl(site, history_days=400).stopped_by == "incomplete: no_records"


def test_the_command_ends_with_status_3_and_names_each_page(
    server: ForumServer, capsys: pytest.CaptureFixture[str]
) -> None:
    site = added(server)
    fail(server.forum, empty, 2)
    inner = server.forum.on_request
    assert inner is not None
    server.forum.on_request = lambda path: gate(server.forum) if path == "/board/2" else inner(path)
    capsys.readouterr()
    with pytest.raises(CommandError) as raised:
        call_command("forum", "crawl", str(site.pk), "--history-days", "400", "--json")
    document = json.loads(capsys.readouterr().out)
    name = Board.objects.get(url__endswith="/board/2").name
    url = f"{server.url}topic/{long_thread(server.forum).number}?page=2"
    assert raised.value.returncode == 3 and not document["complete"]
    assert document["missing"] == [
        {"what": "boards", "count": 1, "reason": f"login_needed: {name}"},
        {"what": "pages of threads", "count": 1, "reason": f"no_posts: page 2 of {url}"},
    ]


@pytest.mark.parametrize("every", [1, 2, 3])
def test_rows_on_a_former_host_are_counted_and_told(
    server: ForumServer, capsys: pytest.CaptureFixture[str], every: int
) -> None:
    site = added(server)
    numbers = sorted(server.forum.all)[1 :: every + 1]

    def elsewhere(path: str) -> Answer | None:
        if not path.startswith("/board/"):
            return None
        status, headers, body = server.forum._page(path)
        for number in numbers:
            link = f'class=topictitle href="/topic/{number}"'.encode()
            body = body.replace(link, link.replace(b'"/', b'"http://former.invalid/'))
        return status, headers, body

    server.forum.on_request = elsewhere
    words = ["forum", "crawl", str(site.pk), "--history-days", "400", "--json"]
    for _visit in range(2):
        with pytest.raises(CommandError, match="other_host") as told:
            call_command(*words, "--allow-private", "--delay", "0")
        document = json.loads(capsys.readouterr().out)
        assert told.value.returncode == 3 and document["complete"] is False
        assert [one["count"] for one in document["missing"]] == [len(numbers)]
        assert not Thread.objects.filter(url__contains="former").exists()


@pytest.mark.parametrize("number", [1, 3, 7])
def test_of_a_page_that_ends_early_the_posts_are_stored_and_it_is_told_as_missing(
    server: ForumServer, number: int
) -> None:
    site, forum = added(server), server.forum
    base = f"/topic/{long_thread(forum).number}"
    path = base if number == 1 else f"{base}?page={number}"

    def short(asked: str) -> Answer | None:
        if asked != path:
            return None
        status, headers, body = forum.page(asked)
        return (
            status,
            {**headers, "content-length": str(len(body) + 99), "connection": "close"},
            body,
        )

    forum.on_request = short
    run = crawl(site, history_days=400)
    assert stored() == forum.truth() and run.stopped_by == "incomplete: truncated"
    assert [one[:2] for one in told(run)] == [["truncated", number]]
    thread = Thread.objects.get(url__endswith=base)
    assert thread.pending and thread.misses == 1
    forum.on_request = None
    assert not told(crawl(site)) and stored() == forum.truth()
    assert not Thread.objects.get(pk=thread.pk).pending
