"""Excerpts of pages around the first search hit, computed from the archived page when search
results are displayed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from crawlmgr.archive import archive
from crawlmgr.models import Page
from crawlmgr.text.tokens import tokenize
from crawlmgr.web.pages.html import scan
from focused.models import TopicPage

BEFORE, LENGTH = 60, 220
MAX_CHARS = 200_000
_WORD = re.compile(r"[A-Za-z0-9+#']+|[^\x00-\x7f]{1,4}")


class Snippet(NamedTuple):
    """An excerpt: the text before the found word, the word, and the text after it."""

    before: str
    word: str
    after: str


def around(steps: Sequence[TopicPage], words: frozenset[str]) -> list[Snippet]:
    """Returns an excerpt of each page around its first search hit, in the order of `steps`. If
    there is no hit in the first MAX_CHARS (200,000) characters of its HTML, the excerpt is the
    page's beginning; it is empty if the archive no longer contains the page.
    """
    runs, hashes = {step.run_id for step in steps}, {step.url_hash for step in steps}
    found = Page.objects.filter(run_id__in=runs, key_hash__in=hashes).select_related("warc")
    pages = {(page.run_id, page.key_hash): page for page in found}
    return [_around(pages.get((step.run_id, step.url_hash)), words) for step in steps]


def _around(page: Page | None, words: frozenset[str]) -> Snippet:
    record = archive.read_page(page) if page is not None else None
    if page is None or record is None:
        return Snippet("", "", "")
    text = " ".join(scan(record.text[:MAX_CHARS], page.final_url or page.url).text.split())
    start, end = _place(text, words)
    first = max(0, start - BEFORE)
    before = ("… " if first else "") + text[first:start]
    last = max(end, first + LENGTH)
    return Snippet(before, text[start:end], text[end:last] + (" …" if last < len(text) else ""))


def _place(text: str, words: frozenset[str]) -> tuple[int, int]:
    """Returns the start and the end of the first of the words in the text, in any inflected form;
    (0, 0) if none occurs."""
    for word in sorted(words, key=len, reverse=True):
        at = text.find(word)
        if at >= 0:
            return at, at + len(word)
    for found in _WORD.finditer(text[:200_000]):
        if words.intersection(tokenize(found.group())):
            return found.span()
    return 0, 0
