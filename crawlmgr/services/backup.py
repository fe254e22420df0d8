"""Writes and restores backups: one tar file with the rows of the database, the WARC files, the
folders of settings.KEPT_FOLDERS and the secret key. A backup of SQLite can be restored into
PostgreSQL and vice versa.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from django.apps import apps
from django.conf import settings
from django.core.management.color import no_style
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction
from django.utils.module_loading import import_string

from crawlmgr import __version__
from crawlmgr.models import WarcFile
from crawlmgr.services import archive_files, oldest

FORMAT = 1
MANIFEST, SECRET = "manifest.json", "secret.key"
AXES = (
    "axes.AccessAttempt",
    "axes.AccessAttemptExpiration",
    "axes.AccessFailureLog",
    "axes.AccessLog",
)
# After a restore users must log in again, and the dispatcher queues tasks again. The queue is never
# restored from a file, because workers execute what it contains.
LEFT_OUT = frozenset(
    {"sessions.Session", "django_q.OrmQ", "django_q.Task", "django_q.Schedule", *AXES}
)
BATCH = 500
GROUND = frozenset(
    {"contenttypes.ContentType", "auth.Permission", "auth.Group", "auth.Group_permissions"}
)
PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
Progress = Callable[[str], None]


class BackupRefused(Exception):
    """A backup or restore is not possible; the exception's text is a one-line message for the
    user."""


def tables() -> list[type[models.Model]]:
    """Returns the models whose rows are backed up, including automatic many-to-many tables, sorted
    by name."""
    kept = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and model._meta.label not in LEFT_OUT
    ]
    return sorted(kept, key=lambda model: model._meta.label)


def write(target: Path, now: datetime, progress: Progress) -> dict[str, Any]:
    """Writes a backup to the file `target`, under a temporary name until it is complete. Other
    processes may write to the database meanwhile: all rows are read in one snapshot. `progress` is
    called with the name of each file before it is copied, to show progress.

    Returns the manifest (format, version, time, rows by table, bytes by file) and "bytes", the size
    of the backup. Raises BackupRefused."""
    part = target.with_name(f"{target.name}.part")
    rows: dict[str, int] = {}
    files: dict[str, int] = {}
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with (
            os.fdopen(descriptor, "wb") as output,
            tarfile.open(fileobj=output, mode="w") as tar,
            _one_moment(),
        ):
            for model in tables():
                with tempfile.TemporaryFile(dir=target.parent) as spool:
                    rows[model._meta.label] = _write_rows(model, spool)
                    _add(tar, f"rows/{model._meta.label}.jsonl.gz", spool, now)
            for file in WarcFile.objects.order_by("pk").iterator():
                progress(file.name)
                source = archive_files.open_file(file)
                if source is not None:
                    with source:
                        files[file.name] = _add(tar, f"archive/{file.name}", source, now)
            kept = _add_kept(tar, now, progress)
            _add(tar, SECRET, io.BytesIO((settings.DATA_DIR / SECRET).read_bytes()), now)
            manifest = {"format": FORMAT, "version": __version__, "made": now.isoformat()}
            manifest |= {"rows": rows, "files": files, "kept": kept}
            _add(tar, MANIFEST, io.BytesIO(json.dumps(manifest).encode()), now)
            output.flush()
            os.fsync(output.fileno())
        os.replace(part, target)
    except OSError as error:
        raise BackupRefused(f"{target} cannot be written: {error.strerror or error}") from error
    except archive_files.Unreachable as error:
        raise BackupRefused(f"the archive's store does not answer: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return {**manifest, "bytes": target.stat().st_size}


@contextmanager
def _one_moment() -> Iterator[None]:
    """Context manager in which the database is read from one consistent snapshot; blocks no
    writer."""
    with connection.cursor() as cursor:
        cursor.execute(
            "BEGIN"
            if connection.vendor == "sqlite"
            else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        )
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _write_rows(model: type[models.Model], spool: IO[bytes]) -> int:
    names = [field.attname for field in model._meta.concrete_fields]
    count = 0
    with (
        gzip.GzipFile(fileobj=spool, mode="wb", compresslevel=3, mtime=0) as packed,
        io.TextIOWrapper(packed, "utf-8") as lines,
    ):
        lines.write(json.dumps(names) + "\n")
        for row in model._base_manager.order_by("pk").values_list(*names).iterator(chunk_size=2000):
            lines.write(
                json.dumps(
                    [_plain(value) for value in row], cls=DjangoJSONEncoder, ensure_ascii=False
                )
                + "\n"
            )
            count += 1
    return count


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value


def _add(tar: tarfile.TarFile, name: str, source: IO[bytes], now: datetime) -> int:
    """Adds a file to the tar, with the length that it has now: bytes appended meanwhile are left
    out. Returns that length."""
    info = tarfile.TarInfo(name)
    info.size = source.seek(0, os.SEEK_END)
    info.mtime, info.mode = int(now.timestamp()), 0o600
    source.seek(0)
    tar.addfile(info, source)
    return info.size


def _add_kept(tar: tarfile.TarFile, now: datetime, progress: Progress) -> dict[str, int]:
    """Adds the files of settings.KEPT_FOLDERS to the tar, except unfinished ones and those deleted
    meanwhile. Returns their sizes in bytes by name ("folder/file")."""
    sizes: dict[str, int] = {}
    for folder in settings.KEPT_FOLDERS:
        for path in sorted((settings.DATA_DIR / folder).glob("*")):
            name = f"{folder}/{path.name}"
            if (
                path.suffix == ".part"
                or not PLAIN_NAME.fullmatch(path.name)
                or path.is_symlink()
                or not path.is_file()
            ):
                continue
            progress(name)
            try:
                source = path.open("rb")
            except FileNotFoundError:
                continue
            with source:
                sizes[name] = _add(tar, f"kept/{name}", source, now)
    return sizes


def restore(source: Path, progress: Progress) -> dict[str, Any]:
    """Fills an empty installation from a backup and returns its manifest. `progress` is called with
    the name of each table and file. All rows are restored in one transaction, which is committed
    when all files are in place, so that a killed restore can be repeated. Raises BackupRefused if
    the installation is not empty or the backup cannot be read completely.
    """
    if _filled():
        raise BackupRefused(
            "This installation already contains data; restore into an empty one (set another"
            " CRAWLMGR_DATA)."
        )
    try:
        with tarfile.open(source, "r:") as tar:
            manifest = _manifest(tar, source)
            oldest.check_backup(
                {label: _columns(tar, label) for label in manifest["rows"]}, str(source)
            )
            places = {name: _kept_place(name) for name in manifest["kept"]}
            with transaction.atomic():
                for model in tables():
                    model._base_manager.all().delete()
                for label, count in manifest["rows"].items():
                    progress(label)
                    done = _read_rows(tar, label)
                    if done != count:
                        raise BackupRefused(
                            f"{source} is damaged: {label} has {done} rows instead of {count}."
                        )
                _set_sequences()
                for name in settings.DERIVED:
                    import_string(name)()
                for file in WarcFile.objects.iterator():
                    archive_files.path_of(
                        file
                    )  # raises ValueError for a name that leads out of the folder
                # the files that were in an object store are restored into the folder
                WarcFile.objects.exclude(place="").update(place="")
                for name in manifest["files"]:
                    progress(name)
                    archive_files.put_file(name, _member(tar, f"archive/{name}"))
                for name, place in places.items():
                    progress(name)
                    _put(place, _member(tar, f"kept/{name}"))
                _put(settings.DATA_DIR / SECRET, _member(tar, SECRET))
    except oldest.TooOld as error:
        raise BackupRefused(str(error)) from error
    except (OSError, EOFError, tarfile.TarError, ValueError, KeyError) as error:
        raise BackupRefused(f"{source} cannot be restored: {error}") from error
    return dict(manifest)


def _filled() -> bool:
    """Tells whether the database contains any rows besides those that a first start creates."""
    return any(
        model._base_manager.exists() for model in tables() if model._meta.label not in GROUND
    )


def _manifest(tar: tarfile.TarFile, source: Path) -> dict[str, Any]:
    try:
        manifest = json.load(_member(tar, MANIFEST))
        known = (
            manifest["format"] == FORMAT
            and isinstance(manifest["rows"], dict)
            and isinstance(manifest["files"], dict)
        )
    except (KeyError, ValueError) as error:
        raise BackupRefused(f"{source} is not a complete backup.") from error
    if not known:
        raise BackupRefused(f"{source} has a format that this version cannot read.")
    return dict(manifest)


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found


def _columns(tar: tarfile.TarFile, label: str) -> list[str]:
    """Returns the names of the columns of a table in the backup."""
    with gzip.open(_member(tar, f"rows/{label}.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return list(json.loads(next(lines)))


def _read_rows(tar: tarfile.TarFile, label: str) -> int:
    """Restores the rows of one table and returns their number. A column that the backup lacks gets
    its default value. Raises ValueError if the table does not exist or lacks a column of the
    backup."""
    model = apps.get_model(label) if label.count(".") == 1 else None
    if model is None or model not in tables():
        raise ValueError(f"there is no table {label}")
    count = 0
    with gzip.open(_member(tar, f"rows/{label}.jsonl.gz"), "rt", encoding="utf-8") as lines:
        names = json.loads(next(lines))
        fields = {field.attname: field for field in model._meta.concrete_fields}
        if unknown := set(names) - set(fields):
            raise ValueError(f"{label} has no column {sorted(unknown)[0]}")
        readers = [_reader(fields[name]) for name in names]
        batch: list[models.Model] = []
        for line in lines:
            values = json.loads(line)
            batch.append(
                model(
                    **{
                        name: read(value)
                        for name, read, value in zip(names, readers, values, strict=True)
                    }
                )
            )
            if len(batch) == BATCH:
                model._base_manager.bulk_create(batch)
                count, batch = count + len(batch), []
        model._base_manager.bulk_create(batch)
    return count + len(batch)


def _reader(field: Any) -> Callable[[Any], Any]:
    if isinstance(field, models.JSONField):
        return _same
    if isinstance(field, models.DurationField):
        return _duration
    if isinstance(field, models.BinaryField):
        return _binary
    target = field.target_field if field.is_relation else field
    return target.to_python


def _same(value: Any) -> Any:
    return value


def _duration(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def _binary(value: dict[str, str] | None) -> bytes | None:
    return None if value is None else base64.b64decode(value["base64"])


def _set_sequences() -> None:
    """Sets the sequences that generate primary keys to continue above the restored keys."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables()):
            cursor.execute(statement)


def _kept_place(name: str) -> Path:
    """Returns the path of a file in one of settings.KEPT_FOLDERS. Raises ValueError for any other
    name."""
    folder, _slash, plain = name.partition("/")
    if folder not in settings.KEPT_FOLDERS or not PLAIN_NAME.fullmatch(plain):
        raise ValueError(f"{name[:80]!r} is not the name of a kept file")
    return Path(settings.DATA_DIR) / folder / plain


def _put(place: Path, content: IO[bytes]) -> None:
    """Writes a file under a temporary name and renames it; only its owner may read it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f"{place.name}.part")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(content, file, 1 << 20)
    os.replace(beside, place)
