"""The number of new records for which a query was chosen."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("deepweb", "0100_initial")]

    operations = [
        migrations.AddField(
            model_name="query",
            name="expected",
            field=models.FloatField(null=True),
        ),
    ]
