"""The budgets of random tests: ordinary runs always use the same draws; `make fuzz` runs only
random tests, with more draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUITE = """
from pathlib import Path
from hypothesis import given, settings, strategies as st
DRAWN = Path(__file__).with_name("drawn")

@settings(max_examples=3)
@given(st.integers())
def test_random(number):
    with DRAWN.open("a") as out:
        out.write(f"{number} ")

def test_plain():
    DRAWN.with_name("plain").touch()
"""


def _run(folder: Path, *arguments: str) -> list[str]:
    (folder / "drawn").unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:django",
        "-c",
        str(folder / "none.ini"),
    ]
    ran = subprocess.run(
        [*command, *arguments, str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return (folder / "drawn").read_text().split()


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "none.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tests import"
        " fuzzing\nfuzzing.register()\ndef pytest_collection_modifyitems(items):"
        " fuzzing.keep_random(items)\n"
    )
    return tmp_path


def test_the_suite_draws_the_same_each_time_and_fuzzing_more(suite: Path) -> None:
    first = _run(suite)
    assert first == _run(suite) and len(first) == 3 and (suite / "plain").exists()
    (suite / "plain").unlink()
    assert len(_run(suite, "--hypothesis-profile=fuzz")) > 30 and not (suite / "plain").exists()
