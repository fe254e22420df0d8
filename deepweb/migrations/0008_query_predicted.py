from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("deepweb", "0007_repeated_harvests")]

    operations = [migrations.RenameField("query", "foretold", "predicted")]
