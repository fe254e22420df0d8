"""The runs of a comparison, each in a row of its own."""

import django.db.models.deletion
from django.db import migrations, models


def into_rows(apps, schema_editor):
    part = apps.get_model("focused", "ComparisonPart")
    for comparison in apps.get_model("focused", "Comparison").objects.exclude(trails={}):
        for name, trail in comparison.trails.items():
            part.objects.create(comparison=comparison, key=f"{name}#1", trail=trail)


def into_one(apps, schema_editor):
    part = apps.get_model("focused", "ComparisonPart")
    for comparison in apps.get_model("focused", "Comparison").objects.all():
        rows = part.objects.filter(comparison=comparison, key__endswith="#1").order_by("id")
        comparison.trails = {row.key.removesuffix("#1"): row.trail for row in rows}
        comparison.save(update_fields=["trails"])


class Migration(migrations.Migration):
    dependencies = [("focused", "0008_marks")]

    operations = [
        migrations.CreateModel(
            name="ComparisonPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=200)),
                ("trail", models.JSONField(default=dict)),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="parts", to="focused.comparison"
                    ),
                ),
            ],
            options={
                "verbose_name": "part of a comparison",
                "verbose_name_plural": "parts of comparisons",
                "constraints": [models.UniqueConstraint(fields=("comparison", "key"), name="comparison_part_once")],
            },
        ),
        migrations.RunPython(into_rows, into_one),
    ]
