"""The page of a worker node and its buttons."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from crawlmgr.models import Node, NodeState
from crawlmgr.workers import nodes
from tests.crawlmgr.admin.rows import tight, user

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def node() -> Node:
    now = timezone.now()
    node = nodes.register(
        "north", pid=1, workers=4, queues="crawl", now=now - timedelta(minutes=10)
    )
    nodes.beat("north", now - timedelta(minutes=1), 42)
    nodes.beat("north", now)
    nodes.measured("north", now - timedelta(minutes=1), 120_000_000)
    nodes.measured("north", now, 123_000_000)
    return node


def _client(role: str) -> Client:
    client = Client()
    client.force_login(user(role))
    return client


def test_drain_pause_resume_and_rename(node: Node) -> None:
    client = _client("operator")
    for button, state in (
        ("pause", NodeState.PAUSED),
        ("drain", NodeState.DRAINING),
        ("resume", NodeState.ACTIVE),
    ):
        answer = client.post(f"/admin/workers/{node.pk}/{button}/", follow=True)
        assert answer.redirect_chain == [(f"/admin/workers/{node.pk}/", 302)]
        node.refresh_from_db()
        assert node.state == state
    client.post(f"/admin/workers/{node.pk}/rename/", {"label": "cellar"})
    assert "cellar" in client.get("/admin/workers/").content.decode()
    assert (
        "at most 60"
        in client.post(
            f"/admin/workers/{node.pk}/rename/", {"label": "x" * 61}, follow=True
        ).content.decode()
    )
    assert client.post("/admin/workers/999999/drain/").status_code == 404


def test_the_pages_show_figures_chart_and_no_button_to_who_may_not(node: Node) -> None:
    client = _client("viewer")
    page = client.get(f"/admin/workers/{node.pk}/").content.decode()
    assert "chart-nodes" in page and "123" in page and "Drain" not in page
    page = client.get("/admin/workers/").content.decode()
    assert "chart-nodes" in page and "accepts work" in page
    live = client.get("/admin/workers/?part=live").content.decode()
    assert "chart-nodes" not in live and f"/admin/workers/{node.pk}/" in live


def test_the_list_keeps_its_order_and_a_node_says_what_its_state_means(node: Node) -> None:
    now = timezone.now()
    for name, silent in (("west", 0), ("east", 3), ("attic", 900)):
        nodes.register(name, pid=1, workers=4, queues="crawl", now=now - timedelta(hours=1))
        nodes.beat(name, now - timedelta(seconds=silent))
    client = _client("operator")
    live = client.get("/admin/workers/?part=live&of=nodes").content.decode()
    places = [live.index(f">{name}</a>") for name in ("east", "north", "west", "attic")]
    assert places == sorted(places), "by name, the lost one last"
    rest = tight(client.get("/admin/workers/?part=live&of=rest"))
    assert "Process groups" in rest and "Process groups" not in live and ">north</a>" not in rest
    lost = client.get(f"/admin/workers/{Node.objects.get(name='attic').pk}/").content.decode()
    assert "other nodes continue its runs" in lost
    client.post(f"/admin/workers/{node.pk}/drain/")
    assert "A worker node was asked" in client.get("/admin/workers/").content.decode()


def test_a_share_is_the_same_on_both_pages(node: Node) -> None:
    now = timezone.now()
    nodes.register("south", pid=1, workers=4, queues="crawl", now=now - timedelta(minutes=10))
    nodes.beat("south", now - timedelta(minutes=1), 42)
    nodes.beat("south", now)
    client = _client("viewer")
    for address in (f"/admin/workers/{node.pk}/", "/admin/workers/?part=live"):
        assert "0.50" in client.get(address).content.decode(), address


def test_charts_of_share_runs_and_memory(node: Node) -> None:
    now, minute = timezone.now(), timedelta(minutes=1)
    nodes.register("south", pid=1, workers=4, queues="crawl", now=now - 10 * minute)
    nodes.beat("south", now - 2 * minute, 14)
    nodes.beat("north", now - 2 * minute, 42)
    client = _client("viewer")

    def drawn(address: str) -> Any:
        text = client.get(address).content.decode()
        return json.loads(
            text.split('<script id="chart-nodes" type="application/json">')[1].split("</script>")[0]
        )

    def lines(address: str) -> dict[str, list[float]]:
        return {one["name"]: one["y"] for one in drawn(address)["data"]}

    assert lines("/admin/workers/?chart=memory") == {"north": [120.0], "south": []}
    assert (
        "No node had a run within the last hour"
        in client.get("/admin/workers/?chart=runs").content.decode()
    )
    last = int(now.timestamp()) // 60
    Node.objects.filter(name="north").update(
        levels=[[last - place, 2, None] for place in range(9, 0, -1)]
    )
    assert lines("/admin/workers/?chart=runs")["north"] == [2] * 9
    assert drawn("/admin/workers/?chart=runs")["layout"]["yaxis"]["dtick"] == 1, "no half runs"
    both = lines("/admin/workers/?chart=share")
    assert [round(a + b, 3) for a, b in zip(both["north"], both["south"], strict=True)] == [
        1.0
    ] * len(both["north"])
    assert both["north"][0] == 0.75
    assert lines(f"/admin/workers/{node.pk}/?chart=share") == {"north": both["north"]}, (
        "its share among all"
    )
    assert set(lines("/admin/workers/?chart=nothing")["north"]) == {
        0,
        42,
    }, "speed, where no such chart is"


def test_pages_cost_the_same_for_many_nodes(node: Node, django_assert_max_num_queries: Any) -> None:
    client, now = _client("viewer"), timezone.now()
    client.get("/admin/workers/?part=live")
    Node.objects.bulk_create(
        Node(name=f"n{number}", started=now, heartbeat=now) for number in range(60)
    )
    with django_assert_max_num_queries(30):
        client.get("/admin/workers/?part=live")
