"""Scores of links by how likely they lead to a search form: from the words of anchor text and
address, and the position of the link."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

_WORD = re.compile(r"[^\W\d_]{2,}")
_PRIOR: Mapping[str, float] = {
    **dict.fromkeys(
        (
            "search",
            "advanced",
            "suche",
            "recherche",
            "buscar",
            "busca",
            "cerca",
            "zoeken",
            "szukaj",
            "поиск",
        ),
        2.5,
    ),
    **dict.fromkeys(("搜索", "搜", "查询", "检索", "查找", "検索", "검색"), 2.5),
    **dict.fromkeys(
        (
            "find",
            "query",
            "catalog",
            "catalogue",
            "katalog",
            "database",
            "databases",
            "lookup",
            "opac",
            "finder",
        ),
        1.5,
    ),
    **dict.fromkeys(
        (
            "library",
            "archive",
            "archives",
            "collection",
            "collections",
            "directory",
            "browse",
            "index",
            "data",
        ),
        0.7,
    ),
    **dict.fromkeys(("数据库", "目录", "资料", "文献"), 1.5),
    **dict.fromkeys(
        (
            "login",
            "signin",
            "register",
            "signup",
            "logout",
            "cart",
            "privacy",
            "terms",
            "cookie",
            "cookies",
        ),
        -1.5,
    ),
    **dict.fromkeys(
        (
            "contact",
            "about",
            "help",
            "rss",
            "feed",
            "print",
            "download",
            "share",
            "登录",
            "注册",
            "隐私",
        ),
        -0.8,
    ),
}
_POSITION = 0.4
_SMOOTHING = 2.0
_KEPT = 2_000


def link_words(url: str, anchor: str) -> list[str]:
    """Returns the distinct words of a link's anchor ("a:") and of its address ("u:"). Chinese
    anchors are not segmented: only words of the built-in word list are found in them.

    >>> link_words("https://example.org/catalog/find.php", "Search")
    ['a:search', 'u:catalog', 'u:find', 'u:php']
    """
    text = anchor.casefold()
    chinese = [word for word in _PRIOR if not word.isascii() and word in text]
    own = [word for word in _WORD.findall(text) if word not in chinese]
    parts = urlsplit(url)
    address = _WORD.findall(unquote(f"{parts.path} {parts.query}").casefold())
    return list(
        dict.fromkeys(
            [f"a:{word}" for word in [*chinese, *own]] + [f"u:{word}" for word in address]
        )
    )


class LinkScorer:
    """Scores links by the log odds that they lead to a search form: a prior for each word,
    corrected by the links of this site that were followed.

    score = sum over the link's words of ln((hits + 2 p) / (misses + 2 (1 - p))) + 0.4 (1 - place).
    Here p is the word's prior probability; hits and misses are the followed links of this site with
    the word that led to a new search form and that did not; place is the link's position on its
    page, from 0 (top) to 1 (end).
    """

    def __init__(self, counts: Mapping[str, Iterable[int]] | None = None) -> None:
        self.counts: dict[str, list[int]] = {
            word: list(pair) for word, pair in (counts or {}).items()
        }

    def score(self, url: str, anchor: str, place: float = 0.5) -> float:
        """Returns the score of the link to `url` with the text `anchor`, higher if it more likely
        leads to a search form; `place` is its position on the page from 0 (top) to 1 (end)."""
        found = 0.0
        for word in link_words(url, anchor):
            prior = 1 / (1 + math.exp(-_PRIOR.get(word[2:], 0.0)))
            hits, misses = self.counts.get(word, (0, 0))
            found += math.log((hits + _SMOOTHING * prior) / (misses + _SMOOTHING * (1 - prior)))
        return found + _POSITION * (1 - min(1.0, max(0.0, place)))

    def learn(self, url: str, anchor: str, led_to_form: bool) -> None:
        """Counts, for each word of the anchor text and address of a followed link, whether the link
        led to a new search form."""
        for word in link_words(url, anchor):
            if word in self.counts or len(self.counts) < _KEPT:
                self.counts.setdefault(word, [0, 0])[0 if led_to_form else 1] += 1
