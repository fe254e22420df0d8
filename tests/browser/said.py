"""The texts of the web interface in the language of a test, looked up by their English source
text. A long journey runs in one language, half of them in each; shorter tests look at the same
pages in both."""

from __future__ import annotations

import re
from typing import Any

from django.utils import translation

PLACE = re.compile(r"%\((\w+)\)s")


class Said:
    """Translates the texts of the web interface into one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, text: str) -> str:
        """The translation of a text without placeholders."""
        with translation.override(self.language):
            return translation.gettext(text)

    def part(self, text: str) -> str:
        """The longest part of a translated text between its placeholders."""
        return max((piece for piece in re.split(r"%\(\w+\)s|%%|\n", self(text))), key=len).strip()

    def value(self, text: str, name: str, seen: str) -> str:
        """The value that the page text `seen` shows for the placeholder `name` of `text`.
        AssertionError if it lacks the text."""
        whole = re.escape(self(text).replace("%%", "%"))
        pattern = PLACE.sub(
            lambda place: f"(?P<{place[1]}>.+?)", whole.replace(r"%\(", "%(").replace(r"\)s", ")s")
        )
        found = re.search(pattern, seen)
        assert found is not None, f"{pattern} is not in {seen}"
        return found[name]


def speak(page: Any, desk: str, said: Said) -> None:
    """Switches the desk to a language through its menu, as a user does."""
    if said.language == "en":
        return
    page.goto(f"{desk}/admin/")
    page.click(".desk-side [x-on\\:click='openUserLinks = !openUserLinks']")
    page.click("text=简体中文")
    page.wait_for_selector(f"html[lang={said.language}]")
