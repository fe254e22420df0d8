"""Starting and stopping the demonstration (a sample web site to crawl) from the web interface: a
marker file requests it, and the supervisor `manage.py serve` runs its process while the file
exists."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from django.conf import settings

from crawlmgr import environment

MARK = "demonstration"
"""Key in the settings of all objects made by the demonstration; its value is the time when the site
was first served."""
CAN = "CRAWLMGR_DEMONSTRATION"
"""Environment variable that is set for web servers whose supervisor can start the demonstration."""


def _marker() -> Path:
    return Path(settings.DATA_DIR) / "demonstration.wanted"


REPLAY_SECONDS = 60.0
"""How long a note of `note_replay` counts, for a process that was killed meanwhile."""


def _replay() -> Path:
    return Path(settings.DATA_DIR) / "demonstration.replay"


def note_replay(at: datetime | None) -> None:
    """Records the point in the past up to which the demonstration has replayed its recorded day,
    for `replaying`; None: it has caught up with the present."""
    if at is None:
        _replay().unlink(missing_ok=True)
    else:
        _replay().write_text(at.isoformat(), encoding="ascii")


def replaying() -> datetime | None:
    """Returns the point in the past day that the demonstration has replayed so far; None if it has
    caught up with the present or does not run."""
    try:
        if time.time() - _replay().stat().st_mtime > REPLAY_SECONDS:
            return None
        return datetime.fromisoformat(_replay().read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def possible() -> bool:
    """Tells whether the supervisor of this process can start the demonstration."""
    return bool(environment.given(CAN))


def is_requested() -> bool:
    """Tells whether the demonstration is requested to run. A marker file says so, so the request
    survives restarts."""
    return _marker().exists()


def request() -> None:
    """Requests the demonstration by creating the marker file; the supervisor starts it within
    seconds."""
    _marker().touch(mode=0o600)


def end() -> None:
    """Requests the end of the demonstration: the supervisor stops serving its pages. Data crawled
    from it are kept."""
    _marker().unlink(missing_ok=True)
