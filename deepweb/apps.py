"""Django application for the deep web."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DeepwebConfig(AppConfig):
    name = "deepweb"
    verbose_name = _("Deep web")
