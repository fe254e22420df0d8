"""The tables of forums. A database of version 0.1.0
has them already: for it, this is only recorded."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("forums", "0018_rests_after_failures")]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("crawlmgr", "0100_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Site",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("url", models.TextField(verbose_name="address")),
                ("url_hash", models.BigIntegerField(unique=True)),
                (
                    "engine",
                    models.CharField(default="unknown", max_length=32, verbose_name="software"),
                ),
                (
                    "timezone",
                    models.CharField(default="UTC", max_length=64, verbose_name="time zone"),
                ),
                ("settings", models.JSONField(blank=True, default=dict, verbose_name="settings")),
                ("structure", models.JSONField(blank=True, default=dict)),
                (
                    "paused",
                    models.BooleanField(default=False, verbose_name="scheduled visits paused"),
                ),
                ("added", models.DateTimeField(verbose_name="added")),
                ("threads", models.PositiveBigIntegerField(default=0, verbose_name="threads")),
                ("posts", models.PositiveBigIntegerField(default=0, verbose_name="posts")),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sites",
                        to="crawlmgr.host",
                    ),
                ),
                (
                    "importance",
                    models.FloatField(
                        default=1.0,
                        validators=[
                            django.core.validators.MinValueValidator(0.01),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                        verbose_name="importance",
                    ),
                ),
                (
                    "requests_per_day",
                    models.PositiveIntegerField(
                        blank=True, null=True, verbose_name="maximum requests per day"
                    ),
                ),
                ("layout", models.JSONField(blank=True, default=dict)),
                ("rules", models.JSONField(blank=True, default=dict)),
                ("version", models.PositiveIntegerField(default=0)),
                (
                    "silent_since",
                    models.DateTimeField(blank=True, null=True, verbose_name="silent since"),
                ),
                ("evidence", models.JSONField(blank=True, default=dict)),
                ("drop", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "verbose_name": "forum",
                "verbose_name_plural": "forums",
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Board",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("url", models.TextField(verbose_name="address")),
                ("key", models.CharField(max_length=200)),
                ("position", models.PositiveIntegerField(default=0)),
                ("enabled", models.BooleanField(default=True, verbose_name="visited by schedule")),
                (
                    "interval_seconds",
                    models.PositiveIntegerField(
                        default=21600,
                        validators=[
                            django.core.validators.MinValueValidator(60),
                            django.core.validators.MaxValueValidator(2678400),
                        ],
                        verbose_name="interval (s)",
                    ),
                ),
                (
                    "next_visit",
                    models.DateTimeField(blank=True, null=True, verbose_name="next visit"),
                ),
                (
                    "last_visit",
                    models.DateTimeField(blank=True, null=True, verbose_name="last visit"),
                ),
                ("watermark", models.DateTimeField(blank=True, null=True)),
                (
                    "complete_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="last complete visit"),
                ),
                ("unfinished", models.JSONField(blank=True, default=dict)),
                ("sort", models.CharField(blank=True, max_length=12)),
                (
                    "has_last_reply",
                    models.BooleanField(blank=True, null=True, verbose_name="shows last replies"),
                ),
                ("threads", models.PositiveIntegerField(default=0, verbose_name="threads")),
                ("posts", models.PositiveIntegerField(default=0, verbose_name="posts")),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="forums.board",
                        verbose_name="parent",
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="boards",
                        to="forums.site",
                    ),
                ),
                (
                    "importance",
                    models.FloatField(
                        default=1.0,
                        validators=[
                            django.core.validators.MinValueValidator(0.01),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                        verbose_name="importance",
                    ),
                ),
                (
                    "watched_since",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="first complete visit"
                    ),
                ),
                (
                    "deadline_hours",
                    models.FloatField(
                        blank=True,
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.1),
                            django.core.validators.MaxValueValidator(744),
                        ],
                        verbose_name="maximum waiting time of a post (h)",
                    ),
                ),
                ("next_until", models.DateTimeField(blank=True, null=True)),
                ("read_since", models.DateTimeField(blank=True, null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("rests_until", models.DateTimeField(blank=True, db_index=True, null=True)),
            ],
            options={
                "verbose_name": "board",
                "verbose_name_plural": "boards",
                "ordering": ("site", "position", "id"),
                "indexes": [
                    models.Index(fields=["enabled", "next_visit"], name="board_due"),
                    models.Index(fields=["name", "id"], name="board_by_name"),
                    models.Index(fields=["threads", "id"], name="board_by_threads"),
                    models.Index(fields=["posts", "id"], name="board_by_posts"),
                    models.Index(fields=["interval_seconds", "id"], name="board_by_interval"),
                    models.Index(fields=["next_visit", "id"], name="board_by_next_visit"),
                    models.Index(fields=["last_visit", "id"], name="board_by_last_visit"),
                ],
                "constraints": [models.UniqueConstraint(fields=("site", "key"), name="board_once")],
            },
        ),
        migrations.CreateModel(
            name="Thread",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                ("url", models.TextField(verbose_name="address")),
                ("title", models.CharField(max_length=500, verbose_name="title")),
                ("author", models.CharField(blank=True, max_length=200, verbose_name="author")),
                ("created", models.DateTimeField(blank=True, null=True, verbose_name="created")),
                (
                    "last_reply",
                    models.DateTimeField(blank=True, null=True, verbose_name="last reply"),
                ),
                (
                    "replies",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="replies"),
                ),
                ("pinned", models.BooleanField(default=False, verbose_name="pinned")),
                ("posts", models.PositiveIntegerField(default=0, verbose_name="posts stored")),
                ("signature", models.JSONField(blank=True, default=dict)),
                ("pending", models.BooleanField(default=False)),
                ("misses", models.PositiveSmallIntegerField(default=0)),
                ("last_page_url", models.TextField(blank=True)),
                ("previous_page_url", models.TextField(blank=True)),
                ("last_page", models.PositiveIntegerField(default=0)),
                ("fetched_at", models.DateTimeField(blank=True, null=True, verbose_name="fetched")),
                ("first_seen", models.DateTimeField(verbose_name="first seen")),
                (
                    "gone_at",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="deleted on the site since"
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="all_threads",
                        to="forums.board",
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="all_threads",
                        to="forums.site",
                    ),
                ),
            ],
            options={
                "verbose_name": "thread",
                "verbose_name_plural": "threads",
                "indexes": [
                    models.Index(
                        fields=["board", "-last_reply", "-id"], name="thread_board_recent"
                    ),
                    models.Index(fields=["site", "-last_reply", "-id"], name="thread_site_recent"),
                    models.Index(
                        condition=models.Q(("pending", True)),
                        fields=["board"],
                        name="thread_pending",
                    ),
                    models.Index(fields=["last_reply", "id"], name="thread_recent"),
                    models.Index(fields=["board", "replies", "id"], name="thread_board_replies"),
                    models.Index(fields=["board", "posts", "id"], name="thread_board_posts"),
                    models.Index(fields=["board", "created", "id"], name="thread_board_created"),
                    models.Index(
                        condition=models.Q(("gone_at__isnull", False)),
                        fields=["board"],
                        name="thread_vanished",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("site", "key"), name="thread_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Post",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=80)),
                ("post_id", models.CharField(blank=True, max_length=80, verbose_name="post id")),
                ("page", models.PositiveIntegerField(default=1)),
                ("position", models.PositiveIntegerField(default=0)),
                ("author", models.CharField(blank=True, max_length=200, verbose_name="author")),
                ("posted", models.DateTimeField(blank=True, null=True, verbose_name="posted")),
                ("precision_seconds", models.PositiveIntegerField(default=0)),
                ("text", models.TextField(blank=True, verbose_name="text")),
                ("url", models.TextField(blank=True)),
                ("first_seen", models.DateTimeField(verbose_name="first seen")),
                ("edited_at", models.DateTimeField(blank=True, null=True, verbose_name="edited")),
                (
                    "gone_at",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="deleted on the site since"
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="all_posts",
                        to="forums.thread",
                    ),
                ),
            ],
            options={
                "verbose_name": "post",
                "verbose_name_plural": "posts",
                "indexes": [
                    models.Index(fields=["thread", "page", "position"], name="post_order"),
                    models.Index(fields=["posted"], name="post_posted"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("thread", "key"), name="post_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Visit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("started", models.DateTimeField(blank=True, null=True, verbose_name="started")),
                ("finished", models.DateTimeField(blank=True, null=True, verbose_name="finished")),
                ("complete", models.BooleanField(default=False, verbose_name="complete")),
                (
                    "stopped_by",
                    models.CharField(blank=True, max_length=60, verbose_name="end reason"),
                ),
                ("detail", models.CharField(blank=True, max_length=300)),
                ("list_pages", models.PositiveIntegerField(default=0, verbose_name="list pages")),
                ("requests", models.PositiveIntegerField(default=0, verbose_name="requests")),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                ("new", models.PositiveIntegerField(default=0, verbose_name="new")),
                ("updated", models.PositiveIntegerField(default=0, verbose_name="updated")),
                ("unchanged", models.PositiveIntegerField(default=0, verbose_name="unchanged")),
                ("fetched", models.PositiveIntegerField(default=0, verbose_name="threads fetched")),
                (
                    "changed",
                    models.PositiveIntegerField(default=0, verbose_name="threads that had changed"),
                ),
                ("posts_new", models.PositiveIntegerField(default=0, verbose_name="new posts")),
                ("failed", models.PositiveIntegerField(default=0, verbose_name="failed")),
                ("rows_new", models.PositiveIntegerField(default=0, verbose_name="rows seen")),
                ("state", models.JSONField(blank=True, default=dict)),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="visits",
                        to="forums.board",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="visits",
                        to="crawlmgr.run",
                    ),
                ),
                ("arrivals", models.JSONField(blank=True, default=list)),
                (
                    "arrived_new",
                    models.PositiveIntegerField(default=0, verbose_name="threads that arrived"),
                ),
                (
                    "arrived_replies",
                    models.PositiveIntegerField(default=0, verbose_name="replies that arrived"),
                ),
                ("delay_new_seconds", models.FloatField(default=0.0)),
                ("delay_replies_seconds", models.FloatField(default=0.0)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("list", "of the board's list"),
                            ("targeted", "targeted at changed threads"),
                        ],
                        default="list",
                        max_length=8,
                        verbose_name="kind",
                    ),
                ),
            ],
            options={
                "verbose_name": "visit",
                "verbose_name_plural": "visits",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["board", "-started"], name="visit_board"),
                    models.Index(fields=["finished"], name="visit_finished"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "board"), name="visit_once_a_run")
                ],
            },
        ),
        migrations.CreateModel(
            name="BoardHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hour", models.DateTimeField()),
                ("threads", models.PositiveIntegerField(default=0)),
                ("replies", models.PositiveIntegerField(default=0)),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hours",
                        to="forums.board",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["hour"], name="boardhour_hour")],
                "constraints": [
                    models.UniqueConstraint(fields=("board", "hour"), name="boardhour_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="EventLog",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("file", models.CharField(max_length=120, unique=True)),
                (
                    "timezone",
                    models.CharField(default="UTC", max_length=64, verbose_name="time zone"),
                ),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="size")),
                ("boards", models.PositiveIntegerField(default=0, verbose_name="boards")),
                ("events", models.PositiveBigIntegerField(default=0, verbose_name="events")),
                ("first", models.DateTimeField(blank=True, null=True, verbose_name="first event")),
                ("last", models.DateTimeField(blank=True, null=True, verbose_name="last event")),
                ("bad_rows", models.PositiveIntegerField(default=0, verbose_name="rows skipped")),
                ("bad_first", models.JSONField(blank=True, default=list)),
                ("added", models.DateTimeField(verbose_name="added")),
                (
                    "added_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="logs",
                        to="forums.site",
                        verbose_name="forum",
                    ),
                ),
            ],
            options={
                "verbose_name": "event file",
                "verbose_name_plural": "event files",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Simulation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("schedules", "schedules"), ("fetching", "finding changes")],
                        max_length=12,
                        verbose_name="kind",
                    ),
                ),
                ("setup", models.JSONField(default=dict, verbose_name="settings")),
                ("done", models.PositiveIntegerField(default=0, verbose_name="steps done")),
                ("total", models.PositiveIntegerField(default=0, verbose_name="steps")),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("result", models.JSONField(blank=True, default=dict)),
                ("created", models.DateTimeField(verbose_name="created")),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "log",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="simulations",
                        to="forums.eventlog",
                        verbose_name="event file",
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="simulation",
                        to="crawlmgr.run",
                    ),
                ),
            ],
            options={
                "verbose_name": "simulation",
                "verbose_name_plural": "simulations",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Plan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scope", models.CharField(max_length=32, unique=True)),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("interval", "fixed interval"),
                            ("era", "equal visits, equally spaced (ERA)"),
                            ("wra", "number of visits by posting volume (WRA)"),
                            ("lra", "times of visits by posting rhythm (LRA)"),
                            ("bra", "number of visits by volume, times by rhythm (BRA)"),
                            ("optimal", "optimal timetable"),
                            ("adaptive", "adaptive"),
                        ],
                        default="adaptive",
                        max_length=10,
                        verbose_name="policy",
                    ),
                ),
                (
                    "visits_per_day",
                    models.PositiveIntegerField(
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10000000),
                        ],
                        verbose_name="visits per day",
                    ),
                ),
                (
                    "theta",
                    models.FloatField(
                        default=0.5,
                        validators=[
                            django.core.validators.MinValueValidator(0.01),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="weight of a reply",
                    ),
                ),
                (
                    "history_days",
                    models.FloatField(
                        default=20.0,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(400),
                        ],
                        verbose_name="history (days)",
                    ),
                ),
                (
                    "half_life_days",
                    models.FloatField(
                        blank=True,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0.5)],
                        verbose_name="half-life (days)",
                    ),
                ),
                (
                    "bins",
                    models.PositiveSmallIntegerField(
                        default=24,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(96),
                        ],
                        verbose_name="parts of a day",
                    ),
                ),
                ("active", models.BooleanField(default=True, verbose_name="active")),
                ("stale", models.CharField(blank=True, default="new", max_length=20)),
                ("ranked_at", models.DateTimeField(blank=True, null=True)),
                ("changed_at", models.DateTimeField(verbose_name="changed")),
                (
                    "changed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "site",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="plan",
                        to="forums.site",
                        verbose_name="forum",
                    ),
                ),
            ],
            options={
                "verbose_name": "visit plan",
                "verbose_name_plural": "visit plans",
                "ordering": ("scope",),
            },
        ),
        migrations.CreateModel(
            name="PlanDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField(verbose_name="day")),
                ("made_at", models.DateTimeField(verbose_name="planned")),
                ("times_made", models.PositiveSmallIntegerField(default=1)),
                ("reason", models.CharField(max_length=20)),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("interval", "fixed interval"),
                            ("era", "equal visits, equally spaced (ERA)"),
                            ("wra", "number of visits by posting volume (WRA)"),
                            ("lra", "times of visits by posting rhythm (LRA)"),
                            ("bra", "number of visits by volume, times by rhythm (BRA)"),
                            ("optimal", "optimal timetable"),
                            ("adaptive", "adaptive"),
                        ],
                        max_length=10,
                        verbose_name="policy",
                    ),
                ),
                ("visits_per_day", models.PositiveIntegerField(verbose_name="visits per day")),
                ("theta", models.FloatField(verbose_name="weight of a reply")),
                (
                    "basis",
                    models.CharField(
                        choices=[
                            ("history", "the boards' own history"),
                            (
                                "mixed",
                                "own history where there is some,"
                                " otherwise the average rhythm of public forums",
                            ),
                            ("prior", "the average rhythm of public forums: no history yet"),
                        ],
                        max_length=8,
                        verbose_name="based on",
                    ),
                ),
                ("known_days", models.FloatField(default=0.0, verbose_name="days of history")),
                ("boards", models.PositiveIntegerField(default=0, verbose_name="boards")),
                (
                    "boards_known",
                    models.PositiveIntegerField(default=0, verbose_name="boards with history"),
                ),
                ("limited_sites", models.JSONField(blank=True, default=list)),
                (
                    "expected_delay",
                    models.FloatField(blank=True, null=True, verbose_name="expected delay"),
                ),
                ("era_delay", models.FloatField(blank=True, null=True)),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="days",
                        to="forums.plan",
                    ),
                ),
            ],
            options={
                "verbose_name": "planned day",
                "verbose_name_plural": "planned days",
                "ordering": ("-day",),
                "constraints": [
                    models.UniqueConstraint(fields=("plan", "day"), name="planday_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="BoardDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("weight", models.FloatField()),
                ("new_per_day", models.FloatField(default=0.0)),
                ("replies_per_day", models.FloatField(default=0.0)),
                ("visits", models.FloatField()),
                ("expected_delay", models.FloatField(blank=True, null=True)),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="planned_days",
                        to="forums.board",
                    ),
                ),
                (
                    "planned_day",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="board_days",
                        to="forums.planday",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("planned_day", "board"), name="boardday_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="PlannedVisit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(verbose_name="time")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("planned", "planned"),
                            ("started", "started"),
                            ("missed", "missed"),
                        ],
                        default="planned",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                ("pinned", models.BooleanField(default=False, verbose_name="pinned")),
                ("daily", models.BooleanField(default=False, verbose_name="every day")),
                ("code", models.CharField(blank=True, max_length=20)),
                ("figures", models.JSONField(blank=True, default=dict)),
                ("expected_events", models.FloatField(blank=True, null=True)),
                ("expected_delay", models.FloatField(blank=True, null=True)),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="planned_visits",
                        to="forums.board",
                    ),
                ),
                (
                    "edited_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="visits",
                        to="forums.plan",
                    ),
                ),
                (
                    "visit",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="planned",
                        to="forums.visit",
                    ),
                ),
            ],
            options={
                "verbose_name": "planned visit",
                "verbose_name_plural": "planned visits",
                "ordering": ("at", "id"),
                "indexes": [
                    models.Index(fields=["plan", "state", "at"], name="planned_due"),
                    models.Index(fields=["board", "at"], name="planned_board"),
                ],
            },
        ),
        migrations.CreateModel(
            name="LoopState",
            fields=[
                (
                    "plan",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="loop",
                        serialize=False,
                        to="forums.plan",
                    ),
                ),
                ("data", models.BinaryField()),
                ("told_until", models.DateTimeField()),
                ("saved_at", models.DateTimeField()),
                ("fixed", models.BinaryField(default=bytes)),
                ("outlook", models.BinaryField(default=bytes)),
            ],
        ),
        migrations.CreateModel(
            name="SiteLogin",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "method",
                    models.CharField(
                        choices=[("cookie", "a cookie"), ("form", "a login form")],
                        max_length=6,
                        verbose_name="method",
                    ),
                ),
                ("address", models.TextField(blank=True, verbose_name="address of the login form")),
                ("secret", models.TextField(blank=True)),
                ("session", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("untried", "not tried yet"),
                            ("valid", "logged in"),
                            ("expired", "expired"),
                            ("failed", "failed"),
                        ],
                        default="untried",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=60, verbose_name="reason")),
                ("checked_at", models.DateTimeField(blank=True, null=True, verbose_name="checked")),
                ("changed_at", models.DateTimeField(verbose_name="changed")),
                (
                    "site",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="login",
                        to="forums.site",
                    ),
                ),
            ],
            options={
                "verbose_name": "login of a forum",
                "verbose_name_plural": "logins of forums",
            },
        ),
        migrations.CreateModel(
            name="StructureVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(verbose_name="version")),
                ("at", models.DateTimeField(verbose_name="time")),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("learned", "learned when the forum was added"),
                            ("relearned", "learned again after the layout changed"),
                            ("edited", "edited by hand"),
                            ("corrected", "a correction"),
                            ("restored", "an earlier version restored"),
                        ],
                        max_length=12,
                        verbose_name="origin",
                    ),
                ),
                ("proposed", models.BooleanField(default=False)),
                ("changes", models.JSONField(blank=True, default=list)),
                ("structure", models.JSONField(default=dict)),
                ("rules", models.JSONField(blank=True, default=dict)),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="crawlmgr.run",
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="forums.site",
                    ),
                ),
            ],
            options={
                "verbose_name": "version of a site model",
                "verbose_name_plural": "versions of site models",
                "ordering": ("site", "-number"),
                "constraints": [
                    models.UniqueConstraint(fields=("site", "number"), name="structure_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ReplyModel",
            fields=[
                (
                    "site",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="reply_model",
                        serialize=False,
                        to="forums.site",
                    ),
                ),
                ("trained_at", models.DateTimeField()),
                ("trained_on", models.PositiveIntegerField(default=0)),
                ("weights", models.JSONField(blank=True, default=list)),
                ("middle", models.JSONField(blank=True, default=list)),
                ("scale", models.JSONField(blank=True, default=list)),
                ("activity", models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name="OverviewSource",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("index", "index page"),
                            ("newest", "list of newest threads"),
                            ("feed", "feed"),
                            ("api", "JSON list"),
                            ("sitemap", "sitemap"),
                        ],
                        max_length=8,
                        verbose_name="kind",
                    ),
                ),
                ("url", models.TextField(verbose_name="address")),
                ("url_hash", models.BigIntegerField()),
                ("enabled", models.BooleanField(default=True, verbose_name="read")),
                ("found", models.DateTimeField(verbose_name="found")),
                ("boards", models.JSONField(blank=True, default=list)),
                ("shown", models.JSONField(blank=True, default=dict)),
                ("read_at", models.DateTimeField(blank=True, null=True, verbose_name="read")),
                (
                    "cost",
                    models.PositiveSmallIntegerField(
                        default=1,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="cost (visits)",
                    ),
                ),
                ("lag_seconds", models.FloatField(default=0.0)),
                ("doubt", models.FloatField(default=0.3)),
                ("believed", models.PositiveIntegerField(default=0)),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="forums.site",
                    ),
                ),
                ("names_threads", models.BooleanField(default=False)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("rests_until", models.DateTimeField(blank=True, db_index=True, null=True)),
            ],
            options={
                "verbose_name": "overview source",
                "verbose_name_plural": "overview sources",
                "ordering": ("site", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("site", "url_hash"), name="source_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Look",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(verbose_name="time")),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("asked", "requested"), ("done", "done"), ("failed", "failed")],
                        default="asked",
                        max_length=6,
                        verbose_name="state",
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=60, verbose_name="reason")),
                ("cost", models.PositiveSmallIntegerField(default=1)),
                ("shown", models.JSONField(blank=True, default=dict)),
                ("threads", models.PositiveIntegerField(default=0, verbose_name="threads")),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="looks",
                        to="crawlmgr.run",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="looks",
                        to="forums.overviewsource",
                    ),
                ),
            ],
            options={
                "verbose_name": "overview fetch",
                "verbose_name_plural": "overview fetches",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["source", "-at"], name="look_source"),
                    models.Index(fields=["read_at"], name="look_read"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Doubt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("code", models.CharField(max_length=20, verbose_name="reason")),
                ("subject", models.CharField(max_length=300)),
                ("detail", models.JSONField(blank=True, default=dict)),
                ("since", models.DateTimeField(verbose_name="since")),
                ("seen", models.DateTimeField(verbose_name="last noticed")),
                ("times", models.PositiveIntegerField(default=1, verbose_name="times noticed")),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "board",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="doubts",
                        to="forums.board",
                    ),
                ),
                (
                    "settled_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="doubts",
                        to="forums.site",
                    ),
                ),
            ],
            options={
                "verbose_name": "doubt",
                "verbose_name_plural": "doubts",
                "ordering": ("site", "-seen", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("site", "code", "subject"), name="doubt_once")
                ],
            },
        ),
    ]
