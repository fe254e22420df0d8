"""Reads the address that a page declares as its own (rel=canonical), and decides whether it can be
trusted. Uses neither network nor database.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from crawlmgr.web.url import UrlError, canonical
from focused.pages import Content

INDEX_FILES = (
    "index.html",
    "index.htm",
    "index.php",
    "index.asp",
    "index.aspx",
    "index.jsp",
    "default.htm",
    "default.aspx",
)
PAGE_PARAMETERS = frozenset(
    "page p pg pn paged pagenum pageno pageindex cpage start offset skip from st curpage".split()
)


def given(content: Content) -> str:
    """Returns the address that a page declares as its own (rel=canonical), in canonical form, if it
    differs from the page's address and is on the same host; otherwise "".
    """
    if not content.canonical:
        return ""
    try:
        url = canonical(content.canonical)
    except UrlError:
        return ""
    return (
        url if url != content.url and urlsplit(url).netloc == urlsplit(content.url).netloc else ""
    )


def same_page(own: str, other: str) -> bool:
    """Tells, by the addresses alone, whether the declared address `other` of a page fetched as
    `own` certainly names the same page. The paths must be equal, apart from case, a final "/" and
    names such as index.html. `other` must have only parameters of `own`. Those that it lacks must
    not have numbers as values or names like "page". Otherwise, a site that declares its home page
    as the address of every page would hide all other pages.

    >>> same_page("http://a.example/t/?ref=top", "http://a.example/t")
    True
    >>> same_page("http://a.example/t?id=5", "http://a.example/t")
    False
    """
    mine, others = urlsplit(own), urlsplit(other)
    if _path(mine.path) != _path(others.path):
        return False
    left = parse_qsl(mine.query, keep_blank_values=True)
    for pair in parse_qsl(others.query, keep_blank_values=True):
        if pair not in left:
            return False
        left.remove(pair)
    return not any(name.lower() in PAGE_PARAMETERS or value.isdecimal() for name, value in left)


def _path(path: str) -> str:
    folder, _slash, name = path.rpartition("/")
    return (folder if name.lower() in INDEX_FILES else path).rstrip("/").lower()
