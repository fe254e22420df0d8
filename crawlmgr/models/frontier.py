"""The frontier: table of the addresses that a run has seen, with their states."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class UrlState(models.IntegerChoices):
    WAITING = 0, _("waiting")
    CLAIMED = 1, _("taken by a worker")
    DONE = 2, _("done")
    FAILED = 3, _("failed")
    REFUSED = 4, _("refused")
    DROPPED = 5, _("dropped")


class Url(models.Model):
    """One address of one run.

    Life: waiting → claimed (with a lease that expires) → done, failed or refused; claimed → waiting
    again, for another try or when the lease expires; waiting → dropped if it is no longer wanted.
    (run, key_hash) is unique and serves as the seen set: the same address never enters a run twice.
    `group` is a number that the crawler sets to treat addresses together (a forum crawler: the
    visit of a board); `payload` is what it needs to process the page.
    """

    run = models.ForeignKey("crawlmgr.Run", models.CASCADE, related_name="urls")
    host = models.ForeignKey("crawlmgr.Host", models.CASCADE, related_name="urls")
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="children"
    )
    key_hash = models.BigIntegerField()
    url = models.TextField()
    kind = models.CharField(max_length=16, blank=True)
    group = models.BigIntegerField(null=True, blank=True)
    payload = models.JSONField(default=dict, blank=True)
    anchor = models.CharField(max_length=300, blank=True)
    depth = models.PositiveIntegerField(default=0)
    priority = models.FloatField(default=0.0)
    state = models.PositiveSmallIntegerField(choices=UrlState.choices, default=UrlState.WAITING)
    due_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.BigIntegerField(null=True, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    added_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("address")
        verbose_name_plural = _("addresses")
        constraints = [models.UniqueConstraint(fields=["run", "key_hash"], name="url_seen_once")]
        indexes = [
            models.Index(
                fields=["run", "host", "-priority", "id"],
                name="url_next",
                condition=models.Q(state=0),
            ),
            models.Index(
                fields=["run", "lease_until"], name="url_claimed", condition=models.Q(state=1)
            ),
            models.Index(
                fields=["host", "lease_until"], name="url_host_claimed", condition=models.Q(state=1)
            ),
            models.Index(fields=["run", "group", "state"], name="url_group"),
            models.Index(fields=["run", "state", "reason"], name="url_outcome"),
        ]

    def __str__(self) -> str:
        return self.url
