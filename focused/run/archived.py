"""Which addresses the archive holds, and their newest pages."""

from __future__ import annotations

from collections.abc import Sequence

from crawlmgr.archive import archive
from crawlmgr.models import Page as StoredPage
from crawlmgr.web.url import absolute, canonical, url_hash

REDIRECTS = (301, 302, 303, 307, 308)
MAX_REDIRECTS = 5


def in_archive(urls: Sequence[str]) -> set[str]:
    """Returns those of the addresses for which the archive has a response."""
    keys = {url_hash(url): url for url in urls}
    found: set[str] = set()
    wanted = list(keys)
    for start in range(0, len(wanted), 500):
        held = StoredPage.objects.filter(
            url_hash__in=wanted[start : start + 500], warc__isnull=False
        )
        found.update(keys[key] for key in held.values_list("url_hash", flat=True))
    return found


def stored_page(url: str) -> StoredPage | None:
    """Returns the newest archived page of an address, following archived redirects; None if there
    is none."""
    for _ in range(MAX_REDIRECTS):
        page = archive.latest(url)
        if page is not None:
            return page
        moved = StoredPage.objects.filter(
            url_hash=url_hash(url), status__in=REDIRECTS, warc__isnull=False
        )
        hop = moved.select_related("warc").order_by("-fetched_at").first()
        record = archive.read_page(hop) if hop is not None else None
        if record is None:
            return None
        headers = {name.lower(): value for name, value in record.headers}
        target = absolute(headers.get("location", ""), url)
        if target is None:
            return None
        url = canonical(target)
    return None
