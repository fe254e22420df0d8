"""Tests of finding the stored thread that belongs to a row under a new address."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr.models import Host
from crawlmgr.web.url import url_hash
from forums.discovery import SiteModel
from forums.discovery.model import BoardFound
from forums.models import Board, Site, Thread
from forums.reading import thread_key
from forums.visits import moved_addresses
from forums.visits.moved_addresses import Shown

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ROOT = "http://forum.test"


@pytest.fixture
def site() -> Site:
    host = Host.objects.create(key="forum.test")
    return Site.objects.create(
        name="Forum", url=f"{ROOT}/", url_hash=url_hash(f"{ROOT}/"), host=host, added=DAY
    )


def thread(
    site: Site, number: int, title: str, author: str = "anna", last: datetime = DAY
) -> Thread:
    board, _made = Board.objects.get_or_create(
        site=site, key="b", defaults={"url": f"{ROOT}/board/1", "name": "Garden"}
    )
    url = f"{ROOT}/topic/{number}"
    return Thread.objects.create(
        site=site,
        board=board,
        key=thread_key(url),
        url=url,
        title=title,
        author=author,
        last_reply=last,
        first_seen=DAY,
        signature={"l": "old", "n": 3},
    )


def row(number: int, title: str, author: str = "anna", last: datetime = DAY) -> Shown:
    return Shown(f"{ROOT}/discussions/{number}-name", title, author, None, (last, 60))


def test_title_author_and_time_tell_the_thread(site: Site) -> None:
    roses, tulips = thread(site, 1, "Roses"), thread(site, 2, "Tulips")
    rows = [row(71, "Roses", last=DAY + timedelta(days=2)), row(72, "Tulips"), row(73, "Asters")]
    assert moved_addresses.follow(site.pk, rows) == 2
    roses.refresh_from_db(), tulips.refresh_from_db()
    assert (roses.url, roses.key) == (rows[0].url, rows[0].key) and tulips.url == rows[1].url
    assert roses.signature == {"n": 3} and Thread.objects.count() == 2
    assert moved_addresses.follow(site.pk, rows) == 0


@pytest.mark.parametrize(
    "shown",
    [
        row(71, "Roses", author="bert"),
        row(71, "Roses", last=DAY - timedelta(days=1)),  # older than the stored last reply
        Shown(
            f"{ROOT}/discussions/71-name", "Roses"
        ),  # an equal title alone does not show that a thread has moved
        Shown(
            f"{ROOT}/topic/1", "Roses", "anna"
        ),  # still listed under its stored address, so not moved
    ],
)
def test_what_does_not_agree_is_another_thread(site: Site, shown: Shown) -> None:
    thread(site, 1, "Roses")
    assert moved_addresses.found_again(site.pk, [shown]) == {}


def test_of_threads_with_one_title_the_author_tells_and_else_nothing(site: Site) -> None:
    first, second = thread(site, 1, "Hello", "anna"), thread(site, 2, "Hello", "bert")
    found = moved_addresses.found_again(
        site.pk, [row(71, "Hello", "bert"), row(72, "Hello", "anna"), row(73, "Hello", "")]
    )
    assert {key: one.pk for key, one in found.items()} == {
        row(71, "").key: second.pk,
        row(72, "").key: first.pk,
    }
    thread(site, 3, "Hello", "bert")
    assert row(71, "").key not in moved_addresses.found_again(site.pk, [row(71, "Hello", "bert")])


def test_a_thread_that_the_list_still_shows_under_its_own_address_is_not_taken_for_another(
    site: Site,
) -> None:
    known = thread(site, 1, "Roses")
    rows = [
        Shown(known.url, "Roses", "", None, (DAY, 60)),
        Shown(f"{ROOT}/discussions/72", "Roses", "", None, (DAY, 60)),
    ]
    assert moved_addresses.found_again(site.pk, rows) == {}


def test_a_thread_under_an_address_of_the_new_form_does_not_move_again(site: Site) -> None:
    """A new weekly thread with the author and title of last week's is not taken for last week's
    thread at a new address."""
    last_week, new = (
        thread(site, 1, "What are you planting?"),
        row(72, "What are you planting?", last=DAY + timedelta(days=7)),
    )
    Thread.objects.filter(pk=last_week.pk).update(url=row(71, "").url, key=row(71, "").key)
    assert moved_addresses.follow(site.pk, [new]) == 0
    assert thread_key(row(71, "").url) == Thread.objects.get().key


def test_a_thread_with_fewer_replies_than_are_known_is_a_younger_one(site: Site) -> None:
    old = thread(site, 1, "What are you planting?")
    Thread.objects.filter(pk=old.pk).update(replies=40)
    shown = replace(row(72, old.title, last=DAY + timedelta(days=7)), replies=2)
    assert moved_addresses.found_again(site.pk, [shown]) == {}
    assert len(moved_addresses.found_again(site.pk, [replace(shown, replies=39)])) == 1, (
        "posts were counted, now replies are"
    )


def test_boards_whose_names_differ_in_case_alone_tell_nothing(site: Site) -> None:
    thread(site, 1, "Roses")
    found = tuple(
        BoardFound(f"{ROOT}/forums/{n}-x", name)
        for n, name in enumerate(("garden", "Garden"), start=7)
    )
    assert moved_addresses.follow_boards(site.pk, SiteModel("Forum", f"{ROOT}/", boards=found)) == 0
    assert (
        moved_addresses.follow_boards(site.pk, SiteModel("Forum", f"{ROOT}/", boards=found[:1]))
        == 1
    )
