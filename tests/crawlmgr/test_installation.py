"""A feature whose libraries are not installed says in one line what to install: commands, settings,
API and the web interface."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from django.core.management import call_command, execute_from_command_line
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from crawlmgr import environment, installation
from crawlmgr.alarms import alarms, sending
from crawlmgr.api import shared
from crawlmgr.archive import object_store
from crawlmgr.management import program
from crawlmgr.models import AlarmChannel, Export

MODULES = [(extra, module) for extra, one in installation.EXTRAS.items() for module in one.modules]
CHANNELS = "/admin/alarms/channels/new/"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every library that only an extra installs look as if it were not installed."""
    for name in list(sys.modules):
        if name.partition(".")[0] in {module for _extra, module in MODULES}:
            monkeypatch.setitem(sys.modules, name, None)
    for _extra, module in MODULES:
        monkeypatch.setitem(sys.modules, module, None)
    sending._apprise.cache_clear()


@pytest.fixture
def desk(admin_client: Client) -> Client:
    return admin_client


@pytest.mark.parametrize(("extra", "module"), MODULES)
def test_a_missing_library_is_told_by_its_extra(
    extra: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not installation.missing(extra)
    monkeypatch.setitem(sys.modules, module, None)
    assert installation.missing(extra)
    with pytest.raises(installation.Missing) as raised, installation.needed(extra):
        __import__(module)
    assert str(raised.value) == installation.advice(extra)
    assert str(raised.value).endswith(f": pip install crawlmgr[{extra}]")


def test_another_missing_library_is_not_taken_for_that_of_the_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_library"), installation.needed("s3"):
        __import__("no_such_library")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("name", "value", "extra"),
    [
        ("DATABASE_URL", "postgresql://user@host/name", "postgres"),
        ("CRAWLMGR_BROKER_URL", "redis://host:6379/0", "redis"),
        ("CRAWLMGR_ARCHIVE_STORE", "s3://bucket/folder", "s3"),
    ],
)
def test_the_start_stops_with_one_line(
    name: str, value: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = {
        "DATABASE_URL": lambda: environment.database(tmp_path),
        "CRAWLMGR_BROKER_URL": lambda: environment.broker("CRAWLMGR_BROKER_URL"),
        "CRAWLMGR_ARCHIVE_STORE": lambda: environment.store("CRAWLMGR_ARCHIVE_STORE"),
    }
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        read[name]()
    assert str(ended.value) == f"{name}: {installation.advice(extra)}."
    monkeypatch.delenv(name)
    read[name]()  # without the variable nothing is missing


@pytest.mark.usefixtures("bare")
def test_an_object_of_the_archive_that_cannot_be_fetched_says_why() -> None:
    with pytest.raises(object_store.Unreachable, match=r"crawlmgr\[s3\]"):
        object_store.size("s3://bucket/one.warc.gz")


@pytest.mark.usefixtures("bare")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "words",
    [
        "export runs --format parquet --out {folder}/runs.parquet",
        "export runs --format parquet --out -",
        "exports add nightly runs --format parquet",
    ],
)
def test_a_command_ends_with_status_1_and_one_line(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["crawlmgr", *words.format(folder=tmp_path).split()])
    # without the system checks and the closing of connections that end a process
    monkeypatch.setattr(
        program, "execute_from_command_line", lambda argv: call_command(argv[1], *argv[2:])
    )
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert str(ended.value) == f"CommandError: {installation.advice('parquet')}."
    assert not list(tmp_path.iterdir()) and not Export.objects.exists()


def test_commands_run_as_the_entry_point_says() -> None:
    assert program.execute_from_command_line is execute_from_command_line


@pytest.mark.usefixtures("bare")
@pytest.mark.django_db
def test_the_form_of_an_export_says_what_to_install(desk: Client) -> None:
    page = desk.get("/admin/exports/new/?table=runs").content.decode()
    assert "for analysis (not installed here: pip install crawlmgr[parquet])" in page
    assert page.count("not installed here") == 1
    wish = {"name": "n", "format": "parquet", "every_hours": 0, "keep": 5, "keep-it": "1"}
    answer = desk.post("/admin/exports/new/?table=runs", wish)
    assert answer.status_code == 422 and installation.advice("parquet") in answer.content.decode()
    assert not Export.objects.exists()
    formats = shared.table_list(HttpRequest())["formats"]
    assert formats == ["csv", "json", "jsonl", "xlsx", "sqlite"]


@pytest.mark.usefixtures("bare")
@pytest.mark.django_db
def test_the_form_of_a_chat_channel_says_what_to_install(desk: Client) -> None:
    assert "pip install crawlmgr[chat]" in desk.get(f"{CHANNELS}?kind=chat").content.decode()
    assert "not installed here" not in desk.get(f"{CHANNELS}?kind=webhook").content.decode()
    with pytest.raises(ValueError, match=r"crawlmgr\[chat\]"):
        alarms.add("room", "chat", {"url": "ntfy://host.example/room"}, now=timezone.now())
    assert not AlarmChannel.objects.exists()


def test_in_a_checkout_the_files_are_at_its_top() -> None:
    top = Path(__file__).resolve().parents[2]
    assert top / "templates" == installation.TEMPLATES and top / "static" == installation.STATIC
    assert top / "docs" == installation.GUIDE
    assert not installation.INSTALLED and installation.default_data() == top / "var"
