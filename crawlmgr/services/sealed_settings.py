"""Secrets among crawl settings: stored encrypted, with dots in their place wherever settings are stored, copied into a run or
shown.

Settings are stored with `sealed` (the encrypted values by name); `proxy`, `headers` and `cookies` hold dots instead. Only the
code that sends requests decrypts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.apps import apps as installed
from django.conf import settings as django_settings

from crawlmgr.conf import CrawlSettings
from crawlmgr.services import vault
from crawlmgr.services.walking import in_parts
from crawlmgr.web.headers import PLAIN_HEADERS

DOTS = "••••••"
SEALED = "sealed"


def sealed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in stored form: values already encrypted stay so, beside new ones; settings without secrets are unchanged. Raises
    vault.Unreadable if older and newer secrets cannot be combined."""
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
    """Settings with their secrets decrypted, not to be stored or shown. Raises vault.Unreadable."""
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
    """Crawl settings with their secrets decrypted, for sending requests. Raises vault.Unreadable."""
    table = {"proxy": settings.proxy, "headers": settings.headers, "cookies": settings.cookies, SEALED: settings.sealed}
    return replace(settings, **opened(table), sealed="")


def shown(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for display: dots replace secrets, also those in old rows that were stored unencrypted."""
    return {name: value for name, value in _masked(settings).items() if name != SEALED}


def shown_anywhere(value: Any) -> Any:
    """A JSON value for display: every mapping in it that looks like settings is masked as by `shown`."""
    if isinstance(value, Mapping):
        return {name: shown_anywhere(one) for name, one in shown(value).items()}
    return [shown_anywhere(one) for one in value] if isinstance(value, list) else value


def filled(wishes: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Submitted settings, with stored values instead of the dots that the form showed.

    A proxy's password is only used for that proxy: dots with another address are refused. Raises ValueError with a one-line
    message.
    """
    names = _dotted(wishes)
    if not names:
        return dict(wishes)
    try:
        kept = opened(before)
    except vault.Unreadable as error:
        raise ValueError(f"what is kept cannot be read ({error}); give it anew") from None
    result = dict(wishes)
    for name in names:
        kind, _space, one = name.partition(" ")
        if one and one in kept.get(kind, {}):
            result[kind] = {**result[kind], one: kept[kind][one]}
        elif not one and _without_user(str(kept.get(kind) or "")) == wishes[kind]:
            result[kind] = kept[kind]
        else:
            raise ValueError(f"{name}: dots stand for nothing that is kept; give the value anew")
    return result


def _plain_secrets(settings: Mapping[str, Any]) -> dict[str, str]:
    """The unencrypted secrets in settings, by the names under which they are stored."""
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
    """The names of the secrets that are shown as dots."""
    found = {
        f"{kind} {name}"
        for kind in ("headers", "cookies") if isinstance(settings.get(kind), Mapping)
        for name, value in settings[kind].items() if value == DOTS
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
    """An address with dots for user and password: for everything between "//" and the last "@"."""
    before, at, host = address.rpartition("@")
    scheme, slashes, _user = before.partition("//")
    return f"{scheme}{slashes}{DOTS}@{host}" if at and slashes else f"{DOTS}@{host}" if at else address


def mend(apps: Any = installed) -> None:
    """Encrypts secrets that older versions stored in plain form; runs in a migration or after a restore. `apps` holds the models
    of that moment; tables that a migration has yet to make are left out."""
    for label, field, inside in django_settings.CRAWL_SETTINGS:
        if apps is not installed and label.lower() not in {model._meta.label_lower for model in apps.get_models()}:
            continue
        for row in in_parts(apps.get_model(label).objects.only(field), "pk", 500):
            stored = getattr(row, field)
            table = stored.get(inside, {}) if inside else stored
            if not isinstance(table, Mapping) or not _plain_secrets(table):
                continue
            with suppress(vault.Unreadable):
                setattr(row, field, {**stored, inside: sealed(table)} if inside else sealed(table))
                row.save(update_fields=[field])
