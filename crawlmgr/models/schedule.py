"""Tables of the working hours of scheduled items, and of whether all crawling is paused."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Timing(models.Model):
    """The working hours in which runs of an item (`kind` of run and `target`) may start and
    continue, and the maximum random shift of each start. `hours` is in the format of
    `crawlmgr.schedule.opening_hours`, "" for any time. An item without a row may start at any
    time, without shift.
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
