"""Tests of correcting a forum's model in the web interface: stored pages with their fields
coloured, a preview of a correction's effect before it is saved, and the saved rule, which the next
visit applies."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from crawlmgr.frontier import hosts
from forums.models import Origin, Site, StructureVersion, Thread
from tests.crawlmgr.admin.rows import user
from tests.forums.test_crawl import added, crawl, read_once
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(threads=6)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


@pytest.fixture
def forum(server: ForumServer) -> Site:
    return read_once(server)


@pytest.fixture
def client() -> Client:
    from django.contrib.auth.models import Group

    Group.objects.get_or_create(name="operator")
    made = Client()
    made.force_login(user("first"))
    return made


def test_rows_are_shown_with_their_fields_and_never_as_markup(
    client: Client, forum: Site, server: ForumServer
) -> None:
    for thread in server.forum.all.values():
        thread.title = f"<img src=x onerror=alert(1)> {thread.title}"
    crawl(forum)
    text = client.get(f"/admin/forums/site/{forum.pk}/correct/?kind=threadlist").content.decode()
    assert text.count('class="anatomy"') == 5 and 'title="replies"' in text and "hue-d" in text
    assert "<img src=x" not in text and "&lt;img src=x" in text
    for kind in ("thread", "index"):
        page = client.get(f"/admin/forums/site/{forum.pk}/correct/?kind={kind}").content.decode()
        assert 'class="anatomy"' in page, kind


def test_a_click_asks_what_it_is_and_the_effect_is_shown_before_saving(
    client: Client, forum: Site
) -> None:
    base = f"/admin/forums/site/{forum.pk}/correct/"
    asked = client.get(base, {"kind": "threadlist", "selector": ".views"}).content.decode()
    assert 'name="role" value="replies"' in asked and 'id="effects"' not in asked
    shown = client.post(
        f"{base}?kind=threadlist", {"try": "1", "selector": ".views", "role": "replies"}
    ).content.decode()
    assert 'id="effects"' in shown and shown.count("5 → 5") >= 3 and "Save the correction" in shown
    assert (
        Site.objects.get().rules == {}
        and not StructureVersion.objects.filter(origin=Origin.CORRECTED).exists()
    )


def test_a_saved_correction_is_a_version_that_the_next_visit_reads_by(
    client: Client, forum: Site, server: ForumServer
) -> None:
    base = f"/admin/forums/site/{forum.pk}/correct/"
    answer = client.post(f"{base}?kind=threadlist", {"role": "replies", "selector": ".views"})
    assert answer.headers["Location"] == f"/admin/forums/site/{forum.pk}/model/"
    forum.refresh_from_db()
    assert forum.version == 2 and forum.rules["kinds"]["threadlist"]["fields"] == {
        "replies": ".views"
    }
    made = StructureVersion.objects.get(number=2)
    assert made.by is not None and made.changes == [["rule.threadlist.replies", "", ".views"]]
    crawl(forum)
    top = Thread.objects.get(url__endswith="/topic/3")
    assert top.replies == 3 * 37 % 900 + 12
    client.post(f"/admin/forums/site/{forum.pk}/model/take-back/", {"key": "threadlist.replies"})
    crawl(forum)
    top.refresh_from_db()
    assert top.replies == len(server.forum.all[3].posts) - 1


def test_a_page_is_shown_as_visits_read_it_with_what_was_learned(
    client: Client, forum: Site
) -> None:
    learned = {"threadlist": {"records": "", "fields": {"replies": ".views"}}}
    forum.structure["rules"] = {"kinds": learned, "addresses": []}
    forum.save(update_fields=["structure"])
    base = f"/admin/forums/site/{forum.pk}/correct/"
    text = client.get(base, {"kind": "threadlist"}).content.decode()
    shown = re.findall(r'title="replies">\s*([^<\s]+)\s*<', text)
    assert shown and set(map(int, shown)) <= {number * 37 % 900 + 12 for number in range(1, 99)}
    effect = client.post(
        f"{base}?kind=threadlist", {"try": "1", "selector": ".views", "role": "replies"}
    ).content.decode()
    assert 'id="effects"' in effect and "Nothing is saved yet." not in effect, "nothing changes"


def test_after_a_correction_the_way_leads_to_reading_stored_pages_again(
    client: Client, forum: Site
) -> None:
    base = f"/admin/forums/site/{forum.pk}/correct/"
    after = client.post(
        f"{base}?kind=threadlist", {"role": "replies", "selector": ".views"}, follow=True
    ).content.decode()
    assert "What is stored stays as it was read before" in after
    assert f'action="/admin/forums/site/{forum.pk}/reread/"' in after


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "replies", "selector": "]]"},
        {"role": "nonsense", "selector": "a"},
        {"pattern": "(", "stated": "thread"},
        {"pattern": "x", "stated": "y"},
    ],
)
def test_a_wrong_correction_is_refused(client: Client, forum: Site, wrong: dict[str, str]) -> None:
    client.post(f"/admin/forums/site/{forum.pk}/correct/?kind=threadlist", wrong)
    assert Site.objects.get().rules == {}


def test_an_address_is_stated_to_be_of_a_kind(client: Client, forum: Site) -> None:
    client.post(
        f"/admin/forums/site/{forum.pk}/correct/?kind=thread",
        {"pattern": r"/topic/\d+", "stated": "thread"},
    )
    assert Site.objects.get().rules["addresses"] == [[r"/topic/\d+", "thread"]]


def test_a_wrong_selector_is_told_beside_its_field(client: Client, forum: Site) -> None:
    page = client.post(
        f"/admin/forums/site/{forum.pk}/correct/?kind=threadlist",
        {"try": "1", "selector": "//[", "role": "replies"},
    )
    assert (
        page.status_code == 200
        and b'class="wrong"' in page.content
        and b'id="effects"' not in page.content
    )


def test_viewers_look_and_change_nothing(forum: Site) -> None:
    from django.contrib.auth.models import Permission, User

    looking = User.objects.create_user("looking", password="a-long-password", is_staff=True)
    looking.user_permissions.add(Permission.objects.get(codename="view_site"))
    viewer = Client()
    viewer.force_login(looking)
    base = f"/admin/forums/site/{forum.pk}/correct/"
    shown = viewer.get(base, {"kind": "threadlist", "selector": ".views", "role": "replies"})
    text = shown.content.decode()
    assert shown.status_code == 200 and 'class="anatomy"' in text
    assert "Save the correction" not in text and "Preview the effect" not in text
    for also in ({}, {"try": "1"}):
        asked = {"role": "replies", "selector": ".views", **also}
        assert viewer.post(f"{base}?kind=threadlist", asked).status_code == 403


def test_a_forum_without_stored_pages_says_what_is_needed(
    client: Client, server: ForumServer
) -> None:
    made = added(server)
    page = client.get(f"/admin/forums/site/{made.pk}/correct/?kind=thread").content.decode()
    assert "No page of this kind is stored" in page
