"""The frontier: addresses enter once and are claimed once; hosts take turns; leases expire."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from crawlmgr.frontier import frontier, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Event, Host, Run, Url, UrlState
from crawlmgr.runs import runs

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    hosts.forget()
    return runs.create("forum", "a forum", parameters={}, now=NOW, start=False)


def test_an_address_enters_a_run_once(run: Run) -> None:
    frontier.add(
        run.pk,
        [NewUrl("http://a.example/1"), NewUrl("http://a.example/1"), NewUrl("http://a.example/2")],
        NOW,
    )
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    assert Url.objects.filter(run=run).count() == 2
    frontier.add(run.pk, [NewUrl("http://a.example/1", key="again")], NOW)
    assert Url.objects.filter(run=run).count() == 3


def test_the_best_address_of_a_host_comes_first_and_the_clock_moves(run: Run) -> None:
    frontier.add(run.pk, [NewUrl(f"http://a.example/{n}", priority=n % 3) for n in range(6)], NOW)
    first = frontier.claim(run.pk, 1, NOW, 60)
    assert first is not None and first.url == "http://a.example/2"
    assert frontier.claim(run.pk, 1, NOW, 60) is None, "the host's turn is taken"
    assert Host.objects.get(key="a.example").next_at == NOW + timedelta(seconds=1)


def test_one_connection_means_one_address_in_work(run: Run) -> None:
    frontier.add(run.pk, [NewUrl(f"http://a.example/{n}") for n in range(3)], NOW)
    Host.objects.update(delay_seconds=0)
    first = frontier.claim(run.pk, 1, NOW, 60)
    assert first is not None and frontier.claim(run.pk, 1, NOW + timedelta(seconds=5), 60) is None
    frontier.finish(first, UrlState.DONE, NOW)
    assert frontier.claim(run.pk, 1, NOW + timedelta(seconds=5), 60) is not None
    Host.objects.update(connections=2)
    assert frontier.claim(run.pk, 1, NOW + timedelta(seconds=6), 60) is not None


def test_addresses_to_go_on_with_are_of_hosts_without_a_pause_that_nobody_else_can_ask(
    run: Run,
) -> None:
    for place, name in enumerate(("first", "paused", "wide", "free", "free-too")):
        frontier.add(run.pk, [NewUrl(f"http://{name}.example/{n}") for n in range(2)], NOW)
        values = {"delay_seconds": float(name == "paused"), "connections": 1 + (name == "wide")}
        Host.objects.filter(key=f"{name}.example").update(
            next_at=NOW + timedelta(seconds=place), **values
        )
    later = NOW + timedelta(minutes=1)
    got = [item.host.key for item in frontier.claim_many(run.pk, 1, later, 60, 1, spare=9)]
    assert got == ["first.example", "free.example", "free-too.example"]
    got = [item.host.key for item in frontier.claim_many(run.pk, 1, later, 60, 9, spare=9)]
    assert got == [
        "paused.example",
        "wide.example",
        "wide.example",
    ], "who may be asked at once may be any"


def test_a_turn_is_taken_shortly_before_it_comes_where_nobody_else_can_ask_the_host(
    run: Run,
) -> None:
    frontier.add(run.pk, [NewUrl(f"http://{name}.example/") for name in ("one", "wide")], NOW)
    comes = NOW + timedelta(seconds=1)
    Host.objects.update(next_at=comes)
    Host.objects.filter(key="wide.example").update(connections=2)
    before = comes - timedelta(seconds=0.09)
    assert frontier.claim_many(run.pk, 1, before, 60, 9, early_seconds=0.08) == []
    (item,) = frontier.claim_many(run.pk, 1, before, 60, 9, early_seconds=0.1)
    host = Host.objects.get(key="one.example")
    assert (item.host_id, item.due_at) == (host.pk, comes) and host.next_at == comes + timedelta(
        seconds=1
    )
    (late,) = frontier.claim_many(run.pk, 1, comes, 60, 9, early_seconds=0.1)
    assert late.url == "http://wide.example/" and late.due_at is None


def test_a_busy_host_starves_nobody(run: Run) -> None:
    frontier.add(run.pk, [NewUrl(f"http://big.example/{n}", priority=9) for n in range(50)], NOW)
    frontier.add(run.pk, [NewUrl("http://small.example/1", priority=0)], NOW)
    got = [frontier.claim(run.pk, 1, NOW, 60) for _ in range(3)]
    assert {item.host.key for item in got if item} == {"big.example", "small.example"} and got[
        2
    ] is None


def test_hosts_that_come_last_are_asked_when_nobody_else_is_left(run: Run) -> None:
    for name in ("slow", "quick", "other"):
        frontier.add(run.pk, [NewUrl(f"http://{name}.example/{n}") for n in range(2)], NOW)
        Host.objects.filter(key=f"{name}.example").update(
            delay_seconds=0, next_at=NOW + timedelta(seconds=name != "slow")
        )
    later, slow = NOW + timedelta(minutes=1), {Host.objects.get(key="slow.example").pk}
    got = frontier.claim_many(run.pk, 1, later, 60, 1, last=slow) + frontier.claim_many(
        run.pk, 1, later, 60, 9, last=slow
    )
    assert sorted(item.host.key for item in got[:2]) == ["other.example", "quick.example"]
    assert [item.host.key for item in got[2:]] == ["slow.example"]


def test_waiting_is_told_with_host_and_time(run: Run) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    Host.objects.update(next_at=NOW + timedelta(minutes=3))
    assert frontier.claim(run.pk, 1, NOW, 60) is None
    assert frontier.next_turn(run.pk, NOW) == frontier.Wait("a.example", NOW + timedelta(minutes=3))
    Host.objects.update(next_at=NOW)
    item = frontier.claim(run.pk, 1, NOW, 60)
    assert item is not None
    frontier.release(item, due_at=NOW + timedelta(minutes=9))
    assert frontier.next_turn(run.pk, NOW) == frontier.Wait("a.example", NOW + timedelta(minutes=9))
    assert frontier.claim(run.pk, 1, NOW + timedelta(minutes=9), 60) is not None
    assert frontier.next_turn(run.pk, NOW) is None


def test_waits_stored_by_a_clock_that_was_ahead_are_cut_and_told(run: Run) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1"), NewUrl("http://b.example/1")], NOW)
    far = NOW + timedelta(days=400)
    Host.objects.update(next_at=far, retry_after_until=far)
    Url.objects.filter(host__key="b.example").update(due_at=far)
    wait = frontier.next_turn(run.pk, NOW)
    assert wait is not None and wait.until == NOW
    assert len(frontier.claim_many(run.pk, 1, NOW, 60, 2)) == 2
    told = Event.objects.filter(code="pause_cut").values_list("text", flat=True)
    assert sorted(told) == [f"{name}.example: {far:%Y-%m-%d %H:%M}" for name in "ab"]


@pytest.mark.parametrize("what", ["the host", "the address"])
def test_a_wait_that_another_process_cuts_meanwhile_is_over_here_too(
    run: Run, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    far, cut = NOW + timedelta(days=400), hosts.cut_pauses
    if what == "the host":
        Host.objects.update(next_at=far)
    else:
        Url.objects.update(due_at=far)

    def second(now: datetime) -> int:
        cut(now)
        Url.objects.update(due_at=now)
        return cut(now)

    monkeypatch.setattr(hosts, "cut_pauses", second)
    wait = frontier.next_turn(run.pk, NOW)
    assert wait == frontier.Wait("a.example", NOW)
    assert frontier.claim(run.pk, 1, NOW, 60) is not None


def test_what_a_dead_holder_had_claimed_comes_back_with_the_next_fence(run: Run) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    assert frontier.claim(run.pk, 1, NOW, 60) is not None
    later = NOW + timedelta(seconds=5)
    assert frontier.reclaim(run.pk, later, fence=1) == 0
    assert frontier.reclaim(run.pk, later, fence=2) == 1
    again = frontier.claim(run.pk, 2, later, 60)
    assert again is not None and again.attempts == 2


def test_dropping_one_group_or_host_leaves_the_rest(run: Run) -> None:
    frontier.add(
        run.pk,
        [
            NewUrl("http://a.example/1", group=1),
            NewUrl("http://a.example/2", group=2),
            NewUrl("http://b.example/", group=2),
        ],
        NOW,
    )
    assert frontier.drop(run.pk, NOW, "why", group=1) == 1
    assert frontier.drop(run.pk, NOW, "why", host=Host.objects.get(key="b.example")) == 1
    assert [o["state"] for o in frontier.outcomes(run.pk)] == [UrlState.DROPPED, UrlState.WAITING]


def test_a_claim_costs_the_same_with_many_addresses_waiting(
    run: Run, django_assert_max_num_queries: object
) -> None:
    from django.db import connection

    def cost() -> int:
        Host.objects.update(next_at=NOW)
        with CaptureQueriesContext(connection) as queries:
            item = frontier.claim(run.pk, 1, NOW, 60)
        assert item is not None
        frontier.finish(item, UrlState.DONE, NOW)
        return len(queries)

    frontier.add(run.pk, [NewUrl(f"http://a.example/{n}") for n in range(10)], NOW)
    few = cost()
    frontier.add(run.pk, [NewUrl(f"http://a.example/{n}") for n in range(10, 2000)], NOW)
    assert cost() == few


@pytest.mark.django_db(transaction=True)
def test_a_host_made_in_a_transaction_that_was_rolled_back_is_made_again() -> None:
    hosts.forget()
    run = runs.create("forum", "a forum", parameters={}, now=NOW, start=False)
    with pytest.raises(RuntimeError), transaction.atomic():
        frontier.add(
            run.pk, [NewUrl("http://new.example/1"), NewUrl("http://other.example/2")], NOW
        )
        hosts.host_id("new.example")
        hosts.host_id("other.example")
        raise RuntimeError
    assert not Host.objects.filter(key="new.example").exists()
    with transaction.atomic():
        frontier.add(run.pk, [NewUrl("http://new.example/1")], NOW)
    assert Url.objects.get().host.key == "new.example"
    hosts.host_ids(["new.example", "other.example", "third.example"])
    assert Host.objects.filter(key__in=["other.example", "third.example"]).count() == 2
    with CaptureQueriesContext(connection) as asked:
        assert hosts.host_id("new.example") == Host.objects.get(key="new.example").pk
    assert len(asked) == 1, "known since the commit: only the test itself asks"


def test_a_turn_on_a_host_whose_addresses_are_not_due_is_not_used_up(run: Run) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    item = frontier.claim(run.pk, 1, NOW, 60)
    assert item is not None
    later = NOW + timedelta(minutes=1)
    frontier.release(item, due_at=later + timedelta(minutes=9))
    before = Host.objects.values_list("next_at", "last_request_at").get()
    assert frontier.claim(run.pk, 1, later, 60) is None
    assert Host.objects.values_list("next_at", "last_request_at").get() == before


def test_what_another_holder_has_in_work_is_not_given_back(run: Run) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    mine = frontier.claim(run.pk, 1, NOW, 60)
    assert mine is not None
    frontier.reclaim(run.pk, NOW, fence=2)
    theirs = frontier.claim(run.pk, 2, NOW + timedelta(seconds=5), 60)
    assert theirs is not None and theirs.attempts == 2
    frontier.release(mine, attempt=False)
    assert Url.objects.get(pk=mine.pk).state == UrlState.CLAIMED


@pytest.mark.django_db(transaction=True)
def test_a_claim_in_a_transaction_of_the_callers_goes_with_it(run: Run) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    with pytest.raises(RuntimeError), transaction.atomic():
        assert frontier.claim(run.pk, 1, NOW, 60) is not None
        raise RuntimeError
    assert (
        Url.objects.get().state == UrlState.WAITING and Host.objects.get().last_request_at is None
    )
    with transaction.atomic():
        item = frontier.claim(run.pk, 1, NOW, 60)
    assert item is not None and Url.objects.get().state == UrlState.CLAIMED


@pytest.mark.django_db(transaction=True)
def test_two_pages_that_lead_to_the_same_new_hosts_never_wait_for_each_other(run: Run) -> None:
    """On PostgreSQL an insertion waits for another transaction that has inserted the same key."""
    hosts.forget()
    names = [f"h{n}.example" for n in range(40)]
    together = (
        connection.vendor == "postgresql"
    )  # the tests' SQLite in memory allows one connection at a time only
    met, wrong = threading.Barrier(2), []

    def add(order: list[str]) -> None:
        try:
            with transaction.atomic():
                if together:
                    met.wait(300)
                frontier.add(run.pk, [NewUrl(f"http://{name}/") for name in order], NOW)
        except DatabaseError as error:
            wrong.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=add, args=(order,)) for order in (names, names[::-1])]
    for thread in threads:
        thread.start()
        if not together:
            thread.join()
    for thread in threads:
        thread.join()
    assert not wrong and Url.objects.count() == len(names)
    assert list(Host.objects.order_by("id").values_list("key", flat=True)) == sorted(names)


def test_a_host_with_several_connections_is_leased_to_one_node_at_a_time(run: Run) -> None:
    frontier.add(run.pk, [NewUrl(f"http://a.example/{n}") for n in range(9)], NOW)
    other = runs.create("forum", "another", parameters={}, now=NOW, start=False)
    frontier.add(other.pk, [NewUrl(f"http://a.example/{n}") for n in range(9)], NOW)
    Host.objects.update(delay_seconds=0, connections=4)
    north, south = runs.take(run.pk, "north:7", NOW, 90), runs.take(other.pk, "south:7", NOW, 90)
    assert north is not None and south is not None
    mine = frontier.claim_many(run.pk, north.fence, NOW, 60, 2, node="north")
    assert len(mine) == 2
    assert frontier.claim_many(other.pk, south.fence, NOW, 60, 2, node="south") == []
    assert len(frontier.claim_many(other.pk, south.fence, NOW, 60, 1, node="north")) == 1, (
        "a worker of the same node"
    )
    Url.objects.filter(run=other).update(state=UrlState.WAITING, lease_until=None)
    frontier.finish(mine[0], UrlState.DONE, NOW)
    assert frontier.claim_many(other.pk, south.fence, NOW, 60, 2, node="south") == [], (
        "one is still in work"
    )
    lost = NOW + timedelta(
        seconds=61
    )  # the node “north” sent no heartbeat, so its lease of the host has expired
    assert len(frontier.claim_many(other.pk, south.fence, lost, 60, 9, node="south")) == 4
    assert frontier.claim_many(run.pk, north.fence, lost, 60, 2, node="north") == [], (
        "it came back: the host is another's"
    )


def test_a_node_that_was_lost_and_returns_frees_nothing_that_is_anothers(run: Run) -> None:
    frontier.add(run.pk, [NewUrl("http://a.example/1")], NOW)
    north = runs.take(run.pk, "north:7", NOW, 90)
    assert north is not None
    mine = frontier.claim(run.pk, north.fence, NOW, 60)
    later = NOW + timedelta(seconds=91)
    south = runs.take(run.pk, "south:7", later, 90)
    assert mine is not None and south is not None
    frontier.reclaim(run.pk, later, south.fence)
    theirs = frontier.claim(run.pk, south.fence, later, 60)
    assert theirs is not None
    frontier.release(mine, attempt=False)
    assert Url.objects.get().state == UrlState.CLAIMED
    with pytest.raises(runs.LeaseLost):
        runs.count(north, later, {"fetched": 1})
