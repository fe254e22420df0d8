"""A site of the demonstration web: its port, missing pages, and forms without effect."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest

from crawlmgr.demo.site import Answer, Website


def ask(site: Website, method: str, path: str, body: str = "") -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=60)
    connection.request(method, path, body or None)
    answer = connection.getresponse()
    told = answer.status, answer.headers["content-type"], answer.read().decode()
    connection.close()
    return told


def test_pages_robots_and_nothing() -> None:
    with Website(lambda path: Answer("<p>页</p>") if path == "/a?b=1" else None) as site:
        assert site.url.startswith("http://127.0.0.1:")
        assert ask(site, "GET", "/a?b=1") == (200, "text/html; charset=utf-8", "<p>页</p>")
        assert ask(site, "HEAD", "/a?b=1")[::2] == (200, "")
        assert ask(site, "GET", "/robots.txt")[:2] == (200, "text/plain; charset=utf-8")
        assert ask(site, "GET", "/none")[0] == 404
        assert ask(site, "POST", "/a?b=1", "user=x")[0] == 403


def test_a_port_is_used_again_and_not_twice() -> None:
    with Website(lambda path: None) as site:
        port = urlsplit(site.url).port or 0
        with pytest.raises(OSError, match="in use"):
            Website(lambda path: None, port)
    with Website(lambda path: Answer("again"), port) as site:
        assert urlsplit(site.url).port == port and ask(site, "GET", "/")[2] == "again"
