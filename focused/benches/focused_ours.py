"""This program's part of `bench focused`, run as a process of its own: a topic crawl as in
production, with fetching, archiving, scoring, storing and indexing.
"""

from __future__ import annotations

import json
import os
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 - Django has to be set up first

from crawlmgr import engine  # noqa: E402
from crawlmgr.benches.local_server import WORDS  # noqa: E402
from crawlmgr.clock import SYSTEM  # noqa: E402
from focused.models import TopicRun  # noqa: E402
from focused.services import topics  # noqa: E402

DOCUMENTS = (" ".join(WORDS[:8]), " ".join(WORDS[4:12]))


def main(address: str, pages: int) -> None:
    """Crawls the local web at `address` and prints the number of pages and the CPU seconds as JSON.
    Exits with a message if fewer than `pages` pages were stored.
    """
    call_command("migrate", verbosity=0, interactive=False)
    now = SYSTEM.now()
    open_settings = {"delay_seconds": 0.0, "connections": 8, "allow_private": "127.0.0.1"}
    documents = [(str(n), text) for n, text in enumerate(DOCUMENTS)]
    topic = topics.add("bench", [address], documents=documents, now=now, settings=open_settings)
    run = topics.crawl(topic, strategy="shark", options={"pages": pages}, now=now, start=False)
    began = time.process_time()
    engine.run_slice(run.pk, seconds=None)
    cpu = time.process_time() - began
    stored = TopicRun.objects.get(pk=run.pk).pages
    if stored < pages:
        sys.exit(f"only {stored} of {pages} pages were stored")
    sys.stdout.write(json.dumps({"pages": stored, "cpu_seconds": cpu}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
