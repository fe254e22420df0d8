"""Every command that outside programs rely on has its --help, with the options that they use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import ManagementUtility, get_commands, load_command_class

from tests.benches.registry import BENCHES

pytestmark = pytest.mark.once

CONTRACT = Path(__file__).resolve().parents[4] / "shared" / "CONTRACT.md"
FORMS = """
serve [--bind A] [--workers N]
forum add [--name N] [--timezone Z] [--json]
forum inspect [--base-url URL] [--fetched-at TIME] [--batch FILE] [--json]
forum crawl [--board B] [--history-days N] [--max-pages N] [--json]
forum plan [--policy P] [--visits-per-day N] [--json]
forum simulate [--policies P] [--visits-per-board N] [--history-days N] [--test-days N]
  [--start DATE] [--theta X] [--timezone Z] [--reading R] [--glance-cost N] [--min-events N]
  [--granularity G] [--weights FILE] [--json]
forum simulate-fetch [--policies P] [--cycle-hours N] [--days N] [--fetches-per-cycle N] [--json]
topic add [--seeds FILE] [--documents FILE] [--keywords W] [--ontology FILE] [--json]
topic crawl [--strategy S] [--pages N] [--param P] [--from F] [--graph G] [--json]
topic compare [--strategies S] [--pages N] [--archive FILE] [--labels FILE] [--random-seed N]
  [--checkpoints N] [--json]
topic pack [--json]
topic strategies [--json]
topic train-prior [--data FOLDER] [--json]
deepweb classify [--json]
deepweb find [--depth N] [--json]
deepweb cluster [--k K] [--json]
deepweb train [--json]
deepweb harvest [--cluster C] [--queries N] [--policy P] [--seed-terms W] [--json]
archive import [--json]
archive export [--out FILE]
archive check [--json]
export [--site S] [--run R] [--since T] [--format F] [--out FILE] [--bom] [--columns C]
node [--name N] [--queues Q]
node list [--json]
node drain
node pause
node resume
reader train [--data FOLDER] [--leave-out L] [--json]
token add [--role R] [--days N]
bench list [--json]
bench soak [--kills N] [--nodes N] [--database D] [--json]
bench nodes [--simulate N] [--json]
demo
backup
restore
"""
"""Commands and options of the contract that this version has, a command a line."""
_FORMS = [" ".join(form.split()) for form in re.split(r"\n(?=\S)", FORMS.strip())]
_EVERY = sorted({*_FORMS, *(f"bench {name} [--data DIR] [--json]" for name in BENCHES)})


def helped(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        ManagementUtility(["manage.py", *words, "--help"]).execute()
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("form", _EVERY)
def test_every_command_has_help(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, _, options = form.partition(" [")
    told = helped(*words.split(), capsys=capsys)
    name, _, part = words.partition(" ")
    assert told.startswith(f"usage: manage.py {name}") and part in told
    assert set(re.findall(r"--[a-z-]+", options)) <= set(re.findall(r"--[a-z-]+", told))


def test_no_command_is_forgotten() -> None:
    """Every command that the contract names is among those above."""
    if not CONTRACT.exists():
        pytest.skip("the contract of the command line is not beside the checkout")
    text = CONTRACT.read_text(encoding="utf-8").partition("## Added by parts")[0]
    existing = {
        f"{name} {part}".strip()
        for name, app in get_commands().items()
        if app in ("crawlmgr", "forums", "focused", "deepweb")
        for part in getattr(load_command_class(app, name), "subcommands", {"": ""})
    }
    named = {one for one in existing if re.search(rf"`{one}\b", text)}
    assert len(named) > 30 and named <= {form.partition(" [")[0] for form in _EVERY}
