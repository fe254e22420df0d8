"""Asks an installation for all that an upgrade must keep, and prints it as one JSON document.

Run as `python ask.py TIME` in a checkout of any version, with `CRAWLMGR_DATA` (and `DATABASE_URL`)
of the installation, and `API_TOKEN`. All commands see `TIME` as the current time, so that two
versions can be compared on different days. It uses commands, models and few services, so that it
also runs in v0.1.0.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

PASSWORD = "correct horse 1"  # noqa: S105 - of the fixture
WORD = "lantern"


def main() -> None:
    sys.path.insert(0, os.getcwd())
    os.environ["DJANGO_SETTINGS_MODULE"] = "crawlmgr.settings"
    import django

    django.setup()
    from crawlmgr.clock import SystemClock

    at = datetime.fromisoformat(sys.argv[1])
    SystemClock.now = lambda self: at  # type: ignore[method-assign]
    # the first command starts the installation: it migrates the database if needed
    told: dict[str, Any] = {"schedules": asked("schedule", "list")}
    told |= {"rows": rows(), "exports": exports(), "archive": asked("archive", "check")}
    told |= {"secrets": secrets(), "access": access(at), "found": found(), "files": files()}
    told["runs"] = asked("run", "list")
    told["plans"] = [asked("forum", "plan", site) for site in ("1", "2")]
    told["optimal plan"] = asked("forum", "plan", "1", "--policy", "optimal")
    json.dump(told, sys.stdout, ensure_ascii=False, sort_keys=True)


def asked(*words: str) -> Any:
    """Returns the JSON document that a command prints."""
    from django.core.management import call_command

    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        call_command(*words, "--json")
    return json.loads(said.getvalue())


def rows() -> dict[str, Any]:
    """All rows of all tables but the queue, by model: {"columns": [...], "rows": [...]}."""
    from django.apps import apps

    tables = {}
    for model in apps.get_models(include_auto_created=True):
        if model._meta.app_label in ("django_q", "sessions", "axes") or model._meta.proxy:
            continue
        names = {field.column: field.attname for field in model._meta.concrete_fields}
        query = model._base_manager.order_by("pk").values_list(*names.values())
        found = [[_plain(value) for value in row] for row in query]
        tables[model._meta.label] = {"columns": list(names), "rows": found}
    return tables


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, timedelta) else value


def _module(*names: str) -> Any:
    """Returns the first of these modules that this version has: the last name is of v0.1.0."""
    name = next(name for name in names if Path(*name.split(".")).with_suffix(".py").exists())
    return import_module(name)


def exports() -> dict[str, Any]:
    """Columns, number of rows and digest of each table as CSV and JSON. The columns are those named
    by the environment variable `COLUMNS_OF` (JSON), because later versions may add some."""
    tables = _module("crawlmgr.exports.exports", "crawlmgr.services.exports").tables
    columns = json.loads(os.environ.get("COLUMNS_OF", "{}"))
    told = {}
    with tempfile.TemporaryDirectory() as folder:
        for table in columns or tables():
            chosen = ("--columns", ",".join(columns[table])) if columns else ()
            for form in ("csv", "json"):
                out = Path(folder) / f"{table}.{form}"
                made = asked("export", table, "--format", form, "--out", str(out), *chosen)
                told[f"{table}.{form}"] = {
                    "columns": made["columns"],
                    "rows": made["rows"],
                    "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
                }
    return told


def secrets() -> dict[str, Any]:
    """What is stored encrypted, decrypted."""
    from crawlmgr.models import AlarmChannel
    from deepweb.models import Source
    from focused.models import Topic
    from forums.models import Site, SiteLogin

    sealed_settings, vault = (
        _module("crawlmgr.access.vault", f"crawlmgr.services.{name}")
        for name in ("sealed_settings", "vault")
    )
    settings = {
        "forums": [one.settings for one in Site.objects.order_by("pk")],
        "topics": [one.settings for one in Topic.objects.order_by("pk")],
        "sources": [one.parameters for one in Source.objects.order_by("pk")],
    }
    return {
        "logins": [
            [one.method, vault.unseal(one.secret), vault.unseal(one.session)]
            for one in SiteLogin.objects.order_by("pk")
        ],
        "channels": [vault.unseal(one.sealed) for one in AlarmChannel.objects.order_by("pk")],
        **{name: [sealed_settings.opened(one) for one in all_] for name, all_ in settings.items()},
    }


def access(at: datetime) -> dict[str, Any]:
    """Who gets in: users with their password, roles and permissions, and the API token."""
    from django.contrib.auth import get_user_model

    tokens = _module("crawlmgr.access.tokens", "crawlmgr.services.tokens")
    users = get_user_model().objects.order_by("pk")
    token = tokens.find(os.environ["API_TOKEN"], at)
    return {
        "password": users.get(username="a-viewer").check_password(PASSWORD),  # slow on purpose
        "roles": {one.username: sorted(one.groups.values_list("name", flat=True)) for one in users},
        "token": token and token.role,
    }


def found() -> dict[str, Any]:
    """What both searches find."""
    from deepweb.models import Record

    try:
        from deepweb.answers import storing
        from focused.run import search
    except ImportError:  # v0.1.0
        from deepweb.services import record_search as storing
        from focused.services import search

    pages = search.find(search.read_query(WORD), topic=1)
    records = storing.narrowed(Record.objects.order_by("pk"), WORD)
    return {"pages": sorted(pages.pages), "records": list(records.values_list("pk", flat=True))}


def files() -> dict[str, str]:
    """Digests of the files of the archive, of saved exports and event logs."""
    from django.conf import settings

    data = Path(settings.DATA_DIR)
    return {
        str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in ("archive", "events")
        for path in sorted((data / folder).rglob("*"))
        if path.is_file()
    }


if __name__ == "__main__":
    main()
