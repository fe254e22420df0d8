"""Writes the web server's log lines to the project's log, as text or JSON lines; requests too if a
setting asks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from logging.config import dictConfig
from typing import Any

from django.conf import settings
from gunicorn.glogging import Logger

SECRET = re.compile(
    r"^(/exports/)[^?#]+"
)  # what follows in these addresses is a secret that gives access without a login
LONGEST_ADDRESS = 500  # at most this many characters of a request's address are logged


class WebLog(Logger):
    """The logger class for gunicorn, used in its main process and in each worker."""

    def setup(self, cfg: Any) -> None:
        """Sends gunicorn's lines to the project's log instead of its own handlers. Configures the
        log as well, because gunicorn's main process does not load the application."""
        self.cfg = cfg
        dictConfig(settings.LOGGING)
        self.error_log.propagate = self.access_log.propagate = True
        self.loglevel = self.error_log.level
        self._access_log_enabled = bool(settings.LOG_REQUESTS)

    @property
    def access_log_enabled(self) -> bool:
        return self._access_log_enabled

    def access(
        self, resp: Any, req: Any, environ: Mapping[str, Any], request_time: timedelta
    ) -> None:
        """Logs a request: method and address as the message, client, status, bytes sent and seconds
        as further fields. Does nothing unless the settings ask for it."""
        if self._access_log_enabled:
            facts = {
                "event": "request",
                "client": _client(environ),
                "status": int(str(resp.status).split(None, 1)[0]),
                "bytes": getattr(resp, "sent", None),
                "seconds": round(request_time.total_seconds(), 3),
            }
            asked = SECRET.sub(r"\1…", str(environ.get("RAW_URI", environ.get("PATH_INFO", ""))))[
                :LONGEST_ADDRESS
            ]
            self.access_log.info("%s %s", environ.get("REQUEST_METHOD"), asked, extra=facts)

    def reopen_files(self) -> None:
        """Does nothing: the log's own handler notices when its file was rotated."""


def _client(environ: Mapping[str, Any]) -> Any:
    """Returns the client's IP address; behind a TLS proxy the last one in X-Forwarded-For, since
    the proxy has added that, while earlier ones may be made up by the client."""
    named = (
        str(environ.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
        if settings.BEHIND_TLS
        else ""
    )
    return named[:64] or environ.get("REMOTE_ADDR")
