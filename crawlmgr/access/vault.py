"""Encrypts small mappings of texts that must be kept secret, with a key derived from the
installation's secret key."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError

from crawlmgr import logs

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


def told(names: Sequence[str]) -> str:
    """Returns the names of what is encrypted, ten at most, after their number."""
    rest = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{len(names)} ({'; '.join(names[:10])}{rest})"


def loss(problem: str) -> str:
    """Returns a line that tells what is wrong with the key and what is lost if it is replaced."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Django's, about a query before the start is complete
            names = unreadable()
        sealed = told(names) if names else "none"
    except DatabaseError:
        sealed = "unknown, because the database does not answer"
    return (
        f"{problem}. Put it back from a backup. Stored passwords and cookies that only this key"
        f" opens: {sealed}. If the file is deleted, a new key is generated, these are lost, and all"
        " users have to log in again."
    )
