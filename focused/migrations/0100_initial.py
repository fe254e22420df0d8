"""The tables of topics and the index over the words of their pages. A database of version 0.1.0
has them already: for it, this is only recorded."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

SQLITE = (
    "CREATE VIRTUAL TABLE focused_pagetext USING fts5"
    "(words, place, content='', tokenize=\"unicode61 remove_diacritics 0 tokenchars '+#'\")",
)
POSTGRESQL = (
    "CREATE TABLE focused_pagetext (rowid bigint PRIMARY KEY, words tsvector NOT NULL)",
    "CREATE INDEX pagetext_words ON focused_pagetext USING gin (words)",
)


def index_pages(apps, editor):
    """The inverted index over the words of pages: FTS5 without a copy of the text on SQLite, a
    tsvector on PostgreSQL."""
    for statement in SQLITE if editor.connection.vendor == "sqlite" else POSTGRESQL:
        editor.execute(statement)


def drop_index(apps, editor):
    editor.execute("DROP TABLE focused_pagetext")


class Migration(migrations.Migration):
    replaces = [("focused", "0014_narrowed_lists")]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("crawlmgr", "0100_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Topic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="name")),
                ("keywords", models.JSONField(blank=True, default=dict, verbose_name="keywords")),
                (
                    "near",
                    models.JSONField(blank=True, default=dict, verbose_name="near-topic words"),
                ),
                (
                    "negative",
                    models.JSONField(blank=True, default=list, verbose_name="negative words"),
                ),
                (
                    "url_words",
                    models.JSONField(blank=True, default=list, verbose_name="words in addresses"),
                ),
                (
                    "user_words",
                    models.JSONField(blank=True, default=list, verbose_name="words not split"),
                ),
                (
                    "threshold",
                    models.FloatField(
                        blank=True,
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="threshold",
                    ),
                ),
                (
                    "strategy",
                    models.CharField(default="adaptive", max_length=60, verbose_name="strategy"),
                ),
                (
                    "parameters",
                    models.JSONField(blank=True, default=dict, verbose_name="parameters"),
                ),
                ("options", models.JSONField(blank=True, default=dict, verbose_name="options")),
                ("settings", models.JSONField(blank=True, default=dict, verbose_name="settings")),
                (
                    "interval_seconds",
                    models.PositiveIntegerField(
                        blank=True,
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(3600),
                            django.core.validators.MaxValueValidator(31622400),
                        ],
                        verbose_name="interval (s)",
                    ),
                ),
                ("next_run", models.DateTimeField(blank=True, null=True, verbose_name="next run")),
                ("added", models.DateTimeField(verbose_name="added")),
                ("ontology", models.JSONField(blank=True, default=dict)),
                (
                    "ontology_weight",
                    models.FloatField(
                        default=0.5,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="weight of the ontology",
                    ),
                ),
                ("reading", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "verbose_name": "topic",
                "verbose_name_plural": "topics",
                "ordering": ("name",),
                "indexes": [models.Index(fields=["next_run"], name="topic_due")],
            },
        ),
        migrations.CreateModel(
            name="SampleDocument",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=300, verbose_name="name")),
                ("url", models.TextField(blank=True, verbose_name="address")),
                ("text", models.TextField(blank=True, verbose_name="text")),
                ("problem", models.CharField(blank=True, max_length=300, verbose_name="problem")),
                ("position", models.PositiveIntegerField(default=0)),
                ("added", models.DateTimeField(verbose_name="added")),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="documents",
                        to="focused.topic",
                    ),
                ),
                ("characters", models.PositiveIntegerField(default=0, verbose_name="characters")),
                ("words", models.JSONField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "sample",
                "verbose_name_plural": "samples",
                "ordering": ("position", "id"),
            },
        ),
        migrations.CreateModel(
            name="TopicRun",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="topic_run",
                        serialize=False,
                        to="crawlmgr.run",
                    ),
                ),
                ("definition", models.JSONField(default=dict)),
                ("steps", models.PositiveBigIntegerField(default=0)),
                ("mark", models.BigIntegerField(default=0)),
                ("pages", models.PositiveBigIntegerField(default=0, verbose_name="pages")),
                ("failed", models.PositiveBigIntegerField(default=0, verbose_name="failed")),
                (
                    "asked",
                    models.PositiveBigIntegerField(default=0, verbose_name="pages requested"),
                ),
                ("relevant", models.PositiveBigIntegerField(default=0, verbose_name="on topic")),
                (
                    "duplicates",
                    models.PositiveBigIntegerField(default=0, verbose_name="duplicates"),
                ),
                ("refused", models.JSONField(default=dict, verbose_name="links rejected")),
                ("edits", models.JSONField(default=list)),
                ("strategy_state", models.JSONField(null=True)),
                ("pushes", models.PositiveBigIntegerField(default=0)),
                ("frequencies", models.BinaryField(null=True)),
                ("frequencies_step", models.PositiveBigIntegerField(default=0)),
                (
                    "topic",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="focused.topic",
                    ),
                ),
                ("judge", models.PositiveSmallIntegerField(default=1, verbose_name="judge")),
            ],
            options={
                "verbose_name": "run of a topic",
                "verbose_name_plural": "runs of topics",
            },
        ),
        migrations.CreateModel(
            name="GraphNode",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url_hash", models.BigIntegerField()),
                ("url", models.TextField()),
                ("alias_of", models.BigIntegerField(null=True)),
                ("parent", models.TextField(null=True)),
                ("depth", models.PositiveIntegerField(default=0)),
                ("state", models.PositiveSmallIntegerField(default=0)),
                ("queue", models.CharField(default="", max_length=40)),
                ("priority", models.FloatField(default=0.0)),
                ("position", models.FloatField(default=0.0)),
                ("data", models.TextField(default="")),
                ("links", models.TextField(default="")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="graph",
                        to="crawlmgr.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", 1)),
                        fields=["run", "queue", "-priority", "position"],
                        name="node_next",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "url_hash"), name="node_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Seed",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url", models.TextField(verbose_name="address")),
                ("url_hash", models.BigIntegerField()),
                ("position", models.PositiveIntegerField(default=0)),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="seeds",
                        to="focused.topic",
                    ),
                ),
            ],
            options={
                "verbose_name": "seed",
                "verbose_name_plural": "seeds",
                "ordering": ("position", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("topic", "url_hash"), name="seed_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="TopicPage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("step", models.PositiveBigIntegerField()),
                ("mark", models.BigIntegerField()),
                (
                    "kind",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "page"),
                            (1, "failed"),
                            (2, "page fetched before"),
                            (3, "edit"),
                        ],
                        default=0,
                    ),
                ),
                ("number", models.PositiveBigIntegerField(default=0, verbose_name="page number")),
                ("url", models.TextField(verbose_name="address")),
                ("url_hash", models.BigIntegerField()),
                ("final_url", models.TextField(blank=True, verbose_name="final address")),
                ("depth", models.PositiveIntegerField(default=0, verbose_name="depth")),
                ("similarity", models.FloatField(blank=True, null=True, verbose_name="relevance")),
                ("relevant", models.BooleanField(default=False, verbose_name="on topic")),
                ("relevant_so_far", models.PositiveBigIntegerField(default=0)),
                ("duplicate_of", models.PositiveBigIntegerField(blank=True, null=True)),
                ("off_topic_run", models.PositiveIntegerField(default=0)),
                ("tunnel", models.PositiveIntegerField(default=0)),
                ("recalled", models.BooleanField(default=False, verbose_name="from the archive")),
                ("title", models.CharField(blank=True, max_length=500, verbose_name="title")),
                ("fingerprint", models.BigIntegerField(default=0)),
                ("why", models.JSONField(blank=True, default=dict)),
                ("detail", models.CharField(blank=True, max_length=300)),
                ("words", models.BinaryField(null=True)),
                ("packed", models.BooleanField(default=False)),
                ("at", models.DateTimeField(verbose_name="time")),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="focused.topicpage",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="topic_pages",
                        to="crawlmgr.run",
                    ),
                ),
                ("marked", models.BooleanField(blank=True, null=True, verbose_name="marked")),
            ],
            options={
                "verbose_name": "page of a topic",
                "verbose_name_plural": "pages of topics",
                "indexes": [
                    models.Index(fields=["run", "url_hash"], name="topicpage_url"),
                    models.Index(fields=["run", "kind", "number"], name="topicpage_number"),
                    models.Index(
                        condition=models.Q(("tunnel__gt", 0)),
                        fields=["run", "tunnel"],
                        name="topicpage_tunnel",
                    ),
                    models.Index(
                        condition=models.Q(("marked__isnull", False)),
                        fields=["run", "number"],
                        name="topicpage_marked",
                    ),
                    models.Index(
                        condition=models.Q(("kind", 0)),
                        fields=["run", "-similarity", "-id"],
                        name="topicpage_most_relevant",
                    ),
                    models.Index(
                        condition=models.Q(("duplicate_of__isnull", False), ("kind", 0)),
                        fields=["run", "step"],
                        name="topicpage_copies",
                    ),
                    models.Index(
                        fields=["run", "kind", "relevant", "step"], name="topicpage_topical"
                    ),
                    models.Index(
                        fields=["run", "kind", "relevant", "similarity", "id"],
                        name="topicpage_topical_best",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "step"), name="topicpage_step")
                ],
            },
        ),
        migrations.CreateModel(
            name="Comparison",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("setup", models.JSONField(default=dict, verbose_name="setup")),
                ("result", models.JSONField(default=dict)),
                ("problem", models.CharField(blank=True, max_length=300, verbose_name="problem")),
                ("created", models.DateTimeField(verbose_name="created")),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="crawlmgr.run",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comparisons",
                        to="focused.topic",
                    ),
                ),
            ],
            options={
                "verbose_name": "comparison",
                "verbose_name_plural": "comparisons",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="ComparisonPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                ("trail", models.JSONField(default=dict)),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="focused.comparison",
                    ),
                ),
            ],
            options={
                "verbose_name": "part of a comparison",
                "verbose_name_plural": "parts of comparisons",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("comparison", "key"), name="comparison_part_once"
                    )
                ],
            },
        ),
        migrations.RunPython(index_pages, drop_index),
    ]
