"""The tree on the left."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Groups and items of the side bar."""
    return []
