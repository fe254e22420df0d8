"""The frontier: tables of the addresses that a run has seen, with their states, and of the
hosts, with the state by which requests to them are limited, the same for all workers."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Host(models.Model):
    """A host; `key` is its name, with the port if that is not the scheme's default.

    `next_at` is the host's next allowed request time. Starting a request advances it by a
    conditional UPDATE, so that no two workers start requests at the same time. `retry_after_until`
    is the time from the server's Retry-After header.
    """

    key = models.CharField(_("host"), max_length=255, unique=True)
    next_at = models.DateTimeField(_("next request from"), default=EPOCH, db_index=True)
    delay_seconds = models.FloatField(_("own delay (s)"), default=1.0)
    connections = models.PositiveSmallIntegerField(_("connections"), default=1)
    crawl_delay_seconds = models.FloatField(_("Crawl-delay (s)"), null=True, blank=True)
    retry_after_until = models.DateTimeField(_("server asked to wait until"), null=True, blank=True)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    last_status = models.PositiveSmallIntegerField(_("last status"), null=True, blank=True)
    last_error = models.CharField(_("last error"), max_length=300, blank=True)
    last_request_at = models.DateTimeField(_("last request"), null=True, blank=True)
    robots_text = models.TextField(_("robots.txt"), blank=True)
    robots_verdict = models.CharField(_("robots.txt rule"), max_length=16, blank=True)
    robots_fetched_at = models.DateTimeField(_("robots.txt read"), null=True, blank=True)
    robots_expires_at = models.DateTimeField(_("robots.txt valid until"), null=True, blank=True)
    requests = models.PositiveBigIntegerField(_("requests"), default=0)
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0)
    errors = models.PositiveBigIntegerField(_("errors"), default=0)
    refused_by_robots = models.PositiveBigIntegerField(_("refused by robots.txt"), default=0)

    class Meta:
        verbose_name = _("host")
        verbose_name_plural = _("hosts")
        permissions = [("open_private", "Can let crawls reach private addresses and proxies")]
        ordering = ("key",)

    def __str__(self) -> str:
        return self.key


class HostHour(models.Model):
    """Totals of one host in the hour that begins at `hour` (UTC): requests, received bytes, and
    requests that failed. Charts read these instead of counting pages."""

    host = models.ForeignKey(Host, models.CASCADE, related_name="hours")
    hour = models.DateTimeField()
    requests = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["host", "hour"], name="hosthour_once")]
        # contains all columns that charts read, so that the table itself need not be read for them
        indexes = [
            models.Index(
                fields=["hour", "host", "requests", "bytes", "errors"], name="hosthour_lately"
            )
        ]


class RunHost(models.Model):
    """A host on which a run has or had addresses, with the run's counters for it. `active` is False
    while none of these addresses is waiting to be fetched."""

    run = models.ForeignKey("crawlmgr.Run", models.CASCADE, related_name="hosts")
    host = models.ForeignKey(Host, models.CASCADE, related_name="runs")
    active = models.BooleanField(default=True)
    fetched = models.PositiveBigIntegerField(default=0, db_default=0)
    failed = models.PositiveBigIntegerField(default=0, db_default=0)
    bytes = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "host"], name="runhost_once")]
        indexes = [
            models.Index(fields=["run", "active"], name="runhost_active"),
            models.Index(fields=["run", "-fetched", "id"], name="runhost_most"),
        ]


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
