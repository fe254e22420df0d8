"""Retention: the space that a choice frees is shown before it can be saved; a worker prunes; only
administrators see the page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django_q.models import OrmQ

from crawlmgr.models import Event, Retention
from crawlmgr.upkeep import pruning
from crawlmgr.upkeep.desk import NAMES
from tests.crawlmgr.admin.rows import user

pytestmark = pytest.mark.django_db
PAGE = "/admin/retention/"


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("administrator"))
    now = datetime.now(UTC)
    for days, number in ((10, 2), (100, 3)):
        Event.objects.bulk_create(
            Event(at=now - timedelta(days=days), level=20, code="x", text="y" * 100)
            for _ in range(number)
        )
    return made


def freed(answer: Any) -> dict[str, tuple[int, int]]:
    return {
        row["kind"]: (row["freed"].keep_days, row["freed"].rows) for row in answer.context["rows"]
    }


def test_every_kind_has_a_name() -> None:
    assert set(NAMES) == set(settings.KEEP_DAYS)


def test_what_a_choice_frees_is_shown_before_it_is_saved(client: Client) -> None:
    first = client.get(PAGE)
    assert freed(first)["events"] == (90, 3) and "Save these periods" not in first.content.decode()
    shown = client.get(PAGE, {"events": "5"})
    text = shown.content.decode()
    assert (
        freed(shown)["events"] == (5, 5)
        and "not saved yet" in text
        and "Save these periods" in text
        and "Prune now" not in text
    )
    assert not Retention.objects.exists() and pruning.kept()["events"] == 90
    assert Event.objects.count() == 5

    assert client.post(f"{PAGE}save/", {"events": "5"}).status_code == 302
    row = Retention.objects.get()
    assert (row.kind, row.keep_days, row.changed_by.username) == ("events", 5, "administrator")
    saved = client.get(PAGE)
    assert (
        freed(saved)["events"] == (5, 5)
        and "Prune now" in saved.content.decode()
        and Event.objects.count() == 5
    )
    assert pruning.prune(datetime.now(UTC)).rows["events"] == 5


@pytest.mark.parametrize("odd", ["-1", "x", "36501", "1.5", "²", ""])
def test_days_that_are_none_are_told_and_not_saved(client: Client, odd: str) -> None:
    answer = client.get(PAGE, {"events": odd})
    assert answer.status_code == 422 and "0 to 36500" in answer.content.decode()
    client.post(f"{PAGE}save/", {"events": odd})
    assert not Retention.objects.exists()


def test_pruning_is_a_workers(client: Client, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        client.post(f"{PAGE}prune/")
    assert OrmQ.objects.count() == 1 and Event.objects.count() == 5


def test_the_page_asks_no_more_for_many_rows(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(60):
        client.get(PAGE)


def test_the_tree_leads_administrators_there_only(client: Client) -> None:
    assert f'href="{PAGE}"' in client.get("/admin/workers/").content.decode()
    other = Client()
    other.force_login(user("operator"))
    assert (
        PAGE not in other.get("/admin/workers/").content.decode()
        and other.get(PAGE).status_code == 403
    )
