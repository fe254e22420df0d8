"""Real forum software outside the project, for tests that need it: started in a folder of the
test's own, on a free port."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

TARGETS = Path(__file__).resolve().parents[2] / "shared" / "targets"


class Target:
    """A forum program started for a test. `truth` asks it for the content that its database holds
    now."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self.name, self._environment = name, environment
        self.url = ""

    def say(self, *words: str) -> str:
        done = subprocess.run(
            [TARGETS / "target", self.name, *words],
            env=dict(self._environment),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr or done.stdout
        return done.stdout

    def truth(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.say("truth"))
        return found


@contextmanager
def running(name: str, needs: str, folder: Path) -> Iterator[Target]:
    """Starts the forum program `name` and yields it; skips the test if the folder TARGETS or the
    command `needs` is missing."""
    if not (TARGETS / "target").exists():
        pytest.skip(f"{TARGETS} is absent")
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    target = Target(name, {**os.environ, "CRAWL_TARGETS": str(folder), "PORT": str(port)})
    try:
        target.url = target.say("start").split()[-1]
        yield target
    finally:
        target.say("stop")


def place(url: str) -> str:
    """Returns the path of an address, with the query for .php pages, as a key to compare exported
    threads with the true ones."""
    parts = urlsplit(url)
    query = "&".join(
        sorted(f"{name}={value}" for name, value in parse_qsl(parts.query, keep_blank_values=True))
    )
    path = unquote(parts.path).rstrip("/")
    return f"{path}?{query}" if query and path.endswith(".php") else path


def minute(text: str) -> str:
    return (
        datetime.fromisoformat(text.replace("Z", "+00:00"))
        .astimezone(UTC)
        .strftime("%Y-%m-%dT%H:%M")
    )


def true_posts(truth: Mapping[str, Any]) -> Counter[tuple[str, str, str]]:
    """Counts the posts that the forum truly contains, by the path of the thread, author and minute
    of posting."""
    threads = {thread["id"]: place(thread["url"]) for thread in truth["threads"]}
    return Counter(
        (threads[post["thread"]], post["author"], minute(post["posted"])) for post in truth["posts"]
    )


def exported_posts(lines: Iterable[str]) -> Counter[tuple[str, str, str]]:
    """Returns the posts of an export in JSON lines, counted by (thread, author, minute) as in
    `true_posts`."""
    posts = [json.loads(line) for line in lines if line.strip()]
    return Counter(
        (place(post["thread_url"]), post["author"] or "", minute(post["posted"])) for post in posts
    )
