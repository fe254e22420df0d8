"""App configuration of the part shared by the three crawlers."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CrawlmgrConfig(AppConfig):
    name = "crawlmgr"
    verbose_name = _("Crawl manager")

    def ready(self) -> None:
        import_module("crawlmgr.checks")
        import_module("crawlmgr.services.queue")  # imported before anything is queued: it restricts queued tasks to known ones
