"""Data of version 0.1.0 go on without loss: a data folder and a backup that 0.1.0 itself made (see
`make_v010.py`) hold the same rows, exports, secrets, files and next visits as 0.1.0 said.
Databases and backups from before 0.1.0 are refused in one line, unchanged."""

from __future__ import annotations

import gzip
import http.cookiejar
import io
import json
import lzma
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from crawlmgr.database import upgrade
from crawlmgr.database.upgrade import OURS
from crawlmgr.upkeep import backup_file
from tests.serving import ROOT, Serve, manage

V010 = Path(__file__).parent / "v0.1.0"
PASSWORD = "correct horse 1"  # noqa: S105 - of the fixture
# Rows of these are made anew by every version: it may add some, but keeps those that it knows.
MAY_GROW = {"auth.Group_permissions", "auth.Permission", "contenttypes.ContentType"}
# tables that got columns since
NEW_COLUMNS = {"forums_thread", "deepweb_query", "focused_topicrun"}
TOO_OLD = "older than version 0.1.0: start version 0.1.0 on it once"
OUR_TABLES = " OR ".join(f"tbl_name LIKE '{app}!_%' ESCAPE '!'" for app in OURS)
SHAPE = f"SELECT type, name, sql FROM sqlite_master WHERE {OUR_TABLES}"  # noqa: S608 - constant
CLIENT = ("\\restrict", "\\unrestrict")  # lines of a dump that only psql understands
KILLED = """
import os, signal, sys
from django.core.management import execute_from_command_line
from django.db.migrations.recorder import MigrationRecorder

def record(self, app, name, left=[int(sys.argv.pop())], real=MigrationRecorder.record_applied):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    real(self, app, name)

MigrationRecorder.record_applied = record
os.environ["DJANGO_SETTINGS_MODULE"] = "crawlmgr.settings"
execute_from_command_line(["manage.py", "run", "list"])
"""


