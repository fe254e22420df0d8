"""Commands that only print do not import numerical libraries, and listing subcommands does not
import their modules."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from django.core.management import load_command_class

from crawlmgr.management.base import SubcommandCommand, help_of
from tests.benches.registry import BENCHES
from tests.serving import ROOT

HEAVY = ("scipy", "sklearn", "pandas", "pyarrow", "jieba", "rjieba", "plotly", "dateparser")
PARSERS = {"numpy", "lxml", "selectolax", "resiliparse", "requests", "tldextract", "cryptography"}
NOTHING = PARSERS | set(HEAVY)
COMMANDS = {  # commands that only print their options, or read a few rows: what they need not load
    "forum --help": NOTHING,
    "forum crawl --help": NOTHING,
    "topic --help": set(HEAVY),
    "topic strategies": set(HEAVY),
    "topic compare --help": NOTHING,
    "deepweb --help": set(HEAVY),
    "deepweb harvest --help": NOTHING,
    "export --help": set(HEAVY),
    "bench list": set(HEAVY),
    "node list --json": NOTHING,
    "run list --json": NOTHING,
}
FRAMES = {
    "crawlmgr": ("archive", "exports", "run", "token"),
    "forums": ("forum", "reader"),
    "focused": ("topic",),
    "deepweb": ("deepweb",),
}


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
def test_what_only_prints_loads_nothing_heavy(installed: dict[str, str], words: str) -> None:
    loaded = loaded_by(words, installed)
    assert "crawlmgr" in loaded and not loaded & COMMANDS[words]


def loaded_by(words: str, installation: dict[str, str]) -> set[str]:
    """Runs a manage.py command (`words`) and returns the top-level packages that it imports."""
    command = [sys.executable, "-X", "importtime", "manage.py", *words.split()]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=installation,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and done.stdout, done.stderr[-2000:]
    return {
        line.rpartition("|")[2].strip().split(".")[0]
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }


def test_help_read_from_files_is_that_of_the_modules() -> None:
    dotted = [*BENCHES.values()]
    for app, names in FRAMES.items():
        for name in names:
            command = load_command_class(app, name)
            assert isinstance(command, SubcommandCommand)
            dotted += command.subcommands.values()
    assert len(dotted) > 40
    assert {one: help_of(one) for one in dotted} == {
        one: importlib.import_module(one).HELP for one in dotted
    }


def test_a_module_without_help_is_named() -> None:
    with pytest.raises(AttributeError, match=r"crawlmgr\.child"):
        help_of("crawlmgr.child")
    with pytest.raises(ModuleNotFoundError, match=r"crawlmgr\.nowhere"):
        help_of("crawlmgr.nowhere")
