"""Which cookies a request sends: those set by the server, and those configured for the site."""

from __future__ import annotations

import pytest
import requests
from requests.cookies import RequestsCookieJar

from crawlmgr.web.http.wire import cookie_header, describe


def _header(kept: dict[str, str], own: dict[str, str], url: str = "http://a.example/forum") -> str:
    jar = RequestsCookieJar()
    for name, value in kept.items():
        jar.set(name, value, domain="a.example", path="/forum")
    return cookie_header(jar, requests.Request("GET", url).prepare(), own)


@pytest.mark.parametrize(
    ("kept", "own", "sent"),
    [
        ({}, {}, ""),
        ({"seen": "1"}, {}, "seen=1"),
        ({}, {"login": "abc"}, "login=abc"),
        ({"seen": "1"}, {"login": "abc"}, "seen=1; login=abc"),
        ({"login": "new"}, {"login": "old", "lang": "en"}, "login=new; lang=en"),
    ],
)
def test_what_the_server_set_comes_first_and_is_not_overruled(
    kept: dict[str, str], own: dict[str, str], sent: str
) -> None:
    assert _header(kept, own) == sent


def test_what_is_meant_for_another_path_stays_behind() -> None:
    assert _header({"login": "new"}, {"login": "own"}, "http://a.example/other") == "login=own"


def test_words_of_an_error_hold_no_password() -> None:
    error = OSError("no route to http://me:hunter2@proxy.example:3128/ now")
    assert describe(ConnectionError(error)) == "no route to http://…@proxy.example:3128/ now"
