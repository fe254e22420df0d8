"""The local forum as complete sites in the style of other forum software: addresses with slugs,
ids, queries or paths; an index in tables, cards or lists; and typical additions: categories, counts
and icons in names, sub-boards in a row, external links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from urllib.parse import unquote

from tests.site.forum import ForumPost, ForumThread, LocalForum


def slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


@dataclass(frozen=True)
class Style:
    """The style of a site: patterns of the addresses of boards and threads (of the first page, of
    further pages), and functions that make the HTML. In patterns, `{n}` is the id, `{s}` the slug,
    `{b}` the slug of the board, `{p}` the page number, `{o}` the number of rows before the page."""

    name: str
    board: tuple[str, str]
    topic: tuple[str, str]
    category: str  # the address of a category's own page; empty for a heading without one
    index: Callable[[StyledForum], str]
    rows: Callable[[StyledForum, list[ForumThread]], str]
    posts: Callable[[StyledForum, ForumThread, list[ForumPost]], str]
    crumbs: str = "&raquo;"
    user: str = "/members/{s}.{n}/"


@dataclass
class StyledForum(LocalForum):
    """A LocalForum in a style: board 3 is a sub-board of board 2, the last board is empty."""

    style: Style | None = None
    boards: int = 5
    threads: int = 7
    longest: int = 11
    routes: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.names[3] = "Second hand & swaps"
        self.all = {
            number: thread for number, thread in self.all.items() if thread.board != self.boards
        }
        self.parents = {3: 2}
        self.categories = {
            91: ("Around the house", [1, 2]),
            92: ("Elsewhere", [n for n in self.names if n > 3]),
        }

    @property
    def how(self) -> Style:
        assert self.style is not None
        return self.style

    def _written(
        self,
        kind: str,
        forms: tuple[str, str],
        number: int,
        name: str,
        board: str,
        page: int,
        each: int,
    ) -> str:
        form = forms[0] if page == 1 else forms[1]
        path = form.format(n=number, s=slug(name), b=slug(board), p=page, o=(page - 1) * each)
        self.routes[unquote(path)] = (kind, number, page)
        return escape(path)

    def board_url(self, number: int, page: int = 1) -> str:
        return self._written(
            "board", self.how.board, number, self.names[number], "", page, self.threads_a_page
        )

    def topic_url(self, thread: ForumThread, page: int = 1) -> str:
        board = self.names[thread.board]
        return self._written(
            "topic", self.how.topic, thread.number, thread.title, board, page, self.posts_a_page
        )

    def category_url(self, number: int) -> str:
        name = self.categories[number][0]
        return self._written(
            "category", (self.how.category, self.how.category), number, name, "", 1, 1
        )

    def user_link(self, name: str, css: str = "username") -> str:
        number = 10 + sum(map(ord, name)) % 90
        return (
            f'<a class="{css}" href="{escape(self.how.user.format(s=name, n=number))}">{name}</a>'
        )

    def mine(self, board: int) -> list[ForumThread]:
        return sorted(
            (t for t in self.all.values() if t.board == board),
            key=lambda t: (t.pinned, t.last),
            reverse=True,
        )

    def truth(self) -> set[tuple[str, str, str]]:
        return {
            (unquote(self.topic_url(t).replace("&amp;", "&")), str(p.number), p.text)
            for t in self.all.values()
            for p in t.posts
        }

    def page(self, path: str) -> tuple[int, dict[str, str], bytes]:
        html = {"content-type": "text/html; charset=utf-8"}
        with self.lock:
            for number in self.names:
                self.board_url(number)
            found = (
                ("index", 0, 1) if path in ("/", "/index.php") else self.routes.get(unquote(path))
            )
            if found is None:
                return (
                    404,
                    html,
                    (
                        b"<html><title>Error</title><p>The requested page could not be"
                        b" found.</p></html>"
                    ),
                )
            kind, number, page = found
            body = {
                "index": self._front,
                "category": self._front,
                "board": self._list,
                "topic": self._thread,
            }[kind](number, page)
            return 200, html, body.encode()

    def _whole(self, title: str, body: str) -> str:
        menu = (
            '<ul class="menu"><li><a href="/">Home</a></li><li><a'
            ' href="/search/">Search</a></li><li><a href="/help/">Help</a></li>'
        )
        latest = "".join(
            f'<li><a href="{self.topic_url(t)}">{escape(t.title)}</a> by {t.posts[-1].author}</li>'
            for t in sorted(self.all.values(), key=lambda t: t.last, reverse=True)[:4]
        )
        side = (
            '<div class="sidebar"><h3>Latest'
            f" posts</h3><ul>{latest}</ul><h3>Statistics</h3><dl><dt>Members</dt><dd>1,204</dd>"
            f"</dl></div>"
        )
        foot = (
            '<p class="footer"><a href="/terms/">Terms</a> <a href="/privacy/">Privacy</a> <a'
            ' href="http://elsewhere.example/">A friend</a></p>'
        )
        return (
            "<!doctype html><html"
            f" lang=en><head><title>{escape(title)}</title></head><body>{menu}</ul>"
            f"{body}{side}{foot}</body></html>"
        )

    def _crumbs(self, board: int | None) -> str:
        step = f" {self.how.crumbs} "
        parts = ['<a href="/">Local forum</a>']
        while board is not None:
            parts.insert(1, f'<a href="{self.board_url(board)}">{escape(self.names[board])}</a>')
            board = self.parents.get(board)
        return f'<div class="breadcrumb">{step.join(parts)}</div>'

    def _front(self, number: int, page: int) -> str:
        every = self.categories
        self.categories = {number: every[number]} if number else every
        try:
            title = f"{every[number][0]} | Local forum" if number else "Local forum"
            return self._whole(title, self.how.index(self))
        finally:
            self.categories = every

    def _pages(self, url: Callable[[int], str], page: int, pages: int) -> str:
        if pages < 2:
            return ""
        links = [
            f'<a href="{url(n)}">{n}</a>' if n != page else f"<b>{n}</b>"
            for n in range(1, pages + 1)
        ]
        return (
            "<div"
            f' class="pages">{" ".join(links)}'
            f'{f""" <a href="{url(page + 1)}">Next &gt;</a>""" if page < pages else ""}</div>'
        )

    def _list(self, number: int, page: int) -> str:
        mine = self.mine(number)
        pages = max(1, -(-len(mine) // self.threads_a_page))
        shown = mine[(page - 1) * self.threads_a_page : page * self.threads_a_page]
        rows = (
            self.how.rows(self, shown)
            if shown
            else '<p class="empty">There are no threads in this forum.</p>'
        )
        flip = self._pages(lambda n: self.board_url(number, n), page, pages)
        name = escape(self.names[number])
        return self._whole(
            f"{name} | Local forum", f"{self._crumbs(number)}<h1>{name}</h1>{flip}{rows}{flip}"
        )

    def _thread(self, number: int, page: int) -> str:
        thread = self.all[number]
        pages = -(-len(thread.posts) // self.posts_a_page)
        shown = thread.posts[(page - 1) * self.posts_a_page : page * self.posts_a_page]
        flip = self._pages(lambda n: self.topic_url(thread, n), page, pages)
        title = escape(thread.title)
        body = (
            f"{self._crumbs(thread.board)}<h1>{title}</h1>{flip}"
            f"{self.how.posts(self, thread, shown)}{flip}"
        )
        return self._whole(f"{title} | Local forum", body)


# --- indexes


def _last(forum: StyledForum, board: int) -> ForumThread | None:
    mine = forum.mine(board)
    return max(mine, key=lambda t: t.last) if mine else None


def _inner(forum: StyledForum, board: int) -> list[int]:
    return [child for child, parent in forum.parents.items() if parent == board]


def _us(at: datetime) -> str:
    return at.strftime("%m-%d-%Y, %I:%M %p")


def _posts(forum: StyledForum, board: int) -> int:
    return sum(len(t.posts) for t in forum.mine(board))


def cards(forum: StyledForum) -> str:
    """Cards for boards, sub-boards in lists of their own, categories with a page, one card that
    leads elsewhere."""
    blocks = []
    for number, (title, boards) in forum.categories.items():
        nodes = []
        for board in boards:
            last = _last(forum, board)
            inner = "".join(
                f'<li><a href="{forum.board_url(c)}"'
                f' class="sub-link">{escape(forum.names[c])}</a></li>'
                for c in _inner(forum, board)
            )
            told = (
                f'<div class="node-extra"><a href="{forum.topic_url(last)}"'
                f' title="{escape(last.title)}">{escape(last.title[:18])}…</a>'
                "<ul><li><time"
                f' datetime="{last.last.isoformat()}">{last.last:%b %d, %Y}</time></li><li>'
                f"{forum.user_link(last.posts[-1].author)}</li></ul></div>"
                if last
                else (
                    '<div class="node-extra"><span class="node-extra-placeholder">None</span></div>'
                )
            )
            nodes.append(
                '<div class="node node--forum"><div class="node-body"><span'
                ' class="node-icon"></span><div class="node-main">'
                f'<h3 class="node-title"><a href="{forum.board_url(board)}"'
                f' data-shortcut="node">{escape(forum.names[board])}</a></h3>'
                '<div class="node-description">All about'
                f" it.</div><dl><dt>Threads</dt><dd>{len(forum.mine(board))}</dd></dl>"
                f"<dl><dt>Messages</dt><dd>{_posts(forum, board)}</dd></dl>"
                f"{f'<ol class=subs>{inner}</ol>' if inner else ''}</div>{told}</div></div>"
            )
        elsewhere = (
            '<div class="node node--link"><div class="node-main"><h3 class="node-title"><a'
            ' href="/link-forums/the-shop.77/">The shop</a></h3></div></div>'
        )
        blocks.append(
            '<div class="block"><h2 class="block-header"><a'
            f' href="{forum.category_url(number)}">{title}</a></h2><div'
            f' class="block-body">{"".join(nodes)}{elsewhere if number == 92 else ""}</div></div>'
        )
    return "".join(blocks)


def tables(forum: StyledForum) -> str:
    """Returns an index in one table: category links look like board links, "(3 Viewing)" follows
    names, sub-boards have icons."""
    rows = []
    for number, (title, boards) in forum.categories.items():
        rows.append(
            '<tr><td class="thead" colspan="5"><strong><a'
            f' href="{forum.category_url(number)}">{title}</a></strong></td></tr>'
        )
        rows.append(
            '<tr><td class="tcat" colspan="2">Forum</td><td class="tcat">Threads</td><td'
            ' class="tcat">Posts</td><td class="tcat">Last Post</td></tr>'
        )
        for board in boards:
            last = _last(forum, board)
            inner = ", ".join(
                '<img src="/i/mini.png" alt="" /> <a'
                f' href="{forum.board_url(c)}">{escape(forum.names[c])}</a>'
                for c in _inner(forum, board)
            )
            told = (
                f'<a href="{forum.topic_url(last)}"><strong>{escape(last.title[:20])}...</strong>'
                f"</a><br"
                f" />{_us(last.last)}<br />by {forum.user_link(last.posts[-1].author)}"
                if last
                else "Never"
            )
            rows.append(
                '<tr><td class="trow1"><span class="forum_status" title="Forum Contains No New'
                ' Posts"></span></td><td class="trow1"><strong><a'
                f' href="{forum.board_url(board)}">{escape(forum.names[board])}</a></strong> <span'
                ' class="smalltext">(3 Viewing)</span><div class="smalltext">All about'
                f" it.{f'<br />Sub Forums: {inner}' if inner else ''}</div></td><td"
                f' class="trow1">{len(forum.mine(board))}</td><td'
                f' class="trow1">{_posts(forum, board)}</td><td class="trow1"><span'
                f' class="smalltext">{told}</span></td></tr>'
            )
    return (
        f'<table class="tborder">{"".join(rows)}</table><p><a href="/misc/markread">Mark All Forums'
        " Read</a></p>"
    )


def parted(forum: StyledForum) -> str:
    """Returns one table per category. Category names are no links; rows have icons, moderators, and
    sub-boards in brackets."""
    blocks = []
    for title, boards in forum.categories.values():
        rows = []
        for board in boards:
            last = _last(forum, board)
            inner = ", ".join(
                f'<a href="{forum.board_url(c)}">{escape(forum.names[c])}</a>'
                for c in _inner(forum, board)
            )
            told = (
                f'<a href="{forum.topic_url(last)}">{escape(last.title)}</a>'
                f" <cite>{last.last:%Y-%m-%d %H:%M} {forum.user_link(last.posts[-1].author)}</cite>"
                if last
                else "-"
            )
            rows.append(
                f'<tr><td class="icn"><a href="{forum.board_url(board)}"><img'
                ' src="/i/forum_new.gif" alt="new"></a></td><td><h2><a'
                f' href="{forum.board_url(board)}">{escape(forum.names[board])}</a><em'
                ' title="Today"> (5)</em></h2><p>All about it.'
                f" {f'(Sub-forums: {inner})' if inner else ''}</p><p>Moderators:"
                f" {forum.user_link('greta', 'xi2')}, {forum.user_link('farid', 'xi2')}</p></td><td"
                f' class="by"><span class="xi2">{len(forum.mine(board))}</span><span class="xg1"> /'
                f' {_posts(forum, board)}</span></td><td class="by"><div>{told}</div></td></tr>'
            )
        blocks.append(
            f'<div class="bm"><div class="bm_h"><h2>{title}</h2></div><table'
            f' class="fl_tb">{"".join(rows)}</table></div>'
        )
    return "".join(blocks)


def listed(forum: StyledForum) -> str:
    """Returns the boards of each category as a plain list: each link holds a board's name and
    count; last posts are not shown."""
    blocks = []
    for title, boards in forum.categories.values():
        every = [b for board in boards for b in (board, *_inner(forum, board))]
        rows = "".join(
            f'<li><a href="{forum.board_url(b)}">{escape(forum.names[b])} <span'
            f' class="badge">{len(forum.mine(b))}</span></a>'
            f" {'<b class=new>new</b>' if b == 1 else ''}</li>"
            for b in every
        )
        blocks.append(f"<h3>{title}</h3><ul class=boards>{rows}</ul>")
    return "".join(blocks)


# --- lists and threads


def table_rows(forum: StyledForum, shown: list[ForumThread]) -> str:
    rows = "".join(
        f'<tr class="inline_row"><td>{"<img alt=Sticky title=Sticky>" if t.pinned else ""}</td><td>'
        f"<span"
        f' class="subject"><a href="{forum.topic_url(t)}">{escape(t.title)}</a></span><div'
        ' class="author'
        f' smalltext">{forum.user_link(t.posts[0].author)}</div></td><td>{len(t.posts) - 1}</td>'
        f"<td>{t.number * 37 % 900 + 12}</td><td><span"
        f' class="lastpost smalltext">{_us(t.last)}<br />Last Post:'
        f" {forum.user_link(t.posts[-1].author)}</span></td></tr>"
        for t in shown
    )
    return (
        "<table class=tborder><tr><td class=tcat colspan=2>Thread / Author</td><td"
        " class=tcat>Replies</td><td class=tcat>Views</td><td class=tcat>Last"
        f" Post</td></tr>{rows}</table>"
    )


def item_rows(forum: StyledForum, shown: list[ForumThread]) -> str:
    return "".join(
        '<div class="structItem"><div'
        f' class="structItem-cell--main">{"<i title=Sticky></i>" if t.pinned else ""}<div'
        ' class="structItem-title"><a'
        f' href="{forum.topic_url(t)}">{escape(t.title)}</a></div><ul><li>'
        f"{forum.user_link(t.posts[0].author)}</li><li><time"
        f' datetime="{t.posts[0].posted.isoformat()}">{t.posts[0].posted:%b %d, %Y}</time></li>'
        f"</ul></div><div"
        f" class=structItem-cell--meta><dl><dt>Replies</dt><dd>{len(t.posts) - 1}</dd></dl><dl><dt>"
        f"Views</dt><dd>{t.number * 37 % 900 + 12}</dd></dl></div><div"
        ' class="structItem-cell--latest"><time'
        f' datetime="{t.last.isoformat()}">{t.last:%b %d, %Y}</time>'
        f" {forum.user_link(t.posts[-1].author)}</div></div>"
        for t in shown
    )


def card_posts(forum: StyledForum, thread: ForumThread, shown: list[ForumPost]) -> str:
    return "".join(
        f'<article class="message" id="post-{p.number}"><div class="message-user"><h4'
        f' class="message-name">{forum.user_link(p.author)}</h4><h5>Member</h5></div><div'
        f' class="message-main"><header><a href="{forum.topic_url(thread)}#post-{p.number}"><time'
        f' datetime="{p.posted.isoformat()}">{p.posted:%b %d, %Y}</time></a></header><div'
        ' class="message-content"><div'
        f' class="bbWrapper">{escape(p.text)}</div></div></div></article>'
        for p in shown
    )


def table_posts(forum: StyledForum, thread: ForumThread, shown: list[ForumPost]) -> str:
    return "".join(
        f'<a name="pid{p.number}"></a><table class="post" id="post_{p.number}"><tr><td'
        f' class="post_author"><strong>{forum.user_link(p.author)}</strong><br />Member<br />Posts:'
        f' {p.number % 70 + 1}<br />Joined: Mar 2019</td><td class="post_body"><div'
        f' class="post_head"><span class="post_date">{_us(p.posted)}</span></div><div'
        f' class="post_text">{escape(p.text)}</div></td></tr></table>'
        for p in shown
    )


STYLES = {
    style.name: style
    for style in (
        Style(
            "dotted slugs",
            ("/forums/{s}.{n}/", "/forums/{s}.{n}/page-{p}"),
            ("/threads/{s}.{n}/", "/threads/{s}.{n}/page-{p}"),
            "/categories/{s}.{n}/",
            cards,
            item_rows,
            card_posts,
        ),
        Style(
            "queries",
            ("/forumdisplay.php?fid={n}", "/forumdisplay.php?fid={n}&page={p}"),
            ("/showthread.php?tid={n}", "/showthread.php?tid={n}&page={p}"),
            "/forumdisplay.php?fid={n}",
            tables,
            table_rows,
            table_posts,
            user="/member.php?action=profile&uid={n}",
        ),
        Style(
            "named slugs",
            ("/forum-{s}.html", "/forum-{s}-page-{p}.html"),
            ("/thread-{s}.html", "/thread-{s}-page-{p}.html"),
            "/forum-{s}.html",
            tables,
            table_rows,
            table_posts,
            user="/user-{n}.html",
        ),
        Style(
            "offsets",
            ("/index.php?board={n}.0", "/index.php?board={n}.{o}"),
            ("/index.php?topic={n}.0", "/index.php?topic={n}.{o}"),
            "/index.php?action=collapse;c={n}",
            tables,
            table_rows,
            table_posts,
            user="/index.php?action=profile;u={n}",
        ),
        Style(
            "numbered files",
            ("/forum-{n}-1.html", "/forum-{n}-{p}.html"),
            ("/thread-{n}-1-1.html", "/thread-{n}-{p}-1.html"),
            "",
            parted,
            table_rows,
            table_posts,
            user="/space-uid-{n}.html",
        ),
        Style(
            "leading ids",
            ("/forum/{n}-{s}/", "/forum/{n}-{s}/?page={p}"),
            ("/topic/{n}-{s}/", "/topic/{n}-{s}/?page={p}"),
            "/forum/{n}-{s}/",
            cards,
            item_rows,
            card_posts,
            user="/profile/{n}-{s}/",
        ),
        Style(
            "bare slugs",
            ("/{s}/", "/{s}/?page={p}"),
            ("/{b}/{s}/", "/{b}/{s}/?page={p}"),
            "",
            parted,
            item_rows,
            card_posts,
            user="/user/{s}/",
        ),
        Style(
            "paths",
            ("/bbs/list/{n}", "/bbs/list/{n}/{p}"),
            ("/bbs/thread/{n}", "/bbs/thread/{n}/{p}"),
            "",
            listed,
            table_rows,
            table_posts,
            user="/bbs/who/{s}",
        ),
        Style(
            "one script",
            ("/?forum={s}", "/?forum={s}&p={p}"),
            ("/?thread={n}", "/?thread={n}&p={p}"),
            "",
            listed,
            item_rows,
            card_posts,
            user="/?user={s}",
        ),
    )
}
