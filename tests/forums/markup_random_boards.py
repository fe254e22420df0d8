"""Indexes of boards with random markup: the element of a row, the fields of a board and their
order, the grouping of boards, and content beside them; and plain archives of threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from tests.forums.boards import RandomForum, Section, Topic
from tests.forums.markup_software import class_name

# the words for: forum, topics, posts, last post, moderator, by, sub-boards, newest topics
WORDS: dict[str, tuple[str, ...]] = {
    "en": (
        "Forum",
        "Topics",
        "Posts",
        "Last post",
        "Moderator",
        "by",
        "Subforums",
        "Newest topics",
    ),
    "fr": (
        "Forum",
        "Sujets",
        "Messages",
        "Dernier message",
        "Modérateur",
        "par",
        "Sous-forums",
        "Derniers sujets",
    ),
    "es": (
        "Foro",
        "Temas",
        "Mensajes",
        "Último mensaje",
        "Moderador",
        "por",
        "Subforos",
        "Temas nuevos",
    ),
    "de": (
        "Forum",
        "Themen",
        "Beiträge",
        "Letzter Beitrag",
        "Moderator",
        "von",
        "Unterforen",
        "Neue Themen",
    ),
    "it": (
        "Forum",
        "Argomenti",
        "Messaggi",
        "Ultimo messaggio",
        "Moderatore",
        "da",
        "Sottosezioni",
        "Nuovi argomenti",
    ),
    "pl": (
        "Forum",
        "Tematy",
        "Posty",
        "Ostatni post",
        "Moderator",
        "przez",
        "Subfora",
        "Nowe tematy",
    ),
    "ru": (
        "Форум",
        "Тем",
        "Сообщений",
        "Последнее сообщение",
        "Модератор",
        "от",
        "Подфорумы",
        "Новые темы",
    ),
    "zh": ("版块", "主题", "帖数", "最后发表", "版主", "by", "子版块", "最新主题"),
    "tw": ("版面", "主題", "文章", "最後發表", "版主", "by", "子版面", "最新主題"),
    "ja": (
        "掲示板",
        "トピック",
        "投稿",
        "最終投稿",
        "モデレーター",
        "by",
        "サブフォーラム",
        "新着トピック",
    ),
}
OF = {"en": ("en", "fr", "es"), "de": ("de", "it", "pl"), "ru": ("ru",), "zh": ("zh", "tw", "ja")}
ADDRESSES = (
    # paths of: the index page, a board, a thread, a user, a category
    ("/", "/forum/{n}", "/topic/{t}", "/user/{u}", "/category/{c}"),
    (
        "/index.php",
        "/viewforum.php?f={n}",
        "/viewtopic.php?t={t}",
        "/profile.php?u={u}",
        "/index.php?c={c}",
    ),
    (
        "/forum/",
        "/forum/forumdisplay.php?fid={n}",
        "/forum/showthread.php?tid={t}",
        "/forum/member.php?uid={u}",
        "/forum/index.php?gid={c}",
    ),
    ("/categories", "/c/{s}", "/d/{t}-x", "/u/{u}", "/c/group-{c}"),
    ("/forums", "/{s}/", "/{s}/x-{t}/", "/members/{u}/", "/{c}-rooms/"),
    (
        "/forum.php",
        "/forum-{n}-1.html",
        "/thread-{t}-1-1.html",
        "/space-uid-{u}.html",
        "/forum.php?gid={c}",
    ),
    (
        "/bbs/index.php?cateid=3",
        "/bbs/thread.php?fid={n}",
        "/bbs/read.php?tid={t}",
        "/bbs/u.php?uid={u}",
        "/bbs/index.php?cateid={c}",
    ),
    (
        "/archive/index.html",
        "/archive/category/{n}.html",
        "/archive/thread/{n}/{t}.html",
        "/archive/people/{u}.html",
        "/archive/part-{c}.html",
    ),
    (
        "/lists/",
        "/list/{s}@lists.example/",
        "/list/{s}@lists.example/thread/{t}/",
        "/users/{u}/",
        "/lists/{c}/",
    ),
    (
        "/index.php",
        "/index.php?board={n}.0",
        "/index.php?topic={t}.0",
        "/index.php?action=profile;u={u}",
        "/index.php?cat={c}",
    ),
    (
        "/forum/index.php",
        "/forum/index.php?forums/{s}.{n}/",
        "/forum/index.php?threads/x.{t}/",
        "/forum/index.php?members/{u}/",
        "/forum/index.php?categories/{c}/",
    ),
    (
        "/talk/index.html",
        "/talk/{s}.html",
        "/talk/{s}/{t}.html",
        "/people/{u}.html",
        "/talk/part{c}.html",
    ),
)
SEMANTIC = {
    "row": "forum-row",
    "name": "forumtitle",
    "about": "description",
    "topics": "topics",
    "posts": "posts",
    "last": "lastpost",
    "part": "category",
}


def plain(board: Section) -> str:
    """The name of a board without its number."""
    return board.name.rsplit(" ", 1)[0]


@dataclass
class RandomIndex:
    """One random index: all choices follow from `seed` and the forum's language. Each board has the
    same fields."""

    seed: int
    forum: RandomForum
    layout: str
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        draw = self.draw = random.Random(self.seed)
        names = ("forum", "topics", "posts", "last", "moderator", "by", "subs", "newest")
        self.words = dict(zip(names, WORDS[draw.choice(OF[self.forum.language])], strict=True))
        self.path, self.board_path, self.thread_path, self.person_path, self.part_path = (
            draw.choice(ADDRESSES)
        )
        self.style = draw.choice(("semantic", "hashed", "bare"))
        self.counts = draw.choice(
            ((), ("topics",), ("posts",), ("topics", "posts"), ("topics", "posts"))
        )
        self.last = draw.choice(("", "time", "by", "title", "title"))
        self.about = draw.random() < 0.6
        self.icon = draw.random() < 0.5
        self.moderators = draw.random() < 0.2
        self.subs = draw.choice((0, 0, 0, 1, 3))
        self.parts = draw.choice((1, 1, 2, 3))
        self.part_links = draw.random() < 0.5
        self.heading = draw.choice(("", "b", "h2", "h3", "h4", "strong", "span"))
        self.label = draw.choice(("after", "colon", "element before", "element after"))
        self.aside = draw.choice(("", "", "newest", "online", "both"))
        self.times = draw.random() < 0.3
        self.separator = draw.choice((" ", " · ", " | ", ", "))
        self.above, self.newest = draw.random() < 0.3, draw.choice((6, 6, 40))
        wanted = draw.choice((1, 1, 2, 4))
        self.boards = [
            Section(
                board.number + 40 * turn,
                board.name,
                board.about,
                board.threads,
                board.posts,
                board.last,
            )
            for turn in range(wanted)
            for board in self.forum.boards
        ]

    @property
    def told(self) -> tuple[str, ...]:
        """The counts that the page shows for its boards, each with a label."""
        return () if self.layout in ("links", "grid", "nested") else self.counts

    @property
    def url(self) -> str:
        return f"http://forum.example{self.path}"

    def link(self, board: Section) -> str:
        return "http://forum.example" + self._path(self.board_path, board)

    def optional(self) -> list[str]:
        """Addresses that count as neither right nor wrong: of categories and of sub-boards."""
        below = [
            self._path(self.board_path, sub) for board in self.boards for sub in self.within(board)
        ]
        above = [self.part_path.format(c=at) for at in range(self.parts)] if self.part_links else []
        return ["http://forum.example" + path for path in (*below, *above)]

    def _path(self, form: str, board: Section, topic: Topic | None = None) -> str:
        slug = "".join(c if c.isalnum() else "-" for c in board.name.lower()) + (
            f"-{board.number}" if board.number > 40 else ""
        )
        return form.format(n=board.number, s=slug, t=topic.number if topic else 0)

    def within(self, board: Section) -> list[Section]:
        """The sub-boards of a board."""
        return [
            Section(
                900 + 100 * at + board.number,
                f"{'sub deep side'.split()[at]} {board.name}",
                "",
                0,
                0,
            )
            for at in range(self.subs)
        ]

    def named(self, what: str) -> str:
        return class_name(self.style, what, self.seed, SEMANTIC)

    # what a row shows about its board

    def name(self, board: Section) -> str:
        link = (
            f"<a{self.named('name')}"
            f" href='{escape(self._path(self.board_path, board))}'>{escape(plain(board))}</a>"
        )
        return f"<{self.heading}>{link}</{self.heading}>" if self.heading else link

    def below(self, board: Section, tag: str) -> str:
        """Returns the HTML below a board's name: description, moderators and sub-boards, each in an
        element `tag`."""
        made = (
            [f"<{tag}{self.named('about')}>{escape(board.about.capitalize())}</{tag}>"]
            if self.about
            else []
        )
        if self.moderators:
            made.append(f"<{tag}>{self.words['moderator']}: {self.who(board, 7)}</{tag}>")
        if self.subs:
            links = (
                f"<a href='{escape(self._path(self.board_path, sub))}'>"
                f"{escape(plain(sub).capitalize())}</a>"
                for sub in self.within(board)
            )
            made.append(f"<{tag}>{self.words['subs']}: {self.separator.join(links)}</{tag}>")
        return "".join(made)

    def who(self, board: Section, turn: int = 0) -> str:
        post = board.last.posts[-1] if board.last else None
        name = post.author if post and not turn else "anna"
        return (
            f"<a href='{escape(self.person_path.format(u=sum(map(ord, name))))}'>{escape(name)}</a>"
        )

    def time(self, board: Section) -> str:
        at = board.last.posts[-1].posted if board.last else self.forum.topics[0].posts[-1].posted
        shown = self.forum.when(at)
        return f"<time datetime='{at:%Y-%m-%dT%H:%M:%SZ}'>{shown}</time>" if self.times else shown

    def fields(self, board: Section, bare: bool) -> list[tuple[str, str]]:
        """Returns the fields that follow the board's name, as (field name, HTML). With `bare`, the
        values are given without labels."""
        made = [
            (name, self.count(name, board.threads if name == "topics" else board.posts, bare))
            for name in self.counts
        ]
        if self.last and board.last:
            told = {
                "time": self.time(board),
                "by": f"{self.time(board)} {self.words['by']} {self.who(board)}",
            }.get(self.last)
            if not told:
                address = escape(self._path(self.thread_path, board, board.last))
                told = (
                    f"<a href='{address}'>{escape(board.last.title)}</a><br>{self.time(board)}"
                    f" {self.words['by']} {self.who(board)}"
                )
            made.append(("last", told if bare else f"{self.words['last']}: {told}"))
        return made

    def count(self, what: str, number: int, bare: bool) -> str:
        word = self.words[what]
        if bare:
            return str(number)
        return {
            "after": f"<span{self.named(what)}>{number} {word.lower()}</span>",
            "colon": f"<span{self.named(what)}>{word}: {number}</span>",
            "element before": f"<span>{word}</span> <b{self.named(what)}>{number}</b>",
            "element after": f"<b{self.named(what)}>{number}</b> <span>{word}</span>",
        }[self.label]

    # --- the complete page

    def groups(self) -> list[tuple[str, list[Section]]]:
        """The boards by category, each with its heading; one category may be empty."""
        size = -(-len(self.boards) // self.parts)
        made = []
        for at in range(self.parts):
            words = self.forum.words(1, 3).capitalize()
            title = (
                f"<a href='{escape(self.part_path.format(c=at))}'>{escape(words)}</a>"
                if self.part_links
                else escape(words)
            )
            made.append(
                (
                    title if self.parts > 1 or self.part_links else "",
                    self.boards[at * size : (at + 1) * size],
                )
            )
        return [(title, boards) for title, boards in made if boards]

    def html(self) -> str:
        body = LAYOUTS[self.layout](self)
        topics = "".join(
            "<li><a"
            f" href='{escape(self._path(self.thread_path, self.boards[0], t))}'>{escape(t.title)}"
            f"</a>"
            f" <small>{self.forum.when(t.posts[-1].posted)}</small></li>"
            for t in self.forum.topics[: self.newest]
        )
        beside = (
            f"<h4>{self.words['newest']}</h4><ul>{topics}</ul>"
            if self.aside in ("newest", "both")
            else ""
        )
        if self.aside in ("online", "both"):
            people = ", ".join(
                f"<a href='{escape(self.person_path.format(u=n))}'>member{n}</a>" for n in range(9)
            )
            beside += (
                f"<h4>Online</h4><p>{people}</p><p>{self.words['posts']}:"
                f" {sum(b.posts for b in self.boards)}</p>"
            )
        menu = "".join(
            f"<a href='/{word.lower()}'>{word}</a> "
            for word in ("Home", "Search", "Members", "FAQ", "Register", "Login")
        )
        return (
            "<!doctype"
            f" html><html><head><title>Lighthouse</title></head><body><div>{menu}</div><h1>"
            f"Lighthouse</h1>{f'<div>{beside}</div>' if self.above else ''}<div"
            f" id=main>{body}</div>{'' if self.above else f'<div>{beside}</div>'}<p>&copy; 2009"
            " Lighthouse <a href='/terms'>Terms</a></p></body></html>"
        )


def _grouped(m: RandomIndex, heading: str, rows: Callable[[list[Section]], str]) -> str:
    return "".join(
        (f"<{heading}{m.named('part')}>{title}</{heading}>" if title else "") + rows(boards)
        for title, boards in m.groups()
    )


def table(m: RandomIndex) -> str:
    """Returns the index as one table with column headers, in which each category is a row that
    spans all columns."""
    names = [name for name, _ in m.fields(m.boards[0], bare=True)]
    heads = (
        f"<tr><th></th><th>{m.words['forum']}</th>"
        f"{''.join(f'<th>{m.words[name]}</th>' for name in names)}</tr>"
    )

    def one(b: Section) -> str:
        icon = f"<img src='/i/{b.number % 2}.gif'>" if m.icon else ""
        cells = "".join(f"<td{m.named(name)}>{text}</td>" for name, text in m.fields(b, bare=True))
        return (
            f"<tr{m.named('row')}><td>{icon}</td><td>{m.name(b)}{m.below(b, 'div')}</td>{cells}"
            f"</tr>"
        )

    parts = "".join(
        (f"<tr><td colspan=9{m.named('part')}>{title}</td></tr>" if title else "")
        + "".join(map(one, boards))
        for title, boards in m.groups()
    )
    return f"<table>{heads}{parts}</table>"


def tables(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards: a table per category, whose cells contain their own
    labels."""

    def rows(boards: list[Section]) -> str:
        made = (
            f"<tr{m.named('row')}><td>{m.name(b)}<br>{m.below(b, 'small')}</td>"
            f"{''.join(f'<td>{text}</td>' for _, text in m.fields(b, bare=False))}</tr>"
            for b in boards
        )
        return f"<table width=95%>{''.join(made)}</table>"

    return _grouped(m, "h3", rows)


