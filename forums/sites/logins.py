"""A site's login: stored encrypted, used in visits, renewed through its form, checked for expiry.
The crawler never logs out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from crawlmgr.access import vault
from crawlmgr.archive import archive
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Page, Run, Url, events
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse, Hop
from crawlmgr.web.pages.forms import submission
from crawlmgr.web.url import UrlError, canonical, host_key, url_hash
from forums.discovery import structures
from forums.models import Board, LoginMethod, LoginState, Site, SiteLogin, Thread
from forums.sites import login_pages

PRIORITY = 2e6  # priority of the login's requests: before all other addresses of a run
PAGES_COMPARED = 8  # stored pages that are searched for a login form at most
FORM, SEND, CHECK = "login", "login-send", "login-check"
KINDS = frozenset((FORM, SEND, CHECK))


def save(
    site_id: int,
    method: str,
    secret: Mapping[str, str],
    *,
    address: str = "",
    now: datetime,
    user: Any = None,
) -> SiteLogin:
    """Saves a site's login, not tried yet. method: a value of LoginMethod; secret: {"cookie": …} or
    {"user": …, "password": …}; address: that of the login form. Raises ValueError with a one-line
    message for an unknown method, an incomplete or invalid secret, and an address that is on
    another host or logs out."""
    site = Site.objects.get(pk=site_id)
    if method == LoginMethod.COOKIE:
        kept, session, address = (
            {},
            vault.seal(login_pages.cookies_of(secret.get("cookie", ""))),
            "",
        )
    elif method == LoginMethod.FORM:
        kept, session = {name: secret.get(name, "") for name in ("user", "password")}, ""
        if not all(kept.values()):
            raise ValueError("a login form needs a user and a password")
        try:
            address = canonical(address.strip())
        except UrlError as error:
            raise ValueError(f"{address[:80]!r} is no web address: {error}") from None
        if not login_pages.may_see(address, site.url):
            where = f"{site.url.partition(':')[0]}://{host_key(site.url)}"
            raise ValueError(
                f"the login form must be on {where}: credentials go to no other host, nor without"
                " TLS where it is"
            )
        if login_pages.leaves(address):
            raise ValueError(f"{address[:80]!r} looks like an address that logs out")
    else:
        raise ValueError(f"{method!r} is no way to log in")
    values = {
        "method": method,
        "address": address,
        "secret": vault.seal(kept),
        "session": session,
        "state": LoginState.UNTRIED,
        "reason": "",
        "checked_at": None,
        "changed_at": now,
    }
    made, _new = SiteLogin.objects.update_or_create(site=site, defaults=values)
    structures.record_event(site, "login_changed", method, now=now, user=user)
    return made


def user_of(row: SiteLogin) -> str:
    """Returns the user name of a form login, "" if there is none or it cannot be decrypted."""
    try:
        return vault.unseal(row.secret).get("user", "")
    except vault.Unreadable:
        return ""


def completed(row: SiteLogin | None, method: str, sent: Mapping[str, str]) -> dict[str, str]:
    """Returns the submitted secrets, with an empty password or cookie replaced by the stored one.
    Raises ValueError if the stored secret cannot be decrypted."""
    secret = dict(sent)
    if row is None or row.method != method:
        return secret
    try:
        if method == LoginMethod.FORM and not secret.get("password"):
            secret["password"] = vault.unseal(row.secret).get("password", "")
        if method == LoginMethod.COOKIE and not secret.get("cookie"):
            secret["cookie"] = "; ".join(
                f"{name}={value}" for name, value in vault.unseal(row.session).items()
            )
    except vault.Unreadable as error:
        raise ValueError(f"the kept secret cannot be read: {error}; give it anew") from None
    return secret


def forget(site_id: int, *, now: datetime, user: Any = None) -> bool:
    """Deletes a site's login with its secrets; False if there was none."""
    site = Site.objects.get(pk=site_id)
    removed, _rows = SiteLogin.objects.filter(site=site).delete()
    if removed:
        structures.record_event(site, "login_changed", "removed", now=now, user=user)
    return bool(removed)


def at(url: str) -> Membership | None:
    """Returns the login of a site on the host of an address, to which its cookies may be sent; None
    if there is none."""
    found = SiteLogin.objects.filter(site__host__key=host_key(url)).select_related("site").first()
    usable = found is not None and login_pages.may_see(url, found.site.url)
    return Membership(found.site) if found is not None and usable else None


