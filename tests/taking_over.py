"""A worker that takes a run over from one that was killed or is frozen."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from tests.serving import PATIENCE_SECONDS

BETWEEN_SECONDS = 1.0  # between two workers that are refused: each takes a second of computing


def taking_over(start: Callable[[], subprocess.Popen[str]], asked: Callable[[], int]) -> subprocess.Popen[str]:
    """Starts workers until one has the run, which shows by more requests than before: each is refused as long as the lease of the
    one before has not run out."""
    before = asked()
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        process = start()
        while process.poll() is None:
            if asked() > before:
                return process
            time.sleep(0.05)
        said = process.communicate()
        assert "worked by another process" in said[1], said
        time.sleep(BETWEEN_SECONDS)
    raise AssertionError("the lease did not run out")
