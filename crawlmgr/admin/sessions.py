"""Admin views of login sessions: users see and end their own; administrators see those of all
users."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.login import client_address
from crawlmgr.admin.views import admin_view, back, page, post_view
from crawlmgr.services import sessions


@receiver(user_logged_in)
def _note(request: HttpRequest, **_: Any) -> None:
    sessions.note(
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
    rows = sessions.open_sessions(
        now, lambda user: _seen(request, user), request.session.session_key
    )
    return page(request, "desk/sessions.html", {"rows": rows}, title=_("Sessions"), item="sessions")


@post_view("sessions/end/", "sessions-end", "crawlmgr.view_run")
def end(request: HttpRequest) -> HttpResponse:
    """Ends the selected sessions; whoever uses them has to log in again."""
    count = sessions.end(
        set(request.POST.getlist("session")), datetime.now(UTC), lambda user: _seen(request, user)
    )
    done = ngettext("%(count)d session was ended.", "%(count)d sessions were ended.", count)
    messages.success(request, done % {"count": count})
    return back(request, "sessions")
