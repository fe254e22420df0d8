"""Locks on files, which the system releases when their process ends, however it ends. Pure."""

from __future__ import annotations

import fcntl
from pathlib import Path


def is_held(path: Path) -> bool:
    """Tells whether a process holds the exclusive lock of a file. False for a missing file; True where the file system has no
    locks, since nobody can know."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
