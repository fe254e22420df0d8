"""Real forum software outside the project, for tests that need it: programs started on a free port,
and recordings of programs, which are replayed without them."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ROOT.parent / "shared" / "targets"
KEPT = Path.home() / ".cache" / "crawl-targets-of-tests"


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
def running(name: str) -> Iterator[Target]:
    """Starts the forum program `name` and yields it; skips the test if the folder TARGETS is
    missing. What it installs (from package registries) is kept for later runs, apart from what
    others of this machine start; one test run at a time uses it."""
    if not (TARGETS / "target").exists():
        pytest.skip(f"{TARGETS} is absent")
    KEPT.mkdir(parents=True, exist_ok=True)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    target = Target(name, {**os.environ, "CRAWL_TARGETS": str(KEPT), "PORT": str(port)})
    with (KEPT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            target.url = target.say("start").split()[-1]
            yield target
        finally:
            target.say("stop")


class Recorded:
    """A recorded forum that is replayed: its start page (`url`), and `change`, after which it shows
    new topics and replies; `truth` is what it shows now, `changed` what the change was."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url, self._folder, self._time = url, folder, "before"
        self.changed = self._read("changed")["topics"]

    def _read(self, name: str) -> Any:
        return json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))

    @property
    def truth(self) -> dict[str, Any]:
        found: dict[str, Any] = self._read(f"truth-{self._time}")
        return found

    @property
    def recorded_at(self) -> datetime:
        """When what it shows now was recorded."""
        with gzip.open(self._folder / f"{self._time}.warc.gz") as file:
            dates = [line for line in file if line.startswith(b"WARC-Date: ")]
        return datetime.fromisoformat(dates[-1].split()[1].decode().replace("Z", "+00:00"))

    def change(self) -> None:
        parts = urlsplit(self.url)
        urllib.request.urlopen(  # noqa: S310 - our own address
            f"http://{parts.netloc}/__after"
        ).close()
        self._time = "after"


@contextmanager
def recorded(name: str) -> Iterator[Recorded]:
    """Replays the recorded forum `name`; skips the test if the recordings are absent."""
    folder = TARGETS / "recorded" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    replay = [sys.executable, folder.parent / "replay.py", folder, "--port", "0"]
    with subprocess.Popen(replay, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield Recorded(folder, server.stdout.readline().strip())
        finally:
            server.terminate()


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
