"""Proxy passwords, keys in headers and cookies that were stored as they are become encrypted, in settings and in runs.

It waits for no other app's migrations, so that each app's can be squashed: tables that are not there yet hold no secrets.
"""

from typing import Any

from django.db import migrations

from crawlmgr.services import sealed_settings


def mend(apps: Any, _editor: Any) -> None:
    sealed_settings.mend(apps)


class Migration(migrations.Migration):
    dependencies = [("crawlmgr", "0002_run_trouble")]
    operations = [migrations.RunPython(mend, migrations.RunPython.noop)]
