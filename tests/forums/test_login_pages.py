"""Recognising login forms, and whether a page is shown to a logged-in user."""

from __future__ import annotations

import pytest

from forums.sites.login_pages import cookies_of, cookies_set, leaves, logged_in, login_form, may_see

URL = "http://forum.example/ucp.php?mode=login"
FORM = (
    '<form action="./ucp.php?mode=login" method="post"><input type=text name=username><input'
    " type=password name=password><input type=checkbox name=autologin>{}</form>"
)


def test_a_login_form_is_found_with_all_that_it_sends() -> None:
    hidden = (
        '<input type=hidden name=sid value=x1><input type=submit name=login value="Log in"><input'
        " type=submit name=cancel value=No>"
    )
    search = "<form method=post action=/search><input name=q></form>"
    form = login_form(search + FORM.format(hidden), URL)
    assert form is not None and (form.action, form.user_field, form.password_field) == (
        URL,
        "username",
        "password",
    )
    assert form.pairs == (
        ("username", ""),
        ("password", ""),
        ("autologin", "on"),
        ("sid", "x1"),
        ("login", "Log in"),
    )


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<p>nothing</p>",
        "<form method=post><input name=q></form>",
        (  # a registration form
            "<form method=post><input name=user><input type=password name=a><input type=password"
            " name=b></form>"
        ),
        # the password would be part of the address
        "<form method=get action=/login><input name=user><input type=password name=a></form>",
        (
            "<form method=post action='javascript:go()'><input name=user><input type=password"
            " name=a></form>"
        ),
        "<form method=post action='http://[x'><input name=user><input type=password name=a></form>",
    ],
)
def test_what_is_no_login_form_is_none(html: str) -> None:
    assert login_form(html, URL) is None


@pytest.mark.parametrize(
    "url",
    [
        "/logout",
        "/log-out/",
        "/users/sign_out",
        "/member.php?action=logout&logoutkey=1",
        "/ucp.php?mode=logout",
        "/index.php?app=core&do=logout",
        "/member.php?mod=logging&action=logout",
        "/logoff.php",
        "/auth/signout?next=/",
        "/LogOut.aspx",
    ],
)
def test_ways_out_are_known(url: str) -> None:
    assert leaves(f"http://forum.example{url}")


@pytest.mark.parametrize(
    "url",
    [
        "/t/12-how-to-logout-of-windows",
        "/topic/logout-button-missing/",
        "/board/5?page=2",
        "/login",
        "/members/log",
    ],
)
def test_threads_about_logging_out_are_not_ways_out(url: str) -> None:
    assert not leaves(f"http://forum.example{url}")


@pytest.mark.parametrize(
    ("html", "told"),
    [
        ('<a href="/logout">Bye</a>', True),
        ('<a href="/x">Log out [ anna ]</a>', True),
        ('<a href="/x">退出</a>', True),
        ('<a href="/x">Выход</a>', True),
        (
            (
                '<form method=post action="/accounts/logout/"><button>Bye</button></form><a'
                " href=/login>Log in as another</a>"
            ),
            True,
        ),
        ('<a href="/login">Enter</a>', False),
        ('<a href="/member.php?mod=logging&amp;action=login">x</a><a href=/x>登录</a>', False),
        (FORM.format(""), False),
        ("<p>just text about how to log out and log in</p>", None),
        (
            (
                '<a href="/t/5-login-does-not-work">Login does not work since yesterday, please'
                " help me</a>"
            ),
            None,
        ),
    ],
)
def test_whether_a_page_is_a_members(html: str, told: bool | None) -> None:
    assert logged_in(f"<html><body>{html}</body></html>", "http://forum.example/") is told


def test_cookies_are_read_as_a_browser_shows_them() -> None:
    assert cookies_of("Cookie: a=1; b=x=y ;") == {"a": "1", "b": "x=y"}
    for wrong in ("", "a", "a b=1", "a=1\nb=2", ";"):
        with pytest.raises(ValueError, match="name=value"):
            cookies_of(wrong)


def test_what_a_server_sets_and_takes_away() -> None:
    lines = [
        ("Set-Cookie", "a=1; Path=/"),
        ("set-cookie", "b=; Max-Age=0"),
        ("Set-Cookie", "c=2; max-age=-1"),
        ("X", "d=1"),
        ("Set-Cookie", "broken"),
    ]
    assert cookies_set(lines) == {"a": "1", "b": None, "c": None}


@pytest.mark.parametrize(
    ("url", "site", "told"),
    [
        ("https://a.org/x", "https://a.org/", True),
        ("http://a.org/x", "http://a.org/", True),
        ("https://a.org/x", "http://a.org/", True),
        ("http://a.org/x", "https://a.org/", False),
        ("https://b.org/", "https://a.org/", False),
        ("https://a.org:8443/", "https://a.org/", False),
        ("javascript:x", "http://a.org/", False),
    ],
)
def test_secrets_go_to_the_own_host_and_never_from_tls_to_plain_text(
    url: str, site: str, told: bool
) -> None:
    assert may_see(url, site) is told


@pytest.mark.parametrize("text", ["a=\u4e2d", "\u4e2d=a"])
def test_a_cookie_that_cannot_be_sent_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="beyond ASCII"):
        cookies_of(text)
