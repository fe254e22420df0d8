"""`bench desk`: measures the server's CPU time for every page of the web interface, on a database
with years of data and on one with a hundredth of it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from crawlmgr.admin.site import desk_site
from crawlmgr.database import sql
from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from tests.benches import child
from tests.benches.desk import rows as desk_rows
from tests.benches.desk.bulk import BIG, SHARE, Sizes

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
FLOOR_MS = 10.0  # when the ratio of two times is taken, shorter times are replaced by this one
LIMITS = {"palette": 100.0, "lists": 300.0, "searches": 500.0}
"""Targets in CPU milliseconds for a palette search, a sorted, filtered or paged list, and a search
in the text of pages. The table shows each beside the slowest such request; exceeding it is no
error."""
SEARCHES = ("topic-search", "topic-pages")  # views whose `q` asks the full-text index
LISTS = (
    "runs",
    "hosts",
    "events",
    "forums",
    "boards",
    "threads",
    "posts",
    "board",
    "topic-pages",
    "records",
    "harvests",
    "topics",
    "sources",
    "archive",
)
ASKED = ("sort=", "show=", "q=", "site=", "kind=", "from=", "last")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--share",
        type=int,
        default=1,
        metavar="N",
        help="divide the full data sizes by N (default 1)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="requests per page, of which the median counts (default 5)",
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only views whose name or query contains this text",
    )


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """Measures all pages (views and queries) on both databases in turns, so that other load on the
    machine affects both. Returns `pages` (median CPU milliseconds on each database and their ratio,
    the largest ratio first), `left_out` (reason by address that cannot be measured), `rows`
    (numbers of rows of the large database) and `limits` (see `dearest`).
    """
    folder = Path(options["data"] or settings.DATA_DIR / "bench-desk")
    sides: dict[str, _Side] = {}
    with ExitStack() as stack:
        for name, share in (("small", SHARE * options["share"]), ("big", options["share"])):
            sizes = {what: max(1, number // share) for what, number in BIG.items()}
            sides[name] = stack.enter_context(
                _Side(folder / f"{name}-{share}", sizes, options["only"])
            )
        small, big = sides["small"], sides["big"]
        pages = []
        for page in big.pages:
            pairs = [(small.cost(page), big.cost(page)) for _ in range(options["rounds"])]
            low, high = (median(column) for column in zip(*pairs, strict=True))
            ratio = max(high, FLOOR_MS) / max(low, FLOOR_MS)
            pages.append(
                {
                    "room": page,
                    "small_ms": round(low, 1),
                    "big_ms": round(high, 1),
                    "ratio": round(ratio, 2),
                }
            )
    told = [dearest(what, pages) for what in LIMITS]
    numbers = {
        what: number for what, number in big.sizes.items() if what in ("forums", "posts", "runs")
    }
    return {
        "pages": sorted(pages, key=lambda row: -row["ratio"]),
        "left_out": big.left_out,
        "rows": numbers,
        "limits": [one for one in told if one is not None],
    }


def dearest(what: str, pages: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns the request of the kind `what` ("palette", "lists", "searches") that is slowest on
    the large database, as a dictionary: `what`, `asked` (number of such requests), `dearest` (the
    view with its query), `ms` (its CPU milliseconds) and `limit_ms`. None if none was measured."""
    asked = [(one["big_ms"], one["room"]) for one in pages if is_of(what, one["room"])]
    if not asked:
        return None
    cost, page = max(asked)
    return {
        "what": what,
        "asked": len(asked),
        "dearest": page,
        "ms": cost,
        "limit_ms": LIMITS[what],
    }


def is_of(what: str, label: str) -> bool:
    """Tells whether a view with its query is of the kind `what`: "palette", a search in the command
    palette; "searches", a full-text search of pages; "lists", a sorted, filtered or paged list.

    >>> is_of("palette", "palette?q=forum"), is_of("lists", "threads?sort=first_seen"), \
is_of("lists", "threads")
    (True, True, False)
    >>> is_of("searches", "topic-pages?q=frontier"), is_of("lists", "topic-pages?q=frontier")
    (True, False)
    """
    name, _sign, query = label.partition("?")
    if what == "palette":
        return name == "palette" and bool(query)
    searches = name in SEARCHES and any(one.startswith("q=") for one in query.split("&"))
    if what == "searches" or searches:
        return what == "searches" and searches
    return name in LISTS and any(one.startswith(ASKED) for one in query.split("&"))


class _Side:
    """One database, served by a process of its own. A context manager; on entry it waits until the
    rows have been inserted."""

    def __init__(self, folder: Path, sizes: Mapping[str, int], only: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder, self.sizes = folder, sizes
        say(f"{folder.name}: {', '.join(f'{number:,} {what}' for what, number in sizes.items())}")
        self.process = subprocess.Popen(
            child.command(serve, dict(sizes), only),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=child.environment(folder),
            cwd=child.ROOT,
        )

    def __enter__(self) -> _Side:
        told = self._answer()
        self.pages: list[str] = told["rooms"]
        self.left_out: dict[str, str] = told["left_out"]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def cost(self, page: str) -> float:
        """Requests the page named `page` and returns the CPU milliseconds that the server needed
        for it."""
        assert self.process.stdin is not None
        self.process.stdin.write(page + "\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise CommandError(f"the side over {self.folder.name} failed")
        return json.loads(line)


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each page (CPU times on the small and the
    big database, and their ratio), followed by the time limits and the pages not measured."""
    rows = [(row["room"], row["small_ms"], row["big_ms"], row["ratio"]) for row in result["pages"]]
    limits = "".join(
        f"\n{one['what']}: {one['asked']} ways to ask, the dearest {one['dearest']}: {one['ms']} ms"
        f" of {one['limit_ms']:.0f}"
        for one in result["limits"]
    )
    left = "".join(f"\nnot measured: {page}: {why}" for page, why in result["left_out"].items())
    return plain_table(("room", "small ms", "big ms", "ratio"), rows) + limits + left


def serve(sizes: dict[str, int], only: str) -> None:
    """Serves one database in this process: inserts rows unless it did so before, requests each page
    whose name contains `only` once, and prints as JSON which pages answered ("rooms") and why
    others did not ("left_out"). Then reads page names and prints the server's CPU ms for each.
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
    made = _filled(sizes)
    # statistics for the query planner, which `serve` and workers update too
    sql.refresh_statistics()
    for label, address, why in places(made):
        if only not in label:
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
    for part in desk_rows.PARTS:
        begun = time.monotonic()
        with transaction.atomic():
            part.fill(made)
        sys.stderr.write(f"{part.__name__}: {time.monotonic() - begun:.0f} s\n")
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
    arguments, queries = desk_rows.arguments(sizes), desk_rows.queries()
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
