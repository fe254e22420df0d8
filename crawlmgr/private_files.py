"""File permissions: umask for new files, and correction of older files, so that only the installation's user has access. Pure."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

OTHERS = 0o077  # permission bits of group and others; also the umask that removes them
DATABASE_ENDINGS = ("", "-wal", "-shm", "-journal")
OURS = "secret.key"  # a file that every installation's folder contains


def mask() -> None:
    """Sets the umask so that this process and its children create files with mode 0600 and folders with 0700."""
    os.umask(OTHERS)


def open_to_others(path: Path) -> bool:
    """Tells whether group or others have any permission on a file or folder; False for a symbolic link or a missing file."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return not stat.S_ISLNK(found.st_mode) and bool(stat.S_IMODE(found.st_mode) & OTHERS)


def mend(folder: Path) -> int:
    """Removes all permissions of other users from an installation's folder and its contents; returns how many files and folders
    were changed.

    The whole tree is walked only if the folder, or something directly in it, is open, since files made under the umask never are.
    Symbolic links are neither followed nor changed. A folder with other contents and no installation yet, and a home directory or
    one above it, are left alone. Raises OSError for files of another user.
    """
    try:
        inside = list(folder.iterdir())
    except FileNotFoundError:
        return 0
    home = Path.home().resolve()
    if folder == home or folder in home.parents or not any(map(open_to_others, [folder, *inside])):
        return 0
    if not (folder / OURS).exists():
        if not inside:
            _close(folder)  # it was just created for this installation
        return 0
    return sum(map(_close, [folder, *_below(folder)]))


def mend_database(path: Path) -> int:
    """Like `mend`, for an SQLite database elsewhere and the files beside it. Raises OSError."""
    return sum(_close(path.with_name(path.name + ending)) for ending in DATABASE_ENDINGS)


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(root, name)


def _close(path: Path) -> bool:
    if not open_to_others(path):
        return False
    try:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
    except FileNotFoundError:  # a temporary file of a concurrent writer
        return False
    return True


def put_right(folder: Path, database: Path | None) -> None:
    """Sets the umask and corrects permissions left by older versions, with one line on standard error if there were any."""
    mask()
    try:
        count = mend(folder) + (mend_database(database) if database is not None else 0)
    except OSError as error:
        sys.stderr.write(f"{error.filename or folder} can be read by others and cannot be closed to them ({error.strerror}).\n")
        return
    if count:
        sys.stderr.write(f"{folder}: {count} files and folders could be read by others; now only their owner can.\n")
