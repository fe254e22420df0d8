"""Requirements are correct: requirements.txt names exactly the packages that the program imports;
packages only for tests are in tests/requirements.txt."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

from crawlmgr import installation

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")
LOADED_BY_NAME = {  # packages without an import, and what loads them
    "whitenoise": "MIDDLEWARE of crawlmgr/settings.py",
    "dateparser": "crawlmgr/text/dates_words.py, which reads its data files",
    "psycopg": "Django, for PostgreSQL",
    "psycopg-pool": "psycopg, for its pool",
}
COMPARED = {
    "scrapy",
    "twisted",
}  # used by benchmarks only: scrapy is a requirement of the tests, twisted is installed with it

pytestmark = pytest.mark.once


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Locked(NamedTuple):
    """What a lock says about a package: its version as `==1.2`, where it is installed (None:
    everywhere) and the hashes of its files."""

    version: str
    marker: Marker | None
    hashes: list[str]


def pins_of(path: str) -> list[Requirement]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [Requirement(line.partition("#")[0]) for line in lines if line and line[0] not in "#-"]


def pinned(path: str) -> set[str]:
    return {normal(pin.name) for pin in pins_of(path)}


@cache
def imported() -> dict[str, str]:
    """Top-level names of third-party modules that the program imports, each with a file that
    does."""
    ours = {*PACKAGES, "tests"}
    found: dict[str, str] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in _imports(path):
                if name not in sys.stdlib_module_names and name not in ours:
                    found.setdefault(name, path.relative_to(ROOT).as_posix())
    return found


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@cache
def distributions() -> dict[str, set[str]]:
    return {
        module: {normal(name) for name in names}
        for module, names in packages_distributions().items()
    }


def test_the_program_imports_each_of_its_requirements() -> None:
    used = {name for module in imported() for name in distributions().get(module, set())}
    unused = pinned("requirements.txt") - used - LOADED_BY_NAME.keys()
    assert not unused, "move these to tests/requirements.txt or drop them: " + ", ".join(
        sorted(unused)
    )
    assert pinned("requirements.txt") >= LOADED_BY_NAME.keys()


def test_each_import_of_the_program_is_a_requirement() -> None:
    named = pinned("requirements.txt")
    missing = {
        module: path
        for module, path in imported().items()
        if module not in COMPARED and not distributions().get(module, set()) & named
    }
    assert not missing, f"imported, but not in requirements.txt: {missing}"


def test_the_package_allows_the_pinned_versions_and_names_no_other_library() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    allowed = [
        Requirement(text)
        for texts in (project["dependencies"], *optional.values())
        for text in texts
    ]
    pins = pins_of("requirements.txt")
    ranges = {normal(one.name): one for one in allowed}
    assert len(ranges) == len(allowed) == len(pins) and ranges.keys() == pinned("requirements.txt")
    wrong = [
        str(pin)
        for pin in pins
        if pin.extras != ranges[normal(pin.name)].extras
        or next(iter(pin.specifier)).version not in ranges[normal(pin.name)].specifier
    ]
    assert not wrong, "outside the ranges of pyproject.toml: " + ", ".join(wrong)


def test_the_extras_of_the_package_install_the_modules_that_are_looked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {
        extra: {normal(Requirement(text).name) for text in texts}
        for extra, texts in project["optional-dependencies"].items()
    }
    assert installed == {
        extra: set().union(*(distributions()[module] for module in one.modules))
        for extra, one in installation.EXTRAS.items()
    }


def locked(path: str) -> dict[str, Locked]:
    """The entries of a lock by normal name."""
    text = (ROOT / path).read_text(encoding="utf-8")
    found = {}
    for entry in re.split(r"\n(?=\S)", text):
        if not entry.startswith("#"):
            requirement, *hashes = re.split(r" ?\\\n\s+--hash=", entry.rstrip())
            pin = Requirement(requirement)
            found[normal(pin.name)] = Locked(str(pin.specifier), pin.marker, hashes)
    return found


@pytest.mark.parametrize(
    ("lock", "files"),
    [
        ("requirements.lock", ["requirements.txt"]),
        ("tests/requirements.lock", ["requirements.txt", "tests/requirements.txt"]),
    ],
)
def test_the_lock_names_all_that_is_installed_with_its_hashes(lock: str, files: list[str]) -> None:
    entries = locked(lock)
    pins = [pin for path in files for pin in pins_of(path)]
    stale = [str(pin) for pin in pins if entries[normal(pin.name)].version != str(pin.specifier)]
    assert not stale, "run `make lock`: " + ", ".join(stale)
    assert all(entries[normal(pin.name)].marker is None for pin in pins)
    for name, entry in entries.items():
        assert entry.hashes, name
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in entry.hashes), name
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8"), "no index is named"
    needed = closure(pins)
    assert needed <= entries.keys(), f"run `make lock`: {needed - entries.keys()} are missing"
    here = {name for name, one in entries.items() if one.marker is None or one.marker.evaluate()}
    assert here <= needed, f"run `make lock`: nothing needs {here - needed}"


def closure(pins: list[Requirement]) -> set[str]:
    """Names of all that some requirements install in this environment, by the metadata of what is
    installed here."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(pin.name, extra) for pin in pins for extra in ("", *pin.extras)]
    while waiting:
        name, extra = waiting.pop()
        found.add(normal(name))
        if (normal(name), extra) in seen:
            continue
        seen.add((normal(name), extra))
        for text in requires(name) or ():
            inner = Requirement(text)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                waiting += [(inner.name, more) for more in ("", *inner.extras)]
    return found


def test_both_locks_name_the_same_versions() -> None:
    ours, tests = locked("requirements.lock"), locked("tests/requirements.lock")
    assert ours
    assert {name: tests[name]._replace(marker=None) for name in ours} == {
        name: one._replace(marker=None) for name, one in ours.items()
    }


def test_no_requirement_stands_twice() -> None:
    assert not pinned("requirements.txt") & pinned("tests/requirements.txt")
