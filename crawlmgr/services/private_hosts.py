"""Corrects stored crawl settings that allow connections to any private address: only the hosts the
user named stay allowed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from crawlmgr.conf import EVERYTHING, named_private
from crawlmgr.web.url import UrlError, canonical, host_key


def restrict(
    rows: Any, field: str, urls: Callable[[Any], Iterable[str]], *, inside: str = ""
) -> None:
    """Replaces "*" (any private address) in stored crawl settings by the hosts and ports of the
    addresses that the user named, and writes a warning to standard error for each change.

    `field` is the JSON field with the settings, `inside` the key of the settings within it ("": the
    field itself); `urls` returns the addresses named by a row. Older versions stored "*" for
    `--allow-private`, which allowed redirects to any port of any private machine."""
    where = "__".join(part for part in (field, inside, "allow_private", "icontains") if part)
    for row in rows.filter(**{where: EVERYTHING}):
        stored = getattr(row, field)
        settings = stored[inside] if inside else stored
        if EVERYTHING not in settings["allow_private"].split(","):
            continue
        named = named_private(settings["allow_private"], _hosts(urls(row)))
        changed = {**settings, "allow_private": named}
        setattr(row, field, {**stored, inside: changed} if inside else changed)
        row.save(update_fields=[field])
        kind = str(row._meta.verbose_name)
        sys.stderr.write(
            f"Warning: {kind} {row.pk} might reach every private address; now only"
            f" {named or 'none'}.\n"
        )


def _hosts(urls: Iterable[str]) -> set[str]:
    found = set()
    for url in urls:
        with suppress(UrlError):
            found.add(host_key(canonical(url)))
    return found
