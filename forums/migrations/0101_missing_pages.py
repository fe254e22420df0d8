"""The pages of a thread that could not be read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("forums", "0100_initial")]

    operations = [
        migrations.AddField(
            model_name="thread",
            name="missing",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
