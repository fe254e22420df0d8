"""Paging by key: every row appears once and in order, forwards and backwards, with empty values
last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawlmgr.admin.tables import newest_with
from crawlmgr.database.paging import BY_ID, Order, fetch_page
from crawlmgr.models import Event, Host, Run

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
            key=f"h{(7 * number) % 101:03}.example",
            failures=(hour or 0) % 3,
            connections=number % 4,
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
        found = fetch_page(Host.objects.all(), order, size=size, query=query)
        pages.append([host.pk for host in found.rows])
        token = getattr(found, link)
        if not token:
            return pages
        query = {word: token}
    raise AssertionError("the pages do not end")


@pytest.mark.django_db
@pytest.mark.parametrize("order", ORDERS, ids=str)
@given(hours=HOURS, size=st.integers(1, 6))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_row_stands_on_one_page_in_both_directions(
    order: Order, hours: list[int | None], size: int
) -> None:
    make(hours)
    wanted = expected(order)
    assert [pk for page in walk(order, size, {}, "older", "after") for pk in page] == wanted
    backwards = walk(order, size, {"last": "1"}, "newer", "before")
    assert [pk for page in reversed(backwards) for pk in page] == wanted


@pytest.mark.django_db
def test_the_first_page_leads_only_on_and_the_last_only_back() -> None:
    make([1] * 5)
    first = fetch_page(Host.objects.all(), size=2)
    assert not first.newer and first.older
    last = fetch_page(Host.objects.all(), size=2, query={"last": "1"})
    assert last.newer and not last.older
    middle = fetch_page(Host.objects.all(), size=2, query={"after": first.older})
    assert middle.newer and middle.older


@pytest.mark.django_db
@pytest.mark.parametrize(
    "token", ["x", "1~2~3~4", "n", "t2026", "s0", "t2026-01-01~n", "9" * 40, "~", "t9999999~1"]
)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_a_token_that_is_none_gives_the_first_page(order: Order, token: str) -> None:
    make([1, 2, None])
    assert [host.pk for host in fetch_page(Host.objects.all(), order, query={"after": token}).rows][
        :1
    ] == expected(order)[:1] or token == "1"


@pytest.mark.django_db
def test_tokens_stand_in_an_address_as_they_are() -> None:
    """A paging token must not contain a plus sign: it would be decoded as a space, and the first
    page would be shown again."""
    Host.objects.bulk_create(
        Host(key=str(n), last_request_at=START + timedelta(hours=n, microseconds=n))
        for n in range(9)
    )
    order = Order(("last_request_at", "id"), nullable=True)
    first = fetch_page(Host.objects.all(), order, size=4)
    sent = QueryDict(f"after={first.older}").dict()
    assert [
        host.key for host in fetch_page(Host.objects.all(), order, size=4, query=sent).rows
    ] == ["4", "3", "2", "1"]


@pytest.mark.django_db
def test_joined_rows_are_put_in_order_before_they_are_joined(
    django_assert_num_queries: Any,
) -> None:
    host = Host.objects.create(key="one.example")
    run = Run.objects.create(kind="topic", label="first", created=START)
    Event.objects.bulk_create(
        Event(level=20, code="x", text=str(n), run=run, host=host, at=START) for n in range(12)
    )
    with django_assert_num_queries(2) as asked:
        found = fetch_page(Event.objects.filter(code="x").select_related("run", "host"), size=5)
        assert [(row.text, row.run.label, row.host.key) for row in found.rows] == [
            (str(n), "first", "one.example") for n in (11, 10, 9, 8, 7)
        ]
    ordered, joined = (query["sql"] for query in asked.captured_queries)
    assert "JOIN" not in ordered and "JOIN" in joined
    further = fetch_page(
        Event.objects.filter(code="x").select_related("run", "host"),
        size=5,
        query={"after": found.older},
    )
    assert [row.text for row in further.rows] == ["6", "5", "4", "3", "2"]


@pytest.mark.django_db
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("count_to", [3, 22, 23, 50])
def test_the_first_page_counts_by_its_own_search(order: Order, count_to: int) -> None:
    make([None if n % 3 == 0 else n % 6 for n in range(23)])
    found = fetch_page(Host.objects.all(), order, size=5, count_to=count_to)
    assert found.count == min(23, max(5, count_to) + 1)
    assert [row.pk for row in found.rows] == expected(order)[:5]
    assert found.older and not found.newer
    assert (
        fetch_page(
            Host.objects.all(), order, size=5, query={"after": found.older}, count_to=count_to
        ).count
        is None
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("hours", "most"),
    [([5, 4, 3, 2, 1, None], 3), ([None] * 5 + [1], 3), ([None, 1, None, 2], 9), ([], 3)],
)
def test_a_search_among_the_newest_leaves_out_only_older_rows(
    hours: list[int | None], most: int
) -> None:
    make(hours)
    found = set(
        newest_with(most, "last_request_at", "key")(Host.objects.all(), "example").values_list(
            "pk", flat=True
        )
    )
    timed = sorted(
        (row for row in Host.objects.all() if row.last_request_at),
        key=lambda row: row.last_request_at,
        reverse=True,
    )
    untimed = sorted(
        (row for row in Host.objects.all() if not row.last_request_at), key=lambda row: -row.pk
    )
    wanted = {row.pk for row in timed[:most]} | (
        {row.pk for row in untimed[:most]} if len(timed) < most else set()
    )
    assert found == wanted
