"""Adds sections to the guide's page on strategies for those that it does not describe, such as
strategies added in the settings.
"""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from crawlmgr.admin import help as guide
from focused.admin import titles
from focused.parameters import parameters_of
from focused.strategies import strategy_class


def completed(text: str) -> str:
    """Returns `text`, the guide's page on strategies in Markdown, with a section for every strategy
    that has none; these are inserted before the last section."""
    before, last = text.rsplit("\n## ", 1)
    missing = [name for name in titles.strategies() if f"{{#{_anchor(name)}}}" not in text]
    return "\n## ".join([before, *(_section(name) for name in missing), last])


def _anchor(name: str) -> str:
    return name.replace("_", "-")


def _section(name: str) -> str:
    found = strategy_class(name, settings.TOPIC_STRATEGIES)
    parameters = parameters_of(found.Settings)
    rows = [
        f"- {titles.parameter(one.name, name)} (`{one.name}={one.default}`): {_(one.help)}"
        for one in parameters
    ]
    return "\n".join(
        [
            f"{name} {{#{_anchor(name)}}}",
            "",
            f"{titles.strategy(name)}: {_(found.summary)}",
            "",
            *rows,
            "",
        ]
    )


guide.COMPLETED["strategies"] = completed
