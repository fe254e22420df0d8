"""Corrects search sites and runs for which an older version of the command line allowed requests to
all private addresses: afterwards only their own hosts are allowed.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps as installed
from django.db.models import Q

from crawlmgr.services import private_hosts


def restrict(apps: Any = installed) -> None:
    """Corrects stored sites and runs that may request any private address, so that they may request
    only those of their own hosts. Called after a migration or a restore; `apps` is the registry of
    models as they are at that point.
    """
    sources = apps.get_model("deepweb", "Source").objects
    runs = apps.get_model("crawlmgr", "Run").objects.filter(
        kind__in=("deepweb-find", "deepweb-harvest")
    )

    def named(run: Any) -> list[str]:
        chosen = Q(pk__in=run.parameters.get("sources", ())) | Q(
            forms__in=run.parameters.get("forms", ())
        )
        return list(sources.filter(chosen).values_list("url", flat=True).distinct())

    private_hosts.restrict(sources, "parameters", lambda source: [source.url])
    private_hosts.restrict(runs, "parameters", named, inside="settings")
