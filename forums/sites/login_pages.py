"""Login pages: finds the login form, tells whether a page was made for a logged-in user, and
recognises addresses that would log out. Without requests or database access."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import unescape
from urllib.parse import unquote, urlsplit

from lxml.html import HtmlElement

from crawlmgr.web.pages import forms
from crawlmgr.web.pages.html import links
from crawlmgr.web.pages.tree import parse
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
_HEADS = re.compile(
    r"<(?:title|h[1-4])\b[^>]*>([^<]{0,200}(?:<[^>]{0,200}>[^<]{0,200}){0,4})", re.I
)
_TAG = re.compile(r"<[^>]*>")
_USER = re.compile(r"user|login|name|mail|account|identi", re.I)
_KEEP = re.compile(r"remember|autologin|cookietime|keep", re.I)
MAX_CHARACTERS = 3_000_000


@dataclass(frozen=True, slots=True)
class LoginForm:
    """A login form: the address to which it is submitted, the names of its two fields, its entry
    list (name, value) with these two empty, and the encoding in which it is sent."""

    action: str
    user_field: str
    password_field: str
    pairs: tuple[tuple[str, str], ...]
    charset: str = "utf-8"


def login_form(html: str, url: str, charset: str = "utf-8") -> LoginForm | None:
    """Returns the login form of a page in the encoding `charset`: one with exactly one password
    field and a text field before it, sent by POST; None if there is none.

    If there are several, one whose address mentions logging in is preferred; registration forms
    have two password fields and are excluded.
    """
    root = parse(html[:MAX_CHARACTERS])
    if root is None:
        return None
    base = next(
        (
            where
            for b in root.iter("base")
            if b.get("href") and (where := absolute(b.get("href"), url))
        ),
        url,
    )
    found = [
        form
        for element, controls in forms.owned(root).items()
        if (form := _form(element, controls, url, base, charset)) is not None
    ]
    return max(found, key=lambda form: _says(_IN, form.action), default=None)


def _form(
    element: HtmlElement, owned: list[HtmlElement], url: str, base: str, charset: str
) -> LoginForm | None:
    controls = [_kept(forms.control_of(control, base)) for control in owned]
    filled = [one for one in controls if one.name and not one.disabled]
    passwords = [one for one in filled if one.kind == "password"]
    if len(passwords) != 1:
        return None
    before = filled[: filled.index(passwords[0])]
    texts = [one.name for one in before if one.kind in ("text", "email", "tel")]
    user = next((name for name in reversed(texts) if _USER.search(name)), "".join(texts[:1]))
    button = forms.default_button(controls)
    action, method = forms.target(element, url, base)
    if button is not None:
        action, method = button.action or action, button.method or method
    where = absolute(action, base) if action else None
    if not user or method != "post" or where is None:
        return None
    charset = forms.accepted_charset(element) or charset
    bound = {user: "", passwords[0].name: ""}
    pairs = tuple(forms.entries(controls, bound, button, charset))
    return LoginForm(where, user, passwords[0].name, pairs, charset)


def _kept(control: forms.Control) -> forms.Control:
    """Returns a control with the box checked if it keeps the user logged in."""
    if control.kind != "checkbox" or not _KEEP.search(control.name):
        return control
    return replace(control, options=tuple(replace(one, selected=True) for one in control.options))


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


def is_gate(html: str, url: str, asked: str) -> bool | None:
    """Tells whether the page at `url`, received when `asked` was requested, was sent in place of
    one that only users may read: it has a login form, and its title, a heading or a redirect says
    so. None if only the form says so, which may stand on every page of the site; False without a
    form.
    """
    page = html[:MAX_CHARACTERS]
    if not _PASSWORD.search(page) or login_form(page, url) is None:
        return False
    heads = (unescape(_TAG.sub(" ", match[1])) for match in _HEADS.finditer(page))
    says = _says(_IN, url) and not _says(_IN, asked)
    return says or any(_IN_WORDS.fullmatch(" ".join(head.split())) for head in heads) or None


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
