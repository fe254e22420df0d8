"""Tables of upkeep: the schedule of backups, retention times, deletions that can still be undone,
and the history of settings (every change with the values before and after it, and presets)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class BackupPlan(models.Model):
    """The schedule of backups, once a user has set it: at most one row, with key 1. `next_at` is
    the time of the next scheduled backup, `every_hours` the interval (0: only on request), `keep`
    the number of files kept."""

    every_hours = models.PositiveIntegerField(_("frequency"), default=0)
    keep = models.PositiveIntegerField(_("files kept"), default=7)
    next_at = models.DateTimeField(_("next export"), null=True, blank=True)
    changed = models.DateTimeField(_("changed"), null=True, blank=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("schedule of backups")
        verbose_name_plural = _("schedules of backups")

    def __str__(self) -> str:
        return f"every {self.every_hours} h"


class Retention(models.Model):
    """For how many days one kind of history is kept (0: for ever), as set by an operator. Kinds
    without a row here use settings.KEEP_DAYS."""

    kind = models.CharField(_("kind"), max_length=40, unique=True)
    keep_days = models.PositiveIntegerField(_("days kept"))
    changed = models.DateTimeField(_("changed"))
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("retention")
        verbose_name_plural = _("retention")
        ordering = ("kind",)

    def __str__(self) -> str:
        return f"{self.kind}: {self.keep_days}"


class Deletion(models.Model):
    """An object (`kind` and `target`, its key) that is to be deleted at the time `due`; until then
    lists do not show it.

    Until then it can be undone: this row is deleted and the object stays. At `due` the dispatcher
    begins the deletion (`begun`).
    """

    kind = models.CharField(max_length=20)
    target = models.BigIntegerField()
    name = models.CharField(_("name"), max_length=200)
    asked = models.DateTimeField(_("requested"))
    due = models.DateTimeField(_("deleted permanently at"), db_index=True)
    begun = models.BooleanField(default=False)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("deletion")
        verbose_name_plural = _("deletions")
        ordering = ("due", "id")
        constraints = [models.UniqueConstraint(fields=["kind", "target"], name="deletion_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}: {self.name}"


class SettingsChange(models.Model):
    """One change of the settings of an object (`kind` and `target`, such as "topic" and its key),
    with all its settings before and after the change. A change that was undone stays in the table.
    """

    kind = models.CharField(max_length=60)
    target = models.BigIntegerField(default=0)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    at = models.DateTimeField(_("changed"))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    undone = models.DateTimeField(_("undone"), null=True, blank=True)

    class Meta:
        verbose_name = _("change of settings")
        verbose_name_plural = _("changes of settings")
        ordering = ("-id",)
        indexes = [models.Index(fields=["kind", "target", "-id"], name="settings_change_of")]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


class SettingsPreset(models.Model):
    """A named set of values for settings of one `kind` (such as "topic:dolphin"), which users can
    apply."""

    kind = models.CharField(max_length=60)
    name = models.CharField(_("name"), max_length=60)
    values = models.JSONField(default=dict)
    made = models.DateTimeField(_("created"))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("preset")
        verbose_name_plural = _("presets")
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="preset_once")]

    def __str__(self) -> str:
        return self.name
