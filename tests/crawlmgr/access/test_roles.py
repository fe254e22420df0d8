"""Roles: viewers read, operators start and add, administrators also delete and manage users and the
queue."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ, Schedule, Task

from crawlmgr.models import Run
from crawlmgr.workers import queue, queue_rows
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
        (f"/admin/runs/{number}/pause/", {}),
        (f"/admin/runs/{number}/resume/", {}),
        (f"/admin/runs/{number}/stop/", {}),
        (f"/admin/forums/site/{forum}/crawl/", {}),
        (f"/admin/forums/site/{forum}/pause/", {"paused": "1"}),
        (f"/admin/forums/site/{forum}/boards/", {"do": "off"}),
        ("/admin/forums/add/", {"address": "http://forum.example/", "delay_seconds": "1"}),
    ]


def test_viewers_change_nothing() -> None:
    forum, one = site(), run()
    client = login("viewer")
    for address, data in [
        *buttons(forum.pk, one.pk),
        (f"/admin/forums/site/{forum.pk}/delete/", {"name": forum.name}),
    ]:
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
    assert (
        client.post(f"/admin/forums/site/{forum.pk}/delete/", {"name": forum.name}).status_code
        == 403
    )
    for address in ("auth/user/", "auth/user/add/", "django_q/ormq/", "django_q/schedule/"):
        assert client.get(f"/admin/{address}").status_code == 403, address


def test_administrators_delete_and_manage() -> None:
    client = login("administrator")
    for address in (
        "auth/user/",
        "auth/user/add/",
        "django_q/ormq/",
        "django_q/schedule/",
        "django_q/failure/",
        "django_q/success/",
    ):
        assert client.get(f"/admin/{address}").status_code == 200, address
    forum = site()
    assert (
        client.post(f"/admin/forums/site/{forum.pk}/delete/", {"name": "another"}).status_code
        == 200
    )
    assert (
        client.post(f"/admin/forums/site/{forum.pk}/delete/", {"name": forum.name}).status_code
        == 302
    )
    assert not type(forum).objects.exists()


@pytest.mark.parametrize("role", ["administrator", "first"])
def test_nobody_writes_what_workers_are_asked_to_call(role: str) -> None:
    """A schedule with an arbitrary function would allow executing any code on the server."""
    queue.make_schedules()
    kept, client = Schedule.objects.get(func="crawlmgr.tasks.prune"), login(role)
    evil = {
        "name": "x",
        "func": "os.system",
        "args": "'id'",
        "schedule_type": "I",
        "minutes": "1",
        "repeats": "-1",
        "next_run_0": "2026-01-01",
        "next_run_1": "00:00",
    }
    assert client.post("/admin/django_q/schedule/add/", evil).status_code == 403
    assert client.post(f"/admin/django_q/schedule/{kept.pk}/change/", evil).status_code == 403
    assert (
        client.post(f"/admin/django_q/schedule/{kept.pk}/delete/", {"post": "yes"}).status_code
        == 403
    )
    for action in ("delete_selected", "resubmit_task", "drop"):
        client.post(
            "/admin/django_q/schedule/",
            {"action": action, "_selected_action": [str(kept.pk)], "post": "yes"},
        )
    assert client.get(f"/admin/django_q/schedule/{kept.pk}/change/").status_code == 200
    assert set(Schedule.objects.values_list("func", flat=True)) == {
        task for _name, task, _kind in queue.SCHEDULES
    }
    for table in ("ormq", "failure", "success"):
        assert client.post(f"/admin/django_q/{table}/add/", evil).status_code == 403


def test_administrators_tidy_the_queue_with_our_own_buttons() -> None:
    now, client = timezone.now(), login("administrator")
    queue.requeue([7, 8], now)
    first, second = OrmQ.objects.order_by("id")
    OrmQ.objects.update(lock=now + timedelta(hours=1))
    Task.objects.create(
        id="3" * 32, name="a", func=queue.SLICE, args=(9,), success=False, started=now, stopped=now
    )
    Task.objects.create(
        id="4" * 32,
        name="b",
        func="os.system",
        args=("id",),
        success=False,
        started=now,
        stopped=now,
    )
    page = client.get("/admin/django_q/ormq/")
    assert b"crawlmgr.tasks.run_slice" in page.content and b"delete_selected" not in page.content
    assert (
        client.post(
            "/admin/django_q/ormq/", {"action": "free", "_selected_action": [str(first.pk)]}
        ).status_code
        == 302
    )
    assert (
        client.post(
            "/admin/django_q/ormq/", {"action": "drop", "_selected_action": [str(second.pk)]}
        ).status_code
        == 302
    )
    assert (
        client.post(
            "/admin/django_q/failure/",
            {"action": "again", "_selected_action": ["3" * 32, "4" * 32]},
        ).status_code
        == 302
    )
    assert [queue_rows.described(row) for row in OrmQ.objects.order_by("id")] == [
        (queue.SLICE, "7"),
        (queue.SLICE, "9"),
    ]
    assert OrmQ.objects.get(pk=first.pk).lock <= timezone.now()
    assert (
        client.post(
            "/admin/django_q/failure/", {"action": "forget", "_selected_action": ["4" * 32]}
        ).status_code
        == 302
    )
    assert not Task.objects.exists()
    for row in ("ormq", "failure", "success"):
        assert client.get(f"/admin/django_q/{row}/").status_code == 200
    assert client.get(f"/admin/django_q/ormq/{first.pk}/change/").status_code == 200


def test_an_administrator_makes_nobody_a_superuser_and_reads_no_password() -> None:
    """Submits every field of the user table to the user form."""
    other, client = user("viewer"), login("administrator")
    me = User.objects.get(username="administrator")
    more = {
        "is_superuser": "on",
        "is_staff": "on",
        "groups": "1",
        "user_permissions": "1",
        "password": "x",
        "last_login_0": "2026-01-01",
    }
    fields = {"username": "viewer", "email": "", "role": "administrator", "is_active": "on", **more}
    assert client.post(f"/admin/auth/user/{other.pk}/change/", fields).status_code == 302
    assert (
        client.post(
            f"/admin/auth/user/{me.pk}/change/", {**fields, "username": "administrator"}
        ).status_code
        == 302
    )
    new = {
        "username": "new",
        "role": "administrator",
        "password1": "quite-a-long-one",
        "password2": "quite-a-long-one",
        **more,
    }
    assert client.post("/admin/auth/user/add/", new).status_code == 302
    assert (
        not User.objects.filter(is_superuser=True).exists()
        and not User.objects.filter(user_permissions__isnull=False).exists()
    )
    other.refresh_from_db()
    assert other.check_password("a-long-password")
    for query in (
        "password__startswith=a",
        "password__regex=^m",
        "groups__user__password__startswith=m",
    ):
        listed = client.get(f"/admin/auth/user/?{query}")
        assert listed.status_code == 400, query
    page = client.get(f"/admin/auth/user/{other.pk}/change/").content.decode()
    assert other.password not in page and other.password.split("$")[-1] not in page


def test_deleting_a_user_names_the_user_only() -> None:
    client, other = Client(), user("operator")
    client.force_login(user("first"))
    text = client.get(f"/admin/auth/user/{other.pk}/delete/").content.decode()
    assert "operator" in text and "User_groups" not in text and "relationship" not in text
    client.post(f"/admin/auth/user/{other.pk}/delete/", {"post": "yes"})
    assert not User.objects.filter(pk=other.pk).exists()
    assert (
        ">Users</a>"
        in client.get(f"/admin/auth/user/{User.objects.get().pk}/history/").content.decode()
    )


def test_a_new_user_has_one_role_and_may_log_in() -> None:
    client = login("administrator")
    data = {
        "username": "nina",
        "email": "",
        "role": "operator",
        "password1": "quite-a-long-one",
        "password2": "quite-a-long-one",
    }
    assert client.post("/admin/auth/user/add/", data).status_code == 302
    nina = User.objects.get(username="nina")
    assert (
        [group.name for group in nina.groups.all()] == ["operator"]
        and nina.is_staff
        and not nina.is_superuser
    )
    assert Client().login(username="nina", password="quite-a-long-one")
    change = {"username": "nina", "email": "n@example.org", "role": "viewer", "is_active": "on"}
    assert client.post(f"/admin/auth/user/{nina.pk}/change/", change).status_code == 302
    assert [group.name for group in nina.groups.all()] == ["viewer"]


def test_administrators_cannot_take_over_the_first_one() -> None:
    first, client = user("first"), login("administrator")
    data = {"password1": "another-long-one", "password2": "another-long-one"}
    assert client.post(f"/admin/auth/user/{first.pk}/password/", data).status_code == 403
    client.post(f"/admin/auth/user/{first.pk}/change/", {"username": "mine", "role": "viewer"})
    client.post(
        "/admin/auth/user/",
        {"action": "delete_selected", "_selected_action": [str(first.pk)], "post": "yes"},
    )
    first.refresh_from_db()
    assert (
        first.username == "first" and first.check_password("a-long-password") and first.is_superuser
    )


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
