"""Commands in an installation without any data, and commands whose output pipe is closed early."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.serving import ROOT, manage


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["node", "list", "--json"], {"nodes": []}),
        (["archive", "check", "--json"], {"ok": True, "files": []}),
    ],
)
def test_an_untouched_installation_answers(
    installation: dict[str, str], words: list[str], answer: object
) -> None:
    made = manage(installation, *words)
    assert made.returncode == 0 and json.loads(made.stdout) == answer, made.stderr


def test_a_reader_that_has_enough_brings_no_traceback(installation: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "topic", "strategies", "--json"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=installation,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        words = running.stderr.read()
    assert running.returncode == 1 and "Traceback" not in words and "BrokenPipe" not in words, words
