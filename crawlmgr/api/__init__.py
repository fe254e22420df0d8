"""The API for programs, under /api/v1/. Each crawler adds its own part from its `api` module."""

from __future__ import annotations

from django.utils.module_loading import autodiscover_modules

from crawlmgr.api.base import api, changes


def load() -> None:
    """Imports the shared part and each application's."""
    from crawlmgr.api import shared  # noqa: F401 - its import adds the routes

    autodiscover_modules("api")


__all__ = ["api", "changes", "load"]
