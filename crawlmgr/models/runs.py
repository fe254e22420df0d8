"""Tables of runs, of their working hours, and of the pause of all crawling.

A run is one execution of a crawl or other job, with its state, lease and counters, and with the
counts shown in its report."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import connections, models
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _


class RunState(models.TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    FINISHED = "finished", _("finished")
    STOPPED = "stopped", _("stopped")
    FAILED = "failed", _("failed")


ACTIVE = (RunState.QUEUED, RunState.RUNNING, RunState.PAUSED)
_AT_WORK = "SELECT id FROM crawlmgr_run %sWHERE state IN ('queued', 'running', 'paused')"
TRANSITIONS: dict[str, frozenset[str]] = {
    RunState.QUEUED: frozenset(
        {RunState.RUNNING, RunState.PAUSED, RunState.STOPPED, RunState.FAILED}
    ),
    RunState.RUNNING: frozenset(
        {RunState.PAUSED, RunState.FINISHED, RunState.STOPPED, RunState.FAILED}
    ),
    RunState.PAUSED: frozenset({RunState.QUEUED, RunState.STOPPED, RunState.FAILED}),
    RunState.FINISHED: frozenset(),
    RunState.STOPPED: frozenset(),
    RunState.FAILED: frozenset({RunState.QUEUED}),
}


class RunQuerySet(models.QuerySet["Run"]):
    def at_work(self) -> Self:
        """Returns the active runs (queued, running or paused), unordered, found through a partial
        index without reading runs that have ended. Further filters on kind or target can make
        SQLite choose another index and read all runs ever made; filter in Python instead, as active
        runs are few.

        The name of the index is given to SQLite, because it assumes that each of the six states has
        a sixth of all runs.
        """
        told = "INDEXED BY run_active " if connections[self.db].vendor == "sqlite" else ""
        return self.filter(pk__in=RawSQL(_AT_WORK % told, ())).order_by()  # noqa: S611 - a constant


class Run(models.Model):
    """One execution of a crawl or other job, with its parameters frozen into it.

    One worker at a time holds the lease; taking the lease raises `fence`, and every transaction of
    a slice checks that the fence is still the same, so that a slice whose lease was lost can no
    longer write. `wanted` is what the operator requested ("pause", "stop"). `breaks` and `strains`
    count the slices since the last progress that were ended by a program error and by a temporary
    database problem. Of the runs with the same non-empty `exclusive`, only one can be active.
    `scheduled`: started by a schedule, and therefore restricted to the working hours of its target
    (see crawlmgr.schedule.timings).
    """

    kind = models.CharField(_("kind"), max_length=32)
    label = models.CharField(_("name"), max_length=200)
    target = models.BigIntegerField(null=True, blank=True)
    exclusive = models.CharField(max_length=80, blank=True)
    parameters = models.JSONField(_("parameters"), default=dict)
    state = models.CharField(
        _("state"), max_length=10, choices=RunState.choices, default=RunState.QUEUED
    )
    wanted = models.CharField(max_length=6, blank=True)
    stopped_by = models.CharField(_("end reason"), max_length=60, blank=True)
    detail = models.TextField(_("detail"), blank=True)
    waiting_for = models.CharField(_("waiting for"), max_length=300, blank=True)
    waiting_until = models.DateTimeField(null=True, blank=True)
    result = models.JSONField(default=dict, blank=True)
    outcomes = models.JSONField(null=True, blank=True)

    fetched = models.PositiveBigIntegerField(_("pages"), default=0)
    failed = models.PositiveBigIntegerField(_("failed"), default=0)
    refused = models.PositiveBigIntegerField(_("refused"), default=0)
    requests = models.PositiveBigIntegerField(_("requests"), default=0)
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0)
    new = models.PositiveBigIntegerField(_("new"), default=0)
    updated = models.PositiveBigIntegerField(_("updated"), default=0)
    unchanged = models.PositiveBigIntegerField(_("unchanged"), default=0)
    items = models.PositiveBigIntegerField(_("items"), default=0)
    busy = models.PositiveBigIntegerField(_("responses 429 or 503"), default=0)
    retries = models.PositiveBigIntegerField(_("tries again"), default=0)
    waits = models.PositiveBigIntegerField(_("waits for hosts"), default=0)
    waited_seconds = models.FloatField(_("time waited (s)"), default=0.0)

    begun = models.BooleanField(default=False)
    scheduled = models.BooleanField(default=False)
    breaks = models.PositiveSmallIntegerField(default=0)
    strains = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_holder = models.CharField(max_length=120, blank=True)
    fence = models.BigIntegerField(default=0)
    created = models.DateTimeField(_("created"))
    started = models.DateTimeField(_("started"), null=True, blank=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)
    progressed = models.DateTimeField(_("last progress"), null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = RunQuerySet.as_manager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["exclusive"],
                condition=models.Q(state__in=["queued", "running", "paused"])
                & ~models.Q(exclusive=""),
                name="run_exclusive",
            )
        ]
        indexes = [
            models.Index(fields=["state", "waiting_until"], name="run_state"),
            models.Index(fields=["kind", "target", "-id"], name="run_target"),
            models.Index(
                fields=["kind", "target"],
                name="run_active",
                condition=models.Q(state__in=["queued", "running", "paused"]),
            ),
            models.Index(fields=["state", "finished"], name="run_ended"),
            models.Index(fields=["state", "-id"], name="run_recent_state"),
            models.Index(fields=["kind", "-id"], name="run_recent_kind"),
            models.Index(fields=["kind", "state", "-id"], name="run_recent"),
            models.Index(fields=["kind", "finished", "id"], name="run_kind_finished"),
            *(
                models.Index(fields=[name, "id"], name=f"run_by_{name}")
                for name in ("finished", "fetched", "new", "bytes")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label} #{self.pk}"

    @property
    def active(self) -> bool:
        """True if the run is queued, running or paused; False once it has finished, failed or been
        stopped."""
        return self.state in ACTIVE


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
