"""File permissions and locks: sets the umask for new files, corrects the permissions of older
files, so that only the installation's user has access, and tells whether a lock is held. Standard
library only."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

OTHERS = 0o077  # permission bits of group and others; also the umask that removes them
DATABASE_ENDINGS = ("", "-wal", "-shm", "-journal")
# the data folder of an installation has this file; folders with other files only are not changed
OURS = "secret.key"


def mask() -> None:
    """Sets the umask of this process and its children, so that they create files with mode 0600 and
    folders with 0700."""
    os.umask(OTHERS)


def open_to_others(path: Path) -> bool:
    """Tells whether group or others have any permission on a file or folder; False for a symbolic
    link or a missing file."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return not stat.S_ISLNK(found.st_mode) and bool(stat.S_IMODE(found.st_mode) & OTHERS)


def restrict(folder: Path) -> int:
    """Removes all permissions of group and others from an installation's data folder and its
    contents; returns how many files and folders were changed.

    Walks the whole tree only if the folder or something directly in it is accessible to others.
    Symbolic links are neither followed nor changed. Nothing is changed in a folder that has
    contents but no secret key (no installation), in the home directory, and in a folder above it.
    Raises OSError for files of another user."""
    try:
        inside = list(folder.iterdir())
    except FileNotFoundError:
        return 0
    home = Path.home().resolve()
    if folder == home or folder in home.parents or not any(map(open_to_others, [folder, *inside])):
        return 0
    if not (folder / OURS).exists():
        if not inside:
            _close(
                folder
            )  # an empty data folder belongs to a new installation, so no other files are affected
        return 0
    return sum(map(_close, [folder, *_below(folder)]))


def restrict_database(path: Path) -> int:
    """Removes the permissions of group and others from the SQLite database `path`, which is outside
    the data folder, and from its journal files; returns how many files were changed. Raises OSError
    if that is not permitted."""
    return sum(_close(path.with_name(path.name + ending)) for ending in DATABASE_ENDINGS)


def _below(folder: Path) -> Iterator[Path]:
    """Yields all files and folders inside a folder, at any depth."""
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(root, name)


def _close(path: Path) -> bool:
    """Removes all permissions of group and others from a file or folder; returns whether there were
    any."""
    if not open_to_others(path):
        return False
    try:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
    except FileNotFoundError:  # a temporary file that another process has removed
        return False
    return True


def secure(folder: Path, database: Path | None) -> None:
    """Sets the umask, and removes permissions of group and others that older versions left; writes
    one line to standard error if some were removed or could not be. `database` is an SQLite file
    outside the data folder, or None.
    """
    mask()
    try:
        count = restrict(folder) + (restrict_database(database) if database is not None else 0)
    except OSError as error:
        sys.stderr.write(
            f"{error.filename or folder} can be read by others and cannot be closed to them"
            f" ({error.strerror}).\n"
        )
        return
    if count:
        sys.stderr.write(
            f"{folder}: {count} files and folders could be read by others; now only their owner"
            " can.\n"
        )


def is_held(path: Path) -> bool:
    """Tells whether a process holds the exclusive lock of a file. False for a missing file; True if
    the file system has no locks, because the lock might be held."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
