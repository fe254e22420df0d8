"""Table of events for operators, and the functions that record them. Texts are cut
to 500 characters, and old events are deleted by `pruning`."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

log = logging.getLogger("crawlmgr.events")


class Event(models.Model):
    """A message for operators: an error, a warning or a note (`level`), with the run and host that
    it concerns."""

    class Level(models.IntegerChoices):
        NOTE = 20, _("note")
        WARNING = 30, _("warning")
        ERROR = 40, _("error")

    at = models.DateTimeField(_("time"), db_index=True)
    level = models.PositiveSmallIntegerField(_("level"), choices=Level.choices)
    code = models.CharField(_("code"), max_length=60)
    text = models.CharField(_("text"), max_length=500, blank=True)
    run = models.ForeignKey(
        "crawlmgr.Run", models.CASCADE, null=True, blank=True, related_name="events"
    )
    host = models.ForeignKey(
        "crawlmgr.Host", models.SET_NULL, null=True, blank=True, related_name="events"
    )

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"


def record(
    level: int,
    code: str,
    text: str,
    *,
    now: datetime,
    run_id: int | None = None,
    host_id: int | None = None,
) -> None:
    """Stores an event and writes it to the log. `level` is a level of `logging`: 20 (info), 30
    (warning) or 40 (error)."""
    Event.objects.create(
        at=now, level=level, code=code[:60], text=text[:500], run_id=run_id, host_id=host_id
    )
    told: dict[str, Any] = {"event": code}
    told |= {
        name: value for name, value in (("run", run_id), ("host", host_id)) if value is not None
    }
    log.log(int(level), text, extra=told)


def error(
    code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None
) -> None:
    """Records an event of level error: something failed."""
    record(Event.Level.ERROR, code, text, now=now, run_id=run_id, host_id=host_id)


def warn(
    code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None
) -> None:
    """Records an event of level warning: something needs attention."""
    record(Event.Level.WARNING, code, text, now=now, run_id=run_id, host_id=host_id)


def note(
    code: str, text: str, *, now: datetime, run_id: int | None = None, host_id: int | None = None
) -> None:
    """Records an event of level info: something worth knowing later, while nothing is wrong."""
    record(Event.Level.NOTE, code, text, now=now, run_id=run_id, host_id=host_id)
