"""Threads with random markup: the element of a post, the positions of its author, time and text,
what is shown about its author and offered below it, and content beside the posts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from tests.forums.boards import RandomForum, Reply, Topic
from tests.forums.markup_random_boards import ADDRESSES, OF

# By language, the labels for: reply, quote, report, joined, posts, member, edited, likes, similar
# threads, replies.
WORDS: dict[str, tuple[str, ...]] = {
    "en": (
        "Reply",
        "Quote",
        "Report",
        "Joined",
        "Posts",
        "Member",
        "Last edited by",
        "Likes",
        "Similar threads",
        "Replies",
    ),
    "fr": (
        "Répondre",
        "Citer",
        "Signaler",
        "Inscrit le",
        "Messages",
        "Membre",
        "Modifié par",
        "J'aime",
        "Sujets similaires",
        "Réponses",
    ),
    "es": (
        "Responder",
        "Citar",
        "Denunciar",
        "Registrado",
        "Mensajes",
        "Miembro",
        "Editado por",
        "Me gusta",
        "Temas similares",
        "Respuestas",
    ),
    "de": (
        "Antworten",
        "Zitieren",
        "Melden",
        "Dabei seit",
        "Beiträge",
        "Mitglied",
        "Zuletzt bearbeitet von",
        "Gefällt mir",
        "Ähnliche Themen",
        "Antworten",
    ),
    "it": (
        "Rispondi",
        "Cita",
        "Segnala",
        "Iscritto il",
        "Messaggi",
        "Utente",
        "Modificato da",
        "Mi piace",
        "Discussioni simili",
        "Risposte",
    ),
    "pl": (
        "Odpowiedz",
        "Cytuj",
        "Zgłoś",
        "Dołączył",
        "Posty",
        "Użytkownik",
        "Ostatnio edytowany przez",
        "Polubienia",
        "Podobne tematy",
        "Odpowiedzi",
    ),
    "ru": (
        "Ответить",
        "Цитировать",
        "Жалоба",
        "Регистрация",
        "Сообщений",
        "Участник",
        "Последний раз редактировалось",
        "Нравится",
        "Похожие темы",
        "Ответов",
    ),
    "zh": (
        "回复",
        "引用",
        "举报",
        "注册时间",
        "帖子",
        "会员",
        "最后编辑于",
        "赞",
        "相关主题",
        "回复",
    ),
    "tw": (
        "回覆",
        "引用",
        "檢舉",
        "註冊時間",
        "文章",
        "會員",
        "最後編輯",
        "讚",
        "相關主題",
        "回覆",
    ),
    "ja": (
        "返信",
        "引用",
        "通報",
        "登録日",
        "投稿",
        "メンバー",
        "最終編集",
        "いいね",
        "関連トピック",
        "返信",
    ),
}
CLOCKS = (
    "%Y-%m-%d %H:%M",
    "%d.%m.%Y, %H:%M",
    "%d %b %Y %H:%M",
    "%b %d, %Y %H:%M",
    "%Y/%m/%d %H:%M:%S",
)
SEMANTIC = {
    "post": "post",
    "who": "author",
    "text": "post-body",
    "head": "post-head",
    "foot": "post-foot",
    "sign": "signature",
    "date": "postdate",
}


@dataclass
class RandomThread:
    """One random page of a thread: all choices follow from `seed` and the forum's language."""

    seed: int
    forum: RandomForum
    topic: Topic
    layout: str
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        draw = self.draw = random.Random(self.seed)
        names = (
            "reply",
            "quote",
            "report",
            "joined",
            "posts",
            "member",
            "edited",
            "likes",
            "similar",
            "replies",
        )
        self.words = dict(zip(names, WORDS[draw.choice(OF[self.forum.language])], strict=True))
        _, self.board_path, self.thread_path, self.person_path, _ = draw.choice(ADDRESSES)
        self.style = draw.choice(("semantic", "hashed", "bare"))
        self.clock = draw.choice(CLOCKS)
        self.times, self.linked, self.avatar = (
            draw.random() < 0.3,
            draw.random() < 0.7,
            draw.random() < 0.5,
        )
        self.about, self.signs, self.edits = (
            draw.choice((0, 0, 1, 3)),
            draw.random() < 0.3,
            draw.random() < 0.3,
        )
        self.offers = draw.choice(
            ((), ("reply",), ("quote", "report"), ("reply", "quote", "report"))
        )
        self.likes, self.number = draw.random() < 0.3, draw.choice(("", "", "#", "link"))
        self.paragraphs = draw.choice(("", "p", "br", "div"))
        self.beside = draw.choice(("", "", "similar", "newest", "both"))
        self.form, self.crumbs, self.pager = (
            draw.random() < 0.6,
            draw.random() < 0.7,
            draw.random() < 0.3,
        )
        self.advert = draw.random() < 0.2
        self.separator = draw.choice((" ", " · ", " | ", ", ", "<br>"))

    @property
    def url(self) -> str:
        return "http://forum.example" + self._thread(self.topic)

    def _thread(self, topic: Topic) -> str:
        return self.thread_path.format(t=topic.number, n=topic.board, s=f"board-{topic.board}")

    def named(self, what: str) -> str:
        if self.style == "bare":
            return ""
        name = (
            SEMANTIC[what]
            if self.style == "semantic"
            else f"c{sum(ord(c) * 29**i for i, c in enumerate(what + str(self.seed))) % 99999:05x}"
        )
        return f" class='{name}'"

    # parts of a post: its author and facts about the author

    def who(self, post: Reply) -> str:
        name = escape(post.author)
        shown = (
            f"<a{self.named('who')}"
            f" href='{escape(self.person_path.format(u=sum(map(ord, post.author))))}'>{name}</a>"
            if self.linked
            else f"<b{self.named('who')}>{name}</b>"
        )
        picture = f"<img src='/a/{len(post.author)}.png' alt=''>" if self.avatar else ""
        return picture + shown

    def told(self, post: Reply, tag: str) -> str:
        """Returns up to three facts about the author (rank, number of posts, date of joining), each
        in an element `tag`."""
        facts = (
            self.words["member"],
            f"{self.words['posts']}: {len(post.author) * 37}",
            f"{self.words['joined']}: 20{10 + len(post.author)}-03-0{len(post.author) % 9 + 1}",
        )
        return "".join(f"<{tag}>{fact}</{tag}>" for fact in facts[: self.about])

    def when(self, post: Reply) -> str:
        shown = f"{post.posted:{self.clock}}"
        if self.times:
            return f"<time datetime='{post.posted:%Y-%m-%dT%H:%M:%SZ}'>{shown}</time>"
        return f"<span{self.named('date')}>{shown}</span>" if self.style != "bare" else shown

    def place(self, at: int, post: Reply) -> str:
        if not self.number:
            return ""
        return (
            f"<a href='{escape(self._thread(self.topic))}#p{post.number}'>#{at}</a>"
            if self.number == "link"
            else f"#{at}"
        )

    def text(self, post: Reply, tag: str = "div") -> str:
        """The element of the text, with a quote before it and further content below it."""
        cut = f"<blockquote>{escape(post.quote[1][:12])}…</blockquote>" if post.quote else ""
        parts = [f"{escape(part)}." for part in post.text.removesuffix(".").split(". ")]
        if self.paragraphs in ("p", "div"):
            body = "".join(f"<{self.paragraphs}>{part}</{self.paragraphs}>" for part in parts)
        else:
            body = ("<br>" if self.paragraphs else " ").join(parts)
        return f"<{tag}{self.named('text')}>{cut}{body}</{tag}>{self.below(post)}"

    def below(self, post: Reply) -> str:
        made = (
            f"<div{self.named('sign')}>{'<hr>' if self.style == 'bare' else ''}every day the same"
            " line</div>"
            if self.signs and len(post.author) % 2
            else ""
        )
        if self.edits and post.number % 3 == 0:
            made += f"<p><em>{self.words['edited']} {escape(post.author)}</em></p>"
        return made

    def foot(self, post: Reply) -> str:
        made = [f"<a href='/{name}/{post.number}'>{self.words[name]}</a>" for name in self.offers]
        made += (
            [f"<span>{post.number % 7} {self.words['likes'].lower()}</span>"] if self.likes else []
        )
        return self.separator.join(made)

    def head(self, at: int, post: Reply) -> str:
        return self.separator.join(
            part for part in (self.who(post), self.when(post), self.place(at, post)) if part
        )

    # Building the whole page

    def posts(self, one: Callable[[int, Reply], str]) -> str:
        advert = (
            "<div>Advertisement: <a href='http://ads.example/c?z=9'>Cheap hosting for your"
            " project</a></div>"
        )
        made = [one(at, post) for at, post in enumerate(self.topic.posts, 1)]
        return "".join(
            made[:1]
            + ([advert] if self.advert and not made[0].startswith("<tr") else [])
            + made[1:]
        )

    def html(self) -> str:
        body = LAYOUTS[self.layout](self)
        others = [topic for topic in self.forum.topics if topic is not self.topic][:6]
        rows = "".join(
            f"<li><a href='{escape(self._thread(t))}'>{escape(t.title)}</a>"
            f" {escape(t.posts[0].author)} {t.posts[-1].posted:{self.clock}}"
            f" {self.words['replies']}: {t.replies}</li>"
            for t in others
        )
        beside = (
            f"<h3>{self.words['similar']}</h3><ul>{rows}</ul>"
            if self.beside in ("similar", "both")
            else ""
        )
        if self.beside in ("newest", "both"):
            beside += (
                "<div>"
                + "".join(
                    f"<p><a href='{escape(self._thread(t))}'>{escape(t.title)}</a></p>"
                    for t in others[:4]
                )
                + "</div>"
            )
        crumbs = (
            "<p><a href='/'>Lighthouse</a> &gt; <a"
            f" href='"
            f"{escape(self.board_path.format(n=self.topic.board, s=f'board-{self.topic.board}'))}'>"
            f"Board</a></p>"
            if self.crumbs
            else ""
        )
        pager = (
            f"<p>1 <a href='{escape(self._thread(self.topic))}?page=2'>2</a> <a"
            f" href='{escape(self._thread(self.topic))}?page=3'>3</a></p>"
            if self.pager
            else ""
        )
        form = (
            "<form action='/reply' method=post><textarea"
            f" name=text></textarea><button>{self.words['reply']}</button></form>"
            if self.form
            else ""
        )
        menu = "".join(
            f"<a href='/{word.lower()}'>{word}</a> "
            for word in ("Home", "Search", "Members", "FAQ", "Register", "Login")
        )
        return (
            f"<!doctype html><html><head><title>{escape(self.topic.title)} -"
            f" Lighthouse</title></head><body><div>{menu}</div>{crumbs}<h1>"
            f"{escape(self.topic.title)}</h1>{pager}<div"
            f" id=main>{body}</div>{pager}{form}<div>{beside}</div><p>&copy; 2009 Lighthouse <a"
            " href='/terms'>Terms</a></p></body></html>"
        )