def _block(m: RandomIndex, board: Section, row: str, cell: str) -> str:
    icon = f"<{cell}><img src='/i/{board.number % 2}.png' alt=''></{cell}>" if m.icon else ""
    fields = m.fields(board, bare=False)
    told = (
        f"<{cell}>{m.separator.join(text for _, text in fields)}</{cell}>"
        if m.seed % 2
        else "".join(f"<{cell}{m.named(name)}>{text}</{cell}>" for name, text in fields)
    )
    return (
        f"<{row}{m.named('row')}>{icon}<{cell}>{m.name(board)}"
        f"{m.below(board, 'div' if cell == 'div' else 'span')}</{cell}>{told}</{row}>"
    )


def items(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards: list items that contain divisions."""
    return _grouped(
        m, "h2", lambda boards: f"<ul>{''.join(_block(m, b, 'li', 'div') for b in boards)}</ul>"
    )


def boxes(m: RandomIndex) -> str:
    """Returns the boards of each category as nested `div` elements."""
    return _grouped(
        m, "div", lambda boards: f"<div>{''.join(_block(m, b, 'div', 'div') for b in boards)}</div>"
    )


def articles(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards: articles that contain paragraphs."""
    return _grouped(m, "h2", lambda boards: "".join(_block(m, b, "article", "p") for b in boards))


def custom(m: RandomIndex) -> str:
    """Returns the boards of each category in custom HTML elements."""
    return _grouped(
        m,
        "board-part",
        lambda boards: (
            f"<board-list>{''.join(_block(m, b, 'board-item', 'board-cell') for b in boards)}"
            f"</board-list>"
        ),
    )


def cards(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards. The list of boards as cards; each card is entirely
    inside one link."""

    def one(b: Section) -> str:
        told = "".join(
            f"<span{m.named(name)}>{text}</span>"
            for name, text in m.fields(b, bare=False)
            if name != "last"
        )
        return (
            f"<a{m.named('row')} href='{escape(m._path(m.board_path, b))}'><h3"
            f" class=title>{escape(plain(b))}</h3><p>{escape(b.about)}</p>{told}</a>"
        )

    return _grouped(m, "h2", lambda boards: f"<div>{''.join(map(one, boards))}</div>")


def across(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards: a table with several boards per row."""

    def rows(boards: list[Section]) -> str:
        cells = [
            f"<td width=33%>{m.name(b)}<br>{m.below(b, 'span')}"
            f"{m.separator.join(text for _, text in m.fields(b, bare=False))}</td>"
            for b in boards
        ]
        lines = ("".join(cells[at : at + 3]) for at in range(0, len(cells), 3))
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"

    return _grouped(m, "h3", rows)


def definitions(m: RandomIndex) -> str:
    """Returns the boards of each category as a definition list."""
    return _grouped(
        m,
        "h3",
        lambda boards: (
            "<dl>"
            + "".join(
                f"<dt>{m.name(b)}</dt><dd>{m.below(b, 'div')}"
                f"{m.separator.join(t for _, t in m.fields(b, bare=False))}</dd>"
                for b in boards
            )
            + "</dl>"
        ),
    )


def lines(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards: lines separated by line breaks."""
    return _grouped(
        m,
        "b",
        lambda boards: (
            "<p>"
            + "".join(
                f"{m.name(b)} {m.separator.join(t for _, t in m.fields(b, bare=False))}<br>"
                for b in boards
            )
            + "</p>"
        ),
    )


def links(m: RandomIndex) -> str:
    """Returns the boards as lists of links, each followed by the number of threads in brackets if
    the index shows counts."""

    def one(b: Section) -> str:
        told = f" ({b.threads})" if m.counts else ""
        return f"<li><a href='{escape(m._path(m.board_path, b))}'>{escape(plain(b))}</a>{told}</li>"

    return _grouped(m, "h2", lambda boards: f"<ul>{''.join(map(one, boards))}</ul>")


def grid(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards: names only, several per line."""

    def rows(boards: list[Section]) -> str:
        made = [
            f"<a href='{escape(m._path(m.board_path, b))}'>{escape(plain(b))}</a>" for b in boards
        ]
        lines = [made[at : at + 4] for at in range(0, len(made), 4)]
        if m.icon:
            cells = ("".join(f"<td>{link}</td>" for link in line) for line in lines)
            return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"
        return "".join(f"<p>{m.separator.join(line)}</p>" for line in lines)

    return _grouped(m, "h3", rows)


def nested(m: RandomIndex) -> str:
    """Returns the HTML of an index of boards: categories as list items, with their boards in nested
    lists."""

    def part(title: str, boards: list[Section]) -> str:
        inner = "".join(f"<li>{m.name(b)} {m.below(b, 'span')}</li>" for b in boards)
        return f"<li>{title or m.words['forum']}<ul>{inner}</ul></li>"

    return f"<ul>{''.join(part(title, boards) for title, boards in m.groups())}</ul>"


LAYOUTS: dict[str, Callable[[RandomIndex], str]] = {
    made.__name__: made
    for made in (
        table,
        tables,
        items,
        boxes,
        articles,
        custom,
        cards,
        across,
        definitions,
        lines,
        links,
        grid,
        nested,
    )
}


@dataclass
class RandomArchive:
    """A random archive of threads with few fields: titles alone, or with names or dates; some rows
    are nested."""

    seed: int
    forum: RandomForum
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        draw = self.draw = random.Random(self.seed)
        self.path, self.thread_path = draw.choice(
            (
                ("/2006-May/thread.html", "/2006-May/{n:06}.html"),
                ("/archive/7.html", "/archive/thread/7/{n}.html"),
                (
                    "/pipermail/users/2004-April/subject.html",
                    "/pipermail/users/2004-April/{n:06}.html",
                ),
                ("/list/users/2011/3/", "/list/users/message/{n}/"),
                ("/archive/index.php?forum-7.html", "/archive/index.php?thread-{n}.html"),
                ("/old/board7.htm", "/old/msgs/{n}.htm"),
            )
        )
        self.author = draw.choice(("", "i", "em", "span", "small", "text"))
        self.day = draw.choice(("", "", "before", "after", "heading"))
        self.count = draw.random() < 0.3
        self.within = draw.random() < 0.5
        self.row = draw.choice(("li", "li", "li", "p", "tr", "br"))

    @property
    def url(self) -> str:
        return f"http://forum.example{self.path}"

    def link(self, topic: Topic) -> str:
        return "http://forum.example" + self.thread_path.format(n=topic.number)

    def optional(self) -> list[str]:
        """Addresses of replies, which a reader may list or leave out; empty if the archive shows no
        replies below their posts."""
        return (
            [
                f"http://forum.example{self.thread_path.format(n=post.number)}"
                for t in self.forum.topics
                for post in t.posts[1:4]
            ]
            if self.within
            else []
        )

    def _row(self, number: int, title: str, author: str, day: str, more: str = "") -> str:
        who = (
            ""
            if not self.author
            else (
                f" {escape(author)}"
                if self.author == "text"
                else f" <{self.author}>{escape(author)}</{self.author}>"
            )
        )
        told = f"<a href='{self.thread_path.format(n=number)}'>{escape(title)}</a>{more}{who}"
        told = (
            f"{day} {told}"
            if self.day == "before"
            else f"{told} {day}"
            if self.day == "after"
            else told
        )
        return {"tr": f"<tr><td>{told}</td></tr>", "br": f"{told}<br>"}.get(
            self.row, f"<{self.row}>{told}"
        )

    def html(self) -> str:
        made = []
        for at, topic in enumerate(self.forum.topics):
            day = f"{topic.posts[0].posted:%d %b %Y}"
            if self.day == "heading" and at % 5 == 0:
                made.append(
                    {"li": f"</ul><h4>{day}</h4><ul>", "tr": f"<tr><th>{day}</th></tr>"}.get(
                        self.row, f"<h4>{day}</h4>"
                    )
                )
            more = f" ({topic.replies})" if self.count else ""
            row = self._row(topic.number, topic.title, topic.posts[0].author, day, more)
            if self.within and self.row == "li" and topic.replies:
                answers = "".join(
                    self._row(p.number, f"Re: {topic.title}", p.author, f"{p.posted:%d %b %Y}")
                    + "</li>"
                    for p in topic.posts[1:4]
                )
                row += f"<ul>{answers}</ul>"
            made.append(row + (f"</{self.row}>" if self.row in ("li", "p") else ""))
        frame = {"li": "<ul>{}</ul>", "tr": "<table>{}</table>"}.get(self.row, "<div>{}</div>")
        sorts = "".join(
            f"<a href='{word}.html'>[ {word} ]</a> "
            for word in ("thread", "subject", "author", "date")
        )
        return (
            "<html><head><title>Archive</title></head><body><h1>Archive by"
            f" thread</h1><p>{sorts}</p>{frame.format(''.join(made))}<p><b>Messages:</b>"
            f" {len(made) * 3}</p></body></html>"
        )
