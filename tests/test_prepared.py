"""Programs forked from the prepared process behave as those that are started anew: streams,
environment, folder, session and exit status; nothing that reads settings is loaded before."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.prepared import Prepared

TELLS = """
import json, os, sys
reading = {"crawlmgr.settings", "crawlmgr.models", "crawlmgr.engine", "forums.models"}
loaded = sorted(reading & set(sys.modules))
from django.conf import settings
pure = "crawlmgr.web.url" in sys.modules
print(json.dumps([loaded, settings.configured, pure, sys.argv[1:], os.getcwd(), dict(os.environ),
    os.getpid() == os.getsid(0), sys.stdin.read()]))
"""
ENDS = {
    "pass": (0, ""),
    "raise SystemExit(3)": (3, ""),
    "raise SystemExit('a word')": (1, "a word\n"),
    "1 / 0": (1, "ZeroDivisionError: division by zero\n"),
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": (-signal.SIGKILL, ""),
    "import threading as t, time; t.Timer(0.2, print, ['late']).start()": (
        0,
        "",
    ),
}


def program(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(text)
    return str(folder / "program.py")


@pytest.mark.parametrize("session", [True, False])
def test_a_program_has_its_own_environment_folder_and_streams(
    tmp_path: Path, session: bool
) -> None:
    with Prepared(
        [program(tmp_path, TELLS), "one", "two"],
        cwd=tmp_path,
        env={"ONLY": "this"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=session,
        text=True,
    ) as process:
        out, _ = process.communicate("what it reads")
    loaded, configured, prepared, *told = json.loads(out)
    assert (loaded, configured, prepared) == ([], False, True)
    assert (
        told == [["one", "two"], str(tmp_path), {"ONLY": "this"}, session, "what it reads"]
        and process.returncode == 0
    )


@pytest.mark.parametrize("text", ENDS)
def test_how_a_program_ends_is_told(tmp_path: Path, text: str) -> None:
    status, said = ENDS[text]
    process = Prepared(
        [program(tmp_path, text)],
        cwd=tmp_path,
        env={},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, error = process.communicate()
    assert process.returncode == status and error.endswith(said) and bool(error) == bool(said)
    assert out == ("late\n" if "late" in text else "")


def test_a_program_that_goes_on_is_waited_for_and_killed(tmp_path: Path) -> None:
    process = Prepared([program(tmp_path, "import time; time.sleep(600)")], cwd=tmp_path, env={})
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.05)
    process.kill()
    assert process.wait() == -signal.SIGKILL and process.poll() == -signal.SIGKILL
