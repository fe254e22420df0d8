"""Columns and filters of the list of WARC files."""

from __future__ import annotations

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import narrowing, tables, tags
from crawlmgr.admin.tables import Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.models import WarcFile


def _name(file: WarcFile) -> str:
    return format_html(
        '<a class="mono" href="{}" title="{}">{}</a>',
        address("admin:warc", file.pk),
        file.name,
        file.name,
    )


def _from(file: WarcFile) -> str:
    if file.run is not None:
        return format_html('<a href="{}">{}</a>', address("admin:run", file.run.pk), file.run)
    return (
        format_html('<span class="badge">{}</span>', _("imported"))
        if file.imported
        else tags.NOTHING
    )


def _closed(file: WarcFile) -> str:
    if file.closed:
        return tags.ago(file.closed)
    return format_html('<span class="badge on">{}</span>', _("being written"))


def _take(file: WarcFile) -> str:
    return format_html(
        '<a href="{}">{}</a>', reverse("admin:warc-download", args=[file.pk]), _("Download")
    )


def _states() -> list[tuple[str, str]]:
    return [
        ("", _("All files")),
        ("open", _("being written")),
        ("closed", _("closed")),
        ("imported", _("imported")),
        ("store", _("in the file store")),
    ]


def _in_state(rows: Rows, code: str) -> Rows:
    if code == "store":
        return rows.exclude(place="")
    return (
        rows.filter(imported=True)
        if code == "imported"
        else rows.filter(closed__isnull=code == "open")
    )


TABLE = Table(
    "archive",
    (
        Column(
            "file",
            gettext_lazy("File"),
            lambda file: file.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column(
            "size",
            gettext_lazy("Size"),
            lambda file: file.bytes,
            lambda file: tags.size(file.bytes),
            falling("bytes"),
            look="num",
        ),
        Column(
            "records",
            gettext_lazy("Records"),
            lambda file: file.records,
            lambda file: tags.number(file.records),
            falling("records"),
            look="num",
        ),
        Column("run", gettext_lazy("From"), lambda file: str(file.run or ""), _from, look="from"),
        Column(
            "created",
            gettext_lazy("Created"),
            lambda file: file.created,
            lambda file: tags.ago(file.created),
            tables.NEWEST,
            look="nowrap",
        ),
        Column(
            "closed",
            gettext_lazy("Closed"),
            lambda file: file.closed,
            _closed,
            falling("closed", nullable=True),
            look="nowrap",
        ),
        Column(
            "place",
            gettext_lazy("File store address"),
            lambda file: file.place,
            look="one",
            usual=False,
        ),
        Column(
            "take",
            gettext_lazy("Download"),
            lambda file: reverse("admin:warc-download", args=[file.pk]),
            _take,
            look="nowrap",
        ),
    ),
    "created",
    narrowing.words_in("name"),
    (Choice("show", gettext_lazy("State"), _states, _in_state),),
    span="created",
)
