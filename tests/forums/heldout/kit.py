"""The definition of a markup, and parts that several markups share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from html import escape
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import quote as q

from tests.forums.boards import RandomForum, Section, Topic
from tests.forums.heldout.words import WORDS


def exact(at: datetime) -> timedelta:
    """Returns the error allowed for a time that the markup shows in full: zero."""
    return timedelta(0)


class ListMarkup(NamedTuple):
    """How a list of threads is rendered, its address, the address of a thread, and which fields it
    shows."""

    render: Callable[[RandomForum], str]
    url: str
    link: Callable[[Topic], str]
    author: bool = True  # whether authors of threads are shown
    silent: bool = False  # whether the last reply is left out for threads without replies
    slack: Callable[[datetime], timedelta] = exact


class ThreadMarkup(NamedTuple):
    """How a thread is rendered, its address with {n} for its number, and which of a forum's threads
    to render."""

    render: Callable[[RandomForum, Topic], str]
    url: str
    pick: Callable[[list[Topic]], list[Topic]]


class IndexMarkup(NamedTuple):
    """One way to write an index page: `render` returns its HTML, `url` is its address, `link`
    returns the address of a board."""

    render: Callable[[RandomForum], str]
    url: str
    link: Callable[[Section], str]


def words(f: RandomForum) -> SimpleNamespace:
    """The user interface texts of the forum's language."""
    return WORDS[f.language]


def word(f: RandomForum, n: int) -> str:
    """Returns the word for "replies" in the grammatical form that the number `n` requires."""
    m = words(f)
    if f.language == "ru":
        return (
            m.one
            if n % 10 == 1 and n % 100 != 11
            else m.two
            if n % 10 in (2, 3, 4) and n % 100 not in (12, 13, 14)
            else m.five
        )
    return m.one if n == 1 else m.two


def e(text: object) -> str:
    """A text escaped for HTML."""
    return escape(str(text), quote=True).replace("&#x27;", "&#39;")


def uid(name: str) -> int:
    """The number of a member."""
    return int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()[:4], 16) + 10


def sep(f: RandomForum, n: int) -> str:
    """A number with thousands separators."""
    return f"{n:,}".replace(",", {"en": ",", "de": ".", "ru": " ", "zh": ","}[f.language])


def people(f: RandomForum, n: int = 6) -> list[str]:
    """The names of the first members."""
    return sorted({p.author for t in f.topics for p in t.posts})[:n]


def member_links(f: RandomForum, n: int) -> list[str]:
    """Returns HTML links to the profiles of the first `n` members."""
    return [f'<a href="/people/{q(p)}">{e(p)}</a>' for p in people(f, n)]


def news(f: RandomForum) -> list[str]:
    """Titles listed beside the records, which are not records."""
    return words(f).news.split("|")


def board_names(f: RandomForum) -> list[str]:
    """Returns names of boards for navigation links on the page; a reader must not take them for its
    records."""
    return words(f).boards.split("|")


def jump(f: RandomForum, name: str = "f") -> str:
    """The form that leads to another board."""
    m = words(f)
    options = "".join(
        "<option"
        f" value='{i + 1}'{' selected' if i == 1 else ''}>{'&nbsp;&nbsp;|-- ' if i else ''}{b}"
        f"</option>"
        for i, b in enumerate(board_names(f))
    )
    return (
        f"<form action='index.php' method='get' name='jumpbox'>{m.jump}: <select name='{name}'"
        f" onchange='this.form.submit()'>{options}</select> <input type='submit'"
        f" value='{m.go}'></form>"
    )


def paras(text: str, tag: str = "p") -> str:
    """Returns the HTML of a text with each sentence in a `tag` element, or with blank lines between
    them if `tag` is "br"."""
    bits = [b if b.endswith(".") else b + "." for b in text.split(". ")]
    if tag == "br":
        return "<br />\n<br />\n".join(map(e, bits))
    return "".join(f"<{tag}>{e(b)}</{tag}>" for b in bits)
