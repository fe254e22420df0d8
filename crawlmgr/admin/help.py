"""Shows the user guide in the web interface: the pages of `docs/` in the user's language."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import markdown
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from crawlmgr.admin.site import desk_site
from crawlmgr.admin.views import admin_view, page
from crawlmgr.installation import GUIDE

INDEX = "index"
# page of the guide that explains an item of the navigation tree, by the first part of the item's
# key (up to the colon)
BESIDE = {
    "home": "rooms",
    "forums": "forums",
    "site": "forums",
    "board": "forums",
    "forum-add": "forums",
    "plan": "forums",
    "simulations": "forums",
    "topics": "topics",
    "topic": "topics",
    "topic-add": "topics",
    "deepweb": "search-forms",
    "source": "search-forms",
    "source-add": "search-forms",
    "exports": "exports",
    "alarms": "alarms",
    "api": "api",
    "retention": "operation",
    "backups": "operation",
    "archive": "operation",
    "queue": "rooms",
    "runs": "rooms",
    "workers": "troubleshooting",
    "events": "troubleshooting",
    "hosts": "troubleshooting",
}
COMPLETED: dict[str, Callable[[str], str]] = {}
"""Functions that complete the text of a page of the guide with what only the program knows, such as
defaults, by the page's name; the crawlers add theirs."""
_LINK = re.compile(r'href="(?!https?:|#|/)([a-z-]+)\.md(#[a-z-]+)?"')


def pages() -> list[str]:
    """Returns the names of all pages of the guide."""
    return sorted(path.stem for path in (GUIDE / "en").glob("*.md"))


@lru_cache(maxsize=64)
def laid_out(language: str, name: str) -> tuple[str, str]:
    """Returns the title and the HTML of a page of the guide. The files are part of the project, so
    their HTML is trusted. Raises FileNotFoundError if the page does not exist in this language."""
    text = (GUIDE / language / f"{name}.md").read_text(encoding="utf-8")
    text = COMPLETED.get(name, str)(text)
    title, _line, rest = text.removeprefix("# ").partition("\n")
    html = markdown.markdown(rest, extensions=["tables", "fenced_code", "attr_list"])
    html = _LINK.sub(lambda found: f'href="{_address(found[1])}{found[2] or ""}"', html)
    html = html.replace("<table>", '<div class="scroll"><table class="list">').replace(
        "</table>", "</table></div>"
    )
    return title, re.sub(r'<a href="\.\./posts\.ipynb">([^<]*)</a>', r"<code>docs/\1</code>", html)


def _address(name: str) -> str:
    return reverse("admin:help") if name == INDEX else reverse("admin:help-page", args=[name])


@admin_view("help/", "help")
def index(request: HttpRequest) -> HttpResponse:
    """Shows the table of contents of the guide."""
    return _show(request, INDEX)


@admin_view("help/<slug:name>/", "help-page")
def one(request: HttpRequest, name: str) -> HttpResponse:
    """Shows a page of the guide."""
    if name not in pages():
        raise Http404(_("There is no such page."))
    return _show(request, name)


def _show(request: HttpRequest, name: str) -> HttpResponse:
    language = "zh" if (get_language() or "").startswith("zh") else "en"
    title, html = laid_out(language, name)
    trail = [] if name == INDEX else [(_("Guide"), reverse("admin:help"))]
    shown = {"html": mark_safe(html)}  # noqa: S308 - our own files
    return page(request, "desk/help.html", shown, title=title, item="help", trail=trail)


def beside(item: str) -> str:
    """Returns the address of the guide's page that explains an item of the navigation tree, given
    by its key; the address of the guide's table of contents if no page explains it."""
    name = BESIDE.get(item.partition(":")[0], INDEX)
    return _address(name)


desk_site.add_page(90, gettext_lazy("Guide"), "help", "help", "help")
