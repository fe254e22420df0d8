"""Base class for lists and forms made by Django's admin, which gives them the same heading as all
other pages."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.text import capfirst
from unfold.admin import ModelAdmin


class DeskModelAdmin(ModelAdmin):
    """A ModelAdmin whose pages have the same heading as all other pages: breadcrumb, then title."""

    list_fullwidth = True
    show_full_result_count = False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            "trail": [],
            "title": capfirst(self.opts.verbose_name_plural),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return super().changeform_view(
            request, object_id, form_url, {"trail": self._trail(), **(extra_context or {})}
        )

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().delete_view(
            request, object_id, {"trail": self._trail(), **(extra_context or {})}
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().history_view(
            request, object_id, {"trail": self._trail(), **(extra_context or {})}
        )

    def _trail(self) -> list[tuple[str, str]]:
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        return [(capfirst(self.opts.verbose_name_plural), address)]
