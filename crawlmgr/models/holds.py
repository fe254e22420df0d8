"""The table that tells whether all crawling is paused."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Hold(models.Model):
    """The pause of all crawling: a row, at most one and with key 1, exists while it lasts. `runs`
    are the keys of the runs that were paused by it, and will be resumed with it."""

    since = models.DateTimeField(_("since"))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    runs = models.JSONField(default=list)

    class Meta:
        verbose_name = _("pause of all crawling")
        verbose_name_plural = _("pauses of all crawling")

    def __str__(self) -> str:
        return str(self.since)
