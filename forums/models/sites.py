"""Sites with their logins, boards, threads, posts, the visits that found them, and the parameters
that predict replies."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from forums.schedule.bounds import MAX_IMPORTANCE, MIN_IMPORTANCE

MIN_DEADLINE_HOURS, MAX_DEADLINE_HOURS = 0.1, 744.0


DEFAULT_INTERVAL_SECONDS = 6 * 3600


class Site(models.Model):
    """A forum. `settings` override the crawl settings.
    - structure (learned from pages), rules (corrections by the operator): the site model; version:
      its number.
    - layout: a detected layout change, {} for none: "at" (time), "run" (id), "kind" of page,
      "reasons" and missing "roles" (see `LayoutChange`), "state" of learning the site again
      ("learning", "agreed" or "disagrees"), "verdict" (reasons against the new model) and "version"
      (its number). "moved" is kept for ever once the site's addresses have changed: threads not
      seen since are then searched under the new ones.
    - evidence: for each claim of the model, in how many cases it held since it was learned: {claim:
      {"kept": held, "of": cases, "at": time of the last visit that tested it, "last": [held, cases]
      in that visit}}.
    - drop: {} unless far fewer posts come than usual; then {"items": posts of the last two days,
      "usual": their mean number on the same weekdays of the four weeks before}.
    """

    name = models.CharField(_("name"), max_length=200)
    url = models.TextField(_("address"))
    url_hash = models.BigIntegerField(unique=True)
    host = models.ForeignKey("crawlmgr.Host", models.PROTECT, related_name="sites")
    engine = models.CharField(_("software"), max_length=32, default="unknown")
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    structure = models.JSONField(default=dict, blank=True)
    rules = models.JSONField(default=dict, blank=True)
    version = models.PositiveIntegerField(default=0)
    layout = models.JSONField(default=dict, blank=True)
    evidence = models.JSONField(default=dict, blank=True)
    paused = models.BooleanField(_("scheduled visits paused"), default=False)
    importance = models.FloatField(
        _("importance"),
        default=1.0,
        validators=[MinValueValidator(MIN_IMPORTANCE), MaxValueValidator(MAX_IMPORTANCE)],
    )
    requests_per_day = models.PositiveIntegerField(
        _("maximum requests per day"), null=True, blank=True
    )
    silent_since = models.DateTimeField(_("silent since"), null=True, blank=True)
    drop = models.JSONField(default=dict, blank=True)
    added = models.DateTimeField(_("added"))
    threads = models.PositiveBigIntegerField(_("threads"), default=0)
    posts = models.PositiveBigIntegerField(_("posts"), default=0)

    class Meta:
        verbose_name = _("forum")
        verbose_name_plural = _("forums")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    @property
    def zone(self) -> ZoneInfo:
        """The site's time zone; UTC if its name is unknown on this machine."""
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            return ZoneInfo("UTC")


