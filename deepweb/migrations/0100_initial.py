"""The tables of search forms and the index over the text of their records. A database of version
0.1.0 has them already: for it, this is only recorded."""

import django.db.models.deletion
from django.conf import settings
from django.db import DatabaseError, migrations, models, transaction

SQLITE = (
    "CREATE VIRTUAL TABLE deepweb_recordtext USING fts5"
    "(text, content='deepweb_record', content_rowid='id', tokenize='trigram')",
    """CREATE TRIGGER deepweb_recordtext_new AFTER INSERT ON deepweb_record BEGIN
    INSERT INTO deepweb_recordtext (rowid, text) VALUES (new.id, new.text); END""",
    """CREATE TRIGGER deepweb_recordtext_gone AFTER DELETE ON deepweb_record BEGIN
    INSERT INTO deepweb_recordtext (deepweb_recordtext, rowid, text)
    VALUES ('delete', old.id, old.text); END""",
    """CREATE TRIGGER deepweb_recordtext_changed AFTER UPDATE OF text ON deepweb_record
    WHEN old.text <> new.text BEGIN
    INSERT INTO deepweb_recordtext (deepweb_recordtext, rowid, text)
    VALUES ('delete', old.id, old.text);
    INSERT INTO deepweb_recordtext (rowid, text) VALUES (new.id, new.text); END""",
    "INSERT INTO deepweb_recordtext (deepweb_recordtext) VALUES ('rebuild')",
)
SQLITE_BACK = (
    "DROP TRIGGER deepweb_recordtext_new",
    "DROP TRIGGER deepweb_recordtext_gone",
    "DROP TRIGGER deepweb_recordtext_changed",
    "DROP TABLE deepweb_recordtext",
)
POSTGRESQL = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX record_text ON deepweb_record USING gin (upper(text) gin_trgm_ops)",
)


def index_records(apps, editor):
    """An index of the parts of words of records: FTS5 with trigrams kept by triggers on SQLite,
    pg_trgm on PostgreSQL where it may be had."""
    if editor.connection.vendor == "sqlite":
        for statement in SQLITE:
            editor.execute(statement)
        return
    try:
        with transaction.atomic(using=editor.connection.alias):
            for statement in POSTGRESQL:
                editor.execute(statement)
    except DatabaseError:
        # a server without the extension, or a user who may not make one: no index then
        return


def drop_index(apps, editor):
    if editor.connection.vendor != "sqlite":
        editor.execute("DROP INDEX IF EXISTS record_text")
        return
    for statement in SQLITE_BACK:
        editor.execute(statement)


