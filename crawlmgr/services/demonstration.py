"""The demonstration as requested on the desk: `serve` keeps its process running while it is requested."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings

MARK = "demonstration"
"""Key in the settings of all objects made by the demonstration; its value is the time when the site was first served."""
CAN = "CRAWLMGR_DEMONSTRATION"
"""Environment variable of web servers whose supervisor can start the demonstration."""


def _wish() -> Path:
    return Path(settings.DATA_DIR) / "demonstration.wanted"


def possible() -> bool:
    """Tells whether the supervisor of this process can start the demonstration."""
    return bool(os.environ.get(CAN))


def wished() -> bool:
    """Tells whether the demonstration is requested to run; a marker file, so it survives restarts."""
    return _wish().exists()


def wish() -> None:
    """Requests the demonstration; the supervisor starts it within seconds."""
    _wish().touch(mode=0o600)


def end() -> None:
    """Stops the demonstration: its pages are no longer served; crawled data is kept."""
    _wish().unlink(missing_ok=True)
