"""A worker that takes over a run from one that was killed or is frozen."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from tests.serving import PATIENCE_SECONDS

BETWEEN_SECONDS = (
    1.0  # pause before the next worker is started, because each start takes a second of CPU
)


def taking_over(
    start: Callable[[], subprocess.Popen[str]], asked: Callable[[], int]
) -> subprocess.Popen[str]:
    """Starts one worker after another until one has taken over the run and sends requests, and
    returns its process. The others end at once, because the lease of the earlier worker has not
    expired yet."""
    before = asked()
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        process = start()
        while process.poll() is None:
            if asked() > before:
                return process
            time.sleep(0.05)
        said = process.communicate()
        assert "worked on by another process" in said[1], said
        time.sleep(BETWEEN_SECONDS)
    raise AssertionError("the lease did not run out")
