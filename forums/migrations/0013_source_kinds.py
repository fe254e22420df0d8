from typing import Any

from django.db import migrations, models


def named(apps: Any, schema_editor: Any) -> None:
    """Newest lists of before name threads."""
    apps.get_model("forums", "OverviewSource").objects.filter(kind="newest").update(names_threads=True)


class Migration(migrations.Migration):
    dependencies = [("forums", "0012_doubts")]

    operations = [
        migrations.AddField("overviewsource", "names_threads", models.BooleanField(default=False)),
        migrations.AlterField(
            "overviewsource",
            "kind",
            models.CharField(
                choices=[
                    ("index", "index page"),
                    ("newest", "newest list"),
                    ("feed", "feed"),
                    ("api", "JSON list"),
                    ("sitemap", "sitemap"),
                ],
                max_length=8,
                verbose_name="kind",
            ),
        ),
        migrations.RunPython(named, migrations.RunPython.noop),
    ]
