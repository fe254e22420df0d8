"""A backup contains everything, is complete or does not exist, and can be restored into an empty
installation only."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import stat
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_q.models import Schedule

from crawlmgr.access import vault
from crawlmgr.archive import warc_files
from crawlmgr.frontier import hosts
from crawlmgr.models import AlarmChannel, Event, Host, Node, Page, Run, WarcFile
from crawlmgr.upkeep import backup_file
from crawlmgr.workers import queue

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
WARC = bytes(range(256)) * 40


@pytest.fixture
def folders(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """Separate data folders; afterwards the rows that migrations made are restored."""
    settings.DATA_DIR, settings.ARCHIVE_DIR = tmp_path / "data", tmp_path / "data" / "archive"
    settings.ARCHIVE_DIR.mkdir(parents=True)
    (settings.DATA_DIR / "secret.key").write_text("s" * 60)
    hosts.forget()
    yield tmp_path
    hosts.forget()


def _fill(settings: Any) -> None:
    get_user_model().objects.create_superuser("admin", "", "word").groups.add(
        Group.objects.get_or_create(name="operator")[0]
    )
    host = Host.objects.create(key="a.example", next_at=NOW)
    run = Run.objects.create(
        kind="forum",
        label="论坛 “x”",
        created=NOW,
        parameters={"a": [1, None, "ä"]},
        result={"boards": []},
    )
    file = WarcFile.objects.create(name="one.warc.gz", run=run, created=NOW, bytes=len(WARC))
    (settings.ARCHIVE_DIR / "one.warc.gz").write_bytes(WARC)
    Page.objects.create(
        run=run,
        host=host,
        key_hash=-5,
        url="http://a.example/\n",
        url_hash=2**62,
        fetched_at=NOW,
        warc=file,
        warc_offset=0,
        title="=1+1",
    )
    Event.objects.bulk_create(Event(at=NOW, level=20, code=f"c{n}", run=run) for n in range(1203))
    (settings.DATA_DIR / "events").mkdir()
    (settings.DATA_DIR / "events" / "0a.csv.gz").write_bytes(WARC[:777])
    (settings.DATA_DIR / "events" / "half.part").write_bytes(b"half")
    queue.make_schedules()


def _everything() -> dict[str, list[tuple[Any, ...]]]:
    return {
        model._meta.label: list(
            model._base_manager.order_by("pk").values_list(
                *(f.attname for f in model._meta.concrete_fields)
            )
        )
        for model in backup_file.tables()
    }


def _empty(settings: Any) -> None:
    call_command("flush", interactive=False, verbosity=0)
    shutil.rmtree(settings.ARCHIVE_DIR)
    shutil.rmtree(settings.DATA_DIR / "events", ignore_errors=True)
    settings.ARCHIVE_DIR.mkdir()
    (settings.DATA_DIR / "secret.key").write_text("other" * 12)


def test_what_was_backed_up_comes_back(folders: Path, settings: Any) -> None:
    _fill(settings)
    before = _everything()
    made = backup_file.write(folders / "all.tar", NOW, lambda _: None)
    assert made["rows"]["crawlmgr.Event"] == 1203 and made["files"] == {"one.warc.gz": len(WARC)}
    assert made["kept"] == {"events/0a.csv.gz": 777}
    assert stat.S_IMODE((folders / "all.tar").stat().st_mode) == 0o600
    _empty(settings)
    assert not Run.objects.exists()
    backup_file.restore(folders / "all.tar", lambda _: None)
    assert _everything() == before
    assert (settings.ARCHIVE_DIR / "one.warc.gz").read_bytes() == WARC
    assert [
        (path.name, path.read_bytes()) for path in (settings.DATA_DIR / "events").iterdir()
    ] == [("0a.csv.gz", WARC[:777])]
    assert (settings.DATA_DIR / "secret.key").read_text() == "s" * 60
    assert get_user_model().objects.get().check_password("word")
    Node.objects.create(name="n", started=NOW)
    assert Event.objects.create(at=NOW, level=20, code="next").pk > max(
        row[0] for row in before["crawlmgr.Event"]
    )


def _offset(file: Path, name: str) -> int:
    with tarfile.open(file) as tar:
        return tar.getmember(name).offset_data


def _flipped(name: str, at: int) -> Any:
    def damage(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[_offset(file, name) + at] ^= 4
        file.write_bytes(data)

    return damage


def _cut(name: str, at: int) -> Any:
    def damage(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.truncate(_offset(file, name) + at)

    return damage


def _members(change: Any) -> Any:
    """Returns a function that passes each member of a backup through `change`."""

    def damage(file: Path) -> None:
        with tarfile.open(file) as old:
            members = [(info, old.extractfile(info)) for info in old]
            found = [(info, content.read()) for info, content in members if content is not None]
        with tarfile.open(file, "w") as new:
            for info, content in found:
                for name, data in change(info.name, content):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    new.addfile(info, io.BytesIO(data))

    return damage


def _without(gone: str) -> Any:
    return _members(lambda name, data: [] if name == gone else [(name, data)])


def _with(new: str, before: str = "secret.key") -> Any:
    return _members(
        lambda name, data: [(new, b"x"), (name, data)] if name == before else [(name, data)]
    )


def _replaced(one: str, content: bytes) -> Any:
    return _members(lambda name, data: [(name, content if name == one else data)])


WARC_NAME, EVENTS = "archive/one.warc.gz", "kept/events/0a.csv.gz"
ROWS = "rows/crawlmgr.Event.jsonl.gz"


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        pytest.param(_flipped(WARC_NAME, 5_000), WARC_NAME, id="a byte of an archive file"),
        pytest.param(_flipped(EVENTS, 0), EVENTS, id="the first byte of an event file"),
        pytest.param(_flipped(ROWS, 4), ROWS, id="a byte that no checksum of gzip covers"),
        pytest.param(_flipped("secret.key", 3), "secret.key", id="a byte of the key"),
        pytest.param(_flipped("manifest.json", 30), "manifest.json", id="a byte of the manifest"),
        pytest.param(_cut(WARC_NAME, 700), WARC_NAME, id="ends in an archive file"),
        pytest.param(_cut(ROWS, 0), ROWS, id="ends at a table"),
        pytest.param(_cut("manifest.json", -512), "secret.key", id="ends before the manifest"),
        pytest.param(_cut("manifest.json", 9), "manifest.json", id="ends in the manifest"),
        pytest.param(_without(WARC_NAME), WARC_NAME, id="without an archive file"),
        pytest.param(_without(EVENTS), EVENTS, id="without an event file"),
        pytest.param(_without(ROWS), ROWS, id="without a table"),
        pytest.param(_without("secret.key"), "secret.key", id="without the key"),
        pytest.param(_without("manifest.json.sha256"), "manifest.json", id="without the digest"),
        pytest.param(_with("archive/two.warc.gz"), "archive/two.warc.gz", id="one file more"),
        pytest.param(_with("rows/x.jsonl.gz"), "rows/x.jsonl.gz", id="one table more"),
        pytest.param(_with(WARC_NAME), WARC_NAME, id="a file twice"),
        pytest.param(_replaced(WARC_NAME, b""), WARC_NAME, id="an empty archive file"),
        pytest.param(_replaced("secret.key", b"k" * 60), "secret.key", id="another key"),
    ],
)
def test_a_damaged_backup_is_refused_with_the_files_name_before_anything_is_written(
    folders: Path, settings: Any, damage: Any, names: str
) -> None:
    _fill(settings)
    backup_file.write(folders / "all.tar", NOW, lambda _: None)
    damage(folders / "all.tar")
    _empty(settings)
    before = sorted(settings.DATA_DIR.rglob("*"))
    with (
        CaptureQueriesContext(connection) as asked,
        pytest.raises(backup_file.BackupRefused, match=re.escape(names)) as refused,
    ):
        backup_file.restore(folders / "all.tar", lambda _: None)
    assert "all.tar" in str(refused.value) and "\n" not in str(refused.value)
    assert not [one for one in asked.captured_queries if not one["sql"].startswith("SELECT")]
    assert sorted(settings.DATA_DIR.rglob("*")) == before
    assert (settings.DATA_DIR / "secret.key").read_text() == "other" * 12


@pytest.mark.parametrize("key", ["short", "k" * 39, "k" * 60 + "\n\0" + "k" * 9, "schlüssel" * 9])
def test_a_backup_with_something_else_than_a_key_is_refused(
    folders: Path, settings: Any, key: str
) -> None:
    _fill(settings)
    (settings.DATA_DIR / "secret.key").write_text(key, encoding="utf-8")
    backup_file.write(folders / "all.tar", NOW, lambda _: None)
    _empty(settings)
    with pytest.raises(
        backup_file.BackupRefused, match=r"all\.tar is damaged: secret\.key is no key"
    ):
        backup_file.restore(folders / "all.tar", lambda _: None)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [(WARC_NAME, b"x"), (EVENTS, b""), ("secret.key", b"short"), ("archive/new.warc.gz", None)],
)
def test_of_backups_without_digests_sizes_names_and_the_key_are_compared(
    folders: Path, settings: Any, name: str, content: bytes | None
) -> None:
    def change(member: str, data: bytes) -> tuple[str, bytes]:
        if content is None:
            return (name if member == "rows/crawlmgr.Run.jsonl.gz" else member), data
        return member, content if member == name else data

    _fill(settings)
    backup_file.write(folders / "all.tar", NOW, lambda _: None)
    bad = _rewritten(folders / "all.tar", folders / "bad.tar", change)
    whole = _rewritten(folders / "all.tar", folders / "old.tar", lambda name, data: (name, data))
    before = _everything()
    _empty(settings)
    with pytest.raises(backup_file.BackupRefused, match="damaged: "):
        backup_file.restore(bad, lambda _: None)
    assert not Run.objects.exists() and not list(settings.ARCHIVE_DIR.iterdir())
    backup_file.restore(whole, lambda _: None)
    assert _everything() == before


def _sealed_row(name: str) -> None:
    sealed = vault.seal({"password": "hunter2"})
    AlarmChannel.objects.create(name=name, kind="mail", sealed=sealed, created=NOW)


def test_what_the_key_of_a_backup_does_not_open_is_told(folders: Path, settings: Any) -> None:
    (settings.DATA_DIR / "secret.key").write_text(settings.SECRET_KEY)
    _fill(settings)
    (settings.DATA_DIR / "secret.key").write_text(settings.SECRET_KEY)
    _sealed_row("duty")
    settings.SECRET_KEY, ours = "another key, lost since" * 3, settings.SECRET_KEY
    _sealed_row("night")
    settings.SECRET_KEY = ours
    assert [name.split()[-1] for name in vault.unreadable()] == ["night"]
    backup_file.write(folders / "all.tar", NOW, lambda _: None)
    _empty(settings)
    told = backup_file.restore(folders / "all.tar", lambda _: None)["unreadable"]
    assert [name.split()[-1] for name in told] == ["night"]
    assert AlarmChannel.objects.count() == 2
    line = vault.loss("secret.key is damaged")
    assert "only this key opens: 1 (" in line and "night" in line


def test_an_installation_with_data_is_left_alone(folders: Path, settings: Any) -> None:
    _fill(settings)
    backup_file.write(folders / "all.tar", NOW, lambda _: None)
    before = _everything()
    with pytest.raises(backup_file.BackupRefused, match="contains data"):
        backup_file.restore(folders / "all.tar", lambda _: None)
    assert _everything() == before


def _rewritten(source: Path, target: Path, change: Any) -> Path:
    """Writes a changed backup as earlier versions wrote it: its manifest has no digests."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for info in old:
            found = old.extractfile(info)
            assert found is not None
            content = found.read()
            if info.name == backup_file.DIGEST:
                continue
            if info.name == backup_file.MANIFEST:
                manifest = json.loads(content)
                del manifest["contents"]
                content = json.dumps(manifest).encode()
            changed = change(info.name, content)
            if changed is not None:
                name, content = changed
                info.name, info.size = name, len(content)
                new.addfile(info, io.BytesIO(content))
    return target


