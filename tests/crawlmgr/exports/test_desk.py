"""The exports pages: a preview before anything is saved, then the file, then a download address for
programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from crawlmgr import jobs
from crawlmgr.exports import saved_exports
from crawlmgr.models import Export, Run
from forums.models import Post, Site
from tests.crawlmgr.admin.rows import EVIL, tight, user, world

pytestmark = pytest.mark.django_db
FILLED = {"name": "posts", "format": "csv", "every_hours": "0", "keep": "3"}


@pytest.fixture
def client(settings: Any, tmp_path: Path) -> Client:
    settings.EXPORT_DIR = tmp_path / "exports"
    world(4)
    made = Client(headers={"accept-language": "en"})
    made.force_login(user("operator"))
    return made


def test_the_first_rows_are_shown_and_nothing_is_kept(client: Client) -> None:
    shown = client.get("/admin/exports/new/?table=posts").content.decode()
    author = Post.objects.order_by("pk")[0].author
    assert "thread_url" in shown and author and EVIL not in shown
    only = client.post(
        "/admin/exports/new/?table=posts", {**FILLED, "columns": ["author"]}
    ).content.decode()
    assert ">author</td>" in only and ">thread_url</td>" not in only
    none = client.post(
        "/admin/exports/new/?table=posts", {**FILLED, "site": "99999"}
    ).content.decode()
    assert "No row matches." in none
    assert not Export.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"format": "exe"},
        {"keep": "0"},
        {"every_hours": "7"},
        {"columns": ["x"]},
        {"days": "-1"},
    ],
)
def test_a_wrong_wish_is_said_beside_the_form(client: Client, wrong: dict[str, Any]) -> None:
    answer = client.post("/admin/exports/new/?table=posts", {**FILLED, **wrong, "keep-it": "1"})
    assert (
        answer.status_code == 422
        and 'class="wrong"' in answer.content.decode()
        and not Export.objects.exists()
    )
    assert client.get("/admin/exports/new/?table=nothing").status_code == 404


def test_site_and_run_are_chosen_by_name(client: Client) -> None:
    site = Site.objects.order_by("pk")[0]
    Site.objects.filter(pk=site.pk).update(name="Riverside forum")
    run = Run.objects.filter(kind="forum").order_by("-pk")[0]
    shown = client.get(f"/admin/exports/new/?table=posts&site={site.pk}").content.decode()
    assert f'value="Riverside forum #{site.pk}"' in shown and '<datalist id="run-names">' in shown
    for wish in ("riverside", f"Riverside forum #{site.pk}", str(site.pk)):
        client.post(
            "/admin/exports/new/?table=posts",
            {**FILLED, "site": wish, "run": str(run.pk), "keep-it": "1"},
        )
        made = Export.objects.get()
        assert (made.site, made.run) == (site.pk, run.pk), wish
        assert "<dd>Riverside forum</dd>" in tight(client.get(f"/admin/exports/{made.pk}/"))
        Run.objects.filter(kind="export").delete()
        made.delete()
    for wrong in ({"site": "nowhere"}, {"site": "#"}, {"run": "-1"}, {"run": "9" * 40}):
        answer = client.post("/admin/exports/new/?table=posts", {**FILLED, **wrong, "keep-it": "1"})
        assert answer.status_code == 422 and 'class="wrong"' in answer.content.decode(), wrong
    assert not Export.objects.exists()


def test_a_part_of_a_name_that_several_have_is_asked_back(client: Client) -> None:
    Site.objects.update(name="Riverside forum")
    answer = client.post("/admin/exports/new/?table=posts", {**FILLED, "site": "riverside"})
    assert (
        answer.status_code == 422 and "Several names contain this text" in answer.content.decode()
    )


def test_kept_written_and_fetched_by_its_address_it_is_the_database_row_by_row(
    client: Client,
) -> None:
    answer = client.post(
        "/admin/exports/new/?table=posts", {**FILLED, "columns": ["author", "text"], "keep-it": "1"}
    )
    export = Export.objects.get()
    assert answer.headers["Location"] == f"/admin/exports/{export.pk}/"
    assert "Being written" in client.get(f"/admin/exports/{export.pk}/?part=live").content.decode()
    jobs.run_slice(Run.objects.get(kind="export").pk)
    live = client.get(f"/admin/exports/{export.pk}/?part=live").content.decode()
    file = export.files.get()
    assert file.name in live and "Being written" not in live
    shown = client.post(f"/admin/exports/{export.pk}/address/").content.decode()
    address = "/exports/" + shown.split("http://testserver/exports/")[1].split("<")[0]
    assert address not in client.get(f"/admin/exports/{export.pk}/").content.decode()
    program = Client()
    answer = program.get(address)
    found = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode(), newline="")))
    rows = Post.objects.order_by("pk").values_list("author", "text")
    assert found[1:] == [
        [f"'{cell}" if cell[:1] in ("=", "+", "-", "@") else cell for cell in row] for row in rows
    ]
    manifest = json.loads(b"".join(program.get(f"{address}?manifest").streaming_content))
    assert manifest["sha256"] == file.sha256 and manifest["rows"] == len(rows)
    assert (
        program.get(address, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    )
    assert program.post(address).status_code == 405
    client.post(f"/admin/exports/{export.pk}/address/remove/")
    assert program.get(address).status_code == 404


def test_a_file_that_is_gone_is_said_to_be(client: Client) -> None:
    client.post("/admin/exports/new/?table=runs", {**FILLED, "name": "runs", "keep-it": "1"})
    jobs.run_slice(Run.objects.get(kind="export").pk)
    file = Export.objects.get().files.get()
    assert client.get(f"/admin/exports/file/{file.pk}").status_code == 200
    saved_exports.path_of(file).unlink()
    assert client.get(f"/admin/exports/file/{file.pk}").status_code == 404


def test_the_plan_is_set_and_a_wrong_one_refused(client: Client) -> None:
    client.post("/admin/exports/new/?table=runs", {**FILLED, "keep-it": "1"})
    export = Export.objects.get()
    client.post(f"/admin/exports/{export.pk}/plan/", {"every_hours": "24", "keep": "9"})
    export.refresh_from_db()
    assert (export.every_hours, export.keep) == (24, 9) and export.next_at is not None
    for wrong in ({"every_hours": "5", "keep": "9"}, {"every_hours": "24", "keep": "x"}, {}):
        client.post(f"/admin/exports/{export.pk}/plan/", wrong)
    export.refresh_from_db()
    assert (export.every_hours, export.keep) == (24, 9)


def test_the_list_asks_as_often_for_one_export_as_for_many(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    now = Run.objects.order_by("pk")[0].created
    Export.objects.bulk_create(
        Export(name=f"{EVIL} {n}"[:100], table="posts", format="csv", created=now)
        for n in range(30)
    )
    client.get("/admin/exports/")
    with django_assert_max_num_queries(45):
        text = client.get("/admin/exports/").content.decode()
    assert EVIL not in text
