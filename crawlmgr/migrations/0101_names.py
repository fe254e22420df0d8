"""Clearer names of two fields; their columns stay."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawlmgr", "0100_initial")]

    operations = [
        migrations.AlterField(
            model_name="page",
            name="cut",
            field=models.CharField(
                blank=True, db_column="cut", max_length=32, verbose_name="truncated"
            ),
        ),
        migrations.RenameField(model_name="page", old_name="cut", new_name="truncated"),
        migrations.AlterField(
            model_name="warcfile",
            name="place",
            field=models.CharField(
                blank=True, db_column="place", default="", max_length=400, verbose_name="place"
            ),
        ),
        migrations.RenameField(model_name="warcfile", old_name="place", new_name="object_url"),
    ]
