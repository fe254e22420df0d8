"""Login sessions: who is logged in from where. Users see and end their own sessions; administrators
those of all users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from django.contrib import messages
from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.access.login import client_address
from crawlmgr.admin.views import admin_view, back, page, post_view

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


def end_sessions(marks: set[str], now: datetime, seen: Callable[[Any], bool]) -> int:
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


@receiver(user_logged_in)
def _note(request: HttpRequest, **_: Any) -> None:
    note(
        request.session,
        client_address(request),
        request.META.get("HTTP_USER_AGENT", ""),
        datetime.now(UTC),
    )


def _seen(request: HttpRequest, user: Any) -> bool:
    """Tells whether the requesting user may see the sessions of `user`: everybody sees their own,
    user managers see all, but those of a superuser only if they are superusers too."""
    if user.pk == request.user.pk:
        return True
    return request.user.has_perm("auth.change_user") and (
        request.user.is_superuser or not user.is_superuser
    )


@admin_view("sessions/", "sessions")
def session_list(request: HttpRequest) -> HttpResponse:
    """Lists the open sessions that the user may see."""
    now = datetime.now(UTC)
    rows = open_sessions(now, lambda user: _seen(request, user), request.session.session_key)
    return page(request, "desk/sessions.html", {"rows": rows}, title=_("Sessions"), item="sessions")


@post_view("sessions/end/", "sessions-end", "crawlmgr.view_run")
def end(request: HttpRequest) -> HttpResponse:
    """Ends the selected sessions; whoever uses them has to log in again."""
    count = end_sessions(
        set(request.POST.getlist("session")), datetime.now(UTC), lambda user: _seen(request, user)
    )
    done = ngettext("%(count)d session was ended.", "%(count)d sessions were ended.", count)
    messages.success(request, done % {"count": count})
    return back(request, "sessions")
