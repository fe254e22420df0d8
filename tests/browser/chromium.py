"""The system's Chromium, used by the browser tests."""

from __future__ import annotations

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
)  # the first is built without windows and needs half the CPU
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",  # an endless animation keeps a core busy while a test waits
]
# time limit of one step in milliseconds, for a machine under heavy load; ordinary steps take far
# less
LONGEST = 300_000
