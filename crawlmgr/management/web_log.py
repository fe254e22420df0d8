"""The web server's own lines in the log of the project, as text or as JSON lines; requests too where a setting asks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from logging.config import dictConfig
from typing import Any

from django.conf import settings
from gunicorn.glogging import Logger

SECRET = re.compile(r"^(/exports/)[^?#]+")  # whoever has this address reads without a login
LONGEST_ADDRESS = 500  # characters of a request's address in the log


class WebLog(Logger):  # type: ignore[misc] - gunicorn has no types
    """What gunicorn writes with (its `logger_class`), in the main process and in each worker."""

    def setup(self, cfg: Any) -> None:
        """Sends gunicorn's lines where all others go; it makes no handler of its own. The main process loads no application, so
        the log is set up here."""
        self.cfg = cfg
        dictConfig(settings.LOGGING)
        self.error_log.propagate = self.access_log.propagate = True
        self.loglevel = self.error_log.level
        self._access_log_enabled = bool(settings.LOG_REQUESTS)

    @property
    def access_log_enabled(self) -> bool:
        return self._access_log_enabled

    def access(self, resp: Any, req: Any, environ: Mapping[str, Any], request_time: timedelta) -> None:
        """One line a request: who asked what, with status, bytes sent and seconds."""
        if self._access_log_enabled:
            facts = {
                "event": "request",
                "client": _client(environ),
                "status": int(str(resp.status).split(None, 1)[0]),
                "bytes": getattr(resp, "sent", None),
                "seconds": round(request_time.total_seconds(), 3),
            }
            asked = SECRET.sub(r"\1…", str(environ.get("RAW_URI", environ.get("PATH_INFO", ""))))[:LONGEST_ADDRESS]
            self.access_log.info("%s %s", environ.get("REQUEST_METHOD"), asked, extra=facts)

    def reopen_files(self) -> None:
        """Nothing to do: the log's own handler notices when its file was set aside."""


def _client(environ: Mapping[str, Any]) -> Any:
    """The address that asked; behind a proxy for TLS the one that this proxy, and nobody before it, names."""
    named = str(environ.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip() if settings.BEHIND_TLS else ""
    return named[:64] or environ.get("REMOTE_ADDR")
