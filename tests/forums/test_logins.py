"""A forum for members only is read after a login by form or cookie. Expired logins are renewed; no
logout link is followed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client

from crawlmgr.access import vault
from crawlmgr.archive import archive
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Host, Page, Run, Url, WarcFile
from forums.models import LoginState, Site, SiteLogin, Thread, Visit
from forums.sites import logins
from tests.crawlmgr.admin.rows import user
from tests.forums.test_crawl import added, crawl, found, now, stored
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)
HTML = {"content-type": "text/html; charset=utf-8"}
ROBOTS = b"User-agent: *\nDisallow: /member\nDisallow: /login\n"
SECRET = {"user": "anna", "password": "pass word&1"}


class HalfOpenForum(LocalForum):
    """A forum whose second board is for members only."""

    def answer(
        self, method: str, path: str, cookie: str, body: str
    ) -> tuple[int, dict[str, str], bytes]:
        status, headers, page = super().answer(method, path, cookie, body)
        kind, _, number = path.strip("/").partition("?")[0].partition("/")
        board = self.all[int(number)].board if kind == "topic" else int(number or 0)
        if status == 403 and board != 2:
            return self.page(path)
        return status, headers, page


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(threads=5)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


@pytest.fixture
def site(server: ForumServer) -> Site:
    made = added(server)
    server.forum.members_only = True
    return made


def with_form(site: Site, **values: str) -> SiteLogin:
    return logins.save(site.pk, "form", {**SECRET, **values}, address=f"{site.url}login", now=now())


def never_left(server: ForumServer) -> None:
    assert not any("logout" in path for path in server.forum.log) and set(server.forum.posted) <= {
        "/login"
    }


def test_a_form_login_reads_the_whole_forum_once_and_keeps_its_session(
    site: Site, server: ForumServer
) -> None:
    with_form(site)
    run = crawl(site, history_days=400)
    assert stored() == server.forum.truth() and run.stopped_by == "complete"
    assert SiteLogin.objects.get().state == LoginState.VALID and server.forum.posted == ["/login"]
    server.forum.reply(3, now())
    crawl(site)
    assert stored() == server.forum.truth() and server.forum.posted == ["/login"]  # no second login
    never_left(server)


def test_an_expired_session_is_renewed_by_the_form_within_the_visit(
    site: Site, server: ForumServer
) -> None:
    with_form(site)
    crawl(site, history_days=400)
    server.forum.sessions.clear()
    server.forum.reply(3, now())
    run = crawl(site)
    assert stored() == server.forum.truth() and server.forum.posted == ["/login", "/login"]
    assert all(Visit.objects.filter(run=run).values_list("complete", flat=True))
    never_left(server)


def test_a_wrong_password_is_tried_once_a_visit_told_and_nothing_is_lost(
    site: Site, server: ForumServer
) -> None:
    with_form(site, password="wrong")
    run = crawl(site, history_days=400)
    assert server.forum.posted == ["/login"] and run.stopped_by == "incomplete: login_expired"
    row = SiteLogin.objects.get()
    assert (row.state, row.reason) == (LoginState.FAILED, "not_accepted") and Event.objects.get(
        code="login_failed"
    ).run_id == run.pk
    with_form(site)
    crawl(site, history_days=400)
    assert (
        stored() == server.forum.truth()
        and not Thread.objects.filter(gone_at__isnull=False).exists()
    )


def test_a_cookie_is_used_and_told_when_it_has_expired(site: Site, server: ForumServer) -> None:
    server.forum.sessions.add("given")
    logins.save(site.pk, "cookie", {"cookie": "sid=given; theme=dark"}, now=now())
    crawl(site, history_days=400)
    assert stored() == server.forum.truth() and SiteLogin.objects.get().state == LoginState.VALID
    server.forum.sessions.clear()
    server.forum.reply(3, now())
    before = len(server.forum.log)
    run = crawl(site)
    assert (
        SiteLogin.objects.get().state == LoginState.EXPIRED
        and Event.objects.filter(code="login_expired").count() == 1
    )
    assert {visit.stopped_by for visit in Visit.objects.filter(run=run)} == {"login_expired"}
    assert len(server.forum.log) - before <= server.forum.boards and server.forum.posted == []
    server.forum.sessions.add("given")
    logins.save(site.pk, "cookie", {"cookie": "sid=given"}, now=now())
    crawl(site)
    assert stored() == server.forum.truth()


def answering(server: ForumServer, paths: str, status: int, body: bytes = b"") -> None:
    """Lets the server answer requests of paths that begin so with something else."""
    server.forum.on_request = lambda path: (status, HTML, body) if path.startswith(paths) else None


def test_a_login_is_no_matter_of_robots_txt(site: Site, server: ForumServer) -> None:
    answering(server, "/robots.txt", 200, ROBOTS)
    Host.objects.update(robots_expires_at=None)
    with_form(site)
    run = crawl(site, history_days=400)
    assert stored() == server.forum.truth() and run.stopped_by == "complete"


@pytest.mark.parametrize(
    "breaks",
    [
        pytest.param(lambda server: answering(server, "/login", 500), id="500"),
        pytest.param(lambda server: answering(server, "/login", 404), id="404"),
        pytest.param(lambda server: answering(server, "/login", 200, b"<p>Closed.</p>"), id="form"),
        pytest.param(lambda _server: None, id="password"),
    ],
)
def test_a_login_that_fails_stops_nothing_that_guests_may_read(
    breaks: Callable[[ForumServer], None],
) -> None:
    hosts.forget()
    with ForumServer(HalfOpenForum(threads=5)) as server:
        site = added(server)
        server.forum.members_only = True
        with_form(site, password="wrong")
        breaks(server)
        run = crawl(site, history_days=400)
        topics = {f"/topic/{one.number}" for one in server.forum.all.values() if one.board != 2}
        assert stored() == {row for row in server.forum.truth() if row[0] in topics}
        assert run.stopped_by == "incomplete: login_expired"
        assert Visit.objects.filter(run=run, complete=True).count() == 2
        assert SiteLogin.objects.get().state == LoginState.FAILED


def test_an_expired_cookie_stops_nothing_that_guests_may_read() -> None:
    hosts.forget()
    with ForumServer(HalfOpenForum(threads=5)) as server:
        site = added(server)
        server.forum.members_only = True
        logins.save(site.pk, "cookie", {"cookie": "sid=old"}, now=now())
        run = crawl(site, history_days=400)
        assert Visit.objects.filter(run=run, complete=True).count() == 2
        assert {row[0] for row in stored()} == {
            f"/topic/{one.number}" for one in server.forum.all.values() if one.board != 2
        }


@pytest.mark.parametrize("method", ["form", "cookie"])
def test_the_look_for_boards_uses_the_saved_login(
    site: Site, server: ForumServer, method: str
) -> None:
    answering(server, "/robots.txt", 200, ROBOTS)
    Host.objects.update(robots_expires_at=None)
    if method == "form":
        with_form(site)
    else:
        server.forum.sessions.add("given")
        logins.save(site.pk, "cookie", {"cookie": "sid=given"}, now=now())
    run = found(server)
    assert len(run.result["boards"]) == 3 and not run.result["structure"].get("unread")
    assert all(board["threads_seen"] for board in run.result["boards"])
    assert server.forum.posted == (["/login"] if method == "form" else [])
    never_left(server)


def test_the_look_for_boards_renews_a_session_and_goes_on_if_the_login_fails() -> None:
    hosts.forget()
    with ForumServer(HalfOpenForum(threads=5)) as server:
        site = added(server)
        server.forum.members_only = True
        with_form(site)
        SiteLogin.objects.update(session=vault.seal({"sid": "old"}))
        run = found(server)
        assert all(board["threads_seen"] for board in run.result["boards"])
        with_form(site, password="wrong")
        run = found(server)
        seen = {board["url"][-1]: board["threads_seen"] for board in run.result["boards"]}
        assert seen["1"] and seen["3"] and not seen.get("2")
        assert Event.objects.filter(code="login_failed").count() == 1


def test_no_secret_stands_in_the_database_the_archive_or_the_parameters(
    site: Site, server: ForumServer
) -> None:
    with_form(site)
    crawl(site, history_days=400)
    session = next(iter(server.forum.sessions))
    row = SiteLogin.objects.get()
    assert vault.unseal(row.secret) == SECRET and vault.unseal(row.session)["sid"] == session
    written = b"".join(
        gzip.decompress((settings.ARCHIVE_DIR / name).read_bytes())
        for name in WarcFile.objects.values_list("name", flat=True)
    )
    rows = repr([list(model.objects.values()) for model in (Run, Url, Page, Event, SiteLogin)])
    for secret in ("pass word", "pass+word", f"sid={session}", "Set-Cookie: sid"):
        assert secret.encode() not in written and secret not in rows, secret
    assert b"Log out [ anna ]" in written and archive.check()["ok"]


def test_cookies_go_to_the_forums_own_host_only(site: Site) -> None:
    logins.save(site.pk, "cookie", {"cookie": "sid=given"}, now=now())
    member = logins.Membership(site)
    assert (
        member.own(f"{site.url}board/1") == {"sid": "given"}
        and member.own("http://elsewhere.example/") == {}
    )


@pytest.mark.parametrize(
    ("method", "secret", "address", "word"),
    [
        ("form", SECRET, "http://elsewhere.example/login", "no other host"),
        ("form", {"user": "anna"}, "/login", "user and a password"),
        ("form", SECRET, "nonsense", "no web address"),
        ("cookie", {"cookie": "x"}, "", "no cookie"),
        ("magic", {}, "", "no way to log in"),
    ],
)
def test_a_wrong_login_is_refused_in_a_line(
    site: Site, method: str, secret: dict[str, str], address: str, word: str
) -> None:
    with pytest.raises(ValueError, match=word):
        logins.save(site.pk, method, secret, address=address, now=now())
    assert not SiteLogin.objects.exists()


def test_another_secret_key_makes_secrets_unreadable_and_the_login_fails_clearly(
    site: Site, server: ForumServer
) -> None:
    with_form(site)
    settings.SECRET_KEY, before = "another key" * 5, settings.SECRET_KEY
    try:
        run = crawl(site, history_days=400)
    finally:
        settings.SECRET_KEY = before
    assert (
        run.stopped_by == "incomplete: login_expired"
        and SiteLogin.objects.get().state == LoginState.FAILED
    )


def test_the_desk_sets_shows_and_removes_a_login_without_ever_showing_a_secret(site: Site) -> None:
    client = Client()
    client.force_login(user("first"))
    base = f"/admin/forums/site/{site.pk}/login/"
    assert (
        client.post(
            base,
            {"method": "form", "address": "nonsense", "user": "anna", "password": "pass word&1"},
        ).status_code
        == 422
    )
    client.post(
        base,
        {
            "method": "form",
            "address": f"{site.url}login",
            "user": "anna",
            "password": "pass word&1",
        },
    )
    text = client.get(base).content.decode()
    assert (
        "not tried yet" in text
        and "pass word" not in text
        and vault.unseal(SiteLogin.objects.get().secret) == SECRET
    )
    client.post(
        base, {"method": "form", "address": f"{site.url}login", "user": "berta", "password": ""}
    )
    assert vault.unseal(SiteLogin.objects.get().secret) == {
        "user": "berta",
        "password": "pass word&1",
    }  # a field left empty stays unchanged
    client.post(f"{base}remove/")
    assert (
        not SiteLogin.objects.exists() and Event.objects.filter(code="login_changed").count() == 3
    )


def test_a_login_of_a_site_read_over_tls_is_sent_nowhere_without_it(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(url=site.url.replace("http:", "https:"))
    site.refresh_from_db()
    logins.save(site.pk, "cookie", {"cookie": "sid=given"}, now=now())
    member = logins.Membership(site)
    found = logins.at(f"{site.url}t/1")
    assert found is not None and member.own(f"{site.url}t/1") == found.cookies == {"sid": "given"}
    plain = site.url.replace("https:", "http:")
    assert member.own(plain) == {} and logins.at(plain) is None
    with pytest.raises(ValueError, match="without TLS"):
        logins.save(site.pk, "form", SECRET, address=f"{plain}login", now=now())


def test_a_redirect_to_the_way_out_is_not_followed(site: Site, server: ForumServer) -> None:
    with_form(site)
    server.forum.on_request = lambda path: (
        (302, {"location": "/logout?all=1"}, b"") if path.startswith("/topic/3") else None
    )
    run = crawl(site, history_days=400)
    assert run.stopped_by == "incomplete: bad_redirect" and len(server.forum.sessions) == 1
    assert stored() == {row for row in server.forum.truth() if row[0] != "/topic/3"}
    never_left(server)
