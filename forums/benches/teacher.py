"""`bench teacher`: what the site as the teacher is worth: the same sites read without it and with it, against their truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table

HELP = "the same sites read with the teacher off and on, against their truth"
_SHARES = ("boards", "threads", "posts", "authors", "replies")
_COUNTS = ("boards_other", "threads_other", "requests", "idle_requests", "pending")


def add_arguments(parser: Any) -> None:
    parser.add_argument("--sites", required=True, metavar="FILE", help="JSON list of name, url and truth, a file beside it")


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures with the teacher off and on, each in a fresh installation: finds sites, reads them in full, visits them again."""
    file = Path(options["sites"]).resolve()
    try:
        names = [str(entry["name"]) for entry in json.loads(file.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError) as error:
        raise CommandError(f"{file}: not a JSON list of name, url and truth: {error}") from None
    sides = {}
    for teacher in ("off", "on"):
        say(f"teacher {teacher}: {', '.join(names)}")
        sides[teacher] = _side(file, teacher)
    rows = [{"site": name, "teacher": teacher, **sides[teacher][name]} for name in names for teacher in sides]
    return {"sites": rows}


def _side(file: Path, teacher: str) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CRAWLMGR_DATA": folder, "PYTHONPATH": str(settings.BASE_DIR)}
        environment.setdefault("CRAWLMGR_CONTACT", "bench@example.org")
        environment.pop("DATABASE_URL", None)
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", "forums.benches.teacher_side", str(file), teacher],
            capture_output=True,
            text=True,
            env=environment,
            cwd=settings.BASE_DIR,
            check=False,
        )
    if done.returncode:
        raise CommandError(f"the sites could not be read: {(done.stderr.strip() or '?').splitlines()[-1]}")
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def table(result: dict[str, Any]) -> str:
    """Two lines a site (teacher off, on): found/true counts, then other finds, requests, and addresses left pending."""
    rows = []
    for row in result["sites"]:
        shares = [f"{row[name]}/{row[f'{name}_true']}" for name in _SHARES]
        rows.append((row["site"], row["teacher"], *shares, *(row[name] for name in _COUNTS), row["failed"] or ""))
    head = ("site", "teacher", *_SHARES, "other boards", "other threads", "requests", "idle requests", "pending", "failed")
    return text_table(head, rows)