class Board(models.Model):
    """A board of a forum.

    `watermark` and the stop tests refer to the last *complete* visit. `unfinished` is the position
    of an interrupted visit ({"url", "page", "since"}), from which the next one continues after
    reading what is new at the top. Delays are measured for posts made after `watched_since`.
    Threads without a reply since `read_since` were too old to be fetched (null: unknown).
    `failures` visits in a row could not read the list; the adaptive policy then waits until
    `rests_until`. `next_visit`: time of the next visit; if `next_until` is set, it is only likely
    between the two. `deadline_hours`: longest time that a post should wait, null unless an operator
    sets it.
    """

    site = models.ForeignKey(Site, models.CASCADE, related_name="boards")
    parent = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="children",
        verbose_name=_("parent"),
    )
    name = models.CharField(_("name"), max_length=200)
    url = models.TextField(_("address"))
    key = models.CharField(max_length=200)
    position = models.PositiveIntegerField(default=0)
    enabled = models.BooleanField(_("visited by schedule"), default=True)
    importance = models.FloatField(
        _("importance"),
        default=1.0,
        validators=[MinValueValidator(MIN_IMPORTANCE), MaxValueValidator(MAX_IMPORTANCE)],
    )
    interval_seconds = models.PositiveIntegerField(
        _("interval (s)"),
        default=DEFAULT_INTERVAL_SECONDS,
        validators=[MinValueValidator(60), MaxValueValidator(31 * 86400)],
    )
    deadline_hours = models.FloatField(
        _("maximum waiting time of a post (h)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(MIN_DEADLINE_HOURS), MaxValueValidator(MAX_DEADLINE_HOURS)],
    )
    next_visit = models.DateTimeField(_("next visit"), null=True, blank=True)
    next_until = models.DateTimeField(null=True, blank=True)
    last_visit = models.DateTimeField(_("last visit"), null=True, blank=True)
    watermark = models.DateTimeField(null=True, blank=True)
    complete_at = models.DateTimeField(_("last complete visit"), null=True, blank=True)
    watched_since = models.DateTimeField(_("first complete visit"), null=True, blank=True)
    read_since = models.DateTimeField(null=True, blank=True)
    unfinished = models.JSONField(default=dict, blank=True)
    sort = models.CharField(max_length=12, blank=True)
    has_last_reply = models.BooleanField(_("shows last replies"), null=True, blank=True)
    failures = models.PositiveIntegerField(default=0)
    rests_until = models.DateTimeField(null=True, blank=True, db_index=True)
    threads = models.PositiveIntegerField(_("threads"), default=0)
    posts = models.PositiveIntegerField(_("posts"), default=0)

    class Meta:
        verbose_name = _("board")
        verbose_name_plural = _("boards")
        ordering = ("site", "position", "id")
        constraints = [models.UniqueConstraint(fields=["site", "key"], name="board_once")]
        indexes = [
            models.Index(fields=["enabled", "next_visit"], name="board_due"),
            *(
                models.Index(fields=[name, "id"], name=f"board_by_{name.removesuffix('_seconds')}")
                for name in (
                    "name",
                    "threads",
                    "posts",
                    "interval_seconds",
                    "next_visit",
                    "last_visit",
                )
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Thread(models.Model):
    """A thread, identified by the site's own id if shown, so that a moved thread is not stored
    twice.

    `signature` is the change signature of its row when last seen in a list. `pending` is set in the
    transaction that detects a change and cleared in the one that stores the thread's last page, so
    that no detected change is lost. `misses`: fetches in a row in which pages were missing; after a
    number of them the thread is given up. `missing`: these pages, {number: [address, reason]}.
    """

    site = models.ForeignKey(Site, models.CASCADE, related_name="all_threads")
    board = models.ForeignKey(Board, models.CASCADE, related_name="all_threads")
    key = models.CharField(max_length=200)
    url = models.TextField(_("address"))
    title = models.CharField(_("title"), max_length=500)
    author = models.CharField(_("author"), max_length=200, blank=True)
    created = models.DateTimeField(_("created"), null=True, blank=True)
    last_reply = models.DateTimeField(_("last reply"), null=True, blank=True)
    replies = models.PositiveIntegerField(_("replies"), null=True, blank=True)
    pinned = models.BooleanField(_("pinned"), default=False)
    posts = models.PositiveIntegerField(_("posts stored"), default=0)
    signature = models.JSONField(default=dict, blank=True)
    pending = models.BooleanField(default=False)
    misses = models.PositiveSmallIntegerField(default=0)
    missing = models.JSONField(default=dict, blank=True)
    last_page_url = models.TextField(blank=True)
    previous_page_url = models.TextField(blank=True)
    last_page = models.PositiveIntegerField(default=0)
    fetched_at = models.DateTimeField(_("fetched"), null=True, blank=True)
    first_seen = models.DateTimeField(_("first seen"))
    gone_at = models.DateTimeField(_("deleted on the site since"), null=True, blank=True)

    class Meta:
        verbose_name = _("thread")
        verbose_name_plural = _("threads")
        constraints = [models.UniqueConstraint(fields=["site", "key"], name="thread_once")]
        indexes = [
            models.Index(fields=["board", "-last_reply", "-id"], name="thread_board_recent"),
            models.Index(fields=["site", "-last_reply", "-id"], name="thread_site_recent"),
            models.Index(fields=["board"], name="thread_pending", condition=models.Q(pending=True)),
            models.Index(
                fields=["board"], name="thread_vanished", condition=models.Q(gone_at__isnull=False)
            ),
            models.Index(fields=["last_reply", "id"], name="thread_recent"),
            *(
                models.Index(fields=["board", name, "id"], name=f"thread_board_{name}")
                for name in ("replies", "posts", "created")
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Alias(models.Model):
    """Another key of a stored thread: of an address that turned out to lead to it, such as the row
    that a forum leaves behind when it moves a thread. `signature` is that of the row when its
    address was resolved; a changed row is resolved again."""

    site = models.ForeignKey(Site, models.CASCADE, related_name="aliases")
    key = models.CharField(max_length=200)
    thread = models.ForeignKey(Thread, models.CASCADE, related_name="aliases")
    signature = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["site", "key"], name="alias_once")]


class Post(models.Model):
    """A post; (thread, key) is unique. key: the site's own post id, or a digest of author, time and
    text if there is none."""

    thread = models.ForeignKey(Thread, models.CASCADE, related_name="all_posts")
    key = models.CharField(max_length=80)
    post_id = models.CharField(_("post id"), max_length=80, blank=True)
    page = models.PositiveIntegerField(default=1)
    position = models.PositiveIntegerField(default=0)
    author = models.CharField(_("author"), max_length=200, blank=True)
    posted = models.DateTimeField(_("posted"), null=True, blank=True)
    precision_seconds = models.PositiveIntegerField(default=0)
    text = models.TextField(_("text"), blank=True)
    url = models.TextField(blank=True)
    first_seen = models.DateTimeField(_("first seen"))
    edited_at = models.DateTimeField(_("edited"), null=True, blank=True)
    gone_at = models.DateTimeField(_("deleted on the site since"), null=True, blank=True)

    class Meta:
        verbose_name = _("post")
        verbose_name_plural = _("posts")
        constraints = [models.UniqueConstraint(fields=["thread", "key"], name="post_once")]
        indexes = [
            models.Index(fields=["thread", "page", "position"], name="post_order"),
            models.Index(fields=["posted"], name="post_posted"),
        ]

    def __str__(self) -> str:
        return self.key


class BoardHour(models.Model):
    """Number of threads and replies of a board that were posted in one hour; charts and schedules
    read these sums."""

    board = models.ForeignKey(Board, models.CASCADE, related_name="hours")
    hour = models.DateTimeField()
    threads = models.PositiveIntegerField(default=0)
    replies = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["board", "hour"], name="boardhour_once")]
        indexes = [models.Index(fields=["hour"], name="boardhour_hour")]


class Visit(models.Model):
    """One visit of one board: of its list, or `targeted` at threads named by an overview source,
    which does not affect the board's watermark and stop tests. `state` is the `VisitState` of
    `forums/visits/incremental.py` between two pages; `precision` = changed / fetched threads.

    The following fields cover the posts found by this visit that were made after
    `Board.watched_since`. `arrived_new` and `arrived_replies` are the numbers of first posts and
    replies, `delay_new_seconds` and `delay_replies_seconds` the sums of their delays. `arrivals`
    has an item [epoch seconds of posting, 1 for a first post or 0, delay in seconds] for each post,
    up to a maximum.
    """

    class Kind(models.TextChoices):
        LIST = "list", _("of the board's list")
        TARGETED = "targeted", _("targeted at changed threads")

    # condition of visits that read something
    READ = models.Q(list_pages__gt=0) | models.Q(kind="targeted", fetched__gt=0)

    board = models.ForeignKey(Board, models.CASCADE, related_name="visits")
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices, default=Kind.LIST)
    run = models.ForeignKey("crawlmgr.Run", models.CASCADE, related_name="visits")
    started = models.DateTimeField(_("started"), null=True, blank=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)
    complete = models.BooleanField(_("complete"), default=False)
    stopped_by = models.CharField(_("end reason"), max_length=60, blank=True)
    detail = models.CharField(max_length=300, blank=True)
    list_pages = models.PositiveIntegerField(_("list pages"), default=0)
    requests = models.PositiveIntegerField(_("requests"), default=0)
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0)
    new = models.PositiveIntegerField(_("new"), default=0)
    updated = models.PositiveIntegerField(_("updated"), default=0)
    unchanged = models.PositiveIntegerField(_("unchanged"), default=0)
    fetched = models.PositiveIntegerField(_("threads fetched"), default=0)
    changed = models.PositiveIntegerField(_("threads that had changed"), default=0)
    posts_new = models.PositiveIntegerField(_("new posts"), default=0)
    failed = models.PositiveIntegerField(_("failed"), default=0)
    rows_new = models.PositiveIntegerField(_("rows seen"), default=0)
    arrived_new = models.PositiveIntegerField(_("threads that arrived"), default=0)
    arrived_replies = models.PositiveIntegerField(_("replies that arrived"), default=0)
    delay_new_seconds = models.FloatField(default=0.0)
    delay_replies_seconds = models.FloatField(default=0.0)
    arrivals = models.JSONField(default=list, blank=True)
    state = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name = _("visit")
        verbose_name_plural = _("visits")
        ordering = ("-id",)
        constraints = [models.UniqueConstraint(fields=["run", "board"], name="visit_once_a_run")]
        indexes = [
            models.Index(fields=["board", "-started"], name="visit_board"),
            models.Index(fields=["finished"], name="visit_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.board} {self.started:%Y-%m-%d %H:%M}" if self.started else str(self.board)

    @property
    def precision(self) -> float | None:
        """Share of the fetched threads that had changed, None if none was fetched."""
        return self.changed / self.fetched if self.fetched else None


class LoginMethod(models.TextChoices):
    COOKIE = "cookie", _("a cookie")
    FORM = "form", _("a login form")


class LoginState(models.TextChoices):
    UNTRIED = "untried", _("not tried yet")
    VALID = "valid", _("logged in")
    EXPIRED = "expired", _("expired")
    FAILED = "failed", _("failed")


class SiteLogin(models.Model):
    """A site's login. `secret` (user and password) and `session` (cookies given by the operator or
    set by the site) are encrypted texts; neither is ever shown, archived or put into a run's
    parameters. `reason` is the code of why the last login failed, "" if none did."""

    site = models.OneToOneField("forums.Site", models.CASCADE, related_name="login")
    method = models.CharField(_("method"), max_length=6, choices=LoginMethod.choices)
    address = models.TextField(_("address of the login form"), blank=True)
    secret = models.TextField(blank=True)
    session = models.TextField(blank=True)
    state = models.CharField(
        _("state"), max_length=8, choices=LoginState.choices, default=LoginState.UNTRIED
    )
    reason = models.CharField(_("reason"), max_length=60, blank=True)
    checked_at = models.DateTimeField(_("checked"), null=True, blank=True)
    changed_at = models.DateTimeField(_("changed"))

    class Meta:
        verbose_name = _("login of a forum")
        verbose_name_plural = _("logins of forums")

    def __str__(self) -> str:
        return f"{self.site} ({self.method})"


class ReplyModel(models.Model):
    """A site's hazard model of next replies, fitted on its own threads; `weights` is empty while
    there are too few replies.

    `activity` holds the number of the site's posts in each local hour of the day; operational hours
    are derived from it.
    """

    site = models.OneToOneField(
        "forums.Site", models.CASCADE, related_name="reply_model", primary_key=True
    )
    trained_at = models.DateTimeField()
    trained_on = models.PositiveIntegerField(default=0)
    weights = models.JSONField(default=list, blank=True)
    middle = models.JSONField(default=list, blank=True)
    scale = models.JSONField(default=list, blank=True)
    activity = models.JSONField(default=list)
