"""The log, as readable lines or JSON lines with event, run and host; rotates files, masks secrets.
Does not use Django."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

from pythonjsonlogger.json import JsonFormatter

HIDDEN = "…"
SHORTEST_SECRET = 6
MAX_SECRETS = 1000
_PATTERNS = (
    (re.compile(r"(://[^\s/:@]*):[^\s/@]+@"), rf"\1:{HIDDEN}@"),
    (
        re.compile(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\W{1,4})[^\r\n\"']+"),
        rf"\1\2{HIDDEN}",
    ),
    (
        re.compile(
            r"(?i)((?:password|passwd|secret|token|api_?key|sessionid"
            r"|csrf\w*)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&;,]+"
        ),
        rf"\1{HIDDEN}",
    ),
)
_secrets: dict[str, None] = {}
_about: ContextVar[dict[str, Any] | None] = ContextVar("about", default=None)
_OWN = ("event", "run", "host")
_PLAIN = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {
    "message",
    "asctime",
    "taskName",
    *_OWN,
}


def hide(secret: str) -> None:
    """Masks `secret` in all later log lines of this process. Secrets of fewer than six characters
    are ignored. At most a thousand texts are masked, the latest ones; a secret with characters that
    JSON escapes adds two, itself and its escaped form.
    """
    if len(secret) >= SHORTEST_SECRET:
        for form in (secret, json.dumps(secret)[1:-1]):
            _secrets.pop(form, None)
            _secrets[form] = None
        while len(_secrets) > MAX_SECRETS:
            del _secrets[next(iter(_secrets))]


def without_secrets(text: str) -> str:
    """Returns a log line in which known secrets, and texts that look like secrets, are masked.

    >>> without_secrets("proxy http://me:hush@10.0.0.1:3128 refused; Cookie: a=b; token=abc&x=1")
    'proxy http://me:…@10.0.0.1:3128 refused; Cookie: …'
    >>> without_secrets("GET /?token=abc&x=1")
    'GET /?token=…&x=1'
    """
    for secret in tuple(_secrets):
        text = text.replace(secret, HIDDEN)
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text


@contextmanager
def about(**values: Any) -> Iterator[None]:
    """Context manager: all log lines written inside carry `values` (run, host), except those that
    set other values themselves."""
    token = _about.set({**(_about.get() or {}), **values})
    try:
        yield
    finally:
        _about.reset(token)


class Context(logging.Filter):
    """Logging filter that adds the attributes event, run and host to every log record; None if they
    are unknown."""

    def filter(self, record: logging.LogRecord) -> bool:
        known = _about.get() or {}
        for name in _OWN:
            if not hasattr(record, name):
                setattr(record, name, known.get(name))
        return True


def _further(record: logging.LogRecord) -> dict[str, Any]:
    """Returns the attributes that the caller added to a log record, by name, except event, run and
    host."""
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}


class Text(logging.Formatter):
    """Formats records as lines like `2026-03-01T12:00:00Z WARNING lease_lost run=7: …`, followed by
    the traceback of an exception if `traces` is true."""

    def __init__(self, traces: bool = True) -> None:
        super().__init__()
        self.traces = traces

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        named = {
            "run": getattr(record, "run", None),
            "host": getattr(record, "host", None),
            **_further(record),
        }
        facts = "".join(f" {name}={value}" for name, value in named.items() if value is not None)
        line = (
            f"{at} {record.levelname} {getattr(record, 'event', None) or record.name}{facts}:"
            f" {record.getMessage()}"
        )
        if self.traces and record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return without_secrets(line)


class Json(JsonFormatter):
    """Formats each record as one line of JSON: at, level, logger, event, run, host, message,
    process, and further fields of the record."""

    def __init__(self) -> None:
        super().__init__(
            ["levelname", "name", "event", "run", "host", "message", "process"],
            rename_fields={"levelname": "level", "name": "logger"},
            timestamp="at",
            json_ensure_ascii=False,
        )

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Masks secrets in the values, before JSON escapes the quotes inside them."""
        return {
            name: without_secrets(value) if isinstance(value, str) else value
            for name, value in log_data.items()
        }

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class RotatedFile(WatchedFileHandler):
    """Handler for a log file that many processes write. The process that finds it larger than
    `most_bytes` renames `log` to `log.1`, `log.1` to `log.2` and so on; of these older files `kept`
    remain. The other processes notice that and reopen the file."""

    def __init__(self, filename: str, most_bytes: int, kept: int) -> None:
        super().__init__(filename, encoding="utf-8", delay=True)
        self.most_bytes, self.kept = most_bytes, kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
            if self.stream is not None and self.stream.tell() > self.most_bytes:
                self._rotate()
        except OSError:
            self.handleError(record)

    def _rotate(self) -> None:
        """Renames the log files, holding a lock, unless another process has done so meanwhile."""
        path = Path(self.baseFilename)
        with path.with_name(f"{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (
                path.exists() and path.stat().st_size > self.most_bytes
            ):  # otherwise another process has rotated it
                for number in range(self.kept - 1, 0, -1):
                    old = path.with_name(f"{path.name}.{number}")
                    if old.exists():
                        os.replace(old, path.with_name(f"{path.name}.{number + 1}"))
                os.replace(path, path.with_name(f"{path.name}.1"))


def configuration(
    folder: Path,
    *,
    level: str,
    form: str,
    to: str,
    most_bytes: int,
    secrets: Sequence[str],
    kept: int = 5,
) -> dict[str, Any]:
    """Returns Django's LOGGING setting for a log file in `folder`.

    `level` applies to this project's loggers; others log warnings and errors. `form` is "TEXT" or
    "JSON". Warnings and errors also go to standard error, one line each; if `to` is "STDERR",
    everything goes there and no file is written. The file is rotated at `most_bytes`, and `kept`
    older files are kept. `secrets` are masked.
    """
    for secret in secrets:
        hide(secret)
    alone = to == "STDERR"
    person = level if alone or logging.getLevelName(level) > logging.WARNING else "WARNING"
    handlers: dict[str, Any] = {
        "err": {
            "class": "logging.StreamHandler",
            "formatter": "err",
            "filters": ["context"],
            "level": person,
        }
    }
    if not alone:
        handlers["file"] = {
            "()": "crawlmgr.logs.RotatedFile",
            "filename": str(folder / "crawlmgr.log"),
            "most_bytes": most_bytes,
            "kept": kept,
            "formatter": "file",
            "filters": ["context"],
        }
    text = {"()": "crawlmgr.logs.Json"} if form == "JSON" else {"()": "crawlmgr.logs.Text"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"context": {"()": "crawlmgr.logs.Context"}},
        "formatters": {"file": text, "err": text if form == "JSON" else {**text, "traces": alone}},
        "handlers": handlers,
        "root": {"handlers": list(handlers), "level": "WARNING"},
        "loggers": {
            "crawlmgr": {"level": level},
            "gunicorn.error": {"level": level},
            "gunicorn.access": {"level": "INFO"},
            "django-q": {"handlers": list(handlers), "level": "WARNING", "propagate": False},
        },
    }
