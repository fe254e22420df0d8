"""Reads environment variables for settings.py, strictly: an invalid value ends the process with a
one-line message."""

from __future__ import annotations

import os
import re
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from crawlmgr import file_access, installation

POOL_IDLE_SECONDS = 30.0
"""Seconds after which a process closes an unused connection in its pool of database connections."""


def refuse(name: str, why: str) -> NoReturn:
    """Exits the process with one line that names the variable and tells what is wrong."""
    sys.exit(f"{name}: {why}")


def need(name: str, extra: str) -> None:
    """Exits the process if the libraries that the value of a variable calls for are missing."""
    if installation.missing(extra):
        refuse(name, f"{installation.advice(extra)}.")


def given(name: str) -> str:
    """Returns the text of an environment variable without spaces around it; "" if it is not set."""
    return os.environ.get(name, "").strip()


def number(name: str, default: float, low: float, high: float) -> float:
    """Reads a number in [low, high] from an environment variable; `default` if it is not set."""
    text = given(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        refuse(name, f"{text!r} is not a number; enter one from {low:g} to {high:g}.")
    if not low <= value <= high:
        refuse(name, f"{text} is outside {low:g} to {high:g}.")
    return value


def whole(name: str, default: int, low: int, high: int) -> int:
    """Reads a whole number in [low, high] from an environment variable; `default` if it is not
    set."""
    value = number(name, default, low, high)
    if value != int(value):
        refuse(
            name,
            f"{given(name)} is not a whole number; enter one from {low} to {high}.",
        )
    return int(value)


def choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """Reads one of several words from an environment variable, in upper or lower case, and returns
    it in upper case; `default` if it is not set."""
    text = given(name)
    if not text:
        return default
    if text.upper() not in choices:
        refuse(name, f"{text!r} is none of {', '.join(choices)}.")
    return text.upper()


def switch(name: str) -> bool:
    """Reads a boolean from an environment variable: 1, yes, true, on; or 0, no, false, off and
    empty."""
    on, off = ("1", "YES", "TRUE", "ON"), ("0", "NO", "FALSE", "OFF")
    return choice(name, "NO", (*on, *off)) in on


def words(name: str, default: tuple[str, ...]) -> list[str]:
    """Reads a list of comma-separated words from an environment variable; returns `default` as a
    list if it is not set."""
    text = os.environ.get(name, "")
    return [word.strip() for word in text.split(",") if word.strip()] or list(default)


def matching(name: str, pattern: str, advice: str, *, secret: bool = False) -> str:
    """Reads text that matches a regular expression from an environment variable; "" if it is not
    set. `advice` follows a wrong value in the message, which leaves out one that is `secret`."""
    text = given(name)
    if text and not re.fullmatch(pattern, text):
        refuse(name, advice if secret else f"{text!r} {advice}")
    return text


def token(name: str) -> str:
    """Reads a secret of at least sixteen printable ASCII characters without spaces from an
    environment variable; "" if it is not set."""
    advice = (
        "the token needs sixteen letters or more without spaces, for example what `openssl rand"
        " -hex 16` prints."
    )
    return matching(name, "[!-~]{16,}", advice, secret=True)


def store(name: str) -> str:
    """Reads an object store's address, s3://bucket or s3://bucket/folder, from an environment
    variable; "" if it is not set."""
    pattern = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._/-]{1,200})?/*"
    advice = "is not the address of a store; write s3://bucket or s3://bucket/folder."
    text = matching(name, pattern, advice)
    if text:
        need(name, "s3")
    return text.rstrip("/")


def endpoint(name: str) -> str:
    """Reads the web address of an S3-compatible server from an environment variable; "" for
    Amazon's own."""
    advice = "is not the address of a server; write https://host or http://host:port."
    return matching(name, r"https?://[^\s/?#@]+/*", advice).rstrip("/")


def broker(name: str) -> str:
    """Reads the address of a Redis or Valkey server from an environment variable; "" if it is not
    set."""
    by_net = r"(redis|valkey)s?://([^\s/@]*@)?[^\s/?#@]+(/\d{1,4})?"
    by_file = r"unix://([^\s/@]*@)?/[^\s?#]+(\?db=\d{1,4})?"
    advice = (
        "is not a broker's address; write redis://host:6379/0, rediss://:password@host/0 or"
        " unix:///path/of/socket."
    )
    text = matching(name, f"{by_net}|{by_file}", advice, secret=True)
    if text:
        need(name, "redis")
    return re.sub("^valkey", "redis", text)


def password_of(url: str) -> str:
    """Returns the password in an address; "" if it has none."""
    return unquote(urlsplit(url).password or "")


def admin_password() -> str:
    """Returns the first administrator's password from CRAWLMGR_ADMIN_PASSWORD; "" if it is not
    set."""
    return os.environ.get("CRAWLMGR_ADMIN_PASSWORD", "")


def data_folder(default: Path) -> Path:
    """Returns the folder of database, archive, exports, logs and secret key, from CRAWLMGR_DATA or
    `default`. Creates it if missing, and makes it accessible to its owner only."""
    folder = Path(given("CRAWLMGR_DATA") or default).expanduser().resolve()
    file_access.secure(folder, _sqlite_elsewhere())
    try:
        for part in ("", "archive", "exports", "logs", "cache", "words"):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(
            "CRAWLMGR_DATA",
            f"{folder} cannot be written ({error.strerror}); name a writable folder.",
        )
    if not os.access(folder, os.W_OK):
        refuse("CRAWLMGR_DATA", f"{folder} cannot be written; name a writable folder.")
    return folder


def folder(name: str, default: Path) -> Path:
    """Returns a folder named by an environment variable, or `default`; the code that first writes
    to it creates it."""
    text = given(name)
    if text and not Path(text).expanduser().is_absolute():
        refuse(name, f"{text!r} is not an absolute path; it must begin with a slash.")
    return Path(text).expanduser() if text else default


def _sqlite_elsewhere() -> Path | None:
    """Returns the path of the SQLite file that DATABASE_URL names; None if it is not set or names
    another kind of database."""
    kind, _colon, place = given("DATABASE_URL").partition("://")
    return Path(unquote(place)) if kind == "sqlite" and place.startswith("/") else None


def is_key(text: str) -> bool:
    """Tells whether a text has the form of a secret key."""
    return len(text) >= 40 and text.isascii() and text.isprintable()


def secret_key(folder: Path) -> tuple[str, str]:
    """Returns the installation's secret key from the data folder and "", or, if the file is
    damaged, a passing key and what is wrong: the process must end then, but can tell before what is
    lost with the key (see `vault.loss`).

    Generates the key on the first start, in a file readable by its owner only. Exits the process if
    the file cannot be read."""
    path = folder / "secret.key"
    try:
        if not path.exists():
            _make_secret(path)
        key = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        refuse("CRAWLMGR_DATA", f"{path} cannot be read ({error.strerror}).")
    return (key, "") if is_key(key) else (secrets.token_urlsafe(50), f"{path} is damaged")


def _make_secret(path: Path) -> None:
    """Writes a new key to a temporary file and hard-links it to `path`. If several processes start
    at once, only one link succeeds, and all of them then read that key."""
    descriptor, name = tempfile.mkstemp(
        prefix=f"{path.name}.", dir=path.parent
    )  # readable by its owner only
    beside = Path(name)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        os.link(beside, path)
    except FileExistsError:
        return
    finally:
        beside.unlink()


def contact(name: str = "CRAWLMGR_CONTACT") -> str:
    """Returns the contact (mail or web address) for site owners from an environment variable; "" if
    it is not set."""
    web, sign = r"https?://[^\0-\x1f()]*", r"[^\0- ()]"
    mail = rf"{sign}*@(?:(?!@){sign})*\.(?:(?!@){sign})*"
    return matching(name, f"{web}|{mail}", "is neither a mail address nor a web address.")


def database(folder: Path) -> dict[str, Any]:
    """Returns Django's DATABASES entry for DATABASE_URL; by default an SQLite file in the data
    folder.

    With CRAWLMGR_DATABASE_POOL set to n, the threads of a process share at most n connections to
    PostgreSQL, which are closed after some time without use. SQLite uses WAL and IMMEDIATE
    transactions: a DEFERRED transaction that first reads and then writes ignores the busy timeout.
    """
    url = given("DATABASE_URL")
    if not url:
        return _sqlite(folder / "crawlmgr.sqlite3")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # whose text may hold a part of the password
        advice = "write postgresql://user:password@host:port/name, special characters as %XX"
        refuse("DATABASE_URL", f"is not an address; {advice}.")
    if parts.scheme == "sqlite":
        path = unquote(parts.path)
        if parts.netloc or len(path) < 2:
            refuse("DATABASE_URL", "an SQLite address is sqlite:////absolute/path.")
        return _sqlite(Path(path))
    if parts.scheme not in ("postgres", "postgresql"):
        refuse(
            "DATABASE_URL",
            f"{parts.scheme or 'an address without ://'} is not supported; use sqlite:////path or"
            " postgresql://user@host/name.",
        )
    if not parts.path.strip("/"):
        refuse("DATABASE_URL", "the name of the database is missing: postgresql://user@host/name.")
    need("DATABASE_URL", "postgres")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    most = whole("CRAWLMGR_DATABASE_POOL", 0, 0, 64)
    if most:
        options["pool"] = {
            "min_size": 0,
            "max_size": most,
            "max_idle": POOL_IDLE_SECONDS,
            "num_workers": 1,
        }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", None) or unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        "CONN_MAX_AGE": (
            0 if most else None
        ),  # with a pool, a connection is returned to it after each task or request
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": (
                "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA busy_timeout=20000;"
                "PRAGMA cache_size=-32000;PRAGMA temp_store=MEMORY;PRAGMA mmap_size=268435456;"
            ),
        },
    }
