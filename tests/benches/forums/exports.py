"""`bench exports`: memory and CPU of an export of many posts in each format, compared with an empty
export."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command

from crawlmgr.exports import file_writers
from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from crawlmgr.models import Host, Page, Run, RunState, WarcFile
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.warc import WarcWriter
from forums.models import Board, Post, Site, Thread
from tests.benches import child
from tests.benches.desk.bulk import Sql, insert

POSTS = 2_000_000
FORMATS = (*file_writers.FORMATS, "warc")
THREAD = 10  # number of posts per thread; WARC exports the pages, one per thread
RECORDS = 1000  # number of distinct records in the archive file; the pages share them
FULL, EMPTY = 1, 2  # run ids: the run FULL fetched all pages, the run EMPTY none
NOTHING = ("--since", "2999-01-01")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--posts", type=int, default=POSTS, metavar="N", help=f"posts, default {POSTS}"
    )
    parser.add_argument(
        "--formats",
        nargs="+",
        choices=list(FORMATS),
        default=list(FORMATS),
        metavar="F",
        help="default all",
    )


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns as `formats` a row for each format: the largest resident memory of the process in
    bytes for an empty and for a full export, and the CPU seconds."""
    with tempfile.TemporaryDirectory(prefix="crawlmgr-exports-", dir=options["data"]) as name:
        folder = Path(name)
        environment = {
            key: text
            for key, text in os.environ.items()
            if not key.startswith(("CRAWLMGR_", "DATABASE_URL"))
        }
        environment |= {
            "CRAWLMGR_DATA": str(folder / "data"),
            "CRAWLMGR_CONTACT": "bench@example.org",
        }
        (folder / "data").mkdir()
        child.call(prepare, options["posts"], environment=environment)
        rows = [_measured(fmt, folder, environment) for fmt in options["formats"]]
    return {"posts": options["posts"], "formats": rows}


def prepare(posts: int) -> None:
    """Makes the database of this process, with one forum (see `fill`)."""
    call_command("migrate", verbosity=0, interactive=False)
    fill(posts)


def fill(posts: int) -> None:
    """Inserts one forum with `posts` posts into the database of this process."""
    now = datetime.now(UTC)
    insert(Host, 1, id=1, key="h.example", next_at=now)
    insert(
        Site,
        1,
        id=1,
        name="F",
        url="http://h.example/",
        url_hash=1,
        host_id=1,
        engine="x",
        added=now,
    )
    insert(Board, 1, id=1, site_id=1, name="b", key="b", url="http://h.example/b")
    insert(
        Thread,
        -(-posts // THREAD),
        id=Sql("i+1"),
        site_id=1,
        board_id=1,
        key=Sql("printf('t%d',i)"),
        url=Sql("printf('http://h.example/t%d',i)"),
        title="t",
        first_seen=now,
    )
    insert(
        Post,
        posts,
        thread_id=Sql(f"1+i/{THREAD}"),
        key=Sql("printf('p%d',i)"),
        post_id=Sql("printf('%d',i)"),
        page=1,
        position=Sql(f"i%{THREAD}"),
        author=Sql("printf('user%d',i%977)"),
        posted=now,
        first_seen=now,
        text=Sql(
            "printf('=帖子 %d 😀 says a few words about this and that, as posts do, and then it"
            " ends.',i)"
        ),
    )

    _fill_archive(-(-posts // THREAD), now)


def _fill_archive(pages: int, now: datetime) -> None:
    """Writes an archive file of RECORDS pages of posts, and inserts `pages` rows for pages of a run
    that refer to it."""
    for pk in (FULL, EMPTY):
        insert(Run, 1, id=pk, kind="forum", label=f"run {pk}", state=RunState.FINISHED, created=now)
    folder = Path(settings.ARCHIVE_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    writer = WarcWriter(folder / "bench.warc.gz", hostname="bench", now=now)
    places = [_place(writer, number, now) for number in range(RECORDS)]
    writer.close()
    insert(
        WarcFile,
        1,
        id=1,
        name="bench.warc.gz",
        run_id=FULL,
        created=now,
        closed=now,
        bytes=writer.size,
        records=RECORDS,
    )

    def of_record(part: int) -> Sql:
        return Sql(
            f"json_extract('{json.dumps([place[part] for place in places])}', printf('$[%d]',"
            f" i%{RECORDS}))"
        )

    insert(
        Page,
        pages,
        run_id=FULL,
        host_id=1,
        key_hash=Sql("i"),
        url=Sql("printf('http://h.example/t%d',i)"),
        url_hash=Sql("i"),
        status=200,
        fetched_at=now,
        warc_id=1,
        warc_offset=of_record(0),
        warc_length=of_record(1),
    )


def _place(writer: WarcWriter, number: int, now: datetime) -> tuple[int, int]:
    url = f"http://h.example/t{number}"
    numbers = range(number * THREAD, number * THREAD + THREAD)
    posts = "".join(
        f"<p>帖子 {n} 😀 says a few words about this and that, as posts do.</p>" for n in numbers
    )
    body = f"<html><title>t</title><body>{posts}</body></html>".encode()
    answer = FetchResponse(
        url,
        url,
        200,
        "OK",
        (("Content-Type", "text/html; charset=utf-8"),),
        body,
        body,
        "text/html; charset=utf-8",
        now,
    )
    found = next(pointer for pointer in writer.write_exchange(answer) if pointer.type == "response")
    return found.offset, found.length


def _measured(fmt: str, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    say(f"{fmt} …")
    path = folder / f"out.{fmt}"
    if fmt == "warc":
        full, empty = (["archive", "export", str(run), "--out", str(path)] for run in (FULL, EMPTY))
    else:
        full = ["export", "posts", "--format", fmt, "--out", str(path)]
        empty = [*full, *NOTHING]
    idle, _cpu = _watched(empty, environment)
    path.unlink(missing_ok=True)
    most, cpu = _watched(full, environment)
    size = path.stat().st_size
    path.unlink()
    return {
        "format": fmt,
        "idle_bytes": idle,
        "most_bytes": most,
        "more_bytes": most - idle,
        "cpu_seconds": round(cpu, 1),
        "file_bytes": size,
    }


def _watched(words: list[str], environment: dict[str, str]) -> tuple[int, float]:
    """Runs a command; returns the largest resident memory of its process in bytes, and its CPU
    seconds."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"`{' '.join(words)}` ended with {process.returncode}")
    return usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each format."""
    rows = [
        (
            row["format"],
            round(row["idle_bytes"] / 1e6),
            round(row["most_bytes"] / 1e6),
            round(row["more_bytes"] / 1e6),
            row["cpu_seconds"],
            round(row["file_bytes"] / 1e6),
        )
        for row in result["formats"]
    ]
    return plain_table(
        ("format", "idle (MB)", "most (MB)", "more (MB)", "CPU-s", "file (MB)"), rows
    )
