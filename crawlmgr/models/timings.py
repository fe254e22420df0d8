"""When what recurs may begin."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Timing(models.Model):
    """The hours in which runs of a thing (`kind` of run and `target`) may begin and go on: `hours` as `crawlmgr.windows` reads
    them, "" for any; and by how much each start is moved by chance at the most. Without a row: at any time, on the moment."""

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
