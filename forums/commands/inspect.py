"""`forum inspect`: reads one page, or a batch of saved ones, without a database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.frontier.fetching import user_agent
from crawlmgr.management import foreground
from crawlmgr.management.base import Result, table
from crawlmgr.text.dates import DateContext, find_time
from crawlmgr.text.dates_zones import page_clock
from crawlmgr.web.encoding import decode
from crawlmgr.web.http.fetch import Fetcher, FetchRequest, FetchSettings
from forums.reading import PageReading, PostRecord, read_page, to_json


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", help="a file or an address")
    parser.add_argument("--base-url", default="", help="the address that a file was saved from")
    parser.add_argument(
        "--fetched-at",
        default="",
        help="when it was fetched, ISO 8601 (default: what the page's clock says, else now)",
    )
    parser.add_argument(
        "--timezone", default="UTC", help="the site's zone, for times that do not say theirs"
    )
    parser.add_argument(
        "--batch",
        default="",
        metavar="FILE.jsonl",
        help='lines {"file", "base_url"}; paths are relative to the file',
    )
    parser.add_argument(
        "--no-hints", action="store_true", help="read without what is known about engines"
    )
    parser.add_argument(
        "--allow-private", action="store_true", help="even if it lies on a private network"
    )


def run(options: dict[str, Any]) -> Result:
    if bool(options["page"]) == bool(options["batch"]):
        raise CommandError("Give a page or --batch FILE.jsonl.")
    if options["batch"]:
        documents = list(_batch(Path(options["batch"]), options))
        rows = [[d["file"], d["kind"], len(d["records"]), d["next"]] for d in documents]
        return Result(documents, table(["file", "kind", "records", "next"], rows), lines=True)
    page = options["page"]
    html: str | bytes
    if page.startswith(("http://", "https://")):
        html, url = _fetch(page, options["allow_private"])
    else:
        html, url = _load(Path(page)), options["base_url"] or "http://localhost/"
    reading = _read(html, url, options)
    return Result(to_json(reading), _show(reading))


def _batch(listing: Path, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    try:
        lines = listing.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CommandError(f"{listing}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            file, base = str(entry["file"]), str(entry["base_url"])
        except (ValueError, KeyError, TypeError) as error:
            raise CommandError(f'{listing}, line {number}: not {{"file", "base_url"}}') from error
        yield {"file": file, **to_json(_read(_load(listing.parent / file), base, options))}


def _load(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error


def _fetch(url: str, allow_private: bool) -> tuple[str, str]:
    allowed = frozenset(foreground.hosts_of([url]) if allow_private else ())
    fetcher = Fetcher(
        FetchSettings(
            user_agent=user_agent(), allow_private=allowed, private_only=not settings.CONTACT
        )
    )
    try:
        response = fetcher.fetch(FetchRequest(url))
    finally:
        fetcher.close()
    if response.failure is not None:
        raise CommandError(f"{url}: {response.failure} {response.detail}".rstrip())
    return response.text, response.url


def _read(html: str | bytes, url: str, options: dict[str, Any]) -> PageReading:
    text = decode(html)[0] if isinstance(html, bytes) else html
    zone = options["timezone"]
    return read_page(
        text,
        url,
        _fetched_at(text, options["fetched_at"], zone),
        timezone=zone,
        hints=not options["no_hints"],
    )


def _fetched_at(html: str, given: str, zone: str) -> datetime:
    """Returns the time at which a page was fetched: as given, otherwise from the clock shown on the
    page, otherwise now."""
    if given:
        try:
            moment = datetime.fromisoformat(given)
        except ValueError as error:
            raise CommandError(f"--fetched-at {given}: not a time in ISO 8601") from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    clock = page_clock(html)
    told = find_time(clock, DateContext(SYSTEM.now(), zone)) if clock else None
    return told.value if told and not told.relative else SYSTEM.now()


def _show(reading: PageReading) -> str:
    rows = []
    for record in reading.records:
        if isinstance(record, PostRecord):
            rows.append(
                [
                    record.author,
                    record.posted.value.isoformat() if record.posted else None,
                    record.text[:60],
                ]
            )
        else:
            last = record.last_reply.value.isoformat() if record.last_reply else None
            rows.append(
                [getattr(record, "title", None) or getattr(record, "name", ""), last, record.url]
            )
    return (
        f"{reading.kind} ({reading.engine}, {reading.confidence:.2f}), next:"
        f" {reading.next or '–'}\n" + table(["", "time", ""], rows)
    )
