"""Login pages: finds the login form, tells whether a page was made for a logged-in user, and
recognises addresses that would log out. Without requests or database access."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import lxml.html
from lxml.etree import ParserError
from lxml.html import HtmlElement

from crawlmgr.web.html import links
from crawlmgr.web.url import UrlError, absolute, host_key

_OUT = re.compile(r"(?:user|users|auth|account|member)?[-_]?(?:log|sign)[-_]?(?:out|off)", re.I)
_OUT_WORDS = re.compile(
    r"\s*(?:log ?out|log ?off|sign ?out|sign ?off|退出(?:登[录錄])?|登出|注销|註銷"
    r"|ログアウト|로그아웃|abmelden|ausloggen|(?:se )?d[ée]connexion|cerrar"
    r" sesi[óo]n|salir|выход|выйти|esci|sair|uitloggen|wyloguj)\b[^\n]{0,40}",
    re.I,
)
_IN = re.compile(r"(?:user|users|auth|account|member)?[-_]?(?:log|sign)[-_]?in", re.I)
_IN_WORDS = re.compile(
    r"\s*(?:log ?in|log ?on|sign ?in|登[录錄入]|登陆|ログイン|로그인|anmelden|einloggen"
    r"|(?:se )?conne(?:xion|cter)|iniciar"
    r" sesi[óo]n|acceder|войти|вход|accedi|entrar|inloggen|zaloguj)\b[^\n]{0,30}",
    re.I,
)
_FORMS = re.compile(
    r"<(?:form|button|input)\b[^>]{0,2000}?\b(?:form)?action\s*=\s*[\"']?([^\"'\s>]{1,500})", re.I
)
_PASSWORD = re.compile(r"<input\b[^>]{0,2000}?\btype\s*=\s*[\"']?password\b", re.I)
_USER = re.compile(r"user|login|name|mail|account|identi", re.I)
MAX_CHARACTERS = 3_000_000


@dataclass(frozen=True, slots=True)
class LoginForm:
    """A login form: the address to which it is submitted, the names of its two fields, and the
    other values that it submits (name, value)."""

    action: str
    user_field: str
    password_field: str
    hidden: tuple[tuple[str, str], ...]

    def filled(self, user: str, password: str) -> list[tuple[str, str]]:
        """Returns the pairs (name, value) that the form submits for a user."""
        return [*self.hidden, (self.user_field, user), (self.password_field, password)]


def login_form(html: str, url: str) -> LoginForm | None:
    """Returns the page's login form: one with exactly one password field and a text field before
    it, sent by POST; None if there is none.

    If there are several, one whose address mentions logging in is preferred; registration forms
    have two password fields and are excluded.
    """
    try:
        root = lxml.html.document_fromstring(
            html[:MAX_CHARACTERS].encode("utf-8", "replace"),
            parser=lxml.html.HTMLParser(encoding="utf-8"),
        )
    except (ParserError, ValueError, AssertionError):
        return None
    base = next(
        (
            where
            for b in root.iter("base")
            if b.get("href") and (where := absolute(b.get("href"), url))
        ),
        url,
    )
    found = [form for element in root.iter("form") if (form := _form(element, base)) is not None]
    return max(found, key=lambda form: _says(_IN, form.action), default=None)


def _form(element: HtmlElement, base: str) -> LoginForm | None:
    if (element.get("method") or "get").strip().lower() != "post":
        return None
    user = password = ""
    hidden: list[tuple[str, str]] = []
    sent = False
    for field in element.iter("input", "button", "select"):
        name, kind = field.get("name") or "", (field.get("type") or "text").strip().lower()
        if not name or field.get("disabled") is not None:
            continue
        if kind == "password":
            if password:
                return None
            password = name
        elif kind in ("text", "email", "tel") and not password and (not user or _USER.search(name)):
            user = name
        elif kind in ("submit", "image", "button") or field.tag == "button":
            if not sent and (kind == "submit" or field.tag == "button"):
                hidden.append((name, field.get("value") or ""))
                sent = True
        elif (value := _value(field, name, kind)) is not None:
            hidden.append((name, value))
    if not user or not password:
        return None
    action = absolute(element.get("action") or "", base)
    return LoginForm(action, user, password, tuple(hidden)) if action is not None else None


def _value(field: HtmlElement, name: str, kind: str) -> str | None:
    """Returns what a form submits for a field that nobody fills in; None for nothing. Checkboxes
    that keep the user logged in count as checked."""
    if kind in ("checkbox", "radio"):
        checked = field.get("checked") is not None or re.search(
            r"remember|autologin|cookietime|keep", name, re.I
        )
        return (field.get("value") or "on") if checked else None
    if field.tag == "select":
        chosen = field.xpath(".//option[@selected]") or field.xpath(".//option")
        return (chosen[0].get("value") or "") if chosen else None
    return field.get("value") or ""


def leaves(url: str) -> bool:
    """Tells whether an address looks like a logout; such addresses are never requested.

    >>> leaves("http://a.org/ucp.php?mode=logout&sid=1"), \
