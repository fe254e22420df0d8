"""What is known about a site's structure: versions of its model, doubts about its reading, and its
overview sources with their readings."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from forums.schedule.bounds import FIRST_DOUBT


class Origin(models.TextChoices):
    LEARNED = "learned", _("learned when the forum was added")
    RELEARNED = "relearned", _("learned again after the layout changed")
    EDITED = "edited", _("edited by hand")
    CORRECTED = "corrected", _("a correction")
    RESTORED = "restored", _("an earlier version restored")


class StructureVersion(models.Model):
    """One complete version of a site's model: the learned structure and the operator's rules, so
    that any version can be restored.

    A newly learned version that disagrees with stored data is kept with `proposed` set, for the
    operator to decide. `changes` are lists of texts [what, before, after].
    """

    site = models.ForeignKey("forums.Site", models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(_("version"))
    at = models.DateTimeField(_("time"))
    origin = models.CharField(_("origin"), max_length=12, choices=Origin.choices)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    run = models.ForeignKey(
        "crawlmgr.Run", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    proposed = models.BooleanField(default=False)
    changes = models.JSONField(default=list, blank=True)
    structure = models.JSONField(default=dict)
    rules = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name = _("version of a site model")
        verbose_name_plural = _("versions of site models")
        ordering = ("site", "-number")
        constraints = [models.UniqueConstraint(fields=["site", "number"], name="structure_once")]

    def __str__(self) -> str:
        return f"{self.site_id} #{self.number}"


class Doubt(models.Model):
    """One doubt about how one forum is read, unique by code and subject. `detail` holds the
    figures. `settled_at`: when an operator dismissed the doubt; it stays dismissed as long as the
    detail stays the same. Codes:

    - `lesson`: the forum's pages contradict a claim of the model, named by the subject.
    - `board_unread`: a board was found but not read; the subject is its address.
    - `rows_left_out`, `posts_left_out`: the last visit of a board (its id is the subject) may have
      missed rows or posts on pages.
    - `counts_differ`: at that visit, most threads had another number of posts than the list said.
    """

    site = models.ForeignKey("forums.Site", models.CASCADE, related_name="doubts")
    board = models.ForeignKey(
        "forums.Board", models.CASCADE, null=True, blank=True, related_name="doubts"
    )
    code = models.CharField(_("reason"), max_length=20)
    subject = models.CharField(max_length=300)
    detail = models.JSONField(default=dict, blank=True)
    since = models.DateTimeField(_("since"))
    seen = models.DateTimeField(_("last noticed"))
    times = models.PositiveIntegerField(_("times noticed"), default=1)
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("doubt")
        verbose_name_plural = _("doubts")
        ordering = ("site", "-seen", "id")
        constraints = [
            models.UniqueConstraint(fields=["site", "code", "subject"], name="doubt_once")
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}"


class SourceKind(models.TextChoices):
    """The kind of an overview source: a page with an index of boards; a site-wide list of threads,
    newest first; a feed; a JSON list of the forum software; or a sitemap that gives times of
    change."""

    INDEX = "index", _("index page")
    NEWEST = "newest", _("list of newest threads")
    FEED = "feed", _("feed")
    API = "api", _("JSON list")
    SITEMAP = "sitemap", _("sitemap")


class OverviewSource(models.Model):
    """A page that covers many boards of a site: it shows figures of the boards or, with
    `names_threads`, the threads changed most recently.

    `boards`: the ids of the boards that it has shown. `shown`: the figures shown last, {board id:
    [threads, posts, epoch seconds of the last post]}, null where one is not shown. A source is
    `enabled` once a reading succeeded. `cost`: what a reading is charged, in visits. Learned from
    visits: `lag_seconds` by which the figures are late, `doubt` (share in [0, 1], see
    `Overview.doubts`) and `believed` (number of boards whose figures are trusted). After `failures`
    failed readings in a row it is not read before `rests_until`.
    """

    site = models.ForeignKey("forums.Site", models.CASCADE, related_name="sources")
    kind = models.CharField(_("kind"), max_length=8, choices=SourceKind.choices)
    names_threads = models.BooleanField(default=False)
    url = models.TextField(_("address"))
    url_hash = models.BigIntegerField()
    enabled = models.BooleanField(_("read"), default=True)
    found = models.DateTimeField(_("found"))
    boards = models.JSONField(default=list, blank=True)
    shown = models.JSONField(default=dict, blank=True)
    read_at = models.DateTimeField(_("read"), null=True, blank=True)
    cost = models.PositiveSmallIntegerField(
        _("cost (visits)"), default=1, validators=[MinValueValidator(1)]
    )
    lag_seconds = models.FloatField(default=0.0)
    doubt = models.FloatField(default=FIRST_DOUBT)
    believed = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    rests_until = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        verbose_name = _("overview source")
        verbose_name_plural = _("overview sources")
        ordering = ("site", "id")
        constraints = [models.UniqueConstraint(fields=["site", "url_hash"], name="source_once")]

    def __str__(self) -> str:
        return self.url


class Look(models.Model):
    """One reading of an overview source. It is requested by the adaptive policy (or to test whether
    an address can serve as a source), then becomes done (the page was read and, for a newest list,
    its changed threads were requested) or failed, with a reason.

    `shown`: the figures, in the form of `OverviewSource.shown`. `threads`: the number of changed
    threads that a newest list named.
    """

    CUT = (  # reason of a completed reading whose list does not reach back to the previous reading
        "cut"
    )
    STOPPED = "stopped"  # reason of a failed reading: its run ended before the page was read

    class State(models.TextChoices):
        ASKED = "asked", _("requested")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    source = models.ForeignKey(OverviewSource, models.CASCADE, related_name="looks")
    run = models.ForeignKey(
        "crawlmgr.Run", models.SET_NULL, null=True, blank=True, related_name="looks"
    )
    at = models.DateTimeField(_("time"))
    read_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(_("state"), max_length=6, choices=State.choices, default=State.ASKED)
    reason = models.CharField(_("reason"), max_length=60, blank=True)
    cost = models.PositiveSmallIntegerField(default=1)
    shown = models.JSONField(default=dict, blank=True)
    threads = models.PositiveIntegerField(_("threads"), default=0)
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0)

    class Meta:
        verbose_name = _("overview fetch")
        verbose_name_plural = _("overview fetches")
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["source", "-at"], name="look_source"),
            models.Index(fields=["read_at"], name="look_read"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.at:%Y-%m-%d %H:%M}"
