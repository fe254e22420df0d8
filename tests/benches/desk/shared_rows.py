"""Inserts as many runs, pages, hosts, events, exports and nodes as years of crawling leave, for
`bench desk`, the benchmark of the web interface."""

from __future__ import annotations

from datetime import timedelta

from crawlmgr.exports.exports import TABLES
from crawlmgr.models import (
    Event,
    Export,
    ExportFile,
    Host,
    HostHour,
    Node,
    Page,
    Run,
    RunHost,
    Url,
    WarcFile,
)
from tests.benches.desk.bulk import Sizes, Sql, ago, insert

ACTIVE_RUNS = 12
YEAR = 365 * 86_400
HOURS_OF_A_HOST = 200


def fill(sizes: Sizes) -> None:
    """Inserts hosts (five for each forum), two years of runs of which the newest are active, the
    pages they fetched, and WARC files, events, exports and nodes."""
    now, runs = sizes.now, sizes.runs
    hosts = sizes.forums * 5
    insert(
        Host,
        hosts,
        id=Sql("i + 1"),
        key=Sql("printf('host%05d.example', i)"),
        requests=Sql("i * 7"),
        bytes=Sql("i * 70000"),
        last_request_at=ago("i * 60", now),
        failures=Sql("i % 50 = 7"),
        next_at=ago("0", now),
        robots_text="User-agent: *",
    )
    insert(
        HostHour,
        hosts * HOURS_OF_A_HOST,
        host_id=Sql(f"1 + i / {HOURS_OF_A_HOST}"),
        requests=9,
        bytes=90_000,
        hour=ago(f"3600 * (i % {HOURS_OF_A_HOST})", now.replace(minute=0, second=0, microsecond=0)),
    )
    span = 2 * YEAR // max(1, runs)
    at = ago(f"({runs} - i) * {span}", now)
    insert(
        Run,
        runs,
        id=Sql("i + 1"),
        kind=Sql(
            "CASE WHEN i % 10 < 8 THEN 'forum' WHEN i % 10 = 8 THEN 'topic' ELSE 'deepweb-find' END"
        ),
        label=Sql("printf('run %d', i)"),
        target=Sql(f"1 + (i * 31) % {sizes.forums}"),
        state=Sql(
            f"CASE WHEN i >= {runs - ACTIVE_RUNS} THEN (CASE i % 3 WHEN 0 THEN 'running' WHEN 1"
            " THEN 'queued' ELSE 'paused' END) WHEN i % 40 = 3 THEN 'failed' WHEN i % 40 = 4 THEN"
            " 'stopped' ELSE 'finished' END"
        ),
        stopped_by=Sql("CASE WHEN i % 40 = 3 THEN 'timeout' ELSE 'complete' END"),
        fetched=10,
        requests=12,
        bytes=120_000,
        new=2,
        updated=1,
        begun=True,
        created=at,
        started=at,
        finished=Sql(f"CASE WHEN i >= {runs - ACTIVE_RUNS} THEN NULL ELSE {at} END"),
        progressed=at,
    )
    files = max(1, runs // 5)
    insert(
        WarcFile,
        files,
        id=Sql("i + 1"),
        name=Sql("printf('%06d.warc.gz', i)"),
        run_id=Sql(f"1 + (i * 5) % {runs}"),
        bytes=1_000_000,
        records=50,
        created=ago(f"({files} - i) * {span * 5}", now),
        closed=ago(f"({files} - i) * {span * 5}", now),
    )
    each = max(1, sizes.pages // runs)
    share = 2 * YEAR / max(1, sizes.pages)
    run = Sql(f"1 + i % {runs} ") if each == 1 else Sql(f"1 + min({runs - 1}, i / {each})")
    host = Sql(f"1 + (i * 17) % {hosts}")
    url = Sql(
        f"printf('http://host%05d.example/thread/%d', (i * 17) % {hosts}, i %"
        f" {max(1, sizes.pages // 4)})"
    )
    fetched = ago(f"CAST(({sizes.pages} - i) * {share} AS INTEGER)", now)
    insert(
        Page,
        sizes.pages,
        run_id=run,
        host_id=host,
        key_hash=Sql("i"),
        url=url,
        url_hash=Sql(f"i % {max(1, sizes.pages // 4)}"),
        final_url=url,
        status=200,
        content_type="text/html",
        encoding="utf-8",
        title=Sql("printf('A page %d', i)"),
        received_bytes=12_000,
        digest="0123456789abcdef0123456789abcdef",
        fetched_at=fetched,
        warc_id=Sql(f"1 + (i * 7) % {files}"),
        warc_offset=Sql("i"),
        warc_length=4_000,
    )
    insert(
        Url,
        sizes.pages,
        run_id=run,
        host_id=host,
        key_hash=Sql("i"),
        url=url,
        kind="thread",
        state=Sql(
            f"CASE WHEN i >= {sizes.pages - 50 * ACTIVE_RUNS} THEN i % 3 WHEN i % 30 = 1 THEN 3"
            " ELSE 2 END"
        ),
        reason=Sql("CASE WHEN i % 30 = 1 THEN 'http_404' ELSE '' END"),
        added_at=fetched,
        ended_at=fetched,
    )
    insert(
        RunHost,
        runs,
        run_id=Sql("i + 1"),
        host_id=Sql(f"1 + (i * 31) % {hosts}"),
        active=Sql(f"i >= {runs - ACTIVE_RUNS}"),
    )
    insert(
        Event,
        max(1, runs // 2),
        at=ago(f"({max(1, runs // 2)} - i) * {2 * span}", now),
        level=Sql("CASE i % 9 WHEN 0 THEN 40 ELSE 30 END"),
        code="run_failed",
        text="no answer",
        run_id=Sql("1 + i * 2"),
        host_id=Sql(f"1 + i % {hosts}"),
    )
    insert(
        Export,
        40,
        id=Sql("i + 1"),
        name=Sql("printf('export %d', i)"),
        table="posts",
        format="csv",
        columns=[],
        keep=100,
        created=ago("0", now),
    )
    insert(
        ExportFile,
        4000,
        id=Sql("i + 1"),
        export_id=Sql("1 + i % 40"),
        name=Sql("printf('posts-%d.csv', i)"),
        rows=1000,
        bytes=100_000,
        written=ago("i * 60", now),
        sha256="0" * 64,
    )
    insert(
        Node,
        3,
        id=Sql("i + 1"),
        name=Sql("printf('node %d', i)"),
        workers=4,
        queues="default",
        started=now - timedelta(days=9),
        heartbeat=ago("i * 5", now),
    )


def arguments(sizes: Sizes) -> dict[str, dict[str, object]]:
    """Returns the URL arguments of views that show one row, by the view's name."""
    run = sizes.runs - sizes.runs // 10 * 2
    return {
        "run": {"pk": run},
        "host": {"pk": 1},
        "warc": {"pk": 1},
        "warc-download": {"pk": 1},
        "capture": {"pk": sizes.pages // 2},
        "node": {"pk": 1},
        "help-page": {"name": "rooms"},
        "export-page": {"pk": 1},
        "hours": {"kind": "export", "target": 1},
        "export-file": {"pk": 1},
        "export": {"table": next(iter(TABLES)), "fmt": "csv"},
        "app_list": {"app_label": "auth"},
        "auth_user_password_change": {"id": 1},
        **{f"auth_user_{what}": {"object_id": 1} for what in ("change", "history", "delete")},
    }


QUERIES = {
    "index": ("part=live",),
    "runs": (
        "show=active",
        "show=failed",
        "kind=topic",
        "last",
        "sort=fetched",
        "sort=-finished&kind=forum",
        "q=run+77",
        "from=2000-01-01&to=2100-01-01",
    ),
    "hosts": ("q=0001", "show=waiting", "show=failing", "sort=requests"),
    "schedules": ("view=week",),
    "archive": (
        "url=http://host00000.example/thread/0",
        "sort=size",
        "sort=records",
        "q=0077",
        "from=2000-01-01",
        "last",
    ),
    "events": ("show=errors", "last"),
    "host": ("url=/x",),
    "run": ("part=live",),
    "palette": ("q=forum", "q=crawl+now+forum+12", "q=board+3"),
}
"""Further query strings to measure, by the view's name."""
