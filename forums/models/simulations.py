"""Stored event logs, and the experiments made with them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class EventLog(models.Model):
    """An event log (`board,thread,kind,ts`) in the installation's folder: uploaded, or made from a
    forum's stored posts.

    The counts are known once it has been read; `bad_first` holds line and reason of the first rows
    left out.
    """

    name = models.CharField(_("name"), max_length=200)
    file = models.CharField(max_length=120, unique=True)
    site = models.ForeignKey(
        "forums.Site",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="logs",
        verbose_name=_("forum"),
    )
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    bytes = models.PositiveBigIntegerField(_("size"), default=0)
    boards = models.PositiveIntegerField(_("boards"), default=0)
    events = models.PositiveBigIntegerField(_("events"), default=0)
    first = models.DateTimeField(_("first event"), null=True, blank=True)
    last = models.DateTimeField(_("last event"), null=True, blank=True)
    bad_rows = models.PositiveIntegerField(_("rows skipped"), default=0)
    bad_first = models.JSONField(default=list, blank=True)
    added = models.DateTimeField(_("added"))
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("event file")
        verbose_name_plural = _("event files")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name


class SimulationKind(models.TextChoices):
    SCHEDULES = "schedules", _("schedules")
    FETCHING = "fetching", _("finding changes")


class Simulation(models.Model):
    """One experiment on an event log: its setup, its progress and its results.

    `result` grows by one step (a policy, or a policy at a budget) per transaction, which also
    checks that the worker still has the run's lease, so that a repeated step counts once. A
    simulation is kept after its run has ended.
    """

    kind = models.CharField(_("kind"), max_length=12, choices=SimulationKind.choices)
    log = models.ForeignKey(
        EventLog, models.CASCADE, related_name="simulations", verbose_name=_("event file")
    )
    setup = models.JSONField(_("settings"), default=dict)
    run = models.OneToOneField(
        "crawlmgr.Run", models.SET_NULL, null=True, blank=True, related_name="simulation"
    )
    done = models.PositiveIntegerField(_("steps done"), default=0)
    total = models.PositiveIntegerField(_("steps"), default=0)
    problem = models.CharField(max_length=300, blank=True)
    result = models.JSONField(default=dict, blank=True)
    created = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("simulation")
        verbose_name_plural = _("simulations")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.log} #{self.pk}"
