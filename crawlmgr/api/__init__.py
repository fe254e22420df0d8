"""The HTTP API under /api/v1/. Each crawler adds its own operations from its `api` module."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.utils.module_loading import autodiscover_modules

from crawlmgr.api.base import api, changes, limit


def load() -> None:
    """Imports the `api` modules of this package and of the crawlers, which register their
    operations on import, and sets the rate limit from the settings. Called once, when the URLs are
    loaded."""
    limit.num_requests, limit.duration = limit.parse_rate(settings.API_RATE)
    import_module("crawlmgr.api.shared")
    import_module("crawlmgr.api.saved")
    autodiscover_modules("api")


__all__ = ["api", "changes", "load"]