def rows(m: RandomThread) -> str:
    """Returns the HTML of a page of posts. A row per post: a cell for the author beside one for the
    text."""

    def one(at: int, p: Reply) -> str:
        line = m.separator.join(part for part in (m.when(p), m.place(at, p)) if part)
        return (
            f"<tr{m.named('post')}><td"
            f" width=150>{m.who(p)}{m.told(p, 'div')}</td><td><div{m.named('head')}>{line}</div>"
            f"{m.text(p)}<div{m.named('foot')}>{m.foot(p)}</div></td></tr>"
        )

    return f"<table>{m.posts(one)}</table>"


def pairs(m: RandomThread) -> str:
    """Returns the HTML of a page of posts. Two or three rows per post: its header, its text, its
    buttons."""

    def one(at: int, p: Reply) -> str:
        foot = f"<tr><td colspan=2>{m.foot(p)}</td></tr>" if m.offers else ""
        return (
            f"<tr{m.named('head')}><td colspan=2>{m.when(p)}"
            f" {m.place(at, p)}</td></tr><tr{m.named('post')}><td>{m.who(p)}{m.told(p, 'small')}"
            f"</td><td>{m.text(p)}</td></tr>{foot}"
        )

    return f"<table>{m.posts(one)}</table>"


def tables(m: RandomThread) -> str:
    """Returns the HTML of a page of posts: a table per post."""

    def one(at: int, p: Reply) -> str:
        return (
            f"<table{m.named('post')}><tr><td>{m.who(p)}<br>{m.told(p, 'small')}</td><td>"
            f"{m.when(p)}"
            f" {m.place(at, p)}<hr>{m.text(p)}</td></tr><tr><td></td><td>{m.foot(p)}</td></tr>"
            f"</table>"
        )

    return m.posts(one)


