"""Lists of threads with random markup: the element of a row, the order and labels of its fields,
further content of the row, rows that are not threads, and content beside the list."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from tests.forums.boards import RandomForum, Reply, Topic
from tests.forums.markup_software import class_name, slug

WORDS: dict[str, tuple[str, ...]] = {
    # The words for: topic, author, replies, views, last post, by, started by, pinned.
    "en": ("Topic", "Author", "Replies", "Views", "Last post", "by", "Started by", "Pinned"),
    "de": (
        "Thema",
        "Autor",
        "Antworten",
        "Zugriffe",
        "Letzter Beitrag",
        "von",
        "Erstellt von",
        "Angepinnt",
    ),
    "ru": (
        "Тема",
        "Автор",
        "Ответов",
        "Просмотров",
        "Последнее сообщение",
        "от",
        "Автор",
        "Закреплено",
    ),
    "zh": ("主题", "作者", "回复", "查看", "最后回复", "by", "楼主", "置顶"),
    "fr": ("Sujet", "Auteur", "Réponses", "Vues", "Dernier message", "par", "Lancé par", "Épinglé"),
    "es": (
        "Tema",
        "Autor",
        "Respuestas",
        "Vistas",
        "Último mensaje",
        "por",
        "Iniciado por",
        "Fijado",
    ),
    "it": (
        "Argomento",
        "Autore",
        "Risposte",
        "Visite",
        "Ultimo messaggio",
        "da",
        "Iniziato da",
        "In rilievo",
    ),
    "nl": (
        "Onderwerp",
        "Auteur",
        "Reacties",
        "Weergaven",
        "Laatste bericht",
        "door",
        "Gestart door",
        "Vastgezet",
    ),
    "pl": (
        "Temat",
        "Autor",
        "Odpowiedzi",
        "Odsłony",
        "Ostatni post",
        "przez",
        "Rozpoczęty przez",
        "Przyklejony",
    ),
    "pt": (
        "Tópico",
        "Autor",
        "Respostas",
        "Exibições",
        "Última mensagem",
        "por",
        "Iniciado por",
        "Fixado",
    ),
    "tw": ("標題", "作者", "回覆", "瀏覽", "最後回覆", "by", "樓主", "置頂"),
    "ja": ("トピック", "作成者", "返信", "閲覧", "最終投稿", "by", "作成者", "固定"),
}
OF: dict[str, list[str]] = {
    "en": ["en", "fr", "es", "nl"],
    "de": ["de", "it", "pt", "pl"],
    "ru": ["ru"],
    "zh": ["zh", "tw", "ja"],
}
ADDRESSES = (
    # formats of three addresses: the list of threads, a thread, a user's profile
    ("/forum/7", "/topic/{n}", "/user/{u}"),
    ("/list.php?board=7", "/read.php?id={n}", "/profile.php?id={u}"),
    ("/c/general/7", "/d/{n}-{s}", "/u/{u}"),
    ("/general/", "/general/{s}-{n}/", "/members/{u}/"),
    ("/forum-7.html", "/thread-{n}.html", "/user-{u}.html"),
    ("/viewforum.asp?f=7", "/viewtopic.asp?f=7&t={n}", "/member.asp?u={u}"),
    ("/board/general", "/board/general/{n}", "/people/{u}"),
    ("/cgi-bin/forum.cgi?b=7", "/cgi-bin/forum.cgi?b=7&msg={n}", "/cgi-bin/forum.cgi?user={u}"),
    ("/talk/index.html", "/talk/{n}.html", "/people/{u}.html"),
    ("/groups/general", "/groups/general/posts/{n}", "/@{u}"),
)
SEMANTIC = {
    "row": "topic-row",
    "title": "topic-title",
    "author": "author",
    "replies": "replies",
    "views": "views",
    "last": "last-post",
    "extra": "meta",
}


@dataclass
class RandomMarkup:
    """One random markup: all choices follow from `seed` and the forum's language."""

    seed: int
    forum: RandomForum
    layout: str = ""
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        draw = self.draw = random.Random(self.seed)
        self.words = dict(
            zip(
                ("topic", "author", "replies", "views", "last", "by", "started", "pinned"),
                WORDS[draw.choice(OF[self.forum.language])],
                strict=True,
            )
        )
        self.list_path, self.thread_path, self.person_path = draw.choice(ADDRESSES)
        self.layout = self.layout or draw.choice(sorted(LAYOUTS))
        self.style = draw.choice(["semantic", "hashed", "bare"])
        self.views = draw.random() < 0.6
        self.last_author = draw.random() < 0.5
        self.created = draw.random() < 0.25
        self.excerpt = draw.random() < 0.2 and self.layout not in (
            "lines",
            "pre",
            "table",
            "headless",
        )
        self.linked = draw.random() < 0.6
        self.attribute = draw.random() < 0.3
        self.label = draw.choice(["after", "colon", "element before", "element after"])
        self.person = draw.choice(["by", "colon", "element before"])
        self.heading = draw.choice(["", "b", "h3", "span", "strong", "font"])
        self.badge = draw.choice(["span", "b", "em", "img"])
        self.advert = draw.random() < 0.3
        self.pages = draw.random() < 0.3
        self.avatar = draw.random() < 0.3
        self.aside = draw.choice(["", "hot", "online", "both"])
        self.order = draw.sample(["author", "counts", "last"], 3)
        self.separator = draw.choice([" ", " · ", " | ", ", "])
        if (
            not self.last_author
            and self.person == "by"
            and self.order.index("author") == self.order.index("last") + 1
        ):
            # otherwise “last post on Monday by anna” would name the author of the last post
            self.person = "colon"

    @property
    def url(self) -> str:
        return f"http://forum.example{self.list_path}"

    def link(self, topic: Topic) -> str:
        return "http://forum.example" + self.thread_path.format(n=topic.number, s=slug(topic))

    # CSS class names

    def named(self, what: str) -> str:
        return class_name(self.style, what, self.seed, SEMANTIC)

    # HTML of the single fields of a thread or post

    def title(self, t: Topic) -> str:
        link = (
            f"<a{self.named('title')}"
            f" href='{escape(self.thread_path.format(n=t.number, s=slug(t)))}'>{escape(t.title)}"
            f"</a>"
        )
        if self.heading and self.layout != "pre":
            link = f"<{self.heading}>{link}</{self.heading}>"
        badge = (
            (
                f"<img src='/pin.gif' alt='{self.words['pinned']}'>"
                if self.badge == "img"
                else f"<{self.badge}>{self.words['pinned']}</{self.badge}>"
            )
            + " "
            if t.pinned
            else ""
        )
        pages = ""
        if self.pages and t.replies > 8:
            base = escape(self.thread_path.format(n=t.number, s=slug(t)))
            mark = "&amp;" if "?" in base else "?"
            pages = (
                f" <small>[ <a href='{base}{mark}page=1'>1</a> <a href='{base}{mark}page=2'>2</a>"
                " ]</small>"
            )
        return badge + link + pages

    def who(self, post: Reply) -> str:
        name = escape(post.author)
        return (
            f"<a href='{self.person_path.format(u=sum(map(ord, post.author)))}'>{name}</a>"
            if self.linked
            else name
        )

    def author(self, t: Topic, bare: bool) -> str:
        who = self.who(t.posts[0])
        if bare:
            return who
        label = {"by": f"{self.words['by']} {who}", "colon": f"{self.words['author']}: {who}"}.get(
            self.person
        )
        made = label or f"<i>{self.words['author']}</i> <span>{who}</span>"
        return f"<span{self.named('author')}>{made}</span>" if self.layout not in ("pre",) else made

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

    def counts(self, t: Topic, bare: bool) -> list[str]:
        return [self.count("replies", t.replies, bare)] + (
            [self.count("views", t.views, bare)] if self.views else []
        )

    def time(self, post: Reply) -> str:
        shown = self.forum.when(post.posted)
        return (
            f"<time datetime='{post.posted:%Y-%m-%dT%H:%M:%SZ}'>{shown}</time>"
            if self.attribute and self.layout != "pre"
            else shown
        )

    def last(self, t: Topic, bare: bool) -> str:
        made = self.time(t.posts[-1])
        if self.last_author:
            made += f" {self.words['by']} {self.who(t.posts[-1])}"
        return made if bare else f"{self.words['last']}: {made}"

    def began(self, t: Topic) -> str:
        return f" {self.time(t.posts[0])}" if self.created else ""

    def parts(self, t: Topic, bare: bool = False) -> list[tuple[str, str]]:
        """The fields of a row after its title as pairs (name, HTML), in the order of this markup;
        `bare`: without labels."""
        made: list[tuple[str, str]] = []
        for name in self.order:
            if name == "author":
                made.append(("author", self.author(t, bare) + ("" if bare else self.began(t))))
            elif name == "counts":
                made.extend(zip(("replies", "views"), self.counts(t, bare), strict=False))
            else:
                made.append(("last", self.last(t, bare)))
        return made

    # Building the whole page

    def rows(self, one: Callable[[Topic], str], advert: str) -> str:
        made = []
        for at, topic in enumerate(self.forum.topics):
            if self.advert and at and at % 5 == 0:
                made.append(advert)
            made.append(one(topic))
        return "".join(made)

    def html(self) -> str:
        body = LAYOUTS[self.layout](self)
        hot = "".join(
            f"<li><a href='{escape(self.thread_path.format(n=90000 + n, s=f'hot-{n}'))}'>Hot thing"
            f" of the week {n}</a></li>"
            for n in range(8)
        )
        beside = f"<h4>Hot topics</h4><ul>{hot}</ul>" if self.aside in ("hot", "both") else ""
        if self.aside in ("online", "both"):
            beside += (
                "<h4>Online</h4><p>"
                + ", ".join(
                    f"<a href='{self.person_path.format(u=n)}'>member{n}</a>" for n in range(12)
                )
                + "</p>"
            )
        menu = "".join(
            f"<a href='/{word.lower()}'>{word}</a> "
            for word in ("Home", "Search", "Members", "FAQ", "Register", "Login")
        )
        return (
            "<!doctype html><html><head><title>General -"
            f" Lighthouse</title></head><body><div>{menu}</div><div><a href='/'>Lighthouse</a> &gt;"
            " <a href='/forums'>Forums</a> &gt;"
            f" General</div><table><tr><td><h1>General</h1>{body}<p><b>1</b> <a"
            " href='?page=2'>2</a> <a href='?page=3'>3</a> <a rel=next"
            f" href='?page=2'>&raquo;</a></p></td><td width=160>{beside}</td></tr></table><p>&copy;"
            " 2009 Lighthouse <a href='/terms'>Terms</a></p></body></html>"
        )


