"""Logins of sites: by a cookie or a form, stored encrypted."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class LoginMethod(models.TextChoices):
    COOKIE = "cookie", _("a cookie")
    FORM = "form", _("a login form")


class LoginState(models.TextChoices):
    UNTRIED = "untried", _("not tried yet")
    VALID = "valid", _("logged in")
    EXPIRED = "expired", _("expired")
    FAILED = "failed", _("failed")


class SiteLogin(models.Model):
    """A site's login. `secret` (user and password) and `session` (cookies given by the operator or
    set by the site) are encrypted texts; neither is ever shown, archived or put into a run's
    parameters. `reason` is the code of why the last login failed, "" if none did."""

    site = models.OneToOneField("forums.Site", models.CASCADE, related_name="login")
    method = models.CharField(_("method"), max_length=6, choices=LoginMethod.choices)
    address = models.TextField(_("address of the login form"), blank=True)
    secret = models.TextField(blank=True)
    session = models.TextField(blank=True)
    state = models.CharField(
        _("state"), max_length=8, choices=LoginState.choices, default=LoginState.UNTRIED
    )
    reason = models.CharField(_("reason"), max_length=60, blank=True)
    checked_at = models.DateTimeField(_("checked"), null=True, blank=True)
    changed_at = models.DateTimeField(_("changed"))

    class Meta:
        verbose_name = _("login of a forum")
        verbose_name_plural = _("logins of forums")

    def __str__(self) -> str:
        return f"{self.site} ({self.method})"
