"""One browser for all journeys that a process makes in a row; each has a window with cookies and storage of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    # imported here, as without Playwright the files that import it are skipped
    from tests.browser.chromium import CHROMIUM, QUIET, sync_api

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # the browser's driver keeps an event loop in the test's thread
        with sync_api.sync_playwright() as playwright:
            opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
            yield opened
            opened.close()
