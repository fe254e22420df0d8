"""Thread pages whose classes, links and addresses do not reveal that they are threads: only the
arrangement of the fields distinguishes posts from a list."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import quote

from tests.forums.boards import RandomForum, Reply, Topic
from tests.forums.markup_lists import frame

Render = Callable[[RandomForum, Topic], str]
WROTE = {"en": "wrote", "de": "schrieb", "ru": "писал(а)", "zh": "写道"}
QUOTE = {"en": "Quote", "de": "Zitat", "ru": "Цитата", "zh": "引用"}
SINCE = {"en": "Joined", "de": "Registriert", "ru": "Регистрация", "zh": "注册时间"}
BY = {"en": "by", "de": "von", "ru": "от", "zh": "作者"}
SEND = "<form action='/send' method=post><textarea name=text></textarea><button>OK</button></form>"


def _e(text: object) -> str:
    return escape(str(text))


def _number(name: str) -> int:
    return sum(map(ord, name)) * 7 % 8999 + 100


def _join(posts: list[tuple[int, Reply]], one: Callable[[int, Reply], str]) -> str:
    return "".join(one(number, post) for number, post in posts)


def _all(topic: Topic) -> list[tuple[int, Reply]]:
    return list(enumerate(topic.posts, 1))


def _ago(forum: RandomForum, p: Reply) -> str:
    return f"<time datetime='{p.posted:%Y-%m-%dT%H:%M:%SZ}'>{p.posted:%d.%m.}</time>"


def cells(forum: RandomForum, topic: Topic) -> str:
    """Returns a page that has names, times and texts as cells of one grid, without an element
    around each post."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"<div class=v4><div class=v5>{_e(p.quote[0])} {WROTE[forum.language]}:</div><div"
            f" class=v6>{_e(p.quote[1])}</div></div>"
            if p.quote
            else ""
        )
        return (
            f"<div class=v1><a href='/x/{_number(p.author)}'>{_e(p.author)}</a></div><div"
            f" class=v2>{forum.when(p.posted)} · <a href='#n{number}'"
            f" id='n{number}'>{number}</a></div><div class=v3>{said}<p>{_e(p.text)}</p></div>"
        )

    return frame(
        topic.title,
        f"<h1>{_e(topic.title)}</h1><div class=v0>{_join(_all(topic), one)}</div>{SEND}",
    )


def unfolding(forum: RandomForum, topic: Topic) -> str:
    """Returns a thread page, newest post first, with collapsed quotes, numbers in profile links and
    exact times in attributes."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"<details><summary>{QUOTE[forum.language]}"
            f" ({_e(p.quote[0])})</summary><p>{_e(p.quote[1])}</p></details>"
            if p.quote
            else ""
        )
        return (
            f"<li data-k='{p.number}'><header><a href='/m/{_number(p.author)}'>{_e(p.author)}</a>"
            f" {_ago(forum, p)}</header>{said}<p>{_e(p.text)}</p><footer><button>+1</button>"
            f" <button>{QUOTE[forum.language]}</button></footer></li>"
        )

    return frame(
        topic.title, f"<h1>{_e(topic.title)}</h1>{SEND}<ul>{_join(_all(topic)[::-1], one)}</ul>"
    )


def mails(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. Mails on a page: headers in a table, the text as it
    arrived, quotes with a mark before each line."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"{_e(p.quote[0])} {WROTE[forum.language]}:\n&gt; {_e(p.quote[1][:40])}\n&gt;"
            f" {_e(p.quote[1][40:])}\n\n"
            if p.quote
            else ""
        )
        return (
            "<table"
            f" class=k><tr><th>From</th><td>{_e(p.author)}</td></tr><tr><th>Date</th><td>"
            f"{forum.when(p.posted)}</td></tr><tr><td"
            f" colspan=2><pre>{said}{_e(p.text)}\n\n-- \nthe same old line</pre></td></tr></table>"
        )

    return frame(topic.title, f"<h2>{_e(topic.title)}</h2>{_join(_all(topic), one)}{SEND}")


def bubbles(forum: RandomForum, topic: Topic) -> str:
    """Returns a page of chat bubbles with name, text, and time at the bottom; quotes are boxes that
    name the quoted author."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"<div class=r2><b>{_e(p.quote[0])}</b>"
            f" {WROTE[forum.language]}:<br>{_e(p.quote[1])}</div>"
            if p.quote
            else ""
        )
        return (
            f"<div class=r1><img src='/i/{_number(p.author)}.png'"
            f" alt='{_e(p.author)}'><div><strong>{_e(p.author)}</strong><div"
            f" class=r3>{said}{_e(p.text)}</div><small>{forum.when(p.posted)}</small></div></div>"
        )

    return frame(
        topic.title,
        f"<h3>{_e(topic.title)}</h3><div class=r0>{_join(_all(topic), one)}</div>{SEND}",
    )


