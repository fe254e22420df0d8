"""Pooled connections to PostgreSQL: threads share them, idle ones are closed, and a forked process
does not use its parent's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.nodes import database_server
from tests.postgresql import Server
from tests.serving import ROOT

__all__ = ["database_server"]
ASK = """
import json, os, sys, threading, django
django.setup()
from django.db import close_old_connections, connection

def ask(query="SELECT pg_backend_pid()"):
    with connection.cursor() as cursor:
        cursor.execute(query)
        found = cursor.fetchone()[0]
    close_old_connections()
    return found

def several():
    for _ in range(20):
        used.add(ask())

used, own = set(), ask()
threads = [threading.Thread(target=several) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
reading, writing = os.pipe()
with connection.cursor():  # the parent holds one at the moment
    pass
child = os.fork()
if not child:
    os.write(writing, json.dumps([ask(), ask()]).encode())
    os._exit(0)
os.waitpid(child, 0)
theirs = json.loads(os.read(reading, 1000))
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_backend_pid()")
    mine = cursor.fetchone()[0]
print(json.dumps({"used": sorted(used | {own}), "theirs": theirs, "mine": mine}))
"""


def test_threads_share_connections_and_a_forked_process_has_its_own(
    database_server: Server, tmp_path: Path
) -> None:
    database_server.create("pooled")
    kept = {key: text for key, text in os.environ.items() if not key.startswith("CRAWLMGR_")}
    pooled = {
        "DATABASE_URL": database_server.url("pooled"),
        "CRAWLMGR_DATA": str(tmp_path),
        "CRAWLMGR_DATABASE_POOL": "2",
        "DJANGO_SETTINGS_MODULE": "crawlmgr.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env={**kept, **pooled},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["used"]) <= 2, "seven threads had two connections among them"
    assert found["mine"] in found["used"], "the parent's pool goes on after the fork"
    assert len(set(found["theirs"])) == 1 and not set(found["theirs"]) & set(found["used"])