def is_gate(site: Site, kind: str, url: str, response: FetchResponse) -> bool:
    """Tells whether a page that was sent for the list or thread (`kind`) at `url` only asks for a
    login. A login form alone says so if stored pages of the same kind, or other pages of the site,
    have none."""
    gate = login_pages.is_gate(response.text, response.url, url)
    if gate is not None:
        return gate
    fetched = Thread.objects.filter(site=site, fetched_at__isnull=False).order_by("-fetched_at")
    others = Board.objects.filter(site=site) if kind == "list" else fetched
    addresses = list(others.exclude(url=url).values_list("url", flat=True)[:PAGES_COMPARED])
    stored = Page.objects.filter(host_id=site.host_id, status=200, warc__isnull=False)
    stored = stored.exclude(url_hash=url_hash(url)).select_related("warc").order_by("-id")
    alike = stored.filter(url_hash__in=[url_hash(one) for one in addresses])
    for page in alike[:PAGES_COMPARED] or stored[:PAGES_COMPARED]:
        record = archive.read_page(page)
        if record is not None and login_pages.login_form(record.text, page.url) is None:
            return True
    return False


class Membership:
    """A run's login on a site, loaded anew for each slice (the time for which a worker processes a
    run without interruption).

    Cookies are sent with every request to the site's own host. If a page only offers a login, the
    login is invalid. The page is queued again, the form is filled in once per run (form page,
    submission, check), and the page is read again. If that fails, or the login is only a cookie,
    the login is marked as failed or expired, and the page counts as not read.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.row = SiteLogin.objects.filter(site=site).first()
        self.cookies: dict[str, str] = {}
        if self.row is not None and self.row.session:
            try:
                self.cookies = vault.unseal(self.row.session)
            except vault.Unreadable:
                self.cookies = {}

    @property
    def wanted(self) -> bool:
        """Whether the site has a stored login, so that the run should use it."""
        return self.row is not None

    def own(self, url: str) -> dict[str, str]:
        """Returns the cookies for an address: those of the login on the site's own host, none
        elsewhere."""
        return self.cookies if self.cookies and login_pages.may_see(url, self.site.url) else {}

    def begin(self, run: Run) -> list[NewUrl]:
        """Returns the first address to fetch for the login, if the run has to log in before
        anything else; [] if there are cookies to try first, or the site has no login by form."""
        if self.row is None or self.row.method != LoginMethod.FORM or self.cookies:
            return []
        return self.start(run)

    def start(self, run: Run) -> list[NewUrl]:
        """Marks the run as logging in, and returns the login form's address; called once per
        run."""
        assert self.row is not None  # noqa: S101 - callers have asked
        _note(run, "trying")
        return [_step(FORM, self.row.address)]

    def request(self, item: Url) -> FetchRequest:
        """Returns the request of a login step; the password is inserted here and stored nowhere
        else unencrypted."""
        if item.kind != SEND:
            return FetchRequest(
                item.url,
                confidential=True,
                cookies=self.own(item.url),
                refuses_redirect=login_pages.leaves,
            )
        try:
            secret = vault.unseal(self.row.secret) if self.row is not None else {}
        except vault.Unreadable:
            secret = {}
        named = {
            item.payload["user"]: secret.get("user", ""),
            item.payload["password"]: secret.get("password", ""),
        }
        pairs = [(name, named.get(name, value)) for name, value in item.payload["fields"]]
        sent = submission("post", item.url, pairs, item.payload["charset"])
        own = self.own(item.url)
        return FetchRequest(
            item.url,
            method="POST",
            body=sent.body.encode(),
            confidential=True,
            cookies=own,
            refuses_redirect=login_pages.leaves,
        )

    def step(self, run: Run, item: Url, response: FetchResponse, now: datetime) -> list[NewUrl]:
        """Processes the response of a login step and returns the request of the next step; [] if
        the step failed or was the last one, which checks whether the login is valid."""
        self.refresh(response)
        if item.kind == FORM:
            return self._filled(run, response, now)
        if item.kind == SEND:
            return [_step(CHECK, self.site.url)]
        inside = (
            response.status == 200
            and login_pages.logged_in(response.text, response.url) is not False
        )
        if inside and self.cookies:
            self._settle(run, LoginState.VALID, "", now)
        else:
            self.failed(run, "not_accepted", now)
        return []

    def _filled(self, run: Run, response: FetchResponse, now: datetime) -> list[NewUrl]:
        form = (
            login_pages.login_form(response.text, response.url, response.encoding)
            if response.status == 200
            else None
        )
        if form is None:
            self.failed(run, "no_login_form", now)
        elif not login_pages.may_see(form.action, self.site.url):
            self.failed(run, "login_elsewhere", now)
        else:
            fields = {
                "fields": form.pairs,
                "charset": form.charset,
                "user": form.user_field,
                "password": form.password_field,
                "once": True,
            }
            return [_step(SEND, form.action, fields)]
        return []

    def refresh(self, response: FetchResponse) -> None:
        """Stores the cookies set by the site, encrypted, if they changed."""
        if self.row is None:
            return
        changed: dict[str, str | None] = {}
        exchanges: tuple[Hop | FetchResponse, ...] = (*response.redirects, response)
        for exchange in exchanges:
            if login_pages.may_see(exchange.url, self.site.url):
                changed.update(login_pages.cookies_set(exchange.headers))
        after = {
            name: value for name, value in {**self.cookies, **changed}.items() if value is not None
        }
        if after != self.cookies:
            self.cookies = after
            SiteLogin.objects.filter(pk=self.row.pk).update(session=vault.seal(after))

    def failed(self, run: Run, reason: str, now: datetime) -> None:
        """Marks the login as failed and reports it, once per run."""
        if state_of(run) != "failed":
            self._settle(run, LoginState.FAILED, reason, now)
            text = f"{self.site.name}: {reason}"
            events.error("login_failed", text, now=now, run_id=run.pk, host_id=self.site.host_id)

    def _settle(self, run: Run, state: str, reason: str, now: datetime) -> None:
        assert self.row is not None  # noqa: S101 - a step of a login has one
        _note(run, "done" if state == LoginState.VALID else "failed")
        SiteLogin.objects.filter(pk=self.row.pk).update(
            state=state, reason=reason[:60], checked_at=now
        )
        self.row.state = state

    def may_renew(self, run: Run) -> bool:
        """Tells whether the run may still log in: it has neither done so nor failed to."""
        return self.row is not None and state_of(run) not in ("done", "failed")

    def outside(self, response: FetchResponse) -> bool:
        """Tells whether a page was made for a guest although the site has a login."""
        return (
            self.row is not None
            and response.status in (200, 401, 403)
            and login_pages.logged_in(response.text, response.url) is False
        )

    def seen_inside(self, response: FetchResponse, now: datetime) -> None:
        """Records that the login is valid if the page was made for a logged-in user, unless that is
        recorded already."""
        if self.row is None or self.row.state == LoginState.VALID or response.status != 200:
            return
        if login_pages.logged_in(response.text, response.url):
            SiteLogin.objects.filter(pk=self.row.pk).update(
                state=LoginState.VALID, reason="", checked_at=now
            )
            self.row.state = LoginState.VALID

    def again(self, run: Run, now: datetime) -> list[NewUrl] | None:
        """Begins a new login after a page was received in the version for guests. Returns the
        request of the login form; [] while a login is in progress; None if the run has already
        logged in or failed to, or if the login is a stored cookie instead of a form. In the last
        case the cookie is marked as expired or failed."""
        assert self.row is not None  # noqa: S101 - `outside` has asked
        state = state_of(run)
        if state in ("done", "failed"):
            return None
        if state == "trying":
            return []
        code = "login_expired" if self.row.state == LoginState.VALID else "login_failed"
        if self.row.method == LoginMethod.FORM:
            return self.start(run)
        held = self.row.state == LoginState.VALID
        self._settle(
            run,
            LoginState.EXPIRED if held else LoginState.FAILED,
            "" if held else "not_accepted",
            now,
        )
        events.warn(code, self.site.name, now=now, run_id=run.pk, host_id=self.site.host_id)
        return None


def _step(kind: str, url: str, payload: Mapping[str, Any] | None = None) -> NewUrl:
    """Returns the request of a login step; robots.txt does not apply to it ("owner")."""
    told = {"owner": True, **(payload or {})}
    return NewUrl(url, kind, key=f"{kind} {url}", payload=told, priority=PRIORITY)


def state_of(run: Run) -> str:
    """Returns the state of the login in a run: "" (not tried), "trying", "done" or "failed"."""
    return str(run.result.get("login", ""))


def _note(run: Run, state: str) -> None:
    run.result = {**run.result, "login": state}
    Run.objects.filter(pk=run.pk).update(result=run.result)
