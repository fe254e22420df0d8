"""Full-text search over fetched pages: words as our tokenizer splits them, in the database's own inverted index."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import QuerySet

from crawlmgr.services import sql
from crawlmgr.text.tokens import Tokenizer
from focused.models import TopicPage
from focused.services.pages import Arrival

MOST_WORDS = 16_000  # positions that PostgreSQL keeps of a text
_PART = re.compile(r'(-?)"([^"]*)"|(-?)(\S+)')


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: groups of words that stand side by side (one alone is a word), and groups that must not be there."""

    wanted: tuple[tuple[str, ...], ...]
    unwanted: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """Every word that is looked for."""
        return frozenset(word for group in self.wanted for word in group)


@dataclass(frozen=True, slots=True)
class Hits:
    """A page of results, best first, and how many there are in all."""

    total: int
    pages: Sequence[int]


def read_query(text: str, user_words: Iterable[str] = ()) -> Query:
    """Words anywhere in the page, "words side by side" in quotes, -without. Chinese needs no spaces."""
    tokenizer = Tokenizer(user_words)
    wanted: list[tuple[str, ...]] = []
    unwanted: list[tuple[str, ...]] = []
    for not_phrase, phrase, not_word, word in _PART.findall(text.replace("“", '"').replace("”", '"')):
        tokens = tuple(tokenizer(phrase or word))
        groups = [tokens] if phrase else [(token,) for token in tokens]
        (unwanted if not_phrase or not_word else wanted).extend(group for group in groups if group)
    return Query(tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(unwanted)))


def index(arrival: Arrival) -> None:
    """Stage: puts the page's words into the index."""
    if arrival.stored is None:
        return
    tokens = arrival.draft.tokens[:MOST_WORDS]
    if connection.vendor == "sqlite":
        sql.execute("INSERT INTO focused_pagetext (rowid, words) VALUES (%s, %s)", (arrival.stored.pk, " ".join(tokens)))
    else:
        _put_vector(arrival.stored.pk, tokens)


def _put_vector(pk: int, tokens: Sequence[str]) -> None:
    sql.execute(
        "INSERT INTO focused_pagetext (rowid, words) VALUES (%s, %s::tsvector)"
        " ON CONFLICT (rowid) DO UPDATE SET words = EXCLUDED.words",
        (pk, _vector(tokens)),
    )


def clear() -> None:
    """Empties the index."""
    emptied = "INSERT INTO focused_pagetext (focused_pagetext) VALUES ('delete-all')"
    sql.execute(emptied if connection.vendor == "sqlite" else "DELETE FROM focused_pagetext", ())


def rebuild() -> None:
    """Makes the index anew from the pages that are stored, as after a restore: a backup holds the pages and not the index."""
    clear()
    for pk, tokens in _stored(TopicPage.objects.filter(kind=TopicPage.Kind.PAGE)):
        if connection.vendor == "sqlite":
            sql.execute("INSERT INTO focused_pagetext (rowid, words) VALUES (%s, %s)", (pk, " ".join(tokens)))
        else:
            _put_vector(pk, tokens)


def _stored(pages: QuerySet[TopicPage]) -> Iterator[tuple[int, list[str]]]:
    """Key and indexed words of each page."""
    for pk, words, packed in pages.values_list("pk", "words", "packed").iterator(chunk_size=500):
        text = (zlib.decompress(words) if packed else bytes(words)).decode("utf-8")
        yield pk, text.split(" ")[:MOST_WORDS]


def remove(keys: Sequence[int]) -> None:
    """Takes pages out of the index, before they are deleted. What is left of others is never found."""
    if connection.vendor != "sqlite":
        places = ", ".join(["%s"] * len(keys))
        sql.execute(f"DELETE FROM focused_pagetext WHERE rowid IN ({places})", tuple(keys))  # noqa: S608 - fixed words
        return
    for pk, tokens in _stored(TopicPage.objects.filter(pk__in=keys, kind=TopicPage.Kind.PAGE)):
        kept = " ".join(tokens)
        sql.execute("INSERT INTO focused_pagetext (focused_pagetext, rowid, words) VALUES ('delete', %s, %s)", (pk, kept))


def find(query: Query, run_ids: Sequence[int], *, start: int = 0, limit: int = 25) -> Hits:
    """The pages of the runs that fit, best first (BM25, on PostgreSQL ts_rank); a page of several runs once, its newest."""
    if not query.wanted or not run_ids:
        return Hits(0, ())
    places = ", ".join(["%s"] * len(run_ids))
    if connection.vendor == "sqlite":
        fits, score, values = "focused_pagetext MATCH %s", "bm25(focused_pagetext)", (_fts5(query),)
        ranked: tuple[object, ...] = ()
    else:
        fits, score, values = "x.words @@ %s::tsquery", "-ts_rank(x.words, %s::tsquery)", (_tsquery(query),)
        ranked = values
    inner = (
        f"SELECT t.id AS id, t.url_hash AS url_hash, {score} AS score FROM focused_pagetext x"  # noqa: S608 - fixed words
        f" JOIN focused_topicpage t ON t.id = x.rowid WHERE {fits} AND t.run_id IN ({places})"
    )
    once = f"WITH hit AS MATERIALIZED ({inner}) SELECT MAX(id) AS id, MIN(score) AS score FROM hit GROUP BY url_hash"  # noqa: S608
    total = sql.fetch(f"SELECT COUNT(*) FROM ({once}) AS pages", (*ranked, *values, *run_ids))[0][0]  # noqa: S608
    rows = sql.fetch(f"{once} ORDER BY score, id LIMIT %s OFFSET %s", (*ranked, *values, *run_ids, limit, start))
    return Hits(int(total), tuple(pk for pk, _ in rows))


def _fts5(query: Query) -> str:
    def group(words: Sequence[str]) -> str:
        return '"' + " ".join(word.replace('"', "") for word in words) + '"'

    text = " AND ".join(group(words) for words in query.wanted)
    return f"({text}) NOT ({' OR '.join(group(words) for words in query.unwanted)})" if query.unwanted else text


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _tsquery(query: Query) -> str:
    def group(words: Sequence[str]) -> str:
        return "(" + " <-> ".join(_quoted(word) for word in words) + ")"

    return " & ".join([*(group(words) for words in query.wanted), *(f"!{group(words)}" for words in query.unwanted)])


def _vector(tokens: Sequence[str]) -> str:
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens, start=1):
        found = places.setdefault(token[:500], [])
        if len(found) < 255:
            found.append(place)
    return " ".join(f"{_quoted(token)}:{','.join(map(str, at))}" for token, at in places.items())