def _escape(name: str, content: bytes) -> tuple[str, bytes]:
    if name == "manifest.json":
        manifest = json.loads(content)
        manifest["files"] = {"../../evil": len(WARC)}
        content = json.dumps(manifest).encode()
    return name.replace("archive/one.warc.gz", "archive/../../evil"), content


def _astray(place: str) -> Any:
    def change(name: str, content: bytes) -> tuple[str, bytes]:
        if name == "manifest.json":
            content = json.dumps({**json.loads(content), "kept": {place: 777}}).encode()
        return name.replace("kept/events/0a.csv.gz", f"kept/{place}"), content

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_astray("events/../../evil"), "not the name of a kept file"),
        (_astray("archive/evil"), "not the name of a kept file"),
        (_astray("events/.evil"), "not the name of a kept file"),
        (
            lambda name, content: None if name == "manifest.json" else (name, content),
            "not a complete backup",
        ),
        (
            lambda name, content: (name, content.replace(b'"format": 1', b'"format": 9')),
            "a format that this version cannot read",
        ),
        (
            lambda name, content: (name, content[:-40] if "Event" in name else content),
            "cannot be restored",
        ),
        (
            lambda name, content: (
                name,
                content.replace(b'"crawlmgr.Event": 1203', b'"crawlmgr.Event": 1204'),
            ),
            "1203 rows instead of 1204",
        ),
        (
            lambda name, content: (
                name.replace("rows/crawlmgr.Host.", "rows/crawlmgr.Ghost."),
                content,
            ),
            "damaged: rows/crawlmgr.Host.jsonl.gz is missing",
        ),
        (_escape, "not the name of an archive file"),
    ],
)
def test_a_damaged_backup_changes_nothing_in_the_database(
    folders: Path, settings: Any, change: Any, says: str
) -> None:
    _fill(settings)
    backup_file.write(folders / "all.tar", NOW, lambda _: None)
    bad = _rewritten(folders / "all.tar", folders / "bad.tar", change)
    _empty(settings)
    with pytest.raises(backup_file.BackupRefused, match=says):
        backup_file.restore(bad, lambda _: None)
    assert not (folders / "evil").exists() and not list(settings.ARCHIVE_DIR.iterdir())
    if change is not _escape:
        assert not Run.objects.exists()


