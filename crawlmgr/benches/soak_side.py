"""The part of `bench soak` that runs inside the installation: starts a round of crawls, and makes a
login session for its clients."""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.conf import settings  # noqa: E402 - Django has to be set up first
from django.contrib.auth import (  # noqa: E402
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    get_user_model,
)
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.utils.module_loading import import_string  # noqa: E402


def _session() -> str:
    """Makes a login session of the first administrator and returns its key."""
    user = get_user_model()._default_manager.filter(is_superuser=True).order_by("pk").first()
    assert user is not None  # noqa: S101 - the installation was made with an administrator
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return str(store.session_key)


def main(number: str, *urls: str) -> None:
    """Inspects and saves a site of each kind at `urls`, queues a crawl of each, and prints the ids
    of the runs and the key of a login session as JSON. `number` is the number of the benchmark's
    round."""
    begun = {
        name: import_string(settings.SOAKS[name])(url, int(number))
        for name, url in zip(settings.SOAKS, urls, strict=True)
    }
    sys.stdout.write(json.dumps({"runs": begun, "session": _session()}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
