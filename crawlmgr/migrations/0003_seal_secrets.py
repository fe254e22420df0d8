"""Proxy passwords, keys in headers and cookies that were stored as they are become encrypted, in settings and in runs.

It waits for no other app's migrations, so that each app's can be squashed: tables that are not there yet hold no secrets.
"""

from importlib import import_module
from typing import Any

from django.db import migrations


def seal(apps: Any, _editor: Any) -> None:
    import_module("crawlmgr.services.sealed_settings").seal_stored(apps)  # migrations are read by every command


class Migration(migrations.Migration):
    dependencies = [("crawlmgr", "0002_run_trouble")]
    operations = [migrations.RunPython(seal, migrations.RunPython.noop)]
