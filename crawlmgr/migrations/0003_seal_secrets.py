"""Proxy passwords, keys in headers and cookies that were stored as they are become encrypted, in settings and in runs."""

from typing import Any

from django.db import migrations

from crawlmgr.services import sealed_settings


def mend(apps: Any, _editor: Any) -> None:
    sealed_settings.mend(apps)


class Migration(migrations.Migration):
    dependencies = [
        ("crawlmgr", "0002_run_trouble"),
        ("forums", "0008_named_private_hosts"),
        ("focused", "0005_named_private_hosts"),
        ("deepweb", "0003_named_private_hosts"),
    ]
    operations = [migrations.RunPython(mend, migrations.RunPython.noop)]
