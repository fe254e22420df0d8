"""Editing a saved forum and its model: invalid input changes nothing, changes are recorded with
their author, versions can be restored."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from crawlmgr.access import vault
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Run
from forums.discovery import SiteModel, structures
from forums.discovery.model import Layout, PageNumbering
from forums.models import Board, Origin, Site, StructureVersion
from forums.reading import PageKind
from forums.reading.corrections import KindRules, SiteCorrections
from forums.sites import sites
from tests.crawlmgr.admin.rows import EVIL, NOW, site, user

pytestmark = pytest.mark.django_db
MODEL = SiteModel(
    name="A forum",
    root="https://forum.example/",
    engine="phpbb",
    timezone="UTC",
    day_first=True,
    posts_per_page=20,
    patterns=(("list", ("forum.example/f/#",)), ("thread", ("forum.example/t/#-*",))),
    list_flip=PageNumbering("?page={n}"),
    thread_flip=PageNumbering("?start={n}", 20, 0),
    layouts=(Layout("threadlist", 20, ("title", "url", "replies"), ("topic", "row")),),
    pages_read=12,
)
FORM: dict[str, Any] = {
    "name": "Mine",
    "timezone": "Europe/Berlin",
    "delay_seconds": "2.5",
    "connections": "2",
    "history_days": "30",
    "max_pages": "200",
    "interval": "3600",
    "proxy": "http://proxy.example:3128",
    "headers": "Accept-Language: de\nX-Mine: 1",
    "respect_robots": "on",
    "use_apis": "on",
}


@pytest.fixture(autouse=True)
def no_host_is_known() -> None:
    hosts.forget()


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


@pytest.fixture
def forum() -> Site:
    made = site()
    Site.objects.filter(pk=made.pk).update(structure=MODEL.to_json())
    for number in range(3):
        Board.objects.create(
            site=made, name=f"board {number}", url=str(number), key=str(number), position=number
        )
    made.refresh_from_db()
    return made


def boards() -> list[int]:
    return list(Board.objects.order_by("id").values_list("pk", flat=True))


def test_a_saved_forum_is_edited_and_who_did_it_is_told(client: Client, forum: Site) -> None:
    client.force_login(user("administrator"))  # only administrators may allow private addresses
    answer = client.post(
        f"/admin/forums/site/{forum.pk}/edit/", {**FORM, "board": boards()[:2], "private": "on"}
    )
    assert answer.headers["Location"] == f"/admin/forums/site/{forum.pk}/"
    forum.refresh_from_db()
    assert (forum.name, forum.timezone) == ("Mine", "Europe/Berlin")
    assert vault.opened(forum.settings) == {
        "delay_seconds": 2.5,
        "connections": 2,
        "history_days": 30,
        "proxy": "http://proxy.example:3128",
        "headers": {"Accept-Language": "de", "X-Mine": "1"},
        "allow_private": "forum.example",
    }
    assert list(Board.objects.order_by("id").values_list("enabled", "interval_seconds")) == [
        (True, 3600),
        (True, 3600),
        (False, 3600),
    ]
    told = Event.objects.get(code="site_edited")
    assert told.text.endswith("(administrator)") and told.host_id == forum.host_id
    page = client.get(f"/admin/forums/site/{forum.pk}/edit/").content.decode()
    assert f"X-Mine: {vault.DOTS}" in page and 'value="2.5"' in page
    assert (
        "applies from the next visit on" in page
    )  # note on a changed time zone, which leaves stored times unchanged


def test_the_exception_for_private_addresses_goes_with_its_tick(
    client: Client, forum: Site
) -> None:
    client.force_login(user("administrator"))
    client.post(
        f"/admin/forums/site/{forum.pk}/edit/", {**FORM, "private": "on", "board": boards()}
    )
    client.post(f"/admin/forums/site/{forum.pk}/edit/", {**FORM, "board": boards()})
    forum.refresh_from_db()
    assert "allow_private" not in forum.settings


OPENING = ({"private": "on"}, {"proxy_private": "on"}, {"proxy_resolves": "on"})


@pytest.mark.parametrize("more", OPENING, ids=lambda more: next(iter(more)))
def test_an_operator_opens_nothing_private(
    client: Client, forum: Site, more: dict[str, str]
) -> None:
    answer = client.post(
        f"/admin/forums/site/{forum.pk}/edit/", {**FORM, **more, "board": boards()}
    )
    assert (
        answer.status_code == 422
        and "Only an administrator may allow that." in answer.content.decode()
    )
    forum.refresh_from_db()
    assert forum.settings == {}


def test_what_an_administrator_opened_stays_with_an_operators_edit_but_for_another_proxy(
    client: Client, forum: Site
) -> None:
    administrator = Client()
    administrator.force_login(user("administrator"))
    address = f"/admin/forums/site/{forum.pk}/edit/"
    opened = {name: value for more in OPENING for name, value in more.items()}
    assert administrator.post(address, {**FORM, **opened, "board": boards()}).status_code == 302
    assert (
        client.post(address, {**FORM, "delay_seconds": "4", "board": boards()}).status_code == 302
    )
    forum.refresh_from_db()
    open_still = {
        name: forum.settings.get(name)
        for name in ("allow_private", "proxy_private", "proxy_resolves", "delay_seconds")
    }
    assert open_still == {
        "allow_private": "forum.example",
        "proxy_private": True,
        "proxy_resolves": True,
        "delay_seconds": 4,
    }
    assert (
        client.post(
            address, {**FORM, "proxy": "http://127.0.0.1:5432", "board": boards()}
        ).status_code
        == 302
    )
    forum.refresh_from_db()
    assert (
        not {"proxy_private", "proxy_resolves"} & set(forum.settings)
        and forum.settings["allow_private"] == "forum.example"
    )
    assert administrator.post(address, {**FORM, "board": boards()}).status_code == 302
    forum.refresh_from_db()
    assert "allow_private" not in forum.settings


@pytest.mark.parametrize("address", ["forums/add/", "topics/add/", "deepweb/add/"])
def test_an_operator_adds_nothing_with_private_addresses(client: Client, address: str) -> None:
    asked = {
        "address": "http://10.0.0.1/",
        "addresses": "http://10.0.0.1/",
        "seeds": "http://10.0.0.1/",
        "name": "x",
        "keywords": "w",
        "delay_seconds": "1",
        "depth": "1",
        "pages": "9",
        "private": "on",
    }
    answer = client.post(f"/admin/{address}", asked)
    assert (
        answer.status_code == 422
        and "Only an administrator may allow that." in answer.content.decode()
    )
    assert not Run.objects.exists()
    administrator = Client()
    administrator.force_login(user("administrator"))
    assert administrator.post(f"/admin/{address}", asked).status_code == 302


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"timezone": "Mars/Olympus"}, "no such time zone"),
        ({"name": " "}, 'class="wrong"'),
        ({"delay_seconds": "-1"}, 'class="wrong"'),
        ({"connections": "99"}, 'class="wrong"'),
        ({"proxy": "socks5://x:1"}, "not a proxy address"),
        ({"proxy": "http://"}, "not a proxy address"),
        ({"proxy": "http://x:99999"}, "not a proxy address"),
        ({"headers": "ok: 1\nnot a header"}, "line 2"),
        ({"headers": "Cookie: a=b"}, "Cookie is not set here"),
        ({"headers": "User-Agent: me"}, "not set here"),
        ({"headers": "X: a\x07b"}, "control characters"),
        ({"headers": "X: \u4e2d"}, "beyond ASCII"),
        ({"history_days": "x"}, 'class="wrong"'),
        ({"interval": "7"}, 'class="wrong"'),
    ],
)
def test_what_is_wrong_is_told_in_a_line_and_nothing_changes(
    client: Client, forum: Site, wrong: dict[str, str], word: str
) -> None:
    before = Site.objects.filter(pk=forum.pk).values().get()
    answer = client.post(
        f"/admin/forums/site/{forum.pk}/edit/", {**FORM, **wrong, "board": boards()}
    )
    assert answer.status_code == 422 and word in answer.content.decode()
    assert Site.objects.filter(pk=forum.pk).values().get() == before and not Event.objects.exists()


def test_editing_nothing_says_so(client: Client, forum: Site) -> None:
    client.post(f"/admin/forums/site/{forum.pk}/edit/", {**FORM, "board": boards()})
    answer = client.post(
        f"/admin/forums/site/{forum.pk}/edit/",
        {**FORM, "interval": "", "board": boards()},
        follow=True,
    )
    assert "Nothing was changed." in answer.content.decode() and Event.objects.count() == 1


def test_viewers_neither_edit_nor_see_the_form_but_see_the_model(forum: Site) -> None:
    viewer = Client()
    viewer.force_login(user("viewer"))
    assert viewer.get(f"/admin/forums/site/{forum.pk}/edit/").status_code == 403
    assert viewer.post(f"/admin/forums/site/{forum.pk}/edit/", FORM).status_code == 403
    page = viewer.get(f"/admin/forums/site/{forum.pk}/model/")
    assert page.status_code == 200 and b"Save as a new version" not in page.content
    for act in ("", "restore/", "keep/", "take-back/"):
        assert (
            viewer.post(f"/admin/forums/site/{forum.pk}/model/{act}", {"version": "1"}).status_code
            == 403
        )


def test_the_proxys_password_and_header_values_are_not_in_the_event(forum: Site) -> None:
    wishes = {
        "settings": {"proxy": "http://me:secret@proxy.example:3128", "headers": {"X-Key": "secret"}}
    }
    sites.update(forum.pk, wishes, now=NOW)
    assert "secret" not in Event.objects.get().text and "X-Key" in Event.objects.get().text


def test_the_model_is_shown_in_words(client: Client, forum: Site) -> None:
    text = client.get(f"/admin/forums/site/{forum.pk}/model/").content.decode()
    assert (
        "day before month" in text
        and "forum.example/t/#-*" in text
        and "so page 2 is ?start=20" in text
        and "title, address, replies" in text
    )


def test_a_model_edited_by_hand_is_a_version_and_the_old_one_comes_back(
    client: Client, forum: Site
) -> None:
    address = f"/admin/forums/site/{forum.pk}/model/"
    client.post(
        address,
        {
            "order": "month",
            "posts_per_page": "15",
            "pattern_list": "forum.example/f/#",
            "pattern_thread": "forum.example/x/#\nforum.example/t/#",
        },
    )
    forum.refresh_from_db()
    assert (forum.structure["day_first"], forum.structure["posts_per_page"], forum.version) == (
        False,
        15,
        2,
    )
    assert forum.structure["patterns"]["thread"] == ["forum.example/x/#", "forum.example/t/#"]
    made = StructureVersion.objects.get(number=2)
    assert (
        made.by is not None
        and made.by.username == "operator"
        and ["day_first", "True", "False"] in made.changes
    )
    assert structures.model_of(forum) is not None
    client.post(f"{address}restore/", {"version": "1"})
    forum.refresh_from_db()
    assert forum.structure == MODEL.to_json() and forum.version == 3
    assert list(StructureVersion.objects.order_by("number").values_list("origin", flat=True)) == [
        Origin.LEARNED,
        Origin.EDITED,
        Origin.RESTORED,
    ]
    assert {"structure_edited", "structure_restored"} == set(
        Event.objects.values_list("code", flat=True)
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"posts_per_page": "x"},
        {"posts_per_page": "99999"},
        {"pattern_list": "two words"},
        {"pattern_list": "x" * 301},
    ],
)
def test_a_wrong_model_is_refused(client: Client, forum: Site, wrong: dict[str, str]) -> None:
    client.post(
        f"/admin/forums/site/{forum.pk}/model/",
        {"order": "day", "posts_per_page": "20", "pattern_thread": "a", **wrong},
    )
    forum.refresh_from_db()
    assert forum.structure == MODEL.to_json() and not StructureVersion.objects.exists()


def test_corrections_are_listed_and_taken_back_one_by_one(client: Client, forum: Site) -> None:
    rules = SiteCorrections(
        ((PageKind.thread, KindRules("article", (("author", ".by"), ("posted", "time")))),),
        ((r"/t/\d+", PageKind.thread),),
    )
    structures.correct(forum.pk, rules, ["rule.thread.author", "", ".by"], now=NOW)
    address = f"/admin/forums/site/{forum.pk}/model/"
    assert "thread: author" in client.get(address).content.decode()
    for key in ("thread.author", "thread.", r"address./t/\d+"):
        client.post(f"{address}take-back/", {"key": key})
    forum.refresh_from_db()
    assert structures.rules_of(forum) == SiteCorrections(
        ((PageKind.thread, KindRules("", (("posted", "time"),))),)
    )
    assert (
        "no such correction"
        in client.post(
            f"{address}take-back/", {"key": "thread.number"}, follow=True
        ).content.decode()
    )


def test_the_banner_tells_of_a_new_layout_until_somebody_has_seen_it(
    client: Client, forum: Site
) -> None:
    told = {
        "at": NOW.isoformat(),
        "run": None,
        "kind": "threadlist",
        "reasons": ["marks", EVIL],
        "roles": ["replies"],
        "state": "disagrees",
        "verdict": ["boards_lost"],
    }
    Site.objects.filter(pk=forum.pk).update(layout=told)
    text = client.get(f"/admin/forums/site/{forum.pk}/").content.decode()
    assert (
        "does not agree with the stored data" in text
        and "boards were not found again" in text
        and EVIL not in text
    )
    client.post(f"/admin/forums/site/{forum.pk}/model/keep/")
    assert "layout-banner" not in client.get(f"/admin/forums/site/{forum.pk}/").content.decode()


def test_a_site_without_a_model_says_so(client: Client) -> None:
    assert (
        b"There is no model of this forum"
        in client.get(f"/admin/forums/site/{site(2).pk}/model/").content
    )


def test_deleting_tells_who_did_it(forum: Site) -> None:
    sites.delete_site(forum.pk, NOW, user("administrator"))
    assert Event.objects.get(code="site_deleted").text.endswith("(administrator)")
