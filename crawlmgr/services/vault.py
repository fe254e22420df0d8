"""Encrypts small mappings of texts that must be kept secret, with a key derived from the
installation's secret key."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

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
