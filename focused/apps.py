"""Django application."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FocusedConfig(AppConfig):
    name = "focused"
    verbose_name = _("Topics")
