"""Table of the counts shown in the report of a run: responses by status, pages by type, and seeds
by outcome."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class RunTally(models.Model):
    """A count for the report of a run, by `what` and `name`: its responses by status code
    ("status"; those without one by the code of the failure), its pages by content type ("type"),
    and its seeds by outcome ("seed"). Updated in the transactions that store the responses."""

    run = models.ForeignKey("crawlmgr.Run", models.CASCADE, related_name="tallies")
    what = models.CharField(max_length=8)
    name = models.CharField(max_length=100)
    number = models.PositiveBigIntegerField(_("number"), default=0)
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "what", "name"], name="runtally_once")
        ]

    def __str__(self) -> str:
        return f"{self.what} {self.name}"
