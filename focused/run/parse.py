"""The page parser: converts bytes to words and links, in small exchangeable stages (decode, scan,
main text, words around links, words). The stages before the page is scored (`clean`, `convert`) are
named in settings."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from resiliparse.extract.html2text import extract_plain_text

from crawlmgr.text.similarity import simhash
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.encoding import decode
from crawlmgr.web.pages import documents
from crawlmgr.web.pages.html import Link as PageLink
from crawlmgr.web.pages.html import PageScan, scan
from crawlmgr.web.pages.tree import READ_TAGS, bounded_markup, exceeds
from crawlmgr.web.sitemap import parse_sitemap
from crawlmgr.web.url import UrlError, canonical
from focused.pages import Content, LazyList, LazyWords, Link

CONTEXT_WORDS = 20
"""Number of words taken on either side of an anchor."""

Context = Callable[[str, str, Tokenizer], Mapping[str, float]]
"""A function from the text around a link (including the anchor), the anchor, and a tokenizer to
weighted words."""


def plain_context(context: str, anchor: str, tokenizer: Tokenizer) -> Mapping[str, float]:
    """Returns the words around an anchor with weights: the number of occurrences among the 20 words
    before and the 20 after it."""
    before, after = _sides(context, anchor, tokenizer)
    return Counter([*before[-CONTEXT_WORDS:], *after[:CONTEXT_WORDS]])


def weighted_context(context: str, anchor: str, tokenizer: Tokenizer) -> Mapping[str, float]:
    """Returns the words around an anchor with weights by distance: an occurrence at distance d from
    the anchor adds (21 - d) / 20, which is 1 for the nearest word and 0 beyond 20 (the Dolphin
    patent's weighted parser)."""
    before, after = _sides(context, anchor, tokenizer)
    weights: dict[str, float] = {}
    for side in (before[::-1], after):
        for distance, word in enumerate(side[:CONTEXT_WORDS]):
            weights[word] = weights.get(word, 0.0) + (CONTEXT_WORDS - distance) / CONTEXT_WORDS
    return weights


CONTEXTS: Mapping[str, Context] = {"plain": plain_context, "weighted": weighted_context}


def _sides(context: str, anchor: str, tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
    """Returns the words of a context before and after the first occurrence of the anchor. If the
    anchor does not occur in it, all words count as after it.
    """
    before, found, after = context.partition(anchor) if anchor else ("", "", context)
    return (
        (tokenizer(before), tokenizer(after)) if found or not anchor else ([], tokenizer(context))
    )


_OPTION = re.compile(r"</?option\b[^<>]*>", re.IGNORECASE)
"""Tags of the options of a select element. They are removed because they are no main text, and the
extractor's time is quadratic in their number."""


def main_text(html: str, whole: str) -> str:
    """Returns the text of a page without navigation. If that text has less than 400 characters and
    also less than a quarter of `whole`, the page's whole text, returns `whole` instead."""
    markup = _OPTION.sub(" ", bounded_markup(html, READ_TAGS)[0])
    found = extract_plain_text(markup, main_content=True, list_bullets=False)
    return found if len(found) * 4 >= len(whole) or len(found) >= 400 else whole


class Parser:
    """Parses the body of a response to words and links. `context` is the function that weighs the
    words around links; with `main`, the words are those of the main text, without navigation.

    Anchors repeat from page to page, so their words are cached; a link's words are computed on
    first use.
    """

    def __init__(
        self, tokenizer: Tokenizer, context: Context = plain_context, *, main: bool = False
    ) -> None:
        self.user_words = tokenizer.user_words
        self._tokenizer = tokenizer
        self._context = context
        self._main = main
        self._anchors: dict[str, tuple[str, ...]] = {}

    def __call__(self, body: bytes, content_type: str, url: str) -> Content:
        """Parses a page to its words (of title and text) and its links, which are canonical and do
        not include links to the page itself. The text may be empty.
        """
        return self.read(decode(body, content_type)[0], url)[0]

    def read(self, html: str, url: str, refresh: str = "") -> tuple[Content, list[str]]:
        """Parses HTML; `refresh` is the value of the response's header Refresh. Returns the page's
        content, and the list of its words in order."""
        page = scan(html, url, want_context=True, refresh=refresh)
        text = main_text(html, page.text) if self._main else page.text
        tokens = self._tokenizer(f"{page.title}\n{text}")
        words = Counter(tokens)
        links, cut = self._links(page, url), page.is_cut or self._main and exceeds(html)
        return (
            Content(url, page.title, words, links, simhash(words), page.canonical, cut),
            tokens,
        )

    def _links(self, page: PageScan, own: str) -> tuple[Link, ...]:
        anchors: dict[str, list[str]] = {}
        contexts: dict[str, LazyWords] = {}
        around = self._words_around
        for link in page.links:
            try:
                url = canonical(link.url)
            except UrlError:
                continue
            if url == own:
                continue
            texts = anchors.get(url)
            if texts is None:
                anchors[url] = [link.anchor] if link.anchor else []
                contexts[url] = LazyWords(around, page, link)
            elif link.anchor and link.anchor not in texts:
                texts.append(link.anchor)
        words = self._anchor_words
        return tuple(
            [
                Link(
                    url,
                    texts[0] if len(texts) == 1 else " ".join(texts),
                    LazyList(words, texts),
                    contexts[url],
                )
                for url, texts in anchors.items()
            ]
        )

    def _words_around(self, page: PageScan, link: PageLink) -> Mapping[str, float]:
        return self._context(page.context(link), link.anchor, self._tokenizer)

    def words(self, text: str) -> tuple[str, ...]:
        """Returns the words of a short text such as an anchor, in order; cached."""
        return self._words_of(text)

    def _anchor_words(self, texts: list[str]) -> tuple[str, ...]:
        if len(texts) == 1:
            return self._words_of(texts[0])
        return tuple(word for text in texts for word in self._words_of(text))

    def _words_of(self, text: str) -> tuple[str, ...]:
        words = self._anchors.get(text)
        if words is None:
            if len(self._anchors) >= 50_000:
                self._anchors.clear()
            words = self._anchors[text] = tuple(self._tokenizer(text))
        return words


HTML_TYPES = ("text/html", "application/xhtml")
XML_TYPES = frozenset(
    (
        *("application/rss+xml", "application/atom+xml", "application/rdf+xml"),
        *("application/xml", "text/xml"),
    )
)
UNREAD_TYPE = "type"
"""Problem of a response whose content type cannot be read, here or already when it arrives."""
MAX_TEXT = 2_000_000
MAX_LISTED = 2_000  # links taken from a feed, or from a sitemap that a page links to


WORD_BYTES, LINK_BYTES = 80, 400


@dataclass(slots=True)
class Draft:
    """A response that is being converted to a page. A stage sets `problem` to a code if the
    response cannot become a page; the remaining stages are then skipped. `tokens` are the page's
    words in order, `refresh` is the value of the response's header Refresh. `is_cut`: `html` is
    only the beginning of a document."""

    url: str
    body: bytes
    content_type: str = ""
    refresh: str = ""
    html: str = ""
    is_cut: bool = False
    content: Content | None = None
    tokens: list[str] = field(default_factory=list)
    problem: str = ""

    def weight(self) -> int:
        """Returns the estimated bytes of the parsed page, without body and HTML."""
        content = self.content
        words, links = (len(content.words), len(content.links)) if content is not None else (0, 0)
        return WORD_BYTES * (len(self.tokens) + words) + LINK_BYTES * links


Stage = Callable[[Draft, Parser], None]


def clean(draft: Draft, parser: Parser) -> None:
    """Makes the URL canonical, and the body HTML: decodes pages, wraps plain text, converts
    documents, and turns feeds and sitemaps into pages of links. Other content types are refused
    (problem UNREAD_TYPE), as are invalid URLs ("bad_url") and documents that cannot be converted.
    """
    kind = draft.content_type.partition(";")[0].strip().lower()
    try:
        draft.url = canonical(draft.url)
    except UrlError:
        draft.problem = "bad_url"
        return
    if not kind or kind.startswith(HTML_TYPES):
        draft.html = decode(draft.body, draft.content_type)[0]
    elif kind.startswith("text/plain"):
        text = decode(draft.body, draft.content_type)[0]
        draft.html = f"<pre>{html.escape(text[:MAX_TEXT])}</pre>"
    elif kind in XML_TYPES:
        draft.html, draft.is_cut = _page_of_links(draft.body, draft.url)
        draft.problem = "" if draft.html else UNREAD_TYPE
    elif kind in documents.types():
        draft.html, draft.is_cut, draft.problem = documents.converted(draft.body, kind)
    else:
        draft.problem = UNREAD_TYPE


def _page_of_links(xml: bytes, url: str) -> tuple[str, bool]:
    """Returns a feed or sitemap as a page of links with the titles that it gives, and whether only
    its beginning was read; "" for other XML."""
    listing = parse_sitemap(xml, url)
    if listing.kind in ("unknown", "text"):
        return "", False
    links = [
        f'<p><a href="{html.escape(entry.url)}">{html.escape(entry.title)}</a></p>'
        for entry in listing.entries[:MAX_LISTED]
    ]
    return "\n".join(("<title></title>", *links)), listing.truncated or len(links) < len(
        listing.entries
    )


def convert(draft: Draft, parser: Parser) -> None:
    """Sets `content` (words and links) and `tokens` (all words in order) from the draft's HTML."""
    content, draft.tokens = parser.read(draft.html, draft.url, draft.refresh)
    draft.content = replace(content, is_cut=True) if draft.is_cut else content


def run_stages(stages: Iterable[Stage], draft: Draft, parser: Parser) -> Draft:
    """Runs the stages, up to the first that finds a problem, and returns the draft."""
    for stage in stages:
        stage(draft, parser)
        if draft.problem:
            break
    return draft