def _block(m: RandomThread, at: int, p: Reply, post: str, part: str) -> str:
    return (
        f"<{post}{m.named('post')}"
        f" id='p{p.number}'><{part}{m.named('head')}>{m.head(at, p)}</{part}>"
        f"{m.told(p, 'small')}{m.text(p, part)}<{part}{m.named('foot')}>{m.foot(p)}</{part}>"
        f"</{post}>"
    )


def boxes(m: RandomThread) -> str:
    """Returns the HTML of a page of posts: a page whose posts and their parts are nested div
    elements."""
    return f"<div>{m.posts(lambda at, p: _block(m, at, p, 'div', 'div'))}</div>"


def sided(m: RandomThread) -> str:
    """Returns the posts as one `<div>` each, which contains a `<div>` for the author and a second
    one for the rest."""

    def one(at: int, p: Reply) -> str:
        return (
            f"<div{m.named('post')}><div>{m.who(p)}{m.told(p, 'div')}</div><div>"
            f"<div{m.named('head')}>{m.when(p)}"
            f" {m.place(at, p)}</div>{m.text(p)}<div{m.named('foot')}>{m.foot(p)}</div></div></div>"
        )

    return m.posts(one)


def articles(m: RandomThread) -> str:
    """Returns the posts as <article> elements with a header and a footer."""

    def one(at: int, p: Reply) -> str:
        return (
            f"<article{m.named('post')}><header>{m.head(at, p)}</header>{m.text(p)}<footer>"
            f"{m.foot(p)}</footer></article>"
        )

    return f"<section>{m.posts(one)}</section>"


