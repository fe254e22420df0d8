"""A forum's structure from a sample: which boards, under which names, how addresses go on; and when it changes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import escape
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from lxml.html import document_fromstring

from crawlmgr.text.dates import DateContext, parse_time
from forums.discovery import Explorer, ExplorerSettings, FetchedPage, SiteModel, recheck
from forums.discovery.evidence import counts_posts
from forums.discovery.model import Flip
from forums.discovery.pages import PageFacts, facts
from forums.discovery.shapes import page_key, shape, telling, uninviting
from forums.reading import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord, read_page

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
SITE = "http://forum.example"


@dataclass
class Board:
    """A board of the little forum below."""

    number: int
    name: str
    threads: int = 45
    parent: int | None = None
    group: str = "Main"


BOARDS = [
    Board(2, "General"),
    Board(3, "Hardware & Networking", 23),
    Board(7, "Keyboards", 3, parent=3),
    Board(4, "二手市场", 8, group="Market"),
    Board(5, "Help", 1, group="Market"),
]


def slug(name: str) -> str:
    """A name as addresses hold it."""
    return "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split()) or "board"


# How addresses of boards and of threads are written, first and further pages.
SCHEMES = {
    "slash": (("/forum/{n}-{slug}", "/forum/{n}-{slug}?page={p}"), ("/topic/{t}-{slug}", "/topic/{t}-{slug}?page={p}")),
    "phpbb": (
        ("/viewforum.php?f={n}", "/viewforum.php?f={n}&start={start}"),
        ("/viewtopic.php?f={n}&t={t}", "/viewtopic.php?f={n}&t={t}&start={start}"),
    ),
    "rewritten": (("/{slug}-f{n}.html", "/{slug}-f{n}-{start}.html"), ("/{slug}-t{t}.html", "/{slug}-t{t}-{start}.html")),
    "discuz": (("/forum-{n}-1.html", "/forum-{n}-{p}.html"), ("/thread-{t}-1-1.html", "/thread-{t}-{p}-1.html")),
    "discuz-query": (
        ("/forum.php?mod=forumdisplay&fid={n}", "/forum.php?mod=forumdisplay&fid={n}&page={p}"),
        ("/forum.php?mod=viewthread&tid={t}", "/forum.php?mod=viewthread&tid={t}&page={p}"),
    ),
    "xenforo": (("/forums/{slug}.{n}/", "/forums/{slug}.{n}/page-{p}"), ("/threads/{slug}.{t}/", "/threads/{slug}.{t}/page-{p}")),
    "xenforo-query": (
        ("/index.php?forums/{slug}.{n}/", "/index.php?forums/{slug}.{n}/page-{p}"),
        ("/index.php?threads/{slug}.{t}/", "/index.php?threads/{slug}.{t}/page-{p}"),
    ),
    "vanilla": (("/categories/{slug}", "/categories/{slug}/p{p}"), ("/discussion/{t}/{slug}", "/discussion/{t}/{slug}/p{p}")),
    "discourse": (("/c/{slug}/{n}", "/c/{slug}/{n}?page={p}"), ("/t/{slug}/{t}", "/t/{slug}/{t}?page={p}")),
    "mybb": (("/Forum-{slug}", "/Forum-{slug}?page={p}"), ("/Thread-{slug}", "/Thread-{slug}?page={p}")),
    "smf": (
        ("/index.php?board={n}.0", "/index.php?board={n}.{start}"),
        ("/index.php?topic={t}.0", "/index.php?topic={t}.{start}"),
    ),
    "vbulletin": (
        ("/forumdisplay.php?{n}-{slug}", "/forumdisplay.php?{n}-{slug}/page{p}"),
        ("/showthread.php?{t}-{slug}", "/showthread.php?{t}-{slug}/page{p}"),
    ),
    "names": (("/f?kw={name}", "/f?kw={name}&pn={start}"), ("/p/{t}", "/p/{t}?pn={p}")),
    "slugs": (("/{slug}/", "/{slug}/?page={p}"), ("/{board}/{slug}/", "/{board}/{slug}/?page={p}")),
}


@dataclass
class Forum:
    """A forum with an index or with one list of all boards' threads, in one of two themes."""

    boards: list[Board] = field(default_factory=lambda: list(BOARDS))
    front: str = "index"  # index, mixed, portal
    theme: str = "plain"
    zone_hours: int = 0
    per_page: int = 20
    crumbs: bool = True
    scheme: str = "slash"
    asked: list[str] = field(default_factory=list)
    routes: dict[str, tuple[str, str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.routes |= {"/": ("front", "", 1), "/members": ("members", "", 1)}
        for board in self.boards:
            for page in (1, 2):
                self.url_of(board, page)
            for thread in self.threads_of(board):
                self.url_of_thread(thread)

    def page(self, url: str) -> tuple[int, str]:
        """Status and body of an address that a page of this forum has named, or of the front page."""
        self.asked.append(url)
        parts = urlsplit(url)
        told = f"{unquote(parts.path)}?{unquote(parts.query)}".rstrip("?")
        what, number, page = self.routes.get(told, ("", "", 1))
        front = {"index": self.index, "mixed": lambda: self.mixed(int(number or 1)), "portal": self.portal}[self.front]
        bodies = {
            "front": front,
            "index": self.index,
            "group": lambda: self.index(number),
            "list": lambda: self.list_of(int(number), page),
            "thread": lambda: self.thread(int(number), page),
            "members": self.members,
        }
        if what not in bodies:
            return 404, "<h1>Not found</h1>"
        return 200, self.frame(bodies[what]())

    def named(self, url: str, what: str, number: object = "", page: int = 1) -> str:
        """Notes what an address leads to and gives it back."""
        self.routes[url] = (what, str(number), page)
        return escape(url)

    def members(self) -> str:
        """A list of people: no board."""
        return "<main><h1>Members</h1>" + "".join(f'<p><a href="/user/{n}">user{n}</a></p>' for n in range(9)) + "</main>"

    def url_of(self, board: Board, page: int = 1) -> str:
        """A board's address, in the manner of the forum's software."""
        first = SCHEMES[self.scheme][0][page > 1]
        values = {"n": board.number, "slug": slug(board.name), "name": board.name, "p": page, "start": (page - 1) * self.per_page}
        return self.named(first.format(**values), "list", board.number, page)

    def url_of_thread(self, thread: int, page: int = 1) -> str:
        """A thread's address."""
        board = next(board for board in self.boards if board.number == thread // 1000)
        first = SCHEMES[self.scheme][1][page > 1]
        values = {
            "t": thread,
            "n": board.number,
            "board": slug(board.name),
            "slug": f"about-no-{thread}-of-{board.number}",
            "p": page,
            "start": (page - 1) * self.per_page,
        }
        return self.named(first.format(**values), "thread", thread, page)

    def url_of_group(self, name: str) -> str:
        """The address of a category that holds only boards."""
        return self.named(f"/group/9-{name}", "group", name)

    def frame(self, body: str) -> str:
        """The page around a body."""
        mark = "bright" if self.theme == "plain" else "dark"
        menu = '<a href="/">Home</a> <a href="/members">Members</a> <a href="/search">Search</a> <a href="/forum/rss">Feed</a>'
        wrap = "".join(f'<div class="{mark}-{part}">' for part in ("page", "wrap", "inner", "column"))
        title = body.partition("<h1>")[2].partition("</h1>")[0] or "Index"
        return (
            f"<html lang=en><head><title>{title} - Little Forum</title></head><body>{wrap}"
            f'<nav class="{mark}-menu">{menu}</nav>{body}</div></div></div></div></body></html>'
        )

    def path(self, *steps: tuple[str, str]) -> str:
        """The crumbs on top of a page."""
        if not self.crumbs:
            return ""
        links = " » ".join(f'<a href="{url}">{escape(text)}</a>' for url, text in steps)
        return f'<p class="breadcrumb">{links}</p>'

    def threads_of(self, board: Board) -> list[int]:
        """Ids of a board's threads, newest first."""
        return [board.number * 1000 + n for n in range(board.threads, 0, -1)]

    def when(self, thread: int) -> tuple[str, str]:
        """The exact local time of a thread's last reply and how long ago that is, in words."""
        board = next(board for board in self.boards if board.number == thread // 1000)
        age = timedelta(minutes=7 + board.number + (board.threads - thread % 1000) * 37)
        local = (NOW - age + timedelta(hours=self.zone_hours)).strftime("%Y-%m-%d %H:%M")
        minutes = int(age.total_seconds() // 60)
        return local, f"{minutes} minutes ago" if minutes < 60 else f"{minutes // 60} hours ago"

    def portal(self) -> str:
        """A front page that only leads to the forum."""
        return '<main><h1>Welcome</h1><p>News of the club.</p><a href="' + self.named("/board/", "index") + '">Forum</a></main>'

    def index(self, group: str | None = None) -> str:
        """The boards by group; sub-boards below their board."""
        rows = []
        told = "data-board" if self.scheme == "slugs" else ""  # where addresses tell nothing, the reader has to
        for name in dict.fromkeys(board.group for board in self.boards):
            if group is not None and name != group:
                continue
            rows.append(f'<h2><a href="{self.url_of_group(name)}" data-board data-group>{name}</a></h2>')
            for board in self.boards:
                if board.group != name or board.parent is not None:
                    continue
                subs = [sub for sub in self.boards if sub.parent == board.number]
                rows.append(
                    f'<div class="row"><a href="{self.url_of(board)}" data-board>{escape(board.name)}</a> {board.threads}'
                    + "".join(f' <a {told} href="{self.url_of(sub)}">{escape(sub.name)}</a>' for sub in subs)
                    + "</div>"
                )
        top = [("/", "Index")] if group is None else [("/", "Index"), (self.url_of_group(group), group)]
        return f'{self.path(*top)}<main data-kind="index">{"".join(rows)}</main>'

    def row(self, board: Board, thread: int, label: bool = False) -> str:
        """A thread's row."""
        local, ago = self.when(thread)
        named = f' <a data-of href="{self.url_of(board)}">{escape(board.name)}</a>' if label else ""
        return (
            f'<div class="row" data-thread><a href="{self.url_of_thread(thread)}">About {thread}</a>{named}'
            f" <i>{thread % 60}</i>"
            f' <span title="{local}">{ago}</span> <a href="{self.url_of_thread(thread)}#last">last</a></div>'
        )

    def pager(self, address: Callable[[int], str], number: int, count: int) -> str:
        """Numbers to the other pages."""
        last = max(1, -(-count // self.per_page))
        links = [f"<b>{n}</b>" if n == number else f'<a href="{address(n)}">{n}</a>' for n in range(1, last + 1)]
        return f'<div class="pager">{" ".join(links)}</div>' if last > 1 else ""

    def list_of(self, number: int, page: int) -> str:
        """A board's list."""
        board = next(board for board in self.boards if board.number == number)
        threads = self.threads_of(board)
        shown = threads[(page - 1) * self.per_page : page * self.per_page]
        above = [("/", "Index"), (self.url_of_group(board.group), board.group)]
        above += [(self.url_of(b), b.name) for b in self.boards if b.number == board.parent]
        rows = "".join(self.row(board, thread) for thread in shown)
        crumbs = self.path(*above, (self.url_of(board), board.name))
        pager = self.pager(lambda n: self.url_of(board, n), page, len(threads))
        return f'{crumbs}<main data-kind="threadlist"><h1>{escape(board.name)}</h1>{rows}{pager}</main>'

    def mixed(self, page: int) -> str:
        """All boards' threads, each row with its board."""
        everything = sorted(((t, b) for b in self.boards for t in self.threads_of(b)), key=lambda pair: self.when(pair[0])[0])[
            ::-1
        ]
        shown = everything[(page - 1) * self.per_page : page * self.per_page]
        rows = "".join(self.row(board, thread, label=True) for thread, board in shown)
        pager = self.pager(lambda n: self.named(f"/?page={n}" if n > 1 else "/", "front", n), page, len(everything))
        return f'<main data-kind="threadlist"><h1>Active</h1>{rows}{pager}</main>'

    def thread(self, number: int, page: int) -> str:
        """A thread's posts."""
        board = next(board for board in self.boards if board.number == number // 1000)
        count = number % 60 + 1
        posts = "".join(
            f'<article data-post="{number * 100 + n}"><b>anna</b> <time>2026-11-0{1 + n % 9} 10:00</time>'
            f"<p>Text {n}</p></article>"
            for n in range((page - 1) * self.per_page, min(count, page * self.per_page))
        )
        crumbs = self.path(("/", "Index"), (self.url_of(board), board.name))
        pager = self.pager(lambda n: self.url_of_thread(number, n), page, count)
        return f'{crumbs}<main data-kind="thread"><h1>About {number}</h1>{posts}{pager}</main>'


def marked_reader(
    html: str, url: str, fetched_at: datetime, *, hints: bool = True, timezone: str = "UTC", day_first: bool | None = None
) -> PageReading:
    """Reads the little forum by the marks in its pages: discovery is under test here, not the reading."""
    del hints
    context = DateContext(fetched_at, timezone, day_first)
    root = document_fromstring(html)
    main = next(iter(root.iter("main")), None)
    kind = PageKind(main.get("data-kind") or "other") if main is not None else PageKind.other
    pager = list(root.xpath("//div[@class='pager']/a"))
    current = int("".join(root.xpath("//div[@class='pager']/b/text()")) or 1)
    follow = next((urljoin(url, a.get("href")) for a in pager if a.text == str(current + 1)), None)
    reading = PageReading(kind, next=follow, pages=tuple(urljoin(url, a.get("href")) for a in pager), current=current)
    if main is None or kind is PageKind.other:
        return reading
    records: list[object] = []
    if kind is PageKind.index:
        for link in main.xpath(".//a[@data-board]"):
            digits = (link.tail or "").strip()
            records.append(BoardRecord(urljoin(url, link.get("href")), link.text, threads=int(digits) if digits else None))
    elif kind is PageKind.threadlist:
        for block in main.xpath(".//div[@data-thread]"):
            link, time = block.find("a"), block.find("span")
            of = block.xpath("./a[@data-of]")
            records.append(
                ThreadRecord(
                    urljoin(url, link.get("href")),
                    link.text,
                    replies=int(block.find("i").text),
                    last_reply=parse_time(time.get("title"), context),
                    board_url=urljoin(url, of[0].get("href")) if of else None,
                    board_name=of[0].text if of else None,
                )
            )
    else:
        records = [
            PostRecord(b.find("b").text, parse_time(b.find("time").text, context), b.find("p").text, b.get("data-post"))
            for b in main.iter("article")
        ]
    return replace(reading, records=tuple(records), sort="last_reply" if kind is PageKind.threadlist else None)  # type: ignore[arg-type]


Reader = Callable[..., PageReading]


def explore(forum: Forum, start: str = "/", reader: Reader = marked_reader, **options: int) -> tuple[SiteModel, Explorer]:
    """Drives a look at the little forum to its end."""
    explorer = Explorer(SITE + start, ExplorerSettings(**options), reader=reader)
    for _ in range(200):
        wanted = explorer.wanted()
        if not wanted:
            break
        status, html = forum.page(wanted[0].url)
        explorer.feed(FetchedPage(wanted[0].url, wanted[0].url, html, NOW, status))
    assert explorer.done
    return explorer.site(), explorer


def names(site: SiteModel) -> set[str]:
    return {board.name for board in site.boards}


ALL = {board.name for board in BOARDS}


def test_all_boards_of_an_index_by_name_and_no_others() -> None:
    forum = Forum()
    site, explorer = explore(forum)
    assert names(site) == ALL
    assert site.root == SITE + "/"
    by_name = {board.name: board for board in site.boards}
    assert by_name["Keyboards"].parent_url == by_name["Hardware & Networking"].url
    assert [board.name for board in site.boards if board.parent_url] == ["Keyboards"]
    assert [board.name for board in site.boards] == ["General", "Hardware & Networking", "Keyboards", "二手市场", "Help"]
    assert by_name["General"].threads_seen == 20 and by_name["General"].per_page == 20
    assert by_name["General"].has_last_reply and by_name["General"].sort == "last_reply"
    assert len(forum.asked) == len(set(forum.asked)) <= 20
    assert not any("members" in url or "search" in url or "rss" in url for url in forum.asked)
    assert explorer.asked == len(forum.asked)


@pytest.mark.parametrize(
    "start",
    ["/forum/3-hardware-networking", "/forum/7-keyboards", "/topic/2005-about-no-2005-of-2", "/topic/7001-about-no-7001-of-7"],
)
@pytest.mark.parametrize("front", ["index", "portal"])
def test_any_address_of_the_forum_leads_to_its_index(start: str, front: str) -> None:
    forum = Forum(front=front)
    site, _ = explore(forum, start)
    assert names(site) == ALL
    if front == "index":
        assert site.root == SITE + "/"


def test_a_portal_leads_to_the_forum() -> None:
    site, _ = explore(Forum(front="portal"))
    assert names(site) == ALL
    assert site.root == SITE + "/board/"


def test_a_list_inside_a_forum_without_crumbs() -> None:
    site, _ = explore(Forum(crumbs=False), "/forum/2-general")
    assert names(site) == ALL


@pytest.mark.parametrize("crumbs", [True, False])
def test_boards_of_one_mixed_list_stand_in_its_rows(crumbs: bool) -> None:
    site, _ = explore(Forum(front="mixed", crumbs=crumbs))
    assert names(site) == ALL
    assert site.root == SITE + "/"
    if crumbs:
        parents = {board.name for board in site.boards if board.parent_url}
        assert parents == {"Keyboards"}


def test_a_thread_of_a_forum_with_a_mixed_front_page() -> None:
    site, _ = explore(Forum(front="mixed"), "/topic/4003-about-no-4003-of-4")
    assert names(site) >= {"二手市场"}
    assert names(site) <= ALL


@pytest.mark.parametrize("front", ["index", "mixed"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_however_addresses_are_written(scheme: str, front: str) -> None:
    boards = [board for board in BOARDS if scheme != "slugs" or board.name != "二手市场"]
    forum = Forum(boards=boards, scheme=scheme, front=front)
    site, _ = explore(forum)
    assert names(site) == {board.name for board in boards}
    first, second = (unquote(urlsplit(forum.url_of(boards[0], n)).query or forum.url_of(boards[0], n)) for n in (1, 2))
    assert first != second and site.list_flip is not None and not site.list_flip.cursor
    assert site.shapes("list") and not set(site.shapes("list")) & set(site.shapes("thread"))
    from_thread, _ = explore(Forum(boards=boards, scheme=scheme, front=front), forum.url_of_thread(2005).replace("&amp;", "&"))
    assert names(from_thread) == {board.name for board in boards}
    assert forum.asked == list(dict.fromkeys(forum.asked))


@pytest.mark.parametrize("front", ["index", "mixed"])
@pytest.mark.parametrize("scheme", ["slash", "phpbb", "discuz", "smf"])
def test_with_the_reader_of_the_product(scheme: str, front: str) -> None:
    site, explorer = explore(Forum(scheme=scheme, front=front, zone_hours=8), reader=read_page)
    assert names(site) == ALL
    assert explorer.asked <= 20
    assert site.timezone == "Etc/GMT-8"
    assert all(board.has_last_reply for board in site.boards if board.threads_seen > 1)


def test_an_empty_board_that_the_index_names_is_a_board() -> None:
    boards = [*BOARDS, Board(9, "Nothing yet", 0)]
    site, _ = explore(Forum(boards=boards))
    assert names(site) == ALL | {"Nothing yet"}
    assert next(board for board in site.boards if board.name == "Nothing yet").threads_seen == 0


def test_many_boards_stay_within_the_bounds() -> None:
    boards = [Board(n, f"Board {chr(65 + n % 26)}{n}", 5) for n in range(2, 122)]
    forum = Forum(boards=boards)
    site, explorer = explore(forum, most_pages=40)
    assert explorer.asked <= 40
    assert any("/topic/" in url for url in forum.asked)
    assert names(site) == {board.name for board in boards}


def test_pages_that_fail_are_not_asked_for_again() -> None:
    explorer = Explorer(SITE + "/", reader=marked_reader)
    explorer.feed(FetchedPage(SITE + "/", SITE + "/", Forum().page(SITE + "/")[1], NOW))
    first = explorer.wanted()[0]
    explorer.failed(first.url, "timeout")
    assert first.url not in {wanted.url for wanted in explorer.wanted()}
    dead = Explorer(SITE + "/", reader=marked_reader)
    dead.failed(SITE + "/", "dns")
    assert dead.done and dead.site().boards == ()


def test_a_board_that_guests_may_not_read_is_none() -> None:
    forum = Forum()
    explorer = Explorer(SITE + "/", reader=marked_reader)
    while wanted := explorer.wanted():
        status, html = forum.page(wanted[0].url)
        status = 403 if "/forum/5-" in wanted[0].url else status
        explorer.feed(FetchedPage(wanted[0].url, wanted[0].url, html, NOW, status))
    assert names(explorer.site()) == ALL - {"Help"}


def test_the_same_pages_lead_to_the_same_plan() -> None:
    _, explorer = explore(Forum())
    again = Explorer(SITE + "/", reader=marked_reader)
    forum = Forum()
    for url in explorer._pages:
        full = f"http://{url}" if url != "forum.example" else SITE + "/"
        again.feed(FetchedPage(full, full, forum.page(full)[1], NOW))
        again.feed(FetchedPage(full, full, "", NOW))  # a second time changes nothing
    assert again.done
    assert again.site().boards == explorer.site().boards


def test_the_zone_is_guessed_from_exact_beside_relative_times() -> None:
    site, _ = explore(Forum(zone_hours=8))
    assert (site.timezone, site.timezone_evidence) == ("Etc/GMT-8", "pairs")
    newest = site.boards[0].rows[0]["last_reply"]
    assert datetime.fromisoformat(newest) <= NOW
    told = Explorer(SITE + "/", timezone="Asia/Shanghai", reader=marked_reader)
    assert told.site().timezone == "Asia/Shanghai"


def test_the_model_tells_how_addresses_are_written() -> None:
    site, _ = explore(Forum())
    assert site.list_flip == Flip("?page={n}", 1, 1)
    assert site.thread_flip == Flip("?page={n}", 1, 1)
    assert site.shapes("list") == ("forum.example/forum/#-*",)
    assert site.shapes("thread") == ("forum.example/topic/#-*",)
    assert site.posts_per_page == 20
    assert site.name == "Little Forum"
    assert site.day_first is None


def test_the_model_survives_json() -> None:
    site, _ = explore(Forum())
    assert SiteModel.from_json(json.loads(json.dumps(site.to_json()))) == site
    with pytest.raises(ValueError, match="version"):
        SiteModel.from_json({**site.to_json(), "version": 99})


def looked(forum: Forum, url: str) -> PageFacts:
    _, html = forum.page(SITE + url)
    return facts(FetchedPage(SITE + url, SITE + url, html, NOW), marked_reader(html, SITE + url, NOW))


def test_a_site_that_stays_as_it_was_has_not_changed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    pages = [
        ("threadlist", looked(forum, "/forum/2-general?page=2")),
        ("thread", looked(forum, "/topic/2030-about-no-2030-of-2")),
    ]
    assert recheck(site, pages) is None
    assert recheck(site, []) is None


def test_another_theme_is_noticed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    forum.theme = "night"
    change = recheck(site, [("threadlist", looked(forum, "/forum/2-general"))])
    assert change is not None
    assert change.reasons == ("marks",) and not change.broken
    relearnt, _ = explore(forum)
    assert recheck(relearnt, [("threadlist", looked(forum, "/forum/2-general"))]) is None
    assert names(relearnt) == names(site)


def test_lists_that_no_longer_read_are_noticed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    page = looked(forum, "/forum/2-general")
    unread = replace(page, reading=PageReading(PageKind.other))
    change = recheck(site, [("threadlist", unread), ("threadlist", unread)])
    assert change is not None and change.reasons == ("kind",) and change.broken


def test_fields_that_vanish_and_addresses_written_otherwise_are_noticed() -> None:
    forum = Forum()
    site, _ = explore(forum)
    page = looked(forum, "/forum/2-general")
    rows = page.reading.records
    blind = replace(page, reading=replace(page.reading, records=tuple(replace(r, last_reply=None) for r in rows)))  # type: ignore[type-var]
    change = recheck(site, [("threadlist", blind), ("threadlist", blind)])
    assert change is not None and change.reasons == ("roles",) and change.roles == ("last_reply",)
    moved = tuple(replace(r, url=f"{SITE}/t.php?id={n}") for n, r in enumerate(rows))  # type: ignore[type-var, call-arg]
    change = recheck(site, [("threadlist", replace(page, reading=replace(page.reading, records=moved)))])  # type: ignore[arg-type]
    assert change is not None and change.reasons == ("addresses",)


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("http://www.a.org/forum/12-my-board/?page=2", "a.org/forum/#-*"),
        ("http://a.org/viewforum.php?f=3&start=25", "a.org/viewforum.php?f=#"),
        ("http://a.org/forum-36-1.html", "a.org/forum-#-#.html"),
        ("http://a.org/index.php?forums/name.17/", "a.org/index.php/forums/*.#"),
        ("http://a.org/index.php?board=18.20", "a.org/index.php?board=#.#"),
        ("http://a.org/forum.php?mod=forumdisplay&fid=3", "a.org/forum.php?fid=#&mod=forumdisplay"),
        ("http://a.org/f?kw=%E7%88%AC%E8%99%AB", "a.org/f?kw=*"),
        ("http://a.org/c/off-topic/12", "a.org/c/*/#"),
    ],
)
def test_shapes_of_addresses(url: str, form: str) -> None:
    assert shape(url) == form


def test_addresses_that_are_not_asked_for() -> None:
    for url in (
        "/login",
        "/ucp.php?mode=login",
        "/user/7",
        "/search?q=x",
        "/feed.xml",
        "/members/anna.1/",
        "/a.png",
    ):
        assert uninviting(SITE + url), url
    for url in ("/forum/5-help", "/c/help", "/viewforum.php?f=3", "/forum.php?mod=forumdisplay&fid=3", "/categories/shop", "/"):
        assert not uninviting(SITE + url), url
    assert telling(shape(SITE + "/forum/5-help")) and not telling(shape(SITE + "/help"))
    assert page_key("http://www.a.org/x/?b=1&a=2#c") == page_key("https://a.org/x/?a=2&b=1")


@pytest.mark.parametrize(
    "html",
    [
        "<div class=path>" * 50_000,
        "".join(f'<a href="/x{n}" class="c{n}">{n}</a>' for n in range(60_000)),
        "<p title='2026-11-21 04:00'>5 minutes ago</p>" * 20_000,
        "",
        "\x00\x01<<<>>>&&&",
    ],
)
def test_hostile_pages_end_soon(html: str) -> None:
    started = time.process_time()
    found = facts(FetchedPage(SITE, SITE, html, NOW), PageReading(PageKind.other))
    assert time.process_time() - started < 8
    assert len(found.links) <= 3000 and len(found.pairs) <= 100 and len(found.marks) <= 80


@pytest.mark.parametrize(("shown_beside", "told"), [(0, False), (1, True)])
def test_what_the_lists_count_is_learned_from_whole_threads(shown_beside: int, told: bool) -> None:
    def page(url: str, kind: PageKind, records: tuple, **more: object) -> PageFacts:
        return PageFacts(url, url, url, 200, NOW, PageReading(kind, records, **more))  # type: ignore[arg-type]

    posts = {7: 3, 8: 5, 9: 30}
    listed = tuple(ThreadRecord(f"{SITE}/topic/{key}-x", "x", replies=number - 1 + shown_beside) for key, number in posts.items())
    threads = [
        page(f"{SITE}/topic/{key}-x", PageKind.thread, tuple(PostRecord("anna", None, "text") for _ in range(min(number, 10))))
        for key, number in posts.items()
    ]
    lists = page(f"{SITE}/forum/2", PageKind.threadlist, listed)
    assert counts_posts([lists, *threads]) is told
    assert counts_posts([lists, threads[0], threads[2]]) is None  # one thread is too little, one is not whole
    assert counts_posts([lists]) is None


@pytest.mark.parametrize(("known", "replies"), [(None, 5), (True, 4), (False, 5)])
def test_what_the_lists_count_is_kept_to(known: bool | None, replies: int) -> None:
    rows = "".join(
        f'<tr><td><a href="/topic/{key}-thread">Thread number {key}</a></td><td><a href="/user/anna">anna</a></td><td>{key}</td><td>12 Mar 2026 10:{key}0</td></tr>'
        for key in (5, 4, 3, 2)
    )
    html = f"<h1>Pumps</h1><table><tr><th>Topic</th><th>By</th><th>Answers or so</th><th>Last</th></tr>{rows}</table>"
    reading = read_page(html, f"{SITE}/forum/2-pumps", NOW, counts_posts=known)
    first = reading.records[0]
    assert isinstance(first, ThreadRecord) and first.replies == replies and (known is None or first.counts_posts is known)
