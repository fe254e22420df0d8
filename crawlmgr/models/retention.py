"""Table of retention times of stored history, as set in the web interface."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Retention(models.Model):
    """For how many days one kind of history is kept (0: for ever), as set by an operator. Kinds
    without a row here use settings.KEEP_DAYS."""

    kind = models.CharField(_("kind"), max_length=40, unique=True)
    keep_days = models.PositiveIntegerField(_("days kept"))
    changed = models.DateTimeField(_("changed"))
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("retention")
        verbose_name_plural = _("retention")
        ordering = ("kind",)

    def __str__(self) -> str:
        return f"{self.kind}: {self.keep_days}"
