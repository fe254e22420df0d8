"""One side of `bench desk`: makes the rows once, then asks for every room and prints the CPU of each as JSON."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.conf import settings  # noqa: E402 - Django has to be set up first
from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import URLPattern, URLResolver, reverse  # noqa: E402
from django.utils.module_loading import import_string  # noqa: E402

from crawlmgr.benches.bulk import Sizes  # noqa: E402

FILLED = "filled.json"  # in the data folder: when the rows were made
LEFT_OUT = frozenset(("logout", "jsi18n", "autocomplete", "view_on_site"))


def main(task: dict[str, Any]) -> None:
    """Prints {"pages": {room: CPU milliseconds}, "left_out": {room: "file" or status}}."""
    if not (Path(settings.DATA_DIR) / FILLED).exists():  # rows half made are made anew
        for file in Path(settings.DATA_DIR).glob("crawlmgr.sqlite3*"):
            file.unlink()
    logging.disable(logging.ERROR)  # pages that refuse are told by their status
    call_command("migrate", verbosity=0, interactive=False)
    sizes = _filled(task["sizes"])
    client = _client()
    pages: dict[str, float] = {}
    left_out: dict[str, object] = {}
    for label, address in addresses(sizes):
        if task["only"] not in label:
            continue
        answer = client.get(address)
        is_file = answer.streaming or answer.headers.get("Content-Disposition", "").startswith("attachment")
        if is_file or answer.status_code != 200:
            left_out[label] = "file" if is_file else answer.status_code
            continue
        pages[label] = median(_cost(client, address) for _ in range(task["rounds"]))
    sys.stdout.write(json.dumps({"pages": pages, "left_out": left_out}) + "\n")


def _filled(sizes: dict[str, int]) -> Sizes:
    """The sizes, once the rows are there."""
    mark = Path(settings.DATA_DIR) / FILLED
    if mark.exists():
        known = json.loads(mark.read_text(encoding="utf-8"))
        if known["sizes"] != sizes:
            sys.exit(f"{mark.parent} holds other sizes; delete it")
        return Sizes(**sizes, now=datetime.fromisoformat(known["now"]))
    made = Sizes(**sizes, now=datetime.now(UTC).replace(microsecond=0))
    for dotted in settings.DESK_ROWS:
        begun = time.monotonic()
        with transaction.atomic():
            import_string(f"{dotted}.fill")(made)
        sys.stderr.write(f"{dotted}: {time.monotonic() - begun:.0f} s\n")
    mark.write_text(json.dumps({"sizes": sizes, "now": made.now.isoformat()}), encoding="utf-8")
    return made


def _client() -> Client:
    user = User.objects.filter(username="bench").first() or User.objects.create_superuser("bench", password=None)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    return client


def addresses(sizes: Sizes) -> Iterator[tuple[str, str]]:
    """Name and address of every page, from the URL patterns: each room once, and once more for each query that is told of it.
    A room whose arguments nobody gave is an error, so that none is forgotten."""
    arguments: dict[str, dict[str, object]] = {}
    queries: dict[str, tuple[str, ...]] = {}
    for dotted in settings.DESK_ROWS:
        arguments |= import_string(f"{dotted}.arguments")(sizes)
        queries |= import_string(f"{dotted}.QUERIES")
    for name, wanted in sorted(_names(admin.site.urls[0])):
        if not wanted <= set(arguments.get(name, ())):
            sys.exit(f"bench desk knows no row for the room {name}")
        address = reverse(f"admin:{name}", kwargs=arguments.get(name, {}))
        yield name, address
        yield from ((f"{name}?{query}", f"{address}?{query}") for query in queries.get(name, ()))


def _names(patterns: list[Any]) -> Iterator[tuple[str, frozenset[str]]]:
    """Name and argument names of every URL pattern; of Django admin's own pages only those that take no arguments."""
    rooms = {pattern.name for pattern in admin.site.rooms}
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name and pattern.name not in LEFT_OUT:
            wanted = frozenset(pattern.pattern.regex.groupindex)
            if (pattern.name in rooms and not getattr(pattern.callback, "is_button", False)) or not wanted:
                yield pattern.name, wanted


def _cost(client: Client, address: str) -> float:
    begun = time.process_time()
    answer = client.get(address)
    answer.content  # noqa: B018 - what is rendered late belongs to it
    return 1000 * (time.process_time() - begun)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
