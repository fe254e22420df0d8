"""Login sessions: lists who is logged in from where, and ends sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.sessions.models import Session

MAX_SESSIONS = (
    2000  # maximum number of sessions that are searched; those that expire last are taken
)
OPENED = "opened"


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One login session. `mark` identifies it on pages; the session's own key is not shown, because
    it would allow logging in. `own` is True for the session of the current request. `since` is None
    for logins made with older versions.
    """

    mark: str
    user: Any
    own: bool
    address: str
    browser: str
    since: datetime | None
    until: datetime


def note(session: Any, address: str | None, browser: str, now: datetime) -> None:
    """Stores the address, the browser and the time of a login in its session."""
    session[OPENED] = {"address": address or "", "browser": browser[:200], "at": now.isoformat()}


def open_sessions(
    now: datetime, seen: Callable[[Any], bool], own_key: str | None
) -> list[OpenSession]:
    """Returns the open sessions of those users for whom `seen` returns True, newest first.
    `own_key` is the key of the current session."""
    found = list(_decoded(now))
    users = get_user_model()._default_manager.in_bulk([user for _session, user, _data in found])
    shown = [
        (session, users[user], data)
        for session, user, data in found
        if user in users and seen(users[user])
    ]
    rows = [_described(session, user, data, own_key) for session, user, data in shown]
    return sorted(
        rows, key=lambda row: (row.since is not None, row.since or row.until), reverse=True
    )


def _described(
    session: Session, user: Any, data: dict[str, Any], own_key: str | None
) -> OpenSession:
    told = data.get(OPENED, {})
    since = datetime.fromisoformat(told["at"]) if told.get("at") else None
    own = session.session_key == own_key
    return OpenSession(
        _mark(session.session_key),
        user,
        own,
        told.get("address", ""),
        told.get("browser", ""),
        since,
        session.expire_date,
    )


def end(marks: set[str], now: datetime, seen: Callable[[Any], bool]) -> int:
    """Ends the login sessions identified by `marks` (hashes of their keys, as in `mark` of a listed
    session) if `seen` returns True for their users. Returns how many were ended."""
    chosen = [
        (session, user)
        for session, user, _data in _decoded(now)
        if _mark(session.session_key) in marks
    ]
    users = get_user_model()._default_manager.in_bulk([user for _session, user in chosen])
    keys = [session.pk for session, user in chosen if user in users and seen(users[user])]
    return int(Session.objects.filter(pk__in=keys).delete()[0])


def _decoded(now: datetime) -> Iterator[tuple[Session, int, dict[str, Any]]]:
    for session in Session.objects.filter(expire_date__gt=now).order_by("-expire_date")[
        :MAX_SESSIONS
    ]:
        data = session.get_decoded()
        if str(data.get(SESSION_KEY, "")).isdecimal():
            yield session, int(data[SESSION_KEY]), data


def _mark(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:32]
