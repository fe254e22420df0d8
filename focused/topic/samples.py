"""Samples of topics: fetches pages as samples by a small run of their own, and extracts words from
earlier runs. Also tries a topic on one page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.engine import Stored
from crawlmgr.frontier import fetching, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Page as StoredPage
from crawlmgr.models import Run, RunState, Url, UrlState
from crawlmgr.runs import runs
from crawlmgr.text.tokens import Tokenizer, wording
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from crawlmgr.web.pages.html import scan
from crawlmgr.web.url import UrlError, canonical, host_key, url_hash
from focused.judge.relevance import Relevance
from focused.models import SampleDocument, Topic
from focused.pages import Page
from focused.run import archived_pages
from focused.run.parse import Draft, Parser, main_text, run_stages
from focused.run.scope import Scope
from focused.topic import readings, topics
from focused.topic.lexicon import LEXICON_WORDS, host_pages, near_lexicon, topic_lexicon

KIND = "topic-samples"
MAX_PAGES_READ = 60
"""Maximum number of pages of a run that are read again to find the display forms of words."""


def fetch(
    topic: Topic, urls: Sequence[str], *, now: datetime, user: Any = None, start: bool = True
) -> Run:
    """Starts a run that fetches the pages `urls` and stores their main text as samples of the
    topic. `start` false creates the run without starting it.
    """
    first = topic.documents.count()
    rows = [
        SampleDocument(
            topic=topic, name=url[:300], url=url, problem="waiting", position=first + n, added=now
        )
        for n, url in enumerate(dict.fromkeys(map(canonical, urls)))
    ]
    SampleDocument.objects.bulk_create(rows)
    parameters = {"settings": topic.settings, "urls": [row.url for row in rows]}
    return runs.create(
        KIND, topic.name, target=topic.pk, parameters=parameters, now=now, user=user, start=start
    )


def add(
    topic: Topic, texts: Sequence[tuple[str, str]], *, now: datetime, user: Any = None
) -> readings.Bounded:
    """Adds samples, given as pairs of name and text, within the topic's size limits, and updates
    the topic's word vector and threshold. Returns which samples were added, truncated and left out.
    """
    found = readings.bounded(texts, readings.characters(topic))
    first = topic.documents.count()
    with transaction.atomic():
        SampleDocument.objects.bulk_create(
            [
                SampleDocument(
                    topic=topic,
                    name=name[:300],
                    text=text,
                    characters=len(text),
                    position=first + n,
                    added=now,
                )
                for n, (name, text) in enumerate(found.kept)
            ]
        )
        readings.renew(topic, now=now, user=user)
    return found


def draw_near(topic: Topic, run_id: int) -> dict[str, float]:
    """Replaces the topic's near-topic lexicon by words of those off-topic pages of an earlier run
    (among its first 5,000 pages) that led to relevant pages. Returns the words with their weights.
    """
    relevance = Relevance(topics.definition(topic))
    pages = archived_pages.history_of(run_id)
    found = near_lexicon(pages, dict.fromkeys(relevance.words, 1.0), LEXICON_WORDS)
    shown = _display_forms(found, pages, run_id, relevance.tokenizer)
    found = {shown.get(word, word): weight for word, weight in found.items()}
    topic.near = {word: round(weight, 3) for word, weight in found.items() if weight > 0}
    topic.save(update_fields=["near"])
    readings.renew(topic, now=SYSTEM.now())
    return found


def draw_hosts(topic: Topic, run_id: int) -> tuple[int, dict[str, float]]:
    """Adds keywords to the topic from the relevant host pages (entry pages of sites, by the
    tunnelling paper's rules) among the first 5,000 pages of an earlier run. Returns the number of
    host pages, and the new words with their weights; existing words keep their form and weight."""
    pages = archived_pages.history_of(run_id)
    relevant = {page.content.url for page in pages if page.relevant}
    texts = [
        text
        for host in host_pages(pages)
        if host.url in relevant and (text := _text_of(run_id, host.url))
    ]
    found = topic_lexicon(texts, readings.DRAWN_WORDS)
    return len(texts), readings.add_keywords(topic, found)


def _text_of(run_id: int, url: str) -> str:
    """Returns the title and main text of a page stored by a run; "" if the archive does not contain
    it."""
    of_run = StoredPage.objects.filter(run_id=run_id)
    stored = (
        of_run.filter(Q(key_hash=url_hash(url)) | Q(final_url=url)).select_related("warc").first()
    )
    record = archive.read_page(stored) if stored is not None else None
    if record is None:
        return ""
    page = scan(record.text, url)
    return f"{page.title}\n{main_text(record.text, page.text)}"


def _display_forms(
    words: Collection[str], pages: Sequence[Page], run_id: int, tokenizer: Tokenizer
) -> dict[str, str]:
    """Returns the forms in which to display stemmed words, by word: from titles and anchors of the
    run's pages, otherwise from the text of at most MAX_PAGES_READ archived pages. Words found in
    none of them are missing."""
    texts = dict.fromkeys(
        text
        for page in pages
        for text in (page.content.title, *(link.anchor for link in page.links))
    )
    shown = wording(texts, tokenizer)
    missing = set(words).difference(shown)
    read = 0
    for page in pages:
        if not missing or read == MAX_PAGES_READ:
            break
        if missing.isdisjoint(page.content.words):
            continue
        own = wording([_text_of(run_id, page.url)], tokenizer)
        read += 1
        shown |= {word: own[word] for word in missing.intersection(own)}
        missing.difference_update(own)
    return shown


class SampleCrawler:
    """The crawler of runs that fetch given pages and store their main text as samples."""

    kind = KIND

    def settings(self, run: Run) -> CrawlSettings:
        settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
        for key in {host_key(url) for url in run.parameters["urls"]}:
            hosts.configure(key, settings)
        return settings

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return [NewUrl(url, "sample") for url in run.parameters["urls"]]

    def request(self, run: Run, item: Url) -> FetchRequest:
        return FetchRequest(item.url)

    def read(self, run: Run, item: Url, response: FetchResponse) -> tuple[str, str]:
        if response.status != 200:
            return "", ""
        page = scan(response.text, response.url)
        return page.title, f"{page.title}\n{main_text(response.text, page.text)}".strip()

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: tuple[str, str], now: datetime
    ) -> Stored:
        title, text = reading
        problem = "" if text else f"http_{response.status}"
        rows = SampleDocument.objects.filter(topic_id=run.target, url=item.url)
        text = text[: readings.MAX_SAMPLE_CHARACTERS]
        rows.update(
            text=text,
            characters=len(text),
            words=None,
            problem=problem,
            name=(title or item.url)[:300],
        )
        return Stored(title=title) if text else Stored(state=UrlState.FAILED, reason=problem)

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        SampleDocument.objects.filter(topic_id=run.target, url=item.url).update(
            problem=reason[:300]
        )
        return Stored()

    def idle(self, run: Run, now: datetime) -> str:
        return "complete"

    def ended(self, run: Run, state: str, now: datetime) -> None:
        """Computes the topic's vector and threshold again from the fetched samples, and adds
        keywords from them if the topic has none; does nothing if the run was only paused. Samples
        whose pages were not fetched stay without text.
        """
        if state == RunState.PAUSED:
            return
        SampleDocument.objects.filter(topic_id=run.target, problem="waiting").update(
            problem="stopped"
        )
        topic = Topic.objects.filter(pk=run.target).first()
        if topic is not None:
            readings.renew(topic, now=now, drawing=not topic.keywords)


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
    page = archive.redirected(url)
    record = archive.read_page(page) if page is not None else None
    if page is not None and record is not None:
        draft = run_stages(
            archived_pages.read_stages(),
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
        draft = run_stages(archived_pages.read_stages(), _fetched(topic, url), parser)
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
