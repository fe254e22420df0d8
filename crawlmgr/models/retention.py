"""Retention times of history, as set on the desk."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Retention(models.Model):
    """A retention time in days set by an operator, 0 for ever; kinds without a row use settings.KEEP_DAYS."""

    kind = models.CharField(_("kind"), max_length=40, unique=True)
    keep_days = models.PositiveIntegerField(_("days kept"))
    changed = models.DateTimeField(_("changed"))
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        verbose_name = _("retention")
        verbose_name_plural = _("retention")
        ordering = ("kind",)

    def __str__(self) -> str:
        return f"{self.kind}: {self.keep_days}"
