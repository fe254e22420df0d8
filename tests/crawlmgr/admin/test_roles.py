"""Roles: viewers see, operators start and add, administrators also delete and manage users and the queue."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from crawlmgr.models import Run
from tests.crawlmgr.admin.rows import NOW, site, user

pytestmark = pytest.mark.django_db


def login(role: str) -> Client:
    client = Client()
    client.force_login(user(role))
    return client


def run(state: str = "queued") -> Run:
    return Run.objects.create(kind="forum", label="x", state=state, created=NOW)


def buttons(forum: int, number: int) -> list[tuple[str, dict[str, str]]]:
    return [
        (f"/admin/runs/{number}/pause/", {}), (f"/admin/runs/{number}/resume/", {}), (f"/admin/runs/{number}/stop/", {}),
        (f"/admin/forums/site/{forum}/crawl/", {}), (f"/admin/forums/site/{forum}/pause/", {"paused": "1"}),
        (f"/admin/forums/site/{forum}/boards/", {"do": "off"}), ("/admin/forums/add/", {"address": "http://forum.example/", "delay_seconds": "1"}),
    ]


def test_viewers_change_nothing() -> None:
    forum, one = site(), run()
    client = login("viewer")
    for address, data in [*buttons(forum.pk, one.pk), (f"/admin/forums/site/{forum.pk}/delete/", {"name": forum.name})]:
        assert client.post(address, data).status_code == 403, address
    one.refresh_from_db()
    forum.refresh_from_db()
    assert (one.state, forum.paused, Run.objects.count()) == ("queued", False, 1)
    assert client.get("/admin/forums/add/").status_code == 403


def test_operators_work_but_do_not_delete_or_manage() -> None:
    forum, one = site(), run()
    client = login("operator")
    for address, data in buttons(forum.pk, one.pk):
        assert client.post(address, data).status_code == 302, address
    one.refresh_from_db()
    forum.refresh_from_db()
    assert (one.state, forum.paused) == ("stopped", True)
    assert client.post(f"/admin/forums/site/{forum.pk}/delete/", {"name": forum.name}).status_code == 403
    for address in ("auth/user/", "auth/user/add/", "django_q/ormq/", "django_q/schedule/"):
        assert client.get(f"/admin/{address}").status_code == 403, address


def test_administrators_delete_and_manage() -> None:
    client = login("administrator")
    for address in ("auth/user/", "auth/user/add/", "django_q/ormq/", "django_q/schedule/", "django_q/failure/", "django_q/success/", "django_q/schedule/add/"):
        assert client.get(f"/admin/{address}").status_code == 200, address
    forum = site()
    assert client.post(f"/admin/forums/site/{forum.pk}/delete/", {"name": "another"}).status_code == 200
    assert client.post(f"/admin/forums/site/{forum.pk}/delete/", {"name": forum.name}).status_code == 302
    assert not type(forum).objects.exists()


def test_a_new_user_has_one_role_and_may_log_in() -> None:
    client = login("administrator")
    data = {"username": "nina", "email": "", "role": "operator", "password1": "quite-a-long-one", "password2": "quite-a-long-one"}
    assert client.post("/admin/auth/user/add/", data).status_code == 302
    nina = User.objects.get(username="nina")
    assert [group.name for group in nina.groups.all()] == ["operator"] and nina.is_staff and not nina.is_superuser
    assert Client().login(username="nina", password="quite-a-long-one")
    change = {"username": "nina", "email": "n@example.org", "role": "viewer", "is_active": "on"}
    assert client.post(f"/admin/auth/user/{nina.pk}/change/", change).status_code == 302
    assert [group.name for group in nina.groups.all()] == ["viewer"]


def test_administrators_cannot_take_over_the_first_one() -> None:
    first, client = user("first"), login("administrator")
    data = {"password1": "another-long-one", "password2": "another-long-one"}
    assert client.post(f"/admin/auth/user/{first.pk}/password/", data).status_code == 403
    client.post(f"/admin/auth/user/{first.pk}/change/", {"username": "mine", "role": "viewer"})
    client.post("/admin/auth/user/", {"action": "delete_selected", "_selected_action": [str(first.pk)], "post": "yes"})
    first.refresh_from_db()
    assert first.username == "first" and first.check_password("a-long-password") and first.is_superuser


def test_buttons_answer_to_post_only_and_need_a_token() -> None:
    one, client = run(), login("operator")
    assert client.get(f"/admin/runs/{one.pk}/stop/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="operator"))
    assert strict.post(f"/admin/runs/{one.pk}/stop/").status_code == 403
    one.refresh_from_db()
    assert one.state == "queued"


def test_groups_are_put_right_by_the_next_migration() -> None:
    group = Group.objects.get(name="viewer")
    before = set(group.permissions.values_list("codename", flat=True))
    group.permissions.set(Group.objects.get(name="administrator").permissions.all())
    call_command("migrate", verbosity=0)
    assert set(group.permissions.values_list("codename", flat=True)) == before
    assert before and all(name.startswith("view_") for name in before)
