"""Corrects topics and runs for which an older version of the command line allowed requests to all
private addresses: afterwards only the private hosts of their seeds are allowed.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps as installed

from crawlmgr.services import private_hosts


def restrict(apps: Any = installed) -> None:
    """Replaces the permission to request any private address, in stored settings of topics and
    runs, by one for the private hosts of their seeds. Called after a migration or a restore; `apps`
    is the registry of models as they are at that point.
    """
    topics, seeds = (
        apps.get_model("focused", "Topic").objects,
        apps.get_model("focused", "Seed").objects,
    )
    runs = apps.get_model("crawlmgr", "Run").objects.filter(kind__in=("topic", "topic-samples"))

    def own(pk: int) -> list[str]:
        return list(seeds.filter(topic_id=pk).values_list("url", flat=True))

    private_hosts.restrict(topics, "settings", lambda topic: own(topic.pk))
    private_hosts.restrict(
        runs,
        "parameters",
        lambda run: [*own(run.target), *run.parameters.get("urls", [])],
        inside="settings",
    )
