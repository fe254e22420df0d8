"""Tables of saved exports: what they write, when, and the files written."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from crawlmgr.models.runs import Run


class Every(models.IntegerChoices):
    """Intervals in hours at which an export can be written."""

    NEVER = 0, _("only on request")
    HOUR = 1, _("every hour")
    SIX_HOURS = 6, _("every six hours")
    DAY = 24, _("every day")
    WEEK = 168, _("every week")


class Export(models.Model):
    """Definition of an export: a table, filtered by site, run or time, its columns (an empty list
    for all) and its format.

    `days` limits it to rows of that many days before the file is written, `since` to rows after a
    fixed time. `next_at` is when the next file is written by schedule, `keep` the number of files
    kept. `digest` is the SHA-256 of the secret in its download address, "" if it has no such
    address.
    """

    name = models.CharField(_("name"), max_length=100)
    table = models.CharField(_("table"), max_length=40)
    format = models.CharField(_("format"), max_length=10)
    site = models.BigIntegerField(null=True, blank=True)
    run = models.BigIntegerField(null=True, blank=True)
    since = models.DateTimeField(null=True, blank=True)
    days = models.PositiveIntegerField(null=True, blank=True)
    columns = models.JSONField(default=list, blank=True)
    bom = models.BooleanField(default=False)
    every_hours = models.PositiveIntegerField(
        _("frequency"), choices=Every.choices, default=Every.NEVER
    )
    next_at = models.DateTimeField(_("next export"), null=True, blank=True, db_index=True)
    keep = models.PositiveIntegerField(_("files kept"), default=5)
    digest = models.CharField(max_length=64, blank=True, db_index=True)
    fetched = models.DateTimeField(_("last fetched"), null=True, blank=True)
    created = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("export")
        verbose_name_plural = _("exports")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class ExportFile(models.Model):
    """A complete file of an export in the folder for exports; a manifest (JSON with filter, time,
    number of rows and SHA-256) lies beside it. `by` is the run that wrote it."""

    export = models.ForeignKey(Export, models.CASCADE, related_name="files")
    by = models.ForeignKey(Run, models.SET_NULL, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=120)
    written = models.DateTimeField(_("written"))
    rows = models.PositiveBigIntegerField(_("rows"))
    bytes = models.PositiveBigIntegerField(_("bytes"))
    sha256 = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("exported file")
        verbose_name_plural = _("exported files")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
