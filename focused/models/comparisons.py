"""Comparisons of strategies that were started in the web interface and are computed in the
background."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Comparison(models.Model):
    """A comparison of strategies over the same archived pages. `setup` holds its entries and
    conditions (see `lab.stored_comparisons.start`), `parts` the fetches of each finished run of a
    strategy, `result` the figures, {} until all runs are finished; `problem` tells why it could not
    be computed. `run` is the job that computes it.
    """

    topic = models.ForeignKey("focused.Topic", models.CASCADE, related_name="comparisons")
    run = models.ForeignKey("crawlmgr.Run", models.SET_NULL, null=True, related_name="+")
    setup = models.JSONField(_("setup"), default=dict)
    result = models.JSONField(default=dict)
    problem = models.CharField(_("problem"), max_length=300, blank=True)
    created = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        verbose_name = _("comparison")
        verbose_name_plural = _("comparisons")
        ordering = ("-id",)

    @property
    def trails(self) -> dict[str, dict[str, Any]]:
        """The stored fetches of the finished runs, by the run's key, in the order in which the runs
        finished."""
        return {part.key: part.trail for part in self.parts.order_by("id")}

    def __str__(self) -> str:
        return f"{self.topic} #{self.pk}"


class ComparisonPart(models.Model):
    """One run of one strategy within a comparison: its fetches and duration (`trail`). `key` names
    the entry and the random draw. Written once, when the run is finished."""

    comparison = models.ForeignKey(Comparison, models.CASCADE, related_name="parts")
    key = models.CharField(max_length=200)
    trail = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("part of a comparison")
        verbose_name_plural = _("parts of comparisons")
        constraints = [
            models.UniqueConstraint(fields=["comparison", "key"], name="comparison_part_once")
        ]

    def __str__(self) -> str:
        return self.key
