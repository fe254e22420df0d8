"""Fetches pages for a run. Adds to the fetcher in `crawlmgr.web` what depends on the database:
robots.txt, crawl delays of hosts, and the rule that public hosts are requested only if a contact
address is configured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from django.conf import settings as django_settings
from django.db.models import F

from crawlmgr import __version__
from crawlmgr.access import vault
from crawlmgr.clock import Clock
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import sql
from crawlmgr.frontier import hosts
from crawlmgr.models import Host
from crawlmgr.web import robots
from crawlmgr.web.http.exchange import (
    EMPTY,
    Failure,
    FetchRequest,
    FetchResponse,
    FetchSettings,
    HopRefused,
)
from crawlmgr.web.http.fetch import Fetcher
from crawlmgr.web.http.fetch_pool import MemoryLimit
from crawlmgr.web.url import host_key

log = logging.getLogger("crawlmgr.fetch")
PRODUCT = "crawlmgr"
PAGE_TYPES = (
    "text/",
    "application/xhtml",
    "application/xml",
    "application/json",
    "application/rss",
    "application/atom",
)
LONGEST_HOP_WAIT_SECONDS = 10.0
UNREADABLE = "robots_unreachable"
AGAIN = "again"
"""Returned by `WebSession.keep_robots` for a robots.txt that could not be read and must be
requested again."""


class TurnTaken(Exception):
    """The host's turn (its right to receive one request now) was used to fetch robots.txt; the page
    has to wait for the next one."""


def user_agent() -> str:
    """Returns the User-Agent of every request: product, version and, if configured, the contact."""
    return (
        f"{PRODUCT}/{__version__} (+{django_settings.CONTACT})"
        if django_settings.CONTACT
        else f"{PRODUCT}/{__version__}"
    )


class WebSession:
    """Fetches pages for one run: refuses what robots.txt disallows, keeps each host's crawl delay,
    and counts requests.

    If the installation has no contact, connections go only to private addresses that the run
    allows. The constructor raises vault.Unreadable if a secret of the settings, such as a password
    of its proxy, cannot be decrypted.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        clock: Clock,
        types: tuple[str, ...] = PAGE_TYPES,
        *,
        on_hop: Callable[[str], None] | None = None,
        on_sent: Callable[[], None] | None = None,
        memory: MemoryLimit | None = None,
    ) -> None:
        settings = vault.in_use(settings)
        self.settings = settings
        self.clock = clock
        self.base = FetchSettings(
            user_agent=user_agent(),
            connect_timeout_seconds=settings.connect_timeout_seconds,
            read_timeout_seconds=settings.read_timeout_seconds,
            total_timeout_seconds=settings.total_timeout_seconds,
            max_body_bytes=settings.max_body_bytes,
            max_decoded_bytes=settings.max_decoded_bytes,
            max_redirects=settings.max_redirects,
            accepted_types=types,
            headers=dict(settings.headers),
            cookies=dict(settings.cookies),
            own_origins=frozenset(part for part in settings.own_origins.split(",") if part),
            proxy=settings.proxy or None,
            proxy_private=settings.proxy_private,
            proxy_resolves=settings.proxy_resolves,
            allow_private=settings.allowed_private,
            private_only=not django_settings.CONTACT,
        )
        self.for_robots = replace(
            self.base,
            accepted_types=(),
            max_redirects=5,
            max_body_bytes=5_000_000,
            headers=EMPTY,
            cookies=EMPTY,
        )
        self.fetcher = Fetcher(
            self.base, on_hop=on_hop or self._hop, on_sent=on_sent, memory=memory
        )
        self.requests = 0
        self._hosts: dict[int, Host] = {}
        self._just_read: set[int] = set()
        self._asking_robots = False

    def host(self, pk: int) -> Host:
        """Returns a host from this session's cache. Its next allowed request time may be out of
        date: only the database has the current one."""
        if pk not in self._hosts:
            self._hosts[pk] = Host.objects.get(pk=pk)
        return self._hosts[pk]

    def meet(self, ids: Iterable[int]) -> None:
        """Loads those of the hosts that this session has not cached yet, in one query."""
        missing = set(ids) - self._hosts.keys()
        if len(missing) > 1:
            for host in Host.objects.filter(pk__in=missing):
                self._hosts[host.pk] = host
            self._just_read = missing

    def close(self) -> None:
        """Closes the connections."""
        self.fetcher.close()

    def allowed(self, url: str, host: Host) -> tuple[bool, str]:
        """Tells whether robots.txt allows an address, and the reason if not ("" if it does). If
        robots.txt had to be fetched first, raises TurnTaken after storing it: the caller has to
        wait before it requests the page.
        """
        allowed = self.robots_allow(url, host)
        if allowed is None:
            refused = self._read_robots(url, host)
            if refused:
                return False, refused
            raise TurnTaken(host.key)
        return allowed

    def robots_allow(
        self, url: str, host: Host, payload: Container[str] = ()
    ) -> tuple[bool, str] | None:
        """Tells whether the stored robots.txt allows an address, and the reason if not; returns
        None if robots.txt was not fetched yet or has expired. It does not apply to what a person
        asked for, such as a login ("owner" in the payload)."""
        if "owner" in payload or not self.settings.respect_robots:
            return True, ""
        now = self.clock.now()
        if not _is_fresh(host, now):
            if host.pk in self._just_read:
                self._just_read.discard(host.pk)
            else:
                host.refresh_from_db()
            if not _is_fresh(host, now):
                return None
        if _rules(host.robots_text, host.robots_verdict).allowed(url):
            return True, ""
        Host.objects.filter(pk=host.pk).update(refused_by_robots=F("refused_by_robots") + 1)
        return False, _unreadable(host) if host.robots_verdict == "deny" else "robots"

    def fetch(self, request: FetchRequest) -> FetchResponse:
        """Sends a request, follows redirects, and returns the response. Before the call,
        `hosts.take_turn` must have allowed a request to the host; the caller then updates the
        host's next request time (`hosts.settle`) when it stores the response.
        """
        response = self.fetcher.fetch(request)
        self.requests += response.requests
        log_answer(response)
        return response

    def _read_robots(self, url: str, host: Host) -> str:
        self._asking_robots = True
        response = self.fetcher.fetch(FetchRequest(robots.robots_url(url)), self.for_robots)
        self._asking_robots = False
        return self.keep_robots(host, response, self.clock.now())

    def keep_robots(
        self,
        host: Host,
        response: FetchResponse,
        now: datetime,
        sent_at: datetime | None = None,
        *,
        last: bool = True,
    ) -> str:
        """Stores a fetched robots.txt and returns "".

        If our own address guard refused the connection, nothing is stored and the reason is
        returned: this says nothing about the host, and the next run may be allowed to connect. A
        robots.txt that could not be read is stored only if this was the `last` try; otherwise AGAIN
        is returned. `sent_at` is the time of the request, from which the crawl delay counts."""
        if not response.requests:
            return f"{response.failure}: {response.detail}"
        self.requests += response.requests
        rules = robots.from_response(response, now)
        hosts.settle(host, response, now, sent_at)
        if rules.verdict == "deny" and not last:
            return AGAIN
        host.robots_text, host.robots_verdict = rules.text or "", rules.verdict
        host.robots_fetched_at, host.robots_expires_at = rules.fetched_at, rules.expires_at
        host.crawl_delay_seconds = rules.crawl_delay
        again = (sent_at or now) + timedelta(seconds=hosts.effective_delay(host))
        values = (
            host.robots_text,
            host.robots_verdict,
            rules.fetched_at,
            rules.expires_at,
            rules.crawl_delay,
        )
        sql.execute(_KEEP_ROBOTS, (*values, again, again, host.pk))
        return ""

    def _hop(self, url: str) -> None:
        """Called by the fetcher before each redirect is followed: checks the target's robots.txt
        and waits for a turn on its host. Raises HopRefused if robots.txt disallows the target or
        the wait is too long."""
        host = self.host(hosts.host_id(host_key(url)))
        try:
            allowed, reason = (True, "") if self._asking_robots else self.allowed(url, host)
        except TurnTaken:
            host.refresh_from_db()
            allowed, reason = self.allowed(url, host)
        if not allowed:
            raise HopRefused(reason)
        deadline = self.clock.now() + timedelta(seconds=LONGEST_HOP_WAIT_SECONDS)
        while not hosts.take_turn(host.pk, hosts.effective_delay(host), self.clock.now()):
            host.refresh_from_db()
            if host.next_at > deadline:
                raise HopRefused("host_waits")
            self.clock.sleep(max(0.01, (host.next_at - self.clock.now()).total_seconds()))


