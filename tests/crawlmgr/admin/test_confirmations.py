"""Every button that destroys something asks for confirmation, can be undone, or is on a page that
requires typing a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.urls import URLResolver, get_resolver

TEMPLATES = Path(settings.BASE_DIR) / "templates"
FORM = re.compile(r"<form[^>]*method=\"post\".*?</form>", re.DOTALL)
BUTTON = re.compile(r"<button.*?</button>", re.DOTALL)
DESTROYS = re.compile(r"-(?:remove|delete|close|prune|stop|drain)$")
VALUES = re.compile(r"(?:name=\"do\"\s+value=\"(?:remove|delete|drop)\"|name=\"drop_[a-z]+\")")
PAGES = {"forum-delete", "topic-delete", "source-delete"}
"""Pages that show what would be deleted and ask for its name."""
RETURNS = {"forum-rule-remove"}
"""Earlier versions of a forum's model are listed, each with a button that restores it, so applying
one can be undone."""


def posts() -> set[str]:
    """Names of the URL patterns of the web interface whose wording indicates a deletion."""

    def names(patterns: list[Any]) -> Iterator[str]:
        for one in patterns:
            yield from names(one.url_patterns) if isinstance(one, URLResolver) else [one.name or ""]

    return {
        name for name in names(get_resolver("crawlmgr.urls").url_patterns) if DESTROYS.search(name)
    }


def forms() -> list[tuple[str, str]]:
    """Every form that sends something, with the name of its template."""
    return [
        (str(path.relative_to(TEMPLATES)), form)
        for path in sorted(TEMPLATES.rglob("*.html"))
        for form in FORM.findall(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("name", sorted(posts() - PAGES - RETURNS))
def test_what_destroys_asks_first(name: str) -> None:
    own = [(place, form) for place, form in forms() if f"'admin:{name}'" in form]
    assert own, "no button leads there"
    for place, form in own:
        assert all("data-confirm" in button for button in BUTTON.findall(form)), f"{place}: {form}"


def test_what_is_removed_by_a_choice_among_buttons_asks_first() -> None:
    buttons = [
        (place, button)
        for place, form in forms()
        for button in BUTTON.findall(form)
        if VALUES.search(button)
    ]
    buttons += [
        (str(path.relative_to(TEMPLATES)), button)
        for path in TEMPLATES.rglob("settings_presets.html")
        for button in BUTTON.findall(path.read_text(encoding="utf-8"))
        if VALUES.search(button)
    ]
    assert len(buttons) >= 3
    for place, button in buttons:
        assert "data-confirm" in button, f"{place}: {button}"


def test_deletions_of_whole_sites_ask_for_their_name() -> None:
    for name in PAGES:
        folder = {"forum-delete": "forums", "topic-delete": "focused", "source-delete": "deepweb"}[
            name
        ]
        text = (TEMPLATES / folder / "delete.html").read_text(encoding="utf-8")
        assert 'name="name"' in text and "required" in text
