"""Commands that only print do not import numerical libraries, and listing subcommands does not
import their modules."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.core.management import load_command_class

from crawlmgr.management.base import Imported, Subcommand, SubcommandCommand
from crawlmgr.management.commands.bench import Bench
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
    "crawlmgr": ("archive", "bench", "exports", "run", "schedule", "token"),
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


def test_every_subcommand_has_its_help_and_its_work() -> None:
    found = {}
    for app, names in FRAMES.items():
        for name in names:
            command = load_command_class(app, name)
            assert isinstance(command, SubcommandCommand)
            found |= {f"{name} {word}": one for word, one in command.subcommands.items()}
    assert len(found) > 40 and all(one.help for one in found.values())
    for one in found.values():
        if isinstance(one, Imported):
            module, own = one.load(), {*vars(type(one))}
            assert "run" in own or callable(module.run)
            assert ("add_arguments" in own and type(one) is not Bench) or (
                callable(module.add_arguments)
            )
        else:
            assert type(one).run is not Subcommand.run
