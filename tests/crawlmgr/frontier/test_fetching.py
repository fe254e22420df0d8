"""How a web session applies robots.txt, also if the address guard refuses the connection."""

from __future__ import annotations

from datetime import timedelta

import pytest

from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier import fetching, hosts
from crawlmgr.models import Host
from crawlmgr.web.url import host_key
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db


def test_a_refusal_by_the_address_guard_is_told_and_not_kept_against_the_host() -> None:
    hosts.forget()
    with ForumServer(LocalForum(boards=1, threads=1)) as forum:
        host = Host.objects.get(pk=hosts.host_id(host_key(forum.url)))
        shut = fetching.WebSession(CrawlSettings(), SYSTEM)
        allowed, reason = shut.allowed(forum.url, host)
        shut.close()
        host.refresh_from_db()
        assert (allowed, reason.split(":")[0]) == (False, "refused_address")
        assert (
            host.robots_fetched_at,
            host.failures,
            host.requests,
            shut.requests,
            forum.forum.log,
        ) == (None, 0, 0, 0, [])
        let = fetching.WebSession(CrawlSettings(allow_private=host.key), SYSTEM)
        with pytest.raises(fetching.TurnTaken):
            let.allowed(forum.url, host)
        assert let.allowed(forum.url, host) == (True, "")
        let.close()


def test_every_address_that_robots_txt_refuses_is_counted() -> None:
    hosts.forget()
    pk = hosts.host_id("a.example")
    later = SYSTEM.now() + timedelta(days=1)
    Host.objects.filter(pk=pk).update(
        robots_text="User-agent: *\nDisallow: /", robots_verdict="parsed", robots_expires_at=later
    )
    sessions = [fetching.WebSession(CrawlSettings(), SYSTEM) for _ in range(2)]
    for number in range(6):
        session = sessions[number % 2]
        assert session.allowed(f"http://a.example/{number}", session.host(pk)) == (False, "robots")
    assert Host.objects.get(pk=pk).refused_by_robots == 6
