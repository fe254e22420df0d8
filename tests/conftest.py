"""Before the settings load: a data folder of the run's own, small times; and the choice of database.

`CRAWLMGR_TEST_DATABASE=postgresql` runs the suite on a PostgreSQL that is started for it in a temporary folder and stopped after.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.postgresql import Server, find_binaries

_folder = Path(tempfile.mkdtemp(prefix="crawlmgr-tests-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_KEPT = ("CRAWLMGR_TEST_DATABASE", "CRAWLMGR_KILLS")
for _name in [name for name in os.environ if name.startswith("CRAWLMGR_") and name not in _KEPT]:
    del os.environ[_name]
os.environ.pop("DATABASE_URL", None)
os.environ["CRAWLMGR_DATA"] = str(_folder)
os.environ["DJANGO_SETTINGS_MODULE"] = "crawlmgr.settings"

if os.environ.get("CRAWLMGR_TEST_DATABASE") == "postgresql":
    _binaries = find_binaries()
    if _binaries is None:
        pytest.exit("CRAWLMGR_TEST_DATABASE: no initdb and postgres in PATH or /usr/lib/postgresql.", returncode=1)
    _server = Server(_binaries)
    _server.start()
    atexit.register(_server.stop)
    os.environ["DATABASE_URL"] = _server.url("crawlmgr")


def pytest_configure() -> None:
    """Loads the settings, so that pytest-django, whose own turn comes after this, sets Django up with them."""
    assert settings.DATA_DIR == _folder.resolve()


@pytest.fixture
def data_folder(tmp_path: Path) -> Iterator[Path]:
    """A fresh data folder for a process that a test starts."""
    folder = tmp_path / "data"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
