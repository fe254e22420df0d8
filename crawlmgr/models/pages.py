"""Tables of fetched pages, and of the WARC files that contain them."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class WarcFile(models.Model):
    """One WARC file of the archive; only one process ever writes to it.

    `object_url` is "" for a file in the archive folder of the machine that wrote it, otherwise its
    address in an object store.
    """

    name = models.CharField(_("file"), max_length=200, unique=True)
    run = models.ForeignKey(
        "crawlmgr.Run", models.SET_NULL, null=True, blank=True, related_name="warc_files"
    )
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0)
    records = models.PositiveIntegerField(_("records"), default=0)
    created = models.DateTimeField(_("created"))
    closed = models.DateTimeField(_("closed"), null=True, blank=True)
    imported = models.BooleanField(_("imported"), default=False)
    object_url = models.CharField(
        _("place"), max_length=400, blank=True, default="", db_column="place"
    )

    class Meta:
        verbose_name = _("WARC file")
        verbose_name_plural = _("WARC files")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name


class Page(models.Model):
    """The stored response to the request for one address by one run. A later response for the same
    address and run replaces it: (run, key_hash) is unique."""

    run = models.ForeignKey(
        "crawlmgr.Run", models.CASCADE, related_name="pages", null=True, blank=True
    )
    host = models.ForeignKey("crawlmgr.Host", models.CASCADE, related_name="pages")
    key_hash = models.BigIntegerField()
    url = models.TextField(_("address"))
    url_hash = models.BigIntegerField()
    final_url = models.TextField(_("final address"), blank=True)
    status = models.PositiveSmallIntegerField(_("status"), default=0)
    failure = models.CharField(_("failure"), max_length=32, blank=True)
    content_type = models.CharField(_("type"), max_length=100, blank=True)
    encoding = models.CharField(_("encoding"), max_length=40, blank=True)
    title = models.CharField(_("title"), max_length=500, blank=True)
    etag = models.CharField(max_length=300, blank=True)
    last_modified = models.CharField(max_length=100, blank=True)
    digest = models.CharField(max_length=40, blank=True)
    received_bytes = models.PositiveBigIntegerField(_("bytes"), default=0)
    elapsed_seconds = models.FloatField(_("seconds"), default=0)
    truncated = models.CharField(_("truncated"), max_length=32, blank=True, db_column="cut")
    fetched_at = models.DateTimeField(_("fetched"), db_index=True)
    depth = models.PositiveIntegerField(_("depth"), default=0)
    relevance = models.FloatField(_("relevance"), null=True, blank=True)
    warc = models.ForeignKey(WarcFile, models.SET_NULL, null=True, blank=True, related_name="pages")
    warc_offset = models.PositiveBigIntegerField(null=True, blank=True)
    warc_length = models.PositiveBigIntegerField(null=True, blank=True)
    revisit = models.BooleanField(_("revisit"), default=False)

    class Meta:
        verbose_name = _("page")
        verbose_name_plural = _("pages")
        constraints = [models.UniqueConstraint(fields=["run", "key_hash"], name="page_once_a_run")]
        indexes = [
            models.Index(fields=["url_hash", "-fetched_at"], name="page_latest"),
            models.Index(fields=["host", "-fetched_at"], name="page_host"),
            models.Index(fields=["run", "id"], name="page_run"),
        ]

    def __str__(self) -> str:
        return self.url
