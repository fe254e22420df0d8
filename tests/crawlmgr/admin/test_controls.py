"""Checks that every control of the web interface works: each link of each page leads to a page,
each form to an address that accepts it, and the view behind it reads every field that the form
sends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.db import transaction
from django.http import QueryDict
from django.test import Client
from django.utils import timezone
from lxml import html

from tests.benches.desk import rows as desk_rows
from tests.benches.desk.bulk import Sizes
from tests.benches.desk.desk import places
from tests.crawlmgr.admin.rows import user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once, pytest.mark.slow]
SIZES = {"forums": 3, "pages": 600, "posts": 4000, "runs": 100, "topic_pages": 40}
NEVER_READ = {"csrfmiddlewaretoken"}
ELSEWHERE = (
    "/admin/logout/",
    "/static/",
    "/i18n/",
    "/admin/auth/",
    "/admin/django_q/",
    "/admin/password_change/",
)


@pytest.fixture
def sizes() -> Sizes:
    """Creates some rows of every kind, as `bench desk` does."""
    made = Sizes(**SIZES, now=timezone.now().replace(microsecond=0))
    desk_rows.fill(made)
    return made


@pytest.fixture
def client() -> Client:
    made = Client(raise_request_exception=False)
    made.force_login(user("first"))
    return made


def page_addresses(sizes: Sizes) -> list[str]:
    found = [address for _label, address, why in places(sizes) if address and not why]
    return [one for one in found if one.startswith("/admin/") and not one.startswith(ELSEWHERE)]


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return {}


@pytest.fixture
def found(client: Client, sizes: Sizes, kept: dict[str, Any]) -> dict[str, Any]:
    """Parsed HTML of every view that is a page, by address, as the first test found it: the rows of
    each test have the same numbers."""
    kept.update({} if kept else fetched(client, sizes))
    return kept


def fetched(client: Client, sizes: Sizes) -> Iterator[tuple[str, Any]]:
    for address in page_addresses(sizes):
        answer = client.get(address)
        if (
            answer.status_code == 200
            and not answer.streaming
            and answer.headers["Content-Type"].startswith("text/html")
        ):
            yield address, html.document_fromstring(answer.content.decode() or "<p>")


def test_every_link_leads_to_a_page(client: Client, found: dict[str, Any]) -> None:
    wrong: list[str] = []
    asked: dict[str, int] = {}
    for address, tree in found.items():
        for link in tree.xpath("//a[@href]"):
            parts = urlsplit(urljoin(address, link.get("href")))
            target = f"{parts.path}?{parts.query}" if parts.query else parts.path
            if (
                parts.netloc
                or not parts.path.startswith("/admin/")
                or parts.path.startswith(ELSEWHERE)
            ):
                continue
            if _like(target) not in asked:
                answer = client.get(target)
                asked[_like(target)] = answer.status_code
                answer.close()
                if answer.status_code not in (200, 302):
                    wrong.append(f"{address}: {target}: {answer.status_code}")
            if (
                parts.fragment
                and parts.path == address.partition("?")[0]
                and not tree.xpath(f"//*[@id='{parts.fragment}']")
            ):
                wrong.append(f"{address}: nothing is called {parts.fragment}")
    missing = [
        one for one in wrong if "/download" not in one and "/exports/file/" not in one
    ]  # the test data has no files
    assert len(asked) > 100 and not missing, "\n".join(missing)


class Watched(QueryDict):
    """Submitted fields that record which names are read."""

    asked: set[str]

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def getlist(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().getlist(key, default)

    def __iter__(self) -> Iterator[str]:
        self.asked.update(list(super().__iter__()))
        return super().__iter__()


@contextmanager
def watched(asked: set[str]) -> Iterator[None]:
    """While the context is open, records which fields of a request the views read."""
    plain_post, plain_get = WSGIRequest.POST, WSGIRequest.GET

    def note(found: QueryDict) -> QueryDict:
        made = Watched("", mutable=True)
        made.asked = asked
        for name, values in found.lists():
            QueryDict.setlist(made, name, values)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            WSGIRequest, "POST", property(lambda self: note(plain_post.fget(self)), plain_post.fset)
        )
        patch.setattr(
            WSGIRequest, "GET", property(lambda self: note(plain_get.__get__(self, WSGIRequest)))
        )
        yield


def _value(field: Any) -> str:
    """A value that is valid for a form field."""
    if field.tag == "select":
        options = [one.get("value", one.text_content()) for one in field.iter("option")]
        chosen = [
            one.get("value", one.text_content())
            for one in field.iter("option")
            if one.get("selected") is not None
        ]
        return (chosen or options or [""])[-1]
    if field.tag == "textarea":
        return field.text or "words"
    given = field.get("value")
    if given not in (None, ""):
        return str(given)
    return {
        "number": field.get("min") or "1",
        "url": "http://a.example/",
        "search": "a",
        "date": "2026-01-01",
    }.get(field.get("type", "text"), "a")


def _sent(form: Any, tree: Any) -> tuple[dict[str, list[str]], list[Any]]:
    """The names and values that a form sends, and its named buttons."""
    fields: dict[str, list[str]] = {}
    inside = list(form.iter("input", "select", "textarea", "button"))
    if form.get("id"):
        inside += tree.xpath(f"//*[@form='{form.get('id')}']")
    buttons = []
    for one in inside:
        kind = one.get("type", "submit" if one.tag == "button" else "text")
        if one.tag == "button":
            if kind == "submit" and one.get("disabled") is None:
                buttons.append(one)
        elif one.get("name") and kind not in ("file", "submit") and one.get("disabled") is None:
            fields.setdefault(one.get("name"), []).append(_value(one))
    return fields, buttons


def _like(address: str) -> str:
    """An address without its row numbers, so that pages of the same kind are equal."""
    return re.sub(r"\d+", "0", re.sub(r"(after|before)=[^&]*", r"\1=0", address))


def test_every_form_is_taken_and_every_field_is_read(client: Client, found: dict[str, Any]) -> None:
    wrong: list[str] = []
    known: set[tuple[str, ...]] = set()
    for address, tree in found.items():
        for form in tree.iter("form"):
            fields, buttons = _sent(form, tree)
            method = form.get("method", "get").lower()
            action = urljoin(address, form.get("action") or address)
            if (
                form.get("method") == "dialog"
                or action.startswith(ELSEWHERE)
                or "/admin/api/" in action
            ):
                continue
            if form.xpath("ancestor::dialog"):
                continue  # filled by the palette's script
            if form.get("data-do") and form.get("data-do") not in fields:
                continue  # shown only after a row is selected, which this list does not allow
            key = (_like(f"{method} {action}"), *sorted(fields))
            if key in known:
                continue
            known.add(key)
            wrong += [f"{address}: {one}" for one in _dead(client, method, action, fields, buttons)]
    assert len(known) > 60 and not wrong, "\n".join(wrong)


def _dead(
    client: Client, method: str, action: str, fields: dict[str, list[str]], buttons: list[Any]
) -> list[str]:
    """Submits a form with each of its buttons; returns its problems: fields that no view reads, and
    addresses that reject it."""
    asked: set[str] = set()
    wrong, names = [], set(fields)
    bare = {
        name: [""] if values == ["a"] else values for name, values in fields.items()
    }  # optional fields are sent empty too
    for button, filled in product(buttons or [None], (fields, bare)):
        target, data = action, dict(filled)
        if button is not None and button.get("name"):
            data[button.get("name")] = [button.get("value", "")]
            names.add(button.get("name"))
        if button is not None and button.get("formaction"):
            target = button.get("formaction")
        with transaction.atomic(), watched(asked):
            send = getattr(client, method)
            answer = send(target.partition("?")[0] if method == "get" else target, data)
            if answer.status_code not in (200, 302, 422):
                wrong.append(f"{method} {target}: {answer.status_code}")
            answer.close()
            transaction.set_rollback(True)
    dead = sorted(names - asked - NEVER_READ)
    return [*wrong, *([f"{method} {action}: nothing reads {', '.join(dead)}"] if dead else [])]