_KEEP_ROBOTS = (
    "UPDATE crawlmgr_host SET robots_text = %s, robots_verdict = %s, robots_fetched_at = %s,"
    " robots_expires_at = %s, crawl_delay_seconds = %s, next_at = CASE WHEN next_at < %s THEN %s"
    " ELSE next_at END WHERE id = %s"
)


def log_answer(response: FetchResponse) -> None:
    """Logs a response: at level info if the installation wants a line per fetch, otherwise at level
    debug."""
    level = logging.INFO if django_settings.LOG_FETCHES else logging.DEBUG
    if log.isEnabledFor(level):
        said = response.failure.value if response.failure is not None else response.status
        facts = {
            "event": "fetch",
            "host": host_key(response.request_url),
            "bytes": response.received_bytes,
        }
        facts |= {
            "type": response.content_type.partition(";")[0],
            "seconds": round(response.elapsed_seconds, 3),
        }
        log.log(level, "%s %s", said, response.request_url, extra=facts)


def known_to_allow(url: str, respect_robots: bool) -> bool:
    """Tells whether the stored robots.txt of an address's host allows it; False if none has been
    fetched. Sends no request."""
    if not respect_robots:
        return True
    host = Host.objects.filter(key=host_key(url), robots_fetched_at__isnull=False).first()
    return host is not None and _rules(host.robots_text, host.robots_verdict).allowed(url)


def _is_fresh(host: Host, now: datetime) -> bool:
    """Tells whether the stored robots.txt of a host is valid: it has not expired, and was not
    stored by a clock that was ahead."""
    expires = host.robots_expires_at
    return expires is not None and now < expires <= now + robots.LONGEST_CACHE


def _unreadable(host: Host) -> str:
    """Returns the reason why an address is refused whose host's robots.txt could not be read: a
    failure of TLS, which concerns all addresses of the host, is named itself."""
    failure, _space, detail = host.last_error.partition(" ")
    return f"{failure}: {detail}" if failure == Failure.tls else UNREADABLE


@lru_cache(maxsize=512)
def _rules(text: str, verdict: str) -> robots.RobotsRules:
    return robots.RobotsRules(
        text=text or None, verdict=verdict, fetched_at=_NEVER, expires_at=_NEVER, agent=PRODUCT
    )


# the cached rules are used for matching only, never for their age
_NEVER = datetime(1970, 1, 1)