leaves("http://a.org/t/12-how-to-log-out-of-windows")
    (True, False)
    """
    return _says(_OUT, url)


def may_see(url: str, site_url: str) -> bool:
    """Tells whether a site's secrets may be sent to an address: only to its own host, and only over
    TLS if the site uses TLS.

    >>> may_see("https://a.org/t/1", "http://a.org/"), may_see("http://a.org/t/1", "https://a.org/")
    (True, False)
    """
    try:
        same = host_key(url) == host_key(site_url)
    except UrlError:
        return False
    return same and (url.startswith("https:") or not site_url.startswith("https:"))


def origins(site_url: str) -> str:
    """Returns the origins to which `may_see` allows a site's secrets to be sent, comma-separated.

    >>> origins("https://a.org/forum/"), origins("http://a.org:81/")
    ('https://a.org', 'http://a.org:81,https://a.org:81')
    """
    schemes = ("https",) if site_url.startswith("https:") else ("http", "https")
    return ",".join(f"{scheme}://{host_key(site_url)}" for scheme in schemes)


def _says(pattern: re.Pattern[str], url: str) -> bool:
    """Tells whether a whole segment of an address's path (without extension), or a name or value in
    its query, matches the pattern; True for an invalid address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    segments = [unquote(segment).partition(".")[0] for segment in parts.path.split("/") if segment]
    words = (
        [piece for pair in parts.query.replace(";", "&").split("&") for piece in pair.split("=")]
        if parts.query
        else []
    )
    return any(pattern.fullmatch(word) for word in (*segments, *words))


def logged_in(html: str, url: str) -> bool | None:
    """Tells whether a page was made for a logged-in user: True if it has a logout link, False if it
    only has a login link or a password field, None if it has none of these."""
    page = html[:MAX_CHARACTERS]
    found = links(page, url)
    actions = [match[1] for match in _FORMS.finditer(page)]
    if any(leaves(link.url) or _OUT_WORDS.fullmatch(link.anchor) for link in found) or any(
        map(leaves, actions)
    ):
        return True
    ways_in = any(_IN_WORDS.fullmatch(link.anchor) or _says(_IN, link.url) for link in found)
    return False if ways_in or _PASSWORD.search(page) else None


def cookies_of(text: str) -> dict[str, str]:
    """Parses a Cookie header as shown by a browser, "a=1; b=2", to values by name. Raises
    ValueError with a one-line message for anything else."""
    found: dict[str, str] = {}
    for part in text.strip().removeprefix("Cookie:").split(";"):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not name and not equals:
            continue
        if (
            not equals
            or not re.fullmatch(r"[^\s;,\"=]{1,200}", name)
            or not value.isprintable()
            or len(value) > 4096
        ):
            raise ValueError(
                f"{part.strip()[:40]!r} is no cookie; they look like name=value; other=value"
            )
        found[name] = value
    if not "".join((*found, *found.values())).isascii():
        raise ValueError(
            "a cookie holds no characters beyond ASCII; copy it as the browser sends it"
        )
    if not found:
        raise ValueError("there is no cookie; they look like name=value; other=value")
    return found


def cookies_set(headers: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """Returns the changes made by a response's Set-Cookie headers: values by name, None for a
    deleted cookie."""
    changed: dict[str, str | None] = {}
    for name, line in headers:
        if name.lower() != "set-cookie":
            continue
        pair, *attributes = line.split(";")
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or not key:
            continue
        gone = value in ("", "deleted") or any(
            re.fullmatch(r"\s*max-age\s*=\s*(?:0|-\d+)\s*", one, re.I) for one in attributes
        )
        changed[key] = None if gone else value
    return changed
