"""Queries on the archive: its files, and the stored captures of an address."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncDate

from crawlmgr.database.paging import ListPage, fetch_page
from crawlmgr.models import Page, WarcFile
from crawlmgr.web.url import UrlError, canonical, url_hash

DAYS_SHOWN = 30


def files() -> QuerySet[WarcFile]:
    """Returns all WARC files with their runs."""
    return WarcFile.objects.select_related("run").defer("run__parameters", "run__result")


def totals() -> dict[str, Any]:
    """Returns the totals of the archive by name: "files" (their number), "bytes" and "records"
    (sums over all files, None if there are no files)."""
    return WarcFile.objects.aggregate(files=Count("id"), bytes=Sum("bytes"), records=Sum("records"))


def bytes_by_day(now: datetime, days: int = DAYS_SHOWN) -> tuple[list[date], dict[date, int]]:
    """Returns the last `days` days (UTC), oldest first, and for each day the total bytes of the
    WARC files that were begun on it; days without files are missing from the dictionary."""
    today = now.astimezone(UTC).date()
    shown = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    rows = WarcFile.objects.filter(created__gte=datetime.combine(shown[0], time(), UTC)).order_by()
    return shown, dict(rows.values_list(TruncDate("created", tzinfo=UTC)).annotate(Sum("bytes")))


def captures(address: str, limit: int = 50) -> list[Page]:
    """Returns the stored captures of an address as typed by a user ("http://" is added if missing),
    newest first. Raises ValueError if it is not an address."""
    text = address.strip()
    if "://" not in text:
        text = f"http://{text}"
    try:
        wanted = url_hash(canonical(text))
    except UrlError as error:
        raise ValueError(str(error)) from None
    return of_address(wanted, limit)


def of_address(wanted: int, limit: int = 50) -> list[Page]:
    """Returns the stored captures of the address whose `url_hash` is `wanted`, newest first."""
    pages = (
        Page.objects.filter(url_hash=wanted)
        .select_related("warc", "run")
        .defer("run__parameters", "run__result")
    )
    return list(pages.order_by("-fetched_at")[:limit])


def capture(pk: int) -> Page | None:
    return (
        Page.objects.select_related("warc", "host", "run")
        .defer("run__parameters", "run__result")
        .filter(pk=pk)
        .first()
    )


def in_file(file: WarcFile, query: Mapping[str, str], size: int = 50) -> ListPage:
    """Returns one page of the list of captures in a WARC file, with `size` captures; `query` are
    the parameters of the request's query string, which tell the page (see `paging.fetch_page`)."""
    return fetch_page(Page.objects.filter(warc=file), size=size, query=query)
