"""`python tests/set_back.py SECONDS WORDS …`: runs `manage.py WORDS …` with the program's clock set
back by so many seconds, for pages that were recorded earlier."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlmgr import clock
from crawlmgr.management.program import main
from crawlmgr.web.http import fetch


class Earlier(datetime):
    back = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) - cls.back


if __name__ == "__main__":
    Earlier.back = timedelta(seconds=float(sys.argv[1]))
    for module in (clock, fetch):
        module.datetime = Earlier  # type: ignore[attr-defined, misc]
    sys.argv = ["manage.py", *sys.argv[2:]]
    main()
