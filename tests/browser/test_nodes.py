"""The states of a node as the desk shows them, in Chinese: started, paused, renamed,
drained, started again, lost, and back."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.browser.said import Said, speak
from tests.browser.test_harvest import fits
from tests.browser.test_journey import CHROMIUM, PASSWORD, login, page
from tests.nodes import Cluster, cluster, database_server
from tests.postgresql import Server
from tests.serving import Serve, family, wait_for

__all__ = ["database_server", "page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
STALL_SECONDS = "15"
NODE = "cellar"


@pytest.fixture
def machines(database_server: Server, tmp_path: Path) -> Iterator[Cluster]:
    with cluster(
        database_server,
        "life",
        tmp_path,
        CRAWLMGR_ADMIN_PASSWORD=PASSWORD,
        CRAWLMGR_STALL_SECONDS=STALL_SECONDS,
    ) as one:
        yield one


@pytest.fixture
def desk(machines: Cluster, tmp_path: Path) -> Iterator[str]:
    """Runs `serve`, the web interface with a node of its own, and yields its address."""
    serve = Serve(machines.environment, tmp_path / "serve.log")
    serve.start()
    try:
        assert serve.healthy(), serve.told()
        yield serve.address().rstrip("/")
    finally:
        serve.end(signal.SIGTERM)


class NodePage:
    """The pages of worker nodes in a browser window, displayed in one language (`said` translates
    texts to it)."""

    def __init__(self, page: Any, desk: str, said: Said) -> None:
        self.page, self.desk, self.said = page, desk, said

    def shows(self, state: str, name: str = NODE) -> None:
        """Waits until the list, which refreshes itself, shows this state for a node."""
        self.page.goto(f"{self.desk}/admin/workers/")
        badge = f"tr:has(a:text-is('{name}')) .badge:text-is('{self.said(state)}')"
        self.page.wait_for_selector(badge)

    def opens(self, name: str = NODE) -> None:
        """Opens a node's page from the list."""
        self.page.goto(f"{self.desk}/admin/workers/")
        self.page.click(f"tr a:text-is('{name}')")
        self.page.wait_for_selector(f"h1:has-text('{name}')")

    def presses(self, button: str, state: str) -> None:
        """Presses a button on the node's page and waits until the page shows the new state."""
        self.page.click(f"#content button:has-text('{self.said(button)}')")
        self.page.wait_for_selector(f".badge:text-is('{self.said(state)}')")


def test_a_nodes_life(page: Any, desk: str, machines: Cluster) -> None:
    login(page, desk)
    said = Said("zh-hans")
    speak(page, desk, said)
    page.on("dialog", lambda dialog: dialog.accept())
    node_page = NodePage(page, desk, said)

    machines.start(NODE)
    node_page.shows("accepts work")
    for measure in ("Share of the work", "Current runs", "Memory", "Speed"):
        page.click(f"nav.tabs a:text-is('{said(measure)}')")
        page.wait_for_selector(f"section.box h2:text-is('{said(measure)}')")
    fits(page)

    node_page.opens()
    node_page.presses("Pause", "paused")
    node_page.shows("paused")
    node_page.opens()
    node_page.presses("Accept work again", "accepts work")
    page.fill("[name=label]", "Keller 二")
    page.click(f"#content button:has-text('{said('Rename')}')")
    page.wait_for_selector("h1:has-text('Keller 二')")
    fits(page)

    node_page.presses("Drain", "draining")
    node = machines.nodes[NODE]
    assert wait_for(lambda: node.process is not None and node.process.poll() == 0), node.told()
    node_page.shows("drained", "Keller 二")

    machines.start(NODE)
    node_page.shows("accepts work", "Keller 二")
    node = machines.nodes[NODE]
    for pid in (*family(node.pid), node.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    node.end(signal.SIGKILL)
    node_page.shows("lost", "Keller 二")

    machines.start(NODE)
    node_page.shows("accepts work", "Keller 二")
    assert page.wrong == []
