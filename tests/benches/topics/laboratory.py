"""`bench laboratory`: runs a comparison of all strategies over several draws of a recorded web,
like one started in the web interface. Measures time and memory, and whether a comparison that is
killed and continued has the same results.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from crawlmgr import jobs
from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from crawlmgr.models import RunState, WarcFile
from focused.judge.relevance import topic_from_files
from focused.lab import stored_comparisons
from focused.models import Comparison, Topic
from focused.strategies.base import BUILT_IN
from focused.topic import topics
from tests.benches import child
from tests.training import packs


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--pages", type=int, default=2000, help="fetches of each run (default 2000)"
    )
    parser.add_argument(
        "--draws", type=int, default=5, help="draws of the random numbers (default 5)"
    )
    parser.add_argument(
        "--killed-pages",
        type=int,
        default=150,
        help="the same for the comparison that is killed (default 150)",
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs the whole comparison in a process of its own; then a small one twice: undisturbed, and
    killed with SIGKILL when half of its runs are stored, then continued. Returns the measurements,
    and whether the two results are the same.
    """
    if not options["data"]:
        raise CommandError(
            "bench laboratory needs --data: a folder with packs (pages.warc.gz, topics,"
            " baselines.json)"
        )
    try:
        pack = max(
            packs.folders(Path(options["data"])),
            key=lambda one: (one / "pages.warc.gz").stat().st_size,
        )
    except ValueError as error:
        raise CommandError(str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        environment = child.environment(folder)
        child.call(prepare, str(pack), environment=environment)
        say(f"{pack.name}: the whole comparison")
        whole = child.call(compare, options["pages"], options["draws"], environment=environment)
        say("a small one, then the same killed half way")
        small = child.call(compare, options["killed_pages"], 1, environment=environment)
        killed = _killed(environment, options["killed_pages"], small["runs"] // 2)
        resumed = child.call(resume, killed, environment=environment)
    return {
        "pack": pack.name,
        "runs": whole["runs"],
        "pages": options["pages"],
        "fetches": whole["fetches"],
        "wall_seconds": whole["wall_seconds"],
        "cpu_seconds": whole["cpu_seconds"],
        "peak_bytes": whole["peak_bytes"],
        "kept_after_kill": small["runs"] // 2,
        "equal_after_kill": resumed["digest"] == small["digest"],
    }


def _killed(environment: dict[str, str], pages: int, after: int) -> int:
    """Starts a comparison in a process and kills it once `after` of its runs are stored. Returns
    the comparison's id."""
    command = child.command(compare, pages, 1)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=child.ROOT
    )
    assert process.stdout is not None  # a pipe was requested
    number = 0
    for line in process.stdout:
        step = json.loads(line)
        number = step.get("comparison", number)
        if step.get("done", 0) >= after:
            break
    process.kill()
    process.communicate()
    return number


def table(result: dict[str, Any]) -> str:
    header = ("runs", "fetches", "wall seconds", "CPU seconds", "peak MB", "equal after a kill")
    row = (
        *(
            result["runs"],
            result["fetches"],
            round(result["wall_seconds"], 1),
            round(result["cpu_seconds"], 1),
        ),
        *(round(result["peak_bytes"] / 1e6), "yes" if result["equal_after_kill"] else "no"),
    )
    return text_table(header, [row])


class Later:
    """A clock that is an hour ahead, so that the lease of a killed process has expired."""

    def now(self) -> datetime:
        return SYSTEM.now() + timedelta(hours=1)

    def sleep(self, seconds: float) -> None:
        SYSTEM.sleep(seconds)


def report(**values: Any) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def prepare(pack: str) -> int:
    """Imports the pages of a pack (recorded web) into the archive, and adds its first topic.
    Returns the number of batches in which they were stored."""
    call_command("migrate", verbosity=0, interactive=False)
    now = SYSTEM.now()
    pages = sum(1 for _ in archive.import_file(Path(pack) / "pages.warc.gz", now))
    folder = sorted((Path(pack) / "topics").iterdir())[0]
    topic, _ = topic_from_files(folder.name, folder / "seeds.txt", [folder / "documents"])
    topics.add(
        "bench",
        topic.seeds,
        documents=[(str(n), text) for n, text in enumerate(topic.documents)],
        now=now,
    )
    return pages


def compare(pages: int, draws: int) -> dict[str, Any]:
    """Starts a comparison of all strategies and computes it to its end (see `work`)."""
    files = list(WarcFile.objects.values_list("pk", flat=True))
    entries: dict[str, dict[str, Any]] = {name: {} for name in BUILT_IN}
    made = stored_comparisons.start(
        Topic.objects.get(), entries, pages, files, now=SYSTEM.now(), draws=draws
    )
    report(comparison=made.pk)
    return work(made, SYSTEM)


def resume(number: int) -> dict[str, Any]:
    """Continues the comparison with this id, whose process was killed."""
    return work(Comparison.objects.get(pk=number), Later())


def work(comparison: Comparison, clock: Any) -> dict[str, Any]:
    """Computes a comparison to its end; prints a line of JSON after each of its runs, and returns
    its cost and a digest of results. `clock`: `Later` to continue after a kill."""
    assert comparison.run is not None
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
    return {
        "runs": comparison.parts.count(),
        "fetches": sum(row["fetched"] * row["draws"] for row in rows),
        "wall_seconds": time.monotonic() - began,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "digest": hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest(),
    }
