"""The tables of runs, hosts, the archive, nodes and the desk. A database of version 0.1.0
has them already: for it, this is only recorded."""

import datetime
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("crawlmgr", "0021_node_levels")]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Host",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255, unique=True, verbose_name="host")),
                (
                    "next_at",
                    models.DateTimeField(
                        db_index=True,
                        default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc),
                        verbose_name="next request from",
                    ),
                ),
                ("delay_seconds", models.FloatField(default=1.0, verbose_name="own delay (s)")),
                (
                    "connections",
                    models.PositiveSmallIntegerField(default=1, verbose_name="connections"),
                ),
                (
                    "crawl_delay_seconds",
                    models.FloatField(blank=True, null=True, verbose_name="Crawl-delay (s)"),
                ),
                (
                    "retry_after_until",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="server asked to wait until"
                    ),
                ),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, verbose_name="failures in a row"),
                ),
                (
                    "last_status",
                    models.PositiveSmallIntegerField(
                        blank=True, null=True, verbose_name="last status"
                    ),
                ),
                (
                    "last_error",
                    models.CharField(blank=True, max_length=300, verbose_name="last error"),
                ),
                (
                    "last_request_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="last request"),
                ),
                ("robots_text", models.TextField(blank=True, verbose_name="robots.txt")),
                (
                    "robots_verdict",
                    models.CharField(blank=True, max_length=16, verbose_name="robots.txt rule"),
                ),
                (
                    "robots_fetched_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="robots.txt read"),
                ),
                (
                    "robots_expires_at",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="robots.txt valid until"
                    ),
                ),
                ("requests", models.PositiveBigIntegerField(default=0, verbose_name="requests")),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                ("errors", models.PositiveBigIntegerField(default=0, verbose_name="errors")),
                (
                    "refused_by_robots",
                    models.PositiveBigIntegerField(default=0, verbose_name="refused by robots.txt"),
                ),
            ],
            options={
                "verbose_name": "host",
                "verbose_name_plural": "hosts",
                "ordering": ("key",),
                "permissions": [
                    ("open_private", "Can let crawls reach private addresses and proxies")
                ],
            },
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=120, unique=True, verbose_name="node")),
                ("pid", models.PositiveIntegerField(default=0, verbose_name="process")),
                ("workers", models.PositiveSmallIntegerField(default=0, verbose_name="workers")),
                ("queues", models.CharField(blank=True, max_length=200, verbose_name="queues")),
                ("started", models.DateTimeField(verbose_name="started")),
                (
                    "heartbeat",
                    models.DateTimeField(blank=True, null=True, verbose_name="last heartbeat"),
                ),
                ("pages", models.PositiveBigIntegerField(default=0, verbose_name="pages")),
                ("minutes", models.JSONField(blank=True, default=list)),
                ("restarts", models.PositiveIntegerField(default=0, verbose_name="restarts")),
                ("label", models.CharField(blank=True, max_length=60, verbose_name="shown as")),
                ("machine", models.CharField(blank=True, max_length=255, verbose_name="machine")),
                (
                    "memory_bytes",
                    models.PositiveBigIntegerField(blank=True, null=True, verbose_name="memory"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "accepts work"),
                            ("draining", "draining"),
                            ("paused", "paused"),
                        ],
                        default="active",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("version", models.CharField(blank=True, max_length=40, verbose_name="version")),
                ("dispatched", models.DateTimeField(blank=True, null=True)),
                ("levels", models.JSONField(blank=True, default=list)),
            ],
            options={
                "verbose_name": "worker node",
                "verbose_name_plural": "worker nodes",
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=32, verbose_name="kind")),
                ("label", models.CharField(max_length=200, verbose_name="name")),
                ("target", models.BigIntegerField(blank=True, null=True)),
                ("exclusive", models.CharField(blank=True, max_length=80)),
                ("parameters", models.JSONField(default=dict, verbose_name="parameters")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "queued"),
                            ("running", "running"),
                            ("paused", "paused"),
                            ("finished", "finished"),
                            ("stopped", "stopped"),
                            ("failed", "failed"),
                        ],
                        default="queued",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("wanted", models.CharField(blank=True, max_length=6)),
                (
                    "stopped_by",
                    models.CharField(blank=True, max_length=60, verbose_name="end reason"),
                ),
                ("detail", models.TextField(blank=True, verbose_name="detail")),
                (
                    "waiting_for",
                    models.CharField(blank=True, max_length=300, verbose_name="waiting for"),
                ),
                ("waiting_until", models.DateTimeField(blank=True, null=True)),
                ("result", models.JSONField(blank=True, default=dict)),
                ("fetched", models.PositiveBigIntegerField(default=0, verbose_name="pages")),
                ("failed", models.PositiveBigIntegerField(default=0, verbose_name="failed")),
                ("refused", models.PositiveBigIntegerField(default=0, verbose_name="refused")),
                ("requests", models.PositiveBigIntegerField(default=0, verbose_name="requests")),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                ("new", models.PositiveBigIntegerField(default=0, verbose_name="new")),
                ("updated", models.PositiveBigIntegerField(default=0, verbose_name="updated")),
                ("unchanged", models.PositiveBigIntegerField(default=0, verbose_name="unchanged")),
                ("items", models.PositiveBigIntegerField(default=0, verbose_name="items")),
                ("begun", models.BooleanField(default=False)),
                ("breaks", models.PositiveSmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("lease_holder", models.CharField(blank=True, max_length=120)),
                ("fence", models.BigIntegerField(default=0)),
                ("created", models.DateTimeField(verbose_name="created")),
                ("started", models.DateTimeField(blank=True, null=True, verbose_name="started")),
                ("finished", models.DateTimeField(blank=True, null=True, verbose_name="finished")),
                (
                    "progressed",
                    models.DateTimeField(blank=True, null=True, verbose_name="last progress"),
                ),
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
                    "busy",
                    models.PositiveBigIntegerField(default=0, verbose_name="responses 429 or 503"),
                ),
                ("retries", models.PositiveBigIntegerField(default=0, verbose_name="tries again")),
                ("strains", models.PositiveSmallIntegerField(default=0)),
                ("waited_seconds", models.FloatField(default=0.0, verbose_name="time waited (s)")),
                (
                    "waits",
                    models.PositiveBigIntegerField(default=0, verbose_name="waits for hosts"),
                ),
                ("scheduled", models.BooleanField(default=False)),
                ("outcomes", models.JSONField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "run",
                "verbose_name_plural": "runs",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["state", "waiting_until"], name="run_state"),
                    models.Index(fields=["kind", "target", "-id"], name="run_target"),
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running", "paused"])),
                        fields=["kind", "target"],
                        name="run_active",
                    ),
                    models.Index(fields=["state", "finished"], name="run_ended"),
                    models.Index(fields=["state", "-id"], name="run_recent_state"),
                    models.Index(fields=["kind", "-id"], name="run_recent_kind"),
                    models.Index(fields=["kind", "state", "-id"], name="run_recent"),
                    models.Index(fields=["finished", "id"], name="run_by_finished"),
                    models.Index(fields=["fetched", "id"], name="run_by_fetched"),
                    models.Index(fields=["new", "id"], name="run_by_new"),
                    models.Index(fields=["bytes", "id"], name="run_by_bytes"),
                    models.Index(fields=["kind", "finished", "id"], name="run_kind_finished"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "paused"]),
                            models.Q(("exclusive", ""), _negated=True),
                        ),
                        fields=("exclusive",),
                        name="run_exclusive",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_index=True, verbose_name="time")),
                (
                    "level",
                    models.PositiveSmallIntegerField(
                        choices=[(20, "note"), (30, "warning"), (40, "error")], verbose_name="level"
                    ),
                ),
                ("code", models.CharField(max_length=60, verbose_name="code")),
                ("text", models.CharField(blank=True, max_length=500, verbose_name="text")),
                (
                    "host",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="events",
                        to="crawlmgr.host",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="crawlmgr.run",
                    ),
                ),
            ],
            options={
                "verbose_name": "event",
                "verbose_name_plural": "events",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="RunHost",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("active", models.BooleanField(default=True)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="crawlmgr.host",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hosts",
                        to="crawlmgr.run",
                    ),
                ),
                ("bytes", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("failed", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("fetched", models.PositiveBigIntegerField(db_default=0, default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "active"], name="runhost_active"),
                    models.Index(fields=["run", "-fetched", "id"], name="runhost_most"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "host"), name="runhost_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Url",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key_hash", models.BigIntegerField()),
                ("url", models.TextField()),
                ("kind", models.CharField(blank=True, max_length=16)),
                ("group", models.BigIntegerField(blank=True, null=True)),
                ("payload", models.JSONField(blank=True, default=dict)),
                ("anchor", models.CharField(blank=True, max_length=300)),
                ("depth", models.PositiveIntegerField(default=0)),
                ("priority", models.FloatField(default=0.0)),
                (
                    "state",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "waiting"),
                            (1, "taken by a worker"),
                            (2, "done"),
                            (3, "failed"),
                            (4, "refused"),
                            (5, "dropped"),
                        ],
                        default=0,
                    ),
                ),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("fence", models.BigIntegerField(blank=True, null=True)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("added_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="urls",
                        to="crawlmgr.host",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="crawlmgr.url",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="urls",
                        to="crawlmgr.run",
                    ),
                ),
            ],
            options={
                "verbose_name": "address",
                "verbose_name_plural": "addresses",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", 0)),
                        fields=["run", "host", "-priority", "id"],
                        name="url_next",
                    ),
                    models.Index(
                        condition=models.Q(("state", 1)),
                        fields=["run", "lease_until"],
                        name="url_claimed",
                    ),
                    models.Index(
                        condition=models.Q(("state", 1)),
                        fields=["host", "lease_until"],
                        name="url_host_claimed",
                    ),
                    models.Index(fields=["run", "group", "state"], name="url_group"),
                    models.Index(fields=["run", "state", "reason"], name="url_outcome"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "key_hash"), name="url_seen_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="WarcFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="file")),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                ("records", models.PositiveIntegerField(default=0, verbose_name="records")),
                ("created", models.DateTimeField(verbose_name="created")),
                ("closed", models.DateTimeField(blank=True, null=True, verbose_name="closed")),
                ("imported", models.BooleanField(default=False, verbose_name="imported")),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="warc_files",
                        to="crawlmgr.run",
                    ),
                ),
                (
                    "place",
                    models.CharField(blank=True, default="", max_length=400, verbose_name="place"),
                ),
            ],
            options={
                "verbose_name": "WARC file",
                "verbose_name_plural": "WARC files",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Page",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key_hash", models.BigIntegerField()),
                ("url", models.TextField(verbose_name="address")),
                ("url_hash", models.BigIntegerField()),
                ("final_url", models.TextField(blank=True, verbose_name="final address")),
                ("status", models.PositiveSmallIntegerField(default=0, verbose_name="status")),
                ("failure", models.CharField(blank=True, max_length=32, verbose_name="failure")),
                ("content_type", models.CharField(blank=True, max_length=100, verbose_name="type")),
                ("encoding", models.CharField(blank=True, max_length=40, verbose_name="encoding")),
                ("title", models.CharField(blank=True, max_length=500, verbose_name="title")),
                ("etag", models.CharField(blank=True, max_length=300)),
                ("last_modified", models.CharField(blank=True, max_length=100)),
                ("digest", models.CharField(blank=True, max_length=40)),
                ("received_bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                ("elapsed_seconds", models.FloatField(default=0, verbose_name="seconds")),
                ("cut", models.CharField(blank=True, max_length=32, verbose_name="truncated")),
                ("fetched_at", models.DateTimeField(db_index=True, verbose_name="fetched")),
                ("depth", models.PositiveIntegerField(default=0, verbose_name="depth")),
                ("relevance", models.FloatField(blank=True, null=True, verbose_name="relevance")),
                ("warc_offset", models.PositiveBigIntegerField(blank=True, null=True)),
                ("warc_length", models.PositiveBigIntegerField(blank=True, null=True)),
                ("revisit", models.BooleanField(default=False, verbose_name="revisit")),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pages",
                        to="crawlmgr.host",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pages",
                        to="crawlmgr.run",
                    ),
                ),
                (
                    "warc",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="pages",
                        to="crawlmgr.warcfile",
                    ),
                ),
            ],
            options={
                "verbose_name": "page",
                "verbose_name_plural": "pages",
                "indexes": [
                    models.Index(fields=["url_hash", "-fetched_at"], name="page_latest"),
                    models.Index(fields=["host", "-fetched_at"], name="page_host"),
                    models.Index(fields=["run", "id"], name="page_run"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "key_hash"), name="page_once_a_run")
                ],
            },
        ),
        migrations.CreateModel(
            name="HostHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hour", models.DateTimeField()),
                ("requests", models.PositiveIntegerField(default=0)),
                ("bytes", models.PositiveBigIntegerField(default=0)),
                ("errors", models.PositiveIntegerField(default=0)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hours",
                        to="crawlmgr.host",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("host", "hour"), name="hosthour_once")
                ],
                "indexes": [
                    models.Index(
                        fields=["hour", "host", "requests", "bytes", "errors"],
                        name="hosthour_lately",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("digest", models.CharField(max_length=64, unique=True)),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "viewer"), ("operator", "operator")],
                        default="viewer",
                        max_length=10,
                        verbose_name="role",
                    ),
                ),
                ("created", models.DateTimeField(verbose_name="created")),
                ("expires", models.DateTimeField(blank=True, null=True, verbose_name="expires")),
                (
                    "last_used",
                    models.DateTimeField(blank=True, null=True, verbose_name="last used"),
                ),
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
            ],
            options={
                "verbose_name": "API token",
                "verbose_name_plural": "API tokens",
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="Retention",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=40, unique=True, verbose_name="kind")),
                ("keep_days", models.PositiveIntegerField(verbose_name="days kept")),
                ("changed", models.DateTimeField(verbose_name="changed")),
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
            ],
            options={
                "verbose_name": "retention",
                "verbose_name_plural": "retention",
                "ordering": ("kind",),
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("table", models.CharField(max_length=40, verbose_name="table")),
                ("format", models.CharField(max_length=10, verbose_name="format")),
                ("site", models.BigIntegerField(blank=True, null=True)),
                ("run", models.BigIntegerField(blank=True, null=True)),
                ("since", models.DateTimeField(blank=True, null=True)),
                ("days", models.PositiveIntegerField(blank=True, null=True)),
                ("columns", models.JSONField(blank=True, default=list)),
                ("bom", models.BooleanField(default=False)),
                (
                    "every_hours",
                    models.PositiveIntegerField(
                        choices=[
                            (0, "only on request"),
                            (1, "every hour"),
                            (6, "every six hours"),
                            (24, "every day"),
                            (168, "every week"),
                        ],
                        default=0,
                        verbose_name="frequency",
                    ),
                ),
                (
                    "next_at",
                    models.DateTimeField(
                        blank=True, db_index=True, null=True, verbose_name="next export"
                    ),
                ),
                ("keep", models.PositiveIntegerField(default=5, verbose_name="files kept")),
                ("digest", models.CharField(blank=True, db_index=True, max_length=64)),
                (
                    "fetched",
                    models.DateTimeField(blank=True, null=True, verbose_name="last fetched"),
                ),
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
            ],
            options={
                "verbose_name": "export",
                "verbose_name_plural": "exports",
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="ExportFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("written", models.DateTimeField(verbose_name="written")),
                ("rows", models.PositiveBigIntegerField(verbose_name="rows")),
                ("bytes", models.PositiveBigIntegerField(verbose_name="bytes")),
                ("sha256", models.CharField(max_length=64)),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="crawlmgr.run",
                    ),
                ),
                (
                    "export",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="crawlmgr.export",
                    ),
                ),
            ],
            options={
                "verbose_name": "exported file",
                "verbose_name_plural": "exported files",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Alarm",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("cause", models.CharField(max_length=120)),
                ("rule", models.CharField(max_length=20, verbose_name="kind")),
                ("text", models.CharField(max_length=300)),
                ("facts", models.JSONField(blank=True, default=dict)),
                ("path", models.CharField(blank=True, max_length=200)),
                ("once", models.BooleanField(default=False)),
                ("begun", models.DateTimeField(verbose_name="since")),
                ("missing", models.DateTimeField(blank=True, null=True)),
                (
                    "ended",
                    models.DateTimeField(
                        blank=True, db_index=True, null=True, verbose_name="ended"
                    ),
                ),
                ("muted", models.DateTimeField(blank=True, null=True)),
                (
                    "muted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "alarm",
                "verbose_name_plural": "alarms",
                "ordering": ("-id",),
                "indexes": [models.Index(fields=["cause"], name="alarm_cause")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended", None)),
                        fields=("cause",),
                        name="alarm_open_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AlarmChannel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("mail", "mail"),
                            ("webhook", "webhook"),
                            ("chat", "chat service"),
                        ],
                        max_length=10,
                        verbose_name="kind",
                    ),
                ),
                ("sealed", models.TextField()),
                ("shown", models.CharField(max_length=200, verbose_name="destination")),
                ("rules", models.JSONField(blank=True, default=list)),
                (
                    "language",
                    models.CharField(default="en", max_length=10, verbose_name="language"),
                ),
                ("quiet_from", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("quiet_to", models.PositiveSmallIntegerField(blank=True, null=True)),
                (
                    "timezone",
                    models.CharField(default="UTC", max_length=64, verbose_name="time zone"),
                ),
                ("allow_private", models.BooleanField(default=False)),
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
            ],
            options={
                "verbose_name": "alarm channel",
                "verbose_name_plural": "alarm channels",
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="AlarmMessage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("about", models.CharField(max_length=6)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("claimed", "being sent"),
                            ("handed", "being delivered"),
                            ("sent", "sent"),
                            ("failed", "failed"),
                            ("unsure", "may have arrived"),
                            ("dropped", "not sent"),
                        ],
                        default="waiting",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                ("due", models.DateTimeField(verbose_name="due")),
                ("attempts", models.PositiveSmallIntegerField(default=0, verbose_name="tries")),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("created", models.DateTimeField(verbose_name="created")),
                ("sent", models.DateTimeField(blank=True, null=True, verbose_name="sent")),
                ("detail", models.CharField(blank=True, max_length=300)),
                (
                    "alarm",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="crawlmgr.alarm",
                    ),
                ),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="crawlmgr.alarmchannel",
                    ),
                ),
            ],
            options={
                "verbose_name": "message of an alarm",
                "verbose_name_plural": "messages of alarms",
                "ordering": ("-id",),
                "indexes": [models.Index(fields=["state", "due"], name="alarm_message_due")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("channel", "alarm", "about"), name="alarm_message_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Hold",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("since", models.DateTimeField(verbose_name="since")),
                ("runs", models.JSONField(default=list)),
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
            ],
            options={
                "verbose_name": "pause of all crawling",
                "verbose_name_plural": "pauses of all crawling",
            },
        ),
        migrations.CreateModel(
            name="SettingsChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=60)),
                ("target", models.BigIntegerField(default=0)),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("at", models.DateTimeField(verbose_name="changed")),
                ("undone", models.DateTimeField(blank=True, null=True, verbose_name="undone")),
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
            ],
            options={
                "verbose_name": "change of settings",
                "verbose_name_plural": "changes of settings",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["kind", "target", "-id"], name="settings_change_of")
                ],
            },
        ),
        migrations.CreateModel(
            name="SettingsPreset",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=60)),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("values", models.JSONField(default=dict)),
                ("made", models.DateTimeField(verbose_name="created")),
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
            ],
            options={
                "verbose_name": "preset",
                "verbose_name_plural": "presets",
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "name"), name="preset_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ListView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("list", models.CharField(max_length=40, verbose_name="list")),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("query", models.CharField(blank=True, max_length=2000)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "view of a list",
                "verbose_name_plural": "views of lists",
                "ordering": ("name", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("user", "list", "name"), name="listview_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Deletion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("target", models.BigIntegerField()),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("asked", models.DateTimeField(verbose_name="requested")),
                ("due", models.DateTimeField(db_index=True, verbose_name="deleted permanently at")),
                ("begun", models.BooleanField(default=False)),
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
            ],
            options={
                "verbose_name": "deletion",
                "verbose_name_plural": "deletions",
                "ordering": ("due", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "target"), name="deletion_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Timing",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=32)),
                ("target", models.BigIntegerField()),
                ("hours", models.CharField(blank=True, max_length=60, verbose_name="hours")),
                (
                    "timezone",
                    models.CharField(default="UTC", max_length=64, verbose_name="time zone"),
                ),
                (
                    "jitter_seconds",
                    models.PositiveIntegerField(default=0, verbose_name="random shift (s)"),
                ),
            ],
            options={
                "verbose_name": "hours of work",
                "verbose_name_plural": "hours of work",
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "target"), name="timing_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="RunTally",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("what", models.CharField(max_length=8)),
                ("name", models.CharField(max_length=100)),
                ("number", models.PositiveBigIntegerField(default=0, verbose_name="number")),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tallies",
                        to="crawlmgr.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "what", "name"), name="runtally_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="BackupPlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("every_hours", models.PositiveIntegerField(default=0, verbose_name="frequency")),
                ("keep", models.PositiveIntegerField(default=7, verbose_name="files kept")),
                (
                    "next_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="next export"),
                ),
                ("changed", models.DateTimeField(blank=True, null=True, verbose_name="changed")),
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
            ],
            options={
                "verbose_name": "schedule of backups",
                "verbose_name_plural": "schedules of backups",
            },
        ),
    ]
