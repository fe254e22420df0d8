"""LongSelect renders the same options as Django's own select widget."""

from __future__ import annotations

import re

import pytest
from django.forms import Select

from crawlmgr.admin.forms import LongSelect

CHOICES = [("", "– choose –"), (1, "<b>one</b>"), (2, "two & three"), ("x", "four")]


@pytest.mark.parametrize("value", [None, "", 1, "2", "x", "unknown"])
def test_it_is_the_same_select(value: object) -> None:
    given = {"id": "id_site", "required": True}
    quick = LongSelect(attrs={"class": "field"}, choices=CHOICES).render("site", value, given)
    plain = Select(attrs={"class": "field"}, choices=CHOICES).render("site", value, given)

    def parts(html: str) -> list[list[str]]:
        return [
            sorted(re.findall(r'[^\s<>"=]+(?:="[^"]*")?', piece))
            for piece in re.sub(r"\s*\n\s*", "", html).split("<")
            if piece
        ]

    assert parts(quick) == parts(plain)
