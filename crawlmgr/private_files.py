"""Files for the installation's own user only: the mask for new ones, and older ones put right. Pure."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

OTHERS = 0o077  # what group and world may do; the mask that leaves them nothing
DATABASE_ENDINGS = ("", "-wal", "-shm", "-journal")
OURS = "secret.key"  # what every installation's folder holds


def mask() -> None:
    """From now on this process and its children make files with mode 0600 and folders with 0700."""
    os.umask(OTHERS)


def open_to_others(path: Path) -> bool:
    """Whether group or world may do anything with a file or folder; False for a symbolic link and for what is not there."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return not stat.S_ISLNK(found.st_mode) and bool(stat.S_IMODE(found.st_mode) & OTHERS)


def mend(folder: Path) -> int:
    """Closes an installation's folder and all in it to everybody else; returns how many files and folders were open.

    The whole tree is walked only where the folder, or what lies directly in it, is open: nothing that this program makes under
    its mask is. Symbolic links are neither followed nor changed. A folder with other things in it and no installation yet, and
    a home directory or one above it, stay as they are. Raises OSError for what belongs to another user.
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
            _close(folder)  # made for us just now
        return 0
    return sum(map(_close, [folder, *_below(folder)]))


def mend_database(path: Path) -> int:
    """The same for an SQLite database that lies elsewhere, with the files beside it. Raises OSError."""
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
    except FileNotFoundError:  # a writer's temporary file
        return False
    return True


def put_right(folder: Path, database: Path | None) -> None:
    """Sets the mask and mends what older versions left open, with one line on standard error where there was something."""
    mask()
    try:
        count = mend(folder) + (mend_database(database) if database is not None else 0)
    except OSError as error:
        sys.stderr.write(f"{error.filename or folder} can be read by others and cannot be closed to them ({error.strerror}).\n")
        return
    if count:
        sys.stderr.write(f"{folder}: {count} files and folders could be read by others; now only their owner can.\n")
