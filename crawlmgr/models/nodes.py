"""Table of worker nodes."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class NodeState(models.TextChoices):
    ACTIVE = "active", _("accepts work")
    DRAINING = "draining", _("draining")
    PAUSED = "paused", _("paused")


class Node(models.Model):
    """A worker node: the worker processes of one machine. Its tasks write `heartbeat`; a node
    without a recent one is lost or, if it was draining, drained.

    `state` is what the operator requested. A paused node takes no runs until it is resumed. A
    draining one exits when it has no runs left, and takes work again when it is restarted. `name`
    identifies it in leases and locks; users see `label` if one is set. For each minute of the last
    hour, `minutes` holds [minute since the epoch, pages], and `levels` [minute, number of runs
    held, bytes of memory or None]. `dispatched` is when it last ran the dispatcher.
    """

    name = models.CharField(_("node"), max_length=120, unique=True)
    label = models.CharField(_("shown as"), max_length=60, blank=True)
    machine = models.CharField(_("machine"), max_length=255, blank=True)
    version = models.CharField(_("version"), max_length=40, blank=True)
    state = models.CharField(
        _("state"), max_length=10, choices=NodeState.choices, default=NodeState.ACTIVE
    )
    memory_bytes = models.PositiveBigIntegerField(_("memory"), null=True, blank=True)
    pid = models.PositiveIntegerField(_("process"), default=0)
    workers = models.PositiveSmallIntegerField(_("workers"), default=0)
    queues = models.CharField(_("queues"), max_length=200, blank=True)
    started = models.DateTimeField(_("started"))
    heartbeat = models.DateTimeField(_("last heartbeat"), null=True, blank=True)
    pages = models.PositiveBigIntegerField(_("pages"), default=0)
    minutes = models.JSONField(default=list, blank=True)
    levels = models.JSONField(default=list, blank=True)
    dispatched = models.DateTimeField(null=True, blank=True)
    restarts = models.PositiveIntegerField(_("restarts"), default=0)

    class Meta:
        verbose_name = _("worker node")
        verbose_name_plural = _("worker nodes")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.label or self.name
