"""The parsers that `bench hostile` runs on hostile input, by name, each with the kind of input that
it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.pages.html import scan
from crawlmgr.web.robots import from_response
from crawlmgr.web.sitemap import parse_sitemap
from deepweb.answers.page import Context, read_answer, read_detail
from deepweb.answers.result_list import PageTemplate
from deepweb.forms.finder import read_page as read_forms_page
from deepweb.forms.stored import classified
from deepweb.search_forms import read_forms
from focused.judge.relevance import Relevance, Topic
from focused.run.parse import Draft, Parser, clean, convert, run_stages
from focused.topic.lexicon import topic_lexicon
from focused.topic.readings import MAX_SAMPLE_CHARACTERS
from forums.reading import read_page
from forums.reading.apis import read_api

LIST, THREAD = "http://forum.example/viewforum.php?f=2", "http://forum.example/viewtopic.php?t=7"
AT = datetime(2026, 3, 30, tzinfo=UTC)
SEARCH = "http://catalogue.example/search?q=word"
FORM = read_forms("<form action=/search><input name=q><input type=submit></form>", SEARCH)[0]
KNOWN = Context(FORM, {"q": "word"}, 1, 0, PageTemplate(), None, False, "utf-8")
Reader = Callable[[str], object]
"""Function that reads a page, file or text of one kind as a crawl would."""


def _robots(text: str) -> object:
    url = "http://f.example/robots.txt"
    answer = FetchResponse(request_url=url, url=url, status=200, body=text.encode())
    rules = from_response(answer, datetime(2026, 3, 1, tzinfo=UTC))
    paths = ("", "a" * 2_000, "a17/x.html")
    return [rules.allowed(f"http://f.example/{path}") for path in paths], rules.crawl_delay


def _contexts(text: str) -> Any:
    page = scan(text, LIST, want_context=True)
    return [page.context(link) for link in page.links]


def _topic_page(text: str) -> object:
    parser = Parser(Tokenizer())
    draft = run_stages(
        (clean, convert), Draft("http://a.example/page", text.encode(), "text/html"), parser
    )
    return [] if draft.content is None else [dict(link.context) for link in draft.content.links]


def _main_text(text: str) -> object:
    parser = Parser(Tokenizer(), main=True)
    return run_stages(
        (clean, convert), Draft("http://a.example/page", text.encode(), "text/html"), parser
    )


def _sample(text: str) -> object:
    """Processes a text as a topic's sample, truncated to the maximum length."""
    text = text[:MAX_SAMPLE_CHARACTERS]
    return Relevance(Topic("t", ("http://a.example/",), (text,), topic_lexicon([text])))


def _page_with_forms(text: str) -> object:
    return classified(read_forms_page(text, SEARCH).forms, text)


def _answer(text: str) -> object:
    return read_answer(text, SEARCH, KNOWN)


def _record(text: str) -> object:
    return read_detail(text, PageTemplate())


READERS: Mapping[str, tuple[str, Reader]] = {
    "links and text": ("html", _contexts),
    "robots.txt": ("robots", _robots),
    "sitemap": (
        "sitemap",
        lambda text: parse_sitemap(text.encode(), "http://f.example/sitemap.xml"),
    ),
    "forum list": ("html", lambda text: read_page(text, LIST, AT)),
    "forum thread": ("html", lambda text: read_page(text, THREAD, AT)),
    "forum API": ("json", lambda text: read_api(text, "http://forum.example/latest.json")),
    "topic page": ("html", _topic_page),
    "topic page, main text": ("html", _main_text),
    "sample text": ("text", _sample),
    "page with forms": ("html", _page_with_forms),
    "answer": ("html", _answer),
    "record": ("html", _record),
}
