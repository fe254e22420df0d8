"""What the command line stored as "every private address" becomes the hosts and ports that were named."""

from importlib import import_module
from typing import Any

from django.db import migrations


def restrict(apps: Any, _editor: Any) -> None:
    import_module("focused.services.private_hosts").restrict(apps)  # migrations are read by every command


class Migration(migrations.Migration):
    dependencies = [("focused", "0004_ontology"), ("crawlmgr", "0001_initial")]
    operations = [migrations.RunPython(restrict, migrations.RunPython.noop)]
