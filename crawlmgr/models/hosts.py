"""Tables of hosts: the state by which requests to a host are limited, the same for all workers, and
statistics."""

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