AD = "Sponsored: <a href='http://ads.example/c?z=9' rel=nofollow>Cheap hosting for your project</a>"


def table(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: a table with headers, one cell per field."""
    names = [name for name, _ in m.parts(m.forum.topics[0], bare=True)]
    heads = (
        f"<tr><th></th><th>{m.words['topic']}</th>"
        + "".join(f"<th>{m.words[name]}</th>" for name in names)
        + "</tr>"
    )

    def one(t: Topic) -> str:
        cells = "".join(f"<td{m.named(name)}>{text}</td>" for name, text in m.parts(t, bare=True))
        return (
            f"<tr{m.named('row')}><td><img"
            f" src='/i/{t.number % 3}.gif'></td><td>{m.title(t)}</td>{cells}</tr>"
        )

    return f"<table>{heads}{m.rows(one, f'<tr><td colspan=9>{AD}</td></tr>')}</table>"


def headless(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: a table whose cells contain their own labels."""

    def one(t: Topic) -> str:
        return (
            f"<tr{m.named('row')}><td>{m.title(t)}</td>"
            f"{''.join(f'<td>{text}</td>' for _, text in m.parts(t))}</tr>"
        )

    return f"<table>{m.rows(one, f'<tr><td colspan=9>{AD}</td></tr>')}</table>"


def _block(m: RandomMarkup, t: Topic, row: str, cell: str) -> str:
    face = f"<{cell}><img src='/a/{t.number}.png' alt=''></{cell}>" if m.avatar else ""
    excerpt = (
        f"<{cell}{m.named('extra')}>{escape(t.posts[0].text[:90])}</{cell}>" if m.excerpt else ""
    )
    parts = (
        m.separator.join(text for _, text in m.parts(t))
        if m.seed % 2
        else "".join(f"<{cell}>{text}</{cell}>" for _, text in m.parts(t))
    )
    return (
        f"<{row}{m.named('row')}>{face}<{cell}>{m.title(t)}</{cell}>{excerpt}"
        f"<{cell}{m.named('extra')}>{parts}</{cell}</{row}>"
    ).replace(f"</{cell}</", f"</{cell}></")


def items(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: list items that contain divisions."""
    return f"<ul>{m.rows(lambda t: _block(m, t, 'li', 'div'), f'<li>{AD}</li>')}</ul>"


def boxes(m: RandomMarkup) -> str:
    """Returns a list whose rows are nested `<div>` elements."""
    return f"<div>{m.rows(lambda t: _block(m, t, 'div', 'div'), f'<div>{AD}</div>')}</div>"


def articles(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: articles that contain paragraphs."""
    return m.rows(lambda t: _block(m, t, "article", "p"), f"<div>{AD}</div>")


def _joined(m: RandomMarkup, t: Topic) -> str:
    """Returns the parts of a thread's row as one text."""
    return m.separator.join(text for _, text in m.parts(t))


def custom(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: rows as HTML custom elements, such as <topic-item>."""
    return (
        "<topic-list>"
        + m.rows(lambda t: _block(m, t, "topic-item", "topic-part"), f"<topic-ad>{AD}</topic-ad>")
        + "</topic-list>"
    )


def tables(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: a table per thread."""
    return m.rows(
        lambda t: (
            "<table"
            f" width=95%><tr><td>{m.title(t)}<br><small>"
            f"{m.separator.join(text for _, text in m.parts(t))}</small></td></tr></table>"
        ),
        f"<center>{AD}</center>",
    )


def two_rows(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: two table rows per thread."""

    def rows_of(t: Topic) -> str:
        return f"<tr><td>{m.title(t)}</td></tr><tr><td>{_joined(m, t)}</td></tr>"

    return f"<table>{m.rows(rows_of, f'<tr><td>{AD}</td></tr>')}</table>"


def flat(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: a heading and a paragraph per thread, as siblings of
    those of all other threads."""

    def heading_and_text(t: Topic) -> str:
        return f"<h4>{m.title(t)}</h4><p>{_joined(m, t)}</p>"

    return f"<div>{m.rows(heading_and_text, f'<h4>{AD}</h4><p>Now or never</p>')}</div>"


def lines(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: lines of text separated by line breaks."""
    return f"<div>{m.rows(lambda t: f'{m.title(t)} {_joined(m, t)}<br>', AD + '<br>')}</div>"


def pre(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: one line per thread in preformatted text."""
    return (
        "<pre>"
        + m.rows(
            lambda t: f"{m.title(t)}  {'  '.join(text for _, text in m.parts(t))}\n", AD + "\n"
        )
        + "</pre>"
    )


def terms(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: a definition list per thread, with a term before each
    value."""

    def one(t: Topic) -> str:
        fields = "".join(
            f"<dt>{m.words[name]}</dt><dd>{text}</dd>" for name, text in m.parts(t, bare=True)
        )
        return f"<dl{m.named('row')}><dt>{m.words['topic']}</dt><dd>{m.title(t)}</dd>{fields}</dl>"

    return m.rows(one, f"<p>{AD}</p>")


def grid(m: RandomMarkup) -> str:
    """Returns the HTML of a list of threads: divisions laid out as a table, with a header row."""
    names = [name for name, _ in m.parts(m.forum.topics[0], bare=True)]
    heads = (
        f"<div><div>{m.words['topic']}</div>"
        + "".join(f"<div>{m.words[name]}</div>" for name in names)
        + "</div>"
    )

    def one(t: Topic) -> str:
        parts = "".join(f"<div{m.named(name)}>{text}</div>" for name, text in m.parts(t, bare=True))
        return f"<div{m.named('row')}><div>{m.title(t)}</div>{parts}</div>"

    return f"<div>{heads}{m.rows(one, f'<div><div>{AD}</div></div>')}</div>"


def definitions(m: RandomMarkup) -> str:
    """Returns the threads as one definition list (<dl>), with titles as terms."""

    def entry(t: Topic) -> str:
        return f"<dt>{m.title(t)}</dt>" + "".join(f"<dd>{text}</dd>" for _, text in m.parts(t))

    return f"<dl>{m.rows(entry, f'<dt>{AD}</dt><dd>Now or never</dd>')}</dl>"


LAYOUTS: dict[str, Callable[[RandomMarkup], str]] = {
    made.__name__: made
    for made in (
        table,
        headless,
        items,
        boxes,
        articles,
        custom,
        tables,
        two_rows,
        flat,
        lines,
        pre,
        terms,
        grid,
        definitions,
    )
}
