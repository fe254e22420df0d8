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
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, cast

from django.apps import apps
from django.conf import settings
from django.core.management.color import no_style
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction
from django.utils.module_loading import import_string

from crawlmgr import __version__, environment
from crawlmgr.access import vault
from crawlmgr.archive import warc_files
from crawlmgr.database import upgrade
from crawlmgr.models import WarcFile

FORMAT = 1
MANIFEST, SECRET = "manifest.json", "secret.key"
DIGEST = "manifest.json.sha256"  # file with the digest of the manifest
OWN = frozenset({MANIFEST, DIGEST})  # files that the manifest does not name
PIECE_BYTES = 1 << 20
MAX_MANIFEST_BYTES = 250_000_000
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
Contents = dict[str, tuple[int, str]]  # size in bytes and SHA-256 digest of files, by name


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

    Returns the manifest (format, version, time, rows by table, bytes by file) without "contents",
    the size and digest of every file, and "bytes", the size of the backup. Raises BackupRefused."""
    part = target.with_name(f"{target.name}.part")
    rows: dict[str, int] = {}
    files: dict[str, int] = {}
    contents: Contents = {}
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
                    name = f"rows/{model._meta.label}.jsonl.gz"
                    contents[name] = _add(tar, name, spool, now)
            for file in WarcFile.objects.order_by("pk").iterator():
                progress(file.name)
                source = warc_files.open_file(file)
                if source is not None:
                    name = f"archive/{file.name}"
                    with source:
                        contents[name] = _add(tar, name, source, now)
                    files[file.name] = contents[name][0]
            kept = _add_kept(tar, now, progress)
            contents |= {f"kept/{name}": one for name, one in kept.items()}
            key = io.BytesIO((settings.DATA_DIR / SECRET).read_bytes())
            contents[SECRET] = _add(tar, SECRET, key, now)
            manifest = {"format": FORMAT, "version": __version__, "made": now.isoformat()}
            manifest |= {"rows": rows, "files": files, "contents": contents}
            manifest["kept"] = {name: size for name, (size, _digest) in kept.items()}
            _size, digest = _add(tar, MANIFEST, io.BytesIO(json.dumps(manifest).encode()), now)
            _add(tar, DIGEST, io.BytesIO(digest.encode()), now)
            output.flush()
            os.fsync(output.fileno())
        os.replace(part, target)
    except OSError as error:
        raise BackupRefused(f"{target} cannot be written: {error.strerror or error}") from error
    except warc_files.Unreachable as error:
        raise BackupRefused(f"the archive's store does not answer: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    del manifest["contents"]
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
    # columns, not fields, so that a field whose name changes stays readable
    fields = {field.column: field.attname for field in model._meta.concrete_fields}
    count = 0
    with (
        gzip.GzipFile(fileobj=spool, mode="wb", compresslevel=3, mtime=0) as packed,
        io.TextIOWrapper(packed, "utf-8") as lines,
    ):
        lines.write(json.dumps(list(fields)) + "\n")
        rows = model._base_manager.order_by("pk").values_list(*fields.values())
        for row in rows.iterator(chunk_size=2000):
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


class _Counted:
    """Reads from a file and computes the digest of what was read."""

    def __init__(self, source: IO[bytes]) -> None:
        self.source, self.digest = source, sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self.source.read(size)
        self.digest.update(piece)
        return piece


def _add(tar: tarfile.TarFile, name: str, source: IO[bytes], now: datetime) -> tuple[int, str]:
    """Adds a file to the tar, with the length that it has now: bytes appended meanwhile are left
    out. Returns that length and the SHA-256 digest of the content."""
    info = tarfile.TarInfo(name)
    info.size = source.seek(0, os.SEEK_END)
    info.mtime, info.mode = int(now.timestamp()), 0o600
    source.seek(0)
    counted = _Counted(source)
    tar.addfile(info, cast(IO[bytes], counted))
    return info.size, counted.digest.hexdigest()


def _add_kept(tar: tarfile.TarFile, now: datetime, progress: Progress) -> Contents:
    """Adds the files of settings.KEPT_FOLDERS to the tar, except unfinished ones and those deleted
    meanwhile. Returns their sizes and digests by name ("folder/file")."""
    sizes: Contents = {}
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
    the name of each table and file. The whole backup is read and compared with its manifest before
    anything is written. All rows are restored in one transaction, which is committed when all files
    are in place, so that a killed restore can be repeated.

    The returned manifest has "unreadable" beside, the names of what is stored encrypted with
    another key than the backup's. Raises BackupRefused if the installation is not empty or the
    backup is damaged or incomplete; the text names the damaged file in it.
    """
    if _filled():
        raise BackupRefused(
            "This installation already contains data; restore into an empty one (set another"
            " CRAWLMGR_DATA)."
        )
    try:
        with tarfile.open(source, "r:") as tar:
            progress("checking the backup")
            manifest = _verified(tar, source)
            upgrade.check_backup(
                {label: _columns(tar, label) for label in manifest["rows"]}, str(source)
            )
            places = {name: _kept_place(name) for name in manifest["kept"]}
            for name in manifest["files"]:
                warc_files.path_of(WarcFile(name=name))  # raises ValueError for another place
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
                    warc_files.path_of(
                        file
                    )  # raises ValueError for a name that leads out of the folder
                # the files that were in an object store are restored into the folder
                WarcFile.objects.exclude(object_url="").update(object_url="")
                for name in manifest["files"]:
                    progress(name)
                    warc_files.put_file(name, _member(tar, f"archive/{name}"))
                for name, place in places.items():
                    progress(name)
                    _put(place, _member(tar, f"kept/{name}"))
                manifest["unreadable"] = vault.unreadable(_member(tar, SECRET).read().decode())
                _put(settings.DATA_DIR / SECRET, _member(tar, SECRET))
    except upgrade.TooOld as error:
        raise BackupRefused(str(error)) from error
    except (OSError, EOFError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise BackupRefused(f"{source} cannot be restored: {error}") from error
    return dict(manifest)


def _filled() -> bool:
    """Tells whether the database contains any rows besides those that a first start creates."""
    return any(
        model._base_manager.exists() for model in tables() if model._meta.label not in GROUND
    )


def _verified(tar: tarfile.TarFile, source: Path) -> dict[str, Any]:
    """Reads every file of a backup and returns the manifest. Raises BackupRefused, with the name of
    the file, if one is damaged, missing or not of the backup, or if the key is none."""
    found, small = _found(tar, source)
    try:
        manifest = json.loads(small[MANIFEST])
        known = manifest["format"] == FORMAT and all(
            isinstance(manifest[name], dict) for name in ("rows", "files", "kept")
        )
    except KeyError:
        last = list(found)[-1] if found else "its beginning"
        raise BackupRefused(
            f"{source} is not a complete backup: {MANIFEST} is missing, the last file is {last}."
        ) from None
    except (ValueError, TypeError) as error:
        raise BackupRefused(f"{source} is damaged: {MANIFEST} cannot be read.") from error
    if not known:
        raise BackupRefused(f"{source} has a format that this version cannot read.")
    _compare(found, manifest, small.get(DIGEST), source)
    if not environment.is_key(small.get(SECRET, b"").decode("ascii", "replace").strip()):
        raise BackupRefused(f"{source} is damaged: {SECRET} is no key.")
    manifest.pop("contents", None)
    return dict(manifest)


def _found(tar: tarfile.TarFile, source: Path) -> tuple[Contents, dict[str, bytes]]:
    """Returns size and digest of every file in a tar, and the contents of those that are read as a
    whole. Raises BackupRefused, with the name of the file, where it cannot be read."""
    found: Contents = {}
    small: dict[str, bytes] = {}
    name = "its beginning"
    try:
        for info in tar:
            name = info.name
            if not info.isfile() or name in found:
                raise BackupRefused(f"{source} is damaged: {name} is no file, or is in it twice.")
            content, digest, size, kept = _member(tar, info), sha256(), 0, []
            while piece := content.read(PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
                if name in (MANIFEST, DIGEST, SECRET) and size <= MAX_MANIFEST_BYTES:
                    kept.append(piece)
            found[name] = size, digest.hexdigest()
            if kept:
                small[name] = b"".join(kept)
    except (OSError, EOFError, tarfile.TarError, ValueError) as error:
        raise BackupRefused(f"{source} is damaged: it ends at {name} ({error}).") from error
    return found, small


def _compare(found: Contents, manifest: dict[str, Any], digest: bytes | None, source: Path) -> None:
    """Compares the files of a backup with its manifest; raises BackupRefused with the name of the
    first one that differs. The manifests of earlier versions have no digests; of these backups,
    the sizes are compared, and the rows are checked when they are read."""
    named = {name: tuple(one) for name, one in manifest.get("contents", {}).items()}
    sizes = {f"archive/{name}": size for name, size in manifest["files"].items()}
    sizes |= {f"kept/{name}": size for name, size in manifest["kept"].items()}
    rows = {f"rows/{label}.jsonl.gz" for label in manifest["rows"]}
    wanted = {*sizes, *rows, SECRET, *named}
    wrong = [f"{name} is missing" for name in sorted(wanted - set(found))]
    wrong += [f"{name} is not in its manifest" for name in found if name not in wanted | OWN]
    for name, (size, own) in found.items():
        if name in sizes and size != sizes[name]:
            wrong.append(f"{name} has {size} bytes instead of {sizes[name]}")
        elif named and name not in OWN and named.get(name) != (size, own):
            wrong.append(f"{name} has other contents than when it was written")
    told = (digest or b"").decode("ascii", "replace")
    if (named or told) and told != found[MANIFEST][1]:
        wrong.insert(0, f"{MANIFEST} has other contents than when it was written")
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise BackupRefused(f"{source} is damaged: {wrong[0]}{more}.")


def _member(tar: tarfile.TarFile, name: str | tarfile.TarInfo) -> IO[bytes]:
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
        fields = {field.column: field for field in model._meta.concrete_fields}
        if unknown := set(names) - set(fields):
            raise ValueError(f"{label} has no column {sorted(unknown)[0]}")
        readers = [_reader(fields[name]) for name in names]
        batch: list[models.Model] = []
        for line in lines:
            values = json.loads(line)
            batch.append(
                model(
                    **{
                        fields[name].attname: read(value)
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