@pytest.fixture(scope="module")
def v010(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked fixture: data/, old_chain.sqlite3, backup.tar and postgresql.sql."""
    folder = tmp_path_factory.mktemp("v010")
    with tarfile.open(V010 / "installation.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """What version 0.1.0 said."""
    found: dict[str, Any] = json.loads(lzma.decompress((V010 / "said.json.xz").read_bytes()))
    return found


def database_of(environment: Mapping[str, str]) -> str:
    return "postgresql" if "DATABASE_URL" in environment else "sqlite"


def ask(environment: Mapping[str, str], said: Mapping[str, Any]) -> dict[str, Any]:
    """Starts this version on an installation and asks it what 0.1.0 was asked."""
    exports = said[database_of(environment)]["exports"]
    columns = {name.partition(".")[0]: one["columns"] for name, one in exports.items()}
    own = {"API_TOKEN": said["token"], "COLUMNS_OF": json.dumps(columns)}
    words = (sys.executable, "tests/upgrade/ask.py", said["at"])
    done = subprocess.run(
        words, cwd=ROOT, env={**environment, **own}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def differences(before: Any, now: Any, at: str = "") -> list[str]:
    """Where two JSON documents differ; what only the second one's mappings contain does not count,
    because later versions may say more."""
    if isinstance(before, dict) and isinstance(now, dict):
        lost = [f"{at}/{name} is lost" for name in before.keys() - now.keys()]
        common = sorted(before.keys() & now.keys())
        return lost + [
            d for key in common for d in differences(before[key], now[key], f"{at}/{key}")
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = enumerate(zip(before, now, strict=True))
        return [d for place, (old, new) in pairs for d in differences(old, new, f"{at}/{place}")]
    return [] if before == now else [f"{at}: {before!r:.200} became {now!r:.200}"]


def lost_rows(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Which rows of 0.1.0 are missing or changed, and which were added, in the columns of 0.1.0."""
    found = []
    for label, table in before.items():
        if label not in now:
            found.append(f"{label} is lost")
            continue
        places = [now[label]["columns"].index(name) for name in table["columns"]]
        rows = [[row[place] for place in places] for row in now[label]["rows"]]
        if label in MAY_GROW:
            rows = [row for row in rows if row in table["rows"]]
        found += differences(table["rows"], rows, label)
    return found


def assert_nothing_is_lost(
    environment: Mapping[str, str], said: Mapping[str, Any], *, restored: bool
) -> None:
    """Compares all that this version tells of an installation with what 0.1.0 told."""
    before = deepcopy(said[database_of(environment)])
    now = ask(environment, said)
    assert sum(len(table["rows"]) for table in before["rows"].values()) > 1500
    assert lost_rows(before.pop("rows"), now.pop("rows")) == []
    if restored:  # the queue and its daily task are never restored, but made anew by `serve`
        for told in (before, now):
            entries = told["schedules"]["schedules"]
            told["schedules"]["schedules"] = [one for one in entries if one["kind"] != "pruning"]
    assert len(before) == 10 and differences(before, now) == []
    assert before["secrets"]["logins"][0][1] == {"user": "anna", "password": "pass word&1"}


def begin(environment: Mapping[str, str], v010: Path) -> Path:
    """Gives the installation the data folder of 0.1.0, on PostgreSQL with the dumped database."""
    data = Path(environment["CRAWLMGR_DATA"])
    shutil.copytree(v010 / "data", data)
    if "DATABASE_URL" in environment:
        (data / "crawlmgr.sqlite3").unlink()
        text = (v010 / "postgresql.sql").read_text()
        lines = [line for line in text.splitlines() if not line.startswith(CLIENT)]
        with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as connection:
            connection.execute("\n".join(lines))
    return data


def statement(environment: Mapping[str, str], sql: str) -> list[tuple[Any, ...]]:
    """Executes an SQL statement in the installation's database and returns its rows."""
    if "DATABASE_URL" in environment:
        with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as connection:
            done = connection.execute(sql)
            return done.fetchall() if done.description else []
    file = Path(environment["CRAWLMGR_DATA"]) / "crawlmgr.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        return database.execute(sql).fetchall()


def of_this_version() -> list[tuple[str, str]]:
    """The migrations that this version has."""
    return [key for key in MigrationLoader(None).disk_migrations if key[0] in OURS]


def recorded(environment: Mapping[str, str]) -> list[tuple[Any, ...]]:
    return sorted(statement(environment, "SELECT app, name FROM django_migrations"))


@pytest.mark.once
def test_a_database_that_ran_all_old_migrations_goes_on(
    installation: dict[str, str], v010: Path
) -> None:
    data = begin(installation, v010)
    shutil.copy(v010 / "old_chain.sqlite3", data / "crawlmgr.sqlite3")
    statement(installation, "DELETE FROM django_migrations WHERE name LIKE '0001!_sq%' ESCAPE '!'")
    before, names = whole(installation), recorded(installation)
    listed = manage(installation, "run", "list", "--json")
    assert listed.returncode == 0 and len(json.loads(listed.stdout)["runs"]) > 10, listed.stderr
    assert recorded(installation) == sorted([*names, *of_this_version()])
    now = whole(installation)
    changed = {name for name in before if now[name] != before[name]}
    assert changed <= NEW_COLUMNS and len(before) > 200
    assert all(len(now[name][1]) == len(before[name][1]) for name in changed)


def shape(rows: list[tuple[Any, ...]]) -> dict[str, str]:
    """Tables, indexes and triggers of SQLite, however their definitions are spaced."""
    return {name: " ".join(str(sql).split()) for _kind, name, sql in rows}


def whole(environment: Mapping[str, str]) -> dict[str, Any]:
    """The definition of every table, index and trigger of the crawlers, and the rows of tables."""
    found: dict[str, Any] = {}
    for kind, name, sql in statement(environment, SHAPE):
        select = f'SELECT * FROM "{name}"'  # noqa: S608 - our own tables
        rows = statement(environment, select) if kind == "table" else []
        found[name] = (sql, rows)
    return found


@pytest.mark.slow
def test_a_backup_is_restored(
    installation: dict[str, str], v010: Path, said: dict[str, Any]
) -> None:
    restored = manage(installation, "restore", str(v010 / "backup.tar"))
    assert restored.returncode == 0, restored.stderr
    assert_nothing_is_lost(installation, said, restored=True)


@pytest.mark.slow
def test_users_log_in_on_the_desk(installation: dict[str, str], v010: Path, tmp_path: Path) -> None:
    begin(installation, v010)
    assert manage(installation, "schedule", "pause").returncode == 0  # its sites are long gone
    serve = Serve(installation, tmp_path / "serve.log")
    serve.start()
    try:
        assert serve.healthy() and "Log in with your account." in serve.told(), serve.told()
        jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        page = browser.open(serve.address() + "admin/login/", timeout=60).read().decode()
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert found is not None, page
        form = {"username": "a-viewer", "password": PASSWORD, "csrfmiddlewaretoken": found[1]}
        sent = urllib.parse.urlencode({**form, "next": "/admin/forums/"}).encode()
        room = browser.open(serve.address() + "admin/login/", sent, timeout=60).read().decode()
        assert "Guests" in room and "Local forum" in room
    finally:
        assert serve.end() == 0


@pytest.mark.slow
def test_a_data_folder_goes_on_after_first_starts_that_were_killed(
    installation: dict[str, str], db: None, v010: Path, said: dict[str, Any]
) -> None:
    begin(installation, v010)
    before = recorded(installation)
    for done in (0, 2):  # each start records so many migrations and is killed
        words = (sys.executable, "-c", KILLED, str(done))
        killed = subprocess.run(words, cwd=ROOT, env=installation, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(recorded(installation)) == len(before) + 2
    assert_nothing_is_lost(installation, said, restored="DATABASE_URL" in installation)
    new = [row for row in recorded(installation) if row not in before]
    assert new == sorted(of_this_version()) and set(before) < set(recorded(installation))
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            empty = shape(cursor.execute(SHAPE).fetchall())
        assert shape(statement(installation, SHAPE)) == empty and len(empty) > 200


@pytest.mark.slow
def test_a_database_of_before_stops_every_start(installation: dict[str, str], v010: Path) -> None:
    begin(installation, v010)
    newest = "SELECT MAX(name) FROM django_migrations WHERE app = 'forums'"
    names = f"(name LIKE '0001!_squashed%' ESCAPE '!' OR name = ({newest}))"
    forget = f"DELETE FROM django_migrations WHERE app = 'forums' AND {names}"  # noqa: S608
    statement(installation, forget)
    before = recorded(installation)
    for words in ("serve", "node", "run list"):
        environment = {**installation, "CRAWLMGR_CONTACT": "a@example.org"}
        done = manage(environment, *words.split())
        assert done.returncode == 1 and done.stdout == "", (words, done)
        lines = done.stderr.strip().splitlines()
        assert len(lines) == 1 and f"The database is {TOO_OLD}" in lines[0], (words, lines)
    assert recorded(installation) == before


@pytest.mark.parametrize("app", OURS)
def test_one_app_of_before_is_enough(db: None, app: str) -> None:
    recorder = MigrationRecorder(connection)
    for row in recorder.migration_qs.filter(app=app):
        recorder.record_unapplied(app, row.name)
    upgrade.check_database()  # interrupted before this app's first migration: nothing is older
    recorder.record_applied(app, "0001_initial")
    for start in (upgrade.ready, upgrade.ready_for_nodes, lambda: call_command("migrate")):
        with pytest.raises(CommandError, match=f"^The database is {TOO_OLD}"):
            start()


@pytest.mark.parametrize("change", ["a table", "a column"])
def test_a_backup_of_before_is_refused(db: None, v010: Path, tmp_path: Path, change: str) -> None:
    file = tmp_path / "before.tar"
    with tarfile.open(v010 / "backup.tar") as source, tarfile.open(file, "w") as target:
        for member in source.getmembers():
            content = source.extractfile(member)
            assert content is not None
            data = content.read()
            if change == "a table" and member.name == "rows/forums.Look.jsonl.gz":
                continue
            if change == "a table" and member.name == "manifest.json":
                manifest = json.loads(data)
                del manifest["rows"]["forums.Look"]
                data = json.dumps(manifest).encode()
            elif change == "a column" and member.name == "rows/crawlmgr.Node.jsonl.gz":
                names, *rows = map(json.loads, gzip.decompress(data).splitlines())
                lines = [names[:-1], *(row[:-1] for row in rows)]
                data = gzip.compress("".join(f"{json.dumps(line)}\n" for line in lines).encode())
            member.size = len(data)
            target.addfile(member, io.BytesIO(data))
    with pytest.raises(backup_file.BackupRefused, match=rf"before\.tar is {TOO_OLD}"):
        backup_file.restore(file, lambda _step: None)
