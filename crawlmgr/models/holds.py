"""Whether everything is paused."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Hold(models.Model):
    """Stands while all crawling is paused: one row at the most, its key always 1. `runs` are those that were paused for it."""

    since = models.DateTimeField(_("since"))
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    runs = models.JSONField(default=list)

    class Meta:
        verbose_name = _("pause of everything")
        verbose_name_plural = _("pauses of everything")

    def __str__(self) -> str:
        return str(self.since)
