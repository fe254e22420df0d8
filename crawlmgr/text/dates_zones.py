"""Time zones of sites: their names, and what the pages of a site tell about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])(\d{1,2})(?::?(\d\d))?", re.I)
_STEP = 15 * 60
_LARGEST = 14 * 3600


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo:
    """The zone of an IANA name or of an offset ("+08:00", "UTC+8"); ValueError for anything else.

    >>> zone("UTC+8").utcoffset(None)
    datetime.timedelta(seconds=28800)
    """
    if name in ("", "UTC", "Z"):
        return UTC
    offset = _OFFSET.fullmatch(name.strip())
    if offset:
        seconds = int(offset[2]) * 3600 + int(offset[3] or 0) * 60
        if seconds > _LARGEST:
            raise ValueError(f"no such offset: {name}")
        return timezone(timedelta(seconds=-seconds if offset[1] == "-" else seconds))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:
        raise ValueError(f"no such time zone: {name}") from error
