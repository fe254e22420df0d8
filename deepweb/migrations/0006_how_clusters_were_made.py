"""Clusters keep how they were made, and how well their forms hold together."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("deepweb", "0005_record_text")]

    operations = [
        migrations.AddField("cluster", "how", models.JSONField(blank=True, default=dict)),
        migrations.AddField("cluster", "silhouette", models.FloatField(blank=True, null=True)),
    ]
