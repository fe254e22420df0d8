"""The runs of a comparison have rows of their own now."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("focused", "0009_comparison_parts")]

    operations = [migrations.RemoveField(model_name="comparison", name="trails")]
