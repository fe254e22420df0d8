"""A few words around the first place where a page has what was looked for; read from the archive when it is shown."""

from __future__ import annotations

import re
from typing import NamedTuple

from crawlmgr.models import Page
from crawlmgr.services import archive
from crawlmgr.text.tokens import tokenize
from crawlmgr.web.html import scan
from focused.models import TopicPage

BEFORE, LENGTH = 60, 220
_WORD = re.compile(r"[A-Za-z0-9+#']+|[^\x00-\x7f]{1,4}")


class Snippet(NamedTuple):
    """Text before the found word, the word, and text after it."""

    before: str
    word: str
    after: str


def around(step: TopicPage, words: frozenset[str]) -> Snippet:
    """The snippet of a page; without a hit its beginning, empty where the archive has lost it."""
    page = Page.objects.filter(run_id=step.run_id, key_hash=step.url_hash).select_related("warc").first()
    record = archive.read_page(page) if page is not None else None
    if page is None or record is None:
        return Snippet("", "", "")
    text = " ".join(scan(record.text, page.final_url or page.url).text.split())
    start, end = _place(text, words)
    first = max(0, start - BEFORE)
    before = ("… " if first else "") + text[first:start]
    last = max(end, first + LENGTH)
    return Snippet(before, text[start:end], text[end:last] + (" …" if last < len(text) else ""))


def _place(text: str, words: frozenset[str]) -> tuple[int, int]:
    """Where one of the words stands, in whatever form."""
    for word in sorted(words, key=len, reverse=True):
        at = text.find(word)
        if at >= 0:
            return at, at + len(word)
    for found in _WORD.finditer(text[:200_000]):
        if words.intersection(tokenize(found.group())):
            return found.span()
    return 0, 0
