"""Files that a killed import leaves in the archive folder are deleted; those that the database
knows stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from django.conf import settings

from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Page, WarcFile
from crawlmgr.web.warc import WarcWriter

pytestmark = pytest.mark.django_db


def _imported(source: Path) -> Path:
    list(archive.import_file(source, SYSTEM.now()))
    return Path(settings.ARCHIVE_DIR) / WarcFile.objects.latest("pk").name


def _age(path: Path) -> None:
    old = time.time() - archive.IMPORT_SECONDS - 60
    os.utime(path, (old, old))


def test_only_old_files_of_imports_without_a_row_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "other.warc.gz"
    WarcWriter(source, hostname="example.org", now=SYSTEM.now()).close()
    known, killed, running = (_imported(source) for _ in range(3))
    part = killed.with_name(killed.name.replace("import-", "import-0") + ".part")
    part.write_bytes(killed.read_bytes())
    for path in (known, killed, part):
        _age(path)
    Page.objects.all().delete()
    WarcFile.objects.filter(
        name__in=[killed.name, running.name]
    ).delete()  # as if the process had ended before its rows were committed
    monkeypatch.setattr(
        archive, "INFO_BYTES", 0
    )  # turns off another rule, which deletes small files of killed writers
    archive.close_left(SYSTEM.now())
    assert [path.exists() for path in (known, killed, part, running)] == [True, False, False, True]