class Migration(migrations.Migration):
    replaces = [("deepweb", "0008_query_predicted")]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("crawlmgr", "0100_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("named", models.BooleanField(default=False)),
                ("terms", models.JSONField(default=list, verbose_name="top terms")),
                ("forms_count", models.PositiveIntegerField(default=0, verbose_name="forms")),
                ("made", models.DateTimeField(verbose_name="created")),
                ("how", models.JSONField(blank=True, default=dict)),
                ("silhouette", models.FloatField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "cluster",
                "verbose_name_plural": "clusters",
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url", models.TextField(verbose_name="address")),
                ("key_hash", models.BigIntegerField(unique=True)),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("parameters", models.JSONField(blank=True, default=dict, verbose_name="settings")),
                ("links", models.JSONField(blank=True, default=dict)),
                ("pages", models.PositiveIntegerField(default=0, verbose_name="pages")),
                ("records", models.PositiveIntegerField(default=0, verbose_name="records")),
                ("created", models.DateTimeField(verbose_name="created")),
                (
                    "looked_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="inspected"),
                ),
            ],
            options={
                "verbose_name": "source",
                "verbose_name_plural": "sources",
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="Form",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("signature", models.CharField(max_length=16)),
                ("page_url", models.TextField(verbose_name="page")),
                ("action", models.TextField(verbose_name="action")),
                ("method", models.CharField(max_length=4, verbose_name="method")),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("search", "search"),
                            ("login", "login"),
                            ("registration", "registration"),
                            ("newsletter", "newsletter"),
                            ("contact", "contact"),
                            ("password_recovery", "password recovery"),
                            ("order", "order"),
                            ("other", "other"),
                        ],
                        max_length=20,
                        verbose_name="type",
                    ),
                ),
                ("confidence", models.FloatField(default=0, verbose_name="confidence")),
                ("searchable", models.BooleanField(default=False)),
                (
                    "corrected",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("search", "search"),
                            ("login", "login"),
                            ("registration", "registration"),
                            ("newsletter", "newsletter"),
                            ("contact", "contact"),
                            ("password_recovery", "password recovery"),
                            ("order", "order"),
                            ("other", "other"),
                        ],
                        max_length=20,
                        verbose_name="corrected type",
                    ),
                ),
                ("corrected_at", models.DateTimeField(blank=True, null=True)),
                ("released", models.BooleanField(default=False, verbose_name="released")),
                ("described", models.JSONField(default=dict)),
                ("language", models.CharField(blank=True, max_length=20)),
                ("charset", models.CharField(default="utf-8", max_length=40)),
                ("words", models.JSONField(default=dict)),
                ("depth", models.PositiveSmallIntegerField(default=0, verbose_name="depth")),
                ("map_x", models.FloatField(default=0)),
                ("map_y", models.FloatField(default=0)),
                ("found", models.DateTimeField(verbose_name="found")),
                (
                    "cluster",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="forms",
                        to="deepweb.cluster",
                    ),
                ),
                (
                    "corrected_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="forms",
                        to="deepweb.source",
                    ),
                ),
                ("learned", models.JSONField(blank=True, default=dict)),
                ("roles", models.JSONField(blank=True, default=dict)),
                (
                    "interval_seconds",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="interval (s)"),
                ),
                (
                    "next_harvest",
                    models.DateTimeField(
                        blank=True, db_index=True, null=True, verbose_name="next harvest"
                    ),
                ),
            ],
            options={
                "verbose_name": "form",
                "verbose_name_plural": "forms",
                "indexes": [models.Index(fields=["type", "source"], name="deepform_type")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("source", "signature"), name="form_once_a_source"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Harvest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(default=0)),
                ("state", models.JSONField(default=dict)),
                ("queries", models.PositiveIntegerField(default=0, verbose_name="queries")),
                ("valid", models.PositiveIntegerField(default=0, verbose_name="valid")),
                ("probes", models.PositiveIntegerField(default=0, verbose_name="probes")),
                ("requests", models.PositiveIntegerField(default=0, verbose_name="requests")),
                ("returned", models.PositiveBigIntegerField(default=0, verbose_name="returned")),
                ("records", models.PositiveIntegerField(default=0, verbose_name="records")),
                ("details", models.PositiveIntegerField(default=0, verbose_name="detail pages")),
                ("low", models.FloatField(blank=True, null=True)),
                ("high", models.FloatField(blank=True, null=True)),
                ("unknown", models.CharField(blank=True, max_length=40)),
                (
                    "stopped_by",
                    models.CharField(blank=True, max_length=60, verbose_name="end reason"),
                ),
                ("ended", models.BooleanField(default=False)),
                (
                    "form",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="harvests",
                        to="deepweb.form",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="harvests",
                        to="crawlmgr.run",
                    ),
                ),
                ("detail_requests", models.PositiveIntegerField(default=0)),
            ],
            options={
                "verbose_name": "harvest",
                "verbose_name_plural": "harvests",
                "constraints": [
                    models.UniqueConstraint(fields=("run", "form"), name="harvest_form_once_a_run")
                ],
            },
        ),
        migrations.CreateModel(
            name="Query",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("nonsense", "nonsense word"),
                            ("seed", "starting word"),
                            ("policy", "chosen by the policy"),
                            ("probe", "random probe"),
                            ("trial", "test query"),
                        ],
                        max_length=10,
                        verbose_name="kind",
                    ),
                ),
                ("terms", models.JSONField(default=list, verbose_name="terms")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("sent", "under way"),
                            ("valid", "records"),
                            ("no_results", "no result"),
                            ("error", "error"),
                        ],
                        default="sent",
                        max_length=12,
                        verbose_name="outcome",
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=200, verbose_name="reason")),
                ("predicted", models.FloatField(default=0)),
                ("bucket", models.SmallIntegerField(default=-1)),
                ("pages", models.PositiveSmallIntegerField(default=0, verbose_name="pages")),
                ("requests", models.PositiveSmallIntegerField(default=0, verbose_name="requests")),
                ("returned", models.PositiveIntegerField(default=0, verbose_name="results")),
                ("new", models.PositiveIntegerField(default=0, verbose_name="new")),
                (
                    "total",
                    models.PositiveBigIntegerField(blank=True, null=True, verbose_name="stated"),
                ),
                ("overflowed", models.BooleanField(default=False, verbose_name="truncated")),
                ("found", models.JSONField(default=list)),
                ("records_after", models.PositiveIntegerField(default=0)),
                ("requests_after", models.PositiveIntegerField(default=0)),
                ("sent_at", models.DateTimeField(verbose_name="sent")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "harvest",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log",
                        to="deepweb.harvest",
                    ),
                ),
                ("partial", models.BooleanField(default=False, verbose_name="not read to the end")),
                ("stated", models.JSONField(default=list)),
            ],
            options={
                "verbose_name": "query",
                "verbose_name_plural": "queries",
                "ordering": ("id",),
                "constraints": [
                    models.UniqueConstraint(fields=("harvest", "number"), name="query_number_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key_hash", models.BigIntegerField()),
                ("url", models.TextField(blank=True, verbose_name="address")),
                ("fields", models.JSONField(default=dict, verbose_name="fields")),
                ("listed", models.JSONField(default=dict)),
                ("text", models.TextField(blank=True)),
                ("first_seen", models.DateTimeField(verbose_name="first seen")),
                (
                    "detail_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="detail page read"),
                ),
                (
                    "form",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="found_records",
                        to="deepweb.form",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="found_records",
                        to="deepweb.source",
                    ),
                ),
            ],
            options={
                "verbose_name": "record",
                "verbose_name_plural": "records",
                "indexes": [models.Index(fields=["form", "id"], name="record_form")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("source", "key_hash"), name="record_once_a_source"
                    )
                ],
            },
        ),
        migrations.RunPython(index_records, drop_index),
    ]
