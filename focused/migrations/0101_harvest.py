"""The harvest rate that the marks of a run give, with what they say besides."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("focused", "0100_initial")]

    operations = [
        migrations.AddField("topicrun", "harvest", models.JSONField(default=dict)),
        migrations.AddField(
            "topicrun",
            "harvest_rate",
            models.FloatField(null=True, verbose_name="harvest rate"),
        ),
    ]
