"""The parsing functions of the topic crawler that `bench hostile` runs on hostile input (very large
or malformed texts)."""

from __future__ import annotations

from collections.abc import Mapping

from crawlmgr.benches.hostile import Reader
from crawlmgr.text.tokens import Tokenizer
from focused.lexicon import topic_lexicon
from focused.parse import Parser
from focused.relevance import Relevance
from focused.services.readings import MAX_SAMPLE_CHARACTERS
from focused.stages import Draft, clean, convert, run_stages
from focused.topics import Topic


def _page(text: str) -> object:
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


READERS: Mapping[str, tuple[str, Reader]] = {
    "topic page": ("html", _page),
    "topic page, main text": ("html", _main_text),
    "sample text": ("text", _sample),
}
