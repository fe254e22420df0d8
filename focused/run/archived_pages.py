"""Pages of a run as they are stored: their words, and their content, parsed again from the
archive."""

from __future__ import annotations

import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice

from django.conf import settings
from django.utils.module_loading import import_string

from crawlmgr.archive import archive
from crawlmgr.database import caches
from crawlmgr.database.sql import in_parts
from crawlmgr.models import Page as StoredPage
from crawlmgr.models import Run
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.url import UrlError, canonical
from focused.judge.relevance import Topic
from focused.models import TopicPage, TopicRun
from focused.pages import Content, Page
from focused.parameters import RunOptions, read_settings
from focused.run.parse import CONTEXTS, Draft, Parser, run_stages

PARSED_BYTES = 64_000_000  # estimated memory of the kept parsed pages
HISTORY_PAGES = 5000
_parsed: OrderedDict[tuple[object, ...], Draft] = OrderedDict()


def words_of(page: TopicPage) -> Counter[str]:
    """Returns the stored words of a page with their numbers of occurrences."""
    data = bytes(page.words or b"")
    return (
        Counter((zlib.decompress(data) if page.packed else data).decode("utf-8").split(" "))
        if data
        else Counter()
    )


def read_stages() -> list[Callable[..., None]]:
    """Returns the stages that convert a response to a page, which the setting TOPIC_READ_STAGES
    names."""
    return [import_string(name) for name in settings.TOPIC_READ_STAGES]


def draft_of(page: StoredPage, parser: Parser, options: RunOptions) -> Draft | None:
    """Parses a stored page as it was parsed after its fetch; None if it is not archived. Caches up
    to `options.cache` results."""
    key = (page.warc_id, page.warc_offset, options.context, options.main_text, parser.user_words)
    if key in _parsed:
        _parsed.move_to_end(key)
        return _parsed[key]
    record = archive.read_page(page)
    if record is None:
        return None
    draft = run_stages(
        read_stages(),
        Draft(
            page.final_url or page.url,
            record.payload,
            record.content_type,
            record.header("refresh"),
        ),
        parser,
    )
    draft.body, draft.html = b"", ""  # large, and no longer needed
    if options.cache:
        _parsed[key] = draft
        caches.bounded(_parsed, options.cache, PARSED_BYTES, Draft.weight)
    return draft


def content_of(step: TopicPage, parser: Parser, options: RunOptions) -> Content:
    """Returns the page of a stored step from the archive; if it is gone, a page with the stored
    words and without links."""
    page = (
        StoredPage.objects.filter(run_id=step.run_id, key_hash=step.url_hash)
        .select_related("warc")
        .first()
    )
    draft = draft_of(page, parser, options) if page is not None else None
    if draft is not None and draft.content is not None:
        return draft.content
    try:
        url = canonical(step.final_url or step.url)
    except UrlError:
        url = step.url
    return Content(url, step.title, words_of(step), (), step.fingerprint)


def history_of(run_id: int) -> Sequence[Page]:
    """Returns the first 5,000 pages of an earlier run, for strategies that learn from one; empty if
    there is no such run."""
    run = Run.objects.filter(pk=run_id).first()
    row = TopicRun.objects.filter(pk=run_id).first()
    if run is None or row is None:
        return ()
    options: RunOptions = read_settings(RunOptions, run.parameters["options"])
    parser = parser_of(Topic.from_json(row.definition), options)
    steps = in_parts(TopicPage.objects.filter(run_id=run_id, kind=TopicPage.Kind.PAGE), "step", 100)
    return [
        Page(
            step.url,
            step.depth,
            content_of(step, parser, options),
            step.similarity or 0.0,
            step.relevant,
            float(step.relevant),
        )
        for step in islice(steps, HISTORY_PAGES)
    ]


def parser_of(topic: Topic, options: RunOptions) -> Parser:
    return Parser(Tokenizer(topic.user_words), CONTEXTS[options.context], main=options.main_text)
