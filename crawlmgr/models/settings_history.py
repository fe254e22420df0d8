"""Tables of the history of settings: every change with the values before and after it, and named
presets."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


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
