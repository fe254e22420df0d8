"""Table with the schedule of backups."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class BackupPlan(models.Model):
    """The schedule of backups, once a user has set it: at most one row, with key 1. `next_at` is
    the time of the next scheduled backup, `every_hours` the interval (0: only on request), `keep`
    the number of files kept."""

    every_hours = models.PositiveIntegerField(_("frequency"), default=0)
    keep = models.PositiveIntegerField(_("files kept"), default=7)
    next_at = models.DateTimeField(_("next export"), null=True, blank=True)
    changed = models.DateTimeField(_("changed"), null=True, blank=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("schedule of backups")
        verbose_name_plural = _("schedules of backups")

    def __str__(self) -> str:
        return f"every {self.every_hours} h"
