"""Delays responses until the test releases them, so that the test knows which requests are in
flight."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.serving import PATIENCE_SECONDS


class Gate:
    """Called by a site's threads with the path of each request. Blocks a request whose path
    satisfies `holds` until `let_go` is called; after `open`, none is blocked. `asked` lists all
    paths so far, in order."""

    def __init__(self, holds: Callable[[str], bool]) -> None:
        self.holds = holds
        self.asked: list[str] = []
        self._held: list[str] = []
        self._round = 0
        self._open = False
        self._change = threading.Condition()

    def __call__(self, path: str) -> None:
        with self._change:
            self.asked.append(path)
            if not self._open and self.holds(path):
                mine = self._round
                self._held.append(path)
                self._change.notify_all()
                self._change.wait_for(lambda: self._open or self._round > mine, PATIENCE_SECONDS)

    def until(self, number: int) -> list[str]:
        """Waits until this number of requests is held at the gate; returns their paths."""
        with self._change:
            if not self._change.wait_for(lambda: len(self._held) >= number, PATIENCE_SECONDS):
                raise AssertionError(
                    f"only {len(self._held)} of {number} requests came: {self.asked[-20:]}"
                )
            return list(self._held)

    def let_go(self) -> None:
        """Releases the requests that are delayed now."""
        with self._change:
            self._round += 1
            self._held.clear()
            self._change.notify_all()

    def open(self) -> None:
        """Releases all delayed requests and delays no further ones."""
        with self._change:
            self._open = True
            self._change.notify_all()
