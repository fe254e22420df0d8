"""The login: throttled by user name and address, with an event; weak first passwords; sessions are
listed and ended; secure cookies behind TLS."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError
from django.test import Client, RequestFactory
from django.utils import timezone

from crawlmgr.access.login import client_address
from crawlmgr.management.commands.serve import Command
from crawlmgr.models import Event
from crawlmgr.upkeep import pruning
from tests.crawlmgr.admin.rows import user
from tests.serving import ROOT

pytestmark = pytest.mark.django_db
RIGHT = "a-long-password"
BARRED = "Too many failed logins. Wait 15 minutes, then try again."


def attempt(
    name: str, password: str, address: str = "203.0.113.5", agent: str = "a", language: str = "en"
) -> tuple[bool, str]:
    """Tries to log in; returns whether it succeeded, and the page."""
    client = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=agent)
    client.cookies["django_language"] = language
    answer = client.post("/admin/login/", {"username": name, "password": password})
    return answer.status_code == 302, answer.content.decode()


def test_a_name_is_barred_from_an_address_after_five_failures_and_told_once() -> None:
    user("viewer")
    assert not any(BARRED in attempt("viewer", f"wrong {n}", agent=str(n))[1] for n in range(5))
    inside, page = attempt("viewer", RIGHT)
    assert not inside and BARRED in page
    assert (
        "登录失败次数过多。请等待 15 分钟后再试。"
        in attempt("viewer", RIGHT, language="zh-hans")[1]
    )
    assert attempt("viewer", RIGHT, address="203.0.113.6")[0], (
        "the name is not barred for its owner elsewhere"
    )
    assert list(Event.objects.values_list("code", "text")) == [
        ("login_barred", "viewer · 203.0.113.5")
    ]
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=16))
    assert attempt("viewer", RIGHT)[0]


def test_a_success_forgets_the_failures_before_it() -> None:
    user("viewer")
    for _ in range(3):
        for n in range(4):
            attempt("viewer", f"wrong {n}")
        assert attempt("viewer", RIGHT)[0]
    assert not Event.objects.exists()


def test_an_address_that_tries_many_names_is_barred_for_all() -> None:
    user("viewer")
    for n in range(30):
        assert BARRED not in attempt(f"name{n}", "wrong")[1]
    assert BARRED in attempt("viewer", RIGHT)[1] and BARRED in attempt("name99", "wrong")[1]
    assert attempt("viewer", RIGHT, address="203.0.113.6")[0]
    assert list(Event.objects.values_list("code", "text")) == [("login_barred", "203.0.113.5")]


def test_neither_password_nor_what_may_be_one_is_kept() -> None:
    for _ in range(6):
        attempt("hunter2-typed-as-a-name", "hunter3")
    kept = json.dumps(list(AccessAttempt.objects.values_list("post_data", "get_data")))
    assert "hunter3" not in kept and "hunter2" not in json.dumps(
        list(Event.objects.values_list("text", flat=True))
    )
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(days=2))
    assert (
        pruning.prune(timezone.now()).rows["failed_logins"] == 1
        and not AccessAttempt.objects.exists()
    )


@pytest.mark.parametrize(
    ("meta", "tls", "address"),
    [
        (
            {"REMOTE_ADDR": "203.0.113.5", "HTTP_X_FORWARDED_FOR": "198.51.100.1"},
            False,
            "203.0.113.5",
        ),  # any client may send this header
        (
            {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "6.6.6.6, 198.51.100.1"},
            True,
            "198.51.100.1",
        ),
        ({"REMOTE_ADDR": "203.0.113.5"}, True, "203.0.113.5"),
        ({"REMOTE_ADDR": "2001:db8:1:2:3:4:5:6"}, False, "2001:db8:1:2::"),
        ({"REMOTE_ADDR": "::ffff:203.0.113.5"}, False, "203.0.113.5"),
        ({"REMOTE_ADDR": ""}, False, None),
    ],
)
def test_whose_logins_are_counted_together(
    meta: dict[str, str], tls: bool, address: str | None, settings: Any
) -> None:
    settings.BEHIND_TLS = tls
    assert client_address(RequestFactory().get("/", **meta)) == address


@pytest.mark.parametrize("weak", ["admin", "short", "1234567890", "password123"])
def test_a_weak_first_password_is_refused(weak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAWLMGR_ADMIN_PASSWORD", weak)
    with pytest.raises(
        CommandError,
        match="^CRAWLMGR_ADMIN_PASSWORD: This password|^CRAWLMGR_ADMIN_PASSWORD: The password",
    ):
        Command()._first_login()
    assert not User.objects.exists()


def test_a_generated_first_password_is_good() -> None:
    assert "shown only now" in Command()._first_login() and User.objects.get().is_superuser


def test_a_user_added_on_the_desk_has_no_weak_password_either() -> None:
    client = Client()
    client.force_login(user("administrator"))
    data = {
        "username": "nina",
        "email": "",
        "role": "viewer",
        "password1": "password123",
        "password2": "password123",
    }
    assert (
        client.post("/admin/auth/user/add/", data).status_code == 200
        and not User.objects.filter(username="nina").exists()
    )


def _logged_in(name: str, address: str) -> Client:
    client = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=f"Browser of {name}")
    client.post("/admin/login/", {"username": name, "password": RIGHT})
    return client


def test_one_sees_and_ends_ones_own_sessions_only() -> None:
    user("viewer"), user("operator")
    here, there = _logged_in("viewer", "203.0.113.5"), _logged_in("viewer", "203.0.113.6")
    other = _logged_in("operator", "203.0.113.7")
    page = here.get("/admin/sessions/")
    rows = {row.address: row for row in page.context["rows"]}
    assert (
        set(rows) == {"203.0.113.5", "203.0.113.6"}
        and rows["203.0.113.5"].own
        and not rows["203.0.113.6"].own
    )
    assert "Browser of viewer" in page.content.decode() and rows["203.0.113.5"].since is not None
    keys = set(Session.objects.values_list("session_key", flat=True))
    assert not any(key in page.content.decode() for key in keys)
    theirs = {row.address: row.mark for row in other.get("/admin/sessions/").context["rows"]}[
        "203.0.113.7"
    ]
    here.post("/admin/sessions/end/", {"session": [rows["203.0.113.6"].mark, theirs]})
    assert (
        here.get("/admin/").status_code == 200
        and there.get("/admin/").status_code == 302
        and other.get("/admin/").status_code == 200
    )


def test_administrators_end_everybodys_sessions_but_a_superusers() -> None:
    for name in ("viewer", "administrator", "first"):
        user(name)
    viewer, administrator, first = (
        _logged_in(name, "203.0.113.5") for name in ("viewer", "administrator", "first")
    )
    rows = administrator.get("/admin/sessions/").context["rows"]
    assert {row.user.username for row in rows} == {"viewer", "administrator"}
    marks = [row.mark for row in first.get("/admin/sessions/").context["rows"]]
    assert len(marks) == 3
    own = next(row.mark for row in rows if row.own)
    administrator.post("/admin/sessions/end/", {"session": [mark for mark in marks if mark != own]})
    assert viewer.get("/admin/").status_code == 302 and first.get("/admin/").status_code == 200


def test_a_new_password_ends_the_other_sessions() -> None:
    user("viewer")
    client, elsewhere = _logged_in("viewer", "203.0.113.5"), _logged_in("viewer", "203.0.113.6")
    fields = {
        "old_password": RIGHT,
        "new_password1": "another-long-one",
        "new_password2": "another-long-one",
    }
    assert client.post("/admin/password_change/", fields).status_code == 302
    assert client.get("/admin/").status_code == 200 and elsewhere.get("/admin/").status_code == 302


def test_cookies_and_hsts_behind_tls(installation: dict[str, str]) -> None:
    words = (
        "import json, crawlmgr.settings as s; print(json.dumps([getattr(s, n, None) for n in"
        " NAMES]))"
    )
    names = (
        "SESSION_COOKIE_SECURE",
        "CSRF_COOKIE_SECURE",
        "SECURE_HSTS_SECONDS",
        "SECURE_PROXY_SSL_HEADER",
    )
    script = words.replace("NAMES", repr(names))

    def values(**more: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={**installation, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    assert values() == [None, None, None, None]
    assert values(CRAWLMGR_TLS="1") == [
        True,
        True,
        365 * 86400,
        ["HTTP_X_FORWARDED_PROTO", "https"],
    ]
    assert values(CRAWLMGR_TLS="maybe").startswith("CRAWLMGR_TLS: 'maybe' is none of")


def test_a_page_says_hsts_only_over_tls(settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS, settings.SECURE_PROXY_SSL_HEADER = (
        1000,
        (
            "HTTP_X_FORWARDED_PROTO",
            "https",
        ),
    )
    assert "Strict-Transport-Security" not in Client().get("/admin/login/").headers
    assert (
        Client()
        .get("/admin/login/", headers={"x-forwarded-proto": "https"})
        .headers["Strict-Transport-Security"]
        == "max-age=1000"
    )


def test_scripts_of_other_sites_and_in_pages_are_forbidden() -> None:
    policy = Client().get("/admin/login/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self' 'unsafe-eval';" in policy
    assert "'unsafe-inline'" not in policy.partition("style-src")[0]
