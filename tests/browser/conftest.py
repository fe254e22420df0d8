"""Fixtures of the browser tests: one browser for all tests of a process; each test has a window
with its own cookies and storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    # imported here, not at the top: chromium.py skips the file that imports it if Playwright is not
    # installed
    from tests.browser.chromium import CHROMIUM, QUIET, sync_api

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "DJANGO_ALLOW_ASYNC_UNSAFE",
            "1",
            # Playwright keeps an event loop in the test's thread, in which Django refuses database
            # access by default
        )
        with sync_api.sync_playwright() as playwright:
            opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
            yield opened
            opened.close()