def test_what_workers_are_asked_to_do_never_comes_out_of_a_backup(
    folders: Path, settings: Any
) -> None:
    """A backup with schedules is refused: they could name any function to be run."""
    row = json.dumps([1, "mine", "os.system", "'touch x'"]).encode()

    def change(name: str, content: bytes) -> tuple[str, bytes]:
        if name == "manifest.json":
            manifest = json.loads(content)
            manifest["rows"]["django_q.Schedule"] = 1
            return name, json.dumps(manifest).encode()
        if name == "rows/admin.LogEntry.jsonl.gz":
            return "rows/django_q.Schedule.jsonl.gz", gzip.compress(
                b'["id", "name", "func", "args"]\n' + row + b"\n"
            )
        return name, content

    _fill(settings)
    made = backup_file.write(folders / "all.tar", NOW, lambda _: None)
    assert "django_q.Schedule" not in made["rows"] and not {"django_q.OrmQ", "django_q.Task"} & set(
        made["rows"]
    )
    _empty(settings)
    queue.make_schedules()
    with_schedule = _rewritten(folders / "all.tar", folders / "more.tar", _both(change))
    with pytest.raises(backup_file.BackupRefused, match=r"no table django_q\.Schedule"):
        backup_file.restore(with_schedule, lambda _: None)
    assert set(Schedule.objects.values_list("func", flat=True)) == {
        task for _name, task, _kind in queue.SCHEDULES
    }


