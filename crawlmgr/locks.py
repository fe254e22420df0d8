"""Locks on files, which the operating system releases when the process that holds them ends,
however it ends. Standard library only."""

from __future__ import annotations

import fcntl
from pathlib import Path


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
