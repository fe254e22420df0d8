"""The tabs above the pages of one forum, or of the plan that all forums share."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _


def of_forum(request: HttpRequest, pk: int, here: str) -> list[tuple[str, str, bool]]:
    """Returns the tabs of a forum's pages that the user may see: title, address, and whether it is
    the current page (`here`). `pk` 0 stands for all forums: then the tabs are those of their common
    plan."""
    planned = [
        (_("Plan"), "forum-plan"),
        (_("Tuning"), "forum-tuning"),
        (_("Delays"), "forum-delays"),
    ]
    pages = planned if request.user.has_perm("forums.view_plan") else []
    if pk:
        pages = [(_("Overview"), "forum"), *pages, (_("Model"), "forum-model")]
        if request.user.has_perm("forums.change_site"):
            pages += [(_("Login"), "forum-login"), (_("Edit"), "forum-edit")]
    return [(title, reverse(f"admin:{name}", args=[pk]), name == here) for title, name in pages]
