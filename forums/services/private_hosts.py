"""Corrects forums and runs that were created when the command line allowed every private address:
only their own hosts stay allowed."""

from __future__ import annotations

from typing import Any

from django.apps import apps as installed

from crawlmgr.services import private_hosts


def restrict(apps: Any = installed) -> None:
    """Replaces the permission "*" (every private address) in stored forums and runs by the private
    addresses that users named; called after a restore and by a migration. apps: the app registry
    with the models, in a migration the historical one.
    """
    sites = apps.get_model("forums", "Site").objects
    runs = apps.get_model("crawlmgr", "Run").objects.filter(kind__in=("forum", "forum-discovery"))

    def named(run: Any) -> list[str]:
        return [
            *sites.filter(pk=run.target).values_list("url", flat=True),
            str(run.parameters.get("url", "")),
        ]

    private_hosts.restrict(sites, "settings", lambda site: [site.url])
    private_hosts.restrict(runs, "parameters", named, inside="settings")
