"""Benches and training need a checkout; an installed program says so in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import ManagementUtility

from crawlmgr import installation as extras
from tests.serving import ROOT

pytestmark = pytest.mark.once

SAID = "CommandError: This needs a checkout of the project: benches and training are not installed."


@pytest.mark.parametrize(
    "words",
    [
        "bench",
        "bench list",
        "bench hostile --json",
        "bench nowhere",
        "deepweb train forms.jsonl",
        "reader train --data pages",
        "topic train-prior --data packs",
    ],
)
def test_an_installed_program_says_that_it_needs_a_checkout(
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(extras, "BASE", tmp_path)
    with pytest.raises(SystemExit) as ended:
        ManagementUtility(["crawlmgr", *words.split()]).execute()
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert told.err.splitlines() == [SAID] and not told.out


def test_help_of_training_needs_no_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "BASE", tmp_path)
    with pytest.raises(SystemExit) as ended:
        ManagementUtility(["crawlmgr", "deepweb", "train", "--help"]).execute()
    assert not ended.value.code and "--folds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("way", "forbidden"),
    [
        ("bare", {"django.db.models", "crawlmgr.engine", "crawlmgr.models", "psycopg"}),
        ("django", {"scrapy", "twisted"}),
    ],
)
def test_a_side_does_not_load_the_other_one(
    way: str, forbidden: set[str], installation: dict[str, str]
) -> None:
    """The processes of `bench fetch`, `line` and `focused` that measure Scrapy ("bare") and this
    program: what they import before they call the measured function."""
    modules = ("fetching.fetch", "fetching.line", "topics.focused")
    script = (
        "import importlib, os, sys\n"
        f"if {way!r} == 'django':\n"
        "    import django; django.setup()\n"
        f"for name in {modules!r}: importlib.import_module('tests.benches.' + name)\n"
        f"sys.exit(' '.join(sorted({forbidden!r} & set(sys.modules))) or 0)"
    )
    environment = {**installation, "DJANGO_SETTINGS_MODULE": "crawlmgr.settings"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
