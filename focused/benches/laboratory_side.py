"""One process of `bench laboratory`: prepares the archive, computes a comparison, or continues a
comparison whose process was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 - Django has to be set up first

from crawlmgr import jobs  # noqa: E402
from crawlmgr.clock import SYSTEM  # noqa: E402
from crawlmgr.models import RunState, WarcFile  # noqa: E402
from crawlmgr.services import archive  # noqa: E402
from focused.files import topic_from_files  # noqa: E402
from focused.models import Comparison, Topic  # noqa: E402
from focused.services import comparisons, topics  # noqa: E402
from focused.strategies import BUILT_IN  # noqa: E402


class Later:
    """A clock that is an hour ahead, so that the lease of a killed process has expired."""

    def now(self) -> datetime:
        return SYSTEM.now() + timedelta(hours=1)

    def sleep(self, seconds: float) -> None:
        SYSTEM.sleep(seconds)


def report(**values: Any) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def prepare(pack: Path) -> None:
    """Imports the pages of a pack (recorded web) into the archive, and adds its first topic."""
    call_command("migrate", verbosity=0, interactive=False)
    now = SYSTEM.now()
    pages = sum(1 for _ in archive.import_file(pack / "pages.warc.gz", now))
    folder = sorted((pack / "topics").iterdir())[0]
    topic, _ = topic_from_files(folder.name, folder / "seeds.txt", [folder / "documents"])
    topics.add(
        "bench",
        topic.seeds,
        documents=[(str(n), text) for n, text in enumerate(topic.documents)],
        now=now,
    )
    report(batches=pages)


def compare(pages: int, draws: int) -> None:
    """Starts a comparison of all strategies and computes it to its end; prints a line of JSON after
    each of its runs."""
    files = list(WarcFile.objects.values_list("pk", flat=True))
    entries: dict[str, dict[str, Any]] = {name: {} for name in BUILT_IN}
    made = comparisons.start(
        Topic.objects.get(), entries, pages, files, now=SYSTEM.now(), draws=draws
    )
    report(comparison=made.pk)
    work(made, SYSTEM)


def work(comparison: Comparison, clock: Any) -> None:
    """Computes a comparison to its end; prints its cost and a digest of results. `clock`: `Later`
    to continue after a kill."""
    assert comparison.run is not None  # noqa: S101 - always set when created
    began, cpu = time.monotonic(), time.process_time()
    state = jobs.run_slice(
        comparison.run.pk, clock=clock, on_step=lambda: report(done=comparison.parts.count())
    )
    comparison.refresh_from_db()
    if state != RunState.FINISHED or not comparison.result:
        sys.exit(f"the comparison ended {state}: {comparison.problem}")
    rows = [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in comparison.result["results"]
    ]
    report(
        runs=comparison.parts.count(),
        fetches=sum(row["fetched"] * row["draws"] for row in rows),
        wall_seconds=time.monotonic() - began,
        cpu_seconds=time.process_time() - cpu,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        digest=hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest(),
    )


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "prepare":
        prepare(Path(rest[0]))
    elif what == "compare":
        compare(int(rest[0]), int(rest[1]))
    else:
        work(Comparison.objects.get(pk=int(rest[0])), Later())
