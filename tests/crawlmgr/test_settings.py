"""An invalid environment variable stops the start with a one-line message; inconsistent time limits
fail the system checks."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from crawlmgr import apps, environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CRAWLMGR_WORKERS", "many", "not a number"),
        ("CRAWLMGR_WORKERS", "2.5", "not a whole number"),
        ("CRAWLMGR_WORKERS", "0", "outside"),
        ("CRAWLMGR_SLICE_SECONDS", "nan", "outside"),
        ("CRAWLMGR_RETRY_SECONDS", "inf", "outside"),
        ("CRAWLMGR_LOG_LEVEL", "loud", "none of"),
        ("CRAWLMGR_CONTACT", "nobody", "neither a mail address nor a web address"),
        ("CRAWLMGR_DATA", "/proc/nowhere", "cannot be written"),
        ("DATABASE_URL", "mysql://a/b", "not supported"),
        ("DATABASE_URL", "postgresql://user@host", "name of the database"),
        ("DATABASE_URL", "postgresql://user@host:port/name", "not an address"),
        ("DATABASE_URL", "postgresql://[half/name", "not an address"),
        ("DATABASE_URL", "sqlite://relative.sqlite3", "sqlite:////absolute/path"),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_line(
    tmp_path: Path, name: str, value: str, says: str
) -> None:
    clean = {
        key: text
        for key, text in os.environ.items()
        if not key.startswith("CRAWLMGR_") and key != "DATABASE_URL"
    }
    done = subprocess.run(
        [sys.executable, "-c", "import crawlmgr.settings"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**clean, "CRAWLMGR_DATA": str(tmp_path), name: value},
    )
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"{name}: ") and says in lines[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgresql://me:pass/word@host/name"),
        ("DATABASE_URL", "//me:password@host/name"),
        ("CRAWLMGR_BROKER_URL", "redis://:password@host/queue"),
        ("CRAWLMGR_METRICS_TOKEN", "pass word"),
    ],
)
def test_the_line_shows_no_secret(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = {
        "DATABASE_URL": lambda: environment.database(tmp_path),
        "CRAWLMGR_BROKER_URL": lambda: environment.broker(name),
        "CRAWLMGR_METRICS_TOKEN": lambda: environment.token(name),
    }
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        read[name]()
    text = str(ended.value)
    given = text.replace("user:password@", "").replace(":password@host/0", "")
    assert text.startswith(f"{name}: ") and "\n" not in text
    assert "pass" not in given and "word" not in given


def test_numbers_words_and_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", " 2.5 ")
    assert environment.number("X", 1, 0, 10) == 2.5
    monkeypatch.setenv("X", "")
    assert environment.number("X", 1, 0, 10) == 1
    assert environment.whole("X", 4, 1, 64) == 4
    monkeypatch.setenv("X", "a, b,,c ")
    assert environment.words("X", ()) == ["a", "b", "c"]
    monkeypatch.setenv("X", "info")
    assert environment.choice("X", "WARNING", ("INFO", "WARNING")) == "INFO"


def test_a_token_is_long_or_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "")
    assert environment.token("X") == ""
    monkeypatch.setenv("X", "0123456789abcdef")
    assert environment.token("X") == "0123456789abcdef"
    for wrong in ("short", "with spaces in the middle", "éééééééééééééééééé"):
        monkeypatch.setenv("X", wrong)
        with pytest.raises(SystemExit, match="sixteen"):
            environment.token("X")


@pytest.mark.parametrize("given", ["me@example.org", "https://example.org/about"])
def test_a_contact_is_a_mail_or_web_address(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("X", given)
    assert environment.contact("X") == given


def test_the_secret_is_made_once_and_is_its_owners_only(tmp_path: Path) -> None:
    keys: list[str] = []
    starts = [
        threading.Thread(target=lambda: keys.append(environment.secret_key(tmp_path)[0]))
        for _ in range(8)
    ]
    for start in starts:
        start.start()
    for start in starts:
        start.join()
    assert len(keys) == 8 and len(set(keys)) == 1 and len(keys[0]) >= 50
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


@pytest.mark.parametrize("text", ["short", "", "k" * 60 + "\0", "schlüssel" * 9])
def test_a_damaged_secret_is_told_and_never_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "secret.key").write_text(text, encoding="utf-8")
    key, problem = environment.secret_key(tmp_path)
    assert problem == f"{tmp_path}/secret.key is damaged"
    assert environment.is_key(key) and key != environment.secret_key(tmp_path)[0]
    assert (tmp_path / "secret.key").read_text(encoding="utf-8") == text


def test_database_addresses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    default = environment.database(tmp_path)
    assert (
        default["NAME"] == str(tmp_path / "crawlmgr.sqlite3")
        and default["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    )
    monkeypatch.setenv(
        "DATABASE_URL", "postgresql://me:p%40ss@db.example:5433/crawl?sslmode=require"
    )
    given = environment.database(tmp_path)
    expected = {
        "NAME": "crawl",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "5433",
    }
    assert {key: given[key] for key in expected} == expected and given["OPTIONS"] == {
        "sslmode": "require"
    }
    monkeypatch.setenv("DATABASE_URL", "postgres:///crawl?host=%2Frun%2Fpg")
    unpooled = environment.database(tmp_path)
    assert (
        unpooled["HOST"] == "/run/pg"
        and unpooled["CONN_MAX_AGE"] is None
        and "pool" not in unpooled["OPTIONS"]
    )
    monkeypatch.setenv("CRAWLMGR_DATABASE_POOL", "3")
    pooled = environment.database(tmp_path)
    assert pooled["CONN_MAX_AGE"] == 0 and (
        pooled["OPTIONS"]["pool"]["min_size"],
        pooled["OPTIONS"]["pool"]["max_size"],
    ) == (0, 3)


def _codes(**values: Any) -> set[str]:
    with override_settings(**values):
        return {message.id or "" for message in apps.times_fit()}


def test_the_times_as_shipped_fit() -> None:
    assert not _codes()


def test_times_that_do_not_fit_are_refused() -> None:
    times = {"workers": 4, "queue_limit": 4, "timeout": 90}
    assert _codes(SLICE_SECONDS=90.0) == {"crawlmgr.E001"}
    assert _codes(Q_CLUSTER={**times, "retry": 270}) == {"crawlmgr.E002"}
    assert not _codes(Q_CLUSTER={**times, "retry": 271})
    assert _codes(Q_CLUSTER={**times, "queue_limit": 16, "retry": 300}) == {"crawlmgr.E002"}
    assert _codes(LEASE_SECONDS=300.0) == {"crawlmgr.E003"}
    assert _codes(STALL_SECONDS=9.0, TICK_SECONDS=5.0) == {"crawlmgr.E004"}


def test_a_missing_contact_is_a_warning_and_a_folder_that_cannot_be_written_an_error(
    tmp_path: Path,
) -> None:
    gone = tmp_path / "gone"
    with override_settings(CONTACT="", EXPORT_DIR=gone):
        found = {message.id: message.is_serious() for message in run_checks()}
    assert found["crawlmgr.W001"] is False and found["crawlmgr.E005"] is True
    with override_settings(CONTACT="me@example.org"):
        assert "crawlmgr.W001" not in {message.id for message in run_checks()}
