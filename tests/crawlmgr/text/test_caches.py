"""A process gives back what its caches took for pages with long texts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crawlmgr.database import caches
from forums.reading.values import count
from tests.serving import ROOT

pytestmark = pytest.mark.once

SCRIPT = """
from crawlmgr.database import caches
from crawlmgr.web import url
from forums.reading import addresses, values

caches.free_grown()
before = caches.resident_bytes()
for n in range(150):
    values.count(f"{n} " + "x" * 1_000_000)
    addresses.thread_key(f"https://a.example/{n}?" + "y" * 1_000_000)
kept = caches.resident_bytes() - before
freed = caches.free_grown()
entries = values.count.cache_info().currsize
print(kept, freed, caches.resident_bytes() - before, entries)
"""


def test_long_texts_are_kept_by_no_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kept, freed, left, entries = done.stdout.split()
    assert int(kept) > caches.GROWTH_BYTES and freed == "True" and entries == "0"
    assert int(left) < caches.GROWTH_BYTES / 2


def test_caches_of_a_process_that_does_not_grow_are_kept() -> None:
    caches.free_grown()
    count("12 replies")
    assert not caches.free_grown() and count.cache_info().currsize
