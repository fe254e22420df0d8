"""Processing of a response before the page is scored: small exchangeable stages, each of which
reads and extends one `Draft`."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from crawlmgr.web.encoding import decode
from crawlmgr.web.url import UrlError, canonical
from focused.pages import Content
from focused.parse import Parser

HTML_TYPES = ("text/html", "application/xhtml")
MAX_TEXT = 2_000_000


@dataclass(slots=True)
class Draft:
    """A response that is being converted to a page. A stage sets `problem` to a code if the
    response cannot become a page; the remaining stages are then skipped. `tokens` are the page's
    words in order, `refresh` is the value of the response's header Refresh."""

    url: str
    body: bytes
    content_type: str = ""
    refresh: str = ""
    html: str = ""
    content: Content | None = None
    tokens: list[str] = field(default_factory=list)
    problem: str = ""


Stage = Callable[[Draft, Parser], None]


def clean(draft: Draft, parser: Parser) -> None:
    """Decodes the body to HTML and makes the URL canonical. Plain text is wrapped in HTML; other
    content types are refused (problem "type"), as are invalid URLs ("bad_url").
    """
    kind = draft.content_type.partition(";")[0].strip().lower()
    try:
        draft.url = canonical(draft.url)
    except UrlError:
        draft.problem = "bad_url"
        return
    if kind and not kind.startswith((*HTML_TYPES, "text/plain")):
        draft.problem = "type"
        return
    text = decode(draft.body, draft.content_type)[0]
    draft.html = f"<pre>{html.escape(text[:MAX_TEXT])}</pre>" if kind == "text/plain" else text


def convert(draft: Draft, parser: Parser) -> None:
    """Sets `content` (words and links) and `tokens` (all words in order) from the draft's HTML."""
    draft.content, draft.tokens = parser.read(draft.html, draft.url, draft.refresh)


def run_stages(stages: Iterable[Stage], draft: Draft, parser: Parser) -> Draft:
    """Runs the stages, up to the first that finds a problem, and returns the draft."""
    for stage in stages:
        stage(draft, parser)
        if draft.problem:
            break
    return draft
