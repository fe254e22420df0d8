"""Searching records by parts of words, also without hits in the index; the index is updated when
records change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from deepweb.answers import storing
from deepweb.models import Form, Record, Source

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = [
    "Crawling the hidden web",
    'crawler\'s "frontier" queue',
    "50% of all_pages",
    "搜索引擎的网页抓取",
    "网页 archive",
    "A very plain record",
    *(f"plain record {number}" for number in range(5)),
]


@pytest.fixture
def rows() -> list[Record]:
    source = Source.objects.create(url="http://a.example/", key_hash=1, name="A", created=NOW)
    form = Form.objects.create(
        source=source,
        signature="s",
        page_url="http://a.example/",
        action="http://a.example/s",
        type="search",
        found=NOW,
        described={},
    )
    Record.objects.bulk_create(
        Record(source=source, form=form, key_hash=number, text=text, first_seen=NOW)
        for number, text in enumerate(TEXTS)
    )
    return list(Record.objects.order_by("id"))


def _found(text: str) -> list[str]:
    return list(
        storing.narrowed(Record.objects.all(), text).order_by("id").values_list("text", flat=True)
    )


@pytest.mark.parametrize("most", [storing.MAX_FOUND, 3, 0])
def test_every_word_is_somewhere_in_the_text(
    rows: list[Record], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Records with all words of a query are found, whatever MAX_FOUND is: for short words,
    characters with a meaning in search languages, and words that all records contain."""
    monkeypatch.setattr(storing, "MAX_FOUND", most)
    for query in (
        "CRAWL",
        "crawl web",
        '"frontier"',
        "50%",
        "all_pages",
        "网页",
        "搜索引擎",
        "网页 archive",
        "plain",
        "record 3",
        "a",
        "no such",
    ):
        expected = [
            text for text in TEXTS if all(word.lower() in text.lower() for word in query.split())
        ]
        assert _found(query) == expected, query
    assert _found("  ") == TEXTS


def test_what_changes_or_goes_is_found_as_it_stands(rows: list[Record]) -> None:
    rows[0].text = "Harvesting catalogues"
    Record.objects.bulk_update(rows[:1], ["text"])
    assert _found("hidden") == [] and _found("catalogue") == ["Harvesting catalogues"]
    Record.objects.filter(pk=rows[3].pk).delete()
    assert _found("搜索引擎") == []
    Record.objects.all().delete()
    assert _found("plain") == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps its index by itself")
def test_the_index_holds_what_the_records_say(rows: list[Record]) -> None:
    Record.objects.filter(pk=rows[1].pk).update(text="another text")
    Record.objects.filter(pk=rows[2].pk).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO deepweb_recordtext (deepweb_recordtext, rank) VALUES"
            " ('integrity-check', 1)"
        )
