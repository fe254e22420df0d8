"""Builds the package and installs it as a stranger would, for tests. They are skipped where no
package index can be reached."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.serving import PATIENCE_SECONDS, ROOT

UNREACHABLE = ("error sending request", "dns error", "connection failed", "network", "timed out")


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without what belongs to the tests and to a checkout."""
    foreign = ("CRAWLMGR_", "DJANGO_", "PYTHON", "PYTEST_", "DATABASE_URL", "VIRTUAL_ENV")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    return {**kept, **more}


def run(
    words: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a program in a folder and waits for its end."""
    return subprocess.run(
        words,
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_SECONDS,
        check=False,
    )


def installing(
    words: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a program that installs packages; skips the test if it failed because it reached no
    index."""
    done = run(words, folder, environment)
    if done.returncode != 0:
        told = (done.stdout + done.stderr).lower()
        if any(word in told for word in UNREACHABLE):
            pytest.skip(f"no package index can be reached: {told.strip().splitlines()[-1][:200]}")
        pytest.fail(f"{' '.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


def uv(*words: str) -> None:
    """Runs uv of the environment of the tests, outside the checkout's own configuration."""
    installing([sys.executable, "-m", "uv", "--quiet", *words], ROOT, clean_environment())


def built(folder: Path) -> Path:
    """Builds the wheel into a folder and returns its path."""
    uv("build", "--wheel", "--out-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def disk_bytes(folder: Path) -> int:
    """Space on the disk that a folder takes; a file with several names counts once."""
    seen: dict[int, int] = {}
    for path in folder.rglob("*"):
        found = path.lstat()
        seen[found.st_ino] = found.st_blocks * 512
    return sum(seen.values())
