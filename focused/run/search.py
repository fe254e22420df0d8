"""Full-text search over the pages of topic runs: words from this program's tokenizer in the
database's own inverted index (FTS5 in SQLite, tsvector in PostgreSQL). Excerpts around the first
hit are computed from the archived page."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection
from django.db.models import QuerySet

from crawlmgr.archive import archive
from crawlmgr.database import sql
from crawlmgr.database.sql import in_parts
from crawlmgr.models import Page
from crawlmgr.text.tokens import Tokenizer, tokenize
from crawlmgr.web.pages.html import scan
from focused.models import TopicPage, TopicRun
from focused.run.stored_pages import Arrival

# maximum number of words of a page that are indexed (a limit of PostgreSQL); later ones are not
# found
MAX_WORDS = 16_000
MAX_RANKED = (
    2_000  # if more pages match a search, only this many, the newest, are counted and ranked
)
_PART = re.compile(r'(-?)"([^"]*)"|(-?)(\S+)')


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed search: groups of words that must occur (`wanted`), and groups that must not. A
    group is a single word, or several words that must be adjacent."""

    wanted: tuple[tuple[str, ...], ...]
    unwanted: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """All words that a matching page must contain."""
        return frozenset(word for group in self.wanted for word in group)


@dataclass(frozen=True, slots=True)
class Hits:
    """One page of search results: the number of all results, and the ids of this page's results,
    best first. `truncated` is True if so many pages match that the oldest ones were neither counted
    nor ranked."""

    total: int
    pages: Sequence[int]
    truncated: bool = False


def read_query(text: str, user_words: Iterable[str] = ()) -> Query:
    """Parses the text of a search: several words may occur anywhere in the page, words in quotes
    must be adjacent, and a "-" before a word or quote excludes it. Chinese words need no spaces
    between them."""
    tokenizer = Tokenizer(user_words)
    wanted: list[tuple[str, ...]] = []
    unwanted: list[tuple[str, ...]] = []
    for not_phrase, phrase, not_word, word in _PART.findall(
        text.replace("“", '"').replace("”", '"')
    ):
        tokens = tuple(tokenizer(phrase or word))
        groups = [tokens] if phrase else [(token,) for token in tokens]
        (unwanted if not_phrase or not_word else wanted).extend(group for group in groups if group)
    return Query(tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(unwanted)))


def index(arrival: Arrival) -> None:
    """Adds a stored page's words to the search index; one of the functions listed in the setting
    TOPIC_STORE_STAGES."""
    if arrival.stored is None:
        return
    row = arrival.session.progress.row
    _put(_Entry(arrival.stored.pk, row.run_id, row.topic_id, arrival.draft.tokens[:MAX_WORDS]))


class _Entry(NamedTuple):
    """An entry of the full-text index: a page's id and words, and the ids of its run and topic.
    These two are also indexed as words (`scope_words`, such as "run#7"), so that a search can be
    limited to one run or topic."""

    pk: int
    run: int
    topic: int | None
    words: Sequence[str]

    @property
    def scope_words(self) -> tuple[str, ...]:
        return (
            (run_word(self.run),)
            if self.topic is None
            else (run_word(self.run), topic_word(self.topic))
        )


def run_word(pk: int) -> str:
    """Returns the word by which the search index marks the pages of a run; no text of a page
    contains such a word."""
    return f"run#{pk}"


def topic_word(pk: int) -> str:
    """Returns the index word for a topic, which cannot occur in a page."""
    return f"topic#{pk}"


def _put(entry: _Entry) -> None:
    if connection.vendor == "sqlite":
        values = (entry.pk, " ".join(entry.words), " ".join(entry.scope_words))
        sql.execute(
            "INSERT INTO focused_pagetext (rowid, words, place) VALUES (%s, %s, %s)", values
        )
        return
    sql.execute(
        "INSERT INTO focused_pagetext (rowid, words) VALUES (%s, %s::tsvector)"
        " ON CONFLICT (rowid) DO UPDATE SET words = EXCLUDED.words",
        (entry.pk, " ".join([_vector(entry.words), *map(_quoted, entry.scope_words)])),
    )


def clear() -> None:
    """Deletes all entries of the search index."""
    emptied = "INSERT INTO focused_pagetext (focused_pagetext) VALUES ('delete-all')"
    sql.execute(emptied if connection.vendor == "sqlite" else "DELETE FROM focused_pagetext", ())


def rebuild() -> None:
    """Rebuilds the search index from the stored pages, as after a restore: a backup contains the
    pages but not the index."""
    clear()
    for entry in _stored(TopicPage.objects.filter(kind=TopicPage.Kind.PAGE)):
        _put(entry)


def _stored(pages: QuerySet[TopicPage]) -> Iterator[_Entry]:
    """Yields the index entry of each of these pages, computed from its stored row."""
    topics = dict(TopicRun.objects.values_list("run_id", "topic_id"))
    for page in in_parts(pages.only("pk", "words", "packed", "run_id"), "pk", 500):
        words = bytes(page.words or b"")
        text = (zlib.decompress(words) if page.packed else words).decode("utf-8")
        yield _Entry(page.pk, page.run_id, topics.get(page.run_id), text.split(" ")[:MAX_WORDS])


