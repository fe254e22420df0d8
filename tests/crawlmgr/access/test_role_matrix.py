"""Permissions for every address of the web interface: the matrix below lists them all; new
addresses must be added.

A role has all permissions of the roles before it. For every address and method, the tests use the
lowest role that is allowed and the highest that is not; a refused request must not change any
table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils import timezone
from django_q.models import OrmQ, Schedule, Task

import crawlmgr.urls  # noqa: F401 - views register themselves when the URLs are loaded
from crawlmgr.upkeep import backup_file
from crawlmgr.workers import queue
from tests.crawlmgr.admin.rows import user

pytestmark = [pytest.mark.django_db, pytest.mark.once]
ROLES = ("anonymous", "none", "viewer", "operator", "administrator", "first")
LEVELS = {
    "open": 0,
    "login": 1,
    "viewer": 2,
    "operator": 3,
    "administrator": 4,
    "nobody": 6,
    "never": 6,
}
# URL patterns by (who may GET them, who may POST to them): "open": everybody; "login": any account;
# "nobody": not even superusers; "never": the address does not accept this method
MATRIX: dict[tuple[str, str], tuple[str, ...]] = {
    ("open", "open"): ("", "i18n/setlang/", "admin/login/"),
    ("open", "never"): ("exports/<str:secret>", "healthz"),
    ("viewer", "never"): (
        "metrics",
        "admin/export/<slug:table>.<slug:fmt>",
        "admin/alarms/",
        "admin/help/",
        "admin/help/<slug:name>/",
        "admin/exports/",
        "admin/exports/<int:pk>/",
        "admin/exports/file/<int:pk>",
        "admin/palette/",
        "admin/schedules/",
        "admin/runs/",
        "admin/runs/<int:pk>/",
        "admin/forums/board/<int:pk>/",
        "admin/forums/boards/",
        "admin/forums/threads/",
        "admin/forums/posts/",
        "admin/deepweb/harvests/",
        "admin/forums/simulations/",
        "admin/forums/simulations/<int:pk>/",
        "admin/forums/simulations/<int:pk>.<slug:fmt>",
        "admin/forums/",
        "admin/forums/site/<int:pk>/",
        "admin/forums/site/<int:pk>/delays/",
        "admin/forums/site/<int:pk>/delays/<slug:table>.csv",
        "admin/forums/tree/<int:pk>/",
        "admin/forums/site/<int:pk>/plan/",
        "admin/forums/thread/<int:pk>/",
        "admin/topics/",
        "admin/topics/<int:pk>/",
        "admin/topics/comparison/<int:pk>/",
        "admin/topics/comparison/<int:pk>/points.csv",
        "admin/topics/run/<int:pk>/",
        "admin/topics/run/<int:pk>/pages/",
        "admin/topics/<int:pk>/search/",
        "admin/topics/page/<int:pk>/",
        "admin/topics/run/<int:pk>/marks/",
        "admin/deepweb/form/<int:pk>/",
        "admin/deepweb/harvest/<int:pk>/",
        "admin/deepweb/clusters/",
        "admin/deepweb/records/",
        "admin/deepweb/record/<int:pk>/",
        "admin/deepweb/",
        "admin/deepweb/site/<int:pk>/",
        "admin/status.json",
        "admin/hosts/",
        "admin/hosts/<int:pk>/",
        "admin/archive/",
        "admin/archive/files/<int:pk>/",
        "admin/archive/files/<int:pk>/download",
        "admin/archive/pages/<int:pk>/",
        "admin/workers/",
        "admin/workers/<int:pk>/",
        "admin/events/",
        "admin/sessions/",
    ),
    ("login", "login"): (
        "admin/search/",
        "admin/",
        "admin/password_change/",
        "admin/r/<path:content_type_id>/<path:object_id>/",
        "admin/django_q/ormq/<path:object_id>/",
        "admin/django_q/schedule/<path:object_id>/",
        "admin/django_q/failure/<path:object_id>/",
        "admin/django_q/success/<path:object_id>/",
        "admin/auth/user/<path:object_id>/",
        "admin/(?P<url>.*)$",
    ),
    ("never", "login"): ("admin/logout/",),
    ("never", "operator"): (
        "admin/alarms/<int:pk>/mute/",
        "admin/exports/<int:pk>/write/",
        "admin/workers/<int:pk>/drain/",
        "admin/workers/<int:pk>/pause/",
        "admin/workers/<int:pk>/resume/",
        "admin/workers/<int:pk>/rename/",
        "admin/schedules/pause/",
        "admin/schedules/<slug:kind>/<int:target>/undo/",
        "admin/runs/<int:pk>/now/",
        "admin/topics/<int:pk>/again/",
        "admin/deepweb/form/<int:pk>/again/",
        "admin/deepweb/form/<int:pk>/schedule/",
        "admin/schedules/resume/",
        "admin/exports/<int:pk>/plan/",
        "admin/exports/<int:pk>/address/",
        "admin/exports/<int:pk>/address/remove/",
        "admin/runs/do/",
        "admin/forums/do/",
        "admin/forums/boards/do/",
        "admin/exports/do/",
        "admin/topics/do/",
        "admin/deepweb/do/",
        "admin/runs/<int:pk>/pause/",
        "admin/runs/<int:pk>/resume/",
        "admin/runs/<int:pk>/stop/",
        "admin/forums/site/<int:pk>/model/restore/",
        "admin/forums/site/<int:pk>/model/keep/",
        "admin/forums/site/<int:pk>/doubts/",
        "admin/forums/site/<int:pk>/reread/",
        "admin/forums/site/<int:pk>/model/take-back/",
        "admin/forums/simulations/<int:pk>/stop/",
        "admin/forums/site/<int:pk>/login/remove/",
        "admin/forums/site/<int:pk>/crawl/",
        "admin/forums/site/<int:pk>/pause/",
        "admin/forums/site/<int:pk>/boards/",
        "admin/forums/site/<int:pk>/plan/policy/",
        "admin/forums/site/<int:pk>/plan/anew/",
        "admin/forums/site/<int:pk>/plan/add/",
        "admin/forums/plan/visits/<int:pk>/",
        "admin/topics/<int:pk>/seeds/",
        "admin/topics/<int:pk>/samples/",
        "admin/topics/<int:pk>/read/",
        "admin/topics/<int:pk>/schedule/",
        "admin/topics/run/<int:pk>/edit/",
        "admin/topics/page/<int:pk>/mark/",
        "admin/topics/run/<int:pk>/others/",
        "admin/topics/<int:pk>/settings/undo/",
        "admin/topics/comparison/<int:pk>/choose/",
        "admin/topics/<int:pk>/draw/",
        "admin/deepweb/form/<int:pk>/role/",
        "admin/deepweb/form/<int:pk>/type/",
        "admin/deepweb/form/<int:pk>/release/",
        "admin/deepweb/form/<int:pk>/harvest/",
        "admin/deepweb/form/<int:pk>/try/",
        "admin/deepweb/clusters/make/",
        "admin/deepweb/clusters/undo/",
        "admin/deepweb/cluster/<int:pk>/name/",
        "admin/deepweb/cluster/<int:pk>/harvest/",
        "admin/deepweb/site/<int:pk>/find/",
    ),
    ("operator", "operator"): (
        "admin/exports/new/",
        "admin/forums/add/",
        "admin/forums/simulations/new/",
        "admin/forums/site/<int:pk>/edit/",
        "admin/topics/add/",
        "admin/deepweb/add/",
    ),
    ("viewer", "operator"): (
        "admin/schedules/<slug:kind>/<int:target>/",
        "admin/forums/add/<int:pk>/",
        "admin/forums/site/<int:pk>/model/",
        "admin/forums/site/<int:pk>/correct/",
        "admin/forums/site/<int:pk>/login/",
        "admin/forums/site/<int:pk>/tuning/",
        "admin/topics/<int:pk>/crawl/",
        "admin/topics/<int:pk>/compare/",
        "admin/topics/<int:pk>/words/",
        "admin/topics/<int:pk>/ontology/",
        "admin/topics/<int:pk>/try/",
    ),
    ("viewer", "administrator"): ("admin/api/",),
    ("never", "administrator"): (
        "admin/api/<int:pk>/remove/",
        "admin/demonstration/start/",
        "admin/demonstration/end/",
        "admin/alarms/channels/<int:pk>/test/",
        "admin/alarms/channels/<int:pk>/remove/",
        "admin/exports/<int:pk>/delete/",
        "admin/backups/plan/",
        "admin/backups/now/",
        "admin/retention/save/",
        "admin/retention/prune/",
        "admin/forums/simulations/<int:pk>/delete/",
        "admin/forums/simulations/logs/<int:pk>/delete/",
    ),
    ("administrator", "administrator"): (
        "admin/alarms/channels/new/",
        "admin/forums/site/<int:pk>/delete/",
        "admin/topics/<int:pk>/delete/",
        "admin/deepweb/site/<int:pk>/delete/",
        "admin/django_q/ormq/",
        "admin/django_q/schedule/",
        "admin/django_q/failure/",
        "admin/django_q/success/",
        "admin/auth/user/<id>/password/",
        "admin/auth/user/",
        "admin/auth/user/add/",
        "admin/auth/user/<path:object_id>/delete/",
        "admin/auth/user/<path:object_id>/change/",
        "admin/django_q/ormq/<path:object_id>/history/",
        "admin/django_q/schedule/<path:object_id>/history/",
        "admin/django_q/failure/<path:object_id>/history/",
        "admin/django_q/success/<path:object_id>/history/",
        "admin/auth/user/<path:object_id>/history/",
        "admin/^(?P<app_label>auth|django_q)/$",
    ),
    ("never", "viewer"): (
        "admin/forums/site/<int:pk>/tuning/preview/",
        "admin/sessions/end/",
        "admin/views/save/",
        "admin/views/<int:pk>/remove/",
    ),
    ("login", "never"): ("admin/password_change/done/", "admin/jsi18n/"),
    ("administrator", "never"): ("admin/backups/", "admin/retention/"),
    ("nobody", "never"): ("admin/autocomplete/",),
    ("nobody", "nobody"): (
        "admin/django_q/ormq/add/",
        "admin/django_q/ormq/<path:object_id>/delete/",
        "admin/django_q/schedule/add/",
        "admin/django_q/schedule/<path:object_id>/delete/",
        "admin/django_q/failure/add/",
        "admin/django_q/failure/<path:object_id>/delete/",
        "admin/django_q/success/add/",
        "admin/django_q/success/<path:object_id>/delete/",
    ),
    ("administrator", "nobody"): (
        "admin/django_q/ormq/<path:object_id>/change/",
        "admin/django_q/schedule/<path:object_id>/change/",
        "admin/django_q/failure/<path:object_id>/change/",
        "admin/django_q/success/<path:object_id>/change/",
    ),
}
SCRIPT = {"accept": "application/json"}
"""Request headers that get refusals as short text: error pages for browsers are slow to render, and
`test_each_role_does_what_the_matrix_says` covers them."""
OWN_PAGES = {f"admin/{one.pattern}" for one in admin.site.own_views}
API = "api/v1/"
"""These addresses accept tokens instead of sessions: tests/crawlmgr/test_api.py covers them."""
HIDDEN = {
    "admin/^(?P<app_label>auth|django_q)/$"
}  # refused with 404 instead of 403 or a redirect to the login
BY_TABLE = {
    "django_q/ormq": OrmQ,
    "django_q/schedule": Schedule,
    "django_q/failure": Task,
    "django_q/success": Task,
    "auth/user": User,
}


def _patterns(resolver: Any, before: str = "") -> Iterator[str]:
    for one in resolver.url_patterns:
        whole = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _patterns(one, whole)
        else:
            yield whole


def _address(pattern: str, rows: dict[str, Any]) -> str:
    """Returns an address that matches a URL pattern. It contains the key of an existing row for the
    tables in Django's admin, and of a missing row otherwise, because other views check permissions
    before they look up the row.
    """
    if pattern.startswith("admin/^"):
        return "/admin/auth/"
    table = next((name for name in rows if f"/{name}/" in f"/{pattern}"), "")
    key = str(rows[table]) if table else "999999"
    filled = re.sub(r"<(?:int|path):\w+>|<id>", key, pattern.replace("(?P<url>.*)$", "nowhere"))
    return "/" + filled.replace("<slug:table>", "pages").replace("<slug:fmt>", "csv").replace(
        "<slug:name>", "rooms"
    ).replace("<slug:kind>", "export")


def _refused(status: int, where: str, pattern: str) -> bool:
    return (
        status in (401, 403, 405)
        or (status == 302 and "/admin/login/" in where)
        or (status == 404 and pattern in HIDDEN)
    )


@pytest.fixture
def rows() -> dict[str, Any]:
    """One row of each table that Django's admin shows, none of them belonging to the requesting
    user."""
    now = timezone.now()
    queue.make_schedules()
    queue.requeue([1], now)
    for number, success in ((1, True), (2, False)):
        Task.objects.create(
            id=str(number) * 32,
            name="t",
            func=queue.SLICE,
            args=(1,),
            success=success,
            started=now,
            stopped=now,
        )
    other = User.objects.create_user("other", is_staff=True)
    found: dict[str, Any] = {
        "django_q/ormq": OrmQ.objects.get().pk,
        "django_q/schedule": Schedule.objects.all()[0].pk,
    }
    return {
        **found,
        "django_q/failure": "2" * 32,
        "django_q/success": "1" * 32,
        "auth/user": other.pk,
    }


def _client(role: str) -> Client:
    client = Client()
    if role != "anonymous":
        client.force_login(User.objects.filter(username=role).first() or user(role))
    return client


def _is_bound(rank: int, level: str) -> bool:
    """True if `rank` (index in ROLES) is the lowest that the access level `level` allows, or the
    highest that it refuses."""
    return rank in (LEVELS[level], LEVELS[level] - 1)


def _counts() -> dict[str, int]:
    tables = [*backup_file.tables(), OrmQ, Schedule, Task]
    return {table._meta.label: table._base_manager.count() for table in tables}


def test_the_matrix_names_every_address_once() -> None:
    named = [pattern for patterns in MATRIX.values() for pattern in patterns]
    assert sorted(named) == sorted(
        found for found in set(_patterns(get_resolver())) if not found.startswith(API)
    )


@pytest.mark.parametrize("role", ROLES[:-1])
def test_each_role_does_what_the_matrix_says(role: str, rows: dict[str, Any]) -> None:
    """Requests each address as the lowest allowed role and as the next lower one; a superuser is
    used where nobody is allowed."""
    client, wrong = _client(role), []
    before = _counts()
    rank = ROLES.index(role)
    for levels, patterns in MATRIX.items():
        for method, level in zip(("get", "post"), levels, strict=True):
            if not _is_bound(rank, level) and not (level in ("nobody", "never") and rank == 4):
                continue
            for pattern in patterns:
                if pattern == "admin/logout/":
                    continue
                answer = getattr(client, method)(_address(pattern, rows))
                may = rank >= LEVELS[level]
                if _refused(answer.status_code, answer.headers.get("Location", ""), pattern) == may:
                    wrong.append(
                        f"{role} {method} {pattern}: {answer.status_code}, the matrix says {level}"
                    )
    assert not wrong, "\n".join(wrong)
    assert role not in ("anonymous", "none") or _counts() == before


def test_a_superuser_is_refused_where_nobody_may(rows: dict[str, Any]) -> None:
    client, wrong = _client("first"), []
    before = _counts()
    for levels, patterns in MATRIX.items():
        for method, level in zip(("get", "post"), levels, strict=True):
            for pattern in patterns if level in ("nobody", "never") else ():
                status = getattr(client, method)(
                    _address(pattern, rows), headers=SCRIPT
                ).status_code
                if status not in (403, 405):
                    wrong.append(f"{method} {pattern}: {status}")
    assert not wrong and _counts() == before, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_other_methods_change_nothing_and_show_no_more(role: str, rows: dict[str, Any]) -> None:
    """PUT, PATCH, DELETE and OPTIONS change no row for any role and reveal nothing that the role
    may not read. Views of the web interface accept none of these methods."""
    client, wrong = _client(role), []
    before, rank = _counts(), ROLES.index(role)
    for (level, _send), patterns in MATRIX.items():
        for pattern in patterns:
            for method in ("put", "patch", "delete", "options"):
                answer = getattr(client, method)(_address(pattern, rows), headers=SCRIPT)
                shown = answer.status_code < 300 and (
                    method != "options" or answer.streaming or answer.content
                )
                if shown and (rank < LEVELS[level] or pattern in OWN_PAGES):
                    wrong.append(f"{role} {method} {pattern}: {answer.status_code}")
    assert not wrong, "\n".join(wrong)
    assert _counts() == before


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_asking_for_the_head_needs_what_reading_needs(role: str, rows: dict[str, Any]) -> None:
    """HEAD is refused exactly where GET is, returns no body, and changes nothing."""
    client, wrong = _client(role), []
    before, rank = _counts(), ROLES.index(role)
    for (level, _send), patterns in MATRIX.items():
        for pattern in patterns:
            if (
                pattern == "admin/logout/"
            ):  # redirects users who are not logged in to the login page, whatever the method
                continue
            answer = client.head(_address(pattern, rows), headers=SCRIPT)
            if _refused(answer.status_code, answer.headers.get("Location", ""), pattern) == (
                rank >= LEVELS[level]
            ):
                wrong.append(
                    f"{role} head {pattern}: {answer.status_code}, the matrix says {level}"
                )
            elif not answer.streaming and answer.content:
                wrong.append(f"{role} head {pattern}: a body of {len(answer.content)} bytes")
    assert not wrong, "\n".join(wrong)
    assert _counts() == before


def test_sending_without_a_token_is_refused_everywhere(rows: dict[str, Any]) -> None:
    """Addresses that accept POST from a superuser refuse a POST without a CSRF token, as another
    site's page would send."""
    user("first")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="first"))
    sent = [
        pattern
        for (_read, send), patterns in MATRIX.items()
        if send not in ("never",)
        for pattern in patterns
    ]
    taken = [
        pattern
        for pattern in sent
        if strict.post(_address(pattern, rows), headers=SCRIPT).status_code != 403
    ]
    assert taken == []
