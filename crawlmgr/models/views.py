"""Table of users' saved views of lists."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


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
