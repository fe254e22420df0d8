"""App configuration of Django's admin with the desk as its site. Admin pages load with the URLs; commands and workers skip
them."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

PAGES = (
    *("dashboard", "runs", "hosts", "archive", "workers", "queue", "users", "exports", "export_rooms", "sessions", "tokens"),
    *("retention", "backups", "palette", "alarms", "tiles", "help", "schedules", "list_views"),
)


class DeskConfig(SimpleAdminConfig):
    default_site = "crawlmgr.admin.site.DeskSite"

    def ready(self) -> None:
        super().ready()
        post_migrate.connect(_grant_roles, dispatch_uid="desk-roles")


def load_pages() -> None:
    """Imports each application's `admin` module, then the desk's own pages; importing them registers their views.

    It took half of a command's start time, so it is not done at start. `crawlmgr.urls` calls it; code that needs the pages
    imports that.
    """
    from django.contrib import admin  # must not be imported before the models are ready

    autodiscover_modules("admin", register_to=admin.site)
    for name in PAGES:
        import_module(f"crawlmgr.admin.{name}")


def _grant_roles(sender: AppConfig, **signal: Any) -> None:
    """Grants roles after a migration; imports late, because the roles module needs the models."""
    import_module("crawlmgr.admin.roles").grant(sender, **signal)