@pytest.mark.parametrize("name", ["../secret.key", "/etc/passwd", "..", "x/../../y"])
def test_an_archive_file_of_a_changed_backup_leads_nowhere_else(
    folders: Path, settings: Any, name: str
) -> None:
    _fill(settings)
    assert warc_files.open_file(WarcFile(name=name)) is None
    backup_file.write(folders / "all.tar", NOW, lambda _: None)

    def change(member: str, content: bytes) -> tuple[str, bytes]:
        if member == "rows/crawlmgr.WarcFile.jsonl.gz":
            content = gzip.compress(gzip.decompress(content).replace(b"one.warc.gz", name.encode()))
        return member, content

    bad = _rewritten(folders / "all.tar", folders / "bad.tar", change)
    _empty(settings)
    with pytest.raises(backup_file.BackupRefused, match="not the name of an archive file"):
        backup_file.restore(bad, lambda _: None)
    assert not Run.objects.exists()


def test_a_link_in_a_kept_folder_is_not_followed_into_a_backup(
    folders: Path, settings: Any
) -> None:
    _fill(settings)
    (folders / "outside.csv").write_text("secret")
    (settings.DATA_DIR / "events" / "linked.csv").symlink_to(folders / "outside.csv")
    assert set(backup_file.write(folders / "all.tar", NOW, lambda _: None)["kept"]) == {
        "events/0a.csv.gz"
    }


