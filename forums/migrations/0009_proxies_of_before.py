"""Proxies that were set before private ones had to be allowed go on as they were; each is told in a line."""

import sys
from typing import Any

from django.db import migrations


def allow(apps: Any, _editor: Any) -> None:
    for site in apps.get_model("forums", "Site").objects.filter(settings__has_key="proxy"):
        site.settings = {**site.settings, "proxy_private": True, "proxy_resolves": True}
        site.save(update_fields=["settings"])
        sys.stderr.write(f"Warning: the proxy of forum {site.pk} may lie on a private network, as before; see the forum's settings.\n")
    for run in apps.get_model("crawlmgr", "Run").objects.filter(kind="forum", parameters__settings__has_key="proxy", finished=None):
        run.parameters = {**run.parameters, "settings": {**run.parameters["settings"], "proxy_private": True, "proxy_resolves": True}}
        run.save(update_fields=["parameters"])


class Migration(migrations.Migration):
    dependencies = [("forums", "0008_named_private_hosts"), ("crawlmgr", "0004_open_private")]
    operations = [migrations.RunPython(allow, migrations.RunPython.noop)]
