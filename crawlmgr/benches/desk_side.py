"""The process that serves one database of `bench desk`: inserts the rows unless it did so before,
then measures the CPU time of each requested page."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.conf import settings  # noqa: E402 - Django has to be set up first
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import URLPattern, URLResolver, get_resolver, reverse  # noqa: E402
from django.utils.module_loading import import_string  # noqa: E402

from crawlmgr.admin.site import desk_site  # noqa: E402
from crawlmgr.benches.bulk import Sizes  # noqa: E402
from crawlmgr.services import query_statistics  # noqa: E402

# file in the data folder with the time when all rows were inserted; absent if inserting was
# interrupted
FILLED = "filled.json"
ONLY_SENT = "accepts only POST"
REASONS = {
    302: "leads elsewhere",
    403: "no user may see it",
    404: "its file does not exist in the benchmark's data",
    405: ONLY_SENT,
}


def main(task: dict[str, Any]) -> None:
    """Inserts rows (`task["sizes"]`), requests each page whose name contains `task["only"]` once,
    and prints as JSON which pages answered ("rooms") and why others did not ("left_out"). Then
    reads page names and prints the server's CPU ms for each.
    """
    folder = Path(settings.DATA_DIR)
    if not (folder / FILLED).exists():  # rows of an interrupted benchmark are inserted again
        for file in folder.glob("crawlmgr.sqlite3*"):
            file.unlink()
    (folder / "static").mkdir(exist_ok=True)  # STATIC_ROOT, in which collectstatic would put files
    logging.disable(
        logging.ERROR
    )  # refused requests need not be logged: their status tells that they were refused
    call_command("migrate", verbosity=0, interactive=False)
    client = _client()
    found: dict[str, str] = {}
    left_out: dict[str, str] = {}
    sizes = _filled(task["sizes"])
    # statistics for the query planner, which `serve` and workers update too
    query_statistics.refresh()
    for label, address, why in places(sizes):
        if task["only"] not in label:
            continue
        if why := why or _no_page(client, address):
            left_out[label] = why
        else:
            found[label] = address
    _say({"rooms": list(found), "left_out": left_out})
    for line in sys.stdin:
        _say(_cost(client, found[line.rstrip("\n")]))


def _say(document: object) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _no_page(client: Client, address: str) -> str:
    """Requests an address and returns why it has no page to measure; "" if it has one."""
    answer = client.get(address)
    if answer.streaming or answer.headers.get("Content-Disposition", "").startswith("attachment"):
        return "gives a file"
    return (
        ""
        if answer.status_code == 200
        else REASONS.get(answer.status_code, f"status {answer.status_code}")
    )


def _filled(sizes: dict[str, int]) -> Sizes:
    """Inserts the rows unless they exist already, and returns their numbers. Exits if the folder
    has rows of other sizes."""
    mark = Path(settings.DATA_DIR) / FILLED
    if mark.exists():
        known = json.loads(mark.read_text(encoding="utf-8"))
        if known["sizes"] != sizes:
            sys.exit(f"{mark.parent} contains data of other sizes; delete it")
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
    user = User.objects.filter(username="bench").first() or User.objects.create_superuser(
        "bench", password=None
    )
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    return client


def places(sizes: Sizes) -> Iterator[tuple[str, str, str]]:
    """Yields (label, address, reason) for every URL pattern, and again with each query string that
    is listed for its view. The reason tells why the address cannot be requested, "" if it can.
    Exits if the arguments of a page of the admin site are unknown, so that none is forgotten."""
    arguments: dict[str, dict[str, object]] = {}
    queries: dict[str, tuple[str, ...]] = {}
    for dotted in settings.DESK_ROWS:
        arguments |= import_string(f"{dotted}.arguments")(sizes)
        queries |= import_string(f"{dotted}.QUERIES")
    known = list(_patterns(get_resolver().url_patterns, "", ""))  # this also loads the admin views
    own = {pattern.name for pattern in desk_site.own_views}
    for route, space, pattern in known:
        wanted, name = (
            frozenset(pattern.pattern.regex.groupindex),
            f"{space}{pattern.name or ''}".removeprefix("admin:"),
        )
        if getattr(pattern.callback, "is_button", False):
            yield name or route, "", ONLY_SENT
        elif not pattern.name:
            yield route or "/", f"/{route}", "leads elsewhere" if wanted else ""
        elif name in own and not wanted <= set(arguments.get(name, ())):
            sys.exit(f"bench desk knows no row for the page {name}")
        elif not wanted <= set(arguments.get(name, ())):
            yield name, "", "its row does not exist in the benchmark's data"
        else:
            address = reverse(f"{space}{pattern.name}", kwargs=arguments.get(name, {}))
            yield name, address, "ends the bench's own session" if name == "logout" else ""
            yield from (
                (f"{name}?{query}", f"{address}?{query}", "") for query in queries.get(name, ())
            )


def _patterns(
    patterns: list[Any], before: str, space: str
) -> Iterator[tuple[str, str, URLPattern]]:
    """Yields route, namespace ("admin:") and pattern of every address, in the order of the URL
    configuration."""
    for pattern in patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from _patterns(pattern.url_patterns, route, inner)
        else:
            yield route, space, pattern


def _cost(client: Client, address: str) -> float:
    begun = time.process_time()
    answer = client.get(address)
    answer.content  # noqa: B018 - what is rendered late belongs to it
    return 1000 * (time.process_time() - begun)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
