"""Tests that tables and WARC files are downloaded as streams with a file name, and that a missing
one gives status 404."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from crawlmgr.archive import warc_files
from crawlmgr.exports import text_formats
from crawlmgr.models import WarcFile
from tests.crawlmgr.admin.rows import NOW, user, world

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("viewer"))
    return made


@pytest.mark.parametrize("table", ["boards", "threads", "posts", "visits", "pages", "runs"])
def test_every_table_comes_as_a_file_in_every_form(client: Client, table: str) -> None:
    keys = world(3)
    for fmt in text_formats.TEXTS:
        answer = client.get(f"/admin/export/{table}.{fmt}?site={keys['site']}")
        assert answer.streaming and answer.status_code == 200
        assert answer.headers["Content-Disposition"].startswith(
            f'attachment; filename="{table}-site-{keys["site"]}-'
        )
        body = b"".join(answer.streaming_content).decode()
        rows = {
            "csv": lambda text: text.splitlines()[1:],
            "json": json.loads,
            "jsonl": str.splitlines,
        }[fmt](body)
        assert rows, (table, fmt)


@pytest.mark.parametrize(
    "address",
    [
        "nothing.csv",
        "posts.xml",
        "posts.csv?site=x",
        "posts.csv?since=2026-13-99",
        "posts.csv?site=1&run=1.5",
    ],
)
def test_what_cannot_be_exported_is_not_found(client: Client, address: str) -> None:
    assert client.get(f"/admin/export/{address}").status_code == 404


def test_a_warc_file_is_given_as_it_lies(client: Client) -> None:
    file = WarcFile.objects.create(name="there.warc.gz", created=NOW)
    warc_files.path_of(file).write_bytes(b"records")
    answer = client.get(f"/admin/archive/files/{file.pk}/download")
    assert (
        b"".join(answer.streaming_content) == b"records"
        and "there.warc.gz" in answer.headers["Content-Disposition"]
    )
    gone = WarcFile.objects.create(name="gone.warc.gz", created=NOW)
    outside = WarcFile.objects.create(name="../secret.key", created=NOW)
    for one in (gone, outside):
        assert client.get(f"/admin/archive/files/{one.pk}/download").status_code == 404
