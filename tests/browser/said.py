"""What the desk says in the language of a test, by the words that stand in the program."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import translation

LANGUAGES = ["en", pytest.param("zh-hans", marks=pytest.mark.slow)]
"""Of a long journey `make test` makes the one in English; the rooms are looked at in both languages by shorter tests."""

PLACE = re.compile(r"%\((\w+)\)s")


class Said:
    """The desk's words in one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, text: str) -> str:
        """A text without places for values."""
        with translation.override(self.language):
            return translation.gettext(text)

    def part(self, text: str) -> str:
        """The longest part of a text between its places for values."""
        return max((piece for piece in re.split(r"%\(\w+\)s|%%|\n", self(text))), key=len).strip()

    def value(self, text: str, name: str, seen: str) -> str:
        """What stands in a place of a text that is seen on a page. Raises AssertionError where the text is not there."""
        whole = re.escape(self(text).replace("%%", "%"))
        pattern = PLACE.sub(lambda place: f"(?P<{place[1]}>.+?)", whole.replace(r"%\(", "%(").replace(r"\)s", ")s"))
        found = re.search(pattern, seen)
        assert found is not None, f"{pattern} is not in {seen}"
        return found[name]


def speak(page: Any, desk: str, said: Said) -> None:
    """Shows the desk in a language, as a person does who picks it in the menu."""
    if said.language == "en":
        return
    page.goto(f"{desk}/admin/")
    page.click(".desk-side [x-on\\:click='openUserLinks = !openUserLinks']")
    page.click("text=简体中文")
    page.wait_for_selector(f"html[lang={said.language}]")
