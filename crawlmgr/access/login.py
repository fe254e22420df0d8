"""The login form. Failed logins are counted by django-axes, which blocks further ones for a while;
each block is recorded as an event."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from axes.signals import user_locked_out
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Sum
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from unfold.forms import AuthenticationForm

from crawlmgr.models import Event, events

CODE = "login_barred"


def client_address(request: HttpRequest) -> str | None:
    """Returns the address under which failed logins are counted: an IPv4 address, or the /64
    network of an IPv6 address; None if it is unknown. Behind a TLS proxy it is the address that the
    proxy reports, not one that the client claims.
    """
    text = str(request.META.get("REMOTE_ADDR", ""))
    if settings.BEHIND_TLS:
        text = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip() or text
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.IPv6Network((address, 64), strict=False).network_address)
    return text


def barred(request: HttpRequest, name: str) -> bool:
    """Tells whether a login from the address of the request is blocked: either with this user name,
    because too many logins with that name failed, or with any name, because
    LOGIN_FAILURES_OF_ADDRESS logins from the address failed within AXES_COOLOFF_TIME. In the latter
    case records an event."""
    if not AxesProxyHandler.is_allowed(request, {"username": name}):
        return True
    failures = _failures_of(client_address(request), timezone.now())
    if failures < settings.LOGIN_FAILURES_OF_ADDRESS:
        return False
    _tell(str(client_address(request)))
    return True


def _failures_of(address: str | None, now: datetime) -> int:
    since = now - settings.AXES_COOLOFF_TIME
    rows = AccessAttempt.objects.filter(ip_address=address, attempt_time__gte=since)
    return rows.aggregate(count=Sum("failures_since_start"))["count"] or 0


def _tell(text: str) -> None:
    """Records an event with this text, unless one was recorded within AXES_COOLOFF_TIME: a block is
    reported once, however many logins it stops."""
    now = timezone.now()
    if not Event.objects.filter(
        code=CODE, text=text, at__gte=now - settings.AXES_COOLOFF_TIME
    ).exists():
        events.warn(CODE, text, now=now)


@receiver(user_locked_out)
def _barred_now(username: str | None = None, ip_address: str | None = None, **_: Any) -> None:
    # a name without an account may be a password typed into the wrong field, so it is not stored
    known = get_user_model()._default_manager.filter(username=username).exists()
    _tell(f"{username if known else '?'} · {ip_address or '?'}")


class LoginForm(AuthenticationForm):
    """The login form; blocked users get an error before the password is checked."""

    def clean(self) -> dict[str, Any]:
        name = str(self.cleaned_data.get("username", ""))
        assert self.request is not None  # noqa: S101 - the login view passes the request
        if barred(self.request, name):
            minutes = int(settings.AXES_COOLOFF_TIME / timedelta(minutes=1))
            text = _("Too many failed logins. Wait %(minutes)d minutes, then try again.") % {
                "minutes": minutes
            }
            raise ValidationError(text, code="barred")
        return dict(super().clean())