def items(m: RandomThread) -> str:
    """Returns the HTML of a page of posts: posts as items of an ordered list (<ol>)."""
    return f"<ol>{m.posts(lambda at, p: _block(m, at, p, 'li', 'div'))}</ol>"


def custom(m: RandomThread) -> str:
    """Returns the HTML of a page of posts: posts as custom HTML elements (<forum-post>), with
    custom elements as their parts."""
    return m.posts(lambda at, p: _block(m, at, p, "forum-post", "post-part"))


def within(m: RandomThread) -> str:
    """Returns the first post, then a list of the replies, each inside the post that it answers, up
    to three levels deep."""
    first, *rest = m.topic.posts
    made = ""
    for start in range(len(rest) - len(rest) % 3, -1, -3):
        part = ""
        for at, p in reversed(list(enumerate(rest[start : start + 3], start + 2))):
            part = (
                f"<li{m.named('post')}><div{m.named('head')}>{m.head(at, p)}</div>{m.text(p)}"
                f"<div{m.named('foot')}>{m.foot(p)}</div>{f'<ul>{part}</ul>' if part else ''}"
                f"</li>"
            )
        made = part + made
    return f"<div>{m.head(1, first)}{m.text(first)}</div><ul>{made}</ul>"


def definitions(m: RandomThread) -> str:
    """Returns the posts as a definition list (<dl>): head as term, text as definition."""
    return (
        f"<dl>"
        f"{m.posts(lambda at, p: f'<dt>{m.head(at, p)}</dt><dd>{m.text(p)}{m.foot(p)}</dd>')}"
        f"</dl>"
    )


def flat(m: RandomThread) -> str:
    """Returns the posts as headers and texts one after the other, without an element around each
    post."""
    tag = m.draw.choice(("h4", "p", "div"))
    return m.posts(
        lambda at, p: f"<{tag}>{m.head(at, p)}</{tag}>{m.text(p)}{'<hr>' if m.seed % 2 else ''}"
    )


def signed(m: RandomThread) -> str:
    """Returns the HTML of a page of posts: the text first, with author and time below."""

    def one(at: int, p: Reply) -> str:
        return (
            f"<div{m.named('post')}>{m.text(p)}<div{m.named('foot')}>{m.foot(p)}</div>"
            f"<div{m.named('head')}>{m.when(p)}"
            f" {m.who(p)}{m.told(p, 'span')}</div></div>"
        )

    return m.posts(one)


LAYOUTS: dict[str, Callable[[RandomThread], str]] = {
    made.__name__: made
    for made in (
        rows,
        pairs,
        tables,
        boxes,
        sided,
        articles,
        items,
        custom,
        within,
        definitions,
        flat,
        signed,
    )
}
