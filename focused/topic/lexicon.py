"""Derives words of a topic from pages: its keywords from entry pages, by TextRank, and the
near-topic lexicon, the words of off-topic pages that lead to relevant ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from crawlmgr.text.tokens import HAN, keywords, merge
from focused.pages import Page

LEXICON_WORDS = 100
WORDS_A_PAGE = 20
MAX_ANCHOR_HAN = 12
MAX_ANCHOR_LATIN = 30
MAX_URL = 80
MAX_PATH_DEPTH = 4
MIN_IN_LINKS = 3

_HOST_PATH = re.compile(r"/$|(?:^|/)(?:index|default)(?:\.\w+)?$", re.IGNORECASE)
_PAGING = re.compile(r"下一页|上一页|更多|尾页|下一頁|上一頁|尾頁|\b(?:next|more)\b", re.IGNORECASE)
_HAN = re.compile(f"[{HAN}]")


def host_page_refusal(url: str, anchor: str, in_links: int) -> str | None:
    """Returns None if a URL can be a host page (an entry page of a site, whose words describe the
    topic), otherwise the code of the rule that it breaks. `anchor` is the text of links to it,
    `in_links` their number.

    Rules of the tunnelling paper, with their codes: the path is "/" or ends in index or default
    ("path"); at least 3 in-links ("in_links"); an anchor with at most 12 Chinese and at most 30
    other characters ("anchor_length"), which is not a pagination link ("paging"); a URL of at most
    80 characters ("url_length") and at most 4 path segments ("depth").
    """
    path = unquote(urlsplit(url).path) or "/"
    if not _HOST_PATH.search(path):
        return "path"
    if in_links < MIN_IN_LINKS:
        return "in_links"
    if (
        len(_HAN.findall(anchor)) > MAX_ANCHOR_HAN
        or len(_HAN.sub("", anchor).strip()) > MAX_ANCHOR_LATIN
    ):
        return "anchor_length"
    if _PAGING.search(anchor):
        return "paging"
    if len(url) > MAX_URL:
        return "url_length"
    if len([part for part in path.split("/") if part]) > MAX_PATH_DEPTH:
        return "depth"
    return None


@dataclass(frozen=True, slots=True)
class HostPage:
    """A host page (entry page of a site), with the anchor and the number of in-links by which it
    was recognised."""

    url: str
    anchor: str
    in_links: int


def host_pages(pages: Iterable[Page]) -> list[HostPage]:
    """Returns the host pages (entry pages of sites) among a run's fetched pages. Only links among
    the fetched pages count as in-links; of the anchors of a page's in-links the shortest is used.
    """
    fetched = {page.content.url: page for page in pages}
    anchors: dict[str, list[str]] = {}
    for page in fetched.values():
        for link in page.links:
            if link.url in fetched:
                anchors.setdefault(link.url, []).append(link.anchor)
    found = []
    for url, texts in anchors.items():
        anchor = min(texts, key=len)
        if host_page_refusal(url, anchor, len(texts)) is None:
            found.append(HostPage(url, anchor, len(texts)))
    return found


def topic_lexicon(texts: Iterable[str], top: int = LEXICON_WORDS) -> dict[str, float]:
    """Returns keywords of a topic with weights, from the texts of host pages or samples: the 20
    best words of each text by TextRank, merged into at most `top` words; the greatest weight is 1.

    Only for use between runs: if the lexicon changed during a run, the run's own pages would shift
    the topic.
    """
    return merge((keywords(text, WORDS_A_PAGE) for text in texts), top)


def near_lexicon(
    pages: Iterable[Page], topic_words: Mapping[str, float], top: int = LEXICON_WORDS
) -> dict[str, float]:
    """Returns at most `top` words, with weights, that are typical of off-topic pages from which a
    relevant page can be reached in one or two clicks. The topic's own words are left out.

    The weight of a word is the share of such pages that contain it, minus the share among the other
    off-topic pages; words with a positive weight are kept, scaled so that the greatest weight is 1.
    Only for use between runs."""
    all_pages = list(pages)
    on_topic = {page.url for page in all_pages if page.relevant}
    others = [page for page in all_pages if not page.relevant]
    parents = {page.url for page in others if any(link.url in on_topic for link in page.links)}
    leading = parents | {
        page.url for page in others if any(link.url in parents for link in page.links)
    }
    lead, rest = (
        _shares(p for p in others if p.url in leading),
        _shares(p for p in others if p.url not in leading),
    )
    gains = {
        word: share - rest.get(word, 0.0) for word, share in lead.items() if word not in topic_words
    }
    chosen = sorted(
        ((word, gain) for word, gain in gains.items() if gain > 0),
        key=lambda pair: (-pair[1], pair[0]),
    )[:top]
    return {word: gain / chosen[0][1] for word, gain in chosen}


def _shares(pages: Iterable[Page]) -> dict[str, float]:
    counts: dict[str, int] = {}
    number = 0
    for page in pages:
        number += 1
        for word in page.content.words:
            counts[word] = counts.get(word, 0) + 1
    return {word: count / number for word, count in counts.items()}
