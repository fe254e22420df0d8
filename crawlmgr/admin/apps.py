"""Django's admin with the desk as its site; it finds each crawler's `admin` by itself."""

from importlib import import_module

from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate

ROOMS = ("dashboard", "runs", "hosts", "archive", "workers", "queue", "users", "exports", "sessions")


class DeskConfig(AdminConfig):
    default_site = "crawlmgr.admin.site.DeskSite"

    def ready(self) -> None:
        super().ready()
        for name in ROOMS:
            import_module(f"crawlmgr.admin.{name}")
        post_migrate.connect(import_module("crawlmgr.admin.roles").grant, dispatch_uid="desk-roles")
