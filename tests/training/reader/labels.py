"""Computes training labels for the candidates (links and elements) of a page from the page's
checked records: the label tells whether a candidate is part of a record; -1 excludes it from
training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from forums.reading.document import Link, Page
from forums.reading.learned.bodies import BodyTable
from forums.reading.posts.post_set import PostSet
from forums.reading.words import class_roles
from tests.training.reader.scoring import Truth, address_key, bare, name_key

_KEY, _LONGEST, _NEAR, _INSIDE = 30, 600, 60, 400


def link_labels(links: Sequence[Link], truth: Truth) -> np.ndarray:
    """Returns a label for each link: 1 if it names a thread, 2 a board, 0 nothing; -1 for further
    links to the target of a record, and for links to the `optional_urls` of the truth (records that
    a reading may contain or lack).
    """
    labels = np.zeros(len(links), dtype=np.int64)
    if truth["kind"] not in ("threadlist", "index"):
        return labels
    wanted: dict[str | None, str] = {}
    for record in truth["records"]:
        wanted.setdefault(
            address_key(record["url"], truth), name_key(record.get("title") or record.get("name"))
        )
    optional = {address_key(url, truth) for url in truth.get("optional_urls", [])}
    places: dict[str | None, list[int]] = defaultdict(list)
    for at, link in enumerate(links):
        key = address_key(link.url, truth)
        if key in wanted:
            places[key].append(at)
        elif key in optional:
            labels[at] = -1
    by_name: dict[str, list[int]] = defaultdict(list)
    for at, link in enumerate(links):
        by_name[name_key(link.text)].append(at)
    for key, found in places.items():
        alike = by_name[wanted[key]]
        # On link-sharing sites, titles lead to other sites while the record's address is that of
        # the discussion: the link with the title is labelled then.
        named = [at for at in found if at in alike] or [
            at for at in alike if not links[at].is_local
        ]
        labels[found] = -1
        labels[named[0] if named else max(found, key=lambda at: len(links[at].text))] = (
            1 if truth["kind"] == "threadlist" else 2
        )
    return labels


def body_labels(page: Page, table: BodyTable, truth: Truth, posts: PostSet | None) -> np.ndarray:
    """Returns a label for each candidate text: 1 if it is the text of a post, 0 if not, -1 to leave
    it out: other elements that begin with a post's text, and texts of `optional_records` (posts
    that a reading may contain or lack). posts: those found by the rules, used to choose between
    nested elements."""
    outline, labels = page.outline, np.zeros(len(table.nodes), dtype=np.int64)
    if truth["kind"] != "thread" or not len(labels):
        return labels
    texts = [bare(outline.text(int(node)))[:_LONGEST] for node in table.nodes]
    chains = _chains(page, table, texts, truth)
    deepest = [int(table.nodes[chain[-1]]) for chain in chains]
    known = {body for body in posts.bodies if body is not None} if posts else set()
    for chain in chains:
        single = [
            at
            for at in chain
            if sum(outline.contains(int(table.nodes[at]), start) for start in deepest) == 1
        ]
        fitting = single or chain[-1:]
        best = [at for at in fitting if int(table.nodes[at]) in known] or [
            at
            for at in fitting
            if outline.tags[table.nodes[at]] != "p"
            and "body" in class_roles(outline.classes[table.nodes[at]])
        ]
        labels[chain] = -1
        labels[(best or fitting)[0]] = 1
    for record in truth.get("optional_records", []):
        for start in filter(None, (record.get("text_start"), *(record.get("text_alts") or []))):
            key = bare(start)[:_KEY]
            for at, text in enumerate(texts):
                if labels[at] == 0 and key in text[:_INSIDE]:
                    labels[at] = -1
    return labels


def _chains(page: Page, table: BodyTable, texts: list[str], truth: Truth) -> list[list[int]]:
    """Returns a list for each true post found on the page: the candidates whose text begins
    (nearly) with that of the post, as indices into `texts`. They are nested in each other and
    listed outermost first. `texts`: the texts of the candidates in `table`."""
    used: set[int] = set()
    chains = []
    for record in truth["records"]:
        keys = [
            bare(text)[:_KEY]
            for text in (record.get("text_start"), *(record.get("text_alts") or []))
            if text
        ]
        # a short text is taken for the whole post first: many others may begin with it
        whole = {key for key in keys if len(key) < _KEY}
        left = [at for at in range(len(texts)) if at not in used]
        found = [at for at in left if texts[at] in whole] or [
            at for at in left if any(texts[at].startswith(key) for key in keys)
        ]
        if not found:
            near = [key for key in keys if len(key) >= 8]
            found = [
                at
                for at in range(len(texts))
                if at not in used and any(key in texts[at][:_NEAR] for key in near)
            ]
        if found:
            end = page.outline.ends[int(table.nodes[found[0]])]
            chain = [at for at in found if table.nodes[at] < end]
            chains.append(chain)
            used.update(chain)
    return chains
