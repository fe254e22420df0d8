"""Django's admin with the desk as its site. Its pages are loaded with the addresses: commands and workers do without them."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

PAGES = (
    *("dashboard", "runs", "hosts", "archive", "workers", "queue", "users", "exports", "export_rooms", "sessions", "tokens"),
    *("retention", "palette", "alarms", "tiles", "help", "schedules", "list_views"),
)


class DeskConfig(SimpleAdminConfig):
    default_site = "crawlmgr.admin.site.DeskSite"

    def ready(self) -> None:
        super().ready()
        post_migrate.connect(_grant_roles, dispatch_uid="desk-roles")


def load_pages() -> None:
    """Imports each application's `admin` module, then the desk's own pages: whatever registers itself with the site.

    Half of a command's start was this. Whoever needs the site's pages imports `crawlmgr.urls`, which calls it.
    """
    from django.contrib import admin  # not before the models are ready

    autodiscover_modules("admin", register_to=admin.site)
    for name in PAGES:
        import_module(f"crawlmgr.admin.{name}")


def _grant_roles(sender: AppConfig, **signal: Any) -> None:
    """Imports late: the roles need the models."""
    import_module("crawlmgr.admin.roles").grant(sender, **signal)
