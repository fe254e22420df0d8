"""Pages by key: every row once, in order, forwards and backwards, with empty values last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawlmgr.models import Host
from crawlmgr.reads.paging import BY_ID, Order, cut

START = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS = [
    BY_ID,
    Order(("key",), downwards=False),
    Order(("failures", "connections", "id"), downwards=False),
    Order(("failures", "id")),
    Order(("last_request_at", "id"), nullable=True),
    Order(("last_request_at", "id"), downwards=False, nullable=True),
]
HOURS = st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=23)


def make(hours: list[int | None]) -> None:
    Host.objects.all().delete()
    Host.objects.bulk_create(
        Host(
            key=f"h{(7 * number) % 101:03}.example", failures=(hour or 0) % 3, connections=number % 4,
            last_request_at=None if hour is None else START + timedelta(hours=hour),
        )
        for number, hour in enumerate(hours)
    )


def expected(order: Order) -> list[int]:
    def place(host: Host) -> list[Any]:
        values = [getattr(host, name) for name in order.fields]
        return [START - timedelta(days=1) if value is None else value for value in values]

    rows = sorted(Host.objects.all(), key=place, reverse=order.downwards)
    if order.nullable:
        rows = sorted(rows, key=lambda host: getattr(host, order.fields[0]) is None)
    return [host.pk for host in rows]


def walk(order: Order, size: int, first: dict[str, str], link: str, word: str) -> list[list[int]]:
    pages, query = [], first
    for _ in range(60):
        found = cut(Host.objects.all(), order, size=size, query=query)
        pages.append([host.pk for host in found.rows])
        token = getattr(found, link)
        if not token:
            return pages
        query = {word: token}
    raise AssertionError("the pages do not end")


@pytest.mark.django_db
@pytest.mark.parametrize("order", ORDERS, ids=str)
@given(hours=HOURS, size=st.integers(1, 6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_row_stands_on_one_page_in_both_directions(order: Order, hours: list[int | None], size: int) -> None:
    make(hours)
    wanted = expected(order)
    assert [pk for page in walk(order, size, {}, "older", "after") for pk in page] == wanted
    backwards = walk(order, size, {"last": "1"}, "newer", "before")
    assert [pk for page in reversed(backwards) for pk in page] == wanted


@pytest.mark.django_db
def test_the_first_page_leads_only_on_and_the_last_only_back() -> None:
    make([1] * 5)
    first = cut(Host.objects.all(), size=2)
    assert not first.newer and first.older
    last = cut(Host.objects.all(), size=2, query={"last": "1"})
    assert last.newer and not last.older
    middle = cut(Host.objects.all(), size=2, query={"after": first.older})
    assert middle.newer and middle.older


@pytest.mark.django_db
@pytest.mark.parametrize("token", ["x", "1~2~3~4", "n", "t2026", "s0", "t2026-01-01~n", "9" * 40, "~", "t9999999~1"])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_a_token_that_is_none_gives_the_first_page(order: Order, token: str) -> None:
    make([1, 2, None])
    assert [host.pk for host in cut(Host.objects.all(), order, query={"after": token}).rows][:1] == expected(order)[:1] or token == "1"


@pytest.mark.django_db
def test_tokens_stand_in_an_address_as_they_are() -> None:
    """A plus sign would come back as a space, and the next page would be the first one again."""
    Host.objects.bulk_create(Host(key=str(n), last_request_at=START + timedelta(hours=n, microseconds=n)) for n in range(9))
    order = Order(("last_request_at", "id"), nullable=True)
    first = cut(Host.objects.all(), order, size=4)
    sent = QueryDict(f"after={first.older}").dict()
    assert [host.key for host in cut(Host.objects.all(), order, size=4, query=sent).rows] == ["4", "3", "2", "1"]