def right_columns(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts: the author's column at the right of the text, with the
    time below it."""

    def one(number: int, p: Reply) -> str:
        said = (
            "<table"
            f" class=z5><tr><td><small>{QUOTE[forum.language]}:</small></td></tr><tr><td>"
            f"{_e(p.quote[1])}</td></tr></table>"
            if p.quote
            else ""
        )
        return (
            f"<tr><td class=z1>{said}<div>{_e(p.text)}</div><hr>a line that is always the"
            " same</td><td class=z2><a"
            f" href='/k/{quote(p.author)}'>{_e(p.author)}</a><br>{SINCE[forum.language]}:"
            f" 04.2012<br><br>{forum.when(p.posted)}<br>#{number}</td></tr>"
        )

    return frame(
        topic.title, f"<h1>{_e(topic.title)}</h1><table class=z0>{_join(_all(topic), one)}</table>"
    )


def signed(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. Each post is a section with its text and below it a line
    such as "by anna, 3 May"; there are no links to members, and the newest post comes first."""

    def one(number: int, p: Reply) -> str:
        said = f"<blockquote>{_e(p.quote[1])}</blockquote>" if p.quote else ""
        return (
            f"<section id='e{p.number}'>{said}<p>{_e(p.text)}</p><p><i>{BY[forum.language]}"
            f" <b>{_e(p.author)}</b>, {forum.when(p.posted)}</i></p></section>"
        )

    return frame(topic.title, f"<h2>{_e(topic.title)}</h2>{_join(_all(topic)[::-1], one)}{SEND}")


def framed(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. A fieldset per post with author and time in its legend;
    quotes in nested fieldsets."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"<fieldset><legend>{QUOTE[forum.language]}:"
            f" {_e(p.quote[0])}</legend>{_e(p.quote[1])}</fieldset>"
            if p.quote
            else ""
        )
        return (
            f"<fieldset id='f{p.number}'><legend><a"
            f" href='/wer?n={_number(p.author)}'>{_e(p.author)}</a> –"
            f" {forum.when(p.posted)}</legend>{said}<div>{_e(p.text)}</div></fieldset>"
        )

    return frame(topic.title, f"<h2>{_e(topic.title)}</h2>{_join(_all(topic), one)}")


def columns(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. A table like that of a list, with headers: number,
    author, time, text."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"<blockquote><b>{_e(p.quote[0])}"
            f" {WROTE[forum.language]}:</b><br>{_e(p.quote[1])}</blockquote>"
            if p.quote
            else ""
        )
        return (
            f"<tr><td>{number}</td><td><a"
            f" href='/wer/{_number(p.author)}'>{_e(p.author)}</a></td><td>{forum.when(p.posted)}"
            f"</td><td>{said}{_e(p.text)}</td></tr>"
        )

    return frame(
        topic.title,
        f"<h1>{_e(topic.title)}</h1><table><tr><th>#</th><th>Who</th><th>When</th><th>Text</th>"
        f"</tr>{_join(_all(topic), one)}</table>",
    )


def folded(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. A thread whose replies are nested in the posts that they
    answer; each post has points and a link that collapses it."""
    made, depth = "", 0
    for number, p in _all(topic):
        inner = (
            f"<div class=w2><a href='/~{quote(p.author)}'>{_e(p.author)}</a> {number * 3 % 11}"
            f" points {_ago(forum, p)} <a href='#'>[–]</a></div><div"
            f" class=w3><p>{_e(p.text)}</p></div><div class=w4><a"
            f" href='/w/{topic.number}/{p.number}'>link</a> <a href='#'>answer</a></div>"
        )
        if number % 4 == 1:
            made += "</div>" * (depth + bool(number > 1)) + f"<div class=w1>{inner}"
            depth = 0
        else:
            made += f"<div class=w1>{inner}"
            depth += 1
    return frame(
        topic.title,
        "<h1><a"
        f" href='/w/{topic.number}'>{_e(topic.title)}</a></h1>{made}{'</div>' * (depth + 1)}{SEND}",
    )


def cards(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts, each a card with CSS utility classes only. Ranks are
    chips near the name, numbers of likes are below."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"<div class='border-l-4 pl-2 text-gray-500'><div class='text-xs'>{_e(p.quote[0])}"
            f" {WROTE[forum.language]}:</div><div>{_e(p.quote[1])}</div></div>"
            if p.quote
            else ""
        )
        return (
            "<div class='rounded shadow p-4 mb-2'><div class='flex items-center'><img class='w-8'"
            f" src='/i/{_number(p.author)}' alt=''><a class='font-bold mr-2'"
            f" href='/z/{_number(p.author)}'>{_e(p.author)}</a><span class='chip'>Gold</span><span"
            f" class='chip'>Lv. {number % 7}</span><span class='ml-auto"
            f" text-sm'>{forum.when(p.posted)}</span></div><div class='mt-2"
            f" leading-6'>{said}<p>{_e(p.text)}</p></div><div class='flex"
            f" text-xs'><span>{number * 5 % 9} ♥</span><a href='/do/{p.number}/answer'>Answer</a><a"
            f" href='/do/{p.number}/flag'>Flag</a></div></div>"
        )

    return frame(
        topic.title,
        f"<h1 class='text-2xl'>{_e(topic.title)}</h1><div"
        f" class='space-y-2'>{_join(_all(topic), one)}</div>",
    )


def bare(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. Paragraphs and rules: author and time in bold, the text
    in the next paragraph, quotes in italics with marks."""

    def one(number: int, p: Reply) -> str:
        said = f"<i>&gt; {_e(p.quote[1])}</i><br>" if p.quote else ""
        return (
            f"<p><b>{number}. {_e(p.author)}</b>"
            f" ({forum.when(p.posted)})</p><p>{said}{_e(p.text)}</p><hr width=50%>"
        )

    return frame(
        topic.title, f"<center><h2>{_e(topic.title)}</h2></center>{_join(_all(topic), one)}{SEND}"
    )


def opened(forum: RandomForum, topic: Topic) -> str:
    """Returns a page with the first post in a separate header and the replies in a list below
    it."""

    def one(number: int, p: Reply) -> str:
        said = (
            f"<div class=q9><p><a href='#'>@{_e(p.quote[0])}</a>"
            f" {WROTE[forum.language]}:</p><p>{_e(p.quote[1])}</p></div>"
            if p.quote
            else ""
        )
        return (
            "<li><div class=h1x><a"
            f" href='/z/{_number(p.author)}'>{_e(p.author)}</a><span>{_ago(forum, p)}</span></div>"
            f"<div"
            f" class=h2x>{said}<p>{_e(p.text)}</p></div></li>"
        )

    first = topic.posts[0]
    top = (
        f"<div class=o1><h1>{_e(topic.title)}</h1><p class=o2>{BY[forum.language]} <a"
        f" href='/z/{_number(first.author)}'>{_e(first.author)}</a> · {_ago(forum, first)} · 120"
        f" views</p><div class=o3><p>{_e(first.text)}</p></div></div>"
    )
    return frame(
        topic.title,
        f"{top}<h2>{topic.replies} answers</h2><ol>{_join(_all(topic)[1:], one)}</ol>{SEND}",
    )


PLAIN_POSTS: dict[str, Render] = {
    made.__name__: made
    for made in (
        cells,
        unfolding,
        mails,
        bubbles,
        right_columns,
        signed,
        framed,
        columns,
        folded,
        cards,
        bare,
        opened,
    )
}
