"""Admin views of the API: its tokens, and a list of its operations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tree import Node
from crawlmgr.admin.views import admin_view, back, page, post_view
from crawlmgr.api import api
from crawlmgr.models import ApiToken, TokenRole
from crawlmgr.services import tokens

TAGS = {
    "installation": gettext_noop("Installation"),
    "runs": gettext_noop("Runs"),
    "data": gettext_noop("Data"),
    "exports": gettext_noop("Exports"),
    "forums": gettext_noop("Forums"),
    "topics": gettext_noop("Topics"),
    "search forms": gettext_noop("Search forms"),
}
MANAGES = "auth.change_user"
"""Permission needed to manage tokens: as for users, because a token acts as a user."""


class TokenForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, help_text=gettext_lazy("What it is for.")
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=TokenRole.choices)
    days = forms.IntegerField(
        label=gettext_lazy("Days until it expires"),
        min_value=1,
        max_value=tokens.MAX_DAYS,
        required=False,
        initial=90,
        help_text=gettext_lazy("Empty: it never expires."),
    )

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for field in self.fields.values():
            field.widget.attrs["class"] = "field"


@admin_view("api/", "api", post=MANAGES)
def api_page(request: HttpRequest) -> HttpResponse:
    """Lists tokens and the API's operations; a POST creates a token, whose text is shown in this
    response only."""
    form, text = TokenForm(request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        text, _row = tokens.make(
            chosen["name"],
            chosen["role"],
            days=chosen["days"],
            now=datetime.now(UTC),
            user=request.user,
        )
        form = TokenForm()
    manages = request.user.has_perm(MANAGES)
    context = {
        "form": form,
        "text": text,
        "manages": manages,
        "rows": ApiToken.objects.select_related("created_by") if manages else [],
        "now": datetime.now(UTC),
        "groups": operations(),
        "base": request.build_absolute_uri("/api/v1/"),
        "description": reverse("api-v1:openapi-json"),
    }
    answer = page(request, "desk/api.html", context, title=_("API"), item="api")
    answer.headers["Cache-Control"] = "no-store"
    return answer


@post_view("api/<int:pk>/remove/", "api-remove", MANAGES)
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Revokes a token at once."""
    if not tokens.remove(pk, datetime.now(UTC)):
        raise Http404(_("There is no such token."))
    messages.success(request, _("The token no longer works."))
    return back(request, "api")


def operations() -> dict[str, list[dict[str, Any]]]:
    """Returns the API's operations by the display name of their tag, from the API's OpenAPI
    description, in the current language: dictionaries with `method`, `path`, `summary` and `text`
    (HTML)."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, one in methods.items():
            text = _with_code(_(one["description"])) if one.get("description") else ""
            row = {
                "method": method.upper(),
                "path": path,
                "summary": _(one["summary"]),
                "text": text,
            }
            found.setdefault(_(TAGS[one["tags"][0]]), []).append(row)
    return found


def _with_code(text: str) -> str:
    """Returns the HTML of a text in which the parts between backticks become code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "",
        "{}",
        ((format_html("<code>{}</code>", part) if place % 2 else part,) for place, part in parts),
    )


def branch(request: HttpRequest, item: str) -> Node | None:
    return (
        Node(_("API"), reverse("admin:api"), "api", "api")
        if request.user.has_perm("crawlmgr.view_run")
        else None
    )


desk_site.add_branch(65, branch)
