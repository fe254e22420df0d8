"""Table of the working hours of scheduled items."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Timing(models.Model):
    """The working hours in which runs of an item (`kind` of run and `target`) may start and
    continue, and the maximum random shift of each start. `hours` is in the format of
    `crawlmgr.windows`, "" for any time. An item without a row may start at any time, without shift.
    """

    kind = models.CharField(max_length=32)
    target = models.BigIntegerField()
    hours = models.CharField(_("hours"), max_length=60, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    jitter_seconds = models.PositiveIntegerField(_("random shift (s)"), default=0)

    class Meta:
        verbose_name = _("hours of work")
        verbose_name_plural = _("hours of work")
        constraints = [models.UniqueConstraint(fields=["kind", "target"], name="timing_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"
