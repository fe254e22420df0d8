"""Encrypts small mappings of texts that must be kept secret, with a key derived from the
installation's secret key; among them the secret ones of the crawl settings (proxy, headers,
cookies)."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError

from crawlmgr import logs
from crawlmgr.conf import PLAIN_HEADERS, CrawlSettings

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


class Unreadable(Exception):
    """Encrypted data cannot be decrypted: the secret key is a different one, or the data are
    damaged."""


@lru_cache(maxsize=1)
def _fernet(secret: str) -> Fernet:
    # imported here, because most commands never encrypt anything
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"crawlmgr site credentials").derive(
        secret.encode()
    )
    return Fernet(base64.urlsafe_b64encode(key))


def _key() -> Fernet:
    return _fernet(settings.SECRET_KEY)


def seal(values: Mapping[str, str]) -> str:
    """Encrypts a mapping of names to texts and returns it as text; "" for an empty mapping."""
    return _key().encrypt(json.dumps(dict(values)).encode()).decode("ascii") if values else ""


def unseal(text: str) -> dict[str, str]:
    """Decrypts the text that `seal` returned; {} for "". From then on this process masks the
    decrypted values in its log. Raises Unreadable if it was not encrypted with the installation's
    key."""
    if not text:
        return {}
    # imported here, because most commands never decrypt anything
    from cryptography.fernet import InvalidToken

    try:
        values = json.loads(_key().decrypt(text.encode("ascii", "replace")))
    except (InvalidToken, ValueError):
        raise Unreadable("the secret key of this installation did not encrypt this") from None
    found = {str(name): str(value) for name, value in values.items()}
    for value in found.values():
        logs.hide(value)
    return found


def unreadable(secret: str = "") -> list[str]:
    """Returns the names of what the database holds encrypted (settings.SEALED) and the key `secret`
    cannot decrypt; by default, the installation's key."""
    # imported here, because most commands never decrypt anything
    from cryptography.fernet import InvalidToken

    fernet, found = _fernet(secret or settings.SECRET_KEY), dict[str, None]()
    for place in settings.SEALED:
        label, _dot, field = place.rpartition(".")
        rows = apps.get_model(label)._default_manager
        for pk, value in rows.values_list("pk", field).iterator():
            text = value.get("sealed", "") if isinstance(value, dict) else value
            try:
                if text:
                    fernet.decrypt(text.encode("ascii", "replace"))
            except InvalidToken:
                found.setdefault(f"{rows.model._meta.verbose_name} {rows.get(pk=pk)}")
    return list(found)


def name_list(names: Sequence[str]) -> str:
    """Returns the names of what is encrypted, ten at most, after their number."""
    rest = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{len(names)} ({'; '.join(names[:10])}{rest})"


def loss(problem: str) -> str:
    """Returns a line that tells what is wrong with the key and what is lost if it is replaced."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Django's, about a query before the start is complete
            names = unreadable()
        sealed = name_list(names) if names else "none"
    except DatabaseError:
        sealed = "unknown, because the database does not answer"
    return (
        f"{problem}. Put it back from a backup. Stored passwords and cookies that only this key"
        f" opens: {sealed}. If the file is deleted, a new key is generated, these are lost, and all"
        " users have to log in again."
    )


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
    kept = unseal(settings.get(SEALED, "")) if names else {}
    values = {name: value for name, value in kept.items() if name in names} | found
    return {**_masked(settings), SEALED: seal(values)}


def opened(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings with their secrets decrypted; they must not be stored or shown. Raises
    vault.Unreadable if they cannot be decrypted with the installation's key."""
    names = _dotted(settings)
    plain = {name: value for name, value in settings.items() if name != SEALED}
    if not names:
        return plain
    kept = unseal(settings.get(SEALED, ""))
    if missing := names - set(kept):
        raise Unreadable(f"{sorted(missing)[0]} is not kept any more; give it anew")
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
    except Unreadable as error:
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
