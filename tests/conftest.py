"""Runs before the settings are loaded: sets a separate data folder, short time limits and the
database.

`CRAWLMGR_TEST_DATABASE=postgresql` runs the tests on a PostgreSQL server that is started in a
temporary folder and stopped afterwards; tests that use no database are then left out, because they
would not differ.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.utils import translation
from pytest_django import DjangoDbBlocker

from tests import fuzzing, prepared
from tests.cursors import WatchedConnection
from tests.postgresql import MIGRATED, Server, begun, find_binaries, migrated_once
from tests.serving import wait_for

_folder = Path(tempfile.mkdtemp(prefix="crawlmgr-tests-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_KEPT = ("CRAWLMGR_TEST_DATABASE", "CRAWLMGR_TEST_SERVER", "CRAWLMGR_KILLS", prepared.PLACE)
for _name in [name for name in os.environ if name.startswith("CRAWLMGR_") and name not in _KEPT]:
    del os.environ[_name]
os.environ.pop("DATABASE_URL", None)
os.environ["CRAWLMGR_DATA"] = str(_folder)
os.environ.setdefault(prepared.PLACE, str(_folder / "prepared"))
(
    _folder / "static"
).mkdir()  # where collectstatic would put files; without the folder WhiteNoise warns
os.environ["DJANGO_SETTINGS_MODULE"] = "crawlmgr.settings"

fuzzing.register()
USE_DATABASE = {"db", "transactional_db", "live_server", "installation"}
PRISTINE = "pristine"  # name of the database in the state in which migrations leave it
_server: Server | None = None
_numbers = itertools.count(1)
if os.environ.get("CRAWLMGR_TEST_DATABASE") == "postgresql":
    _binaries = find_binaries()
    if _binaries is None:
        pytest.exit(
            "CRAWLMGR_TEST_DATABASE: no initdb and postgres in PATH or /usr/lib/postgresql.",
            returncode=1,
        )
    _server = begun(_binaries)
    atexit.register(_server.stop)
    os.environ["DATABASE_URL"] = _server.url("crawlmgr")


def pytest_configure() -> None:
    """Loads the settings, so that pytest-django, which runs after this, sets Django up with
    them."""
    assert Path(settings.DATA_DIR).samefile(_folder)
    if _server is None:
        settings.DATABASES["default"]["OPTIONS"]["factory"] = WatchedConnection
        # A file, as in use: threads that share a database in memory do not wait for each other's
        # locks, so a request beside a worker would fail.
        settings.DATABASES["default"]["TEST"] = {"NAME": str(_folder / "test.sqlite3")}
    settings.CACHES = {"default": {"BACKEND": "tests.standing.StandingCache"}}
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher"
    ]  # saves a third of a second per created user


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Each worker process of a parallel run makes its own folder before it loads the settings."""
    if session.config.getoption("numprocesses", None):
        os.environ.pop("DJANGO_SETTINGS_MODULE")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Runs files with slow tests first, so that no worker process still has one when the others
    have finished.

    On PostgreSQL only tests that use the database run, without those marked `once`.
    """
    if left_out := fuzzing.keep_random(items):
        config.hook.pytest_deselected(items=left_out)
    slow = {
        item.path
        for item in items
        if item.get_closest_marker("slow") or item.get_closest_marker("browser")
    }
    items.sort(key=lambda item: item.path not in slow)
    if _server is None:
        return
    without = [
        item
        for item in items
        if item.get_closest_marker("once")
        or not item.get_closest_marker("django_db")
        and not USE_DATABASE & set(_fixtures(item))
    ]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in set(without)]


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", []))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """Before the test database is made: runs migrations once for all worker processes."""
    from tests import databases

    if _server is None:
        databases.migrate_once()
        return
    with django_db_blocker.unblock():
        migrated_once(_server, lambda: databases.migrate_into(MIGRATED))
    databases.copy_template(MIGRATED)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """After a test with its own transactions, empties every table and restores the rows that
    migrations made (content types, permissions, roles). Django's flush would make every app create
    these rows again and give each PostgreSQL table new files, which takes longer than most tests.
    """
    from django.contrib.contenttypes.models import ContentType
    from django.db import OperationalError, connection, transaction
    from django.test import TransactionTestCase

    from crawlmgr.frontier import hosts
    from focused.apps import _empty_search

    def rows(table: str) -> list[tuple[object, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - our own tables
            return list(cursor.fetchall())

    def emptied() -> bool:
        """Empties the tables. Returns False if they are locked by a leftover request of a browser
        test that is still reading them."""
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for table in left:
                    cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608
                for table, found in left.items():
                    if found:
                        cursor.executemany(
                            f'INSERT INTO "{table}" '  # noqa: S608
                            f"VALUES ({', '.join(['%s'] * len(found[0]))})",
                            found,
                        )
        except OperationalError as error:
            if "is locked" not in str(error):
                raise
            return False
        return True

    def begin_anew(_case: TransactionTestCase) -> None:
        assert wait_for(emptied), "the tables stayed locked"
        ContentType.objects.clear_cache()
        hosts.forget()
        _empty_search(using="default")

    with django_db_blocker.unblock():
        tables = connection.introspection.django_table_names(
            only_existing=True, include_views=False
        )
        left = {table: rows(table) for table in tables}
        if connection.vendor == "sqlite":
            with closing(
                sqlite3.connect(_folder / PRISTINE)
            ) as copy:  # for tests that start installations of their own
                connection.connection.backup(copy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", begin_anew)
        yield


@pytest.fixture(autouse=True)
def usual_beginning() -> None:
    """Each test begins in the default language (a request in another language would leave it active
    in its thread) and with an empty cache, which ages no more (see `tests.standing`)."""
    translation.deactivate()
    cache.clear()


def _own_name() -> str:
    """A database name that no other test of this run uses."""
    return f"installation_{os.environ.get('PYTEST_XDIST_WORKER', '')}_{next(_numbers)}"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a separate installation, for processes that a test starts: a data folder
    and, on PostgreSQL, a database on the same server."""
    own = (
        "CRAWLMGR_",
        "DATABASE_URL",
        "DJANGO_ALLOW_ASYNC_UNSAFE",
    )  # the last one is set by tests with a browser
    environment = {name: text for name, text in os.environ.items() if not name.startswith(own)}
    environment["CRAWLMGR_DATA"] = str(tmp_path / "data")
    if _server is not None:
        name = _own_name()
        _server.create(name)
        environment["DATABASE_URL"] = _server.url(name)
    yield environment
    shutil.rmtree(tmp_path / "data", ignore_errors=True)


@pytest.fixture
def installed(installation: dict[str, str], db: None) -> dict[str, str]:
    """An installation whose database already has its tables, for tests of anything after a first
    start."""
    if _server is None:
        data = Path(installation["CRAWLMGR_DATA"])
        data.mkdir(mode=0o700)
        shutil.copy(_folder / PRISTINE, data / "crawlmgr.sqlite3")
    else:
        name = _own_name()
        _server.create(name, MIGRATED)
        installation["DATABASE_URL"] = _server.url(name)
    return installation
