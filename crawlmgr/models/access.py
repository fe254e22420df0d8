"""Tables of what belongs to users: API tokens, and saved views of lists."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class TokenRole(models.TextChoices):
    VIEWER = "viewer", _("viewer")
    OPERATOR = "operator", _("operator")


class ApiToken(models.Model):
    """An access token of the API. Only its SHA-256 is stored: the token itself is shown once, when
    it is created."""

    name = models.CharField(_("name"), max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    role = models.CharField(
        _("role"), max_length=10, choices=TokenRole.choices, default=TokenRole.VIEWER
    )
    created = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    expires = models.DateTimeField(_("expires"), null=True, blank=True)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class ListView(models.Model):
    """A user's saved view of a list in the web interface: `query` is the query string that sorts
    and filters the list and chooses its columns."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    list = models.CharField(_("list"), max_length=40)
    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(max_length=2000, blank=True)

    class Meta:
        verbose_name = _("view of a list")
        verbose_name_plural = _("views of lists")
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(fields=["user", "list", "name"], name="listview_once")
        ]

    def __str__(self) -> str:
        return self.name
