"""The demonstration, asked for on the desk: `serve` keeps a process at it while the wish is there."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings

MARK = "demonstration"
"""Among the settings of all that the demonstration made: when it was first shown."""
CAN = "CRAWLMGR_DEMONSTRATION"
"""Set in the environment of a web server whose supervisor watches for the wish."""


def _wish() -> Path:
    return Path(settings.DATA_DIR) / "demonstration.wanted"


def possible() -> bool:
    """Whether the supervisor of this process starts what is wished."""
    return bool(os.environ.get(CAN))


def wished() -> bool:
    """Whether it shall be at work; outlives a restart of everything."""
    return _wish().exists()


def wish() -> None:
    """Asks for it; it is at work some seconds later."""
    _wish().touch(mode=0o600)


def end() -> None:
    """Ends it: its pages are no longer served; what it has crawled stays."""
    _wish().unlink(missing_ok=True)
