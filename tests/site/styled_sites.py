"""Serves a forum in each style of markup for `bench teacher`: `python -m tests.site.styled_sites
FOLDER` writes the list of sites to FOLDER/sites.json with files of their true content, and serves
until it is interrupted."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from html import unescape
from pathlib import Path
from typing import Any

from tests.site.forum import ForumServer
from tests.site.styles import STYLES, StyledForum


def truth_of(forum: StyledForum) -> dict[str, Any]:
    """The true content of a forum: boards, threads, posts."""
    threads = list(forum.all.values())
    counts = {number: sum(thread.board == number for thread in threads) for number in forum.names}
    return {
        "boards": [
            {"name": name, "url": unescape(forum.board_url(n)), "threads": counts[n]}
            for n, name in forum.names.items()
        ],
        "threads": [
            {
                "id": t.number,
                "url": unescape(forum.topic_url(t)),
                "author": t.posts[0].author,
                "replies": len(t.posts) - 1,
            }
            for t in threads
        ],
        "posts": [
            {"thread": t.number, "author": p.author, "posted": p.posted.isoformat()}
            for t in threads
            for p in t.posts
        ],
    }


def served(folder: Path, names: Iterable[str], stack: ExitStack) -> Path:
    """Serves sites until the stack is closed; returns the file that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for name in names:
        forum = StyledForum(style=STYLES[name])
        server = stack.enter_context(ForumServer(forum))
        truth = f"{name.replace(' ', '-')}.json"
        (folder / truth).write_text(json.dumps(truth_of(forum)), encoding="utf-8")
        entries.append({"name": name, "url": server.url, "truth": truth})
    file = folder / "sites.json"
    file.write_text(json.dumps(entries, indent=1), encoding="utf-8")
    return file


if __name__ == "__main__":
    with ExitStack() as open_sites, suppress(KeyboardInterrupt):
        sys.stdout.write(f"{served(Path(sys.argv[1]), sorted(STYLES), open_sites)}\n")
        sys.stdout.flush()
        threading.Event().wait()