def remove(keys: Sequence[int]) -> None:
    """Removes the pages with these ids from the search index. To be called before they are deleted,
    because SQLite needs their words for it. An entry that is left over causes no error: searches
    join with the pages.
    """
    if connection.vendor != "sqlite":
        places = ", ".join(["%s"] * len(keys))
        # only constant text
        sql.execute(
            f"DELETE FROM focused_pagetext WHERE rowid IN ({places})",  # noqa: S608
            tuple(keys),  # noqa: S608
        )
        return
    for entry in _stored(TopicPage.objects.filter(pk__in=keys, kind=TopicPage.Kind.PAGE)):
        sql.execute(
            "INSERT INTO focused_pagetext (focused_pagetext, rowid, words, place) VALUES ('delete',"
            " %s, %s, %s)",
            (entry.pk, " ".join(entry.words), " ".join(entry.scope_words)),
        )


def find(
    query: Query,
    run_ids: Sequence[int] = (),
    *,
    topic: int | None = None,
    start: int = 0,
    limit: int = 25,
) -> Hits:
    """Searches the pages of the runs `run_ids`, or of all runs of the topic with the id `topic`.
    Returns at most `limit` matching pages from index `start` on, best first (BM25; on PostgreSQL
    ts_rank). A page that several runs fetched is listed once, in its newest version. A query
    without a required word has no hits. If more than MAX_RANKED pages match, only the newest are
    counted and ranked, which limits the time of a search."""
    places = [topic_word(topic)] if topic is not None else [run_word(pk) for pk in run_ids]
    if not query.wanted or not places:
        return Hits(0, ())
    hits, values, cut = (_hits_sqlite if connection.vendor == "sqlite" else _hits_postgresql)(
        query, places
    )
    once = (
        # only constant text
        f"WITH hit AS MATERIALIZED ({hits}) "  # noqa: S608
        "SELECT MAX(t.id) AS id, MIN(hit.score) AS "
        f"score"  # noqa: S608
        " FROM hit JOIN focused_topicpage t ON t.id = hit.id GROUP BY t.url_hash"
    )
    rows = sql.fetch(f"{once} ORDER BY score, id", values)
    return Hits(len(rows), tuple(pk for pk, _ in rows[start : start + limit]), cut)


Found = tuple[str, tuple[object, ...], bool]
"""An SQL query for `id` and `score` of the hits, the values of its placeholders, and whether older
hits are left out."""


def _hits_sqlite(query: Query, places: Sequence[str]) -> Found:
    fits = (
        f"words : ({_fts5(query)}) AND place :"
        f" ({' OR '.join(_phrase([place]) for place in places)})"
    )
    newest = (
        "SELECT rowid FROM focused_pagetext WHERE focused_pagetext MATCH %s ORDER BY rowid DESC"
        " LIMIT 1 OFFSET %s"
    )
    older = sql.fetch(newest, (fits, MAX_RANKED))
    hits = (
        "SELECT rowid AS id, bm25(focused_pagetext, 1.0, 0.0) AS score FROM focused_pagetext"
        " WHERE focused_pagetext MATCH %s AND rowid > %s"
    )
    return hits, (fits, older[0][0] if older else -1), bool(older)


def _hits_postgresql(query: Query, places: Sequence[str]) -> Found:
    words = _tsquery(query)
    fits = f"({words}) & ({' | '.join(map(_quoted, places))})"
    few = (
        "SELECT COUNT(*) FROM (SELECT 1 FROM focused_pagetext WHERE words @@ %s::tsquery LIMIT %s)"
        " AS found"
    )
    cut = sql.fetch(few, (fits, MAX_RANKED + 1))[0][0] > MAX_RANKED
    newest = "SELECT rowid FROM focused_pagetext WHERE words @@ %s::tsquery"
    newest += f" ORDER BY rowid DESC LIMIT {MAX_RANKED}" if cut else ""
    hits = (
        f"SELECT rowid AS id, -ts_rank(words, %s::tsquery) AS score FROM "  # noqa: S608
        f"focused_pagetext "  # noqa: S608
        f"WHERE rowid IN ({newest})"
    )
    return hits, (words, fits), cut


def _phrase(words: Sequence[str]) -> str:
    return '"' + " ".join(word.replace('"', "") for word in words) + '"'


def _fts5(query: Query) -> str:
    text = " AND ".join(_phrase(words) for words in query.wanted)
    return (
        f"({text}) NOT ({' OR '.join(_phrase(words) for words in query.unwanted)})"
        if query.unwanted
        else text
    )


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _tsquery(query: Query) -> str:
    def group(words: Sequence[str]) -> str:
        return "(" + " <-> ".join(_quoted(word) for word in words) + ")"

    return " & ".join(
        [
            *(group(words) for words in query.wanted),
            *(f"!{group(words)}" for words in query.unwanted),
        ]
    )


def _vector(tokens: Sequence[str]) -> str:
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens, start=1):
        found = places.setdefault(token[:500], [])
        if len(found) < 255:
            found.append(place)
    return " ".join(f"{_quoted(token)}:{','.join(map(str, at))}" for token, at in places.items())


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
