"""The parsing functions of the deep-web crawler that `bench hostile` runs on hostile input (very
large or malformed texts)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from crawlmgr.benches.hostile import Reader
from crawlmgr.web.budget import OverBudget, cpu_budget
from deepweb.finder import read_page
from deepweb.reading import Context, read_answer, read_detail
from deepweb.result_list import PageTemplate
from deepweb.search_forms import read_forms
from deepweb.services.forms import classified

ADDRESS = "http://catalogue.example/search?q=word"
FORM = read_forms("<form action=/search><input name=q><input type=submit></form>", ADDRESS)[0]
KNOWN = Context(FORM, {"q": "word"}, 1, 0, PageTemplate(), None, False, "utf-8")


def _page(text: str) -> object:
    with suppress(OverBudget), cpu_budget():
        return classified(read_page(text, ADDRESS).forms, text)
    return None


def _answer(text: str) -> object:
    with suppress(OverBudget):
        return read_answer(text, ADDRESS, KNOWN)
    return None


def _record(text: str) -> object:
    with suppress(OverBudget):
        return read_detail(text, PageTemplate())
    return None


READERS: Mapping[str, tuple[str, Reader]] = {
    "page with forms": ("html", _page),
    "answer": ("html", _answer),
    "record": ("html", _record),
}
