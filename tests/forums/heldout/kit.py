"""What a markup is, and the pieces that several of them share."""

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
    """A time shown whole."""
    return timedelta(0)


class ListMarkup(NamedTuple):
    """How a list of threads is drawn, its address, that of a thread, and what it shows."""

    render: Callable[[RandomForum], str]
    url: str
    link: Callable[[Topic], str]
    author: bool = True  # whether starters are shown
    silent: bool = False  # whether the last answer is left out where there is none
    slack: Callable[[datetime], timedelta] = exact


class ThreadMarkup(NamedTuple):
    """How a thread is drawn, its address with {n} for its number, and which of a forum's threads to draw."""

    render: Callable[[RandomForum, Topic], str]
    url: str
    pick: Callable[[list[Topic]], list[Topic]]


class IndexMarkup(NamedTuple):
    """How an index of boards is drawn, its address and that of a board."""

    render: Callable[[RandomForum], str]
    url: str
    link: Callable[[Section], str]


def words(f: RandomForum) -> SimpleNamespace:
    """The words of the forum's language."""
    return WORDS[f.language]


def word(f: RandomForum, n: int) -> str:
    """Replies, in the form that the number asks for."""
    m = words(f)
    if f.language == "ru":
        return (
            m.one if n % 10 == 1 and n % 100 != 11 else m.two if n % 10 in (2, 3, 4) and n % 100 not in (12, 13, 14) else m.five
        )
    return m.one if n == 1 else m.two


def e(text: object) -> str:
    """A text within markup."""
    return escape(str(text), quote=True).replace("&#x27;", "&#39;")


def uid(name: str) -> int:
    """A member's number."""
    return int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()[:4], 16) + 10


def sep(f: RandomForum, n: int) -> str:
    """A number with its thousands apart."""
    return f"{n:,}".replace(",", {"en": ",", "de": ".", "ru": " ", "zh": ","}[f.language])


def people(f: RandomForum, n: int = 6) -> list[str]:
    """The first members by name."""
    return sorted({p.author for t in f.topics for p in t.posts})[:n]


def member_links(f: RandomForum, n: int) -> list[str]:
    """Links to them."""
    return [f'<a href="/people/{q(p)}">{e(p)}</a>' for p in people(f, n)]


def news(f: RandomForum) -> list[str]:
    """Titles beside the records."""
    return words(f).news.split("|")


def board_names(f: RandomForum) -> list[str]:
    """Boards named beside the records."""
    return words(f).boards.split("|")


def jump(f: RandomForum, name: str = "f") -> str:
    """The form that goes to another board."""
    m = words(f)
    options = "".join(
        f"<option value='{i + 1}'{' selected' if i == 1 else ''}>{'&nbsp;&nbsp;|-- ' if i else ''}{b}</option>"
        for i, b in enumerate(board_names(f))
    )
    return f"<form action='index.php' method='get' name='jumpbox'>{m.jump}: <select name='{name}' onchange='this.form.submit()'>{options}</select> <input type='submit' value='{m.go}'></form>"


def paras(text: str, tag: str = "p") -> str:
    """A text in paragraphs, or with line breaks."""
    bits = [b if b.endswith(".") else b + "." for b in text.split(". ")]
    if tag == "br":
        return "<br />\n<br />\n".join(map(e, bits))
    return "".join(f"<{tag}>{e(b)}</{tag}>" for b in bits)
