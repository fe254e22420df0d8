"""Comparisons of strategies, started on the desk and worked in the background."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Comparison(models.Model):
    """Strategies over the same archived pages. `trails` holds each finished entry's steps until all are judged together."""

    topic = models.ForeignKey("focused.Topic", models.CASCADE, related_name="comparisons")
    run = models.ForeignKey("crawlmgr.Run", models.SET_NULL, null=True, related_name="+")
    setup = models.JSONField(_("setup"), default=dict)
    trails = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    problem = models.CharField(_("problem"), max_length=300, blank=True)
    created = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        verbose_name = _("comparison")
        verbose_name_plural = _("comparisons")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.topic} #{self.pk}"
