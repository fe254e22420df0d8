"""Django app configuration that makes `DeskSite` the admin site. The admin's modules are imported
with the URLs, so that commands and workers need not load them."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

PAGES = (
    *(f"crawlmgr.admin.{name}" for name in ("dashboard", "palette", "help", "table_page")),
    *(f"crawlmgr.exports.{name}" for name in ("desk", "downloads")),
    *(
        f"crawlmgr.{noun}.desk"
        for noun in (
            "access",
            "alarms",
            "archive",
            "frontier",
            "runs",
            "schedule",
            "upkeep",
            "workers",
        )
    ),
)


class DeskConfig(SimpleAdminConfig):
    default_site = "crawlmgr.admin.site.DeskSite"

    def ready(self) -> None:
        super().ready()
        post_migrate.connect(_grant_roles, dispatch_uid="desk-roles")


def load_pages() -> None:
    """Imports each application's `admin` module, then the modules of PAGES; importing them
    registers their views.

    Called by `crawlmgr.urls`, not when the program starts, because these imports would double the
    start time of a command. Code that needs the views imports `crawlmgr.urls`."""
    from django.contrib import admin  # must not be imported before the models are ready

    autodiscover_modules("admin", register_to=admin.site)
    for name in PAGES:
        import_module(name)


def _grant_roles(sender: AppConfig, **signal: Any) -> None:
    """Grants the permissions of the roles after a migration."""
    # needs the models, which can be imported only once the applications are loaded
    from crawlmgr.access import roles

    roles.grant(sender, **signal)