def _both(change: Any) -> Any:
    """Returns a function that applies `change` to a file of a backup. It also removes the row count
    of `admin.LogEntry` from the manifest: `change` replaces its file."""

    def changed(name: str, content: bytes) -> tuple[str, bytes]:
        name, content = change(name, content)
        if name == "manifest.json":
            manifest = json.loads(content)
            del manifest["rows"]["admin.LogEntry"]
            content = json.dumps(manifest).encode()
        return name, content

    return changed


def test_something_else_than_a_backup_is_told(folders: Path, settings: Any) -> None:
    _empty(settings)
    (folders / "x.tar").write_bytes(b"no tar at all")
    for path in (folders / "x.tar", folders / "nothing.tar"):
        with pytest.raises(backup_file.BackupRefused, match="cannot be restored"):
            backup_file.restore(path, lambda _: None)


def test_a_backup_that_cannot_be_written_leaves_nothing(folders: Path, settings: Any) -> None:
    _fill(settings)
    with pytest.raises(backup_file.BackupRefused, match="cannot be written"):
        backup_file.write(folders / "no" / "all.tar", NOW, lambda _: None)
    (settings.DATA_DIR / "secret.key").unlink()
    with pytest.raises(backup_file.BackupRefused):
        backup_file.write(folders / "all.tar", NOW, lambda _: None)
    assert sorted(path.name for path in folders.iterdir()) == ["data"]


@pytest.mark.parametrize("place", ["_set_sequences", "_put"])
def test_a_restore_that_was_killed_is_begun_again(
    folders: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    class Killed(BaseException):
        """Simulates the signal that ends a process."""

    def kill(*_: object) -> None:
        raise Killed

    _fill(settings)
    before = _everything()
    backup_file.write(folders / "all.tar", NOW, lambda _: None)
    _empty(settings)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(backup_file, place, kill)
        backup_file.restore(folders / "all.tar", lambda _: None)
    backup_file.restore(folders / "all.tar", lambda _: None)
    assert _everything() == before
    assert (settings.ARCHIVE_DIR / "one.warc.gz").read_bytes() == WARC and (
        settings.DATA_DIR / "secret.key"
    ).read_text() == "s" * 60
