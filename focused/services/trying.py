"""Tries a topic on one page: obtains the page from the archive if it is there, otherwise fetches it
under the same rules as in a crawl.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier import fetching, hosts
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.http.exchange import FetchRequest
from crawlmgr.web.url import UrlError, canonical, host_key
from focused.models import Topic
from focused.parse import Parser
from focused.scope import Scope
from focused.services import sessions
from focused.stages import Draft, run_stages

LONGEST_WAIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A text or page to score against a topic: its words in order, `text` to display (for a page
    its title), the page's title, the source ("text" for an entered text, "archive" or "net"), and
    when it was fetched if it is from the archive.
    """

    tokens: list[str]
    text: str = ""
    title: str = ""
    source: str = "text"
    stored: datetime | None = None


def text_of(topic: Topic, text: str) -> Sample:
    """Returns a text entered by a user as a sample to score, split into words; the topic's "words
    not split" are kept whole."""
    return Sample(Tokenizer(topic.user_words)(text), text)


def scope_verdict(topic: Topic, address: str, now: datetime) -> tuple[str, str]:
    """Returns the canonical form of an address, and the code of the topic's scope rule or of the
    trap rule that refuses it as a seed ("" if none). Raises ValueError with a one-line message if
    it is no address.
    """
    url = _address(address)
    return (
        url,
        Scope.from_mapping({"year": now.year, **topic.options.get("scope", {})}).refusal(url, 0)
        or "",
    )


def page_of(topic: Topic, address: str) -> Sample:
    """Returns the page of an address as a sample to score: from the archive or, if it is not there,
    fetched, after waiting up to LONGEST_WAIT_SECONDS until the host may be requested. Raises
    ValueError with a one-line message if the page cannot be obtained."""
    url = _address(address)
    parser = Parser(Tokenizer(topic.user_words))
    page = sessions.stored_page(url)
    record = archive.read_page(page) if page is not None else None
    if page is not None and record is not None:
        draft = run_stages(
            sessions.read_stages(),
            Draft(
                page.final_url or url,
                record.payload,
                record.content_type,
                record.header("refresh"),
            ),
            parser,
        )
        source, stored = "archive", page.fetched_at
    else:
        draft = run_stages(sessions.read_stages(), _fetched(topic, url), parser)
        source, stored = "net", None
    if draft.problem or draft.content is None:
        raise ValueError(f"{url}: {draft.problem or 'no page'}")
    return Sample(draft.tokens, draft.content.title, draft.content.title, source, stored)


def _address(text: str) -> str:
    try:
        return canonical(text if "://" in text else f"http://{text}")
    except UrlError as error:
        raise ValueError(str(error)) from None


def _fetched(topic: Topic, url: str) -> Draft:
    session = fetching.WebSession(CrawlSettings.from_mapping(topic.settings), SYSTEM)
    try:
        host = session.host(hosts.host_id(host_key(url)))
        try:
            allowed, reason = session.allowed(url, host)
        except fetching.TurnTaken:
            allowed, reason = session.allowed(url, host)
        if not allowed:
            raise ValueError(f"{url}: {reason}")
        host.refresh_from_db()
        wait = (host.next_at - SYSTEM.now()).total_seconds()
        if wait > LONGEST_WAIT_SECONDS:
            raise ValueError(f"{host.key} is to be asked again in {wait:.0f} seconds")
        SYSTEM.sleep(wait)
        if not hosts.take_turn(host.pk, hosts.effective_delay(host), SYSTEM.now()):
            raise ValueError(f"{host.key} is being asked by another run just now")
        response = session.fetch(FetchRequest(url))
        hosts.settle(host, response, SYSTEM.now())
    finally:
        session.close()
    if response.status != 200:
        raise ValueError(
            f"{url}: {response.failure.value if response.failure else f'status {response.status}'}"
        )
    return Draft(
        response.url, response.body, response.content_type, response.header("refresh") or ""
    )
