"""Django's admin with the desk as its site; it finds `crawlmgr.admin` and each crawler's `admin` by itself."""

from django.contrib.admin.apps import AdminConfig


class DeskConfig(AdminConfig):
    default_site = "crawlmgr.admin.site.DeskSite"
