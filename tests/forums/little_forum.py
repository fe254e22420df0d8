"""A small forum with several themes and formats of addresses, explored without a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import escape
from urllib.parse import unquote, urljoin, urlsplit

from lxml.html import document_fromstring

from crawlmgr.text.dates import DateContext, parse_time
from forums.discovery import Explorer, ExplorerSettings, FetchedPage, SiteModel
from forums.reading import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
SITE = "http://forum.example"


@dataclass
class Board:
    """A board of the small forum below."""

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
    """A name in the form used in addresses."""
    return (
        "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split())
        or "board"
    )


# Formats of the addresses of boards and threads, first and further pages.
SCHEMES = {
    "slash": (
        ("/forum/{n}-{slug}", "/forum/{n}-{slug}?page={p}"),
        ("/topic/{t}-{slug}", "/topic/{t}-{slug}?page={p}"),
    ),
    "phpbb": (
        ("/viewforum.php?f={n}", "/viewforum.php?f={n}&start={start}"),
        ("/viewtopic.php?f={n}&t={t}", "/viewtopic.php?f={n}&t={t}&start={start}"),
    ),
    "rewritten": (
        ("/{slug}-f{n}.html", "/{slug}-f{n}-{start}.html"),
        ("/{slug}-t{t}.html", "/{slug}-t{t}-{start}.html"),
    ),
    "discuz": (
        ("/forum-{n}-1.html", "/forum-{n}-{p}.html"),
        ("/thread-{t}-1-1.html", "/thread-{t}-{p}-1.html"),
    ),
    "discuz-query": (
        ("/forum.php?mod=forumdisplay&fid={n}", "/forum.php?mod=forumdisplay&fid={n}&page={p}"),
        ("/forum.php?mod=viewthread&tid={t}", "/forum.php?mod=viewthread&tid={t}&page={p}"),
    ),
    "xenforo": (
        ("/forums/{slug}.{n}/", "/forums/{slug}.{n}/page-{p}"),
        ("/threads/{slug}.{t}/", "/threads/{slug}.{t}/page-{p}"),
    ),
    "xenforo-query": (
        ("/index.php?forums/{slug}.{n}/", "/index.php?forums/{slug}.{n}/page-{p}"),
        ("/index.php?threads/{slug}.{t}/", "/index.php?threads/{slug}.{t}/page-{p}"),
    ),
    "vanilla": (
        ("/categories/{slug}", "/categories/{slug}/p{p}"),
        ("/discussion/{t}/{slug}", "/discussion/{t}/{slug}/p{p}"),
    ),
    "discourse": (
        ("/c/{slug}/{n}", "/c/{slug}/{n}?page={p}"),
        ("/t/{slug}/{t}", "/t/{slug}/{t}?page={p}"),
    ),
    "mybb": (
        ("/Forum-{slug}", "/Forum-{slug}?page={p}"),
        ("/Thread-{slug}", "/Thread-{slug}?page={p}"),
    ),
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
    """A forum with an index, or with one list of the threads of all boards, in one of two
    themes."""

    boards: list[Board] = field(default_factory=lambda: list(BOARDS))
    front: str = (
        "index"  # kind of front page: "index" (boards), "mixed" (threads of all boards) or "portal"
    )
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
        """Returns status and HTML of the page at `url`; 404 unless it is the front page or an
        earlier page linked to it."""
        self.asked.append(url)
        parts = urlsplit(url)
        told = f"{unquote(parts.path)}?{unquote(parts.query)}".rstrip("?")
        what, number, page = self.routes.get(told, ("", "", 1))
        front = {
            "index": self.index,
            "mixed": lambda: self.mixed(int(number or 1)),
            "portal": self.portal,
        }[self.front]
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
        """Records what an address leads to, and returns the address."""
        self.routes[url] = (what, str(number), page)
        return escape(url)

    def members(self) -> str:
        """A list of members, which is not a board."""
        return (
            "<main><h1>Members</h1>"
            + "".join(f'<p><a href="/user/{n}">user{n}</a></p>' for n in range(9))
            + "</main>"
        )

    def url_of(self, board: Board, page: int = 1) -> str:
        """A board's address in the format of the forum's software."""
        first = SCHEMES[self.scheme][0][page > 1]
        values = {
            "n": board.number,
            "slug": slug(board.name),
            "name": board.name,
            "p": page,
            "start": (page - 1) * self.per_page,
        }
        return self.named(first.format(**values), "list", board.number, page)

    def url_of_thread(self, thread: int, page: int = 1) -> str:
        """A thread's address in the format of the forum's software."""
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
        """The address of a category that contains only boards."""
        return self.named(f"/group/9-{name}", "group", name)

    def frame(self, body: str) -> str:
        """The complete HTML page with the contents `body`: adds title, wrapping elements and
        menu."""
        mark = "bright" if self.theme == "plain" else "dark"
        menu = (
            '<a href="/">Home</a> <a href="/members">Members</a> <a href="/search">Search</a> <a'
            ' href="/forum/rss">Feed</a>'
        )
        wrap = "".join(
            f'<div class="{mark}-{part}">' for part in ("page", "wrap", "inner", "column")
        )
        title = body.partition("<h1>")[2].partition("</h1>")[0] or "Index"
        return (
            f"<html lang=en><head><title>{title} - Little Forum</title></head><body>{wrap}"
            f'<nav class="{mark}-menu">{menu}</nav>{body}</div></div></div></div></body></html>'
        )

    def path(self, *steps: tuple[str, str]) -> str:
        """The breadcrumbs at the top of a page."""
        if not self.crumbs:
            return ""
        links = " » ".join(f'<a href="{url}">{escape(text)}</a>' for url, text in steps)
        return f'<p class="breadcrumb">{links}</p>'

    def threads_of(self, board: Board) -> list[int]:
        """Ids of a board's threads, newest first."""
        return [board.number * 1000 + n for n in range(board.threads, 0, -1)]

    def when(self, thread: int) -> tuple[str, str]:
        """The exact local time of a thread's last reply, and the relative time in words."""
        board = next(board for board in self.boards if board.number == thread // 1000)
        age = timedelta(minutes=7 + board.number + (board.threads - thread % 1000) * 37)
        local = (NOW - age + timedelta(hours=self.zone_hours)).strftime("%Y-%m-%d %H:%M")
        minutes = int(age.total_seconds() // 60)
        return local, f"{minutes} minutes ago" if minutes < 60 else f"{minutes // 60} hours ago"

    def portal(self) -> str:
        """A front page that only links to the forum."""
        return (
            '<main><h1>Welcome</h1><p>News of the club.</p><a href="'
            + self.named("/board/", "index")
            + '">Forum</a></main>'
        )

    def index(self, group: str | None = None) -> str:
        """Returns the HTML of the index page: the boards by category, each followed by its
        sub-boards."""
        rows = []
        told = (
            "data-board" if self.scheme == "slugs" else ""
        )  # the tests' reader finds boards by it if addresses are unclear
        for name in dict.fromkeys(board.group for board in self.boards):
            if group is not None and name != group:
                continue
            rows.append(
                f'<h2><a href="{self.url_of_group(name)}" data-board data-group>{name}</a></h2>'
            )
            for board in self.boards:
                if board.group != name or board.parent is not None:
                    continue
                subs = [sub for sub in self.boards if sub.parent == board.number]
                rows.append(
                    f'<div class="row"><a href="{self.url_of(board)}"'
                    f" data-board>{escape(board.name)}</a> {board.threads}"
                    + "".join(
                        f' <a {told} href="{self.url_of(sub)}">{escape(sub.name)}</a>'
                        for sub in subs
                    )
                    + "</div>"
                )
        top = (
            [("/", "Index")]
            if group is None
            else [("/", "Index"), (self.url_of_group(group), group)]
        )
        return f'{self.path(*top)}<main data-kind="index">{"".join(rows)}</main>'

    def row(self, board: Board, thread: int, label: bool = False) -> str:
        """Returns a thread's row in a list as HTML; with `label`, the row also links to the
        board."""
        local, ago = self.when(thread)
        named = f' <a data-of href="{self.url_of(board)}">{escape(board.name)}</a>' if label else ""
        return (
            f'<div class="row" data-thread><a href="{self.url_of_thread(thread)}">About'
            f' {thread}</a>{named} <i>{thread % 60}</i> <span title="{local}">{ago}</span> <a'
            f' href="{self.url_of_thread(thread)}#last">last</a></div>'
        )

    def pager(self, address: Callable[[int], str], number: int, count: int) -> str:
        """Numbered links to the other pages."""
        last = max(1, -(-count // self.per_page))
        links = [
            f"<b>{n}</b>" if n == number else f'<a href="{address(n)}">{n}</a>'
            for n in range(1, last + 1)
        ]
        return f'<div class="pager">{" ".join(links)}</div>' if last > 1 else ""

    def list_of(self, number: int, page: int) -> str:
        """The HTML of page number `page` of a board's thread list."""
        board = next(board for board in self.boards if board.number == number)
        threads = self.threads_of(board)
        shown = threads[(page - 1) * self.per_page : page * self.per_page]
        above = [("/", "Index"), (self.url_of_group(board.group), board.group)]
        above += [(self.url_of(b), b.name) for b in self.boards if b.number == board.parent]
        rows = "".join(self.row(board, thread) for thread in shown)
        crumbs = self.path(*above, (self.url_of(board), board.name))
        pager = self.pager(lambda n: self.url_of(board, n), page, len(threads))
        return (
            f"{crumbs}<main"
            f' data-kind="threadlist"><h1>{escape(board.name)}</h1>{rows}{pager}</main>'
        )

    def mixed(self, page: int) -> str:
        """Returns the contents of a page that lists the threads of all boards, each row with the
        name of its board."""
        everything = sorted(
            ((t, b) for b in self.boards for t in self.threads_of(b)),
            key=lambda pair: self.when(pair[0])[0],
        )[::-1]
        shown = everything[(page - 1) * self.per_page : page * self.per_page]
        rows = "".join(self.row(board, thread, label=True) for thread, board in shown)
        pager = self.pager(
            lambda n: self.named(f"/?page={n}" if n > 1 else "/", "front", n), page, len(everything)
        )
        return f'<main data-kind="threadlist"><h1>Active</h1>{rows}{pager}</main>'

    def thread(self, number: int, page: int) -> str:
        """Returns the HTML of one page of a thread: breadcrumb, posts and pager."""
        board = next(board for board in self.boards if board.number == number // 1000)
        count = number % 60 + 1
        posts = "".join(
            f'<article data-post="{number * 100 + n}"><b>anna</b> <time>2026-11-0{1 + n % 9}'
            f" 10:00</time><p>Text {n}</p></article>"
            for n in range((page - 1) * self.per_page, min(count, page * self.per_page))
        )
        crumbs = self.path(("/", "Index"), (self.url_of(board), board.name))
        pager = self.pager(lambda n: self.url_of_thread(number, n), page, count)
        return f'{crumbs}<main data-kind="thread"><h1>About {number}</h1>{posts}{pager}</main>'


def marked_reader(
    html: str,
    url: str,
    fetched_at: datetime,
    *,
    hints: bool = True,
    timezone: str = "UTC",
    day_first: bool | None = None,
    former: frozenset[str] = frozenset(),
) -> PageReading:
    """Reads the pages of the test forum by their data attributes: the tests are about discovery,
    not about reading."""
    del hints, former
    context = DateContext(fetched_at, timezone, day_first)
    root = document_fromstring(html)
    main = next(iter(root.iter("main")), None)
    kind = PageKind(main.get("data-kind") or "other") if main is not None else PageKind.other
    pager = list(root.xpath("//div[@class='pager']/a"))
    current = int("".join(root.xpath("//div[@class='pager']/b/text()")) or 1)
    follow = next((urljoin(url, a.get("href")) for a in pager if a.text == str(current + 1)), None)
    reading = PageReading(
        kind, next=follow, pages=tuple(urljoin(url, a.get("href")) for a in pager), current=current
    )
    if main is None or kind is PageKind.other:
        return reading
    records: list[object] = []
    if kind is PageKind.index:
        for link in main.xpath(".//a[@data-board]"):
            digits = (link.tail or "").strip()
            records.append(
                BoardRecord(
                    urljoin(url, link.get("href")),
                    link.text,
                    threads=int(digits) if digits else None,
                )
            )
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
            PostRecord(
                b.find("b").text,
                parse_time(b.find("time").text, context),
                b.find("p").text,
                b.get("data-post"),
            )
            for b in main.iter("article")
        ]
    return replace(
        reading, records=tuple(records), sort="last_reply" if kind is PageKind.threadlist else None
    )  # type: ignore[arg-type]


Reader = Callable[..., PageReading]


def explore(
    forum: Forum, start: str = "/", reader: Reader = marked_reader, **options: int
) -> tuple[SiteModel, Explorer]:
    """Explores the small forum to the end of discovery."""
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
