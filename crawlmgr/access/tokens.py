"""Creates, looks up and revokes the tokens of the API."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any

from django.db.models import Q

from crawlmgr.models import ApiToken, events

PREFIX = "crawl_"
MAX_DAYS = 3650
USED_EVERY = timedelta(minutes=1)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def make(
    name: str, role: str, *, now: datetime, days: int | None = None, user: Any = None
) -> tuple[str, ApiToken]:
    """Creates a token and returns its text and its row. Only a digest of the text is stored, so it
    cannot be shown again. Raises ValueError with a one-line message."""
    name = name.strip()
    if not name or len(name) > 100:
        raise ValueError("a token needs a name of at most 100 characters")
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise ValueError(f"a token lasts from 1 to {MAX_DAYS} days")
    text = PREFIX + token_urlsafe(32)
    expires = None if days is None else now + timedelta(days=days)
    row = ApiToken.objects.create(
        name=name, digest=_digest(text), role=role, created=now, created_by=user, expires=expires
    )
    events.note("token_made", f"{name} ({role})", now=now)
    return text, row


def find(text: str, now: datetime) -> ApiToken | None:
    """Returns the row of the valid token with this text, after recording the time of its use (to
    the minute); None if no token is valid."""
    if not text.startswith(PREFIX) or len(text) > 100:
        return None
    row = ApiToken.objects.filter(
        Q(expires__isnull=True) | Q(expires__gt=now), digest=_digest(text)
    ).first()
    if row is not None and (row.last_used is None or now - row.last_used >= USED_EVERY):
        ApiToken.objects.filter(pk=row.pk).update(last_used=now)
    return row


def remove(pk: int, now: datetime) -> bool:
    """Revokes a token at once. Returns False if there is none with this id."""
    row = ApiToken.objects.filter(pk=pk).first()
    if row is None:
        return False
    row.delete()
    events.note("token_removed", row.name, now=now)
    return True
