"""The HTTP API under /api/v1/. Each crawler adds its own operations from its `api` module."""

from __future__ import annotations

from django.conf import settings
from django.utils.module_loading import autodiscover_modules

from crawlmgr.api.base import api, changes, limit


def load() -> None:
    """Imports the `api` modules of this package and of the crawlers, which register their
    operations on import, and sets the rate limit from the settings. Called once, when the URLs are
    loaded."""
    limit.num_requests, limit.duration = limit.parse_rate(settings.API_RATE)
    # both import `base` from this package, to which they add their operations
    from crawlmgr.api import shared  # noqa: F401

    autodiscover_modules("api")


__all__ = ["api", "changes", "load"]
