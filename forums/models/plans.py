"""Plans of visits: their scope, their policy, how each day was planned, and the visits; and
simulations of plans on stored event logs."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from forums.schedule.bounds import MAX_THETA, MIN_THETA, USUAL_THETA

ALL_SITES = "all"


class Policy(models.TextChoices):
    INTERVAL = "interval", _("fixed interval")
    ERA = "era", _("equal visits, equally spaced (ERA)")
    WRA = "wra", _("number of visits by posting volume (WRA)")
    LRA = "lra", _("times of visits by posting rhythm (LRA)")
    BRA = "bra", _("number of visits by volume, times by rhythm (BRA)")
    OPTIMAL = "optimal", _("optimal timetable")
    ADAPTIVE = "adaptive", _("adaptive")


class Basis(models.TextChoices):
    """The data on which a plan's rates are based."""

    HISTORY = "history", _("the boards' own history")
    MIXED = (
        "mixed",
        _("own history where there is some, otherwise the average rhythm of public forums"),
    )
    PRIOR = "prior", _("the average rhythm of public forums: no history yet")


class Plan(models.Model):
    """How the boards of one site, or of all sites without a plan of their own, are visited within
    `visits_per_day`.

    `stale` is the code of what has changed since the last planning ("" for nothing): the dispatcher
    then plans again in its next round. `ranked_at` is the time of the plan's last check by a
    dispatcher; the dispatcher that advances it first, by a conditional UPDATE, makes the next
    check.
    """

    scope = models.CharField(max_length=32, unique=True)
    site = models.OneToOneField(
        "forums.Site",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="plan",
        verbose_name=_("forum"),
    )
    policy = models.CharField(
        _("policy"), max_length=10, choices=Policy.choices, default=Policy.ADAPTIVE
    )
    visits_per_day = models.PositiveIntegerField(
        _("visits per day"), validators=[MinValueValidator(1), MaxValueValidator(10_000_000)]
    )
    theta = models.FloatField(
        _("weight of a reply"),
        default=USUAL_THETA,
        validators=[MinValueValidator(MIN_THETA), MaxValueValidator(MAX_THETA)],
    )
    history_days = models.FloatField(
        _("history (days)"), default=20.0, validators=[MinValueValidator(1), MaxValueValidator(400)]
    )
    half_life_days = models.FloatField(
        _("half-life (days)"), null=True, blank=True, validators=[MinValueValidator(0.5)]
    )
    bins = models.PositiveSmallIntegerField(
        _("parts of a day"), default=24, validators=[MinValueValidator(1), MaxValueValidator(96)]
    )
    active = models.BooleanField(_("active"), default=True)
    stale = models.CharField(max_length=20, blank=True, default="new")
    ranked_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(_("changed"))
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("visit plan")
        verbose_name_plural = _("visit plans")
        ordering = ("scope",)

    def __str__(self) -> str:
        return self.site.name if self.site is not None else str(_("All forums"))


class LoopState(models.Model):
    """The stored state of an adaptive plan between two rankings of its boards, as packed arrays,
    and the time up to which visits are included in it (`told_until`).

    `fixed` contains boards, rates and kernels and is written when the plan is made; `data` is
    written after each ranking that changed something; `outlook` contains the visits expected in the
    future and is written by both.
    """

    plan = models.OneToOneField(Plan, models.CASCADE, related_name="loop", primary_key=True)
    fixed = models.BinaryField(default=bytes)
    data = models.BinaryField()
    outlook = models.BinaryField(default=bytes)
    told_until = models.DateTimeField()
    saved_at = models.DateTimeField()


class PlanDay(models.Model):
    """One day of a plan: the data it was planned from and the expected delays. Planning the day
    again replaces its figures.

    Delays are sums over all boards in weighted event-hours per day, importance included; None if a
    board gets no visit. `expected_delay` assumes the plan's timetable (adaptive policy: the optimal
    one), `era_delay` equally frequent visits of all boards, both at the same event rates.
    """

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="days")
    day = models.DateField(_("day"))
    made_at = models.DateTimeField(_("planned"))
    times_made = models.PositiveSmallIntegerField(default=1)
    reason = models.CharField(max_length=20)
    policy = models.CharField(_("policy"), max_length=10, choices=Policy.choices)
    visits_per_day = models.PositiveIntegerField(_("visits per day"))
    theta = models.FloatField(_("weight of a reply"))
    basis = models.CharField(_("based on"), max_length=8, choices=Basis.choices)
    known_days = models.FloatField(_("days of history"), default=0.0)
    boards = models.PositiveIntegerField(_("boards"), default=0)
    boards_known = models.PositiveIntegerField(_("boards with history"), default=0)
    limited_sites = models.JSONField(default=list, blank=True)
    expected_delay = models.FloatField(_("expected delay"), null=True, blank=True)
    era_delay = models.FloatField(null=True, blank=True)

    class Meta:
        verbose_name = _("planned day")
        verbose_name_plural = _("planned days")
        ordering = ("-day",)
        constraints = [models.UniqueConstraint(fields=["plan", "day"], name="planday_once")]

    def __str__(self) -> str:
        return f"{self.plan} {self.day}"


class BoardDay(models.Model):
    """One board in a planned day: its expected new threads Ng and replies Nr per day, their
    weighted number W (Ng + theta Nr) of eq. (5) of the forum paper (`weight`), its visits, and the
    expected delay in weighted event-hours (None without visits).
    """

    planned_day = models.ForeignKey(PlanDay, models.CASCADE, related_name="board_days")
    board = models.ForeignKey("forums.Board", models.CASCADE, related_name="planned_days")
    weight = models.FloatField()
    new_per_day = models.FloatField(default=0.0)
    replies_per_day = models.FloatField(default=0.0)
    visits = models.FloatField()
    expected_delay = models.FloatField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["planned_day", "board"], name="boardday_once")
        ]


class PlannedVisit(models.Model):
    """A visit of a board at a time, past or future.

    A visit is planned until a run makes it (started; `visit` is the actual visit), or until a later
    one of its board is also due (missed). Planning again replaces planned visits, except `pinned`
    ones. A pinned visit with `daily` recurs every day at its local time. `code` and `figures` give
    the reason for its time.
    """

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")
        STARTED = "started", _("started")
        MISSED = "missed", _("missed")

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="visits")
    board = models.ForeignKey("forums.Board", models.CASCADE, related_name="planned_visits")
    at = models.DateTimeField(_("time"))
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.PLANNED)
    pinned = models.BooleanField(_("pinned"), default=False)
    daily = models.BooleanField(_("every day"), default=False)
    code = models.CharField(max_length=20, blank=True)
    figures = models.JSONField(default=dict, blank=True)
    expected_events = models.FloatField(null=True, blank=True)
    expected_delay = models.FloatField(null=True, blank=True)
    visit = models.OneToOneField(
        "forums.Visit", models.SET_NULL, null=True, blank=True, related_name="planned"
    )
    edited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("planned visit")
        verbose_name_plural = _("planned visits")
        ordering = ("at", "id")
        indexes = [
            models.Index(fields=["plan", "state", "at"], name="planned_due"),
            models.Index(fields=["board", "at"], name="planned_board"),
        ]

    def __str__(self) -> str:
        return f"{self.board} {self.at:%Y-%m-%d %H:%M}"


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
