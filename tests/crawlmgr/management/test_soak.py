"""`bench soak`, a short one: crawls of all three kinds under `serve`, killed at, with readers on the desk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT


@pytest.mark.slow
@pytest.mark.once
def test_a_short_soak_loses_and_doubles_nothing(installation: dict[str, str], tmp_path: Path) -> None:
    words = ("bench", "soak", "--kills", "4", "--clients", "4", "--folder", str(tmp_path / "soak"), "--json")
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=installation, capture_output=True, text=True, timeout=1_800)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["problems"] == [], done.stderr[-3000:]
    assert {name: found[name] for name in ("kills", "lost", "doubled", "failed", "wedged")} == {
        "kills": 4, "lost": 0, "doubled": 0, "failed": 0, "wedged": 0,
    }
    assert found["desk"].get("200", 0) > 0 and "500" not in found["desk"]
    again = subprocess.run(command, cwd=ROOT, env=installation, capture_output=True, text=True, timeout=1_800)
    assert json.loads(again.stdout)["kills"] == 4, "with its folder it goes on from its tally"
