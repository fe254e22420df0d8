"""The commands `backup` and `restore`: from one installation into another (from PostgreSQL to
SQLite where both are available)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.serving import manage

ADD = (
    "from django.contrib.auth import get_user_model;"
    " get_user_model().objects.create_superuser('admin', '', 'word');from crawlmgr.models import"
    " events; from crawlmgr.clock import SYSTEM; events.warn('told', 'x', now=SYSTEM.now())"
)


@pytest.mark.slow
def test_from_one_installation_into_another(installed: dict[str, str], tmp_path: Path) -> None:
    file = str(tmp_path / "all.tar")
    assert manage(installed, "shell", "-v0", "-c", ADD).returncode == 0
    made = manage(installed, "backup", file, "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["rows"]["crawlmgr.Event"] == 1
    other = {name: text for name, text in installed.items() if name != "DATABASE_URL"}
    other["CRAWLMGR_DATA"] = str(tmp_path / "other")
    restored = manage(other, "restore", file)
    assert restored.returncode == 0 and "0 WARC files" in restored.stdout, restored.stderr
    with closing(sqlite3.connect(tmp_path / "other" / "crawlmgr.sqlite3")) as database:
        assert database.execute("SELECT code FROM crawlmgr_event").fetchall() == [("told",)]
    assert (tmp_path / "other" / "secret.key").read_text() == (
        Path(installed["CRAWLMGR_DATA"]) / "secret.key"
    ).read_text()
    again = manage(other, "restore", file)
    assert (
        again.returncode == 1
        and len(again.stderr.strip().splitlines()) == 1
        and "contains data" in again.stderr
    )


SEAL = (
    "from crawlmgr.access import vault; from crawlmgr.models import AlarmChannel;"
    "from crawlmgr.clock import SYSTEM;"
    "AlarmChannel.objects.create(name='duty', kind='mail', created=SYSTEM.now(),"
    " sealed=vault.seal({'password': 'x'}))"
)


@pytest.mark.slow
def test_what_is_lost_with_the_key_is_told_before_it_is_deleted(
    installed: dict[str, str], tmp_path: Path
) -> None:
    key = Path(installed["CRAWLMGR_DATA"]) / "secret.key"
    assert manage(installed, "shell", "-v0", "-c", SEAL).returncode == 0
    key.write_text("damaged")
    told = manage(installed, "node", "list")
    assert told.returncode == 1 and len(told.stderr.strip().splitlines()) == 1, told.stderr
    assert "secret.key is damaged. Put it back from a backup." in told.stderr
    assert "only this key opens: 1 (" in told.stderr and "duty" in told.stderr
    key.write_text("k" * 50)  # a key, but another one
    file = str(tmp_path / "all.tar")
    assert manage(installed, "backup", file).returncode == 0
    other = {name: text for name, text in installed.items() if name != "DATABASE_URL"}
    other["CRAWLMGR_DATA"] = str(tmp_path / "other")
    restored = manage(other, "restore", file, "--json")
    found = json.loads(restored.stdout)
    assert restored.returncode == 3 and found["complete"] is False
    assert [one["what"].split()[-1] for one in found["missing"]] == ["duty"]
