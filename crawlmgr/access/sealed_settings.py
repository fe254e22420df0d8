"""Encrypts secrets among crawl settings: credentials in `proxy`, and values of `headers` and
`cookies`. Wherever settings are stored, copied into a run or shown, dots stand in place of the
secrets.

The encrypted values are stored as one text in the setting `sealed`. Only the code that sends
requests decrypts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crawlmgr.access import vault
from crawlmgr.conf import CrawlSettings
from crawlmgr.web.http.headers import PLAIN_HEADERS

DOTS = "••••••"
SEALED = "sealed"


def sealed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings in the form in which they are stored: secrets in plain text are encrypted,
    in one value with those that were encrypted before; settings without secrets are unchanged.
    Raises vault.Unreadable if the earlier secrets cannot be decrypted."""
    found = _plain_secrets(settings)
    names = _dotted(settings)
    if not found and not names:
        return {name: value for name, value in settings.items() if name != SEALED}
    if not found:
        return dict(settings)
    kept = vault.unseal(settings.get(SEALED, "")) if names else {}
    values = {name: value for name, value in kept.items() if name in names} | found
    return {**_masked(settings), SEALED: vault.seal(values)}


def opened(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings with their secrets decrypted; they must not be stored or shown. Raises
    vault.Unreadable if they cannot be decrypted with the installation's key."""
    names = _dotted(settings)
    plain = {name: value for name, value in settings.items() if name != SEALED}
    if not names:
        return plain
    kept = vault.unseal(settings.get(SEALED, ""))
    if missing := names - set(kept):
        raise vault.Unreadable(f"{sorted(missing)[0]} is not kept any more; give it anew")
    for name in names:
        kind, _space, one = name.partition(" ")
        plain[kind] = {**plain[kind], one: kept[name]} if one else kept[name]
    return plain


def in_use(settings: CrawlSettings) -> CrawlSettings:
    """Returns crawl settings with their secrets decrypted, for sending requests. Raises
    vault.Unreadable if a secret is missing or cannot be decrypted."""
    table = {
        "proxy": settings.proxy,
        "headers": settings.headers,
        "cookies": settings.cookies,
        SEALED: settings.sealed,
    }
    return replace(settings, **opened(table), sealed="")


def shown(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings for display: dots replace secrets, also unencrypted ones."""
    return {name: value for name, value in _masked(settings).items() if name != SEALED}


def shown_anywhere(value: Any) -> Any:
    """Returns a JSON value for display: all mappings in it are treated as settings, and their
    secrets are replaced by dots."""
    if isinstance(value, Mapping):
        return {name: shown_anywhere(one) for name, one in shown(value).items()}
    return [shown_anywhere(one) for one in value] if isinstance(value, list) else value


def filled(submitted: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings submitted in a form, in which dots that the form showed are replaced by the
    stored secrets `before`.

    A proxy's password is used only for the same proxy: dots with another address are refused.
    Raises ValueError with a one-line message."""
    names = _dotted(submitted)
    if not names:
        return dict(submitted)
    try:
        kept = opened(before)
    except vault.Unreadable as error:
        raise ValueError(f"what is kept cannot be read ({error}); give it anew") from None
    result = dict(submitted)
    for name in names:
        kind, _space, one = name.partition(" ")
        if one and one in kept.get(kind, {}):
            result[kind] = {**result[kind], one: kept[kind][one]}
        elif not one and _without_user(str(kept.get(kind) or "")) == submitted[kind]:
            result[kind] = kept[kind]
        else:
            raise ValueError(f"{name}: dots stand for nothing that is kept; give the value anew")
    return result


def _plain_secrets(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns the unencrypted secrets in settings, by the names under which `sealed` stores them:
    "proxy", "headers NAME", "cookies NAME"."""
    found = {}
    proxy = settings.get("proxy")
    if isinstance(proxy, str) and _without_user(proxy) != proxy:
        found["proxy"] = proxy
    for kind in ("headers", "cookies"):
        values = settings.get(kind)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if value != DOTS and (kind == "cookies" or name.lower() not in PLAIN_HEADERS):
                found[f"{kind} {name}"] = str(value)
    return found


def _dotted(settings: Mapping[str, Any]) -> set[str]:
    """Returns the names of the secrets that are shown as dots: "proxy", "headers NAME" or "cookies
    NAME"."""
    found = {
        f"{kind} {name}"
        for kind in ("headers", "cookies")
        if isinstance(settings.get(kind), Mapping)
        for name, value in settings[kind].items()
        if value == DOTS
    }
    proxy = settings.get("proxy")
    return found | {"proxy"} if isinstance(proxy, str) and DOTS in proxy else found


def _masked(settings: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(settings)
    for name in _plain_secrets(settings):
        kind, _space, one = name.partition(" ")
        result[kind] = {**result[kind], one: DOTS} if one else _without_user(result[kind])
    return result


def _without_user(address: str) -> str:
    """Returns an address with dots in place of user and password, that is of everything between
    "//" and the last "@"."""
    before, at, host = address.rpartition("@")
    scheme, slashes, _user = before.partition("//")
    return (
        f"{scheme}{slashes}{DOTS}@{host}" if at and slashes else f"{DOTS}@{host}" if at else address
    )
